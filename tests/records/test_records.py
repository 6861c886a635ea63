"""Check what a record mechanism sends word for word, loses by enumeration, and estimates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.errors import NotExact
from deniable.mechanisms import Mechanism, calibrate
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from deniable.records import (
    Blank,
    Fake,
    Faked,
    Guessed,
    Imitated,
    Prior,
    RecordMechanism,
    Records,
    Sample,
    Split,
    rsfd,
    rsrfd,
    smp,
    spl,
)
from deniable.rounds import Memoized, l_grr, l_osue, loloha
from deniable.rounds.memoized import MemoizedBuckets
from tests import statistics
from tests.cases import by_night
from tests.enumeration import check_ratio, law_of, records_of, sampled_law, true_ratio

KS = [(2, 2), (3, 3), (2, 3), (2, 4), (2, 3, 2)]
EPSILONS = [0.5, 1.0, 2.0]
FAKED = ["grr", "oue-z", "oue-r", "sue-z", "sue-r", "adaptive"]
SETS = ["ss", "olh", "plh", "hr"]
EXACT = list(dn.PROTOCOLS)


def some_priors(ks: Sequence[int], seed: int) -> list[Array]:
    """A random prior for each attribute, no cell below 1 in 50."""
    random = np.random.default_rng(seed)
    return [0.02 + (1 - 0.02 * k) * random.dirichlet(np.ones(k)) for k in ks]


# What is lost.


def check_losses(mechanism: RecordMechanism) -> None:
    """Both losses against all reports of all records."""
    record = mechanism.loss("record")
    check_ratio(mechanism.ratio("record"), record, true_ratio(mechanism, "record"), "per record")
    check_ratio(
        mechanism.ratio("attribute"),
        mechanism.loss("attribute"),
        true_ratio(mechanism, "attribute"),
        "per attribute",
    )
    assert mechanism.loss() == record


@by_night("ks", KS, (2, 2), (3, 3), (2, 4), ids=str)
@by_night("calibration", ["record", "published"], "published")
@by_night("protocol", FAKED, "sue-z", "sue-r")
def test_losses_among_fakes(protocol: str, calibration: Any, ks: tuple[int, ...]) -> None:
    for epsilon in EPSILONS:
        check_losses(rsfd(ks, epsilon, protocol, calibration))


@by_night("ks", [(3, 3), (2, 3, 5), (2, 7), (4, 4, 4)], (2, 7), (4, 4, 4), ids=str)
@pytest.mark.parametrize("fakes", ["perturbed", "published"])
def test_losses_of_larger_domains(fakes: Any, ks: tuple[int, ...]) -> None:
    check_losses(rsfd(ks, 1.0, "grr", "published"))
    check_losses(rsrfd(ks, 1.0, some_priors(ks, 1), "grr", "published", fakes))


@by_night("ks", KS, (2, 2), (3, 3), (2, 4), ids=str)
@by_night(
    ("protocol", "fakes"),
    [("grr", "perturbed"), ("grr", "published"), ("oue-r", "perturbed"), ("sue-r", "perturbed")],
    ("sue-r", "perturbed"),
)
def test_losses_among_fakes_from_priors(protocol: str, fakes: Any, ks: tuple[int, ...]) -> None:
    for seed, epsilon in enumerate(EPSILONS):
        check_losses(rsrfd(ks, epsilon, some_priors(ks, seed), protocol, "published", fakes))
    check_losses(rsrfd(ks, 1.0, [np.ones(k) for k in ks], protocol, "published", fakes))


@by_night("ks", KS, (2, 2), (3, 3), (2, 4), ids=str)
@by_night("protocol", ["grr", "oue", "sue", "adaptive"], "sue", "adaptive")
def test_losses_of_split_and_sample(protocol: str, ks: tuple[int, ...]) -> None:
    for epsilon in EPSILONS:
        check_losses(spl(ks, epsilon, protocol))
        for attributes in range(1, len(ks) + 1):
            check_losses(smp(ks, epsilon, protocol, attributes))


def test_losses_of_repeated_parts() -> None:
    parts = (l_grr(3, 0.5, 1.0), l_osue(2, 0.7, 2.0))
    check_losses(Split(parts))
    check_losses(Sample(parts))
    check_losses(Split((dn.grr(2, 0.4), Sample(parts))))


def test_a_nested_loss_is_the_sum_of_its_parts_and_an_attribute_loses_the_most() -> None:
    sampled = Sample((dn.grr(3, 0.5), dn.grr(4, 0.7)), 1)
    nested = Split((dn.grr(2, 0.2), sampled))
    assert nested.ratio() == dn.grr(2, 0.2).ratio * dn.grr(4, 0.7).ratio
    assert nested.ratio("attribute") == dn.grr(4, 0.7).ratio
    assert [nested.chance(j) for j in range(3)] == [1, Fraction(1, 2), Fraction(1, 2)]
    assert (nested.d, nested.reported, nested.words) == (3, 2, dn.grr(2, 0.2).words + sampled.words)


@pytest.mark.parametrize("kind", ["split", "single"])
def test_a_split_holds_no_split_and_no_single(kind: str) -> None:
    parts = (dn.grr(2, 1.0), dn.grr(3, 1.0))
    inside = Split(parts) if kind == "split" else dn.records.Single(parts[0])
    with pytest.raises(dn.InvalidParameter, match=f"got a {kind}; write its parts directly"):
        Split((dn.grr(2, 1.0), inside))


@pytest.mark.parametrize("kind", [Split, Sample])
def test_a_part_is_a_mechanism(kind: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"with an exact loss, .*got str"):
        kind((dn.grr(2, 1.0), "grr"))


UNEQUAL: dict[str, Callable[[], RecordMechanism]] = {
    "split": lambda: Split((dn.grr(2, 0.3), dn.oue(2, 1.5), dn.sue(2, 0.7))),
    "one of three": lambda: Sample((dn.grr(2, 0.3), dn.oue(2, 1.5), dn.sue(2, 0.7))),
    "two of three": lambda: Sample((dn.grr(2, 0.3), dn.oue(2, 1.5), dn.sue(2, 0.7)), 2),
    "by weights": lambda: Sample((dn.grr(2, 0.3), dn.oue(2, 1.5), dn.sue(2, 0.7)), weights=(3, 1, 2)),
    "faked": lambda: Faked(
        (Guessed(dn.grr(3, 2.0), Prior.uniform(3)), Blank(dn.oue(2, 0.5)), Blank(dn.sue(2, 1.0)))
    ),
    "faked, from priors": lambda: Faked(
        (
            Imitated(dn.grr(3, 0.4), Prior.of([0.6, 0.3, 0.1], 3)),
            Imitated(dn.oue(2, 1.6), Prior.of([0.9, 0.1], 2)),
            Guessed(dn.grr(2, 1.0), Prior.of([0.2, 0.8], 2)),
        )
    ),
    "faked, one nearly open": lambda: Faked(
        (Guessed(dn.grr(4, 6.0), Prior.of([1, 2, 3, 4], 4)), Blank(dn.oue(2, 0.1)))
    ),
    "fakes of sets": lambda: Faked((Blank(calibrate.subset(4, 1.0, 2)), Blank(dn.hr(3, 0.5)))),
    "fakes of three kinds": lambda: Faked(
        (Blank(dn.hr(2, 1.0)), Blank(dn.ss(3, 2.0, size=1)), Guessed(dn.grr(2, 0.7), Prior.uniform(2)))
    ),
    "fakes of buckets": lambda: Faked(
        (Blank(calibrate.hashed(3, 1.0, 3)), Blank(calibrate.pooled(3, 2.0, 2)))
    ),
    "fakes of sets, from priors": lambda: Faked(
        (
            Imitated(calibrate.subset(4, 1.0, 2), Prior.of([4, 3, 2, 1], 4)),
            Imitated(dn.hr(3, 0.5), Prior.of([0.6, 0.3, 0.1], 3)),
        )
    ),
    "fakes of buckets, from priors": lambda: Faked(
        (Imitated(calibrate.hashed(3, 1.0, 2), Prior.of([0.6, 0.3, 0.1], 3)), Blank(dn.oue(2, 0.5)))
    ),
    "fakes of bits that are kept": lambda: Faked(
        (Blank(dn.rounds.dbitflip(3, 2.0, 1)), Blank(dn.rounds.dbitflip(3, 1.0, 2)))
    ),
    "everyone and one of two": lambda: Split((dn.grr(2, 0.3), Sample((dn.oue(2, 1.5), dn.sue(2, 0.7))))),
    "everyone and both of two": lambda: Split((Sample((dn.grr(3, 0.5), dn.grr(2, 1.5)), 2), dn.oue(2, 0.2))),
    "everyone and fakes": lambda: Split((dn.grr(2, 0.3), rsfd((3, 2), 1.0, "grr", "published"))),
    "everyone and blank fakes": lambda: Split((rsfd((2, 2), 1.0, "oue-z", "published"), dn.grr(3, 0.5))),
    "a sample and fakes": lambda: Split(
        (Sample((dn.grr(2, 0.4), dn.grr(2, 1.2))), rsfd((2, 2), 0.8, "grr", "published"))
    ),
    "two samples": lambda: Split(
        (Sample((dn.grr(2, 0.4), dn.grr(3, 1.2))), Sample((dn.grr(2, 0.5), dn.grr(2, 0.6))))
    ),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_losses_of_unequal_budgets(name: str) -> None:
    """Where budgets differ, the worst record is not the worst of every attribute by itself."""
    check_losses(UNEQUAL[name]())


# What is sent.

SENT: dict[str, Callable[[], RecordMechanism]] = {
    "split grr": lambda: spl((3, 2), 1.0, "grr"),
    "split mixed": lambda: Split((dn.oue(2, 1.0), dn.grr(3, 0.5))),
    "split repeated": lambda: Split((l_grr(2, 0.5, 1.0), dn.sue(2, 1.0))),
    "sample grr": lambda: smp((3, 2, 3), 1.0, "grr"),
    "sample mixed": lambda: Sample((dn.oue(2, 1.0), dn.grr(3, 0.5), l_osue(2, 0.5, 1.0))),
    "by weights": lambda: smp((3, 2, 3), 1.0, "grr", weights=(5, 1, 3)),
    "everyone, and one by weights": lambda: Split(
        (dn.grr(2, 0.3), Sample((dn.oue(2, 1.5), dn.grr(3, 0.7)), weights=(1, 6)))
    ),
    "two of three": lambda: smp((3, 2, 3), 1.0, "grr", 2),
    "three of three": lambda: smp((3, 2, 2), 1.0, "grr", 3),
    "two of four": lambda: smp((2, 2, 2, 3), 1.0, "grr", 2),
    "rsfd grr": lambda: rsfd((3, 2, 4), 1.0, "grr"),
    "rsfd oue-z": lambda: rsfd((2, 3), 1.0, "oue-z"),
    "rsfd sue-z": lambda: rsfd((3, 2), 1.0, "sue-z"),
    "rsfd oue-r": lambda: rsfd((2, 2), 1.0, "oue-r"),
    "rsfd sue-r": lambda: rsfd((2, 3), 1.0, "sue-r"),
    "rsrfd grr": lambda: rsrfd((3, 2), 1.0, [[0.5, 0.3, 0.2], [0.9, 0.1]]),
    "rsrfd grr, as published": lambda: rsrfd((3, 4), 1.0, [[0.5, 0.3, 0.2], [4, 3, 2, 1]], fakes="published"),
    "rsrfd oue-r": lambda: rsrfd((2, 2), 1.0, [[0.25, 0.75], [0.9, 0.1]], "oue-r"),
    "mixed fakes": lambda: UNEQUAL["faked"](),
    **{name: make for name, make in UNEQUAL.items() if name.startswith("fakes of")},
    **{name: UNEQUAL[name] for name in ("everyone and one of two", "everyone and both of two")},
    **{name: UNEQUAL[name] for name in ("everyone and fakes", "everyone and blank fakes")},
    **{name: UNEQUAL[name] for name in ("a sample and fakes", "two samples")},
    "repeated, one of two": lambda: Split((l_grr(2, 0.5, 1.0), Sample((l_grr(2, 0.5, 1.0), dn.grr(3, 1.0))))),
}


@pytest.mark.parametrize("name", SENT)
def test_the_sampler_follows_the_definition_to_the_last_word(name: str) -> None:
    """All that can be sent, with its exact chances, from the first and the last word of every kind."""
    mechanism = SENT[name]()
    records = records_of(mechanism)
    for record in (records[0], records[len(records) // 2], records[-1]):
        assert sampled_law(mechanism, record) == law_of(mechanism, record)


def test_the_definition_finds_a_choice_that_is_one_word_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault that no statistic would ever find: the first attribute gets one word too many."""
    mechanism = rsfd((2, 3), 1.0, "grr")
    monkeypatch.setattr(
        "deniable.records.sample.below",
        lambda word, bound: dn.randomness.below(word - np.uint64(1) * (word > 0), bound),
    )
    with pytest.raises(AssertionError, match="not where the definition says"):
        sampled_law(mechanism, (0, 0))


