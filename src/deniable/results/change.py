"""Compares two rounds: the change of every share and mean, with an interval that is valid for them.

What people keep is in both rounds, so the rounds' errors depend on each other. A collector that has only
tallies does not know how. `rounds.differences` says how far it can be against a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.cross import TableChange
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import Printed, format_count, quote_question
from deniable.frames import Backend, frame_of_rows
from deniable.plan.attribute import list_several
from deniable.results.comparable import Comparable, are_chained, find_comparable, label_values
from deniable.results.crossing import cross_estimates
from deniable.results.estimates import MEAN, Estimates
from deniable.results.findings import Findings, add_question
from deniable.results.possible_shares import possible_mean
from deniable.results.respondents import has_mean
from deniable.results.round_numbers import Numbers, find_against, read_groups, read_mean, read_shares
from deniable.rounds.differences import VALIDITY, Kind, People, combine_reaches, find_correlation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_TwoRounds = tuple[Findings, Findings]
_COLUMNS = ("earlier", "later", "difference", "low", "high")
_NUMBERS = ("earlier", "later", "stderr", "low", "high")
_POINTS = 3  # of _COLUMNS; the others are an interval
_WHICH = (
    "earlier and later are what the results of each round show; the difference is of unbiased numbers, which "
    "may differ from these, in points where they are shares"
)
_WIDEST = 0.5  # of an interval of a difference: points of a share, or parts of a range
NOISY = "too noisy to read"


@final
@dataclass(frozen=True)
class Participation:
    """How many people answered both of two rounds, or one of them."""

    both: int
    dropped: int
    """Who answered the earlier round only."""
    joined: int
    """Who answered the later round only."""

    @staticmethod
    def of(both: int, earlier: int, later: int) -> Participation:
        """How many answered, from the numbers of people in both rounds and in each."""
        return Participation(both, earlier - both, later - both)

    def __str__(self) -> str:
        people = format_count(self.both, "person")
        return f"{people}; {self.dropped:,} answered the earlier one only, {self.joined:,} the later one only"


@final
@dataclass(frozen=True, eq=False)
class AttributeChange:
    """The change of each share of one attribute, or of its mean, from one round to another."""

    labels: tuple[str, ...]
    earlier: Floats
    later: Floats
    stderr: Floats
    """The standard error of each difference; the largest that it can be, whatever people keep."""
    low: Floats
    high: Floats
    kind: str = "value"
    """What the labels name: a "value", a "group" of neighboring ones, or the "mean"."""
    find_shown: Callable[[], tuple[Floats, Floats]] | None = field(default=None, repr=False)
    """Finds what the results of both rounds show in place of `earlier` and `later`."""
    reach: float = 1.0
    """The largest difference that there can be: everybody, or the whole range of a mean."""

    @property
    def difference(self) -> Floats:
        """How much larger each number is in the later round."""
        return np.asarray(self.later - self.earlier)

    def rows(self) -> list[dict[str, Any]]:
        columns = self.possible() | {"stderr": self.stderr}
        columns |= {"unbiased_earlier": self.earlier, "unbiased_later": self.later}
        noisy = self.find_noisy().tolist()
        return [
            {"value": label, "kind": self.kind}
            | dict(zip(columns, map(float, row), strict=True))
            | {"noisy": noisy[v]}
            for v, (label, *row) in enumerate(zip(self.labels, *columns.values(), strict=True))
        ]

    def possible(self) -> dict[str, Floats]:
        """Columns as people read them: what each round's results show, and possible differences.

        A difference is that of unbiased numbers: what is shown of two rounds does not err independently.
        """
        rounds = (self.earlier, self.later) if self.find_shown is None else self.find_shown()
        ends = (np.clip(column, -self.reach, self.reach) for column in (self.difference, self.low, self.high))
        return dict(zip(_COLUMNS, (*rounds, *ends), strict=True))

    def find_noisy(self) -> npt.NDArray[np.bool_]:
        """Which differences are too noisy to read: their interval is wider than half of what is possible."""
        low, high = (np.clip(end, -self.reach, self.reach) for end in (self.low, self.high))
        return np.asarray(high - low > _WIDEST * self.reach)

    def pick(self, place: int, label: str) -> AttributeChange:
        """One of the changes, under this label."""
        numbers = {column: getattr(self, column)[place : place + 1] for column in _NUMBERS}
        find_all = self.find_shown
        find_shown = None if find_all is None else partial(_pick_shown, find_all, place)
        return replace(self, labels=(label,), find_shown=find_shown, **numbers)

    def frame(self, backend: Backend | None = None) -> Any:
        """A row for each difference, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, title: str = "Change from round to round") -> Figure:
        """A figure of matplotlib: a bar for each difference, with its interval."""
        from deniable.plot.charts import Bars, plot_bars
        from deniable.plot.figure import format_points

        is_share, ends = self.kind != MEAN, self.possible()
        about = "change of the share of people, in points" if is_share else "change of the mean"
        return plot_bars(
            self.labels,
            [Bars(ends["difference"], "", ends["low"], ends["high"], noisy=self.find_noisy().tolist())],
            title,
            about,
            ticks=format_points if is_share else None,
        )


