"""Says whether an answer of a plan may be a random value, and corrects means for that.

A random value takes the place of an answer that does not apply, or that is not given.
"""

from __future__ import annotations

from collections.abc import Collection

from deniable.domain import Categories
from deniable.estimate import Estimate, MeanEstimate
from deniable.plan.attribute import Attribute
from deniable.plan.document import PlanDocument


def is_drawn(document: PlanDocument, one: Attribute) -> bool:
    """Whether a random value takes the place of an answer that does not apply, or is not given."""
    return one.only_if is not None and not document.extras(one)


def find_condition(document: PlanDocument, name: str) -> tuple[Attribute, list[int]] | None:
    """The attribute that says whether this one was drawn, and the codes at which it was not; else None."""
    by_name = {one.name: one for one in document.attributes}
    one = by_name.get(name)
    if one is None or one.only_if is None or not is_drawn(document, one):
        return None
    parent = by_name[one.only_if.name]
    assert isinstance(parent.domain, Categories)
    return parent, [parent.domain.labels.index(value) for value in one.only_if.values]


def explain_unknown(document: PlanDocument, name: str, reported: Collection[str]) -> str | None:
    """Why it is not known who answered a question for which random values are reported; None where it is.

    Nobody can tell a random value from an answer. So what says who answered must be reported, and must hold
    no random values itself.
    """
    condition = find_condition(document, name)
    if condition is None:
        return None
    parent = condition[0]
    by_name = {one.name: one for one in document.attributes}
    for one in (by_name[name], parent):
        if document.missing_of(one) == "random":
            return explain_random(one.name)
    return (
        None if parent.name in reported else f"nobody reported {parent.name!r} yet, which says who answered"
    )


def explain_random(name: str) -> str:
    """Why it is not known who answered a question whose missing answers are random values."""
    return (
        f"a missing answer to {name!r} is a random value, so it is not known who answered; make a plan with "
        'missing = "value"'
    )


def correct_mean(found: MeanEstimate, parent: Estimate, codes: list[int]) -> MeanEstimate:
    """The mean of those who answered, from -1 to 1; random values are 0 on average.

    What is estimated of all is the share who answered times their mean. Both errors count. That they come
    from the same people makes the ratio less uncertain, and is left out.
    """
    from deniable.summaries import sum_of
    from deniable.summaries.ratios import fieller_ends, ratio_error

    share = sum_of(parent, codes)
    variances = found.stderr**2, share.stderr**2

    def ends(tail: float) -> tuple[float, float]:
        known = fieller_ends(found.mean, share.value, variances, 0.0, tail)
        if known is None:
            return -1.0, 1.0
        low, high = known
        # one that holds nothing possible is cut where it is shown
        return known if low > 1 or high < -1 else (max(low, -1.0), min(high, 1.0))

    mean = found.mean / share.value if share.value > 0 else 0.0
    return MeanEstimate(found.n, mean, ratio_error(found.mean, share.value, variances), ends)
