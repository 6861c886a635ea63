"""How much every statistical test looks at and how often it would be wrong: stated here once, used
everywhere.

Seeds are fixed, so a test that passed once passes always; a rate says how likely its seed was to be an
unlucky one. Only tests of the operating system's words have no seed: they can fail by chance at any run, so
their rate is lower. Where such a test must find something (a planted fault), what it looks at lies six
standard deviations or more beyond its limit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

ALPHA = 1e-6
"""How often one comparison of a right mechanism fails."""
COMPARISONS = 5000
"""A run makes fewer comparisons (`_judge` counts them): at most one choice of all seeds in 200 is unlucky."""
SYSTEM_ALPHA = 1e-9
"""How often one comparison of the operating system's words fails, at every run."""

LAW_REPORTS = 400_000
"""Per value, to compare a sampler with its law: p moved by MOVED_LAW then lies 3 standard deviations beyond
the limit.
"""
MOVED_LAW = 0.01
SYSTEM_REPORTS = 150_000
"""Per value, where the words come from the operating system."""
SAMPLE_REPORTS = 20_000
"""To compare two samples of reports."""

ESTIMATE_REPORTS = 400_000
"""To compare an estimate with the truth."""
REPEATS, REPEAT_REPORTS = 400, 1000
"""To compare the scatter of estimates with their variance: the limits are then about 1 +- 0.36 of it."""
MOVED_ESTIMATE, MOVED_SCATTER = 0.05, 0.1
"""The moves of p that bias and scatter must show."""

