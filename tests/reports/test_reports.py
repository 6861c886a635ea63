"""Reports and tallies of a plan in Python: what is accepted, what is refused, and how it is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.errors import FileMissing
from deniable.frames import frames
from deniable.randomness.simulated import fixed
from deniable.reports import Reports, Tallies
from deniable.study import Plan
from deniable.study.study import Study
from deniable.wire import Wire

ASKED: dict[str, Any] = {"color": ["red", "green", "blue"], "age": {"low": 0, "high": 100, "step": 10}}
ONCE = Study(ASKED, epsilon=1.0, title="Colors").plan(1000)
AGAIN = Study(ASKED, epsilon_first=1.0, epsilon_forever=1.002, rounds=3, protocol="l_grr").plan(1000)


int_like: Any = np.int64


def answers(n: int, seed: int = 1) -> pd.DataFrame:
    numbers = np.random.default_rng(seed)
    return pd.DataFrame(
        {"color": numbers.choice(["red", "green", "blue"], n), "age": numbers.integers(0, 100, n)}
    )


def test_a_study_takes_what_a_file_says_and_a_file_what_python_says() -> None:
    study = Study({"age": {"low": 0, "high": 100, "step": 10}}, epsilon=1)
    assert study == Study({"age": dn.Range(0, 100, step=10)}, epsilon=1)
    assert study == Study.from_dict({"epsilon": 1, "attributes": {"age": dn.Range(0, 100, step=10)}})
    with pytest.raises(dn.InvalidParameter, match=r"attributes.age.protocol: an attribute has values"):
        Study({"age": {"low": 0, "high": 100, "step": 10, "protocol": "grr"}}, epsilon=1)


@pytest.mark.parametrize("people", [1000, np.int64(1000), np.int32(1000), 1e3, np.float64(1000)])
def test_people_are_any_whole_number(people: Any) -> None:
    study = Study(ASKED, epsilon=1.0, title="Colors")
    assert study.plan(people).id == ONCE.id
    assert type(study.plan(people).document.people) is int
    again = Study(ASKED, epsilon_first=1.0, epsilon_forever=2.0, rounds=int_like(3)).plan(people)
    assert Plan.from_json(again.to_json()) == again
    mechanism = dn.smp([3, 10, 4], 1.0, attributes=int_like(2))
    three = {**ASKED, "size": list("SMLX")}
    assert Plan.from_json(Plan.of(three, mechanism, people).to_json()).mechanism == mechanism


@pytest.mark.parametrize("people", [0, -1, 1.5, float("inf"), float("nan"), True, "1000", None])
def test_other_numbers_of_people_are_refused(people: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="people must be an integer"):
        Study(ASKED, epsilon=1.0).plan(people)


def test_reports_come_alone_or_in_blocks(tmp_path: Path) -> None:
    blocks = [ONCE.privatize(answers(300, seed), dn.seeded(seed)) for seed in (1, 2, 3)]
    total = ONCE.tally(blocks)
    assert total == ONCE.tally(iter(blocks)) == sum(ONCE.tally(block) for block in blocks)
    assert total.n == 900
    assert ONCE.tally([]).n == 0
    assert ONCE.write_reports(tmp_path / "one.parquet", blocks[0]) == 300
    assert ONCE.write_reports(tmp_path / "all.parquet", blocks) == 900
    assert ONCE.tally(ONCE.read_reports(tmp_path / "all.parquet")) == total
    with pytest.raises(TypeError):
        total + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        1 + total
    with pytest.raises(TypeError):
        total - 1  # type: ignore[operator]


def test_nothing_is_overwritten_unless_it_is_said(tmp_path: Path) -> None:
    reports = ONCE.privatize(answers(10), dn.seeded(1))
    plan, file = tmp_path / "plan.json", tmp_path / "reports.parquet"
    plan.write_bytes(b"precious")
    file.write_bytes(b"precious")
    with pytest.raises(
        dn.InvalidParameter, match=r"plan.json exists already; choose another name, or say overwrite=True"
    ):
        ONCE.write(plan)
    with pytest.raises(dn.InvalidParameter, match=r"reports.parquet exists already"):
        ONCE.write_reports(file, reports)
    assert plan.read_bytes() == file.read_bytes() == b"precious"
    ONCE.write(plan, overwrite=True)
    ONCE.write_reports(file, reports, overwrite=True)
    assert Plan.read(plan) == ONCE
    assert ONCE.tally(ONCE.read_reports(file)).n == 10


def test_what_is_taken_for_something_else_is_refused(tmp_path: Path) -> None:
    reports = ONCE.privatize(answers(10), dn.seeded(1))
    with pytest.raises(dn.InvalidParameter, match="words come from a source such as"):
        ONCE.privatize(answers(3), 7)  # type: ignore[call-overload]
    with pytest.raises(dn.InvalidReport, match=r"plan.estimate\(plan.tally\(reports\)\), got Reports"):
        ONCE.estimate(reports)  # type: ignore[call-overload]
    wrong: Any
    with pytest.raises(dn.InvalidReport, match="if it holds answers, privatize them first"):
        ONCE.tally(answers(3))
    for wrong in (7, [1, 2], reports.records):
        with pytest.raises(dn.InvalidReport, match=r"what plan.privatize, .* or client.report give, got"):
            ONCE.tally(wrong)
        with pytest.raises(dn.InvalidReport, match="reports are what"):
            ONCE.write_reports(tmp_path / "r.parquet", wrong)
    assert not list(tmp_path.iterdir())


def test_files_that_were_mixed_up_are_named(tmp_path: Path) -> None:
    study, plan = tmp_path / "study.toml", ONCE.write(tmp_path / "plan.json")
    study.write_text("epsilon = 1.0\n[attributes]\na = ['x', 'y']\n", encoding="utf-8")
    with pytest.raises(
        dn.InvalidPlan, match=r"study.toml is a study, not a plan; make one: Study.read\('study.toml'\).plan"
    ):
        Plan.read(study)
    with pytest.raises(dn.InvalidParameter, match=r"plan.json is a plan, not a study; Plan.read reads it"):
        Study.read(plan)


def test_short_to_look_at() -> None:
    reports = ONCE.privatize(answers(1500), dn.seeded(1))
    result = ONCE.estimate(ONCE.tally(reports))
    assert (reports.n, len(reports)) == (1500, 1500)
    assert repr(reports) == f"<Reports of 1,500 records for plan {ONCE.id[:12]}>"
    assert repr(ONCE) == f"<Plan {ONCE.id[:12]} · Colors: 2 attributes, 1,000 people, loss 1 per record>"
    assert repr(result) == f"<Result of 1,500 records for plan {ONCE.id[:12]}: color, age>"
    assert "1 report, 95 % intervals" in str(dn.grr(2, 1.0).estimate(dn.Tally(1, np.array([0, 1]))))


def test_a_refused_answer_is_named_by_its_row() -> None:
    table = {"color": ["red", "green", "rad", "rod"], "age": [1, 2, 3, 400]}
    with pytest.raises(
        dn.InvalidValue,
        match=r"^row 2, counting from 0: the answer to 'color' is not in its domain \(3 values: [^']*\)$",
    ):
        ONCE.privatize(table)
    for column in ([1, 2, 3, 400], np.array([1, 2, 3, 400]), pd.Series([1, 2, 3, 400], index=list("abcd"))):
        with pytest.raises(dn.InvalidValue, match=r"^row 3, counting from 0: the answer to 'age' [^4]*$"):
            ONCE.privatize({"color": ["red"] * 4, "age": column})
    with pytest.raises(dn.InvalidValue, match=r"^'rad' is not a value"):
        ONCE.privatize([{"color": "rad", "age": 1}])
    with pytest.raises(
        dn.InvalidValue, match="2 of 4 answers to 'color' are missing, the first in row 1, counting from 0"
    ):
        ONCE.privatize({"color": ["red", None, "red", ""], "age": [1] * 4})


@pytest.mark.parametrize("words", [None, dn.seeded(7), dn.randomness.system(), fixed([1, 2, 3])])
def test_a_plan_that_asks_again_needs_words_that_remember(words: dn.randomness.Words | None) -> None:
    with pytest.raises(dn.InvalidParameter, match="every person's first answer must be kept"):
        AGAIN.privatize(answers(10), words)


def by_person(reports: Reports, names: list[str]) -> dict[str, tuple[int, int]]:
    """Which attribute each person reported, and what."""
    assert reports.records.reporters is not None
    pairs = zip(reports.records.reporters, reports.records.columns, strict=True)
    return {
        names[who]: (j, int(one))
        for j, (whose, column) in enumerate(pairs)
        for who, one in zip(whose, column, strict=True)
    }


def test_what_is_kept_follows_people() -> None:
    """Here nearly all noise is kept, so that nearly all reports of a person are the same."""
    people, names = answers(2000), [f"p{i}" for i in range(2000)]
    shuffled = np.random.default_rng(5).permutation(2000)[:1500]
    later = [names[i] for i in shuffled]
    one = by_person(AGAIN.privatize(people, dn.remembering(7, round=1), people=names), names)
    two = by_person(
        AGAIN.privatize(people.iloc[shuffled], dn.remembering(7, round=2), people=pd.Series(later)), later
    )
    rows = by_person(AGAIN.privatize(people.iloc[shuffled], dn.remembering(7, round=2)), later)
    assert all(one[name][0] == two[name][0] for name in later)
    assert np.mean([one[name] == two[name] for name in later]) > 0.95
    assert np.mean([one[name] == rows[name] for name in later]) < 0.5
    numbers = by_person(AGAIN.privatize(people, dn.remembering(7, round=1), people=range(2000)), names)
    texts = by_person(
        AGAIN.privatize(people, dn.remembering(7, round=1), people=[str(i) for i in range(2000)]), names
    )
    assert numbers == texts, "a number is known by its text, as in a file"
    with pytest.raises(dn.InvalidParameter, match="round must be an integer from 1 to 3, got 4"):
        AGAIN.privatize(people, dn.remembering(7, round=4))


@pytest.mark.parametrize(
    ("people", "reason"),
    [
        (["a", "b"], "there are 3 rows, and 2 names"),
        (["a", "b", "a"], "row 2, counting from 0: person 'a' answered already .row 0"),
        (["a", None, "c"], "row 1, counting from 0: the person has no name"),
        ("abc", "must be a list"),
    ],
)
def test_people_who_cannot_be_distinguished_are_refused(people: Any, reason: str) -> None:
    with pytest.raises(dn.InvalidValue, match=reason):
        AGAIN.privatize(answers(3), dn.remembering(7), people=people)
    with pytest.raises(dn.InvalidParameter, match="are not kept by person"):
        ONCE.privatize(answers(3), dn.seeded(7), people=[1, 2, 3])


def test_rounds_of_a_seed_are_reproducible_and_differ() -> None:
    def made(seed: int, number: int) -> Tallies:
        return AGAIN.tally(AGAIN.privatize(answers(500), dn.remembering(seed, round=number)))

    assert made(7, 1) == made(7, 1)
    assert made(7, 1) != made(7, 2)
    assert made(7, 1) != made(8, 1)
    with pytest.raises(dn.InvalidParameter, match="not both"):
        dn.remembering(7, dn.seeded(1), round=2)
    with pytest.raises(dn.InvalidParameter, match="round must be an integer of at least 1"):
        dn.remembering(7, round=0)


def test_a_dataframe_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ONCE.estimate(ONCE.tally(ONCE.privatize(answers(100), dn.seeded(1))))
    wrong: Any = "panda"
    with pytest.raises(dn.InvalidParameter, match="did you mean 'pandas'"):
        result.frame(backend=wrong)
    monkeypatch.setattr(frames, "find_spec", lambda _name: None)
    for frame in (result.frame, result["color"].frame):
        with pytest.raises(dn.InvalidParameter, match="pandas is not installed; pip install pandas"):
            frame(backend="pandas")


def test_a_plot_of_one_attribute_is_the_estimates() -> None:
    result = ONCE.estimate(ONCE.tally(ONCE.privatize(answers(100), dn.seeded(1))))
    plot: Any = result.plot
    with pytest.raises(dn.InvalidParameter, match=r"'colr' is not an attribute .*did you mean 'color'"):
        plot("colr")
    with pytest.raises(dn.InvalidParameter, match=r"result\['color'\]\.plot\(\) draws one"):
        plot("color")
    assert result["color"].plot().axes


def test_files_that_are_not_there_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """They ended in Python's own error, which does not say what writes such a file, nor that a name is
    misspelt.
    """
    path = tmp_path / "reports.parquet"
    with pytest.raises(
        FileMissing,
        match=r"there is no file .*reports\.parquet; plan\.write_reports, or `deniable privatize`",
    ):
        ONCE.tally(ONCE.read_reports(path))
    ONCE.write_reports(path, ONCE.privatize(answers(10)))
    with pytest.raises(FileMissing, match=r"there is no file .*; did you mean 'reports\.parquet'\?"):
        dn.attack.guess(ONCE, tmp_path / "report.parquet")
    with pytest.raises(FileMissing, match="is a folder; name a file in it"):
        list(ONCE.read_reports(tmp_path))
    with pytest.raises(FileMissing, match="`deniable plan`, writes one"):
        Plan.read(tmp_path / "nowhere" / "p.json")
    with pytest.raises(FileMissing, match="`deniable init` writes an example"):
        Study.read(tmp_path / "s.toml")
    with pytest.raises(FileNotFoundError):  # as it was for who caught that
        Study.read("nothing.toml")


def test_what_is_not_a_tally_is_refused_with_what_to_do(tmp_path: Path) -> None:
    wrong: list[Any] = [tmp_path / "reports.parquet", str(tmp_path / "reports.parquet")]
    for given in wrong:
        with pytest.raises(FileMissing, match=r"there is no file .*; name files of reports"):
            ONCE.tally(given)
        with pytest.raises(dn.InvalidReport, match=r"read a file of them: plan\.tally\(plan\.read_reports\("):
            ONCE.mle(given, "age")


def test_answers_are_not_reports() -> None:
    plan = Study({"color": ["red", "blue"]}, epsilon=1.0).plan(people=100)
    with pytest.raises(dn.InvalidReport, match="got dict"):
        plan.tally({"color": ["red"]})


def test_reports_are_counted_as_clients_send_them() -> None:
    sent = [dn.Client(ONCE, fresh=True).report({"color": "red", "age": 34}) for _ in range(3)]
    wire = Wire(ONCE.document)
    expected = ONCE.tally(wire.reports([report.body for report in sent]))
    raw = [sent[0], sent[1].to_bytes(), wire.to_json(sent[2])]
    for reports in (sent, tuple(sent), iter(sent), raw, sent + raw):  # an id counts once
        assert ONCE.tally(reports) == expected
    assert ONCE.tally(sent[0]).n == 1
    other = dn.Client(AGAIN, secret=bytes(32), plan_cap=14.0).report({"color": "red", "age": 34}, 1)
    with pytest.raises(dn.InvalidReport, match="the report was made for plan"):
        ONCE.tally([*sent, other])
    with pytest.raises(dn.InvalidReport, match="here as a client sends them, got int among them"):
        ONCE.tally([*sent, 7])


def test_reports_that_are_sent_in_two_rounds_are_not_added_up() -> None:
    client = dn.Client(AGAIN, secret=bytes(32), plan_cap=14.0)
    first, second = (client.report({"color": "red", "age": 34}, round=number) for number in (1, 2))
    assert [AGAIN.tally([report]).round for report in (first, second)] == [1, 2]
    with pytest.raises(dn.InvalidReport, match="the same people answered in rounds 1 and 2"):
        AGAIN.tally([first, second])
