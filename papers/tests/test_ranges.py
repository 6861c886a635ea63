"""The study of ranges: what is exact equals the specification, and faults are far off."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from deniable.ranges import Tree
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies import ranges
from deniable_papers.studies.plot.ranges import plot_ranges
from deniable_papers.studies.ranges.exact import count_nodes
from deniable_papers.studies.ranges.people import heaped_shares, smooth_shares


def test_variances_are_those_of_the_specification(tmp_path: Path) -> None:
    """But for a fan-out of 8, of which 2^10 is no power: ours is exact on the ragged tree."""
    asked = ["ranges", "--part", "trees", "--json", "--plot", str(tmp_path / "ranges.svg")]
    printed = CliRunner().invoke(reproduce_paper, asked)
    assert printed.exit_code == 0, printed.output
    rows = json.loads(printed.stdout)
    assert len(rows) == 36
    assert [(row["case"], row["stated"]) for row in rows if row["differs"]] == [
        ("2^10 values, any range, fan-out 8", 25.7)
    ]
    assert (tmp_path / "ranges.svg").stat().st_size > 1000


@pytest.mark.parametrize(("k", "fanout"), [(16, 4), (27, 3), (37, 4)])
def test_ranges_are_made_of_the_fewest_nodes(k: int, fanout: int) -> None:
    """By taking the largest node that fits, from left to right."""
    tree = Tree(k, fanout)
    firsts, lasts = np.triu_indices(k + 1, 1)
    found = count_nodes(tree, firsts, lasts)
    for first, last, many in zip(firsts.tolist(), lasts.tolist(), found.tolist(), strict=True):
        at, count = first, 0
        while at < last:
            fits = [d for d in tree.divisors if at % d == 0 and min(at + d, k) <= last]
            at, count = min(at + max(fits), k), count + 1
        assert many == count


def test_errors_of_methods_are_apart() -> None:
    """Two runs of smooth and heaped people: each method is where it is stated, and norm-sub is far off."""
    rows = list(ranges.reproduce(["errors"], runs=2, seed=1, sizes=[1024]))
    errors = {(row.figure, row.case, row.method, row.epsilon): row.value for row in rows}
    smooth, heaped = "1,024 values, smooth", "1,024 values, heaped"
    methods = {row.method for row in rows if row.figure == "cumulative"}
    cumulative = {method: errors["cumulative", smooth, method, 1.0] for method in methods}
    assert cumulative["isotonic"] < cumulative["least squares"] < 40 < cumulative["flat, norm-sub first"]
    assert cumulative["square wave"] < cumulative["isotonic"]
    waves = [errors["ranges of 1/100", case, "square wave", 4.0] for case in (smooth, heaped)]
    assert waves[0] < 1 < 10 < waves[1], "on heaped data its error is bias"
    assert min(row.value for row in rows if row.figure == "held") > 0.85
    assert len([row for row in rows if row.differs]) <= 2
    assert plot_ranges(rows).axes


def test_people_add_up() -> None:
    for shares in (smooth_shares(1024), heaped_shares(1024)):
        assert shares.sum() == pytest.approx(1.0)
        assert shares.min() >= 0
