"""Plans that keep some answers and ask others with fresh noise: how the loss is divided, and its cost."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.choose import Budget, Question, consider_mixed, explain_division
from deniable.choose.mixed import BOTH
from deniable.commands.shared.reading import plan_firsts
from deniable.errors import InvalidParameter
from deniable.explain.consent import generate_consent
from deniable.messages import LANGUAGES
from deniable.records import Split
from deniable.rounds import l_grr

ASKED = {"os": ["mac", "win", "other"], "crash": ["yes", "no"], "hang": ["yes", "no"]}
STUDY = dn.Study(
    {name: ASKED[name] for name in ("os", "crash")},
    epsilon_first=1.0,
    epsilon_forever=2.0,
    rounds=10,
    changes=["crash"],
)


@pytest.mark.parametrize("kind", [None, BOTH, "SMP"])
@pytest.mark.parametrize("budget", [Budget(1.0, 2.0, 10), Budget(1.0, 8.0, 4)])
def test_what_is_stated_is_kept_in_a_round_and_in_all(kind: str | None, budget: Budget) -> None:
    asked = {name: Question(len(values)) for name, values in ASKED.items()}
    for row in consider_mixed(asked, ["crash", "hang"], budget, 1000, mechanism=kind):
        assert row.mechanism is not None
        losses = row.mechanism.losses(budget.reports, budget.reports)
        assert losses.one_report <= budget.report
        assert losses.same_value <= budget.together
        # all that may be lost is used, of a round or of all
        assert losses.one_report > 0.99 * budget.report or losses.same_value > 0.99 * budget.together


def test_no_other_division_errs_less() -> None:
    """Against a fine search by the definitions: one question of each kind, everybody reporting both."""
    asked = {"os": Question(3), "crash": Question(2)}
    [best] = consider_mixed(asked, ["crash"], Budget(1.0, 2.0, 10), 1000, mechanism=BOTH)
    products = []
    for step in range(1, 200):
        fresh = step / 200 * 0.2
        first = min(1.0 - fresh, 0.9 * (2.0 - 10 * fresh))
        errors = [dn.grr(3, first).law.error(1000), dn.grr(2, fresh).law.error(1000)]
        products.append(errors[0] * errors[1])
    product = best.errors[0] * best.errors[1]
    assert min(products) * 0.999 < product < 1.05 * min(products)


def test_what_stays_is_kept_and_what_changes_is_not() -> None:
    plan = STUDY.plan(people=20_000)
    kept = {attribute.name: part.repeated for attribute, part in plan.document.pairs}
    assert kept == {"os": True, "crash": False}
    repeated = plan.verify().repeated
    assert repeated is not None
    assert repeated.same_value <= 2.0
    assert repeated.one_report <= 1.0


def test_fewer_turns_leave_more_to_each_fresh_report() -> None:
    often, rarely = (replace(STUDY, turns=turns).plan(people=20_000) for turns in (5, 2))
    losses = [plan.document.parts[plan.names.index("crash")].loss() for plan in (often, rarely)]
    assert losses[1] > 1.5 * losses[0]


def test_the_explanation_says_what_asking_both_costs() -> None:
    rows = consider_mixed({"os": Question(3), "crash": Question(2)}, ["crash"], Budget(1.0, 2.0, 10), 20_000)
    text = explain_division(rows, 10)
    alone = dn.grr(2, 0.2).law.error(20_000) ** 0.5
    assert f"asked alone by {100 * alone:.3g} points" in text
    assert text in " ".join(STUDY.plan(people=20_000).explain().split())
    assert explain_division([], 10) == ""


def test_protocols_are_those_that_are_named() -> None:
    study = replace(STUDY, protocol={"os": "l_osue", "crash": "oue"})
    assert study.plan(people=1000).considered[0].protocols == ("l_osue", "oue")
    both = replace(STUDY, protocol=["l_sue", "sue"])
    assert both.plan(people=1000).considered[0].protocols == ("l_sue", "sue")


def test_a_file_says_which_answers_change() -> None:
    crash: dict[str, Any] = {"values": ASKED["crash"], "changes": True}
    data = {
        "attributes": {"os": ASKED["os"], "crash": crash},
        "repeat": {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 10},
    }
    assert dn.Study.from_dict(data) == STUDY
    crash["changes"] = 1
    with pytest.raises(InvalidParameter, match="changes is true or false, got 1"):
        dn.Study.from_dict(data)


def test_a_part_that_is_asked_again_says_what_changes() -> None:
    budgets: dict[str, Any] = {"epsilon": 1.0, "epsilon_first": 1.0, "epsilon_forever": 2.0}
    study = dn.Study(ASKED, **budgets, repeat={"os": 10, "crash": 10}, changes=["crash"])
    once, weekly = study.plans(people=1000)
    assert [part.repeated for part in once.document.parts] == [False]
    assert sorted(part.repeated for part in weekly.document.parts) == [False, True]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a text": ({"changes": "crash"}, "changes is a list of questions"),
    "no question": ({"changes": ["crush"]}, "did you mean 'crash'"),
    "known": ({"known": ["crash"]}, "'crash' is known, and sent as it is"),
    "all": ({"changes": ["os", "crash"]}, "every question changes"),
    "fakes": ({"mechanism": "faked"}, "have no fakes"),
    "a table": ({"together": [["os", "crash"]]}, "'crash' changes and 'os' stays"),
    "once": (
        {"epsilon_first": None, "epsilon_forever": None, "rounds": None},
        "changes are for asking again",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    changed, message = REFUSED[name]
    with pytest.raises(InvalidParameter, match=message):
        replace(STUDY, **changed)


def test_distances_and_advice_are_refused() -> None:
    age = dn.Range(0, 10, privacy="metric", epsilon=0.3)
    with pytest.raises(InvalidParameter, match="'age' is metric"):
        replace(STUDY, attributes={"os": ASKED["os"], "age": age}, changes=["age"])
    with pytest.raises(InvalidParameter, match="advice is for answers that all stay"):
        STUDY.advise(people=100)


def test_budgets_add_up_exactly() -> None:
    for reports in (1, 3, 7, 1000):
        budget = Budget(1.0, 0.1 * 3, reports)
        for step in range(1, 8):
            division = budget.divide(budget.most_fresh * step / 8)
            fresh = Fraction(division.fresh)
            assert Fraction(division.first) + fresh <= 1
            assert Fraction(division.forever) + reports * fresh <= Fraction(budget.together)


def test_nothing_is_said_of_an_epsilon_near_the_largest(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        '[attributes.os]\nvalues = ["mac", "win"]\n'
        '[attributes.crash]\nvalues = ["yes", "no"]\nchanges = true\n'
        "[repeat]\nepsilon_first = 1.0\nepsilon_forever = 4.0\nrounds = 4\n"
    )
    assert list(plan_firsts(file, None, "crash")) == [1.0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_consent_says_which_answers_are_kept(language: str) -> None:
    mechanism = Split((l_grr(3, 0.5, 1.0), dn.grr(2, 0.25)))
    asked = {name: ASKED[name] for name in ("os", "crash")}
    plan = dn.Plan.of(asked, mechanism, people=1000, rounds=4)
    lines = [line for line in generate_consent(plan.document, language).split("\n") if "crash" in line]
    assert len(lines) == 1
    assert lines[0].index("os") < lines[0].index("crash")


def test_turns_prefer_what_devices_accept() -> None:
    """What errs least loses over 4, which is what a device allows; the explanation says what milder costs."""
    asked = {"os": list("abcdef"), "crash": ["no", "app"], "hang": ["no", "yes"]}
    budgets: dict[str, Any] = {"epsilon_first": 2.0, "epsilon_forever": 4.0, "rounds": 30}
    study = dn.Study(asked, **budgets, turns=2, changes=["crash", "hang"])
    plan = study.plan(people=20_000)
    refused = next(row for row in plan.considered if row.score < plan.considered[0].score)
    assert refused.mechanism is not None
    assert refused.mechanism.losses(2, 2).changing_values > 4
    assert plan.loss.counted <= 4
    text = " ".join(plan.explain().split())
    assert "Devices refuse" in text
    assert "unless its person raises the limit" not in text


def test_the_most_turns_that_devices_accept_are_found_at_once() -> None:
    """Of 500 turns by halving: to look at every number takes 12 seconds, halving a third of one."""
    asked = {"page": list("abcdefghij"), "os": list("xyz")}
    study = dn.Study(asked, epsilon_first=0.005, epsilon_forever=8.0, rounds=1000, turns=500)
    plan = study.plan(people=20_000)
    started = time.process_time()
    text = " ".join(plan.explain().split())
    assert time.process_time() - started < 4.0
    assert "With turns = 85 they may accept the former." in text


@pytest.mark.parametrize("protocol", [None, "l_osue"])
def test_of_protocols_devices_get_one_that_they_accept(protocol: str | None) -> None:
    """Kept bits of many values lose 30 in 3 turns; where they are named, nothing else is chosen."""
    asked = {"page": [str(i) for i in range(100)]}
    budgets: dict[str, Any] = {"epsilon_first": 1.0, "epsilon_forever": 4.0, "rounds": 52}
    plan = dn.Study(asked, **budgets, turns=3, protocol=protocol).plan(people=20_000)
    assert (plan.loss.counted <= 4) is (protocol is None)
    assert ("raises the limit" in plan.explain()) is (protocol is not None)
