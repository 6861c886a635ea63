"""The choice is the best of all combinations, its figures are those of the laws, and no choice spends more
than epsilon.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.choose import (
    Considered,
    Objective,
    Question,
    Size,
    consider,
    consider_repeated,
    epsilon_needed,
    exposure,
    list_precisions,
    list_readings,
    people_needed,
    warn_distant,
    warning,
)
from deniable.choose.ranking import best_of
from deniable.choose.task import checked_task
from deniable.explain import explain
from deniable.explain.explain import reconsider
from deniable.formatting import format_count, format_up
from deniable.mechanisms import PROTOCOLS
from deniable.metric import MetricMechanism
from deniable.plan.chain import bound_question
from deniable.records import Faked, RecordMechanism, Sample, Split, equal_part, rsfd, rsrfd, smp, spl
from deniable.records.base import Per
from deniable.rounds import BitFlip
from tests import enumeration
from tests.cases import by_night

PLAIN = ("grr", "oue", "hr", "ss")
FAKED = ("grr", "oue-z", "oue-r", "sue-z", "sue-r")
SIZES = st.lists(st.integers(2, 40), min_size=1, max_size=4)
EPSILONS = st.floats(0.05, 6.0)


def possible(rows: list[Considered]) -> list[Considered]:
    return [row for row in rows if row.why_not is None]


def everything(
    ks: Sequence[int], epsilon: float, n: int
) -> Iterator[tuple[RecordMechanism, list[float], list[float], int]]:
    """Every combination in every mechanism, from the laws alone: mechanism, errors, guesses and largest
    report.
    """
    for names in product(PLAIN, repeat=len(ks)):
        for mechanism in ("SPL", "SMP"):
            budget = equal_part(epsilon, len(ks)) if mechanism == "SPL" else epsilon
            parts = tuple(PROTOCOLS[name].make(k, budget) for name, k in zip(names, ks, strict=True))
            made = (Split if mechanism == "SPL" else Sample)(parts)
            scale = 1 if mechanism == "SPL" else len(ks)
            sizes = [part.report_bytes for part in parts]
            errors = [made.marginal(j).error(1) * scale / n for j in range(len(ks))]
            yield (
                made,
                errors,
                [part.success() for part in parts],
                sum(sizes) if mechanism == "SPL" else 1 + max(sizes),
            )
    known = ("grr", "oue-z", "oue-r", "ss", "hr")
    made_fakes = {(name, k): rsfd([k, k], epsilon, name).fakes[0] for name, k in product(known, ks)}
    for names in product(known, repeat=len(ks)):
        faked = Faked(tuple(made_fakes[name, k] for name, k in zip(names, ks, strict=True)))
        errors = [faked.marginal(j).error(n) for j in range(len(ks))]
        parts_ = faked.mechanisms
        yield faked, errors, [part.success() for part in parts_], sum(part.report_bytes for part in parts_)


@by_night("ks", [(2, 9), (3, 5, 30), (17, 17, 4)], (17, 17, 4))
@by_night("epsilon", [0.4, 3.0], 0.4)
@by_night("judged", ["mean", "worst", "squares"], "squares")
def test_best_of_all_combinations(ks: tuple[int, ...], epsilon: float, judged: str) -> None:
    """Where errors are taken as they are, people are divided among sampled attributes by these, to within
    thousandths.
    """
    n = 5000
    all_of_them = list(everything(ks, epsilon, n))
    sizes = sorted({size for *_, size in all_of_them})
    guesses = sorted({max(success) for _, _, success, _ in all_of_them})
    caps: list[tuple[float | None, int | None]] = [
        (None, None),
        *((None, size) for size in (sizes[0] - 1, sizes[0], sizes[len(sizes) // 3], sizes[len(sizes) // 2])),
        *((guess, None) for guess in (guesses[0], guesses[len(guesses) // 2])),
        (guesses[1], sizes[len(sizes) // 2]),
    ]
    for guess, size in caps:
        objective = Objective(success_cap=guess, bytes_cap=size, people="answered", tolerance=0.0)
        if judged != "mean":
            objective = replace(objective, **{judged: True})  # type: ignore[arg-type]
        rows = consider(ks, epsilon, n, objective, protocols=PLAIN)
        for kind in (Split, Sample, Faked):
            divided = kind is Sample and judged != "mean"
            hidden = [
                (_divide(errors, judged) if divided else errors, most)
                for made, errors, success, most in all_of_them
                if isinstance(made, kind) and (guess is None or max(success) <= guess)
            ]
            # of this kind: what others reach is a factor for each attribute, and changes no order
            least = [min(some) for some in zip(*(errors for errors, _ in hidden), strict=True)]
            weights = [1.0] * len(ks)
            allowed = [
                objective.score(errors, least, weights)
                for errors, most in hidden
                if size is None or most <= size
            ]
            found = [
                objective.score(row.errors, least, weights)
                for row in possible(rows)
                if isinstance(row.mechanism, kind)
            ]
            assert bool(allowed) == bool(found)
            if allowed:
                assert min(found) == pytest.approx(min(allowed), rel=1e-3 if divided else 1e-8)


def _divide(errors: list[float], judged: str) -> list[float]:
    """The same errors of sampled attributes, if people are not divided equally."""
    alone = [error / len(errors) for error in errors]
    often = alone if judged == "worst" else [math.sqrt(error) for error in alone]
    return [error * sum(often) / one for error, one in zip(alone, often, strict=True)]


def test_the_best_comes_first_and_the_excluded_last() -> None:
    rows = consider([3, 20, 8], 1.0, 1000, Objective(success_cap=0.45))
    kept = len(possible(rows))
    assert 0 < kept < len(rows)
    assert all(row.why_not is None for row in rows[:kept])
    assert all(row.why_not is not None for row in rows[kept:])
    scores = [row.score for row in rows[:kept]]
    assert scores[1:] == sorted(scores[1:])
    assert scores[0] <= 1.03 * min(scores)
    assert len({(row.name, row.protocols) for row in rows}) == len(rows)
    assert all("the cap is 0.45" in (row.why_not or "") for row in rows[kept:])


@given(SIZES, EPSILONS, st.integers(1, 10**6), st.sampled_from(["record", "attribute"]))
@settings(max_examples=6)
def test_no_choice_loses_more_than_epsilon(ks: list[int], epsilon: float, n: int, per: Per) -> None:
    rows = consider(ks, epsilon, n, per=per)
    assert possible(rows)
    for row in rows:
        if row.mechanism is None:
            continue
        losses = {"record": row.loss_record, "attribute": row.loss_attribute}
        assert losses[per] <= epsilon
        assert epsilon < losses[per] + 1e-9 + (per == "attribute") * 1e-9
        assert row.loss_attribute <= row.loss_record
        assert len(row.errors) == len(row.success) == len(row.protocols) == len(ks)
        assert [part.k for part in row.parts] == ks
        for k, success, reported, part in zip(ks, row.success, row.success_reported, row.parts, strict=True):
            top = math.exp(part.loss())
            assert 1 / k - 1e-9 <= success <= reported + 1e-9
            assert reported <= top / (top + k - 1) + 1e-9


@pytest.mark.long
@given(
    SIZES,
    EPSILONS,
    st.integers(1, 10**5),
    st.sampled_from([None, 0.6]),
    st.sampled_from(["record", "attribute"]),
)
@settings(max_examples=6)
def test_the_shortcut_finds_the_first_row(
    ks: list[int], epsilon: float, n: int, cap: float | None, per: Per
) -> None:
    objective = Objective(success_cap=cap)
    first = consider(ks, epsilon, n, objective, per=per)[0]
    if first.why_not is None:
        assert best_of(checked_task(ks, epsilon, n, objective, per=per)) == first


def test_a_cap_that_does_not_bind_changes_nothing() -> None:
    free, loose = (
        consider([3, 40], 1.0, 100)[0],
        consider([3, 40], 1.0, 100, Objective(success_cap=0.999, bytes_cap=10**6))[0],
    )
    assert (free.name, free.mechanism, free.errors) == (loose.name, loose.mechanism, loose.errors)


def test_a_cap_that_binds_brings_in_the_robust_protocols() -> None:
    objective = Objective(success_cap=0.2)
    best = consider([100], 4.0, 1000, objective)[0]
    assert best.protocols[0] in ("aue", "ass", "alh")
    assert best.success[0] <= 0.2
    named = [
        dn.mechanisms.aue(100, 4.0, cap=0.2, f=None),
        dn.mechanisms.ass(100, 4.0, cap=0.2, f=None),
        dn.mechanisms.alh(100, 4.0, cap=0.2, f=None),
    ]
    least = min(mechanism.law.error(1000) for mechanism in named if mechanism.success() <= 0.2)
    classical = [row.make(100, 4.0) for row in PROTOCOLS.values() if row.classical]
    least = min([least, *(m.law.error(1000) for m in classical if m.success() <= 0.2)])
    assert best.errors[0] == pytest.approx(least)


def test_a_cap_holds_for_who_knows_the_public_priors() -> None:
    """As it was, rows were said to keep a cap that a guess without any report is above."""
    priors = [[0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.3]]
    blind = consider([4, 3], 1.0, 1000, Objective(success_cap=0.6), priors=priors)
    assert {row.kind for row in blind} >= {"SPL", "SMP", "RS+FD", "RS+RFD"}
    assert not possible(blind)
    said = "a blind guess of attribute 0 by an attacker with the public prior is already right for 70 %"
    assert all((row.why_not or "").startswith(said) for row in blind)
    assert possible(consider([4, 3], 1.0, 1000, Objective(success_cap=0.6)))  # by who does not
    rows = consider([4, 3], 2.0, 1000, Objective(success_cap=0.72), priors=priors)
    assert possible(rows)
    assert len(possible(rows)) < len(rows)
    for row in rows:
        told = max(part.success(prior) for part, prior in zip(row.parts, priors, strict=True))
        assert (row.why_not is None) == (told <= 0.72), row.name
        assert row.why_not is None or "by an attacker with the public prior is right with" in row.why_not
        assert max(row.revealed) == told
    even = [[0.25] * 4, [1 / 3] * 3]
    flat = consider(
        [4, 3], 2.0, 1000, Objective(success_cap=0.6), mechanisms=("SPL", "SMP", "RS+FD"), priors=even
    )
    plain = consider([4, 3], 2.0, 1000, Objective(success_cap=0.6), mechanisms=("SPL", "SMP", "RS+FD"))
    assert [(row.name, row.why_not is None) for row in flat] == [
        (row.name, row.why_not is None) for row in plain
    ]


def test_the_nearest_to_a_cap_is_so_by_who_knows_the_public_priors() -> None:
    priors = [[0.334, 0.095, 0.014, 0.177, 0.021, 0.359], [0.454, 0.175, 0.371]]
    rows = consider([6, 3], 1.0, 1000, Objective(success_cap=0.459), priors=priors)
    assert not possible(rows)
    told = [round(max(row.revealed), 9) for row in rows]
    assert told == sorted(told)
    without = [max(0.459, *row.success_reported) for row in rows]
    assert without != sorted(without)  # as it was


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.9, 2.6])
def test_adp(epsilon: float) -> None:
    """GRR iff k < 3 e^epsilon + 2, in SMP as for a single attribute."""
    ks = list(range(2, 48, 3))
    exact = Objective(f=0.0, tolerance=0.0)
    best = consider(ks, epsilon, 100, exact, mechanisms="SMP", protocols=("grr", "oue"))[0]
    rule = ["grr" if k < 3 * math.exp(epsilon) + 2 else "oue" for k in ks]
    assert list(best.protocols) == rule
    for k, name in zip(ks, rule, strict=True):
        alone = consider([k], epsilon, 100, exact, protocols=("grr", "oue"))[0]
        assert alone.name == name
        assert alone.parts == (dn.adaptive(k, epsilon, among=("grr", "oue"), f=0.0),)


@pytest.mark.parametrize("ks", [[3, 4, 30], [2, 60], [7, 7, 7, 7]])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_rsfd_adp(ks: list[int], epsilon: float) -> None:
    best = consider(ks, epsilon, 100, Objective(f=0.0), mechanisms="RS+FD", protocols=("grr", "oue-z"))[0]
    assert best.mechanism == rsfd(ks, epsilon, "adaptive")


@pytest.mark.parametrize(("first", "forever"), [(0.3, 0.5), (0.6, 2.0), (1.2, 2.0), (2.4, 4.0)])
def test_two_rounds_by_the_number_of_values(first: float, forever: float) -> None:
    """L-GRR iff k <= 3 e^epsilon_first + 2."""
    ks = list(range(2, 40, 3))
    best = consider_repeated(ks, first, forever, 100, Objective(f=0.0), protocols=("l_grr", "l_osue"))[0]
    assert list(best.protocols) == ["l_grr" if k <= 3 * math.exp(first) + 2 else "l_osue" for k in ks]


@by_night("per", ["record", "attribute"], "attribute")
def test_fakes_are_not_chosen_unless_they_are_named(per: Per) -> None:
    """At the same loss they err more than a sample, whatever is asked and read."""
    for ks, epsilon in product(([2, 2], [3, 60]), (0.2, 4.0)):
        for objective in (Objective(), Objective(f=0.0, success_cap=0.9)):
            assert not isinstance(consider(ks, epsilon, 5000, objective, per=per)[0].mechanism, Faked)


@pytest.mark.parametrize("per", ["record", "attribute"])
@pytest.mark.parametrize("name", [*FAKED, "ss", "olh", "plh", "hr"])
def test_named_fakes_are_those_of_rsfd(name: str, per: Per) -> None:
    ks = [3, 8, 5]
    row = consider(ks, 1.0, 1000, mechanisms="RS+FD", protocols=name, per=per)[0]
    assert row.name == f"RS+FD[{name}]"
    theirs = rsfd(ks, 1.0, name, calibration=per)
    if per == "record":
        assert row.mechanism == theirs
    assert row.loss_attribute == pytest.approx(theirs.loss("attribute"), abs=1e-9)
    assert row.errors == pytest.approx([theirs.marginal(j).error(1000) for j in range(3)], rel=1e-6)


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "the", "blh", "olh", "ss", "hr"])
def test_named_protocols_are_those_of_the_papers(name: str) -> None:
    ks = [3, 8, 5]
    rows = {row.name: row for row in consider(ks, 1.0, 1000)}
    rows |= {row.name: row for row in consider(ks, 1.0, 1000, protocols=name)}
    assert rows[f"SPL[{name}]"].mechanism == spl(ks, 1.0, name)
    assert rows[f"SMP[{name}]"].mechanism == smp(ks, 1.0, name)


def test_names_for_some_attributes() -> None:
    best = consider([3, 50, 4], 1.0, 1000, mechanisms=["SMP"], protocols={0: "oue", 2: ("hr", "sue")})[0]
    free = consider([3, 50, 4], 1.0, 1000, mechanisms=["SMP"])[0]
    assert best.protocols[0] == "oue"
    assert best.protocols[1] == free.protocols[1]
    assert best.protocols[2] in ("hr", "sue")
    assert consider([3, 50, 4], 1.0, 1000, protocols="adaptive") == consider([3, 50, 4], 1.0, 1000)


def test_oue_stands_for_both_of_its_fakes_and_what_has_none_says_so() -> None:
    names = {row.name for row in consider([3, 5], 1.0, 100, mechanisms="RS+FD", protocols="oue")}
    assert names == {"RS+FD[oue-z]", "RS+FD[oue-r]"}
    rows = consider([3, 5], 1.0, 100, protocols="ss")
    assert [row.name for row in possible(rows)] == ["SMP[ss]", "RS+FD[ss]", "SPL[ss]"]
    rows = consider([3, 5], 1.0, 100, protocols="sue-z")
    assert [row.name for row in possible(rows)] == ["RS+FD[sue-z]"]
    assert rows[-1].mechanism is None
    assert rows[-1].why_not is not None
    assert "has no sue-z" in rows[-1].why_not
    assert not rows[-1].parts
    assert not rows[-1].errors


def test_what_cannot_be_built_is_listed_with_the_reason() -> None:
    rows = consider([3, 5], 25.0, 100)  # olh has no hash with so many buckets
    (olh,) = [row for row in rows if row.name == "SMP[olh]"]
    assert olh.mechanism is None
    assert "buckets" in (olh.why_not or "")
    assert rows[0].why_not is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"ks": []},
        {"ks": [1, 3]},
        {"epsilon": 0.0},
        {"n": 0},
        {"mechanisms": "smp"},
        {"mechanisms": []},
        {"protocols": "she"},
        {"protocols": {5: "grr"}},
        {"protocols": 3},
        {"protocols": True},
        {"protocols": [3]},
        {"protocols": {0: 3}},
        {"protocols": {0: {"grr": 1}}},
        {"mechanisms": 3},
        {"objective": "least"},
        {"per": "person"},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    asked: dict[str, object] = {"ks": [3, 4], "epsilon": 1.0, "n": 10, **wrong}
    with pytest.raises(dn.InvalidParameter):
        consider(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"success_cap": 0.0},
        {"success_cap": "0.5"},
        {"success_cap": True},
        {"bytes_cap": 0},
        {"worst": "yes"},
        {"worst": 1},
        {"f": 2.0},
        {"f": "x"},
        {"f": True},
        {"f": math.nan},
        {"people": "all"},
    ],
)
def test_an_objective_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(dn.InvalidParameter):
        Objective(**wrong)  # type: ignore[arg-type]


def test_sizes_of_reports() -> None:
    rows = {row.name: row.report_bytes for row in consider([3, 100, 300], 1.0, 10)}
    assert rows["SPL[oue]"] == Size(1 + 13 + 38, 1 + 13 + 38)
    assert rows["SMP[oue]"].expected == pytest.approx(1 + 52 / 3)  # and which attribute it is
    assert rows["SMP[oue]"].most == 1 + 38
    assert rows["RS+FD[grr]"] == Size(1 + 1 + 2, 1 + 1 + 2)
    assert consider([100], 1.0, 10, protocols="oue")[0].report_bytes == Size(13, 13)


@given(st.lists(st.integers(2, 60), min_size=1, max_size=4), st.floats(0.2, 4.0), st.floats(0.003, 0.2))
@settings(max_examples=8)
def test_people_needed_is_the_fewest(ks: list[int], epsilon: float, target: float) -> None:
    n = people_needed(ks, target, epsilon)
    assert max(consider(ks, epsilon, n)[0].standard_errors) <= target * (1 + 1e-12)
    if n > 1:
        assert max(consider(ks, epsilon, n - 1)[0].standard_errors) > target
    assert people_needed(ks, [target] * len(ks), epsilon) == n


@by_night(
    ("ks", "n", "target"),
    [([4], 3000, 0.01), ([3, 20], 20_000, 0.02), ([2, 3, 9], 900, 0.05)],
    ([3, 20], 20_000, 0.02),
    ([2, 3, 9], 900, 0.05),
)
def test_epsilon_needed_is_the_smallest_in_thousandths(ks: list[int], n: int, target: float) -> None:
    epsilon = epsilon_needed(ks, target, n)
    assert max(consider(ks, epsilon, n)[0].standard_errors) <= target
    assert max(consider(ks, round(epsilon - 0.001, 3), n)[0].standard_errors) > target
    assert people_needed(ks, target, epsilon) <= n < people_needed(ks, target, round(epsilon - 0.001, 3))


def test_a_target_that_no_epsilon_reaches() -> None:
    with pytest.raises(dn.InvalidParameter, match="ask more people"):
        epsilon_needed([3, 3], 0.001, 1000, Objective(people="everyone"), mechanisms="SMP")


@pytest.mark.parametrize(
    "target", [0.0, math.nan, [0.1], [0.1, -1.0], True, "ab", pytest.param(10**400, id="large")]
)
def test_a_target_that_makes_no_sense_is_refused(target: float | list[float]) -> None:
    with pytest.raises(dn.InvalidParameter, match="target must be a positive standard error"):
        people_needed([3, 3], target, 1.0)


@pytest.mark.parametrize("target", [1e-170, 1e-300, 1e-12])
def test_a_target_that_no_number_of_people_reaches_is_refused(target: float) -> None:
    with pytest.raises(dn.InvalidParameter, match=rf"an error of {target} takes more than 2\^53 people"):
        people_needed([3, 3], target, 1.0)
    assert people_needed([3, 3], 1e200, 1.0) == 1
    assert people_needed([3, 3], 1e-7, 1.0) == pytest.approx(people_needed([3, 3], 1e-3, 1.0) * 1e8, rel=1e-5)


def test_a_warning_before_noise() -> None:
    noisy, clear = consider([92, 2], 0.5, 5000)[0], consider([4, 2], 1.0, 100_000)[0]
    assert warning(clear, 100_000) is None
    text = warning(noisy, 5000)
    assert text is not None
    assert "noise" in text
    assert "92 values" in text
    words = text.replace(",", "").split()
    people, epsilon = (
        int(words[words.index("takes") + 1]),
        float(words[len(words) - words[::-1].index("epsilon")]),
    )
    assert next(list_precisions(consider([92, 2], 0.5, people)[0])).use == "useful"
    assert next(list_precisions(consider([92, 2], 0.5, people - 1)[0])).use == "rough"
    assert warning(noisy, people) is None  # the same choice, looked at for other people
    assert warning(consider([92, 2], epsilon, 5000, mechanisms="SMP")[0], 5000) is None
    assert warning(consider([92, 2], round(epsilon - 0.001, 3), 5000, mechanisms="SMP")[0], 5000) is not None


def test_a_warning_and_the_table_name_the_same_people() -> None:
    """A warning had a quarter of them, another margin, and a mean that nobody could place."""
    homes = dn.Grid(47, 7, 48, 8.5, rows=10, columns=12, epsilon=2.5e-5)
    for epsilon, people in ((0.05, None), (0.02, "over 10,000,000")):
        asked = {"age": dn.Range(0, 100, step=1, privacy="metric", epsilon=epsilon), "home": homes}
        plan = dn.Study(asked).plan(people=3000)
        text = " ".join(plan.explain().split())
        shares = next(row for row in plan.precisions() if (row.attribute, row.what) == ("age", "group"))
        assert f"known only to within {shares.format_margin()} either way. The same goes for 'home'." in text
        many = "More people than can be expected"
        shown = many if people else f"It takes {shares.people_enough():,} people"
        assert shown in text
        assert f"{shares.format_margin()} too noisy to read {people or f'{shares.people_enough():,}'}" in text
        assert "The mean of 'age' is known better." in text


@pytest.mark.long
def test_more_devices_than_a_survey_has_people_may_be_asked() -> None:
    """Fifty million report, and some more would do: ten million was the most of all that was said."""
    plan = dn.Study({"model": [f"{i}" for i in range(100)]}, epsilon=0.05).plan(people=50_000_000)
    [shares] = plan.precisions()
    assert 10_000_000 < shares.people_enough() < 500_000_000
    assert f"{shares.people_enough():,} people make it useful" in shares.judge()
    assert "over 10,000,000" not in plan.explain()


@pytest.mark.parametrize("k", [2, 3, 10, 50])
def test_a_warning_before_reports_tell_the_answers(k: int) -> None:
    """Half of the way from a blind guess to certainty takes an epsilon above ln(k + 1), and direct encoding
    needs no more.
    """
    limit = math.log(k + 1)
    for protocol in ("grr", "ss", "oue", "olh"):
        assert (
            exposure(consider([k, 2 * k], 0.999 * limit, 1000, mechanisms="SMP", protocols=protocol)[0])
            is None
        )
    (told,) = consider({"smokes": k}, 1.001 * limit, 1000, protocols="grr")
    text = exposure(told) or ""
    assert text.startswith("A report nearly reveals the answer: the best guess is right for ")
    guessed = f"{100 * told.success_reported[0]:.1f} % of those who report 'smokes'"
    assert f"{guessed}, a blind one for {100 / k:.1f} %" in text
    assert "The same goes for attribute 1." in (
        exposure(consider([k, k], 9.0, 1000, mechanisms="SMP")[0]) or ""
    )


def test_warnings_name_the_attributes_they_are_about() -> None:
    sizes = dict.fromkeys("abcdef", 60)
    for d, others in (
        (2, "'b'"),
        (3, "'b' and 'c'"),
        (4, "'b', 'c' and 'd'"),
        (6, "'b', 'c', 'd' and 2 more"),
    ):
        some = dict(list(sizes.items())[:d])
        assert f"either way. The same goes for {others}. It takes" in (
            warning(consider(some, 0.5, 500)[0], 500) or ""
        )
        assert f"%. The same goes for {others}. A smaller" in (exposure(consider(some, 60.0, 500)[0]) or "")


@pytest.mark.parametrize(
    "part",
    [dn.metric.geometric(19, 0.6), dn.metric.planar_geometric(dn.Grid(47.6, 6.8, 47.7, 6.95, 10, 10), 0.001)],
)
def test_a_warning_that_far_values_do_not_hide_each_other(part: MetricMechanism) -> None:
    """It says how often the better of two guesses is right, from the exact law here; and nothing where they
    do.
    """

    def about(*parts: MetricMechanism) -> Considered:
        names = tuple("xy"[: len(parts)])
        mechanism = parts[0] if len(parts) == 1 else Split(parts)
        return Considered.of(
            mechanism,
            "SPL" if len(parts) > 1 else "",
            ["metric"] * len(parts),
            1000,
            Objective(),
            names=names,
        )

    matrix = part.law.matrix()
    right = max(np.maximum(one, other).sum() / 2 for one in matrix for other in matrix)
    assert right > 0.99
    assert exposure(about(part)) is None
    warned = warn_distant(about(part)) or ""
    assert "Only nearby values of 'x' hide each other. " in warned
    assert f" {math.floor(1000 * right) / 10:.1f} % of reports reveal which of the two" in warned
    assert warn_distant(about(dn.metric.geometric(9, 0.5))) is None  # 4.5 in the worst case
    assert "goes for" not in (warn_distant(about(part, dn.metric.geometric(9, 0.5))) or "")
    both = warn_distant(about(part, part)) or ""
    assert "The same goes for 'y'. To hide distant values, too, take a smaller epsilon of these" in both
    assert (
        warn_distant(about(dn.metric.geometric(9, 9.0))) is None
    )  # any two are told apart, and the other warning says it
    assert exposure(about(dn.metric.geometric(9, 9.0))) is not None


def test_the_warning_of_rounds_is_about_all_of_them() -> None:
    """One report hides the answer, and any number of them tell what is kept."""
    for protocol in ("l_grr", "l_sue", "loloha"):
        hidden, told = (
            consider_repeated([2], 0.5, forever, 1000, protocols=protocol)[0] for forever in (1.0, 4.0)
        )
        assert exposure(hidden) is None
        assert told.success_reported[0] < 0.65
        assert "reports of one person together nearly reveal " in (exposure(told) or ""), protocol
    chain = dn.rounds.l_grr(2, 0.5, 4.0)
    text = exposure(consider_repeated([2], 0.5, 4.0, 1000, protocols="l_grr")[0]) or ""
    assert f"right for {100 * chain.first.success():.1f} %" in text
    text = dn.Study({"a": ["x", "y"]}, epsilon_first=0.5, epsilon_forever=4.0, rounds=5).plan(100).explain()
    assert "together nearly reveal" in " ".join(text.split())
    rare = dn.Study({"a": ["x", "y"]}, epsilon_first=0.5, epsilon_forever=4.0, rounds=50, protocol="l_grr")
    for turns, chance in ((1, 0.622), (2, 0.73), (30, None)):  # e^0.5 / (e^0.5 + 1), and of twice that
        plan = replace(rare, turns=turns).plan(100)
        warned = "together nearly reveal" in " ".join(plan.explain().split())
        assert warned == (chance is None)
        row = reconsider(plan.document, plan.considered)
        guess = chain.first.success() if chance is None else chance
        assert row.revealed[0] == pytest.approx(guess, abs=2e-3)
    for first, last, rounds, is_warned in (
        (4.0, 4.0, 1, False),  # few reports tell less than what is kept
        (4.0, 4.0, 15, True),
        (4.0, 1.0, 15, True),  # the plan before has told
        (1.0, 1.0, 15, False),
    ):
        before, after = (replace(rare, rounds=rounds, epsilon_forever=forever) for forever in (first, last))
        plan = after.plan(100, continues=before.plan(100))
        explained = " ".join(plan.explain().split())
        assert ("together nearly reveal" in explained) == is_warned, (first, last)
        assert ("Reports to the plans before reveal it" in explained) == (is_warned and last == 1.0)
        losses = bound_question((*plan.document.continues, plan.document), 0)
        row = reconsider(plan.document, plan.considered)
        assert row.revealed[0] == pytest.approx(1 / (1 + math.exp(-losses.same_value)))
    many = dn.Study(
        {"a": list("abcdefghij")}, epsilon_first=1.0, epsilon_forever=2.0, rounds=20, protocol="l_osue"
    ).plan(100)
    assert "promises nothing" in " ".join(many.explain().split())
    assert "promises nothing" not in text


@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_the_comparison_is_for_the_rounds_of_the_study(rounds: int) -> None:
    """What changing values give away is the same number in the table, in the text and in the plan."""
    asked = {"a": list("abc"), "b": list("abcde")}
    plan = dn.Study(asked, epsilon_first=2.0, epsilon_forever=3.0, rounds=rounds).plan(600)
    text = plan.explain()
    table = text[text.index("What was considered") :].splitlines()
    end = table[1].index("changing") + len("changing")
    losses = plan.loss.repeated
    assert losses is not None
    said = format_up(losses.changing_values)
    assert table[2][:end].split()[-1] == said
    shown = f"{said} (exact)" if losses.changing_values_exact else f"at most {said} (a bound)"
    assert (
        f"{format_count(rounds, 'report')} of values that change, against any other sequence: {shown}" in text
    )
    assert (
        f"changing: what {rounds} report{'' if rounds == 1 else 's'} of values that change give away" in text
    )


def test_a_warning_for_a_single_attribute_for_rounds_and_for_nothing() -> None:
    alone = warning(consider([50], 0.5, 1000)[0], 1000)
    assert alone is not None
    assert "With these people epsilon" in alone
    again = warning(consider_repeated([50, 3], 0.3, 0.6, 100)[0], 100)
    assert again is not None
    assert again.endswith("people at this epsilon to be useful.")
    hopeless = warning(consider([92] * 12, 1.0, 30)[0], 30)
    assert hopeless is not None
    assert hopeless.endswith("No reasonable epsilon, up to 5, is enough with these people.")
    with pytest.raises(dn.InvalidParameter, match="cannot be built"):
        warning(consider([3, 5], 25.0, 100, mechanisms="SMP", protocols=("olh", "blh"))[-1], 100)


def test_repeated_collection_states_its_losses_and_its_limits() -> None:
    rows = {row.name: row for row in consider_repeated([3, 50, 200], 1.8, 2.0, 1000)}
    assert {"SMP[l_grr]", "SMP[l_sue]", "SMP[l_osue]", "SMP[l_oue]", "SMP[l_soue]", "SMP[loloha]"} <= set(
        rows
    )
    assert "at most" in (rows["SMP[l_oue]"].why_not or "")  # beyond what this pair of rounds can do
    for row in rows.values():
        if row.mechanism is not None:
            assert row.loss_record <= 1.8 < row.loss_record + 1e-9
            assert row.loss_forever is not None
            assert row.loss_forever <= 2.0 < row.loss_forever + 1e-9
    alone = consider_repeated([50], 0.5, 1.0, 1000)
    assert alone[0].mechanism is not None
    assert isinstance(alone[0].mechanism, dn.records.Single)
    assert {row.name for row in alone} == {"l_grr", "l_sue", "l_osue", "l_oue", "l_soue", "loloha"}
    errors = [row.errors[0] for row in alone]
    assert errors == sorted(errors)


def test_the_error_about_everyone_is_the_one_that_is_seen() -> None:
    """SMP at a large epsilon: what one attribute of d each leaves unknown is nearly all of the error."""
    ks, epsilon, n, repeats = [3, 3, 3, 3], 6.0, 600, 400
    (row,) = consider(ks, epsilon, n, Objective(people="everyone"), mechanisms="SMP", protocols="grr")
    (answered,) = consider(ks, epsilon, n, Objective(people="answered"), mechanisms="SMP", protocols="grr")
    assert isinstance(row.mechanism, Sample)
    column = np.arange(n) % 3  # uniform
    table = np.column_stack([column] * 4)
    words = dn.seeded(5)
    squares = []
    for _ in range(repeats):
        estimates = row.mechanism.estimate(row.mechanism.tally(row.mechanism.privatize(table, words)))
        squares.append(np.mean([(estimate.frequencies - 1 / 3) ** 2 for estimate in estimates]))
    seen, error = float(np.mean(squares)), float(np.std(squares) / math.sqrt(repeats))
    assert abs(seen - np.mean(row.errors)) < 5 * error + 0.02 * seen
    assert np.mean(answered.errors) < 0.2 * seen


def test_about_everyone_splitting_wins_at_a_large_epsilon() -> None:
    ks, n = [3] * 10, 1000
    assert consider(ks, 12.0, n, Objective(people="answered"))[0].name.startswith("SMP[")
    assert consider(ks, 40.0, n, Objective(people="everyone"))[0].name.startswith("SPL[")


@pytest.mark.parametrize("ks", [[3, 9, 4, 3, 6, 3, 5, 3], [2] * 8, [60, 2, 2, 2, 2, 2, 2, 90]])
@by_night("epsilon", [0.5, 2.0, 4.0, 7.0, 12.0, 16.0, 25.0], 0.5, 4.0, 7.0, 16.0)
def test_several_attributes_each_can_err_least_about_everyone(ks: list[int], epsilon: float) -> None:
    """Every r of d, at an equal part of epsilon each, from the laws alone."""
    n = 1000
    best = consider(ks, epsilon, n, Objective(tolerance=0.0), mechanisms=None, protocols=PLAIN)[0]
    scores = {}
    for r in range(1, 9):
        budget, each = equal_part(epsilon, r), []
        for k in ks:
            least = min(PROTOCOLS[name].make(k, budget).law.error(1) for name in PLAIN)
            each.append((least * 8 / r + (8 / r - 1) * (1 - 1 / k) / k) / n)
        scores[r] = np.exp(np.mean(np.log(each)))
    r = min(scores, key=lambda r: scores[r])
    assert best.name.partition("[")[0] == ("SPL" if r == 8 else "SMP" if r == 1 else f"SMP-{r}")
    assert np.exp(np.mean(np.log(best.errors))) == pytest.approx(scores[r], rel=1e-9)
    assert best.loss_record <= epsilon


def test_several_attributes_each_by_name() -> None:
    ks, epsilon, n = [3, 9, 4, 3, 6, 3, 5, 3], 12.0, 1000
    assert consider(ks, epsilon, n)[0].name.startswith("SMP-")
    named = consider(ks, epsilon, n, mechanisms="SMP-3", protocols="grr")[0]
    assert named.mechanism == smp(ks, epsilon, "grr", attributes=3)
    assert len({row.kind for row in consider(ks, epsilon, n) if row.name.startswith("SMP-")}) == 1
    with pytest.raises(dn.InvalidParameter, match="SMP-8"):
        consider(ks, epsilon, n, mechanisms="SMP-8")  # that is splitting


@by_night("drawn", [2, 3], 3)
def test_several_attributes_within_a_cap_on_bytes(drawn: int) -> None:
    """Whichever are drawn must fit: all combinations, one by one."""
    ks, epsilon, n = (3, 70, 20, 40), 3.0, 100
    budget = equal_part(epsilon, drawn)
    options = [[PROTOCOLS[name].make(k, budget) for name in PLAIN] for k in ks]
    for most in range(drawn * 2 - 1, 40, 3):
        for worst in (False, True):
            objective = Objective(bytes_cap=most, worst=worst, people="answered", tolerance=0.0)
            row = consider(ks, epsilon, n, objective, mechanisms=f"SMP-{drawn}", protocols=PLAIN)[0]
            least = [min(part.law.error(1) for part in parts) * 4 / drawn / n for parts in options]
            scores = [
                objective.score([part.law.error(1) * 4 / drawn / n for part in parts], least, [1.0] * 4)
                for parts in product(*options)
                if drawn + sum(sorted(part.report_bytes for part in parts)[-drawn:]) <= most
            ]
            assert (row.why_not is None) == bool(scores)
            if scores:
                assert row.report_bytes.most <= most
                assert objective.score(row.errors, least, [1.0] * 4) == pytest.approx(min(scores), rel=1e-9)


def mechanisms_to_attack() -> Iterator[tuple[str, RecordMechanism]]:
    yield "SPL", spl([3, 2], 2.0, "grr")
    yield "SMP", smp([3, 2, 2], 1.0, "oue")
    yield "SMP-2", smp([3, 2, 2], 2.0, "grr", attributes=2)
    for name in FAKED:
        yield "RS+FD", rsfd([3, 2], 1.0, name)
        yield "RS+FD", rsfd([2, 3, 2], 1.5, name, "published")
    for published in ("perturbed", "published"):
        yield "RS+RFD", rsrfd([3, 2], 1.0, [[0.7, 0.2, 0.1], [0.9, 0.1]], fakes=published)
    yield "RS+RFD", rsrfd([3, 2], 2.0, [[0.7, 0.2, 0.1], [0.9, 0.1]], "oue-r")


@pytest.mark.parametrize(("kind", "mechanism"), list(mechanisms_to_attack()))
def test_the_best_guess_from_a_whole_report_by_enumeration(kind: str, mechanism: RecordMechanism) -> None:
    """An attacker who knows the law of every record's report, and takes all records as equally likely."""
    assert isinstance(mechanism, Split | Sample | Faked)
    records = enumeration.records_of(mechanism)
    laws = {record: enumeration.law_of(mechanism, record) for record in records}
    stated = Considered.of(mechanism, kind, ["any"] * mechanism.d, 100, Objective())
    for j, part in enumerate(mechanism.mechanisms):
        joint: dict[object, dict[int, float]] = {}
        for record, law in laws.items():
            for report, chance in law.items():
                of = joint.setdefault(report, {})
                of[record[j]] = of.get(record[j], 0.0) + float(chance) / len(records)
        right = math.fsum(max(of.values()) for of in joint.values())
        assert stated.success[j] == pytest.approx(right, abs=1e-12)
        assert stated.success_reported[j] == part.success()


