"""Weighs what a real report looks like among fakes, exactly, after one report or several of what is kept.

After several reports of a first answer that is kept, the extreme sequences are constant. For values: let r be
the odds of the second round, c(a) how many reports say a, and x(a) = r^c(a) / (the sum of all). Likelihoods
from a person and from the fake are linear in x, so that their ratio is extreme at a corner of all x. Every x
has a sum of 1 and no entry below 1 / (r^reports + k - 1), and the constant sequences are the corners of just
that. For bits: a bit speaks for its value by a number that grows with how often it is set, and both
likelihoods are linear in the number of each bit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from deniable.exact import power_up
from deniable.mechanisms.sets import RoundShape
from deniable.randomness import FULL, cell


class Rounds(NamedTuple):
    """The mechanism of an answer; where that is kept, the one by which it is reported, and how often."""

    first: RoundShape
    second: RoundShape | None
    reports: int


class Evidence(NamedTuple):
    """How much likelier than from the fake a report is from each of two values."""

    first: Fraction
    other: Fraction


def weigh_values(rounds: Rounds, fakes: list[Fraction]) -> list[Evidence]:
    """The evidence of reports that are values, from how likely the fake's answer is each extreme."""
    law = rounds.first.law
    if rounds.second is None:
        kept = law.exact_p
        fewest, most = ((1 - kept) * Fraction(words, FULL) for words in cell(law.k - 1))
    else:
        second = rounds.second.law
        gain = power_up(second.exact_p / second.exact_q, rounds.reports) - 1
        kept, fewest = 1 + gain * law.exact_p, 1 + gain * law.exact_q
        fakes, most = [1 + gain * fake for fake in fakes], fewest
    evidence = []
    for fake in fakes:
        evidence += [*pair_extremes(kept / fake, fewest / fake), Evidence(most / fake, fewest / fake)]
    return evidence


def weigh_imitated_bits(rounds: Rounds, shares: list[Fraction]) -> list[Evidence]:
    """The evidence of imitated bits, from the extreme shares of the prior.

    A fake is an average of what set and clear bits say, by the prior's share of the values whose bits are
    set: at least one value's, at most all but one's.
    """
    more, less = weigh_bits(rounds)
    evidence = []
    for covered in {*shares, *(1 - share for share in shares)}:
        average = less + (more - less) * covered
        evidence += pair_extremes(more / average, less / average)
    return evidence


def weigh_bits(rounds: Rounds) -> tuple[Fraction, Fraction]:
    """How much a bit that is always set speaks for its value, and one that is always clear."""
    p, q = rounds.first.law.exact_p, rounds.first.law.exact_q
    if rounds.second is None:
        return p / q, (1 - p) / (1 - q)
    second = rounds.second.law
    ones = power_up(second.exact_p / second.exact_q, rounds.reports)
    zeros = power_up((1 - second.exact_q) / (1 - second.exact_p), rounds.reports)
    more = (p * ones + 1 - p) / (q * ones + 1 - q)
    return more, ((1 - p) * zeros + p) / ((1 - q) * zeros + q)


def pair_extremes(high: Fraction, low: Fraction) -> list[Evidence]:
    """Two values, of which each is spoken for by either number."""
    return [Evidence(high, low), Evidence(low, high), Evidence(high, high), Evidence(low, low)]
