"""Joins the shares of plans that continue each other: those of all people who reported to any of them.

The number of people is what counts, not the precision: people who move to a new plan early are not like
others. Where devices report to one plan a day, the plans of a day have other people. Over days the same
people may be in both, with the same kept noise: then their errors add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, cast, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate, MeanEstimate
from deniable.estimate.intervals import Ends, mover, normal_quantile
from deniable.formatting import Printed, format_count, format_percent, format_percent_range, format_table
from deniable.frames import Backend, frame_of_rows
from deniable.plan.chain import explain_removed, list_breaks, list_places
from deniable.results.estimates import MEAN, Estimates, Unreported
from deniable.summaries.weighted import join_estimates, join_means, weigh_plans

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

Joining = Literal["same", "others"]
_WHOSE: Mapping[Joining, str] = {"same": "who may be the same", "others": "other people in each plan"}


@final
@dataclass(frozen=True, eq=False)
class JoinedShares(Printed):
    """The shares of one question, of all people who reported to plans that continue each other."""

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    """How many people reported to each plan that has the question as it is."""
    plans: tuple[Floats, ...]
    """The unbiased shares of each of these plans; 0 of an answer that it did not have."""
    frequencies: Floats
    """The unbiased shares of all people together."""
    stderr: Floats
    low: Floats
    high: Floats

    def rows(self) -> list[dict[str, Any]]:
        columns = {"share": self.frequencies, "stderr": self.stderr, "low": self.low, "high": self.high}
        return [
            {"value": label} | {name: float(column[v]) for name, column in columns.items()}
            for v, label in enumerate(self.labels)
        ]

    def frame(self, backend: Backend | None = None) -> Any:
        """A row for each value, as a dataframe of the library you already have."""
        return frame_of_rows(self.rows(), backend)

    def __str__(self) -> str:
        possible = [np.clip(column, 0.0, 1.0) for column in (self.frequencies, self.low, self.high)]
        table = [
            [label, format_percent(share), format_percent_range(low, high)]
            for label, share, low, high in zip(
                self.labels, *(each.tolist() for each in possible), strict=True
            )
        ]
        return "\n".join(format_table(["value", "share", "interval"], table, left=["interval"]))


@final
@dataclass(frozen=True, eq=False)
class Joined(Printed, Mapping[str, JoinedShares]):
    """The shares of every question that plans have carried on."""

    shares: Mapping[str, JoinedShares]
    people: Joining

    def __getitem__(self, name: str) -> JoinedShares:
        return self.shares[name]

    def __iter__(self) -> Any:
        return iter(self.shares)

    def __len__(self) -> int:
        return len(self.shares)

    def __str__(self) -> str:
        return "\n\n".join(
            f"{name!r} of {format_count(sum(shares.counts), 'report')} to "
            f"{format_count(len(shares.counts), 'plan')} ({_WHOSE[self.people]})\n{shares}"
            for name, shares in self.shares.items()
        )


def join_plans(results: Sequence[Estimates], people: Joining = "same", level: float = 0.95) -> Joined:
    """The shares of all people who reported to plans that continue each other.

    Of a question that has begun anew, only plans since then are joined. An answer that a plan did not have
    was given by nobody there.
    """
    if people not in _WHOSE:
        raise InvalidParameter(not_among(str(people), "whose errors these are", [*_WHOSE]))
    by_id = {estimates.plan_id: estimates for estimates in results}
    documents = [estimates.document for estimates in results if estimates.document is not None]
    last = max(documents, key=lambda document: len(document.continues), default=None)
    chain = () if last is None else (*last.continues, last)
    used = [(place, by_id[plan.id]) for place, plan in enumerate(chain) if plan.id in by_id]
    if last is None or len(by_id) < 2 or len(used) < len(results):
        raise InvalidParameter(
            "what is joined are results of two plans or more, each once, of which the last continues all "
            "others; study.plan(people, continues=plan) makes such a plan"
        )
    shares = {}
    for j, (name, places) in enumerate(zip(last.names, list_places(chain), strict=True)):
        of_plans = [
            (chain[place], estimates.shares[name])
            for place, estimates in used
            if place >= places[0] and name in estimates.shares
        ]
        if of_plans:
            all_labels = (label for plan, _ in of_plans for label in plan.labels_of(plan.attributes[j]))
            labels = tuple(dict.fromkeys((*last.labels_of(last.attributes[j]), *all_labels)))
            shares[name] = _join_shares(labels, of_plans, j, people, level)
    return Joined(shares, people)


def join_estimates_of_plans(results: Sequence[Estimates], people: Joining) -> Estimates:
    """All estimates of people who reported to plans that continue each other, the last plan last.

    Means are joined as shares are. Where random values stand for people without an answer, there
    is no mean of several plans, since nobody knows how many people each of them counts for.
    """
    last = results[-1].document
    if len(results) == 1 or last is None:
        return results[-1]
    parts: dict[str, Any] = {}
    unreported = {name: lack for result in results for name, lack in result.unreported.items()}
    places = {name: place for name, (place, _) in find_begun(last).items()}
    chain = [plan.id for plan in (*last.continues, last)]
    for name in dict.fromkeys(name for result in reversed(results) for name in result):
        of_plans = [
            result[name]
            for result in results
            if name in result and name in places and chain.index(result.plan_id) >= places[name]
        ]
        if len(of_plans) > 1 and isinstance(of_plans[0], MeanEstimate) and results[-1].is_drawn(name):
            n = sum(part.n for part in of_plans)
            why = "random values stand for people without an answer, so that plans have no joined mean"
            unreported[name] = Unreported(n, (MEAN,), why)
        elif of_plans:
            parts[name] = _join_parts(of_plans, people)
            unreported.pop(name, None)
    return replace(
        results[-1],
        n=sum(result.n for result in results),
        parts=parts,
        unreported={name: lack for name, lack in unreported.items() if name in places},
        tallies=None,
        plans=tuple(results),
    )


def _join_parts(parts: Sequence[Any], people: Joining) -> Any:
    """The shares or the mean of all people, from those of people who reported to each plan.

    Plans with rounds, which continue each other, have no ranges in levels.
    """
    last = parts[-1]
    if len(parts) == 1:
        return last
    weighing = weigh_plans([part.n for part in parts], people == "others")
    if isinstance(last, Estimate):
        return replace(join_estimates(parts, weighing), bins=last.bins)
    return join_means(parts, weighing)


def describe_plans(estimates: Estimates) -> str:
    """How many people of joined estimates reported to which plan."""
    plans = [f"{result.n:,} to plan {result.plan_id[:12]}" for result in estimates.plans]
    return f"joined by the numbers of people: {' and '.join(plans)}"


def find_begun(last: PlanDocument) -> dict[str, tuple[int, str]]:
    """For each question, how many plans are before the one since which it has the answers of the last plan or
    fewer; and why those before are not joined, empty of the first plan.
    """
    chain = (*last.continues, last)
    begun: dict[str, tuple[int, str]] = {}
    for j, (name, places) in enumerate(zip(last.names, list_places(chain), strict=True)):
        place = places[0]
        why = list_breaks(*chain[place - 1 : place + 1])[j] if place else ""
        for i in range(place + 1, len(chain)):
            if removed := explain_removed(chain[i - 1], chain[i], j):
                place, why = i, removed
        begun[name] = place, why
    return begun


def _join_shares(
    labels: tuple[str, ...],
    of_plans: Sequence[tuple[PlanDocument, Estimate]],
    j: int,
    people: Joining,
    level: float,
) -> JoinedShares:
    own = [document.labels_of(document.attributes[j]) for document, _ in of_plans]
    places = [np.array([labels.index(label) for label in each]) for each in own]

    def complete(column: Floats, place: Integers) -> Floats:
        whole = np.zeros(len(labels))
        whole[place] = column
        return whole

    counts = np.array([estimate.n for _, estimate in of_plans], dtype=np.float64)
    weights = counts / counts.sum()
    pairs = [(estimate, place) for (_, estimate), place in zip(of_plans, places, strict=True)]
    values = np.array([complete(estimate.frequencies, place) for estimate, place in pairs])
    variances = np.array([complete(estimate.stderr**2, place) for estimate, place in pairs])
    share = weights @ values
    shared = np.zeros(len(labels))
    if people == "same":
        kept = [
            complete(_find_kept(document, j, share[place]), place)
            for (document, _), place in zip(of_plans, places, strict=True)
        ]
        for a, b in combinations(range(len(of_plans)), 2):
            in_both = np.maximum(kept[a], kept[b]) * (kept[a] > 0) * (kept[b] > 0)
            shared += 2 * weights[a] * weights[b] * in_both / max(counts[a], counts[b])
    intervals = [[complete(end, place) for end in estimate.interval(level)] for estimate, place in pairs]
    ends = cast(Ends, tuple(map(np.array, zip(*intervals, strict=True))))
    low, high = mover(weights, values, ends)
    more = normal_quantile(level) ** 2 * shared
    return JoinedShares(
        labels,
        tuple(map(int, counts)),
        tuple(values),
        share,
        np.sqrt((weights**2) @ variances + shared),
        share - np.sqrt((share - low) ** 2 + more),
        share + np.sqrt((high - share) ** 2 + more),
    )


def _find_kept(document: PlanDocument, j: int, share: Floats) -> Floats:
    """What two reports of one person have in common, at most: who was drawn, and noise that is kept."""
    possible = np.clip(share, 0.0, 1.0)
    part, fake = document.parts[j], document.mechanism.fake(j)
    if fake is not None:  # which are kept as well: as much as a report errs
        return np.asarray(document.mechanism.marginal(j).variance(1, possible))
    noise = part.permanent.law.variance(1, possible, "fixed") if part.repeated else 0.0
    return np.asarray(noise + possible * (1 - possible))