def test_mechanisms_can_be_compared_by_their_guesses() -> None:
    """Not naming the attribute does not help against a guess: at equal loss per record RS+FD[grr] is as open
    as SMP[grr].
    """
    rows = {row.name: row for row in consider([4, 9, 3], 1.0, 100, protocols="grr")}
    assert rows["RS+FD[grr]"].success == pytest.approx(rows["SMP[grr]"].success)
    assert rows["SMP[grr]"].success[0] == pytest.approx(dn.grr(4, 1.0).success() / 3 + 2 / 3 / 4)


def test_realistic_fakes_where_there_are_priors() -> None:
    ks, priors = [3, 5], [[0.5, 0.3, 0.2], [0.4, 0.3, 0.1, 0.1, 0.1]]
    for per in ("record", "attribute"):
        rows = {row.name: row for row in consider(ks, 1.0, 100, per=per, priors=priors)}
        for name in ("grr", "oue-r", "sue-r"):
            theirs = rsrfd(ks, 1.0, priors, name, calibration=per)
            row = rows[f"RS+RFD[{name}]"]
            assert row.mechanism == theirs
            assert row.errors == pytest.approx([theirs.marginal(j).error(100) for j in range(2)])
            assert {"record": row.loss_record, "attribute": row.loss_attribute}[per] <= 1.0
    assert not any(row.name.startswith("RS+RFD") for row in consider(ks, 1.0, 100))
    few = consider(ks, 1.0, 300, mechanisms="RS+RFD", priors=priors)[0]
    assert "With these people epsilon" in (warning(few, 300) or "")
    with pytest.raises(dn.InvalidParameter, match="give priors"):
        consider(ks, 1.0, 100, mechanisms="RS+RFD")
    with pytest.raises(dn.InvalidParameter, match="2 attributes, but 1 priors"):
        consider(ks, 1.0, 100, priors=priors[:1])


