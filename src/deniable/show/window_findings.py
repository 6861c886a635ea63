"""Lays out the estimates of windows, such as days: as a table, as JSON, and as lines with bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from deniable.errors import InvalidReport
from deniable.formatting import (
    Printed,
    format_count,
    format_digits,
    format_percent,
    format_table,
    quote_question,
)
from deniable.plan.attribute import Attribute, list_several
from deniable.results.estimates import MEAN, Estimates
from deniable.results.findings import AMONG, MLE, MOVED, RANGE, WORST, Findings
from deniable.results.joined import find_begun
from deniable.results.possible_shares import describe_move
from deniable.results.windows import Window, name_values
from deniable.show.text import describe_bins, name_limit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from deniable.frames import Show
    from deniable.results.estimates import Estimates

_COLUMNS = 6  # values of an attribute in the text and in a panel: the largest ones
_TICKS = 8  # windows that are named below a panel
_PANELS = 24
_SHARES = ("value", "group", RANGE)  # kinds of rows

Row = Mapping[str, Any]


@final
@dataclass(frozen=True)
class WindowFindings(Printed):
    """What was found in each window that has reports, at one confidence level."""

    by: tuple[str, ...]
    windows: Mapping[Window, Findings]

    @staticmethod
    def of(
        by: tuple[str, ...],
        windows: Mapping[Window, Estimates],
        read: Callable[[Estimates], Findings],
        show: Show | None = None,
    ) -> WindowFindings:
        """The findings of each window, as a function reads them from its estimates."""
        if not windows:
            raise InvalidReport(f"there are no reports in any window of {' and '.join(by)}")
        findings = {}
        for window, estimates in windows.items():
            findings[window] = read(estimates)
            if show is not None:
                show(len(findings), len(windows))
        return WindowFindings(by, findings)

    def table(self) -> list[dict[str, Any]]:
        """One table of all windows: their columns first, then those of each window's own table."""
        return [
            self._name(window) | row
            for window, findings in self.windows.items()
            for row in findings.rows.table()
        ]

    def about(self) -> dict[str, Any]:
        first = next(iter(self.windows.values()))
        windows = [
            {"window": self._name(window)} | findings.about() for window, findings in self.windows.items()
        ]
        last = self._newest
        about: dict[str, Any] = {"plan": last.plan_id, "title": last.title, "level": first.level}
        return about | {"by": list(self.by), "windows": windows}

    def text(self, unbiased: bool = False) -> str:
        """A table for each attribute: a row for each window, and a column for each of the largest shares."""
        first = next(iter(self.windows.values()))
        n = sum(findings.estimates.n for findings in self.windows.values())
        parts = [
            f"{format_count(n, 'record')} in {format_count(len(self.windows), 'window')} reported for plan "
            f"{self._newest.plan_id[:12]}{self._name_plans()}; {format_percent(first.level)} intervals of "
            "each window by itself"
        ]
        parts += [str(first.estimates.weighting.weights)] if first.estimates.weighting else []
        for name in self._shown:
            values, more = self._choose(name)
            rows = []
            for window, findings in self.windows.items():
                window_rows = (self._rows[window].get((name, value)) for value in values)
                cells = (_format_cell(row, unbiased) for row in window_rows)
                rows.append([*name_values(window), self._count_reports(findings.estimates, name), *cells])
            lines = format_table([*self.by, "reports", *map(str, values)], rows, self.by, "  ")
            if more:
                lines.append(f"  and {format_count(more, 'smaller share')}; --json and -o have all")
            lines += [f"  {why}" for why in self._list_caveats(name)]
            smoothed = any(name in findings.smoothed for findings in self.windows.values())
            title = f"{name}, smoothed shares" if smoothed else name
            if name in self._several:
                title = f"{name}, {name_limit(self._several[name])}"
            parts.append("\n".join([title, *quote_question(self._newest.question_texts, name), *lines]))
            parts += [self._write_others(name, values, of) for of in self._list_others(name)]
        return "\n\n".join(parts)

    @cached_property
    def _newest(self) -> Estimates:
        """The estimates of a window that has reports to the last of the plans that continue each other."""
        all_estimates = [findings.estimates for findings in self.windows.values()]
        return max(all_estimates, key=lambda part: len(part.document.continues) if part.document else 0)

    def _name_plans(self) -> str:
        """How the plans are joined that windows have reports to, in words; empty of one plan."""
        all_estimates = [findings.estimates for findings in self.windows.values()]
        plans = {plan.plan_id for part in all_estimates for plan in (part.plans or (part,))}
        text = self._name_rounds(all_estimates)
        if len(plans) < 2:
            return text
        return (
            f" and {format_count(len(plans) - 1, 'plan')} that it continues; where a window has reports to "
            f"several plans, they are joined by the numbers of people{text}"
        )

    def _name_rounds(self, all_estimates: Sequence[Estimates]) -> str:
        """How many windows join several rounds of one plan, in words; empty where none does."""
        several = sum(len({plan.plan_id for plan in part.plans}) < len(part.plans) for part in all_estimates)
        if not several:
            return ""
        return (
            f"; {format_count(several, 'window')} with reports of several rounds, which are joined as if the "
            "same people were in each"
        )

    def _list_caveats(self, name: str) -> list[str]:
        """How much farther off the means of bins may be than their intervals say, the windows whose reports
        fit honest people badly, and why what was asked for cannot be found.
        """
        means = (rows.get((name, MEAN)) for rows in self._rows.values())
        widest = max((row["within"] for row in means if row is not None), default=0.0)
        caveats = [f"means: and {describe_bins(widest)}"] if widest else []
        caveats += self._explain_begun(name)
        for window, findings in self.windows.items():
            fits = [findings.fits[part] for part in self._list_names(name) if part in findings.fits]
            caveats += [f"{' '.join(name_values(window))}: {fit}" for fit in fits if fit.is_bad]
        reasons = [findings.refused[name] for findings in self.windows.values() if name in findings.refused]
        return [*caveats, *dict.fromkeys(reasons)]

    def _explain_begun(self, name: str) -> list[str]:
        """How many windows are of plans before the one that began to ask a question anew, and why it did."""
        last = self._newest.document
        begun = {} if last is None or not last.continues else find_begun(last)
        place, why = begun.get(self._list_names(name)[0], (0, ""))
        documents = [findings.estimates.document for findings in self.windows.values()]
        before = sum(plan is not None and len(plan.continues) < place for plan in documents)
        verb = "is" if before == 1 else "are"
        text = f"{format_count(before, 'window')} {verb} of plans before, and not joined with the last: {why}"
        return [text] if before else []

    def _list_others(self, name: str) -> list[str]:
        """What was asked for beside the shares that are shown, if any window has it."""
        all_rows = (item for rows in self._rows.values() for item in rows.items())
        rows = [row for (attribute, _), row in all_rows if attribute == name]
        kinds = [MLE] if any(row.get(MLE) is not None for row in rows) else []
        fakes = WORST[0] in rows[0] and any(row["kind"] == "value" for row in rows)
        return [*kinds, *(WORST[:1] if fakes else ())]

    def _write_others(self, name: str, labels: Sequence[str], of: str) -> str:
        """A table of other shares, or of their worst case, in every window."""
        first = next(iter(self.windows.values()))
        values = [value for value in labels if not self._is_number(name, value)]
        rows = []
        for window, rows_of_window in self._rows.items():
            cells = [_format_other(rows_of_window.get((name, value)), of) for value in values]
            rows.append([*name_values(window), *cells])
        fake = f"if up to {format_percent(first.fakes or 0.0)} of reports are fake"
        title = "most likely shares" if of == MLE else fake
        lines = format_table([*self.by, *map(str, values)], rows, self.by, "  ")
        if of == MLE:
            all_likely = (findings.likely for findings in self.windows.values())
            names = self._list_names(name)
            gaps = [likely[part].gap for likely in all_likely for part in names if part in likely]
            best = f"log-likelihood per report within {max(gaps):.2g} of the best in every window"
            lines.append(f"  {best if max(gaps) < math.inf else 'some windows have no certificate'}")
        return "\n".join([f"{name}, {title}", *lines])

    def __str__(self) -> str:
        return self.text()

    def plot(self, unbiased: bool = False) -> Figure:
        """Lines over windows, with a band for each interval; a panel for each attribute."""
        from deniable.plot.charts import panels

        first = next(iter(self.windows.values()))
        title = self._newest.title or "Estimates"
        titles = {name: name for name in self._shown}
        return panels(
            titles,
            lambda axes, name: self._draw(axes, name, unbiased),
            f"{title} by {' and '.join(self.by)}, {format_percent(first.level)} intervals",
            columns=2,
            most=_PANELS,
            what="attributes",
            size=(5.2, 3.0),
        )

    def _draw(self, axes: Axes, name: str, unbiased: bool) -> None:
        from deniable.plot.charts import draw_band
        from deniable.plot.figure import format_tick
        from deniable.plot.looks import looks

        labels, _ = self._choose(name)
        windows = list(self.windows)
        means = [value for value in labels if self._is_number(name, value)]
        values = [value for value in labels if value not in means] or means[:1]
        for value, look in looks(map(str, values)).items():
            points = [(i, self._rows[window].get((name, value))) for i, window in enumerate(windows)]
            seen = [(i, *_read_point(row, unbiased)) for i, row in points if row is not None]
            known = [point for point in seen if None not in point]
            at, middle, low, high = (
                (list(column) for column in zip(*known, strict=True)) if known else ([],) * 4
            )
            if len(self.by) > 1:  # neighbors are of other regions, so that no line leads from one to the next
                axes.vlines(at, low, high, color=look["color"], alpha=0.5)
                axes.plot(at, middle, label=value, **(look | {"linestyle": "none"}))
                continue
            draw_band(axes, (at, middle, low, high), value, look)
        if values != means[:1]:
            axes.yaxis.set_major_formatter(format_tick)
            if axes.dataLim.y0 >= 0:  # shares begin at 0, as on the dashboard
                axes.set_ylim(bottom=0.0)
        step = -(-len(windows) // _TICKS)
        ticks = [" ".join(name_values(window)) for window in windows[::step]]
        axes.set_xticks(range(0, len(windows), step), ticks, rotation=30, ha="right", rotation_mode="anchor")
        axes.set_xlim(-0.4, len(windows) - 0.6)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)

    def _name(self, window: Window) -> dict[str, Any]:
        values = window if isinstance(window, tuple) else (window,)
        return {name: _plain(value) for name, value in zip(self.by, values, strict=True)}

    @cached_property
    def _rows(self) -> dict[Window, dict[tuple[str, str], Row]]:
        """What is shown of each window, by attribute and value; long ranges have groups."""
        of_option = {option.name: option for options in self._several.values() for option in options}
        last = {options[-1].name for options in self._several.values()}
        rows: dict[Window, dict[tuple[str, str], Row]] = {window: {} for window in self.windows}
        for window, findings in self.windows.items():
            for row in findings.rows.table(bins=False):
                name, value = row["attribute"], str(row["value"])
                option = of_option.get(name)
                if option is not None and option.several is not None:
                    if value == "no" or (value != "yes" and name not in last):
                        continue
                    name, value = option.several, option.option if value == "yes" else value
                if row["kind"] != AMONG:
                    rows[window][name, value] = row
        return rows

    @cached_property
    def _several(self) -> dict[str, tuple[Attribute, ...]]:
        """The options of each question to which all that apply are chosen."""
        document = self._newest.document
        return {} if document is None else list_several(document.attributes)

    def _list_names(self, name: str) -> list[str]:
        """The attributes of a question: its options, or itself."""
        return [option.name for option in self._several.get(name, ())] or [name]

    def _count_reports(self, estimates: Estimates, name: str) -> str:
        names = self._list_names(name)
        sizes = [int((estimates.unreported.get(part) or estimates[part]).n) for part in names]
        least, most = min(sizes), max(sizes)
        return f"{most:,}" if least == most else f"{least:,} to {most:,}"

    @cached_property
    def _shown(self) -> list[str]:
        return list(dict.fromkeys(name for rows in self._rows.values() for name, _ in rows))

    def _choose(self, name: str) -> tuple[list[str], int]:
        """The values that are shown, and how many others there are: the largest shares, then means."""
        total: dict[str, float] = {}
        numbers: dict[str, None] = {}
        for rows in self._rows.values():
            for (attribute, value), row in rows.items():
                if attribute == name and row["kind"] in ("value", "group"):
                    total[value] = total.get(value, 0.0) + (row["share"] or 0.0)
                elif attribute == name:
                    numbers[value] = None
        largest = sorted(total, key=total.__getitem__, reverse=True)[:_COLUMNS]
        chosen = [value for value in total if value in largest]
        return [*chosen, *numbers], len(total) - len(chosen)

    def _is_number(self, name: str, value: str) -> bool:
        rows_of_value = (rows.get((name, value)) for rows in self._rows.values())
        return any(row is not None and row["kind"] not in _SHARES for row in rows_of_value)


