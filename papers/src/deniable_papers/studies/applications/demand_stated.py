"""Holds what the specification states of forecasts of demand, and how far chance may move it."""

from __future__ import annotations

import math
from typing import Any

_EPSILONS = (None, 0.5, 1.0, 2.0, 4.0, 6.0)
_STATED: dict[tuple[str, str], tuple[str, ...]] = {
    ("synthetic", "oracle"): ("2.225",),
    ("synthetic", "LightGBM"): ("2.28", "3.24-3.42", "2.57-2.64", "2.37", "2.29", "2.28"),
    ("synthetic", "weekday mean"): ("2.32", "4.43", "2.97", "2.52", "2.35", "2.34"),
    ("synthetic", "total x share"): ("2.31", "2.41", "2.33", "2.31", "2.31", "2.31"),
    ("montgomery", "total x share"): (".743", ".822", ".772", ".750", ".745", ".745"),
    ("montgomery", "profile of each"): ("", "1.86", "1.19", ".89", ".78", ".76"),
}
"""Mean absolute errors by dataset and model, for exact counts and OUE."""
_GRR = "4.18"
"""LightGBM from GRR at epsilon 0.5."""
_GRR_NOISE = 0.13
_STATED_RUNS = 4

_NOISE: dict[tuple[str, str], tuple[float, ...]] = {
    ("synthetic", "LightGBM"): (0.09, 0.035, 0.015, 0.01, 0.01),
    ("synthetic", "weekday mean"): (0.2, 0.06, 0.025, 0.01, 0.005),
    ("synthetic", "total x share"): (0.04, 0.006, 0.003, 0.002, 0.001),
    ("montgomery", "total x share"): (0.054, 0.030, 0.013, 0.004, 0.004),
    ("montgomery", "profile of each"): (0.094, 0.041, 0.019, 0.007, 0.008),
}
"""Standard deviations over the noise, at each epsilon: as stated, or else as measured in 10 and 40 runs."""
_CITY = 0.021
"""That of an error over simulated days, which come from another generator here; measured on 24 of them."""
_HOURS = 0.0015
"""How much it matters which hour of real calls is the first, which is not stated."""


def state_mae(dataset: str, model: str, protocol: str, epsilon: float | None, runs: int) -> dict[str, Any]:
    """The stated error and its margin: three standard deviations and the rounding; empty if none is stated.

    >>> state_mae("synthetic", "total x share", "oue", 1.0, runs=4)
    {'stated': 2.33, 'margin': 0.069...}
    """
    text = _find_text(dataset, model, protocol, epsilon)
    if not text:
        return {}
    low, _, high = text.partition("-")
    ends = float(low), float(high or low)
    rounding = 0.5 * 10.0 ** -len(low.partition(".")[2])
    noise = 0.0
    if protocol == "grr":
        noise = _GRR_NOISE
    elif epsilon is not None:
        noise = _NOISE[dataset, model][_EPSILONS.index(epsilon) - 1]
    city = _CITY if dataset == "synthetic" else 0.0
    chance = math.sqrt(noise**2 * (1 / runs + 1 / _STATED_RUNS) + city**2)
    hours = _HOURS if dataset == "montgomery" else 0.0
    margin = 3 * chance + 1.001 * rounding + hours + (ends[1] - ends[0]) / 2
    return {"stated": sum(ends) / 2, "margin": margin}


def _find_text(dataset: str, model: str, protocol: str, epsilon: float | None) -> str:
    if (dataset, model, protocol, epsilon) == ("synthetic", "LightGBM", "grr", 0.5):
        return _GRR
    texts = _STATED.get((dataset, model), ())
    if protocol not in ("none", "oue") or epsilon not in _EPSILONS[: len(texts)]:
        return ""
    return texts[_EPSILONS.index(epsilon)]