def test_kept_bits_only_if_they_are_named() -> None:
    """Without fresh noise a change shows, so that no study slides into it."""
    assert not any("dbitflip" in row.name for row in consider_repeated([50], 1.0, 2.0, 1000))
    (row,) = consider_repeated([50], 1.0, 2.0, 1000, protocols="dbitflip")
    assert row.parts == (dn.rounds.dbitflip(50, 1.0, 50),)  # all bits err least
    assert row.loss_record <= 1.0
    assert row.loss_forever is not None
    assert row.loss_forever <= 1.0
    (small,) = consider_repeated([50], 1.0, 2.0, 1000, Objective(bytes_cap=20), protocols="dbitflip")
    (part,) = small.parts
    assert isinstance(part, BitFlip)
    assert part.bits == 16
    assert small.report_bytes.most == 18


def test_kept_bits_err_as_much_as_is_stated() -> None:
    """About everyone: each value is known from the people who are asked about it, a part of all."""
    k, bits, n, repeats = 4, 2, 400, 300
    mechanism = dn.records.Sample((dn.rounds.dbitflip(k, 3.0, bits), dn.rounds.dbitflip(k, 3.0, bits)))
    row = Considered.of(mechanism, "SMP", ["dbitflip"] * 2, n, Objective())
    table, words, squares = np.column_stack([np.arange(n) % k] * 2), dn.seeded(3), []
    for _ in range(repeats):
        estimates = mechanism.estimate(mechanism.tally(mechanism.privatize(table, words)))
        squares.append(np.mean([(estimate.frequencies - 1 / k) ** 2 for estimate in estimates]))
    seen, error = float(np.mean(squares)), float(np.std(squares) / math.sqrt(repeats))
    assert abs(seen - np.mean(row.errors)) < 5 * error + 0.02 * seen
    alone = Considered.of(
        dn.records.Sample(mechanism.mechanisms), "SMP", ["dbitflip"] * 2, n, Objective(people="answered")
    )
    assert np.mean(alone.errors) < 0.8 * seen


