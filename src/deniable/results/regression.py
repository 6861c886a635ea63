"""Fits a regression to the tables of a plan's results, with intervals that count the noise of reports.

A logistic regression needs all its answers in one table: its score is a weighted sum of that table's cells.
A linear one needs only means of products of two answers, so that tables of pairs are enough. Both solve
equations that are linear in unbiased cells. A cell below 0 stays as it is: cut off, it would add a bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from deniable.arrays import Floats
from deniable.cross import Source
from deniable.domain import Domain
from deniable.domain.range import Range
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import normal_quantile
from deniable.explain.question_pairs import are_of_same_people, check_questions, find_domain
from deniable.formatting import Printed, format_digits
from deniable.frames import Backend, frame_of_rows
from deniable.results.crossing import list_group_sources, list_sources
from deniable.summaries import Summary

if TYPE_CHECKING:
    from deniable.results.estimates import Estimates

Fit = Literal["logistic", "linear"]
"""What a regression is of: the log-odds of an answer, or its share, or a mean."""
INTERCEPT = "(intercept)"
_WORST_CELL = 0.2  # of the mean cell: with a larger error a tenth of all fits, and more, fail
_STEPS = 60
_CLOSE = 1e-10
_FURTHEST = 30.0  # log-odds: beyond it a cell is all yes or all no
_CLEAR = 3.0  # standard errors by which equations must be solvable


@final
@dataclass(frozen=True, eq=False)
class Regression(Printed, Mapping[str, Summary]):
    """The coefficients of a regression by term, each with its standard error and interval.

    A question of numbers is one term, by the middles of its bins. Any other has a term for each answer but
    the first, which it is compared with.
    """

    of: str
    """The question that is explained."""
    answer: str | None
    """The answer whose share is explained; None where it is the mean of a number."""
    kind: Fit
    n: int
    """How many reports it is of."""
    terms: tuple[str, ...]
    coefficients: Floats
    """One for each term, in this order."""
    covariance: Floats
    """The covariance of the coefficients, to first order: noise, and which people were sampled."""
    level: float = 0.95

    @cached_property
    def _summaries(self) -> dict[str, Summary]:
        errors = np.sqrt(np.clip(np.diag(self.covariance), 0.0, None))
        values, reach = self.coefficients, normal_quantile(self.level) * errors
        numbers = zip(values, errors, values - reach, values + reach, strict=True)
        return {term: Summary(*map(float, row)) for term, row in zip(self.terms, numbers, strict=True)}

    def __getitem__(self, term: str) -> Summary:
        if term not in self._summaries:
            raise InvalidParameter(not_among(term, "a term of this regression", self.terms))
        return self._summaries[term]

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def records(self) -> list[dict[str, Any]]:
        """A dictionary for each term."""
        return [
            {"term": term, "coefficient": row.value, "stderr": row.stderr, "low": row.low, "high": row.high}
            for term, row in self.items()
        ]

    def frame(self, backend: Backend | None = None) -> Any:
        """The records as a dataframe of the library you already have: pandas, polars or pyarrow."""
        return frame_of_rows(self.records(), backend)

    def __str__(self) -> str:
        explained = f"the mean of {self.of}" if self.answer is None else f"{self.of} = {self.answer}"
        unit = "log-odds of " if self.kind == "logistic" else "" if self.answer is None else "the share of "
        rows = [
            (term, *(format_digits(number, 3) for number in (row.value, row.low, row.high)))
            for term, row in self.items()
        ]
        width = max(len(term) for term in self.terms)
        lines = [f"{term:<{width}}  {value} (from {low} to {high})" for term, value, low, high in rows]
        level = f"{100 * self.level:g} % intervals"
        title = f"{self.kind} regression, {unit}{explained} ({self.n:,} reports), {level}"
        return "\n".join([title, *lines])


@final
@dataclass(frozen=True, eq=False)
class _Coded:
    """A question as numbers: a column for each term, a row for each answer."""

    name: str
    terms: tuple[str, ...]
    codes: Floats

    @staticmethod
    def of(name: str, domain: Domain) -> _Coded:
        """A question that explains: its number, or whether each answer but the first was given."""
        points = _find_points(domain)
        if points is not None:
            return _Coded(name, (name,), points[:, None])
        terms = tuple(f"{name} = {label}" for label in domain.labels[1:])
        return _Coded(name, terms, np.eye(domain.k)[:, 1:])

    @staticmethod
    def explained(name: str, domain: Domain, answer: str | None, kind: Fit) -> tuple[_Coded, str | None]:
        """The question that is explained: whether the answer was given, or its number; and that answer."""
        points = _find_points(domain)
        if answer is None and points is not None and kind == "linear":
            return _Coded(name, (name,), points[:, None]), None
        if answer is None and domain.k == 2:
            answer = domain.labels[0]
        if answer and answer not in domain.labels:
            raise InvalidParameter(not_among(answer, f"an answer to {name!r}", domain.labels))
        if not answer:
            raise InvalidParameter(
                f"{name!r} has {domain.k} answers; say whose share is explained: answer={domain.labels[0]!r}"
            )
        chosen = np.eye(domain.k)[:, [domain.labels.index(answer)]]
        return _Coded(name, (name,), chosen), answer


def _find_points(domain: Domain) -> Floats | None:
    """Where the answers are on a scale of numbers; None where there is none."""
    if not isinstance(domain, Range) or domain.open_low or domain.open_high or domain.unit == "month":
        return None
    return np.array([(low + high) / 2 for low, high in pairwise(domain.edges)], dtype=np.float64)


def regress(
    estimates: Estimates,
    of: str,
    by: Sequence[str],
    answer: str | None = None,
    kind: Fit = "logistic",
    level: float = 0.95,
) -> Regression:
    """The regression of a question on others that were asked together with it."""
    document = estimates.document
    if document is None:
        raise InvalidParameter("this result does not know its plan; make it by plan.estimate(tallies)")
    if kind not in ("logistic", "linear"):
        raise InvalidParameter(not_among(kind, "a regression", ("logistic", "linear")))
    names = [by] if isinstance(by, str) else list(by)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter(f"a regression is by questions, each named once, got {by!r}")
    if of in document.known_names:
        raise InvalidParameter(f"{of!r} is known of everybody; a regression explains what is not")
    for name in names:
        check_questions(document, of, name)
    explained, answer = _Coded.explained(of, find_domain(document, of), answer, kind)
    coded = [_Coded.of(name, find_domain(document, name)) for name in names]
    grouped = any(name in document.known_names for name in names)
    if grouped and estimates.weighting is not None:
        raise InvalidParameter(
            "a regression by known questions is not weighted: it compares people of one group already; take "
            "it from the result before weighted(...)"
        )
    sources = list_group_sources(estimates, of) if grouped else list_sources(estimates)
    holding = [source for source in sources if {of, *names} <= set(source.names)]
    terms = (INTERCEPT, *(term for question in coded for term in question.terms))
    together = ", ".join(map(repr, [*names, of]))
    if kind == "logistic":
        if not holding:
            raise InvalidParameter(
                f"a logistic regression needs {of!r} and all of {', '.join(map(repr, names))} in one table; "
                f"ask for them at once: together=[({together})], whole=True; for kind='linear' tables of "
                "pairs are enough"
            )
        fitted = _fit_logistic(max(holding, key=lambda source: source.n), explained, coded)
    else:
        if not holding and (grouped or are_of_same_people(document)):
            raise InvalidParameter(
                "the reports of these tables are of the same people, or name their groups, so that all "
                f"questions must be in one table: together=[({together})], whole=True"
            )
        fitted = _fit_linear(holding[:1] or sources, explained, coded)
    return Regression(of, answer, kind, fitted.n, terms, fitted.values, fitted.covariance, level)


@final
@dataclass(frozen=True, eq=False)
class _Fitted:
    n: int
    values: Floats
    covariance: Floats


def _fit_logistic(source: Source, explained: _Coded, coded: Sequence[_Coded]) -> _Fitted:
    """Newton's method on the score, which is a sum over the cells of one table; its sandwich of errors."""
    answers = np.indices([len(question.codes) for question in coded]).reshape(len(coded), -1)
    columns = [question.codes[at] for question, at in zip(coded, answers, strict=True)]
    design = np.column_stack([np.ones(answers.shape[1]), *columns])
    sums = source.sums([*(question.name for question in coded), explained.name])
    by_answer = sums.reshape(len(design), -1, source.values.size)
    yes = np.einsum("a,xav->xv", explained.codes[:, 0], by_answer)
    everybody = by_answer.sum(axis=1)
    chosen, covered = yes @ source.values, everybody @ source.values
    _refuse_noise(source, np.concatenate([yes, everybody - yes]))
    scale = np.abs(design).max(axis=0)
    rows = design / scale
    values = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        odds = np.clip(rows @ values, -_FURTHEST, _FURTHEST)
        chance = 1 / (1 + np.exp(-odds))
        score = rows.T @ (chosen - covered * chance)
        curve = (rows * (covered * chance * (1 - chance))[:, None]).T @ rows
        if np.linalg.eigvalsh(curve)[0] <= _CLOSE:
            break
        if np.abs(score).max() < _CLOSE:
            slopes = np.linalg.solve(curve, rows.T @ (yes - chance[:, None] * everybody))
            covariance = source.covariance(slopes) / np.outer(scale, scale)
            return _Fitted(source.n, values / scale, covariance)
        step = np.linalg.solve(curve, score)
        values = values + step / max(1.0, float(np.abs(rows @ step).max()) / 2)
    raise InvalidParameter(
        "the fit does not converge: some answers are so rare that noise hides them; join answers, leave a "
        "question out, or ask more people"
    )


