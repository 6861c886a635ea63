"""How much the statistical tests of papers look at, beside what `tests/statistics.py` states for all."""

NOISE_DRAWS = 1_500_000
"""Draws of integer noise to compare with its table: chances that are moved by MOVED_LAW, up and down in turn,
add 150 to a chi-square of 13 degrees of freedom.
"""
SERIES_TRIALS = 20_000
"""Series of 50 counts, half of them with one person, to bound the loss from below. At a true loss of 1, no
bound is above it but for 2 ALPHA; noise for a single count that is claimed for all has a bound above 1.5.
"""
MOVED_NOISE = 0.2
"""The move of p that the scatter of noisy sums must show: their noise is many times the truth."""
COVERED_SWEEPS = 400
"""Populations of a sweep whose intervals are of the population: 95.5 % may read as 90 to 100 %, and is below
98 % but for one choice of the seeds in 100. The people's own shares are held by all intervals.
"""
WEEK_PEOPLE = 20_000
"""People whose days are one report at epsilon 1: the share of a union errs by 1 to 3 points. Days in another
order are 36 points off, which is 13 standard errors.
"""
MOBILE_PEOPLE, MOBILE_RUNS = 3000, 2
"""People of a week whose losses are counted, and runs with those of MS-FIMU: their error is then 4 % off, and
10 % are allowed. A seventh of epsilon gives nine times the error.
"""
UNION_RUNS = 5
"""Fits of counts that people report: the mean of their distances errs by 0.007, and 0.02 are allowed. A fixed
weight of evenness is 0.3 off.
"""
ATTACKED = 20_000
"""People for two attacks on the same reports: a best one that finds WEAKER fewer of all is then seen to be
beaten.
"""
WEAKER = 0.03
DEMAND_DAYS, DEMAND_MOVED = 400, 0.1
"""Days whose debiased counts are compared with the truth: their mean error is within 4.9 standard errors but
for ALPHA. Where p is taken for DEMAND_MOVED more than it is, it is 17 standard errors off.
"""
SHARE_EXCESS = (0.02, 0.22)
"""How much more than the oracle a forecast from shares at epsilon 1 may err, in records. On average it is
0.12, with a standard deviation of 0.023 over simulated cities and noise, so that a right one is outside for
one seed in 100,000. If the history begins 30 days before the test, it errs more than twice as much.
"""
PLACES_RISE = 0.25
"""How much the error of a response time must rise from true places to a radius of 1 km, in minutes: it rises
by 0.96, with a standard deviation of 0.08 over runs. Features of the true place do not raise it at all.
"""
PUPILS, PUPILS_RIGHT = 3000, 0.76
"""People of Adult for trials of the study of classifiers, of whom one in five tests, and how many of these a
model of raw rows must place rightly: it places 79 %, and 68 % may pass. Who learned from shuffled labels
places 50 %, with a standard deviation of 3.
"""
HARDLY_RIGHT = 0.6
"""How many of 9,170 people at most are placed rightly of whom only reports are known: 52 to 58 % are. 62 %
may pass, and their raw rows, of which 80 % are placed, may not.
"""
SUSPECTS = 4000
"""Rows for attacks on trained models, half of them members: an advantage of 0.12 is then seen, and a model
that saw nobody is taken for one that did for one choice of the seeds in 10^6.
"""
