"""Weights in the shell: what each verb shows of a population is what the library finds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import deniable as dn
from tests.running import Run

SIZES = {"region": {"north": 1.0, "south": 3.0}}
PLAN = dn.Study(
    {"region": ["north", "south"], "smoker": ["yes", "no"], "age": dn.Range(20, 80, step=20)},
    epsilon=2.0,
    known=["region"],
).plan(people=2000)


def write_files(seed: int, name: str) -> dn.Result:
    """A file of reports, with the day of each beside it, and their result."""
    generator = np.random.default_rng(seed)
    is_north = generator.random(2000) < 0.8
    people = {
        "region": np.where(is_north, "north", "south"),
        "smoker": np.where(is_north, "no", "yes"),
        "age": np.where(is_north, 30, 70),
    }
    reports = PLAN.privatize(people, dn.seeded(seed))
    PLAN.write_reports(name, reports, beside={"day": ["monday", "tuesday"] * 1000})
    return PLAN.estimate(PLAN.tally(reports))


def test_every_verb_weighs_what_it_reads(run: Run) -> None:
    PLAN.write(Path("plan.json"))
    Path("weights.csv").write_text("question,answer,size\nregion,north,1\nregion,south,3\n", encoding="utf-8")
    Path("weights.json").write_text(json.dumps(SIZES), encoding="utf-8")
    earlier, later = (write_files(seed, f"{seed}.parquet").weighted(SIZES) for seed in (1, 2))
    weights, reports = ["--weights", "weights.csv"], ["plan.json", "1.parquet"]

    about = json.loads(run("estimate", *reports, *weights, "--json").out)
    assert about["weights"] == json.loads(json.dumps(earlier.find().about()["weights"]))
    assert about["rows"] == json.loads(json.dumps(earlier.find().about()["rows"]))
    assert json.loads(run("estimate", *reports, "--weights", "weights.json", "--json").out) == about
    assert (
        "weighted to the population by region (north 25 %, south 75 %)"
        in run("estimate", *reports, *weights).out
    )

    table = json.loads(run("cross", *reports, "--of", "smoker", "--by", "region", *weights, "--json").out)
    assert table["cells"] == earlier.cross("smoker", by="region").about()["cells"]
    assert table["weighted"] == "weighted to the population by region (north 25 %, south 75 %)"

    since = ["plan.json", "2.parquet", "--change-from", "1.parquet", *weights, "--json"]
    assert json.loads(run("estimate", *since).out)["rows"] == later.change(earlier).rows()
    crossed = json.loads(run("cross", *since, "--of", "smoker", "--by", "region").out)
    assert crossed["cells"] == later.change(earlier).cross("smoker", by="region").about()["cells"]

    windows = json.loads(run("estimate", *reports, "--by", "day", *weights, "--json").out)["windows"]
    tallied = PLAN.estimate(PLAN.tally("1.parquet", by="day")).weighted(SIZES)
    assert [window["rows"] for window in windows] == [
        part.find().about()["rows"] for part in tallied.values()
    ]


def test_what_is_about_the_reports_is_refused_beside_weights(run: Run) -> None:
    PLAN.write(Path("plan.json"))
    write_files(1, "1.parquet")
    Path("weights.csv").write_text("question,answer,size\nregion,north,1\n", encoding="utf-8")
    for option in (["--mle"], ["--fakes", "0.01"], ["--smooth"]):
        ran = run("estimate", "plan.json", "1.parquet", "--weights", "weights.csv", *option)
        assert ran.code == 2
        assert "leave them out, or --weights" in ran.err
    ran = run("estimate", "plan.json", "1.parquet", "--weights", "weights.csv")
    assert ran.code == 2
    assert "the sizes of 'region' leave out 'south'" in ran.err
    linked = ["plan.json", "1.parquet", "--change-from", "1.parquet", "--people", "linked"]
    ran = run("cross", *linked, "--of", "smoker", "--by", "age", "--weights", "weights.csv")
    assert ran.code == 2
    assert "leave one of them out" in ran.err
