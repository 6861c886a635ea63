"""Enumerates crowds of coins, in loops that are compiled on first use."""

from __future__ import annotations

import math

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled

_REACH = 10.0  # standard deviations to either side: less than 1e-21 is farther away


@compiled
def binomial(trials: int, chance: float) -> tuple[int, Array]:
    """The least number that is looked at, and the chances of it and of those above it."""
    mean = trials * chance
    deviation = math.sqrt(mean * (1 - chance))
    first = max(0, int(mean - _REACH * deviation))
    last = min(trials, int(mean + _REACH * deviation + _REACH * _REACH / 2) + 1)
    chances = np.zeros(last - first + 1)
    mode = min(max(int(mean), first), last)
    spread = math.lgamma(trials + 1.0) - math.lgamma(mode + 1.0) - math.lgamma(trials - mode + 1.0)
    log_chance = spread + mode * math.log(chance) + (trials - mode) * math.log1p(-chance)
    chances[mode - first] = math.exp(log_chance)
    odds = chance / (1 - chance)
    for number in range(mode, last):
        chances[number + 1 - first] = chances[number - first] * (trials - number) / (number + 1) * odds
    for number in range(mode, first, -1):
        chances[number - 1 - first] = chances[number - first] * number / (trials - number + 1) / odds
    return first, chances


@compiled
def at_least(least: int, first: int, chances: Array, other_first: int, tails: Array) -> float:
    """Pr(the sum of two numbers is at least this): the chances of one, and the tails of the other."""
    chance_sum = 0.0
    for i in range(chances.size):
        missing = least - first - i - other_first
        if missing < 0:
            chance_sum += chances[i]
        elif missing < tails.size:
            chance_sum += chances[i] * tails[missing]
    return chance_sum


@compiled
def delta_of(others: int, ones: int, chance: float, x: float, rounding: float) -> float:
    """How well the count tells a person's two answers apart where `ones` of the others have the first one.

    `one` is the chance of the true answer, and X = e^epsilon. The best event is "at least u": its value rises
    to one peak, since such a count is log-concave.
    """
    first, chances = binomial(ones, chance)
    other_first, other = binomial(others - ones, 1 - chance)
    tails = np.cumsum(other[::-1])[::-1].copy()
    gain, price = chance - x * (1 - chance), x * chance - (1 - chance)
    spread = math.sqrt(others * chance * (1 - chance))
    mean = ones * chance + (others - ones) * (1 - chance)
    top = first + chances.size + other_first + tails.size - 1  # no count that is looked at is above it
    least = min(top, int(mean + spread * spread * math.log(price / gain)))
    before = at_least(least - 1, first, chances, other_first, tails)
    at = at_least(least, first, chances, other_first, tails)
    best = gain * before - price * at
    below = gain * at_least(least - 2, first, chances, other_first, tails) - price * before
    step = -1 if below > best else 1
    reach = gain * before
    while True:
        if step == 1:
            before, at = at, at_least(least + 1, first, chances, other_first, tails)
        else:
            before, at = at_least(least - 2, first, chances, other_first, tails), before
        least += step
        value = gain * before - price * at
        if value <= best:
            return max(best, 0.0) + rounding * reach
        best, reach = value, gain * before


@compiled
def worst_crowd(others: int, step: int, chance: float, x: float, rounding: float) -> tuple[float, int]:
    """The largest delta over how many of the others have the first answer, and that number.

    Each `step` numbers are tried at once, without the people who have it in some of these crowds only.
    """
    best, at = -1.0, 0
    for ones in range(0, others + 1, step):
        left_out = min(step - 1, others - ones)
        delta = delta_of(others - left_out, ones, chance, x, rounding)
        if delta > best:
            best, at = delta, ones
    return best, at
