"""Sets noise by a target for re-identification (PIE): as published, and with its bound corrected.

Alpha bits of information about a person leave a Bayes error of at least beta = 1 - (alpha + 1) / log2 n.
"""

from __future__ import annotations

import math

from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number


def pie_alpha(beta: float, n: int, corrected: bool = True) -> float:
    """Computes how many bits a report may reveal about one of n people, so that guesses of the person err at
    least with probability beta.

    alpha = (1 - beta) log2 n - 1. The published code adds 1 instead, two bits too many, so that its figures
    do not show the beta that they state. Above 1 - 1 / log2 n alpha is negative: this bound does not promise
    such a beta, whatever is reported.

    >>> alphas = [round(pie_alpha(beta, 9044), 3) for beta in (0.5, 0.95)]
    >>> alphas, round(pie_alpha(0.5, 9044, corrected=False), 3)
    ([5.571, -0.343], 7.571)
    """
    error = number("beta, the error of an attacker,", beta, 0.0, 1.0)
    bits = math.log2(whole_number("n, the number of people,", n, 2))
    return (1 - error) * bits + (-1 if corrected else 1)


def pie_epsilon(alpha: float, n: int, k: int | None = None) -> float:
    """Computes the epsilon at which a report reveals at most alpha bits: for direct encoding with k values,
    or for any mechanism.

    For direct encoding e^epsilon = ((k - 1) alpha + m) / (m - alpha), m = min(log2 n, log2 k), and infinity
    (no noise is needed) where alpha is at least m. For any mechanism, epsilon = alpha ln 2. The published
    code takes the former for all. No epsilon tells less than nothing, so that an alpha of 0 or below is
    refused.

    >>> round(pie_epsilon(2.0, 9044, k=16), 3), round(pie_epsilon(2.0, 9044), 3), pie_epsilon(5.0, 9044, k=16)
    (2.833, 1.386, inf)
    """
    bits = number("alpha, the bits that a report may tell,", alpha, -math.inf, math.inf, "a positive number")
    if bits <= 0:
        raise InvalidParameter(
            f"alpha, the bits that a report may tell, is {bits:g}: no report keeps that target, not even one "
            "that tells nothing; aim at a smaller beta"
        )
    if k is None:
        return bits * math.log(2)
    most = min(math.log2(whole_number("n, the number of people,", n, 2)), math.log2(whole_number("k", k, 2)))
    return math.inf if bits >= most else math.log(((k - 1) * bits + most) / (most - bits))
