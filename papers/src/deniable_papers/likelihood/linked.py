"""Finds the most likely shares from the reports of the same people over several rounds, with kept answers.

A person whose answer does not change keeps a first answer, and each report is fresh noise on it. So reports
of one person are not independent: given the answer, their likelihood is a sum over what may have been kept.
It depends only on how many of the reports support each value. Where that is c, reports of bits are likelier
for a value by a factor R(c), and reports that name values by 1 + w (r^c - 1), with w of the person's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable import Plan
from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport
from deniable.formatting import format_count
from deniable.likelihood import Likelihood
from deniable.likelihood.fitting import fit
from deniable.likelihood.problem import Reported, refuse_empty
from deniable.likelihood.rows import Rows, Stacked, Supports, pack_bits
from deniable.likelihood.supports import MOST_BYTES, guess_shares, pack_layers
from deniable.randomness.simulated import remembering
from deniable.records import Records
from deniable.reports import Reports, Tallies
from deniable.reports.reports import records_of_round
from deniable.results.estimates import bins_of
from deniable.results.most_likely import RecordLikelihood, has_fakes
from deniable.rounds import BitFlip, HashedMemoized, Memoized, Repeated

_AT_ONCE = 1 << 21


def mle_rounds(
    mechanism: Repeated,
    rounds: Sequence[Array],
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
) -> Likelihood:
    """Finds the most likely shares from reports of the same people over several rounds, with kept answers.

    Row i of every round is person i, whose answer does not change. What a person keeps is summed over, so
    that reports of one person are not taken for those of several.

    >>> from deniable.rounds import l_grr
    >>> values = np.random.default_rng(1).choice(3, 2000, p=[0.6, 0.3, 0.1])
    >>> mechanism = l_grr(3, epsilon_first=1.0, epsilon_forever=2.0)
    >>> rounds = [mechanism.privatize(values, remembering(1, round=number)) for number in (1, 2, 3)]
    >>> linked = mle_rounds(mechanism, rounds)
    >>> linked.n, linked.method, linked.certified
    (2000, 'interior point, 3 linked rounds', True)

    Reference: arcolezi2022.
    """
    found = fit(build_linked_problem(mechanism, rounds), method, tolerance, iterations)
    return replace(found, method=f"{found.method}, {format_count(len(rounds), 'linked round')}")


def mle_rounds_of_plan(plan: Plan, rounds: object, **options: Any) -> RecordLikelihood:
    """The most likely shares of every attribute from linked rounds: row i of each is the same person.

    A collector does not know who sent what, so that only simulated people, and people who say who they are,
    have linked rounds; otherwise each round has the shares of its own, `plan.mle`.
    """
    if isinstance(rounds, Reports | Tallies) or not isinstance(rounds, Iterable):
        raise InvalidParameter(
            "linked rounds are a list of the reports of each, mle_rounds_of_plan(plan, [first, second]), "
            f"with the same people in the same rows, got {type(rounds).__name__}"
        )
    document = plan.document
    if document.rounds is None:
        raise InvalidParameter(
            "this plan asks once, so that no answer is kept; all of its reports are of different people: "
            "plan.mle(reports)"
        )
    if has_fakes(document):
        raise InvalidParameter(
            "with fakes it is not known which reports of linked rounds are real; each round has its "
            "own shares: plan.mle(reports)"
        )
    records_of_rounds = [Records.stack(list(records_of_round(reports, document))) for reports in rounds]
    if not records_of_rounds or not records_of_rounds[0].n:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    likelihoods: dict[str, Likelihood] = {}
    refused: dict[str, str] = {}
    for j, name in enumerate(document.names):
        _refuse_other_people(name, j, records_of_rounds)
        part: Any = document.mechanism.mechanisms[j]
        try:
            likelihood = mle_rounds(part, [records.columns[j] for records in records_of_rounds], **options)
        except InvalidParameter as problem:
            refused[name] = str(problem)
            continue
        bins = bins_of(document.attributes[j].domain, likelihood.k)
        likelihoods[name] = replace(likelihood, labels=document.labels[name], bins=bins)
    return RecordLikelihood(records_of_rounds[0].n, likelihoods, refused)


def _refuse_other_people(name: str, j: int, rounds: Sequence[Records]) -> None:
    """The attribute that a person reports is kept, so that the same rows report it in every round."""
    reporters = [records.reporters[j] for records in rounds if records.reporters is not None]
    same = all(np.array_equal(rows, reporters[0]) for rows in reporters)
    if len({records.n for records in rounds}) > 1 or not same:
        raise InvalidReport(
            f"{name!r} is not reported by the same rows in every round; linked rounds have the same people "
            "in the same rows, and leave out people who missed one"
        )


def build_linked_problem(mechanism: Repeated, rounds: Sequence[Array]) -> Reported:
    """The shares of the people who sent these reports: row i of each round is person i."""
    if not isinstance(mechanism, Repeated):
        raise InvalidParameter(
            "linked rounds are for mechanisms that keep a first answer, such as dn.rounds.l_grr or "
            "dn.rounds.loloha; fresh reports of the same people are independent, got "
            f"{type(mechanism).__name__}"
        )
    reports_by_round = [np.asarray(reports) for reports in rounds]
    if not reports_by_round:
        raise InvalidParameter("there are no rounds yet, so there is nothing to estimate")
    tallies = [mechanism.tally(reports) for reports in reports_by_round]  # refuses what cannot have been sent
    sizes = [tally.n for tally in tallies]
    if len(set(sizes)) > 1:
        raise InvalidReport(
            f"row i of every round is person i, so that all rounds have as many reports, got {sizes}; leave "
            "out people who missed a round"
        )
    refuse_empty(sizes[0])
    rows = _build_rows(mechanism, reports_by_round)
    total = tallies[0]
    for tally in tallies[1:]:
        total += tally
    draw = partial(_draw_again, mechanism, sizes[0], len(reports_by_round))
    return Reported(sizes[0], rows, np.full(sizes[0], 1.0 / sizes[0]), guess_shares(mechanism, total), draw)


@singledispatch
def _build_rows(mechanism: Repeated, _rounds: Sequence[Array]) -> Rows:
    """How likely each person's reports are for each value: a row for each person, in any order."""
    raise InvalidParameter(
        f"the likelihood of linked reports of {type(mechanism).__name__} is not known here"
    )


