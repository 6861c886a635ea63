"""Builds the problem of finding the shares of all attributes from whole reports with fakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate.consistency import simplex
from deniable.likelihood.fakes import compute_fake_likelihoods
from deniable.likelihood.information import Information
from deniable.likelihood.mixture import Mixture, NamedPart, Part, SetPart
from deniable.likelihood.problem import Problem, Reported
from deniable.likelihood.rows import Supports
from deniable.likelihood.supports import merge_equal, pack_layers
from deniable.randomness.simulated import seeded
from deniable.records import Fake, Faked, Records

_EVEN = 0.01  # how much of all values alike the first guess has


@final
@dataclass(frozen=True, eq=False)
class Attribute(Problem):
    """One attribute of whole reports, whose likelihood is that of all attributes."""

    n: int
    k: int
    level: float
    """The mean logarithm of a whole report's likelihood, up to a constant."""
    information: Information

    def again(self, shares: Floats, generator: np.random.Generator) -> Problem:
        raise InvalidParameter(
            "whole reports are drawn from the shares of all attributes; the errors of one come from the "
            "curvature of the likelihood, which needs no repeats"
        )


def build_whole_problem(mechanism: Faked, records: Records) -> Reported:
    """The shares of all attributes, one after the other, behind whole reports."""
    tallies = mechanism.tally(records)  # refuses what cannot have been sent
    if records.n < 1:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    columns, times = _merge_records(records.columns)
    chance = 1.0 / mechanism.d
    parts = [_build_part(fake, column, chance) for fake, column in zip(mechanism.fakes, columns, strict=True)]
    rows = Mixture(parts, times.size)
    unbiased = np.concatenate([simplex(estimate.frequencies) for estimate in mechanism.estimate(tallies)])
    guess = rows.normal((1 - _EVEN) * unbiased + _EVEN * rows.even)
    return Reported(records.n, rows, times / records.n, guess, partial(_draw_again, mechanism, records.n))


def _build_part(fake: Fake, reports: Array, chance: float) -> Part:
    mechanism = fake.part
    if mechanism.names_value:
        all_values = mechanism.blank(mechanism.k)
        all_values[:] = np.arange(mechanism.k)
        return NamedPart(reports, chance / compute_fake_likelihoods(fake, all_values), mechanism.odds)
    levels = chance / compute_fake_likelihoods(fake, reports)
    same = levels.size > 0 and bool((levels == levels[0]).all())
    supports = Supports(mechanism.k, pack_layers(mechanism, reports))
    return SetPart(supports, float(levels[0]) if same else levels)


def _merge_records(columns: Sequence[Array]) -> tuple[list[Array], Integers]:
    """Equal records once, with how often they came, where that is worth it."""
    n = len(columns[0])
    raw = [np.ascontiguousarray(column).view(np.uint8).reshape(n, -1) for column in columns]
    joined, times = merge_equal(np.concatenate(raw, axis=1))
    ends = np.cumsum([0, *(part.shape[1] for part in raw)]).tolist()
    merged = []
    for column, start, stop in zip(columns, ends[:-1], ends[1:], strict=True):
        piece = np.ascontiguousarray(joined[:, start:stop]).view(column.dtype)
        merged.append(piece.reshape(len(times), *column.shape[1:]))
    return merged, times


def _draw_again(mechanism: Faked, n: int, shares: Floats, generator: np.random.Generator) -> Reported:
    """Reports depend on the shares of single attributes only, so these are drawn independently."""
    ends = np.cumsum([part.k for part in mechanism.parts])[:-1]
    table = [
        generator.choice(shares_of_one.size, n, p=shares_of_one / shares_of_one.sum())
        for shares_of_one in np.split(shares, ends)
    ]
    words = seeded(int(generator.integers(1 << 62)))
    return build_whole_problem(mechanism, mechanism.privatize(np.column_stack(table), words))
