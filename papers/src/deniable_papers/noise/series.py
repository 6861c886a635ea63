"""Adds noise to series of counts once, and says what that protects: a time point, a window or a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final, get_args

import numpy as np

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import number, positive_epsilon, whole_number
from deniable.formatting import format_count, format_up
from deniable_papers.noise.gaussian import DiscreteGaussian
from deniable_papers.noise.laplace import CountNoise, DiscreteLaplace

if TYPE_CHECKING:
    from deniable.randomness import Words

Unit = Literal["event", "window", "person"]
"""What a guarantee protects: one time point of a person, several in a row, or all of them."""
Noise = Literal["gaussian", "laplace"]

DELTA = 1e-7
"""The delta of Gaussian noise unless another is given."""

_MOST = 1 << 53  # counts that a table of numbers keeps exactly


@final
@dataclass(frozen=True, eq=False, repr=False)
class PrivateSeries:
    """Noisy counts, and the exact guarantee of the noise that was added.

    Whoever reads the counts cannot tell whether one person is in the data: at that person's time point, in a
    window of time points, or at all. `str` says which.
    """

    counts: Any
    """The noisy counts, of the same kind and shape as the counts that were given."""
    noise: CountNoise
    per: Unit
    """What `loss` protects."""
    budget: float
    """The epsilon that was asked for."""
    delta: float
    """The delta of `loss`; 0 for Laplace noise."""
    times: int
    """The number of time points."""
    series: int
    """The number of counts at a time point."""
    appearances: int
    """How many counts one person can be in at a time point."""
    window: int | None = None
    each: int = 1
    """How much one person can add to a count."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return self.noise.deviation

    @property
    def loss(self) -> float:
        """The epsilon of the unit that was asked for, rounded up; it is found from the noise alone."""
        if self.curve(self.budget) <= self.delta:
            return min(self.budget, self.epsilon())
        return self.epsilon()

    def moved(self, per: Unit | None = None, window: int | None = None) -> int:
        """How many counts a unit is in: its time points times the appearances."""
        return count_moved(per or self.per, self.times, self.appearances, window or self.window)

    def epsilon(
        self, per: Unit | None = None, *, window: int | None = None, delta: float | None = None
    ) -> float:
        """The epsilon that the same noise gives a unit, at the same delta unless another is given."""
        return self.noise.epsilon(self.delta if delta is None else delta, self.moved(per, window), self.each)

    def curve(self, epsilon: float, per: Unit | None = None, *, window: int | None = None) -> float:
        """The delta at any epsilon, rounded up."""
        return self.noise.delta(epsilon, self.moved(per, window), self.each)

    def __str__(self) -> str:
        kind = "Gaussian" if isinstance(self.noise, DiscreteGaussian) else "Laplace"
        counts = format_count(self.series, "count")
        lines = [
            f"{format_count(self.times, 'time point')} of {counts}, with {kind} noise on the integers of "
            f"standard deviation {self.sigma:.4g}"
        ]
        guarantee = (
            f"guarantee: epsilon {format_up(self.loss)}{self._at_delta} for {self._name_unit(self.per)}"
        )
        lines.append(f"{guarantee}, with or without that person")
        most = f"{format_count(self.appearances, 'count')} at a time point at most"
        lines.append(f"one person is in {most}, and adds up to {self.each} to each")
        others: tuple[Unit, ...] = ("event", "person")
        lines += [
            f"the same noise gives {self._name_unit(other)} epsilon {format_up(self.epsilon(other))}"
            for other in others
            if other != self.per
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        unit = f"per {self.per}"
        return f"<PrivateSeries: {self.times:,} x {self.series}, epsilon {format_up(self.loss)} {unit}>"

    @property
    def _at_delta(self) -> str:
        return f" at delta {self.delta:g}" if self.delta else ""

    def _name_unit(self, unit: Unit) -> str:
        if unit == "person":
            return f"one person over all {format_count(self.times, 'time point')}"
        if unit == "window":
            return f"one person within any {format_count(self.window or 1, 'time point')} in a row"
        return "one time point of a person"


def private_series(
    counts: Any,
    epsilon: float,
    *,
    per: Unit,
    appearances: int | None = None,
    window: int | None = None,
    noise: Noise = "gaussian",
    delta: float | None = None,
    each: int = 1,
    words: Words | None = None,
) -> PrivateSeries:
    """Add integer noise to counts over time, so that a unit of one person has a loss of at most epsilon.

    `counts` are integers: a row for each time point, and a column for each series; an array or a dataframe.
    `per` is the unit: "event" is one time point of a person, "window" so many in a row, "person" all of them.
    `appearances` says in how many counts one person can be at a time point: a town and its district are two.
    Who is counted, at which times and in which series is public; only who is in the counts is protected.
    `each` is how much one person can add to a count: more than 1 where a call or a visit is repeated. Every
    column of a dataframe is taken as counts: leave out hours, years and names.

    The noise is added once. All that is computed from it afterwards has the same guarantee.

    >>> import numpy as np
    >>> import deniable as dn
    >>> visits = np.array([[120, 30], [140, 45], [90, 20]])
    >>> noisy = private_series(visits, 2.0, per="person", appearances=2, words=dn.seeded(1))
    >>> noisy.counts.shape, noisy.counts.dtype
    ((3, 2), dtype('int64'))
    >>> print(noisy)
    3 time points of 2 counts, with Gaussian noise on the integers of standard deviation ...
    guarantee: epsilon 2 at delta 1e-07 for one person over all 3 time points, with or without that person
    one person is in 2 counts at a time point at most, and adds up to 1 to each
    the same noise gives one time point of a person epsilon 1.1...
    """
    budget = positive_epsilon(epsilon)
    table, restore = _read_counts(counts)
    times, series = table.shape
    seen = _check_appearances(appearances, per, series)
    moved = count_moved(per, times, seen, window)
    if noise == "gaussian":
        allowed = DELTA if delta is None else number("delta", delta, 0.0, 1.0)
        law: CountNoise = DiscreteGaussian.calibrate(budget, allowed, moved, each)
    elif noise == "laplace":
        if delta is not None:
            raise InvalidParameter(
                "Laplace noise has a delta of 0; leave delta out, or choose noise='gaussian'"
            )
        allowed = 0.0
        law = DiscreteLaplace.calibrate(budget, moved, each)
    else:
        raise InvalidParameter(not_among(noise, "a kind of noise", get_args(Noise)))
    noisy = table + law.draw(table.size, words).reshape(table.shape)
    return PrivateSeries(restore(noisy), law, per, budget, allowed, times, series, seen, window, each)


def count_moved(per: Unit, times: int, appearances: int, window: int | None = None) -> int:
    """How many counts one unit is in.

    >>> count_moved("person", 3456, 2), count_moved("event", 3456, 2), count_moved("window", 3456, 2, 48)
    (6912, 2, 96)
    """
    if per not in get_args(Unit):
        raise InvalidParameter(not_among(per, "a unit", get_args(Unit)))
    if per == "window":
        if window is None:
            raise InvalidParameter("per='window' needs window, the number of time points in a row")
        return whole_number("window", window, 1, times) * appearances
    return appearances if per == "event" else times * appearances


def _check_appearances(appearances: int | None, per: Unit, series: int) -> int:
    if appearances is None:
        if series == 1 and per == "event":
            return 1
        raise InvalidParameter(
            f"say in how many of the {format_count(series, 'count')} one person can be at a time point: "
            "appearances=1 if these are apart, 2 for a town and its district"
        )
    hint = "if one person can add more than 1 to a count, say so with each"
    return whole_number(f"appearances ({hint})", appearances, 1, series)


def _read_counts(counts: Any) -> tuple[Integers, Any]:
    """The counts as a table, and what makes noisy ones of the same kind."""
    if isinstance(counts, list | tuple | np.ndarray):
        array = np.asarray(counts)
        if array.ndim not in (1, 2):
            raise InvalidParameter(
                "counts have a row for each time point and a column for each series; got "
                f"{format_count(array.ndim, 'dimension')}"
            )
        table = _whole_counts(array if array.ndim == 2 else array[:, None], "counts")
        return table, lambda noisy: noisy.reshape(array.shape)
    import narwhals as nw

    frame = nw.from_native(counts, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.Series):
        column = _whole_counts(frame.to_numpy()[:, None], repr(frame.name))
        return column, lambda noisy: _new_series(frame, noisy[:, 0]).to_native()
    if not isinstance(frame, nw.DataFrame):
        raise InvalidParameter(f"counts are an array or a dataframe of integers, got {type(counts).__name__}")
    columns = [_whole_counts(frame[name].to_numpy(), repr(name)) for name in frame.columns]

    def restore(noisy: Integers) -> Any:
        series = [_new_series(frame[name], noisy[:, j]) for j, name in enumerate(frame.columns)]
        return frame.with_columns(*series).to_native()

    return _not_empty(np.column_stack(columns) if columns else np.zeros((0, 0), dtype=np.int64)), restore


def _new_series(like: Any, values: Integers) -> Any:
    """Other values in a column, which keeps its name and its index."""
    import narwhals as nw

    return like.cast(nw.Int64).scatter(list(range(len(values))), values.tolist())


def _not_empty(table: Integers) -> Integers:
    if not table.size:
        raise InvalidParameter("there are no counts; give a row for each time point")
    return table


def _whole_counts(values: Array, name: str) -> Integers:
    """Check that counts are integers, not negative."""
    _not_empty(values)
    is_whole = values.dtype.kind in "iu"
    if values.dtype.kind == "f":
        is_whole = bool(np.isfinite(values).all() and (values == np.floor(values)).all())
    if not is_whole or int(values.min()) < 0 or int(values.max()) > _MOST:
        raise InvalidValue(
            f"{name} must be integers from 0 to 2^53",
            "choose the columns of counts, and replace what is missing",
        )
    return values.astype(np.int64)
