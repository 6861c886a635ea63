"""A ledger counts what a device gives away, exactly, and notices that it was copied."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.client import DEFAULT_CAP, AboveCap, Client, CopiedLedger, Ledger, composed_loss, composed_ratio
from deniable.client.ledger import Entry, _seal, bound_linked_loss
from deniable.plan import NANO
from deniable.records import Faked, rsfd, smp, spl
from deniable.records.fakes import Blank
from deniable.rounds import l_grr
from deniable.study import Plan
from spec.make import vectors
from tests.forking import Forked

ANSWER = vectors.ANSWERS[0]
CHANGED = {"color": "blue", "age": 33, "smokes": "yes"}


def plan_of(epsilon: float) -> Plan:
    return vectors.of(dn.spl(vectors.KS, epsilon, "oue"))


def again() -> Plan:
    return vectors.of(dn.records.Split(tuple(dn.rounds.l_grr(k, 0.2, 0.4) for k in vectors.KS)), rounds=2)


def titled(epsilon: float, title: object) -> Plan:
    """A plan that differs from others in nothing but its title."""
    return Plan.of(vectors.QUESTIONS, dn.spl(vectors.KS, epsilon, "oue"), people=1000, title=str(title))


def test_a_plan_gives_away_four_nats_unless_a_cap_allows_more() -> None:
    assert DEFAULT_CAP == 4.0
    ledger = Ledger()
    Client(plan_of(4.0), secret=bytes(32)).report(ANSWER)
    for options in ({"secret": bytes(32)}, {"ledger": ledger}, {"fresh": True}):
        with pytest.raises(
            AboveCap,
            match=r"up to 4\.1, and this device's cap is 4; .* \(or plan_cap=4\.11, without a ledger",
        ):
            Client(plan_of(4.1), **options)
    Client(plan_of(4.1), secret=bytes(32), plan_cap=4.2).report(ANSWER)
    with pytest.raises(AboveCap, match="cap is 4"):
        Client(vectors.of(dn.rounds.l_grr(5, 2.0, 4.5), rounds=3), secret=bytes(32))  # 2 in one report


def test_all_plans_of_a_device_together_give_away_four_nats() -> None:
    """Plans that differ in their titles alone get no more from a device than one plan."""
    ledger = Ledger()
    plans = [titled(1.0, number) for number in range(400)]
    reports = [Client(plan, ledger=ledger).report(ANSWER) for plan in plans[:4]]
    for plan in plans[4:]:
        with pytest.raises(AboveCap, match=r"up to 1, with all answers before 5, .* sets ledger\.cap = 5$"):
            Client(plan, ledger=ledger)
    assert repr(ledger) == "<Ledger: 4 reports of 4 plans gave away up to 4 of 4>"
    again = [Client(plan, ledger=ledger).report(CHANGED) for plan in plans[:4]]
    assert again == reports, "a report that was made costs nothing new"
    with pytest.raises(AboveCap):
        Client(plans[0], ledger=ledger).report(CHANGED, change=True)


def test_a_person_raises_the_cap_for_all_programs(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json")
    Client(titled(3.0, 1), ledger=ledger).report(ANSWER)
    waiting = Client(titled(1.0, 2), ledger=ledger)
    Client(titled(1.0, 3), ledger=Ledger(tmp_path / "ledger.json")).report(ANSWER)
    with pytest.raises(AboveCap, match="with all answers before 5"):
        waiting.report(ANSWER)  # another program spent what was left
    ledger.cap = 5.0
    assert Ledger(tmp_path / "ledger.json").cap == 5.0
    assert waiting.report(ANSWER)
    with pytest.raises(AboveCap, match=r"cap is 5\b"):
        Client(titled(0.1, 4), ledger=Ledger(tmp_path / "ledger.json"))
    ledger.cap = None
    assert Ledger(tmp_path / "ledger.json").cap == DEFAULT_CAP
    for cap in (0, -1, float("nan"), True, "5"):
        with pytest.raises(dn.InvalidParameter, match="positive number"):
            ledger.cap = cap  # type: ignore[assignment]


def test_a_crash_before_sending_counts_as_spent(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json")
    client = Client(titled(3.0, 1), ledger=ledger)
    client.report(ANSWER)
    del client, ledger  # nothing was sent
    with pytest.raises(AboveCap, match="with all answers before 5"):
        Client(titled(2.0, 2), ledger=Ledger(tmp_path / "ledger.json"))


def test_a_cap_over_all_studies_needs_a_ledger_and_one_of_a_plan_none() -> None:
    for options in ({"secret": bytes(32)}, {"fresh": True}):
        with pytest.raises(dn.InvalidParameter, match=r"only a ledger adds them up: .* plan_cap=1\.0"):
            Client(plan_of(1.0), cap=1.0, **options)
    with pytest.raises(dn.InvalidParameter, match=r"ledger\.cap = 1\.0"):
        Client(plan_of(1.0), ledger=Ledger(), plan_cap=1.0)


def test_a_ledger_that_is_nested_too_deeply_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    path.write_text("[" * 200_000 + "]" * 200_000)
    with pytest.raises(dn.DeniableError, match=r"ledger\.json is not a ledger: it is nested too deeply"):
        Ledger(path)
    assert len(path.read_text()) == 400_000


def test_a_changed_answer_is_a_second_report_that_is_counted() -> None:
    plan, ledger = plan_of(1.5), Ledger(secret=bytes(32))
    client = Client(plan, ledger=ledger)
    first = client.report(ANSWER)
    assert client.report(CHANGED) == first, "without saying so, a round is answered once"
    assert client.report(ANSWER, change=True) == first, "nothing has changed"
    assert ledger.lifetime().changing == plan.stated.record
    second = client.report(CHANGED, change=True)
    assert second != first
    assert second.id != first.id
    assert client.report(CHANGED, change=True) == client.report(ANSWER) == second
    lifetime = ledger.lifetime()
    assert (lifetime.studies, lifetime.reports) == (1, 2)
    assert lifetime.changing == lifetime.unchanged == 2 * plan.stated.record
    third = {**CHANGED, "color": "green"}
    with pytest.raises(AboveCap, match=r"with a changed answer the plan gives away up to 4\.5"):
        client.report(third, change=True)
    assert Client(plan, ledger=ledger, cap=4.6).report(third, change=True) != second
    with pytest.raises(dn.InvalidParameter, match="change the answer in the next"):
        Client(again(), secret=bytes(32)).report(ANSWER, round=1, change=True)


def test_an_answer_may_be_changed_before_it_was_given(tmp_path: Path) -> None:
    """The ledger's file is locked once: a program that waited for its own lock would wait for ever."""
    ledger = Ledger(tmp_path / "ledger.json", secret=bytes(32))
    lines = (
        "import sys; from deniable import Client, Ledger, Plan; "
        "client = Client(Plan.read(sys.argv[1]), ledger=Ledger(sys.argv[2])); "
        f"print(client.report({ANSWER!r}, change=True).to_bytes().hex())"
    )
    plan = plan_of(1.0).write(tmp_path / "plan.json")
    started = [sys.executable, "-c", lines, str(plan), str(tmp_path / "ledger.json")]
    made = subprocess.run(started, check=True, capture_output=True, text=True, timeout=60)
    expected = Client(plan_of(1.0), ledger=ledger).report(ANSWER)
    assert made.stdout.strip() == expected.to_bytes().hex()
    assert len(Ledger(tmp_path / "ledger.json").entries) == 1


