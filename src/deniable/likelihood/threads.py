"""One thread for small matrices: on a busy machine, threads that wait for each other cost more than all the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, final

ONE_IS_ENOUGH = 2e9
"""Multiplications of a product up to which one thread does it: about those of two tables of 1,000 by 1,000."""


@contextmanager
def few_threads(multiplications: float) -> Iterator[None]:
    """Linear algebra by one thread inside, if its largest products are of this size, and as before afterwards."""
    if multiplications > ONE_IS_ENOUGH:
        yield
        return
    _one_thread().enter()
    try:
        yield
    finally:
        _one_thread().leave()


@lru_cache(maxsize=1)
def _one_thread() -> _OneThread:
    import scipy.linalg
    from threadpoolctl import ThreadpoolController

    assert scipy.linalg is not None  # its library must be loaded to be found
    return _OneThread(ThreadpoolController())


@final
class _OneThread:
    """The number of threads is the process's: the first who comes in lowers it, the last who leaves puts it back."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = self._controller.limit(limits=1, user_api="blas")

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()