COVERAGE_REPEATS = 2000
"""Populations for the coverage of an interval: 95 % may then read as 92.5 %."""
TURN_STUDIES, TURN_PEOPLE = 250, 200
"""Studies of ten rounds of which each person answers one, and their people: 87 % of the intervals of all
rounds together may then pass. Where everybody answers all ten, 64 % hold, seven standard deviations fewer.
"""
COVERED_STUDIES, COVERED_PEOPLE, COVERED = 10, 1000, 0.945
"""Studies for each size, loss and population of a summary's coverage, 360 in all, and how many of them a
normal interval holds: half a point less than 95 %, as thousands of runs show. 88.5 % may then pass.
"""
ROUNDS_STUDIES = 120
"""Studies of ten rounds in one file, a round of each: 82 % may then pass. Added up, 70 % are covered: fewer
than 88 % hold, but for one choice of the seeds in 1,000.
"""
WORST_STUDIES = 1200
"""Studies of the worst case known: 91.4 % may then pass, and 88 % is found out with all but certainty."""
ANSWERED_STUDIES = 100
"""Studies in which some people give no answer: 81 % may then pass, and 70 % is found out but for 1 in 60."""
HEALTHY_STUDIES, HEALTHY_TAIL = 100, 0.05
"""Studies of honest people for each check of their reports, and the p-values that one in twenty is below at
most: 17 of 100 may then pass.
"""
SAMPLED_STUDIES = 40
"""Honest studies of which a tenth is looked at: 11 of them may have a p-value below HEALTHY_TAIL."""
WATCHED_STUDIES, WATCHED_LEVEL = 50, 0.2
"""Honest studies that are looked at whenever they have grown, and the level of any alarm: 25 may have one."""
NOTICED_STUDIES, NOTICED = 40, 0.9
"""Studies with the share of fakes that a check says it would notice, and how often it must: 25 of 40 may then
pass. With a quarter of the fakes, half as many studies must show that it is not noticed.
"""
REGRESSED_STUDIES, REGRESSED_HELD = 100, 0.93
"""Studies for each kind of regression, and how many hold a coefficient at least: 79 % may then pass. With
half the error, 67 % hold, which is found out but for 1 in 200 of each coefficient.
"""
BURST_STUDIES = 100
"""Hours of honest people, and honest minutes, for the checks of bursts: 17 of 100 may have a p-value below
HEALTHY_TAIL.
"""
FEW_REPEATS, FEW_HELD = 200, 0.9
"""Small populations for what is said of few reports, and how many of them two standard errors hold at least:
nine in ten, since few folds tell the error itself roughly. 79 % may then pass.
"""
CROSSED_STUDIES, CROSSED_HELD = 500, (0.9, 0.98)
"""Studies for each case of a conditional share, and how many of the intervals hold at least and at most: true
rates are from 92 to 97 %, and 500 studies may be 2 points off.
"""
SMALL_HELD = 0.93
"""How often intervals of rows of few reports, and of two of them, hold at least. All are sums over all
outcomes, so that chance plays no part. Normal intervals never hold in some of these cases.
"""
TESTED_STUDIES, CROSSED_SIZE = 800, (0.025, 0.075)
"""Studies for the size of a test: a size from 3.5 to 6.5 % may then read as these."""
STACKED_STUDIES, STACKED_HELD = 9000, (0.92, 0.97)
"""Studies for each case of a table, all in one stack, and how many intervals of a conditional share hold at
least and at most. In 200,000 studies of each of the 48 cases, 94.5 to 96.3 % hold: by binomial tails, one
case of all is outside for one choice of the seeds in 8,000. With 3,000 studies it was one in 18.
"""
STACKED_POWER = 0.03
"""How far a power may be from the predicted one in as many studies: they are 1 point off at most."""
FEW_STUDIES, FEW_SIZE, FEW_RARELY = 200, 0.07, 0.01
"""Studies for each null of few or noisy reports, and how often a test at 5 % and at 0.1 % may find what is
not there. In 3,000 studies of each of 40 nulls it was 6.8 % and 0.8 % at most. By binomial tails, 17 % and
5 % may pass; the first-order variance rejects 32 to 100 % of some of them.
"""
SHORT_HELD = {1.0: 0.95, 0.1: 0.9, 0.01: 0.9}
"""How many shown intervals hold at least: of all, of the shortest tenth and of the shortest hundredth. Those
of values are exact sums over all counts, so chance plays no part. Cut at 0 alone, at most 45 % of the
shortest hundredth hold.
"""
SHORT_STUDIES = 2500
"""Studies for intervals of groups, of six groups each. Of the shortest 150 of 15,000, 97 % hold or more, and
ones that are cut at 0 alone hold 60 % at most: neither is judged otherwise by chance, but for 1 in 10^6.
"""
FIT_STUDIES, FIT_PEOPLE, FIT_LEVEL = 60, 2000, 0.05
"""Honest studies for each population and mechanism, and their people, and the p-values that one in twenty is
below at most: 14 of 60 may then pass. If all tails count as one look, some 40 of 60 are below.
"""
TOTAL_STUDIES, TOTAL_PEOPLE, TOTAL_HELD = 400, 1000, 0.935
"""Studies for the sums of each mechanism, their people, and how many intervals hold at least: simulations of
72 cases have 92.7 to 98.5 %. By binomial tails 85 % may pass; sums that ignore the total hold 40 to 75 %, and
the limits of a variance are about 1 +- 0.36 of it, where the total makes it a fifth.
"""
RANGED_STUDIES, RANGED_PEOPLE, RANGED_HELD = 300, 6000, 0.94
"""Studies for each case of ranges and quantiles, their people, and how many of the normal intervals hold at
least: one point less than 95 %. By binomial tails 86 % may then pass. Variances that ignore how people are
spread over the levels are a third of the true ones; 100 studies find out two thirds.
"""
RANGED_ERROR = 0.03
"""How far a stated variance of a range may be from the exact one, as a part of it, where levels are hashed.
Without the ties of a pool it is off by 10 to 30 % where most people have one value.
"""
QUIET_HISTORIES, QUIET_DAYS, QUIET_RATE = 150, 120, 0.1
"""Histories of a series over days without any change, their days, and how many may have an alarm, by a rate
that is so much over all of their days: by binomial tails 36 of 150 may then pass. Where kept noise is taken
for fresh, or days vary and that is not learned, more than half have one, and a third of the histories tell.
"""
QUIET_LONG, QUIET_LINES = 10_000, 20
"""Days and series of the night's histories: one false alarm in 1,000 days is allowed, and 27 may pass."""
FOUND_HISTORIES, FOUND = 150, 0.93
"""Histories of crashes that double, and how many are found within a week at least: 123 of 150 may then pass.
In 6,000 histories 94.5 % were; a rule that looks at single days finds a third.
"""
LINKED_PEOPLE, LINKED_ERROR = 200_000, 0.012
"""People in two rounds, and the standard error of the variance of their changes, as a part of it, since one
report in 25 changes; kept noise that is taken as fresh errs twelve times as much.
"""
CHANGED_STUDIES, CHANGED_PEOPLE, CHANGED_HELD = 60, 2000, 0.85
"""Studies of two rounds, and how many of the intervals of a change hold at least: of 60 that hold at 95 %,
fewer would do so for one choice of the seeds in 1,000.
"""
CHAINED_STUDIES, CHAINED_PEOPLE, CHAINED_HELD = 120, 1000, 0.93
"""Studies of two plans of which one continues the other, their people, and how many intervals of a change
hold at least: by binomial tails 96 of 120 may then pass. In 300 studies 94 to 99 % hold; of people who swap
their answers 89 %, if they are taken for others.
"""
WEIGHTED_STUDIES, WEIGHTED_HELD = 10_000, (0.92, 0.97)
"""Studies for each setting of weighted groups, and how many intervals hold at least and at most. In 30,000
studies of each of 40 settings, 92.5 to 96 % hold, and all but two of them at 93.5 % or more: the worst is
outside for one choice of the seeds in 50. Of many small groups 96.4 % hold or more, and plain normal
intervals of one of these settings hold 90.9 %, which is found out but for 1 in 10,000. With only 10 reports
in a group, one of 40 settings held 91.8 %.
"""
INVENTED_STUDIES, INVENTED_BY_NIGHT, INVENTED_PEOPLE = 120, 300, 2000
"""Studies in which no code is common, by day and by night, and their people. One in twenty may show a code
that nobody has: 20 of 120 may pass, and 36 of 300, which find out three times the rate 9 times in 10. If the
last level's own reports decide, nearly all do; as many as FAULTY_STUDIES tell.
"""
FAULTY_STUDIES = 40
SHOWN_COUNTS, SHOWN_HELD = 4000, (0.93, 0.98)
"""Counts of codes that are shown, for each true share, and how many conditional intervals hold at least and
at most. True rates are from 94 to 97.6 %, so that chance moves none of them out. Plain intervals of a share
of 1.5 standard deviations hold at 62 %.
"""
LEAST_HELD, LEAST_ABOVE = (0.93, 0.98), 0.06
"""How often conditional intervals hold, and how far from 1/2 of the estimates are above the truth, if values
have a least number of people. Both are exact sums over all counts, so chance plays no part: 95.4 to 98.0 %
hold, and 46.8 to 54.7 % are above. Where estimates are filtered, all of small shares are above.
"""
FORGED, FORGED_AMONG, FORGED_WORDS, FORGED_SHOWN = 400, 16_000, 300, 0.25
"""Fake reports among honest ones, texts that nobody has, and the share of texts that may be shown: 2 / g.
Liars who agree on a hash have 7 to 16 % shown. With a hash of the last bits, all texts were.
"""
SEARCHED_STUDIES, SEARCHED_PEOPLE, SEARCHED_HELD = 60, 8000, 0.95
"""Whole searches with 8 codes near the limit, and how many intervals of those shown hold. They are some 250:
87 % may pass, and 85 % is found out 4 times in 5. By the last level's own reports, 71 % hold.
"""
HASH_FUNCTIONS = 20_000
"""Functions drawn from the hash family to compare averages over it."""
TAUGHT, TAUGHT_RIGHT = 4000, 0.84
"""People on whom a classifier is judged that learned from reports, and how many of them it must place
rightly: the best of raw rows places 87 %, and a guess 60 %. 81 % may then pass.
"""
WORDS = 1 << 16
"""Words to compare a source with the uniform law."""

