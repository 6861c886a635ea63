"""What the design page gives to take along: a plan, letters that let in, and a notebook that runs."""

from __future__ import annotations

import csv
import io
import json
import runpy
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.collect.intake import hash_invitation
from deniable.collect.invitations import hash_invited, read_link
from deniable.collect.letters import Addresses
from deniable.design.draft import Draft
from deniable.design.notebook import write_notebook
from deniable.design.problems import check
from deniable.design.workshop import Incomplete, Workshop
from deniable.errors import InvalidParameter
from deniable.store.counting import Arrival, bind_group
from deniable.store.store import open_store
from deniable.study import Plan
from deniable.wire import Wire
from tests.cases import check_each
from tests.design.samples import EIGHT, KINDS, TEXT
from tests.running import Run

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "notebooks.py"))
URL = "https://survey.example"
ANSWERS = {
    "sex": "male",
    "mood": 3,
    "harassed": "no",
    "income": 3000,
    "drugs": ["none"],
    "medicine": "aspirin",
    "home": (54.1, 10.2),
    "joined": 2020,
}
"""One person's answers to the eight questions."""
ROUNDS = """\
[repeat]
epsilon_first = 1.0
epsilon_forever = 2.0
rounds = 3

[attributes.mood]
scale = [1, 5]
"""
LISTED = """\
epsilon = 4.0

[attributes.works]
yes_no = true

[attributes.age]
low = 0
high = 90
step = 1
privacy = "metric"
epsilon = 0.3
missing = "value"
only_if = { works = "yes" }

[attributes.since]
dates = ["2015-01-01", "2016-12-31"]
by = "month"

[attributes.word]
alphabet = "a-z"
longest = 10
levels = false
"""


@pytest.fixture
def _no_windows() -> Iterator[None]:
    plot = pytest.importorskip("matplotlib.pyplot")
    plot.switch_backend("Agg")
    yield
    plot.close("all")


def read_plan(text: str, people: int) -> Plan:
    study = check(Draft.read(text), Path()).study
    assert study is not None
    return study.plan(people)


def run_notebook(plan: Plan) -> str:
    """All that the notebook of a plan prints, in this folder; warnings are errors."""
    plan.write("plan.json", overwrite=True)
    Path("study.ipynb").write_text(write_notebook(plan), encoding="utf-8")
    printed = [output.printed for _, output in TOOL["run_cells"](Path("study.ipynb")) if output is not None]
    return "\n".join(printed)


@pytest.mark.usefixtures("_no_windows")
def test_the_notebook_of_every_kind_of_study_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def try_study(case: tuple[str, tuple[str, ...]]) -> None:
        text, wanted = case
        printed = run_notebook(read_plan(text, 900))
        assert [words for words in wanted if words not in printed] == []

    check_each(
        try_study,
        [
            ("eight questions", (EIGHT, ("What is your sex?", "harassed by sex", "weighted"))),
            ("conditions", (KINDS, ("not applicable",))),
            ("a public list", (LISTED, ("2015-01", "aaa"))),
            ("rounds", (ROUNDS, ("earlier", "difference"))),
        ],
    )


def add_reports(plan: Plan, answers: Mapping[str, Any], *invitations: bytes) -> Sequence[str]:
    """What the store in this folder says to reports of people, with invitations or without."""
    bodies = Wire(plan.document).bodies(plan.privatize(answers, dn.seeded(1)))
    arrivals = [Arrival(plan.id, 1, (i.to_bytes(16),), (body,)) for i, body in enumerate(bodies)]
    if invitations:
        pairs = zip(arrivals, invitations, strict=True)
        arrivals = [arrival._replace(invitation=hashed) for arrival, hashed in pairs]
    with closing(open_store("sqlite:///reports.db")) as store:
        if not invitations:
            store.register(plan.document, invited=False)
        store.set_round(plan.id, 1)
        return store.add(arrivals, 0.0)


@pytest.mark.usefixtures("_no_windows")
def test_the_notebook_reads_the_reports_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = read_plan(TEXT, 900)
    assert "900 records reported" in run_notebook(plan), "these are simulated"
    answers = {"smokes": ["yes"] * 700, "age": [40] * 700, "pay": [500] * 700}
    assert set(add_reports(plan, answers)) == {"counted"}
    assert "700 records reported" in run_notebook(plan)


