"""Figures for print: a look for each name, and files by figure."""

from __future__ import annotations

from pathlib import Path

from deniable.plot.looks import BLUE, looks
from tests.running import Run


def test_other_names_take_what_is_left() -> None:
    found = looks(["grr", *(f"other {i}" for i in range(70))], {"grr": (BLUE, "o")})
    pairs = [(look["color"], look["marker"]) for look in found.values()]
    assert len(set(pairs[:56])) == 56
    assert all(one != pairs[0] for one in pairs[1:56])


def test_every_attribute_has_files_of_its_own(run: Run) -> None:
    run("init", "study.toml", "--data", "data.csv")
    run("plan", "study.toml", "--people", "50_000", "-o", "plan.json")
    run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1")
    made = run("estimate", "plan.json", "r.parquet", "--figures", "figures")
    assert made.code == 0, made.err
    names = sorted(path.name for path in Path("figures").iterdir())
    endings = (".pdf", ".png", ".svg")
    attributes = ("minutes", "satisfied", "transport")
    assert names == [f"{name}{ending}" for name in attributes for ending in endings]
    assert all(path.stat().st_size > 3000 for path in Path("figures").iterdir())
    again = run("estimate", "plan.json", "r.parquet", "--figures", "figures")
    assert (again.code, "holds files already" in again.err) == (2, True)
