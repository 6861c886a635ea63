"""Names the kinds of arrays that all rooms pass around, and cuts what is long into blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Reports, counts or values of any kind."""
Floats = npt.NDArray[np.float64]
"""Numbers that are computed."""
Integers = npt.NDArray[np.int64]
"""Values, counts or positions."""


def list_blocks(n: int, at_once: int) -> Iterator[slice]:
    """Which of n things are worked on together: so many at once, and one at least."""
    step = max(1, at_once)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
