"""What a billion reports cost in each shape, by measured slopes, and a simulated day of a billion people.

`python bench/scale.py` takes a minute. It writes the tables into docs/scale.md, between their marks, and
draws docs/images/scale.png. Seconds are processor time, since the machine is shared.
"""

from __future__ import annotations

import os
import platform
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import deniable as dn
import queueing
from deniable.engines.query import count_by
from deniable.mechanisms import Mechanism
from deniable.metric.means import averaged
from deniable.plot import figure
from deniable.store.counting import Known
from deniable.study import Plan
from deniable.wire import Report
from origin import describe_origin

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scale.md"
PICTURE = HERE.parent / "docs" / "images" / "scale.png"
BILLION = 10**9
EPSILON = 1.0
SIZES = 40_000, 240_000  # reports; a slope is a difference
DEVICES = 20, 120  # reports that are made one by one
BATCHES = 1000, 10_000  # reports that a collector counts at once; it takes no more
TURNS = 3
SEED = 1
SWEPT = 0.55  # of the rate without sweeps, docs/operating.md
CATEGORIES: dict[str, Mechanism] = {
    "direct, k = 100": dn.grr(100, EPSILON),
    "unary, k = 100": dn.oue(100, EPSILON),
    "unary, k = 1,000": dn.oue(1000, EPSILON),
    "subset, k = 100": dn.ss(100, EPSILON),
    "subset, k = 1,000": dn.ss(1000, EPSILON),
    "hashed, k = 100": dn.olh(100, EPSILON),
    "hashed, k = 1,000": dn.olh(1000, EPSILON),
    "pooled, k = 1,000": dn.mechanisms.plh(1000, EPSILON),
    "Hadamard, k = 1,000": dn.hr(1000, EPSILON),
}


@dataclass(frozen=True)
class Slopes:
    """What one more report costs: bytes and seconds; and the rows that a partition gives to the others."""

    wire: int
    parquet: float
    device: float
    collector: tuple[float, ...]
    tally: float
    rows: int


