"""Notices second reports of the same people: of one table, or of the clones of one model, as in folds."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from deniable.errors import DeniableWarning

_ONCE = "privatize once, then cross-validate on the reports"


@final
class Repeats:
    """The tables that a model and its clones have reported, and which of the clones did it."""

    def __init__(self) -> None:
        self._tables: list[weakref.ref[Any]] = []
        self._clones = 0
        self._reporters: set[int] = set()
        self._told = False
        self._moved = False

    def __getstate__(self) -> dict[str, bool]:
        """Nothing but that it was copied: a table is not known in another process."""
        return {"_moved": True}

    def __setstate__(self, state: dict[str, bool]) -> None:
        self.__init__()
        vars(self).update(state)

    def number_clone(self) -> int:
        """The number of a new clone; that of the first model is 0."""
        self._clones += 1
        return self._clones

    def warn_moved(self, stacklevel: int) -> None:
        """Warn, once, where a copy of a model is fitted: the first model does not count its reports."""
        if self._moved:
            self._moved = False
            warnings.warn(
                "this is a copy, as a cross-validation with n_jobs makes them: its reports are not counted "
                f"by the first one, and who is in several folds loses epsilon in each; {_ONCE}",
                DeniableWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_repeated(self, table: object, clone: int, loss: float, remedy: str, stacklevel: int) -> None:
        """Warn where this table was reported before; and, once, where another clone made reports before."""
        if self._knows(table):
            message = (
                "this table was privatized before: these are second reports of the same people, who lose "
                f"{loss:.4g} more; {remedy}"
            )
        elif self._reporters - {clone} and not self._told:
            message = (
                "a clone made reports before, as the folds of a cross-validation do: who is in several folds "
                f"loses {loss:.4g} in each, and reports_made_ counts them; {remedy}"
            )
        else:
            return
        self._told = True
        warnings.warn(message, DeniableWarning, stacklevel=stacklevel + 1)

    def notice(self, table: object, clone: int) -> None:
        """Know from now on that this clone has reported this table."""
        self._reporters.add(clone)
        self._tables = [part for part in self._tables if part() is not None]
        self._tables += [weakref.ref(part) for part in _watchable(table)]

    def _knows(self, table: object) -> bool:
        """Whether this very table was reported before."""
        parts = _watchable(table)
        return bool(parts) and all(any(known() is part for known in self._tables) for part in parts)


@final
@dataclass
class Count:
    """The reports that a model and its clones have made."""

    reports: int = 0
    repeats: Repeats = field(default_factory=Repeats)


def _watchable(table: object) -> list[object]:
    """The table, or the columns of a dictionary, as far as they can be watched without being kept alive."""
    parts = list(table.values()) if isinstance(table, Mapping) else [table]
    return [part for part in parts if getattr(type(part), "__weakrefoffset__", 0)]
