"""Compiles the hot loops of likelihoods on first use: products with decaying kernels and packed supports."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled

_BLOCK = 4096
# is added to what decays: less than the least normal number would stay there, a hundred times slower
_NOTHING = 1e-300


@compiled
def add_supported(bits: Array, table: Array, out: Array) -> None:
    """out[u] += the share of the values that report u supports; bits[c, u] are values 8 c to 8 c + 7."""
    for start in range(0, out.size, _BLOCK):
        stop = min(out.size, start + _BLOCK)
        for c in range(bits.shape[0]):
            row, sums = bits[c], table[c]
            for u in range(start, stop):
                out[u] += sums[row[u]]


@compiled
def sum_supporting(bits: Array, weights: Array, sums: Array) -> None:
    """sums[c, byte] += the weights of the reports with this byte for values 8 c to 8 c + 7."""
    for start in range(0, weights.size, _BLOCK):
        stop = min(weights.size, start + _BLOCK)
        for c in range(bits.shape[0]):
            row, into = bits[c], sums[c]
            for u in range(start, stop):
                into[row[u]] += weights[u]


@compiled
def sum_decaying(weights: Array, ratios: Array, out: Array) -> None:
    """out[j] = the sum of the weights up to j, each decaying by the ratios on its way."""
    carried = 0.0
    for j in range(weights.size):
        carried = (carried * ratios[j - 1] if j else 0.0) + (weights[j] + _NOTHING)
        out[j] = carried


@compiled
def solve_pentadiagonal(main: Array, first: Array, second: Array, right: Array) -> bool:
    """Solve a symmetric positive definite system with two diagonals next to the main one, in place; False
    where it is not.

    LDL' without pivoting; `main`, `first` and `second` become the factors, `right` the solution.
    """
    n = main.size
    for i in range(n):
        if i >= 1:
            main[i] -= first[i - 1] * first[i - 1] * main[i - 1]
        if i >= 2:
            main[i] -= second[i - 2] * second[i - 2] * main[i - 2]
        if not main[i] > 0.0:
            return False
        if i + 1 < n:
            if i >= 1:
                first[i] -= second[i - 1] * first[i - 1] * main[i - 1]
            first[i] /= main[i]
        if i + 2 < n:
            second[i] /= main[i]
    for i in range(n):
        if i >= 1:
            right[i] -= first[i - 1] * right[i - 1]
        if i >= 2:
            right[i] -= second[i - 2] * right[i - 2]
    for i in range(n - 1, -1, -1):
        right[i] /= main[i]
        if i + 1 < n:
            right[i] -= first[i] * right[i + 1]
        if i + 2 < n:
            right[i] -= second[i] * right[i + 2]
    return True


@compiled
def passes_on_a_line(shares: Array, outputs: Array, sides: Array, ratio: float, passes: int) -> None:
    """Take steps of EM with smoothing under noise that decays by `ratio` a step, in place; a row for each
    data.

    Down and up the line once for each step. On the way down: outputs over likelihoods, and what decays
    downwards of them and of the shares. On the way up: what decays upwards, the new shares, and their
    smoothing, a position behind. A step gives shares that add up to one, whatever they added up to before.
    """
    last = shares.shape[1] - 1
    above, weights, lower = np.empty(last + 1), np.empty(last + 1), np.empty(last + 1)
    for b in range(shares.shape[0]):
        p, seen, side = shares[b], outputs[b], sides[b]
        middle = 1.0 - 2.0 * side
        carried = 0.0
        for j in range(last + 1):
            carried = carried * ratio + (p[j] + _NOTHING)
            above[j] = carried
        for _ in range(passes):
            carried, falling = 0.0, 0.0
            for j in range(last, -1, -1):
                weight = seen[j] / (above[j] + carried) if seen[j] > 0.0 else 0.0
                weights[j] = weight
                lower[j] = falling
                carried = carried * ratio + (p[j] * ratio + _NOTHING)
                falling = falling * ratio + (weight * ratio + _NOTHING)
            rising = weights[0]
            weighed = p[0] * (rising + lower[0])
            before, carried = weighed, 0.0
            for j in range(last + 1):
                after = weighed
                if j < last:
                    rising = rising * ratio + (weights[j + 1] + _NOTHING)
                    after = p[j + 1] * (rising + lower[j + 1])
                share = middle * weighed + side * (before + after)
                share = share if share > _NOTHING else 0.0
                p[j] = share
                carried = carried * ratio + (share + _NOTHING)
                above[j] = carried
                before, weighed = weighed, after
