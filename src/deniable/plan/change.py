"""Compares two rounds: the change of every share and mean, with an interval that is valid for them.

What people keep is in both rounds, so the rounds' errors depend on each other. A collector that has only
tallies does not know how. Whatever it is, the standard error of a difference is at most the sum of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate, normal_quantile
from deniable.formatting import format_count
from deniable.tables import Backend, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.plan.result import Result

People = Literal["same", "others"]
MEAN = "mean"
"""What stands for a value where the mean of a number is estimated."""
_WHY = {
    None: "they hold whoever answered in each round",
    "others": "they hold if other people answered in each round",
    "same": "they hold for these very people, if all answered in both rounds",
}
_COLUMNS = ("earlier", "later", "difference", "low", "high")


class _Known(NamedTuple):
    """Numbers of one round with their standard errors and the ends of their intervals."""

    value: Floats
    stderr: Floats
    low: Floats
    high: Floats


@final
@dataclass(frozen=True, eq=False)
class AttributeChange:
    """The change of each share of one attribute, or of its mean, from one round to another."""

    labels: tuple[str, ...]
    earlier: Floats
    later: Floats
    stderr: Floats
    """The standard error of each difference; the largest it can be, where nothing is known of dependence."""
    low: Floats
    high: Floats
    kind: str = "value"
    """What the labels name: a "value", a "group" of neighboring ones, or the "mean"."""

    @property
    def difference(self) -> Floats:
        """How much larger each number is in the later round."""
        return np.asarray(self.later - self.earlier)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference."""
        columns = self.earlier, self.later, self.difference, self.stderr, self.low, self.high
        names = ("earlier", "later", "difference", "stderr", "low", "high")
        return [
            {"value": label, "kind": self.kind} | dict(zip(names, map(float, row), strict=True))
            for label, *row in zip(self.labels, *columns, strict=True)
        ]

    def possible(self) -> dict[str, Floats]:
        """The same columns as people read them: shares from 0 to 1, and differences of them from -1 to 1."""
        found = dict(
            zip(_COLUMNS, (self.earlier, self.later, self.difference, self.low, self.high), strict=True)
        )
        if self.kind == MEAN:
            return found
        return {
            name: column.clip(0 if name in ("earlier", "later") else -1, 1) for name, column in found.items()
        }

    def frame(self, backend: Backend | None = None) -> Any:
        """A row for each difference, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, title: str = "Change from round to round") -> Figure:
        """A figure of matplotlib: a bar for each difference, with its interval."""
        from deniable.plot.charts import Bars, plot_bars

        is_share, shown = self.kind != MEAN, self.possible()
        about = "change of the share of people, in points" if is_share else "change of the mean"
        return plot_bars(
            self.labels,
            [Bars(shown["difference"], "", shown["low"], shown["high"])],
            title,
            about,
            percent=is_share,
        )


@final
@dataclass(frozen=True, eq=False)
class Change(Mapping[str, AttributeChange]):
    """The changes of all attributes; means of ranges and groups of neighboring values stand apart."""

    attributes: Mapping[str, AttributeChange]
    groups: Mapping[str, AttributeChange]
    """Groups of neighboring values, of attributes that have too many values to look at one by one."""
    means: Mapping[str, AttributeChange]
    """The means of ranges without open ends, which have shares as well."""
    level: float
    people: People | None
    """Who is taken to have answered in both rounds; None where nothing is."""

    def __getitem__(self, name: str) -> AttributeChange:
        if name not in self.attributes:
            raise KeyError(not_among(name, "an attribute", self.attributes))
        return self.attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def difference(self) -> dict[str, Floats]:
        """How much larger each number is in the later round, by attribute."""
        return {name: one.difference for name, one in self.items()}

    @property
    def low(self) -> dict[str, Floats]:
        """The lower ends of the differences' intervals, by attribute."""
        return {name: one.low for name, one in self.items()}

    @property
    def high(self) -> dict[str, Floats]:
        """The upper ends of the differences' intervals, by attribute."""
        return {name: one.high for name, one in self.items()}

    @property
    def validity(self) -> str:
        """For whom the intervals hold, in words."""
        return _WHY[self.people]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: of values, of groups of them, and of means (`kind`)."""
        parts = [one for all_ in (self.attributes, self.groups, self.means) for one in all_.items()]
        return [{"attribute": name} | row for name, one in parts for row in one.rows()]

    def frame(self, backend: Backend | None = None) -> Any:
        """A row for each difference, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, name: str | None = None) -> Figure:
        """A figure of matplotlib: the changes of one attribute, or of the shares of all."""
        about = f"change with {100 * self.level:g} % intervals; {self.validity}"
        if name is not None or len(self) == 1:
            named = next(iter(self)) if name is None else name
            if named not in self:
                raise InvalidParameter(not_among(named, "an attribute", self))
            return self.groups.get(named, self[named]).plot(f"{named}: {about}")
        shown = {one: self.groups.get(one, self[one]) for one in self if self[one].kind != MEAN}
        if not shown:
            raise InvalidParameter(f"means are drawn one by one; name one of {', '.join(self)}")
        labels = tuple(f"{one}: {label}" for one, change in shown.items() for label in change.labels)
        names = ("earlier", "later", "stderr", "low", "high")
        earlier, later, stderr, low, high = (
            np.concatenate([getattr(one, column) for one in shown.values()]) for column in names
        )
        whole = AttributeChange(labels, earlier, later, stderr, low, high)
        return whole.plot(about.capitalize())

    def text(self, bins: bool = False) -> str:
        """A plain table per attribute: groups of neighboring values where there are many, unless `bins`."""
        lines = [f"change with {100 * self.level:g} % intervals; {self.validity}"]
        for name in self:
            shown = [self[name] if bins else self.groups.get(name, self[name])]
            shown += [self.means[name]] if name in self.means else []
            wide = max(12, *(len(label) for one in shown for label in one.labels))
            head = f"{'value':>{wide}}" + "".join(f"{column:>11}" for column in _COLUMNS)
            lines += ["", name, head, *(line for one in shown for line in _format_lines(one, wide))]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def _format_lines(one: AttributeChange, wide: int) -> list[str]:
    form = "11.6g" if one.kind == MEAN else "11.4f"
    rows = zip(*one.possible().values(), strict=True)
    return [
        f"{label:>{wide}}" + "".join(f"{number:{form}}" for number in row)
        for label, row in zip(one.labels, rows, strict=True)
    ]


