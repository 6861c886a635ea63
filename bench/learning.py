"""Models and series from sanitized data, and what a crowd hides: rows of the speed table. Used by run.py."""

from __future__ import annotations

import time
from functools import partial
from typing import Literal

import numpy as np

from alone import Found, answer, best_of_three, measure, mebibytes

N = 10**6
COLUMNS = 10
VALUES = 50
BESIDE = 160.0  # mebibytes that may be held beside table and result: a block, and a byte for each cell
WORK = {
    "values": (f"`Privatizer`, 10^6 rows x {COLUMNS} columns of {VALUES} values, GRR", 2.0),
    "indicators": ("the same, OUE as indicators", 20.0),
    "bayes": ("`PrivateNaiveBayes` from 10^6 reports: tally and fit, label protected", 1.0),
    "entropy_week": ("maximum entropy over 127 sets of days, from 28 counts", 0.010),
    "entropy_fortnight": ("the same over 2^14 sets, from 105 counts", 10.0),
    "crowd": ("what a crowd of 10^6 hides: the slowest of five mechanisms", 2.0),
}


def rows() -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed."""
    lines = ["| work | s | at most | MiB beside the result | at most |", "|---|--:|--:|--:|--:|"]
    missed = []
    for name, (work, bar) in WORK.items():
        found = measure(__file__, name)
        seconds, beside = found["seconds"], found.get("beside")
        shown = ("-", "-") if beside is None else (f"{beside:.0f}", f"{BESIDE:g}")
        lines.append(f"| {work} | {seconds:.3g} | {bar:g} | {shown[0]} | {shown[1]} |")
        if seconds > bar or (beside is not None and beside > BESIDE):
            missed.append(f"{work}: {seconds:.3g} s" + ("" if beside is None else f", {beside:.0f} MiB"))
    lines += [
        "",
        "By the clock, once the compiled loops are loaded; the best of three, of one for rows of 10^6.",
    ]
    return lines, missed


def values() -> Found:
    return _privatize("grr", "value")


def indicators() -> Found:
    return _privatize("oue", "support")


def _privatize(protocol: str, output: Literal["value", "support"]) -> Found:
    import deniable as dn

    table = np.random.default_rng(1).integers(0, VALUES, (N, COLUMNS))
    domains = dict.fromkeys(range(COLUMNS), VALUES)
    privatizer = dn.learn.Privatizer(domains, 10.0, protocol=protocol, output=output)
    privatizer.fit(table).transform(table[:20_000])  # loads the loops
    before = mebibytes()
    start = time.perf_counter()
    result = privatizer.transform(table)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "beside": mebibytes() - before - result.nbytes / 2**20}


def bayes() -> Found:
    import deniable as dn

    random = np.random.default_rng(1)
    names = [f"column {j}" for j in range(COLUMNS)]
    domains: dict[str, object] = {name: list(range(10)) for name in names}
    model = dn.learn.PrivateNaiveBayes(2.0, {**domains, "label": [0, 1]}, "label", label="protected")
    plan = model.make_plan(N)
    answers = {name: random.integers(0, 10, N) for name in names}
    reports = plan.privatize({**answers, "label": random.integers(0, 2, N)}, dn.seeded(1))
    return {"seconds": best_of_three(lambda: model.fit_tally(plan, plan.tally(reports)))}


def entropy_week() -> Found:
    return _find_entropy(7)


def entropy_fortnight() -> Found:
    return _find_entropy(14)


def _find_entropy(days: int) -> Found:
    from deniable_papers import learn

    shares = np.random.default_rng(1).dirichlet(np.full(2**days - 1, 0.3))
    unions = learn.count_unions(np.round(shares * N), days)
    return {"seconds": best_of_three(lambda: learn.maximum_entropy(unions, days=days))}


def crowd() -> Found:
    import deniable as dn
    from deniable.crowd import shuffled

    made = [dn.grr(10, 1.0), dn.oue(10, 2.0), dn.ss(100, 1.0), dn.olh(1000, 4.0), dn.hr(10, 1.0)]
    return {"seconds": max(best_of_three(partial(shuffled, one, N)) for one in made)}


if __name__ == "__main__":
    answer(
        {
            "values": values,
            "indicators": indicators,
            "bayes": bayes,
            "entropy_week": entropy_week,
            "entropy_fortnight": entropy_fortnight,
            "crowd": crowd,
        }
    )
