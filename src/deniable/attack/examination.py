"""Runs all attacks on one plan, for a page: people answer in a simulation, and are looked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.attack.chances import COLLECTIONS, success
from deniable.attack.inputs import Background, compact, encode_people, leave_text, refuse_known
from deniable.attack.likelihoods import cells_of, guessed_of, hidden_in, values_of
from deniable.attack.page import Examination
from deniable.attack.reidentification import Progress, match_surveys
from deniable.attack.results import RealAttribute, ReidentificationRate
from deniable.attack.sampling import sampled_success
from deniable.domain import NO_ANSWER
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.randomness import Words
from deniable.randomness.simulated import numbers_from, remembering, seeded
from deniable.study import Plan

USERS = 2000
"""How many people are looked for in the background, drawn at random."""
TOP = 10


def examine(
    plan: Plan,
    people: object = None,
    collections: int = COLLECTIONS,
    top: int = TOP,
    users: int = USERS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Examination:
    """Computes what an attacker learns from one report and from several collections; with people, also by
    background data.

    `people` are a dataframe, a dictionary of columns or a list of dictionaries, as `plan.privatize` takes
    them; or numbers, a row per attribute, as `plan.encode` makes them. They are asked `collections` times in
    a simulation from the seed, and `users` of them are looked for among all of them. An attribute that the
    table lacks is no part of the background: in the simulation it is drawn evenly. Questions of text are left
    out: then all figures are for reports that hold another question.

    >>> import deniable as dn
    >>> plan = dn.Study({"smokes": ["yes", "no"]}, epsilon=1.0).plan(people=100)
    >>> found = examine(plan, {"smokes": ["yes"] * 30 + ["no"] * 70}, collections=1)
    >>> found.people, round(found.ignorant["smokes"].report, 3)
    (100, 0.731)
    """
    if not isinstance(plan, Plan):
        raise InvalidParameter(
            f"this is of a plan, got {type(plan).__name__}; make one with dn.Plan.of, or ask for success"
        )
    if people is not None:
        refuse_known(plan)
    original, (plan, places, left_out) = plan, leave_text(plan)
    if isinstance(people, np.ndarray) and len(people) == len(original.names):
        people = people[list(places)]
    known = success(plan, None, collections, seed)
    parts = dict(zip(plan.names, plan.document.parts, strict=True))
    numbers = tuple(name for name, part in parts.items() if part.numeric)
    distanced = tuple(name for name, part in parts.items() if part.metric)
    rounds = plan.document.rounds and plan.document.most_reports
    continues = len(original.document.continues)
    about = original.id, plan.document.title, collections, seed, rounds, continues, known
    notes: dict[str, Any] = {"numbers": numbers, "distanced": distanced, "left_out": left_out}
    notes["leveled"] = tuple(plan.document.levels)
    if people is None:
        return Examination(*about, **notes)
    codes = encode_people(plan, people)
    had = np.flatnonzero((codes != NO_ANSWER).any(axis=1))
    if not had.size:
        raise InvalidValue("a background needs answers to at least one of the attributes")
    randomized = [
        j for j in had.tolist() if plan.document.missing_of(plan.document.attributes[j]) == "random"
    ]
    filled = _fill_missing(plan, codes, numbers_from(seed, "missing"), np.array(randomized, dtype=np.int64))
    complete = filled[:, (filled[had] >= 0).all(axis=0)]
    n = complete.shape[1]
    if n < 2:
        raise InvalidValue("a background needs at least two people with all answers")
    shares: list[Floats | None] = [
        np.bincount(guessed_of(part, row), minlength=values_of(part)) / n if j in had else None
        for j, (row, part) in enumerate(zip(complete, plan.document.parts, strict=True))
    ]
    real = [
        RealAttribute(
            tuple(plan.names[j] for j in hidden.attributes),
            sampled_success(plan, shares, seed=seed, among=hidden.first),
        )
        for hidden in hidden_in(plan)
    ]
    whom = np.sort(
        numbers_from(seed, "whom").choice(n, min(n, whole_number("users", users, 1)), replace=False)
    )
    answered = _fill_missing(plan, complete, numbers_from(seed, "not in the table"), np.arange(len(complete)))
    rates = _look_for_people(plan, answered, had, whom, collections, top, seed, progress)
    return Examination(
        *about,
        *(n, whom.size),
        informed=success(plan, shares, collections, seed),
        real_attributes=tuple(real),
        found=tuple(rates),
        dropped=codes.shape[1] - n,
        filled=int((filled != codes).sum()),
        lacking=tuple(name for j, name in enumerate(plan.names) if j not in had),
        **notes,
    )


def _fill_missing(plan: Plan, codes: Integers, draws: np.random.Generator, attributes: Integers) -> Integers:
    """A missing answer to some attributes becomes a random value of the domain, as in a client."""
    filled = codes.copy()
    for j in attributes.tolist():
        row, attribute = filled[j], plan.document.attributes[j]
        absent = np.flatnonzero(row == NO_ANSWER)
        row[absent] = draws.integers(0, attribute.domain.k, absent.size)
    return filled


def _look_for_people(
    plan: Plan,
    people: Integers,
    had: Integers,
    whom: Integers,
    collections: int,
    top: int,
    seed: int,
    progress: Progress | None,
) -> list[ReidentificationRate]:
    """Matches with all columns of the background, and with half: after one collection, and after all."""
    d, n = people.shape
    again = plan.document.rounds is not None
    surveys = [
        plan.privatize_codes(people, remembering(seed, round=t + 1) if again else _words(seed, t)).records
        for t in range(collections)
    ]
    half = np.sort(numbers_from(seed, "half").choice(had, max(1, round(had.size / 2)), replace=False))
    full_name = f"all {d} attributes" if d > 1 else "the attribute"
    backgrounds = {full_name if had.size == d else f"{had.size} of {d} attributes": had}
    if half.size < had.size:
        backgrounds[f"{half.size} of {d} attributes"] = half
    cells = [
        (name, kept, times) for name, kept in backgrounds.items() for times in dict.fromkeys((1, collections))
    ]
    rates = list[ReidentificationRate]()
    for done, (name, kept, times) in enumerate(cells, 1):
        names = [plan.names[j] for j in kept]
        columns = compact(np.stack([cells_of(plan.document.parts[j], people[j]) for j in kept]))
        ranking = match_surveys(
            [plan] * times, surveys[:times], Background(names, columns, np.arange(n)), whom, top=top
        )
        for most in dict.fromkeys((1, top)):
            figures = ranking.success(most), ranking.stderr(most), ranking.blind(most)
            about = name, tuple(names), times, most
            rates.append(ReidentificationRate(*about, *figures, *ranking.interval(most)))
        if progress is not None:
            progress(done, len(cells))
    return rates


def _words(seed: int, collection: int) -> Words:
    """Makes the random words of one collection, independent of the words of other collections."""
    return seeded(int(numbers_from(seed, "collection", collection).integers(1 << 62)))
