"""The hot loops of likelihoods, compiled on first use: products with decaying kernels and with packed supports."""

from __future__ import annotations

from deniable.kernels import Array, compiled

_BLOCK = 4096


@compiled
def decayed(shares: Array, ratios: Array, out: Array) -> None:
    """out[b, j] = sum over i of shares[b, i] times the product of all ratios between i and j: two sweeps, no cancellation."""
    last = shares.shape[1] - 1
    for b in range(shares.shape[0]):
        row, into = shares[b], out[b]
        carried = 0.0
        for j in range(last + 1):
            carried = row[j] + carried
            into[j] = carried
            if j < last:
                carried *= ratios[j]
        carried = 0.0
        for j in range(last - 1, -1, -1):
            carried = (carried + row[j + 1]) * ratios[j]
            into[j] += carried


@compiled
def add_supported(bits: Array, table: Array, out: Array) -> None:
    """out[u] += the share of the values that report u supports: bits[c, u] are values 8 c to 8 c + 7, table[c] their sums."""
    for start in range(0, out.size, _BLOCK):
        stop = min(out.size, start + _BLOCK)
        for c in range(bits.shape[0]):
            row, sums = bits[c], table[c]
            for u in range(start, stop):
                out[u] += sums[row[u]]


@compiled
def sum_supporting(bits: Array, weights: Array, sums: Array) -> None:
    """sums[c, byte] += the weights of the reports that have this byte as their bits of values 8 c to 8 c + 7."""
    for start in range(0, weights.size, _BLOCK):
        stop = min(weights.size, start + _BLOCK)
        for c in range(bits.shape[0]):
            row, into = bits[c], sums[c]
            for u in range(start, stop):
                into[row[u]] += weights[u]


@compiled
def solve_pentadiagonal(main: Array, first: Array, second: Array, right: Array) -> bool:
    """Solve a symmetric positive definite system with two diagonals beside the main one, in place; False where it is not.

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
