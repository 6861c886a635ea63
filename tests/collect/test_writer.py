"""Group commit: what is acknowledged is written, what waits is bounded, and a store that is lost for a while
is no end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from deniable.collect.writer import Busy, Capacity, Writer
from deniable.store.store import Arrival, Outcome, Store, StoreUnavailable
from tests import services
from tests.collect.test_store import _close_prepared, counted, make, prepared, store
from tests.store_worker import SPLIT, arrivals

__all__ = ["_close_prepared", "make", "store"]  # fixtures


class Slow:
    """A store that writes when it is told to, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[Arrival]] = []
        self.go = threading.Semaphore(0)
        self.began = threading.Event()
        self.problem: Exception | None = None

    def add(self, some: Sequence[Arrival], now: Callable[[], float]) -> list[Outcome]:
        self.began.set()
        self.go.acquire()
        if self.problem is not None:
            raise self.problem
        if any(one.bodies[0] == b"poison" for one in some):
            raise ZeroDivisionError("a fault of ours")
        self.batches.append(list(some))
        return ["form" if one.bodies[0] == b"bad" else "counted" for one in some]


def one(number: int, body: bytes = b"") -> Arrival:
    return Arrival("plan", 1, (number.to_bytes(16),), (body,))


def go(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


async def began(slow: Slow) -> None:
    """Wait until the writer is busy with a batch."""
    while not slow.began.is_set():
        await asyncio.sleep(0.001)


def test_everything_is_written_before_it_is_acknowledged(store: Store) -> None:
    some, seconds = arrivals(SPLIT, 1500, 1), list[float]()

    async def work() -> None:
        writer = Writer(store, clock=lambda: 0.0, committed=seconds.append)

        async def client(mine: list[Arrival]) -> None:
            for at in range(0, len(mine), 3):
                assert await writer.add(mine[at : at + 3]) == ["counted"] * len(mine[at : at + 3])
            assert await writer.add(mine[:2]) == ["counted before"] * 2

        await asyncio.gather(*(client(some[at::50]) for at in range(50)))
        assert writer.waiting == 0
        await writer.close()

    go(work())
    assert len(seconds) < 500, "many share a transaction"
    assert store.tallies(SPLIT.id) == counted(SPLIT, [each.bodies[0] for each in some])
    assert store.check() == []


def test_what_waits_goes_together_and_answers_find_their_way() -> None:
    slow = Slow()

    async def work() -> None:
        writer = Writer(slow, Capacity(at_once=5))
        first = asyncio.ensure_future(writer.add([one(0)]))
        await began(slow)
        rest = [asyncio.ensure_future(writer.add([one(n), one(n + 100, b"bad")])) for n in range(1, 5)]
        large = asyncio.ensure_future(writer.add([one(n) for n in range(200, 220)]))
        await asyncio.sleep(0.01)
        assert not first.done()
        assert writer.waiting == 29
        for _ in range(4):
            slow.go.release()
        assert await first == ["counted"]
        assert await asyncio.gather(*rest) == [["counted", "form"]] * 4
        assert await large == ["counted"] * 20
        await writer.close()

    go(work())
    assert [len(batch) for batch in slow.batches] == [1, 4, 4, 20], "what one task adds is never split"


def test_too_much_is_refused_at_once() -> None:
    slow = Slow()

    async def work() -> None:
        writer = Writer(slow, Capacity(waiting=10, waiting_bytes=10_000))
        tasks = [asyncio.ensure_future(writer.add([one(n) for n in range(8)]))]
        await began(slow)
        with pytest.raises(Busy, match="8 reports wait"):
            await writer.add([one(9), one(10), one(11)])
        with pytest.raises(Busy):
            await writer.add([one(9, bytes(9_000))])
        tasks.append(asyncio.ensure_future(writer.add([one(9)])))
        await asyncio.sleep(0)
        slow.go.release()
        slow.go.release()
        await asyncio.gather(*tasks)
        slow.go.release()
        assert len(await writer.add([one(n) for n in range(30)])) == 30, (
            "what is too large for the queue goes when it is empty"
        )
        await writer.close()

    go(work())


def test_closing_writes_what_waits() -> None:
    slow = Slow()

    async def work() -> None:
        writer = Writer(slow, Capacity(at_once=2))
        tasks = [asyncio.ensure_future(writer.add([one(n)])) for n in range(7)]
        cancelled = asyncio.ensure_future(writer.add([one(7)]))
        await began(slow)
        cancelled.cancel()
        closing = asyncio.ensure_future(writer.close())
        await asyncio.sleep(0.01)
        with pytest.raises(Busy, match="shutting down"):
            await writer.add([one(8)])
        for _ in range(8):
            slow.go.release()
        await closing
        assert await asyncio.gather(*tasks) == [["counted"]] * 7
        assert writer.waiting == 0

    go(work())
    assert sum(map(len, slow.batches)) == 8, "the cancelled one was begun"


def test_a_store_that_is_lost_and_comes_back() -> None:
    slow = Slow()

    async def work() -> None:
        writer = Writer(slow)
        slow.problem = StoreUnavailable("gone")
        tasks = [asyncio.ensure_future(writer.add([one(0)]))]
        await began(slow)
        tasks += [asyncio.ensure_future(writer.add([one(n)])) for n in range(1, 5)]
        await asyncio.sleep(0.01)
        slow.go.release()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(answer) for answer in answers if isinstance(answer, StoreUnavailable)] == ["gone"] * 5
        slow.problem = None
        slow.go.release()
        assert await writer.add([one(0)]) == ["counted"]
        assert writer.waiting == 0
        await writer.close()

    go(work())


