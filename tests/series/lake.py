"""A folder of reports by day, which tests of series and of the dashboard over them share."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.results.kept_tallies import KeptTallies

ASKED = {
    "crash": ["yes", "no"],
    "os": ["linux", "mac", "windows"],
    "minutes": dn.Number(0, 120),
    "age": dn.Range(0, 100, step=5),
    "word": dn.Range(0, 60, step=1, open_high=True),
}
PLAN = dn.Study(ASKED, epsilon=8.0).plan(people=1500)
FIRST, DAYS, MOVED = date(2026, 9, 1), 62, 55


def write_lake(folder: Path) -> None:
    """Two months of reports and their tallies; in the last week, crashes are six times as common."""
    rng = np.random.default_rng(7)
    PLAN.write(folder / "plan.json")
    for t in range(DAYS):
        n = 300 if t != 50 else 1200
        answers = {
            "crash": np.where(rng.random(n) < (0.05 if t < MOVED else 0.3), "yes", "no"),
            "os": rng.choice(["linux", "mac", "windows"], n),
            "minutes": rng.uniform(20, 60, n),
            "age": rng.uniform(15, 80, n),
            "word": rng.uniform(0, 60, n),
        }
        reports = PLAN.privatize(answers, dn.seeded(t))
        PLAN.write_reports(folder / f"lake/day={FIRST + timedelta(days=t)}/part-0.parquet", reports)
    KeptTallies.update(folder / "tallies.json", PLAN.document, folder / "lake", by="day")
