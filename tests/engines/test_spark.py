"""Counts by Spark: on this machine, and by night on a cluster of two workers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.engines.spark import list_names, open_session
from tests import services, spark
from tests.cases import by_night
from tests.engines.test_counts import count_files, require

ALONE, TOGETHER = [0, 5, 7], [2, 3]
"""Random tables that are counted one by one, and at once: of every kind of record mechanism, and of most
shapes of reports.
"""


@pytest.fixture(scope="module")
def driver() -> Iterator[spark.SparkDriver]:
    made = spark.cluster().start_driver()
    yield made
    made.stop()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[spark.SparkDriver]:
    """A driver that does its tasks itself: one process of Java in place of six."""
    spark.require_spark()
    made = spark.SparkDriver("local[2]", tmp_path)
    yield made
    made.stop()


@by_night(
    ("where", "seeds"),
    [("local", [7]), ("local", ALONE), ("driver", ALONE)],
    ("local", ALONE),
    ("driver", ALONE),
    ids=str,
)
def test_spark_counts_the_same(
    where: str, seeds: list[int], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    driver = request.getfixturevalue(where)
    expected = {}
    for seed in seeds:
        (tmp_path / str(seed)).mkdir()
        expected[seed] = count_files(seed, tmp_path / str(seed))
    assert driver.call("count", folder=str(tmp_path), seeds=seeds) == expected
    wrong = driver.call("count", folder=str(tmp_path), seeds=[7], fault=[" >> ", " >> 1 + "])
    assert wrong[7] != expected[7]


@pytest.mark.long
def test_two_tables_are_counted_at_once(driver: spark.SparkDriver, tmp_path: Path) -> None:
    """In one session. Under one name, one of them would count the other's table, or none."""
    expected = {}
    for seed in TOGETHER:
        (tmp_path / str(seed)).mkdir()
        expected[seed] = count_files(seed, tmp_path / str(seed))
    given = {"folder": str(tmp_path), "seeds": TOGETHER}
    assert driver.call("count together", **given) == expected
    assert driver.call("count together", **given, view="reports") != expected


WAITS = """
import deniable.engines.spark as spark
spark._WORKS = 2
try:
    with spark.open_session({address!r}):
        print("opened")
except Exception as problem:
    print(problem)
"""


@pytest.mark.long
def test_a_cluster_that_gives_no_executor_is_refused(driver: spark.SparkDriver) -> None:
    """The driver of the other tests has all cores. Without a limit, a second one would wait for them."""
    driver.call("run", commands=[])
    running = spark.cluster()
    script = WAITS.format(address=running.address)
    environment = spark.environment_in(running.folder) | {"JAVA_TOOL_OPTIONS": spark.QUICK}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=spark.SECONDS
    )
    assert f"the cluster at {running.address} gave no executor in 2 seconds" in done.stdout, done.stderr


@pytest.mark.long
def test_a_worker_dies_while_it_counts(driver: spark.SparkDriver, tmp_path: Path) -> None:
    """Its tasks run again on the other worker, and the counts are the same.

    No time decides: a task of each worker has begun when one of them is killed, and none ends before. Other
    tests need one worker only, so that any order will do.
    """
    signs, folder = tmp_path / "signs", tmp_path / "7"
    signs.mkdir()
    folder.mkdir()
    expected = count_files(7, folder)
    running = driver.begin("count slowly", folder=str(tmp_path), seed=7, signs=str(signs))
    driver.wait_for(lambda: len(find_executors(signs)) == 2 or driver.is_done(running))
    assert not driver.is_done(running), driver.finish(running)
    spark.cluster().kill_worker(min(find_executors(signs)))
    (signs / "go").touch()
    assert driver.finish(running) == expected
    begun = [task.stem.rsplit("-", 1)[0] for task in signs.glob("*.task")]
    assert len(begun) > len(set(begun)), "no task was begun again"


PEOPLE = 20_000


def make_people(folder: Path) -> tuple[dn.Plan, dict[str, str]]:
    """A plan, and a table of answers, some of them missing, with the names of people."""
    asked = {
        "color": ["red", "green", "blue"],
        "smokes": ["yes", "no"],
        "age.years": dn.Range(0, 100, step=10),
    }
    study = dn.Study(asked, epsilon=2.0, missing={"color": "random"}, known=["smokes"])
    plan = study.plan(people=PEOPLE)
    generator = np.random.default_rng(5)
    colors = np.array(["red", "green", "blue", None])[generator.choice(4, PEOPLE, p=[0.5, 0.2, 0.1, 0.2])]
    people = pa.table(
        {
            "name": [f"person {i}" for i in range(PEOPLE)],
            "color": colors.tolist(),
            "smokes": np.array(["yes", "no"])[generator.integers(0, 2, PEOPLE)],
            "age.years": generator.integers(0, 100, PEOPLE),
        }
    )
    parquet.write_table(people, folder / "people.parquet")
    plan.write(folder / "plan.json")
    return plan, {"plan": str(folder / "plan.json"), "answers": str(folder / "people.parquet")}


