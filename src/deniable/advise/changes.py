"""Defines the changes that advice may propose: what each does to a study, what it gives up, and its score.

A score says how much a change asks of the people who run a study and of those who answer; smaller is gentler.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar, final

from deniable.choose import Considered, Objective, Precision
from deniable.domain import Categories, Domain, Range
from deniable.domain.categories import Several
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.formatting import format_count
from deniable.plan.document import PlanDocument
from deniable.plan.texts import LONGEST, Texts

Kind = Literal["importance", "mean", "coarser", "known", "apart", "dropped", "epsilon", "people"]
SCORES: Final[Mapping[Kind, float]] = {
    "importance": 1.0,
    "mean": 1.5,
    "coarser": 1.0,  # and one more for each halving of the number of values
    "known": 2.0,
    "apart": 3.5,  # times the importance of the question
    "dropped": 5.0,  # the same
    "epsilon": 3.0,  # a nat
    "people": 3.0,  # a doubling
}
"""How much each kind of change costs."""
REMOVALS: tuple[Kind, ...] = ("apart", "dropped")
"""Changes by which a study loses a question, and which score by its importance."""
WORDINGS: tuple[Kind, ...] = ("mean", "coarser")
"""Changes that many questions can share, where these are alike."""
LIKE = 0.5
"""What each doubling of the number of like questions adds to the score of such a change."""
MOST_EPSILON = 4.0
"""The largest epsilon that is proposed: a device whose person has set no limit refuses more."""
_STEPS = 4  # of a nat, in which epsilon is raised
_LEAST_PARTS = 3  # values that are left when others are joined
_HALVINGS = 3
_BETWEEN = " / "  # joined labels, in any language


class Planned(Protocol):
    """A plan, as far as advice reads it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def document(self) -> PlanDocument:
        """What is asked, in integers."""
        ...

    @property
    def considered(self) -> tuple[Considered, ...]:
        """What the study chose from."""
        ...

    def precisions(self) -> list[Precision]:
        """How well everything will be known."""
        ...


