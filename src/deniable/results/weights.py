"""Weighs known groups to their sizes in a population: reads the sizes, and joins what each group reported.

Only what the collector knows of each person can give a weight: a secret answer says too little about one
person. Each question is weighed by its own reports, so that one without reports of a group is refused alone.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Domain
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate, MeanEstimate
from deniable.formatting import format_count, format_percent
from deniable.frames.files import read_utf8
from deniable.mechanisms import Tally
from deniable.summaries.weighted import (
    FEWEST,
    Weighing,
    join_estimates,
    join_means,
    rake,
    weigh_groups,
)

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

Sizes = Mapping[str, Mapping[Any, float]]
"""The sizes of the answers to known questions in the population, by question and answer."""
_JOINED = " + "
_COLUMNS = ("question", "answer", "size")
_LEAST_PART = 0.5  # of the reports, which weights may leave as good as
_Part = TypeVar("_Part", Estimate, MeanEstimate)


@final
@dataclass(frozen=True, eq=False)
class Margin:
    """The sizes of the answers to one known question, of which several may be joined."""

    question: str
    labels: tuple[str, ...]
    shares: Floats
    """They add up to 1."""
    codes: Integers
    """Which of the labels each answer of the question belongs to."""

    @staticmethod
    def read(question: str, domain: Domain, sizes: object) -> Margin:
        """From a size for each answer, or for several with a plus sign between them."""
        as_in = f'such as {{"{domain.labels[0]}": 0.4, "{domain.labels[1]}": 0.6}}'
        if not isinstance(sizes, Mapping):
            raise InvalidParameter(f"the sizes of {question!r} are a number for each answer, {as_in}")
        codes = np.full(domain.k, -1)
        for at, key in enumerate(sizes):
            for label in [str(key)] if str(key) in domain.labels else str(key).split(_JOINED):
                if label not in domain.labels:
                    raise InvalidParameter(not_among(label, f"an answer to {question!r}", domain.labels))
                code = domain.labels.index(label)
                if codes[code] >= 0:
                    raise InvalidParameter(f"the sizes of {question!r} name {label!r} twice")
                codes[code] = at
        missing = [label for label, code in zip(domain.labels, codes.tolist(), strict=True) if code < 0]
        if missing:
            raise InvalidParameter(
                f"the sizes of {question!r} leave out {', '.join(map(repr, missing))}; everybody is in a "
                f"group, so give each a size, or join answers: {_JOINED.join(domain.labels[:2])!r}"
            )
        shares = np.array([_read_size(question, key, size) for key, size in sizes.items()])
        return Margin(question, tuple(map(str, sizes)), shares / shares.sum(), codes)

    def __str__(self) -> str:
        pairs = zip(self.labels, self.shares.tolist(), strict=True)
        return f"{self.question} ({', '.join(f'{label} {format_percent(share)}' for label, share in pairs)})"


def _read_size(question: str, answer: object, size: Any) -> float:
    is_number = isinstance(size, int | float | np.integer | np.floating) and not isinstance(size, bool)
    read = float(size) if is_number else math.nan
    if not 0 < read < math.inf:
        raise InvalidParameter(
            f"the size of {question} = {answer} is a number above 0, a share of the population or a count of "
            f"its people, got {size!r}"
        )
    return read


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """The sizes of known groups in a population, by question: of several, each has its own."""

    margins: tuple[Margin, ...]
    shape: tuple[int, ...]
    """How many answers each known question of the plan has."""
    axes: tuple[int, ...]
    """Which of the plan's known questions the margins are of."""

    @staticmethod
    def read(document: PlanDocument, sizes: object) -> Weights:
        """The weights of a plan; what it does not know of people is refused."""
        known = document.known
        if known is None:
            raise InvalidParameter(
                "this plan knows no groups, so that nothing can be weighted; a question that the collector "
                'knows anyway, such as a region, is sent as it is: "known = true" in the study'
            )
        if not isinstance(sizes, Mapping) or not sizes:
            raise InvalidParameter(
                f"weights are the sizes of known groups in the population, by question: "
                f'{{"{known.names[0]}": {{...}}}}, got {sizes!r}'
            )
        secret = [name for name in sizes if name in document.domains and name not in known.names]
        if secret:
            raise InvalidParameter(
                f"{secret[0]!r} is secret: no report says it for certain, so that it gives no weights; known "
                f"are {', '.join(map(repr, known.names))}"
            )
        for name in sizes:
            if name not in known.names:
                raise InvalidParameter(not_among(name, "a question that is known", known.names))
        margins = tuple(
            Margin.read(name, domain, sizes[name]) for name, domain in known.factors if name in sizes
        )
        axes = tuple(known.names.index(margin.question) for margin in margins)
        return Weights(margins, known.shape, axes)

    def __str__(self) -> str:
        return f"weighted to the population by {' and '.join(map(str, self.margins))}"

    @property
    def questions(self) -> tuple[str, ...]:
        """The known questions that have sizes."""
        return tuple(margin.question for margin in self.margins)

    def about(self) -> dict[str, dict[str, float]]:
        """The shares of the groups, ready for JSON."""
        return {
            margin.question: dict(zip(margin.labels, margin.shares.tolist(), strict=True))
            for margin in self.margins
        }

    def drop(self, question: str) -> Weights:
        """The weights by all other questions: those inside one answer to this."""
        kept = [i for i, margin in enumerate(self.margins) if margin.question != question]
        return Weights(tuple(self.margins[i] for i in kept), self.shape, tuple(self.axes[i] for i in kept))

    def explain_division(self, question: str) -> list[str]:
        """How answers to a known question that have one size together share it."""
        together = [
            label
            for margin in self.margins
            if margin.question == question
            for label, answers in zip(margin.labels, np.bincount(margin.codes).tolist(), strict=True)
            if answers > 1
        ]
        return [
            f"{question} = {label} has one size, which is divided as people reported" for label in together
        ]

    def size_answers(self, question: str, counts: Floats) -> Floats:
        """The sizes of the answers to a known question: those of the population, or as they were counted.

        Answers that share one size have it as they were counted.
        """
        margin = next((margin for margin in self.margins if margin.question == question), None)
        if margin is None:
            return counts
        together = np.bincount(margin.codes, counts)[margin.codes]
        return np.asarray(margin.shares[margin.codes] * counts / np.maximum(together, 1.0))

    @cached_property
    def cells(self) -> Integers:
        """Which cell of all margins each known group of the plan is in."""
        answers = np.indices(self.shape).reshape(len(self.shape), -1)
        codes = [margin.codes[answers[axis]] for margin, axis in zip(self.margins, self.axes, strict=True)]
        sizes = [len(margin.labels) for margin in self.margins]
        return np.asarray(np.ravel_multi_index(codes, sizes) if codes else np.zeros(answers.shape[1], int))

    def pool(self, groups: Sequence[Tally]) -> list[Tally]:
        """The tallies of the cells, from those of the plan's known groups."""
        size = math.prod(len(margin.labels) for margin in self.margins)
        pooled = [groups[0] - groups[0]] * size
        for cell, tally in zip(self.cells.tolist(), groups, strict=True):
            pooled[cell] = pooled[cell] + tally
        return pooled

    def weigh(self, counts: Sequence[int]) -> Weighing:
        """How much each cell with reports counts; cells without reports are left out."""
        table = np.array(counts).reshape([len(margin.labels) for margin in self.margins])
        for axis, margin in enumerate(self.margins):
            by_answer = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
            empty = [label for label, n in zip(margin.labels, by_answer.tolist(), strict=True) if n == 0]
            if empty:
                whose = ", ".join(f"{margin.question} = {label}" for label in empty)
                other = next((label for label in margin.labels if label not in empty), margin.labels[0])
                raise InvalidParameter(
                    f"nobody of {whose} reported it, so that the population is not known; join groups, and "
                    f"give {_JOINED.join([other, empty[0]])!r} one size"
                )
        if len(self.margins) < 2:
            return weigh_groups(self.margins[0].shares if self.margins else [1.0], table.ravel())
        return rake(table, [margin.shares for margin in self.margins])

    def name_cells(self) -> list[str]:
        """What the cells are called."""
        pairs = [[f"{margin.question} = {label}" for label in margin.labels] for margin in self.margins]
        shape = [len(names) for names in pairs]
        return [
            ", ".join(names[code] for names, code in zip(pairs, codes, strict=True))
            for codes in np.ndindex(*shape)
        ]

    def join(
        self, groups: Sequence[Tally], estimate: Callable[[Tally], Estimate | MeanEstimate]
    ) -> tuple[Estimate | MeanEstimate, Weighed]:
        """What a population has, from what all known groups reported about one attribute."""
        pooled = self.pool(groups)
        weighing = self.weigh([tally.n for tally in pooled])
        parts = [estimate(tally) for tally in pooled if tally.n]
        names = [name for name, tally in zip(self.name_cells(), pooled, strict=True) if tally.n]
        shares = [part for part in parts if isinstance(part, Estimate)]
        means = [part for part in parts if isinstance(part, MeanEstimate)]
        joined = join_estimates(shares, weighing) if shares else join_means(means, weighing)
        return joined, Weighed(joined.n, weighing, tuple(names))


