"""Records among fakes that are asked again: losses by enumeration, what is kept, and honest estimates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.client import composed_loss
from deniable.randomness import FULL
from deniable.records import Blank, Fake, Faked, Guessed, Imitated, Prior
from deniable.rounds import Memoized
from deniable.rounds.memoized import MemoizedBuckets
from deniable.rounds.named import FAKES_AGAIN
from tests.cases import by_night
from tests.enumeration import (
    Law,
    cells,
    check_ratio,
    exact_log,
    mixture,
    product,
    records_of,
    repeated_fake_law,
    repeated_law,
    repeated_records_law,
    worst_ratio,
)
from tests.statistics import deviation, spread

SKEWED = Prior.of([0.7, 0.2, 0.1], 3)
MECHANISMS: dict[str, Callable[[], Faked]] = {
    "l_grr": lambda: dn.rounds.l_rsfd([2, 3], 1.0, 2.0, "l_grr"),
    "l_osue-z": lambda: dn.rounds.l_rsfd([2, 2], 1.0, 2.0, "l_osue-z"),
    "l_osue-r": lambda: dn.rounds.l_rsfd([2, 2], 0.5, 1.5, "l_osue-r"),
    "l_sue-z": lambda: dn.rounds.l_rsfd([2, 2], 1.0, 3.0, "l_sue-z"),
    "both": lambda: Faked(
        (Guessed(dn.rounds.l_grr(3, 1.0, 2.0), SKEWED), Blank(dn.rounds.l_osue(2, 0.7, 1.1)))
    ),
    "realistic": lambda: dn.rounds.l_rsfd([3, 2], 1.0, 2.0, "l_grr", [[0.7, 0.2, 0.1], [0.9, 0.1]]),
    "realistic bits": lambda: dn.rounds.l_rsfd([2, 2], 1.0, 2.0, "l_sue-r", [[0.8, 0.2], [0.3, 0.7]]),
    "unequal": lambda: Faked(
        (
            Imitated(dn.rounds.l_grr(2, 0.5, 3.0), Prior.uniform(2)),
            Guessed(dn.rounds.l_grr(3, 1.0, 1.2), SKEWED),
        )
    ),
    "loloha": lambda: Faked(
        (Blank(dn.rounds.loloha(3, 1.0, 2.0, g=2)), Guessed(dn.rounds.l_grr(2, 0.7, 3.0), Prior.uniform(2)))
    ),
    "l_plh": lambda: Faked(
        (Blank(dn.rounds.l_plh(3, 1.0, 2.0, g=2)), Guessed(dn.rounds.l_grr(2, 0.7, 3.0), Prior.uniform(2)))
    ),
}
WHOLE: dict[str, Callable[[], Faked]] = {
    "one bit": lambda: dn.rounds.l_rsfd([3, 3], 1.0, 1.0, "dbitflip", bits=1),
    "two bits": lambda: dn.rounds.l_rsfd([3, 2], 1.0, 1.0, "dbitflip", bits=2),
    "one and two bits": lambda: Faked(
        (Blank(dn.rounds.dbitflip(3, 2.0, 1)), Blank(dn.rounds.dbitflip(3, 0.5, 2)))
    ),
}
"""Reports that are kept whole."""
FAKES: dict[str, Callable[[], Fake]] = {
    "guessed": lambda: Guessed(dn.rounds.l_grr(3, 1.0, 2.0), Prior.uniform(3)),
    "guessed from a prior": lambda: Guessed(dn.rounds.l_grr(3, 0.5, 1.0), SKEWED),
    "imitated": lambda: Imitated(dn.rounds.l_grr(3, 1.0, 2.0), SKEWED),
    "imitated by bits": lambda: Imitated(dn.rounds.l_osue(3, 1.0, 2.0), SKEWED),
    "blank": lambda: Blank(dn.rounds.l_sue(3, 1.0, 2.0)),
    "blank bucket": lambda: Blank(dn.rounds.loloha(3, 1.0, 2.0, g=3)),
    "blank bucket of a pool": lambda: Blank(dn.rounds.l_plh(3, 1.0, 2.0, g=3)),
}


def _worst(mechanism: Faked, reports: int, per: str) -> Fraction:
    laws = {record: repeated_records_law(mechanism, record, reports) for record in records_of(mechanism)}
    if per == "record":
        return worst_ratio(laws.values())
    pairs = itertools.combinations(laws, 2)
    near = [(a, b) for a, b in pairs if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    return max(worst_ratio([laws[a], laws[b]]) for a, b in near)


@by_night("reports", [1, 2], 2)
@pytest.mark.parametrize("name", [*MECHANISMS, *WHOLE])
def test_losses_of_reports_of_one_record(name: str, reports: int) -> None:
    """Over all sequences of reports and all pairs of records; and never above what is lost for ever."""
    mechanism = (MECHANISMS | WHOLE)[name]()
    for per in ("record", "attribute"):
        stated, truth = mechanism.ratio_after(reports, per), _worst(mechanism, reports, per)
        check_ratio(stated, composed_loss([stated]), truth, f"{name}, {reports} reports per {per}")
        assert stated <= mechanism.permanent.ratio(per)
        if reports == 1:
            assert stated == mechanism.ratio(per)


@by_night(("name", "reports"), itertools.product(FAKES, [1, 2, 3, 4]), *((name, 4) for name in FAKES))
def test_constant_sequences_are_the_extreme_ones(name: str, reports: int) -> None:
    """What any sum of ratios can ask of one attribute, over all sequences of its reports."""
    fake = FAKES[name]()
    part = fake.part
    if part.bitwise and reports > 2:
        return  # 4,096 sequences and more; each bit by itself is as of one value
    real = [_sequences(repeated_law(part, value, reports), reports) for value in range(part.k)]
    faked = repeated_fake_law(fake, reports)
    stated = fake.evidence(reports)
    for slope in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5)):
        true = max(
            (one[y] - slope * other[y]) / faked[y]
            for one, other in itertools.product(real, repeat=2)
            for y in faked
        )
        claimed = max(one - slope * other for one, other in stated)
        assert abs(claimed - true) < Fraction(1, 10**15)
    least = min(one[y] / faked[y] for one in real for y in faked)
    assert abs(least - min(min(pair) for pair in stated)) < Fraction(1, 10**15)


def _sequences(law: Law, reports: int) -> Law:
    return {(outcome,): chance for outcome, chance in law.items()} if reports == 1 else law


@pytest.mark.parametrize("name", MECHANISMS)
def test_many_reports_tend_to_what_is_kept(name: str) -> None:
    mechanism = MECHANISMS[name]()
    ratios = [mechanism.ratio_after(reports) for reports in (1, 2, 5, 40, 2000)]
    assert ratios == sorted(ratios)
    assert ratios[-1] == pytest.approx(mechanism.permanent.ratio(), rel=1e-12)
    losses = mechanism.losses(5, 4)
    assert losses.one_report == mechanism.loss() < losses.same_value < losses.one_value_forever
    assert losses.one_value_forever == mechanism.permanent.loss()
    usual = max(one.first.loss() * min(4, one.part.k) for one in mechanism.fakes)
    assert losses.changing_values_usual == pytest.approx(usual)
    assert not losses.changing_values_exact
    one = mechanism.losses(1, 1)
    assert (one.changing_values, one.changing_values_exact) == (mechanism.loss(), True)


def test_losses_of_reports_that_are_kept_whole() -> None:
    """Any number of reports is one, and a change has no bound."""
    for make in WHOLE.values():
        mechanism = make()
        losses = mechanism.losses(7, 3)
        assert losses.one_report == losses.same_value == losses.one_value_forever == mechanism.loss()
        assert losses.changing_values == math.inf


@pytest.mark.parametrize("protocol", FAKES_AGAIN)
def test_budgets_are_kept_per_record(protocol: str) -> None:
    for first, forever in ((0.1, 0.2), (1.0, 1.5), (2.0, 5.0)):
        mechanism = dn.rounds.l_rsfd([2, 7, 40], first, forever, protocol)
        assert first - 1e-9 < mechanism.loss() <= first
        assert forever - 1e-9 < mechanism.permanent.loss() <= forever
        assert mechanism.permanent.loss("attribute") < mechanism.permanent.loss()


@pytest.mark.parametrize("name", ["l_grr", "l_osue-z", "both"])
def test_losses_of_records_that_change(name: str) -> None:
    """Two rounds against any two sequences of records: never above the bound, and above what one record
    loses. Sequences in which each answer changes at the same times lose no more than the usual figure.
    """
    mechanism = MECHANISMS[name]()
    records = records_of(mechanism)
    laws = {pair: _change_law(mechanism, pair) for pair in itertools.product(records, repeat=2)}
    losses = mechanism.losses(2, 2)
    truth = exact_log(worst_ratio(laws.values()))
    assert losses.same_value < truth <= losses.changing_values
    for moved in itertools.product((False, True), repeat=mechanism.d):
        alike = [
            law
            for (one, two), law in laws.items()
            if [x != y for x, y in zip(one, two, strict=True)] == list(moved)
        ]
        assert exact_log(worst_ratio(alike)) <= losses.changing_values_usual


def _change_law(mechanism: Faked, records: Sequence[tuple[int, ...]]) -> Law:
    """Two reports: the real attribute and the fakes stay, an answer that changes is drawn again."""
    found: list[tuple[Fraction, Law]] = []
    faked = [repeated_fake_law(fake, 2) for fake in mechanism.fakes]
    for j, chance in enumerate(cells(mechanism.d)):
        part, values = mechanism.fakes[j].part, [record[j] for record in records]
        assert isinstance(part, Memoized)
        if values[0] == values[1]:
            own = repeated_law(part, values[0], 2)
        else:
            own = product(repeated_law(part, value, 1) for value in values)
        found.append((chance, product([*faked[:j], own, *faked[j + 1 :]])))
    return mixture(found)


# What is kept.


_KEEPERS: list[Callable[[int], dn.randomness.Words]] = [
    lambda i: dn.randomness.device(bytes(32), "plan", round=i),
    lambda i: dn.remembering(7, round=i),
]


@pytest.mark.parametrize("words", _KEEPERS)
@pytest.mark.parametrize("protocol", [*FAKES_AGAIN, "dbitflip"])
def test_all_first_answers_are_kept(protocol: str, words: Callable[[int], dn.randomness.Words]) -> None:
    """A second round that changes next to nothing shows what is kept: the same in all rounds, and after
    another answer in between. Where another answer is not real, nothing of it shows.
    """
    bits = 4 if protocol == "dbitflip" else None
    mechanism = _calm(dn.rounds.l_rsfd([5, 40, 70], 1.0, 2.0, protocol, bits=bits))
    one = np.array([[1, 2, 3]])
    real = int(mechanism.sampled_attribute(words(1).rows(1, mechanism.words))[0])
    kept = [mechanism.privatize(one, words(i)).columns for i in (1, 2, 3)]
    for columns in zip(*kept, strict=True):
        assert len({column.tobytes() for column in columns}) == 1
    for j in range(3):
        other = one.copy()
        other[0, j] += 1
        changed = [
            a.tobytes() != b.tobytes()
            for a, b in zip(kept[0], mechanism.privatize(other, words(4)).columns, strict=True)
        ]
        assert not any(changed) or (j == real and changed == [i == real for i in range(3)])


def _calm(mechanism: Faked) -> Faked:
    """The same with a second round that keeps what it is given but for once in 2^40."""
    rare = 1 << 24
    fakes = []
    for fake in mechanism.fakes:
        part: Any = fake.part
        if isinstance(part, MemoizedBuckets):
            part = replace(part, buckets=_calm_rounds(part.buckets, rare))
        elif isinstance(part, Memoized):
            part = _calm_rounds(part, rare)
        fakes.append(replace(fake, part=part))  # type: ignore[type-var]
    return Faked(tuple(fakes))


def _calm_rounds(part: Memoized, rare: int) -> Memoized:
    k = part.k
    calm = (
        dn.mechanisms.Direct(k, FULL - rare)
        if part.names_value
        else dn.mechanisms.Unary(k, FULL - rare, rare)
    )
    return Memoized(part.first, calm)


def _redraw_fakes(mechanism: Faked, record: tuple[int, ...]) -> Law:
    """A planted fault: two reports whose real answer is kept, and whose fakes are drawn again each time."""
    found: dict[object, Fraction] = {}
    for j, fake in enumerate(mechanism.fakes):
        assert isinstance(fake.part, Memoized)
        own = repeated_law(fake.part, record[j], 2)
        [other] = [one for i, one in enumerate(mechanism.fakes) if i != j]
        fresh = {y[0]: chance for y, chance in repeated_fake_law(other, 1).items()}
        for (a, b), p in own.items():
            for (c, q), (e, r) in itertools.product(fresh.items(), repeat=2):
                sides = ((a, c), (b, e)) if j == 0 else ((c, a), (e, b))
                found[sides] = found.get(sides, Fraction(0)) + p * q * r / 2
    return found


def test_fakes_that_are_drawn_again_lose_more() -> None:
    """The planted fault: what one attribute says would no longer be hidden by the fakes of the others."""
    mechanism = dn.rounds.l_rsfd([2, 2], 1.0, 2.0, "l_osue-z")
    laws = {record: _redraw_fakes(mechanism, record) for record in records_of(mechanism)}
    near = [worst_ratio([laws[0, 0], laws[1, 0]]), worst_ratio([laws[0, 0], laws[0, 1]])]
    assert max(near) > mechanism.ratio_after(2, "attribute") * Fraction(101, 100)
    # and for ever: the part that stays is the real one, so that the fakes hide nothing
    assert mechanism.permanent.loss("attribute") < 0.9 * mechanism.fakes[0].first.loss()


# Estimates.


@pytest.mark.long
def test_estimates_of_each_round_are_unbiased_and_scatter_as_they_say() -> None:
    """400 populations of 300 people. The planted fault takes the fakes of the first round for those of a
    report; false alarms are by tests/statistics.py.
    """
    mechanism = Faked((Guessed(dn.rounds.l_grr(3, 1.0, 2.0), SKEWED), Blank(dn.rounds.l_osue(4, 1.0, 2.0))))
    table = np.column_stack([np.repeat([0, 1, 2], [150, 100, 50]), np.arange(300) % 4])
    runs = 400
    words = dn.seeded(11)
    found = [np.empty((runs, 3)), np.empty((runs, 4))]
    wrong = np.empty((runs, 3))
    first = Faked((mechanism.fakes[0].keep(), mechanism.fakes[1].keep()))
    for run in range(runs):
        tallies = mechanism.tally(mechanism.privatize(table, words))
        for j, estimate in enumerate(mechanism.estimate(tallies)):
            found[j][run] = estimate.frequencies
        wrong[run] = first.estimate(tallies)[0].frequencies
    for j, runs_of in enumerate(found):
        shares = np.bincount(table[:, j]) / 300
        errors = np.sqrt(mechanism.marginal(j).variance(300, shares, "fixed"))
        for v, share in enumerate(shares):
            what = f"value {v} of attribute {j}"
            deviation(runs_of[:, v].mean(), share, errors[v] / math.sqrt(runs), what)
            spread(float((((runs_of[:, v] - share) / errors[v]) ** 2).sum()), runs, what)
    error = math.sqrt(mechanism.marginal(0).variance(300, np.bincount(table[:, 0]) / 300, "fixed")[0] / runs)
    with pytest.raises(AssertionError):
        deviation(wrong[:, 0].mean(), 0.5, error, "the fakes of another round")


@by_night("name", ["l_grr", "l_osue-z", "l_osue-r", "both", "realistic"], "l_osue-r", "both", "realistic")
def test_errors_of_two_rounds_are_never_correlated_against_the_same_people(name: str) -> None:
    """For every change of a record and every value, by enumeration: so that people="same" is valid."""
    mechanism = MECHANISMS[name]()
    for records in itertools.product(records_of(mechanism), repeat=2):
        law = _change_law(mechanism, records)
        for j, part in enumerate(mechanism.parts):
            for value in range(part.k):
                both, one, two = Fraction(0), Fraction(0), Fraction(0)
                for outcome, chance in law.items():
                    first, second = (y == value if part.names_value else y[value] for y in outcome[j])
                    both += chance * (first and second)
                    one += chance * first
                    two += chance * second
                assert both - one * two > -Fraction(1, 10**15)


def test_the_likelihood_of_whole_reports_of_one_round() -> None:
    mechanism = dn.rounds.l_rsfd([2, 3], 2.0, 4.0)
    table = np.column_stack([np.arange(20_000) % 2, np.arange(20_000) % 4 % 3])
    found = dn.likelihood.mle_record(mechanism, mechanism.privatize(table, dn.seeded(3)))
    assert all(one.certified for one in found)
    np.testing.assert_allclose(found[1].frequencies, [0.5, 0.25, 0.25], atol=0.05)


# What is refused.


def test_either_all_attributes_are_asked_again_or_none_is() -> None:
    with pytest.raises(dn.InvalidParameter, match="either all attributes are asked again"):
        Faked((Blank(dn.rounds.l_osue(3, 1.0, 2.0)), Blank(dn.oue(3, 1.0))))


def test_reports_that_are_kept_whole_stand_beside_no_others() -> None:
    with pytest.raises(dn.InvalidParameter, match="go with no others, whose reports are fresh"):
        Faked((Blank(dn.rounds.l_osue(3, 1.0, 2.0)), Blank(dn.rounds.dbitflip(3, 1.0, 2))))
    for protocol, bits in (("dbitflip", None), ("loloha", 3)):
        with pytest.raises(dn.InvalidParameter, match="and no other, takes bits"):
            dn.rounds.l_rsfd([3, 3], 1.0, 2.0, protocol, bits=bits)
    with pytest.raises(dn.InvalidParameter, match=r"bits, the number of values .* at least 1, got 0"):
        dn.rounds.l_rsfd([3, 3], 1.0, 2.0, "dbitflip", bits=0)


def test_protocols_that_have_no_fakes_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="'l_oue' is not a protocol of RS\\+FD for asking again"):
        dn.rounds.l_rsfd([2, 3], 1.0, 2.0, "l_oue")
    with pytest.raises(dn.InvalidParameter, match="'l_osue-z' is not a protocol of RS\\+RFD"):
        dn.rounds.l_rsfd([2, 3], 1.0, 2.0, "l_osue-z", [[1, 1], [1, 1, 1]])
    with pytest.raises(dn.InvalidParameter, match="2 attributes, but 1 priors"):
        dn.rounds.l_rsfd([2, 3], 1.0, 2.0, "l_grr", [[1, 1]])
