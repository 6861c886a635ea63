"""Compiles the loop over the bytes of ids."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled

_START = np.uint64(14695981039346656037)
_FACTOR = np.uint64(1099511628211)


@compiled
def hash_texts(text: Array, ends: Array, hashes: Array) -> None:
    """Write the FNV-1a hash of each text, which goes from one end to the next."""
    for i in range(len(hashes)):
        value = _START
        for at in range(ends[i], ends[i + 1]):
            value = (value ^ np.uint64(text[at])) * _FACTOR
        hashes[i] = value
