"""The store: every report is counted once, the tallies are those of the reports, and what is refused is
refused alone."""

from __future__ import annotations

import csv
import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import Integers
from deniable.collect.intake import hash_invitation
from deniable.errors import DeniableError, InvalidParameter
from deniable.mechanisms import Pooled, hr, plh
from deniable.records import Split
from deniable.reports import Tallies
from deniable.store import counting, database, recount, sweeping
from deniable.store.counting import Sums
from deniable.store.database import Pool
from deniable.store.postgres import _MANY, Packed, Postgres, _choose_positions
from deniable.store.schedule import Offer, Times
from deniable.store.store import Arrival, Outcome, Store, StoreUnavailable, open_store
from deniable.study import Plan
from deniable.wire import Wire
from tests import services
from tests.running import Run
from tests.store_worker import FLIPPED, PLANS, SAMPLED, SPLIT, arrivals, bodies

Make = Callable[[], str]
STORES = ["sqlite", "postgres"]


PREPARED: list[Store] = []
"""Stores of the running test. One that a failed test leaves open would fail the tests after it."""


@pytest.fixture(autouse=True)
def _close_prepared() -> Iterator[None]:
    yield
    while PREPARED:
        PREPARED.pop().close()


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Addresses of stores that do not exist yet."""
    numbers = count()
    if request.param == "postgres":
        return services.cluster().url
    return lambda: f"sqlite:///{tmp_path}/{next(numbers)}.db"


@pytest.fixture
def store(make: Make) -> Store:
    return prepared(make())


def prepared(url: str, invited: bool = False) -> Store:
    """A store with all plans, and round 1 open."""
    store = opened(url)
    for plan in PLANS:
        store.register(plan.document, invited)
        store.set_round(plan.id, 1)
    return store


def opened(url: str) -> Store:
    """A store that is closed when the test ends."""
    PREPARED.append(open_store(url))
    return PREPARED[-1]


def counted(plan: Plan, some: Sequence[bytes], number: int | None = 1) -> Tallies:
    """What the tallies of a round must be."""
    return replace(plan.tally(Wire(plan.document).reports(some)), round=number)


def hashed(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(4)).digest()


@pytest.mark.parametrize("plan", PLANS, ids=["split", "sampled", "rounds"])
def test_reports_are_counted_once(store: Store, plan: Plan) -> None:
    some = arrivals(plan, 300, 1)
    assert store.add(some, 0.0) == ["counted"] * 300
    assert store.add(some[:20], 0.0) == ["counted before"] * 20
    twice = arrivals(plan, 2, 2)
    changed = twice[0]._replace(bodies=bodies(plan, 1, 3))
    assert store.add([*twice, changed, some[5], *twice], 0.0) == ["counted"] * 2 + ["counted before"] * 4
    wanted = counted(plan, [one.bodies[0] for one in some + twice])
    assert store.tallies(plan.id, 1) == store.tallies(plan.id) == wanted
    assert store.counted(plan.id) == store.counted(plan.id, 1) == 302
    blocks = list(store.bodies(plan.id, 1, block=100))
    assert [len(block) for block in blocks] == [100, 100, 100, 2]
    assert sorted(chain.from_iterable(blocks)) == sorted(one.bodies[0] for one in some + twice)
    assert store.check() == []


def test_what_is_refused_is_refused_alone(store: Store) -> None:
    good = arrivals(SPLIT, 3, 1)
    bad = [
        good[0]._replace(bodies=[bytes([9]) + good[0].bodies[0][1:]]),
        good[1]._replace(bodies=[b""]),
        good[2]._replace(bodies=[bytes(2000)]),
    ]
    unknown = good[0]._replace(plan_id="0" * 64)
    assert store.add([*bad, unknown, *good], 0.0) == ["form"] * 3 + ["plan"] + ["counted"] * 3
    assert store.add([bad[0]], 0.0) == ["form"]
    assert store.add([], 0.0) == []
    assert store.check() == []


def test_rounds_open_and_close(store: Store) -> None:
    second = arrivals(FLIPPED, 10, 2, number=2)
    assert store.add(second, 0.0) == ["closed"] * 10
    assert store.tallied(FLIPPED.id) == (None, counted(FLIPPED, [], None))
    store.set_round(FLIPPED.id, 2, 100.0, 200.0)
    times = (99.9, 100, 199.9, 200)
    found = [store.add([one], when)[0] for one, when in zip(second, times, strict=False)]
    assert found == ["closed", "counted", "counted", "closed"]
    late = store.add(second[:3], 300.0)
    assert late == ["closed", "counted before", "counted before"], "a resend arrives late, too"
    assert store.check() == []


def test_the_only_round_with_reports_need_not_be_named(store: Store) -> None:
    store.set_round(FLIPPED.id, 2)
    store.add(arrivals(FLIPPED, 2, 2, number=2), 0.0)
    assert store.tallied(FLIPPED.id) == store.tallied(FLIPPED.id, 2)
    assert store.tallied(FLIPPED.id)[0] == 2
    store.add(arrivals(FLIPPED, 10, 1), 0.0)
    with pytest.raises(InvalidParameter, match="rounds 1, 2; ask for one"):
        store.tallies(FLIPPED.id)
    assert store.tallies(FLIPPED.id, 2).n == 2
    assert store.counted(FLIPPED.id) == 12


def test_rounds_are_listed_with_their_times(store: Store) -> None:
    store.set_round(FLIPPED.id, 2, 100.0, 200.0)
    store.add(arrivals(FLIPPED, 10, 1), 0.0)
    rounds = store.rounds(FLIPPED.id)
    found = [(each.number, each.opens, each.closes, each.counted) for each in rounds]
    assert found == [(1, None, None, 10), (2, 100.0, 200.0, 0)]
    assert [each.is_open(150.0) for each in rounds] == [True, True]
    assert [each.is_open(250.0) for each in rounds] == [True, False]


def test_rounds_that_a_plan_has_not_are_refused(store: Store) -> None:
    for wrong in (0, 4):
        with pytest.raises(InvalidParameter, match="rounds 1 to 3"):
            store.set_round(FLIPPED.id, wrong)
    with pytest.raises(InvalidParameter, match="before it closes"):
        store.set_round(FLIPPED.id, 3, 5, 5)
    with pytest.raises(InvalidParameter, match=f"round 3 of plan {FLIPPED.id[:12]} was not opened yet"):
        store.tallies(FLIPPED.id, 3)
    with pytest.raises(InvalidParameter, match="not registered"):
        store.tallies("0" * 64)


def test_a_round_that_was_closed_stays_as_it_is(make: Make) -> None:
    """Whoever waited while it was closed came too late, whatever time it was when they began to wait."""
    url = make()
    store, other, closer, ends = prepared(url), opened(url), opened(url), threading.Event()
    some = arrivals(SPLIT, 4000, 1)

    def work(mine: list[Arrival], into: Store) -> None:
        while mine and not ends.is_set():
            into.add([mine.pop() for _ in range(2)], time.time)

    with ThreadPoolExecutor(4) as pool:
        working = pool.map(work, (some[at::4] for at in range(4)), [store, other] * 2)
        for _ in range(10):
            time.sleep(0.02)
            closer.set_round(SPLIT.id, 1, None, time.time())
            then = closer.tallies(SPLIT.id)
            time.sleep(0.02)
            assert closer.tallies(SPLIT.id) == then
            closer.set_round(SPLIT.id, 1)
        ends.set()
    assert [*working] == [None] * 4
    assert closer.counted(SPLIT.id) > 0


def test_the_clock_is_read_behind_the_lock(make: Make) -> None:
    url = make()
    store, other = prepared(url), opened(url)
    now, found, began = 50.0, list[str](), threading.Event()

    def work() -> None:
        began.set()
        found.extend(store.add(arrivals(SPLIT, 1, 1), lambda: now))

    thread = threading.Thread(target=work)
    with other._database.transaction(write=True):
        other._registry.lock(other._registry.load(SPLIT.id))
        thread.start()
        began.wait()
        time.sleep(0.2)
        other._database.run("UPDATE rounds SET closes = ?", 100.0)
        now = 100.0
    thread.join()
    assert found == ["closed"], "it was on its way when the round was closed"


def check_waits(busy: Store, work: Callable[[], object]) -> None:
    """Work waits for a batch that another store is counting. It cannot fail by chance: only work may end."""
    thread = threading.Thread(target=work)
    with busy._database.transaction(write=True):
        busy._registry.lock(busy._registry.load(SPLIT.id))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive(), "a batch is being counted"
    thread.join()


def test_closing_waits_for_what_is_being_counted(make: Make) -> None:
    url = make()
    store, other = prepared(url), opened(url)
    check_waits(other, partial(store.set_round, SPLIT.id, 1, None, 100.0))


def test_what_is_offered_is_read_without_tallies(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.set_round(FLIPPED.id, 3, 5.0, 9.0)
    monkeypatch.setattr(Sums, "read", lambda *_: pytest.fail("nobody needs the tallies"))
    offers = store.offers()
    assert list(offers) == [plan.id for plan in PLANS]
    assert offers[SPLIT.id] == Offer(False, [Times(1, None, None)])
    assert offers[FLIPPED.id].rounds == [Times(1, None, None), Times(3, 5.0, 9.0)]


def test_an_invitation_lets_in_one_report(make: Make) -> None:
    store = prepared(make(), invited=True)
    store.invite(SPLIT.id, [hashed(n) for n in range(4)])
    store.invite(SPLIT.id, [hashed(0)])
    one, two, three, four = (
        each._replace(invitation=hashed(n)) for n, each in enumerate(arrivals(SPLIT, 4, 1))
    )
    none, unknown = one._replace(invitation=None), one._replace(invitation=hashed(99))
    used, foreign = (each._replace(invitation=hashed(0)) for each in (two, *arrivals(SAMPLED, 1, 1)))
    assert store.add([none, unknown, one], 0.0) == ["invitation", "invitation", "counted"]
    assert store.add([one, used, two], 0.0) == ["counted before", "invitation", "counted"]
    again = four._replace(invitation=three.invitation)
    assert store.add([three, again, four], 0.0) == ["counted", "invitation", "counted"]
    assert store.invitations_left(SPLIT.id) == 0
    assert store.add([foreign], 0.0) == ["invitation"]
    assert store.check() == []
    with pytest.raises(InvalidParameter, match="32 bytes"):
        store.invite(SPLIT.id, [b"token"])
    with pytest.raises(InvalidParameter, match="takes invitations and has counted"):
        store.register(SPLIT.document, invited=False)
    store.register(SAMPLED.document, invited=False)
    invited = {each.document.id: each.invited for each in store.plans()}
    assert invited == {SPLIT.id: True, SAMPLED.id: False, FLIPPED.id: True}


def test_an_invitation_to_a_group_lets_in_no_other(make: Make, run: Run) -> None:
    """The command binds invitations whose link names the group; a changed link does not use them up."""
    url, asked = make(), {"arm": ["A", "B"], "smoker": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=1.0, known=["arm"]).plan(people=100)
    plan.write(Path("plan.json"))
    Path("people.csv").write_text("name,arm\nAda,A\nBob,B\nEve,\n")
    listed = ("--addresses", "people.csv", "--url", "https://example.org", "-o", "all.csv")
    assert run("tokens", "plan.json", "--store", url, *listed).code == 0
    with Path("all.csv").open() as file:
        ada, bob, eve = (hash_invitation(row["invitation"].encode()) for row in csv.DictReader(file))
    in_a, in_b = Wire(plan.document).bodies(
        plan.privatize({"arm": ["A", "B"], "smoker": ["no"] * 2}, dn.seeded(1))
    )
    names = count()

    def send(invitation: bytes, *some: bytes) -> Arrival:
        return Arrival(plan.id, 1, [hashed(next(names))[:16] for _ in some], some, invitation)

    store = opened(url)
    store.set_round(plan.id, 1)
    assert store.add([send(ada, in_b), send(bob, in_a)], 0.0) == ["invitation"] * 2
    assert store.add([send(ada, in_b, in_a), send(bob, in_b)], 0.0) == ["invitation", "counted", "counted"]
    assert store.add([send(ada, in_a)], 0.0) == ["invitation"], "it is used up"
    assert store.add([send(eve, in_b), send(eve, in_a)], 0.0) == ["counted", "invitation"], "of any group"
    assert store.invitations_left(plan.id) == 0
    assert store.check() == []


def test_unused_invitations_can_be_withdrawn(make: Make) -> None:
    """They let nobody in any more; a report that one let in stays counted, and those of other plans stay."""
    url = make()
    store = prepared(url, invited=True)
    store.invite(SPLIT.id, [hashed(n) for n in range(5)])
    store.invite(SAMPLED.id, [hashed(n) for n in range(3)])
    one, two, three = (each._replace(invitation=hashed(n)) for n, each in enumerate(arrivals(SPLIT, 3, 1)))
    assert store.add([one], 0.0) == ["counted"]
    assert store.withdraw(SPLIT.id) == 4
    assert store.withdraw(SPLIT.id) == 0
    assert (store.invitations_left(SPLIT.id), store.invitations_left(SAMPLED.id)) == (0, 3)
    assert store.add([one, two], 0.0) == ["counted before", "invitation"]
    store.invite(SPLIT.id, [hashed(2)])
    assert store.add([three], 0.0) == ["counted"], "new ones let people in"
    assert store.check() == []
    with pytest.raises(InvalidParameter, match="not registered"):
        store.withdraw("0" * 64)


def test_withdrawing_waits_for_what_is_being_counted(make: Make) -> None:
    url = make()
    store, other = prepared(url, invited=True), opened(url)
    store.invite(SPLIT.id, [hashed(0)])
    check_waits(other, partial(store.withdraw, SPLIT.id))
    assert other.invitations_left(SPLIT.id) == 0


def test_a_history_is_of_random_reports_and_not_of_the_first_ones(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "POOL", 1000)  # so that some leave it
    some = arrivals(SPLIT, 3000, 1)
    for at in range(0, len(some), 500):
        store.add(some[at : at + 500], 0.0)
    assert store.sweep()
    past = store.history(SPLIT.id, 1)
    assert [each.n for each in past] == [64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448, 2048, 2896, 3000]
    by_id = [one.bodies[0] for one in sorted(some, key=lambda one: one.ids[0])]
    assert all(each == counted(SPLIT, by_id[: each.n]) for each in past)
    assert store.history(SAMPLED.id, 1) == []
    store.scrub(SPLIT.id)
    assert [each.n for each in store.history(SPLIT.id, 1)] == [3000]


def test_a_history_is_made_again_once_a_tenth_more_reports_came(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is decoded while a transaction is open, since sweeps wait for it."""
    database, tally, made = store._database, recount.tally_first_reports, list[int]()

    def tally_outside(known: counting.Known, blocks: list[list[bytes]]) -> Iterator[Integers]:
        made.append(sum(map(len, blocks)))
        with database.transaction(write=True):  # no transaction is within another one
            pass
        return tally(known, blocks)

    monkeypatch.setattr(recount, "tally_first_reports", tally_outside)
    some = arrivals(SPLIT, 111, 1)
    store.add(some[:100], 0.0)
    assert [each.n for each in store.history(SPLIT.id, 1)] == [64, 91, 100]
    store.add(some[100:109], 0.0)
    kept = store.history(SPLIT.id, 1)
    assert ([each.n for each in kept], made) == ([64, 91, 109], [91])
    assert kept[-1] == counted(SPLIT, [one.bodies[0] for one in some[:109]])
    store.add(some[109:], 0.0)
    by_id = [one.bodies[0] for one in sorted(some, key=lambda one: one.ids[0])]
    assert store.history(SPLIT.id, 1)[0] == counted(SPLIT, by_id[:64])
    assert made == [91, 91]
    store.scrub(SPLIT.id)
    assert [each.n for each in store.history(SPLIT.id, 1)] == [111]