def test_a_fault_of_ours_takes_nobody_with_it() -> None:
    slow = Slow()

    async def work() -> None:
        writer = Writer(slow)
        first = asyncio.ensure_future(writer.add([one(0)]))
        await began(slow)
        tasks = [
            asyncio.ensure_future(writer.add([one(n, b"poison" if n == 2 else b"")])) for n in range(1, 4)
        ]
        await asyncio.sleep(0.01)
        for _ in range(9):
            slow.go.release()
        answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert [answer if isinstance(answer, list) else type(answer) for answer in answers] == [
            *(["counted"], ["counted"], ZeroDivisionError, ["counted"])
        ]
        await writer.close()

    go(work())


def test_postgres_is_restarted_under_a_writer() -> None:
    cluster = services.cluster()
    store = prepared(cluster.url())
    some, sent, failures = arrivals(SPLIT, 50_000, 1), 0, 0

    async def work() -> None:
        writer, restarted = Writer(store), asyncio.Event()

        async def client() -> None:
            nonlocal sent, failures
            after = 0
            while after < 10:
                each, sent = some[sent], sent + 1
                while True:
                    try:
                        assert (await writer.add([each]))[0] in ("counted", "counted before")
                        break
                    except StoreUnavailable:
                        failures += 1
                        await asyncio.sleep(0.05)
                after += restarted.is_set()

        clients = asyncio.gather(*(client() for _ in range(20)))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(cluster.restart)
        restarted.set()
        await clients
        await writer.close()

    go(work())
    assert failures
    assert store.counted(SPLIT.id) == sent
    assert store.check() == []
    cluster.restart()
    assert store.counted(SPLIT.id) == sent, (
        "a connection that was lost while nobody used it is nobody's problem"
    )
    store.close()


def test_one_report_costs_little() -> None:
    """Without the store: what the writer itself adds to a request; bench/ measures all of it."""

    class Nothing:
        def add(self, some: Sequence[Arrival], now: Callable[[], float]) -> list[Outcome]:
            return ["counted"] * len(some)

    async def work() -> None:
        writer = Writer(Nothing())
        some = [one(n) for n in range(100)]

        async def client() -> None:
            for each in some:
                await writer.add([each])

        best = float("inf")
        for _ in range(5):
            started = time.process_time()
            await asyncio.gather(*(client() for _ in range(64)))
            best = min(best, (time.process_time() - started) / 6400)
        assert best < 100e-6, f"{best * 1e6:.0f} microseconds a report"  # 10 on a quiet machine
        await writer.close()

    go(work())


def test_a_group_is_bounded_by_its_bytes_too() -> None:
    async def work() -> None:
        slow = Slow()
        writer = Writer(slow, Capacity(at_once_bytes=5000))
        tasks = [asyncio.create_task(writer.add([one(0)]))]
        await began(slow)
        tasks += [asyncio.create_task(writer.add([one(n, bytes(2000))])) for n in range(1, 6)]
        await asyncio.sleep(0.01)
        for _ in range(6):
            slow.go.release()
        await asyncio.gather(*tasks)
        assert [len(batch) for batch in slow.batches] == [1, 2, 2, 1]
        await writer.close()

    go(work())
