"""Numbers over 400 days from kept tallies of 50 million devices a day: rows of the speed table."""

from __future__ import annotations

import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from alone import Found, answer, best_of_three, tabulate

if TYPE_CHECKING:
    from deniable.series import Series

DAYS, DEVICES = 400, 50_000_000
ASKED = {f"q{j}": ["yes", "no"] if j < 10 else ["a", "b", "c", "d", "e"] for j in range(20)}
WORK = {
    "read": (f"{DAYS} days of 20 attributes from kept tallies: 60 numbers a day, and their alarms", 1.0),
    "kept": ("the same where people keep their answers: alarms", 1.0),
    "drawn": (
        f"{DAYS} days of 20 attributes from kept tallies to a picture of 24 numbers: processor time",
        1.0,
    ),
}


def rows() -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed."""
    return tabulate(__file__, WORK)


def _write(folder: Path, rounds: bool = False) -> tuple[Path, Path]:
    """A plan, and the tallies of all days, drawn at once."""
    import deniable as dn
    from deniable.law import Law
    from deniable.mechanisms import Tally
    from deniable.reports.reports import Tallies
    from deniable.results.kept_tallies import KeptTallies, Partition

    once = dn.Study(ASKED, epsilon=8.0)
    study = dn.Study(ASKED, epsilon_first=4.0, epsilon_forever=8.0) if rounds else once
    document, draw = study.plan(people=DEVICES).document, np.random.default_rng(1)
    parts = {}
    for t in range(DAYS):
        day, tallies = date(2025, 1, 1) + timedelta(days=t), {}
        for j, (attribute, part) in enumerate(document.pairs):
            law, n = document.mechanism.marginal(j), int(DEVICES * document.mechanism.chance(j))
            assert isinstance(law, Law)
            supported = np.full(part.tallied, law.q + law.gain / part.tallied)
            tallies[attribute.name] = Tally(n, draw.binomial(n, supported))
        parts[str(day)] = Partition(str(day), "0", {(day,): Tallies(document.id, DEVICES, tallies)})
    KeptTallies(document, ("day",), partitions=parts).write(folder / "tallies.json")
    return document.write(folder / "plan.json"), folder / "tallies.json"


def _read(rounds: bool = False) -> Series:
    from deniable.series import Series

    with tempfile.TemporaryDirectory() as folder:
        return Series.read(*_write(Path(folder), rounds))


def read() -> Found:
    from deniable.series import Series

    with tempfile.TemporaryDirectory() as folder:
        files = _write(Path(folder))
        return {"seconds": best_of_three(lambda: Series.read(*files).alarms())}


def kept() -> Found:
    series = _read(rounds=True)
    return {"seconds": best_of_three(series.alarms)}


def drawn() -> Found:
    from deniable.series import Series

    with tempfile.TemporaryDirectory() as folder:
        files, picture = _write(Path(folder)), Path(folder) / "picture.png"
        draw = lambda: Series.read(*files).plot().savefig(picture)  # noqa: E731
        return {"seconds": best_of_three(draw, time.process_time)}


if __name__ == "__main__":
    answer({"read": read, "kept": kept, "drawn": drawn})
