"""Says what is looked for, and shows the values that were found: shares, intervals, what may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.discovery.decide import Decision
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import Printed, fill_paragraph, format_count, format_percent, format_table, say_found
from deniable.frames.frames import frame_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 50
"""People that a value must have at least, by its plain share, before it is shown."""
_HEADERS = ("value", "share", "95 % interval", "all at once", "people")


@final
@dataclass(frozen=True)
class Query:
    """What is looked for in the reports of one question of text or codes."""

    name: str | None = None
    """The question, where a plan has several."""
    words: Sequence[Any] | None = None
    """A public list, or nothing: then values are found by levels."""
    alpha: float = 0.05
    """The chance of any value that nobody has."""
    least: int = LEAST


@final
@dataclass(frozen=True, eq=False)
class Discovery(Printed):
    """Values that nobody listed and that many people have, the most common first.

    `low` and `high` are 95 % intervals of single values, given that they are shown. `low_at_once` and
    `high_at_once` hold for all candidates at once, shown or not, with probability 1 - `alpha`.

    >>> from deniable import seeded
    >>> from deniable.mechanisms import linear
    >>> from deniable.discovery import decide_listed
    >>> m = linear(bits=30, epsilon=4.0)
    >>> decided = decide_listed((m, m.privatize([5] * 900 + [6] * 100, seeded(1))), range(10))
    >>> found = Discovery.of(decided, str, people=1000, limit=0.03)
    >>> found.names, found.people_of.tolist()
    (('5', '6'), [841, 97])
    """

    names: tuple[str, ...]
    shares: Floats
    low: Floats
    high: Floats
    low_at_once: Floats
    high_at_once: Floats
    counts: Integers
    """Reports of the final group that support each value."""
    n: int
    """Reports of the final group."""
    people: int
    """Everybody who reported, to any level."""
    candidates: int
    """Values that the final group was asked about."""
    hidden: int
    """Values that fewer than `least` people have, by their plain shares: they are not shown."""
    limit: float
    """The share of people that makes a value found about half of the time."""
    alpha: float = 0.05
    least: int = LEAST
    notes: tuple[str, ...] = ()
    """More sentences, such as that values were cut."""

    @staticmethod
    def of(
        decided: Decision,
        name_code: Callable[[int], str],
        *,
        people: int,
        limit: float,
        least: int = LEAST,
        notes: Sequence[str] = (),
    ) -> Discovery:
        """What was decided, by the names of its codes; values of fewer than `least` people are left out.

        These are people by plain shares, so that one count, known beforehand, decides who is shown. Intervals
        are conditional on it. Given that a value is shown, its share is smaller, and may be of fewer people.
        """
        people = whole_number("people, everybody who reported,", people, decided.n)
        least = whole_number("least, the people that a value must have,", least, 0)
        common = Fraction(least, max(1, people))
        decided = decided.require(common) if least else decided
        at, (shares, low, high) = np.flatnonzero(decided.shown), decided.conditional
        return Discovery(
            tuple(name_code(code) for code in decided.codes[at].tolist()),
            shares,
            low,
            high,
            np.clip(decided.low[at], 0.0, 1.0),
            np.clip(decided.high[at], 0.0, 1.0),
            decided.counts[at],
            decided.n,
            people,
            decided.candidates,
            decided.hidden,
            max(limit, min(1.0, float(common))),
            decided.alpha,
            least,
            tuple(notes),
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def people_of(self) -> Integers:
        """How many people have each value, by its estimate. `least` counts plain shares, which are larger."""
        return np.rint(self.shares * self.people).astype(np.int64)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What may be wrong, and what cannot be seen."""
        chance = format_percent(self.alpha)
        wrong = f"A value that nobody has is among those shown in {chance} of studies at most."
        sentences = [say_found(self.limit, format_percent(self.limit))]
        if self.hidden:
            hidden = format_count(self.hidden, "value")
            sentences.append(f"{hidden} of fewer than {self.least:,} people, by the plain share: not shown.")
        if (self.people_of < self.least).any():
            sentences.append(
                "The plain share decides what is shown. Given that it is, fewer than "
                f"{self.least:,} people may have a value."
            )
        return wrong, *sentences, *self.notes

    def frame(self, backend: str | None = None) -> Any:
        """A dataframe of the library you already have: pandas, polars or pyarrow."""
        rows = len(self.names)
        columns = {"n": np.full(rows, self.n), "alpha": np.full(rows, self.alpha)}
        return frame_of({**self._columns(), **columns}, backend)

    def _columns(self) -> Mapping[str, Any]:
        return {
            "value": list(self.names),
            "share": self.shares,
            "low": self.low,
            "high": self.high,
            "low_at_once": self.low_at_once,
            "high_at_once": self.high_at_once,
            "people": self.people_of,
            "count": self.counts,
        }

    def to_dict(self) -> dict[str, Any]:
        """Writes plain numbers, ready for JSON."""
        return {
            "people": self.people,
            "reports": self.n,
            "candidates": self.candidates,
            "hidden": self.hidden,
            "least": self.least,
            "alpha": self.alpha,
            "limit": self.limit,
            "sentences": list(self.sentences),
            "found": self._list_found(),
        }

    def _list_found(self) -> list[dict[str, Any]]:
        """A row for each value that was found."""
        columns = {name: list(np.asarray(column).tolist()) for name, column in self._columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Discovery:
        """Reads what `to_dict` wrote, as a collector answers it."""
        rows = data["found"]

        def column(name: str, kind: type[np.generic] = np.float64) -> Any:
            return np.array([row[name] for row in rows], dtype=kind)

        names = tuple(str(row["value"]) for row in rows)
        columns = [column(name) for name in ("share", "low", "high", "low_at_once", "high_at_once")]
        columns.append(column("count", np.int64))
        numbers: list[Any] = [int(data[name]) for name in ("reports", "people", "candidates", "hidden")]
        numbers += [float(data["limit"]), float(data["alpha"]), int(data["least"])]
        discovery = Discovery(names, *columns, *numbers)
        return replace(discovery, notes=tuple(map(str, data["sentences"][len(discovery.sentences) :])))

    def plot(self) -> Figure:
        """A figure of matplotlib: a bar for each value's share, with its interval."""
        from deniable.plot.charts import Bars, plot_bars

        if not self.names:
            raise InvalidParameter("no value was found, so there is nothing to draw")
        title = f"{self._heading}; 95 % intervals"
        return plot_bars(self.names, [Bars(self.shares, "", self.low, self.high)], title, "share of people")

    @property
    def _heading(self) -> str:
        count = format_count(len(self.names), "value") if self.names else "no value"
        return f"{format_count(self.people, 'person')}: {count} found"

    @property
    def _rows(self) -> list[list[str]]:
        rows = []
        for row in self._list_found():
            people = f"{row['people']:,}" if row["people"] >= self.least else f"fewer than {self.least:,}"
            alone = _interval(row["low"], row["high"])
            at_once = _interval(row["low_at_once"], row["high_at_once"])
            rows.append([row["value"], _percent(row["share"]), alone, at_once, people])
        return rows

    def __str__(self) -> str:
        table = format_table(_HEADERS, self._rows) if self.names else []
        return "\n".join([self._heading, *table, *map(fill_paragraph, self.sentences)])


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {_percent(high)}"
