"""Priors and fakes: their laws to the last word, and how much likelier than a fake a real report can be."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms import Hashed, PackedSubset, calibrate
from deniable.randomness import FULL
from deniable.records import Blank, Fake, Guessed, Imitated, Prior
from tests.enumeration import cells, fake_law, part_law, sampled_fake_law, sampled_part_law, speaks_for

SKEWED = Prior.of([0.7, 0.1, 0.15, 0.05], 4)
FAKES: dict[str, Callable[[], Fake]] = {
    "guessed": lambda: Guessed(dn.grr(4, 1.0), Prior.uniform(4)),
    "guessed of three": lambda: Guessed(dn.grr(3, 1.0), Prior.uniform(3)),
    "guessed from a prior": lambda: Guessed(dn.grr(5, 0.7), Prior.of([5, 4, 3, 2, 1], 5)),
    "imitated": lambda: Imitated(dn.grr(3, 1.0), Prior.uniform(3)),
    "imitated from a prior": lambda: Imitated(dn.grr(4, 2.0), Prior.of([0.7, 0.1, 0.15, 0.05], 4)),
    "imitated by oue": lambda: Imitated(dn.oue(3, 1.0), Prior.uniform(3)),
    "imitated by sue": lambda: Imitated(dn.sue(4, 0.5), Prior.of([0.4, 0.3, 0.2, 0.1], 4)),
    "imitated by two bits": lambda: Imitated(dn.oue(2, 1.0), Prior.of([0.2, 0.8], 2)),
    "blank by oue": lambda: Blank(dn.oue(3, 1.0)),
    "blank by sue": lambda: Blank(dn.sue(4, 1.0)),
    "blank set": lambda: Blank(calibrate.subset(5, 1.0, 2)),
    "blank set of one": lambda: Blank(dn.ss(3, 1.0, size=1)),
    "blank column": lambda: Blank(dn.hr(4, 1.0)),
    "blank column of two": lambda: Blank(dn.hr(2, 1.0)),
    "blank bucket": lambda: Blank(calibrate.hashed(4, 1.0, 3)),
    "blank bucket of a pool": lambda: Blank(calibrate.pooled(5, 1.0, 3)),
    "blank bits that are kept": lambda: Blank(dn.rounds.dbitflip(4, 2.0, 2)),
    "one blank bit": lambda: Blank(dn.rounds.dbitflip(3, 2.0, 1)),
    "blank bucket that is kept": lambda: Blank(dn.rounds.loloha(4, 1.0, 2.0, g=3)),
    "imitated set": lambda: Imitated(calibrate.subset(5, 1.0, 2), Prior.of([5, 4, 3, 2, 1], 5)),
    "imitated packed set": lambda: Imitated(PackedSubset(4, 2, dn.ss(4, 1.0, size=2).keep), SKEWED),
    "imitated column": lambda: Imitated(dn.hr(4, 1.0), SKEWED),
    "imitated column of two": lambda: Imitated(dn.hr(2, 2.0), Prior.of([0.2, 0.8], 2)),
    "imitated bucket": lambda: Imitated(calibrate.hashed(4, 1.0, 2), SKEWED),
    "imitated bucket of a pool": lambda: Imitated(calibrate.pooled(3, 1.0, 2), Prior.of([0.6, 0.3, 0.1], 3)),
}


@pytest.mark.parametrize("name", FAKES)
def test_a_fake_follows_its_definition_to_the_last_word(name: str) -> None:
    fake = FAKES[name]()
    law = fake_law(fake)
    assert sum(law.values()) == 1
    assert sampled_fake_law(fake) == law


@pytest.mark.parametrize("name", [name for name in FAKES if name != "imitated bucket"])
def test_what_a_fake_supports(name: str) -> None:
    """As often as its law says, for every value that it is about, and for sums of weights. The few functions
    that stand for all do not collide as often, which a bucket of nobody does not notice alone.
    """
    fake, weights = FAKES[name](), np.array([3.0, -1.0, 2.0, 0.5, 1.0])
    asked = Fraction(fake.part.values_asked, fake.part.k)
    for value in range(fake.part.k):
        chance = sum(weight for outcome, weight in fake_law(fake).items() if speaks_for(outcome, value))
        assert fake.supported[value] * asked == pytest.approx(float(chance), abs=1e-15)
    if asked == 1 and not isinstance(fake.part.one_round, Hashed):
        own = weights[: fake.part.k]
        square = sum(
            float(chance) * sum(w for v, w in enumerate(own) if speaks_for(outcome, v)) ** 2
            for outcome, chance in fake_law(fake).items()
        )
        assert float(fake.square(own)) == pytest.approx(square, rel=1e-12)
        np.testing.assert_allclose(fake.square(np.array([own, 2 * own])), [square, 4 * square], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in FAKES if name.startswith(("blank", "imitated"))])
def test_real_reports_beside_fakes_follow_their_definition_to_the_last_word(name: str) -> None:
    part = FAKES[name]().part
    for value in (0, part.k - 1):
        assert sampled_part_law(part, value) == part_law(part, value)


@pytest.mark.parametrize("name", FAKES)
def test_evidence_is_as_extreme_as_any_report_and_no_more(name: str) -> None:
    """How much likelier than from the fake: over all reports and pairs of values, and never below, but for
    the slack.
    """
    fake = FAKES[name]()
    real, faked = [part_law(fake.part, value) for value in range(fake.part.k)], fake_law(fake)
    true = [
        (one[y] / faked[y], other[y] / faked[y])
        for one, other in itertools.product(real, repeat=2)
        for y in faked
    ]
    stated = fake.evidence()
    near = Fraction(1, 10**15)
    for slope in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(5)):
        # all that a sum of ratios can ask of one attribute: the largest one - slope * other
        most, claimed = (max(one - slope * other for one, other in pairs) for pairs in (true, stated))
        assert claimed + (fake.slack() - 1) * max(one + slope * other for one, other in stated) >= most
        assert claimed - most <= near
    least, claimed = (min(min(pair) for pair in pairs) for pairs in (true, stated))
    assert claimed / fake.slack() <= least
    assert least - claimed <= near


@pytest.mark.parametrize("name", FAKES)
def test_batches_of_fakes(name: str) -> None:
    """One by one from the same words, and no more words than it says."""
    fake = FAKES[name]()
    words = dn.seeded(3)
    single = np.concatenate([fake.encode(words.rows(1, fake.words)) for _ in range(50)])
    assert fake.encode(dn.seeded(3).rows(50, fake.words)).tobytes() == single.tobytes()


# Priors.


@pytest.mark.parametrize("k", [2, 3, 5, 7, 64, 1000])
def test_the_uniform_prior_is_the_law_of_below(k: int) -> None:
    assert [Fraction(weight, FULL) for weight in Prior.uniform(k).weights] == cells(k)


@pytest.mark.parametrize(
    "prior", [Prior.uniform(3), Prior.uniform(5), Prior.of([5, 1, 3], 3), Prior((1, FULL - 2, 1))]
)
def test_every_value_has_as_many_words_as_its_weight(prior: Prior) -> None:
    ends = list(itertools.accumulate(prior.weights, initial=0))
    firsts, lasts = (
        np.array(ends[:-1], dtype=np.uint64),
        np.array([end - 1 for end in ends[1:]], dtype=np.uint64),
    )
    assert prior.draw(firsts).tolist() == list(range(prior.k))
    assert prior.draw(lasts).tolist() == list(range(prior.k))


def test_shares_become_weights() -> None:
    random = np.random.default_rng(1)
    for k in (2, 3, 10, 500):
        shares = random.dirichlet(np.ones(k)) + 1e-6
        prior = Prior.of(shares, k)
        assert sum(prior.weights) == FULL
        np.testing.assert_allclose(prior.shares, shares / shares.sum(), rtol=0, atol=1e-15)
    np.testing.assert_allclose(Prior.of([30, 10], 2).shares, [0.75, 0.25], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Prior.of([1, 0, 0], 3, mixed=0.3).shares, [0.8, 0.1, 0.1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Prior.of([1, 0], 2, mixed=1).shares, [0.5, 0.5], rtol=0, atol=1e-15)


def test_a_value_without_a_share_is_refused_unless_mixed() -> None:
    for shares, missing in (([0.5, 0.5, 0.0], 1), ([1, 0, 0], 2), ([1, 1e-30, 1], 1)):
        with pytest.raises(dn.InvalidParameter, match=rf"{missing} of 3 values have no share.*mix the prior"):
            Prior.of(shares, 3)
        assert min(Prior.of(shares, 3, mixed=0.01).weights) > 0


@pytest.mark.parametrize(
    "shares", [[0.5, 0.5], [0.5, 0.5, 0.5, 0.5], [0, 0, 0], [1, -1, 1], [1, float("nan"), 1], [[1, 2, 3]]]
)
def test_shares_that_are_no_prior_are_refused(shares: list[float]) -> None:
    with pytest.raises(dn.InvalidParameter, match="3 non-negative weights"):
        Prior.of(shares, 3, mixed=0.5)


@pytest.mark.parametrize("mixed", [-0.1, 1.1, float("nan")])
def test_a_part_that_is_spread_is_between_none_and_all(mixed: float) -> None:
    with pytest.raises(dn.InvalidParameter, match="between 0 and 1"):
        Prior.of([1, 2, 3], 3, mixed)


@pytest.mark.parametrize("weights", [(FULL,), (1, 1), (0, FULL), (-1, FULL + 1), (FULL, FULL)])
def test_weights_that_are_no_prior_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"positive integers that sum to 2\^64"):
        Prior(weights)


def test_a_prior_of_another_size_is_refused() -> None:
    """A fake that can send what no real report is would disclose the attribute."""
    with pytest.raises(dn.InvalidParameter):
        Guessed(dn.grr(3, 1.0), Prior.uniform(4))
    with pytest.raises(dn.InvalidParameter):
        Imitated(dn.oue(3, 1.0), Prior.uniform(2))


@pytest.mark.parametrize(
    ("part", "allowed"),
    [
        (dn.grr(4, 1.0), (Guessed, Imitated)),
        *((make(4, 1.0), (Imitated, Blank)) for make in (dn.oue, dn.ss, dn.olh, dn.hr, dn.mechanisms.plh)),
        (dn.rounds.l_grr(4, 1.0, 2.0), (Guessed, Imitated)),
        (dn.rounds.l_sue(4, 1.0, 2.0), (Imitated, Blank)),
        (dn.rounds.loloha(4, 1.0, 2.0), (Blank,)),
        (dn.rounds.dbitflip(4, 1.0, bits=2), (Blank,)),
        (dn.rounds.l_duchi(1.0, 2.0), ()),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_fake_stands_only_beside_what_its_loss_was_worked_out_for(part: Any, allowed: Any) -> None:
    """Elsewhere the stated loss would be wrong: a blank among direct reports shows which
    attribute is real.
    """
    for fake in (Guessed, Imitated, Blank):
        arguments = (part,) if fake is Blank else (part, Prior.uniform(4))
        if fake in allowed:
            assert fake(*arguments).part == part
        else:
            with pytest.raises(dn.InvalidParameter, match="this fake goes with"):
                fake(*arguments)


@pytest.mark.parametrize("part", [dn.metric.geometric(4, 1.0), dn.metric.planar_geometric((2, 2), 1.0)])
def test_no_fake_stands_beside_a_metric_value(part: Any) -> None:
    for make in (Blank, lambda part: Guessed(part, Prior.uniform(4))):
        with pytest.raises(dn.InvalidParameter, match=r"do not protect a metric value more than .*; use smp"):
            make(part)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 8, 20])
def test_the_columns_that_cover_least_and_most(k: int) -> None:
    """Of all that tell two values apart, one by one, with weights that no float holds."""
    random, part = np.random.default_rng(k), dn.hr(k, 1.0)
    weights = [int(weight) for weight in random.integers(1, FULL // k, k, dtype=np.uint64)]
    weights[0] += FULL - sum(weights)
    table = part.support(np.arange(1 << part.bits))
    masses = [sum(w for w, on in zip(weights, row, strict=True) if on) for row in table if 0 < row.sum() < k]
    assert part.cover(weights) == (min(masses), max(masses))
