"""Finds what results of two plans of a chain have in common: questions that mean the same, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from deniable.domain import Categories
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.formatting import shorten_names
from deniable.plan.chain import asks_alike
from deniable.results.estimates import Estimates

_SHOWN = 6
_KIND_AND_ENDS = ("low", "high", "step", "open_low", "open_high")


@final
@dataclass(frozen=True)
class Comparable:
    """What two results have in common, and what is left out of their comparison."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The answers that both results have, of a question with other answers in one of them."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What is not compared, by question, and why."""
    questions: frozenset[str] = frozenset()
    """The questions of which nothing is compared."""


def are_chained(earlier: Estimates, later: Estimates) -> bool:
    """Whether one of the plans of two results continues the other."""
    return any(
        after.document is not None and before.plan_id in {plan.id for plan in after.document.continues}
        for before, after in ((earlier, later), (later, earlier))
    )


def find_comparable(earlier: Estimates, later: Estimates) -> Comparable:
    """What can be compared; refuses plans that ask other things, and do not continue each other."""
    if not are_chained(earlier, later):
        _refuse_different(earlier, later)
        return Comparable()
    values: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, str] = {}
    questions: set[str] = set()
    for name in dict.fromkeys([*later, *earlier]):
        shared = _share_labels(earlier, later, name)
        why = _find_difference(earlier, later, name) if shared is None else ""
        if why:
            left_out[name] = why
            questions.add(name)
        elif shared is not None:
            values[name] = shared
            rest = [*describe_values(earlier, name)[1], *describe_values(later, name)[1]]
            alone = [label for label in dict.fromkeys(rest) if label not in shared]
            left_out[name] = f"{shorten_names(alone, _SHOWN)}, answers of one plan alone"
    if questions >= set(later):
        whys = "; ".join(f"{name!r}, since {left_out[name]}" for name in later)
        raise InvalidParameter(f"these two plans ask nothing that can be compared: {whys}")
    return Comparable(values, left_out, frozenset(questions))


def describe_values(estimates: Estimates, name: str) -> tuple[Any, ...]:
    """What two results of one question must share: the kind of estimate, and the labels or the ends."""
    part, domain = estimates[name], estimates.domains.get(name)
    ends = tuple(getattr(domain, end, None) for end in _KIND_AND_ENDS)
    return type(part), label_values(part) if isinstance(part, Estimate) else ends


def label_values(estimate: Estimate) -> tuple[str, ...]:
    """The names of the values of an estimate."""
    return tuple(map(str, estimate.labels or range(estimate.k)))


def _share_labels(earlier: Estimates, later: Estimates, name: str) -> tuple[str, ...] | None:
    """The answers that both plans have; None where none differ, or where names do not tell them."""
    if name not in earlier or name not in later or not _asks_alike(earlier, later, name):
        return None
    kinds = [type(estimates.domains.get(name)) for estimates in (earlier, later)]
    if kinds != [Categories, Categories] or describe_values(earlier, name) == describe_values(later, name):
        return None
    known = set(label_values(earlier.shares[name]))
    return tuple(label for label in label_values(later.shares[name]) if label in known) or None


def _find_difference(earlier: Estimates, later: Estimates, name: str) -> str:
    """Why nothing of a question is compared; empty where all of it is."""
    for estimates, which in ((earlier, "earlier"), (later, "later")):
        if name not in estimates:
            return f"the {which} result has no estimate of it"
    if not _asks_alike(earlier, later, name):
        return "other people are asked, or a missing answer means something else"
    return "" if describe_values(earlier, name) == describe_values(later, name) else "its answers are others"


def _asks_alike(earlier: Estimates, later: Estimates, name: str) -> bool:
    before, after = earlier.document, later.document
    assert before is not None
    assert after is not None
    if name not in before.names or name not in after.names:  # in levels, whose values are compared
        return True
    return asks_alike(before, after, before.names.index(name), after.names.index(name))


def _refuse_different(earlier: Estimates, later: Estimates) -> None:
    names = sorted(earlier), sorted(later)
    if names[0] != names[1]:
        raise InvalidParameter(
            f"rounds are compared by the same attributes; one has {', '.join(names[0])}, the other "
            f"{', '.join(names[1])}"
        )
    for name in later:
        if describe_values(earlier, name) != describe_values(later, name):
            raise InvalidParameter(f"{name!r} has other values in the two results, so they are not compared")