def test_the_enumeration_finds_a_loss_that_is_claimed_too_low() -> None:
    """The papers' claim, planted as if it were the loss."""
    for per, ks in (("record", (3, 3)), ("attribute", (2, 4))):
        truth = true_ratio(rsfd(ks, 1.0, "grr", "published"), per)
        with pytest.raises(AssertionError, match="below the truth"):
            check_ratio(Fraction(math.exp(1.0)), 1.0, truth, "the claim")


# What the estimates are worth.

TRUTH = (np.array([0.7, 0.2, 0.1]), np.array([0.7, 0.1, 0.05, 0.15]))
"""The shares of two attributes; many people have value 0, so that a p that is off shows."""
SIZES = (3, 4)
BLOCKS, BLOCK = statistics.REPEATS, 2 * statistics.REPEAT_REPORTS
"""How many populations, and of how many people: p moved by MOVED then moves the scatter well out of its
limits.
"""
MOVED = 0.05

MECHANISMS: dict[str, Callable[[], RecordMechanism]] = {
    **{f"split {name}": lambda name=name: spl(SIZES, 3.0, name) for name in EXACT},  # type: ignore[misc]
    **{f"sample {name}": lambda name=name: smp(SIZES, 1.5, name) for name in EXACT},  # type: ignore[misc]
    **{f"both of two {name}": lambda name=name: smp(SIZES, 3.0, name, 2) for name in ("grr", "oue")},  # type: ignore[misc]
    **{f"rsfd {name}": lambda name=name: rsfd(SIZES, 1.5, name) for name in (*FAKED, *SETS)},  # type: ignore[misc]
    **{
        f"rsrfd {name} {fakes}": lambda name=name, fakes=fakes: rsrfd(  # type: ignore[misc]
            SIZES, 1.5, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.4]], name, fakes=fakes
        )
        for name, fakes in (
            ("grr", "perturbed"),
            ("grr", "published"),
            ("oue-r", "perturbed"),
            ("sue-r", "perturbed"),
            ("hr", "perturbed"),
            ("ass", "perturbed"),
        )
    },
    "split of repeated": lambda: Split((l_grr(3, 1.5, 2.0), loloha(4, 1.5, 3.0))),
    "sample of repeated": lambda: Sample((l_osue(3, 1.5, 2.0), l_grr(4, 1.5, 3.0, "published"))),
}


