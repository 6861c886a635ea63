"""Reads what an attacker believes beforehand: shares of every attribute's values, as people have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from warnings import warn

import numpy as np

from deniable.arrays import Floats
from deniable.attack.likelihoods import HALVES, Part, Source, names_of, parts_of, values_of
from deniable.errors import DeniableWarning, InvalidParameter, find_nearest
from deniable.estimate import Estimate, MeanEstimate
from deniable.law import checked_prior
from deniable.likelihood import Likelihood, mle
from deniable.mechanisms import Tally
from deniable.metric import (
    MetricMechanism,
)
from deniable.study import Plan, Result

_ROUNDED = 0.02  # shares that were rounded to two digits need not add up to one exactly
_WHOLE = 0.01  # how far a count that is computed back may be from a whole number
_NAMED = 5  # labels that a refusal names


def _refuse_unlisted(source: Source) -> None:
    """Refuse to guess among values that nobody listed: they are too many to weigh one by one."""
    for name, part in zip(names_of(source), parts_of(source), strict=True):
        if not part.listed:
            raise InvalidParameter(
                f"{name!r} is text or a code that nobody listed, with too many values to guess among; "
                "its loss bounds what any attacker learns, and a plan without it can be attacked"
            )


def checked_priors(source: Source, prior: object) -> list[Floats]:
    """What the attacker believes of each attribute beforehand: shares by name, or in order; uniform unless
    given.

    For one attribute, shares by value do. What was estimated, or is most likely, does for one attribute and
    for all.
    """
    _refuse_unlisted(source)
    parts, names = parts_of(source), names_of(source)
    if prior is None:
        return [_make_uniform(part) for part in parts]
    if isinstance(prior, Estimate | Likelihood) and len(parts) == 1:
        prior = {names[0]: prior}
    if isinstance(prior, str | bytes | set) or not isinstance(prior, Iterable):
        raise InvalidParameter(
            f"a prior is the shares of the values, {{{names[0]!r}: [0.5, ...]}} or a list by attribute, got "
            f"{prior!r}; leave it out for uniform ones"
        )
    priors: list[object]
    if isinstance(prior, Result):
        priors = _read_result(prior, names)
    elif (
        isinstance(prior, Mapping)
        and len(parts) == 1
        and prior
        and all(isinstance(share, Real) for share in prior.values())
    ):
        priors = [prior]
    elif isinstance(prior, Mapping):
        unknown = set(prior) - set(names)
        if unknown:
            raise InvalidParameter(
                f"{sorted(unknown, key=str)[0]!r} is not an attribute; they are {', '.join(names)}"
            )
        priors = [prior.get(name) for name in names]
    else:
        alone = len(parts) == 1 and np.ndim(prior) == 1  # type: ignore[arg-type]  # of anything
        priors = list(prior)
        if alone and not any(isinstance(belief, Estimate | Likelihood) for belief in priors):
            priors = [prior]
    if len(priors) != len(parts):
        raise InvalidParameter(f"there are {len(parts)} attributes, but {len(priors)} priors")
    rows = zip(parts, names, priors, strict=True)
    return [
        _make_uniform(part) if belief is None else _checked_shares(source, part, name, belief)
        for part, name, belief in rows
    ]


def _read_result(result: Result, names: Sequence[str]) -> list[object]:
    """Reads estimates by attribute; means say nothing of halves, so they become None (uniform)."""
    estimates: list[object] = [result.get(name) for name in names]
    if all(estimate is None for estimate in estimates):
        raise InvalidParameter(
            f"this result has none of the attributes {', '.join(names)}; it is of {', '.join(result)}"
        )
    return [None if isinstance(estimate, MeanEstimate) else estimate for estimate in estimates]


def _make_uniform(part: Part) -> Floats:
    return np.full(values_of(part), 1 / values_of(part))


def _checked_shares(source: Source, part: Part, name: str, prior: object) -> Floats:
    """Checks shares of values, in their order or by their labels, and says what is wrong."""
    whose = "the halves of its range" if part.numeric else "its values"
    what = f"a prior of {name!r} is {values_of(part)} shares of {whose} that add up to 1"
    if isinstance(prior, Estimate | Likelihood):
        shares = _read_estimate(part, name, prior) if isinstance(prior, Estimate) else prior.frequencies
        prior = shares if prior.labels is None else dict(zip(prior.labels, shares.tolist(), strict=True))
    if isinstance(prior, Mapping):
        prior = _by_label(labels_of(source, part, name), prior, what)
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{what}, got {prior!r}") from None
    if shares.shape != (values_of(part),):
        description = f"{shares.size} of them" if shares.ndim == 1 else repr(prior)
        raise InvalidParameter(f"{what}, got {description}")
    wrong = shares[~(np.isfinite(shares) & (shares >= 0))]
    if wrong.size:
        raise InvalidParameter(f"{what}, none below 0, got {wrong[0]:g} among them")
    if abs(shares.sum() - 1) > _ROUNDED:
        raise InvalidParameter(
            f"{what}, got shares that add up to {shares.sum():g}; divide them by their sum"
        )
    return checked_prior(shares, shares.size)


def _read_estimate(part: Part, name: str, estimate: Estimate) -> Floats:
    """Reads the shares of an estimate, whose noise must not be taken for them.

    Unbiased shares of metric values scatter far more than what the same reports make likely; and
    shares that are negative are projected, which leaves the largest errors standing as spikes.
    """
    neighbored = part if isinstance(part, MetricMechanism) and part.shape else None
    counts = None if neighbored is None else _count_again(neighbored, estimate)
    if counts is not None:
        return mle(part, counts).smooth().frequencies
    if float(estimate.stderr.mean()) > 1 / estimate.k:
        instead = (
            f"give what is most likely instead, prior={{{name!r}: plan.mle(tallies, {name!r}).smooth()}}"
            if neighbored is not None
            else "give shares that are known better, or leave them out for uniform ones"
        )
        warn(
            f"the estimated shares of {name!r} are mostly noise (standard errors of "
            f"{estimate.stderr.mean():.2g} on average, and shares of {1 / estimate.k:.2g}): as a prior they "
            f"make the risk look higher than it is, and guesses worse; {instead}",
            DeniableWarning,
            stacklevel=2,
        )
    return estimate.project("simplex")


def _count_again(part: MetricMechanism, estimate: Estimate) -> Tally | None:
    """Counts the outputs behind these estimates, if this mechanism has one output a value."""
    if not part.outputs == part.k == estimate.k:
        return None
    counts = estimate.n * part.forward(estimate.frequencies)
    rounded = np.rint(counts)
    if np.abs(counts - rounded).max() > _WHOLE or rounded.min() < 0 or rounded.sum() != estimate.n:
        return None
    return Tally(estimate.n, rounded.astype(np.int64))


def _by_label(labels: Sequence[object], prior: Mapping[object, object], what: str) -> list[object]:
    unknown = [label for label in prior if label not in labels]
    if unknown:
        raise InvalidParameter(
            f"{what}, got one of {unknown[0]!r}, which is not among {_list_labels(labels, unknown[0])}"
        )
    absent = [label for label in labels if label not in prior]
    if absent:
        raise InvalidParameter(f"{what}, got none of {absent[0]!r}; give 0 where that is meant")
    return [prior[label] for label in labels]


def _list_labels(labels: Sequence[object], value: object) -> str:
    """All labels, or of many the first ones and the one that is nearest to what was given."""
    if len(labels) <= _NAMED:
        return ", ".join(map(repr, labels))
    called = list(map(str, labels))
    nearest = next((label for label in called if label.startswith(f"{value} ")), None)
    nearest = nearest or find_nearest(str(value), called)
    hint = "" if nearest is None else f"; did you mean {labels[called.index(nearest)]!r}?"
    return f"its {len(labels):,}: {', '.join(map(repr, labels[: _NAMED - 2]))}, ..., {labels[-1]!r}{hint}"


def labels_of(source: Source, part: Part, name: str) -> Sequence[object]:
    """What the values that are guessed are called; those of a mechanism are numbers."""
    if part.numeric:
        return HALVES
    return source.labels[name] if isinstance(source, Plan) else range(part.k)