@_build_rows.register
def _build_kept_rows(mechanism: BitFlip, rounds: Sequence[Array]) -> Rows:
    """Nothing is fresh: further reports of an answer are the first one again."""
    if any((reports != rounds[0]).any() for reports in rounds[1:]):
        raise InvalidReport(
            "reports of bit flipping are the same in every round, unless the answer changes; some differ, "
            "and linked rounds are for answers that do not change"
        )
    return Supports(mechanism.k, pack_layers(mechanism, rounds[0]))


@_build_rows.register
def _build_memoized_rows(mechanism: Memoized, rounds: Sequence[Array]) -> Rows:
    bits = _pack_counts(mechanism, rounds)
    if not mechanism.bitwise:
        return _weigh_named(mechanism.k, mechanism, np.stack(rounds, axis=1).astype(np.int64), bits)
    ratios = _compute_bit_ratios(mechanism, len(rounds))
    steps = np.diff(ratios) / ratios[0]
    return Supports(mechanism.k, [(layer, float(step)) for layer, step in zip(bits, steps, strict=True)])


@_build_rows.register
def _build_hashed_rows(mechanism: HashedMemoized, rounds: Sequence[Array]) -> Rows:
    for name in ("a", "b"):
        if any((reports[name] != rounds[0][name]).any() for reports in rounds[1:]):
            raise InvalidReport(
                "a person's hash function is kept, and some differ between rounds; is row i of every round "
                "person i?"
            )
    buckets = np.stack([reports["bucket"] for reports in rounds], axis=1).astype(np.int64)
    return _weigh_named(mechanism.k, mechanism.buckets, buckets, _pack_counts(mechanism, rounds))


