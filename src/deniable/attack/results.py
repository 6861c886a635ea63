"""Holds how often an attacker is right about attributes, profiles and people, and how that is known.

Every figure of a plan is summed exactly, unless it is named in `stderr`, which has the error of its
simulation, or in `bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import clopper_pearson, normal_quantile
from deniable.exact import number, whole_number
from deniable.formatting import (
    Printed,
    fill_paragraph,
    format_count,
    format_percent,
    format_percent_range,
    format_points,
    format_table,
    shorten_names,
)
from deniable.frames import Backend, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = dict[str, Any]
"""Values of one row of a dataframe, by their columns."""
LEVEL = 0.95
ATTRIBUTE = ("blind", "report", "reported", "memoized", "averaged", "reported_memoized", "reported_averaged")
"""What is known of every attribute."""
RELATED = ("together", "together_blind")
"""What is also known of questions that depend on each other."""
PROFILE = ("all_reported", "whole_record", "right")
"""What is known of every profile."""

Asked = Literal["new", "any", "kept", "all", "mixed"]
"""Which attributes are asked for: always one that was not asked before; any at random; the first one again;
all of them; or some of them always and others at random.
"""


def find_mean_interval(value: float, stderr: float | None, level: float, most: float = 1.0) -> Columns:
    """A mean, with a normal interval where it has an error; what is exact (None) is its own interval."""
    reach = normal_quantile(level) * (stderr or 0.0)
    ends = (
        {"low": max(0.0, value - reach), "high": min(most, value + reach)}
        if reach
        else {"low": value, "high": value}
    )
    return {"stderr": stderr or 0.0, **ends, "exact": stderr is None}


def find_share_interval(right: float, n: int, level: float, stderr: float | None = None) -> Columns:
    """A count out of n, with the interval of Clopper and Pearson; a part of one widens it at both ends."""
    tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
    ends = np.array([math.floor(right + 1e-6), math.ceil(right - 1e-6)], dtype=np.float64)
    low, high = clopper_pearson(ends, n, tail)
    share = right / n
    error = math.sqrt(share * (1 - share) / n) if stderr is None else stderr
    return {"stderr": error, "low": float(low[0]), "high": float(high[1])}


@final
@dataclass(frozen=True)
class Chance(Printed):
    """A probability: summed exactly, simulated with a standard error, or an upper bound."""

    value: float
    stderr: float = 0.0
    exact: bool = True
    """Whether it is a sum; otherwise it is simulated, and the standard error says how well."""
    bound: bool = False
    """Whether the truth may be below."""

    def __str__(self) -> str:
        how = "" if self.exact else f" (simulated, standard error {format_points(self.stderr)})"
        return f"{'at most ' if self.bound else ''}{format_percent(self.value)}{how}"


@final
@dataclass(frozen=True)
class AttributeSuccess(Printed):
    """How often the best guess of one answer is right."""

    name: str
    k: int
    blind: float
    """Without any report."""
    report: float
    """From one whole report, in which the answer may not be."""
    reported: float
    """From one report that is known to hold the answer."""
    memoized: float
    """From all the collections, where an answer that is asked again is sent as before, or as the mechanism
    keeps it.
    """
    averaged: float | None
    """From all the collections, where noise, and among fakes the attribute, is drawn again each time; None
    where it is not known (among fakes, after more than 8 collections).
    """
    reported_memoized: float
    """From reports of all the collections each of which is known to hold the answer, sent as before or as the
    mechanism keeps it: the risk of those who are asked for it, while `memoized` counts those who never are.
    """
    reported_averaged: float
    """From reports of all the collections each of which is known to hold the answer, with fresh noise each
    time.
    """
    stderr: Mapping[str, float] = field(default_factory=dict)
    """The standard errors of the figures that are simulated; the others are exact."""
    bounds: tuple[str, ...] = ()
    """The names of the figures that are upper bounds."""
    together: float | None = None
    """From one whole report with all questions that depend on each other; whether one applies says something
    about the other. All values are thought equally likely, where a question applies. None with another prior,
    and where there is too much to sum up: `plan.explain()` has a bound then.
    """
    together_blind: float | None = None
    """How often a blind guess is right, by an attacker with the prior of `together`."""

    @property
    def simulated(self) -> bool:
        """Whether any of it is."""
        return bool(self.stderr)

    def __str__(self) -> str:
        guess = f"best guess right {format_percent(self.report)} (blind {format_percent(self.blind)})"
        return f"{self.name}, {format_count(self.k, 'value')}: {guess}"

    def rows(self, level: float = LEVEL) -> list[Columns]:
        """A row per figure that is known, its interval at `level`."""
        values = {name: getattr(self, name) for name in (*ATTRIBUTE, *RELATED)}
        return [
            {"attribute": self.name, "figure": name, "success": value}
            | find_mean_interval(value, self.stderr.get(name), level)
            | {"bound": name in self.bounds}
            for name, value in values.items()
            if value is not None
        ]


@final
@dataclass(frozen=True)
class ProfileSuccess(Printed):
    """What several collections of one person tell together."""

    collections: int
    asked: Asked
    memoized: bool
    """Whether a repeated answer is sent as before; otherwise with fresh noise, which can be averaged away."""
    all_reported: float
    """How often all attributes that were reported are guessed."""
    whole_record: float
    """How often all attributes are, those that were not reported by blind guesses."""
    right: float
    """How many of the reported attributes are guessed, on average."""
    published: float | None = None
    """How often all collections ask for different attributes and all are guessed (the papers' figure)."""
    bound: bool = False
    """Whether this is an upper bound: among fakes, for an attacker who knows which attribute is real; or made
    of bounds.
    """
    stderr: Mapping[str, float] = field(default_factory=dict)
    """The standard errors of the figures that are simulated, or made of simulated ones; the others
    are exact.
    """

    @property
    def simulated(self) -> bool:
        """Whether any of it is."""
        return bool(self.stderr)

    def __str__(self) -> str:
        most = "at most " if self.bound else ""
        reported = f"all reported attributes right {most}{format_percent(self.all_reported)}"
        record = f"the whole record right {most}{format_percent(self.whole_record)}"
        return f"Profile of {format_count(self.collections, 'collection')}: {reported}, {record}"

    def rows(self, level: float = LEVEL) -> list[Columns]:
        """A row per figure that is known, its interval at `level`."""
        common = {"collections": self.collections, "asked": self.asked, "memoized": self.memoized}
        values = {name: getattr(self, name) for name in (*PROFILE, "published")}
        return [
            {**common, "figure": name, "value": value}
            | find_mean_interval(value, self.stderr.get(name), level, math.inf if name == "right" else 1.0)
            | {"bound": self.bound}
            for name, value in values.items()
            if value is not None
        ]

    def frame(self, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """A row per figure, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(level), backend)


def _with_lists(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a class by name, as JSON gives them back: lists, no tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in members}


@final
@dataclass(frozen=True)
class Success(Printed, Mapping[str, AttributeSuccess]):
    """How often an attacker who sees reports of one person is right; by attribute, `success["town"]`."""

    attributes: tuple[AttributeSuccess, ...]
    profiles: tuple[ProfileSuccess, ...]
    blind_record: float
    """How often a whole record is guessed without any report."""
    seed: int = 1
    """What is simulated is drawn from it."""
    alone: tuple[str, ...] = ()
    """Questions that depend on each other, and are guessed one by one all the same: with a prior, or where
    there is too much to sum up.
    """
    left_out: tuple[str, ...] = ()
    """Text and codes that nobody listed: they are too many to guess among."""

    def __getitem__(self, name: str) -> AttributeSuccess:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(
            not_among(str(name), "an attribute", [attribute.name for attribute in self.attributes])
        )

    def __iter__(self) -> Iterator[str]:
        return (attribute.name for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; what is not known is None."""
        return asdict(self, dict_factory=_with_lists)

    def frame(self, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """A row per attribute and figure, as a dataframe of the library you already have; each of `profiles`
        has a frame of its own.

        `low` and `high` are the ends of the interval of what is simulated, at `level`; what is `exact` is its
        own interval. Where `bound` is true, the figure is an upper bound.
        """
        return frame_of_rows(
            [row | {"seed": self.seed} for attribute in self.attributes for row in attribute.rows(level)],
            backend,
        )

    @property
    def worst(self) -> AttributeSuccess:
        """The attribute whose best guess gains most over a blind one."""
        return max(
            self.attributes,
            key=lambda attribute: (
                (attribute.reported - attribute.blind) / (1 - attribute.blind) if attribute.blind < 1 else 0.0
            ),
        )

    def __str__(self) -> str:
        lines = ["how often the best guess of each answer is right", *format_table(*self._table())]
        return "\n".join([*lines, *map(fill_paragraph, self._notes())])

    def _notes(self) -> list[str]:
        """What to know about the figures, in sentences."""
        return [*([self.describe_alone()] if self.alone else []), *name_left_out(self.left_out)]

    def describe_alone(self) -> str:
        """What was left out about questions that depend on each other."""
        return (
            f"Guessed one by one, although they depend on each other: {shorten_names(self.alone)}. A whole "
            "report may tell more: plan.explain() says how much, if all values are equally likely."
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """For each answer, guesses without a report, from one, and from one that holds it; where questions
        depend on each other, from all of them together.
        """
        headers = ["answer", "values", "blind", "one report", "a report that holds it"]
        rows = [
            [
                attribute.name,
                f"{attribute.k:,}",
                *map(format_percent, (attribute.blind, attribute.report, attribute.reported)),
            ]
            for attribute in self.attributes
        ]
        if any(attribute.together is not None for attribute in self.attributes):
            headers += ["related answers", "blind of these"]
            for row, attribute in zip(rows, self.attributes, strict=True):
                shares = (attribute.together, attribute.together_blind)
                row += ["" if share is None else format_percent(share) for share in shares]
        return headers, rows

    def plot(self) -> Figure:
        """A figure of matplotlib: how often each answer is guessed, blindly and from a report."""
        from deniable.plot.charts import Bars, plot_bars

        bars = [
            Bars(np.array([getattr(attribute, figure) for attribute in self.attributes]), name)
            for figure, name in (
                ("blind", "blind"),
                ("report", "one report"),
                ("reported", "a report that holds it"),
            )
        ]
        title = "How often the best guess of an answer is right"
        return plot_bars([attribute.name for attribute in self.attributes], bars, title, "right guesses")

    def __repr__(self) -> str:
        worst, profiles = self.worst, self.profiles
        after = f", {format_count(profiles[0].collections, 'collection')}" if profiles else ""
        guessed = (
            f"{worst.name!r} {format_percent(worst.reported)} from a report that holds it, blindly "
            f"{format_percent(worst.blind)}"
        )
        return (
            f"<Success of guesses of {format_count(len(self.attributes), 'attribute')}{after}: most exposed "
            f"{guessed}>"
        )


@final
@dataclass(frozen=True, eq=False)
class Reidentification(Printed):
    """Where each target's own record stands among all records of the background."""

    above: Integers
    """How many records match better, for each target."""
    tied: Integers
    """How many match as well, the own one among them."""
    records: int
    """How many there are."""
    top: int
    attributes: tuple[str, ...] = ()
    """By which attributes they were matched: those that the background has."""

    @property
    def n(self) -> int:
        """The number of targets."""
        return int(self.above.size)

    def chance(self, top: int | None = None) -> Floats:
        """How likely each target's own record is among the `top` best matches, ties being drawn."""
        best = whole_number("top", self.top if top is None else top, 1)
        return np.clip((best - self.above) / self.tied, 0.0, 1.0)

    def success(self, top: int | None = None) -> float:
        """The mean chance: how many of the targets are re-identified."""
        return float(self.chance(top).mean())

    def stderr(self, top: int | None = None) -> float:
        """The standard error of `success`, by how much the targets differ; of one target, that of a single
        yes or no.
        """
        chances = self.chance(top)
        if self.n == 1:
            return math.sqrt(float(chances[0]) * (1 - float(chances[0])))
        return float(chances.std(ddof=1) / math.sqrt(self.n))

    def frame(
        self, tops: Sequence[int] | None = None, level: float = LEVEL, backend: Backend | None = None
    ) -> Any:
        """A row for each of `tops` (unless given 1 and `top`), as a dataframe of the library you already
        have.

        `low` and `high` are the ends of the interval of a count at `level`, as if ties had been drawn, which
        widens it.
        """
        if tops is not None and not len(tops):
            raise InvalidParameter("tops are how many of the best matches count, such as [1, 10], got none")
        rows = []
        for top in dict.fromkeys((1, self.top)) if tops is None else tops:
            common = {"top": top, "n": self.n, "records": self.records, "success": self.success(top)}
            known = {"blind": self.blind(top), "attributes": ", ".join(self.attributes)}
            rows.append(common | self._ends(top, level) | known)
        return frame_of_rows(rows, backend)

    def interval(self, top: int | None = None, level: float = LEVEL) -> tuple[float, float]:
        """The ends of the interval of `success` at `level`: that of a count, as if ties had been drawn, which
        widens it.
        """
        ends = self._ends(top, level)
        return ends["low"], ends["high"]

    def _ends(self, top: int | None, level: float) -> Columns:
        return find_share_interval(self.success(top) * self.n, self.n, level, self.stderr(top))

    def blind(self, top: int | None = None) -> float:
        """How often a person's record is in a list of `top` records that is drawn blindly."""
        return min(1.0, whole_number("top", self.top if top is None else top, 1) / self.records)

    def __str__(self) -> str:
        by = f" by {shorten_names(self.attributes)}" if self.attributes else ""
        title = f"{format_count(self.n, 'target')} looked for among {format_count(self.records, 'record')}"
        return "\n".join([f"{title}{by}", *format_table(*self._table())])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """How often a target is found, among the best match and among the best few."""
        rows = [
            [
                _name_top(top),
                format_percent(self.success(top)),
                format_percent_range(*self.interval(top)),
                format_percent(self.blind(top)),
            ]
            for top in dict.fromkeys((1, self.top))
        ]
        return ["found", "targets", "95 % interval", "blind"], rows

    def plot(self) -> Figure:
        """A figure of matplotlib: how often a target is found, and how often a blind list holds it."""
        from deniable.plot.charts import Bars, plot_bars

        tops = list(dict.fromkeys((1, self.top)))
        ends = np.array([self.interval(top) for top in tops])
        successes = Bars(np.array([self.success(top) for top in tops]), "found", ends[:, 0], ends[:, 1])
        blind = Bars(np.array([self.blind(top) for top in tops]), "blind")
        title = f"Targets found among {format_count(self.records, 'record')}, with 95 % intervals"
        return plot_bars([_name_top(top) for top in tops], [successes, blind], title, "targets")

    def __repr__(self) -> str:
        rates = f"top-{self.top} {format_percent(self.success(), 2)}, blind {format_percent(self.blind(), 2)}"
        by = f" by {shorten_names(self.attributes)}" if self.attributes else ""
        return f"<Reidentification {self.n:,} targets among {self.records:,} records{by}: {rates}>"


def _name_top(top: int) -> str:
    return "as the best match" if top == 1 else f"among the best {top}"


def name_left_out(questions: Sequence[str]) -> list[str]:
    """That text is not attacked; nothing where there is none."""
    if not questions:
        return []
    return [
        f"Left out: {shorten_names(questions)}, with too many values to guess among; the loss bounds what "
        "any attacker learns. All figures are for reports that hold another question."
    ]


@final
@dataclass(frozen=True)
class ReidentificationRate(Printed):
    """How many people are found in a background table."""

    background: str
    attributes: tuple[str, ...]
    """The columns of the background."""
    collections: int
    top: int
    success: float
    stderr: float
    blind: float
    low: float
    """The ends of the 95 % interval of `success`, which few people who are found make wide."""
    high: float

    def __str__(self) -> str:
        rate = f"{format_percent(self.success)} of people among the {self.top:,} best matches"
        return f"{self.named}: {rate} (blind {format_percent(self.blind)})"

    @property
    def named(self) -> str:
        """The background with the names of its columns."""
        return f"{self.background} ({shorten_names(self.attributes)})"


@final
@dataclass(frozen=True)
class RealAttribute:
    """How often it is found which attribute of a part with fakes is real."""

    names: tuple[str, ...]
    """The attributes of the part."""
    chance: Chance

    @property
    def blind(self) -> float:
        """How often a blind guess is right."""
        return 1 / len(self.names)


def among_best(top: int) -> str:
    """Where a person's own record is looked for.

    >>> among_best(1), among_best(10)
    ('best match', 'among best 10')
    """
    return "best match" if top == 1 else f"among best {top}"
