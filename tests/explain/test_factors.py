"""How often one answer of a table is guessed right: against enumeration of all reports."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

import deniable as dn
from deniable.explain.guesses import bound_answer, guess_factor, guess_factor_by, list_answer_guesses
from deniable.mechanisms import Mechanism
from deniable.mechanisms.shapes import Hadamard
from tests import enumeration

SHAPES = [((2, 3), 0), ((3, 2), 1), ((2, 2), 1), ((2, 2, 2), 0), ((1, 4), 0)]
MADE: list[Callable[[int, float], Mechanism]] = [dn.grr, dn.ss, dn.oue, dn.sue, dn.hr]


Laws = list[dict[object, float]]


def _list_laws(part: Mechanism) -> Laws:
    """How likely each report is, from every value, as it is sampled."""
    if not isinstance(part, Hadamard):
        laws = (enumeration.part_law(part, value) for value in range(part.k))
        return [{report: float(chance) for report, chance in law.items()} for law in laws]
    columns = range(1 << part.bits)
    keep, half = part.keep / 2**64, len(columns) / 2
    return [
        {y: (keep if (y & (value + 1)).bit_count() % 2 == 0 else 1 - keep) / half for y in columns}
        for value in range(part.k)
    ]


def _enumerate(laws: Laws, shape: tuple[int, ...], axis: int, prior: np.ndarray) -> float:
    """Over all reports, the answer that each makes likeliest."""
    right: dict[object, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for cell, at in enumerate(np.ndindex(shape)):
        for report, chance in laws[cell].items():
            right[report][at[axis]] += chance * prior[cell]
    return math.fsum(max(of.values()) for of in right.values())


@pytest.mark.parametrize(("shape", "beside"), SHAPES)
def test_guesses_are_those_of_enumeration(shape: tuple[int, ...], beside: int) -> None:
    """Of all shapes, with a value for no answer and without, by all priors where reports can be listed."""
    draw, cells = np.random.default_rng(3), math.prod(shape)
    uniform = np.full(cells, 1 / cells)
    for make, epsilon in product(MADE, (0.5, 3.0)):
        part = make(cells + beside, epsilon)
        laws = _list_laws(part)
        for axis in range(len(shape)):
            exact = _enumerate(laws, shape, axis, uniform)
            assert guess_factor(part, shape, axis) == pytest.approx(exact, abs=1e-12)
            for prior in (uniform, draw.dirichlet(np.ones(cells))):
                exact = _enumerate(laws, shape, axis, prior)
                assert guess_factor_by(part, shape, axis, prior) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("rows", "each"), [(2, 200), (20, 20), (300, 4)])
@pytest.mark.parametrize("make", [dn.oue, dn.sue])
def test_many_bits_are_counted_row_by_row(
    make: Callable[[int, float], Mechanism], rows: int, each: int
) -> None:
    """Bits are independent: the true row wins if it has the most, and ties are broken by chance."""
    part = make(rows * each, 1.5)
    law = part.law
    assert isinstance(law, dn.law.Law)
    p, q = law.p, law.q
    counts = np.arange(each + 1)
    own = p * np.append(0.0, binom.pmf(counts[:-1], each - 1, q)) + (1 - p) * binom.pmf(counts, each - 1, q)
    same, fewer = binom.pmf(counts, each, q), binom.cdf(counts - 1, each, q)
    wins = sum(
        float(comb(rows - 1, ties)) * same**ties * fewer ** (rows - 1 - ties) / (ties + 1)
        for ties in range(rows)
    )
    assert guess_factor(part, (rows, each), 0) == pytest.approx(float(own @ wins), rel=1e-6)


def test_subsets_of_many_values_are_guessed_as_drawn_ones() -> None:
    """By 100,000 reports; five standard errors, so that the right number fails once in a million runs."""
    part, n = dn.ss(120, 1.0), 100_000
    truth = np.random.default_rng(4).integers(0, 120, n)
    held = part.support(part.privatize(truth, dn.seeded(4))).reshape(n, 6, 20).sum(axis=2)
    best = held == held.max(axis=1, keepdims=True)
    right = (best[np.arange(n), truth // 20] / best.sum(axis=1)).mean()
    exact = guess_factor(part, (6, 20), 0)
    assert exact is not None
    assert abs(right - exact) < 5 * math.sqrt(exact / n)
    assert abs(right - part.success()) > 5 * math.sqrt(exact / n)  # that of the whole cell is another


def test_hashes_and_many_values_have_no_exact_guess() -> None:
    assert guess_factor(dn.olh(10, 1.0), (5, 2), 0) is None
    assert guess_factor(dn.oue(4000, 1.0), (40, 100), 0) is None
    assert guess_factor_by(dn.oue(40, 1.0), (4, 10), 0, np.full(40, 1 / 40)) is None


def _plan(mechanism: dn.records.RecordMechanism, tables: Sequence[tuple[str, ...]]) -> dn.Plan:
    bits = dn.Categories(["0", "1"])
    asked = {" x ".join(names): dn.domain.Product([(name, bits) for name in names]) for names in tables}
    return dn.Plan.of(asked, mechanism, people=100)


@pytest.mark.parametrize("kind", ["sample", "weighted", "split", "split apart", "faked"])
def test_guesses_from_whole_reports_by_enumeration(kind: str) -> None:
    """All records equally likely: exact where it is said to be, and never above a bound."""
    tables = [("a", "b"), ("c", "d")] if kind == "split apart" else [("a", "b"), ("b", "c")]
    parts = (dn.grr(4, 1.0), dn.ss(4, 2.0))
    made = {
        "sample": dn.records.Sample(parts),
        "weighted": dn.records.Sample(parts, weights=(3, 1)),
        "split": dn.records.Split(parts),
        "split apart": dn.records.Split(parts),
        "faked": dn.rsfd([4, 4], 1.0, "grr"),
    }[kind]
    found = {one.question: one for one in list_answer_guesses(_plan(made, tables).document, forever=False)}
    names = sorted({name for some in tables for name in some})
    assert list(found) == names
    right: dict[str, dict[object, dict[int, float]]] = {
        name: defaultdict(lambda: defaultdict(float)) for name in names
    }
    for answers in product((0, 1), repeat=len(names)):
        given = dict(zip(names, answers, strict=True))
        record = tuple(2 * given[one] + given[other] for one, other in tables)
        for report, chance in enumeration.law_of(made, record).items():
            for name in names:
                right[name][report][given[name]] += float(chance) / 2 ** len(names)
    for name in names:
        exact = math.fsum(max(of.values()) for of in right[name].values())
        if found[name].exact:
            assert found[name].report == pytest.approx(exact, abs=1e-12), name
        else:
            assert found[name].report >= exact - 1e-12
    shared = {"split": {"a", "b", "c"}, "faked": {"b"}}.get(kind, set())
    assert {name for name in names if not found[name].exact} == shared


def test_who_knows_the_other_answer_is_right_as_often_as_is_stated() -> None:
    """About an answer of GRR with k values: r / (r + k - 1), where r is how much likelier the truth is."""
    asked = {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}
    plan = dn.Study(asked, 1.0, together=[("age", "smoker")], protocol="grr").plan(people=1000)
    for question, k in (("age", 5), ("smoker", 2)):
        assert bound_answer(plan.document, question) == pytest.approx(math.e / (math.e + k - 1), abs=1e-8)


def test_plans_state_them() -> None:
    asked = {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}
    text = " ".join(dn.Study(asked, 1.0, together=[("age", "smoker")]).plan(people=1000).explain().split())
    assert (
        "one answer of a table: the same attacker is right about 'age' 28.3 % (if reported 28.3 %, " in text
    )
    assert "'smoker' 57.6 % (if reported 57.6 %, blind 50.0 %)" in text
    again = dn.Study(asked, epsilon_first=1.0, epsilon_forever=2.0, together=[("age", "smoker")]).plan(1000)
    once, forever = (list_answer_guesses(again.document, forever=often)[1] for often in (False, True))
    assert once.exact
    assert forever.exact
    assert 0.5 < once.report < forever.report < 0.9
    told = " ".join(again.explain().split())
    assert "no answer changes, that attacker is right about 'age' " in told
    assert f"'smoker' {100 * forever.report:.1f} % (if reported" in told.partition("no answer changes")[2]
