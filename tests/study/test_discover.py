"""Studies that ask for text: their plans, what is found in their reports wherever these are, and refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import psycopg
import pytest

import deniable as dn
from deniable.choose import HALF_WIDTH
from deniable.discovery import Discovery
from deniable.domain import Coarse
from deniable.engines import databases, sources
from deniable.engines.databases import Engine, EngineRows
from deniable.explain.text_questions import list_unlisted
from deniable.plan.attribute import Attribute
from tests import services

WORDS = ["cat", "horse", "hippopotamus"]
STUDY = dn.Study({"word": dn.Text("a-z", longest=7), "smokes": ["yes", "no"]}, epsilon=4.0)
AFTER = {"smokes": ["yes", "no"], "word": dn.Text("a-z", longest=7)}
PLAN = STUDY.plan(people=6000)
ANSWERS = {"word": np.repeat(WORDS, [1500, 1000, 500]), "smokes": np.tile(["yes", "no"], 1500)}
REPORTS = PLAN.privatize(ANSWERS, dn.seeded(3))


@cache
def find_all() -> Discovery:
    """What is in all reports. Not when tests are collected: every worker would compile the search then."""
    return PLAN.discover(REPORTS)


def test_a_level_is_an_attribute_and_the_question_is_the_final_group() -> None:
    assert PLAN.names == ("word to 15 bits", "word", "smokes")
    assert PLAN.mechanism.weights == (29, 71, 100)  # type: ignore[attr-defined]
    assert PLAN.loss.record == dn.mechanisms.linear(35, 4.0).loss() <= 4.0
    assert dn.Plan.from_json(PLAN.to_json()) == PLAN


def test_words_are_found_with_intervals_that_hold_them() -> None:
    assert find_all().names == ("cat", "horse", "hippopo")
    assert find_all().people == 3000
    for share, low, high in zip(
        [1 / 2, 1 / 3, 1 / 6], find_all().low_at_once, find_all().high_at_once, strict=True
    ):
        assert low < share < high
    assert any("cut to 7 letters" in note for note in find_all().sentences)


def test_reports_may_come_in_blocks() -> None:
    blocks = [
        PLAN.privatize({name: column[i::2] for name, column in ANSWERS.items()}, dn.seeded(i)) for i in (0, 1)
    ]
    assert set(PLAN.discover(blocks).names) == set(find_all().names)
    assert PLAN.discover(iter([REPORTS])).counts.tolist() == find_all().counts.tolist()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "reports.parquet"
    PLAN.write_reports(path, REPORTS)
    return path


def test_reports_may_lie_in_files_frames_and_databases(file: Path) -> None:
    table = pl.read_parquet(file).with_columns(plan=pl.lit(PLAN.id))
    database = duckdb.connect()
    database.register("reports", table.to_arrow())
    for source in (
        file,
        str(file.parent / "*.parquet"),
        table,
        table.to_pandas(),
        database.sql("FROM reports"),
    ):
        found = PLAN.discover(source)
        assert (found.names, found.counts.tolist()) == (find_all().names, find_all().counts.tolist())
        assert found.people == find_all().people
        tallies = PLAN.tally(source)
        assert tallies.tallies == PLAN.tally(REPORTS).tallies


def test_a_database_on_disk_is_read_by_its_address(file: Path) -> None:
    with duckdb.connect(str(file.parent / "study.duckdb")) as database:
        database.sql(f"CREATE TABLE answers AS SELECT *, '{PLAN.id}' AS plan FROM '{file}'")
    found = PLAN.discover(f"duckdb:///{file.parent / 'study.duckdb'}", "answers")
    assert found.counts.tolist() == find_all().counts.tolist()


@pytest.mark.long
def test_a_server_hands_its_rows_over(file: Path) -> None:
    table = pl.read_parquet(file).with_columns(plan=pl.lit(PLAN.id))
    address = services.cluster().url()
    kinds = ", ".join(f'"{name}" {"TEXT" if name == "plan" else "BIGINT"}' for name in table.columns)
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(f"CREATE TABLE words ({kinds})")
        with server.cursor().copy("COPY words FROM STDIN") as rows:
            for row in table.iter_rows():
                rows.write_row(row)
    assert PLAN.discover(address, "words").counts.tolist() == find_all().counts.tolist()


def test_an_engine_counts_the_rows_without_text_itself(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rows are wrong, by groups, and in a table with ids."""
    table = pl.read_parquet(file).with_columns(plan=pl.lit(PLAN.id)).with_row_index("row")
    day = (pl.col("row") % 2).cast(pl.Int64).alias("day")
    table = table.with_columns(day, pl.col("row").cast(pl.Int64)).cast({"smokes": pl.Int64})
    wrong = table.head(500).with_columns(smokes=pl.lit(7, dtype=pl.Int64))
    rows = pl.concat([table, wrong])
    fetched: list[int] = []

    def fetch(engine: Engine, source: str) -> EngineRows:
        made = EngineRows(engine, source)
        fetched.append(made.rows)
        return made

    monkeypatch.setattr(sources, "EngineRows", fetch)
    for given in (rows, rows.rename({"row": "id"})):
        arrow = given.to_arrow()
        inside = duckdb.connect().from_arrow(arrow)
        here, there = PLAN.tally(arrow), PLAN.tally(inside)
        assert here.n == there.n
        assert here.refused == there.refused
        for name in PLAN.names:
            assert here[name].n == there[name].n
            assert here[name].counts.tolist() == there[name].counts.tolist()
        by, by_inside = (PLAN.tally(one, by="day") for one in (arrow, inside))
        assert {key: one.n for key, one in by.items()} == {key: one.n for key, one in by_inside.items()}
    texts = int(rows.select(pl.any_horizontal(pl.col("^word.*bucket$").is_not_null()).sum()).item())
    assert fetched == [texts, texts, len(rows), len(rows)]


