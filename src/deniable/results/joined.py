"""Joins the shares of plans that continue each other: those of all people who reported to any of them.

The number of people is what counts, not the precision: people who move to a new plan early are not like
others. Where devices report to one plan a day, the plans of a day have other people. Over days the same
people may be in both, with the same kept noise: then their errors add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate, MeanEstimate
from deniable.plan.chain import list_unlike
from deniable.reports.reports import add_rounds
from deniable.results.estimates import MEAN, Estimates, Unreported
from deniable.results.unbiased import estimate_tallies
from deniable.summaries.weighted import Weighing, join_estimates, join_means, weigh_plans

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

Joining = Literal["same", "others"]
"""Whether people may be the same in several plans, or are others in each."""


def join_plans(results: Sequence[Estimates], people: Joining = "same") -> Estimates:
    """All estimates of people who reported to plans that continue each other, in whatever order they come."""
    if people not in get_args(Joining):
        raise InvalidParameter(not_among(str(people), "whose errors these are", get_args(Joining)))
    named, results = results, _add_turns(results)
    if len(results) == 1 < len(named):
        return results[0]
    by_id = {estimates.plan_id: estimates for estimates in results}
    documents = [estimates.document for estimates in results if estimates.document is not None]
    last = max(documents, key=lambda document: len(document.continues), default=None)
    chain = () if last is None else (*last.continues, last)
    in_order = [by_id[plan.id] for plan in chain if plan.id in by_id]
    if len(by_id) < 2 or len(in_order) < len(results):
        raise InvalidParameter(
            "what is joined are results of two plans or more, each once, of which the last continues all "
            "others; study.plan(people, continues=plan) makes such a plan. Rounds of a plan are joined where "
            "each device answers in one of them (turns = 1)"
        )
    return join_estimates_of_plans(in_order, people)


def _add_turns(results: Sequence[Estimates]) -> Sequence[Estimates]:
    """Results with those of several rounds of a plan as one, where each device reports in one round only: all
    reports are then those of other people.
    """
    by_plan: dict[str, list[Estimates]] = {}
    for estimates in results:
        by_plan.setdefault(estimates.plan_id, []).append(estimates)
    added: list[Estimates] = []
    for parts in by_plan.values():
        document = parts[0].document
        rounds = {part.tallies.round: part.tallies for part in parts if part.tallies and part.tallies.round}
        if document is not None and document.most_reports == 1 and 1 < len(rounds) == len(parts):
            parts = [estimate_tallies(document, add_rounds(rounds.values()), False, may_be_empty=True)]
        added += parts
    return added


def join_estimates_of_plans(results: Sequence[Estimates], people: Joining) -> Estimates:
    """All estimates of people who reported to plans that continue each other, the last plan last.

    Of a question that has begun anew, or that lost answers, only plans since then are joined. An answer that
    a plan did not have yet was given by nobody there. Means are joined as shares are. Where random values
    stand for people without an answer, there is no mean of several plans, since nobody knows how many people
    each of them counts for.
    """
    last = results[-1].document
    if len(results) == 1 or last is None:
        return results[-1]
    parts: dict[str, Any] = {}
    unreported = {name: lack for result in results for name, lack in result.unreported.items()}
    places = {name: place for name, (place, _) in find_begun(last).items()}
    chain = [plan.id for plan in (*last.continues, last)]
    for name in dict.fromkeys(name for result in reversed(results) for name in result):
        joined = [
            result
            for result in results
            if name in result and name in places and chain.index(result.plan_id) >= places[name]
        ]
        of_plans = [result[name] for result in joined]
        if len(of_plans) > 1 and isinstance(of_plans[0], MeanEstimate) and results[-1].is_drawn(name):
            n = sum(part.n for part in of_plans)
            why = "random values stand for people without an answer, so that plans have no joined mean"
            unreported[name] = Unreported(n, (MEAN,), why)
        elif of_plans:
            kept = [cast("PlanDocument", result.document) for result in joined] if people == "same" else None
            parts[name] = _join_parts(name, of_plans, kept)
            unreported.pop(name, None)
    return replace(
        results[-1],
        n=sum(result.n for result in results),
        parts=parts,
        unreported={name: lack for name, lack in unreported.items() if name in places},
        tallies=None,
        plans=tuple(results),
    )


def _join_parts(name: str, parts: Sequence[Any], documents: Sequence[PlanDocument] | None) -> Any:
    """The shares or the mean of all people, from those of people who reported to each plan: to these, if they
    may be the same people.

    Plans with rounds, which continue each other, have no ranges in levels.
    """
    last = parts[-1]
    if len(parts) == 1:
        return last
    weighing = weigh_plans([part.n for part in parts], documents is None)
    if not isinstance(last, Estimate):
        return join_means(parts, weighing)
    agreement = None
    if documents is not None and name in documents[-1].names:
        agreement = _bound_agreement(parts, documents, documents[-1].names.index(name), weighing)
    return replace(join_estimates(parts, weighing, agreement), bins=last.bins)


def _bound_agreement(
    parts: Sequence[Estimate], documents: Sequence[PlanDocument], j: int, weighing: Weighing
) -> Floats:
    """How much the errors of two plans' shares agree at most, by value: as much as people keep."""
    k = max(part.k for part in parts)

    def fill(column: Floats) -> Floats:
        return np.pad(column, (0, k - column.size))

    share = weighing.weights @ [fill(part.frequencies) for part in parts]
    kept = [
        fill(_find_kept(document, j, share[: part.k]))
        for document, part in zip(documents, parts, strict=True)
    ]
    errors = [fill(part.stderr) for part in parts]
    assert weighing.correlations is not None
    agreement = np.repeat(weighing.correlations[:, :, None], k, axis=2)
    for a, b in combinations(range(len(parts)), 2):
        in_both = np.maximum(kept[a], kept[b]) * (kept[a] > 0) * (kept[b] > 0) / max(parts[a].n, parts[b].n)
        product = errors[a] * errors[b]
        known = np.divide(in_both, product, out=np.ones(k), where=product > 0)
        agreement[a, b] = agreement[b, a] = np.minimum(agreement[a, b], known)
    return agreement


