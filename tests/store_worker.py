"""Processes that add to a store while a test does something to them; `python -m` is too slow to start, so
they are forked.
"""

from __future__ import annotations

import os
import random
import signal
from multiprocessing.connection import Connection

import numpy as np

import deniable as dn
from deniable.records import Sample, Split
from deniable.records import named as many
from deniable.rounds import named as again
from deniable.store import sweeping
from deniable.store.store import Arrival, open_store
from deniable.study import Plan
from deniable.wire import Wire

ASKED: dict[str, object] = {"color": ["red", "green", "blue"], "age": [str(n) for n in range(9)]}
SPLIT = Plan.of(ASKED, Split((dn.grr(3, 1.0), dn.oue(9, 1.0))), people=1000)
SAMPLED = Plan.of(ASKED, many.smp([3, 9], 1.0), people=1000)
FLIPPED = Plan.of(
    ASKED, Sample((again.dbitflip(3, 1.0, 2), again.dbitflip(9, 1.0, 4))), people=1000, rounds=3
)
PLANS = (SPLIT, SAMPLED, FLIPPED)


def bodies(plan: Plan, n: int, seed: int) -> list[bytes]:
    """Reports of n simulated people."""
    numbers = np.random.default_rng(seed)
    codes = np.stack([numbers.integers(0, part.k, n) for part in plan.document.parts])
    return Wire(plan.document).bodies(plan.privatize_codes(codes))


def arrivals(plan: Plan, n: int, seed: int, number: int = 1) -> list[Arrival]:
    """The same as they arrive, with random ids of their own."""
    draw = random.Random(seed)
    return [Arrival(plan.id, number, (draw.randbytes(16),), (body,)) for body in bodies(plan, n, seed)]


def add_until_killed(url: str, seed: int, acknowledged: Connection) -> None:
    """Add batches, sweep in between, and tell which ids were counted as soon as that is known."""
    draw = random.Random(seed)
    sweeping.POOL = 100
    store = open_store(url)
    made = arrivals(SPLIT, 5_000, seed)
    while len(made) > 100:
        some = [made.pop() for _ in range(draw.randint(1, 100))]
        outcomes = store.add(some, 0.0)
        assert set(outcomes) == {"counted"}
        acknowledged.send_bytes(b"".join(one.ids[0] for one in some))
        if draw.random() < 0.3:
            store.sweep()
    signal.pause()


def deliver(url: str, batches: list[list[Arrival]], seed: int, results: Connection) -> None:
    """Add the same batches as everybody else, in an order of one's own; some reports move meanwhile."""
    draw = random.Random(seed)
    draw.shuffle(batches)
    store, counted = open_store(url), 0
    sweeping.POOL = 10
    for batch in batches:
        counted += store.add(batch, 0.0).count("counted")
        if draw.random() < 0.2:
            with store._database.transaction(write=True):
                sweeping.mix(store._database, {})
    store.close()
    results.send(counted)
    results.close()
    os._exit(0)