AUDIT_TRIALS = 10**6
"""Devices for each answer, to find a planted fault: GRR with 100 values and a threshold 5 % off is found 19
times in 20.
"""
AUDITS, AUDIT_FEW = 200, 1000
"""Audits of correct clients, and their trials: at the usual level of 0.9999 one of all of them fails for one
choice of the seeds in 50. The level holds for any number of trials, and a discrete law is least exact for
few. At the rough level 87 of 200 may pass.
"""
AUDIT_ROUGH = 0.6
"""A level at which correct clients fail often enough for the rate itself to be seen."""

PLANTED, PLANTED_ONE_BY_ONE = 200_000, 500
"""Devices for each answer that find a planted fault, in bulk and one by one. What an audit looks for beside
its bound has a false alarm in 10^9; a range of right clients leaves out 3 in 10^8.
"""

LEARN_ROWS, MEMO_LABELS = 40_000, 4000
"""Rows of one value that a transformer reports, and labels that a memo keeps the reports of. Noise that is
drawn once for many rows, shared by two tables, or shared by two budgets of a label lies 20 standard errors or
more beyond the limit.
"""

SMALL_CELL = 8.0
"""Cells with a smaller expectation are counted together: the chi-square law is not true of them."""

Array = npt.NDArray[Any]
_made = itertools.count(1)