def describe_plans(estimates: Estimates) -> str:
    """How many people of joined estimates reported to which plan."""
    plans = [
        f"{result.n:,} to plan {result.plan_id[:12]}{_name_round(result, estimates.plans)}"
        for result in estimates.plans
    ]
    return f"joined by the numbers of people: {' and '.join(plans)}"


def _name_round(result: Estimates, results: Sequence[Estimates]) -> str:
    """The round of joined results, of several rounds of one plan."""
    is_one_of_several = sum(other.plan_id == result.plan_id for other in results) > 1
    return f" in round {result.tallies.round}" if is_one_of_several and result.tallies else ""


def find_begun(last: PlanDocument) -> dict[str, tuple[int, str]]:
    """For each question, how many plans are before the one since which it has the answers of the last plan or
    fewer; and why those before are not joined, empty of the first plan.
    """
    begun = dict.fromkeys(last.names, (0, ""))
    for place, plans in enumerate(pairwise((*last.continues, last)), 1):
        whys = zip(last.names, list_unlike(*plans), strict=True)
        begun |= {name: (place, why) for name, why in whys if why}
    return begun


def _find_kept(document: PlanDocument, j: int, share: Floats) -> Floats:
    """What two reports of one person have in common, at most: who was drawn, and noise that is kept."""
    possible = np.clip(share, 0.0, 1.0)
    part, fake = document.parts[j], document.mechanism.fake(j)
    if fake is not None:  # which are kept as well: as much as a report errs
        return np.asarray(document.mechanism.marginal(j).variance(1, possible))
    noise = part.permanent.law.variance(1, possible, "fixed") if part.repeated else 0.0
    return np.asarray(noise + possible * (1 - possible))
