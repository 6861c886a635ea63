"""Divides a study: questions that are asked once become one plan, questions that are asked again another one.

A report holds answers of one round, so nothing is read of a question of each kind together. What the
collector knows anyway belongs to both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deniable.domain.categories import Several
from deniable.errors import InvalidParameter, not_among
from deniable.exact import whole_number
from deniable.formatting import shorten_names
from deniable.plan.document import MOST_ROUNDS

_USUAL = 1.0  # epsilon in advice


def read_repeat(repeat: object, questions: Sequence[str], known: Collection[str]) -> dict[str, int]:
    """In how many rounds questions are asked that are asked again, by name."""
    if not isinstance(repeat, Mapping):
        raise InvalidParameter(
            f'repeat is the number of rounds by question, such as {{"mood": 4}}, got {repeat!r}'
        )
    for name, rounds in repeat.items():
        if name not in questions:
            raise InvalidParameter(not_among(str(name), "a question of this study", questions))
        if name in known:
            raise InvalidParameter(f"{name!r} is known, and goes with every report; leave out its repeat")
        whole_number(f"repeat of {name!r}, its number of rounds,", rounds, 2, MOST_ROUNDS)
    if len(set(repeat.values())) > 1:
        numbers = ", ".join(f"{name!r} in {rounds}" for name, rounds in repeat.items())
        raise InvalidParameter(
            f"all questions that are asked again have the same number of rounds, got {numbers}; give them "
            "the same repeat, or make a study of its own for each number"
        )
    return dict(repeat)


def read_rounds(study: Any) -> int:
    """The number of rounds of the questions that are asked again, which must have epsilons of their own."""
    rounds: int = next(iter(study.repeat.values()))
    if study.rounds not in (None, rounds):
        raise InvalidParameter(
            f"rounds is {study.rounds}, but the questions say repeat = {rounds}; leave out rounds"
        )
    _refuse_without_epsilon(study)
    return rounds


def is_repeated_as_a_whole(study: Any) -> bool:
    """Whether every question is asked again, but for those that are known anyway."""
    return bool(study.repeat) and study.attributes.keys() <= {*study.repeat, *study.known}


def _refuse_without_epsilon(study: Any) -> None:
    """Refuse a study that lacks the epsilon of one of its kinds of questions, and say which lines to add."""
    is_whole = is_repeated_as_a_whole(study)
    again = _name_sharing(study, study.repeat)
    once = _name_sharing(study, study.attributes.keys() - {*study.repeat, *study.known})
    if again and study.epsilon_first is None and study.epsilon_forever is None:
        forever = _USUAL if study.epsilon is None else study.epsilon
        instead = f" in place of epsilon = {study.epsilon:g}" if is_whole and study.epsilon else ""
        raise InvalidParameter(
            f"{again} asked again, which takes an epsilon for one report and one for any number of reports "
            f"of an answer that does not change: add the section [repeat] with the lines epsilon_first = "
            f"{forever / 2:g} and epsilon_forever = {forever:g}{instead}"
        )
    if once and study.epsilon is None:
        raise InvalidParameter(
            f"{once} asked once, which takes an epsilon beside those of [repeat]: add the line epsilon = "
            f"{_USUAL} above all sections"
        )


def _name_sharing(study: Any, names: Collection[str]) -> str:
    """The questions among these that have no epsilon of their own, with a verb."""
    sharing = [
        repr(name)
        for name, question in study.attributes.items()
        if name in names and getattr(question, "privacy", "equal") != "metric"
    ]
    if not sharing:
        return ""
    return f"{shorten_names(sharing)} {'is' if len(sharing) == 1 else 'are'}"


def divide_study(study: Any) -> tuple[Any, ...]:
    """The study of the questions that are asked once, and that of those that are asked again."""
    if not study.repeat:
        return (study,)
    _refuse_crossing(study)
    rounds = read_rounds(study)
    again = [name for name in study.attributes if name in study.repeat or name in study.known]
    once = [name for name in study.attributes if name not in study.repeat]
    budget_once = dict.fromkeys(("epsilon_first", "epsilon_forever", "rounds", "turns")) | {"linked": False}
    budget_again: dict[str, Any] = {"epsilon": None, "rounds": rounds, "per": "record", "mechanism": None}
    if not isinstance(study.protocol, Mapping):
        budget_again["protocol"] = None
    return (
        replace(study, **_keep(study, once), **budget_once),
        replace(study, **(_keep(study, again) | budget_again)),
    )


def _keep(study: Any, names: Sequence[str]) -> dict[str, Any]:
    """What a study says of these questions; what it says of none is kept, to be refused there."""
    from deniable.advise.changes import keep_options

    secret = [name for name in names if name not in study.known]
    is_alone = len(secret) == 1 and not isinstance(study.attributes[secret[0]], Several)
    kept = keep_options(study, names) | {"repeat": {}, "ask": "all" if is_alone else study.ask}
    del kept["epsilon"]
    return kept


def _refuse_crossing(study: Any) -> None:
    """Refuse what would take a question of each kind in one report."""
    if study.target is not None:
        raise InvalidParameter(
            f"the target {study.target!r} has a table with every other question, and no report holds a "
            "question that is asked once and one that is asked again; name the tables in together"
        )
    for table in study.together:
        if len({name in study.repeat for name in table if name not in study.known}) > 1:
            again, once = (
                next(name for name in table if (name in study.repeat) is is_repeated)
                for is_repeated in (True, False)
            )
            raise InvalidParameter(
                f"together: {again!r} is asked again and {once!r} is asked once, so that no report holds "
                "both; give both the same repeat, or leave the table out"
            )
    for name, condition in study.only_if.items():
        parent = next(iter(condition))
        if parent in study.attributes and (name in study.repeat) is not (parent in study.repeat):
            raise InvalidParameter(
                f"{name!r} depends on {parent!r}, and only one of them is asked again; give both the same "
                "repeat, or ask everybody"
            )