def compare_results(earlier: Result, later: Result, level: float, people: People | None) -> Change:
    """The change from one result to another, by the interval that is valid for them."""
    if people not in (None, "same", "others"):
        raise InvalidParameter(f"people is 'same', 'others' or None, got {people!r}")
    _refuse_different(earlier, later)
    known = people
    if people is None and earlier.plan_id == later.plan_id and not later.kept:
        known = "others"  # who answers a plan that asks once has no second report
    if people == "same":
        _refuse_not_same(earlier, later)
    combine = _add_errors if known is None else _mix_errors
    attributes = {
        name: _compare(_labels(one), later[name], earlier[name], level, known, combine)
        for name, one in later.estimates.items()
    }
    for name in later.means:
        ends = [_mean_of(one, name, level) for one in (earlier, later)]
        attributes[name] = AttributeChange((MEAN,), ends[0].value, ends[1].value, *combine(*ends), MEAN)
    means = {}
    for name in later.estimates:
        if later.has_mean(name):
            ends = [_mean_of(one, name, level) for one in (earlier, later)]
            means[name] = AttributeChange((MEAN,), ends[0].value, ends[1].value, *combine(*ends), MEAN)
    return Change(attributes, _compare_groups(earlier, later, level, combine), means, level, known)


def _compare(
    labels: tuple[str, ...],
    later: Estimate,
    earlier: Estimate,
    level: float,
    people: People | None,
    combine: _Combine,
) -> AttributeChange:
    if people == "same":
        stderr = np.hypot(earlier.standard_errors("fixed"), later.standard_errors("fixed"))
        difference = later.frequencies - earlier.frequencies
        reach = normal_quantile(level) * stderr
        ends: tuple[Floats, Floats, Floats] = stderr, difference - reach, difference + reach
    else:
        ends = combine(
            *(_Known(one.frequencies, one.stderr, *one.interval(level)) for one in (earlier, later))
        )
    return AttributeChange(labels, earlier.frequencies, later.frequencies, *ends)


