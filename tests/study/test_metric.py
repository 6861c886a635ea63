"""Check that plans with ordered attributes, locations and numbers state true losses and estimate rightly."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.client import AboveCap, Client
from deniable.collect.results import as_csv, as_parquet, estimated
from deniable.design.forecast import forecast
from deniable.exact import log_up
from deniable.explain.device_limit import find_accepted, round_limit, warn_limit
from deniable.metric import Averaged, Geometric, MetricMechanism, PlanarGeometric, geometric, piecewise
from deniable.metric.means import averaged
from deniable.metric.planar import planar_noise
from deniable.plan import NANO, InvalidPlan, Stated, metric_mechanism, rest_loss
from deniable.randomness import FULL
from deniable.records import RecordMechanism, Sample, Split
from deniable.store.counting import Sums
from deniable.store.store import Arrival, open_store
from deniable.study import Plan
from deniable.study.study import Study
from deniable.wire import Wire
from spec.make import vectors
from tests.enumeration import check_ratio, law_of, records_of, sampled_law, true_ratio, worst_ratio
from tests.plan.test_plan import VALIDATOR
from tests.running import Run

PLANS = vectors.metric()
CITY: dict[str, float] = {"south": 47.6, "west": 6.8, "north": 47.7, "east": 6.95}


def square(epsilon: float) -> PlanarGeometric:
    return PlanarGeometric(planar_noise(2, 2, (3.0, 4.0), epsilon), (3.0, 4.0))


SMALL: dict[str, RecordMechanism] = {
    "split": Split((dn.grr(3, 0.8), geometric(3, 0.7), averaged("duchi", 0.6))),
    "split, locations": Split((dn.oue(2, 0.8), square(0.3), averaged("duchi", 0.6))),
    "sample": Sample((dn.grr(3, 0.8), geometric(3, 0.7), square(0.3), averaged("duchi", 0.6))),
    "two of four": Sample((dn.grr(2, 0.8), geometric(2, 0.7), square(0.3), averaged("duchi", 0.6)), 2),
    "piecewise": Split((geometric(2, 0.7), Averaged(piecewise(1.0, 4)))),
    "hybrid": Sample(
        (dn.grr(2, 0.8), Averaged(dn.metric.Hybrid(piecewise(1.0, 3), dn.metric.duchi(1.0), FULL // 3)))
    ),
}


# The guarantee.


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("per", ["record", "attribute"])
def test_the_loss_of_a_mixed_record_is_the_largest_ratio_over_all_reports(name: str, per: Any) -> None:
    mechanism = SMALL[name]
    truth = true_ratio(mechanism, per)
    check_ratio(mechanism.ratio(per), mechanism.loss(per), truth, f"{name}, {per}")
    if "piecewise" not in name and "hybrid" not in name:  # whose ratio counts the bias of `below` both ways
        assert mechanism.ratio(per) == truth


@pytest.mark.parametrize("name", SMALL)
def test_what_is_sampled_is_the_law(name: str) -> None:
    mechanism = SMALL[name]
    for record in records_of(mechanism)[:: 1 if mechanism.d == 2 else 17]:
        law = {outcome: chance for outcome, chance in law_of(mechanism, record).items() if chance}
        assert sampled_law(mechanism, record) == law


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_of_the_rest_and_per_unit_are_those_of_who_differ_so(name: str) -> None:
    mechanism = SMALL[name]
    laws = {record: law_of(mechanism, record) for record in records_of(mechanism)}
    metric = [j for j, part in enumerate(mechanism.mechanisms) if isinstance(part, MetricMechanism)]
    fixed: dict[tuple[int, ...], list[Any]] = {}
    for record, law in laws.items():
        fixed.setdefault(tuple(record[j] for j in metric), []).append(law)
    rest = max(worst_ratio(alike) for alike in fixed.values())
    assert 0 <= rest_loss(mechanism) - float(log_up(rest)) < 1e-9
    for j in metric:
        part = mechanism.mechanisms[j]
        assert isinstance(part, Geometric | PlanarGeometric)
        for record in laws:
            other = (*record[:j], (record[j] + 1) % part.k, *record[j + 1 :])
            apart = (
                abs(record[j] - other[j])
                if isinstance(part, Geometric)
                else math.dist(*places_of(part, record[j], other[j]))
            )
            lost = log_up(max(worst_ratio([laws[record], laws[other]]), Fraction(1)))
            assert lost <= part.loss_at(1) * apart * (1 + 1e-12), (
                "two values lose more than their distance allows"
            )


def places_of(part: PlanarGeometric, *cells: int) -> list[tuple[float, float]]:
    return [(cell // part.columns * part.steps[0], cell % part.columns * part.steps[1]) for cell in cells]


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_written_read_back_verified_and_fit_the_schema(name: str) -> None:
    plan = PLANS[name]
    text = plan.to_json()
    read = Plan.from_json(text)
    assert read == plan
    assert (read.to_json(), read.id, read.loss) == (text, plan.id, plan.loss)
    VALIDATOR.validate(json.loads(text))
    metric = [part for part in plan.document.parts if isinstance(part, MetricMechanism)]
    assert len(plan.loss.units) == len(metric)
    assert (plan.loss.rest is None) == (not metric)
    for one, part in zip(plan.loss.units, metric, strict=True):
        assert one.loss == part.loss_at(1 if isinstance(part, Geometric) else 1e6)
        stated = next(stated for stated in plan.stated.metric.units if stated.name == one.name)  # type: ignore[union-attr]
        assert Fraction(one.loss) * NANO <= stated.loss < Fraction(one.loss) * NANO + 1


def moved(tails: list[int], words: int) -> Geometric:
    """Some words fewer move a value at all."""
    rest = [tail - words for tail in tails[1:]]
    return Geometric(np.array([FULL - rest[0], *rest], dtype=np.uint64))


def test_a_table_is_refused_from_the_word_on_that_breaks_what_is_stated() -> None:
    """Every word that is moved changes the loss; the stated one, in billionths, stands up to the last that it
    allows.
    """
    plan = vectors.of(geometric(7, 0.5), {"age": vectors.AGES})
    tails = geometric(7, 0.5).tails.tolist()

    def broken(words: int) -> bool:
        try:
            Plan(
                replace(vectors.of(moved(tails, words), {"age": vectors.AGES}).document, claimed=plan.stated)
            ).verify()
        except InvalidPlan:
            return True
        return False

    low, high = 0, 1 << 34
    assert not broken(low)
    assert broken(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if broken(middle) else (middle, high)
    one, other = (
        Stated.of(vectors.of(moved(tails, words), {"age": vectors.AGES}).loss) for words in (low, high)
    )
    assert one != other
    changed = json.loads(plan.to_json())
    changed["mechanism"]["parts"][0]["tails"] = [str(tail) for tail in moved(tails, high).tails.tolist()]
    with pytest.raises(InvalidPlan, match="states a loss of"):
        Plan.from_json(vectors.sealed(changed))


def test_a_device_counts_the_worst_case() -> None:
    plan = PLANS["mixed, split"]
    worst = plan.loss.record
    assert worst > 3 * (plan.loss.rest or 0)
    assert Client(plan, secret=bytes(32), plan_cap=worst + 1e-6).report(vectors.METRIC_ANSWERS[0])
    with pytest.raises(AboveCap, match="this device's cap"):
        Client(plan, secret=bytes(32), plan_cap=worst - 0.01)
    ledger = dn.Ledger()
    with pytest.raises(AboveCap, match="this device's cap is 4"):
        Client(plan, ledger=ledger)
    Client(plan, ledger=ledger, cap=worst + 1e-6).report(vectors.METRIC_ANSWERS[0])
    assert ledger.lifetime().unchanged == plan.stated.record


def test_large_tables_are_verified_at_once_and_larger_ones_refused() -> None:
    import time

    line = metric_mechanism(dn.Range(0, 4096, step=1, privacy="metric", epsilon=0.05))
    plane = metric_mechanism(dn.Grid(**CITY, rows=45, columns=45, epsilon=1e-3))  # type: ignore[arg-type]
    assert line is not None
    assert plane is not None
    for asked, part in ((dn.Range(0, 4096, step=1), line), (dn.Grid(**CITY, rows=45, columns=45), plane)):  # type: ignore[arg-type]
        text = vectors.of(part, {"asked": asked}).to_json()
        start = time.process_time()
        Plan.from_json(text)
        assert time.process_time() - start < 2.5, "0.25 s on a quiet core"
    with pytest.raises(dn.InvalidParameter, match="at most 4,096 bins, got 5,000; use a larger step"):
        Study({"age": dn.Range(0, 5000, step=1, privacy="metric", epsilon=0.05)})
    with pytest.raises(
        dn.InvalidParameter, match=r"at most 2,048 cells, got 2,500; use fewer, larger cells \(fewer rows"
    ):
        Study({"home": dn.Grid(**CITY, rows=50, columns=50, epsilon=1e-3)})  # type: ignore[arg-type]


# The study.


def mixed(**changed: Any) -> Study:
    asked: dict[str, Any] = {
        "color": ["red", "green", "blue"],
        "age": dn.Range(0, 50, step=1, privacy="metric", epsilon=0.4),
        "home": dn.Grid(**CITY, rows=6, columns=8, epsilon=dn.metric.per_meter(level=1.0, radius=2000)),  # type: ignore[arg-type]
        "income": dn.Number(0, 10_000),
    }
    return Study(asked, **{"epsilon": 1.0} | changed)


def test_metric_epsilons_are_their_own_and_the_rest_shares_the_studys() -> None:
    for mechanism in ("split", "sample"):
        plan = mixed(mechanism=mechanism).plan(people=10_000)
        assert plan.loss.rest is not None
        assert 0 <= 1.0 - plan.loss.rest < 1e-8
        assert [(one.name, one.unit) for one in plan.loss.units] == [("age", "step"), ("home", "kilometer")]
        age, home = plan.loss.units
        assert 0 <= 0.4 - age.loss < 1e-9
        assert plan.stated.metric is not None
        assert plan.stated.metric.units[0].loss == 400_000_000, "what is stated is what was asked for"
        assert 0 <= 0.5 - home.loss < 1e-3
        parts = plan.document.parts
        worst = [part.loss() for part in parts]
        assert plan.loss.record == pytest.approx(sum(worst) if mechanism == "split" else max(worst), abs=1e-9)
        each = 0.5 if mechanism == "split" else 1.0
        assert [round(part.loss(), 6) for part in (parts[0], parts[3])] == [each, each]
        assert (
            0
            <= 1.0 - rest_loss(mixed(mechanism=mechanism, per="attribute").plan(100).mechanism, "attribute")
            < 1e-8
        )
    rows = mixed().plan(people=10_000).considered
    why = {row.name.partition("[")[0]: row.why_not for row in rows}
    assert why["SPL"] is None
    assert why["SMP"] is None
    assert "'age' is metric: fakes do not protect a metric value" in str(why["RS+FD"])
    assert {"SPL[grr]", "SPL[oue]", "SMP[grr]"} <= {row.name for row in rows}


def test_the_mean_is_chosen_by_its_error() -> None:
    found = {
        epsilon: Study({"income": dn.Number(0, 1)}, epsilon=epsilon, objective=dn.Objective(tolerance=0))
        .plan(100)
        .explain()
        .split("a number  ")[1]
        .split()[0]
        for epsilon in (0.2, 1.0, 3.0)
    }
    assert found == {0.2: "duchi", 1.0: "piecewise", 3.0: "piecewise"}
    named = Study({"income": dn.Number(0, 1)}, epsilon=3.0, protocol={"income": "hybrid"}).plan(100)
    assert isinstance(named.document.parts[0], Averaged)
    assert isinstance(named.document.parts[0].of, dn.metric.Hybrid)


def test_people_that_an_error_takes() -> None:
    study = Study({"color": ["red", "green"], "income": dn.Number(0, 1)}, epsilon=1.0)
    people = study.people_needed(0.01)
    assert max(study.plan(people).considered[0].standard_errors) <= 0.01
    assert max(study.plan(people - 2).considered[0].standard_errors) > 0.01


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no epsilon of a range": (
        lambda: Study({"age": dn.Range(0, 9, step=1, privacy="metric")}, epsilon=1.0),
        "'age' is metric, and needs an epsilon of its own: give epsilon, .* such as 0.1 per year",
    ),
    "no epsilon of locations": (
        lambda: Study({"home": dn.Grid(**CITY, rows=3, columns=3)}),  # type: ignore[arg-type]
        "'home' is metric, .* per meter, such as dn.metric.per_meter",
    ),
    "an epsilon of its own without distances": (
        lambda: dn.Range(0, 9, step=1, epsilon=0.1),
        "only with privacy='metric'",
    ),
    "another privacy": (lambda: dn.Range(0, 9, step=1, privacy="some"), "privacy is 'equal' or 'metric'"),  # type: ignore[arg-type]
    "nobody shares epsilon": (
        lambda: Study({"age": dn.Range(0, 9, step=1, privacy="metric", epsilon=0.1)}, epsilon=1.0),
        "leave the study's epsilon out",
    ),
    "fakes": (
        lambda: mixed(mechanism="faked"),
        "'age' is metric: fakes do not protect a metric value more than sampling",
    ),
    "no answer as a value": (
        lambda: Plan.of({"age": dn.Range(0, 5)}, dn.metric.geometric(4, 1.0), people=10, missing="value"),
        'so "no answer" cannot be one of its values',
    ),
    "a protocol for distances": (lambda: mixed(protocol={"age": "grr"}), "name no protocol for it"),
    "a protocol for a mean": (
        lambda: mixed(protocol={"income": "grr"}).plan(10),
        "has no grr, only duchi, piecewise, hybrid",
    ),
    "degrees with many decimals": (
        lambda: Study({"home": dn.Grid(47.12345678901, 6, 48, 7, 3, 3, epsilon=1e-4)}).plan(10),
        "at most 9 decimals",
    ),
    "a mechanism in meters": (
        lambda: Plan.of(
            {"home": vectors.TOWN}, dn.metric.planar_geometric(vectors.TOWN, 0.001), 10
        ).to_json(),
        "whole millimeters",
    ),
    "geometric noise on names": (
        lambda: vectors.of(geometric(2, 1.0), {"c": list("abc")}),
        "geometric noise is for a Range",
    ),
    "a number without a mean": (
        lambda: vectors.of(dn.grr(3, 1.0), {"c": dn.Number(0, 1)}),
        "is for a Number",
    ),
    "a square wave": (
        lambda: vectors.of(dn.metric.square_wave(1.0, 8), {"age": vectors.AGES}),
        "cannot hold SquareWave",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(dn.InvalidParameter, match=reason):
        make()


TOML = """
epsilon = 1.0
mechanism = "split"
[attributes]
color = ["red", "green", "blue"]
[attributes.age]
low = 0
high = 50
step = 1
privacy = "metric"
epsilon = 0.4
[attributes.home]
south = 47.6
west = 6.8
north = 47.7
east = 6.95
rows = 6
columns = 8
level = 1.0
radius = 2000
[attributes.income]
low = 0
high = 10000
mean = true
"""


def test_a_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(TOML, encoding="utf-8")
    assert Study.read(file) == replace(mixed(), mechanism="split")
    for line, reason in (
        ("level = 1.0\n", "level and radius, in meters, or epsilon, per meter"),
        ("columns = 8\n", "attributes.home has no 'columns'; a grid has"),
        ("mean = true\n", "attributes.income has no 'step'"),
        ("radius = 2000\n", "level and radius"),
    ):
        file.write_text(TOML.replace(line, ""), encoding="utf-8")
        with pytest.raises(dn.InvalidParameter, match=reason):
            Study.read(file)


# The estimates.


def people(n: int, seed: int = 1) -> pd.DataFrame:
    numbers = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "color": numbers.choice(["red", "green", "blue"], n, p=[0.6, 0.3, 0.1]),
            "age": np.clip(numbers.normal(22, 8, n), 0, 49.9),
            "home.latitude": np.clip(numbers.normal(47.65, 0.01, n), 47.6, 47.7),
            "home.longitude": np.clip(numbers.normal(6.87, 0.02, n), 6.8, 6.95),
            "income": np.clip(numbers.lognormal(7.5, 0.5, n), 0, 10_000),
        }
    )


def test_likelihood_quantiles_and_tables_of_a_result() -> None:
    plan = mixed().plan(people=10_000)
    table = people(20_000)
    tallies = plan.tally(plan.privatize(table, dn.seeded(3)))
    result = plan.estimate(tallies)
    assert list(result) == ["color", "age", "home", "income"]
    assert len(result) == 4
    likely = plan.mle(tallies, "age")
    assert likely.certified
    assert likely.labels == plan.labels["age"]
    truth = np.bincount(table["age"].astype(int), minlength=50) / 20_000
    assert np.abs(np.cumsum(likely.frequencies - truth)).max() < 0.05
    median = result.quantile("age")
    assert median.low <= np.median(table["age"]) <= median.high
    for name in ("color", "home"):
        with pytest.raises(dn.InvalidParameter, match=r"no mean and no quantiles|is a location"):
            result.mean(name)
    with pytest.raises(dn.InvalidParameter, match=r"give its mean only: use plan.estimate"):
        plan.mle(tallies, "income")
    frame = result.frame(backend="pandas", bins=True)
    mean = frame[(frame.kind == "mean") & (frame.attribute == "income")].iloc[0]
    assert (mean["value"], mean["mean"]) == ("mean", result["income"].mean)
    assert math.isnan(mean["share"])
    assert math.isnan(frame["mean"].iloc[0])
    summaries = ["mean", "mean", "quantile"]
    assert frame.kind.to_list() == ["value"] * (3 + 50 + 48) + ["group"] * (10 + 12) + summaries
    assert result.frame(backend="pandas").kind.to_list() == ["value"] * 3 + ["group"] * 22 + summaries
    assert "mean" in str(result)
    assert result.plot() is not None
    nobody = plan.tally(plan.privatize(table.iloc[:0], dn.seeded(1)))
    with pytest.raises(dn.InvalidParameter, match="no reports yet"):
        plan.estimate(nobody)
    one = plan.estimate(plan.tally(plan.privatize(table.iloc[:1], dn.seeded(1))))
    assert one.unreported["income"].labels == ("mean",)


def test_collected_tallies_are_rows_of_integers_and_rows_for_an_operator() -> None:
    plan = mixed().plan(people=10_000)
    reports = plan.privatize(people(3000), dn.seeded(3))
    tallies, sums = plan.tally(reports), Sums(plan.document)
    row = sums.count(reports.records)
    assert sums.tallies(sums.read(sums.write(row)), 1) == tallies
    assert (row + row).sum() == 2 * row.sum()
    shown = estimated(plan, tallies, None, 0.95)
    assert len(shown.rows) == 3 + 50 + 48
    assert {one.attribute: one.within for one in shown.means} == {"age": 0.5, "income": 0.0}
    grouped = [one for one in shown.groups if one.attribute == "age"]
    assert [one.value for one in grouped][::9] == ["0 to under 5", "45 to under 50"]
    assert [one.attribute for one in shown.groups[10:]] == ["home"] * 12
    ages = [row for row in shown.rows if row.attribute == "age"]
    for group, start in zip(grouped, range(0, 50, 5), strict=True):
        bins = ages[start : start + 5]
        assert group.share == pytest.approx(sum(row.share for row in bins))
        assert group.unbiased == pytest.approx(sum(row.unbiased for row in bins))
        assert group.stderr < sum(row.stderr for row in bins)  # they err against each other
        assert 0 <= group.low <= group.share <= group.high <= 1
        assert group.unbiased_low < group.unbiased < group.unbiased_high
    lines = list(csv.DictReader(as_csv(shown).decode().splitlines()))
    income, median = lines[-2:]
    assert (income["attribute"], income["kind"], income["within"]) == ("income", "mean", "0.0")
    assert income["mean"]
    assert income["share"] == ""
    assert (median["attribute"], median["kind"], median["value"]) == ("age", "quantile", "median")
    assert as_parquet(shown)


@pytest.mark.parametrize("mechanism", ["split", "sample"])
def test_a_store_counts_recounts_and_scrubs_them(mechanism: str, tmp_path: Path) -> None:
    plan = mixed(mechanism=mechanism).plan(people=10_000)
    made = plan.privatize(people(2000), dn.seeded(1))
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    store.register(plan.document)
    store.set_round(plan.id, 1)
    bodies = Wire(plan.document).bodies(made)
    arrived = [Arrival(plan.id, 1, (number.to_bytes(16),), (body,)) for number, body in enumerate(bodies)]
    assert set(store.add(arrived, 0.0)) == {"counted"}
    assert store.tallies(plan.id) == plan.tally(made)
    assert store.check() == []
    assert store.scrub(plan.id) == 2000
    assert store.check() == []
    store.close()


# Tables, files and the command line.


def test_locations_in_tables() -> None:
    plan = Plan.of({"home": vectors.TOWN}, vectors.metric_parts()[2], 10)
    pairs = [(47.6033, 6.8149), (47.609, 6.801)]
    wanted = plan.encode({"home": pairs})
    texts = [f"{latitude}, {longitude}" for latitude, longitude in pairs]
    latitudes, longitudes = zip(*pairs, strict=True)
    for table in (
        {"home": texts},
        {"home": np.array(pairs)},
        {"home.latitude": latitudes, "home.longitude": longitudes},
        pd.DataFrame({"home.latitude": latitudes, "home.longitude": longitudes}),
        [{"home": list(pair)} for pair in pairs],
    ):
        assert (plan.encode(table) == wanted).all()
    for table, reason in (
        ({"home": ["47.6"]}, "pairs of latitude and longitude in degrees, or texts such as"),
        ({"home": ["48.6, 6.81"]}, "is not in the box of 'home'"),
        ({"home": [47.6]}, "pairs of latitude"),
        ({"home": [(True, 6.81)]}, "pairs of latitude"),
        ({"home": [None]}, "is missing"),
        ({"home": [("inf", 3)]}, r"pairs of latitude and longitude in degrees, .* got \('inf', 3\)"),
        ({"home": [(math.inf, 3)]}, "infinite"),
        (
            {"home.latitude": [47.6], "age": [3]},
            r"^'home.longitude' is not a column of the table \(home.latitude, age\), .* is; a location needs "
            r"both$",
        ),
        (
            {"home.lat": [47.6], "home.lon": [6.81]},
            "two columns, .*; did you mean 'home.latitude' by 'home.lat' and 'home.longitude' by "
            "'home.lon'[?]$",
        ),
        (
            {"home.latitude": [47.6], "home.long": [6.81]},
            "needs both; did you mean 'home.longitude' by 'home.long'[?]$",
        ),
        (
            {"age": [3], " home.latitude": [47.6], " home.longitude": [6.81]},
            "^'home.latitude' is not a column of the table, but ' home.latitude' is: names of columns have "
            "spaces around them",
        ),
        (
            {"home": texts, "home.latitude": latitudes, "home.longitude": longitudes},
            "^the table has a column 'home', and also 'home.latitude' and 'home.longitude'; it must be one "
            "or the other",
        ),
        (
            {"home": texts, "home.longitude": longitudes},
            "has a column 'home', and also 'home.longitude'; it must be",
        ),
        ({"house": [1]}, "'home' is not a column"),
    ):
        with pytest.raises(dn.InvalidValue, match=reason):
            plan.encode(table)


def test_from_a_study_to_estimates_on_the_command_line(run: Run) -> None:
    Path("study.toml").write_text(TOML, encoding="utf-8")
    people(2000).to_csv("people.csv", index=False)
    planned = run("plan", "study.toml", "--people", "20_000", "-o", "plan.json", "--cite")
    assert planned.code == 0
    assert "per step of 1 in 'age'" in planned.out
    assert "per kilometer in 'home'" in planned.out
    assert "kacem2018" in planned.out
    verified = run("verify", "plan.json").out
    for words in ("loss per step       0.4", "of 'age'", "loss per kilometer", "loss of the rest    "):
        assert words in verified
    said = json.loads(run("verify", "plan.json", "--json").out)
    assert said["loss_rest"] <= 1.0 < said["loss_record"]
    assert [one["unit"] for one in said["units"]] == ["step", "kilometer"]
    assert run("verify", "plan.json", "--cap", "2").code != 0
    assert run("privatize", "plan.json", "people.csv", "-o", "reports.parquet", "--seed", "1").code == 0
    assert "income (2,000 reports)" in run("estimate", "plan.json", "reports.parquet").out
    findings = json.loads(run("estimate", "plan.json", "reports.parquet", "--json").out)
    assert "income" in [one["attribute"] for one in findings["means"]]
    assert "income" not in [row["attribute"] for row in findings["rows"]]


@pytest.mark.parametrize("two", [False, True])
def test_swapped_columns_are_one_kind_of_refused_answers(run: Run, two: bool) -> None:
    """Latitude and longitude, or age and income: as many different answers as rows, and one line for each
    column.
    """
    Path("study.toml").write_text(TOML, encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0
    lines = ["color,age,home.latitude,home.longitude,income" if two else "color,age,home,income"]
    for i in range(500):
        swapped = [f"{6.85 + i / 1e5:.5f}", f"{47.62 + i / 1e5:.5f}"]
        lines.append(
            ",".join(["red", str(5000 + i), *(swapped if two else [f'"{", ".join(swapped)}"']), "30"])
        )
    lines += ["red,3,-3,4,lots" if two else 'red,3,"-3, 4",lots', "red,-2,,,many" if two else "red,-2,,many"]
    Path("people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    outcome = run("privatize", "plan.json", "people.csv", "-o", "reports.parquet")
    heading, *kinds = outcome.err.splitlines()
    assert heading == "error: people.csv: 6 kinds of answers are refused"
    assert len(kinds) == 6
    (age,) = (line for line in kinds if "column 'age': 5000 is not a value" in line)
    assert age.endswith("(500 times, first here; also '5001', '5002', '5003' and 496 others)")
    (home,) = (line for line in kinds if "swapped?" in line)
    assert home.startswith("  line 2, column 'home': (6.85, 47.62) is not in the box of 'home'")
    assert "; are latitude and longitude swapped? (500 times, first here" in home
    assert "widen the box" not in home
    (outside,) = (line for line in kinds if "widen the box" in line)
    assert outside.startswith("  line 502, column 'home': (-3.0, 4.0) is not in the box")
    (income,) = (line for line in kinds if "income" in line)
    assert (
        income
        == "  line 502, column 'income': 'lots' is not a number, as 'income' asks for (2 times, first here; "
        "also 'many')"
    )


def test_columns_of_locations_in_a_file(run: Run) -> None:
    Path("study.toml").write_text(TOML, encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0
    for content, reason in (
        (
            'color,age,home,home.latitude,income\nred,3,"47.65, 6.9",47.6,5\n',
            "people.csv has a column 'home', and also 'home.lat",
        ),
        (
            "color;age;home;income\nred;3;47.65, 6.9;5\n",
            "cells seem to have ';' between them: name that separator (--separator)",
        ),
    ):
        Path("people.csv").write_text(content, encoding="utf-8")
        outcome = run("privatize", "plan.json", "people.csv", "-o", "reports.parquet")
        assert outcome.code != 0
        assert reason in outcome.err
        assert "did you mean" not in outcome.err
        assert not Path("reports.parquet").exists()


def test_an_open_end_is_no_position() -> None:
    """Where nobody knows where people are, no mean is claimed, and a quantile that may be there
    is infinite.
    """
    study = dn.Study({"age": dn.Range(0, 60, step=10, privacy="metric", epsilon=0.2, open_high=True)})
    plan = study.plan(people=20_000)
    ages = np.random.default_rng(1).uniform(0, 100, 20_000)
    result = plan.estimate(plan.tally(plan.privatize({"age": ages}, dn.seeded(1))))
    with pytest.raises(dn.InvalidParameter, match="open end"):
        result.mean("age")
    assert not result.has_mean("age")
    assert "mean not known, since an end of the range is open" in result.text()
    with_end = result.mean("age", ends=(0, 80))
    assert with_end.low < 0.5 * 25 + 0.5 * 80 < with_end.high
    assert result.quantile("age", 0.9).value == np.inf
    assert result.quantile("age", 0.9).stderr == np.inf
    assert 20 < result.quantile("age", 0.3).value < 40


def test_few_small_steps_are_better_asked_plainly() -> None:
    few = dn.Study({"x": dn.Range(0, 5, step=1, privacy="metric", epsilon=0.1)}).plan(100_000)
    assert "X has 4 steps of epsilon 0.1" in few.explain().replace("'x'", "X").replace("\n", " ")
    many = dn.Study({"x": dn.Range(0, 50, step=1, privacy="metric", epsilon=0.1)}).plan(100_000)
    assert "steps of epsilon" not in many.explain()
    metric, plain = (float(np.mean(m.law.error(1))) for m in (dn.metric.geometric(4, 0.1), dn.grr(5, 0.1)))
    assert plain < metric


def test_the_mean_location_is_found_as_the_refusal_says() -> None:
    home = dn.Grid(**CITY, rows=4, columns=4, epsilon=0.01)  # type: ignore[arg-type]
    plan = Study({"home": home}).plan(people=2000)
    result = plan.estimate(
        plan.tally(plan.privatize({"home": [(47.62, 6.9), (47.68, 6.9)] * 1000}, dn.seeded(1)))
    )
    with pytest.raises(
        dn.InvalidParameter, match=r"dn.summaries.mean_of\(result\['home'\], grid.centers\[:, 0\]\)"
    ) as refused:
        result.mean("home")
    assert "grid = result.domains['home']" in str(refused.value)
    grid = result.domains["home"]
    assert isinstance(grid, dn.Grid)
    truth = grid.centers[plan.encode({"home": [(47.62, 6.9), (47.68, 6.9)]})[0]].mean(axis=0)
    for coordinate in (0, 1):
        found = dn.summaries.mean_of(result["home"], grid.centers[:, coordinate])
        assert abs(found.value - truth[coordinate]) < 5 * found.stderr


def test_what_devices_refuse_is_warned_of_before_anybody_is_asked() -> None:
    """The limit that the warning names is enough, and a hundredth less is not."""
    ages = dn.Range(18, 98, step=1, privacy="metric", epsilon=0.1)
    answers = {"age": 40, "smokes": "no"}
    plan = Study({"age": ages, "smokes": ["yes", "no"]}, epsilon=3.0).plan(people=5000)
    text = warn_limit(plan.document)
    assert text is not None
    assert text in " ".join(plan.explain().split())
    assert text in forecast(plan)["warnings"]
    needed = round_limit(plan.stated.record)
    assert f"raises the limit from 4 to {needed:g}: that is what a report gives away in the worst" in text
    assert "Between the most distant values of 'age' alone it is 7.9" in text
    with pytest.raises(AboveCap):
        Client(plan, secret=bytes(32)).report(answers)
    with pytest.raises(AboveCap):
        Client(plan, secret=bytes(32), plan_cap=round(needed - 0.01, 2)).report(answers)
    Client(plan, secret=bytes(32), plan_cap=needed).report(answers)
    said = re.search(r"an epsilon of up to ([\d.]+) per unit of 'age' \(the mean to within ([\d.]+)\)", text)
    assert said is not None
    accepted = Study({"age": replace(ages, epsilon=float(said[1])), "smokes": ["yes", "no"]}, epsilon=3.0)
    margins = {(one.attribute, one.what): one.format_margin() for one in accepted.plan(5000).precisions()}
    assert margins["age", "mean"] == said[2]
    for fits in (replace(ages, epsilon=float(said[1])), replace(ages, privacy="equal", epsilon=None)):
        plan = Study({"age": fits, "smokes": ["yes", "no"]}, epsilon=3.0).plan(people=5000)
        assert warn_limit(plan.document) is None
        Client(plan, secret=bytes(32)).report(answers)


def test_ages_and_places_are_lowered_together_until_devices_accept_them() -> None:
    ages = dn.Range(18, 98, step=1, privacy="metric", epsilon=0.3)
    town = dn.Grid(47.6, 6.8, 47.7, 6.95, rows=8, columns=8, epsilon=0.002)
    study = Study({"vote": ["a", "b"], "age": ages, "home": town}, epsilon=1.0)
    plan = study.plan(people=3000)
    found = {one.attribute: one for one in find_accepted(plan.document, 4.0)}
    assert set(found) == {"age", "home"}
    assert "would be noise" in str(found["home"])
    lower = {name: replace(study.attributes[name], epsilon=one.epsilon) for name, one in found.items()}
    assert warn_limit(plan.document) is not None
    plan = Study({"vote": ["a", "b"], **lower}, epsilon=1.0).plan(people=3000)
    assert 3.5 < plan.loss.record <= 4.0, "not much lower than it must be"
    assert warn_limit(plan.document) is None
