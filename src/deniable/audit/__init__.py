"""Empirical lower bounds on epsilon, from the bytes that a client sends and nothing else: any client, in any language.

Devices that hold one of two answers, by a fair coin, make reports; what guesses which one better than the claim allows is a
leak. The mathematics is in bound.py. A pass is no proof: the loss that a plan states is computed, this one is observed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from deniable.audit.bound import Event
from deniable.audit.devices import Devices, client_of, devices_of
from deniable.audit.program import Program, ProgramFailed
from deniable.audit.repeats import Ids, same_sequence
from deniable.audit.result import Audit
from deniable.audit.seen import FIRST, HEADER, SECOND, Reader, Seen
from deniable.audit.setting import Named, Setting, setting_of
from deniable.audit.views import Chooser, views_of
from deniable.errors import InvalidParameter, counted
from deniable.exact import whole_number
from deniable.law import Integers
from deniable.plan import Plan
from deniable.shape import Per
from deniable.table import Show
from deniable.wire import Wire
from deniable.words import Words, checked_source

__all__ = ["LEVEL", "Audit", "Devices", "Event", "Program", "ProgramFailed", "client_of", "lower_bound"]

LEVEL = 0.9999
"""A right client fails one audit in 10,000 at most."""

_BLOCK_BYTES = 1 << 25  # of reports that are looked at together
_STARTED_TWICE = 256  # reports that are compared between two fresh starts
_FEWEST = 100
_LEARN, _CHOOSE = 0.25, 0.5  # up to where trials are learned from, and chosen on; the rest is for the bound


def lower_bound(
    client: object,
    pairs: Named | Iterable[tuple[object, object]] = "ends",
    trials: int = 10**6,
    *,
    plan: Plan | None = None,
    claim: float | None = None,
    per: Per = "record",
    rounds: int | None = None,
    level: float = LEVEL,
    words: Words | None = None,
    show: Show | None = None,
) -> Audit:
    """An empirical lower bound on the epsilon of a client's reports, with `trials` devices for each of two answers.

    The client is a plan or a `dn.Client` (the devices of this library), a function of answers, the device's secret and the
    round that returns a report's bytes, a `Program`, or `Devices` of your own. With its plan, reports are read as the wire
    says and the claim is the plan's, per record or per attribute; without one, `claim` and `pairs` must be given.

    >>> import deniable as dn
    >>> plan = dn.Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    >>> audit = lower_bound(plan, trials=20_000, words=dn.seeded(1))
    >>> audit, audit.passed
    (<Audit PASS: epsilon >= 0.9..., claim 1.0000, per record>, True)
    """
    devices, known = devices_of(client, words)
    plan = known if plan is None else plan
    trials = whole_number("trials, the number of devices for each answer,", trials, _FEWEST)
    if not 0.5 <= level < 1:
        raise InvalidParameter(f"level is how sure the bound must be, from 0.5 to under 1, such as {LEVEL}, got {level}")
    setting = setting_of(plan, pairs, per, rounds, claim)
    faults = _restarted(devices, setting, plan is not None)
    run = _Run(devices, plan, setting, trials, checked_source(words), 1 - level)
    events = run.events(show)
    return Audit(setting, trials, level, events, (*faults, *run.faults()))


def _restarted(devices: Devices, setting: Setting, planned: bool) -> list[str]:
    """What two fresh starts show; where a report is too short for a header, that is told elsewhere."""
    both = devices.started_twice(setting.sides[0], _STARTED_TWICE)
    if both is None:
        return []
    found = same_sequence(*both, headed=planned and all(len(report) >= HEADER for reports in both for report in reports))
    return [] if found is None else [found]


class _Run:
    """The trials of one audit, in three parts: to learn from, to choose the best guess on, and to bound with."""

    def __init__(self, devices: Devices, plan: Plan | None, setting: Setting, trials: int, words: Words, alpha: float) -> None:
        self._devices, self._setting, self._trials, self._words = devices, setting, trials, words
        codes = [] if plan is None else setting.codes(plan)
        self._reader = Reader(plan, devices.headed, codes)
        self._ids = Ids()
        most = 0 if plan is None else setting.most_votes(plan)
        self._thresholds = {0: [], 1: [1]}.get(most, [1, most])
        self._votes = {least: np.zeros(2, dtype=np.int64) for least in self._thresholds}
        self._alpha = alpha / 2 if self._thresholds else alpha
        self._views = views_of(len(setting.pairs), plan is not None)
        width = setting.rounds * (1 if plan is None else Wire(plan).lengths[-1])
        self._block = max(1, min(devices.at_once, _BLOCK_BYTES // width))

    def events(self, show: Show | None) -> tuple[Event, ...]:
        """All trials, and what the guesses gave."""
        chooser, total = Chooser(self._views, self._alpha), 2 * self._trials
        ends = [int(total * _LEARN), int(total * _CHOOSE), total]
        done = 0
        for seen in self._blocks(0, ends[0]):
            for view in self._views:
                view.learn(seen)
            done = _told(show, done + len(seen.pair), total)
        for seen in self._blocks(ends[0], ends[1]):
            chooser.add(seen)
            done = _told(show, done + len(seen.pair), total)
        view, threshold = chooser.chosen()
        guesses = np.zeros(2, dtype=np.int64)
        for seen in self._blocks(ends[1], ends[2]):
            guesses += _judged(view.scores(seen), threshold, seen.second)
            done = _told(show, done + len(seen.pair), total)
        learned = Event(f"learned: {view.name}", int(guesses[0]), int(guesses[1]), self._alpha)
        each = self._alpha / max(1, len(self._thresholds))
        fixed = [
            Event(_vote_name(least, len(self._thresholds)), int(votes[0]), int(votes[1]), each)
            for least, votes in self._votes.items()
        ]
        return (*fixed, learned)

    def faults(self) -> list[str]:
        """What was wrong beside the bound."""
        total = 2 * self._trials * self._setting.rounds
        refusals = self._reader.refusals
        found = [
            f"a collector refuses {count:,} of {counted(total, 'report')}, by their {reason}; "
            f"the first is {_shown(refusals.examples[reason])}"
            for reason, count in refusals.reasons.items()
        ]
        again = self._ids.repeated()
        if again:
            found.append(f"{counted(again, 'report id')} of {total:,} came before: an id must be 16 random bytes")
        return found

    def _blocks(self, start: int, end: int) -> Iterator[Seen]:
        sides, pairs = self._setting.sides, len(self._setting.pairs)
        for low in range(start, end, self._block):
            pair = np.arange(low, min(end, low + self._block), dtype=np.int64) % pairs
            second = self._coins(len(pair))
            seen = self._reader.read(self._devices.answer(sides, 2 * pair + second), pair, second)
            self._ids.add(seen.ids)
            votes = (seen.support == FIRST).sum(axis=1, dtype=np.int64) - (seen.support == SECOND).sum(axis=1, dtype=np.int64)
            for least, counts in self._votes.items():
                counts += _judged(votes, least, second)
            yield seen

    def _coins(self, count: int) -> npt.NDArray[np.bool_]:
        """A fair coin for each device: which of the two answers it holds."""
        return np.unpackbits(self._words.take(-(-count // 64)).view(np.uint8))[:count].astype(bool)


def _judged(scores: npt.NDArray[np.float64] | Integers, least: float, second: npt.NDArray[np.bool_]) -> Integers:
    """How many guesses, and how many of them are right."""
    guessed = np.abs(scores) >= least
    return np.array([guessed.sum(), (guessed & ((scores < 0) == second)).sum()], dtype=np.int64)


def _vote_name(least: int, events: int) -> str:
    if events == 1:
        return "supports one of the two answers only"
    return "more attributes and rounds support one side" if least == 1 else "all attributes and rounds support one side"


def _told(show: Show | None, done: int, total: int) -> int:
    if show is not None:
        show(done, total)
    return done


def _shown(report: bytes) -> str:
    text = report.hex()
    return text if len(text) <= 120 else f"{text[:120]}…"
