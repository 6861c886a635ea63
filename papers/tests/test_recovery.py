"""Checks that fakes of a known kind are taken out of estimates."""

from __future__ import annotations

import numpy as np
import pytest
from tests import statistics

import deniable as dn
from deniable.arrays import Array
from deniable.estimate import Estimate
from deniable.mechanisms import Mechanism, SubsetShape
from deniable_papers.studies.recovery import FakeModel, Recovery, recover_shares, supported_by_chance

K, PEOPLE, FAKES = 12, 40_000, 4000
MECHANISMS: dict[str, Mechanism] = {
    name: dn.PROTOCOLS[name].make(K, 2.0) for name in ("grr", "oue", "ss", "olh", "hr")
}


def fakes_of(name: str, model: FakeModel) -> Array:
    mechanism, generator = MECHANISMS[name], np.random.default_rng(5)
    if model == "false answers":
        return mechanism.privatize(generator.choice([3, 4], FAKES), dn.seeded(5))
    if model == "random reports":  # honest noise about people who are spread evenly, and forget their answer
        if name == "oue":
            return np.packbits(generator.random((FAKES, K)) < 0.5, axis=1, bitorder="little")
        made = mechanism.privatize(generator.integers(0, K, FAKES), dn.seeded(6))
        return made if name != "hr" else generator.integers(0, 16, FAKES).astype(made.dtype)
    if name == "grr":
        return generator.choice([3, 4], FAKES).astype(mechanism.blank(0).dtype)
    if name == "ss":  # as many of them as a set has room for
        assert isinstance(mechanism, SubsetShape)
        ranks = generator.random((FAKES, K))
        ranks[:, [3, 4]] -= 1
        return mechanism.write_members(np.argsort(np.argsort(ranks, axis=1), axis=1) < mechanism.size)
    bits = generator.random((FAKES, K)) < mechanism.law.q  # type: ignore[attr-defined]
    bits[:, [3, 4]] = True
    return np.packbits(bits, axis=1, bitorder="little")


CASES: list[tuple[str, FakeModel]] = [
    *((name, "false answers") for name in MECHANISMS),
    *((name, "random reports") for name in MECHANISMS),
    *((name, "pushed values") for name in ("oue", "grr", "ss")),
]


@pytest.mark.parametrize(("name", "model"), CASES)
def test_what_fakes_add_is_taken_out(name: str, model: FakeModel) -> None:
    mechanism, people = MECHANISMS[name], np.arange(PEOPLE) % 4
    honest = mechanism.privatize(people, dn.seeded(1))
    estimate = mechanism.estimate(mechanism.tally(np.concatenate([honest, fakes_of(name, model)])))
    assert isinstance(estimate, Estimate)
    targets = [] if model == "random reports" else [3, 4]
    found = recover_shares(mechanism, estimate, FAKES / (PEOPLE + FAKES), model, targets)
    off = found.frequencies - np.bincount(people, minlength=K) / PEOPLE
    for value in range(K):
        statistics.deviation(float(off[value]), 0.0, 1.1 * float(estimate.stderr[value]), f"{name}, {model}")
    assert ((found.low < found.frequencies) & (found.frequencies < found.high)).all()
    if model == "pushed values":  # without it, the targets are far off
        assert abs(estimate.frequencies[4]) > 10 * estimate.stderr[4]


def test_a_recovery_names_its_model() -> None:
    estimate = dn.oue(3, 1.0).estimate(dn.Tally(100, np.array([50, 30, 30])))
    assert isinstance(estimate, Estimate)
    found = recover_shares(dn.oue(3, 1.0), estimate, 0.05, "random reports")
    assert isinstance(found, Recovery)
    assert "5 % of the reports are fakes of the model 'random reports'; if they are not" in str(found)


def test_models_that_say_nothing_are_refused() -> None:
    mechanism = dn.oue(3, 1.0)
    estimate = mechanism.estimate(dn.Tally(100, np.array([50, 30, 30])))
    for fakes, model, targets, message in (
        (0.05, "pushed values", [], "name them"),
        (0.05, "random reports", [1], "has no targets"),
        (0.05, "random", [], "a model of fakes"),
        (1.0, "random reports", [], "between 0 and 1"),
        (0.05, "false answers", [3], "0 to 2"),
    ):
        with pytest.raises(dn.DeniableError, match=message):
            recover_shares(mechanism, estimate, fakes, model, targets)  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match="not drawn evenly"):
        supported_by_chance(dn.metric.geometric(5, 1.0))
