"""Compiles loops, keeps them in the user's cache folder, and announces the first compilation on a terminal.

Compiled code never goes into the package's own folder: what pip did not write there, it would not remove.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast, final

import numba.core.config
import numba.core.event
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.core.config
_compile: Any = partial(njit, nogil=True, error_model="numpy", boundscheck=False)
_register: Any = numba.core.event.register


def compiled(function: F) -> F:
    """Compile on first use, without the interpreter lock, so that threads run side by side.

    The code is kept in the cache folder. Where there is none, every process compiles again.
    """
    folder = find_cache()
    if folder is None:
        return cast(F, _compile(function))
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)  # numba reads it here, once for each function
    try:
        return cast(F, _compile(function, cache=True))
    except RuntimeError:  # numba finds no source file, as in a zip archive
        return cast(F, _compile(function))
    finally:
        _config.CACHE_DIR = before


def inlined(function: F) -> F:
    """Compile into its callers."""
    return cast(F, njit(inline="always", error_model="numpy")(function))


@cache
def find_cache() -> Path | None:
    """The folder of compiled code, if it can be written: numba's own setting, or a folder of the user.

    Inside it, numba keeps the code of each source folder apart, and compiles again when a file has changed.
    Loops also contain what they take from `kernels.py`, so that each version of that file has a folder.
    """
    try:
        kernels = sha256(Path(__file__).with_name("kernels.py").read_bytes()).hexdigest()
        home = Path(_config.CACHE_DIR) if _config.CACHE_DIR else _user_cache()
        folder = home / "deniable" / "compiled" / kernels[:16]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder if _config.CACHE_DIR or _is_own(folder) else None
    except (OSError, RuntimeError):  # it cannot be written, or there is no home
        return None


def _user_cache() -> Path:
    """Where programs keep what they can make again."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(folder):
        return Path(folder)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def _is_own(folder: Path) -> bool:
    """Whether the folder is this user's: code that somebody else put there must not run."""
    return sys.platform == "win32" or folder.stat().st_uid == os.getuid()


@final
class _Notice(numba.core.event.Listener):
    """Says on a terminal, once, that compiling is what takes the time."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        """Numba begins to compile something, ours or another's; what is in the cache is not compiled."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("deniable.")
        if ours and not self.said and sys.stderr is not None and sys.stderr.isatty():
            self.said = True
            once = ", once" if find_cache() is not None else ""
            print(f"Compiling loops for this machine{once}; about 5 s.", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Nothing is said at the end."""


_register("numba:compile", _Notice())
