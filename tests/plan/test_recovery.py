"""Takes fakes out of the shares of a plan on the command line, never without their model's name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.results.recovery import recover_plan
from deniable.study import Plan
from tests.running import Run

TOWNS = ["Rome", "Oslo", "Kiel", "Bern"]
FAKES, PEOPLE = 0.05, 20_000
RECOVER = ("estimate", "plan.json", "reports.parquet", "--fakes", str(FAKES), "--recover")


@pytest.fixture
def run(run: Run) -> Run:
    """With reports of which a twentieth pushes a town that a tenth of the people have."""
    plan = Plan.of({"town": TOWNS, "smokes": ["yes", "no"]}, dn.spl([4, 2], 2.0, "oue"), people=PEOPLE)
    people = np.random.default_rng(1).choice(TOWNS, PEOPLE, p=[0.1, 0.2, 0.3, 0.4])
    reports = plan.privatize({"town": people.tolist(), "smokes": ["yes"] * PEOPLE}, dn.seeded(1))
    fakes = reports.records.columns[0][: int(FAKES * PEOPLE)]
    fakes[:] = dn.oue(4, 1.0).privatize([0] * len(fakes), dn.seeded(2)) | np.uint8(1)
    plan.write("plan.json")
    plan.write_reports("reports.parquet", reports)
    return run


def test_recovered_shares_stand_beside_the_estimates(run: Run) -> None:
    found = run(*RECOVER, "pushed values", "--target", "town=Rome")
    assert found.code == 0, found.err
    assert "if 5 % of the reports are fakes of the model 'pushed values'; if they are not" in found.out
    about = json.loads(run(*RECOVER, "pushed values", "--target", "town=Rome", "--json").out)
    assert list(about["recovered"]) == ["town"], "nobody said that the other one is pushed"
    told = about["recovered"]["town"]
    assert (told["model"], told["fakes"], told["targets"]) == ("pushed values", FAKES, ["Rome"])
    shares = {row["value"]: row["share"] for row in told["rows"]}
    before = {row["value"]: row["unbiased"] for row in about["rows"] if row["attribute"] == "town"}
    assert before["Rome"] > 0.2, "the fakes have pushed it"
    assert shares["Rome"] == pytest.approx(0.1, abs=0.05)  # three standard errors
    assert list(json.loads(run(*RECOVER, "random reports", "--json").out)["recovered"]) == ["town", "smokes"]
    run(*RECOVER, "random reports", "-o", "table.csv")
    assert "recovered low" in Path("table.csv").read_text().splitlines()[0]


def test_what_cannot_be_recovered_is_refused(run: Run) -> None:
    for options, words in (
        (("estimate", "plan.json", "reports.parquet", "--recover", "pushed values"), "takes --fakes"),
        (("estimate", "plan.json", "reports.parquet", "--target", "town=Rome"), "takes --recover"),
        ((*RECOVER, "pushed values"), "'pushed values' has targets: name them"),
        ((*RECOVER, "random reports", "--target", "town=Rome"), "'random reports' has no targets"),
        ((*RECOVER, "pushed values", "--target", "town"), "such as town=Rome"),
        ((*RECOVER, "pushed values", "--target", "town=Rom"), "did you mean 'Rome'"),
        ((*RECOVER, "pushed values", "--target", "twon=Rome"), "did you mean 'town'"),
    ):
        refused = run(*options)
        assert (refused.code, refused.out) == (2, "")
        assert words in refused.err


def test_fakes_among_fake_answers_are_not_taken_out(run: Run) -> None:
    plan = Plan.of({"town": TOWNS, "smokes": ["yes", "no"]}, dn.rsfd([4, 2], 1.0, "grr"), people=PEOPLE)
    Path("plan.json").unlink()
    plan.write("plan.json")
    reports = plan.privatize({"town": ["Rome"] * 100, "smokes": ["no"] * 100}, dn.seeded(1))
    plan.write_reports("faked.parquet", reports)
    refused = run(
        *("estimate", "plan.json", "faked.parquet", "--fakes", "0.1", "--recover", "random reports")
    )
    assert "among fake answers (RS+FD)" in refused.err


def test_fakes_are_a_share_of_all_reports(run: Run) -> None:
    """Where people report one question of two, fakes that push a value all report its question."""
    plan = Plan.of({"town": TOWNS, "smokes": ["yes", "no"]}, dn.smp([4, 2], 2.0, "grr"), people=PEOPLE)
    answers = {"town": ["Oslo"] * PEOPLE, "smokes": ["yes"] * PEOPLE}
    reports = plan.privatize(answers, dn.seeded(1))
    sampled = reports.records.columns[0]
    made_up = int(FAKES * PEOPLE)  # all on one question, of which they are a tenth
    sampled[:made_up] = 0
    found = plan.estimate(plan.tally(reports))
    shares = recover_plan(plan, found, made_up / found.n, "pushed values", {"town": ["Rome"]})
    recovered = shares.recoveries["town"]
    assert recovered.fakes == pytest.approx(made_up / len(sampled))
    # five standard errors
    assert recovered.frequencies[0] == pytest.approx(0.0, abs=5 * float(found.estimates["town"].stderr[0]))
    assert found.estimates["town"].frequencies[0] > 0.1
    assert shares.columns("town", "Rome")["recovered"] == recovered.frequencies[0]
    assert shares.columns("smokes", "yes")["recovered"] is None
    with pytest.raises(dn.InvalidParameter, match="fewer than the 18,000 fakes"):
        recover_plan(plan, found, 0.9, "pushed values", {"town": ["Rome"]})