def test_messages_name_the_attributes() -> None:
    sizes = {"smokes": 2, "town": 90}
    rows = consider(sizes, 1.0, 100, Objective(success_cap=0.5))
    assert all("a guess of 'smokes' is right" in (row.why_not or "") for row in rows)
    with pytest.raises(dn.InvalidParameter, match="a guess of 'smokes'"):
        people_needed(sizes, 0.01, 1.0, Objective(success_cap=0.5))
    with pytest.raises(dn.InvalidParameter, match=r"nothing fits this study.*a guess of 'smokes'"):
        dn.Study(
            {"town": list("abc"), "smokes": ["y", "n"]}, epsilon=1.0, objective=Objective(success_cap=0.5)
        ).plan(100)
    assert "noise. 'town' has 90 values" in (warning(consider(sizes, 0.5, 1000)[0], 1000) or "")
    assert "noise. Attribute 1 has 90 values" in (warning(consider([2, 90], 0.5, 1000)[0], 1000) or "")


@pytest.mark.long
def test_the_advice_of_a_budget_per_attribute_is_per_attribute() -> None:
    """What it says is enough, and a thousandth less is not."""

    def warn(epsilon: float) -> str | None:
        return warning(consider([8, 6], epsilon, 100, mechanisms="RS+FD", per="attribute")[0], 100)

    text = warn(0.3) or ""
    advised = re.search(r"With these people epsilon ([\d.]+) per attribute makes it rough", text)
    assert advised, text
    epsilon = float(advised[1])
    assert "noise" not in (warn(epsilon) or "")
    assert "noise" in (warn(epsilon - 0.001) or "")


