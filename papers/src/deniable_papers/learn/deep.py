"""Trains a small recurrent network to forecast series; its gradients can be noisy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from scipy.special import ndtri

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.law import finite
from deniable.randomness import FULL, Words, checked_source
from deniable_papers.learn.gradients import GradientNoise
from deniable_papers.learn.network import Parameters, make_network, run_all, run_network


@final
@dataclass(frozen=True, eq=False)
class SeriesScale:
    """By which numbers series are scaled: their usual level, how far they are from it, and a usual change.

    With noisy gradients these must be public: what is read from the data is outside the guarantee.
    """

    center: Floats
    spread: Floats
    change: Floats

    def __repr__(self) -> str:
        return f"<SeriesScale of {self.center.size} series>"

    @classmethod
    def of(cls, center: npt.ArrayLike, spread: npt.ArrayLike, change: npt.ArrayLike) -> SeriesScale:
        """A number for each series; spreads and changes are positive.

        >>> SeriesScale.of([1000.0], [200.0], [50.0]).change
        array([50.])
        """
        parts = [finite(part, "a scale is a number for each series") for part in (center, spread, change)]
        if (
            len({part.shape for part in parts}) > 1
            or parts[0].ndim != 1
            or min(p.min() for p in parts[1:]) <= 0
        ):
            raise InvalidParameter("a scale has a number for each series; spreads and changes are positive")
        return cls(*parts)

    @classmethod
    def read(cls, counts: Floats) -> SeriesScale:
        """The scale of these counts, for a training without a guarantee, or of counts that are noisy."""
        return cls(counts.mean(axis=0), counts.std(axis=0), np.diff(counts, axis=0).std(axis=0))


@final
@dataclass(frozen=True, eq=False, repr=False)
class NetworkForecast:
    """A network that reads the last rows of all series in both directions, and forecasts the next change.

    Trees and ridge forecast the public data better. It is here to compare with studies that use one.
    """

    parameters: Parameters
    scale: SeriesScale
    lags: int
    rows: int
    """The windows that it was trained on."""
    batch: int
    steps: int
    noise: GradientNoise | None = None

    def __repr__(self) -> str:
        return f"<NetworkForecast: {self.scale.center.size} series from {self.lags} rows, {self.unit}>"

    @property
    def unit(self) -> str:
        """Whom its noise protects, in words."""
        return "no guarantee" if self.noise is None else "noisy gradients: a window, not a person"

    def epsilon(self, delta: float = 1e-7) -> float:
        """The epsilon of one window, by an accountant; a time point is in lags + 1, a person in all."""
        if self.noise is None:
            raise InvalidParameter("a network without noise has no epsilon; fit it with a GradientNoise")
        return self.noise.window_epsilon(self.rows, self.batch, self.steps, delta)

    @classmethod
    def fit(
        cls,
        counts: npt.ArrayLike,
        *,
        scale: SeriesScale | None = None,
        lags: int = 6,
        hidden: int = 32,
        batch: int = 32,
        epochs: int = 30,
        rate: float = 2e-3,
        noise: GradientNoise | None = None,
        words: Words | None = None,
    ) -> NetworkForecast:
        """Train with Adam and a falling rate; with noise, on batches that are drawn window by window."""
        table = _read_table(counts)
        whole_number("lags", lags, 1, len(table) - 2)
        if noise is not None and scale is None:
            raise InvalidParameter(
                "noisy gradients need a public scale, such as SeriesScale.of([1000], [200], [50]): one "
                "that is read from the data is outside the guarantee"
            )
        source = checked_source(words)
        used = SeriesScale.read(table) if scale is None else scale
        inputs, targets = _cut_windows(table, used, lags)
        rows = len(inputs)
        whole_number("batch", batch, 1, rows)
        steps = whole_number("epochs", epochs, 1) * (rows // batch)
        clip = None if noise is None else noise.clip
        optimizer, step = _compile_step(number("rate", rate, 0.0, 1.0), steps, clip, batch)
        parameters = make_network(source, table.shape[1], hidden)
        state = optimizer.init(parameters)
        if noise is None:
            batches = _shuffle_batches(rows, batch, epochs, source)
        else:
            batches = draw_batches(rows, batch, steps, source)
        for chosen, mask in batches:
            added = draw_noise(parameters, noise, source)
            parameters, state = step(parameters, state, inputs[chosen], targets[chosen], mask, added)
        return cls(parameters, used, lags, rows, batch, steps, noise)

    def predict(self, counts: npt.ArrayLike, *, start: int) -> Floats:
        """Forecast all rows from `start` on, each from the rows before it."""
        table = _read_table(counts)
        whole_number("start", start, self.lags, len(table) - 1)
        inputs, _ = _cut_windows(table, self.scale, self.lags)
        found = run_all(self.parameters, inputs[start - self.lags :])
        return table[start - 1 : -1] + np.asarray(found, dtype=np.float64) * self.scale.change


def _read_table(counts: npt.ArrayLike) -> Floats:
    allowed = "counts have a row for each time point and a column for each series"
    table = finite(counts, allowed)
    if table.ndim != 2 or len(table) < 3:
        raise InvalidParameter(f"{allowed}, got the shape {table.shape}")
    return table


def _cut_windows(table: Floats, scale: SeriesScale, lags: int) -> tuple[Floats, Floats]:
    """The rows before each row, and the change to it, both scaled."""
    if scale.center.size != table.shape[1]:
        raise InvalidParameter(f"the scale is of {scale.center.size} series, and these are {table.shape[1]}")
    scaled = (table - scale.center) / scale.spread
    windows = np.lib.stride_tricks.sliding_window_view(scaled, lags, axis=0)[:-1]
    return np.ascontiguousarray(windows.swapaxes(1, 2)), np.diff(table, axis=0)[lags - 1 :] / scale.change


def _loss(parameters: Parameters, window: Any, target: Any) -> Any:
    return ((run_network(parameters, window) - target) ** 2).mean()


@cache
def _compile_step(
    rate: float, steps: int, clip: float | None, batch: int
) -> tuple[optax.GradientTransformation, Callable[..., tuple[Parameters, Any]]]:
    """Adam with a rate that falls to 0, and one step of it; without a clip, on the mean of all gradients."""
    optimizer = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def step(
        parameters: Parameters, state: Any, windows: Any, targets: Any, mask: Any, noise: Parameters
    ) -> tuple[Parameters, Any]:
        if clip is None:
            change = jax.grad(_mean_loss)(parameters, windows, targets)
        else:
            total = clipped_sum(parameters, windows, targets, mask, clip)
            change = jax.tree.map(lambda leaf, more: (leaf + more) / batch, total, noise)
        update, after = optimizer.update(change, state, parameters)
        return optax.apply_updates(parameters, update), after

    return optimizer, jax.jit(step)


def _mean_loss(parameters: Parameters, windows: Any, targets: Any) -> Any:
    return jax.vmap(_loss, (None, 0, 0))(parameters, windows, targets).mean()


def clipped_sum(parameters: Parameters, windows: Any, targets: Any, mask: Any, clip: float) -> Parameters:
    """The sum of the gradients of all windows of the mask, each with a norm of at most `clip`."""
    each = jax.vmap(jax.grad(_loss), (None, 0, 0))(parameters, windows, targets)
    squares = [(leaf**2).reshape(len(leaf), -1).sum(axis=1) for leaf in jax.tree.leaves(each)]
    norms = jnp.maximum(jnp.sqrt(sum(squares)), 1e-12)
    weights = mask * jnp.minimum(1.0, clip / norms)
    found: Parameters = jax.tree.map(lambda leaf: jnp.tensordot(weights, leaf, 1), each)
    return found


def draw_noise(like: Parameters, noise: GradientNoise | None, words: Words) -> Parameters:
    """Normal noise for every number of a gradient, from words; none without noise."""
    deviation = 0.0 if noise is None else noise.multiplier * noise.clip

    def draw(leaf: Any) -> Any:
        if noise is None:
            return np.float32(0.0)
        places = ((words.take(leaf.size) >> np.uint64(11)) + 0.5) / 2.0**53
        return np.asarray(deviation * ndtri(places).reshape(leaf.shape), dtype=np.float32)

    found: Parameters = jax.tree.map(draw, like)
    return found


def draw_batches(rows: int, batch: int, steps: int, words: Words) -> Iterator[tuple[Integers, Floats]]:
    """Batches with each row by its own chance of batch / rows, all as long as the longest: none is cut off.

    What fills a batch up is masked, and adds nothing.
    """
    threshold = np.uint64(min(FULL * batch // rows, FULL - 1))
    chosen = [np.flatnonzero(words.take(rows) < threshold) for _ in range(steps)]
    longest = max(1, *(one.size for one in chosen))
    for one in chosen:
        padded = np.zeros(longest, dtype=np.int64)
        padded[: one.size] = one
        yield padded, (np.arange(longest) < one.size).astype(np.float64)


def _shuffle_batches(rows: int, batch: int, epochs: int, words: Words) -> Iterator[tuple[Integers, Floats]]:
    """All rows in random order, in batches of one length; what is left over waits for the next epoch."""
    for _ in range(epochs):
        order = np.argsort(words.take(rows), kind="stable")
        for start in range(0, rows - batch + 1, batch):
            yield order[start : start + batch], np.ones(batch)
