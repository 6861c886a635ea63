"""Tables of two questions on Adult: rows of the speed table. No peer reads such tables. Used by run.py."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from alone import answer, measure, mebibytes

N = 10**6
EPSILON = 1.0
CERTIFICATE = 1e-6
BLOCK = 50_000  # people who report at a time: a collector does not hold all reports, either
BARS = {"tables": 5.0, "joint": 10.0, "planning": 3.0}  # seconds of CPU time
MEMORY_BAR = 300.0  # mebibytes of the process that reads all tables
WORK = {
    "tables": "36 pair tables of 9 attributes, 10^6 reports: tally, covariances, all conditional intervals, "
    "all tests",
    "joint": f"most likely table of 656 cells from 45,222 subset reports, certified to {CERTIFICATE:g}",
    "planning": "a plan of 10 attributes with all 45 pairs",
}


def rows() -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed."""
    found = {name: measure(__file__, name) for name in BARS}
    lines = ["| work | s | at most | MiB | at most |", "|---|--:|--:|--:|--:|"]
    missed = []
    for name, bar in BARS.items():
        seconds, mebibytes = found[name]["seconds"], found[name]["mebibytes"]
        most = f"{MEMORY_BAR:g}" if name == "tables" else "-"
        lines.append(f"| {WORK[name]} | {seconds:.1f} | {bar:g} | {mebibytes:.0f} | {most} |")
        if seconds > bar or (name == "tables" and mebibytes > MEMORY_BAR):
            missed.append(f"{WORK[name]}: {seconds:.1f} s, {mebibytes:.0f} MiB")
    if found["joint"]["gap"] > CERTIFICATE:
        missed.append(f"{WORK['joint']}: a gap of {found['joint']['gap']:.1e}")
    lines += [
        "",
        f"Adult, epsilon = {EPSILON:g}, CPU time of one thread. Memory is that of the whole process. The "
        "tables are those of a plan: their protocols are chosen, and the tables are made to agree.",
    ]
    return lines, missed


def tables() -> dict[str, float]:
    """All that is read of the reports; making them is not counted."""
    import deniable as dn
    from deniable_papers import data

    people = data.load("adult")
    study = dn.Study(
        dict(zip(people.attributes, map(list, people.labels), strict=True)),
        epsilon=EPSILON,
        together=[people.attributes],
    )
    plan = study.plan(people=N)
    random = np.random.default_rng(1)

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        for start in range(0, N, BLOCK):
            chosen = people.table[random.integers(0, people.n, min(BLOCK, N - start))]
            yield {
                name: np.array(labels)[chosen[:, j]]
                for j, (name, labels) in enumerate(zip(people.attributes, people.labels, strict=True))
            }

    took, tallies = 0.0, None
    for number, block in enumerate(blocks()):
        reports = plan.privatize(block, dn.seeded(number))
        if tallies is None:
            plan.tally(reports)  # loads the loops
        start = time.process_time()
        counted = plan.tally(reports)
        tallies = counted if tallies is None else tallies + counted
        took += time.process_time() - start
    start = time.process_time()
    assert tallies is not None
    result = plan.estimate(tallies)
    for of, by in combinations(people.attributes, 2):
        table = result.cross(of, by=by)
        assert table.low.shape == table.high.shape == table.cells.shape
        assert table.covariance.shape == (table.cells.size, table.cells.size)
        assert table.test().degrees == (len(table.rows) - 1) * (len(table.columns) - 1)
    assert result.n == N
    return {"seconds": took + time.process_time() - start, "mebibytes": mebibytes()}


def joint() -> dict[str, float]:
    """Of education and native country, once the loops are loaded."""
    import deniable as dn
    from deniable_papers import data

    people = data.load("adult")
    education, country = (people.attributes.index(name) for name in ("education", "native-country"))
    k = people.ks[education] * people.ks[country]
    cells = people.table[:, education].astype(np.int64) * people.ks[country] + people.table[:, country]
    mechanism = dn.ss(k, EPSILON)
    reports = mechanism.privatize(cells, dn.seeded(1))
    dn.mle(mechanism, reports, iterations=1)
    start = time.process_time()
    found = dn.mle(mechanism, reports, tolerance=CERTIFICATE)
    return {"seconds": time.process_time() - start, "mebibytes": mebibytes(), "gap": found.gap}


def planning() -> dict[str, float]:
    """The first plan of a process, which finds nothing computed before."""
    import deniable as dn
    from deniable_papers import data

    people = data.load("adult-10")
    domains: dict[str, object] = dict(zip(people.attributes, map(list, people.labels), strict=True))
    domains["age"] = dn.Range(17, 97, step=10)
    start = time.process_time()
    plan = dn.Study(domains, epsilon=EPSILON, together=[people.attributes]).plan(people=N)
    seconds = time.process_time() - start
    assert plan.mechanism.reported == 1
    return {"seconds": seconds, "mebibytes": mebibytes()}


if __name__ == "__main__":
    answer({"tables": tables, "joint": joint, "planning": planning})