@pytest.mark.long
def test_warnings_of_a_small_crowd_do_not_contradict_each_other() -> None:
    """The one against noise recommends no epsilon that the other warns of, and both together say what is
    left.
    """
    ways_out = set()
    for k, n, epsilon in product((2, 5, 30), (20, 100, 500), (0.2, 1.0, 3.0)):
        best = consider([k], epsilon, n)[0]
        text = warning(best, n) or ""
        found = re.search(r"With these people epsilon ([\d.]+) makes it rough(.*)", text)
        if found:
            told = exposure(consider([k], float(found[1]), n)[0])
            assert (told is not None) == ("But then a report nearly reveals an answer" in found[2])
            ways_out.add(told is None)
    assert ways_out == {True, False}
    labels = [f"value {i}" for i in range(30)]
    both = (
        dn.Study({"a": labels, "b": ["yes", "no"]}, epsilon=3.0).plan(people=50).explain().replace("\n", " ")
    )
    assert "would be noise" in both
    assert "nearly reveals the answer" in both
    assert "no epsilon helps: " in both
    alone = dn.Study({"b": ["yes", "no"]}, epsilon=3.0).plan(people=50_000).explain().replace("\n", " ")
    assert "nearly reveals the answer" in alone
    assert "no epsilon helps" not in alone


