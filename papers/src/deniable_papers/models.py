"""Attacks trained models: who was in the training data, and what a column of a row was.

Members have smaller losses (yeom2018). Models that are trained with and without a row say how its confidence
is distributed in both cases, and so give a likelihood ratio (carlini2022). A column is guessed as the value
with which the model is surest of the label. Attacks need nothing but `predict_proba` and `classes_`, as every
classifier of scikit-learn has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats
from deniable.attack.results import LEVEL, find_mean_interval, find_share_interval
from deniable.errors import InvalidParameter, not_among
from deniable.exact import exp_up, number, positive_epsilon, round_up, whole_number
from deniable.formatting import format_percent
from deniable.frames import Backend, frame_of_rows
from deniable.randomness.simulated import numbers_from

_CLOSEST = 1e-9  # to 0 or 1 that a chance is taken for
Method = Literal["loss", "likelihood ratio"]
RATES = (0.001, 0.01)
"""Shares of others that are taken for members, at which an attack is judged."""
_LEAST_SPREAD = 1e-3  # of confidences, so that models that never change are no certain evidence


class Classifier(Protocol):
    """What is attacked: it gives every class of a row a chance."""

    @property
    def classes_(self) -> Any:
        """The classes, in the order of the columns of chances."""

    def predict_proba(self, X: Any) -> Any:  # noqa: N803  # as in scikit-learn
        """A row of chances for each row."""


Train = Callable[[Any, Any, int], Classifier]
"""Trains a model as the attacked one was: from rows, labels and a seed."""


def _read_chances(model: Classifier, rows: object, labels: Array) -> Floats:
    """The chance that a model gives the label of each row."""
    for name in ("predict_proba", "classes_"):
        if not hasattr(model, name):
            raise InvalidParameter(
                f"{type(model).__name__} has no {name}; what is attacked is a fitted classifier with "
                "predict_proba and classes_"
            )
    classes = np.asarray(model.classes_)
    chances = np.asarray(model.predict_proba(rows), dtype=np.float64)
    known = labels[:, None] == classes[None, :]
    if chances.shape != known.shape:
        raise InvalidParameter(f"predict_proba gave a table of {chances.shape} for {known.shape}")
    return np.asarray(np.where(known, chances, 0.0).sum(axis=1))


def _find_confidence(chances: Floats) -> Floats:
    """The logarithm of the odds of the label: near normal where chances are near 0 or 1."""
    kept = np.clip(chances, _CLOSEST, 1 - _CLOSEST)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def _take_rows(rows: Any, where: npt.NDArray[Any]) -> Any:
    """Some rows of a dataframe, a dictionary of columns, or an array."""
    if hasattr(rows, "iloc"):
        return rows.iloc[np.flatnonzero(where) if where.dtype == bool else where]
    if isinstance(rows, Mapping):
        return {name: np.asarray(column)[where] for name, column in rows.items()}
    return np.asarray(rows)[where]


def _take_column(rows: Any, column: str | int) -> Array:
    """One column of a table."""
    if isinstance(rows, np.ndarray):
        return np.asarray(rows[:, column])  # type: ignore[index]  # an array has no names
    names = list(rows) if isinstance(rows, Mapping) else list(rows.columns)
    if column not in names:
        raise InvalidParameter(not_among(column, "a column of the rows", map(str, names)))
    return np.asarray(rows[column])


def _replace_column(rows: Any, column: str | int, value: object) -> Any:
    """Returns the rows with one value for all of them in this column."""
    if isinstance(rows, np.ndarray):
        changed = rows.copy()
        changed[:, column] = value  # type: ignore[index]  # an array has no names
        return changed
    if isinstance(rows, Mapping):
        return {**rows, column: np.full(len(rows[column]), value)}
    return rows.assign(**{str(column): value})


def _check_people(labels: object, members: object) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Labels and whether each row was learned from, of one length; both members and others are needed."""
    known = np.asarray(labels)
    inside = np.asarray(members)
    if inside.dtype != bool or inside.shape != known.shape or inside.ndim != 1:
        raise InvalidParameter(
            "members is a list with True for each row that the model learned from, and False for others, "
            f"one for each label, got {inside.dtype} of shape {inside.shape} for {known.shape}"
        )
    if inside.all() or not inside.any():
        raise InvalidParameter("an attack is judged on members and on others, and all rows are the same")
    return known, np.asarray(inside, dtype=np.bool_)


def count_rows(rows: Any) -> int:
    """How many rows a table has."""
    if isinstance(rows, Mapping):
        return len(next(iter(rows.values())))
    return len(rows)


