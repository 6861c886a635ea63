"""What an operator meets at the command line: stores that are not there, rounds that are closed, tokens that
are old.
"""

from __future__ import annotations

import csv
import json
import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.collect import results, serving
from deniable.frames.files import escape_formula
from deniable.store.store import Arrival, Store, open_store
from deniable.study import Plan
from tests.collector import HTTP, OPERATOR, TOKEN, collecting, hook, small_plan, some_reports
from tests.running import Run

PLAN = small_plan()
AGAIN = small_plan("Again", rounds=True)
STORE = "sqlite:///reports.db"


def filled(plan: Plan, *rounds: int, invited: bool = False) -> None:
    """A store in this folder with forty reports of a plan in each of these rounds."""
    store = open_store(STORE)
    store.register(plan.document, invited)
    for number in rounds:
        store.set_round(plan.id, number)
        reports = some_reports(plan, 40, number, number)
        store.add([Arrival(plan.id, number, [one.id for one in reports], [one.body for one in reports])], 0.0)
    store.close()


@pytest.fixture
def plan_file(run: Run) -> str:
    PLAN.write(Path("plan.json"))
    return "plan.json"


@pytest.mark.parametrize(
    "command",
    [
        "rounds plan.json",
        "rounds plan.json --close 1",
        "store check",
        "store scrub --yes",
        "export -o r.parquet",
        f"estimate plan.json --from {STORE}",
    ],
)
def test_who_only_reads_makes_no_store(command: str, run: Run, plan_file: str) -> None:
    outcome = run(*command.split())
    assert (outcome.code, "there is no store at sqlite:///reports.db" in outcome.err) == (2, True)
    assert os.listdir() == [plan_file]


@pytest.mark.parametrize(
    "command", ["rounds plan.json", "rounds plan.json --close 1", f"estimate plan.json --from {STORE}"]
)
def test_who_only_reads_registers_no_plan(command: str, run: Run, plan_file: str) -> None:
    filled(AGAIN, 1)
    outcome = run(*command.split())
    assert outcome.code == 2
    assert (
        f"has no plan {PLAN.id[:12]}; it has {AGAIN.id[:12]}: name another plan, or another store"
        in outcome.err
    )
    store = open_store(STORE)
    assert [each.document.id for each in store.plans()] == [AGAIN.id]
    store.close()


def test_rounds_can_be_opened_before_anything_is_served(run: Run, plan_file: str) -> None:
    outcome = run("rounds", plan_file, "--open", "1", "--json")
    assert [(one["number"], one["open"]) for one in json.loads(outcome.out)] == [(1, True)]


def test_an_empty_store_is_not_in_order_but_empty(run: Run, plan_file: str) -> None:
    open_store(STORE).close()
    outcome = run("store", "check")
    assert (outcome.code, outcome.out) == (
        0,
        f"there is nothing in {STORE}: no plan was ever served from it; is it the right --store?\n",
    )
    assert "is empty: no plan was ever served from it" in run("store", "scrub").err
    filled(PLAN)
    assert "no round was opened yet" in run("rounds", plan_file).out
    for _ in range(2):
        assert (
            run("store", "check")
            .out.splitlines()[-1]
            .startswith(f"no report was counted in {STORE} yet, so there is nothing")
        )
        run("rounds", plan_file, "--open", "1")
    filled(PLAN, 1)
    assert run("store", "check").out.splitlines()[-1] == "OK: the tallies are those of the reports"


def test_a_closed_round_keeps_its_closing_time(run: Run, plan_file: str) -> None:
    def times() -> list[tuple[float | None, float | None]]:
        store = open_store(STORE)
        found = [(each.opens, each.closes) for each in store.rounds(PLAN.id)]
        store.close()
        return found

    filled(PLAN, 1)
    outcome = run("rounds", plan_file, "--open", "1")
    assert "round 1 is open already; it stays as it is" in outcome.err
    assert run("rounds", plan_file, "--close", "1").err == ""
    before = times()
    outcome = run("rounds", plan_file, "--close", "1")
    assert (outcome.code, "round 1 is closed already, since 2" in outcome.err) == (0, True)
    assert times() == before
    assert run("rounds", plan_file, "--open", "1").err == ""
    assert times() == [(None, None)]


