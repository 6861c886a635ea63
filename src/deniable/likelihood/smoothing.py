"""Chooses how much to smooth by held-out likelihood: each fold is predicted from the others.

Only counts of outputs are needed: which of equal reports goes to which fold does not matter, so that the
counts are dealt themselves (binomial thinning).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.law import finite
from deniable.likelihood.problem import Counted, Grouped, Listed, Problem, refuse_unordered
from deniable.likelihood.rows import Decay, Rows, Stacked, few_threads, normal
from deniable.likelihood.steps import along, smoothed_by
from deniable.metric.line import SMALL

WEIGHTS = (0.0, 0.01, 0.05, 0.25)
PASSES = (10, 30, 100, 300, 1000)
_SETTLED = 1e-3  # nats of all held-out reports together: passes that gain less are not followed by more
# shares below this are zero: numbers that are less than normal ones are a hundred times slower
_NOTHING = 1e-300
_AT_ONCE = 1 << 22  # shares made between two words of progress
Passes = Callable[[int, int], None]
"""Hears how many passes over the data are done, and how many there are at most."""


@final
@dataclass(frozen=True)
class Smoothing:
    """What was chosen: how many steps of EM, and how much of each share goes to either neighbor."""

    weight: float
    passes: int
    held_out: tuple[tuple[float, ...], ...]
    """The mean log-likelihood of held-out reports, by weight and number of passes; nan where more passes were
    not tried, since the last ones had made it no better.
    """


def smoothed(
    problem: Problem,
    weights: Sequence[float],
    passes: Sequence[int],
    folds: int,
    seed: int,
    progress: Passes | None = None,
) -> tuple[Smoothing, Floats]:
    """The weight and the number of passes that predict held-out reports best, and their shares."""
    listed = checked(problem)
    whole_number("folds", folds, 2)
    whole_number("seed", seed, 0)
    sides, ends = _settings(weights, passes)
    rows, counts = quick(listed)
    heard = _Heard(progress, int(ends[-1]) * (sides.size * folds + 1))
    with few_threads(0.0):
        setting = _chosen(_Walk(rows, listed.shape, heard), counts, sides, ends, folds, seed)
        walk = _Walk(rows, listed.shape, heard)
        walk.begin(counts[None, :] / counts.sum(), np.array([setting.weight]))
        shares = walk.on(setting.passes)[0]
    heard.done()
    if not np.isfinite(shares).all():
        raise InvalidParameter("floats do not carry the smoothing of these reports; give fewer passes")
    return setting, np.asarray(shares)


def _chosen(walk: _Walk, counts: Integers, sides: Floats, ends: Floats, folds: int, seed: int) -> Smoothing:
    dealt = np.random.default_rng(seed).multinomial(counts, np.full(folds, 1 / folds)).T
    kept = dealt.sum(axis=0) - dealt
    if (dealt.sum(axis=1) == 0).any() or (kept.sum(axis=1) == 0).any():
        raise InvalidParameter(
            f"{format_count(int(counts.sum()), 'report')} cannot be dealt to {folds} folds: some would be "
            "empty"
        )
    trained = kept / kept.sum(axis=1, keepdims=True)
    scores = np.full((sides.size, ends.size), math.nan)
    walk.begin(np.tile(trained, (sides.size, 1)), np.repeat(sides, folds))
    going = np.arange(sides.size)
    for position, end in enumerate(ends):
        p = walk.on(int(end))
        likely = walk.rows.forward(p).reshape(going.size, folds, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(dealt > 0, dealt * (np.log(likely) + walk.rows.logs), 0.0)
        mean_logs = logs.sum(axis=(1, 2)) / counts.sum()
        scores[going, position] = np.where(np.isfinite(mean_logs), mean_logs, -math.inf)
        gains = mean_logs - scores[going, position - 1] if position else mean_logs
        still = np.isfinite(gains) & ((gains * counts.sum() > _SETTLED) if position else True)
        going = going[still]
        if not going.size:
            break
        walk.keep(np.repeat(still, folds))
    best = np.unravel_index(int(np.nanargmax(scores)), scores.shape)
    if not math.isfinite(scores[best]):
        raise InvalidParameter(
            "no setting gives the held-out reports a likelihood that floats can hold; give other passes"
        )
    return Smoothing(
        float(sides[best[0]]), int(ends[best[1]]), tuple(tuple(map(float, row)) for row in scores)
    )


def checked(problem: Problem) -> Counted | Grouped:
    """Smoothing is for values with neighbors whose outputs are counted, in one group or in several."""
    if isinstance(problem, Listed):
        refuse_unordered(problem)
    if isinstance(problem, Counted) or (
        isinstance(problem, Grouped) and all(isinstance(p, Counted) for p in problem.parts)
    ):
        return problem
    raise InvalidParameter(
        "smoothing is for ordered values with counted outputs (geometric noise, Square Wave, any matrix), "
        "also in groups; reports of sets have none"
    )


def quick(problem: Counted | Grouped) -> tuple[Rows, Integers]:
    """Rows with quick products, and how many reports each of them has."""
    if isinstance(problem, Counted):
        return problem.quick
    parts = [part.quick for part in problem.parts if isinstance(part, Counted)]
    return Stacked([rows for rows, _ in parts]), np.concatenate([counts for _, counts in parts])


@final
class _Heard:
    """How many passes are done, of those that there are at most."""

    def __init__(self, progress: Passes | None, most: int) -> None:
        self._progress, self._most, self._done = progress, most, 0

    def more(self, passes: int) -> None:
        self._done += passes
        if self._progress is not None:
            self._progress(self._done, self._most)

    def done(self) -> None:
        self.more(self._most - self._done)


@final
class _Walk:
    """Steps of EM with smoothing, for many data and weights at once."""

    def __init__(self, rows: Rows, shape: tuple[int, ...], heard: _Heard) -> None:
        self.rows, self._shape, self._heard, self._step = rows, shape, heard, 0

    def begin(self, outputs: Floats, sides: Floats) -> None:
        """All shares alike."""
        self._outputs, self._sides = np.ascontiguousarray(outputs), sides
        self._p = np.full((sides.size, self.rows.k), 1 / self.rows.k)

    def keep(self, kept: np.ndarray) -> None:
        """Go on with some of the data only."""
        if not kept.all():
            self._outputs, self._sides, self._p = self._outputs[kept], self._sides[kept], self._p[kept]

    def on(self, end: int) -> Floats:
        """Where they are after this many steps."""
        while self._step < end:
            passes = min(max(1, _AT_ONCE // self._p.size), end - self._step)
            if isinstance(self.rows, Decay) and self.rows.k > SMALL:
                self._compiled(passes, float(self.rows.kernel.ratios[0]))
            else:
                self._plain(passes)
            self._step += passes
            self._heard.more(passes * self._sides.size)
        return self._p

    def _plain(self, passes: int) -> None:
        smooth = along(self._shape, smoothed_by(self._sides))
        for _ in range(passes):
            self._p = normal(smooth(self._p * self.rows.ascent(self._outputs, self._p)))
            self._p[self._p < _NOTHING] = 0.0

    def _compiled(self, passes: int, ratio: float) -> None:
        from deniable.likelihood import loops

        loops.passes_on_a_line(self._p, self._outputs, self._sides, ratio, passes)
        self._p = normal(self._p)


def _settings(weights: Sequence[float], passes: Sequence[int]) -> tuple[Floats, Floats]:
    sides, ends = finite(weights, "smoothing weights are from 0 to 0.5"), np.unique(np.asarray(passes))
    if sides.ndim != 1 or sides.size == 0 or not ((sides >= 0) & (sides <= 0.5)).all():
        raise InvalidParameter(f"smoothing weights are from 0 to 0.5, got {list(weights)}")
    if ends.size == 0 or ends.dtype.kind not in "iu" or ends[0] < 1:
        raise InvalidParameter(f"passes are whole numbers of at least 1, got {list(passes)}")
    return sides, ends
