"""Names the record mechanisms people know: a paper's line is a line of code.

Budgets are per record: epsilon bounds what a report says about the whole person, however many answers
changed. Published parameters that promise more than they keep can be had by name, and still state their true
losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon, whole_number
from deniable.mechanisms import PROTOCOLS, Mechanism, grr, oue, sue
from deniable.mechanisms.protocols import MOVED
from deniable.records.base import RecordMechanism, checked_sizes
from deniable.records.faked import Faked
from deniable.records.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.records.near import NearBits, NearSets
from deniable.records.sample import Sample
from deniable.records.single import Single
from deniable.records.split import Split

Calibration = Literal["record", "attribute", "published"]
"""What epsilon bounds: the loss of the whole record, that of one attribute, or what the publication of RS+FD
states, which a record can exceed.
"""
_CALIBRATIONS = ("record", "attribute", "published")


def spl(ks: Sequence[int], epsilon: float | Sequence[float], protocol: str = "adaptive") -> Split:
    """Splitting (SPL): every attribute is reported, each with an equal part of the budget.

    A list of epsilons, one for each attribute, is what each of them loses; the record loses their sum.

    >>> m = spl([3, 5, 4], epsilon=1.0, protocol="grr")
    >>> m.loss() <= 1.0, round(m.loss(per="attribute"), 4)
    (True, 0.3333)
    >>> round(spl([3, 5], epsilon=[1.0, 0.5]).loss(), 4)
    1.5

    Reference: arcolezi2021.
    """
    sizes = checked_sizes(ks)
    return Split(_parts(sizes, _budgets(epsilon, len(sizes), len(sizes)), protocol))


def smp(
    ks: Sequence[int],
    epsilon: float | Sequence[float],
    protocol: str = "adaptive",
    attributes: int = 1,
    weights: Sequence[int] | None = None,
) -> Sample:
    """Sampling (SMP): one attribute, drawn at random and named in the report, with the whole budget.

    With `attributes` above one, that many, each with an equal part. A list of epsilons, one for each
    attribute, is what each of them loses where it is reported; the record loses as many of the largest as are
    reported. `weights`, whole numbers, say how often each attribute is drawn, where that differs.

    >>> m = smp([3, 5, 4], epsilon=1.0, protocol="oue")
    >>> m.loss() <= 1.0, m.loss() == m.loss(per="attribute")
    (True, True)
    >>> round(smp([3, 4], epsilon=[1.0, 2.0]).loss(), 4)
    2.0
    >>> str(smp([3, 4], epsilon=1.0, weights=[3, 1]).chance(0))
    '3/4'

    Reference: arcolezi2021.
    """
    sizes = checked_sizes(ks)
    reported = whole_number("attributes, the number that each person reports,", attributes, 1, len(sizes))
    parts = _parts(sizes, _budgets(epsilon, len(sizes), reported), protocol)
    return Sample(parts, reported, weights)  # type: ignore[arg-type]  # made a tuple there


def rsfd(
    ks: Sequence[int], epsilon: float, protocol: str = "grr", calibration: Calibration = "record"
) -> Faked:
    """Random sampling plus fake data (RS+FD): one attribute is reported, not named, and the others are faked.

    protocol is "grr", "oue-z", "oue-r", "sue-z", "sue-r" (fakes from no value, or from a uniform one), any
    other protocol for a set of values, such as "ss", "olh" or "hr" (fakes from no value), or "adaptive" (grr
    or oue-z, whichever errs less at f = 0). "ss" errs least. calibration: "record" keeps epsilon for the
    whole record, "attribute" for people who differ in one of them, "published" runs the parts at ln(d
    (e^epsilon - 1) + 1), which keeps neither in general.

    >>> m = rsfd([3, 5, 4], epsilon=1.0, calibration="published")
    >>> round(m.loss(), 3), round(m.loss(per="attribute"), 3), m.claim
    (1.817, 1.084, 1.0)

    Reference: arcolezi2021.
    """
    if protocol not in FAKES and protocol != "adaptive":
        raise InvalidParameter(not_among(protocol, "a protocol of RS+FD", [*FAKES, "adaptive"], _MEANT))
    sizes = checked_sizes(ks)

    def calibrated(names: Sequence[str]) -> Faked:
        kinds = [FAKES[name] for name in names]
        return _calibrate(
            lambda budget: _build_faked(kinds, sizes, None, budget, epsilon), len(sizes), epsilon, calibration
        )

    if protocol != "adaptive":
        return calibrated([protocol] * len(sizes))
    # between the budget of a record and the published one some attributes change sides; each choice is
    # calibrated by itself
    first, last = positive_epsilon(epsilon), amplified(epsilon, len(sizes))
    budgets = {"record": [first], "published": [last]}.get(
        calibration, [first + (last - first) * i / 8 for i in range(9)]
    )
    choices = {tuple(_least_error(k, len(sizes), budget) for k in sizes) for budget in budgets}
    if calibration == "attribute":
        choices |= {("grr",) * len(sizes), ("oue-z",) * len(sizes)}
    mechanisms = [calibrated(names) for names in sorted(choices)]
    return min(
        mechanisms,
        key=lambda mechanism: sum(float(mechanism.marginal(j).error(1, 0.0)) for j in range(len(sizes))),
    )


@lru_cache(maxsize=4096)
def _least_error(k: int, d: int, budget: float) -> str:
    """GRR or OUE-z for k values among d attributes, whichever errs less at f = 0 with this budget."""

    def error(name: str) -> float:
        mechanism = _build_faked([FAKES[name]] * d, [k] * d, None, budget, budget)
        return float(mechanism.marginal(0).error(1, 0.0))

    return min(("grr", "oue-z"), key=error)


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

    protocol is "grr", "oue-r", "sue-r" or any other protocol for a set of values, such as "ss", "olh" or
    "hr". Fakes are perturbed like real answers; with fakes="published" those of grr are not, and an attacker
    can tell. `mixed` spreads that part of each prior evenly, since a value without a share would disclose the
    attribute.

    >>> m = rsrfd([3, 2], epsilon=1.0, priors=[[0.5, 0.3, 0.2], [0.9, 0.1]])
    >>> m.loss() <= 1.0
    True

    Reference: arcolezi2023.
    """
    if protocol not in REALISTIC_FAKES:
        raise InvalidParameter(not_among(protocol, "a protocol of RS+RFD", REALISTIC_FAKES, _MEANT_REALISTIC))
    if fakes not in ("perturbed", "published"):
        raise InvalidParameter(f"fakes is 'perturbed' or 'published', got {fakes!r}")
    sizes = checked_sizes(ks)
    known = Prior.of_all(priors, sizes, mixed)
    kind = FAKES["grr"] if protocol == "grr" and fakes == "published" else REALISTIC_FAKES[protocol]
    kinds = [kind] * len(sizes)
    return _calibrate(
        lambda budget: _build_faked(kinds, sizes, known, budget, epsilon), len(sizes), epsilon, calibration
    )


