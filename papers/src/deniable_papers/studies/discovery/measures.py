"""Measures discovery: what is found, what nobody has, shares of what is shown, and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import betainc

from deniable.arrays import Floats
from deniable.discovery import detection_limit, find_threshold, listed_limit, state_shown
from deniable.domain import Text
from deniable.estimate import clopper_pearson
from deniable.mechanisms import linear
from deniable.randomness.simulated import numbers_from
from deniable_papers.studies.discovery.people import (
    LETTER,
    Strings,
    draw_strings,
    draw_uniform,
    list_levels,
    search_strings,
)
from deniable_papers.studies.stated import StatedPoint, compare

EPSILONS = (1.0, 2.0, 4.0)
_Stated = tuple[tuple[str, str, str], ...]

FOUND: tuple[tuple[int, int, float, int, _Stated], ...] = (
    (10**5, 10**5, 1.0, 10, (("1.0", "1.0", ".10"), ("2.8", "3.0", ".24"), ("8.9", "8.9", ".61"))),
    (10**5, 10**5, 1.5, 10, (("3.4", "3.4", ".29"), ("5.5", "5.5", ".43"), ("11.6", "11.6", ".73"))),
    (10**6, 10**5, 1.0, 3, (("4.7", "4.7", ".38"), ("9.7", "10.3", ".64"), ("18.3", "20", ".92"))),
    (10**6, 10**5, 1.5, 3, (("7.3", "7.3", ".54"), ("12.7", "12.7", ".78"), ("19.7", "20", ".98"))),
    (10**6, 10**6, 1.0, 2, (("3.0", "3.0", ".26"), ("8.0", "8.0", ".57"), ("18.5", "20", ".93"))),
    (10**6, 10**6, 1.2, 2, (("6.5", "6.5", ".49"), ("13", "13", ".79"), ("18.5", "20", ".93"))),
)
"""People, strings, Zipf's power, studies of the specification, and what they found at each epsilon."""
_SPREAD = (0.8, 0.8, 0.035)  # standard deviations of hits, reports and F1 between studies, about


def measure_found(runs: int, seed: int, people: int = 10**6) -> Iterator[StatedPoint]:
    """How many of the 20 most common strings are reported, of 6 to 10 letters."""
    for n, count, zipf, studies, stated in FOUND:
        some = min(runs, studies)
        for epsilon, texts in zip(EPSILONS, stated, strict=True) if n <= people else ():
            seen = []
            for run in range(some):
                generator = numbers_from(seed + run, "found", n, count, zipf)
                strings = draw_strings(count, (6, 10), zipf, generator)
                made = search_strings(strings, n, epsilon, generator)
                seen.append((made.hits, len(made.reported), made.f1))
            asked = _ask(f"{count:,} strings, Zipf {zipf:g}", epsilon, n, some, seed)
            for figure, text, spread, values in zip(
                ("hits", "reported", "F1"), texts, _SPREAD, np.array(seen).T, strict=True
            ):
                fields = compare(float(values.mean()), text, spread / some**0.5, spread / studies**0.5)
                yield StatedPoint(figure=figure, method="this", **asked, **fields)


ERRORS: tuple[tuple[str, int, int, str], ...] = (
    ("no common string, 20 bits", 20_000, 300, ".050"),
    ("Zipf 1.5, 4 letters", 20_000, 300, ".060"),
    ("Zipf 1.5, 6 to 10 letters", 50_000, 150, ".040"),
)
"""What people have, how many they are, studies of the specification, and how many showed an invented string.

It had 30 bits and 6 letters in the first two: to count all of those takes seconds a study.
"""


def measure_errors(runs: int, seed: int) -> Iterator[StatedPoint]:
    """How many studies show a string that nobody has: 5 % at most are promised."""
    for case, n, studies, stated in ERRORS:
        invented = 0
        for run in range(runs):
            generator = numbers_from(seed + run, "errors", case)
            invented += search_strings(_draw_case(case, n, generator), n, 2.0, generator).invented > 0
        rate = float(stated)
        one, other = ((rate * (1 - rate) / number) ** 0.5 for number in (runs, studies))
        fields = compare(invented / runs, stated, one, other)
        yield StatedPoint(figure="errors", method="this", **_ask(case, 2.0, n, runs, seed), **fields)


def _draw_case(case: str, n: int, generator: np.random.Generator) -> Strings:
    if case.startswith("no"):
        return draw_uniform(20, n, generator)
    return draw_strings(20_000, (4, 4) if case.endswith("4 letters") else (6, 10), 1.5, generator)


SHARES: tuple[tuple[float, tuple[str | None, ...]], ...] = (
    (0.0, (".0013", "3.3", ".000", ".972", ".454", None)),
    (1.5, (".063", "2.0", ".610", ".976", ".507", None)),
    (3.0, (".486", ".85", ".945", ".938", ".502", None)),
    (4.5, (".919", ".1", ".973", ".955", ".491", None)),
)
"""True shares in standard deviations, and the specification's row for each.

It states widths before intervals are cut at 0, and ours are cut.
"""
_STATED_SHOWN = 540  # at least
_FINAL, _CANDIDATES = 16_000, 40