def test_rows_are_fetched_in_blocks_and_progress_is_shown(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block holds 100 rows here, so that memory does not grow with the 1,500 or so of a table."""
    monkeypatch.setattr(databases, "FETCHED", 100)
    table = pl.read_parquet(file).with_columns(plan=pl.lit(PLAN.id))
    texts = table.filter(pl.any_horizontal(pl.col("^word.*bucket$").is_not_null()))
    inside = duckdb.connect().from_arrow(table.to_arrow())
    shown: list[tuple[int, int]] = []
    made = PLAN.tally(inside, show=lambda done, total: shown.append((done, total)))
    assert made.tallies == PLAN.tally(REPORTS).tallies
    assert {total for _, total in shown} == {len(texts)}
    steps = np.diff([0, *(done for done, _ in shown)])
    assert steps.sum() == len(texts)
    assert steps.max() <= 100


def test_a_row_that_comes_twice_is_looked_at_once(file: Path) -> None:
    table = pl.read_parquet(file).with_columns(plan=pl.lit(PLAN.id)).with_row_index("id")
    twice = pl.concat([table, table.head(1000)]).with_columns(pl.col("id").cast(pl.Int64))
    assert PLAN.discover(twice).counts.tolist() == find_all().counts.tolist()


def test_rows_that_are_no_reports_are_not_looked_at(file: Path) -> None:
    table = pl.read_parquet(file).with_columns(plan=pl.lit(PLAN.id))
    zeros = table.filter(pl.col("word.bucket").is_not_null()).with_columns(
        pl.lit(0).cast(table.schema["word.bits.0"]).alias("word.bits.0")
    )
    tallies = PLAN.tally(pl.concat([table, zeros]))
    assert tallies.refused == {"form": len(zeros)}
    assert PLAN.discover(pl.concat([table, zeros])).counts.tolist() == find_all().counts.tolist()


@pytest.mark.long
def test_a_public_list_counts_everybody_with_a_whole_code() -> None:
    found = PLAN.discover(REPORTS, words=[*WORDS, "dog", "fish"])
    assert set(found.names) == set(find_all().names)
    assert found.n == find_all().n, "prefixes are of no use for a list"
    assert found.limit < find_all().limit
    assert found.candidates == 5


@pytest.mark.long
def test_without_levels_everybody_reports_whole_codes() -> None:
    plan = dn.Study({"word": dn.Text("a-z", longest=7, levels=False)}, epsilon=4.0).plan(people=1000)
    assert plan.names == ("word",)
    reports = plan.privatize({"word": ["cat"] * 600 + ["dog"] * 400}, dn.seeded(1))
    assert plan.discover(reports, words=["cat", "dog", "ant"]).names == ("cat", "dog")
    with pytest.raises(
        dn.InvalidParameter, match="without levels and has too many bits to search, so that only"
    ):
        plan.discover(reports)
    beside = replace(STUDY, attributes={**STUDY.attributes, "word": dn.Text("a-z", longest=7, levels=False)})
    assert beside.plan(people=1000).names == ("word", "smokes")


def test_short_texts_are_searched_without_levels() -> None:
    """Up to 30 bits all codes are counted, so that everybody reports a whole code, and decides."""
    plan = dn.Study({"word": dn.Text("a-z", longest=5)}, epsilon=4.0).plan(people=1000)
    assert plan.names == ("word",)
    assert plan == dn.Study({"word": dn.Text("a-z", longest=5, levels=False)}, epsilon=4.0).plan(people=1000)
    found = plan.discover(plan.privatize({"word": ["cat"] * 600 + ["dog"] * 400}, dn.seeded(1)))
    assert found.names == ("cat", "dog")
    assert found.n == found.people == 1000
    assert found.candidates == plan.document.attributes[0].domain.count_possible(0, 25)  # type: ignore[attr-defined]


def test_plans_whose_last_level_has_whole_codes_are_searched_as_before() -> None:
    text = dn.Text("a-z", longest=3)
    level = Coarse("word", text, 1)
    parts = dn.records.Sample((dn.mechanisms.linear(15, 4.0), dn.mechanisms.linear(15, 4.0)), weights=(21, 4))
    plan = dn.Plan.of({level.name: Attribute(level.name, level), "word": text}, parts, people=3000)
    reports = plan.privatize({"word": ["cat"] * 2000 + ["dog"] * 1000}, dn.seeded(1))
    found = plan.discover(reports)
    assert found.names == ("cat", "dog")
    assert found.candidates <= 64
    assert found.n < 0.25 * found.people, "the final group alone decides"
    listed = plan.discover(reports, words=["cat", "dog", "ant"])
    assert listed.n == 3000


def test_words_of_few_people_are_not_shown() -> None:
    found = PLAN.discover(REPORTS, least=700)
    assert found.names == ("cat", "horse")
    assert found.hidden == 1


@pytest.mark.parametrize("mechanism", ["sample", "split"])
def test_two_questions_are_told_apart_by_name(mechanism: str) -> None:
    asked = {"word": dn.Text("a-z", longest=4), "device": dn.Code(16), "smokes": ["yes", "no"]}
    study = dn.Study(asked, epsilon=12.0, mechanism=mechanism)
    plan = study.plan(people=1000)
    answers = {"word": ["cat"] * 500, "device": [7] * 500, "smokes": ["yes"] * 500}
    reports = plan.privatize(answers, dn.seeded(1))
    assert plan.loss.record <= 12.0
    assert plan.discover(reports, name="word").names == ("cat",)
    assert plan.discover(reports, name="device").names == ("0x7",)
    with pytest.raises(dn.InvalidParameter, match=r"\(word, device\): say which one is meant"):
        plan.discover(reports)
    with pytest.raises(dn.InvalidParameter, match="smokes"):
        plan.discover(reports, name="smokes")


def test_tallies_hold_no_words() -> None:
    with pytest.raises(dn.InvalidReport, match="tallies hold no text"):
        PLAN.discover(PLAN.tally(REPORTS))


def test_a_plan_without_text_has_nothing_to_find() -> None:
    plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
    with pytest.raises(dn.InvalidParameter, match=r"no question .* plan\.estimate"):
        plan.discover(plan.privatize({"smokes": ["yes"]}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"words": []}, "at least one word"),
        ({"words": ["Cat"]}, "'C', which is not in the alphabet"),
        ({"alpha": 1.5}, "alpha"),
        ({"least": -1}, "least"),
        ({"table": "reports"}, "table is for databases"),
    ],
)
def test_wrong_wishes_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises((dn.InvalidParameter, dn.InvalidValue), match=said):
        PLAN.discover(REPORTS, **options)


def test_no_reports_are_no_result() -> None:
    with pytest.raises(dn.InvalidParameter, match="no reports of 'word' yet"):
        PLAN.discover([])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"missing": "value"}, "ask a yes/no question beside it"),
        ({"mechanism": "faked"}, "fakes hide what is reported"),
        ({"epsilon": None, "epsilon_first": 1.0, "epsilon_forever": 2.0}, "devices do not keep its hashes"),
        ({"together": [("word", "smokes")]}, "'word'"),
        ({"known": ["word"]}, "leave it out of known"),
        ({"objective": dn.Objective(influence_cap=5)}, "no choice of protocols; leave the caps out"),
        ({"attributes": AFTER, "only_if": {"word": {"smokes": "yes"}}}, "ask a yes/no question"),
        ({"protocol": "grr"}, "a linear hash is the only one"),
    ],
)
def test_what_does_not_go_with_text_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=said):
        replace(STUDY, **changes).plan(people=1000)


def test_a_plan_gives_no_advice_that_is_refused_for_text() -> None:
    text = " ".join(PLAN.explain().split())
    assert "What helps: invitations, fewer questions, or a larger epsilon" in text
    assert "A table takes two questions whose values are listed" in text
    alone = dn.Study({"word": dn.Text("a-z", longest=5)}, epsilon=1.0).plan(people=1000)
    assert "depends on another" not in alone.explain()
    with pytest.raises(dn.InvalidValue, match="answers to 'word' are missing") as refused:
        alone.privatize({"word": [None, "cat"]}, dn.seeded(1))
    assert "missing='value'" not in str(refused.value)
    with pytest.raises(dn.InvalidParameter, match=r"^'word': .*plan\.discover"):
        alone.estimate(alone.tally(alone.privatize({"word": ["cat"] * 9}, dn.seeded(1))))


def test_a_guess_of_text_is_between_two_answers() -> None:
    """The better of two buckets at the other end of every hash, and not one of 2^35 texts."""
    part = dn.mechanisms.linear(35, 4.0)
    keep = part.keep / 2**64
    other = (1 - keep) / (part.g - 1)
    told = sum([max(keep, other)] * 2 + [other] * (part.g - 2)) / 2
    assert part.tell_two() == pytest.approx(told)
    question = list_unlisted(PLAN.document)["word"]
    assert question.tell_two() == pytest.approx(0.5 * told + 0.5 * 0.5)
    lines = PLAN.explain().splitlines()
    [row] = [line for line in lines if line.startswith("word  ") and "not listed" in line]
    assert row.split()[4:] == [f"{50 * told + 25:.1f}", "%", f"{100 * told:.1f}", "%", "50.0", "%", "6"]
    assert "not listed: the guess is which of two answers it is, at most" in lines


def test_the_limit_falls_with_the_root_of_people_and_a_list_finds_more() -> None:
    question = list_unlisted(PLAN.document)["word"]
    few, many = (question.find_limit(question.expect(n)) for n in (10**5, 10**7))
    assert few / many == pytest.approx(10, rel=0.1)
    assert "a public list of 1,000 would find" in question.explain_limit(10**5)


def test_a_missing_word_may_be_a_random_code() -> None:
    plan = replace(STUDY, missing="random").plan(people=1000)
    answers = {"word": ["cat", ""] * 500, "smokes": ["yes"] * 1000}
    found = plan.discover(plan.privatize(answers, dn.seeded(1)))
    assert found.names == ("cat",)
    assert found.low_at_once[0] < 0.5 < found.high_at_once[0]


def test_a_plan_says_what_it_will_find() -> None:
    text = " ".join(PLAN.explain().split())
    question = list_unlisted(PLAN.document)["word"]
    limit = 100 * question.find_limit(question.expect(6000))
    assert f"'word': texts with a share above {limit:.2g} % are found about half of the time" in text
    assert "a public list of 1,000 would find" in text
    assert "cut to 7 letters" in text
    assert "clear up to 1.25 %, useful up to 2.5 %, rough up to 5 %" in text
    word, smokes = PLAN.precisions()
    assert (word.attribute, word.describe(), word.format_margin()) == (
        "word",
        "values that are found",
        f"from {limit:.2g} %",
    )
    assert 100 * word.margin == pytest.approx(limit)
    stated = {"clear": 0.0125, "useful": 0.025, "rough": 0.05, "noise": 0.06}
    for use, share in stated.items():
        assert replace(word, stderr=0.999 * share / HALF_WIDTH).use == use
    assert smokes.attribute == "smokes"
    assert "34,359,738,368" not in text


def test_the_other_questions_are_estimated_and_text_says_what_to_do() -> None:
    result = PLAN.estimate(PLAN.tally(REPORTS))
    assert list(result) == ["smokes"]
    assert list(result.unreported) == ["word"]
    assert result.unreported["word"].n > find_all().n
    with pytest.raises(KeyError, match=r"plan\.discover"):
        _ = result["word"]
    assert "plan.discover" in str(result)


def test_everything_is_shown_of_a_plan_with_text() -> None:
    assert "linear hash" in PLAN.describe()
    assert "wang2017" in PLAN.cite()
    assert PLAN.labels["word"] == ()
    assert len(PLAN.attribute("word").privatize(["cat"], dn.seeded(1))) == 1
    found = dn.attack.success(PLAN)
    assert found.left_out == ("word",)
    assert "word" not in found
    assert "Left out: word, with too many values to guess among" in " ".join(str(found).split())
    assert found.to_dict()["left_out"] == ["word"]
    assert dn.attack.examine(PLAN).left_out == ("word",)


def test_text_alone_has_no_shares() -> None:
    plan = dn.Study({"word": dn.Text("a-z", longest=5)}, epsilon=4.0).plan(people=1000)
    tallies = plan.tally(plan.privatize({"word": ["cat"] * 100}, dn.seeded(1)))
    with pytest.raises(dn.InvalidParameter, match=r"'word': .*plan\.discover"):
        plan.estimate(tallies)
    assert "values that are found" in plan.explain()


def test_a_missing_word_is_named_by_its_question() -> None:
    with pytest.raises(dn.InvalidValue, match=r"1 of 2 answers to 'word' are missing.*missing='random'"):
        PLAN.encode({"word": ["cat", ""], "smokes": ["yes", "no"]})
    with pytest.raises(dn.InvalidValue, match=r"row 1, .*the answer to 'word' .*did you mean '"):
        PLAN.encode({"word": ["cat", "Cat"], "smokes": ["yes", "no"]})


def test_people_needed_follow_from_the_limit() -> None:
    study = dn.Study({"word": dn.Text("a-z", longest=5)}, epsilon=2.0)
    [one] = study.plan(people=10**6).precisions()
    assert study.people_needed(one.stderr) == pytest.approx(10**6, rel=0.1)
    [few] = study.plan(people=10).precisions()
    assert few.margin > 1
    assert "levels" not in str(dn.Study({"id": dn.Code(16, levels=False)}, epsilon=1.0))


@pytest.mark.parametrize("levels", [True, False])
def test_nothing_is_said_of_shares_above_all_people(levels: bool) -> None:
    text = " ".join(
        dn.Study({"id": dn.Code(30, levels=levels)}, epsilon=0.01).plan(people=1000).explain().split()
    )
    assert "Even a value of 'id' that everybody has is found at most half of the time." in text
    assert "values that are found no share is enough too noisy to read" in text
    assert "is found at most half of the time. A public list does not" in text
    assert "e+03" not in text
    assert "100 %" not in text


def test_a_list_may_find_what_levels_do_not() -> None:
    [question] = list_unlisted(dn.Study({"id": dn.Code(50)}, epsilon=1.0).plan(people=200).document).values()
    said = question.explain_limit(200)
    assert "is found at most half of the time. A public list of 1,000 would" in said