def test_a_client_knows_what_another_program_has_allowed_or_spent(tmp_path: Path) -> None:
    ledger, other = (Ledger(tmp_path / "ledger.json") for _ in range(2))
    other.cap = 6.0
    Client(titled(5.0, 1), ledger=ledger)  # the person allows it
    Client(titled(5.0, 1), ledger=other).report(ANSWER)
    with pytest.raises(AboveCap, match="with all answers before 7"):
        Client(titled(2.0, 2), ledger=ledger)


def answer_once(plan: Path, ledger: Path) -> None:
    """In a process of its own, which ends with 3 where it is refused."""
    try:
        Client(Plan.read(plan), ledger=Ledger(ledger)).report(ANSWER)
    except AboveCap:
        sys.exit(3)


def test_programs_that_answer_at_once_share_one_limit(tmp_path: Path) -> None:
    """Eight programs ask for 1 nat each, at once: four of them get it."""
    path = tmp_path / "ledger.json"
    plans = [titled(1.0, number).write(tmp_path / f"{number}.json") for number in range(8)]
    running = [Forked(answer_once, plan, path) for plan in plans]
    assert sorted(one.wait(120) for one in running) == [0] * 4 + [3] * 4
    assert Ledger(path).lifetime().changing == 4 * NANO


def test_two_reports_of_one_person_do_not_hide_which_attribute_is_real() -> None:
    """With fakes, two reports that differ in one attribute show that it is the real one."""
    parts = tuple(Blank(dn.oue(k, epsilon)) for k, epsilon in zip(vectors.KS, (0.5, 0.5, 2.0), strict=True))
    plan = vectors.of(Faked(parts))
    assert plan.stated.record < 1.95e9
    assert bound_linked_loss(plan) == pytest.approx(2e9)
    nested = vectors.nested()["a sample and fakes"]
    assert bound_linked_loss(nested) == pytest.approx(nested.stated.record, abs=1)
    ledger, reports = Ledger(secret=bytes(32)), set()
    for age in range(0, 70, 10):
        answers = {**ANSWER, "age": age, "smokes": "yes" if age % 20 else "no"}
        reports.add(Client(plan, ledger=ledger, cap=20.0).report(answers, change=True).to_bytes())
    assert ledger.lifetime().reports == len(reports) > 1
    assert ledger.lifetime().changing == len(reports) * bound_linked_loss(plan)


