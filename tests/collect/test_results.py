"""What a collector shows is what `deniable estimate` finds in the same reports."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.collect import results
from deniable.frames.files import csv_bytes
from deniable.ranges.variances import Variances
from tests.cases import by_night
from tests.collector import HTTP, TOKEN, Running, collecting, post_people
from tests.running import Run

N = 400
PLAN = dn.Study(
    {
        "smokes": ["yes", "no"],
        "age": dn.Range(0, 100, step=1, privacy="metric", epsilon=0.5),
        "home": dn.Grid(
            47.60, 6.80, 47.70, 6.95, rows=8, columns=10, epsilon=dn.metric.per_meter(level=1.0, radius=1000)
        ),
        "income": dn.Number(0, 10_000),
        "hours": dn.Range(0, 48, step=2),  # without distances, and with a mean and groups all the same
        "height": dn.Range(100, 200, step=10, open_low=True),  # nobody knows where its lowest are: no mean
    },
    epsilon=3.0,
    mechanism="split",
    title="Town",
).plan(people=1000)
ANSWERS: dict[str, list[Any]] = {
    "smokes": ["yes", "no"] * (N // 2),
    "age": [20 + i % 60 for i in range(N)],
    "home": [(47.64, 6.86), (47.66, 6.9)] * (N // 2),
    "income": [100.0 * (i % 60) for i in range(N)],
    "hours": [i % 40 for i in range(N)],
    "height": [150 + i % 40 for i in range(N)],
}
BESIDE = {"level", "plan", "round"}  # what every row of the command says, and an answer of the collector once


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(tmp_path_factory.mktemp("results"), [PLAN], "--minimum", "50") as running:
        post_people(running, PLAN, ANSWERS)
        yield running


@pytest.fixture
def asked(run: Run, collector: Running, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`deniable estimate` of the reports that the collector has, by a file of them."""
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    PLAN.write(Path("plan.json"))
    Path("r.parquet").write_bytes(collector.get(f"/plans/{PLAN.id}/reports", round=1).content)
    return run


@by_night(("level", "smooth"), [(0.95, True), (0.8, False)], (0.95, True))
def test_the_collector_says_what_the_command_says(
    asked: Run, collector: Running, level: float, smooth: bool
) -> None:
    wanted = {"smooth": "true"} if smooth else {}
    shown = collector.get(f"/plans/{PLAN.id}/estimates", level=level, **wanted).json()
    options = ["--level", str(level), *(["--smooth"] if smooth else [])]
    methods = {row["attribute"]: row["method"] for row in (*shown["rows"], *shown["groups"])}
    assert [name for name in methods if methods[name] == "smoothed"] == (["age", "home"] if smooth else [])
    assert shown["smoothable"] == ["age", "home"]
    assert (shown["smooth"], set(shown["refused"])) == (smooth, {"hours", "height"} if smooth else set())
    from_file = json.loads(asked("estimate", "plan.json", "r.parquet", *options, "--json").out)
    from_collector = json.loads(
        asked("estimate", "plan.json", "--from", collector.url, *options, "--json").out
    )
    for told in (from_file, from_collector):
        for kind in ("rows", "means", "groups", "quantiles", "noise"):
            said = [{name: cell for name, cell in row.items() if name not in BESIDE} for row in told[kind]]
            assert [
                {name: cell for name, cell in row.items() if name != "low_together"} for row in shown[kind]
            ] == [{name: cell for name, cell in row.items() if name != "smoothed"} for row in said]
        for name in ("plan", "n", "level"):
            assert shown[name] == told[name]
    assert {one["attribute"]: (one["within"], one["n"]) for one in shown["means"]} == {
        "age": (0.5, N),
        "hours": (1.0, N),
        "income": (0.0, N),
    }
    assert {row["attribute"] for row in shown["rows"]} == set(PLAN.names) - {"income"}, (
        "a number is a mean only"
    )
    assert {row["attribute"] for row in shown["groups"]} == {"age", "hours", "home"}


def test_one_store_says_the_same_everywhere(asked: Run, collector: Running) -> None:
    """The shell, the dashboard's answer, the notebook and a file, from the reports of one store."""
    options = ["estimate", "plan.json", "--from", collector.url]
    assert asked(*options, "-o", "e.csv", "-o", "e.json").code == 0
    shell = json.loads(asked(*options, "--json").out)
    assert json.loads(Path("e.json").read_text(encoding="utf-8")) == shell
    dashboard = collector.get(f"/plans/{PLAN.id}/estimates").json()
    frame = PLAN.estimate(PLAN.tally(PLAN.read_reports(Path("r.parquet")))).frame(backend="pandas", bins=True)
    with Path("e.csv").open(encoding="utf-8") as lines:
        file = list(csv.DictReader(lines))
    ends = ("low", "high")
    for kind, name, numbers in (
        ("rows", "value", ("share", *ends, "unbiased", "unbiased_low", "unbiased_high")),
        ("groups", "group", ("share", *ends, "unbiased", "unbiased_low", "unbiased_high")),
        ("means", "mean", ("mean", *ends, "unbiased")),
        ("quantiles", "quantile", ("quantile", *ends)),
    ):
        told = frame[frame.kind == name]
        written = [row for row in file if row["kind"] == name]
        assert len(shell[kind]) == len(dashboard[kind]) == len(told) == len(written) > 0
        for number in numbers:
            wanted = [row[number] for row in shell[kind]]
            assert [row[number] for row in dashboard[kind]] == wanted
            known = [(i, one) for i, one in enumerate(wanted) if one is not None]
            assert known
            assert [told[number].iloc[i] for i, _ in known] == [one for _, one in known]
            assert [float(written[i][number]) for i, _ in known] == [one for _, one in known]
    text = asked(*options).out
    assert "too noisy to read" in text
    health = collector.get(f"/plans/{PLAN.id}/health", round=1).json()
    stored = asked("estimate", "plan.json", "--from", f"sqlite:///{collector.folder}/reports.db", "--json")
    told_by = (shell, json.loads(stored.out), json.loads(asked(*options[:2], "r.parquet", "--json").out))
    for told in told_by:  # the last two without bursts, of which nothing is known yet
        assert told["health"] == {name: health[name] for name in told["health"]}
    assert f"Health of the reports: {health['summary']}" in text
    assert dashboard["noise"] == shell["noise"] != []


