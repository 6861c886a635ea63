"""Proposes the gentlest changes that make a study useful, each confirmed by the planner."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, final, overload

from deniable.advise.changes import (
    Change,
    Planned,
    S,
    apply_change,
    find_epsilon,
    keep_questions,
    raise_epsilon,
)
from deniable.advise.needs import Read, Wants, find_pair, list_pairs, list_parts, list_read, measure, weigh
from deniable.advise.search import SLACK, Candidate, Search, ask_more
from deniable.choose.precision import Precision
from deniable.choose.task import LARGE
from deniable.errors import DeniableError, InvalidParameter, not_among
from deniable.explain.device_limit import DEFAULT_CAP
from deniable.explain.table_precision import warn_groups
from deniable.formatting import (
    Printed,
    fill_paragraph,
    find_most,
    format_count,
    format_people,
    format_percent,
    format_table,
    shorten_names,
)
from deniable.frames import Backend, Show
from deniable.frames.frames import frame_of_rows
from deniable.plan.document import checked_people

_GENTLEST = 2
_MOST_TRIED = 8  # candidates that the planner may refuse before a kind of proposal is given up
_CERTAIN = 1.05  # how far what the planner finds may be from what it found for candidates of the same kind
_MOST_PEOPLE = 10**15
_INDENT = "     "


@final
@dataclass(frozen=True, eq=False)
class Forecast(Generic[S]):
    """A study with its plan: what is known with so many people, and how many it takes."""

    study: S
    plan: Planned
    read: tuple[Read, ...]

    @staticmethod
    def of(study: S, people: int, wants: Wants) -> Forecast[S]:
        """Plans the study for these people."""
        plan = study.plan(people)
        return Forecast(study, plan, tuple(list_read(plan, wants)))

    def ask(self, people: int, wants: Wants) -> Forecast[S]:
        """What the plan tells with other people; unless these are very many, the planner chooses alike."""
        if max(people, self.plan.document.people) * max(part.k for part in self.plan.document.parts) >= LARGE:
            return Forecast.of(self.study, people, wants)
        plan = replace(self.plan, document=replace(self.plan.document, people=people))
        return Forecast(self.study, plan, tuple(list_read(plan, wants)))

    @property
    def people(self) -> float:
        """How many people it takes until everything is as it is wanted; infinite if no number is enough."""
        return max((read.people for read in self.read), default=1)

    @property
    def guess(self) -> float:
        """How often an attacker who chooses between two answers is right, at most."""
        return self.plan.document.protection.guess

    def list_readings(self) -> list[Read]:
        """What is read of every question and table; of several options, what needs most people."""
        worst: dict[tuple[str, str], Read] = {}
        for read in self.read:
            key = read.name, read.precision.what
            if key not in worst or read.people > worst[key].people:
                worst[key] = read
        return list(worst.values())

    def list_margins(self) -> list[tuple[str, Precision]]:
        """What is known of every question and table, once each by the reading that needs most people."""
        hardest = sorted(self.list_readings(), key=lambda read: read.people)
        margins = {read.name: read.precision for read in hardest}
        return [(name, margins[name]) for name in dict.fromkeys(read.name for read in self.read)]


@final
@dataclass(frozen=True, eq=False)
class Proposal(Printed, Generic[S]):
    """Changes that are enough, the study that they make, and what it tells and gives away."""

    changes: tuple[Change, ...]
    forecast: Forecast[S]
    people: int
    """For how many people the margins are: those that were expected, or more where these are proposed."""
    score: float
    """How much the changes ask for; the gentlest have the smallest."""
    apart: Forecast[S] | None = None
    """The study of the questions that are asked of other people, if any are."""

    @property
    def study(self) -> S:
        """The changed study, ready to plan."""
        return self.forecast.study

    @property
    def people_needed(self) -> int:
        """How many people it takes until everything that the study asks is as it is wanted."""
        return _whole(self.forecast.people)

    @property
    def people_apart(self) -> int:
        """How many other people the questions take that are asked of others."""
        return 0 if self.apart is None else _whole(self.apart.people)

    @property
    def is_enough(self) -> bool:
        """Whether its people are enough, and no more others for the questions that are asked of others."""
        return max(self.forecast.people, self.people_apart) <= self.people

    @property
    def epsilon(self) -> float | None:
        """What a report may lose; None where all questions have an epsilon of their own."""
        return find_epsilon(self.study)

    @property
    def guess(self) -> float:
        """How often an attacker who chooses between two answers is right, at most."""
        return self.forecast.guess

    @property
    def margins(self) -> dict[str, str]:
        """To within what every question and table is known with its people, as people read it."""
        return {name: precision.format_margin() for name, precision in self.forecast.list_margins()}

    def describe(self) -> str:
        """The changes, in words."""
        return "; ".join(change.describe() for change in self.changes)

    def give_up(self) -> str:
        """What is given up, in words."""
        return "; ".join(change.give_up() for change in self.changes)

    def judge(self) -> str:
        """What it takes, and what it gives away, in sentences."""
        others = (
            f", and {format_count(self.people_apart, 'other person')} for the study apart"
            if self.apart
            else ""
        )
        enough = "" if self.is_enough else f" {format_count(self.people, 'person')} are not enough."
        loss = self.forecast.plan.document.loss.counted
        limit = (
            f" A device whose person has set no limit refuses it: it allows {DEFAULT_CAP:g}, and this may "
            f"give away {loss:.3g}."
            if loss > DEFAULT_CAP
            else ""
        )
        needed = format_people(self.people_needed, self.people)
        return (
            f"It takes {needed} people{others}. A guess between two answers is right for "
            f"{format_percent(self.guess)} of people.{enough}{limit}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the study, ready for JSON."""
        return {
            "change": self.describe(),
            "changes": [
                {
                    "kind": change.kind,
                    "questions": list(change.questions),
                    "to": change.to or None,
                    "text": change.describe(),
                }
                for change in self.changes
            ],
            "given_up": self.give_up(),
            "score": round(self.score, 2),
            "epsilon": self.epsilon,
            "guess": self.guess,
            "people": self.people,
            "people_needed": self.people_needed,
            "people_apart": self.people_apart,
            "is_enough": self.is_enough,
            "sentence": self.judge(),
            "margins": {
                name: {"margin": precision.margin, "use": precision.use, "text": precision.format_margin()}
                for name, precision in self.forecast.list_margins()
            },
        }

    def __str__(self) -> str:
        names: dict[str, list[str]] = {}
        for name, margin in self.margins.items():
            names.setdefault(margin, []).append(name)
        margins = "; ".join(f"{margin} ({shorten_names(alike)})" for margin, alike in names.items())
        sentences = [f"Gives up {self.give_up()}.", self.judge(), f"Known to within {margins}."]
        changes = self.describe()
        return "\n".join(map(fill_paragraph, [changes[0].upper() + changes[1:], *sentences]))


