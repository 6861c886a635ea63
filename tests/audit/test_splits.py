"""Audits of splits whose parts are samples and fakes: right clients pass, and a fault in a part is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.audit.setting import make_setting
from deniable.audit.turns import Side
from deniable.mechanisms.base import Per
from deniable.study import Plan
from deniable.wire import Wire
from tests import enumeration
from tests.audit.test_audits import Seeded, audited, many
from tests.cases import by_night

FAKED = dn.rsfd((3, 3), 1.0, "grr")
SAMPLE = dn.records.Sample((dn.grr(3, 1.0), dn.grr(4, 1.0)))
NESTED = {
    "sample": dn.records.Split((dn.grr(3, 1.0), SAMPLE)),
    "faked": dn.records.Split((dn.grr(3, 1.0), FAKED)),
    "sample and faked": dn.records.Split((SAMPLE, FAKED)),
}
TRIALS = 40_000


class Other(dn.audit.Devices):
    """Devices of a plan that report by another record mechanism, whose reports look the same."""

    headed = False

    def __init__(self, plan: Plan, mechanism: dn.records.RecordMechanism, seed: int) -> None:
        self.plan, self.words = plan, dn.seeded(seed)
        names = dict(zip(plan.names, plan.document.attributes, strict=True))
        asked = {name: attribute.domain for name, attribute in names.items()}
        self._other = Plan.of(asked, mechanism, people=1000)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        codes = self._other.encode([dict(side[0]) for side in sides])[:, who]
        return [Wire(self._other.document).bodies(self._other.privatize_codes(codes, self.words))]


@by_night("name", NESTED, "sample", "faked")
@by_night("per", ["record", "attribute"], "attribute")
def test_right_clients_pass(name: str, per: Per) -> None:
    """The claim is the exact loss, and the bound comes near it."""
    plan = many(NESTED[name])
    truth = enumeration.log(enumeration.true_ratio(NESTED[name], per))
    found = audited(Seeded(plan, 2), trials=TRIALS, per=per)
    assert found.passed
    assert found.claim == pytest.approx(truth, rel=1e-6 if "faked" not in name else 0.3)
    assert found.claim >= truth - 1e-9
    assert found.lower_bound > 0.6 * truth


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("per", ["record", "attribute"])
def test_claims_are_the_losses_of_records_or_of_answers(name: str, per: Per) -> None:
    truth = enumeration.log(enumeration.true_ratio(NESTED[name], per))
    setting = make_setting(many(NESTED[name]), "every", per, None, None)
    assert set(setting.claims) == {setting.line_claim}
    assert truth - 1e-9 <= setting.line_claim < 1.3 * truth


def test_a_part_without_fakes_is_found() -> None:
    """All attributes are real, where one of two should be: the bytes look the same."""
    plan = many(NESTED["faked"])
    bare = dn.records.Split((dn.grr(3, 1.0), *FAKED.mechanisms))
    found = audited(Other(plan, bare, 3), trials=TRIALS)
    assert not found.passed
    assert found.lower_bound > plan.loss.record


def test_attributes_that_depend_on_the_answer_are_found() -> None:
    """The sample reports its first attribute if the first answer is 0: which one is reported tells it."""
    plan = many(NESTED["sample"])

    class Telling(Seeded):
        def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
            [bodies] = super().answer(sides, who)
            told = np.array([str(side[0]["x0"]) == "0" for side in sides])[who]
            size, rest = 1, 2  # the first report, the position in the sample, its report
            assert all(len(body) == size + rest for body in bodies)
            return [
                [
                    body[:1] + (b"\x00\x00" if tell else b"\x01\x00")
                    for body, tell in zip(bodies, told, strict=True)
                ]
            ]

    assert not audited(Telling(plan, 3), trials=TRIALS).passed


CITY = {"south": 52.3, "north": 52.6, "west": 13.1, "east": 13.6}
PARTS = dn.Study(
    {
        "age": dn.Range(0, 8, step=1, privacy="metric", epsilon=0.4),
        "home": dn.Grid(**CITY, rows=3, columns=3, privacy="metric", epsilon=1e-4),
    }
).plan(people=100)


def metric_plan() -> Plan:
    """Age and location from everybody, one of two others sampled."""
    asked = {one.name: one.domain for one in PARTS.document.attributes}
    return Plan.of(
        asked | {"work": ["day", "night"], "pay": ["low", "mid", "high"]},
        dn.records.Split((*PARTS.mechanism.mechanisms, dn.records.Sample((dn.grr(2, 1.0), dn.grr(3, 1.0))))),
        people=100,
    )


@by_night("per", ["record", "attribute"], "attribute")
def test_claims_by_distance(per: Per) -> None:
    """Neighbors are claimed what a step loses, the sampled ones what one of them does."""
    plan = metric_plan()
    metric = plan.stated.metric
    assert metric is not None
    setting = make_setting(plan, "every", per, None, None)
    units = {one.name: one.loss / 1e9 for one in metric.units}
    claims: dict[tuple[str, ...], set[float]] = {}
    for pair, claim in zip(setting.pairs, setting.pair_claims, strict=True):
        one, other = (side[0] for side in pair)
        differ = tuple(name for name in one if one[name] != other[name])
        claims.setdefault(differ, set()).add(round(claim, 6))
    assert claims["age",] >= {round(units["age"], 6)}
    assert claims["work", "pay"] == {1.0} if per == "record" else claims["pay",] == {1.0}
    assert audited(Seeded(plan, 4), trials=TRIALS, per=per).passed


def test_a_metric_part_that_is_louder_is_found_by_distance() -> None:
    plan = metric_plan()
    age, home, sample = plan.mechanism.parts
    loud = dn.records.Split((dn.metric.geometric(7, 1.2), home, sample))
    found = audited(Other(plan, loud, 3), trials=TRIALS, per="attribute")
    assert not found.passed
    assert isinstance(age, dn.metric.Geometric)
    assert any(event.above and event.claim < 1.0 for event in found.events)