def amplified(epsilon: float, d: int) -> float:
    """ln(d (e^epsilon - 1) + 1): the budget at which RS+FD runs its parts, as published."""
    return math.log1p(d * math.expm1(positive_epsilon(epsilon)))


def equal_part(epsilon: float, parts: int) -> float:
    """The largest float of which this many parts do not exceed epsilon."""
    part = positive_epsilon(epsilon) / whole_number("the number of attributes", parts, 1)
    while Fraction(part) * parts > Fraction(epsilon):
        part = math.nextafter(part, 0.0)
    return part


def largest_budget(loss: Callable[[float], float], epsilon: float, d: int) -> float:
    """The largest budget of the parts at which RS+FD loses at most epsilon, to about a billionth of a nat.

    At epsilon itself it does, well above the published budget it does not. e^loss is nearly linear in
    e^budget, so that chords find it in a few steps; an end that stays counts half (Illinois), which also ends
    the search where the loss jumps because another choice is made.
    """

    def over(budget: float) -> tuple[float, float]:
        spent = loss(budget)
        return spent, math.expm1(spent) - math.expm1(epsilon - 2e-10)

    low, high, moved = epsilon, amplified(epsilon, d) + 1.0, ""
    (spent, at_low), (_, at_high) = over(low), over(high)
    while epsilon - spent >= 5e-10 and high - low > 1e-11 * high:
        x, y = math.expm1(low), math.expm1(high)
        middle = math.log1p(x + (y - x) * at_low / (at_low - at_high))
        if not low < middle < high:
            middle = (low + high) / 2
        spent_there, at_middle = over(middle)
        if spent_there <= epsilon:
            at_high /= 2 if moved == "low" else 1
            low, spent, at_low, moved = middle, spent_there, min(at_middle, 0.0), "low"
        else:
            at_low /= 2 if moved == "high" else 1
            high, at_high, moved = middle, at_middle, "high"
    return low