class Asked(Protocol):
    """A study, as far as advice reads it; the room of studies stands above this one."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def epsilon_first(self) -> float | None: ...
    @property
    def epsilon_forever(self) -> float | None: ...
    @property
    def missing(self) -> Any: ...
    @property
    def title(self) -> str: ...
    @property
    def protocol(self) -> Any: ...
    @property
    def objective(self) -> Objective: ...
    @property
    def importance(self) -> Mapping[str, float]: ...
    @property
    def survey(self) -> Texts | None: ...
    @property
    def maps(self) -> Mapping[str, Any]: ...
    @property
    def only_if(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def answered(self) -> Mapping[str, float]: ...
    @property
    def together(self) -> Sequence[Sequence[str]]: ...
    @property
    def whole(self) -> bool: ...
    @property
    def known(self) -> Sequence[str]: ...
    @property
    def changes(self) -> Sequence[str]: ...
    @property
    def target(self) -> str | None: ...
    def plan(self, people: int) -> Planned: ...


S = TypeVar("S", bound=Asked)


@final
@dataclass(frozen=True)
class Change:
    """One change of a study, of one question or of several that are alike."""

    kind: Kind
    score: float
    questions: tuple[str, ...] = ()
    to: float = 0.0
    """The epsilon, the number of people, or the number of values that is left."""
    before: float = 0.0
    """What it was."""

    def of(self, questions: Sequence[str]) -> Change:
        """This change of all of these questions, which are alike."""
        return replace(self, questions=tuple(questions), score=self.score + LIKE * math.log2(len(questions)))

    def describe(self) -> str:
        """What to do, in words."""
        names = _join_names(self.questions)
        are_many = len(self.questions) > 1
        match self.kind:
            case "importance":
                return "draw each question as often as it needs it (importance)"
            case "mean":
                return f"ask for the mean of {names} only"
            case "coarser":
                return f"join the {self.before:.0f} values of {names} to {self.to:.0f}"
            case "known":
                return f"send {names} as known, since you know it anyway"
            case "apart":
                return f"ask {names} of other people, in a study of {'their' if are_many else 'its'} own"
            case "dropped":
                return f"leave out {names}"
            case "epsilon":
                return f"raise epsilon from {self.before:g} to {self.to:g}"
            case "people":
                return f"ask {format_count(int(self.to), 'person')} in place of {self.before:,.0f}"

    def give_up(self) -> str:
        """What is given up for it, in words."""
        names = _join_names(self.questions)
        match self.kind:
            case "mean":
                return f"the shares of {names}"
            case "coarser":
                return f"the single values of {names}"
            case "known":
                return f"the privacy of {names}"
            case "apart":
                return f"tables of {names} with other questions"
            case "dropped":
                return names
            case "importance":
                return "precision of the questions that need few people"
            case "epsilon":
                return "privacy of every answer"
            case "people":
                return f"time and money for {self.to - self.before:,.0f} more people"


def _join_names(names: Sequence[str]) -> str:
    *first, last = map(repr, names or ("",))
    return f"{', '.join(first)} and {last}" if first else last


def keep_questions(study: S, names: Collection[str]) -> S:
    """The study with these questions only."""
    return replace(study, **keep_options(study, names))


def keep_options(study: Asked, names: Collection[str]) -> dict[str, Any]:
    """What a study says of these questions; of what is in no question at all, too, so that it is refused."""
    left = [name for name in study.attributes if name not in names]
    of_options = tuple(f"{name}: " for name in left)

    def keep(stated: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value
            for key, value in stated.items()
            if key not in left and not key.startswith(of_options) and set(key.split(" x ")).isdisjoint(left)
        }

    tables = [[name for name in table if name in names] for table in study.together]
    together = tuple(tuple(table) for table in tables if len(table) > 1)
    missing = keep(study.missing) if isinstance(study.missing, Mapping) else study.missing
    shares_epsilon = any(
        getattr(study.attributes[name], "privacy", "") != "metric"
        or (missing[name] if isinstance(missing, Mapping) else missing) in ("value", True)
        for name in names
        if name not in study.known
    )
    return {
        "attributes": keep(study.attributes),
        "epsilon": study.epsilon if shares_epsilon else None,
        "missing": missing,
        "protocol": keep(study.protocol) if isinstance(study.protocol, Mapping) else study.protocol,
        "importance": keep(study.importance),
        "survey": None if study.survey is None else study.survey.without(left),
        "maps": keep(study.maps),
        "only_if": keep(study.only_if),
        "answered": keep(study.answered),
        "together": together,
        "whole": study.whole and bool(together),
        "known": tuple(name for name in study.known if name in names),
        "changes": tuple(name for name in study.changes if name in names),
        "target": study.target if study.target in names and len(names) > 1 else None,
    }


def drop_questions(study: S, names: Collection[str]) -> S:
    """The study without these questions."""
    return keep_questions(study, [name for name in study.attributes if name not in names])


def find_epsilon(study: Asked) -> float | None:
    """The epsilon that a report may lose; None where all questions have their own."""
    return study.epsilon_first if study.epsilon is None else study.epsilon


def raise_epsilon(study: S, epsilon: float) -> S:
    """The study with this epsilon; where people are asked again, with both epsilons as much larger."""
    before = find_epsilon(study)
    if before is None or before == epsilon:
        return study
    if study.epsilon is not None or study.epsilon_forever is None:
        return replace(study, epsilon=epsilon)
    forever = round(study.epsilon_forever * epsilon / before, 6)
    return replace(study, epsilon_first=epsilon, epsilon_forever=forever)


def list_epsilons(study: Asked) -> list[float]:
    """The epsilon of a study, and the larger ones that can be proposed, in quarters of a nat."""
    epsilon = find_epsilon(study)
    if epsilon is None:
        return [1.0]
    most = MOST_EPSILON if study.epsilon_forever is None else MOST_EPSILON * epsilon / study.epsilon_forever
    first = math.floor(epsilon * _STEPS) + 1
    return [float(epsilon), *(step / _STEPS for step in range(first, math.floor(most * _STEPS) + 1))]


def list_forms(study: Asked, name: str, may_know: Collection[str]) -> Iterator[Change]:
    """The changes of one question, which may turn out to be impossible."""
    if any(name in condition for condition in study.only_if.values()):
        return  # others depend on its answers
    question, weight = study.attributes[name], study.importance.get(name, 1.0)
    size = _count_values(question)
    for parts in list_sizes(question):
        yield Change("coarser", SCORES["coarser"] + math.log2(size / parts), (name,), parts, size)
    if isinstance(question, Range) and question.unit in ("", "whole") and question.privacy == "equal":
        yield Change("mean", SCORES["mean"], (name,))
    if name in may_know:
        yield Change("known", SCORES["known"], (name,))
    for kind in REMOVALS:
        yield Change(kind, SCORES[kind] * weight, (name,))


def _count_values(question: Domain | Several) -> int:
    return len(question.options) if isinstance(question, Several) else question.k


def list_sizes(question: Domain | Several) -> list[int]:
    """To how many values a question's values can be joined: about a half, a quarter and an eighth.

    >>> list_sizes(Range(0, 100, step=10)), list_sizes(Categories(list("abcdefgh"))), list_sizes(Number(0, 1))
    ([5], [4], [])
    """
    size = _count_values(question)
    targets = [-(-size >> halving) for halving in range(1, _HALVINGS + 1)]
    if isinstance(question, Categories | Several):
        return [parts for parts in targets if parts >= _LEAST_PARTS]
    if isinstance(question, Range) and question.privacy == "equal" and not question.unit:
        divisors = [parts for parts in range(_LEAST_PARTS, size // 2 + 1) if size % parts == 0]
        nearest = (
            min(divisors, key=lambda parts: abs(math.log(parts / target))) for target in targets if divisors
        )
        return sorted(set(nearest), reverse=True)
    if isinstance(question, Grid) and question.privacy == "equal":
        sides = [(-(-question.rows >> i), -(-question.columns >> i)) for i in range(1, _HALVINGS + 1)]
        return [rows * columns for rows, columns in sides if min(rows, columns) > 1]
    return []


def join_values(question: Domain | Several, parts: int) -> Domain | Several:
    """The question with neighboring values joined to so many.

    >>> join_values(Range(0, 100, step=10), 5), join_values(Categories(list("abcdef")), 3).labels
    (Range(low=0, high=100, step=20, open_low=False, open_high=False, ...), ('a / b', 'c / d', 'e / f'))
    """
    if isinstance(question, Several):
        most = question.exactly or question.at_most
        at_most = most if most is not None and most < parts else None
        return Several(join_labels(question.options, parts), at_most=at_most)
    if isinstance(question, Range):
        return replace(question, step=question.step * (question.bins // parts))
    if isinstance(question, Grid):
        halving = next(i for i in range(1, 99) if -(-question.rows >> i) * -(-question.columns >> i) == parts)
        return replace(question, rows=-(-question.rows >> halving), columns=-(-question.columns >> halving))
    return Categories(join_labels(question.labels, parts))


def join_labels(labels: Sequence[str], parts: int) -> list[str]:
    """Neighboring labels as one, all of them where they fit."""
    ends = [len(labels) * part // parts for part in range(parts + 1)]
    joined = []
    for start, end in pairwise(ends):
        text = _BETWEEN.join(labels[start:end])
        joined.append(text if len(text) <= LONGEST["label"] else f"{labels[start]} … {labels[end - 1]}")
    return joined


def apply_change(study: S, change: Change) -> S:
    """The study with a change of its questions or of epsilon; importance and people are not its own."""
    names = change.questions
    if change.kind in ("dropped", "apart"):
        return drop_questions(study, names)
    if change.kind == "known":
        return _know(study, names)
    if change.kind == "epsilon":
        return raise_epsilon(study, change.to)
    changed: dict[str, Any] = {}
    for name in names:
        question = study.attributes[name]
        if change.kind == "coarser":
            changed[name] = join_values(question, int(change.to))
        else:
            high = question.high - 1 if question.unit else question.high
            changed[name] = Number(question.low, high, question.open_low, question.open_high)
    if not changed:
        return study
    texts = study.survey
    return replace(
        study,
        attributes=dict(study.attributes) | changed,
        survey=None if texts is None else _change_texts(texts, changed, change),
        protocol=_leave_out(study.protocol, names if change.kind == "mean" else ()),
    )


def _change_texts(texts: Texts, changed: Collection[str], change: Change) -> Texts:
    """The texts, with labels joined as values are; a number has no labels and no ends.

    What is joined with the last answer is listed, so that it stands for others no more.
    """
    if change.kind == "mean":
        return replace(texts, ends=_leave_out(texts.ends, changed))
    labels = {
        name: {language: join_labels(shown, int(change.to)) for language, shown in by_language.items()}
        if name in changed
        else by_language
        for name, by_language in texts.labels.items()
    }
    return replace(texts, labels=labels, other=[name for name in texts.other if name not in changed])


def _know(study: S, names: Collection[str]) -> S:
    tables = ([name for name in table if name not in names] for table in study.together)
    together = tuple(tuple(table) for table in tables if len(table) > 1)
    return replace(
        study,
        known=tuple(name for name in study.attributes if name in names or name in study.known),
        together=together,
        whole=study.whole and bool(together),
        importance={
            key: weight
            for key, weight in study.importance.items()
            if key not in names and set(key.split(" x ")).isdisjoint(names)
        },
        answered=_leave_out(study.answered, names),
        protocol=_leave_out(study.protocol, names),
    )


def _leave_out(stated: Any, names: Collection[str]) -> Any:
    if not isinstance(stated, Mapping):
        return stated
    return {key: value for key, value in stated.items() if key not in names}
