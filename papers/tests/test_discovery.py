"""The study of discovery: exact limits equal the specification, the rest is within its margin."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from tests import statistics

from deniable.discovery import find_threshold
from deniable.errors import InvalidParameter
from deniable.mechanisms import linear
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies import discovery
from deniable_papers.studies.discovery.measures import draw_shown
from deniable_papers.studies.discovery.people import draw_strings, search_strings
from deniable_papers.studies.plot.discovery import plot_discovery


def test_shares_and_limits_are_those_of_the_specification() -> None:
    rows = list(discovery.reproduce(["shares", "limits"], runs=40, seed=1))
    assert not [row for row in rows if row.differs]
    assert {row.figure for row in rows} == {
        *("shown", "bias", "coverage", "above", "width", "limit", "power")
    }
    labels = [axes.get_ylabel() for axes in plot_discovery(rows).axes]
    assert labels[:2] == ["bias of a plain share, in sd", "how often 95 % intervals hold"]
    assert [axes.get_ylabel() for axes in plot_discovery(rows[:1]).axes] == ["strings that are shown"]


def test_common_strings_are_found() -> None:
    """Few people at a large epsilon: of Zipf's law with power 1.5 about six strings are found."""
    generator = np.random.default_rng(1)
    strings = draw_strings(5000, (5, 5), 1.5, generator)
    made = search_strings(strings, 20_000, 4.0, generator)
    assert 4 <= made.hits <= len(made.reported) <= 20
    assert made.f1 == 2 * made.hits / (20 + len(made.reported))
    assert int(made.counts.sum()) == 20_000
    assert made.counts[0] / 20_000 == pytest.approx(0.39, abs=0.02)


def test_the_command_prints_and_writes_the_same(tmp_path: Path) -> None:
    asked = ["discovery", "--quick", "--part", "shares", "--runs", "20"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "of 20 numbers differ from the specification" in shown.output
    drawn = tmp_path / "shares.svg"
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "--plot", str(drawn)])
    assert {row["method"] for row in json.loads(printed.stdout)} == {"this", "plain", "conditional"}
    assert drawn.stat().st_size > 1000


def test_parts_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="'find' is not a part of this study"):
        next(discovery.reproduce(["find"]))


def test_counts_of_what_is_shown_follow_their_law() -> None:
    """The sampler of the study, which never draws what is not shown."""
    m, n = linear(50, 2.0), 16_000
    threshold = find_threshold(m, n, 0.05 / 40)
    chance = m.law.q + 3.0 * float(m.law.variance(n)) ** 0.5 * m.law.gain
    counts = draw_shown(chance, n, threshold, statistics.SHOWN_COUNTS, np.random.default_rng(3))
    every = np.arange(threshold, threshold + 400)
    law = stats.binom.pmf(every, n, chance) / stats.binom.sf(threshold - 1, n, chance)
    law[-1] += 1 - law.sum()
    seen = np.bincount(counts.astype(np.int64) - threshold, minlength=400)
    statistics.goodness_of_fit(seen, law * counts.size, "counts of what is shown")
