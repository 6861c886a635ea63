"""Checks what is given to a mechanism: values, reports, and sizes; nothing is rounded or cast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.exact import whole_number
from deniable.frames import codes_for
from deniable.randomness import FULL


def checked_values(values: npt.ArrayLike, k: int) -> Integers:
    """A copy of integers from 0 to k - 1 in one dimension, or a refusal; nothing is rounded or cast."""
    return in_domain(integers(values, k), k)


def in_domain(array: Array, k: int) -> Integers:
    """A copy of integers that are all from 0 to k - 1.

    It is a copy, so that what was checked is what is reported, whatever another thread does to the original.
    """
    # a negative one is huge if read without sign
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
    if wide.size and wide.view(np.uint64).max() >= k:
        wrong = wide.min() if wide.min() < 0 else wide.max()
        raise InvalidValue(f"{wrong} is not a value of this mechanism (0 to {k - 1}); it was not reported")
    return wide.view(np.int64)


def integers(values: npt.ArrayLike, k: int) -> Array:
    """Integers in one dimension, as they are given; of a categorical column of texts, its codes."""
    values = codes_for(values, k)
    refuse_masked(values)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InvalidValue(f"values must be a list of integers from 0 to {k - 1}: {problem}") from None
    if array.ndim != 1:
        hint = "put a single value in a list" if array.ndim == 0 else "give one attribute at a time"
        raise InvalidValue(f"values must have one dimension, got {array.ndim}; {hint}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or (isinstance(values, list | tuple) and bool in set(map(type, values))):
        raise InvalidValue(
            f"values must be integers from 0 to {k - 1}, got {_describe_array(array)}; {_remedy(array)}"
        )
    return array


def floats(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """A copy of numbers as floats, or a refusal that says what they must be."""
    refuse_masked(values)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" and array.size:
            raise TypeError(f"got {_describe_array(array)}")
        return np.array(array, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InvalidValue(f"values are {what}: {problem}; nothing was reported") from None


def refuse_masked(values: object) -> None:
    """Refuse values of which some are masked."""
    if np.ma.is_masked(values):
        raise InvalidValue(
            "some values are masked: decide what a missing answer means first, since a mask would be dropped"
        )


def unmasked(reports: Array) -> Array:
    """Reports as an array; a mask would be dropped, so it is refused."""
    if np.ma.is_masked(reports):
        raise InvalidReport(
            "reports are masked: take out those that do not count, since a mask would be dropped"
        )
    try:
        return np.asarray(reports)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InvalidReport(
            f"reports are an array as `privatize` makes it, or a list of its numbers: {problem}"
        ) from None


def checked_k(k: int, most: int, shape: str) -> int:
    """A number of values that a shape can hold."""
    number = whole_number("k, the number of values,", k, 2, reason="k")
    if number > most:
        raise InvalidParameter(
            f"k = {k} is too large for {shape} encoding (at most {most}); hash or group the values first", "k"
        )
    return number


def checked_words(name: str, words: int) -> int:
    """A threshold: a number of words from 1 to 2^64 - 1."""
    return whole_number(name, words, 1, FULL - 1, reason="threshold")


def _remedy(array: Array) -> str:
    if array.dtype.kind == "f" and not np.isnan(array).any():
        return "round numbers to whole ones, or put them into bins, first"
    return (
        "code labels as integers, dn.Categories([...]).encode(values), and decide what a missing answer "
        "means first"
    )


def _describe_array(array: Array) -> str:
    if array.dtype.kind in "iu":
        return "a list with booleans"
    kinds = {"f": "floating-point numbers", "b": "booleans", "O": "mixed objects", "U": "text", "S": "bytes"}
    text = f"{kinds.get(array.dtype.kind, 'values')} ({array.dtype})"
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.flat):
        return "text"
    if array.dtype.kind == "f" and np.isnan(array).any():
        text += f" with {int(np.isnan(array).sum())} NaN"
    return text


def restore_reports(reports: Array, like: Array) -> Array:
    """Reports that are one whole number each and went through a list, CSV or JSON, as they were sent; others
    as they are.
    """
    if reports.size == 0 and reports.ndim == 1:
        return like
    if like.dtype.kind != "u" or like.ndim != 1 or reports.ndim != 1 or reports.dtype.kind not in "iu":
        return reports
    if reports.dtype == like.dtype:
        return reports
    farthest = int(reports.min() if reports.min() < 0 else reports.max())
    if not 0 <= farthest <= np.iinfo(like.dtype).max:
        raise InvalidReport(
            f"a report of this mechanism is a whole number that {like.dtype} holds, got {farthest}"
        )
    return reports.astype(like.dtype)
