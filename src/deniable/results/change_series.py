"""Follows a study over its rounds: the change of every share and mean since the first of them, with bands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.errors import InvalidParameter
from deniable.formatting import Printed, format_count, format_table, quote_question
from deniable.frames import Backend, frame_of_rows
from deniable.results.change import NOISY, AttributeChange, Change, compare_estimates
from deniable.results.estimates import MEAN, Estimates
from deniable.rounds.differences import People

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = 6  # values of an attribute in the text and in a panel: the largest ones
_PANELS = 24
_TITLE = 60  # letters of a question's text above its panel


@final
@dataclass(frozen=True, eq=False)
class ChangeSeries(Printed):
    """The changes of all attributes from one round to each later one; every interval is valid by itself."""

    since: int
    """The round that all others are compared with."""
    changes: Mapping[int, Change]
    """The change since then, by round."""

    @property
    def people(self) -> People:
        """Whose change it is."""
        return self._last.people

    @property
    def validity(self) -> str:
        """Whose change it is, in words."""
        return self._last.validity

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference in every round."""
        return [{"round": number} | row for number, change in self.changes.items() for row in change.rows()]

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        rounds = [
            {"round": number, "caveat": change.caveat, "rows": change.rows()}
            for number, change in self.changes.items()
        ]
        setting = {"since": self.since, "level": self._last.level, "people": self.people}
        return setting | {"validity": self.validity, "rounds": rounds}

    def frame(self, backend: Backend | None = None) -> Any:
        """A row for each difference in every round, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def text(self) -> str:
        """A table for each question: a row for each round, and a column for each of the largest shares."""
        lines, texts = [self._heading], self._last.question_texts
        for name, changes in self._list_panels().items():
            labels = _choose(list(changes.values())[-1])
            rows = [
                [f"{number}", *(_format(change, label) for label in labels)]
                for number, change in changes.items()
            ]
            lines += ["", name, *quote_question(texts, name), *format_table(["round", *labels], rows)]
            more = len(list(changes.values())[-1].labels) - len(labels)
            if more:
                lines.append(f"and {format_count(more, 'smaller share')}; --json and -o have all")
        caveats = [
            f"round {number}: {change.caveat}" for number, change in self.changes.items() if change.caveat
        ]
        return "\n".join([*lines, *([""] if caveats else []), *caveats])

    def __str__(self) -> str:
        return self.text()

    def plot(self, name: str | None = None) -> Figure:
        """A figure of matplotlib: a line with its band for each share, and a panel for each question."""
        from deniable.plot.charts import panels

        texts = self._last.question_texts
        return panels(
            {
                "\n".join([title, *quote_question(texts, title, _TITLE)]): changes
                for title, changes in self._list_panels(name).items()
            },
            self._draw,
            f"{self._heading[0].upper()}{self._heading[1:]}",
            columns=2,
            most=_PANELS,
            what="questions",
            size=(5.2, 3.0),
        )

    @property
    def _last(self) -> Change:
        return list(self.changes.values())[-1]

    @property
    def _heading(self) -> str:
        level = f"{100 * self._last.level:g} % intervals"
        return f"since round {self.since}: {self.validity}; {level}"

    def _list_panels(self, name: str | None = None) -> dict[str, dict[int, AttributeChange]]:
        """The changes of each question by round: of groups where there are, and of means by themselves."""
        chosen: dict[str, dict[int, AttributeChange]] = {}
        for question in self._last.questions if name is None else [name]:
            labels = self._last.choose(question).labels
            chosen[question] = {
                number: part
                for number, change in self.changes.items()
                if question in change or question in change.questions
                if (part := change.choose(question)).labels == labels
            }
            if question in self._last.means:
                chosen[f"{question}: {MEAN}"] = {
                    number: change.means[question]
                    for number, change in self.changes.items()
                    if question in change.means
                }
        return chosen

    def _draw(self, axes: Axes, changes: Mapping[int, AttributeChange]) -> None:
        from matplotlib.ticker import MaxNLocator

        from deniable.plot.charts import draw_band
        from deniable.plot.figure import INK, format_points
        from deniable.plot.looks import looks

        last = list(changes.values())[-1]
        labels = last.labels[:1] if len(last.labels) == 2 else _choose(last)  # of two, one says all
        for label, look in looks(labels).items():
            ends = [_read(change, label) for change in changes.values()]
            columns = zip((0.0, 0.0, 0.0), *ends, strict=True)
            draw_band(axes, ([self.since, *changes], *map(list, columns)), label, look)
        axes.axhline(0.0, color=INK, linewidth=0.8)
        if last.kind != MEAN:
            axes.yaxis.set_major_formatter(format_points)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("round")
        axes.set_ylabel("change of the mean" if last.kind == MEAN else "change, in points")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)


def follow(rounds: Mapping[int, Estimates], level: float, people: People | None) -> ChangeSeries:
    """The change from the first of some rounds to each later one."""
    if len(rounds) < 2:
        raise InvalidParameter(
            f"a change takes two rounds at least, got {format_count(len(rounds), 'round')}"
        )
    (since, first), *others = sorted(rounds.items())
    return ChangeSeries(
        since, {number: compare_estimates(first, later, level, people) for number, later in others}
    )


def _choose(change: AttributeChange) -> list[str]:
    """The values that are shown: the largest shares."""
    largest = set(np.argsort(-change.possible()["later"], kind="stable")[:_LINES].tolist())
    return [label for v, label in enumerate(change.labels) if v in largest]


def _read(change: AttributeChange, label: str) -> tuple[float, float, float]:
    """A difference and its ends; no difference where it is too noisy to read."""
    v, ends = change.labels.index(label), change.possible()
    low, high = float(ends["low"][v]), float(ends["high"][v])
    return (np.nan if change.find_noisy()[v] else float(ends["difference"][v])), low, high


def _format(change: AttributeChange, label: str) -> str:
    difference, low, high = _read(change, label)
    times = 1.0 if change.kind == MEAN else 100.0
    form = "+.4g" if change.kind == MEAN else "+.1f"
    value = NOISY if np.isnan(difference) else f"{times * difference:{form}}"
    return f"{value} ({times * low:{form}} to {times * high:{form}})"
