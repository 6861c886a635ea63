"""Made-up reports gain what the law says, by attack and protocol; and defenses do what they say."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests import statistics
from tests.statistics import ALPHA

import deniable as dn
from deniable_papers.reproduce import reproduce_paper
from deniable_papers.studies import fakes, poisoning
from deniable_papers.studies.plot.poisoning import poisoning_plot
from deniable_papers.studies.poisoning import PoisoningPoint

K, COUNT = 100, 400
ONE, TEN = np.array([7]), np.array([3, 8, 15, 16, 42, 43, 44, 70, 81, 99])
ATTACKS: tuple[fakes.Attack, ...] = ("RPA", "RIA", "MGA", "MAX")


def make(name: str) -> fakes.Attacked:
    mechanism = dn.PROTOCOLS[name].make(K, 1.0)
    assert isinstance(mechanism, fakes.Attacked)
    return mechanism


def compare_hits(
    mechanism: fakes.Attacked, attack: fakes.Attack, targets: np.ndarray, expected: float
) -> None:
    """How many targets fakes support, against what is expected of them."""
    made = fakes.make_fakes(mechanism, attack, targets, COUNT, np.random.default_rng(3))
    assert mechanism.canonical(made).all()
    hits = mechanism.support(made)[:, targets].sum(axis=1)
    error = max(float(hits.std()), 0.1) / math.sqrt(COUNT)  # the best of many functions is rarely not all
    statistics.deviation(float(hits.mean()), expected, error, f"{attack} on {mechanism}")


@pytest.mark.parametrize("name", poisoning.METHODS)
def test_fakes_support_as_many_targets_as_expected(name: str) -> None:
    """And one target more or less would be found."""
    mechanism = make(name)
    for targets in (ONE, TEN):
        for attack in ATTACKS[: 4 if fakes.has_more(mechanism, targets) else 3]:
            expected = fakes.expected_hits(mechanism, attack, targets)
            compare_hits(mechanism, attack, targets, expected)
            with pytest.raises(AssertionError):
                compare_hits(mechanism, attack, targets, expected + 1)


def test_a_few_members_are_pushed_where_a_set_has_no_room_for_more() -> None:
    mechanism = dn.ss(K, 4.0)
    assert mechanism.size < TEN.size
    compare_hits(mechanism, "MGA", TEN, mechanism.size)


def test_gains_are_the_published_ones_where_these_are_exact() -> None:
    """Those of OLH are for buckets that are no whole number, and for an attacker who finds a function."""
    truth = np.full(K, 1 / K)
    for name in ("grr", "oue", "olh"):
        mechanism = make(name)
        for attack in ("RPA", "RIA", "MGA"):
            for targets in (ONE, TEN):
                gain = fakes.expected_gain(mechanism, attack, targets, truth, 0.05)
                held = targets.size / K
                published = fakes.published_gain(name, attack, 1.0, targets.size, K, held, 0.05)
                is_exact = name != "olh" or attack != "MGA"
                assert (gain == pytest.approx(published, abs=1e-6)) == is_exact, (name, attack, gain)
    most = fakes.expected_gain(dn.grr(K, 1.0), "MGA", ONE, np.zeros(K), 0.05)
    assert most == pytest.approx(0.05 * dn.grr(K, 1.0).law.contributions[1])
    assert fakes.published_gain("hr", "MGA", 1.0, 1, K, 0.0, 0.05) is None


@pytest.fixture(scope="module")
def rows() -> list[PoisoningPoint]:
    return list(poisoning.reproduce(None, ["grr", "oue", "olh", "hr"], [1.0], runs=3, users=2000))


def test_measured_gains_are_the_expected_ones(rows: list[PoisoningPoint]) -> None:
    """Their error is that of honest shares, times the share of fakes, and that of the fakes themselves; a
    contribution by another law is found.
    """
    for row in rows:
        if row.defense != "nothing" or row.attack == "none":
            continue
        law = dn.PROTOCOLS[row.protocol].make(K, 1.0).law
        assert row.gain is not None
        assert row.expected is not None
        count = row.fakes * row.n / (1 - row.fakes)
        honest = row.fakes * math.sqrt(law.variance(row.n, 0.2) * row.targets)
        made_up = row.fakes * math.sqrt(row.targets * law.p / count) / law.gain
        error = 2 * math.hypot(honest, made_up) / math.sqrt(row.runs)
        what = f"{row.attack} on {row.protocol}, {row.targets} targets"
        statistics.deviation(row.gain, row.expected, error, what)
        if row.attack == "MGA":
            wrong = row.expected - row.fakes * (row.targets if row.protocol != "grr" else 1) / law.gain / 2
            with pytest.raises(AssertionError):
                statistics.deviation(row.gain, wrong, error, what, ALPHA)


def pick(
    rows: list[PoisoningPoint], protocol: str, attack: str, defense: str, targets: int = 10
) -> PoisoningPoint:
    (row,) = (
        row
        for row in rows
        if (row.protocol, row.attack, row.defense, row.targets) == (protocol, attack, defense, targets)
    )
    return row


def test_defenses_do_what_they_say(rows: list[PoisoningPoint]) -> None:
    for protocol in ("oue", "olh", "hr"):
        attacked = pick(rows, protocol, "MGA", "nothing")
        assert attacked.alarmed == 1.0
        assert attacked.covered is not None
        assert attacked.covered < 0.5
        assert pick(rows, protocol, "RIA", "nothing").alarmed == 0.0
        assert pick(rows, protocol, "none", "nothing").alarmed == 0.0
        safe = pick(rows, protocol, "MGA", "worst case")
        assert safe.covered is not None
        assert safe.width is not None
        assert attacked.width is not None
        assert safe.covered >= 0.8
        assert safe.width > attacked.width
        recovered = pick(rows, protocol, "MGA", "recovery, pushed values").gain
        assert recovered == pytest.approx(0.0, abs=0.05)
        cost = pick(rows, protocol, "none", "recovery, pushed values").gain
        assert cost is not None
        assert cost < -1, "where there are no fakes, what they would add is taken from honest people"
    # ten targets share what one fake adds: no share is impossible, and nothing else is known of a value
    assert pick(rows, "grr", "MGA", "nothing").alarmed == 0.0
    assert pick(rows, "grr", "MGA", "nothing", 1).alarmed == 1.0


def test_recovery_leaves_a_gain_if_the_statement_is_wrong(rows: list[PoisoningPoint]) -> None:
    """What it leaves is linear in what is stated; the same identity with the right share does not hold."""

    def leave(stated: float, gain: float, recovered: float, fakes: float) -> float:
        """If this many times the fakes are stated."""
        return ((1 - stated) * gain + stated * (1 - fakes) * recovered) / (1 - stated * fakes)

    for attack, model in (("MGA", "pushed values"), ("RPA", "random reports"), ("RIA", "false answers")):
        for protocol in ("grr", "oue", "olh", "hr"):
            nothing, right, half, twice, other = (
                pick(rows, protocol, attack, defense)
                for defense in (
                    "nothing",
                    f"recovery, {model}",
                    poisoning.HALF,
                    poisoning.TWICE,
                    poisoning.OTHER,
                )
            )
            assert nothing.gain is not None
            assert right.gain is not None
            assert other.gain is not None
            for stated, row in ((0.5, half), (2.0, twice)):
                assert row.gain == pytest.approx(leave(stated, nothing.gain, right.gain, row.fakes), abs=1e-9)
                if attack == "MGA":
                    assert row.gain != pytest.approx(leave(1, nothing.gain, right.gain, row.fakes), abs=0.3)
            if attack == "MGA":
                assert other.gain > 0.9 * nothing.gain, (
                    "false answers would add little, so little is taken out"
                )
            if attack == "RIA":
                assert other.gain < -0.9, "pushed values would add much, which is taken from honest people"


def test_a_planner_with_a_cap_chooses_what_fakes_move_less() -> None:
    rows = list(poisoning.reproduce(None, ["hr"], [0.5, 0.1], runs=1, users=1000, targets=[1]))
    free = pick([row for row in rows if row.epsilon == 0.5], "olh", "MGA", "planner", 1)
    capped = [row for row in rows if row.defense == "planner, cap 5" and row.attack == "MGA"]
    assert capped[0].gain is not None
    assert free.gain is not None
    assert capped[0].gain < free.gain
    assert dn.PROTOCOLS[capped[0].protocol].make(K, 0.5).law.contributions[1] <= poisoning.CAP
    assert dn.PROTOCOLS[free.protocol].make(K, 0.5).law.contributions[1] > poisoning.CAP
    assert "the cap is 5" in str(capped[1].refused)


def test_rows_are_the_same_for_a_seed(rows: list[PoisoningPoint]) -> None:
    again = list(poisoning.reproduce(None, ["hr"], [1.0], runs=3, users=2000))
    assert [row for row in rows if row.protocol == "hr"] == [row for row in again if row.protocol == "hr"]
    assert len(poisoning.frame(again, "pandas")) == len(again)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="a protocol of this study"):
        poisoning.reproduce(methods=["she"])
    with pytest.raises(dn.InvalidParameter, match="targets"):
        poisoning.reproduce(targets=[100])


def test_the_command_says_what_no_check_can_notice(tmp_path: Path, rows: list[PoisoningPoint]) -> None:
    asked = ["poisoning", "--quick", "--protocol", "grr", "--users", "1000", "--runs", "1"]
    shown = CliRunner().invoke(reproduce_paper, asked)
    assert shown.exit_code == 0, shown.output
    assert "note (RIA): these fakes follow the protocol, with false answers" in shown.output
    assert "chooses olh, where MGA gains 16." in shown.output
    assert "not done: the paper's search for fake users" in shown.output
    assert "MGA, if recovery is told a wrong share or model of the fakes" in shown.output
    printed = CliRunner().invoke(reproduce_paper, [*asked, "--json", "-o", str(tmp_path / "rows.csv")])
    attacks = {row["attack"] for row in json.loads(printed.stdout)}
    assert attacks == {"none", "RPA", "RIA", "MGA", "MAX"}  # the last on the planner's hashes
    assert (tmp_path / "rows.csv").read_text().count("\n") > 10
    assert len(poisoning_plot(rows).axes) == 2


def test_an_empty_interval_is_no_missing_number() -> None:
    """Of GRR at epsilon 2, a few targets of 10 runs have a share that 5 % of fakes cannot explain."""
    rows = list(poisoning.reproduce(None, ["grr"], [2.0], runs=10, targets=[10]))
    worst = [row for row in rows if row.defense == "worst case"]
    assert all(row.width is not None and 0 < row.width < 1 for row in worst)
    json.dumps([asdict(row) for row in rows], allow_nan=False)
