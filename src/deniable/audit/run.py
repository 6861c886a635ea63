"""Runs trials: to learn from, to choose the best guess on, and to bound with; no trial serves two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.audit.bound import Counts, Event, expected_range, lower_epsilon
from deniable.audit.devices import Devices, InBulk
from deniable.audit.guessers import Chooser, Guesser, make_guessers
from deniable.audit.independence import Candidates, DeviceOrder, IdBits, Ids
from deniable.audit.observations import FIRST, SECOND, Observations, Reader, Votes, cut
from deniable.audit.setting import Setting, encode_sides
from deniable.audit.turns import Side
from deniable.formatting import format_count
from deniable.frames import Show
from deniable.randomness import Words
from deniable.randomness.simulated import seeded
from deniable.study import Plan
from deniable.wire import Wire

_MOST_ANSWERS = 1 << 27  # people in line times devices, attributes and rounds, at most
_BLOCK_BYTES = 1 << 25  # of reports that are looked at together
_LINED = 1 / 3  # the part of line-ups in the chance of a false alarm
_SEED = 12  # of the right client that others are compared with
_REFERENCE_LEAST, _REFERENCE_MOST = 1 << 13, 1 << 18  # how many devices it has
_REFERENCE_WHOLE = 1 << 16  # up to where it has as many as are audited; then a quarter is enough
_FEWEST_OF_PAIR = 8  # devices, below which nothing is expected
_LEARN, _CHOOSE = 0.25, 0.5  # up to where trials are learned from, and chosen on; the rest is for the bound


@final
class Run:
    """Trials of some devices, judged group by group."""

    def __init__(
        self, devices: Devices, plan: Plan | None, setting: Setting, trials: int, words: Words, alpha: float
    ) -> None:
        self._devices, self._setting, self._trials, self._words = devices, setting, trials, words
        codes = [] if plan is None else setting.codes(plan)
        self._reader = Reader(plan, devices.headed, codes)
        self._before = Reader(plan, devices.headed, codes)
        self._ids = Ids()
        self._plan = plan
        self._group = setting.group
        self._thresholds = [_thresholds(most) for most in setting.most_votes(plan)]
        self._votes = [
            {least: np.zeros(2, dtype=np.int64) for least in thresholds} for thresholds in self._thresholds
        ]
        self._alone = np.zeros((len(setting.pairs), 2), dtype=np.int64)
        self._sizes = np.bincount(self._group).tolist()
        parts = [
            1 + bool(thresholds) * (1 + (size > 1))
            for thresholds, size in zip(self._thresholds, self._sizes, strict=True)
        ]
        self._lined = alpha * _LINED if setting.line_ups else 0.0
        self._alphas = [(alpha - self._lined) / len(setting.groups) / count for count in parts]
        """Each group's part for its learned guess, again for all of its fixed ones together, and for each
        pair alone.
        """
        self._views = make_guessers(len(setting.pairs), plan is not None)
        width = setting.rounds * (1 if plan is None else Wire(plan.document).lengths[-1])
        self._block = max(1, min(devices.at_once, _BLOCK_BYTES // width))
        self._lineups = Lineups.of(plan, setting.line_ups, trials)
        self._order = DeviceOrder(len(setting.pairs), plan is not None, width, self._in_pairs)
        tables = [codes[0], *(line.codes[0] for line in self._lineups.lines)] if codes else []
        self._id_bits = IdBits(() if plan is None else plan.names, tables)
        self._pair_bits = Candidates(tables[0], self._id_bits.bits, 2) if tables else None
        self._of_group = np.zeros(len(setting.groups), dtype=np.int64)

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
            persons = (self._words.take(count) % np.uint64(len(line.sides))).astype(np.int64)
            votes, ids = self._reader.votes(self._devices.answer(line.sides, persons), line.codes)
            self._lineups.judge(line, votes, persons)
            bits = Candidates(line.codes[0], self._id_bits.bits, len(line.sides)) if ids else None
            for whose, line_ids in ids:
                self._ids.add(line_ids)
                if bits is not None:
                    self._id_bits.add(line_ids, bits, persons[whose])
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
        faults = [
            f"a collector refuses {count:,} of {format_count(total, 'report')}, by their {reason}; the "
            f"first is {_shorten(refusals.examples[reason])}"
            for reason, count in refusals.reasons.items()
        ]
        if unlinked := self._reader.unlinked:
            faults.append(
                f"{format_count(unlinked, 'report')} of {total:,} have another id than the first of their "
                "device: this plan is linked, so that all reports of a device have one id"
            )
        again = self._ids.repeated()
        if again:
            faults.append(
                f"{format_count(again, 'report id')} of {total:,} came before: an id must be 16 random bytes"
            )
        depends = self._id_bits.fault()
        answered = self._devices.faults()
        return [*answered, *faults, *([] if depends is None else [depends]), *self._order.faults()]

    def count(self) -> list[dict[int, Counts]]:
        """All trials in pairs, by group and the fewest votes that are a guess, and nothing else."""
        for _ in self._observe(0, self._in_pairs):
            pass
        return [
            {least: Counts(devices, *votes.tolist()) for least, votes in counts.items()}
            for devices, counts in zip(self._of_group.tolist(), self._votes, strict=True)
        ]

    def _count_right_client(self) -> list[dict[int, Counts]] | None:
        """What the right devices of the plan give, where a device is asked often enough to be compared."""
        if self._plan is None or self._in_pairs < _FEWEST_OF_PAIR * len(self._setting.pairs):
            return None
        enough_devices = max(self._in_pairs // 4, min(self._in_pairs, _REFERENCE_WHOLE))
        devices = min(max(enough_devices, _REFERENCE_LEAST), _REFERENCE_MOST)
        right = InBulk(self._plan, seeded(_SEED))
        setting = replace(self._setting, line_ups=())
        return Run(right, self._plan, setting, devices // 2, seeded(_SEED + 1), 1.0).count()

    def _make_events(
        self, chosen: list[tuple[Guesser, float]], guesses: Integers, who: str
    ) -> Iterator[Event]:
        right_client = self._count_right_client()
        for number, (claim, partial) in enumerate(self._setting.groups):
            alpha, thresholds = self._alphas[number], self._thresholds[number]
            whose = f"{who}{'in one or two attributes: ' * partial}"
            for least in thresholds:
                guessed, right = self._votes[number][least].tolist()
                part, devices = alpha / len(thresholds), int(self._of_group[number])
                expected = (
                    None
                    if right_client is None
                    else expected_range(right_client[number][least], devices, guessed, part)
                )
                name = whose + _vote_name(least, len(thresholds))
                yield Event(name, guessed, right, part, claim, partial=partial, expected=expected)
            if thresholds and self._sizes[number] > 1:
                yield self._worst(number, whose, alpha / self._sizes[number], claim)
            guessed, right = guesses[number].tolist()
            name = f"{whose}learned: {chosen[number][0].name}"
            yield Event(name, guessed, right, alpha, claim, partial=partial)
        if self._lineups.lines:
            yield self._lineups.event(who, self._lined, self._setting.line_claim)

    def _worst(self, number: int, who: str, alpha: float, claim: float) -> Event:
        """Finds the pair of a group that shows most on its own: for leaks that not all of them have."""
        pairs = np.flatnonzero(self._group == number)
        bounds = lower_epsilon(self._alone[pairs, 1], self._alone[pairs, 0], alpha)
        worst = int(pairs[np.argmax(bounds)])
        guessed, right = self._alone[worst].tolist()
        name = f"{who}the same, for {self._setting.describe_pair(worst)}"
        partial = self._setting.groups[number][1]
        return Event(name, guessed, right, alpha, claim, alone=True, partial=partial)

    def _count_learned(self, chosen: list[tuple[Guesser, float]], seen: Observations) -> Integers:
        """Guesses, and right ones, of every group by the view that was chosen for it."""
        scores = {id(view): view.scores(seen) for view in dict(chosen)}
        group, counts = self._group[seen.pair], np.zeros((len(chosen), 2), dtype=np.int64)
        for number, (view, threshold) in enumerate(chosen):
            counts[number] = _count_guesses(scores[id(view)], threshold, seen.second, group == number)
        return counts

    def _blocks(self, start: int, end: int) -> Iterator[Observations]:
        """Trials, whose ids and order are looked at, too."""
        for reports, seen in self._observe(start, end):
            self._ids.add(seen.ids[seen.identified])
            if self._pair_bits is not None:
                rows = (2 * seen.pair + seen.second)[seen.identified]
                for ids in np.split(seen.ids[seen.identified], seen.ids.shape[1] // 16 or 1, axis=1):
                    if ids.size:
                        self._id_bits.add(ids, self._pair_bits, rows)
            count = self._order.part_of(len(seen.pair))
            if count > 1:
                after = [said[1:count] for said in reports]
                answered = seen.pair[: count - 1], seen.second[: count - 1]
                self._order.add(cut(seen, 0, count), self._before.read(after, *answered))
            yield seen

    def _observe(self, start: int, end: int) -> Iterator[tuple[Sequence[Sequence[bytes]], Observations]]:
        sides, pairs = self._setting.sides, len(self._setting.pairs)
        for low in range(start, end, self._block):
            pair = self._setting.pair_of(np.arange(low, min(end, low + self._block), dtype=np.int64))
            second = self._coins(len(pair))
            reports = self._devices.answer(sides, 2 * pair + second)
            seen = self._reader.read(reports, pair, second)
            votes = (seen.support == FIRST).sum(axis=1, dtype=np.int64) - (seen.support == SECOND).sum(
                axis=1, dtype=np.int64
            )
            group = self._group[pair]
            self._of_group += np.bincount(group, minlength=len(self._of_group))
            for number, counts in enumerate(self._votes):
                for least, count in counts.items():
                    count += _count_guesses(votes, least, second, group == number)
            guessed, right = _guesses(votes, 1, second)
            self._alone += np.array(
                [np.bincount(pair[selected], minlength=pairs) for selected in (guessed, right)]
            ).T
            yield reports, seen

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
    """Which trials have a guess, and which guesses are right."""
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
    return (text or "empty") if len(text) <= 120 else f"{text[:120]}…"


@final
@dataclass(frozen=True)
class Line:
    """People that are equally likely, any two of them neighbors."""

    sides: tuple[Side, ...]
    codes: list[Integers]
    """For each round, their answers as integers, a row per attribute."""
    devices: int
    """How many devices are one of them."""


@final
@dataclass
class Lineups:
    """Guesses at who each device is; nobody is guessed where all people have the same votes."""

    lines: tuple[Line, ...]
    _guesses: Counter[float] = field(default_factory=Counter)
    """By their odds by chance."""
    _right: int = 0
    _hits: dict[int, Integers] = field(default_factory=dict)
    """For each line, by its id: of how many devices of each person the right one was named, and of how many
    not.
    """

    @staticmethod
    def of(plan: Plan | None, sides: Sequence[tuple[Side, ...]], trials: int) -> Lineups:
        """The line-ups of a setting: none without a plan, as nothing says what a report supports."""
        return Lineups(
            () if plan is None else tuple(_line(plan, line, trials // len(sides)) for line in sides)
        )

    @property
    def devices(self) -> int:
        """How many there are in all."""
        return sum(line.devices for line in self.lines)

    def blocks(self, most: int) -> Iterator[tuple[Line, int]]:
        """A line, and how many devices are next, for all of them."""
        for line in self.lines:
            for low in range(0, line.devices, most):
                yield line, min(most, line.devices - low)

    def judge(self, line: Line, votes: Votes, persons: Integers) -> None:
        """Names the person with the most votes, from a row per person and a column per device."""
        size = len(votes)
        is_best = votes == votes.max(axis=0)
        many = is_best.sum(axis=0)
        right = is_best[persons, np.arange(len(persons))] & (many < size)
        self._right += int(right.sum())
        seen = self._hits.setdefault(id(line), np.zeros((2, size), dtype=np.int64))
        seen += np.array([np.bincount(persons[chosen], minlength=size) for chosen in (right, ~right)])
        counts = np.bincount(many, minlength=size)
        self._guesses.update({s / (size - s): int(counts[s]) for s in range(1, size) if counts[s]})

    def event(self, who: str, alpha: float, claim: float) -> Event:
        """What the guesses gave."""
        name = f"{who}supports the right one of up to {max(len(line.sides) for line in self.lines)} people"
        return Event(
            name, self._guesses.total(), self._right, alpha, claim, tuple(sorted(self._guesses.items()))
        )

    @property
    def easiest(self) -> Side | None:
        """Finds whose devices are identified most often, beyond what is usual in that line."""
        best, most = None, 0.0
        for line in self.lines:
            right, wrong = self._hits[id(line)]
            shares = (right + 1) / (right + wrong + 2)
            above = (shares - shares.mean()) * np.sqrt(right + wrong)
            if float(above.max()) > most:
                best, most = line.sides[int(above.argmax())], float(above.max())
        return best


def _line(plan: Plan, sides: tuple[Side, ...], devices: int) -> Line:
    codes = encode_sides(plan, sides)
    return Line(sides, codes, max(1, min(devices, _MOST_ANSWERS // (codes[0].size * len(codes)))))
