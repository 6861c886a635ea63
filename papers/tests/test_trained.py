"""Trained classifiers of the sampled attribute: none beats the best attack; wrong knowledge is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import deniable as dn
from deniable import attack
from deniable.attack.sampling import estimate_marginals
from deniable_papers.trained import features, parse_knowledge, simulate_reports, trained_attribute

PEOPLE = 100_000
KS = (3, 2, 4)
SKEWED = [[0.6, 0.3, 0.1], [0.8, 0.2], [0.55, 0.25, 0.15, 0.05]]
PRIORS = [[0.2, 0.5, 0.3], [0.6, 0.4], [0.1, 0.2, 0.3, 0.4]]
FAKED: dict[str, dn.records.Faked] = {
    "rsfd grr": dn.rsfd(KS, 1.0, "grr", "published"),
    "rsfd sue-z": dn.rsfd(KS, 1.0, "sue-z", "published"),
    "rsfd mixed": dn.records.Faked(
        (dn.rsfd(KS, 1.0, "grr").fakes[0], dn.rsfd(KS, 1.0, "oue-z").fakes[1], dn.rsfd(KS, 1.0).fakes[2])
    ),
    "rsrfd grr as published": dn.records.rsrfd(KS, 1.0, PRIORS, "grr", "published", fakes="published"),
}


def people_of(marginals: Sequence[Sequence[float]], n: int, seed: int) -> np.ndarray:
    draws = np.random.default_rng(seed)
    return np.column_stack([draws.choice(len(shares), n, p=shares) for shares in marginals])


@pytest.mark.parametrize("classifier", ["xgboost", "logistic"])
@pytest.mark.parametrize("name", ["rsfd grr", "rsfd sue-z", "rsrfd grr as published"])
def test_no_trained_attack_beats_the_best_one(name: str, classifier: str) -> None:
    mechanism, n = FAKED[name], 8000
    records, truth = (
        mechanism.privatize(people_of(SKEWED, n, 13), dn.seeded(14)),
        attack.real_attributes(mechanism, n, 14),
    )
    best = attack.sampled_success(mechanism, SKEWED).value
    for knowledge in ("NK-1n", "PK-0.5n", "HM-1n-0.5n"):
        found = trained_attribute(mechanism, records, truth, knowledge, classifier, jobs=1)  # type: ignore[arg-type]
        lucky = math.sqrt(best * (1 - best) / found.whom.size)
        assert found.accuracy < best + 5 * lucky
        assert found.accuracy > 1 / 3 + 0.4 * (best - 1 / 3)  # and it is an attack
        assert found.accuracy == (found.attributes == truth[found.whom]).mean()


def test_what_classifiers_learn_from() -> None:
    mechanism = FAKED["rsfd mixed"]
    records, drawn = simulate_reports(mechanism, [np.array(one) for one in SKEWED], 1000, 5)
    assert features(mechanism, records).shape == (1000, 1 + 2 + 1)
    assert features(mechanism, records, "logistic").shape == (1000, 3 + 2 + 4)
    assert set(drawn) == {0, 1, 2}
    for shares, truth in zip(
        estimate_marginals(
            mechanism, simulate_reports(mechanism, [np.array(one) for one in SKEWED], PEOPLE, 6)[0]
        ),
        SKEWED,
        strict=True,
    ):
        assert shares == pytest.approx(truth, abs=0.1)
    with pytest.raises(dn.InvalidParameter, match="is not what a published attacker knows"):
        trained_attribute(mechanism, records, drawn, "XK-1n")
    with pytest.raises(dn.InvalidParameter, match="leaves nobody to attack"):
        trained_attribute(mechanism, records, drawn, "PK-1n")


def test_frame_of_a_trained_attack() -> None:
    mechanism, n = dn.rsfd(KS, 2.0, "sue-z", "published"), 400
    table = np.column_stack([np.random.default_rng(4).choice(len(one), n, p=one) for one in SKEWED])
    records, truth = mechanism.privatize(table, dn.seeded(2)), attack.real_attributes(mechanism, n, 2)
    found = trained_attribute(mechanism, records, truth, "PK-0.5n", "logistic", jobs=1, seed=4)
    row = found.frame(backend="polars").row(0, named=True)
    assert (row["attack"], row["classifier"], row["n"], row["seed"]) == ("PK-0.5n", "logistic", 200, 4)
    assert row["blind"] == pytest.approx(1 / 3)
    assert row["low"] < row["accuracy"] == found.accuracy < row["high"]


def test_attackers_who_learn_from_nobody_are_refused() -> None:
    mechanism = dn.rsfd(KS, 2.0, "sue-z", "published")
    records, truth = (
        mechanism.privatize([[0, 0, 0]] * 5, dn.seeded(1)),
        attack.real_attributes(mechanism, 5, 1),
    )
    for knowledge in ("NK-0n", "NK-0.0n", "PK-0n", "HM-0n-0.1n", "HM-1n-0n"):
        with pytest.raises(dn.InvalidParameter, match=f"'{knowledge}' learns from nobody"):
            trained_attribute(mechanism, records, truth, knowledge, "logistic")
    with pytest.raises(dn.InvalidParameter, match=r"None.* is not what a published attacker knows"):
        parse_knowledge(None)  # type: ignore[arg-type]
    assert parse_knowledge("NK-0.01n") == (0.01, 0.0)
    one = trained_attribute(mechanism, records, truth, "NK-0.01n", "logistic")  # one simulated person
    assert len(set(one.attributes.tolist())) == 1