@final
@dataclass(frozen=True, eq=False)
class Advice(Sequence[Proposal[S]], Printed, Generic[S]):
    """What works in a study as it is, what does not, and the gentlest changes that mend it."""

    people: int
    wants: Wants
    now: Forecast[S]
    """The study as it is, with the tables that are wanted."""
    proposals: tuple[Proposal[S], ...] = ()
    asked: tuple[Change, ...] = field(default=(), repr=False)

    @property
    def is_enough(self) -> bool:
        """Whether everything is as it is wanted already."""
        return self.now.people <= self.people

    @overload
    def __getitem__(self, index: int) -> Proposal[S]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Proposal[S]]: ...
    def __getitem__(self, index: int | slice) -> Proposal[S] | Sequence[Proposal[S]]:
        return self.proposals[index]

    def __len__(self) -> int:
        return len(self.proposals)

    def combine(self, numbers: Iterable[int]) -> Proposal[S]:
        """The proposal with all changes of these proposals, by their numbers from 1; it is planned as well.

        Of two epsilons, numbers of people or sizes it has the larger one, and of two numbers of values the
        smaller one.
        """
        changes: list[Change] = []
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self):
                there = f"1 to {len(self)}" if self.proposals else "none"
                raise InvalidParameter(f"proposals are numbered, and there are {there}; got {number!r}")
            for change in self.proposals[number - 1].changes:
                _add_change(changes, change)
        if not changes:
            raise InvalidParameter("name at least one proposal by its number, such as 1")
        return make_proposal(self.now.study, Candidate(tuple(changes), 0.0), self.people, self.wants)

    def rows(self) -> list[dict[str, object]]:
        """A row for the study as it is and one for each proposal, with the margin of every question."""
        now = Proposal((), self.now, self.people, 0.0)
        names = [name for name, _ in self.now.list_margins()]
        rows = []
        for proposal in (now, *self.proposals):
            row: dict[str, object] = {
                "change": proposal.describe() or "as it is",
                "given up": proposal.give_up(),
                "epsilon": proposal.epsilon,
                "best guess of an attacker": proposal.guess,
                "people": proposal.people,
                "people needed": proposal.people_needed,
                "other people": proposal.people_apart,
            }
            margins = dict(proposal.forecast.list_margins())
            if proposal.apart is not None:
                margins |= dict(proposal.apart.list_margins())
            rows.append(
                row
                | {f"margin of {name}": margins[name].margin if name in margins else None for name in names}
            )
        return rows

    def frame(self, backend: Backend | None = None) -> Any:
        """The study as it is and a row for each proposal, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "people": self.people,
            "is_enough": self.is_enough,
            "people_needed": _whole(self.now.people),
            "epsilon": find_epsilon(self.now.study),
            "guess": self.now.guess,
            "summary": self.summarize(),
            "readings": [
                read.precision.to_dict()
                | {
                    "people_needed": _whole(read.people),
                    "is_enough": read.is_enough,
                    "text": read.precision.format_margin(),
                }
                for read in self.now.list_readings()
            ],
            "proposals": [proposal.to_dict() for proposal in self.proposals],
        }

    def summarize(self) -> str:
        """In a sentence or two, what works and what it would take."""
        weak = [read for read in self.now.read if not read.is_enough]
        people = format_count(self.people, "person")
        needed = format_people(_whole(self.now.people), self.people)
        if not weak:
            return f"Everything is {self._goal} with {people}: {needed} are enough."
        names = list(dict.fromkeys(repr(read.name) for read in weak))
        fine = len({read.name for read in self.now.read}) - len(names)
        working = f"{fine} of {fine + len(names)} are" if fine else "Nothing is"
        without = f"; not {shorten_names(names)}" if fine else ""
        return f"{working} {self._goal} with {people} as it is{without}. All of it takes {needed} people."

    @property
    def _goal(self) -> str:
        return self.wants.use if not self.wants.questions else "as it is wanted"

    def __str__(self) -> str:
        return self.describe()

    def describe(self, first: int = 1) -> str:
        """All of it in words, with proposals numbered from `first`."""
        headers = ["", "what is read", "known to within", "people it takes"]
        rows = [
            [
                read.name,
                read.precision.describe(),
                read.precision.format_margin(),
                format_people(_whole(read.people), self.people),
            ]
            for read in self.now.list_readings()
        ]
        lines = [
            *fill_paragraph(self.summarize()).split("\n"),
            *format_table(headers, rows, ["what is read"], "  "),
        ]
        if self.is_enough:
            return "\n".join(lines)
        if not self.proposals:
            lines.append(
                "No set of up to three changes makes all of it so: ask fewer questions, or more people."
            )
            return "\n".join(lines)
        lines += ["", "What makes all of it so, the gentlest first:"]
        for number, proposal in enumerate(self.proposals, first):
            head, *rest = str(proposal).split("\n")
            lines += [f"{number:3}  {head}", *(f"{_INDENT}{line}" for line in rest)]
        if not any(_keeps_both(proposal) for proposal in self.proposals):
            lines += [
                "",
                f"Nothing that was tried keeps both {self.people:,} people and epsilon as it is.",
            ]
        return "\n".join(lines)


def _keeps_both(proposal: Proposal[Any]) -> bool:
    return not Candidate(proposal.changes, 0.0).has("epsilon", "people", "apart")


def _whole(people: float) -> int:
    """A number of people; one that nobody has where no number is enough."""
    return 1 << 53 if math.isinf(people) else math.ceil(people)


def _add_change(changes: list[Change], change: Change) -> None:
    """Add a change to others; where they are of the same, the one that goes further stays."""
    for place, other in enumerate(changes):
        if other.kind == change.kind and other.kind in ("epsilon", "people", "importance"):
            changes[place] = max(other, change, key=lambda stated: stated.to)
            return
        shared = set(other.questions) & set(change.questions)
        if not shared:
            continue
        if other.kind != change.kind:
            raise InvalidParameter(
                f"these proposals do not go together: one would {other.describe()}, another one "
                f"{change.describe()}"
            )
        larger = other.questions if len(other.questions) >= len(change.questions) else change.questions
        to = min(other.to, change.to)
        changes[place] = replace(other, questions=larger, to=to, score=max(other.score, change.score))
        return
    changes.append(change)


def make_proposal(study: S, candidate: Candidate, people: int, wants: Wants) -> Proposal[S]:
    """Makes the changed study, plans it, and says how many people it takes."""
    changed = study
    for change in candidate.changes:
        changed = apply_change(changed, change)
    more = candidate.find("people")
    expected = people if more is None else int(more.to)
    if candidate.has("importance"):
        changed = _draw_by_need(changed, expected, wants)
    forecast = Forecast.of(changed, expected, wants)
    changes = list(candidate.changes)
    if more is not None and not math.isinf(forecast.people):
        place, expected = changes.index(more), max(people, _whole(forecast.people))
        changes[place : place + 1] = [ask_more(people, expected)] if expected > people else []
        forecast = forecast.ask(expected, wants)
    names = [name for change in changes if change.kind == "apart" for name in change.questions]
    apart = None
    if names:
        alone = raise_epsilon(keep_questions(study, names), find_epsilon(changed) or 1.0)
        apart = Forecast.of(alone, expected, wants)
        apart = apart.ask(min(_whole(apart.people), _MOST_PEOPLE), wants)
    score = math.fsum(change.score for change in changes)
    return Proposal(tuple(changes), forecast, expected, score, apart)


def _draw_by_need(study: S, people: int, wants: Wants) -> S:
    """The study with importance in proportion to what each question needs alone."""
    needs = [
        need._replace(keys=part.names) if len(part.names) == 1 else need
        for part in list_parts(study, wants)
        for need in measure(part.study, part.wants, people)
    ]
    return replace(study, importance=weigh(needs, study.together))


def advise_study(
    study: S,
    people: object,
    want: object = "useful",
    may_know: object = (),
    show: Show | None = None,
) -> Advice[S]:
    """Advice for a study and so many people; `show` is told how many plans are made, of about how many."""
    expected = checked_people(people)
    if study.changes:
        raise InvalidParameter(
            "advice is for answers that all stay, or are asked once; plan this study, and read what its "
            "explanation says of each question"
        )
    names = _read_known(may_know, study)
    study = _ask_tables(study, want)
    wants = Wants.read(want, study)
    now = Forecast.of(study, expected, wants)
    advice = Advice(expected, wants, now)
    if advice.is_enough:
        return advice
    search = Search(study, expected, now.people, wants, names)
    search.show = show
    return replace(advice, proposals=tuple(_choose_proposals(search)))


def _read_known(may_know: object, study: Any) -> tuple[str, ...]:
    names = [may_know] if isinstance(may_know, str) else may_know
    if not isinstance(names, Iterable):
        raise InvalidParameter(f'may_know is a list of questions, such as ["sex"], got {may_know!r}')
    for name in (names := tuple(names)):
        if name not in study.attributes:
            raise InvalidParameter(
                "may_know: " + not_among(str(name), "a question of this study", study.attributes)
            )
    return tuple(name for name in names if name not in study.known)


def _ask_tables(study: S, want: object) -> S:
    """The study with the tables that are wanted by name; those of known questions are there anyway."""
    asked = set(list_pairs(study))
    for name in want if isinstance(want, Mapping) else ():
        pair = find_pair(str(name), study)
        if pair is None or frozenset(pair) in asked or set(pair) & set(study.known):
            continue
        of, by = pair
        study = replace(study, together=(*study.together, (by, of)))
    return study


Rule = Callable[[Candidate], bool]


def _keeps_people(candidate: Candidate) -> bool:
    return not candidate.has("people", "apart")


def _keeps_questions(candidate: Candidate) -> bool:
    return not candidate.has("dropped", "apart")


def _keeps_epsilon(candidate: Candidate) -> bool:
    return not candidate.has("epsilon")


RULES: tuple[Rule, ...] = (
    *[lambda _: True] * _GENTLEST,
    lambda candidate: _keeps_epsilon(candidate) and _keeps_people(candidate),
    lambda candidate: _keeps_people(candidate) and _keeps_questions(candidate),
    lambda candidate: _keeps_epsilon(candidate) and _keeps_questions(candidate),
    lambda candidate: len(candidate.changes) == 1 and candidate.has("people"),
    lambda candidate: len(candidate.changes) == 1 and candidate.has("epsilon"),
)
"""What is proposed: the gentlest two, then the gentlest of each rule that none of those before it follows."""


def _choose_proposals(search: Search) -> list[Proposal[Any]]:
    """The gentlest proposal of every rule that the planner confirms."""
    candidates = search.list_candidates()
    planner = _Planner(search)
    chosen: list[Candidate] = []
    proposals: list[Proposal[Any]] = []
    for place, rule in enumerate(RULES):
        if place >= _GENTLEST and any(map(rule, chosen)):
            continue
        refused = 0
        for candidate in filter(rule, candidates):
            if any(candidate.contains(other) for other in chosen) or planner.is_hopeless(candidate):
                continue
            proposal = planner.confirm(candidate)
            if proposal is not None:
                chosen.append(Candidate(proposal.changes, proposal.score))
                proposals.append(proposal)
                break
            refused += 1
            if refused == _MOST_TRIED:
                break
    return sorted(proposals, key=lambda proposal: proposal.score)


@final
class _Planner:
    """Confirms candidates, and learns how far their needs are from what the planner finds."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._tried: dict[tuple[Change, ...], Proposal[Any] | None] = {}
        self._ratios: dict[tuple[float, bool], float] = {}

    def is_hopeless(self, candidate: Candidate) -> bool:
        """Whether its needs are too large, or the planner found too much for others of its kind."""
        if candidate.has("people"):
            return False
        needs, ratio = self._search.recount(candidate), self._ratios.get(candidate.way, 0.0)
        most = self._search.people
        return (
            max(needs, self._search.count_apart(candidate)) > SLACK * most or needs * ratio > _CERTAIN * most
        )

    def confirm(self, candidate: Candidate) -> Proposal[Any] | None:
        """The proposal of a set of changes, if the planner finds that it is enough."""
        if candidate.changes not in self._tried:
            self._tried[candidate.changes] = self._plan(candidate)
            self._search.report()
        return self._tried[candidate.changes]

    def _plan(self, candidate: Candidate) -> Proposal[Any] | None:
        search = self._search
        try:
            proposal = make_proposal(search.study, candidate, search.people, search.wants)
        except DeniableError:
            return None
        needs = search.recount(candidate)
        if 0 < needs < math.inf:
            self._ratios[candidate.way] = proposal.forecast.people / needs
        is_named = candidate.has("known") and warn_groups(proposal.forecast.plan.document) is not None
        is_possible = proposal.people <= find_most(search.people)
        return proposal if proposal.is_enough and is_possible and not is_named else None
