"""Deniable's side of the table, the machine's own limits, and memory. Run by run.py."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import psutil

import deniable as dn
from deniable.metric.line import GeometricChannel
from reconstruct import CERTIFICATE, N, shares
from worker import Task, serve

REPORTS = 1_000_000


def values(k: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, k, REPORTS)


def privatize(protocol: str, k: int, secure: bool) -> Task:
    mechanism, people = dn.PROTOCOLS[protocol].make(k, 1.0), values(k)
    people = people[: min(REPORTS, 200_000_000 // mechanism.words)]
    return lambda: mechanism.privatize(people, dn.randomness.system() if secure else dn.seeded(7)), len(
        people
    )


def tally(protocol: str, k: int) -> Task:
    mechanism = dn.PROTOCOLS[protocol].make(k, 1.0)
    reports = mechanism.privatize(values(k)[:200_000], dn.seeded(7))
    return lambda: mechanism.tally(reports), len(reports)


def records(name: str) -> dn.records.Split | dn.records.Sample | dn.records.Faked:
    """Ten attributes of ten values each."""
    mechanism, _, protocol = name.partition(" ")
    ks = [10] * 10
    if mechanism == "rsfd":
        return dn.rsfd(ks, 1.0, protocol)
    return dn.spl(ks, 1.0, protocol) if mechanism == "spl" else dn.smp(ks, 1.0, protocol)


def privatize_records(name: str) -> Task:
    mechanism, table = records(name), np.random.default_rng(1).integers(0, 10, (100_000, 10))
    return lambda: mechanism.privatize(table, dn.seeded(7)), len(table)


def tally_records(name: str) -> Task:
    mechanism, table = records(name), np.random.default_rng(1).integers(0, 10, (100_000, 10))
    reports = mechanism.privatize(table, dn.seeded(7))
    return lambda: mechanism.tally(reports), len(table)


def again(make: Callable[[int, float, float], dn.rounds.Memoized]) -> Task:
    """A population whose permanent answers are kept per person."""
    mechanism, people = make(100, 1.0, 2.0), values(100)[:100_000]
    return lambda: mechanism.privatize(people, dn.remembering(3, dn.seeded(7))), len(people)


def on_device(make: Callable[[], dn.mechanisms.Mechanism | dn.records.RecordMechanism]) -> Task:
    """One report of one person, who keeps a secret and nothing else."""
    mechanism, secret = make(), bytes(range(32))
    answer = (
        np.full((1, mechanism.d), 3) if isinstance(mechanism, dn.records.RecordMechanism) else np.array([3])
    )
    return lambda: [mechanism.privatize(answer, dn.randomness.device(secret, "study")) for _ in range(20)], 20


ON_DEVICE: dict[str, Callable[[], dn.mechanisms.Mechanism | dn.records.RecordMechanism]] = {
    "l_grr 100": lambda: dn.rounds.l_grr(100, 1.0, 2.0),
    "l_osue 100": lambda: dn.rounds.l_osue(100, 1.0, 2.0),
    "loloha 100": lambda: dn.rounds.loloha(100, 1.0, 2.0),
    "dbitflip 100": lambda: dn.rounds.dbitflip(100, 1.0, bits=16),
    "rsfd oue-z 10 x 10": lambda: dn.rsfd([10] * 10, 1.0, "oue-z"),
}


def most_likely_counts() -> Task:
    mechanism = dn.metric.geometric(100, 0.1)
    tally = dn.Tally(N, np.random.default_rng(1).multinomial(N, mechanism.law.forward(shares(100))))
    assert dn.mle(mechanism, tally).gap <= CERTIFICATE
    return lambda: [dn.mle(mechanism, tally) for _ in range(20)], 20


def most_likely_values() -> Task:
    mechanism = dn.grr(100, 1.0)
    tally = mechanism.tally(
        mechanism.privatize(np.random.default_rng(1).zipf(1.5, 100_000) % 100, dn.seeded(1))
    )
    assert dn.mle(mechanism, tally).gap < 1e-12  # exact, but for the rounding of floats
    return lambda: [dn.mle(mechanism, tally) for _ in range(500)], 500


def products(dense: bool) -> Task:
    """How likely every output is, from the shares of 10,001 counts."""
    channel, people = GeometricChannel(10_000, 0.1), shares(10_000)
    if dense:
        matrix = channel.matrix()
        return lambda: [people @ matrix for _ in range(3)], 3
    return lambda: [channel.output(people) for _ in range(300)], 300


def noise() -> Task:
    mechanism, people = dn.metric.geometric(100, 0.5), np.random.default_rng(1).integers(0, 101, REPORTS)
    return lambda: mechanism.privatize(people, dn.randomness.system()), REPORTS


def audit() -> Task:
    """A whole audit of the in-process client, with 10^6 trials for each answer."""
    plan = dn.Plan.of({"x": [str(value) for value in range(100)]}, dn.oue(100, 1.0), people=REPORTS)
    return lambda: dn.audit.lower_bound(plan, trials=REPORTS), 1


def seeded_words() -> Task:
    from deniable.randomness import kernels

    words = np.empty(1 << 15, dtype=np.uint64)
    return lambda: [
        kernels.fill_seeded(np.uint64(3), np.uint64(5), np.uint64(0), words) for _ in range(64)
    ], 64 << 15


def secure_words() -> Task:
    source = dn.randomness.system()
    return lambda: [source.take(1 << 15) for _ in range(64)], 64 << 15


def copied_bytes() -> Task:
    """A plain copy of far more than the caches hold, as nanoseconds per byte written."""
    source = np.ones(1 << 25, dtype=np.uint64)
    target = np.empty_like(source)
    return lambda: np.copyto(target, source), source.nbytes


def memory_of_tally() -> dict[str, float]:
    """How much the resident size grows at most while 10^6 reports of OUE with k = 1000 are tallied."""
    mechanism = dn.oue(1000, 1.0)
    reports = mechanism.privatize(values(1000), dn.seeded(7))
    mechanism.tally(reports[:100_000])  # loads the compiled loop, whose size is not the tally's
    process = psutil.Process(os.getpid())
    before = peak = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    mechanism.tally(reports)
    done.set()
    watcher.join()
    return {"bytes_per_report": reports.nbytes / len(reports), "added_mebibytes": (peak - before) / 2**20}


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        print(memory_of_tally())
    else:
        tasks: dict[str, Callable[[], Task]] = {
            "words seeded": seeded_words,
            "words secure": secure_words,
            "bytes copied": copied_bytes,
            "audit oue 100": audit,
        }
        for name in dn.PROTOCOLS:
            for size in (100, 1000):
                tasks[f"privatize {name} {size}"] = partial(privatize, name, size, False)
                tasks[f"secure {name} {size}"] = partial(privatize, name, size, True)
                tasks[f"tally {name} {size}"] = partial(tally, name, size)
        for name in ("spl grr", "smp grr", "rsfd grr", "spl oue", "rsfd oue-z"):
            tasks[f"privatize {name}"] = partial(privatize_records, name)
            tasks[f"tally {name}"] = partial(tally_records, name)
        tasks["privatize l_grr"], tasks["privatize l_osue"] = (
            partial(again, dn.rounds.l_grr),
            partial(again, dn.rounds.l_osue),
        )
        tasks["mle geometric 100"], tasks["mle grr 100"] = most_likely_counts, most_likely_values
        tasks["privatize geometric 100"] = noise
        tasks["product geometric 10000"], tasks["dense product 10000"] = (
            partial(products, False),
            partial(products, True),
        )
        tasks |= {f"device {name}": partial(on_device, make) for name, make in ON_DEVICE.items()}
        serve(tasks)
