"""What attacks take: reports in every form in which they are kept, truths and priors as people have them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import attack
from deniable.attack.likelihoods import Source
from deniable.attack.results import ATTRIBUTE
from deniable.records import Sample, Split
from deniable.reports import Reports
from deniable.study import Plan
from deniable.wire import Report, Wire

TOWNS = list("abcdefghij")
PEOPLE = {"town": TOWNS * 3, "smokes": ["yes", "no", "no"] * 10}
SAMPLED = dn.Study(
    {"town": TOWNS, "smokes": ["yes", "no"]}, epsilon=2.0, mechanism="sample", protocol="grr"
).plan(people=30)
FAKED = dn.Plan.of({"town": TOWNS, "smokes": ["yes", "no"]}, dn.rsfd([10, 2], 2.0), people=30)
ONE = dn.Study({"town": TOWNS}, epsilon=3.0, protocol="oue").plan(people=30)


def sent(plan: Plan) -> list[Report]:
    """Of each of the people by a client of their own."""
    rows = [{name: PEOPLE[name][i] for name in plan.names} for i in range(30)]
    return [dn.Client(plan, secret=bytes([i]) * 32).report(row) for i, row in enumerate(rows)]


def forms(plan: Plan, folder: Path) -> list[object]:
    """The same reports in every form; the first is the one that plans make."""
    reports = sent(plan)
    made = Wire(plan.document).reports([report.body for report in reports])
    assert isinstance(made, Reports)
    file = folder / f"{plan.id}.parquet"
    plan.write_reports(file, [made])
    raw = [report.to_bytes() for report in reports]
    texts = [Wire(plan.document).to_json(report) for report in reports]
    return [
        made,
        [made],
        reports,
        tuple(reports),
        iter(reports),
        raw,
        list(map(bytearray, raw)),
        texts,
        file,
        str(file),
    ]


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


def test_a_single_report_is_one_person() -> None:
    report = sent(ONE)[0]
    assert attack.guess(ONE, report).n == attack.guess(ONE, report.to_bytes()).n == 1


def test_reports_of_another_plan_are_refused() -> None:
    other = dn.Study({"town": TOWNS}, epsilon=1.0, protocol="oue").plan(people=30)
    for reports in (sent(other), [report.to_bytes() for report in sent(other)], [*sent(ONE), *sent(other)]):
        with pytest.raises(
            dn.InvalidReport, match=f"was made for plan {other.id[:16]}…, this plan is {ONE.id[:16]}…"
        ):
            attack.guess(ONE, reports)


def test_what_are_no_reports_is_refused() -> None:
    wrong: Sequence[tuple[object, str]] = [
        ([], "there are no reports to attack"),
        (iter([]), "there are no reports to attack"),
        ([*sent(ONE), 7], "all in one form, here as a client sends them, got int among them"),
        ([b"abc"], "a report has at least"),
        (7, "reports are what plan.privatize, plan.read_reports or client.report give, got int"),
    ]
    for reports, message in wrong:
        with pytest.raises(dn.InvalidReport, match=message):
            attack.guess(ONE, reports)
    for source in (dn.oue(10, 3.0), dn.smp([10, 2], 3.0)):
        with pytest.raises(dn.InvalidReport, match="these reports were made for a plan; attack that plan"):
            attack.guess(source, sent(ONE))


# Truths.


def test_the_truth_of_one_attribute_is_a_list() -> None:
    found = attack.guess(ONE, ONE.privatize(PEOPLE, dn.seeded(1)))
    by_table = found.right(PEOPLE)
    codes = ONE.encode(PEOPLE)[0]
    for truth in (
        PEOPLE["town"],
        np.array(PEOPLE["town"]),
        codes,
        codes.tolist(),
        codes[None],
        codes[:, None],
        [{"town": t} for t in PEOPLE["town"]],
    ):
        assert found.right(truth) == by_table
    alone = attack.guess(dn.grr(3, 2.0), np.array([0, 2, 1], dtype=np.uint8))
    assert alone.right([0, 2, 2]) == alone.right({"attribute 0": [0, 2, 2]}) == {"attribute 0": 2 / 3}


def test_where_answers_are_numbers_a_list_is_of_answers() -> None:
    """As `privatize` takes them: the third bin is that of 25, and 1, 2, 3 are labels and not positions in a
    list.
    """
    ages = dn.Study({"age": dn.Range(0, 100, step=10)}, epsilon=9.0).plan(people=100)
    answers = [5, 25, 95, 41] * 25
    found = attack.guess(ages, ages.privatize({"age": answers}, dn.seeded(1)))
    assert found.right(answers) == found.right({"age": answers}) == found.right(ages.encode({"age": answers}))
    assert found.right(answers)["age"] > 0.9
    grades = dn.Study({"grade": ["1", "2", "3"]}, epsilon=9.0).plan(people=100)
    found = attack.guess(grades, grades.privatize({"grade": [1, 2, 2, 1] * 25}, dn.seeded(1)))
    assert found.right([1, 2, 2, 1] * 25)["grade"] > 0.9


def test_a_list_is_of_answers_where_all_are_and_else_of_numbers_of_values() -> None:
    grades = dn.Study({"grade": ["1", "2", "3"]}, epsilon=9.0).plan(people=100)
    found = attack.guess(grades, grades.privatize({"grade": [1, 2, 3, 1] * 25}, dn.seeded(1)))
    assert 0 in found.values
    for numbers in (found.values, found.values[:1], found.values[0], found.values[0].tolist()):
        assert found.right(numbers) == {"grade": 1.0}
    assert found.right([1] * 100) == found.right(
        np.zeros((1, 100), dtype=np.int64)
    )  # it can be both: the first label
    assert found.right(np.ones((1, 100), dtype=np.int64)) == found.right(["2"] * 100)
    with pytest.raises(dn.InvalidValue, match="row 3, counting from 0: the answer to 'grade' is not"):
        found.right([1, 2, 3, 4] * 25)
    mixed = dn.Study({"age": ["under 65", "65"]}, epsilon=9.0).plan(
        people=100
    )  # one label that is a number is no matter
    found = attack.guess(mixed, mixed.privatize({"age": ["under 65", "65"] * 50}, dn.seeded(1)))
    assert found.right(found.values[0]) == {"age": 1.0}
    assert found.right([65] * 100) == found.right(["65"] * 100)


def test_truths_have_a_row_per_person_or_per_attribute() -> None:
    mechanism, draws = dn.smp([3, 2], 2.0, "grr"), np.random.default_rng(3)
    table = np.column_stack([draws.integers(0, 3, 50), draws.integers(0, 2, 50)])
    found = attack.guess(mechanism, mechanism.privatize(table, dn.seeded(1)))
    assert found.right(table) == found.right(table.T) == found.right(table.tolist())
    square = attack.guess(mechanism, mechanism.privatize([[2, 0], [2, 1]], dn.seeded(1)))
    true = {
        "attribute 0": (square.values[0] == [2, 2]).mean(),
        "attribute 1": (square.values[1] == [0, 1]).mean(),
    }
    assert square.right([[2, 0], [2, 1]]) == true


def test_the_real_attribute_may_be_named() -> None:
    reports = FAKED.privatize(PEOPLE, dn.seeded(4))
    found, drawn = attack.sampled_attribute(FAKED, reports), attack.real_attributes(FAKED, 30, 4)
    names = [FAKED.names[j] for j in drawn]
    assert found.right(names) == found.right(np.array(names)) == found.right(drawn)
    assert found.judged(names, backend="pandas").equals(found.judged(drawn, backend="pandas"))
    with pytest.raises(
        dn.InvalidParameter, match=r"'twon' is not an attribute \(town, smokes\); did you mean 'town'"
    ):
        found.right(["twon"] * 30)


# Priors.


def test_a_prior_of_one_attribute_may_be_its_shares_by_value() -> None:
    plan = dn.Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=100)
    reports = plan.privatize({"color": ["red", "blue"] * 50}, dn.seeded(1))
    shares = {"red": 0.5, "green": 0.1, "blue": 0.4}
    expected = attack.guess(plan, reports, prior={"color": shares}).posterior.tolist()
    for prior in (shares, [0.5, 0.1, 0.4], {"color": [0.5, 0.1, 0.4]}):
        assert attack.guess(plan, reports, prior=prior).posterior.tolist() == expected


def test_a_value_may_be_called_as_its_attribute_is() -> None:
    plan = dn.Study({"red": ["red", "green"]}, epsilon=1.0).plan(people=100)
    for prior in ({"red": 0.3, "green": 0.7}, {"red": {"red": 0.3, "green": 0.7}}, {"red": [0.3, 0.7]}):
        assert attack.success(plan, prior)["red"].blind == 0.7
    with pytest.raises(dn.InvalidParameter, match="'blue' is not an attribute; they are red"):
        attack.success(plan, {"blue": [0.3, 0.7]})


AGES = dn.Study({"age": dn.Range(17, 91, step=1, privacy="metric", epsilon=0.1)}).plan(people=20_000)
OLD = np.clip(np.random.default_rng(1).normal(40, 12, 20_000), 17, 90.5)
AGE_TALLIES = AGES.tally(AGES.privatize({"age": OLD}, dn.seeded(1)))


def test_noise_in_an_estimate_with_distances_is_not_taken_for_knowledge() -> None:
    """Projected unbiased shares have spikes of a third; the true largest share is 3.4 %."""
    result = AGES.estimate(AGE_TALLIES)
    true = np.bincount((OLD - 17).astype(int), minlength=74) / OLD.size
    spiky, known = (
        attack.success(AGES, shares)["age"] for shares in (result["age"].project("simplex"), true)
    )
    assert spiky.reported > 4 * known.reported
    found = attack.success(AGES, result)["age"]
    assert abs(found.blind - known.blind) < 0.01
    assert abs(found.reported - known.reported) < 0.03
    likely = AGES.mle(AGE_TALLIES, "age").smooth()
    for prior in (result["age"], likely, {"age": likely}, {"age": likely.frequencies}, [likely]):
        assert attack.success(AGES, prior)["age"].reported == pytest.approx(found.reported, abs=1e-9)


def test_noise_in_an_estimate_of_another_mechanism_is_warned_of() -> None:
    """What was counted cannot be told from the estimate then."""
    other = dn.Study({"age": dn.Range(17, 91, step=1, privacy="metric", epsilon=0.2)}).plan(people=20_000)
    with pytest.warns(
        dn.DeniableWarning,
        match=r"shares of 'age' are mostly noise .*plan\.mle\(tallies, 'age'\)\.smooth\(\)",
    ):
        attack.success(other, AGES.estimate(AGE_TALLIES))
    plan = dn.Study({"town": TOWNS}, epsilon=1.0, protocol="grr").plan(people=30)
    few = plan.estimate(plan.tally(plan.privatize({"town": TOWNS * 3}, dn.seeded(1))))
    with pytest.warns(dn.DeniableWarning, match=r"shares of 'town' are mostly noise .* or leave them out"):
        attack.success(plan, few)


def test_a_label_that_is_none_of_many_gets_the_nearest() -> None:
    with pytest.raises(
        dn.InvalidParameter, match=r"got one of '33', which is not among its 74: .*mean '33 to under 34'\?"
    ) as told:
        attack.success(AGES, {"age": {"33": 1.0}})
    assert str(told.value).count("to under") == 5


def test_mechanisms_that_name_the_attribute_or_send_all_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="here a report names it"):
        attack.sampled_attribute(SAMPLED, SAMPLED.privatize(PEOPLE, dn.seeded(1)))
    split = dn.Plan.of({"town": TOWNS, "smokes": ["yes", "no"]}, dn.spl([10, 2], 2.0), people=30)
    with pytest.raises(
        dn.InvalidParameter, match="here every report holds all attributes, and none of them is a fake"
    ):
        attack.sampled_attribute(split, split.privatize(PEOPLE, dn.seeded(1)))


def test_a_background_with_fewer_rows_than_people_needs_the_truth() -> None:
    reports, some = ONE.privatize({"town": PEOPLE["town"]}, dn.seeded(1)), {"town": PEOPLE["town"][:10]}
    with pytest.raises(
        dn.InvalidParameter,
        match=r"has 10 rows, and 30 people reported: it must have a row for each .*truth=",
    ):
        attack.reidentify([ONE], [reports], some)
    assert attack.reidentify([ONE], [reports], some, truth=list(range(10)) * 3).n == 30


def test_a_prior_may_be_what_was_estimated() -> None:
    """Estimates that are negative are projected to the nearest distribution."""
    plan = dn.Study({"town": TOWNS, "smokes": ["yes", "no"]}, epsilon=1.0).plan(people=2000)
    people = {"town": ["a", "b"] * 1000, "smokes": ["yes", *["no"] * 9] * 200}
    reports = plan.privatize(people, dn.seeded(1))
    result = plan.estimate(plan.tally(reports))
    assert result["town"].frequencies.min() < 0
    shares = {name: result[name].project("simplex").tolist() for name in plan.names}
    expected = attack.guess(plan, reports, prior=shares).posterior.tolist()
    for prior in (result, dict(result), {name: result[name] for name in plan.names}, list(result.values())):
        assert attack.guess(plan, reports, prior=prior).posterior.tolist() == expected
    earlier = dn.Study({"smokes": ["no", "yes"]}, epsilon=1.0).plan(people=200)  # its values in another order
    first = earlier.estimate(earlier.tally(earlier.privatize(people, dn.seeded(2))))
    by_name = dict(zip(["no", "yes"], first["smokes"].project("simplex").tolist(), strict=True))
    found = attack.success(plan, first).attributes
    assert (found[0].blind, found[1].blind) == (0.1, max(by_name.values()))
    assert attack.success(earlier, first["smokes"]) == attack.success(earlier, by_name)
    with pytest.raises(dn.InvalidParameter, match="none of the attributes town; it is of smokes"):
        attack.success(ONE, first)


# Profiles.


def test_profiles_of_single_chances() -> None:
    """Where no attribute is asked for again, a number says all; else what a second report adds
    must be said.
    """
    assert attack.profile([0.5, 0.6, 0.7], 2, False) == pytest.approx((0.3 + 0.35 + 0.42) / 3)
    assert attack.profile(list(np.array([0.5, 0.6, 0.7])), 2, False) == attack.profile(
        [0.5, (1, 0.6), 0.7], 2, False
    )
    with pytest.raises(
        dn.InvalidParameter, match=r"right\[j\] is a list for attribute j.*such as \(1, 0.5, 0.5\), got 0.5"
    ):
        attack.profile([0.5, 0.6, 0.7], 2, True)
    wrong: Any
    for wrong, said in (
        (5, "in a list of them all, got 5"),
        ("ab", "in a list of them all, got 'ab'"),
        ([], "got none"),
        ([("a", "b")], r"got \('a', 'b'\)"),
        ([()], r"got \(\)"),
    ):
        with pytest.raises(dn.InvalidParameter, match=rf"right\[j\] is a list for attribute j: .*{said}"):
            attack.profile(wrong, 1, False)


def test_attributes_with_epsilons_of_their_own() -> None:
    """Direct encoding of k values is guessed with e^epsilon / (e^epsilon + k - 1), by the epsilon of each."""
    found = attack.success(dn.smp([3, 4], [1.0, 2.0], "grr"), collections=2)
    each = [math.exp(1) / (math.exp(1) + 2), math.exp(2) / (math.exp(2) + 3)]
    assert [one.reported for one in found.attributes] == pytest.approx(each)
    assert found.profiles[0].all_reported == pytest.approx(each[0] * each[1])


# Results.


@pytest.mark.parametrize("source", [SAMPLED, FAKED, dn.ss(9, 1.0)], ids=["sampled", "among fakes", "alone"])
def test_success_is_known_by_attribute_and_as_plain_data(source: Source) -> None:
    found = attack.success(source, collections=2)
    assert list(found) == [one.name for one in found.attributes]
    assert all(found[one.name] is one for one in found.attributes)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(told) == {"attributes", "profiles", "blind_record", "seed", "alone", "left_out"}
    for one, plain in zip(found.attributes, told["attributes"], strict=True):
        assert (plain["name"], plain["k"]) == (one.name, one.k)
        assert {name: plain[name] for name in ATTRIBUTE} == {name: getattr(one, name) for name in ATTRIBUTE}
        assert (plain["stderr"], plain["bounds"]) == (one.stderr, list(one.bounds))
    assert [one["whole_record"] for one in told["profiles"]] == [one.whole_record for one in found.profiles]


def test_other_attributes_of_a_success_are_named() -> None:
    found = attack.success(SAMPLED)
    assert "town" in found
    assert found.get("twon") is None
    with pytest.raises(KeyError, match="did you mean 'town'"):
        found["twon"]


def test_what_is_not_attacked_by_itself_is_refused_in_words() -> None:
    for given in (ONE, dn.smp([2, 3], 1.0, "grr")):
        with pytest.raises(
            dn.InvalidParameter,
            match=f"of one mechanism, such as .*, got {type(given).__name__}; success takes plans",
        ):
            attack.success_after(given, 3)  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match="of a plan, got Direct"):
        attack.examine(dn.grr(3, 1.0))  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match=r"level is how sure the bound must be, .* got 'high'"):
        dn.audit.lower_bound(ONE, trials=100, level="high")  # type: ignore[arg-type]


# Tables of people.

WHO = {"color": ["red", "blue", "blue", "red"], "size": ["s", "m", "m", "s"]}
TWO = dn.Plan.of({"color": ["red", "blue"], "size": ["s", "m"]}, dn.spl((2, 2), 2.0, "grr"), 100)


def tables_of(columns: Mapping[str, list[str]]) -> dict[str, object]:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        "dictionary": columns,
        "records": rows,
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "pyarrow": pyarrow.table(dict(columns)),
    }


def test_an_examination_takes_people_in_any_table() -> None:
    wanted = attack.examine(TWO, TWO.encode(WHO), collections=1).text()
    for name, table in tables_of(WHO).items():
        assert attack.examine(TWO, table, collections=1).text() == wanted, name


def test_a_background_may_be_any_table() -> None:
    reports = TWO.privatize(WHO, dn.seeded(1))
    wanted = attack.reidentify([TWO], [reports], WHO).above.tolist()
    for name, table in tables_of(WHO).items():
        assert attack.reidentify([TWO], [reports], table).above.tolist() == wanted, name
        assert attack.guess(TWO, reports).right(table) == attack.guess(TWO, reports).right(WHO), name


def test_an_examination_leaves_out_other_columns_and_says_what_is_lacking() -> None:
    found = attack.examine(TWO, {"color": WHO["color"], "hat": [1, 2, 3, 4]}, collections=1)
    assert (found.lacking, found.people) == (("size",), 4)
    with pytest.warns(dn.DeniableWarning, match="'colour' of the table of people is left out"):
        attack.examine(TWO, {"colour": WHO["color"], "size": WHO["size"]}, collections=1)


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ([1, 2], r"people are a dataframe, a dictionary of columns or a list of dictionaries.*got list"),
        ("people.csv", "a column for each attribute .color, size., got str"),
        ({"hat": [1, 2]}, "the table of people has none of the attributes color, size; its columns are hat"),
        (np.zeros((3, 4), dtype=np.int64), "a row per attribute, as plan.encode makes them: 2 rows, got 3"),
        ({"color": ["red", "green"], "size": ["s", "m"]}, "row 1, .* the answer to 'color' is not"),
    ],
    ids=["list", "file", "no attribute", "numbers", "unknown value"],
)
def test_people_that_cannot_be_read(people: object, said: str) -> None:
    with pytest.raises(dn.DeniableError, match=said):
        attack.examine(TWO, people, collections=1)


def test_answers_are_not_reports() -> None:
    for table in tables_of(WHO).values():
        with pytest.raises(
            dn.InvalidReport, match=r"answers, not reports: an attacker sees what plan\.privatize"
        ):
            attack.guess(TWO, table)
    with pytest.raises(dn.InvalidParameter, match="a background is a dataframe, a dictionary"):
        attack.reidentify([TWO], [TWO.privatize(WHO, dn.seeded(1))], 3)
    with pytest.raises(
        dn.InvalidParameter, match="attack a plan, a record mechanism or a mechanism, got dict"
    ):
        attack.guess(WHO, TWO.privatize(WHO, dn.seeded(1)))  # type: ignore[arg-type]


WORD = dn.Text("a-z", longest=5)
ASKED = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
COLOR, SMOKES, HASH = dn.grr(3, 1.0), dn.rr(1.0), dn.mechanisms.linear(25, 1.0)
CASES = {
    "split": (Split((COLOR, HASH, SMOKES)), Split((COLOR, SMOKES))),
    "sample": (Sample((COLOR, HASH, SMOKES)), Sample((COLOR, SMOKES))),
    "weights": (Sample((COLOR, HASH, SMOKES), weights=(2, 4, 1)), Sample((COLOR, SMOKES), weights=(2, 1))),
    "nested": (Split((COLOR, Sample((HASH, SMOKES)))), Split((COLOR, SMOKES))),
}
CROWD = {"color": ["red", "blue"] * 20, "word": ["cat"] * 40, "smokes": ["yes", "no", "no", "no"] * 10}


@pytest.mark.parametrize("name", CASES)
def test_figures_are_those_of_the_plan_without_text(name: str) -> None:
    """Also with people, whose text is not looked at."""
    mixed, alone = CASES[name]
    plan = Plan.of({"color": ASKED["color"], "word": WORD, "smokes": ASKED["smokes"]}, mixed, 100)
    without = Plan.of(ASKED, alone, 100)
    assert attack.examine(plan).ignorant == attack.examine(without).ignorant
    found = attack.examine(plan, CROWD, collections=2, users=40)
    other = attack.examine(without, {name: CROWD[name] for name in ASKED}, collections=2, users=40)
    assert (found.informed, found.found, found.plan) == (other.informed, other.found, plan.id)
    assert found.left_out == ("word",)
    assert "Left out: word, with too many values to guess among" in str(found)
    assert "Left out" not in str(other)
    codes = plan.encode(CROWD)
    assert attack.examine(plan, np.asarray(codes), collections=2, users=40).found == found.found


def test_text_alone_and_text_drawn_with_others_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="the plan asks for nothing else"):
        attack.examine(Plan.of({"word": WORD}, HASH, 100))
    both = Plan.of({"word": WORD, **ASKED}, Sample((HASH, COLOR, SMOKES), reported=2), 100)
    with pytest.raises(dn.InvalidParameter, match="attack a plan without the text"):
        attack.examine(both)


def test_levels_of_a_range_are_said_to_be_counted_apart() -> None:
    study = dn.Study({"age": dn.Range(0, 64, queries="ranges"), "smokes": ["yes", "no"]}, epsilon=1.0)
    found = attack.examine(study.plan(people=1000), collections=1)
    assert found.leveled == ("age",)
    assert "Levels of age count as answers of their own" in str(found)