def _compare_groups(
    earlier: Result, later: Result, level: float, combine: _Combine
) -> dict[str, AttributeChange]:
    from deniable.summaries import groups_of

    found = {}
    for name in later.estimates:
        grouped = [groups_of(one[name], one.domains.get(name), level) for one in (earlier, later)]
        if grouped[1]:
            labels = tuple(group.label for group in grouped[1])
            ends = [_summaries([group.share for group in groups]) for groups in grouped]
            found[name] = AttributeChange(labels, ends[0].value, ends[1].value, *combine(*ends), "group")
    return found


def _mean_of(result: Result, name: str, level: float) -> _Known:
    return _summaries([result.mean(name, level)])


def _summaries(found: Sequence[Any]) -> _Known:
    columns = ([getattr(one, name) for one in found] for name in ("value", "stderr", "low", "high"))
    return _Known(*(np.array(column, dtype=np.float64) for column in columns))


def _labels(estimate: Estimate) -> tuple[str, ...]:
    return tuple(map(str, estimate.labels or range(estimate.k)))


def _add_errors(earlier: _Known, later: _Known) -> tuple[Floats, Floats, Floats]:
    """The largest standard error that any dependence allows, and ends as far as both rounds' reach together.

    By Cauchy and Schwarz the standard deviation of a difference is at most the sum of both.
    """
    return earlier.stderr + later.stderr, later.low - earlier.high, later.high - earlier.low


def _mix_errors(earlier: _Known, later: _Known) -> tuple[Floats, Floats, Floats]:
    """The same for independent rounds: reaches are added in squares, on each side (Zou and Donner, 2008)."""
    difference = later.value - earlier.value
    low = difference - np.hypot(later.value - later.low, earlier.high - earlier.value)
    high = difference + np.hypot(later.high - later.value, earlier.value - earlier.low)
    return np.hypot(earlier.stderr, later.stderr), low, high


_Combine = Callable[[_Known, _Known], tuple[Floats, Floats, Floats]]


def _refuse_different(earlier: Result, later: Result) -> None:
    names = sorted(earlier), sorted(later)
    if names[0] != names[1]:
        raise InvalidParameter(
            f"rounds are compared by the same attributes; one has {', '.join(names[0])}, the other "
            f"{', '.join(names[1])}"
        )
    for name in later.estimates:
        if name not in earlier.estimates or _labels(earlier[name]) != _labels(later[name]):
            raise InvalidParameter(f"{name!r} has other values in the two results, so they are not compared")


def _refuse_not_same(earlier: Result, later: Result) -> None:
    """Refuse the narrower interval where it does not hold."""
    tied = [name for name in later.estimates if not later.kept.get(name)]
    if earlier.plan_id != later.plan_id or tied or later.means:
        which = f"; {', '.join(tied)} is not" if tied else ""
        raise InvalidParameter(
            "people='same' is for a plan that asks again by two rounds on values (l_grr, l_sue, l_oue, "
            f"l_osue, l_soue){which}; leave it out for intervals that hold whoever answered"
        )
    for name in later.estimates:
        if earlier[name].n != later[name].n:
            one, other = format_count(earlier[name].n, "report"), format_count(later[name].n, "report")
            raise InvalidParameter(
                f"{name!r} has {one} in one round and {other} in the other, so not the same people answered; "
                "leave people='same' (--people same) out"
            )
