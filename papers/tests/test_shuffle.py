"""The study of shuffling: bounds are those specified, and never below the truth of small crowds."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies import shuffle
from deniable_papers.studies.plot.shuffle import plot_shuffle


def test_small_crowds_are_those_of_the_specification() -> None:
    rows = list(shuffle.reproduce(["small"]))
    assert not [row for row in rows if row.differs]
    found = {(row.case, row.method): row.value for row in rows if row.figure == "small"}
    for case in ("grr 3", "oue 3", "olh, 3 buckets", "grr 4"):
        assert found[case, "true"] <= found[case, "privacy blanket"] * (1 + 1e-9)
    assert found["grr 4", "trap: a third, common kind"] < found["grr 4", "true"], "it is no bound"
    assert found["grr 2", "others agree"] < found["grr 2", "worst crowd"]


def test_bounds_are_those_of_the_specification(tmp_path: Path) -> None:
    asked = ["shuffle", "--quick", "--part", "bounds", "--json", "--plot", str(tmp_path / "crowd.svg")]
    printed = CliRunner().invoke(reproduce_paper, asked)
    assert printed.exit_code == 0, printed.output
    rows = json.loads(printed.stdout)
    assert len(rows) == 21
    assert not [row for row in rows if row["differs"]]
    assert (tmp_path / "crowd.svg").stat().st_size > 1000


def test_the_command_prints_what_is_computed() -> None:
    shown = CliRunner().invoke(reproduce_paper, ["shuffle", "--part", "small"])
    assert "unit" in shown.output
    assert "delta" in shown.output.partition("unit")[2]
    assert shown.exit_code == 0, shown.output
    assert "0 of 13 numbers differ" in shown.output
    assert plot_shuffle(list(shuffle.reproduce(["small"]))).axes
