"""The local server: only for this page, with the numbers of the shell, and a file that is written whole."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, final

import httpx
import pytest

import deniable as dn
from deniable.design.app import Designer
from deniable.design.draft import Draft, Question
from deniable.design.forecast import forecast
from deniable.design.preview import draw_answers, preview
from deniable.design.problems import find_unfinished
from deniable.design.workshop import Workshop
from deniable.study import Plan
from tests.cases import check_each
from tests.design.samples import KINDS, TEXT
from tests.running import Run

HOST = "http://127.0.0.1:4711"


@final
class Client:
    """A browser, as far as headers go."""

    def __init__(self, designer: Designer, url: str, headers: dict[str, str]) -> None:
        self._designer, self._url, self._headers = designer, url, headers

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._designer)
            async with httpx.AsyncClient(transport=transport, headers=self._headers) as client:
                return await client.request(method, self._url + path, **more)

        return asyncio.run(ask())

    def get(self, path: str) -> httpx.Response:
        return self.request("GET", path)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)

    def put(self, path: str, **more: Any) -> httpx.Response:
        return self.request("PUT", path, **more)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "study.toml"
    found.write_text(TEXT, encoding="utf-8")
    return found


@pytest.fixture
def designer(file: Path) -> Designer:
    return Designer(Workshop(file), 4711)


@pytest.fixture
def client(designer: Designer) -> Client:
    return Client(designer, f"{HOST}/{designer.token}/", {"origin": HOST})


def draft_of(client: Client) -> dict[str, Any]:
    """What a page sends back if nothing was changed."""
    found: dict[str, Any] = client.get("study").json()
    assert found.pop("people") == 1000
    return found


def test_only_this_page_reads_and_writes(designer: Designer, file: Path) -> None:
    token = designer.token
    assert len(token) >= 32
    right = {"host": "127.0.0.1:4711"}
    cases: list[tuple[str, tuple[str, str, dict[str, str], int]]] = [
        ("the link", ("GET", f"/{token}/", right, 200)),
        ("the link, by name", ("GET", f"/{token}/", {"host": "localhost:4711"}, 200)),
        ("no token", ("GET", "/", right, 404)),
        ("no token, the file", ("GET", "/study", right, 404)),
        ("a wrong token", ("GET", f"/{token[:-1]}-{token[-1]}/study", right, 404)),
        ("another host", ("GET", f"/{token}/study", {"host": "example.org"}, 421)),
        ("another name with the port", ("GET", f"/{token}/study", {"host": "evil.example:4711"}, 421)),
        ("another port", ("GET", f"/{token}/study", {"host": "127.0.0.1:80"}, 421)),
        ("another origin", ("GET", f"/{token}/study", right | {"origin": "http://example.org"}, 403)),
        ("another page", ("GET", f"/{token}/study", right | {"sec-fetch-site": "cross-site"}, 403)),
        ("another port's page", ("GET", f"/{token}/study", right | {"sec-fetch-site": "same-site"}, 403)),
        ("a frame without origin", ("PUT", f"/{token}/study", right | {"origin": "null"}, 403)),
        ("writing without origin", ("PUT", f"/{token}/study", right, 403)),
        ("asking without origin", ("POST", f"/{token}/forecast", right, 403)),
        ("another method", ("DELETE", f"/{token}/study", right | {"origin": HOST}, 405)),
        ("outside", ("GET", f"/{token}/assets/..%2f..%2fapp.py", right, 404)),
    ]

    def request(case: tuple[str, str, dict[str, str], int]) -> None:
        method, path, headers, status = case
        assert Client(designer, HOST, headers).request(method, path).status_code == status

    check_each(request, cases)
    assert file.read_text(encoding="utf-8") == TEXT


def test_other_pages_cannot_frame_it(client: Client) -> None:
    answer = client.get("")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def test_the_numbers_are_those_of_the_shell(client: Client, file: Path, run: Run) -> None:
    body = draft_of(client) | {"people": 3000}
    found = client.post("forecast", json=body).json()
    assert found["problems"] == []
    shown = found["forecast"]
    plan = file.with_name("plan.json")
    said = run("plan", str(file), "--people", "3000", "-o", str(plan)).out
    assert shown["text"] == said.rstrip("\n")
    assert shown["why"] in " ".join(said.split())
    assert shown["plan"] == json.loads(plan.read_text())["id"]


def test_a_file_is_written_and_read_back(client: Client, file: Path) -> None:
    draft = draft_of(client)
    draft["study"]["epsilon"] = 3
    written = client.put("study", json=draft | {"people": 2000})
    assert written.status_code == 200
    text = file.read_text(encoding="utf-8")
    assert text.endswith(TEXT.replace("epsilon = 2.0", "epsilon = 3"))
    again = client.get("study").json()
    assert (again["people"], again["study"]["epsilon"]) == (2000, 3)
    assert again["version"] == written.json()["version"]
    assert again["questions"] == draft["questions"]
    assert [one.name for one in file.parent.iterdir()] == ["study.toml"]


def test_a_private_file_stays_private(client: Client, file: Path) -> None:
    file.chmod(0o600)
    draft = draft_of(client)
    draft["study"]["title"] = "City"
    assert client.put("study", json=draft).status_code == 200
    assert file.stat().st_mode & 0o777 == 0o600
    assert 'title = "City"' in file.read_text(encoding="utf-8")


def test_what_changed_on_disk_is_not_overwritten_unasked(client: Client, file: Path) -> None:
    draft = draft_of(client)
    changed = TEXT.replace("# Written by hand.", "# Another hand.")
    file.write_text(changed, encoding="utf-8")
    draft["study"]["epsilon"] = 3
    refused = client.put("study", json=draft)
    assert (refused.status_code, refused.json()["reason"]) == (409, "changed")
    assert file.read_text(encoding="utf-8") == changed
    assert client.put("study", json=draft | {"force": True}).status_code == 200
    assert file.read_text(encoding="utf-8") == changed.replace("epsilon = 2.0", "epsilon = 3")
    file.unlink()
    assert client.put("study", json=draft | {"version": ""}).status_code == 200  # as if it had never been


def test_an_incomplete_study_is_not_written(client: Client, file: Path) -> None:
    draft = draft_of(client)
    for wrong in ([], [*draft["questions"], {"name": "new", "keys": {"values": []}, "was": None}]):
        refused = client.put("study", json=draft | {"questions": wrong})
        assert (refused.status_code, refused.json()["reason"]) == (422, "incomplete")
    assert file.read_text(encoding="utf-8") == TEXT


def test_a_half_written_question_leaves_the_others_their_figures(client: Client) -> None:
    draft = draft_of(client)
    draft["questions"].append({"name": "new", "keys": {"low": 0, "high": 7}, "was": None})
    found = client.post("forecast", json=draft | {"people": 100}).json()
    assert [(one["question"], one["field"]) for one in found["problems"]] == [(3, "step")]
    assert {one["attribute"] for one in found["forecast"]["precisions"]} == {"smokes", "age", "pay"}
    wrong = client.post("forecast", json=draft_of(client) | {"people": "many"}).json()
    assert [one["field"] for one in wrong["problems"]] == ["people"]


def test_messages_that_no_page_sends_are_refused(client: Client) -> None:
    for path, content, status in (
        ("forecast", b"{", 400),
        ("forecast", b"[]", 400),
        ("forecast", b'{"study": 1}', 422),
        ("preview", b'{"plan": "0", "truth": "even", "seed": 1}', 409),
        ("forecast", b" " * (5 << 20), 413),
    ):
        answer = client.post(path, content=content, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert answer.json()["detail"]
    assert client.post("forecast", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415


def test_a_stale_draft_is_not_computed(file: Path) -> None:
    workshop = Workshop(file)
    draft = Draft.read(TEXT)
    workshop.forecast(draft, 100, "page", 2)
    with pytest.raises(Exception, match="changed since"):
        workshop.forecast(draft, 100, "page", 1)
    workshop.forecast(draft, 100, "another page", 1)


def test_the_survey_is_that_of_the_plan(client: Client) -> None:
    found = client.post("forecast", json=draft_of(client) | {"people": 100}).json()["forecast"]
    page = client.get(f"survey/{found['plan']}/")
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "<html data-preview " in page.text
    assert client.get(f"survey/{found['plan']}/assets/survey.js").status_code == 200
    [one] = client.get(f"survey/{found['plan']}/plans").json()["plans"]
    plan = Plan.from_json(client.get(f"survey/{found['plan']}/plans/{one['id']}").content)
    assert plan.id == found["plan"]
    assert client.post(f"survey/{found['plan']}/reports", content=b"").status_code in (404, 405)


def test_simulated_people_are_estimated_beside_the_truth(client: Client) -> None:
    """Truth and intervals are of the same people."""
    found = client.post("forecast", json=draft_of(client) | {"people": 20_000}).json()["forecast"]
    body = {"plan": found["plan"], "truth": "uneven", "seed": 1}
    first = client.post("preview", json=body).json()
    assert client.post("preview", json=body).json() == first
    assert client.post("preview", json=body | {"seed": 2}).json() != first
    by_name = {one["attribute"]: one for one in first["questions"]}
    assert abs(sum(row["truth"] for row in by_name["smokes"]["rows"]) - 1) < 1e-9
    mean = by_name["pay"]["middle"]
    assert abs(mean["value"] - mean["truth"]) < mean["high"] - mean["low"]
    assert client.post("preview", json=body | {"truth": "odd"}).status_code == 422


def test_every_kind_of_question_is_forecast_and_simulated(file: Path) -> None:
    file.write_text(KINDS, encoding="utf-8")
    workshop = Workshop(file)
    found = workshop.forecast(Draft.read(KINDS), 5000)
    assert found["problems"] == []
    draft = Draft.read(KINDS.replace('"born"]]', '"born", "new"]]') + "[attributes.new]\nvalues = []\n")
    assert [one["question"] for one in workshop.forecast(draft, 5000)["problems"]] == [5]
    read = {one["attribute"]: one["question"] for one in found["forecast"]["precisions"]}
    assert read["born: answered"] is None  # how well that is known does not say how well the year is
    assert (read["born"], read["media: tv"], read["hours"]) == ("born", "media", "hours")
    shown = {
        one["attribute"]: one for one in workshop.preview(found["forecast"]["plan"], "uneven", 1)["questions"]
    }
    true = {name: {row["value"]: row["truth"] for row in one["rows"]} for name, one in shown.items()}
    assert abs(true["hours"]["not applicable"] - true["works"]["no"]) < 1e-9
    assert 0 < true["hours"]["no answer"] < 0.1
    assert abs(shown["mood"]["middle"]["value"] - shown["mood"]["middle"]["truth"]) < 1


def test_a_preview_is_answered_by_as_many_as_the_plan_expects() -> None:
    """It was answered by whoever a draw of the other question gave: here within 5 standard errors of it."""
    people = 4000
    plan = dn.Study(
        {
            "works": ["full", "part", "no"],
            "job": ["a", "b"],
            "pay": dn.Number(0, 1000),
            "age": dn.Range(0, 100, step=10, open_high=True),
        },
        epsilon=6,
        missing={"job": True, "pay": True, "age": True},
        only_if={"job": {"works": ["full", "part"]}, "pay": {"works": ["full", "part"]}},
        answered={"job": 0.3, "pay": 0.3, "age": 0.7},
    ).plan(people)
    answers = draw_answers(plan, "uneven", people, 1)
    for name, k, share in (("job", 2, 0.3), ("age", 10, 0.7), ("pay", 1 << 62, 0.3)):
        found = float(((answers[name] >= 0) & (answers[name] < k)).mean())
        assert abs(found - share) < 5 * (share * (1 - share) / people) ** 0.5, name
    shown = {one["attribute"]: one["middle"] for one in preview(plan)["questions"]}
    read = {one.attribute: one.what for one in plan.precisions() if one.what in ("mean", "median")}
    assert (
        {name: one["what"] for name, one in shown.items() if one} == read == {"pay": "mean", "age": "median"}
    )
    assert abs(shown["age"]["value"] - shown["age"]["truth"]) < 20


@pytest.mark.parametrize("truth", ["uneven", "even"])
def test_one_in_twenty_prefers_not_to_say_a_number(truth: str) -> None:
    """It was drawn like any answer: 91, 32 and 66 % answered. Here within 5 standard errors of 95 %."""
    people = 4000
    asked = {"income": dn.Number(0, 1000), "age": dn.Range(0, 100, step=10, privacy="metric", epsilon=0.05)}
    plan = dn.Study(asked, epsilon=6, missing=dict.fromkeys(asked, True)).plan(people)
    for seed in (1, 2, 3):
        answers = draw_answers(plan, truth, people, seed)
        for name in asked:
            found = float((answers[name] >= 0).mean())
            assert abs(found - 0.95) < 5 * (0.95 * 0.05 / people) ** 0.5, name


def test_the_question_that_most_people_answer_says_to_whom_others_apply() -> None:
    """Within 5 standard errors of what is stated, in either order."""
    people = 4000
    for answered in ({"job": 0.6, "pay": 0.3}, {"job": 0.3, "pay": 0.6}):
        plan = dn.Study(
            {"works": ["yes", "no"], "job": ["a", "b"], "pay": dn.Number(0, 1000)},
            epsilon=6,
            missing={"job": True, "pay": True},
            only_if={"job": {"works": "yes"}, "pay": {"works": "yes"}},
            answered=answered,
        ).plan(people)
        answers = draw_answers(plan, "uneven", people, 1)
        for name, k in (("job", 2), ("pay", 1 << 62)):
            found = float(((answers[name] >= 0) & (answers[name] < k)).mean())
            share = answered[name]
            assert abs(found - share) < 5 * (share * (1 - share) / people) ** 0.5, name


def test_a_preview_says_what_is_too_noisy_to_read() -> None:
    """As the shell and the dashboard do: "52.2 % (19.2 to 99.0)" was shown as a result."""
    asked = {"town": [str(v) for v in range(40)], "age": dn.Range(0, 100, step=5, open_high=True)}
    asked_more = asked | {"pay": dn.Number(0, 1000), "smokes": ["yes", "no"]}
    plan = dn.Study(asked_more, epsilon=0.2).plan(people=300)
    shown = {one["attribute"]: one for one in preview(plan)["questions"]}
    assert any(row["noisy"] for row in shown["town"]["rows"])
    assert [shown[name]["middle"]["noisy"] for name in ("age", "pay")] == [True, True]
    plan = dn.Study(asked_more, epsilon=6.0).plan(people=50_000)
    shown = {one["attribute"]: one for one in preview(plan)["questions"]}
    assert not any(row["noisy"] for one in shown.values() for row in one["rows"])
    assert [shown[name]["middle"]["noisy"] for name in ("age", "pay")] == [False, False]


def test_a_preview_is_of_at_most_so_many_people(file: Path) -> None:
    import deniable as dn

    plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=10**9)
    found = preview(plan, "even", 3)
    assert found["people"] == 100_000
    assert all(abs(row["truth"] - 0.5) < 0.01 for row in found["questions"][0]["rows"])


def test_a_preview_draws_values_of_people_without_an_answer() -> None:
    """Their values were as the others': an income of 295 was shown as 179, from 172 to 185."""
    study = dn.Study(
        {"works": ["yes", "no"], "income": dn.Number(0, 1000)},
        epsilon=6,
        missing={"income": True},
        only_if={"income": {"works": "yes"}},
    )
    for seed in (1, 2, 3):
        questions = preview(study.plan(people=20_000), "uneven", seed)["questions"]
        mean = next(one["middle"] for one in questions if one["attribute"] == "income")
        far = mean["high"] - mean["low"]
        assert mean["low"] - far < mean["truth"] < mean["high"] + far


