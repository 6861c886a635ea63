"""Means over rounds: losses by enumeration of all lines, and a line that is kept."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.attack import success_after
from deniable.attack.chances import chances_after
from deniable.errors import InvalidParameter
from deniable.exact import log_up
from deniable.metric.means import LAST_POSITION
from deniable.randomness import FULL
from deniable.randomness.words import DrawnRows
from deniable.rounds import MemoizedMean, l_duchi
from tests import statistics
from tests.client.test_remembering import crowd_words, exact_second
from tests.enumeration import log, sequence_law

PEOPLE = 4000
POSITIONS = (0, 1, 1 << 31, (3 << 30) + 7, LAST_POSITION)


def chances_of(m: MemoizedMean, values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """How likely each sequence of reports is: over all lines, which matter only by the values above them."""
    found = dict.fromkeys(itertools.product((0, 1), repeat=len(values)), Fraction(0))
    ends = sorted({0, *values, LAST_POSITION})
    for start, stop in itertools.pairwise(ends):
        law = sequence_law(m.bit, [int(start < value) for value in values])
        for reports in found:
            found[reports] += Fraction(stop - start, LAST_POSITION) * law(reports)
    return found


def worst_loss(m: MemoizedMean, sequences: list[tuple[int, ...]]) -> float:
    laws = [chances_of(m, values) for values in sequences]
    return log(max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0]))


@pytest.mark.parametrize(("first", "forever"), [(0.5, 1.0), (1.0, 2.0), (0.3, 3.0)])
def test_losses_are_those_of_a_bit_for_any_numbers(first: float, forever: float) -> None:
    m = l_duchi(first, forever)
    assert m.loss() <= first < m.loss() + 1e-9
    for rounds in (1, 2, 3):
        losses = m.losses(rounds, rounds)
        same = worst_loss(m, [(value,) * rounds for value in POSITIONS])
        assert same <= losses.same_value < same + 1e-9
        changing = worst_loss(m, list(itertools.product(POSITIONS, repeat=rounds)))
        assert changing <= losses.changing_values < changing + 1e-9
        assert losses.changing_values_exact
    assert forever - 1e-9 < m.losses().one_value_forever <= forever
    assert m.losses().one_value_forever == m.permanent.loss()


def test_a_report_is_right_on_average() -> None:
    m = l_duchi(0.5, 1.0)
    p = m.bit.law.exact_p
    for value in POSITIONS:
        share = Fraction(value, LAST_POSITION)
        assert chances_of(m, (value,))[1,] == share * p + (1 - share) * (1 - p)
    no, yes = m.one_round.of.numbers(np.arange(2))
    assert (-no, yes) == pytest.approx((float(1 / (2 * p - 1)),) * 2, rel=1e-14)


@pytest.mark.parametrize("line", [0, 5, LAST_POSITION - 1])
def test_the_code_compares_with_the_line(line: int) -> None:
    """A number is above the line from the next position on; the words after it keep both rounds' truth."""
    m = l_duchi(0.5, 1.0)
    values = np.array([0, line, line + 1, LAST_POSITION])
    words = np.zeros((4, m.words), dtype=np.uint64)
    words[:, 0] = (line << 32) + 7
    assert m.encode(values, DrawnRows(words)).tolist() == [0, 0, 1, 1]


def check_line(words: dn.randomness.Words) -> None:
    """Two collections of the same numbers, with a second round that changes next to nothing."""
    m = MemoizedMean(exact_second(l_duchi(1.0, 2.0).bit))
    values = np.linspace(0, LAST_POSITION, PEOPLE).astype(np.int64)
    one, two = m.privatize(values, words), m.privatize(values, words)
    assert np.array_equal(one, two), "the line was redrawn"
    moved = m.privatize(np.minimum(values + LAST_POSITION // 10, LAST_POSITION), words)
    p = float(m.bit.first.law.exact_p)
    # a tenth crosses the line, less those near the end; of these, kept answers agree as two draws do
    cross = float(np.mean(np.minimum(LAST_POSITION // 10, LAST_POSITION - values))) / LAST_POSITION
    expected = cross * (1 - 2 * p * (1 - p))
    error = (expected * (1 - expected) / PEOPLE) ** 0.5
    statistics.deviation(float((one != moved).mean()), expected, error, "answers that change")


def test_the_line_repeats() -> None:
    check_line(crowd_words())


def test_a_line_that_is_drawn_again_is_seen() -> None:
    with pytest.raises(AssertionError, match="the line was redrawn"):
        check_line(crowd_words(right=False))


def test_only_two_values_in_direct_rounds() -> None:
    for bit in (dn.rounds.l_grr(3, 0.5, 1.0), dn.rounds.l_sue(2, 0.5, 1.0)):
        with pytest.raises(InvalidParameter, match="direct ones of two values"):
            MemoizedMean(bit)


def test_many_reports_show_the_half_no_better_than_the_kept_answer() -> None:
    m = l_duchi(0.5, 1.0)
    guesses = [success_after(m, reports) for reports in (0, 1, 2, 5, 20, 100)]
    assert guesses == sorted(guesses)
    assert guesses[1] == pytest.approx(m.success())
    assert guesses[-1] == pytest.approx(m.permanent.success(), abs=1e-6)
    believed = chances_after(m, 5, True, [0.5, 0.5 + 1e-9])[5]
    assert not believed.exact
    statistics.deviation(believed.value, guesses[3], believed.stderr, "simulated, against the sum")


def test_the_ratio_of_one_report_is_not_below_that_of_its_chance() -> None:
    m = l_duchi(0.5, 1.0)
    p = m.bit.law.exact_p
    assert m.ratio >= p / (1 - p)
    assert log_up(m.ratio) == m.loss()
    assert m.one_round == dn.metric.Averaged(dn.metric.Duchi(round(p * FULL)))