def test_each_round_has_a_message_of_its_own(run: Run, tmp_path: Path) -> None:
    filled(AGAIN, 1)
    file = str(AGAIN.write(tmp_path / "again.json"))
    run("rounds", file, "--close", "1")
    outcome = run("rounds", file, "--close", "1", "--open", "2", "--json")
    assert outcome.err.startswith("round 1 is closed already, since 2")
    assert outcome.err.endswith("; it stays as it is\n")
    assert [(one["number"], one["open"]) for one in json.loads(outcome.out)] == [(1, False), (2, True)]
    outcome = run("rounds", file, "--close", "3")
    assert (outcome.code, outcome.err) == (
        2,
        "error: round 3 was never opened, so it cannot be closed; only rounds 1 and 2 were\n",
    )
    for wrong in ("two", "0", "-1", "1e18", "1.5", "9" * 10):
        outcome = run("rounds", file, f"--open={wrong}")
        assert (outcome.code, f"{wrong!r} is not the number of a round, such as 1 or 2" in outcome.err) == (
            2,
            True,
        )


def test_a_round_that_is_opened_now_stores_no_time(run: Run, tmp_path: Path) -> None:
    """Opened by serve, by the dashboard and by hand; reports are taken at once, whatever a clock says."""
    file = str(AGAIN.write(tmp_path / "again.json"))

    def opened() -> list[tuple[int, bool, str | None]]:
        return [
            (one["number"], one["open"], one["opens"])
            for one in json.loads(run("rounds", file, "--json").out)
        ]

    def change(**times: str | None) -> None:
        address = f"{running.url}/plans/{AGAIN.id}/rounds/2"
        HTTP.put(address, json=times, headers=OPERATOR).raise_for_status()

    with collecting(tmp_path, [AGAIN]) as running:
        for number in (1, 2, 3):
            if number == 2:
                change(opens=None, closes=None)
            elif number == 3:
                run("rounds", file, "--open", "3")
            assert running.send(some_reports(AGAIN, 1, number, number)[0]).status_code == 201
        assert opened() == [(1, True, None), (2, True, None), (3, True, None)]
        change(opens="2020-01-01T00:00:00Z", closes=None)
        change(opens=None, closes="2999-01-01T00:00:00Z")
        assert opened()[1] == (2, True, "2020-01-01T00:00:00Z"), "one that is open keeps its time"
        change(opens=None, closes="2020-01-01T00:00:00Z")
        assert opened()[1] == (2, False, None), "one that is closed is not opened by it"
        change(opens="1970-01-01T00:00:00Z")
        assert opened()[1] == (2, True, "1970-01-01T00:00:00Z"), "as good as without limit"


def test_a_clock_that_was_ahead_refuses_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first start, or the operator, had a clock an hour ahead; the collector's is right."""
    file = str(AGAIN.write(tmp_path / "again.json"))
    right = time.time
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: right() + 3600)
        run("rounds", file, "--open", "1")
    ahead = hook(tmp_path, "import time\nright = time.time\ntime.time = lambda: right() + 3600\n")
    first, url = tmp_path / "first", f"sqlite:///{tmp_path}/reports.db"
    first.mkdir()
    with collecting(first, [AGAIN, PLAN], "--store", url, PYTHONPATH=ahead) as running:
        assert "not open" not in running.errors()
    with collecting(tmp_path, [AGAIN, PLAN]) as running:
        for plan in (AGAIN, PLAN):
            assert running.send(some_reports(plan, 1)[0]).status_code == 201


def test_the_operator_is_told_that_a_round_is_not_open(run: Run, tmp_path: Path) -> None:
    file = str(AGAIN.write(tmp_path / "again.json"))
    run("rounds", file, "--open", "2", "--from", "2999-01-01T00:00:00Z")
    assert [line.split()[1:3] for line in run("rounds", file).out.splitlines() if "2999" in line] == [
        ["not", "yet"]
    ]
    with collecting(tmp_path, [AGAIN]) as running:
        assert (
            f"warning: round 2 of plan {AGAIN.id[:12]} is not open yet: its reports are refused until "
            "2999-01-01T00:00:00Z, and this machine's clock says 2"
        ) in running.errors()
        run("rounds", file, "--close", "2")
        running.stop()
        running.start()
        assert (
            f"warning: no round of plan {AGAIN.id[:12]} is open: its reports are refused" in running.errors()
        )