def measure_shares(runs: int, seed: int) -> Iterator[StatedPoint]:
    """Shares of strings that are shown, from 16,000 reports and 40 candidates at epsilon 2.

    A plain share and its interval ignore that only large counts are shown; conditional ones do not.
    """
    m, n = linear(50, 2.0), _FINAL
    q, gain, deviation = m.law.q, m.law.gain, float(m.law.variance(n)) ** 0.5
    threshold = find_threshold(m, n, 0.05 / _CANDIDATES)
    for times, texts in SHARES:
        share = times * deviation
        chance = q + share * gain
        counts = draw_shown(chance, n, threshold, runs, numbers_from(seed, "shares", times))
        value, low, high = state_shown(m, counts, n, threshold)
        plain = (counts / n - q) / gain
        under, over = ((end - q) / gain for end in clopper_pearson(counts.astype(np.float64), n, 0.025))
        holds, plainly = (low <= share) & (share <= high), (under <= share) & (share <= over)
        width = float((high - low).mean() / (2 * 1.96 * deviation))
        asked = _ask(f"a share of {times:g} sd", 2.0, n, runs, seed)
        reported = float(betainc(threshold, n - threshold + 1, chance))
        rows: list[tuple[str, str, float, float]] = [
            ("shown", "this", reported, 0.0),
            ("bias", "plain", float((plain - share).mean()) / deviation, _error(plain / deviation)),
            ("coverage", "plain", float(plainly.mean()), _error(plainly)),
            ("coverage", "conditional", float(holds.mean()), _error(holds)),
            ("above", "conditional", float((value > share).mean()), _error(value > share)),
            ("width", "conditional", width, _error((high - low) / (2 * 1.96 * deviation))),
        ]
        for (figure, method, found, stderr), text in zip(rows, texts, strict=True):
            spread = found if figure == "shown" else stderr * runs**0.5
            fields = compare(found, text, stderr, spread / _STATED_SHOWN**0.5)
            yield StatedPoint(figure=figure, method=method, **asked, **fields)


def draw_shown(chance: float, n: int, threshold: int, runs: int, generator: np.random.Generator) -> Floats:
    """Binomial counts that reach a threshold, by their tail: uniform, and turned back into counts."""
    tail = float(betainc(threshold, n - threshold + 1, chance)) * (1 - generator.random(runs))
    low, high = np.full(runs, threshold), np.full(runs, n + 1)
    while (high - low > 1).any():  # the largest count that is still reached with this probability
        middle = (low + high) // 2
        reached = betainc(middle, n - middle + 1, chance) >= tail
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return np.asarray(low, dtype=np.float64)


def _error(values: Any) -> float:
    numbers = np.asarray(values, dtype=np.float64)
    return float(max(numbers.std(), 1e-3) / numbers.size**0.5)


LIMITS: tuple[tuple[int, int, tuple[str, str, str]], ...] = (
    (30, 10**5, ("4.6", "2.0", ".66")),
    (50, 10**5, ("5.8", "2.6", ".84")),
    (30, 10**6, ("1.4", ".64", ".21")),
    (50, 10**6, ("1.8", ".82", ".27")),
    (0, 10**5, ("2.4", "1.05", ".34")),
    (0, 10**6, (".75", ".33", ".11")),
)
"""Bits of a code, or 0 for a public list of 1,000; people; and the limit in percent at each epsilon."""
_SPECIFIED = {30: ((15, 30, 30), (21, 21, 8)), 50: ((20, 35, 50, 50), (7, 7, 7, 4))}
"""The levels of the specification, with a final group that only decides, and how often each is drawn."""
_POWER_PEOPLE, _POWER_STRINGS, _POWER_BITS = 50_000, 8, (25, 50)


def measure_limits(runs: int, seed: int) -> Iterator[StatedPoint]:
    """The share that is found about half of the time, and how often strings with that share are found."""
    for bits, n, texts in LIMITS:
        for epsilon, text in zip(EPSILONS, texts, strict=True):
            if bits:
                cuts, weights = _SPECIFIED[bits]
                limit = detection_limit([linear(cut, epsilon) for cut in cuts], weights, n)
            else:
                limit = listed_limit(linear(50, epsilon), n)
            case = f"{bits} bits" if bits else "public list of 1,000"
            asked: dict[str, Any] = {"case": case, "epsilon": epsilon, "people": n}
            method = "specification" if bits else "this"
            # numbers of two digits, which were rounded before they were scaled
            yield StatedPoint(figure="limit", method=method, **asked, **compare(100 * limit, text, 0.0, 0.01))
            if bits:
                codes = Text("a-z", bits // LETTER)
                limit = detection_limit(*list_levels(bits, epsilon, codes), n, codes=codes)
                fields = compare(100 * limit, None, 0.0, 0.0)
                yield StatedPoint(figure="limit", method="this", **asked, **fields)
    for bits in _POWER_BITS:
        for epsilon in EPSILONS[:2]:
            yield _measure_power(bits, epsilon, runs, seed)


def _measure_power(bits: int, epsilon: float, runs: int, seed: int) -> StatedPoint:
    """How many strings with the share of the limit are found, among people who have something else."""
    n = _POWER_PEOPLE
    limit = detection_limit(*list_levels(bits, epsilon), n)
    found = 0
    some = min(_POWER_STRINGS, int(0.8 / limit))
    for run in range(runs):
        generator = numbers_from(seed + run, "power", bits, epsilon)
        rare = draw_uniform(bits, n, generator)
        shares = np.full(len(rare.codes), (1 - some * limit) / (len(rare.codes) - some))
        shares[:some] = limit
        made = search_strings(Strings(bits, rare.codes, shares), n, epsilon, generator)
        found += int(np.isin(rare.codes[:some], made.decided.codes[made.decided.shown]).sum())
    trials = runs * some
    fields = compare(found / trials, None, (0.25 / trials) ** 0.5, 0.05)
    return StatedPoint(
        figure="power", method="this", **_ask(f"{bits} bits", epsilon, n, runs, seed), **fields
    )


def _ask(case: str, epsilon: float, people: int, runs: int, seed: int) -> dict[str, Any]:
    return {"case": case, "epsilon": epsilon, "people": people, "runs": runs, "seed": seed}
