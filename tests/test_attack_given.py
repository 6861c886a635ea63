"""What attacks take: reports in every form in which they are kept, truths and priors as people have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable import attack
from deniable.plan import Plan, Reports
from deniable.wire import Report, Wire

TOWNS = list("abcdefghij")
PEOPLE = {"town": TOWNS * 3, "smokes": ["yes", "no", "no"] * 10}
SAMPLED = dn.Study({"town": TOWNS, "smokes": ["yes", "no"]}, epsilon=2.0, share="sample", protocol="grr").plan(people=30)
FAKED = dn.Plan.of({"town": TOWNS, "smokes": ["yes", "no"]}, dn.rsfd([10, 2], 2.0), people=30)
ONE = dn.Study({"town": TOWNS}, epsilon=3.0, protocol="oue").plan(people=30)


def sent(plan: Plan) -> list[Report]:
    """Of each of the people by a client of their own."""
    rows = [{name: PEOPLE[name][i] for name in plan.names} for i in range(30)]
    return [dn.Client(plan, secret=bytes([i]) * 32).report(row) for i, row in enumerate(rows)]


def forms(plan: Plan, folder: Path) -> list[object]:
    """The same reports in every form; the first is the one that plans make."""
    reports = sent(plan)
    made = Wire(plan).reports([report.body for report in reports])
    assert isinstance(made, Reports)
    file = folder / f"{plan.id}.parquet"
    plan.write_reports(file, [made])
    raw = [report.to_bytes() for report in reports]
    texts = [Wire(plan).to_json(report) for report in reports]
    return [made, [made], reports, tuple(reports), iter(reports), raw, list(map(bytearray, raw)), texts, file, str(file)]


# Reports.


@pytest.mark.parametrize("plan", [SAMPLED, FAKED, ONE], ids=["sampled", "among fakes", "one"])
def test_reports_are_taken_in_every_form(plan: Plan, tmp_path: Path) -> None:
    first, *others = forms(plan, tmp_path)
    expected = attack.guess(plan, first)
    for other in others:
        found = attack.guess(plan, other)
        assert found.values.tolist() == expected.values.tolist(), type(other)
        assert found.posterior.tolist() == expected.posterior.tolist(), type(other)


def test_every_attack_takes_them(tmp_path: Path) -> None:
    made, *_, raw, _, _, file, _ = forms(FAKED, tmp_path)
    expected = attack.sampled_attribute(FAKED, made).attributes.tolist()
    for other in (raw, file):
        assert attack.sampled_attribute(FAKED, other).attributes.tolist() == expected
    made, *_, raw, _, _, file, _ = forms(ONE, tmp_path)
    above = attack.reidentify([ONE, ONE], [made, made], PEOPLE).above.tolist()
    assert attack.reidentify([ONE, ONE], [raw, file], PEOPLE).above.tolist() == above
    both = attack.averaged(ONE, [made, made]).posterior.tolist()
    assert attack.averaged(ONE, [raw, file]).posterior.tolist() == both


def test_a_single_report_is_one_person() -> None:
    report = sent(ONE)[0]
    assert attack.guess(ONE, report).n == attack.guess(ONE, report.to_bytes()).n == 1


def test_reports_of_another_plan_are_refused() -> None:
    other = dn.Study({"town": TOWNS}, epsilon=1.0, protocol="oue").plan(people=30)
    for reports in (sent(other), [report.to_bytes() for report in sent(other)], [*sent(ONE), *sent(other)]):
        with pytest.raises(dn.InvalidReport, match=f"was made for plan {other.id[:16]}…, this plan is {ONE.id[:16]}…"):
            attack.guess(ONE, reports)


def test_what_are_no_reports_is_refused() -> None:
    wrong: Sequence[tuple[object, str]] = [
        ([], "there are no reports to attack"),
        (iter([]), "there are no reports to attack"),
        ([*sent(ONE), "a"], "all in one form, here as a client sends them, got str among them"),
        ([b"abc"], "a report has at least"),
        (7, "reports are what plan.privatize and plan.read_reports give, got int"),
    ]
    for reports, message in wrong:
        with pytest.raises(dn.InvalidReport, match=message):
            attack.guess(ONE, reports)
    for source in (dn.oue(10, 3.0), dn.smp([10, 2], 3.0)):
        with pytest.raises(dn.InvalidReport, match="these reports were made for a plan; attack that plan"):
            attack.guess(source, sent(ONE))
    with pytest.raises(dn.InvalidParameter, match=r"got single reports.*\[\[first\], \[second\]\]"):
        attack.averaged(ONE, sent(ONE))
    assert attack.averaged(ONE, [[report] for report in sent(ONE)[:1]]).n == 1


def test_numbers_of_a_mechanism_are_taken_as_before() -> None:
    assert attack.guess(dn.grr(3, 2.0), np.array([0, 2], dtype=np.uint8)).values.tolist() == [[0, 2]]
