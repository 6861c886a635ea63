"""The programs of docs/from-multi-freq-ldpy.md: theirs run in their own environment, ours here, and agree.

`python bench/run.py` makes that environment. Without it, only our programs are run.
"""

from __future__ import annotations

import json
import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import statistics

import deniable as dn

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers"
PAGE = (ROOT / "docs" / "from-multi-freq-ldpy.md").read_text(encoding="utf-8")
PROGRAMS = {
    title: (theirs, ours)
    for title, theirs, ours in re.findall(
        r"^### ([^\n]+)\n\n```python\n(.+?)```\n\n```python\n(.+?)```$", PAGE, re.MULTILINE | re.DOTALL
    )
}
needs_peers = pytest.mark.skipif(not (PEERS / "ready").exists(), reason="the peers' environment is not made")
KS, PEOPLE = [5, 3], 20_000
"""The sizes of two attributes, and the people of either side. The least share is 0.1: 12 standard errors of
GRR or OLH at epsilon 1, so clipping never matters; of RS+FD and SMP it is 8.
"""
SHARES = ([0.3, 0.25, 0.2, 0.15, 0.1], [0.5, 0.3, 0.2])
READ = ("GRR", "RS+FD", "L-GRR")
"""Programs whose reports are whole numbers, which both sides can read."""
GIVEN = """
import json, sys
import numpy as np
np.random.seed(7)
given = json.loads(sys.stdin.read())
k, ks, values, table = given["k"], given["ks"], given["values"], given["table"]
"""


def make_people() -> dict[str, Any]:
    columns = [
        np.repeat(range(k), np.round(np.array(shares) * PEOPLE).astype(int))
        for k, shares in zip(KS, SHARES, strict=True)
    ]
    table = np.column_stack(
        [np.random.default_rng(j).permutation(column) for j, column in enumerate(columns)]
    )
    return {"k": KS[0], "ks": KS, "values": table[:, 0].tolist(), "table": table.tolist()}


@cache
def run_theirs(title: str) -> dict[str, Any]:
    """The shares and the reports of their program."""
    show = "shown = [np.asarray(share, dtype=float).tolist() for share in shares]\n"
    show += f"kept = np.asarray(reports).tolist() if {title in READ} else []\n"
    show += "print(json.dumps({'shares': shown, 'reports': kept}))"
    answer: dict[str, Any] = ask_peers(f"{GIVEN}\n{PROGRAMS[title][0]}\n{show}", json.dumps(make_people()))
    return answer


def ask_peers(code: str, given: str = "") -> Any:
    """What a program of theirs prints."""
    command = [str(PEERS / "bin" / "python"), "-W", "ignore", "-c", code]
    made = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return json.loads(made.stdout)


@cache
def run_ours(title: str) -> dict[str, Any]:
    """Whatever our program names; its noise is seeded."""
    code = PROGRAMS[title][1].replace("privatize(values)", "privatize(values, dn.seeded(7))")
    code = code.replace("privatize(table)", "privatize(table, dn.seeded(7))")
    assert "seeded" in code
    names: dict[str, Any] = {"dn": dn, **make_people()}
    exec(code, names)
    return names


def find_errors(mechanism: Any) -> list[float]:
    """The standard error of a share of each attribute; projecting to a sum of one only lowers it."""
    if isinstance(mechanism, dn.records.RecordMechanism):
        return [
            mechanism.marginal(j).error(1, 0.5 if j else 0.3) ** 0.5
            / (PEOPLE * float(mechanism.chance(j))) ** 0.5
            for j in range(len(KS))
        ]
    return [mechanism.law.error(PEOPLE, 0.3) ** 0.5]


def list_shares(shares: Any) -> list[list[float]]:
    """The shares of each attribute, where a program may have one attribute only."""
    return [list(shares)] if np.ndim(shares[0]) == 0 else [list(each) for each in shares]


def test_there_are_six_programs() -> None:
    assert list(PROGRAMS) == ["GRR", "OUE", "OLH", "SMP", "RS+FD", "L-GRR"]


@pytest.mark.parametrize("title", PROGRAMS)
def test_our_programs_find_the_shares(title: str) -> None:
    ours = run_ours(title)
    for shares, truth, error in zip(
        list_shares(ours["shares"]), SHARES, find_errors(ours["mechanism"]), strict=False
    ):
        for share, true in zip(shares, truth, strict=True):
            statistics.deviation(share, true, error, f"a share of {title}")


