"""The speed table: Deniable beside multi-freq-ldpy and pure-ldp in one run, CPU second for CPU second.

Both sides run as processes of their own and take turns, so that a busy moment of the machine hits both; each
figure is the best of several turns. `python bench/run.py` prints the table, checks the bars and rewrites
bench/RESULTS.md.
"""

from __future__ import annotations

import ast
import json
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import track

import clients
import crosstabs
import discovery
import engines
import learning
import ranges
import reconstruct
import series
from origin import describe_origin
from side import Side, peers_python

HERE = Path(__file__).parent
ROUNDS = 3

BARS = {  # what each task must reach beside multi-freq-ldpy
    "privatize grr 100": 60,
    "privatize oue 100": 35,
    "privatize oue 1000": 30,
    "privatize olh 100": 800,
    "privatize ss 100": 25,
    "privatize ss 1000": 25,
    "tally oue 100": 40,
    "tally oue 1000": 40,
    "tally olh 100": 400,
    "tally olh 1000": 400,
    "privatize spl grr": 100,
    "privatize smp grr": 100,
    "privatize rsfd grr": 100,
    "privatize spl oue": 30,
    "privatize rsfd oue-z": 30,
    "tally rsfd grr": 50,
    "tally rsfd oue-z": 50,
    "privatize l_grr": 100,
    "privatize l_osue": 15,
}
ALSO = ["privatize grr 1000", "privatize olh 1000", "tally ss 100"]
SECURE = [
    f"{name} {k}" for name in ("grr", "sue", "oue", "the", "blh", "olh", "ss", "hr") for k in (100, 1000)
]
SECURE_BAR = 5.0
DEVICE = ["l_grr 100", "l_osue 100", "loloha 100", "dbitflip 100", "rsfd oue-z 10 x 10"]
DEVICE_BAR = 1e-3  # seconds for one report of one person
AUDIT_BAR = 10.0  # seconds for an audit of OUE, k = 100, 10^6 trials for each answer, in one process
ATTACK_BAR, PEOPLE_BAR, PEOPLE_MEMORY = 100.0, 60.0, 2048.0  # times faster than XGBoost; seconds; mebibytes
FIGURES_BAR = 60.0  # seconds for the RS+FD paper's Figures 6-10, all datasets, 100 runs a point


def import_seconds() -> float:
    """`import deniable` in a fresh process, best of five."""
    code = "import time; t = time.perf_counter(); import deniable; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))