def test_letters_let_in_once_their_list_is_registered(run: Run, tmp_path: Path) -> None:
    Path("study.toml").write_text(EIGHT, encoding="utf-8")
    workshop = Workshop(Path("study.toml"))
    draft = Draft.read(EIGHT)
    with zipfile.ZipFile(io.BytesIO(workshop.download(draft, 900, URL, 3))) as archive:
        archive.extractall()
    folder = Path("study")
    names = ["invitations.csv", "letters.html", "plan.json", "study.ipynb"]
    assert sorted(file.name for file in folder.iterdir()) == names
    plan = Plan.read(folder / "plan.json")
    assert plan.id == read_plan(EIGHT, 900).id
    assert json.loads((folder / "study.ipynb").read_text(encoding="utf-8")) == json.loads(
        write_notebook(plan)
    )
    with (folder / "invitations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    page = (folder / "letters.html").read_text(encoding="utf-8")
    assert len(rows) == 3
    assert [row["code"] for row in rows if row["code"] not in page] == []
    assert not Path("reports.db").exists(), "nobody is let in yet"
    for _ in range(2):  # again is the same
        done = run("tokens", "study/plan.json", "--register", "study/invitations.csv")
        assert (done.code, done.out) == (0, "")
        assert "3 invitations are unused; serve the plan with --invited" in done.err
    code, stranger = hash_invitation(rows[0]["invitation"].encode()), hash_invitation(b"another")
    answers = {name: [answer] * 2 for name, answer in ANSWERS.items()}
    assert add_reports(plan, answers, code, stranger) == ["counted", "invitation"]
    done = run("tokens", "study/plan.json", "--register", "study/invitations.csv")
    assert "does not know which of these invitations were used" in done.err


def test_a_list_for_two_plans_is_registered_for_both_or_none(run: Run) -> None:
    """Also where only the second of them has reports."""
    plans = [dn.Study({"ill": ["yes", "no"]}, 1.0, title=title).plan(people=100) for title in ("A", "B")]
    files = [f"{plan.document.title}.json" for plan in plans]
    for plan, file in zip(plans, files, strict=True):
        plan.write(file)
    made = ("--count", "2", "--url", URL, "-o", "list.csv", "--store", "sqlite:///other.db")
    assert run("tokens", *files, *made).code == 0
    code = hash_invitation(b"an earlier one")
    with closing(open_store("sqlite:///reports.db")) as store:
        store.register(plans[1].document, invited=True)
        store.invite(plans[1].id, [code])
    assert add_reports(plans[1], {"ill": ["yes"]}, code) == ["counted"]
    done = run("tokens", *files, "--register", "list.csv")
    assert f"has reports of plan {plans[1].id[:12]} already" in done.err
    with closing(open_store("sqlite:///reports.db")) as store:
        assert [store.invitations_left(plan.id) for plan in plans] == [0, 0]


def test_a_list_of_a_group_is_registered_for_this_group(run: Run) -> None:
    """What is read of its links is what the store that made it has."""
    read_plan(EIGHT, 900).write("plan.json")
    options = ("--count", "2", "--url", URL, "--group", "sex=male", "-o", "list.csv")
    assert run("tokens", "plan.json", *options).code == 0
    assert "2 invitations are unused" in run("tokens", "plan.json", "--register", "list.csv").err
    plan = Plan.read("plan.json")
    for *_, link in Addresses.read_invited(Path("list.csv"))[1]:
        [invited] = read_link(link)
        assert invited.answers == ("male",)
        plain = hash_invitation(invited.token.encode())
        assert hash_invited(plan, invited) == bind_group(plain, 1)


def test_what_cannot_be_packed_or_registered_is_refused(run: Run) -> None:
    Path("study.toml").write_text(TEXT, encoding="utf-8")
    workshop, draft = Workshop(Path("study.toml")), Draft.read(TEXT)
    with pytest.raises(InvalidParameter, match="begins with http:// or https://"):
        workshop.download(draft, 900, "survey.example", 3)
    with pytest.raises(InvalidParameter, match="the number of letters"):
        workshop.download(draft, 900, URL, 20_000)
    with pytest.raises(Incomplete, match="at least one question"):
        workshop.download(Draft({"epsilon": 1.0}), 900, URL, 3)
    with zipfile.ZipFile(io.BytesIO(workshop.download(draft, 900, "", "no number"))) as archive:
        assert archive.namelist() == ["study/plan.json", "study/study.ipynb"]
    plan = read_plan(TEXT, 900)
    plan.write("plan.json")
    read_plan(EIGHT, 900).write("other.json")
    assert run("tokens", "other.json", "--count", "1", "--url", URL, "-o", "other.csv").code == 0
    Path("bare.csv").write_text("invitation\nabc\n", encoding="utf-8")
    refused = [
        ("--register other.csv", "has no invitation to plan"),
        ("--register bare.csv", "has no column"),
        ("--register none.csv", "none.csv"),
        ("--register other.csv --count 3", "--register makes no invitations"),
        ("--register other.csv --yes", "give one"),
    ]
    for options, words in refused:
        done = run("tokens", "plan.json", *options.split())
        assert (done.code > 0, words in done.err) == (True, True), done.err