ALIKE = {"sue", "the", "blh", "aue", "ass", "alh", "athe", "adaptive", "sue-z", "sue-r"}
"""Protocols whose reports have the form of another: what depends on the form alone is tried on them by night.
"""


MOVED_BY_DAY = ("split grr", "split olh", "rsfd oue-z", "rsrfd grr perturbed", "split of repeated")


def find_alike(names: Iterable[str], kind: str = "") -> list[str]:
    """The names with a protocol of ALIKE, of all mechanisms or of a kind."""
    return [name for name in names if name.startswith(kind) and not ALIKE.isdisjoint(name.split())]


@cache
def made(name: str) -> RecordMechanism:
    return MECHANISMS[name]()


def moved(part: Mechanism, by: float) -> Mechanism:
    """The same with its true value supported more often, by this share of p (of the last round's)."""

    def up(threshold: int) -> int:
        return min(FULL - 1, round(threshold * (1 + Fraction(by))))

    match part:
        case dn.mechanisms.Unary(one=one):
            return replace(part, one=up(one))
        case (
            dn.mechanisms.Direct()
            | dn.mechanisms.Subset()
            | dn.mechanisms.PackedSubset()
            | dn.mechanisms.Hashed()
            | dn.mechanisms.Pooled()
            | dn.mechanisms.Hadamard()
        ):
            return replace(part, keep=up(part.keep))
        case Memoized(first=first, second=second):
            last = moved(second, by)
            assert isinstance(last, dn.mechanisms.Direct | dn.mechanisms.Unary)
            return Memoized(first, last)
        case MemoizedBuckets(buckets=buckets):
            rounds = moved(buckets, by)
            assert isinstance(rounds, Memoized)
            return replace(part, buckets=rounds)
    raise AssertionError(f"say what p is for {type(part).__name__}")