def _plain(value: object) -> object:
    """What JSON can hold of a column's value."""
    return value if value is None or isinstance(value, int | str) else str(value)


def _read_point(row: Row, unbiased: bool) -> tuple[float | None, float | None, float | None]:
    """An estimate and the ends of its interval."""
    if unbiased and row.get("unbiased") is not None:
        return row["unbiased"], row["unbiased_low"], row["unbiased_high"]
    value = next((row[of] for of in ("share", "mean", "quantile") if row.get(of) is not None), None)
    return value, row["low"], row["high"]


def _format_other(row: Row | None, of: str) -> str:
    if row is None or row["kind"] == RANGE or (row["kind"] == "group" and of == WORST[0]):
        return ""
    if row[of] is None:
        return "impossible"
    if of == WORST[0]:
        return f"{100 * row[WORST[0]]:.1f} to {100 * row[WORST[1]]:.1f} %"
    return f"{100 * row[of]:.1f} %"


def _format_cell(row: Row | None, unbiased: bool) -> str:
    if row is None:
        return ""
    value, low, high = _read_point(row, unbiased)
    if value is None or low is None or high is None:
        return "not known"
    if row["kind"] in _SHARES:
        moved = "" if unbiased or row.get(MOVED) is None else f", {describe_move(row[MOVED])}"
        return f"{100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f}){moved}"
    if row.get("label") is not None:
        return f"{row['label']} ({row['low_label']} to {row['high_label']})"
    return f"{format_digits(value, 4)} ({format_digits(low, 4)} to {format_digits(high, 4)})"