def test_a_history_of_long_reports_is_short(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount, "SOME_BYTES", 100)
    store.add(arrivals(SPLIT, 300, 1), 0.0)
    assert [each.n for each in store.history(SPLIT.id, 1)] == [64, 300]


def test_who_scrubs_is_warned_of_traces_that_remain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.store.store._PAUSE", 0.001)
    path = tmp_path / "reports.db"
    store, some = prepared(f"sqlite:///{path}"), arrivals(SPLIT, 100, 1)
    store.add(some, 0.0)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM arrivals").fetchone()
    with pytest.raises(StoreUnavailable, match="are scrubbed, but somebody has been reading"):
        store.scrub(SPLIT.id, 1)
    reader.close()
    assert store.scrub(SPLIT.id, 1) == 0
    assert store.rounds(SPLIT.id)[0].scrubbed == 100
    log = Path(f"{path}-wal")
    assert not log.exists() or log.stat().st_size == 0


def test_scrubbed_reports_are_still_known(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount, "BLOCK", 64)
    some = arrivals(SPLIT, 200, 1)
    store.add(some, 0.0)
    store.add(arrivals(SAMPLED, 50, 1), 0.0)
    before = store.tallies(SPLIT.id)
    assert store.scrub(SPLIT.id, 1) == 200
    assert list(store.bodies(SPLIT.id, 1)) == []
    assert store.add(some, 0.0) == ["counted before"] * 200
    assert store.tallies(SPLIT.id) == before
    assert store.check() == []
    more = arrivals(SPLIT, 70, 2)
    assert store.add(more, 0.0) == ["counted"] * 70
    assert store.check() == [], "what is left is recounted exactly"
    assert [(each.counted, each.scrubbed) for each in store.rounds(SPLIT.id)] == [(270, 200)]
    assert store.scrub(SPLIT.id) == 70
    assert store.counted(SAMPLED.id) == len(next(store.bodies(SAMPLED.id, 1))) == 50


