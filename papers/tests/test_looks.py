"""Figures of papers: a look per method that never changes, and files by dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.running import Run

from deniable.mechanisms import PROTOCOLS
from deniable_papers.curves import Curve, draw_curves
from deniable_papers.looks import METHODS, looks
from deniable_papers.studies import allomfree, geometric, risks, rsfd, tradeoffs
from deniable_papers.trained import KNOWLEDGE

STUDIES: dict[str, list[str]] = {
    "protocols": list(PROTOCOLS),
    "rsfd": [name for name in rsfd.METHODS if not name.endswith("at record")],
    "allomfree": list(allomfree.METHODS),
    "tradeoffs": list(tradeoffs.METHODS),
    "channels": list(geometric.CHANNELS),
    "attacks": [*KNOWLEDGE, *risks.ATTACKS],
}


@pytest.mark.parametrize("study", STUDIES)
def test_every_method_has_a_look_that_never_changes(study: str) -> None:
    names = STUDIES[study]
    assert all(name.lower() in METHODS for name in names)
    together = looks(names)
    for name in names:
        alone = looks([name])[name]
        assert looks(["a name of its own", name, *reversed(names)])[name] == together[name] == alone
    pairs = {(look["color"], look["marker"]) for look in together.values()}
    assert len(pairs) == len(dict.fromkeys(names))


def test_no_two_methods_look_the_same() -> None:
    assert len(set(METHODS.values())) == len(METHODS)


def test_a_report_by_a_protocol_looks_as_the_protocol_does() -> None:
    both = looks(["SMP[GRR]", "RS+FD[GRR]"])
    assert both["SMP[GRR]"] == looks(["grr"])["grr"]
    assert both["RS+FD[GRR]"] != both["SMP[GRR]"]


@pytest.mark.parametrize("log", [True, False])
def test_bars_stay_in_their_panel_and_end_in_arrows(log: bool) -> None:
    axes = Figure().subplots()
    look: dict[str, Any] = looks(["grr"])["grr"]
    curve = Curve([1, 2, 3, 4], [0.5, 0.01, 0.2, 0.0], [0.05, 0.5, 0.19, 0.1], "grr", look)
    low = 0.001 if log else 0.0
    draw_curves(axes, [curve], (low, 0.6), log=log)
    container: Any = axes.containers[0]
    segments = [piece for piece in container.lines[2][0].get_segments() if piece.ndim == 2]
    ends = np.array([piece[:, 1] for piece in segments])
    assert ends.min() >= low
    assert ends.max() <= 0.6
    below = {line.get_marker(): np.asarray(line.get_xdata()).tolist() for line in axes.lines[1:]}
    arrows = {marker: at for marker, at in below.items() if marker in ("v", "^")}
    assert arrows == {"v": [2, 3, 4] if log else [2, 4]}
    if log:  # no bar is longer than to a quarter of its point
        assert (ends[:, 0] * 4.0001 >= [0.5, 0.01, 0.2]).all()


def test_every_dataset_has_figures_of_its_own(run: Run) -> None:
    people = ("--n", "2", "--prior", "uniform,zipf", "--people", "500", "--runs", "2")
    asked = ("reproduce", "geometric", *people, "--epsilons", "1,2", "--channel", "grr,geometric")
    made = run(*asked, "--figures", "out")
    assert made.code == 0, made.err
    assert sorted(path.name for path in Path("out").glob("*.pdf")) == ["uniform.pdf", "zipf.pdf"]