def test_a_plan_with_rounds_counts_answers_that_change_from_the_first_report_on() -> None:
    plan, ledger = again(), Ledger()
    assert plan.stated.repeated is not None
    _, unchanged, _, changing, _ = plan.stated.repeated
    assert changing is not None
    assert unchanged is not None
    assert plan.stated.counted == changing > unchanged == plan.stated.unchanged
    client = Client(plan, ledger=ledger)
    for number, answer in enumerate((ANSWER, CHANGED), 1):
        client.report(answer, round=number)
        assert ledger.lifetime().changing == changing
        assert ledger.lifetime().unchanged == unchanged
    with pytest.raises(AboveCap, match="with all answers before"):
        Client(plan_of(0.5), ledger=ledger, cap=unchanged / 1e9 + 0.6)


def test_a_mood_that_changes_is_refused_after_three_weeks() -> None:
    """Unchanged answers lose 2 nats in any number of rounds, and changing ones 4.902 in 4 rounds."""
    weekly = [vectors.of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=rounds) for rounds in (1, 2, 3, 4)]
    assert [round(plan.loss.counted, 3) for plan in weekly] == [1.0, 2.254, 3.572, 4.902]
    for plan in weekly[:3]:
        Client(plan, secret=bytes(32))
    with pytest.raises(AboveCap, match=r"up to 4\.90183, and this device's cap is 4"):
        Client(weekly[3], secret=bytes(32))


def test_a_plan_without_a_bound_is_refused_unless_a_person_asks_for_no_limit() -> None:
    plan = vectors.of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=2)
    assert plan.stated.counted is None
    for cap in (None, 1e12):
        with pytest.raises(AboveCap, match=r"there is no bound .* if answers change"):
            Client(plan, secret=bytes(32), plan_cap=cap)
    Client(plan, secret=bytes(32), plan_cap=math.inf)


@pytest.mark.parametrize("loss", [-1, -(10**12), 0.5, True, "1"])
def test_losses_that_are_none_are_refused(loss: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a loss is a whole number of billionths from 0 on"):
        Entry("plan", "", 1, b"", loss, 1)
    entry = {"plan": "p", "title": "", "round": 1, "report": "00", "unchanged": 10, "changing": loss}
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps({"version": 1, "secret": "00" * 32, "entries": [entry]}))
    with pytest.raises(dn.DeniableError, match="damaged"):
        Ledger(path)


