"""States a guarantee as it was published and as it is true, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

Unit = Literal["record", "attribute", "time point", "window", "person"]


@final
@dataclass(frozen=True)
class Guarantee:
    """What a study claims, what it gives, and what it leaves unprotected, in sentences."""

    published: str
    true: str
    unit: Unit
    """What the true guarantee protects."""
    unprotected: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"published: {self.published}", f"true (for one {self.unit}): {self.true}"]
        lines += [f"not protected: {one}" for one in self.unprotected]
        return "\n".join(lines)