@by_night("per", ["record", "attribute"], "attribute")
@by_night("mechanism", ["split", "sample", "faked", None], "split", "faked", None)
def test_a_plan_explains_the_row_that_was_chosen(mechanism: str | None, per: Per) -> None:
    """Its errors, guesses, bytes and losses, recomputed from its integers: what names the attribute is
    counted.
    """
    asked = {"town": [f"t{i}" for i in range(40)], "smokes": ["yes", "no"], "age": dn.Range(0, 100, step=10)}
    plan = dn.Study(asked, epsilon=0.5, mechanism=mechanism, per=per).plan(people=20_000)
    here, chosen = explain.reconsider(plan.document, plan.considered), plan.considered[0]
    assert (here.kind, here.per, here.report_bytes) == (chosen.kind, per, chosen.report_bytes)
    assert here.errors == pytest.approx(chosen.errors)
    assert here.success == pytest.approx(chosen.success)
    assert (here.loss_record, here.loss_attribute) == (chosen.loss_record, chosen.loss_attribute)
    advice = re.search(
        r"With these people epsilon [\d.]+( per attribute)? makes", plan.explain().replace("\n", " ")
    )
    assert advice
    assert (advice[1] is not None) == (per == "attribute")
    text = warning(chosen, 20_000)
    assert text is not None
    assert text.partition("or epsilon ")[2] in plan.explain().replace("\n", " ")


