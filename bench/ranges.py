"""Ranges of 65,536 values, and crowds of 10^6 people: rows of the speed table. Used by run.py."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from alone import Found, answer, best_of_three, tabulate

if TYPE_CHECKING:
    from deniable.reports import Reports
    from deniable.study import Plan

N = 10**6
VALUES = 1 << 16
EPSILON = 1.0
ASKED = 1000  # ranges, of which one is timed
WORK = {
    "levels": (f"ranges over {VALUES:,} values, 10^6 reports: tally and estimate", 5.0),
    "one_range": ("the share of one of 2 x 10^9 ranges, with its interval", 0.001),
    "one_heaped": ("the same where ten values have 75 % of the people", 0.001),
    "curve": ("all cumulative shares, with the interval of each, and a median", 5.0),
    "crowd": ("what a crowd of 10^6 hides: the slowest of a coin, text in levels, and ranges", 2.0),
}


def rows() -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed."""
    lines, missed = tabulate(__file__, WORK)
    lines += [
        "",
        f"Epsilon = {EPSILON:g}, by the clock, once the compiled loops are loaded; the best of three.",
    ]
    return lines, missed


def _ask(people: int, heaped: bool = False) -> tuple[Plan, Reports]:
    """The plan, and reports of so many people, three quarters of whom may have one of ten values."""
    import deniable as dn

    asked = {"income": dn.Range(0, VALUES, step=1, queries="ranges")}
    plan = dn.Study(asked, epsilon=EPSILON).plan(people=N)
    draw = np.random.default_rng(1)
    values = (draw.beta(2, 5, people) * VALUES).astype(np.int64)
    if heaped:
        heaps = draw.integers(0, 10, people) * (VALUES // 10)
        values = np.where(draw.random(people) < 0.75, heaps, values)
    return plan, plan.privatize({"income": values}, dn.seeded(1))


def levels() -> Found:
    plan, reports = _ask(N)
    return {
        "seconds": best_of_three(lambda: plan.estimate(plan.tally(reports)).range("income", 20_000, 40_000))
    }


def one_range(heaped: bool = False) -> Found:
    plan, reports = _ask(N if heaped else N // 10, heaped)
    result = plan.estimate(plan.tally(reports))
    result.range("income", 20_000, 40_000)  # what is computed once for all ranges

    def ask() -> None:
        for last in range(40_000, 40_000 + ASKED):
            result.range("income", 20_000, last)

    return {"seconds": best_of_three(ask) / ASKED}


def curve() -> Found:
    plan, reports = _ask(N // 10)
    tally = plan.tally(reports)

    def draw() -> None:
        result = plan.estimate(tally)
        result.cdf("income")
        result.quantile("income", 0.5)

    return {"seconds": best_of_three(draw)}


def crowd() -> Found:
    import deniable as dn
    from deniable.crowd import shuffled
    from deniable.records import Sample

    text = Sample(tuple(dn.mechanisms.linear(bits, 2.0) for bits in (20, 35, 50, 50)), weights=(7, 7, 7, 4))
    asked = {"income": dn.Range(0, VALUES, step=1, queries="ranges")}
    plan = dn.Study(asked, epsilon=EPSILON).plan(people=N)
    bounds = [partial(shuffled, one, N) for one in (dn.rr(EPSILON), text)]
    return {"seconds": max(best_of_three(plan.shuffled), *(best_of_three(bound) for bound in bounds))}


if __name__ == "__main__":
    heaped = partial(one_range, heaped=True)
    answer({"levels": levels, "one_range": one_range, "one_heaped": heaped, "curve": curve, "crowd": crowd})