@dataclass
class Model:
    """What a store does, without a database."""

    invited: bool
    rounds: dict[tuple[str, int], tuple[float | None, float | None]] = field(default_factory=dict)
    reports: dict[tuple[str, int], dict[bytes, bytes]] = field(default_factory=dict)
    invitations: dict[str, set[bytes]] = field(default_factory=dict)

    def add(self, some: Sequence[Arrival], now: float) -> list[Outcome]:
        groups = dict.fromkeys((one.plan_id, one.round) for one in some)
        each = [
            one._replace(ids=[name], bodies=[body])
            for one in some
            for name, body in zip(one.ids, one.bodies, strict=True)
        ]
        decided = {
            position: self._one(one, now)
            for key in groups
            for position, one in enumerate(each)
            if one[:2] == key
        }
        return [decided[position] for position in range(len(each))]

    def _one(self, one: Arrival, now: float) -> Outcome:
        if one.plan_id not in {plan.id for plan in PLANS}:
            return "plan"
        [name], [body] = one.ids, one.bodies
        if body == BAD:
            return "form"
        stored = self.reports.setdefault(one[:2], {})
        if name in stored:
            return "counted before"
        opens, closes = self.rounds.get(one[:2], (np.inf, None))
        if (opens is not None and now < opens) or (closes is not None and now >= closes):
            return "closed"
        left = self.invitations.setdefault(one.plan_id, set())
        if self.invited and one.invitation not in left:
            return "invitation"
        if self.invited and one.invitation is not None:
            left.remove(one.invitation)
        stored[name] = body
        return "counted"


