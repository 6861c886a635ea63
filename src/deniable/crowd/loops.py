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
    found = 0.0
    for i in range(chances.size):
        wanted = least - first - i - other_first
        if wanted < 0:
            found += chances[i]
        elif wanted < tails.size:
            found += chances[i] * tails[wanted]
    return found


@compiled
def delta_of(others: int, ones: int, one: float, x: float, rounding: float) -> float:
    """How well the count tells a person's two answers apart where `ones` of the others have the first one.

    `one` is the chance of the true answer, and X = e^epsilon. The best event is "at least u": its value rises
    to one peak, since such a count is log-concave.
    """
    first, chances = binomial(ones, one)
    other_first, other = binomial(others - ones, 1 - one)
    tails = np.cumsum(other[::-1])[::-1].copy()
    gain, price = one - x * (1 - one), x * one - (1 - one)
    spread = math.sqrt(others * one * (1 - one))
    mean = ones * one + (others - ones) * (1 - one)
    top = first + chances.size + other_first + tails.size - 1  # no count that is looked at is above it
    least = min(top, int(mean + spread * spread * math.log(price / gain)))
    before = at_least(least - 1, first, chances, other_first, tails)
    here = at_least(least, first, chances, other_first, tails)
    best = gain * before - price * here
    below = gain * at_least(least - 2, first, chances, other_first, tails) - price * before
    step = -1 if below > best else 1
    reach = gain * before
    while True:
        if step == 1:
            before, here = here, at_least(least + 1, first, chances, other_first, tails)
        else:
            before, here = at_least(least - 2, first, chances, other_first, tails), before
        least += step
        value = gain * before - price * here
        if value <= best:
            return max(best, 0.0) + rounding * reach
        best, reach = value, gain * before


@compiled
def worst_crowd(others: int, step: int, one: float, x: float, rounding: float) -> tuple[float, int]:
    """The largest delta over how many of the others have the first answer, and that number.

    Each `step` numbers are tried at once, without the people who have it in some of these crowds only.
    """
    best, at = -1.0, 0
    for ones in range(0, others + 1, step):
        left_out = min(step - 1, others - ones)
        found = delta_of(others - left_out, ones, one, x, rounding)
        if found > best:
            best, at = found, ones
    return best, at
