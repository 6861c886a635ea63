"""States how likely reports support values, which is all that a privacy blanket needs to know of them."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import NamedTuple

from deniable.mechanisms import Linear, SetShape
from deniable.randomness import FULL
from deniable.records import Sample, Single


class Support(NamedTuple):
    """A report is `ratio` times as likely from a value that it supports as from another."""

    ratio: Fraction
    p: Fraction
    """Pr(a report supports the value of the person who sent it)."""
    q: Fraction
    """Pr(a report supports another value): of two that are supported together as rarely as any."""

    def strengthen(self, ratio: Fraction) -> Support:
        """The support of sets that a larger ratio favors: reports of the smaller ratio can be made of these.

        To make them, some reports are replaced by ones that no value moves.
        """
        gamma = self.p / self.ratio + 1 - self.p  # the part of the reports that no value moves
        supported = self.p / self.ratio / gamma
        both_supported = (self.q / gamma - supported) / (self.ratio - 1)
        stronger = 1 / (1 + (ratio - 1) * supported)
        return Support(
            ratio, ratio * stronger * supported, stronger * (supported + (ratio - 1) * both_supported)
        )


@singledispatch
def find_support(_local: object) -> Support | None:
    """How reports support values; None where they do not, or not in one way."""
    return None


@find_support.register
def _find_of_shape(local: SetShape) -> Support:
    return Support(local.ratio, local.law.exact_p, local.law.exact_q)


@find_support.register
def _find_of_linear(local: Linear) -> Support:
    """By the codes that collide most rarely: what is supported together less often is hidden less."""
    return Support(local.ratio, Fraction(local.keep, FULL), local.bound_other[0])


@find_support.register
def _find_of_single(local: Single) -> Support | None:
    return find_support(local.mechanisms[0])


@find_support.register
def _find_of_sample(local: Sample) -> Support | None:
    """One named attribute: its name is drawn without looking, so it is a part of the report like any other.

    The worst two records differ in every attribute: where they agree, the same reports support both.
    """
    supports = [find_support(part) for part in local.parts]
    known = [support for support in supports if support is not None]
    if local.reported != 1 or len(known) < len(supports):
        return None
    ratio = max(support.ratio for support in known)
    parts = [support.strengthen(ratio) for support in known]
    p = sum((local.chance(j) * part.p for j, part in enumerate(parts)), Fraction(0))
    q = sum((local.chance(j) * part.q for j, part in enumerate(parts)), Fraction(0))
    return Support(ratio, p, q)