BAD = b"\xff"
POOL = {plan.id: [*bodies(plan, 5, 7), BAD] for plan in PLANS} | {"0" * 64: [BAD]}
_arrival = st.builds(
    lambda plan, number, names, body, token: Arrival(
        plan,
        number,
        [bytes([name]) * 16 for name in names],
        [POOL[plan][(body + name) % len(POOL[plan])] for name in names],
        None if token is None else hashed(token),
    ),
    st.sampled_from([*POOL, FLIPPED.id, FLIPPED.id]),
    st.integers(1, 3),
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
    st.integers(0, 60),
    st.none() | st.integers(0, 5),
)
_step = st.one_of(
    st.tuples(st.just("add"), st.lists(_arrival, max_size=12), st.integers(0, 30)),
    st.tuples(
        st.just("round"), st.integers(1, 3), st.sampled_from([(None, None), (10, None), (None, 20), (10, 20)])
    ),
    st.tuples(st.just("invite"), st.lists(st.integers(0, 5), max_size=4), st.none()),
    st.tuples(st.just("scrub"), st.none(), st.none()),
    st.tuples(st.just("sweep"), st.none(), st.none()),
    st.tuples(st.just("reopen"), st.none(), st.none()),
)


@pytest.mark.parametrize("make", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)], indirect=True)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_step, max_size=14), invited=st.booleans())
def test_any_history_is_that_of_the_model(
    make: Make, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, object, object]], invited: bool
) -> None:
    monkeypatch.setattr(sweeping, "POOL", 3)  # so that some leave it
    url, model = make(), Model(invited)
    stores = [prepared(url, invited), open_store(url)]
    model.rounds = {(plan.id, 1): (None, None) for plan in PLANS}
    for turn, (verb, what, more) in enumerate(steps):
        store = stores[turn % 2]
        if verb == "add":
            assert isinstance(what, list)
            assert isinstance(more, int)
            assert store.add(what, more) == model.add(what, more)
        elif verb == "round":
            assert isinstance(what, int)
            assert isinstance(more, tuple)
            store.set_round(FLIPPED.id, what, *more)
            model.rounds[FLIPPED.id, what] = more
        elif verb == "invite":
            assert isinstance(what, list)
            for plan in PLANS:
                store.invite(plan.id, map(hashed, what))
                model.invitations.setdefault(plan.id, set()).update(map(hashed, what))
        elif verb == "scrub":
            store.scrub(SAMPLED.id)
        elif verb == "sweep":
            with store._database.transaction(write=True):
                sweeping.mix(store._database, {})
        else:
            store.close()
            stores[turn % 2] = open_store(url)
    for (plan_id, number), held in model.reports.items():
        plan = next(plan for plan in PLANS if plan.id == plan_id)
        if (plan_id, number) in model.rounds:
            assert stores[0].tallies(plan_id, number) == counted(plan, list(held.values()), number)
            if plan is not SAMPLED:
                assert sorted(chain.from_iterable(stores[0].bodies(plan_id, number))) == sorted(held.values())
    for plan in PLANS:
        assert stores[0].invitations_left(plan.id) == len(model.invitations.get(plan.id, ()))
    assert stores[1].check() == []
    for store in stores:
        store.close()


