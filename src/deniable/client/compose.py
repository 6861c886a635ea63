"""Adds up what several answers of one person reveal, exactly: ratios of independent reports multiply."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from deniable.errors import InvalidParameter
from deniable.exact import exp_up, log_up
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import checked_per
from deniable.records import RecordMechanism
from deniable.records.base import Per
from deniable.study import Plan

Answer = Fraction | Mechanism | RecordMechanism | Plan


def composed_ratio(answers: Iterable[Answer], per: Per = "record") -> Fraction:
    """The largest ratio of two people's probabilities of all these reports together: the product.

    Each answer is a mechanism, a record mechanism, a plan, or a ratio, e^loss. A plan that asks again counts
    once, for all of its rounds, whatever changes from one to the next; one without a bound for that is
    refused. A repeated mechanism by itself is refused, since how often it answers is not known: give its
    `ratio_after(t)`. Per attribute, the answer in which two people differ is taken to be asked for in each
    of them.
    """
    checked_per(per)
    product = Fraction(1)
    for answer in answers:
        product *= _ratio(answer, per)
    return product


def composed_loss(answers: Iterable[Answer], per: Per = "record") -> float:
    """Adds up the epsilon of all these reports of one person, rounded up.

    A plan with rounds counts for all of them, with answers that may change. If answers never change, it is
    less: give `exp_up(plan.loss.repeated.same_value)` of `deniable.exact` in place of the plan.

    >>> from deniable import grr, oue
    >>> 1.5 - 1e-9 < composed_loss([grr(5, epsilon=1.0), oue(20, epsilon=0.5)]) <= 1.5
    True
    """
    return log_up(composed_ratio(answers, per))


def _ratio(answer: Answer, per: Per) -> Fraction:
    if isinstance(answer, Plan):
        if answer.loss.repeated is not None:
            if math.isinf(answer.loss.counted):
                raise InvalidParameter(
                    "there is no bound on what the reports of this plan give away together if answers change"
                )
            return exp_up(answer.loss.counted)
        answer = answer.mechanism
    if isinstance(answer, RecordMechanism):
        return answer.ratio(per)
    if isinstance(answer, Mechanism):
        if answer.repeated:
            raise InvalidParameter(
                "how often a repeated mechanism answers is not known here; give its ratio_after(t), or "
                "its plan"
            )
        return answer.ratio
    if not isinstance(answer, Fraction):
        raise InvalidParameter(
            f"an answer is a mechanism, a record mechanism, a plan or a Fraction e^loss, got {answer!r}"
        )
    if answer < 1:
        raise InvalidParameter(f"a ratio, e^loss, is at least 1, got {answer}")
    return answer
