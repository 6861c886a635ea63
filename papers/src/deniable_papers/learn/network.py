"""Reads a window of series in both directions by gated recurrent units."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deniable.arrays import Floats
from deniable.randomness import FULL, Words

Parameters = dict[str, Any]
"""The weights of a network, by the name of their part."""


def make_network(words: Words, series: int, hidden: int) -> Parameters:
    """Random weights of two recurrent layers, one for each direction, and of a linear one."""

    def spread(rows: int, columns: int) -> Floats:
        drawn = words.take(rows * columns).reshape(rows, columns) / FULL
        return np.asarray((2 * drawn - 1) * np.sqrt(6 / (rows + columns)), dtype=np.float32)

    def layer() -> Parameters:
        turned = np.linalg.qr(spread(3 * hidden, hidden))[0].T
        zeros = np.zeros(3 * hidden, dtype=np.float32)
        return {"in": spread(series, 3 * hidden), "on": turned, "a": zeros, "b": zeros}

    offset = np.zeros(series, dtype=np.float32)
    return {"forth": layer(), "back": layer(), "out": spread(2 * hidden, series), "c": offset}


def run_network(parameters: Parameters, window: Any) -> Any:
    """The scaled change after a window."""
    ends = [_run_layer(parameters["forth"], window), _run_layer(parameters["back"], window[::-1])]
    return jnp.concatenate(ends) @ parameters["out"] + parameters["c"]


@jax.jit
def run_all(parameters: Parameters, windows: Any) -> Any:
    """The scaled changes after many windows."""
    return jax.vmap(run_network, (None, 0))(parameters, windows)


def _run_layer(layer: Parameters, window: Any) -> Any:
    """A gated recurrent unit, from the first row to the last."""
    hidden = layer["on"].shape[0]

    def step(state: Any, row: Any) -> tuple[Any, None]:
        new = row @ layer["in"] + layer["a"]
        old = state @ layer["on"] + layer["b"]
        keep = jax.nn.sigmoid(new[:hidden] + old[:hidden])
        reset = jax.nn.sigmoid(new[hidden : 2 * hidden] + old[hidden : 2 * hidden])
        fresh = jnp.tanh(new[2 * hidden :] + reset * old[2 * hidden :])
        return keep * state + (1 - keep) * fresh, None

    return jax.lax.scan(step, jnp.zeros(hidden), window)[0]