def figures_seconds() -> float:
    """All points of `deniable reproduce rsfd`, by the clock."""
    start = time.perf_counter()
    command = [str(Path(sys.executable).parent / "deniable"), "reproduce", "rsfd", "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measured() -> tuple[Side, Side]:
    ours, theirs = Side([sys.executable, "ours.py"]), Side([peers_python(), "peers.py"])
    tasks = [*BARS, *ALSO]
    words = ["words seeded", "words secure", "bytes copied"]
    secure = [f"{kind} {name}" for name in SECURE for kind in ("privatize", "secure")]
    for task in track(tasks * ROUNDS, description="beside the peers", console=Console(stderr=True)):
        ours.measure(task)
        theirs.measure("multi " + task)
        theirs.measure("pure " + task)
    for _ in range(ROUNDS):
        theirs.measure("multi tally oue many 100")
    for task in track(
        [*reconstruct.BARS, "dense product 10000"] * ROUNDS,
        description="likelihood",
        console=Console(stderr=True),
    ):
        ours.measure(task)
        theirs.measure("multi " + task)
        theirs.measure("diffprivlib " + task)
    device = [f"device {name}" for name in DEVICE]
    for task in track(
        (words + secure + device + ["audit oue 100"]) * ROUNDS,
        description="secure words",
        console=Console(stderr=True),
    ):
        ours.measure(task)
    return ours, theirs


def attacks_measured() -> dict[str, list[dict[str, float]]]:
    """The rows of attacks.py."""
    found = json.loads(subprocess.check_output([sys.executable, "attacks.py"], cwd=HERE, text=True))
    return dict(found)


def attacks_report(found: dict[str, list[dict[str, float]]]) -> tuple[list[str], list[str]]:
    """The section on attacks, and the bars that were missed."""
    lines, missed = ["", "## Attacks", ""], []
    lines += [
        "Which attribute is real in RS+FD, Adult (d = 10, 45,222 people), epsilon 5, CPU time: Bayes beside "
        f"XGBoost (NK-1n) on the same reports. At least {ATTACK_BAR:g} x faster, and at least as accurate "
        "but for sampling error.",
        "",
        "| protocol | Bayes, s | XGBoost, s | ratio | Bayes right | XGBoost right |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in found["sampled"]:
        ratio, better = (
            row["xgboost_seconds"] / row["bayes_seconds"],
            row["bayes_accuracy"] - row["xgboost_accuracy"],
        )
        figures = f"{row['bayes_seconds']:.4f} | {row['xgboost_seconds']:.1f} | {ratio:,.0f} x"
        lines.append(
            f"| {row['protocol']} | {figures} | {row['bayes_accuracy']:.2%} | {row['xgboost_accuracy']:.2%} |"
        )
        if ratio < ATTACK_BAR or better < -0.005:
            missed.append(f"sampled attribute {row['protocol']}: {ratio:.0f} x, {100 * better:+.2f} points")
    lines += [
        "",
        "People found in a background: Adult, d = 10, 5 surveys, 45,222 x 45,222, top-1 and top-10 together, "
        f"by the clock. At most {PEOPLE_BAR:g} s and {PEOPLE_MEMORY:g} MiB in all.",
        "",
        "| protocol | matching | s | top-1 | top-10 | MiB |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in found["people"]:
        figures = f"{row['seconds']:.1f} | {row['top_1']:.2%} | {row['top_10']:.2%} | {row['mebibytes']:.0f}"
        lines.append(f"| {row['protocol']} | {row['matching']} | {figures} |")
        if row["seconds"] > PEOPLE_BAR or row["mebibytes"] > PEOPLE_MEMORY:
            missed.append(
                f"people {row['protocol']} {row['matching']}: {row['seconds']:.0f} s, {row['mebibytes']:.0f} "
                "MiB"
            )
    return lines, missed


def report(
    ours: Side, theirs: Side, memory: dict[str, float], loading: float, figures: float
) -> tuple[str, list[str]]:
    """The tables in Markdown, and the bars that were missed."""
    missed = []
    lines = [
        "## Beside the peers, per CPU-second",
        "",
        "| work | Deniable, ns a report | multi-freq-ldpy, ns | ratio | at least | pure-ldp, ns | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for task in [*BARS, *ALSO]:
        mine, multi, pure = (
            ours.best[task] * 1e9,
            theirs.best[f"multi {task}"] * 1e9,
            theirs.best.get(f"pure {task}"),
        )
        ratio, bar = multi / mine, BARS.get(task)
        if bar is not None and ratio < bar:
            missed.append(f"{task}: {ratio:.0f} x, not {bar} x")
        also = f"{pure * 1e9:,.0f} | {pure * 1e9 / mine:,.0f} x" if pure is not None else "- | -"
        lines.append(
            f"| {task} | {mine:,.1f} | {multi:,.0f} | {ratio:,.0f} x | {f'{bar} x' if bar else '-'} | {also} "
            "|"
        )
    likely, slow_ones = reconstruct.rows(ours.best, theirs.best)
    missed += slow_ones
    lines += ["", "## Noise by distance and most likely shares", "", *likely]
    lines += [
        "",
        "## Secure words instead of seeded ones",
        "",
        f"At most {SECURE_BAR:g} times slower, any protocol.",
        "",
    ]
    lines += ["| protocol, k | seeded, ns | secure, ns | times |", "|---|--:|--:|--:|"]
    for name in SECURE:
        seeded, secure = ours.best[f"privatize {name}"] * 1e9, ours.best[f"secure {name}"] * 1e9
        if secure > SECURE_BAR * seeded:
            missed.append(f"secure {name}: {secure / seeded:.1f} x slower")
        lines.append(f"| {name} | {seeded:,.1f} | {secure:,.1f} | {secure / seeded:.1f} |")
    if memory["bytes_per_report"] > 130 or memory["added_mebibytes"] > 64:
        missed.append(f"memory: {memory}")
    if loading > 0.6:
        missed.append(f"import: {loading:.2f} s")
    slow = {name: ours.best[f"device {name}"] for name in DEVICE if ours.best[f"device {name}"] > DEVICE_BAR}
    missed += [f"device {name}: {seconds * 1e3:.2f} ms" for name, seconds in slow.items()]
    if ours.best["audit oue 100"] > AUDIT_BAR:
        missed.append(f"audit: {ours.best['audit oue 100']:.1f} s")
    if figures > FIGURES_BAR:
        missed.append(f"figures: {figures:.0f} s")
    lines += [
        "",
        "## Memory and start",
        "",
        f"- OUE reports, k = 1000: {memory['bytes_per_report']:.0f} bytes each in memory (at most 130).",
        f"- Tallying 10^6 of them adds {memory['added_mebibytes']:.1f} MiB (at most 64).",
        f"- `import deniable`: {loading:.2f} s (at most 0.6).",
        "",
        "## On a device",
        "",
        f"One report of one person, keyed by a secret: at most {DEVICE_BAR * 1e3:g} ms.",
        "",
        "| mechanism, values | ms |",
        "|---|--:|",
        *(f"| {name} | {ours.best[f'device {name}'] * 1e3:.2f} |" for name in DEVICE),
        "",
        "## An audit",
        "",
        f"OUE, k = 100, 10^6 trials for each answer, the in-process client: {ours.best['audit oue 100']:.1f} "
        f"s (at most {AUDIT_BAR:g}).",
        "",
        "## A paper's figures",
        "",
        f"RS+FD, Figures 6-10, all datasets, 10 methods, 6 epsilons, 100 runs a point: {figures:.0f} s by "
        f"the clock (at most {FIGURES_BAR:g}).",
        "",
        "## How far from the machine's limit",
        "",
        *limits(ours),
    ]
    return "\n".join(lines) + "\n", missed


def limits(ours: Side) -> list[str]:
    """What the generator and the memory alone would cost, beside what a report costs."""
    word, secure, byte = (ours.best[name] * 1e9 for name in ("words seeded", "words secure", "bytes copied"))
    usual = {  # words drawn, bytes read and written, for one report
        "privatize grr 100": (2, 8 + 1),
        "privatize oue 100": (19, 8 + 13),
        "privatize oue 1000": (156, 8 + 125),
        "privatize olh 100": (3, 8 + 9),
        "privatize ss 100": (28, 8 + 13),
        "privatize ss 1000": (270, 8 + 125),
        "tally oue 100": (0, 13),
        "tally oue 1000": (0, 125),
        "tally olh 100": (0, 9),
        "tally olh 1000": (0, 9),
    }
    lines = [
        f"Raw speed in the same run: {word:.2f} ns a seeded word, {secure:.2f} ns a secure word "
        f"(AES-256-CTR), {byte:.3f} ns a byte copied.",
        "",
        "| work | ns | words alone | memory alone | of the limit | what stands between |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for task, (words, size) in usual.items():
        mine, drawing, moving = ours.best[task] * 1e9, words * word, size * byte
        share = max(drawing, moving) / mine
        lines.append(
            f"| {task} | {mine:,.1f} | {drawing:,.1f} | {moving:,.1f} | {share:.0%} | {BETWEEN[task]} |"
        )
    return lines


BETWEEN = {
    "privatize grr 100": "the check of the values (two passes), a 64-bit product and a comparison for the "
    "other value",
    "privatize oue 100": "five logic operations a word in three nearby tables, and a second pass over the "
    "fifth of the "
    "groups that eight digits leave open",
    "privatize oue 1000": "the same; the tables stay in the first cache, so it is arithmetic, not memory",
    "privatize olh 100": "the hash (three products, no division) and unaligned stores of nine bytes",
    "privatize ss 100": "two products that scale each word, a look-up, two marks; then eight marks at a time "
    "become a byte",
    "privatize ss 1000": "the same; the products wait for one multiplier",
    "tally oue 100": "15 additions in logic operations for every 16 words, one after the other: arithmetic, "
    "not memory",
    "tally oue 1000": "the same",
    "tally olh 100": "100 hashes a report: an addition, a product by g's inverse and two comparisons each, 8 "
    "or 16 at a time",
    "tally olh 1000": "1,000 hashes a report; a pool of public hash functions would make it a group-by",
}


def describe_run() -> str:
    """Where the numbers are from, and how to read them."""
    return (
        f"{describe_origin()}, {platform.python_implementation()} {platform.python_version()}, numpy "
        f"{version('numpy')}, numba {version('numba')}; epsilon = 1; CPU time, best of {3 * ROUNDS}. Only "
        "ratios mean something: the machine is shared."
    )


def main() -> None:
    about = describe_run()
    ours, theirs = measured()
    memory = ast.literal_eval(
        subprocess.check_output([sys.executable, "ours.py", "memory"], cwd=HERE, text=True)
    )
    text, missed = report(ours, theirs, memory, import_seconds(), figures_seconds())
    tabled, slow_tables = crosstabs.rows()
    inside, slow_engines = engines.rows(theirs.best["multi tally oue many 100"])
    learned, slow_learning = learning.rows()
    unlisted, slow_discovery = discovery.rows(peers_python())
    ranged, slow_ranges = ranges.rows()
    by_day, slow_series = series.rows()
    on_devices, slow_clients = clients.rows()
    attacked, slow = attacks_report(attacks_measured())
    missed += slow_tables + slow_engines + slow_learning + slow_discovery + slow_ranges + slow_series
    missed += slow_clients + slow
    below = ["", "## Bars that were missed", "", *(f"- {line}" for line in missed or ["none"])]
    told = ["", "## Where the reports are", "", *inside, "", "## Two answers at once", "", *tabled]
    told += ["", "## Learning, and crowds", "", *learned, "", "## Values that nobody listed", "", *unlisted]
    told += ["", "## Ranges", "", *ranged, "", "## Over days", "", *by_day, "", "## Clients", "", *on_devices]
    text += "\n".join([*told, *attacked, *below]) + "\n"
    (HERE / "RESULTS.md").write_text(f"# Benchmark\n\nMade by `make bench`.\n\n{about}\n\n{text}")
    print(text)
    for line in missed:
        print(f"missed: {line}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
