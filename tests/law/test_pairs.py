"""Checks how likely reports support two values at once against the reports themselves."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.exact import PRIME
from deniable.law import pairs
from deniable.law.law import Law
from deniable.law.pairs import Pairs
from tests import statistics
from tests.cases import by_night
from tests.statistics import LAW_REPORTS

K = 40
MECHANISMS = {
    "grr": dn.grr(K, 1.0),
    "oue": dn.oue(K, 1.0),
    "ss": dn.ss(K, 1.0),
    "hr": dn.hr(K, 1.0),
    "blh": dn.mechanisms.blh(K, 1.0),
    "olh": dn.olh(K, 3.0),
    "lh": dn.mechanisms.lh(K, 4.0, 9),
    "plh": dn.mechanisms.plh(K, 1.0),
    "plh of five buckets": dn.mechanisms.plh(K, 1.0, 31),
    "loloha": dn.rounds.loloha(K, 2.0, 4.0),
}


def weigh_support(name: str, value: int, weights: Floats) -> Floats:
    """The squared sums of weights that reports of one value support."""
    mechanism = MECHANISMS[name]
    reports = mechanism.privatize(np.full(LAW_REPORTS, value), dn.seeded(value + 1))
    parts = np.array_split(reports, 10)
    return np.concatenate([(mechanism.support(part) @ weights) ** 2 for part in parts])


def judge(name: str, found: Pairs, value: int, weights: Floats) -> None:
    seen = weigh_support(name, value, weights)
    error = float(seen.std()) / LAW_REPORTS**0.5
    statistics.deviation(float(seen.mean()), float(found.squares(weights)[value]), error, f"{name}, {value}")


@by_night("name", MECHANISMS, "grr", "oue", "ss", "blh", "lh", "plh of five buckets", "plh", "loloha")
def test_squares_are_those_of_the_reports(name: str) -> None:
    ordered, lower = np.arange(K) - np.full(K, 20.0), (np.arange(K) < 20).astype(np.float64)
    judge(name, MECHANISMS[name].law.pairs, 0, ordered)
    judge(name, MECHANISMS[name].law.pairs, 17, lower)


@by_night("name", ["hr", "olh", "lh", "plh", "loloha"], "lh", "loloha")
def test_pairs_taken_to_be_alike_are_found_out(name: str) -> None:
    law = MECHANISMS[name].law
    assert isinstance(law, Law)
    alike = pairs.Alike.of_sizes(law.k, law.p, law.q, law.sizes, law.inside, law.outside)
    with pytest.raises(AssertionError):
        judge(name, alike, 17, (np.arange(K) < 30).astype(np.float64))


@pytest.mark.parametrize("name", MECHANISMS)
def test_cumulative_squares_are_squares_of_the_nearer_side(name: str) -> None:
    found, shares = MECHANISMS[name].law.pairs, np.random.default_rng(1).dirichlet(np.ones(K))
    sides = [np.arange(K) < m if 2 * m <= K else np.arange(K) >= m for m in range(1, K)]
    expected = [found.squares(side.astype(np.float64)) @ shares for side in sides]
    np.testing.assert_allclose(found.cumulative_squares(shares), expected, rtol=1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mean_squares_are_the_mean_of_squares(name: str) -> None:
    found, table = MECHANISMS[name].law.pairs, np.random.default_rng(1).normal(size=(5, K))
    np.testing.assert_allclose(found.mean_squares(table), found.squares(table).mean(axis=-1), rtol=1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
def test_joint_chances_are_those_of_squares(name: str) -> None:
    """Of each two values, by the squares of sums of two."""
    found, shares = MECHANISMS[name].law.pairs, np.random.default_rng(1).dirichlet(np.ones(K))
    np.testing.assert_allclose(found.joint(shares), Pairs.joint(found, shares), atol=1e-12)


@pytest.mark.parametrize("name", [*MECHANISMS, "fakes of bits", "fakes of values"])
def test_products_with_sizes_are_those_of_squares(name: str) -> None:
    """Of each value with all of them, by the squares of sums of all and once more of one."""
    fakes = {"fakes of bits": "oue-z", "fakes of values": "grr"}
    law = dn.rsfd([K, 3], 1.0, fakes[name]).marginal(0) if name in fakes else MECHANISMS[name].law
    found = law.pairs
    shares = np.random.default_rng(1).dirichlet(np.ones(K))
    np.testing.assert_allclose(
        found.joint_with_size(shares), Pairs.joint_with_size(found, shares), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("g", [2, 3, 4, 9, 21, 149])
def test_collisions_of_three_are_a_density_at_multiples(g: int) -> None:
    """The closed form is the sum it comes from: a density of three uniform numbers, at the multiples of g."""
    table = pairs.collisions_of_three(12, g, 1 / g)
    for i, j in ((1, 2), (-1, 1), (3, 7), (4, 6), (-11, 5), (10, -10)):
        n = np.array([j, i - j, -i]) // np.gcd(i, j)
        low, sizes = int(n[n < 0].sum()), np.abs(n)
        expected = 0.0
        for multiple in range(-(-low // g) * g, -low + 1, g):
            for chosen in np.ndindex(2, 2, 2):
                beyond = max(multiple - low - int(sizes @ chosen), 0)
                expected += (-1) ** sum(chosen) * beyond**2 / (2 * g * sizes.prod())
        assert table[11 + i, 11 + j] == pytest.approx(expected, rel=1e-12)
        assert table[11 + j, 11 + i] == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
def test_functions_stand_for_the_family_where_there_are_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    family, shares = pairs.Affine(11, 0.9, 1 / 11), np.full(100, 1 / 100)
    side = (np.arange(100) < 50).astype(np.float64)
    exact = float(family.squares(side) @ shares), family.cumulative_squares(shares)
    with_size = family.joint_with_size(shares)
    monkeypatch.setattr(pairs, "_TABLED", 10)
    monkeypatch.setattr(pairs, "_HASHES", pairs._HASHES // 4)
    assert float(family.squares(side) @ shares) == pytest.approx(exact[0], rel=0.03)
    np.testing.assert_allclose(family.cumulative_squares(shares), exact[1], rtol=0.03)
    np.testing.assert_allclose(family.joint_with_size(shares), with_size, rtol=0.1)


@pytest.mark.parametrize("name", ["lh", "blh", "loloha"])
def test_fakes_for_two_values_bring_those_of_their_function_along(name: str) -> None:
    """What their shares make of the pair is the mean over reports that support both; if the others came by
    chance, it would not be.
    """
    mechanism, one, other = MECHANISMS[name], 17, 23
    law, generator = mechanism.law, np.random.default_rng(3)
    assert isinstance(law, Law)
    assert isinstance(mechanism, dn.mechanisms.Hashed | dn.rounds.HashedMemoized)
    made_up = mechanism.blank(LAW_REPORTS)
    made_up["a"] = generator.integers(1, PRIME, LAW_REPORTS)
    made_up["b"] = generator.integers(PRIME, size=LAW_REPORTS)
    made_up["bucket"] = generator.integers(mechanism.g, size=LAW_REPORTS)
    support = np.concatenate([mechanism.support(part) for part in np.array_split(made_up, 10)])
    support = support[support[:, one] & support[:, other]]
    nobody = law.pairs.joint(np.zeros(K))[one, other]
    slopes = np.array([law.pairs.joint(person)[one, other] for person in np.eye(K)]) - nobody
    seen = nobody + (support - law.q) / law.gain @ slopes
    error = float(seen.std()) / len(seen) ** 0.5
    found = float(law.pairs.joint_if_pushed(K, law.q, law.gain)[one, other])
    statistics.deviation(float(seen.mean()), found, error, name)
    if name != "blh":  # with two buckets, the others are as by chance
        alone = float(Pairs.joint_if_pushed(law.pairs, K, law.q, law.gain)[one, other])
        with pytest.raises(AssertionError):
            statistics.deviation(float(seen.mean()), alone, error, name)
