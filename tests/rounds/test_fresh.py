"""Answers with fresh noise in every round beside answers that are kept, in one plan."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, cast

import pytest

import deniable as dn
from deniable.mechanisms import Losses, Mechanism
from deniable.records import RecordMechanism, Sample, Split
from deniable.rounds import Memoized, l_grr
from tests.cases import by_night
from tests.enumeration import exact_log, part_law, sequence_law

QUESTIONS = {"os": ["a", "b", "c"], "crash": ["yes", "no"]}


def history_chances(
    part: Mechanism, values: Sequence[int], histories: Sequence[Sequence[Hashable]]
) -> list[Fraction]:
    """How likely each history of reports is for a sequence of values."""
    if part.repeated:
        chance = sequence_law(cast(Memoized, part), values)
        return [chance(history) for history in histories]
    laws = [part_law(part, value) for value in values]
    return [
        math.prod((law[y] for law, y in zip(laws, history, strict=True)), start=Fraction(1))
        for history in histories
    ]


def worst_of_part(part: Mechanism, rounds: int, is_constant: bool) -> Fraction:
    """The largest ratio of two sequences of values, over all histories of reports; constant ones, or any."""
    everything = itertools.product(range(part.k), repeat=rounds)
    values = [(v,) * rounds for v in range(part.k)] if is_constant else list(everything)
    histories = list(itertools.product(part_law(part, 0), repeat=rounds))
    chances = [history_chances(part, sequence, histories) for sequence in values]
    worst: Fraction = max(max(column) / min(column) for column in zip(*chances, strict=True))
    return worst


def multiply(ratios: Sequence[Fraction]) -> Fraction:
    return math.prod(ratios, start=Fraction(1))


@by_night("rounds", [1, 2, 3], 3)
@pytest.mark.parametrize(
    ("kept", "fresh"), [(l_grr(3, 1.0, 2.0), dn.grr(2, 0.5)), (l_grr(2, 0.5, 2.0), dn.oue(2, 0.25))]
)
def test_losses_are_those_of_all_histories(kept: Memoized, fresh: Mechanism, rounds: int) -> None:
    parts = kept, fresh
    join: Callable[[Sequence[Fraction]], Fraction]
    for mechanism, join in ((Split(parts), multiply), (Sample(parts), max)):
        losses: Losses = cast(RecordMechanism, mechanism).losses(rounds, rounds)
        for is_constant, stated in ((True, losses.same_value), (False, losses.changing_values)):
            truth = join([worst_of_part(part, rounds, is_constant) for part in parts])
            assert 0 <= stated - float(exact_log(truth)) < 1e-8, (mechanism.kind, is_constant)
        assert math.isinf(losses.one_value_forever)


def test_a_kept_answer_stays_and_a_fresh_one_gets_new_noise() -> None:
    """An estimate from 4,000 pairs of reports; one run in 1,700,000 is five standard errors off by chance."""
    plan = dn.Plan.of(QUESTIONS, Split((l_grr(3, 1.0, 9.0), dn.grr(2, 1.0))), people=4000, rounds=2)
    answers = {"os": ["b"] * 4000, "crash": ["yes"] * 4000}
    first, second = (plan.privatize(answers, dn.remembering(1, round=i)).records.columns for i in (1, 2))
    p = dn.grr(2, 1.0).law.p
    as_expected = p**2 + (1 - p) ** 2  # of two draws that do not depend on each other
    repeated = float((first[1] == second[1]).mean())
    assert abs(repeated - as_expected) < 5 * math.sqrt(0.25 / 4000)
    client = dn.Client(plan, secret=bytes(32), plan_cap=99.0)
    report = client.report({"os": "b", "crash": "yes"}, round=1)
    assert report == client.report({"os": "b", "crash": "yes"}, round=1)


def test_a_ledger_counts_every_fresh_report() -> None:
    plan = dn.Plan.of(QUESTIONS, Split((l_grr(3, 0.5, 1.0), dn.grr(2, 0.25))), people=4000, rounds=8)
    alone = l_grr(3, 0.5, 1.0).losses(8, 8).changing_values
    assert math.isclose(plan.loss.counted, alone + 8 * 0.25, abs_tol=1e-6)
    once = plan.with_turns(2)
    assert math.isclose(
        once.loss.counted, l_grr(3, 0.5, 1.0).losses(2, 2).changing_values + 0.5, abs_tol=1e-6
    )


REFUSED: dict[str, tuple[Any, Any]] = {
    "fakes": (Split((l_grr(3, 1.0, 2.0), dn.rsfd([2, 3], 1.0))), {"b": ["y", "n"], "c": ["x", "y", "z"]}),
    "near bits": (
        Split((l_grr(3, 1.0, 2.0), dn.records.near_bits(2, 2.0))),
        {"b": ["y", "n"], "c": ["y", "n"]},
    ),
    "text": (Split((l_grr(3, 1.0, 2.0), dn.mechanisms.linear(20, 1.0))), {"b": dn.Text("a-z", 4)}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_add_up_is_refused(name: str) -> None:
    mechanism, more = REFUSED[name]
    with pytest.raises(dn.InvalidParameter, match="cannot have fresh noise in every round"):
        dn.Plan.of({"os": ["a", "b", "c"], **more}, mechanism, people=100, rounds=2)


def test_rounds_keep_something() -> None:
    with pytest.raises(dn.InvalidParameter, match="these mechanisms answer once"):
        dn.Plan.of(QUESTIONS, Split((dn.grr(3, 1.0), dn.grr(2, 1.0))), people=100, rounds=2)


def test_an_attacker_learns_from_every_fresh_report_and_from_one_kept_answer() -> None:
    plan = dn.Plan.of(QUESTIONS, Split((l_grr(3, 1.0, 2.0), dn.grr(2, 0.5))), people=100, rounds=9)
    kept, fresh = dn.attack.success(plan, collections=9).attributes
    p = dn.grr(2, 0.5).law.p
    majority = sum(math.comb(9, i) * p**i * (1 - p) ** (9 - i) for i in range(5, 10))
    assert fresh.reported_memoized == pytest.approx(majority)
    assert kept.reported_memoized < kept.reported_averaged


def test_the_order_of_questions_does_not_change_what_an_attacker_learns() -> None:
    """Which question a person answers is kept for all rounds, whether its answers are kept or not."""
    parts = {"os": l_grr(3, 1.0, 2.0), "crash": dn.grr(2, 0.5)}
    learned = []
    for names in (["os", "crash"], ["crash", "os"]):
        asked = {name: QUESTIONS[name] for name in names}
        plan = dn.Plan.of(asked, Sample(tuple(parts[name] for name in names)), people=100, rounds=9)
        learned.append({each.name: each.memoized for each in dn.attack.success(plan).attributes})
    assert learned[0] == pytest.approx(learned[1])


@by_night("kept_first", [True, False], True)
def test_an_audit_asks_again_where_any_answer_is_kept(kept_first: bool) -> None:
    kept, fresh = l_grr(3, 1.0, 2.0), dn.grr(2, 0.5)
    parts = (kept, fresh) if kept_first else (fresh, kept)
    audit = dn.audit.lower_bound(Split(parts), trials=500, words=dn.seeded(1))
    assert audit.lower_bound <= audit.claim
