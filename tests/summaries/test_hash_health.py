"""Checks of text: honest hashes, buckets and levels raise no alarm whatever people answer; faults do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.mechanisms import Linear
from deniable.reports.reports import Reports
from deniable.results.health import MEANINGS, Health, HealthWatch
from deniable.results.unbiased import estimate_tallies
from deniable.summaries.health import HashBits, check_buckets, check_levels
from tests import statistics
from tests.cases import by_night
from tests.statistics import HEALTHY_TAIL

STUDIES, PEOPLE = 200, 3000
PLAN = dn.Study({"word": dn.Text("a-z", longest=10)}, epsilon=2.0).plan(people=6000)
ANSWERS: dict[str, Callable[[int], Array]] = {
    "one code": lambda k: np.full(PEOPLE, k - 1),
    "code 0": lambda k: np.zeros(PEOPLE, dtype=np.int64) % k,
    "half of them code 0": lambda k: np.repeat([0, k // 3], PEOPLE // 2),
    "many codes": lambda k: np.random.default_rng(1).integers(0, k, PEOPLE),
}


def health_of(reports: Reports) -> Health:
    watch = HealthWatch(PLAN.document)
    tallies = PLAN.tally(watch.look([reports]))
    return watch.health(estimate_tallies(PLAN.document, tallies, False, text_alone=True))


def look(part: Linear, reports: Array) -> list[float]:
    bits = HashBits(part)
    bits.look(reports[:1000])
    bits.look(reports[1000:])
    buckets = check_buckets("word", part, part.tally(reports).counts, 1e-6)
    return [bits.check("word", 1e-6).p_value, buckets.p_value]


@by_night("answers", ANSWERS, "code 0", "many codes")
@by_night(("bits", "epsilon"), [(8, 1.0), (8, 5.0), (25, 2.0), (62, 0.2)], (8, 5.0), (25, 2.0))
def test_honest_hashes_and_buckets_are_healthy(answers: str, bits: int, epsilon: float) -> None:
    """P-values are no smaller than chance has them. Of 8 bits one hash in 128, or in 4, is drawn again."""
    part = dn.mechanisms.linear(bits, epsilon)
    codes = ANSWERS[answers](part.k)
    found = np.array([look(part, part.privatize(codes, dn.seeded(seed))) for seed in range(STUDIES)])
    passed = (found >= HEALTHY_TAIL).sum(axis=0).tolist()
    statistics.each_at_least(passed, STUDIES, 1 - HEALTHY_TAIL, f"{answers}, {bits} bits at {epsilon}")


def test_honest_levels_are_healthy() -> None:
    chances = [0.28, 0.28, 0.28, 0.16]
    draws = np.random.default_rng(1).multinomial(PEOPLE, chances, 10 * STUDIES)
    passed = sum(check_levels("word", one.tolist(), chances, 1e-6).p_value >= HEALTHY_TAIL for one in draws)
    statistics.at_least(passed, 10 * STUDIES, 1 - HEALTHY_TAIL, "levels")


def change(reports: Reports, columns: Sequence[Array]) -> Reports:
    return replace(reports, records=replace(reports.records, columns=tuple(columns)))


def stick_bucket(bucket: int) -> Callable[[Array], None]:
    def stick(some: Array) -> None:
        some["bucket"] = bucket

    return stick


def stick_bit(some: Array) -> None:
    some["bits"][:, 1] |= 4


def one_hash(some: Array) -> None:
    some["bits"][: len(some) // 5] = some["bits"][0]


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (stick_bucket(3), "buckets"),
        (stick_bucket(0), "buckets"),
        (stick_bit, "hash bits"),
        (one_hash, "hash bits"),
    ],
)
def test_a_fault_raises_an_alarm(fault: Callable[[Array], None], name: str) -> None:
    """The seed is fixed; honest reports of it raise none."""
    reports = PLAN.privatize({"word": ["cat"] * PEOPLE}, dn.seeded(5))
    honest = health_of(reports)
    assert (honest.alarms, honest.verdict) == ((), "no alarm")
    assert (
        {one.name for one in honest.checks}
        == {"buckets", "hash bits", "levels of a question"}
        <= set(MEANINGS)
    )
    columns = [column.copy() for column in reports.records.columns]
    fault(columns[1])
    kept = columns[1][PLAN.document.parts[1].canonical(columns[1])]  # others are refused before
    found = health_of(change(reports, [columns[0], kept, columns[2]]))
    assert {(one.attribute, one.name) for one in found.alarms} >= {(PLAN.names[1], name)}
    assert name in str(found)


def test_people_in_wrong_groups_raise_an_alarm() -> None:
    """Half of the reports of the first level are gone, as if a client had other weights."""
    reports = PLAN.privatize({"word": ["cat"] * PEOPLE}, dn.seeded(5))
    first, *others = reports.records.columns
    found = health_of(change(reports, [first[: len(first) // 2], *others]))
    assert [(one.attribute, one.name) for one in found.alarms] == [("word", "levels of a question")]


@by_night("epsilon", [1.0, 4.0], 4.0)
def test_the_stated_share_of_fakes_is_noticed(epsilon: float) -> None:
    """Nine times in ten are promised, of reports with one hash and of one bucket."""
    part, tail, noticed = dn.mechanisms.linear(50, epsilon), 1e-6, [0, 0]
    for seed in range(100):
        reports = part.privatize(np.full(PEOPLE, 12345), dn.seeded(seed))
        bits = HashBits(part)
        bits.look(reports)
        counts = part.tally(reports).counts
        needed = bits.check("word", tail).noticed, check_buckets("word", part, counts, tail).noticed
        assert max(needed) < 0.4
        fakes = reports.copy()
        fakes["bits"][: round(needed[0] * PEOPLE)] = reports["bits"][-1]
        bits = HashBits(part)
        bits.look(fakes)
        noticed[0] += bits.check("word", tail).p_value < tail
        fakes = reports.copy()
        fakes["bucket"][: round(needed[1] * PEOPLE)] = part.g - 1
        counts = part.tally(fakes).counts
        noticed[1] += check_buckets("word", part, counts, tail).p_value < tail
    statistics.each_at_least(noticed, 100, 0.9, f"fakes at epsilon {epsilon}")