def _refuse_noise(source: Source, sums: Floats) -> None:
    """Refuse cells that are known too badly for a fit that can be trusted."""
    error = float(np.sqrt(np.mean(np.diag(source.covariance(sums)))))
    limit = _WORST_CELL / len(sums)
    if error > limit:
        needed = int(np.ceil(source.n * (error / limit) ** 2))
        raise InvalidParameter(
            f"the cells of this table are known to {error:.2g}, and a regression of {len(sums)} cells needs "
            f"{limit:.2g}: about {needed:,} reports of the table in place of {source.n:,}; ask more people, "
            "or join answers"
        )


def _fit_linear(sources: Sequence[Source], explained: _Coded, coded: Sequence[_Coded]) -> _Fitted:
    """The normal equations, from means of products of two answers, each from all tables that hold both."""
    questions = [*coded, explained]
    names = {question.name for question in questions}
    sources = [source for source in sources if names & set(source.names)]
    widths = [question.codes.shape[1] for question in questions]
    starts = np.cumsum([1, *widths])
    size = int(starts[-1])
    moments = np.zeros((size, size))
    moments[0, 0] = 1.0
    # how each moment moves with the values of each source
    slopes = [np.zeros((size, size, source.values.size)) for source in sources]

    def add(names: Sequence[str], weights: Floats, first: slice, other: slice) -> None:
        holding = [i for i, source in enumerate(sources) if set(names) <= set(source.names)]
        if not holding:
            raise InvalidParameter(
                f"no table holds {' and '.join(map(repr, names))}; ask for both at once: "
                f"together=[({', '.join(map(repr, names))})]"
            )
        n = sum(sources[i].n for i in holding)
        for i in holding:
            source = sources[i]
            answered = source.sums(names).sum(axis=0)
            slope = np.tensordot(weights, source.sums(names), axes=1) * (source.n / n)
            share = float(answered @ source.values)
            value = slope @ source.values / share
            slope = (slope - value[..., None] * answered) / share
            moments[first, other] += value
            slopes[i][first, other] += slope
            if first != other:
                moments[other, first] += value.T
                slopes[i][other, first] += slope.transpose(1, 0, 2)

    spans = [slice(start, start + width) for start, width in zip(starts, widths, strict=False)]
    for question, span in zip(questions, spans, strict=True):
        codes = question.codes
        add([question.name], codes.T[None], slice(0, 1), span)
        add([question.name], np.einsum("ai,aj->ija", codes, codes), span, span)
    for (a, first), (b, other) in combinations(zip(questions, spans, strict=True), 2):
        products = np.einsum("ai,bj->ijab", a.codes, b.codes)
        add([a.name, b.name], products.reshape(*products.shape[:2], -1), first, other)
    scale = np.sqrt(np.clip(np.diag(moments), _CLOSE, None))
    scaled = moments / np.outer(scale, scale)
    explains, end = slice(0, size - 1), size - 1
    least, vectors = np.linalg.eigh(scaled[explains, explains])
    direction = vectors[:, 0] / scale[explains]
    moves = [np.einsum("i,ijv,j->v", direction, slope[explains, explains], direction) for slope in slopes]
    error = _error(sources, [move[None] for move in moves])[0, 0] ** 0.5
    if least[0] < _CLEAR * error:
        raise InvalidParameter(
            "these tables are too noisy to tell the effects of the questions apart; join answers, leave a "
            "question out, take a larger epsilon (2 and above), or ask more people"
        )
    matrix = moments[explains, explains]
    values = np.asarray(np.linalg.solve(matrix, moments[explains, end]), dtype=np.float64)
    shifts = [
        np.linalg.solve(
            matrix, slope[explains, end] - np.einsum("ijv,j->iv", slope[explains, explains], values)
        )
        for slope in slopes
    ]
    return _Fitted(sum(source.n for source in sources), values, _error(sources, shifts))


def _error(sources: Sequence[Source], slopes: Sequence[Floats]) -> Floats:
    """The covariance of what moves so with the values of independent sources."""
    return np.asarray(sum(source.covariance(slope) for source, slope in zip(sources, slopes, strict=True)))
