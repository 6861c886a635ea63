"""Advice on the design page: the numbers of Python, changes written into drafts, and undone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import deniable as dn
from deniable.advise.changes import Change, apply_change
from deniable.design.app import Designer
from deniable.design.draft import Draft
from deniable.design.rewrite import rewrite_draft
from deniable.design.workshop import Stale, Workshop
from deniable.errors import InvalidParameter
from deniable.study.study import Study
from tests.collect.journeys import DESK
from tests.design.test_app import HOST, Client
from tests.design.test_page import designing, opened

EIGHT = """\
# Eight sensitive questions.
#   deniable plan study.toml --people 2000 -o plan.json
epsilon = 1.0  # at first
together = [["sex", "harassed"]]

[survey]
pages = [["sex", "harassed", "drugs", "town"], ["age", "income", "stress", "media"]]

[attributes.sex]
values = ["female", "male"]
importance = 2

[attributes.harassed]
yes_no = true

[attributes.drugs]
yes_no = true

[attributes.town]
values = ["a", "b", "c", "d", "e", "f"]
labels = { de = ["A", "B", "C", "D", "E", "F"] }
other = true

[attributes.age]
low = 0
high = 80
step = 10

[attributes.income]
low = 0
high = 10_000
mean = true

[attributes.stress]
scale = [1, 5]
ends = ["none", "much"]

[attributes.media]
several = ["tv", "radio", "web", "paper", "talk", "none"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(EIGHT, encoding="utf-8")
    return path


CHANGES = [
    Change("dropped", 5, ("town",)),
    Change("apart", 3.5, ("media",)),
    Change("dropped", 5, ("sex",)),
    Change("known", 2, ("sex",)),
    Change("coarser", 2, ("town",), 3, 6),
    Change("coarser", 2, ("age",), 4, 8),
    Change("coarser", 2, ("media",), 3, 6),
    Change("mean", 1.5, ("stress",)),
    Change("mean", 1.5, ("age",)),
    Change("epsilon", 3, (), 2.0, 1.0),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.kind} {' '.join(change.questions)}")
def test_every_change_is_written_as_the_study_that_was_planned(file: Path, change: Change) -> None:
    before = Study.read(file)
    after = apply_change(before, change)
    assert after != before
    draft = rewrite_draft(Draft.read(EIGHT), before, after, file.parent)
    file.write_text(text := draft.write(EIGHT), encoding="utf-8")
    assert Study.read(file) == after
    assert "# at first" in text


def test_repeated_studies_raise_both_epsilons(tmp_path: Path) -> None:
    text = '[repeat]\nepsilon_first = 0.5 # fresh\nepsilon_forever = 1\n[attributes]\na = ["x", "y"]\n'
    (file := tmp_path / "study.toml").write_text(text, encoding="utf-8")
    before = Study.read(file)
    after = apply_change(before, Change("epsilon", 3, (), 1.0, 0.5))
    assert (after.epsilon_first, after.epsilon_forever) == (1.0, 2.0)
    written = rewrite_draft(Draft.read(text), before, after, tmp_path).write(text)
    assert written == text.replace("0.5", "1.0").replace("forever = 1", "forever = 2.0")


def test_a_study_of_a_metric_question_alone_has_no_epsilon_for_all(tmp_path: Path) -> None:
    age = '[attributes.age]\nlow = 0\nhigh = 60\nstep = 10\nprivacy = "metric"\nepsilon = 0.02\n'
    text = f'epsilon = 1 # for the town\n[attributes.town]\nvalues = ["a", "b", "c"]\n{age}'
    (file := tmp_path / "study.toml").write_text(text, encoding="utf-8")
    after = apply_change(before := Study.read(file), Change("dropped", 5, ("town",)))
    file.write_text(rewrite_draft(Draft.read(text), before, after, tmp_path).write(text), encoding="utf-8")
    assert Study.read(file) == after


def test_a_change_that_a_file_cannot_say_is_refused(file: Path) -> None:
    before = Study.read(file)
    for after in (dn.Study({"other": ["a", "b"]}, 1.0), replace(before, title="Another one")):
        with pytest.raises(InvalidParameter, match="cannot be written into this file"):
            rewrite_draft(Draft.read(EIGHT), before, after, file.parent)


SMALL = 'epsilon = 1\n[attributes]\ndrugs = ["yes", "no"]\ntown = ["a", "b", "c", "d", "e", "f", "g", "h"]\n'


def test_the_page_is_told_the_numbers_of_python_and_drafts_that_are_planned_alike(file: Path) -> None:
    file.write_text(SMALL, encoding="utf-8")
    advice = Study.read(file).advise(2_000, may_know=["town"])
    designer = Designer(Workshop(file), 4711)
    client = Client(designer, f"{HOST}/{designer.token}/", {"origin": HOST})
    body: dict[str, Any] = client.get("study").json() | {"people": 2000, "may_know": ["town"]}
    assert client.post("advice", json=body).json() == json.loads(json.dumps(advice.to_dict()))
    for number, proposal in enumerate(advice, 1):
        draft = client.post("advice/apply", json=body | {"numbers": [number]}).json()
        assert draft["proposals"] == json.loads(json.dumps([proposal.to_dict()]))
        assert Study.from_dict(Draft.from_json(draft).to_data()) == proposal.study
        assert draft["people"] == proposal.people
    refusal = client.post("advice/apply", json=body | {"numbers": [99]})
    assert refusal.status_code == 422


def test_advice_for_a_page_that_has_changed_is_given_up(file: Path) -> None:
    file.write_text(SMALL, encoding="utf-8")
    workshop = Workshop(file)
    draft = Draft.read(SMALL)
    workshop.forecast(draft, 2000, "page", 2)
    with pytest.raises(Stale):
        workshop.advise(draft, 2000, "useful", [], "page", 1)


def apply_and_save(page: Page, words: str) -> int:
    """Apply the first line that says this, undo it, apply it again and save; the line's number."""
    lines = page.locator(".proposals li")
    line = lines.filter(has_text=words).first
    expect(line).to_be_visible(timeout=240_000)
    number = next(i for i, text in enumerate(lines.all_inner_texts()) if words in text)
    session = page.locator("#session")
    for name, says in (
        ("Apply", "Not saved yet"),
        ("Undo", "Saved in study.toml"),
        ("Apply", "Not saved yet"),
    ):
        line.get_by_role("button", name=name).click()
        expect(session).to_contain_text(says, timeout=60_000)
    page.get_by_role("button", name="Save").click()
    expect(session).to_contain_text("Saved in study.toml", timeout=60_000)
    return number


def test_a_study_is_mended_by_one_button_undone_and_saved(browser: Browser, file: Path) -> None:
    file.write_text(f"# By hand.\n#   deniable plan study.toml --people 2000\n{SMALL}", encoding="utf-8")
    advice = Study.read(file).advise(2_000)
    with designing(file) as link, opened(browser, link, viewport=DESK) as page:
        number = apply_and_save(page, "Raise epsilon")
    assert "# By hand." in file.read_text(encoding="utf-8")
    assert Study.read(file) == advice[number].study
