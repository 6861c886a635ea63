"""The names people know for records of many attributes: a paper's line is a line of code.

Budgets are per record: epsilon bounds what a report says about the whole person, however many answers changed. Published
parameters that promise more than they keep can be had by name, and still state their true losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy.typing as npt

from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.protocols import PROTOCOLS, grr, oue, sue
from deniable.shape import Encoder
from deniable.shapes import Direct, Unary
from deniable.share import Faked, Sample, Split

Calibration = Literal["record", "attribute", "published"]
_CALIBRATIONS = ("record", "attribute", "published")


def spl(ks: Sequence[int], epsilon: float, protocol: str = "adaptive") -> Split:
    """Splitting (SPL): every attribute is reported, each with an equal part of the budget.

    >>> m = spl([3, 5, 4], epsilon=1.0, protocol="grr")
    >>> m.loss() <= 1.0, round(m.loss(per="attribute"), 4)
    (True, 0.3333)

    Reference: arcolezi2021.
    """
    return Split(_parts(ks, equal_part(epsilon, len(ks)), protocol))


def smp(ks: Sequence[int], epsilon: float, protocol: str = "adaptive", attributes: int = 1) -> Sample:
    """Sampling (SMP): one attribute, drawn at random and named in the report, with the whole budget.

    With `attributes` above one, that many, each with an equal part.

    >>> m = smp([3, 5, 4], epsilon=1.0, protocol="oue")
    >>> m.loss() <= 1.0, m.loss() == m.loss(per="attribute")
    (True, True)

    Reference: arcolezi2021.
    """
    drawn = whole_number("attributes, the number that each person reports,", attributes, 1, len(ks))
    return Sample(_parts(ks, equal_part(epsilon, drawn), protocol), drawn)


def rsfd(ks: Sequence[int], epsilon: float, protocol: str = "grr", calibration: Calibration = "record") -> Faked:
    """Random sampling plus fake data (RS+FD): one attribute is reported, not named, and the others are faked.

    protocol is "grr", "oue-z", "oue-r", "sue-z", "sue-r" (fakes from no value, or from a uniform one) or "adaptive" (grr or
    oue-z, whichever errs less at f = 0). calibration: "record" keeps epsilon for the whole record, "attribute" for people who
    differ in one answer, "published" runs the parts at ln(d (e^epsilon - 1) + 1), which keeps neither in general.

    >>> m = rsfd([3, 5, 4], epsilon=1.0, calibration="published")
    >>> round(m.loss(), 3), round(m.loss(per="attribute"), 3), m.claim
    (1.817, 1.084, 1.0)

    Reference: arcolezi2021.
    """
    if protocol not in _FAKED and protocol != "adaptive":
        raise InvalidParameter(not_among(protocol, "a protocol of RS+FD", [*_FAKED, "adaptive"]))

    def make(budget: float) -> Faked:
        d = len(ks)
        if protocol != "adaptive":
            return Faked(tuple(_FAKED[protocol](k, budget) for k in ks), epsilon)
        choices = [Faked(tuple(_FAKED[name](k, budget) for k in ks)) for name in ("grr", "oue-z")]
        best = (min(choices, key=lambda share: share.marginal(j).error(1, 0.0)).fakes[j] for j in range(d))
        return Faked(tuple(best), epsilon)

    return _calibrated(make, len(ks), epsilon, calibration)


def rsrfd(
    ks: Sequence[int],
    epsilon: float,
    priors: Sequence[npt.ArrayLike],
    protocol: str = "grr",
    calibration: Calibration = "record",
    fakes: Literal["perturbed", "published"] = "perturbed",
    mixed: float = 0.0,
) -> Faked:
    """RS+FD with realistic fakes (RS+RFD): a fake's value is drawn from a public prior of its attribute.

    protocol is "grr", "oue-r" or "sue-r". Fakes are perturbed like real answers; with fakes="published" those of grr are not,
    and an attacker can tell. `mixed` spreads that part of each prior evenly, since a value without a share would disclose
    the attribute.

    >>> m = rsrfd([3, 2], epsilon=1.0, priors=[[0.5, 0.3, 0.2], [0.9, 0.1]])
    >>> m.loss() <= 1.0
    True

    Reference: arcolezi2023.
    """
    makers: dict[str, Callable[[int, float], Direct | Unary]] = {"grr": grr, "oue-r": oue, "sue-r": sue}
    if protocol not in makers:
        raise InvalidParameter(not_among(protocol, "a protocol of RS+RFD", makers))
    if fakes not in ("perturbed", "published"):
        raise InvalidParameter(f"fakes is 'perturbed' or 'published', got {fakes!r}")
    if len(priors) != len(ks):
        raise InvalidParameter(f"there are {len(ks)} attributes, but {len(priors)} priors")
    known = [Prior.of(prior, k, mixed) for prior, k in zip(priors, ks, strict=True)]

    def make(budget: float) -> Faked:
        if protocol == "grr" and fakes == "published":
            return Faked(tuple(Guessed(grr(prior.k, budget), prior) for prior in known), epsilon)
        return Faked(tuple(Imitated(makers[protocol](prior.k, budget), prior) for prior in known), epsilon)

    return _calibrated(make, len(ks), epsilon, calibration)


def amplified(epsilon: float, d: int) -> float:
    """ln(d (e^epsilon - 1) + 1): the budget at which RS+FD runs its parts, as published."""
    return math.log1p(d * math.expm1(positive_epsilon(epsilon)))


def equal_part(epsilon: float, parts: int) -> float:
    """The largest float of which so many parts do not exceed epsilon."""
    part = positive_epsilon(epsilon) / whole_number("the number of attributes", parts, 1)
    while Fraction(part) * parts > Fraction(epsilon):
        part = math.nextafter(part, 0.0)
    return part


_FAKED: dict[str, Callable[[int, float], Fake]] = {
    "grr": lambda k, budget: Guessed(grr(k, budget), Prior.uniform(k)),
    "oue-z": lambda k, budget: Blank(oue(k, budget)),
    "oue-r": lambda k, budget: Imitated(oue(k, budget), Prior.uniform(k)),
    "sue-z": lambda k, budget: Blank(sue(k, budget)),
    "sue-r": lambda k, budget: Imitated(sue(k, budget), Prior.uniform(k)),
}


def _parts(ks: Sequence[int], budget: float, protocol: str) -> tuple[Encoder, ...]:
    if protocol not in PROTOCOLS or not PROTOCOLS[protocol].exact:
        raise InvalidParameter(not_among(protocol, "an exact protocol", [row.name for row in PROTOCOLS.values() if row.exact]))
    made = [PROTOCOLS[protocol].make(k, budget) for k in ks]
    return tuple(part for part in made if isinstance(part, Encoder))


def _calibrated(make: Callable[[float], Faked], d: int, epsilon: float, calibration: str) -> Faked:
    """Faked shares at the budget that the calibration asks for; per attribute it is found by bisection, and then checked."""
    target = positive_epsilon(epsilon)
    if calibration == "record":
        return make(target)
    if calibration == "published":
        return make(amplified(target, d))
    if calibration != "attribute":
        raise InvalidParameter(not_among(calibration, "a calibration", _CALIBRATIONS))
    low, high = target, amplified(target, d) + 1.0
    while high - low > 1e-11 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if make(middle).loss("attribute") <= target else (low, middle)
    return make(low)
