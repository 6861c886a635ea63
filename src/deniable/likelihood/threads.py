"""Limits small matrices to one thread: on a busy machine, waiting costs more than the arithmetic."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

ONE_IS_ENOUGH = 6e10
"""Multiplications of a step up to which one thread does them: those of tables of about 3,100 by 3,100. At
2,500 by 2,500 a step took one thread 0.9 s and two 0.6 s on two quiet cores; with two other programs
running, one 1.0 to 1.7 s and two 4 to 6 s.
"""


def few_threads(multiplications: float) -> AbstractContextManager[Any]:
    """Linear algebra by one thread inside, where a step has no more multiplications than that, and as before
    afterwards.

    Where the number of threads is the whole process's, the first thread of a program that comes in decides;
    for others that search at the same time nothing changes.
    """
    if multiplications > ONE_IS_ENOUGH:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Find them once: loaded libraries are slow to list. Scipy's must be among them."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