def made_ledger(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "ledger.json"
    Client(plan_of(1.0), ledger=Ledger(path)).report(ANSWER)
    return path


def test_a_copy_is_noticed(tmp_path: Path) -> None:
    path = made_ledger(tmp_path / "one")
    (tmp_path / "two").mkdir()
    with pytest.raises(CopiedLedger, match="has no marker, so it is a copy"):
        Ledger(shutil.copy(path, tmp_path / "two"))
    shutil.copytree(tmp_path / "one", tmp_path / "three")  # with the marker
    with pytest.raises(CopiedLedger, match="is a copy from another folder or device"):
        Ledger(tmp_path / "three" / "ledger.json")
    (tmp_path / "one").rename(tmp_path / "four")  # the same files
    assert len(Ledger(tmp_path / "four" / "ledger.json").entries) == 1
    taken = Ledger(tmp_path / "three" / "ledger.json", take_over=True)
    assert len(taken.entries) == 1
    assert Ledger(tmp_path / "three" / "ledger.json").entries == taken.entries


def test_an_older_state_is_noticed(tmp_path: Path) -> None:
    path = made_ledger(tmp_path)
    before = path.read_text()
    ledger = Ledger(path)
    report = Client(plan_of(2.0), ledger=ledger).report(ANSWER)
    path.write_text(before)
    with pytest.raises(CopiedLedger, match="is an older state, from a backup"):
        Ledger(path)
    with pytest.raises(CopiedLedger, match="older state"):
        Client(plan_of(2.0), ledger=ledger).report(ANSWER)
    path.unlink()
    with pytest.raises(CopiedLedger, match=r"there was a ledger .* and it is gone"):
        Ledger(path)
    path.write_text(before)
    taken = Ledger(path, take_over=True)
    assert len(taken.entries) == 1
    assert Client(plan_of(2.0), ledger=taken).report(ANSWER) == report, "the secret gives the same bytes"


def test_a_marker_that_fell_behind_in_a_crash_is_no_copy(tmp_path: Path) -> None:
    path = made_ledger(tmp_path)
    marker = tmp_path / ".ledger.json.marker"
    before = marker.read_bytes()
    Client(plan_of(2.0), ledger=Ledger(path)).report(ANSWER)
    with marker.open("r+b") as file:  # in place, as a crash leaves it
        file.write(before)
    assert len(Ledger(path).entries) == 2


def test_an_edited_ledger_is_refused(tmp_path: Path) -> None:
    path = made_ledger(tmp_path)
    path.write_text(path.read_text().replace('"unchanged": 1000000000', '"unchanged": 1'))
    with pytest.raises(dn.DeniableError, match="changed by another program"):
        Ledger(path)


def test_a_ledger_of_the_first_version_is_read_on(tmp_path: Path) -> None:
    plan, path = plan_of(1.0), tmp_path / "ledger.json"
    report = Client(plan, secret=bytes(32)).report(ANSWER).to_bytes()
    loss = plan.stated.record
    entry = {"plan": plan.id, "title": "", "round": 1, "report": report.hex()}
    entries = [entry | {"unchanged": loss, "changing": loss}]
    path.write_text(json.dumps({"version": 1, "secret": "00" * 32, "entries": entries}))
    ledger = Ledger(path)
    assert ledger.secret == bytes(32)
    assert Client(plan, ledger=ledger).report(CHANGED).to_bytes() == report
    Client(plan_of(2.0), ledger=ledger).report(ANSWER)
    assert json.loads(path.read_text())["version"] == 5
    assert len(Ledger(path).entries) == 2
    path.write_text(json.dumps({"version": 1, "secret": "00" * 32, "entries": []}))
    with pytest.raises(CopiedLedger, match="an older state, from a backup"):
        Ledger(path)
    assert Ledger(path, take_over=True).entries == ()
    with pytest.raises(dn.InvalidParameter, match="is a folder; a ledger is a file"):
        Ledger(tmp_path)


def test_a_ledger_of_the_second_version_keeps_what_it_has_counted(tmp_path: Path) -> None:
    """It had no limit over all plans: what was answered stays answered, and nothing more fits."""
    path, plans = tmp_path / "ledger.json", [titled(3.0, number) for number in range(3)]
    ledger = Ledger(path, secret=bytes(32))
    ledger.cap = math.inf
    reports = [Client(plan, ledger=ledger).report(ANSWER) for plan in plans[:2]]
    data = json.loads(path.read_text()) | {"version": 2}
    del data["cap"], data["seal"]
    path.write_text(json.dumps(data | {"seal": _seal(bytes(32), data)}))
    older = Ledger(path)
    assert older.cap == DEFAULT_CAP
    assert [Client(plan, ledger=older).report(CHANGED) for plan in plans[:2]] == reports
    with pytest.raises(AboveCap, match="with all answers before 9"):
        Client(plans[2], ledger=older)


def test_ratios_of_independent_reports_multiply() -> None:
    first, second = dn.grr(5, 1.0), dn.oue(20, 0.5)
    assert composed_ratio([first, second]) == first.ratio * second.ratio
    assert 1.5 - 1e-9 < composed_loss([first, second]) <= 1.5
    assert composed_loss([]) == 0.0
    assert composed_loss([first]) == first.loss()


def test_a_split_record_is_the_composition_of_its_parts() -> None:
    mechanism = spl([3, 5, 4], 1.0, "grr")
    assert composed_ratio(mechanism.mechanisms) == mechanism.ratio("record")


def test_two_reports_enumerated() -> None:
    """Every pair of reports of two mechanisms, from every pair of people: the largest ratio is the product of
    the two.
    """
    one, two = dn.grr(3, 0.7), dn.grr(2, 1.1)

    def chances(mechanism: dn.mechanisms.Direct, value: int) -> list[Fraction]:
        p, q = mechanism.law.exact_p, mechanism.law.exact_q
        return [p if report == value else q for report in range(mechanism.k)]

    worst = Fraction(0)
    for v, w, x, y in product(range(3), range(2), range(3), range(2)):
        for a, b in product(range(3), range(2)):
            this = chances(one, v)[a] * chances(two, w)[b]
            other = chances(one, x)[a] * chances(two, y)[b]
            worst = max(worst, this / other)
    composed = composed_ratio([one, two])
    assert worst <= composed < worst * (1 + Fraction(1, 10**15))  # the bias of `below` is counted


def test_record_mechanisms_compose_per_record_and_per_attribute() -> None:
    sampled, faked = smp([3, 5], 1.0, "oue"), rsfd([3, 5], 1.0, "oue-z")
    assert composed_ratio([sampled, faked]) == sampled.ratio() * faked.ratio()
    assert composed_ratio([sampled, faked], per="attribute") == sampled.ratio("attribute") * faked.ratio(
        "attribute"
    )
    assert composed_loss([sampled, faked], per="attribute") < composed_loss([sampled, faked]) <= 2.0


def test_repeated_reports_compose_by_their_ratio_after_t() -> None:
    kept = l_grr(4, epsilon_first=0.5, epsilon_forever=1.0)
    assert composed_loss([kept.ratio_after(5), dn.grr(3, 1.0)]) < composed_loss(
        [kept.ratio] * 5 + [dn.grr(3, 1.0)]
    )


@given(st.lists(st.fractions(min_value=1, max_value=50, max_denominator=10**6), min_size=1, max_size=12))
@settings(max_examples=30)
def test_the_composed_loss_is_rounded_up(ratios: list[Fraction]) -> None:
    loss = composed_loss(ratios)
    exact = math.prod(ratios)
    with localcontext() as context:
        context.prec = 60
        truth = (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()
        assert Decimal(loss) >= truth - Decimal(10) ** -55
        assert Decimal(loss) - truth <= Decimal(2) ** -50 * max(Decimal(1), truth)


@pytest.mark.parametrize("wrong", [1.0, "grr", Fraction(1, 2)])
def test_what_has_no_exact_ratio_is_refused(wrong: object) -> None:
    with pytest.raises(dn.InvalidParameter):
        composed_loss([wrong])  # type: ignore[list-item]


def test_plans_that_one_person_answers_add_up() -> None:
    asked = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
    once = Plan.of(asked, smp([3, 2], 1.0, "grr"), people=1000)
    faked = Plan.of(asked, rsfd([3, 2], 0.5, "grr"), people=1000)
    again = Plan.of({"color": asked["color"]}, l_grr(3, 0.5, 1.5), people=1000, rounds=5)
    assert composed_loss([once, faked]) == pytest.approx(1.5, abs=2e-9)
    assert composed_loss([once, faked], per="attribute") == pytest.approx(
        once.loss.attribute + faked.loss.attribute, abs=1e-12
    )
    assert again.loss.repeated is not None
    total = composed_loss([once, again])
    assert once.loss.record + again.loss.repeated.changing_values <= total + 1e-12
    assert total == pytest.approx(once.loss.record + again.loss.counted, abs=2e-9)
    unbounded = Plan.of({"color": asked["color"]}, dn.rounds.dbitflip(3, 1.0, bits=2), people=1000, rounds=2)
    with pytest.raises(dn.InvalidParameter, match="if answers change"):
        composed_loss([once, unbounded])


def test_a_mechanism_that_answers_an_unknown_number_of_times_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="how often a repeated mechanism answers"):
        composed_loss([l_grr(3, 0.5, 1.0)])
    with pytest.raises(dn.InvalidParameter, match="per is"):
        composed_loss([dn.grr(3, 1.0)], per="x")  # type: ignore[arg-type]
