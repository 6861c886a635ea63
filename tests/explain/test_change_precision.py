"""How many people a change takes: the numbers of the specification, by simulation, and in the shell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.explain.change_precision import count_people_for_change
from deniable.mechanisms import Mechanism
from deniable.rounds import dbitflip, l_grr, l_osue, loloha
from deniable.rounds.differences import People
from deniable.study import Plan
from tests.cases import by_night
from tests.running import Run
from tests.statistics import at_least

STUDIES = 120
"""Pairs of rounds for a power of 80 %, which may then read as 62 %; half of the people find 52 %."""
STEPS = dn.Range(1, 6, step=1)
NEEDED: dict[str, tuple[object, Mechanism, list[tuple[int, int, int]]]] = {
    "yes/no": (["yes", "no"], l_grr(2, 1.0, 2.0), [(8921, 7351, 5782)]),
    "yes/no, near": (["yes", "no"], l_grr(2, 1.8, 2.0), [(4630, 3060, 1490)]),
    "10 values": ([*"abcdefghij"], l_osue(10, 1.0, 3.0), [(24883, 24318, 23752)]),
    "5 steps": (STEPS, l_grr(5, 1.0, 2.0), [(16364, 15359, 14354), (8182, 7680, 7177)]),
    "5 steps, near": (STEPS, l_grr(5, 1.8, 2.0), [(4984, 3980, 2975), (2492, 1990, 1488)]),
}


def plan_by(asked: object, mechanism: Mechanism) -> Plan:
    return Plan.of({"asked": asked}, mechanism, people=1000, rounds=4)


@pytest.mark.parametrize("name", NEEDED)
def test_a_change_takes_the_people_of_the_specification(name: str) -> None:
    asked, mechanism, needed = NEEDED[name]
    counts = plan_by(asked, mechanism).people_for_change("asked", 0.05)
    assert [(count.population, count.others, count.same) for count in counts] == needed


def test_hashed_answers_take_a_little_more_and_sampled_questions_as_many_times_more() -> None:
    [hashed] = plan_by([*"abcdefghij"], loloha(10, 1.0, 2.0)).people_for_change("asked", 0.05)
    assert hashed.same is not None
    noise = loloha(10, 1.0, 2.0).law.variance(1, 0.1, "fixed")
    assert hashed.same == pytest.approx(1.0301 * 7.848879 * 2 * noise / 0.05**2, rel=1e-4)
    [flipped] = plan_by([*"abc"], dbitflip(3, 1.0, 3)).people_for_change("asked", 0.05)
    assert flipped.same is None
    study = dn.Study(
        {"a": ["x", "y"], "b": ["x", "y"]},
        epsilon_first=1.0,
        epsilon_forever=2.0,
        mechanism="sample",
        rounds=4,
    )
    [half] = study.plan(1000).people_for_change("a", 0.05)
    assert half.population == 2 * 8921


@by_night("people", ["population", "same"], "population")
def test_so_many_people_find_a_change_in_four_studies_of_five(people: People) -> None:
    """Half of all people say yes, then 55 %: a tenth of them, whoever they are, is moved to yes."""
    plan = plan_by(["yes", "no"], l_grr(2, 1.0, 2.0))
    [count] = plan.people_for_change("asked", 0.05)
    needed = {"population": count.population, "same": count.same}[people]
    assert needed is not None
    found = {1: 0, 2: 0}
    for part in found:
        for seed in range(STUDIES):
            n, draw = needed // part, np.random.default_rng([seed, part])
            values = (draw.random(n) < 0.5).astype(np.int64)
            moved = np.where(draw.random(n) < 0.1, 0, values)
            words = dn.remembering(seed, fresh=dn.seeded(seed))
            rounds = [plan.privatize_codes(codes[None, :], words) for codes in (values, moved)]
            earlier, later = (plan.estimate(plan.tally(reports)) for reports in rounds)
            found[part] += bool(later.change(earlier, people=people)["asked"].low[0] > 0)
    at_least(found[1], STUDIES, 0.8, f"a change of {people}")
    with pytest.raises(AssertionError, match="were promised"):
        at_least(found[2], STUDIES, 0.8, "half of the people")


def test_what_has_no_change_is_refused() -> None:
    plan = plan_by(["yes", "no"], l_grr(2, 1.0, 2.0))
    with pytest.raises(dn.InvalidParameter, match="'moods' is not a question"):
        plan.people_for_change("moods", 0.05)
    with pytest.raises(dn.InvalidParameter, match="a change"):
        plan.people_for_change("asked", 5)
    once = dn.Study({"asked": ["yes", "no"]}, epsilon=1.0).plan(100)
    with pytest.raises(dn.InvalidParameter, match="this plan asks once"):
        count_people_for_change(once.document, "asked", 0.05)


STUDY = """
[repeat]
epsilon_first = 1.0
epsilon_forever = 2.0
rounds = 4

[attributes.mood]
low = 1
high = 6
step = 1
"""


def test_the_people_for_a_change_in_the_shell(run: Run) -> None:
    Path("study.toml").write_text(STUDY)
    command = ("people", "study.toml", "--change", "5", "--of", "mood")
    shown = " ".join(run(*command).out.split())
    for words in ("16,364", "8,182", "epsilon_first 1.8 would find it with 4,984 people in place of 16,364"):
        assert words in shown
    assert "one report 1.8 in place of 1." in shown
    assert "4 reports of changing answers give away 10.68 in place of 4.902." in shown
    assert "all 4 rounds, would take about 90 % of these people" in shown
    told = json.loads(run(*command, "--rounds", "6", "--json").out)
    assert (told["of"], told["change"], told["rounds"]) == ("mood", 5, 6)
    assert [row["epsilon_first"] for row in told["epsilons"]] == [1.0, 1.8]
    assert told["epsilons"][0]["losses"]["changing_values"] == pytest.approx(7.3683, abs=1e-4)
    assert told["epsilons"][1]["readings"][0]["population"] == 4984
    assert "--change takes --of" in run(*command[:4]).err
    assert "--rounds is for --change" in run("people", "study.toml", "--people", "5", "--rounds", "3").err
    Path("once.toml").write_text("epsilon = 1.0\n" + STUDY[STUDY.index("[attributes") :])
    assert "'mood' is asked once" in run("people", "once.toml", *command[2:]).err
