"""Guesses a column of a row that a model learned from, from the rest of the row and its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.attack.models import (
    Classifier,
    check_people,
    check_shares,
    read_chances,
    replace_column,
    take_column,
)
from deniable.attack.tables import LEVEL, find_share_interval
from deniable.errors import InvalidParameter
from deniable.exact import number
from deniable.formatting import format_percent
from deniable.frames import Backend, frame_of_rows


@final
@dataclass(frozen=True, eq=False)
class AttributeInference:
    """How often a model gives away a column of rows that it learned from, and of others."""

    column: str | int
    right: npt.NDArray[np.bool_]
    """Whether the guess of each row is right."""
    members: npt.NDArray[np.bool_]
    """Whether the model learned from each row."""
    blind: float
    """How often a guess is right that knows only the shares of the values."""

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.right.size)

    @property
    def success(self) -> float:
        """How often guesses about members are right."""
        return float(self.right[self.members].mean())

    @property
    def others(self) -> float:
        """How often they are about rows that the model never saw: what it says about everybody."""
        return float(self.right[~self.members].mean())

    @property
    def advantage(self) -> float:
        """What having been learned from adds."""
        return self.success - self.others

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Where the true advantage is, with this confidence: exact intervals of both shares."""
        share_level = 1 - (1 - number("a confidence level", level, 0.0, 1.0)) / 2
        inside, outside = (
            find_share_interval(int(self.right[who].sum()), int(who.sum()), share_level)
            for who in (self.members, ~self.members)
        )
        return inside["low"] - outside["high"], inside["high"] - outside["low"]

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.column!r} of {self.n:,} rows: {format_percent(self.success)} of members right, "
            f"{format_percent(self.others)} of others, {format_percent(self.blind)} blind; advantage "
            f"{self.advantage:.3f} ({low:.3f} to {high:.3f})"
        )

    def __repr__(self) -> str:
        return f"<{self}>"

    def frame(self, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """A dataframe of one row: how often guesses are right, and the advantage with its interval."""
        low, high = self.interval(level)
        rates = {"success": self.success, "others": self.others, "blind": self.blind}
        advantage = {"advantage": self.advantage, "low": low, "high": high}
        return frame_of_rows([{"column": self.column, "n": self.n, **rates, **advantage}], backend)


def attribute_inference(
    model: Classifier,
    rows: Any,
    labels: object,
    members: object,
    column: str | int,
    values: Sequence[Any],
    *,
    prior: Sequence[float] | Floats | None = None,
) -> AttributeInference:
    """Guesses a column from the rest of each row and its label, and compares members with others.

    The guess is the value under which the label is likeliest, times its share in `prior` (all alike unless
    given). That others are guessed, too, is what the model says about everybody; only the difference is about
    the people who were learned from.

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> draw = np.random.default_rng(1)
    >>> rows, labels = draw.integers(0, 2, (1000, 12)), draw.integers(0, 2, 1000)
    >>> members = np.arange(1000) < 500
    >>> model = DecisionTreeClassifier(random_state=1).fit(rows[members], labels[members])
    >>> found = attribute_inference(model, rows, labels, members, column=0, values=[0, 1])
    >>> found.success > 0.6, abs(found.others - 0.5) < 0.06
    (True, True)
    """
    known, inside = check_people(labels, members)
    if len(values) < 2:
        raise InvalidParameter(f"a column has at least two values to guess among, got {list(values)}")
    shares = check_shares(prior, len(values))
    truth = take_column(rows, column)
    chances = np.stack([read_chances(model, replace_column(rows, column, value), known) for value in values])
    guesses = np.array(values)[np.argmax(chances * shares[:, None], axis=0)]
    blind = float((truth == np.array(values)[np.argmax(shares)]).mean())
    return AttributeInference(column, np.asarray(guesses == truth), inside, blind)