_Kind = tuple[Callable[[int, float], Any], Callable[[Any, Prior], Fake]]


def fake_nobody(part: Any, _prior: Prior) -> Fake:
    """The fake from no value at all, which needs no prior."""
    return Blank(part)


_SETS = {
    name: PROTOCOLS[name].make
    for name in ("the", "ss", "olh", "blh", "plh", "hr", "aue", "ass", "alh", "athe")
}
PUBLISHED_FAKES: dict[str, _Kind] = {
    "grr": (grr, Guessed),
    "oue-z": (oue, fake_nobody),
    "oue-r": (oue, Imitated),
    "sue-z": (sue, fake_nobody),
    "sue-r": (sue, Imitated),
}
"""The protocols that RS+FD was published with: a plan chooses among them, unless others are named."""
FAKES = PUBLISHED_FAKES | {name: (make, fake_nobody) for name, make in _SETS.items()}
"""The protocols of RS+FD: a mechanism for k values and a budget, and the fake around it, from a prior."""
PUBLISHED_REALISTIC_FAKES: dict[str, _Kind] = {
    "grr": (grr, Imitated),
    "oue-r": (oue, Imitated),
    "sue-r": (sue, Imitated),
}
"""The protocols that RS+RFD was published with."""
REALISTIC_FAKES = PUBLISHED_REALISTIC_FAKES | {name: (make, Imitated) for name, make in _SETS.items()}
"""The protocols of RS+RFD, whose fakes are perturbed like real answers."""
_MEANT = MOVED | {name: f"did you mean '{name}-z'?" for name in ("oue", "sue")}
_MEANT_REALISTIC = MOVED | {
    name: f"did you mean '{name[:3]}-r'?" for name in ("oue", "sue", "oue-z", "sue-z")
}


def _build_faked(
    kinds: Sequence[_Kind], ks: Sequence[int], priors: Sequence[Prior] | None, budget: float, claim: float
) -> Faked:
    believed = [Prior.uniform(k) for k in ks] if priors is None else priors
    parts = ((make(k, budget), around) for (make, around), k in zip(kinds, ks, strict=True))
    return Faked(
        tuple(around(part, prior) for (part, around), prior in zip(parts, believed, strict=True)), claim
    )


def _budgets(epsilon: object, d: int, reported: int) -> Sequence[float]:
    """What each attribute may lose: its own budget, or an equal part of the budget of all reported ones."""
    if isinstance(epsilon, Set | Mapping):
        kind = "a set" if isinstance(epsilon, Set) else "a dictionary"
        raise InvalidParameter(
            f"epsilon must be a positive number, or a list of one for each attribute, got {kind}, {epsilon!r}"
        )
    if isinstance(epsilon, np.ndarray) and epsilon.ndim == 0:
        epsilon = epsilon.item()
    if isinstance(epsilon, str | bytes) or not isinstance(epsilon, Iterable):
        return (equal_part(epsilon, reported),) * d  # type: ignore[arg-type]  # refused there
    epsilons = list(epsilon)
    if len(epsilons) != d:
        raise InvalidParameter(
            f"there are {d} attributes, but {len(epsilons)} epsilons; give one for all, or one for each"
        )
    return [positive_epsilon(budget, f"epsilon of attribute {j}") for j, budget in enumerate(epsilons)]


def _parts(ks: Sequence[int], budgets: Sequence[float], protocol: str) -> tuple[Mechanism, ...]:
    if protocol not in PROTOCOLS:
        raise InvalidParameter(not_among(protocol, "a protocol", PROTOCOLS, MOVED))
    return tuple(PROTOCOLS[protocol].make(k, budget) for k, budget in zip(ks, budgets, strict=True))


def _calibrate(make: Callable[[float], Faked], d: int, epsilon: float, calibration: str) -> Faked:
    """`Faked` at the budget that the calibration asks for; per attribute it is searched for."""
    target = positive_epsilon(epsilon)
    if calibration == "record":
        return make(target)
    if calibration == "published":
        return make(amplified(target, d))
    if calibration != "attribute":
        raise InvalidParameter(not_among(calibration, "a calibration", _CALIBRATIONS))
    return make(largest_budget(lambda budget: make(budget).loss("attribute"), target, d))


RECORD_MECHANISMS: dict[str, type[RecordMechanism]] = {
    kind.kind: kind for kind in (Single, Split, Sample, Faked, NearSets, NearBits)
}
"""All record mechanisms by what a plan calls them. A new one is added here, and its class says the rest."""