def test_a_damaged_store_is_found_at_the_start(run: Run, plan_file: str) -> None:
    store, reports = open_store(STORE), some_reports(PLAN, 3000)
    store.register(PLAN.document)
    store.set_round(PLAN.id, 1)
    store.add([Arrival(PLAN.id, 1, [one.id for one in reports], [one.body for one in reports])], 0.0)
    store.close()
    path = Path(STORE.removeprefix("sqlite:///"))
    whole = path.read_bytes()
    size = int.from_bytes(whole[16:18])
    pages = [at for at in range(size, len(whole), size) if whole[at] == 10]  # the leaves of the reports' tree
    at = pages[len(pages) // 2]
    path.write_bytes(whole[: at + 8] + bytes(100) + whole[at + 108 :])
    outcome = run("serve", plan_file, "--port", "0")
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: {STORE} is damaged: ")
    assert outcome.err.endswith("; restore a backup\n")


def test_the_only_round_with_reports_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(AGAIN, 2)
    file = str(AGAIN.write(tmp_path / "again.json"))
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    with collecting(tmp_path, [AGAIN], "--minimum", "10") as running:
        for number, source in enumerate((STORE, running.url, f"{running.url}/dashboard#token=x")):
            assert run("estimate", file, "--from", source, "-o", f"{number}.csv").code == 0
            with Path(f"{number}.csv").open(encoding="utf-8") as opened:
                assert {row["round"] for row in csv.DictReader(opened)} == {"2"}
        shown = running.get(f"/plans/{AGAIN.id}/estimates").json()
        assert shown["round"] == 2
    outcome = run("estimate", file, "--from", STORE, "--round", "3")
    assert (outcome.code, f"round 3 of plan {AGAIN.id[:12]} was not opened yet" in outcome.err) == (2, True)
    outcome = run("estimate", file, "--from", STORE, "--round", "4")
    assert (outcome.code, f"plan {AGAIN.id[:12]} has no round 4: it has rounds 1 to 3" in outcome.err) == (
        2,
        True,
    )


def test_no_reports_yet_is_no_mistake_of_the_call(run: Run, plan_file: str) -> None:
    filled(PLAN)
    run("rounds", plan_file, "--open", "1")
    for more, where in (((), ""), (("--round", "1"), " in round 1")):
        outcome = run("estimate", plan_file, "--from", STORE, *more)
        assert (outcome.code, outcome.err) == (
            1,
            f"error: there are no reports of plan {PLAN.id[:12]}{where} yet at {STORE}\n",
        )
    with pytest.raises(dn.InvalidParameter, match="there are no reports yet"):
        PLAN.estimate(PLAN.tally([]))


def test_invitations_are_withdrawn_by_command(run: Run, plan_file: str) -> None:
    assert "--count how many" in run("tokens", plan_file).err
    assert "--withdraw makes no invitations" in run("tokens", plan_file, "--count", "1", "--withdraw").err
    assert "--yes goes with --withdraw" in run("tokens", plan_file, "--count", "1", "--yes").err
    assert "leave out --count, --url, -o" in run("tokens", plan_file, "--withdraw", "-o", "list.csv").err
    assert "there is no store" in run("tokens", plan_file, "--withdraw", "--yes").err
    assert os.listdir() == [plan_file]
    assert "1 invitation is unused; serve" in run("tokens", plan_file, "--count", "1").err
    assert "3 invitations are unused; serve" in run("tokens", plan_file, "--count", "2").err
    outcome = run("tokens", plan_file, "--withdraw")
    assert (outcome.code, outcome.err) == (
        2,
        "error: this withdraws 3 unused invitations, which cannot be undone; repeat it with --yes\n",
    )
    outcome = run("tokens", plan_file, "--withdraw", "--yes")
    assert (outcome.code, outcome.out) == (0, "withdrew 3 unused invitations\n")
    assert (
        run("tokens", plan_file, "--withdraw").out == "no invitation is unused; there is none to withdraw\n"
    )


def test_invitations_to_a_plan_that_was_never_served_here(run: Run, plan_file: str) -> None:
    assert "warning" not in run("tokens", plan_file, "--count", "1").err, "a new store"
    assert "served" not in run("tokens", plan_file, "--count", "1").err
    AGAIN.write(Path("again.json"))
    outcome = run("tokens", "again.json", "--count", "1")
    assert outcome.code == 0
    assert (
        f"never served plan {AGAIN.id[:12]}, but plan {PLAN.id[:12]}; was the right plan named?"
        in outcome.err
    )


def test_a_plan_is_named_once(run: Run, plan_file: str) -> None:
    PLAN.write(Path("copy.json"))
    outcome = run("serve", plan_file, "copy.json", "--port", "0")
    assert (outcome.code, outcome.err) == (
        2,
        f"error: plan {PLAN.id[:12]}, in copy.json, is named twice; name every plan once\n",
    )
    assert sorted(os.listdir()) == ["copy.json", plan_file]


def test_what_is_scrubbed_cannot_be_counted_again(run: Run, plan_file: str) -> None:
    filled(PLAN, 1)
    run("store", "scrub", plan_file, "--yes")
    last = run("store", "check").out.splitlines()[-1]
    assert last.startswith("nothing could be counted again: what all 40 reports say is scrubbed")
    outcome = run("export", plan_file, "-o", "r.parquet")
    assert (outcome.code, outcome.err) == (
        0,
        "warning: r.parquet has no reports: what all 40 say is scrubbed; estimates come from the tallies\n",
    )
    store = open_store(STORE)
    more = some_reports(PLAN, 8, 9)
    store.add([Arrival(PLAN.id, 1, [one.id for one in more], [one.body for one in more])], time.time())
    store.close()
    last = run("store", "check").out.splitlines()[-1]
    assert (
        last
        == "OK: the tallies are those of the 8 reports that are left, and what was kept of those scrubbed"
    )
    outcome = run("export", plan_file, "-o", "r.parquet", "--force")
    assert outcome.err == (
        "wrote 8 reports to r.parquet; 40 others were scrubbed and only the tallies of the store count them: "
        "estimates with all reports come from the store\n"
    )


def test_a_round_that_will_close_can_be_closed_now(run: Run, plan_file: str) -> None:
    store = open_store(STORE)
    store.register(PLAN.document)
    store.set_round(PLAN.id, 1, 10.0, 32503680000.0)
    outcome = run("rounds", plan_file, "--close", "1")
    assert outcome.err == ""
    [found] = store.rounds(PLAN.id)
    store.close()
    assert found.opens == 10.0
    assert found.closes is not None
    assert found.closes < 32503680000.0


def test_several_rounds_are_chosen_by_option(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(AGAIN, 1, 3)
    file = str(AGAIN.write(tmp_path / "again.json"))
    outcome = run("estimate", file, "--from", STORE)
    assert outcome.code == 2
    assert "answered in rounds 1 and 3, which are not added up; choose one with --round" in outcome.err
    assert run("estimate", file, "--from", STORE, "--round", "3", "-o", "shares.csv").code == 0
    with Path("shares.csv").open(encoding="utf-8") as opened:
        assert {(row["round"], row["plan"]) for row in csv.DictReader(opened)} == {("3", AGAIN.id)}
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    with collecting(tmp_path, [AGAIN], "--minimum", "10") as running:
        outcome = run("estimate", file, "--from", running.url)
        assert (
            outcome.code,
            outcome.err.strip().endswith(
                "answered in rounds 1, 3; choose one with --round (number=1 in Python)"
            ),
        ) == (1, True)
        assert run("estimate", file, "--from", running.url, "--round", "1").code == 0


def test_the_token_of_this_folder_is_for_collectors_of_this_machine(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENIABLE_TOKEN", raising=False)
    with collecting(tmp_path, [PLAN], "--minimum", "10", DENIABLE_TOKEN="") as running:
        for report in some_reports(PLAN, 40):
            running.send(report)
        outcome = run("estimate", "plan-0.json", "--from", running.url)
        assert (outcome.code, outcome.err) == (0, "the operator's token is from operator.token\n")
        named = run("estimate", "plan-0.json", "--from", running.url, "--token-file", "operator.token")
        assert (named.code, named.err, named.out) == (0, "", outcome.out)
        monkeypatch.setenv("DENIABLE_TOKEN", "an-older-token-of-somebody")
        old = run("estimate", "plan-0.json", "--from", running.url)
        assert old.code == 1
        assert "not its operator's token, or not any more. The one that holds is in operator.token" in old.err
        monkeypatch.delenv("DENIABLE_TOKEN")
        for elsewhere in (
            "https://survey.example",
            "http://192.0.2.1",
            "http://localhost.example",
            "http://127.0.0.1.example",
        ):
            outcome = run("estimate", "plan-0.json", "--from", elsewhere)
            assert outcome.code in (1, 2)
            assert "--token-file operator.token" in outcome.err or "cannot be reached" in outcome.err, (
                "the token is not sent there unasked"
            )


def test_after_a_rehearsal_another_store_is_named(run: Run, plan_file: str) -> None:
    filled(PLAN, 1)
    for command in (("serve", plan_file, "--port", "0", "--invited"), ("tokens", plan_file, "--count", "1")):
        outcome = run(*command)
        assert (outcome.code, "collect it in another store, with --store" in outcome.err) == (2, True)


def test_phones_need_https(tmp_path: Path) -> None:
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        folder = tmp_path / host
        folder.mkdir()
        with collecting(folder, [PLAN], "--host", host) as running:
            assert ("over https, or on the machine itself" in running.errors()) is warned
            assert running.url.startswith("http://127.0.0.1:")
    folder = tmp_path / "proxied"
    folder.mkdir()
    with collecting(folder, [PLAN], "--host", "0.0.0.0", "--proxy", "10.0.0.1") as running:
        [warning] = running.errors().splitlines()
        assert warning.endswith("with --url")


def test_where_other_machines_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving.listen("127.0.0.1", 0) as taken:
        assert serving.outside_address(taken) is None
    with serving.listen("0.0.0.0", 0) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(serving, "_own_address", lambda _: "198.51.100.7")
        assert serving.outside_address(taken) == f"http://198.51.100.7:{port}"
        monkeypatch.setattr(serving, "_own_address", lambda _: None)
        monkeypatch.setattr(socket, "gethostname", lambda: "here")
        assert serving.outside_address(taken) == f"http://here:{port}"


def test_files_that_others_can_read_are_named(tmp_path: Path) -> None:
    with collecting(tmp_path, [PLAN]) as running:
        assert running.errors() == ""
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("reports.db*")} == {0o600}
        running.stop()
        (tmp_path / "reports.db").chmod(0o644)
        running.start()
        assert (
            "others on this machine may read reports.db, reports.db-wal, reports.db-shm; forbid it with: "
            "chmod 600" in running.errors()
        )


def test_invitations_are_no_formulas_and_no_options(run: Run, plan_file: str) -> None:
    made = run("tokens", plan_file, "--count", "1000").out.splitlines()[
        1:
    ]  # one in 64 would begin with a minus
    assert not [token for token in made if token[0] in "=+-@"]


FORMULA = '=HYPERLINK("http://example.org")'


def test_labels_do_not_become_formulas(run: Run) -> None:
    labels = [FORMULA, "+1", "-2 to under 5", "@sum(a1)", "-cmd|' /c calc'!a0"]
    plan = dn.Study({"+question": labels, "b": ["x", "y"]}, epsilon=20.0, mechanism="split").plan(people=1000)
    tallies = plan.tally(plan.privatize({"+question": labels * 50, "b": ["x"] * 250}, dn.seeded(3)))
    shown = results.as_csv(results.estimated(plan, tallies, 1, 0.95)).decode()
    plan.write(Path("plan.json"))
    plan.write_reports(
        Path("reports.parquet"), plan.privatize({"+question": labels * 50, "b": ["x"] * 250}, dn.seeded(3))
    )
    assert run("estimate", "plan.json", "reports.parquet", "-o", "shares.csv", "-o", "shares.json").code == 0
    for text in (shown, Path("shares.csv").read_text(encoding="utf-8")):
        rows = list(csv.DictReader(text.splitlines()))
        assert [row["value"] for row in rows][:5] == [
            f"'{FORMULA}",
            "+1",
            "-2 to under 5",
            "'@sum(a1)",
            "'-cmd|' /c calc'!a0",
        ]
        assert rows[0]["attribute"] == "'+question"
        assert any(row["unbiased"].startswith("-") or float(row["unbiased_low"]) < 0 for row in rows), (
            "numbers stay numbers"
        )
    assert json.loads(Path("shares.json").read_text(encoding="utf-8"))["rows"][0]["value"] == FORMULA


def test_what_is_harmless_stays_as_it_is() -> None:
    for cell in ("red", "", "a=b", "-5", "+1.5", "-5 to under -1.25", "-3 or more", -1.5, None, 7):
        assert escape_formula(cell) == cell
    for cell in ("=1", "+a", "-1+1", "-1 to under 2!", "@a", "\tx", "\rx", "-5 to under =1"):
        assert escape_formula(cell) == f"'{cell}"
    for cell in ("\uff1d1+1", "\uff0ba", "\uff0d1", "\uff20a"):  # in full width
        assert escape_formula(cell) == f"'{cell}"


def test_a_round_can_be_scheduled(run: Run, plan_file: str) -> None:
    times = "--from 2100-03-01T08:00+00:00 --until 2100-03-08T08:00Z"
    [one] = json.loads(run(*f"rounds {plan_file} --open 1 {times} --json".split()).out)
    opens, closes = "2100-03-01T08:00:00Z", "2100-03-08T08:00:00Z"
    assert (one["open"], one["opens"], one["closes"]) == (False, opens, closes)
    assert "such as 2027-03-01T08:00" in run("rounds", plan_file, "--open", "1", "--from", "soon").err
    assert "name it with --open" in run("rounds", plan_file, "--until", "2100-03-08").err
    assert (
        "opens before it closes"
        in run("rounds", plan_file, "--open", "1", "--from", "2100-03-09", "--until", "2100-03-08").err
    )


def test_invitations_are_private_from_the_first_byte_and_none_is_lost(
    run: Run, plan_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = list[int]()
    right = Store.invite

    def watched(store: Store, *given: Any) -> None:
        modes.extend(stat.S_IMODE(file.stat().st_mode) for file in Path().glob("**/.list.csv.*"))
        right(store, *given)

    monkeypatch.setattr(Store, "invite", watched)
    assert run("tokens", plan_file, "--count", "3", "-o", "list.csv").code == 0
    assert modes == [0o600]
    assert stat.S_IMODE(Path("list.csv").stat().st_mode) == 0o600
    Path("full").write_text("a file, not a folder")
    assert run("tokens", plan_file, "--count", "500", "-o", "full/list.csv").code != 0
    store = open_store(STORE)
    assert store.invitations_left(PLAN.id) == 3, "invitations that nobody holds"
    store.close()


def test_plans_that_anybody_may_answer_are_warned_of(tmp_path: Path) -> None:
    """A fake of one counts for 59 people, a fake of the other for 2."""
    towns = {"town": [str(one) for one in range(100)]}
    open_one = Plan.of(towns, dn.grr(100, 1.0), 1000, title="open")
    harmless = Plan.of(towns, dn.hr(100, 1.0), 1000, title="harmless")
    with collecting(tmp_path, [open_one, harmless]) as running:
        said = running.errors()
        assert f"warning: plan {open_one.id[:12]}: anybody may answer, and 1 % of fake reports" in said
        assert "moves a share of 'town' by up to 58.6 points: --invited takes" in said
        assert "deniable plan --influence 5" in said
        assert harmless.id[:12] not in said
        assert running.stop() == 0
    again = tmp_path / "invited"
    again.mkdir()
    costly = Plan.of(towns, dn.hr(100, 4.5), 1000, title="costly")
    with collecting(again, [open_one, costly], "--invited") as running:
        said = running.errors()
        assert "anybody may answer" not in said
        assert f"plan {costly.id[:12]}: a device refuses this survey unless its person raises" in said
        assert open_one.id[:12] not in said


def test_a_round_that_stays_open_is_reported(run: Run, tmp_path: Path) -> None:
    filled(AGAIN, 1)
    file = str(AGAIN.write(tmp_path / "again.json"))
    said = run("rounds", file, "--open", "2").err
    assert "warning: round 1 is open, too, and still takes reports" in said
    assert said.endswith(f"deniable rounds {file} --close 1\n")
    assert run("rounds", file, "--open", "2", "--close", "1").err.count("warning") == 0