def test_the_best_of_each_kind_is_listed() -> None:
    """The four best are all of one kind."""
    plan = dn.Study({"a": list("abcdefghij"), "b": list("abcdefghij")}, epsilon=1.0).plan(1000)
    rows = re.findall(r"^(SPL|SMP|RS\+FD)\[", plan.explain(), re.MULTILINE)
    assert sorted(rows) == ["RS+FD", "SMP", "SMP", "SPL"]


def test_what_is_the_same_is_listed_once_under_its_names() -> None:
    """Of two values a subset has one: the figures are those of direct encoding. Of five they differ."""
    alike = dn.Study({"a": ["y", "n"], "b": ["y", "n"]}, epsilon=1.0, mechanism="sample").plan(100)
    lines = [line for line in alike.explain().splitlines() if line.startswith("SMP[")]
    names = [line.split("  ")[0].split(" or ") for line in lines]
    assert any({"SMP[grr]", "SMP[ss]"} <= set(some) for some in names)
    assert (len(names), len({name for some in names for name in some})) == (4, sum(map(len, names)))
    other = dn.Study({"a": list("abcde"), "b": ["y", "n"]}, epsilon=0.5, mechanism="sample").plan(100)
    assert not re.search(r"SMP\[grr\].* or |or SMP\[grr\]", other.explain())