@needs_peers
@pytest.mark.parametrize("title", PROGRAMS)
def test_both_programs_agree(title: str) -> None:
    """The difference of two shares has the square root of 2 times the standard error of one."""
    theirs, ours = run_theirs(title), run_ours(title)
    pairs = zip(list_shares(theirs["shares"]), list_shares(ours["shares"]), strict=True)
    for (first, second), error in zip(pairs, find_errors(ours["mechanism"]), strict=True):
        for share, other in zip(first, second, strict=True):
            statistics.deviation(share, other, error * 2**0.5, f"a share of {title}, theirs and ours")


@needs_peers
@pytest.mark.parametrize("title", READ)
def test_their_reports_read_the_same_here(title: str) -> None:
    """From the same reports the same shares to ten digits; the mechanisms of the traps read other ones."""
    theirs, mechanism = run_theirs(title), run_ours(title)["mechanism"]
    reports = np.array(theirs["reports"])
    traps = {
        "GRR": dn.grr(KS[0], 1.01),
        "RS+FD": dn.rsfd(KS, 1.0, "grr"),
        "L-GRR": dn.rounds.l_grr(KS[0], 2.0, 4.0),
    }

    def read(source: Any) -> list[list[float]]:
        tallies = [
            dn.Tally(PEOPLE, np.bincount(column, minlength=k))
            for column, k in zip(reports.reshape(PEOPLE, -1).T, KS, strict=False)
        ]
        estimates = source.estimate(tallies) if title == "RS+FD" else [source.estimate(tallies[0])]
        return [estimate.project("norm-mul").tolist() for estimate in estimates]

    same, other = read(mechanism), read(traps[title])
    for shares, exact, trapped in zip(list_shares(theirs["shares"]), same, other, strict=True):
        assert shares == pytest.approx(exact, abs=1e-10)
        assert shares != pytest.approx(trapped, abs=1e-4)


def test_the_traps_are_there() -> None:
    published, ours = dn.rsfd(KS, 1.0, "grr", calibration="published"), dn.rsfd(KS, 1.0, "grr")
    assert published.loss("record") == pytest.approx(np.log(2 * (np.e - 1) + 1))
    assert ours.loss("record") <= 1.0
    assert ours.marginal(0).error(1) > 2 * published.marginal(0).error(1)
    exact, spent = (dn.rounds.l_grr(10, 0.3, 1.0, calibration=name) for name in ("exact", "published"))
    assert spent.loss() < 0.2 < 0.29 < exact.loss()
    for forever, part in ((3.0, 0.43), (0.5, 0.9)):
        exact, spent = (
            dn.rounds.l_grr(10, 0.3 * forever, forever, calibration=name) for name in ("exact", "published")
        )
        assert 1 - exact.law.error(1, 0.0) / spent.law.error(1, 0.0) == pytest.approx(part, abs=0.01)


@needs_peers
def test_their_second_report_is_not_bounded() -> None:
    """Reports of one person agree as independent draws do; kept ones would agree far more often."""
    code = """
import numpy as np
from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client
np.random.seed(3)
pairs = [(L_GRR_Client(0, 20, 1.0, 0.9), L_GRR_Client(0, 20, 1.0, 0.9)) for _ in range(20_000)]
print(sum(first == second for first, second in pairs))
"""
    agreeing = ask_peers(code)
    kept = dn.rounds.l_grr(20, 0.9, 1.0, calibration="published")
    law = kept.law
    alone = float(law.p) ** 2 + 19 * float(law.q) ** 2
    error = (alone * (1 - alone) / 20_000) ** 0.5
    statistics.deviation(agreeing / 20_000, alone, error, "agreeing reports of one person")


@needs_peers
def test_every_function_of_theirs_is_named() -> None:
    code = """
import importlib, inspect, json, pkgutil
import multi_freq_ldpy
names = []
for module in pkgutil.walk_packages(multi_freq_ldpy.__path__, "multi_freq_ldpy."):
    made = importlib.import_module(module.name)
    names += [name for name, item in vars(made).items() if getattr(item, "__module__", "") == module.name]
print(json.dumps(sorted(set(names))))
"""
    theirs = ask_peers(code)
    named = re.findall(r"`([\w*]+)`", PAGE.partition("## Six programs")[0])
    assert len(theirs) > 90
    assert [name for name in theirs if not any(fnmatch(name, pattern) for pattern in named)] == []