def moved_fake(fake: Fake, by: float) -> Fake:
    """A fake whose real reports are off; the fakes themselves are not, since nobody's value is in them."""
    return replace(fake, part=moved(fake.part, by))  # type: ignore[type-var]


def move_p(mechanism: RecordMechanism, by: float) -> RecordMechanism:
    match mechanism:
        case Split() | Sample():
            return replace(mechanism, parts=tuple(moved(part, by) for part in mechanism.mechanisms))
        case Faked():
            return replace(mechanism, fakes=tuple(moved_fake(fake, by) for fake in mechanism.fakes))
    raise AssertionError(f"say what p is for {type(mechanism).__name__}")


@cache
def population(n: int, kind: str) -> Array:
    """A table of n people in blocks: drawn anew from the shares of TRUTH, or the same people in
    every block.
    """
    random = np.random.default_rng(3)
    if kind == "sampled":
        return np.column_stack([random.choice(shares.size, size=n, p=shares) for shares in TRUTH])
    block = [random.permutation(np.repeat(np.arange(s.size), np.round(s * BLOCK).astype(int))) for s in TRUTH]
    return np.tile(np.column_stack(block), (n // BLOCK, 1))


Blocks = list[list[dn.Estimate]]


def estimates(
    mechanism: RecordMechanism, sender: RecordMechanism, kind: str, words: dn.randomness.Words
) -> Blocks:
    """For each attribute its estimates, one for each block of people."""
    records = sender.privatize(population(BLOCKS * BLOCK, kind), words)
    found = []
    for j, (part, column) in enumerate(zip(mechanism.mechanisms, records.columns, strict=True)):
        who = np.arange(records.n) if records.reporters is None else records.reporters[j]
        order = np.argsort(who // BLOCK, kind="stable")
        ends = np.searchsorted(who[order] // BLOCK, np.arange(1, BLOCKS))
        tallies = [part.tally(some) for some in np.split(column[order], ends)]
        law: Any = mechanism.marginal(j)
        found.append([dn.Estimate(tally.n, tally.counts, law) for tally in tallies])
    return found


def check_unbiased(blocks: Blocks, kind: Any) -> None:
    """All blocks together, in their own standard errors, for the most and the least frequent value."""
    for some, truth in zip(blocks, TRUTH, strict=True):
        n, law = sum(one.n for one in some), some[0].law
        whole = dn.Estimate(n, np.sum([one.support_counts for one in some], axis=0), law)
        errors = np.sqrt(law.variance(n, truth, kind))
        for value in (int(truth.argmax()), int(truth.argmin())):
            statistics.deviation(whole.frequencies[value], truth[value], errors[value], "estimate of a share")


def check_scatter(blocks: Blocks, kind: Any) -> None:
    """The scatter of the blocks about the truth, as a share of the stated variance."""
    for some, truth in zip(blocks, TRUTH, strict=True):
        value = int(truth.argmax())
        squares = [
            (one.frequencies[value] - truth[value]) ** 2
            / np.asarray(one.law.variance(one.n, truth, kind))[value]
            for one in some
        ]
        statistics.spread(float(np.sum(squares)), len(squares), f"scatter of an estimate, {kind}")


@by_night("name", MECHANISMS, *find_alike(MECHANISMS))
def test_estimates_are_unbiased_and_scatter_as_they_say(name: str) -> None:
    mechanism = made(name)
    blocks = estimates(mechanism, mechanism, "sampled", dn.seeded(11))
    check_unbiased(blocks, "sampled")
    check_scatter(blocks, "sampled")


@by_night(
    "name",
    ["split grr", "split oue", "split of repeated", *(n for n in MECHANISMS if n.startswith("rs"))],
    *find_alike(MECHANISMS, "rs"),
)
def test_estimates_of_the_people_who_answered(name: str) -> None:
    """The same people in every block: the smaller of the two variances."""
    mechanism = made(name)
    blocks = estimates(mechanism, mechanism, "fixed", dn.seeded(12))
    check_unbiased(blocks, "fixed")
    check_scatter(blocks, "fixed")


@by_night("name", MECHANISMS, *(name for name in MECHANISMS if name not in MOVED_BY_DAY))
def test_a_moved_p_is_seen_in_bias_and_in_scatter(name: str) -> None:
    """The planted fault: reports of a mechanism whose p is off, estimated as if it were not."""
    mechanism = made(name)
    blocks = estimates(mechanism, move_p(mechanism, MOVED), "sampled", dn.seeded(13))
    with pytest.raises(AssertionError, match="standard errors off"):
        check_unbiased(blocks, "sampled")
    with pytest.raises(AssertionError, match="of the variance"):
        check_scatter(blocks, "sampled")


def test_sampled_people_of_a_fixed_crowd() -> None:
    """SMP of n fixed people: about m = n / d of them report an attribute, which adds f (1 - f) / m * (n - m)
    / (n - 1).
    """
    mechanism = made("sample grr")
    for j, some in enumerate(estimates(mechanism, mechanism, "fixed", dn.seeded(14))):
        truth = TRUTH[j]
        ratios = []
        for one in some:
            reported = mechanism.marginal(j).variance(one.n, truth, "fixed")
            crowd = truth * (1 - truth) / one.n * (BLOCK - one.n) / (BLOCK - 1)
            ratios.append(((one.frequencies - truth) ** 2 / (reported + crowd))[0])
        statistics.spread(float(np.sum(ratios)), len(ratios), "scatter of a sampled attribute")


# Words, batches, bulk loops.


def same(one: Records, other: Records) -> bool:
    """Byte for byte, and by the same people."""
    assert one.n == other.n
    assert (one.reporters is None) == (other.reporters is None)
    columns = all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(one.columns, other.columns, strict=True)
    )
    people = all(
        np.array_equal(a, b) for a, b in zip(one.reporters or (), other.reporters or (), strict=True)
    )
    return columns and people


def joined(records: Sequence[Records], d: int) -> Records:
    """Records one after the other; people who report an attribute in the order of their numbers."""
    columns = tuple(np.concatenate([one.columns[j] for one in records]) for j in range(d))
    starts = np.cumsum([0, *(one.n for one in records)])
    if records[0].reporters is None:
        return Records(int(starts[-1]), columns)
    known = [
        (one.reporters, start)
        for one, start in zip(records, starts[:-1], strict=True)
        if one.reporters is not None
    ]
    return Records(
        int(starts[-1]),
        columns,
        tuple(np.concatenate([who[j] + start for who, start in known]) for j in range(d)),
    )


WIDE = (5, 70, 3)
BULK: dict[str, Callable[[], RecordMechanism]] = {
    **{f"split {name}": lambda name=name: spl(WIDE, 3.0, name) for name in EXACT},  # type: ignore[misc]
    **{f"sample {name}": lambda name=name: smp(WIDE, 1.0, name) for name in EXACT},  # type: ignore[misc]
    **{f"two of three {name}": lambda name=name: smp(WIDE, 2.0, name, 2) for name in ("grr", "oue", "olh")},  # type: ignore[misc]
    **{f"rsfd {name}": lambda name=name: rsfd(WIDE, 1.0, name) for name in (*FAKED, *SETS)},  # type: ignore[misc]
    **{
        f"rsrfd {name}": lambda name=name: rsrfd(WIDE, 1.0, _wide_priors(), name)  # type: ignore[misc]
        for name in ("grr", "oue-r", "sue-r", "ss", "olh")
    },
    "rsrfd as published": lambda: rsrfd(WIDE, 1.0, _wide_priors(), fakes="published"),
    "sample by weights": lambda: smp(WIDE, 1.0, "oue", weights=(2, 60_000, 7)),
    "split of repeated": lambda: Split((l_grr(5, 0.5, 1.0), l_osue(70, 0.5, 1.0), loloha(3, 0.5, 1.0))),
    "sample of repeated": lambda: Sample((l_grr(5, 0.5, 1.0), l_osue(70, 0.5, 1.0), loloha(3, 0.5, 1.0))),
}


def _wide_priors() -> list[Array]:
    return [np.arange(1, k + 1) for k in WIDE]


def some_records(ks: Sequence[int], n: int) -> Array:
    return np.column_stack(
        [dn.randomness.below(dn.seeded(20 + j).take(n), k).astype(np.int64) for j, k in enumerate(ks)]
    )


def compile_loops(patch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Send every batch to the compiled loops, or none."""
    patch.setattr("deniable.mechanisms.blocks.COMPILE", 0 if compiled else 1 << 60)


@cache
def bulk(name: str) -> RecordMechanism:
    return BULK[name]()


@by_night("name", BULK, *find_alike(BULK))
def test_a_batch_is_its_records_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From seeded words, which are computed where they are used, and from the same words in a list."""
    compile_loops(monkeypatch, False)
    mechanism, table = bulk(name), some_records(WIDE, 24)
    words = dn.seeded(7)
    single = joined([mechanism.privatize(row[None, :], words) for row in table], mechanism.d)
    assert same(mechanism.privatize(table, dn.seeded(7)), single)
    listed = dn.seeded(7).take(24 * mechanism.words)
    assert same(mechanism.privatize(table, fixed(listed)), single), "not the declared number of words"


@by_night("name", BULK, *find_alike(BULK))
def test_compiled_loops_equal_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit from the same seeded words, and the same tallies."""
    mechanism, table = bulk(name), some_records(WIDE, 2500)
    found = []
    for compiled in (False, True):
        compile_loops(monkeypatch, compiled)
        records = mechanism.privatize(table, dn.seeded(8))
        found.append((records, mechanism.tally(records)))
    assert same(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


@by_night("name", BULK, *find_alike(BULK))
def test_how_a_table_lies_in_memory_makes_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, table = bulk(name), some_records(WIDE, 300)
    expected = mechanism.privatize(table, dn.seeded(8))
    wider = np.zeros((300, mechanism.d + 3), dtype=np.int64)
    wider[:, 1:-2] = table
    kinds = [
        np.asfortranarray(table),
        table.astype(np.uint8),
        table.astype(">i4"),
        table.astype(np.uint64),
        wider[:, 1:-2],
    ]
    for given_table in [*kinds, table.tolist()]:
        for compiled in (False, True):
            compile_loops(monkeypatch, compiled)
            assert same(mechanism.privatize(given_table, dn.seeded(8)), expected)


def test_who_reports_what_is_in_order() -> None:
    """Each person reports `drawn` different attributes, and the reports are in the order of the people."""
    for drawn in (1, 2, 3):
        records = smp((2, 3, 4, 5), 1.0, "grr", drawn).privatize(
            some_records((2, 3, 4, 5), 500), dn.seeded(9)
        )
        assert records.reporters is not None
        who = np.concatenate(records.reporters)
        assert np.bincount(who, minlength=500).tolist() == [drawn] * 500
        for column, people in zip(records.columns, records.reporters, strict=True):
            assert len(column) == len(people)
            assert len(set(people.tolist())) == len(people)
            assert people.tolist() == sorted(people.tolist())


# What is refused.


def test_tables_of_a_wrong_shape_are_refused() -> None:
    mechanism = spl((3, 5), 1.0, "grr")
    for wrong in ([0, 1], [[0, 1, 2]], [[[0, 1]]], 3):
        with pytest.raises(dn.InvalidValue, match="a row per record and 2 columns, got shape"):
            mechanism.privatize(wrong)


@pytest.mark.parametrize("make", [spl, smp, rsfd])
def test_a_value_outside_its_domain_is_named_with_its_attribute(make: Any) -> None:
    mechanism = make((3, 5), 1.0, "grr")
    for row, message in (
        ([3, 0], r"attribute 0: 3 is not a value of this mechanism \(0 to 2\)"),
        ([0, 5], r"attribute 1: 5 is not a value of this mechanism \(0 to 4\)"),
        ([0, -1], r"attribute 1: -1 is not a value"),
        ([0.0, 1.5], r"attribute 0: values must be integers"),
    ):
        with pytest.raises(dn.InvalidValue, match=message):
            mechanism.privatize([[0, 0], row], dn.seeded(1))


def test_tables_that_are_ragged_or_of_text_are_refused() -> None:
    mechanism = spl((3, 5), 1.0, "grr")
    with pytest.raises(dn.InvalidValue):
        mechanism.privatize([["a", "b"]])
    with pytest.raises(dn.InvalidValue):
        mechanism.privatize([[1, 2], [3]])


def test_one_attribute_is_no_record() -> None:
    part = dn.grr(3, 1.0)
    for make in (
        lambda: Split((part,)),
        lambda: Sample((part,)),
        lambda: Faked((Guessed(part, Prior.uniform(3)),)),
        lambda: spl([3], 1.0),
        lambda: smp([3], 1.0),
        lambda: rsfd([3], 1.0),
    ):
        with pytest.raises(dn.InvalidParameter, match=r"at least two (attributes|parts), got 1"):
            make()


def test_the_number_of_reported_attributes_is_checked() -> None:
    parts = (dn.grr(3, 1.0), dn.grr(2, 1.0))
    for drawn in (0, 3, 1.0, True, "1"):
        with pytest.raises(dn.InvalidParameter, match="from 1 to 2"):
            Sample(parts, drawn)  # type: ignore[arg-type]


def test_an_unknown_neighborhood_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="'record' or 'attribute', got 'person'"):
        spl((2, 3), 1.0).loss("person")  # type: ignore[arg-type]


def test_records_and_tallies_of_another_mechanism_are_refused() -> None:
    mechanism = spl((3, 5), 1.0, "grr")
    others = spl((3, 5, 2), 1.0, "grr").privatize([[0, 1, 1]], dn.seeded(1))
    with pytest.raises(dn.InvalidReport, match="have 3 attributes, the record mechanism has 2"):
        mechanism.tally(others)
    with pytest.raises(dn.InvalidReport, match="1 tallies, the record mechanism has 2"):
        mechanism.estimate([dn.Tally(1, np.array([1, 0, 0]))])
    records = mechanism.privatize([[0, 1]] * 3, dn.seeded(1))
    with pytest.raises(dn.InvalidReport, match=r"m.estimate\(m.tally\(records\)\), got Records"):
        mechanism.estimate(records)  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidReport, match=r"a record mechanism counts what it has made, .* got list"):
        mechanism.tally([[0, 1]])  # type: ignore[arg-type]
    assert (len(records), repr(records)) == (3, "<Records: 3 records of 2 attributes>")
    with pytest.raises(dn.InvalidReport, match="counts 3 values, the mechanism has 5"):
        mechanism.estimate([dn.Tally(1, np.array([1, 0, 0]))] * 2)


def test_an_attribute_among_fakes_states_no_loss_of_its_own() -> None:
    with pytest.raises(NotExact, match="ask the record mechanism"):
        rsfd((3, 5), 1.0).marginal(0).loss()


def test_nobody_gives_no_reports() -> None:
    for make in (spl, smp, rsfd):
        records = make((3, 5), 1.0, "grr").privatize(np.zeros((0, 2), dtype=int), fixed([]))
        assert records.n == 0
        assert [len(column) for column in records.columns] == [0, 0]


def test_a_masked_table_is_refused() -> None:
    """numpy would drop the mask and report what lies under it."""
    table = np.ma.array([[0, 1], [1, 0]], mask=[[False, True], [False, False]])
    with pytest.raises(dn.InvalidValue, match="masked"):
        dn.spl([2, 2], 1.0).privatize(table)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dn.records.Split(3), "parts are a list of mechanisms, got int"),  # type: ignore[arg-type]
        (lambda: dn.records.Sample(dn.grr(2, 1.0)), "parts are a list of mechanisms, got Direct"),  # type: ignore[arg-type]
        (
            lambda: dn.records.Faked((dn.grr(2, 1.0), dn.grr(3, 1.0))),  # type: ignore[arg-type]
            "a part of Faked is a fake, such as dn.records.Blank",
        ),
        (lambda: dn.grr(3, 1.0).loss(2), "takes nothing; leave the argument out"),  # type: ignore[call-arg]
        (lambda: dn.metric.geometric(9, 0.5).loss(3), r"give the distance to loss_at\(distance\)"),  # type: ignore[call-arg]
    ],
)
def test_wrong_parts_and_arguments_are_refused_in_words(make: Callable[[], object], said: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=said):
        make()


def test_fakes_in_a_list_are_those_in_a_tuple() -> None:
    fakes = dn.rsfd([3, 4], 1.0).fakes
    assert dn.records.Faked(list(fakes)) == dn.records.Faked(fakes)  # type: ignore[arg-type]
    assert hash(dn.records.Faked(list(fakes))) == hash(dn.records.Faked(fakes))  # type: ignore[arg-type]


def test_columns_of_categories_are_taken_by_record_mechanisms() -> None:
    frame = pd.DataFrame({"color": list("abca"), "smokes": list("xyxy")}).astype("category")
    m = dn.spl([3, 2], 1.0, "grr")
    codes = np.array([[0, 0], [1, 1], [2, 0], [0, 1]])
    for made, expected in zip(
        m.privatize(frame, dn.seeded(1)).columns, m.privatize(codes, dn.seeded(1)).columns, strict=True
    ):
        np.testing.assert_array_equal(made, expected)
    with pytest.raises(dn.InvalidValue, match=r"attribute 0: values must be integers from 0 to 2, got text"):
        m.privatize(frame.astype("object"))