@pytest.mark.parametrize("judged", ["worst", "squares"])
def test_metric_attributes_hide_no_other_error(judged: str) -> None:
    """Their shares have errors of hundreds of points, beside which every choice looked alike."""
    objective = Objective(**{judged: True})  # type: ignore[arg-type]
    metric = Question(20, list_readings(dn.Range(0, 20), 20), mechanism=dn.metric.geometric(19, 0.1))
    alone = consider([Question(2), Question(30)], 1.0, 1000, objective)[0]
    beside = consider([Question(2), metric, Question(30)], 1.0, 1000, objective)[0]
    assert beside.kind == "SPL+SMP"
    assert [beside.errors[0], beside.errors[2]] == pytest.approx(alone.errors, rel=1e-9)
    assert beside.errors[1] > 10 * max(alone.errors)
    only = consider([metric, metric], 1.0, 1000, objective)[0]
    assert only.score == pytest.approx(1.0)


@pytest.mark.parametrize("judged", ["worst", "squares"])
def test_metric_attributes_take_no_people_from_others(judged: str) -> None:
    """What is not judged is drawn by importance, and its errors do not divide people."""
    objective = Objective(**{judged: True})  # type: ignore[arg-type]
    metric = Question(60, list_readings(dn.Range(0, 60), 60), mechanism=dn.metric.geometric(59, 0.2))
    alone = consider([Question(2), Question(5)], 1.0, 1000, objective, mechanisms="SMP")[0]
    beside = consider([Question(2), metric, Question(5)], 1.0, 1000, objective, mechanisms="SMP")[0]
    assert float(beside.chances[1]) == pytest.approx(1 / 3, abs=0.001)
    ratios = [float(row.chances[-1] / row.chances[0]) for row in (alone, beside)]
    assert ratios[1] == pytest.approx(ratios[0], rel=0.005)
    assert ratios[0] > 1.1


def test_reports_are_counted_at_once_where_there_are_many() -> None:
    """Where people times values are 10^10, for single shares; sums of neighbors would err much more."""

    def chosen(question: int | Question, n: int, epsilon: float = 1.0, named: str | None = None) -> str:
        return consider([question], epsilon, n, protocols=named)[0].protocols[0]

    assert chosen(1000, 10**7) == "plh"
    assert chosen(1000, 10**7 - 1) != "plh"
    assert chosen(1000, 10**7, epsilon=6.0) != "plh", "a pool has too few buckets"
    assert chosen(1000, 10**7, named="ss") == "ss"
    assert chosen(3, 10**10) == "grr"
    ordered = Question(1000, list_readings(dn.Range(0, 1000, step=1), 1000))
    assert chosen(ordered, 10**8) != "plh"
    n = people_needed([1000], 0.0005, epsilon=1.0)
    assert math.sqrt(consider([1000], 1.0, n)[0].errors[0]) <= 0.0005
    assert math.sqrt(consider([1000], 1.0, n - 1)[0].errors[0]) > 0.0005


@pytest.mark.parametrize(("k", "cap"), [(4, None), (60, None), (60, 0.1), (1000, None), (1000, 0.01)])
def test_no_hash_of_its_own_is_counted_in_a_warehouse(k: int, cap: float | None) -> None:
    """The choice is the best of all others, and a little worse than the best of all."""
    freely, there = (Objective(success_cap=cap, counted_in=where) for where in ("collector", "warehouse"))
    rows = consider([k], 1.0, 1000, there)
    hashed = {"blh", "olh", "alh", "loloha"}
    assert not hashed & {name for row in rows for name in row.protocols}
    others = tuple(name for name in PROTOCOLS if name not in hashed and PROTOCOLS[name].classical)
    best = min(row.score for row in consider([k], 1.0, 1000, there, protocols=(*others, "plh")))
    assert rows[0].score <= best * 1.03
    assert rows[0].errors[0] <= 1.04 * consider([k], 1.0, 1000, freely)[0].errors[0]
    again = consider_repeated([k], 1.0, 2.0, 1000, there)
    assert not hashed & {name for row in again for name in row.protocols}
    assert k < 1000 or "loloha" in consider_repeated([k], 1.0, 2.0, 1000)[0].protocols
    assert k < 60 or cap is not None or again[0].protocols == ("l_plh",)


@pytest.mark.parametrize(("k", "n", "named"), [(4, 1000, "l_grr"), (20, 1000, "l_plh"), (3, 10**10, "l_grr")])
def test_a_public_pool_is_chosen_for_rounds_where_it_is_best(k: int, n: int, named: str) -> None:
    """Among all but hashes of their own; and wherever people times values are 10^10."""
    there = Objective(counted_in="warehouse")
    [best, *_] = consider_repeated([k], 1.0, 2.0, n, there)
    assert best.protocols == (named,)
    others = ("l_grr", "l_sue", "l_osue", "l_oue", "l_soue", "l_plh")
    among = [consider_repeated([k], 1.0, 2.0, n, there, protocols=name)[0].errors[0] for name in others]
    assert best.errors[0] == pytest.approx(min(among), rel=1e-9)
    assert "l_plh" not in {row.protocols[0] for row in consider_repeated([k], 1.0, 2.0, 1000)}
    [large, *_] = consider_repeated([1000], 1.0, 2.0, 10**7)
    assert large.protocols == ("l_plh",)


def test_a_file_says_where_reports_are_counted() -> None:
    text = """
objective = { counted_in = "warehouse" }

[repeat]
epsilon_first = 1.0
epsilon_forever = 2.0
rounds = 4

[attributes]
town = [LABELS]
"""
    labels = ", ".join(f'"{i}"' for i in range(60))
    plan = dn.Study.from_dict(tomllib.loads(text.replace("LABELS", labels))).plan(100_000)
    assert isinstance(plan.mechanism.mechanisms[0], dn.rounds.PooledMemoized)
    assert "counted by function and bucket: 120 numbers" in " ".join(plan.explain().split())


def test_where_reports_are_counted_is_one_of_two_places() -> None:
    with pytest.raises(dn.InvalidParameter, match=r"the place, 'collector' or 'warehouse', got 'lake'"):
        Objective(counted_in="lake")  # type: ignore[arg-type]
    plan = dn.Study({"town": [str(i) for i in range(200)]}, 1.0).plan(1000)
    assert "counting takes 200 hashes a report" in " ".join(plan.explain().split())