def _weigh_named(k: int, two: Memoized, buckets: Integers, bits: Sequence[Array]) -> Rows:
    """People whose reports name values equally often, whichever these are, have one factor for each count."""
    p, q = two.first.law.p, two.first.law.q
    growth = np.log(two.second.law.p / two.second.law.q)
    kinds, kind_of = np.unique(_count_repetitions(buckets), axis=0, return_inverse=True)
    rows = []
    for number, kind in enumerate(kinds):
        who = np.flatnonzero(kind_of.reshape(-1) == number)
        most = int(np.flatnonzero(kind)[-1]) + 1
        # powers of r, divided by the largest of them, which may be more than a float holds
        powers = np.exp(growth * (np.arange(most + 1) - most))
        total = (two.k - kind.sum()) * powers[0] + float(kind[:most] @ powers[1:])
        steps = (p - q) * np.diff(powers) / (q * total + (p - q) * powers[0])
        layers = zip(bits[:most], steps.tolist(), strict=True)
        rows.append(Supports(k, [(np.ascontiguousarray(layer[:, who]), step) for layer, step in layers]))
    return rows[0] if len(rows) == 1 else Stacked(rows)


def _compute_bit_ratios(mechanism: Memoized, rounds: int) -> Floats:
    """How many times likelier a bit that was set in 0, 1, ... of all reports is from the true value."""
    first, second = mechanism.first.law, mechanism.second.law
    ones = np.arange(rounds + 1)
    kept = ones * np.log(second.p) + (rounds - ones) * np.log1p(-second.p)
    cleared = ones * np.log(second.q) + (rounds - ones) * np.log1p(-second.q)
    true = np.logaddexp(np.log(first.p) + kept, np.log1p(-first.p) + cleared)
    return np.asarray(np.exp(true - np.logaddexp(np.log(first.q) + kept, np.log1p(-first.q) + cleared)))


def _count_repetitions(buckets: Integers) -> Integers:
    """For each person, how many values were named once, twice, and so on."""
    n, rounds = buckets.shape
    counts = np.zeros((n, rounds), dtype=np.int64)
    step = max(1, _AT_ONCE // rounds**2)
    for start in range(0, n, step):
        block = buckets[start : start + step]
        often = (block[:, :, None] == block[:, None]).sum(axis=2)
        for times in range(1, rounds + 1):
            counts[start : start + step, times - 1] = (often == times).sum(axis=1) // times
    return counts


def _pack_counts(mechanism: Repeated, rounds: Sequence[Array]) -> list[npt.NDArray[np.uint8]]:
    """Which values at least one report of each person supports, at least two, and so on, as bits."""
    n, k = len(rounds[0]), mechanism.k
    if n * ((k + 7) // 8) * len(rounds) > MOST_BYTES:
        raise InvalidParameter(
            f"{len(rounds)} rounds of {n:,} people about {k:,} values do not fit in memory; take fewer rounds"
        )
    bits = [np.empty(((k + 7) // 8, n), dtype=np.uint8) for _ in rounds]
    step = max(1, _AT_ONCE // k)
    for start in range(0, n, step):
        block = slice(start, start + step)
        counts = np.zeros((len(rounds[0][block]), k), dtype=np.int32)
        for reports in rounds:
            counts += mechanism.support(reports[block])
        for number, layer in enumerate(bits, 1):
            layer[:, block] = pack_bits(counts >= number)
    return bits


def _draw_again(
    mechanism: Repeated, n: int, rounds: int, shares: Floats, generator: np.random.Generator
) -> Reported:
    values = generator.choice(shares.size, n, p=shares / shares.sum())
    seed = int(generator.integers(1 << 62))
    reports_by_round = [
        mechanism.privatize(values, remembering(seed, round=number)) for number in range(1, rounds + 1)
    ]
    return build_linked_problem(mechanism, reports_by_round)