@final
@dataclass(frozen=True, eq=False)
class Weighed:
    """How good the weighted reports about one attribute are."""

    n: int
    weighing: Weighing
    names: tuple[str, ...]
    """What the groups with reports are called."""

    @property
    def effective(self) -> float:
        """How many people of a simple sample tell about as much."""
        return self.weighing.effective

    def __str__(self) -> str:
        reports = format_count(self.n, "report")
        return f"{reports}, weighted, are about as good as {self.effective:,.0f} of a simple sample"

    @property
    def warnings(self) -> list[str]:
        """What is to be said of weights that cost much, and of groups of few."""
        warnings = []
        small = [
            f"{format_count(int(count), 'report')}{' of ' if name else ''}{name}"
            for name, count in zip(self.names, self.weighing.counts.tolist(), strict=True)
            if count < FEWEST
        ]
        if small:
            warnings.append(f"only {', '.join(small)}: join groups of so few")
        if self.effective < _LEAST_PART * self.n:
            warnings.append(
                "the weights cost more than half of the people: join groups that are rare among the reports"
            )
        return warnings


@final
@dataclass(frozen=True, eq=False)
class Weighting:
    """The weights of a result, and the tallies of known groups that it was made from."""

    weights: Weights
    groups: Sequence[Mapping[str, Tally]]
    attributes: Mapping[str, Weighed] = field(default_factory=dict)

    def about(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Ready for JSON, with a text for each attribute."""
        return {
            "population": self.weights.about(),
            "text": str(self.weights),
            "attributes": [
                {"attribute": name, "n": weighed.n, "effective": weighed.effective}
                | {"text": texts.get(name, str(weighed)), "warnings": weighed.warnings}
                for name, weighed in self.attributes.items()
            ],
        }


def read_weights(path: Path) -> dict[str, dict[str, float]]:
    """The sizes in a file: CSV with the columns question, answer and size, or JSON."""
    text = read_utf8(path, "the sizes as CSV UTF-8")
    if path.suffix.lower() == ".json":
        try:
            sizes = json.loads(text)
        except json.JSONDecodeError as problem:
            raise InvalidParameter(f"{path} is no JSON: {problem}") from None
        if not isinstance(sizes, dict):
            raise InvalidParameter(f'{path} must hold {{"question": {{"answer": size, ...}}}}')
        return sizes
    rows = csv.DictReader(text.splitlines())
    if tuple(rows.fieldnames or ()) != _COLUMNS:
        raise InvalidParameter(
            f"the first line of {path} is {','.join(_COLUMNS)}, as in region,north,0.4; got "
            f"{','.join(rows.fieldnames or ())!r}"
        )
    table: dict[str, dict[str, float]] = {}
    for row in rows:
        question, answer, size = (row[column] for column in _COLUMNS)
        try:
            read = float(size or "")
        except ValueError:
            raise InvalidParameter(
                f"{path}, line {rows.line_num}: the size of {question} = {answer} is a number, got {size!r}"
            ) from None
        answers = table.setdefault(question or "", {})
        if answer in answers:
            raise InvalidParameter(f"{path}, line {rows.line_num}: {question} = {answer} is there twice")
        answers[answer or ""] = read
    return table
