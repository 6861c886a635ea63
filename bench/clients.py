"""What a device costs, and a test of every vector: rows of the speed table. Used by run.py."""

from __future__ import annotations

import compileall
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEVICE = ROOT / "device" / "src"
BARS = {
    "`deniable conform` on the library's client, s of processor time": 60.0,
    "`deniable-device` on disk, compiled, kB": 400.0,
    "`import deniable_device`, ms of processor time": 60.0,
    "a report of 10 questions by `deniable_device`, ms": 5.0,
    "the TypeScript client for pages, with tickets, kB by gzip": 70.0,
}
_IMPORT = (
    "import time; t = time.process_time(); import deniable_device; print(1e3 * (time.process_time() - t))"
)
_REPORT = """
import json, sys, time
from deniable_device import Client, Plan
plan = Plan(sys.stdin.read())
answers = {f"question {i}": "yes" for i in range(10)}
taken = []
for number in range(50):
    client = Client(plan, None, bytes([number] * 32), 1e9)  # a client makes its report once
    start = time.process_time()
    client.report(answers).to_bytes()
    taken.append(1e3 * (time.process_time() - start))
print(min(taken))
"""


def rows() -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed."""
    figures = [
        conform_seconds(),
        device_kilobytes(),
        import_milliseconds(),
        report_milliseconds(),
        script_kilobytes(),
    ]
    lines, missed = ["| work | measured | at most |", "|---|--:|--:|"], []
    for (work, bar), figure in zip(BARS.items(), figures, strict=True):
        lines.append(f"| {work} | {figure:.3g} | {bar:g} |")
        if figure > bar:
            missed.append(f"{work}: {figure:.3g}")
    return lines, missed


def conform_seconds() -> float:
    """All cases, by both processes."""
    before = os.times()
    command = [sys.executable, "-m", "deniable.cli", "conform", "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def device_kilobytes() -> float:
    """The package with its compiled modules, as pip leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "deniable_device"
        shutil.copytree(DEVICE / "deniable_device", package, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(package, quiet=1)
        return sum(path.stat().st_size for path in package.rglob("*") if path.is_file()) / 1000


def import_milliseconds() -> float:
    """In a fresh process, the best of five."""
    return min(float(_run(_IMPORT)) for _ in range(5))


def report_milliseconds() -> float:
    """Ten questions by a split, the plan being verified and in memory: the best of 50."""
    import deniable as dn

    questions = {f"question {i}": ["yes", "no"] for i in range(10)}
    plan = dn.Plan.of(questions, dn.spl([2] * 10, 1.0, "grr"), people=1000)
    return float(_run(_REPORT, plan.to_json()))


def script_kilobytes() -> float:
    """All that js/ makes for pages."""
    subprocess.run(["node", "build.mjs"], cwd=ROOT / "js", check=True, stdout=subprocess.DEVNULL)
    files = (ROOT / "js" / "dist" / name for name in ("client.js", "tickets.js"))
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) / 1000


def _run(program: str, text: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(DEVICE)}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, input=text, env=environment, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    table, missed = rows()
    print("\n".join([*table, *missed]))
