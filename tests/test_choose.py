"""The choice is the best of all combinations, its figures are those of the laws, and no choice spends more than epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable import choose
from deniable.choose import Considered, Objective, Size, consider, consider_repeated, epsilon_needed, people_needed, warning
from deniable.longitudinal import allomfree
from deniable.multidimensional import equal_part, rsfd, smp, spl
from deniable.protocols import PROTOCOLS
from deniable.share import Faked, Per, Sample, Share, Split

PLAIN = ("grr", "oue", "hr", "ss")
FAKED = ("grr", "oue-z", "oue-r", "sue-z", "sue-r")
SIZES = st.lists(st.integers(2, 40), min_size=1, max_size=4)
EPSILONS = st.floats(0.05, 6.0)


def possible(rows: list[Considered]) -> list[Considered]:
    return [row for row in rows if row.why_not is None]


def everything(ks: Sequence[int], epsilon: float, n: int) -> Iterator[tuple[Share, list[float], list[float], int]]:
    """Every combination in every share, from the laws alone: the share, its errors, guesses and largest report."""
    for names in product(PLAIN, repeat=len(ks)):
        for share in ("SPL", "SMP"):
            budget = equal_part(epsilon, len(ks)) if share == "SPL" else epsilon
            parts = tuple(PROTOCOLS[name].make(k, budget) for name, k in zip(names, ks, strict=True))
            made = (Split if share == "SPL" else Sample)(parts)  # type: ignore[arg-type]
            scale = 1 if share == "SPL" else len(ks)
            sizes = [part.report_bytes for part in parts]
            errors = [made.marginal(j).error(1) * scale / n for j in range(len(ks))]
            yield made, errors, [part.success() for part in parts], sum(sizes) if share == "SPL" else 1 + max(sizes)
    for names in product(("grr", "oue-z", "oue-r"), repeat=len(ks)):
        fakes = tuple(rsfd([k, k], epsilon, name).fakes[0] for name, k in zip(names, ks, strict=True))
        faked = Faked(fakes)
        errors = [faked.marginal(j).error(n) for j in range(len(ks))]
        parts_ = faked.parts
        yield faked, errors, [part.success() for part in parts_], sum(part.report_bytes for part in parts_)


@pytest.mark.parametrize("ks", [(2, 9), (3, 5, 30), (17, 17, 4)])
@pytest.mark.parametrize("epsilon", [0.4, 3.0])
@pytest.mark.parametrize("worst", [False, True])
def test_best_of_all_combinations(ks: tuple[int, ...], epsilon: float, worst: bool) -> None:
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
        objective = Objective(success_cap=guess, bytes_cap=size, worst=worst, people="answered")
        rows = consider(ks, epsilon, n, objective, protocols=PLAIN)
        for share in (Split, Sample, Faked):
            allowed = [
                objective.score(errors)
                for made, errors, success, most in all_of_them
                if isinstance(made, share) and (guess is None or max(success) <= guess) and (size is None or most <= size)
            ]
            found = [objective.score(row.errors) for row in possible(rows) if isinstance(row.share, share)]
            assert bool(allowed) == bool(found)
            if allowed:
                assert min(found) == pytest.approx(min(allowed), rel=1e-8)


def test_the_best_comes_first_and_the_excluded_last() -> None:
    rows = consider([3, 20, 8], 1.0, 1000, Objective(success_cap=0.45))
    kept = len(possible(rows))
    assert 0 < kept < len(rows)
    assert all(row.why_not is None for row in rows[:kept])
    assert all(row.why_not is not None for row in rows[kept:])
    scores = [np.mean(row.errors) for row in rows[:kept]]
    assert scores == sorted(scores)
    assert len({row.name for row in rows}) == len(rows)
    assert all("the cap is 0.45" in (row.why_not or "") for row in rows[kept:])


@given(SIZES, EPSILONS, st.integers(1, 10**6), st.sampled_from(["record", "attribute"]))
@settings(max_examples=15, deadline=None)
def test_no_choice_loses_more_than_epsilon(ks: list[int], epsilon: float, n: int, per: Per) -> None:
    rows = consider(ks, epsilon, n, per=per)
    assert possible(rows)
    for row in rows:
        if row.share is None:
            continue
        losses = {"record": row.loss_record, "attribute": row.loss_attribute}
        assert losses[per] <= epsilon < losses[per] + 1e-9 + (per == "attribute") * 1e-9
        assert row.loss_attribute <= row.loss_record
        assert len(row.errors) == len(row.success) == len(row.protocols) == len(ks)
        assert [part.k for part in row.parts] == ks
        for k, success, part in zip(ks, row.success, row.parts, strict=True):
            top = math.exp(part.loss())
            assert 1 / k - 1e-9 <= success <= top / (top + k - 1) + 1e-9


@given(SIZES, EPSILONS, st.integers(1, 10**5), st.sampled_from([None, 0.6]), st.sampled_from(["record", "attribute"]))
@settings(max_examples=6, deadline=None)
def test_the_shortcut_finds_the_first_row(ks: list[int], epsilon: float, n: int, cap: float | None, per: Per) -> None:
    objective = Objective(success_cap=cap)
    first = consider(ks, epsilon, n, objective, per=per)[0]
    if first.why_not is None:
        assert choose._best(choose._task(ks, epsilon, n, objective, None, None, per)) == first


@given(SIZES, EPSILONS, st.integers(1, 10**5))
@settings(max_examples=8, deadline=None)
def test_more_people_and_more_epsilon_err_less(ks: list[int], epsilon: float, n: int) -> None:
    errors = np.mean(consider(ks, epsilon, n)[0].errors)
    assert np.mean(consider(ks, epsilon, 2 * n)[0].errors) == pytest.approx(errors / 2)
    assert np.mean(consider(ks, epsilon * 1.3, n)[0].errors) < errors


@given(st.lists(st.integers(2, 40), min_size=1, max_size=3), st.floats(0.5, 5.0), st.floats(0.3, 0.9), st.integers(2, 60))
@settings(max_examples=8, deadline=None)
def test_caps_hold(ks: list[int], epsilon: float, cap: float, most: int) -> None:
    for row in consider(ks, epsilon, 1000, Objective(success_cap=cap, bytes_cap=most)):
        within = max(row.success, default=1.0) <= cap and row.report_bytes.most <= most
        assert within if row.why_not is None else not within or row.share is None


def test_a_cap_that_does_not_bind_changes_nothing() -> None:
    free, loose = consider([3, 40], 1.0, 100)[0], consider([3, 40], 1.0, 100, Objective(success_cap=0.999, bytes_cap=10**6))[0]
    assert (free.name, free.share, free.errors) == (loose.name, loose.share, loose.errors)


def test_a_cap_that_binds_brings_in_the_robust_protocols() -> None:
    objective = Objective(success_cap=0.2)
    best = consider([100], 4.0, 1000, objective)[0]
    assert best.protocols[0] in ("aue", "ass", "alh")
    assert best.success[0] <= 0.2
    named = [dn.aue(100, 4.0, cap=0.2, f=None), dn.ass(100, 4.0, cap=0.2, f=None), dn.alh(100, 4.0, cap=0.2, f=None)]
    least = min(mechanism.law.error(1000) for mechanism in named if mechanism.success() <= 0.2)
    classical = [row.make(100, 4.0) for row in PROTOCOLS.values() if row.classical and row.exact]
    least = min([least, *(m.law.error(1000) for m in classical if m.success() <= 0.2)])
    assert best.errors[0] == pytest.approx(least)


def test_a_guess_below_chance_cannot_be_kept() -> None:
    rows = consider([2, 9], 1.0, 100, Objective(success_cap=0.5))
    assert not possible(rows)
    assert rows[0].share is not None  # what it would have been is still shown
    with pytest.raises(dn.InvalidParameter, match="nothing meets the objective"):
        people_needed([2, 9], 0.01, 1.0, Objective(success_cap=0.5))


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.9, 2.6])
def test_adp(epsilon: float) -> None:
    """GRR iff k < 3 e^epsilon + 2, in SMP as for a single attribute."""
    ks = list(range(2, 48, 3))
    best = consider(ks, epsilon, 100, Objective(f=0.0), shares="SMP", protocols=("grr", "oue"))[0]
    rule = ["grr" if k < 3 * math.exp(epsilon) + 2 else "oue" for k in ks]
    assert list(best.protocols) == rule
    for k, name in zip(ks, rule, strict=True):
        alone = consider([k], epsilon, 100, Objective(f=0.0), protocols=("grr", "oue"))[0]
        assert alone.name == name
        assert alone.share == dn.adaptive(k, epsilon, among=("grr", "oue"), f=0.0)


@pytest.mark.parametrize("ks", [[3, 4, 30], [2, 60], [7, 7, 7, 7]])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_rsfd_adp(ks: list[int], epsilon: float) -> None:
    best = consider(ks, epsilon, 100, Objective(f=0.0), shares="RS+FD", protocols=("grr", "oue-z"))[0]
    assert best.share == rsfd(ks, epsilon, "adaptive")


@pytest.mark.parametrize(("first", "forever"), [(0.3, 0.5), (0.6, 2.0), (1.2, 2.0), (2.4, 4.0)])
def test_allomfree(first: float, forever: float) -> None:
    """L-GRR iff k <= 3 e^epsilon_first + 2."""
    ks = list(range(2, 40, 3))
    best = consider_repeated(ks, first, forever, 100, Objective(f=0.0), protocols=("l_grr", "l_osue"))[0]
    assert list(best.protocols) == ["l_grr" if k <= 3 * math.exp(first) + 2 else "l_osue" for k in ks]
    assert best.share == allomfree(ks, first, forever)


@pytest.mark.parametrize("per", ["record", "attribute"])
@pytest.mark.parametrize("name", FAKED)
def test_named_fakes_are_those_of_rsfd(name: str, per: Per) -> None:
    ks = [3, 8, 5]
    row = consider(ks, 1.0, 1000, shares="RS+FD", protocols=name, per=per)[0]
    assert row.name == f"RS+FD[{name}]"
    theirs = rsfd(ks, 1.0, name, calibration=per)
    if per == "record":
        assert row.share == theirs
    assert row.loss_attribute == pytest.approx(theirs.loss("attribute"), abs=1e-9)
    assert row.errors == pytest.approx([theirs.marginal(j).error(1000) for j in range(3)], rel=1e-6)


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "the", "blh", "olh", "ss", "hr"])
def test_named_protocols_are_those_of_the_papers(name: str) -> None:
    ks = [3, 8, 5]
    rows = {row.name: row for row in consider(ks, 1.0, 1000)}
    rows |= {row.name: row for row in consider(ks, 1.0, 1000, protocols=name)}
    assert rows[f"SPL[{name}]"].share == spl(ks, 1.0, name)
    assert rows[f"SMP[{name}]"].share == smp(ks, 1.0, name)


def test_names_for_some_attributes() -> None:
    best = consider([3, 50, 4], 1.0, 1000, shares=["SMP"], protocols={0: "oue", 2: ("hr", "sue")})[0]
    free = consider([3, 50, 4], 1.0, 1000, shares=["SMP"])[0]
    assert best.protocols[0] == "oue"
    assert best.protocols[1] == free.protocols[1]
    assert best.protocols[2] in ("hr", "sue")
    assert consider([3, 50, 4], 1.0, 1000, protocols="adaptive") == consider([3, 50, 4], 1.0, 1000)


def test_oue_stands_for_both_of_its_fakes_and_what_has_none_says_so() -> None:
    names = {row.name for row in consider([3, 5], 1.0, 100, shares="RS+FD", protocols="oue")}
    assert names == {"RS+FD[oue-z]", "RS+FD[oue-r]"}
    rows = consider([3, 5], 1.0, 100, protocols="ss")
    assert [row.name for row in possible(rows)] == ["SMP[ss]", "SPL[ss]"]
    assert rows[-1].share is None
    assert rows[-1].why_not is not None
    assert "RS+FD has no ss" in rows[-1].why_not
    assert not rows[-1].parts
    assert not rows[-1].errors


def test_what_cannot_be_built_is_listed_with_the_reason() -> None:
    rows = consider([3, 5], 25.0, 100)  # olh has no hash with so many buckets
    (olh,) = [row for row in rows if row.name == "SMP[olh]"]
    assert olh.share is None
    assert "buckets" in (olh.why_not or "")
    assert rows[0].why_not is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"ks": []},
        {"ks": [1, 3]},
        {"epsilon": 0.0},
        {"n": 0},
        {"shares": "smp"},
        {"shares": []},
        {"protocols": "she"},
        {"protocols": {5: "grr"}},
        {"per": "person"},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    asked: dict[str, object] = {"ks": [3, 4], "epsilon": 1.0, "n": 10, **wrong}
    with pytest.raises(dn.InvalidParameter):
        consider(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"success_cap": 0.0}, {"bytes_cap": 0}, {"f": 2.0}, {"people": "all"}])
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
@settings(max_examples=8, deadline=None)
def test_people_needed_is_the_fewest(ks: list[int], epsilon: float, target: float) -> None:
    n = people_needed(ks, target, epsilon)
    assert max(consider(ks, epsilon, n)[0].standard_errors) <= target * (1 + 1e-12)
    if n > 1:
        assert max(consider(ks, epsilon, n - 1)[0].standard_errors) > target
    assert people_needed(ks, [target] * len(ks), epsilon) == n


@pytest.mark.parametrize(("ks", "n", "target"), [([4], 3000, 0.01), ([3, 20], 20_000, 0.02), ([2, 3, 9], 900, 0.05)])
def test_epsilon_needed_is_the_smallest_in_thousandths(ks: list[int], n: int, target: float) -> None:
    epsilon = epsilon_needed(ks, target, n)
    assert max(consider(ks, epsilon, n)[0].standard_errors) <= target
    assert max(consider(ks, round(epsilon - 0.001, 3), n)[0].standard_errors) > target
    assert people_needed(ks, target, epsilon) <= n < people_needed(ks, target, round(epsilon - 0.001, 3))


def test_a_target_that_no_epsilon_reaches() -> None:
    with pytest.raises(dn.InvalidParameter, match="ask more people"):
        epsilon_needed([3, 3], 0.001, 1000, Objective(people="everyone"), shares="SMP")


@pytest.mark.parametrize("target", [0.0, math.nan, [0.1], [0.1, -1.0]])
def test_a_target_that_makes_no_sense_is_refused(target: float | list[float]) -> None:
    with pytest.raises(dn.InvalidParameter):
        people_needed([3, 3], target, 1.0)


def test_a_warning_before_noise() -> None:
    noisy, clear = consider([92, 2], 0.5, 1000)[0], consider([4, 2], 1.0, 100_000)[0]
    assert warning(clear, 100_000) is None
    text = warning(noisy, 1000)
    assert text is not None
    assert "noise" in text
    assert "92 values" in text
    words = text.replace(",", "").split()
    people, epsilon = int(words[words.index("takes") + 1]), float(words[len(words) - words[::-1].index("epsilon")])
    assert warning(consider([92, 2], 0.5, people)[0], people) is None
    assert warning(consider([92, 2], 0.5, people - 1)[0], people - 1) is not None
    assert warning(noisy, people) is None  # the same choice, looked at for other people
    assert warning(consider([92, 2], epsilon, 1000, shares="SMP")[0], 1000) is None
    assert warning(consider([92, 2], round(epsilon - 0.001, 3), 1000, shares="SMP")[0], 1000) is not None


def test_a_warning_for_a_single_attribute_for_rounds_and_for_nothing() -> None:
    alone = warning(consider([50], 0.5, 100)[0], 100)
    assert alone is not None
    assert "or epsilon" in alone
    again = warning(consider_repeated([50, 3], 0.3, 0.6, 100)[0], 100)
    assert again is not None
    assert "epsilon." in again
    hopeless = warning(consider([92] * 12, 1.0, 30)[0], 30)
    assert hopeless is not None
    assert "no epsilon" in hopeless
    with pytest.raises(dn.InvalidParameter, match="cannot be built"):
        warning(consider([3, 5], 25.0, 100, shares="SMP", protocols=("olh", "blh"))[-1], 100)


def test_repeated_collection_states_its_losses_and_its_limits() -> None:
    rows = {row.name: row for row in consider_repeated([3, 50, 200], 1.8, 2.0, 1000)}
    assert {"SMP[l_grr]", "SMP[l_sue]", "SMP[l_osue]", "SMP[l_oue]", "SMP[l_soue]", "SMP[loloha]"} <= set(rows)
    assert "at most" in (rows["SMP[l_oue]"].why_not or "")  # beyond what this pair of rounds can do
    for row in rows.values():
        if row.share is not None:
            assert row.loss_record <= 1.8 < row.loss_record + 1e-9
            assert row.loss_forever is not None
            assert row.loss_forever <= 2.0 < row.loss_forever + 1e-9
    alone = consider_repeated([50], 0.5, 1.0, 1000)
    assert alone[0].share is not None
    assert not isinstance(alone[0].share, Share)
    assert {row.name for row in alone} == {"l_grr", "l_sue", "l_osue", "l_oue", "l_soue", "loloha"}
    errors = [row.errors[0] for row in alone]
    assert errors == sorted(errors)


def test_the_error_about_everyone_is_the_one_that_is_seen() -> None:
    """SMP at a large epsilon: what one attribute of d each leaves unknown is nearly all of the error."""
    ks, epsilon, n, repeats = [3, 3, 3, 3], 6.0, 600, 400
    (row,) = consider(ks, epsilon, n, Objective(people="everyone"), shares="SMP", protocols="grr")
    (answered,) = consider(ks, epsilon, n, Objective(people="answered"), shares="SMP", protocols="grr")
    assert isinstance(row.share, Sample)
    column = np.arange(n) % 3  # uniform
    table = np.column_stack([column] * 4)
    words = dn.seeded(5)
    squares = []
    for _ in range(repeats):
        estimates = row.share.estimate(row.share.tally(row.share.privatize(table, words)))
        squares.append(np.mean([(estimate.frequencies - 1 / 3) ** 2 for estimate in estimates]))
    seen, error = float(np.mean(squares)), float(np.std(squares) / math.sqrt(repeats))
    assert abs(seen - np.mean(row.errors)) < 5 * error + 0.02 * seen
    assert np.mean(answered.errors) < 0.2 * seen


def test_about_everyone_splitting_wins_at_a_large_epsilon() -> None:
    ks, epsilon, n = [3] * 10, 12.0, 1000
    assert consider(ks, epsilon, n, Objective(people="answered"))[0].name.startswith("SMP")
    assert consider(ks, epsilon, n, Objective(people="everyone"))[0].name.startswith("SPL")
