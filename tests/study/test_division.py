"""Questions that are asked once and questions that are asked again in one study, which is two plans."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from typing import Any

import pytest

import deniable as dn
from deniable.client.compose import composed_loss
from deniable.errors import InvalidParameter
from deniable.plan import NANO
from deniable.plan.losses import Protection

YES = ["yes", "no"]
FIVE = [f"{i}" for i in range(5)]
ONCE = {"region": ["north", "south"], "smokes": YES, "media": dn.Several(["tv", "radio"]), "hours": FIVE}
AGAIN = {"region": ["north", "south"], "mood": ["good", "bad"], "slept": ["well", "badly"]}
TWO: dict[str, Any] = {"epsilon_first": 0.5, "epsilon_forever": 1.0}
TEXTS: dict[str, Any] = {"introduction": {"en": "Hello.", "de": "Hallo."}, "thanks": {"en": "Thanks."}}
STUDY = dn.Study(
    {**AGAIN, **ONCE},
    epsilon=1.0,
    **TWO,
    repeat={"mood": 4, "slept": 4},
    title="Work",
    mechanism="split",
    protocol={"smokes": "grr", "mood": "l_grr", "slept": "l_grr"},
    known=["region"],
    missing={"hours": True},
    only_if={"hours": {"smokes": "yes"}},
    answered={"hours": 0.4},
    importance={"media: tv": 3, "mood x slept": 5, "smokes": 4},
    together=[("mood", "slept")],
    survey=dn.Texts(
        **TEXTS,
        questions={"mood": "How are you?", "smokes": "Do you smoke?"},
        labels={"smokes": {"de": ["ja", "nein"]}},
        pages=[["region", "mood", "smokes"], ["media", "hours", "slept"]],
    ),
)
"""Every option that a study states by question, for questions of both kinds."""


def test_each_part_is_the_study_of_its_questions_by_hand() -> None:
    once = dn.Study(
        ONCE,
        epsilon=1.0,
        title="Work",
        mechanism="split",
        protocol={"smokes": "grr"},
        known=["region"],
        missing={"hours": True},
        only_if={"hours": {"smokes": "yes"}},
        answered={"hours": 0.4},
        importance={"media: tv": 3, "smokes": 4},
        survey=dn.Texts(
            **TEXTS,
            questions={"smokes": "Do you smoke?"},
            labels={"smokes": {"de": ["ja", "nein"]}},
            pages=[["region", "smokes"], ["media", "hours"]],
        ),
    )
    again = dn.Study(
        AGAIN,
        **TWO,
        rounds=4,
        title="Work",
        protocol={"mood": "l_grr", "slept": "l_grr"},
        known=["region"],
        missing={},
        importance={"mood x slept": 5},
        together=[("mood", "slept")],
        survey=dn.Texts(**TEXTS, questions={"mood": "How are you?"}, pages=[["region", "mood"], ["slept"]]),
    )
    assert STUDY.divide() == (once, again)
    assert STUDY.plans(900) == (once.plan(900), again.plan(900))
    assert once.divide() == (once,)
    assert pickle.loads(pickle.dumps(STUDY)) == copy.deepcopy(STUDY) == STUDY
    assert STUDY.people_needed(0.05) == max(once.people_needed(0.05), again.people_needed(0.05))
    assert "mood: 2 values: good, bad, in 4 rounds" in str(STUDY)


def test_where_every_question_is_asked_again_the_study_is_a_repeated_one() -> None:
    whole = dn.Study(AGAIN, **TWO, rounds=4, known=["region"])
    assert dn.Study(AGAIN, **TWO, repeat={"mood": 4, "slept": 4}, known=["region"]) == whole


def test_one_consent_and_one_sum_are_of_both_plans() -> None:
    consenting = replace(STUDY, survey=dn.Texts(title={"en": "Work", "de": "Arbeit"}, consent=True))
    once, again = consenting.plans(900)
    assert once.document.texts is not None
    assert again.document.texts is not None
    assert once.document.texts.consent == again.document.texts.consent
    text = once.document.texts.consent["en"]  # type: ignore[index]  # it is by language
    total = composed_loss([once, again])
    assert f"at most {math.ceil(10 * math.exp(total)) / 10:g} times likelier" in text
    together = Protection.together([once.document, again.document])
    assert together.loss is not None
    assert 0 <= together.loss / NANO - total < 2e-9  # both are rounded up
    assert f"{together.percent} times in 100" in text
    assert text.count("My device randomizes") == 2
    assert text.count("I take part") == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": None}, "'smokes', 'media', 'hours' are asked once, .* add the line epsilon = 1.0"),
        ({"epsilon_first": None, "epsilon_forever": None}, r"\[repeat\] .* epsilon_first = 0.5 and .* = 1"),
        ({"repeat": {"mood": 4, "slept": 5}}, "the same number of rounds, got 'mood' in 4, 'slept' in 5"),
        ({"repeat": {"mood": 1}}, "must be an integer from 2 to 1000, got 1"),
        ({"repeat": {"moo": 4}}, "did you mean 'mood'?"),
        ({"repeat": {"region": 4}}, "'region' is known, and goes with every report"),
        ({"rounds": 5}, "rounds is 5, but the questions say repeat = 4"),
        ({"together": [("mood", "smokes")]}, "together: 'mood' is asked again and 'smokes' is asked once"),
        ({"only_if": {"hours": {"mood": "good"}}}, "'hours' depends on 'mood', and only one of them"),
        ({"known": (), "together": (), "target": "mood"}, "the target 'mood' has a table with every other"),
        ({"importance": {"moo": 3}}, "'moo' is not"),
    ],
)
def test_what_would_need_both_in_one_report_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        replace(STUDY, **changes)


def test_one_plan_and_one_advice_are_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidParameter, match="plans\\(people\\) makes both plans"):
        STUDY.plan(100)
    with pytest.raises(InvalidParameter, match="divide\\(\\) gives the study of each"):
        STUDY.advise(100)