def test_everybody_reads_the_codebook(collector: Running) -> None:
    address = f"{collector.url}/plans/{PLAN.id}/codebook"
    assert HTTP.get(address).json() == PLAN.codebook().about()
    assert HTTP.get(address, params={"format": "csv"}).content == csv_bytes(PLAN.codebook().rows)


def test_so_do_its_files(asked: Run, collector: Running) -> None:
    options = ["--from", collector.url, "-o", "e.csv"]
    assert asked("estimate", "plan.json", *options).code == 0
    wanted = list(csv.reader(Path("e.csv").read_text(encoding="utf-8").splitlines()))
    answer = collector.get(f"/plans/{PLAN.id}/estimates", format="csv")
    found = list(csv.reader(answer.text.splitlines()))
    at = found[0].index("low_together")  # the only column that the command does not have
    assert [line[:at] + line[at + 1 :] for line in found] == wanted
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [(row["attribute"], row["within"]) for row in rows if row["kind"] == "mean"] == [
        ("age", "0.5"),
        ("hours", "1.0"),
        ("income", "0.0"),
    ]
    assert all(bool(row["share"]) == (row["kind"] in ("value", "group")) for row in rows)


@pytest.mark.parametrize("smooth", ["false", "true"])
def test_snapshots_have_means_and_no_maps(collector: Running, smooth: str) -> None:
    (*_, shown) = collector.get(f"/plans/{PLAN.id}/history", round=1, smooth=smooth).json()["snapshots"]
    now = collector.get(f"/plans/{PLAN.id}/estimates", round=1, smooth=smooth).json()
    lists = ("rows", "groups", "noise")
    assert shown == now | {kind: [row for row in now[kind] if row["attribute"] != "home"] for kind in lists}


def test_snapshots_of_levels_say_the_same_without_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 people and 4,096 values: errors are computed for groups, and for no curve of all values."""
    study = {"income": dn.Range(0, 4096, step=1, queries="ranges"), "smokes": ["yes", "no"]}
    plan = dn.Study(study, epsilon=1.0).plan(people=1000)
    answers = {"income": [4 * i for i in range(1000)], "smokes": ["yes", "no"] * 500}
    tallies = plan.tally(plan.privatize(answers, dn.seeded(1)))
    sums: list[int] = []
    vary = Variances._vary

    def count(self: Variances, firsts: Integers, lasts: Integers, ties: Floats | int) -> Floats:
        sums.append(len(firsts))
        return vary(self, firsts, lasts, ties)

    monkeypatch.setattr(Variances, "_vary", count)
    now = results.estimated(plan, tallies, 1, 0.95)
    assert sum(sums) > 4096, "the median of so few people takes all values"
    sums.clear()
    shown = results.estimated(plan, tallies, 1, 0.95, include_slow=False)
    assert 0 < sum(sums) < 100
    assert [len(found.groups) > 1 and len(found.means) for found in (now, shown)] == [1, 1]
    medians = [one for one in now.noise if one.what == "median"]
    assert [one.attribute for one in medians] == [one.attribute for one in now.quantiles] == ["income"]
    noise = [one for one in now.noise if one not in medians]
    assert shown == msgspec.structs.replace(now, quantiles=[], noise=noise)


def test_the_description_says_what_a_mean_has(collector: Running) -> None:
    schemas = HTTP.get(f"{collector.url}/openapi.json").json()["components"]["schemas"]
    shown = ["attribute", "mean", "low", "high", "within", "noisy"]
    unbiased = ["unbiased", "stderr", "unbiased_low", "unbiased_high"]
    assert schemas["Mean"]["required"] == [*shown, *unbiased, "n", "moved_from"]
    assert schemas["Row"]["properties"]["share"]["type"] == "number"
    assert "mean" not in schemas["Row"]["properties"]


def test_what_was_found_is_kept_by_the_tallies() -> None:
    """A page asks every few seconds; other numbers are other results."""
    drawn = [PLAN.tally(PLAN.privatize(ANSWERS, dn.seeded(seed))) for seed in (1, 1, 2)]
    first, again, other = (results.estimated(PLAN, tallies, 1, 0.95) for tallies in drawn)
    assert again is first
    assert other != first
    assert results.estimated(PLAN, drawn[0], 1, 0.9) != first
    assert results.estimated(PLAN, drawn[0], 2, 0.95).round == 2