def make_plans() -> dict[str, tuple[Plan, object]]:
    """A plan of one question for each shape, and an answer to it."""
    plans: dict[str, tuple[Plan, object]] = {}
    for name, mechanism in CATEGORIES.items():
        labels = [f"answer {value}" for value in range(mechanism.k)]
        plans[name] = Plan.of({"question": labels}, mechanism, people=BILLION), labels[3]
    ages = {"question": dn.Range(0, 100, step=1)}
    plans["metric, k = 100"] = Plan.of(ages, dn.metric.geometric(99, 0.1), people=BILLION), 3
    numbers = {"question": dn.Number(0, 100)}
    plans["mean"] = Plan.of(numbers, averaged("piecewise", EPSILON), people=BILLION), 3
    return plans


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this process and its threads, the best of some turns."""
    found = []
    for _ in range(TURNS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def slope(sizes: tuple[int, int], cost: Callable[[int], float]) -> float:
    """What one more costs: the difference of two sizes, so that whatever is paid once is left out."""
    small, large = sizes
    return (cost(large) - cost(small)) / (large - small)


def measure(plan: Plan, answer: object, folder: Path) -> Slopes:
    """The slopes of one plan; what is compiled or loaded once is run before."""
    [mechanism] = plan.mechanism.mechanisms
    codes = np.random.default_rng(SEED).integers(0, mechanism.k, (1, max(SIZES)))
    reports = plan.privatize_codes(codes, dn.seeded(SEED))
    known = Known(1, plan.document)
    bodies = known.wire.bodies(reports)

    def write(n: int) -> Path:
        path = folder / f"{plan.id}-{n}.parquet"
        if not path.exists():
            plan.write_reports(path, plan.privatize_codes(codes[:, :n], dn.seeded(SEED)))
        return path

    def make_reports(n: int) -> None:
        for _ in range(n):
            dn.Client(plan, secret=os.urandom(32), cap=100.0).report({"question": answer})

    def count_bodies(n: int, batch: int) -> None:
        for start in range(0, n, batch):
            read, sound = known.wire.sound(bodies[start : start + batch])
            assert sound.all()
            known.count(read)

    make_reports(1)
    count_bodies(max(BATCHES), max(BATCHES))
    plan.tally(write(SIZES[0]))
    countings = map(count_by, plan.table_form.columns, plan.mechanism.mechanisms)
    cells = sum(sum(each.size for each in one.cells) or 1 for one in countings)
    return Slopes(
        len(Report(known.wire.prefix, 1, bytes(16), bodies[0]).to_bytes()),
        slope(SIZES, lambda n: write(n).stat().st_size),
        slope(DEVICES, lambda n: seconds(lambda: make_reports(n))),
        tuple(
            slope(SIZES, lambda n: seconds(lambda: count_bodies(n, batch)))  # noqa: B023
            for batch in BATCHES
        ),
        slope(SIZES, lambda n: seconds(lambda: plan.tally(write(n)))),
        cells,
    )


def costs() -> list[str]:
    """The table per billion reports."""
    lines = [
        f"{describe_origin()}, CPython {platform.python_version()}, epsilon = {EPSILON:g}, one "
        "question. Seconds are processor time of one core, on a shared machine: the best of "
        f"{TURNS} turns. Each number is a slope between {SIZES[0]:,} and {SIZES[1]:,} reports "
        f"({DEVICES[0]} and {DEVICES[1]} on a device), times a billion.",
        "",
        "| a billion reports | on the wire, GB | in Parquet, GB | all devices, s | collectors, in batches "
        f"of {BATCHES[0]:,}, s | in batches of {BATCHES[1]:,}, s | tally from Parquet, s "
        "| rows of a partition to shuffle |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        for shape, (plan, answer) in make_plans().items():
            found = measure(plan, answer, Path(name))
            lines.append(
                f"| {shape} | {found.wire:,} | {found.parquet:,.2f} | {format_seconds(found.device)} | "
                f"{' | '.join(map(format_seconds, found.collector))} | {format_seconds(found.tally)} | "
                f"{found.rows:,} |"
            )
            print(lines[-1], flush=True)
    return lines


def format_seconds(each: float) -> str:
    """Of a billion, with two digits: the machine gives no more."""
    digits = 1 - int(np.floor(np.log10(each * BILLION)))
    return f"{round(each * BILLION, digits):,.0f}"


def read_load() -> tuple[int, int]:
    """Reports a second of one collector, and of one PostgreSQL, from bench/LOAD.md."""
    text = (HERE / "LOAD.md").read_text(encoding="utf-8")
    found = []
    for row in ("single binary, 64 connections", "batches of 1,000, PostgreSQL"):
        line = re.search(rf"^\| {re.escape(row)} \| ([\d,]+) \|", text, re.MULTILINE)
        assert line is not None, f"bench/LOAD.md has no row {row!r}"
        found.append(int(line.group(1).replace(",", "")))
    return found[0], found[1]


def day() -> list[str]:
    """The table of the simulated day, and its picture."""
    single, store = read_load()
    rate = int(SWEPT * single)
    setting = queueing.Setting(1, rate, store)
    peak = int(queueing.draw_arrivals(setting, np.random.default_rng(SEED)).max())
    days = queueing.try_collectors(replace(setting, collectors=-(-peak // rate)), SEED)
    days[max(days) + 1] = queueing.simulate_day(replace(setting, collectors=max(days) + 1), SEED)
    lines = [
        f"A collector takes {rate:,} reports a second: {SWEPT:g} of the {single:,} single reports of "
        f"`bench/LOAD.md`, to leave room for sweeps. The store of all takes {store:,}. At most {peak:,} "
        f"people come in a second, {peak / (BILLION / setting.seconds):.2f} times the mean. Seed {SEED}.",
        "",
        "| collectors | counted at the first try | 99 % wait at most, s | longest wait, s "
        "| most wait at once | wait at midnight |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for number, found in days.items():
        assert np.array_equal(found.arrived, found.counted + found.waiting)
        assert int(found.waits.sum()) == found.counted[-1]
        at_once = "below 1" if found.percentile(0.99) == 0 else f"{found.percentile(0.99):,}"
        lines.append(
            f"| {number} | {found.waits[0] / BILLION:.3%} | {at_once} | {found.oldest.max():,} | "
            f"{found.most.max():,} | {found.waiting[-1]:,} |"
        )
    draw(days)
    return lines


def draw(days: dict[int, queueing.Day]) -> None:
    """Who comes, who is counted and who waits, with one collector fewer than needed and with enough."""
    from matplotlib.figure import Figure

    few, enough = sorted(days)[-3:-1]
    with figure.style():
        drawing = Figure(figsize=(8, 4.6), layout="constrained")
        above, below = drawing.subplots(2, 1, sharex=True)
        hours = np.arange(1, len(days[few].arrived) + 1) / 60
        per_second = [np.diff(each, prepend=0) / 60 for each in (days[few].arrived, days[few].counted)]
        above.plot(hours, per_second[1], color=figure.ESTIMATE, label=f"counted, {few} collectors")
        above.plot(hours, per_second[0], color=figure.INK, linewidth=1, label="people who come")
        above.set_ylabel("a second")
        below.fill_between(
            hours, days[few].most / 1e6, color=figure.ESTIMATE, label=f"wait, {few} collectors"
        )
        below.plot(hours, days[enough].most / 1e6, color=figure.TRUTH, label=f"wait, {enough} collectors")
        below.set_ylabel("million people")
        below.set_xlabel("hour of the day; one collector is lost from 20 to 21")
        below.set_xticks(range(0, 25, 4))
        for axes in (above, below):
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, 24)
            axes.legend(loc="upper left")
        figure.save(drawing, PICTURE)


def replace_marked(text: str, mark: str, lines: list[str]) -> str:
    """The text with these lines between the two marks of this name."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    assert found, f"docs/scale.md has no mark {mark!r}"
    assert ended, f"docs/scale.md does not end {mark!r}"
    return before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    text = replace_marked(text, "costs", costs())
    text = replace_marked(text, "day", day())
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
