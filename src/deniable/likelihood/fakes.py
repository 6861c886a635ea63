"""Computes how likely a report is from people, and how likely from the fake that imitates it.

Both are up to one factor of the report, so that their ratio says how much the report speaks for being real.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from deniable.arrays import Array, Floats
from deniable.errors import InvalidParameter
from deniable.likelihood.rows import Supports
from deniable.likelihood.supports import pack_layers
from deniable.mechanisms import SetMechanism
from deniable.records import Blank, Fake, Guessed, Imitated


def compute_report_likelihoods(part: SetMechanism, reports: Array, shares: Floats) -> Floats:
    """Computes how likely each report is for a value drawn from these shares, up to a factor."""
    return prepare_likelihoods(part, reports)(shares)


def prepare_likelihoods(part: SetMechanism, reports: Array) -> Callable[[Floats], Floats]:
    """How likely each report is, up to a factor, as a function of the shares that values are drawn from."""
    if part.names_value and reports.ndim == 1:
        positions = reports.astype(np.intp)
        return lambda shares: np.asarray(1.0 + (part.odds - 1.0) * shares)[positions]
    return Supports(part.k, pack_layers(part, reports)).forward


@singledispatch
def compute_fake_likelihoods(fake: Fake, reports: Array) -> Floats:  # noqa: ARG001 - those of every fake take reports
    """Computes how likely each report is from the fake, up to the same factor."""
    raise InvalidParameter(f"how likely a report is from {type(fake).__name__} is not known here")


@compute_fake_likelihoods.register
def _(fake: Guessed, reports: Array) -> Floats:
    return np.asarray(fake.supported / fake.part.law.q)[reports]


@compute_fake_likelihoods.register
def _(fake: Imitated, reports: Array) -> Floats:
    return compute_report_likelihoods(fake.part, reports, fake.prior.shares)


@compute_fake_likelihoods.register
def _(fake: Blank, reports: Array) -> Floats:
    """All of its bits are as those of values that nobody has."""
    law = fake.part.law
    return np.full(len(reports), float((1 - law.exact_q) / (1 - law.exact_p)))
