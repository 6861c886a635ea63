"""Runs trials: to learn from, to choose the best guess on, and to bound with; no trial serves two of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.audit.bound import Event, lower_epsilon
from deniable.audit.devices import Devices
from deniable.audit.guessers import Chooser, Guesser, make_guessers
from deniable.audit.lineup import Lineups
from deniable.audit.observations import FIRST, SECOND, Observations, Reader
from deniable.audit.repeats import Ids
from deniable.audit.setting import Setting
from deniable.formatting import format_count
from deniable.plan import Plan
from deniable.tables import Show
from deniable.wire import Wire
from deniable.words import Words

_BLOCK_BYTES = 1 << 25  # of reports that are looked at together
_LINED = 1 / 3  # the part of line-ups in the chance of a false alarm
_LEARN, _CHOOSE = 0.25, 0.5  # up to where trials are learned from, and chosen on; the rest is for the bound


@final
class Run:
    """Trials of some devices, judged group by group: pairs with the same claim are one group."""

    def __init__(
        self, devices: Devices, plan: Plan | None, setting: Setting, trials: int, words: Words, alpha: float
    ) -> None:
        self._devices, self._setting, self._trials, self._words = devices, setting, trials, words
        codes = [] if plan is None else setting.codes(plan)
        self._reader = Reader(plan, devices.headed, codes)
        self._ids = Ids()
        self._group = setting.group
        self._thresholds = [_thresholds(most) for most in setting.most_votes(plan)]
        self._votes = [{least: np.zeros(2, dtype=np.int64) for least in some} for some in self._thresholds]
        self._alone = np.zeros((len(setting.pairs), 2), dtype=np.int64)
        self._sizes = np.bincount(self._group).tolist()
        parts = [
            1 + bool(some) * (1 + (size > 1))
            for some, size in zip(self._thresholds, self._sizes, strict=True)
        ]
        self._lined = alpha * _LINED if setting.line_ups else 0.0
        self._alphas = [(alpha - self._lined) / len(setting.claims) / some for some in parts]
        """Each group's part for its learned guess, again for all of its fixed ones together, and for each
        pair alone.
        """
        self._views = make_guessers(len(setting.pairs), plan is not None)
        width = setting.rounds * (1 if plan is None else Wire(plan).lengths[-1])
        self._block = max(1, min(devices.at_once, _BLOCK_BYTES // width))
        self._lineups = Lineups.of(plan, setting.line_ups, trials)

    @property
    def devices(self) -> int:
        """How many there are in all."""
        return self._in_pairs + self._lineups.devices

    @property
    def _in_pairs(self) -> int:
        return 2 * self._trials

    def events(self, show: Show | None, who: str = "") -> tuple[Event, ...]:
        """All trials, and what the guesses gave."""
        chooser, total = Chooser(self._views, self._alphas), self.devices
        ends = [int(self._in_pairs * _LEARN), int(self._in_pairs * _CHOOSE), self._in_pairs]
        done = 0
        for seen in self._blocks(0, ends[0]):
            for view in self._views:
                view.learn(seen)
            done = _show_progress(show, done + len(seen.pair), total)
        for seen in self._blocks(ends[0], ends[1]):
            chooser.add(seen, self._group[seen.pair])
            done = _show_progress(show, done + len(seen.pair), total)
        chosen = chooser.chosen()
        guesses = np.zeros((len(chosen), 2), dtype=np.int64)
        for seen in self._blocks(ends[1], ends[2]):
            guesses += self._count_learned(chosen, seen)
            done = _show_progress(show, done + len(seen.pair), total)
        for line, count in self._lineups.blocks(self._block):
            held = (self._words.take(count) % np.uint64(len(line.sides))).astype(np.int64)
            votes, ids = self._reader.votes(self._devices.answer(line.sides, held), line.codes)
            self._lineups.judge(line, votes, held)
            for some in ids:
                self._ids.add(some)
            done = _show_progress(show, done + count, total)
        return tuple(self._make_events(chosen, guesses, who))

    def easiest(self) -> str | None:
        """In words, whom line-ups tell most easily, where they show more than is claimed."""
        if (
            not self._lineups.lines
            or not self._lineups.event("", self._lined, self._setting.line_claim).above
        ):
            return None
        easiest = self._lineups.easiest
        return (
            None
            if easiest is None
            else f"line-ups identify people who answer {self._setting.describe_person(easiest)} most easily"
        )

    def faults(self) -> list[str]:
        """What was wrong apart from the bound."""
        total = self.devices * self._setting.rounds
        refusals = self._reader.refusals
        found = [
            f"a collector refuses {count:,} of {format_count(total, 'report')}, by their {reason}; the "
            f"first is {_shorten(refusals.examples[reason])}"
            for reason, count in refusals.reasons.items()
        ]
        again = self._ids.repeated()
        if again:
            found.append(
                f"{format_count(again, 'report id')} of {total:,} came before: an id must be 16 random bytes"
            )
        return found

    def _make_events(
        self, chosen: list[tuple[Guesser, float]], guesses: Integers, who: str
    ) -> Iterator[Event]:
        for number, claim in enumerate(self._setting.claims):
            alpha, thresholds = self._alphas[number], self._thresholds[number]
            for least in thresholds:
                made, right = self._votes[number][least].tolist()
                yield Event(
                    who + _vote_name(least, len(thresholds)), made, right, alpha / len(thresholds), claim
                )
            if thresholds and self._sizes[number] > 1:
                yield self._worst(number, who, alpha / self._sizes[number], claim)
            made, right = guesses[number].tolist()
            yield Event(f"{who}learned: {chosen[number][0].name}", made, right, alpha, claim)
        if self._lineups.lines:
            yield self._lineups.event(who, self._lined, self._setting.line_claim)

    def _worst(self, number: int, who: str, alpha: float, claim: float) -> Event:
        """Finds the pair of a group that shows most on its own: for leaks that not all of them have."""
        pairs = np.flatnonzero(self._group == number)
        bounds = lower_epsilon(self._alone[pairs, 1], self._alone[pairs, 0], alpha)
        worst = int(pairs[np.argmax(bounds)])
        made, right = self._alone[worst].tolist()
        return Event(
            f"{who}the same, for {self._setting.describe_pair(worst)}", made, right, alpha, claim, alone=True
        )

    def _count_learned(self, chosen: list[tuple[Guesser, float]], seen: Observations) -> Integers:
        """Guesses, and right ones, of every group by the view that was chosen for it."""
        scores = {id(view): view.scores(seen) for view in dict(chosen)}
        group, found = self._group[seen.pair], np.zeros((len(chosen), 2), dtype=np.int64)
        for number, (view, threshold) in enumerate(chosen):
            found[number] = _count_guesses(scores[id(view)], threshold, seen.second, group == number)
        return found

    def _blocks(self, start: int, end: int) -> Iterator[Observations]:
        sides, pairs = self._setting.sides, len(self._setting.pairs)
        for low in range(start, end, self._block):
            pair = np.arange(low, min(end, low + self._block), dtype=np.int64) % pairs
            second = self._coins(len(pair))
            seen = self._reader.read(self._devices.answer(sides, 2 * pair + second), pair, second)
            self._ids.add(seen.ids[seen.identified])
            votes = (seen.support == FIRST).sum(axis=1, dtype=np.int64) - (seen.support == SECOND).sum(
                axis=1, dtype=np.int64
            )
            group = self._group[pair]
            for number, counts in enumerate(self._votes):
                for least, count in counts.items():
                    count += _count_guesses(votes, least, second, group == number)
            guessed, right = _guesses(votes, 1, second)
            self._alone += np.array([np.bincount(pair[one], minlength=pairs) for one in (guessed, right)]).T
            yield seen

    def _coins(self, count: int) -> npt.NDArray[np.bool_]:
        """A fair coin for each device: which of the two answers it holds."""
        return np.unpackbits(self._words.take(-(-count // 64)).view(np.uint8))[:count].astype(bool)


def _thresholds(most: int) -> list[int]:
    """How many votes are guesses, where there are `most` at most."""
    return {0: [], 1: [1]}.get(most, [1, most])


def _count_guesses(
    scores: npt.NDArray[np.float64] | Integers,
    least: float,
    second: npt.NDArray[np.bool_],
    mine: npt.NDArray[np.bool_],
) -> Integers:
    """How many guesses, and how many of them are right."""
    guessed, right = _guesses(scores, least, second)
    return np.array([(guessed & mine).sum(), (right & mine).sum()], dtype=np.int64)


def _guesses(
    scores: npt.NDArray[np.float64] | Integers, least: float, second: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which trials have a guess, and which of those are right."""
    guessed = np.abs(scores) >= least
    return guessed, guessed & ((scores < 0) == second)


def _vote_name(least: int, events: int) -> str:
    if events == 1:
        return "supports one of the two answers only"
    return (
        "more attributes and rounds support one side"
        if least == 1
        else "all attributes and rounds support one side"
    )


def _show_progress(show: Show | None, done: int, total: int) -> int:
    if show is not None:
        show(done, total)
    return done


def _shorten(report: bytes) -> str:
    text = report.hex()
    return text if len(text) <= 120 else f"{text[:120]}…"