def test_a_check_finds_what_was_changed_by_hand(store: Store) -> None:
    store.add(arrivals(SPLIT, 100, 1) + arrivals(SAMPLED, 100, 1), 0.0)
    database = store._database
    key = store._registry.load(SPLIT.id).key if SPLIT.id in store._registry.loaded else 0
    with database.transaction(write=True):
        database.run("DELETE FROM arrivals WHERE plan = ? AND id < ?", key, b"\x20")
    assert len(store.check()) == 1
    assert "the tallies say 100 reports, but there are" in store.check()[0]
    with database.transaction(write=True):
        database.run("UPDATE arrivals SET body = ? WHERE plan <> ?", BAD, key)
    assert any("100 reports in another form than the canonical one" in problem for problem in store.check())
    with database.transaction(write=True):
        database.run("UPDATE arrivals SET body = NULL WHERE plan = ?", key)
        database.run("UPDATE arrivals SET plan = 77 WHERE plan <> ?", key)
    assert any("which nobody made" in problem for problem in store.check())
    assert any("have no body, but 0 were scrubbed" in problem for problem in store.check())


def test_older_stores_are_brought_up_to_date(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    url = make()
    old = prepared(url)
    old.add(arrivals(SPLIT, 10, 1), 0.0)
    old.close()
    later = (
        *database.MIGRATIONS,
        ("ALTER TABLE rounds ADD COLUMN note {bytes}", "UPDATE rounds SET scrubbed = note WHERE 1 = 0"),
    )
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", later)
        new = open_store(url)
        with new._database.transaction():
            assert new._database.run("SELECT note FROM rounds") == [(None,)] * 3
            assert new._database.run("SELECT version FROM deniable") == [(database.FIRST + len(later),)]
        assert new.add(arrivals(SPLIT, 10, 1), 0.0) == ["counted before"] * 10
        new.close()
        patched.setattr(database, "MIGRATIONS", (*later, ("ALTER TABLE nothing ADD COLUMN broken {bytes}",)))
        with pytest.raises(DeniableError, match="nothing"):
            open_store(url)
        patched.setattr(database, "MIGRATIONS", later)
        open_store(url).close()
    known = database.FIRST + len(database.MIGRATIONS)
    message = rf"newer Deniable \(store version {known + 1}; this one knows {known}\)"
    with pytest.raises(database.NewerStore, match=message):
        open_store(url)


@pytest.mark.parametrize("version", [database.FIRST - 1, -1])
def test_a_store_from_before_the_first_release_is_left_as_it_is(make: Make, version: int) -> None:
    url = make()
    store = prepared(url)
    with store._database.transaction(write=True):
        store._database.run(f"UPDATE deniable SET version = {version}")
    store.close()
    message = rf"before 0\.1 \(store version {version}; .* with deniable export of that version"
    with pytest.raises(DeniableError, match=message):
        open_store(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("reports.db", "a store is sqlite:///reports.db"),
        ("sqlite://reports.db", "a store is"),
        ("sqlite:///", "a store is"),
        ("sqlite:///:memory:", "a store is"),
        ("mysql://localhost/x", "a store is"),
        ("sqlite:////nowhere/at/all.db", "does its folder exist"),
        ("sqlite:////tmp", "is a folder"),
        ("postgresql://localhost/x?color=red", "no address of a PostgreSQL"),
    ],
)
def test_addresses_that_are_none(url: str, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        open_store(url)


def test_files_of_something_else(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE people (name)")
    connection.close()
    with pytest.raises(InvalidParameter, match="database of something else"):
        open_store(f"sqlite:///{other}")
    text = tmp_path / "notes.txt"
    text.write_text("this is a longer text, but not a database of any kind" * 20)
    with pytest.raises(DeniableError, match="no SQLite database"):
        open_store(f"sqlite:///{text}")
    with pytest.raises(InvalidParameter, match="there is no store"):
        open_store(f"sqlite:///{tmp_path}/new.db", create=False)
    open_store(f"sqlite:///{tmp_path}/new.db").close()
    assert (tmp_path / "new.db").stat().st_mode & 0o077 == 0


def test_store_commands(run: Run, tmp_path: Path) -> None:
    store = prepared(f"sqlite:///{tmp_path}/reports.db")
    store.add(arrivals(SPLIT, 500, 1), 0.0)
    assert run("store", "check").out.endswith("OK: the tallies are those of the reports\n")
    SPLIT.write("split.json")
    assert run("export", "-o", "a.parquet").err.startswith("error: name the plan's file")
    assert "wrote 500 reports" in run("export", "split.json", "-o", "a.parquet").err
    assert sum(map(len, SPLIT.read_reports("a.parquet"))) == 500
    refused = run("store", "scrub", "split.json")
    assert (refused.code, "what 500 reports say" in refused.err) == (2, True)
    assert run("store", "scrub", "split.json", "--round", "1", "--yes").out.startswith("scrubbed 500 reports")
    assert "500 of them scrubbed" in run("store", "check").out
    with store._database.transaction(write=True):
        store._database.run("DELETE FROM arrivals WHERE id < ?", b"\x80")
    broken = run("store", "check", "--json")
    assert broken.code == 1
    assert '"counted": 500' in broken.out
    assert run("store", "check", "--store", "sqlite:///none.db").code == 2


PLAN = dn.Plan.of({"town": list("abcdefghij"), "job": list("klmno")}, Split((plh(10, 1.0), hr(5, 1.0))), 300)
BATCHES = 4


def test_batches_are_counted_without_hashing_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    finish = Pooled.support_counts

    def count(self: Pooled, cells: Integers) -> Integers:
        hashed.append(len(cells))
        return finish(self, cells)

    monkeypatch.setattr(Pooled, "support_counts", count)
    generator = np.random.default_rng(1)
    sums, total = Sums(PLAN.document), Sums(PLAN.document).zero()
    batches = []
    for number in range(BATCHES):
        codes = np.stack([generator.integers(0, 10, 50), generator.integers(0, 5, 50)])
        batches.append(PLAN.privatize_codes(codes, dn.seeded(number)))
        total = total + sums.count(batches[-1].records)
    assert not hashed
    read = sums.tallies(sums.read(sums.write(total)), 1)
    assert len(hashed) == 1
    assert read == PLAN.tally(batches)
    assert sums.tallies(sums.zero(), 1) == PLAN.tally([])


def test_many_reports_at_once_find_those_that_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are among the arrivals, some among the older reports, in any mixture."""
    url = services.cluster().url()
    store = prepared(url)
    some = [Arrival(*one[:4]) for one in arrivals(SPLIT, 5 * _MANY, 1)]
    older, newer, *fresh = (some[_MANY * i : _MANY * (i + 1)] for i in range(5))
    sql: list[str] = []
    run = Postgres.run

    def note(self: Postgres, text: str, *values: object) -> list[Any]:
        sql.append(text)
        return run(self, text, *values)

    monkeypatch.setattr(Postgres, "run", note)
    assert store.add(older, 0.0) == ["counted"] * _MANY
    assert not any("CONFLICT" in text for text in sql), "new ones are inserted without looking for conflicts"
    monkeypatch.setattr(sweeping, "POOL", 0)
    assert store.sweep()
    assert store.add(newer, 0.0) == ["counted"] * _MANY
    before, new = ["counted before"] * 3, ["counted"] * _MANY
    assert store.add([*older[:3], *fresh[0]], 0.0) == [*before, *new]
    assert store.add([*newer[:3], *fresh[1]], 0.0) == [*before, *new]
    assert store.add([*older[:3], *newer[:3], *fresh[2]], 0.0) == [*before, *before, *new]
    assert store.counted(SPLIT.id) == 5 * _MANY
    assert store.check() == []
    store.close()
    messages = (services.cluster().folder / "log").read_text()
    named = [one.ids[0].hex() for one in some if one.ids[0].hex() in messages]
    assert not named, "the server's messages have no id of a repeated report"


def test_many_reports_need_no_function() -> None:
    """Where an operator allows no temporary functions, reports are counted all the same."""
    cluster = services.cluster()
    url = cluster.url()
    name = url.rsplit("%3D", 1)[1]
    cluster.sql("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    cluster.sql(f"CREATE ROLE {name} LOGIN")
    cluster.sql(f"GRANT ALL ON SCHEMA {name} TO {name}")
    try:
        store = prepared(url.replace("postgres@", f"{name}@"))
        some = [Arrival(*one[:4]) for one in arrivals(SPLIT, 2 * _MANY, 1)]
        assert store.add(some, 0.0) == ["counted"] * len(some)
        assert store.add(some, 0.0) == ["counted before"] * len(some)
        store.close()
    finally:
        cluster.sql("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")


def test_those_that_stay_are_chosen_among_their_pool() -> None:
    pools = [Pool(1, 1, 5, 5), Pool(1, 2, 1000, 400), Pool(2, 1, 7, 0)]
    first, second = (np.array(_choose_positions(pools)) for _ in range(2))
    for found in (first, second):
        assert len(set(found.tolist())) == 405
        assert set(range(1, 6)) <= set(found.tolist())
        assert found.max() <= 1005
    assert set(first.tolist()) != set(second.tolist()), "two choices of 400 of 1,000 are never the same"


def test_bytes_are_packed_as_the_server_reads_them() -> None:
    given = [b"", b"\x00", bytes(range(256)), b"NULL"]
    database = Postgres(services.cluster().url())
    with database.transaction(write=True):
        rows = database.run("SELECT value FROM unnest(?) AS given (value)", Packed.of(given))
    database.close()
    assert [value for (value,) in rows] == given