def check_shares(shares: Sequence[float] | Floats | None, k: int) -> Floats:
    """What an attacker believes of each value: all alike unless given."""
    if shares is None:
        return np.full(k, 1 / k)
    weights = np.asarray(shares, dtype=np.float64)
    if weights.shape != (k,) or not (weights >= 0).all() or not weights.sum() > 0:
        raise InvalidParameter(f"prior has a share for each of {k} values, got {shares!r}")
    return np.asarray(weights / weights.sum())


@final
@dataclass(frozen=True, eq=False)
class MembershipAttack:
    """How surely a row that a model learned from is told from one that it never saw."""

    method: Method
    scores: Floats
    """One for each row: the larger, the more it looks like a member."""
    members: npt.NDArray[np.bool_]
    """Whether each row is one."""
    seed: int = 1

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.scores.size)

    @cached_property
    def _placements(self) -> tuple[Floats, Floats]:
        """For each member the share of others below it, and for each other the share of members above it."""
        inside, outside = self.scores[self.members], self.scores[~self.members]
        return _place(inside, np.sort(outside)), 1 - _place(outside, np.sort(inside))

    @property
    def auc(self) -> float:
        """How often a member has a larger score than another row; a tie counts half."""
        return float(self._placements[0].mean())

    @property
    def auc_stderr(self) -> float:
        """Its standard error (DeLong et al., 1988)."""
        return math.sqrt(sum(float(part.var(ddof=1)) / part.size for part in self._placements))

    @property
    def advantage(self) -> float:
        """The share of members that are found, less the share of others that are taken for members.

        The threshold for one half of the rows is the best of the other half, so that chance finds nothing.
        """
        recognized, mistaken = self._judge
        return recognized / int(self.members.sum()) - mistaken / int((~self.members).sum())

    @cached_property
    def _judge(self) -> tuple[int, int]:
        """Members that are found, and others that are taken for members."""
        half = numbers_from(self.seed, "halves").permutation(self.n) % 2 == 0
        claimed = np.zeros(self.n, dtype=bool)
        for fitted in (half, ~half):
            claimed[~fitted] = self.scores[~fitted] >= _find_threshold(
                self.scores[fitted], self.members[fitted]
            )
        return int((claimed & self.members).sum()), int((claimed & ~self.members).sum())

    def true_positives(self, rate: float) -> float:
        """The share of members that are found where at most this share of others is taken for members."""
        others = np.sort(self.scores[~self.members])[::-1]
        allowed = math.floor(number("rate", rate, 0.0, 1.0) * others.size)
        return float((self.scores[self.members] > others[allowed]).mean())

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Where the true advantage is, with this confidence: exact intervals of both shares."""
        share_level = 1 - (1 - number("a confidence level", level, 0.0, 1.0)) / 2
        counts = zip(self._judge, (self.members, ~self.members), strict=True)
        recognized, mistaken = (
            find_share_interval(hits, int(who.sum()), share_level) for hits, who in counts
        )
        return recognized["low"] - mistaken["high"], recognized["high"] - mistaken["low"]

    def __str__(self) -> str:
        low, high = self.interval()
        rates = ", ".join(
            f"{format_percent(self.true_positives(rate))} of members at {100 * rate:g} % false alarms"
            for rate in RATES
        )
        return (
            f"Membership by {self.method}, {self.n:,} rows: advantage {self.advantage:.3f} ({low:.3f} to "
            f"{high:.3f}), area under the curve {self.auc:.3f}, {rates}"
        )

    def __repr__(self) -> str:
        return f"<{self}>"

    def frame(self, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """A dataframe: the advantage, the area under the curve, and the members found at low rates."""
        low, high = self.interval(level)
        inside = int(self.members.sum())
        rows = [{"measure": "advantage", "value": self.advantage, "low": low, "high": high}]
        area = find_mean_interval(self.auc, self.auc_stderr, level)
        rows.append({"measure": "auc", "value": self.auc, "low": area["low"], "high": area["high"]})
        for rate in RATES:
            true_positives = self.true_positives(rate)
            ends = find_share_interval(true_positives * inside, inside, level)
            name = f"true positives at {100 * rate:g} %"
            rows.append({"measure": name, "value": true_positives, "low": ends["low"], "high": ends["high"]})
        return frame_of_rows([{"attack": self.method, "n": self.n, **row} for row in rows], backend)


def membership(
    model: Classifier,
    rows: object,
    labels: object,
    members: object,
    *,
    train: Train | None = None,
    shadows: int = 16,
    seed: int = 1,
) -> MembershipAttack:
    """Asks a model which rows it learned from, and judges the answers by `members`.

    Without `train`, a row is taken for a member where its loss is small. With it, `shadows` models are
    trained, each on half of the rows, by `train(rows, labels, seed)`: the score of a row is how much likelier
    its confidence is under models that saw it.

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> draw = np.random.default_rng(1)
    >>> rows, labels, members = draw.random((1000, 5)), draw.integers(0, 2, 1000), np.arange(1000) < 500
    >>> model = DecisionTreeClassifier(random_state=1).fit(rows[members], labels[members])
    >>> found = membership(model, rows, labels, members)  # it learned by heart
    >>> found.advantage > 0.4, found.interval()[0] > 0.3
    (True, True)
    """
    known, inside = _check_people(labels, members)
    if count_rows(rows) != known.size:
        raise InvalidParameter(f"there are {known.size} labels for {count_rows(rows)} rows")
    confidence = _find_confidence(_read_chances(model, rows, known))
    if train is None:
        return MembershipAttack("loss", confidence, inside, seed)
    models = whole_number("shadows, the number of models", shadows, 2)
    scores = _compare_shadows(confidence, rows, known, train, models, seed)
    return MembershipAttack("likelihood ratio", scores, inside, seed)


def membership_bound(epsilon: float) -> float:
    """The largest advantage of any attack on membership where all that a person gives away is protected.

    It holds where the guarantee covers the whole row: all columns and the label. A public label is outside of
    it. With epsilon 1 the advantage is at most 0.462. It is rounded up.

    >>> round(membership_bound(1.0), 3)
    0.462

    Reference: kairouz2015.
    """
    ratio = exp_up(positive_epsilon(epsilon))
    return round_up((ratio - 1) / (ratio + 1))


def _compare_shadows(
    confidence: Floats, rows: object, labels: Array, train: Train, shadows: int, seed: int
) -> Floats:
    """How much likelier each confidence is under models that saw the row, as a logarithm.

    Shadows come in pairs, of which one has each row. Few of them know a mean for each row, but no variance:
    that is one for all rows.
    """
    seen: tuple[list[Floats], list[Floats]] = ([], [])
    for pair in range((shadows + 1) // 2):
        half = numbers_from(seed, "shadow", pair).permutation(labels.size) % 2 == 0
        confidences = []
        for part, trained in enumerate((half, ~half)):
            shadow = train(_take_rows(rows, trained), labels[trained], 2 * pair + part)
            confidences.append(_find_confidence(_read_chances(shadow, rows, labels)))
        seen[0].append(np.where(half, confidences[0], confidences[1]))
        seen[1].append(np.where(half, confidences[1], confidences[0]))
    scores = [_log_density(confidence, np.stack(sample)) for sample in seen]
    return np.asarray(scores[0] - scores[1])


def _log_density(confidence: Floats, seen: Floats) -> Floats:
    mean = seen.mean(axis=0)
    spread = math.sqrt(float(seen.var(axis=0, ddof=1).mean())) if len(seen) > 1 else float(seen.std())
    spread = max(spread, _LEAST_SPREAD)
    return np.asarray(-0.5 * ((confidence - mean) / spread) ** 2 - math.log(spread))


def _place(values: Floats, ordered: Floats) -> Floats:
    """The share of sorted numbers that are below each value; a tie counts half."""
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(below / (2 * ordered.size))


def _find_threshold(scores: Floats, members: npt.NDArray[np.bool_]) -> float:
    """The score from which on rows are best taken for members."""
    order = np.argsort(-scores, kind="stable")
    inside = members[order]
    gain = np.cumsum(inside) / max(1, inside.sum()) - np.cumsum(~inside) / max(1, (~inside).sum())
    ranked = scores[order]
    ends = np.append(ranked[:-1] != ranked[1:], True)  # a threshold takes all rows of one score
    best = int(np.argmax(np.where(ends, gain, -np.inf)))
    return float(ranked[best])


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
    known, inside = _check_people(labels, members)
    if len(values) < 2:
        raise InvalidParameter(f"a column has at least two values to guess among, got {list(values)}")
    shares = check_shares(prior, len(values))
    truth = _take_column(rows, column)
    chances = np.stack(
        [_read_chances(model, _replace_column(rows, column, value), known) for value in values]
    )
    guesses = np.array(values)[np.argmax(chances * shares[:, None], axis=0)]
    blind = float((truth == np.array(values)[np.argmax(shares)]).mean())
    return AttributeInference(column, np.asarray(guesses == truth), inside, blind)