def _judge(p_value: float, what: str, alpha: float) -> None:
    assert next(_made) <= COMPARISONS, "more comparisons than COMPARISONS says: state the new rate"
    assert p_value >= alpha, (
        f"{what}, which chance does to less than 1 in {1 / alpha:.0e} (p-value {p_value:.1e})"
    )


def goodness_of_fit(
    observed: Array, expected: Array, what: str, groups: int = 1, alpha: float = ALPHA
) -> float:
    """Chi-square of counts against expectations; what cannot happen must not have happened, however rarely.

    Within each of the groups the expectations add up to what was observed, which costs one degree of freedom.
    """
    seen, wanted = np.ravel(observed).astype(float), np.ravel(expected).astype(float)
    assert seen.shape == wanted.shape
    assert math.isclose(seen.sum(), wanted.sum(), rel_tol=1e-9), (
        f"{what}: the expectations do not add up to the counts"
    )
    impossible = int(seen[wanted == 0].sum())
    assert impossible == 0, f"{what}: an impossible outcome was seen {impossible} times"
    small = wanted < SMALL_CELL
    seen = np.append(seen[~small], seen[small].sum())
    wanted = np.append(wanted[~small], wanted[small].sum())
    seen, wanted = seen[wanted > 0], wanted[wanted > 0]
    statistic = float(((seen - wanted) ** 2 / wanted).sum())
    freedom = wanted.size - groups
    assert freedom > 0, f"{what}: nothing to compare"
    _judge(
        float(stats.chi2.sf(statistic, freedom)),
        f"{what}: chi-square {statistic:.1f} with {freedom} degrees of freedom",
        alpha,
    )
    return statistic


def deviation(value: float, mean: float, error: float, what: str, alpha: float = ALPHA) -> float:
    """A normal deviate of known mean and standard error, both ways."""
    z = (value - mean) / error
    _judge(math.erfc(abs(z) / math.sqrt(2)), f"{what}: {z:+.1f} standard errors off", alpha)
    return z


def spread(squares: float, freedom: int, what: str, alpha: float = ALPHA) -> float:
    """A sum of that many squared standard deviates: neither too large nor too small for a chi-square
    variable.
    """
    tail = 2 * min(float(stats.chi2.sf(squares, freedom)), float(stats.chi2.cdf(squares, freedom)))
    _judge(tail, f"{what}: {squares / freedom:.3f} of the variance", alpha)
    return squares / freedom


def same_law(one: Array, other: Array, what: str, alpha: float = ALPHA) -> float:
    """Two samples' counts of the same outcomes: do they come from one law?"""
    table = np.vstack([one, other]).astype(float)
    table = table[:, table.sum(axis=0) > 0]
    small = table.sum(axis=0) < 2 * SMALL_CELL
    table = np.column_stack([table[:, ~small], table[:, small].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    wanted = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    statistic = float(((table - wanted) ** 2 / wanted).sum())
    freedom = table.shape[1] - 1
    assert freedom > 0, f"{what}: nothing to compare"
    _judge(
        float(stats.chi2.sf(statistic, freedom)),
        f"{what}: chi-square {statistic:.1f} between two samples",
        alpha,
    )
    return statistic


def at_least(successes: int, trials: int, chance: float, what: str, alpha: float = ALPHA) -> None:
    """As many successes as a chance of at least this much would give."""
    seen = f"{what}: {successes} of {trials} where {chance:g} of them were promised"
    _judge(float(stats.binom.cdf(successes, trials, chance)), seen, alpha)


def each_at_least(
    successes: Sequence[int], trials: int, chance: float, what: str, alpha: float = ALPHA
) -> None:
    """The same for several counts of as many trials: the least of them is judged, as one of so many."""
    least = min(successes)
    seen = f"{what}: {least} of {trials} where {chance:g} of them were promised"
    _judge(min(1.0, len(successes) * float(stats.binom.cdf(least, trials, chance))), seen, alpha)


def not_beaten(best: Array, other: Array, what: str, alpha: float = ALPHA) -> None:
    """Two attacks on the same people: the other is right where the best is wrong no more often than the other
    way round.

    Whom both find, or neither, says nothing; of the rest a fair coin would give the other at most half
    (McNemar's test).
    """
    found, instead = np.asarray(best, dtype=bool), np.asarray(other, dtype=bool)
    assert found.shape == instead.shape
    wins, losses = int((instead & ~found).sum()), int((found & ~instead).sum())
    seen = f"{what}: beaten {wins} times of the {wins + losses} where they differ"
    _judge(float(stats.binom.sf(wins - 1, wins + losses, 0.5)), seen, alpha)