@final
@dataclass(frozen=True, eq=False)
class Change(Mapping[str, AttributeChange], Printed):
    """The changes of all attributes; means of ranges and groups of neighboring values stand apart."""

    attributes: Mapping[str, AttributeChange]
    groups: Mapping[str, AttributeChange]
    """Groups of neighboring values, of attributes that have too many values to look at one by one."""
    means: Mapping[str, AttributeChange]
    """The means of ranges without open ends, which have shares as well."""
    level: float
    people: People
    """Whose change it is."""
    participation: Participation | None = None
    """Who answered which of both rounds, where that is known."""
    rounds: tuple[Estimates, Estimates] | None = field(default=None, repr=False)
    """What is compared: the earlier one and the later one."""
    find_table: Callable[[str, str], TableChange] | None = field(default=None, repr=False)
    """Finds the change of a table from linked reports."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What is not compared of two plans of which one continues the other, by question, and why."""

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
        return {name: change.difference for name, change in self.items()}

    @property
    def low(self) -> dict[str, Floats]:
        """The lower ends of the differences' intervals, by attribute."""
        return {name: change.low for name, change in self.items()}

    @property
    def high(self) -> dict[str, Floats]:
        """The upper ends of the differences' intervals, by attribute."""
        return {name: change.high for name, change in self.items()}

    @property
    def validity(self) -> str:
        """Whose change it is, in words."""
        return VALIDITY[self.people]

    @property
    def caveat(self) -> str:
        """What is not known where other people answered than before; empty where as many did each time."""
        if self.rounds is None or self.people in ("others", "linked"):
            return ""
        document, is_one_plan = self.rounds[1].document, self.rounds[0].plan_id == self.rounds[1].plan_id
        if document is not None and document.linked and is_one_plan and self.people == "population":
            return (
                "this is from tallies; the change of those who answered both rounds takes their linked "
                "reports: plan.compare_rounds(earlier, later), in the shell --people linked"
            )
        sizes = [[part.n for part in estimates.parts.values()] for estimates in self.rounds]
        if sizes[0] == sizes[1]:
            return ""
        earlier, later = (format_count(estimates.n, "report") for estimates in self.rounds)
        return (
            f"the rounds are of different people ({earlier}, then {later}): the change of those who answered "
            "both times is not known, and may be another one if dropping out depends on the answer"
        )

    def cross(self, of: str, by: str) -> TableChange:
        """The change of the table of two questions that were asked `together`."""
        if self.find_table is not None:
            return self.find_table(of, by)
        if self.rounds is None:
            raise InvalidParameter("this change does not know its results; make it by later.change(earlier)")
        earlier, later = (cross_estimates(estimates, of, by, self.level) for estimates in self.rounds)
        return later.change(earlier, self.people)

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        setting = {"level": self.level, "people": self.people, "validity": self.validity}
        answered = {} if self.participation is None else asdict(self.participation)
        left_out = {"left_out": dict(self.left_out)} if self.left_out else {}
        return setting | answered | left_out | {"caveat": self.caveat, "rows": self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: of values, of groups of them, and of means (`kind`)."""
        parts = [change for all_ in (self.attributes, self.groups, self.means) for change in all_.items()]
        texts = self.question_texts
        return [
            {"attribute": name} | row | add_question(texts, name)
            for name, change in parts
            for row in change.rows()
        ]

    @property
    def question_texts(self) -> Mapping[str, str]:
        """What people read, by the names of questions."""
        return {} if self.rounds is None else self.rounds[1].question_texts

    def frame(self, backend: Backend | None = None) -> Any:
        """A row for each difference, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, name: str | None = None) -> Figure:
        """A figure of matplotlib: the changes of one attribute, or of the shares of all."""
        about = self._heading
        if name is not None or len(self) == 1:
            attribute = next(iter(self)) if name is None else name
            return self.choose(attribute).plot(f"{attribute}: {about}")
        changes = [(key, part) for key, parts in self._by_question().items() for part in parts]
        drawn = [
            (f"{key}: {label}", change.pick(v, label))
            for key, change in changes
            if change.kind != MEAN
            for v, label in enumerate(change.labels)
        ]
        if not drawn:
            raise InvalidParameter(f"means are drawn one by one; name one of {', '.join(self)}")
        return _join(drawn).plot(f"{about[0].upper()}{about[1:]}")

    @property
    def _heading(self) -> str:
        level = f"{100 * self.level:g} % intervals"
        if self.participation is None:
            return f"{self.validity}; {level}"
        return f"{self.validity}: {self.participation}; {level}"

    def choose(self, name: str) -> AttributeChange:
        """The change of a question as people read it: of groups where there are, of all options together."""
        if name in self:
            return self.groups.get(name, self[name])
        questions = self._by_question()
        if name not in questions:
            raise InvalidParameter(not_among(name, "an attribute", self))
        return _join([(change.labels[0], change) for change in questions[name]])

    @property
    def questions(self) -> list[str]:
        """The names of all questions."""
        return list(self._by_question())

    def _by_question(self, bins: bool = False) -> dict[str, list[AttributeChange]]:
        """The changes of each question; where all that apply are chosen, who chose each option."""
        document = None if self.rounds is None else self.rounds[1].document
        options = {} if document is None else list_several(document.attributes)
        of_option = {option.name: option for all_ in options.values() for option in all_}
        questions: dict[str, list[AttributeChange]] = {}
        for name in self:
            option = of_option.get(name)
            if option is not None:
                chosen = self[name].pick(0, option.option)
                questions.setdefault(str(option.several), []).append(chosen)
            else:
                questions[name] = [self[name] if bins else self.groups.get(name, self[name])]
        return questions

    def text(self, bins: bool = False) -> str:
        """A plain table per attribute: groups of neighboring values where there are many, unless `bins`."""
        lines = [self._heading, *filter(None, [self.caveat]), _WHICH]
        if self.rounds is not None and self.rounds[1].weighting is not None:
            lines.append(str(self.rounds[1].weighting.weights))
        lines += [f"not compared of {name}: {why}" for name, why in self.left_out.items()]
        for name, changes in self._by_question(bins).items():
            changes += [self.means[name]] if name in self.means else []
            wide = max(12, *(len(label) for change in changes for label in change.labels))
            head = f"{'value':>{wide}}" + "".join(f"{column:>11}" for column in _COLUMNS)
            lines += [
                "",
                name,
                *quote_question(self.question_texts, name),
                head,
                *(line for change in changes for line in _format_lines(change, wide)),
            ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def _pick_shown(find_shown: Callable[[], tuple[Floats, Floats]], place: int) -> tuple[Floats, Floats]:
    earlier, later = find_shown()
    return earlier[place : place + 1], later[place : place + 1]


def _join(changes: Sequence[tuple[str, AttributeChange]]) -> AttributeChange:
    """One change each, under these labels, as they are drawn."""
    columns: dict[str, Any] = {
        column: np.concatenate([getattr(change, column) for _, change in changes]) for column in _NUMBERS
    }
    return AttributeChange(tuple(label for label, _ in changes), **columns)


def _format_lines(change: AttributeChange, wide: int) -> list[str]:
    """A line for each difference; only its interval if it is too noisy to read."""
    rows, noisy = zip(*change.possible().values(), strict=True), change.find_noisy().tolist()
    lines = []
    for v, (label, row) in enumerate(zip(change.labels, rows, strict=True)):
        if change.kind == MEAN:
            cells = [f"{n:11.6g}" for n in row]
        else:
            shares, points = row[:2], row[2:]
            cells = [*(f"{100 * n:9.2f} %" for n in shares), *(f"{100 * n:+11.2f}" for n in points)]
        if noisy[v]:
            cells = [f"{'-':>11}"] * _POINTS + cells[_POINTS:] + [f"  {NOISY}"]
        lines.append(f"{label:>{wide}}" + "".join(cells))
    return lines


def compare_estimates(
    earlier: Estimates, later: Estimates, level: float, people: People | None, include_slow: bool = True
) -> Change:
    """The change from one result to another, by the interval that is valid for them; grids are slow."""
    if people not in (None, *get_args(People)):
        raise InvalidParameter(f"people is 'same', 'population', 'others' or None, got {people!r}")
    if people == "linked":
        raise InvalidParameter(
            "people='linked' takes the reports of both rounds, and these are their tallies: "
            "plan.compare_rounds(earlier, later)"
        )
    if earlier.plans or later.plans:
        raise InvalidParameter(
            "a change is of results of one plan each, and these are joined; a series compares joined days"
        )
    comparable = find_comparable(earlier, later)
    _refuse_other_weights(earlier, later)
    if people == "same" and later.weighting is not None:
        raise InvalidParameter(
            "people='same' (--people same) is about the very people who answered, and weights are about a "
            "population; leave one of them out"
        )
    if people is None:  # who answers a plan that asks once has no second report
        people = "others" if earlier.plan_id == later.plan_id and not later.kept else "population"
    if people == "same":
        _refuse_not_same(earlier, later, comparable)
    return compare_findings(earlier, later, level, people, include_slow, comparable)


def compare_findings(
    earlier: Estimates,
    later: Estimates,
    level: float,
    people: People,
    include_slow: bool = True,
    comparable: Comparable | None = None,
) -> Change:
    """The change from one result to another that may be compared so."""
    comparable = comparable or Comparable()
    rounds = (
        Findings(earlier, level, include_slow=include_slow),
        Findings(later, level, include_slow=include_slow),
    )

    def choose(names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in comparable.questions]

    attributes = {
        name: _compare_shares(rounds, name, people, comparable.values.get(name))
        for name in choose(rounds[1].names)
    }
    attributes |= {name: _compare_means(rounds, name, people) for name in choose(later.means)}
    groups = {name: _compare_groups(rounds, name, people) for name in choose(rounds[1].groups)}
    attributes |= {name: groups[name] for name in choose(later.ranges)}
    shared = choose((*later.shares, *later.ranges))
    means = {name: _compare_means(rounds, name, people) for name in shared if has_mean(later, name)}
    return Change(
        attributes,
        groups,
        means,
        level,
        people=people,
        rounds=(earlier, later),
        left_out=comparable.left_out,
    )


def _compare_shares(
    rounds: _TwoRounds, name: str, people: People, shared: tuple[str, ...] | None
) -> AttributeChange:
    """The change of the shares of all values, or of those that both plans share, by their labels."""
    labels = [label_values(findings.estimates.shares[name]) for findings in rounds]
    chosen = labels[1] if shared is None else shared
    places = [np.array([of_round.index(label) for label in chosen]) for of_round in labels]
    numbers = [
        read_shares(findings, name).pick(places_of)
        for findings, places_of in zip(rounds, places, strict=True)
    ]
    change = _subtract(chosen, numbers, people, _find_against(rounds, name, "value"))
    return replace(change, find_shown=partial(_show_values, rounds, name, places))


def _compare_groups(rounds: _TwoRounds, name: str, people: People) -> AttributeChange:
    labels = tuple(group.label for group in rounds[1].groups[name])
    against = _find_against(rounds, name, "group")
    change = _subtract(labels, [read_groups(findings, name) for findings in rounds], people, against)
    return replace(change, kind="group", find_shown=partial(_show_groups, rounds, name))


def _compare_means(rounds: _TwoRounds, name: str, people: People) -> AttributeChange:
    least, most = possible_mean(rounds[1].estimates, name)
    against = _find_against(rounds, name, "mean")
    change = _subtract((MEAN,), [read_mean(findings, name) for findings in rounds], people, against)
    return replace(change, kind=MEAN, find_shown=partial(_show_means, rounds, name), reach=most - least)


def _find_against(rounds: _TwoRounds, name: str, kind: Kind) -> float:
    return find_against([findings.estimates for findings in rounds], name, kind)


def _subtract(
    labels: tuple[str, ...], rounds: Sequence[Numbers], people: People, against: float
) -> AttributeChange:
    """The differences of two rounds, each end by how far both reach on its side (Zou and Donner, 2008)."""
    earlier, later = (numbers.keep_noise() for numbers in rounds) if people == "same" else rounds
    correlation: Floats | float = 0.0
    if people != "others":
        correlation = find_correlation(earlier.spread, later.spread, against)
    difference = later.value - earlier.value
    down = combine_reaches(later.value - later.low, earlier.high - earlier.value, correlation)
    up = combine_reaches(later.high - later.value, earlier.value - earlier.low, correlation)
    error = combine_reaches(earlier.stderr, later.stderr, correlation)
    return AttributeChange(labels, earlier.value, later.value, error, difference - down, difference + up)


def _show_values(rounds: _TwoRounds, name: str, places: Sequence[Integers]) -> tuple[Floats, Floats]:
    return rounds[0].shares[name].share[places[0]], rounds[1].shares[name].share[places[1]]


def _show_groups(rounds: _TwoRounds, name: str) -> tuple[Floats, Floats]:
    earlier, later = (findings.group_shares[name].share for findings in rounds)
    return earlier, later


def _show_means(rounds: _TwoRounds, name: str) -> tuple[Floats, Floats]:
    return np.array([rounds[0].means[name].value]), np.array([rounds[1].means[name].value])


def _refuse_other_weights(earlier: Estimates, later: Estimates) -> None:
    weights = [part.weighting and part.weighting.weights.about() for part in (earlier, later)]
    if weights[0] != weights[1]:
        raise InvalidParameter("both results of a change are weighted alike, or both are not")


def _has_fresh_noise(estimates: Estimates) -> bool:
    """Whether a plan asks once, so that the noise of a second report is new, and all report on everything."""
    if estimates.document is None or estimates.document.rounds is not None:
        return False
    mechanism = estimates.document.mechanism
    return all(mechanism.chance_real(j) == 1 for j in range(len(estimates.document.attributes)))


def _refuse_not_same(earlier: Estimates, later: Estimates, comparable: Comparable) -> None:
    """Refuse the narrower interval where it does not hold.

    It holds where the errors of two rounds about the same people are never negatively correlated. Kept lines
    of numbers t and u in -1..1, with a noise factor a of the kept round, have a covariance of at least
    (1 - |t - u| / 2) (1 - a^2). Among d attributes with fakes, where the real answer changes from v, the
    shared real attribute gives at least -(1/d) (1 - 1/d) (p - s) (s - q), with s the share of fakes that keep
    v; the kept fakes give (1 - 1/d) s (1 - s), which is more. Differences of two cells have no such bound.
    What is carried from plan to plan stays, or turns whatever the truth is, so that it is never against one.
    """
    rounds = (earlier, later)
    is_fresh = _has_fresh_noise(later)
    names = [] if is_fresh else [name for name in later if name not in comparable.questions]
    tied = [name for name in names if any(part.kept.get(name, 1.0) == 1.0 for part in rounds)]
    if tied or not (earlier.plan_id == later.plan_id or are_chained(earlier, later)):
        which = f"; {', '.join(tied)} is not" if tied else ""
        raise InvalidParameter(
            "people='same' (--people same) is for a plan whose devices keep the noise of each value, by two "
            "rounds on values, or that asks once and whose every report has a real answer to every "
            f"question{which}; leave it out for the change of the population"
        )
