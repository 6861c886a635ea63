"""Names the kinds of arrays that all rooms pass around."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Reports, counts or values of any kind."""
Floats = npt.NDArray[np.float64]
"""Numbers that are computed."""
Integers = npt.NDArray[np.int64]
"""Values, counts or positions."""
