"""Noise by distance and most likely shares: rows of the speed table, beside dense numpy and the peers. Used
by run.py.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

N = 10**6
CERTIFICATE = 1e-9
PATIENCE = 60.0  # seconds for the plain iteration
LARGE_BARS = 5.0, 200.0  # seconds and MiB, for 10^5 + 1 counts
BARS = {  # beside whom, and at least how many times as fast
    "mle geometric 100": ("plain iteration", 1000),
    "product geometric 10000": ("dense product", 500),
    "mle grr 100": ("multi-freq-ldpy's IBU", 1000),
    "privatize geometric 100": ("diffprivlib", 10),
}


def shares(n: int) -> np.ndarray:
    """Two hills."""
    x = np.arange(n + 1) / n
    hills = np.exp(-(((x - 0.3) / 0.08) ** 2) / 2) + 0.6 * np.exp(-(((x - 0.7) / 0.1) ** 2) / 2)
    return np.asarray(hills / hills.sum())


def rows(ours: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """The table in Markdown, and the bars that were missed."""
    found = {name: _alone(name) for name in ("small", "large")}
    small, large = found["small"], found["large"]
    other = {
        "mle geometric 100": small["plain"],
        "product geometric 10000": ours["dense product 10000"],
        "mle grr 100": theirs["multi mle grr 100"],
        "privatize geometric 100": theirs["diffprivlib privatize geometric 100"],
    }
    lines = ["| work | Deniable, µs | beside | µs | ratio | at least |", "|---|--:|---|--:|--:|--:|"]
    missed = []
    for task, (beside, bar) in BARS.items():
        ratio = other[task] / ours[task]
        lines.append(
            f"| {task} | {ours[task] * 1e6:,.3g} | {beside} | {other[task] * 1e6:,.0f} | {ratio:,.0f} x | "
            f"{bar:,} x |"
        )
        if ratio < bar:
            missed.append(f"{task}: {ratio:,.0f} x, not {bar:,} x")
    if large["seconds"] > LARGE_BARS[0] or large["mebibytes"] > LARGE_BARS[1] or large["gap"] > CERTIFICATE:
        missed.append(f"mle geometric 100000: {large}")
    ended = (
        "its certificate"
        if small["plain_gap"] <= CERTIFICATE
        else f"{PATIENCE:g} s, with {small['plain_gap']:.1e} left"
    )
    lines += [
        "",
        f"Geometric, epsilon = 0.1, 10^6 reports, to a certificate of {CERTIFICATE:g}. The plain iteration "
        f"(IBU, dense) ran until {ended}. `dn.mle(dn.metric.geometric(10**5, 0.1), tally)`: "
        f"{large['seconds']:.2f} s (at most {LARGE_BARS[0]:g}), {large['mebibytes']:.0f} MiB in all "
        f"(at most {LARGE_BARS[1]:g}; {large['before']:.0f} MiB of them are Python, "
        "numpy, numba and the counts), certificate "
        f"{large['gap']:.1e}.",
    ]
    return lines, missed


def _alone(name: str) -> dict[str, float]:
    """In a process of its own, whose memory is counted."""
    found: dict[str, float] = json.loads(
        subprocess.check_output([sys.executable, __file__, name], cwd=Path(__file__).parent)
    )
    return found


def small() -> dict[str, float]:
    """The plain iteration, to the same certificate or as long as anybody waits."""
    import deniable as dn

    channel = dn.metric.geometric(100, 0.1).law.matrix()
    counts = np.random.default_rng(1).multinomial(N, shares(100) @ channel)
    seen, guess, start = counts / N, np.full(101, 1 / 101), time.process_time()
    gap = np.inf
    while time.process_time() - start < PATIENCE and gap > CERTIFICATE:
        for _ in range(200):
            guess = guess * (channel @ (seen / (guess @ channel)))
        gap = float(np.log((channel @ (seen / (guess @ channel))).max()))
    return {"plain": time.process_time() - start, "plain_gap": gap}


def large() -> dict[str, float]:
    """A hundred thousand counts of the mechanism itself, in a process of their own: CPU time once the loops
    are loaded.

    All memory of the process counts. Most of it is numba's: `before` is what it has as soon as one compiled
    loop has run.
    """
    import deniable as dn
    from deniable.metric.line import GeometricChannel

    mechanism = dn.metric.geometric(10**5, 0.1)
    counts = np.random.default_rng(1).multinomial(N, GeometricChannel(10**5, 0.1).output(shares(10**5)))
    before, tally = _mebibytes(), dn.Tally(N, counts)
    found = dn.mle(mechanism, tally)  # loads the other loops
    start = time.process_time()
    found = dn.mle(mechanism, tally)
    took = time.process_time() - start
    return {"seconds": took, "gap": found.gap, "mebibytes": _mebibytes(), "before": before}


def _mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    alone: dict[str, Callable[[], dict[str, float]]] = {"small": small, "large": large}
    print(json.dumps(alone[sys.argv[1]]()))
