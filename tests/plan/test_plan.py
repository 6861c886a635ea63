"""Studies and plans: what is written is read back, what was tampered with is refused, what is
stated is true."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import deniable as dn
from deniable.commands.init import EXAMPLE
from deniable.domain import Range
from deniable.errors import FileMissing, InvalidParameter, InvalidReport, InvalidValue
from deniable.estimate import Estimate
from deniable.explain.device_limit import warn_limit, warn_together
from deniable.mechanisms import Mechanism
from deniable.messages import LANGUAGES, read_messages
from deniable.plan import NANO, InvalidPlan, Loss, canonical
from deniable.plan.document import PlanDocument
from deniable.plan.losses import MOST_LITTLE, MOST_WELL, Protection, rate_loss
from deniable.randomness import FULL
from deniable.randomness.simulated import remembering, seeded
from deniable.records import Blank, Faked, Guessed, Imitated, Prior, RecordMechanism, Records, Sample, Split
from deniable.records import named as many
from deniable.reports import Reports, Tallies
from deniable.results.findings import Findings
from deniable.rounds import Memoized
from deniable.rounds import named as again
from deniable.study import Plan
from deniable.study.study import Study
from spec.make import vectors
from spec.make.chains import plan_chain
from tests.cases import check_each, names

ASKED: dict[str, object] = {"color": ["red", "green", "blue"], "age": Range(0, 50, step=10)}
KS = [3, 5]
MECHANISMS: dict[str, RecordMechanism | Mechanism] = {
    "split": many.spl(KS, 1.0),
    "sample": many.smp(KS, 1.0),
    "sample of two": many.smp(KS, 1.0, "grr", attributes=2),
    "direct": Split((dn.grr(3, 0.5), dn.grr(5, 0.5))),
    "unary": Sample((dn.oue(3, 1.0), dn.sue(5, 1.0))),
    "subset": Split((dn.ss(3, 0.5), dn.ss(5, 0.5))),
    "subset, sampled": Sample((dn.ss(3, 0.5), dn.ss(5, 0.5, size=2))),
    "hashed": Sample((dn.olh(3, 1.0), dn.mechanisms.blh(5, 1.0))),
    "hashed, split": Split((dn.olh(3, 1.0), dn.mechanisms.lh(5, 1.0, 300))),
    "hadamard": Sample((dn.hr(3, 1.0), dn.hr(5, 1.0))),
    "mixed": Sample((dn.mechanisms.ue(3, 1.0, 0.6), dn.ss(5, 1.0))),
    "guessed": many.rsfd(KS, 1.0, "grr"),
    "blank": many.rsfd(KS, 1.0, "oue-z"),
    "imitated": many.rsfd(KS, 1.0, "sue-r", calibration="attribute"),
    "published": many.rsfd(KS, 1.0, "adaptive", calibration="published"),
    "priors": many.rsrfd(KS, 1.0, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.2, 0.2]]),
    "priors of bits": many.rsrfd(KS, 1.0, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.2, 0.2]], "oue-r"),
    "published priors": many.rsrfd(KS, 1.0, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.2, 0.2]], fakes="published"),
    "blank sets": many.rsfd(KS, 1.0, "ss"),
    "blank hashes": many.rsfd(KS, 1.0, "olh", calibration="attribute"),
    "blank columns and buckets": Faked((Blank(dn.hr(3, 1.0)), Blank(dn.mechanisms.plh(5, 1.0)))),
    "priors of sets": many.rsrfd(KS, 1.0, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.2, 0.2]], "ss"),
    "priors of columns": many.rsrfd(KS, 1.0, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.2, 0.2]], "hr"),
    "blank hashes that are kept": again.l_rsfd(KS, 1.0, 2.0, "loloha"),
    "blank bits that are kept": again.l_rsfd(KS, 1.0, 1.0, "dbitflip", bits=2),
    "two rounds": Sample((again.l_grr(3, 0.5, 1.0), again.l_osue(5, 0.5, 1.0))),
    "two rounds of all": Split((again.l_sue(3, 0.5, 1.0), again.l_soue(5, 0.5, 1.0))),
    "loloha": Sample((again.loloha(3, 0.5, 1.0), again.loloha(5, 0.5, 1.0, g=2))),
    "bit flips": Sample((again.dbitflip(3, 1.0, 2), again.dbitflip(5, 1.0, 1))),
    "everyone, and one of two": Split((dn.oue(3, 0.5), Sample((dn.ss(5, 1.0), dn.grr(2, 1.0))))),
    "everyone, and fakes": Split((dn.grr(3, 0.5), many.rsrfd([5, 2], 1.0, [[5, 4, 3, 2, 1], [3, 1]]))),
    "two rounds, one of two": Split(
        (again.l_sue(3, 0.5, 1.0), Sample((again.l_grr(5, 0.5, 1.0), again.l_osue(2, 0.7, 1.0))))
    ),
    "alone": dn.oue(3, 1.0),
    "alone, again": again.l_grr(3, 0.5, 1.0),
}


def made(name: str, **options: Any) -> Plan:
    mechanism = MECHANISMS[name]
    parts = mechanism.mechanisms if isinstance(mechanism, RecordMechanism) else (mechanism,)
    rounds = 5 if parts[0].repeated else None
    asked = dict(list((ASKED | {"smokes": ["yes", "no"]}).items())[: len(parts)])
    return Plan.of(asked, mechanism, people=1000, rounds=rounds, **options)


def answers(n: int, seed: int = 1) -> dict[str, Any]:
    numbers = np.random.default_rng(seed)
    colors = numbers.choice(["red", "green", "blue"], n, p=[0.6, 0.3, 0.1])
    ages = numbers.choice(50, n, p=np.arange(50, 0, -1) / 1275)
    return {"color": colors, "age": ages, "smokes": numbers.choice(["yes", "no"], n, p=[0.2, 0.8])}


def privatized(plan: Plan, table: object, seed: int = 2) -> Reports:
    reports = plan.privatize(table, remembering(seed, seeded(seed)) if plan.document.rounds else seeded(seed))
    return replace(reports, round=1)


# what is written is read back


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_written_and_read_back(name: str, tmp_path: Path) -> None:
    plan = made(name, title="Été", missing="random")
    text = plan.to_json()
    read = Plan.from_json(text)
    assert read == plan
    assert read.id == plan.id
    assert read.to_json() == text
    assert plan.verify() == read.loss == plan.loss
    assert Plan.read(plan.write(tmp_path / "plan.json")) == plan
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]
    assert not re.search(r"\d\.\d|[eE][+-]?\d+[,}\]]", re.sub(r'"[^"]*"', '""', text))


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_stated_is_the_loss_rounded_up(name: str) -> None:
    plan = made(name)
    mechanism = plan.mechanism
    record, attribute = mechanism.loss("record"), mechanism.loss("attribute")
    if len(mechanism.mechanisms) == 1:
        assert record == attribute == mechanism.mechanisms[0].loss()
    assert (plan.loss.record, plan.loss.attribute) == (record, attribute)
    for stated, loss in ((plan.stated.record, record), (plan.stated.attribute, attribute)):
        assert Fraction(loss) * NANO <= stated < Fraction(loss) * NANO + 1


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_plan_fits_the_schema(name: str) -> None:
    VALIDATOR.validate(json.loads(made(name).to_json()))


def test_a_plan_with_texts_fits_the_schema() -> None:
    asked = {"color": ["red", "green", "blue"]}
    texts = dn.Texts(
        introduction={"en": "One question.", "de": "Eine Frage."},
        privacy_notice="https://example.org",
        questions={"color": "Which?"},
        help={"color": "Any."},
        labels={"color": {"de": ["rot", "grün", "blau"]}},
    )
    data = json.loads(Plan.of(asked, dn.grr(3, 1.0), 100, texts=texts).to_json())
    VALIDATOR.validate(data)
    assert not VALIDATOR.is_valid({**data, "texts": {**data["texts"], "slogan": {"en": "a"}}})


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_of_a_plan_are_those_of_its_mechanism_and_estimate_the_truth(name: str) -> None:
    plan = made(name)
    table = answers(30_000)
    reports = privatized(plan, table)
    assert len(reports) == 30_000
    tallies = plan.tally(reports)
    codes = plan.encode(table)
    mechanism, words = plan.mechanism, remembering(2, seeded(2)) if plan.document.rounds else seeded(2)
    assert tuple(tallies.tallies.values()) == mechanism.tally(mechanism.privatize(codes.T, words))
    result = plan.estimate(tallies)
    assert list(result) == list(plan.names)
    for attribute, estimate, values in zip(plan.document.attributes, result.values(), codes, strict=True):
        low, high = estimate.interval(1 - 1e-7)
        truth = np.bincount(values, minlength=attribute.domain.k) / 30_000
        assert ((low <= truth) & (truth <= high)).all()
        assert estimate.labels == attribute.domain.labels


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_survive_a_file(name: str, tmp_path: Path) -> None:
    plan = made(name)
    blocks = [privatized(plan, answers(n, n), n) for n in (700, 1, 0, 300)]
    path = tmp_path / "reports.parquet"
    assert plan.write_reports(path, iter(blocks)) == 1001
    assert [file.name for file in tmp_path.iterdir()] == ["reports.parquet"]
    expected, found = (sum_of(plan, some) for some in (iter(blocks), plan.read_reports(path)))
    assert found == expected
    assert found.n == 1001
    table = parquet.read_table(path)
    assert table.num_rows == 1001
    assert list(dict.fromkeys(name.split(".")[0] for name in table.column_names)) == [
        *plan.names,
        *(["round"] if plan.document.rounds else []),
    ]


def sum_of(plan: Plan, blocks: Any) -> Tallies:
    total = None
    for block in blocks:
        counted = plan.tally(block)
        total = counted if total is None else total + counted
    assert total is not None
    return total


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_plan_explains_and_cites_itself(name: str) -> None:
    plan = made(name)
    text = plan.explain()
    assert plan.id[:12] in text
    for part in ("best guess", "known to within", "gives away", "color"):
        assert part in text
    assert f"{plan.stated.record // NANO}.{plan.stated.record % NANO:09d}" in text
    page = (Path(__file__).parents[2] / "docs" / "references.md").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),", plan.cite(), re.MULTILINE)
    assert keys
    assert plan.cite().count("{") == plan.cite().count("}")
    missing = [key for key in keys if f"**{key}**" not in page]
    assert not missing


FIXED = Plan.of(
    {"color": ["red", "green", "blue"], "age": Range(0, 1, step=0.25, open_high=True), "où": ["oui", "non"]},
    Faked(
        (
            Guessed(dn.mechanisms.Direct(3, 10627480729818066791), Prior.uniform(3)),
            Blank(dn.mechanisms.Unary(4, 1 << 63, 4960993180211478117)),
            Imitated(dn.mechanisms.Direct(2, 13485562297389164271), Prior((1 << 62, FULL - (1 << 62)))),
        )
    ),
    people=12345,
    title="fixed",
)


def test_the_canonical_bytes_of_a_fixed_plan_never_change() -> None:
    text = FIXED.to_json()
    assert text.startswith(
        '{"attributes":[{"domain":{"kind":"categories","labels":["red","green","blue"]},"name":"color"},'
    )
    assert '"prior":["4611686018427387904","13835058055282163712"]' in text
    assert '{"bins":4,"digits":2,"kind":"range","low":0,"open_high":true,"open_low":false,"step":25}' in text
    assert "où" in text
    assert FIXED.id == "13cea8f65662c0403ab002d110339998cb30e87b6315e433ee7aaab666f655d4"


def test_the_id_is_the_hash_of_the_document_without_it() -> None:
    data = json.loads(FIXED.to_json())
    said = data.pop("id")
    body = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert hashlib.sha256(body).hexdigest() == said


# what was tampered with is refused


def forged(change: Callable[[dict[str, Any]], object], plan: Plan = FIXED) -> str:
    """A document that was changed by somebody who knows how to compute the id."""
    data = json.loads(plan.to_json())
    change(data)
    data.pop("id", None)
    data["id"] = hashlib.sha256(canonical(data)).hexdigest()
    return canonical(data).decode()


def setting(*path: str | int, to: object) -> Callable[[dict[str, Any]], object]:
    return lambda data: reach(data, path[:-1]).__setitem__(path[-1], to)


def removing(*path: str | int) -> Callable[[dict[str, Any]], object]:
    return lambda data: reach(data, path[:-1]).__delitem__(path[-1])


def reach(data: Any, path: Sequence[str | int]) -> Any:
    return reach(data[path[0]], path[1:]) if path else data


FAKE, PART = ("mechanism", "fakes", 0), ("mechanism", "fakes", 0, "part")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            setting("version", to=1),
            "version 1, and this program reads version 2: make it again with `deniable plan`",
        ),
        (
            setting("version", to=3),
            "version 3, and this program reads version 2: a newer program wrote it, so upgrade this one",
        ),
        (setting("version", to="3"), "version '3'.*make it again"),
        (setting("titel", to=""), "did you mean 'title'"),
        (removing("title"), "no field 'title'"),
        (
            setting("losses", "record", to=999_999_998),
            r"states a loss of 0.999999998 \(record\), but its thresholds lose 1\.0000",
        ),
        (setting("losses", "attribute", to=1), r"states a loss of 0.000000001 \(attribute\)"),
        (setting("losses", "repeated", to={}), "no field 'one_report'"),
        (setting(*PART, "keep", to="18000000000000000000"), "but its thresholds lose"),
        (setting(*PART, "k", to=4), r"a prior|has 3 values"),
        (setting(*PART, "kind", to="hashed"), "'hashed' is not a mechanism that can be here"),
        (setting(*FAKE, "prior", to=[str(FULL // 2)] * 2), "a prior has 2 weights"),
        (removing("attributes", 2), "2 attributes, but mechanisms for more"),
        (setting("attributes", 0, "domain", "labels", to=["red", "green"]), "has 2 values, its mechanism 3"),
        (setting("attributes", 0, "domain", "labels", to=["red", "red", "blue"]), "'red' occurs twice"),
        (setting("attributes", 1, "domain", "bins", to=10**12), "at most 1,048,576 values"),
        (setting("missing", to="drop"), "'drop' is not a policy"),
        (setting("missing", to="value"), "has 4 values, its mechanism 3"),
        (setting(*PART, "keep", to="010627480729818066791"), "decimal digits"),
        (setting(*PART, "keep", to=10627480729818066791), "integers below"),
        (setting(*FAKE, "prior", to=["1", "2", "3"]), "sum to 2\\^64"),
        (setting("attributes", 0, "domain", "labels", to=["red", 1, "blue"]), "a label must be text"),
        (setting("attributes", 1, "domain", "open_low", to=0), "true or false"),
        (lambda data: data["attributes"][1]["domain"].update(step=250, digits=3), "canonical"),
        (setting("title", to="a\u0000b"), "control characters"),
        (setting("rounds", to=5), "these mechanisms answer once"),
    ],
)
def test_a_forged_plan_is_refused_with_its_reason(
    change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    with pytest.raises(InvalidPlan, match=reason):
        Plan.from_json(forged(change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (setting("rounds", to=None), "rounds, the number of collections"),
        (setting("rounds", to=10**9), "rounds, the number of collections"),
        (setting("losses", "repeated", to=None), "if, and only if, it asks again"),
        (setting("losses", "repeated", "one_value_forever", to=999_999_990), "one value forever"),
        (setting("losses", "repeated", "same_value", to=1), "same value"),
        (setting("losses", "repeated", "changing_values", to=1), "changing values"),
        (
            setting("mechanism", "parts", 0, "first", "keep", to="18000000000000000000"),
            "but its thresholds lose",
        ),
        (
            setting("mechanism", "parts", 0, "first", "kind", to="hadamard"),
            "'hadamard' is not a mechanism that can be here",
        ),
        (setting("mechanism", "reported", to=3), "reported, the number of attributes"),
        (setting("mechanism", "reported", to=2), "but its thresholds lose"),
        (setting("mechanism", "reported", to=0), "reported, the number of attributes"),
    ],
)
def test_a_forged_plan_that_asks_again_is_refused(
    change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    plan = made("two rounds")
    assert Plan.from_json(forged(setting("version", to=2), plan)) == plan
    with pytest.raises(InvalidPlan, match=reason):
        Plan.from_json(forged(change, plan))


def test_no_bound_is_stated_as_none_and_cannot_be_claimed() -> None:
    plan = made("bit flips")
    assert json.loads(plan.to_json())["losses"]["repeated"]["changing_values"] is None
    with pytest.raises(InvalidPlan, match="its thresholds have no bound"):
        Plan.from_json(forged(setting("losses", "repeated", "changing_values", to=10**15), plan))


def test_a_plan_may_state_more_than_it_loses() -> None:
    plan = Plan.from_json(forged(setting("losses", "record", to=2 * NANO)))
    assert plan.stated.record == 2 * NANO
    assert plan.loss == FIXED.loss
    assert plan.id != FIXED.id


def test_hostile_plans_are_refused() -> None:
    def check(case: vectors.Case) -> None:
        with pytest.raises(InvalidPlan) as refusal:
            Plan.from_json(case["plan"])
        assert refusal.value.reason == case["refused"]

    check_each(check, vectors.hostile("plans", "plan"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a plan"),
        ("[]", "JSON object"),
        ('{"version":2,"title":"\\ud800"}', "cannot be written"),
        ("null", "JSON object"),
        ("{", "not a plan"),
        (b"\xff\xfe{", "not a plan"),
        ("[" * 100_000, "not a plan"),
        ('{"version":2,"version":1}', "this plan has version 1"),
        ('{"version":1.0}', "this plan has version 1"),
        ('{"version":1.5}', "only, got 1.5"),
        ('{"version":NaN}', "NaN is not JSON"),
        ('{"version":-Infinity}', "-Infinity is not JSON"),
        ('{"version":' + "1" * 5000 + "}", "integers below 2"),
    ],
)
def test_what_is_no_plan_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(InvalidPlan, match=reason):
        Plan.from_json(text)


def test_a_reformatted_plan_is_refused_and_a_last_newline_is_not() -> None:
    text = FIXED.to_json()
    assert Plan.from_json(text + "\r\n") == FIXED
    for other in (
        json.dumps(json.loads(text)),
        text.replace("où", "o\\u00f9"),
        text.replace('"low":0', '"low":-0'),
    ):
        with pytest.raises(InvalidPlan, match="canonical form"):
            Plan.from_json(other)


@given(st.data())
@settings(max_examples=150)
def test_no_change_of_one_character_goes_unnoticed(data: st.DataObject) -> None:
    text = FIXED.to_json()
    position = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from('0123456789abcdef"{}[],:. -eE\\'))
    if text[position] != other:
        with pytest.raises(InvalidPlan):
            Plan.from_json(text[:position] + other + text[position + 1 :])


# what does not fit cannot be made


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Plan.of({"a": ["x", "y"]}, dn.grr(3, 1.0), 10), "has 2 values, its mechanism 3"),
        (lambda: Plan.of({"a": ["x", "y"]}, many.spl([2, 2], 1.0), 10), "1 attributes, but mechanisms for 2"),
        (lambda: Plan.of({"a": ["x", "y"]}, again.l_grr(2, 0.5, 1.0), 10), "rounds"),
        (lambda: Plan.of({"a": ["x", "y"]}, dn.grr(2, 1.0), 10, rounds=3), "answer once"),
        (lambda: Plan.of({"a": ["x", "y"]}, dn.grr(2, 1.0), 0), "people"),
        (lambda: Plan.of({"a": ["x", "no answer"]}, dn.grr(3, 1.0), 5, missing="value"), "already"),
    ],
)
def test_what_does_not_fit_cannot_be_made(make: Callable[[], Plan], reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        make()


def test_a_nested_plan_says_who_reports_what() -> None:
    text = " ".join(made("everyone, and one of two").explain().split())
    assert "Each person reports 'color', and one of 'age' and 'smokes', drawn at random and named" in text
    text = " ".join(made("everyone, and fakes").explain().split())
    assert "'color', and one of 'age' and 'smokes', drawn at random and not named, among fakes" in text
    assert "arcolezi2023" in made("everyone, and fakes").cite()
    assert "arcolezi2023," not in made("everyone, and one of two").cite()
    many_names = Split((dn.grr(2, 1.0), many.smp([2] * 9, 1.0))).explain([f"q{j}" for j in range(10)])
    assert many_names.startswith(
        "Each person reports 'q0', and one of 'q1', 'q2', 'q3', 'q4', 'q5', 'q6' and 3 more"
    )


def test_what_many_nested_reports_give_away_is_the_sum_over_parts_of_the_worst_in_each() -> None:
    plan = made("two rounds, one of two")
    each = [part.losses(5, 5) for part in plan.document.parts]
    assert plan.loss.repeated is not None
    for figure in ("one_report", "same_value", "one_value_forever", "changing_values"):
        first, *others = (getattr(losses, figure) for losses in each)
        assert getattr(plan.loss.repeated, figure) == pytest.approx(first + max(others), abs=1e-12)


def test_the_rest_of_a_nested_plan_is_what_its_other_attributes_lose() -> None:
    ages = Range(0, 5, step=1)
    asked = {"age": ages, "a": ["x", "y"], "old": ages, "b": ["x", "y", "z"]}
    inside = Sample((dn.grr(2, 0.5), dn.metric.geometric(4, 0.9), dn.grr(3, 0.7)), 2)
    plan = Plan.of(asked, Split((dn.metric.geometric(4, 0.3), inside)), 100)
    assert plan.loss.rest == pytest.approx(1.2, abs=1e-9)
    assert [one.name for one in plan.loss.units] == ["age", "old"]
    fakes = Plan.of(
        {"age": ages, "a": ["x", "y"], "b": ["x", "y"]},
        Split((dn.metric.geometric(4, 0.3), many.rsfd([2, 2], 1.0))),
        9,
    )
    assert fakes.loss.rest == many.rsfd([2, 2], 1.0).loss()


def test_a_plan_refuses_what_is_no_mechanism() -> None:
    with pytest.raises(
        InvalidParameter, match="a mechanism with an exact loss, or by a record mechanism, got float"
    ):
        Plan.of({"a": ["x", "y"]}, 1.0, 10)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"'she' is not a protocol .*_papers\.mechanisms\.she$"):
        Study({"a": ["x", "y"]}, epsilon=1.0, protocol="she").plan(10)


# losses of many reports


def test_repeated_losses_add_up_over_what_a_person_reports() -> None:
    first, second = again.l_grr(3, 0.5, 1.0), again.l_osue(5, 0.25, 0.75)
    split = Plan.of(ASKED, Split((first, second)), 100, rounds=4).loss.repeated
    sample = Plan.of(ASKED, Sample((first, second)), 100, rounds=4).loss.repeated
    assert split is not None
    assert sample is not None
    for figure in names("one_report same_value one_value_forever changing_values changing_values_usual"):
        one, other = getattr(first.losses(4, 4), figure), getattr(second.losses(4, 4), figure)
        assert Fraction(getattr(split, figure)) >= Fraction(one) + Fraction(other)
        assert getattr(split, figure) == pytest.approx(one + other, rel=1e-15)
        assert getattr(sample, figure) == max(one, other)
    assert sample.one_value_forever <= 1.0


def test_a_plan_that_asks_again_needs_words_that_remember() -> None:
    plan = made("two rounds")
    with pytest.raises(InvalidParameter, match="first answer must be kept"):
        plan.privatize(answers(10))
    one, two = (plan.privatize(answers(2000), remembering(5, seeded(seed))).records for seed in (1, 2))
    assert one.reporters is not None
    assert two.reporters is not None
    assert all((a == b).all() for a, b in zip(one.reporters, two.reporters, strict=True))
    assert not all((a == b).all() for a, b in zip(one.columns, two.columns, strict=True))


# tables of answers


FRAMES: dict[str, Callable[[dict[str, Any]], object]] = {
    "dictionary": lambda table: table,
    "lists": lambda table: {name: list(column) for name, column in table.items()},
    "records": lambda table: [
        dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)
    ],
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": lambda table: pa.table({name: list(column) for name, column in table.items()}),
    "batch": lambda table: pa.table({name: list(column) for name, column in table.items()}).to_batches()[0],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_table_gives_the_same_reports(kind: str) -> None:
    plan = made("split")
    table = answers(500) | {"unasked": np.arange(500)}
    expected = plan.tally(plan.privatize(answers(500), seeded(3)))
    assert plan.tally(plan.privatize(FRAMES[kind](table), seeded(3))) == expected


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_answers_follow_the_policy_in_every_kind_of_table(kind: str) -> None:
    holes = {"color": ["red", None, "blue"], "age": [1, 2, None]}
    table = FRAMES[kind](holes)
    with pytest.raises(InvalidValue, match="1 of 3 answers to 'color' are missing"):
        Plan.of(ASKED, many.spl(KS, 1.0), 10).privatize(table, seeded(1))
    as_value = Plan.of(ASKED, many.spl([4, 6], 1.0), 10, missing="value")
    assert as_value.encode(table).tolist() == [[0, 3, 2], [0, 0, 5]]
    assert as_value.labels["color"][-1] == "no answer"
    at_random = Plan.of(ASKED, many.spl(KS, 1.0), 10, missing="random")
    assert at_random.encode(table).tolist() == [[0, -1, 2], [0, 0, -1]]
    assert len(at_random.privatize(table, seeded(1))) == 3


def test_random_answers_are_uniform_and_come_from_the_words() -> None:
    plan = Plan.of({"color": list("abcde")}, dn.grr(5, 8.0), 10, missing="random")
    assert plan.words == plan.mechanism.words + 1
    nobody = {"color": [None] * 50_000}
    counts = plan.tally(plan.privatize(nobody, seeded(4)))["color"].counts
    assert (abs(counts - 10_000) < 5 * np.sqrt(50_000 * 0.2 * 0.8)).all()
    again_ = plan.privatize(nobody, seeded(4)).records.columns[0]
    assert (plan.privatize(nobody, seeded(4)).records.columns[0] == again_).all()
    assert (plan.privatize(nobody, seeded(5)).records.columns[0] != again_).any()
    assert len(plan.privatize(nobody)) == 50_000
    assert "random" in plan.explain()


def test_a_random_answer_is_kept_where_people_are_asked_again() -> None:
    plan = Plan.of({"color": list("abcde")}, again.l_grr(5, 7.9, 8.0), 10, missing="random", rounds=2)
    one, two = (
        plan.privatize({"color": [None] * 3000}, remembering(6, seeded(seed))).records.columns[0]
        for seed in (1, 2)
    )
    assert (one == two).mean() > 0.95


def test_tables_that_do_not_fit_are_refused() -> None:
    plan = made("split")
    for table, reason in (
        ({"color": ["red"]}, "'age' is not a column of the table"),
        ({"colour": ["red"], "age": [1]}, "did you mean 'colour'"),
        ({"color": ["red"], "age": [1, 2]}, "one length"),
        ({"color": "red", "age": [1, 2, 3]}, "must be a list"),
        ({"color": 3, "age": [1]}, "must be a list"),
        (pl.LazyFrame({"color": ["red"], "age": [1]}), "collect it first"),
        ([["red", 1]], "a dictionary for each"),
        ("red", "not a table"),
        (7, "not a table"),
        (None, "not a table"),
        ({"color": ["rot"], "age": [1]}, "'rot' is not a value of 'color'"),
    ):
        with pytest.raises(InvalidValue, match=reason):
            plan.privatize(table, seeded(1))


def test_an_absent_key_of_a_record_is_a_missing_answer() -> None:
    records = [{"color": "red", "age": 1}, {"color": "red"}]
    with pytest.raises(InvalidValue, match="answers to 'age' are missing"):
        made("split").privatize(records, seeded(1))


# tallies and results


def test_tallies_add_up_and_survive_json() -> None:
    plan = made("sample")
    parts = [plan.tally(privatized(plan, answers(400, seed), seed)) for seed in (1, 2)]
    total = parts[0] + parts[1]
    assert total.n == 800
    assert total - parts[1] == parts[0]
    assert Tallies.from_dict(json.loads(json.dumps(total.to_dict()))) == total
    with pytest.raises(InvalidParameter):
        Tallies.from_dict({"n": 1})
    with pytest.raises(InvalidReport, match="attributes"):
        plan.estimate(Tallies(plan.id, 800, {"color": total["color"]}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"n": -5}, "n, the number of records, must be an integer of at least 0, got -5"),
        ({"n": True}, "got True"),
        ({"n": 1}, "the tally of 'color' counts 30 reports, and there are 1 records"),
        ({"plan": 7}, "name their plan by its id, got 7"),
        ({"tallies": 7}, "the tallies of a plan are"),
        ({"tallies": {"color": 7}}, "the tally of 'color'"),
        ({"tallies": {"color": {"n": 30, "counts": [[1], [2, 3]]}}}, "the tally of 'color'"),
        ({"tallies": {"color": {"n": "x", "counts": [1, 2], "asked": [3, 3]}}}, "the tally of 'color'"),
        ({"more": 1}, "the tallies of a plan are"),
    ],
)
def test_tallies_that_cannot_be_are_refused(change: dict[str, Any], reason: str) -> None:
    plan = made("direct")
    known = plan.tally(plan.privatize(answers(30), seeded(1))).to_dict()
    assert Tallies.from_dict(known).n == 30
    with pytest.raises(InvalidParameter, match=reason):
        Tallies.from_dict(known | change)
    with pytest.raises(InvalidParameter, match="the tallies of a plan are"):
        Tallies.from_dict(7)  # type: ignore[arg-type]


def test_reports_and_tallies_of_another_plan_are_refused(tmp_path: Path) -> None:
    plan, other = made("split"), made("direct")
    reports = privatized(plan, answers(100))
    for act in (lambda: other.tally(reports), lambda: other.estimate(plan.tally(reports))):
        with pytest.raises(
            InvalidReport, match=f"made for plan {plan.id[:12]}, this plan is {other.id[:12]}"
        ):
            act()
    with pytest.raises(InvalidReport, match="made for plan"):
        plan.tally(reports) + other.tally(privatized(other, answers(100)))
    path = tmp_path / "reports.parquet"
    with pytest.raises(InvalidReport, match="made for plan"):
        other.write_reports(path, iter([reports]))
    assert not list(tmp_path.iterdir())
    plan.write_reports(path, iter([reports]))
    with pytest.raises(InvalidReport, match=f"made for plan {plan.id[:12]}"):
        other.read_reports(path)


def test_files_that_are_not_reports_are_refused(tmp_path: Path) -> None:
    plan, path = made("sample"), tmp_path / "reports.parquet"
    path.write_bytes(b"PAR1 or so")
    with pytest.raises(InvalidReport, match="not a file of reports"):
        plan.read_reports(path)
    parquet.write_table(pa.table({"color": [1]}), path)
    with pytest.raises(InvalidReport, match="does not say for which plan"):
        plan.read_reports(path)
    parquet.write_table(pa.table({"color": [1]}).replace_schema_metadata({"deniable.plan": plan.id}), path)
    with pytest.raises(InvalidReport, match="columns of"):
        plan.read_reports(path)
    with pytest.raises(FileMissing):
        plan.read_reports(tmp_path / "nothing.parquet")
    with pytest.raises(InvalidValue, match=r"ending in \.parquet"):
        plan.write_reports(tmp_path / "reports.txt", iter([]))


def test_forged_reports_in_a_file_are_refused(tmp_path: Path) -> None:
    plan, path = made("sample"), tmp_path / "reports.parquet"
    plan.write_reports(path, iter([privatized(plan, answers(50))]))
    table = parquet.read_table(path)
    color = table.column("color").combine_chunks()
    full = pa.array(np.zeros(50, dtype=np.int16))
    for column, reason in (
        (full, "reports 1 of 2 attributes, got one with 2"),
        (pa.nulls(50, color.type), "got one with 0"),
    ):
        parquet.write_table(table.set_column(0, table.schema.field(0), column), path)
        with pytest.raises(InvalidReport, match=reason):
            list(plan.read_reports(path))
    wrong = pa.array(np.where(color.is_valid(), 77, 0).astype(np.int16), mask=~np.asarray(color.is_valid()))
    parquet.write_table(table.set_column(0, table.schema.field(0), wrong), path)
    with pytest.raises(InvalidReport, match="a report is a value from 0 to 2"):
        sum_of(plan, plan.read_reports(path))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_result_is_a_mapping_and_a_table(backend: Any) -> None:
    plan = made("sample")
    result = plan.estimate(plan.tally(privatized(plan, answers(5000))))
    assert len(result) == 2
    with pytest.raises(KeyError, match="did you mean 'color'"):
        result["colour"]
    rows = Findings(result.numbers, 0.9).rows.values
    assert [row["value"] for row in rows[:3]] == ["red", "green", "blue"]
    assert sum(row["share"] for row in rows[:3]) == pytest.approx(1)
    frame = result.frame(0.9, backend)
    columns = {
        name: list(frame[name].to_pylist() if backend == "pyarrow" else frame[name])
        for name in rows[0]
        if name != "plan"
    }
    for name, column in columns.items():
        if name not in ("attribute", "value", "method"):
            assert column[:8] == pytest.approx([row[name] for row in rows])
    assert columns["attribute"] == ["color"] * 3 + ["age"] * 7, "five bins, a mean and a median"
    assert "under 50" in str(result)


def test_an_attribute_that_nobody_reported_is_named() -> None:
    plan = made("sample")
    with pytest.raises(InvalidParameter, match=r"^there are no reports yet"):
        plan.estimate(plan.tally([]))
    result = plan.estimate(plan.tally(privatized(plan, answers(1))))
    ((absent, nothing),) = result.unreported.items()
    assert {absent, *result} == {"color", "age"}
    assert absent not in result
    with pytest.raises(KeyError, match=f"'{absent}' has 0 reports: there are no reports yet"):
        result[absent]
    rows = [row for row in Findings(result.numbers).rows.table() if row["attribute"] == absent]
    assert [row["value"] for row in rows] == list(nothing.labels) == list(plan.labels[absent])
    assert {(row["share"], row["unbiased"], row["count"], row["n"]) for row in rows} == {
        (None, None, None, 0)
    }
    summaries = 2 * (absent == "color")  # the mean and the median of an age that somebody reported
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(result.frame(backend=backend)) == 8 + summaries
    assert f"{absent} (0 reports): there are no reports yet, so there is nothing to estimate" in str(result)
    assert "1 record reported" in str(result)
    assert "(1 report)" in str(result)


# studies


def test_the_study_of_the_front_page() -> None:
    study = Study({"color": ["red", "green", "blue"], "age": Range(0, 100, step=10)}, epsilon=1.0)
    plan = study.plan(people=10_000)
    assert plan.verify() == Loss(plan.loss.record, plan.loss.attribute)
    assert 1 - 1e-9 < plan.loss.record <= 1.0
    text = plan.explain()
    for part in ("10,000 people", "What was considered", "SPL[", "SMP[", "RS+FD[", "shuffler", "2.72 times"):
        assert part in text
    read = Plan.from_json(plan.to_json())
    assert "its file keeps the choice only" in read.explain()
    result = plan.estimate(
        plan.tally(plan.privatize({"color": ["red"] * 500, "age": [42] * 500}, dn.seeded(7)))
    )
    low, high = result["age"].interval(0.999999)
    assert low[4] < 1.0 < high[4]


@given(
    ks=st.lists(st.integers(2, 40), min_size=1, max_size=4),
    epsilon=st.floats(0.05, 6.0),
    per=st.sampled_from(["record", "attribute"]),
    mechanism=st.sampled_from([None, "split", "sample", "faked"]),
    missing=st.sampled_from(["refuse", "value", "random"]),
)
@settings(max_examples=25)
def test_no_plan_has_a_loss_above_the_studys_epsilon(
    ks: list[int], epsilon: float, per: Any, mechanism: str | None, missing: Any
) -> None:
    asked = {f"a{j}": [f"v{v}" for v in range(k)] for j, k in enumerate(ks)}
    plan = Study(asked, epsilon=epsilon, per=per, mechanism=mechanism, missing=missing).plan(people=1000)
    loss = Plan.from_json(plan.to_json()).verify()
    assert (loss.record if per == "record" else loss.attribute) <= epsilon
    assert loss.attribute <= loss.record
    assert (plan.stated.record if per == "record" else plan.stated.attribute) < Fraction(epsilon) * NANO + 1


@given(
    ks=st.lists(st.integers(2, 20), min_size=1, max_size=3),
    first=st.floats(0.05, 3.0),
    factor=st.floats(1.05, 5.0),
)
@settings(max_examples=15)
def test_no_plan_that_asks_again_has_a_loss_above_its_budgets(
    ks: list[int], first: float, factor: float
) -> None:
    asked = {f"a{j}": [f"v{v}" for v in range(k)] for j, k in enumerate(ks)}
    plan = Study(asked, epsilon_first=first, epsilon_forever=first * factor, rounds=3).plan(people=1000)
    loss = Plan.from_json(plan.to_json()).verify()
    assert loss.repeated is not None
    assert loss.record <= loss.repeated.one_report <= first
    assert loss.repeated.same_value <= loss.repeated.one_value_forever <= first * factor


def test_choices_can_be_named() -> None:
    asked = {"a": ["x", "y", "z"], "b": ["x", "y"]}
    plan = Study(asked, epsilon=1.0, mechanism="split", protocol={"a": "oue"}).plan(100)
    assert isinstance(plan.mechanism, Split)
    assert isinstance(plan.mechanism.parts[0], dn.mechanisms.Unary)
    assert isinstance(Study(asked, epsilon=1.0, mechanism="faked", protocol="grr").plan(100).mechanism, Faked)
    assert isinstance(
        Study(asked, epsilon=1.0, mechanism="sample", protocol="hr").plan(100).mechanism.parts[1],
        dn.mechanisms.Hadamard,
    )
    one = Study({"a": ["x", "y", "z"]}, epsilon=1.0, protocol="ss").plan(100)
    assert isinstance(one.mechanism, dn.records.Single)
    assert isinstance(one.mechanism.part, dn.mechanisms.Subset)
    two = Study({"a": ["x", "y", "z"]}, epsilon_first=0.5, epsilon_forever=1.0).plan(100)
    assert isinstance(two.mechanism.mechanisms[0], Memoized)


def test_choices_of_a_study_are_not_its_plans() -> None:
    plan: Any = Study({"a": ["x", "y"]}, epsilon=1.0).plan
    with pytest.raises(
        InvalidParameter, match=r"mechanism is a choice of the study, Study\(\.\.\., mechanism="
    ):
        plan(100, mechanism="split")
    with pytest.raises(InvalidParameter, match="did you mean 'protocol'"):
        plan(people=100, protocl="grr")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "needs an epsilon"),
        ({"epsilon": 0}, "positive"),
        ({"epsilon": "1"}, "positive"),
        ({"epsilon": 1.0, "missing": "drop"}, "'drop' is not a policy"),
        ({"epsilon": 1.0, "per": "person"}, "per is"),
        ({"epsilon": 1.0, "mechanism": "smp"}, "a study calls the record mechanism 'smp' 'sample'"),
        ({"epsilon": 1.0, "protocol": {"colour": "grr"}}, "did you mean 'color'"),
        ({"epsilon": 1.0, "title": "a\tb"}, "control characters"),
        ({"epsilon": 1.0, "objective": {"bytes_cap": 3}}, "objective is an Objective"),
        ({"epsilon": 1.0, "epsilon_first": 1.0}, "not both"),
        ({"epsilon_first": 1.0}, "go together"),
        (
            {"epsilon_first": 1.0, "epsilon_forever": 2.0, "mechanism": "split"},
            "one real attribute per person",
        ),
        ({"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 0}, "rounds"),
    ],
)
def test_studies_that_make_no_sense_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        Study({"color": ["red", "blue"]}, **options)
    with pytest.raises(InvalidParameter, match="at least one attribute"):
        Study({}, epsilon=1.0)


TOML = """
title = "Example"
epsilon = 1.0
missing = "value"
protocol = "oue"
[attributes]
color = ["red", "green", "blue"]
[attributes.age]
low = 0
high = 100
step = 10
open_high = true
protocol = "grr"
[objective]
bytes_cap = 100
"""


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("epsilon = 1.0", "epsilon = ", "not valid TOML"),
        ("epsilon = 1.0", "epsilon = -1.0", "epsilon must be a positive number, got -1.0"),
        ("epsilon = 1.0", "epsilon = 'one'", "epsilon must be a positive number"),
        ("epsilon = 1.0", "turns = 2", r"'turns' belongs to \[repeat\]"),
        ("epsilon = 1.0", "epsilom = 1.0", "'epsilom' is not a key of the study .*did you mean 'epsilon'"),
        ("epsilon = 1.0", "", "needs an epsilon"),
        ('missing = "value"', 'missing = "ignore"', "'ignore' is not a policy"),
        ('["red", "green", "blue"]', '"red"', "'color' needs a list of values or a Range, got 'red'"),
        ('["red", "green", "blue"]', '["red", "red"]', "'color': the label 'red' occurs twice"),
        ("step = 10", "stepp = 10", "attributes.age.stepp: .*did you mean 'step'"),
        ("step = 10", "", "attributes.age has no 'step'"),
        ("step = 10", "step = 7", "attributes.age: step 7 does not divide"),
        ("step = 10", 'step = "ten"', "attributes.age: step must be a number"),
        ("low = 0", "values = 3", "attributes.age.high"),
        ('protocol = "grr"', "protocol = 3", "attributes.age.protocol must be a protocol's name"),
        ("bytes_cap", "byte_cap", "'byte_cap' is not a key of objective .*did you mean 'bytes_cap'"),
        ("[objective]", "[objectives]", "'objectives' is not a key of the study"),
        ("[objective]", "[repeat]", "'bytes_cap' is not a key of repeat"),
    ],
)
def test_errors_in_toml_name_the_file_and_the_key(
    before: str, after: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TOML.replace(before, after), encoding="utf-8")
    with pytest.raises(InvalidParameter, match=reason) as problem:
        Study.read(path)
    assert str(problem.value).startswith("study.toml")


def test_a_toml_file_without_attributes(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    for text, reason in (
        ("epsilon = 1.0", r"no section \[attributes\]"),
        ("attributes = 3", "must be a section"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidParameter, match=reason):
            Study.read(path)


# the schema

SCHEMA = json.loads((Path(__file__).parents[2] / "spec" / "plan.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)


def list_objects(schema: Any) -> Iterator[dict[str, Any]]:
    """All schemas of objects within a schema."""
    if isinstance(schema, dict) and schema.get("type") == "object":
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from list_objects(part)


def test_the_schema_refuses_what_it_should() -> None:
    optional = set(SCHEMA["properties"]) - set(SCHEMA["required"])
    assert optional == {"ask", "maps", "texts", "known", "linked", "ticket_key", "turns", "continues"}
    assert all(one["additionalProperties"] is not True for one in list_objects(SCHEMA))
    for change in (
        setting("people", to=1.5),
        setting("version", to=1),
        setting("extra", to=1),
        setting(*PART, "keep", to=5),
    ):
        data = json.loads(FIXED.to_json())
        change(data)
        assert not VALIDATOR.is_valid(data)


def test_records_can_be_put_together_by_hand() -> None:
    plan = made("direct")
    columns = (np.zeros(3, dtype=np.uint8), np.ones(3, dtype=np.uint8))
    assert plan.tally(Reports(plan.id, Records(3, columns)))["age"].counts.tolist() == [0, 3, 0, 0, 0]


@pytest.mark.parametrize("kind", [[], {}, 7, None])
def test_a_part_whose_kind_is_no_text_is_refused(kind: object) -> None:
    nested = dn.records.Split((dn.grr(3, 1.0), dn.records.Sample((dn.grr(2, 1.0), dn.grr(2, 1.0)))))
    asked = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"], "drinks": ["yes", "no"]}
    data = Plan.of(asked, nested, people=100).document.to_dict()
    data["mechanism"]["parts"][1]["kind"] = kind
    with pytest.raises(dn.InvalidPlan):
        PlanDocument.from_dict(data)


def test_a_file_that_is_too_long_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    with path.open("wb") as file:
        file.truncate((1 << 22) + 1)

    def open_file(*_: object) -> None:
        raise AssertionError("it was read")

    message = "a plan has at most 4,194,304 bytes, got 4,194,305"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_file)
        with pytest.raises(dn.InvalidPlan, match=message):
            dn.Plan.read(path)
    endless = Path("/dev/zero")
    if endless.exists():
        with pytest.raises(dn.InvalidPlan, match=message):
            dn.Plan.read(endless)


def test_answers_are_given_by_label_and_shares_come_back_with_them() -> None:
    color = dn.Study(ASKED, epsilon=1.0).plan(1000).attribute("color")
    labels = ["blue", "red", "green"] * 100
    reports = color.privatize(labels, dn.seeded(1))
    np.testing.assert_array_equal(reports, color.mechanism.privatize([2, 0, 1] * 100, dn.seeded(1)))
    np.testing.assert_array_equal(reports, color.privatize(pd.Series(labels, dtype="category"), dn.seeded(1)))
    estimate = color.estimate(color.tally(reports))
    assert isinstance(estimate, Estimate)
    assert estimate.labels == ("red", "green", "blue")
    assert str(color) == f"color: {color.mechanism}"


def test_a_value_that_is_not_one_is_refused() -> None:
    plan = dn.Study(ASKED, epsilon=1.0).plan(1000)
    with pytest.raises(dn.InvalidValue, match="'rod' is not a value of 'color'"):
        plan.attribute("color").privatize(["rod"])
    with pytest.raises(dn.InvalidValue, match="1 of 2 answers to 'color' are missing"):
        plan.attribute("color").privatize(["red", None])
    with pytest.raises(dn.InvalidParameter, match="'colour' is not an attribute"):
        plan.attribute("colour")


def test_no_answer_is_a_value_where_the_plan_says_so() -> None:
    age = dn.Study(ASKED, epsilon=1.0, missing="value").plan(1000).attribute("age")
    assert age.labels[-1] == "no answer"
    made = age.privatize([20, None], dn.seeded(1))
    np.testing.assert_array_equal(made, age.mechanism.privatize([2, 5], dn.seeded(1)))


def test_a_number_has_a_mean() -> None:
    income = dn.Study({"income": dn.Number(0, 10)}, epsilon=4.0).plan(1000).attribute("income")
    mean = income.estimate(income.tally(income.privatize([10.0] * 2000, dn.seeded(1))))
    assert isinstance(mean, dn.metric.MeanEstimate)
    assert mean.mean == pytest.approx(1.0, abs=0.2)


def test_the_thresholds_are_guesses_of_75_and_90_in_100() -> None:
    for nanos, guess in ((MOST_WELL, 0.75), (MOST_LITTLE, 0.9)):
        assert math.isclose(1 / (1 + math.exp(-nanos / 1e9)), guess, abs_tol=1e-9)
    assert [rate_loss(one) for one in (MOST_WELL, MOST_WELL + 1, MOST_LITTLE, MOST_LITTLE + 1)] == [
        "well",
        "a little",
        "a little",
        "hardly",
    ]


def test_all_reports_are_rated_over_all_rounds() -> None:
    mood = {"mood": list("abcde")}
    weekly = [Plan.of(mood, dn.rounds.l_grr(5, 1.0, 2.0), 100, rounds=rounds) for rounds in (1, 2, 4)]
    assert [plan.protection.level for plan in weekly] == ["well", "hardly", "hardly"]
    two = {"mood": list("abcde"), "smokes": ["yes", "no"]}
    for made in (dn.spl([5, 2], 2.0, "grr"), dn.smp([5, 2], 2.0, "grr")):
        assert Plan.of(two, made, 100).protection.level == "a little", "one answer may tell the other"
    unbounded = Plan.of(mood, dn.rounds.dbitflip(5, 0.5, bits=3), 100, rounds=4)
    assert (unbounded.protection.level, unbounded.protection.loss) == ("hardly", None)
    assert Plan.of(mood, dn.grr(5, 1.0), 100).protection.percent == 74, "73.1 in 100, rounded up"


def test_ratings_are_said_in_every_language() -> None:
    names = ("rate_well", "rate_little", "rate_hardly", "picks")
    said = [read_messages(language, "pages")[name] for language in LANGUAGES for name in names]
    assert len(set(said)) == 4 * len(LANGUAGES)


def test_plans_of_one_link_that_devices_leave_out_are_warned_of() -> None:
    plans = [
        Plan.of({"mood": list("abcde")}, dn.grr(5, epsilon), 100).document for epsilon in (3.0, 1.0, 2.0)
    ]
    assert warn_together(plans[:2]) is None, "4 in all"
    text = warn_together([plans[0], plans[2]])
    assert text is not None
    assert "together they give away 5, and a device whose person has set no limit allows 4 in all" in text
    assert warn_together([Plan.of({"mood": list("abcde")}, dn.grr(5, 5.0), 100).document]) is None
    steps = [(dn.rounds.l_grr(k, 1.0, 2.0), 1) for k in (2, 3)]
    first, second = (plan.document for plan in plan_chain(*steps))
    assert first.stated.counted == 1_000_000_000
    assert Protection.together([first, second]).loss == second.stated.chained.counted == 2_407_605_967
    assert warn_together([first, second, plans[1]]) is None, "3.41: the first plan counts once"
    text = warn_together([second, plans[2], first])
    assert text is not None
    assert "together they give away 4.408" in text


def test_devices_answer_the_repeated_study_of_the_example(tmp_path: Path) -> None:
    lines = EXAMPLE[EXAMPLE.index("# [repeat]") :].splitlines()
    repeat = "\n".join(line.removeprefix("# ") for line in lines)
    file = tmp_path / "study.toml"
    file.write_text(f'{repeat}\n[attributes]\nmood = ["good", "middling", "bad"]\n', encoding="utf-8")
    plan = dn.Study.read(file).plan(people=1000)
    assert warn_limit(plan.document) is None