@pytest.mark.long
def test_reports_are_made_once(driver: spark.SparkDriver, tmp_path: Path) -> None:
    """Every action sees the same reports; those of a dataframe that is computed again are others.

    20,000 reports of 10 ages are equal twice with a chance below 2 ** -10,000.
    """
    plan, given = make_people(tmp_path)
    found = driver.call("privatize", **given, into=str(tmp_path / "reports"))
    first, second = found["kept"]
    assert first == second
    assert len(first) == PEOPLE
    assert found["lazy"][0] != found["lazy"][1]
    assert set(found["columns"]) == set(list_names(plan.table_form))
    assert found["tally"].n == found["written"].n == PEOPLE
    assert plan.tally(tmp_path / "reports") == found["written"]
    odd = sum(len(f"person {i}") % 2 for i in range(PEOPLE))
    assert found["days"] == {0: PEOPLE - odd, 1: odd}
    assert "'color' holds answers, which reports protect" in found["answers"]
    assert "the column 'hour' beside reports must hold text" in found["times"]
    shares = plan.estimate(found["written"])["color"]
    assert abs(shares.frequencies[0] - (0.5 + 0.2 / 3)) < 6 * shares.stderr[0]
    assert "exists; name a new folder" in found["again"]
    assert "take their words from their own operating systems" in found["words"]
    assert found["unknown"].startswith("InvalidValue: ")
    assert "the answer to 'color' is not in its domain (3 values: red, green, blue)" in found["unknown"]
    assert "blu'" not in found["unknown"]
    assert not (tmp_path / "reports-refused").exists()
    assert "'color' is not a column of the table" in found["absent"]
    assert found["views"] == []


@pytest.mark.long
def test_the_shell_works_on_a_cluster(driver: spark.SparkDriver, tmp_path: Path) -> None:
    _, given = make_people(tmp_path)
    plan, into, address = given["plan"], str(tmp_path / "reports"), spark.cluster().address
    (made, wrote), (seen, shown), (refused, why) = driver.call(
        "run",
        commands=[
            ["privatize", plan, given["answers"], "--engine", "spark", "--master", address, "-o", into],
            ["estimate", plan, "--from", address, "--table", into],
            ["estimate", plan, "--from", address, "--table", "lake.reports"],
        ],
    )
    assert made == 0, wrote
    assert "wrote 20,000 reports" in wrote
    assert "were left out: name\nnext: deniable estimate" in wrote
    assert seen == 0, shown
    assert "red" in shown
    assert refused != 0
    assert "lake" in why
    assert "Traceback" not in why


@pytest.mark.long
def test_text_is_found_on_a_cluster(driver: spark.SparkDriver, tmp_path: Path) -> None:
    """The cluster counts the rows without text, and hands over those with it; reports are seeded."""
    study = dn.Study({"word": dn.Text("a-z", longest=4), "smokes": ["yes", "no"]}, epsilon=4.0)
    plan = study.plan(people=2000)
    answers = {"word": ["cat", "dog"] * 1000, "smokes": ["yes"] * 2000}
    reports = plan.privatize(answers, dn.seeded(1))
    plan.write(tmp_path / "plan.json")
    plan.write_reports(tmp_path / "reports.parquet", reports)
    table = parquet.read_table(tmp_path / "reports.parquet")
    parquet.write_table(
        table.append_column("plan", pa.array([plan.id] * len(table))), tmp_path / "table.parquet"
    )
    where = ("--from", spark.cluster().address, "--table", str(tmp_path / "table.parquet"))
    commands = [[verb, str(tmp_path / "plan.json"), *where] for verb in ("discover", "estimate")]
    (found, shown), (seen, shares) = driver.call("run", commands=commands)
    assert (found, seen) == (0, 0), shown + shares
    assert shown == f"{plan.discover(reports)}\n"
    assert "2,000 records reported" in shares


def test_an_address_without_a_master_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require("pyspark")
    with pytest.raises(dn.DeniableError, match="no Spark master answers at"):
        _open(f"spark://127.0.0.1:{services.free_port()}")
    with pytest.raises(dn.InvalidParameter, match="is spark://host:7077, got 'spark://nowhere'"):
        _open("spark://nowhere")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(dn.DeniableError, match="install Java 17"):
        _open("spark://127.0.0.1:7077")


def _open(address: str) -> None:
    with open_session(address):
        pass


@pytest.mark.long
def test_tasks_that_fail_leave_no_reports(driver: spark.SparkDriver, tmp_path: Path) -> None:
    """Each task fails once, after its first reports; everybody has one report in the folder, and nothing else
    is left there.
    """
    plan, given = make_people(tmp_path)
    signs, into = tmp_path / "signs", tmp_path / "reports"
    signs.mkdir()
    driver.call("privatize again", **given, into=str(into), signs=str(signs))
    assert len(list(signs.iterdir())) == 2
    assert plan.tally(into).n == PEOPLE
    assert {path.name[:4] for path in into.iterdir() if not path.name.startswith(".")} == {"_SUC", "part"}


def find_executors(signs: Path) -> set[int]:
    """The processes whose tasks have begun."""
    return {int(task.read_text()) for task in signs.glob("*.task")}
