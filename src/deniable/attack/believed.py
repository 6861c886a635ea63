"""What an attacker believes beforehand: shares of the values of every attribute, as people have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

import numpy as np

from deniable.attack.evidence import HALVES, Part, Source, names_of, parts_of, values_of
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, MeanEstimate
from deniable.law import Floats, checked_prior
from deniable.metric import Averaged
from deniable.plan import Plan
from deniable.result import Result

_ROUNDED = 0.02  # shares that were rounded to two digits need not add up to one exactly


def checked_priors(source: Source, prior: object) -> list[Floats]:
    """What the attacker believes of each attribute beforehand: shares by name, or in order; uniform unless given.

    Of one attribute, shares by value do; so does what was estimated, of one attribute or of all.
    """
    parts, names = parts_of(source), names_of(source)
    if prior is None:
        return [_uniform(part) for part in parts]
    if isinstance(prior, Estimate) and len(parts) == 1:
        prior = {names[0]: prior}
    if isinstance(prior, str | bytes | set) or not isinstance(prior, Iterable):
        raise InvalidParameter(
            f"a prior is the shares of the values, {{{names[0]!r}: [0.5, ...]}} or a list by attribute, got {prior!r}; "
            "leave it out for uniform ones"
        )
    given: list[object]
    if isinstance(prior, Result):
        given = _estimated(prior, names)
    elif isinstance(prior, Mapping) and len(parts) == 1 and prior and all(isinstance(one, Real) for one in prior.values()):
        given = [prior]
    elif isinstance(prior, Mapping):
        unknown = set(prior) - set(names)
        if unknown:
            raise InvalidParameter(f"{sorted(unknown, key=str)[0]!r} is not an attribute; they are {', '.join(names)}")
        given = [prior.get(name) for name in names]
    else:
        given = [prior] if len(parts) == 1 and np.ndim(prior) == 1 else list(prior)  # type: ignore[arg-type]
    if len(given) != len(parts):
        raise InvalidParameter(f"there are {len(parts)} attributes, but {len(given)} priors")
    rows = zip(parts, names, given, strict=True)
    return [_uniform(part) if one is None else _checked_shares(source, part, name, one) for part, name, one in rows]


def _estimated(result: Result, names: Sequence[str]) -> list[object]:
    """The estimates of these attributes; of a number the mean says nothing of its halves, and what is not there is uniform."""
    found: list[object] = [result.get(name) for name in names]
    if all(one is None for one in found):
        raise InvalidParameter(f"this result has none of the attributes {', '.join(names)}; it is of {', '.join(result)}")
    return [None if isinstance(one, MeanEstimate) else one for one in found]


def _uniform(part: Part) -> Floats:
    return np.full(values_of(part), 1 / values_of(part))


def _checked_shares(source: Source, part: Part, name: str, prior: object) -> Floats:
    """Shares of an attribute's values in their order, or by their labels; what is wrong with them is named."""
    whose = "the halves of its range" if isinstance(part, Averaged) else "its values"
    what = f"a prior of {name!r} is {values_of(part)} shares of {whose} that add up to 1"
    if isinstance(prior, Estimate):  # unbiased ones may be negative: the nearest distribution
        shares = prior.project("simplex")
        prior = shares if prior.labels is None else dict(zip(prior.labels, shares.tolist(), strict=True))
    if isinstance(prior, Mapping):
        prior = _by_label(labels_of(source, part, name), prior, what)
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{what}, got {prior!r}") from None
    if shares.shape != (values_of(part),):
        given = f"{shares.size} of them" if shares.ndim == 1 else repr(prior)
        raise InvalidParameter(f"{what}, got {given}")
    wrong = shares[~(np.isfinite(shares) & (shares >= 0))]
    if wrong.size:
        raise InvalidParameter(f"{what}, none below 0, got {wrong[0]:g} among them")
    if abs(shares.sum() - 1) > _ROUNDED:
        raise InvalidParameter(f"{what}, got shares that add up to {shares.sum():g}; divide them by their sum")
    return checked_prior(shares, shares.size)


def _by_label(labels: Sequence[object], prior: Mapping[object, object], what: str) -> list[object]:
    unknown = [label for label in prior if label not in labels]
    if unknown:
        raise InvalidParameter(f"{what}, got one of {unknown[0]!r}, which is none of {', '.join(map(repr, labels))}")
    absent = [label for label in labels if label not in prior]
    if absent:
        raise InvalidParameter(f"{what}, got none of {absent[0]!r}; give 0 where that is meant")
    return [prior[label] for label in labels]


def labels_of(source: Source, part: Part, name: str) -> Sequence[object]:
    """What the values that are guessed are called; those of a mechanism are numbers."""
    if isinstance(part, Averaged):
        return HALVES
    return source.labels[name] if isinstance(source, Plan) else range(part.k)
