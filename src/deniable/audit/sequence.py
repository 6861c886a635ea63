"""Finds what reports say of other devices: of the answer of the device before, and of noise that is shared.

Devices are independent, so a report says nothing of the device before it: half of the guesses at that are
right. And devices that answer alike send the same report as often next to each other as far apart.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.bound import lower_epsilon
from deniable.audit.guessers import Chooser, make_guessers
from deniable.audit.observations import FIRST, SECOND, Bytes, Observations, cut, join

_CERTAIN = 1e-9  # chance of a false alarm
_MOST = 1 << 15  # devices that are looked at, or a few more
_FEWEST_OF_BLOCK = 64
_MOST_BYTES = 1 << 25  # of their reports


@final
class Sequence:
    """Devices in the order in which they were asked: some at the start of each block, so that they are from
    all of the time that an audit takes.
    """

    def __init__(self, pairs: int, planned: bool, width: int, devices: int) -> None:
        """How many pairs there are, bytes of a device's reports, and devices in all."""
        self._pairs, self._planned, self._devices = pairs, planned, devices
        self._most = min(_MOST, _MOST_BYTES // max(1, width))
        self._reports: list[tuple[Integers, Bytes]] = []
        self._before: list[Observations] = []

    def part_of(self, block: int) -> int:
        """How many devices of a block with so many are looked at."""
        return min(block, max(_FEWEST_OF_BLOCK, -(-block * self._most // max(1, self._devices))))

    def add(self, seen: Observations, before: Observations) -> None:
        """The next devices, and the same reports held against the device before each."""
        self._reports.append((2 * seen.pair + seen.second, seen.bodies))
        self._before.append(before)

    def faults(self) -> list[str]:
        """What is wrong, in words."""
        return [fault for fault in (self._same_nearby(), self._answer_before()) if fault is not None]

    def _same_nearby(self) -> str | None:
        """Whether devices that answer alike send the same more often one after the other than far apart."""
        if not self._reports:
            return None
        sides = np.concatenate([side for side, _ in self._reports])
        bodies = np.concatenate([body for _, body in self._reports])
        adjacent = far = total = 0
        order = np.argsort(sides, kind="stable")
        for who in np.split(order, np.flatnonzero(np.diff(sides[order])) + 1):
            count = len(who) // 4
            if not count:
                continue
            four = who[: 4 * count].reshape(-1, 4)
            adjacent += int((bodies[four[:, 0]] == bodies[four[:, 1]]).all(axis=1).sum())
            other = np.roll(four[:, 3], -(count // 2))
            far += int((bodies[four[:, 2]] == bodies[other]).all(axis=1).sum())
            total += count
        if adjacent <= far or (adjacent - far) ** 2 / (2 * (adjacent + far)) < -math.log(
            _CERTAIN
        ):  # Hoeffding's
            return None
        return (
            f"devices that answer alike send the same report next to each other in {adjacent:,} of {total:,} "
            f"cases, and far apart in {far:,}: they share their noise, as by a seed from the clock"
        )

    def _answer_before(self) -> str | None:
        """Whether a report says what the device before answered."""
        if not self._before or not sum(len(seen.pair) for seen in self._before):
            return None
        joined = join(self._before)
        ends = [len(joined.pair) // 4, len(joined.pair) // 2, len(joined.pair)]
        learn, choose, rest = (cut(joined, low, high) for low, high in zip([0, *ends], ends, strict=False))
        views = make_guessers(self._pairs, self._planned)
        for view in views:
            view.learn(learn)
        chooser = Chooser(views, [_CERTAIN])
        chooser.add(choose, np.zeros(len(choose.pair), dtype=np.int64))
        ((view, least),) = chooser.chosen()
        votes = (joined.support == FIRST).sum(axis=1) - (joined.support == SECOND).sum(axis=1, dtype=np.int64)
        bounds = []
        for scores, threshold, second in ((view.scores(rest), least, rest.second), (votes, 1, joined.second)):
            guessed = np.abs(scores) >= threshold
            right = guessed & ((scores < 0) == second)
            bounds.append(float(lower_epsilon(int(right.sum()), int(guessed.sum()), _CERTAIN / 2)))
        if max(bounds) <= 0:
            return None
        return (
            f"a report says what the device before it answered: epsilon is at least {max(bounds):.4f}, where "
            "nothing may be said of another device"
        )