def test_what_is_still_to_be_written_of_a_text_is_said() -> None:
    for keys, field in (({"alphabet": "", "longest": 3}, "alphabet"), ({"alphabet": "a-z"}, "longest")):
        found = find_unfinished(Question("word", keys))
        assert found is not None
        assert found.field == field
    assert find_unfinished(Question("word", {"alphabet": "a-z", "longest": 3})) is None


def test_simulated_people_have_texts_that_are_found() -> None:
    for levels in (True, False):
        text = dn.Text("a-z", longest=3, levels=levels)
        [found] = preview(dn.Study({"word": text}, epsilon=4.0).plan(people=3000))["questions"]
        best = found["rows"][0]
        assert best["low"] <= best["truth"] <= best["high"]
        assert "in 5 % of studies" in found["why"]


def test_text_hides_no_guess_from_questions_that_depend_on_each_other() -> None:
    asked = {"smokes": ["yes", "no"], "brand": ["a", "b", "c"]}

    def guess(**more: dn.Text) -> dict[str, dict[str, float]]:
        study = dn.Study(asked | more, epsilon=3.0, mechanism="split", only_if={"brand": {"smokes": "yes"}})
        return {one["attribute"]: one for one in forecast(study.plan(people=1000))["guesses"]}

    alone, beside = guess(), guess(word=dn.Text("a-z", longest=5))
    for name in asked:
        assert alone[name]["together"] >= alone[name]["report"]
        assert beside[name]["together"] >= beside[name]["report"]
        assert beside[name]["together_blind"] == alone[name]["together_blind"]
    assert beside["brand"]["together"] > beside["brand"]["report"] + 0.01, "one says something of the other"
