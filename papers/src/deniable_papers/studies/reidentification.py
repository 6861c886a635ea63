"""Looks for people who answer five surveys in a background table, as in the attack study.

By `guess`, as published, one value per report is guessed first and matches are counted; by `support` records
are scored by all that the reports tell. Among fakes (RS+FD) the published attacker finds the attribute that
is real by a classifier, trained again for every survey (NK-1n): so does `guess`. `guess-bayes` takes the
likeliest attribute instead, which needs no training, and `support` leaves none out.

One difference: there, people are shuffled and cut into groups of equal size, one per attribute; here
everybody draws.

Among fakes both metrics are one measurement: the published code means to leave out what was reported before,
but never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.attack import Reidentification, real_attributes, sampled_attribute
from deniable.attack.inputs import Background, compact
from deniable.attack.likelihoods import Clue
from deniable.attack.reidentification import Evidence, match, match_surveys
from deniable.attack.values import guess_values
from deniable.mechanisms import PROTOCOLS
from deniable.randomness.simulated import numbers_from, seeded
from deniable.records import Faked, Records, rsfd
from deniable.study import Plan
from deniable_papers.data import Dataset
from deniable_papers.studies.accuracy import CLASSICAL, Asked, Cell, targets
from deniable_papers.studies.inference import training_work
from deniable_papers.trained import School

AMONG_FAKES = "RS+FD[GRR]"
SURVEYS = 5
TOPS = (1, 10)
METRICS = ("uniform", "non-uniform")
AS_PUBLISHED = (
    "drawn with replacement, as by the published code: the same measurement as by the non-uniform metric"
)
"""What rows of the uniform metric among fakes say of themselves."""
BACKGROUNDS = ("FK", "PK")
"""Full and partial knowledge: all columns, or some of them, drawn once per run."""
_TRAINED = "NK-1n"
_GUESS, _GUESS_BAYES, _SUPPORT = ON_PEOPLE = ("guess", "guess-bayes", "support")
# what needs a classifier is apart, so that the rest is there without one; the reports are the same
_TOGETHER: dict[bool, list[tuple[str, ...]]] = {
    False: [(_GUESS, _SUPPORT)],
    True: [(_GUESS,), (_GUESS_BAYES, _SUPPORT)],
}
"""The attacks that are made on the same reports, without fakes and among them."""
_ONE_BY_ONE = tuple(protocol.upper() for protocol in CLASSICAL)
_AMONG_FAKES = ("non-uniform", "uniform"), AMONG_FAKES
# Seconds of one core by target, record, attribute and row; among fakes all attributes of a report are looked
# at.
_LOOKED, _LOOKED_AMONG_FAKES = 1e-10, 4e-10


def people_cells(figure: str, people: Dataset, epsilons: Sequence[float], asked: Asked) -> Iterator[Cell]:
    """After one to five surveys, by guesses and by supports."""
    users = min(people.n, asked.looked_for)
    for metrics, protocol in (
        *product([("uniform",)], _ONE_BY_ONE),
        *product([("non-uniform",)], _ONE_BY_ONE),
        _AMONG_FAKES,
    ):
        fakes = protocol == AMONG_FAKES
        for epsilon, names in product(epsilons, _TOGETHER[fakes]):
            attacks = [attack for attack in names if attack in asked.attacks]
            trained = fakes and _GUESS in attacks
            rows = [
                asked.row(
                    *(figure, people, protocol, epsilon, attack),
                    users=users,
                    baseline=top / people.n,
                    surveys=surveys,
                    top=top,
                    background=background,
                    metric=metric,
                    trained_on=asked.trained_on(people) if trained else None,
                    note=AS_PUBLISHED if fakes and metric == "uniform" else None,
                )
                for metric in metrics
                for surveys in range(1, SURVEYS + 1)
                for background in BACKGROUNDS
                for attack in attacks
                for top in TOPS
            ]
            looked = _LOOKED_AMONG_FAKES if _SUPPORT in attacks and fakes else _LOOKED
            work = looked * len(rows) / len(metrics) * users * people.n * people.d
            if trained:
                work += SURVEYS * training_work(asked.trained_on(people), people.d, people.d)
            yield Cell(
                tuple(rows),
                partial(_look_for_people, people, protocol, epsilon, metrics, attacks, asked),
                work,
            )


def _look_for_people(
    people: Dataset,
    protocol: str,
    epsilon: float,
    metrics: Sequence[str],
    attacks: Sequence[str],
    asked: Asked,
    run: int,
    draws: np.random.Generator,
) -> list[Array]:
    chosen, known = draw_surveys(people.d, numbers_from(asked.seed, "surveys", people.name, run))
    whom = targets(people.n, draws, asked.looked_for)
    columns, own = compact(people.table.T), np.arange(people.n)
    ways: dict[str, Callable[[int, set[int]], Reidentification]] = {}

    def by(held: Sequence[Sequence[Evidence]]) -> Callable[[int, set[int]], Reidentification]:
        def look(surveys: int, among: set[int]) -> Reidentification:
            seen = [one for survey in held[:surveys] for one in survey if one.column in among]
            return match(seen, columns, own, whom)

        return look

    def by_guess(held: Sequence[Sequence[Clue]]) -> Callable[[int, set[int]], Reidentification]:
        return by(
            [
                [Evidence(one.attribute, one, guess_values(one.part, one.reports, draws)) for one in each]
                for each in held
            ]
        )

    if protocol == AMONG_FAKES:
        answered = [_Survey.of(people, epsilon, attributes, draws) for attributes in chosen]

        def by_all(surveys: int, among: set[int]) -> Reidentification:
            kept, some = sorted(among), answered[:surveys]
            names = [people.attributes[j] for j in kept]
            held = Background(names, columns[kept], own)
            return match_surveys([one.plan for one in some], [one.records for one in some], held, whom)

        ways[_SUPPORT] = by_all
        if _GUESS in attacks:
            ways[_GUESS] = by_guess(
                _take_for_real(people, answered, whom, [one.trained(asked, whom) for one in answered])
            )
        if _GUESS_BAYES in attacks:
            ways[_GUESS_BAYES] = by_guess(
                _take_for_real(people, answered, whom, [one.likeliest(whom) for one in answered])
            )
    else:
        held = _report_one_by_one(people, protocol.lower(), epsilon, metrics[0], chosen, draws)
        if _GUESS in attacks:
            ways[_GUESS] = by_guess(held)
        ways[_SUPPORT] = by([[Evidence(one.attribute, one) for one in each] for each in held])
    found = []
    for surveys in range(1, SURVEYS + 1):
        for background in BACKGROUNDS:
            for attack in attacks:
                result = ways[attack](surveys, set(range(people.d)) if background == "FK" else known)
                found += [result.chance(top) for top in TOPS]
    return found * len(metrics)


def draw_surveys(d: int, draws: np.random.Generator) -> tuple[list[Integers], set[int]]:
    """The attributes of each survey, and the columns of a partial background: half of all to all but one, at
    random.

    They are the same for all protocols and epsilons of a run.
    """

    def some() -> Integers:
        return np.sort(draws.choice(d, int(draws.integers(round(d / 2), d)), replace=False))

    return [some() for _ in range(SURVEYS)], set(some().tolist())


def _report_one_by_one(
    people: Dataset,
    protocol: str,
    epsilon: float,
    metric: str,
    chosen: Sequence[Integers],
    draws: np.random.Generator,
) -> list[list[Clue]]:
    """Reports each attribute of a person once: a survey learns only what is new."""
    parts = [PROTOCOLS[protocol].make(k, epsilon) for k in people.ks]
    everyone, before = np.arange(people.n), np.zeros((people.n, people.d), dtype=bool)
    held: list[list[Clue]] = []
    for attributes in chosen:
        drawn = attributes[draws.integers(0, attributes.size, people.n)]
        again = before[everyone, drawn]
        if metric == "uniform":  # another one, that was not reported yet, of all attributes
            fresh = np.where(before[again], -1.0, draws.random((int(again.sum()), people.d)))
            drawn[again] = np.argmax(fresh, axis=1)
            again[:] = False
        before[everyone, drawn] = True
        held.append([])
        for j, part in enumerate(parts):
            who = np.flatnonzero((drawn == j) & ~again)
            if who.size:
                values = people.table[who, j].astype(np.int64)
                held[-1].append(
                    Clue(j, part, who, part.privatize(values, seeded(int(draws.integers(1 << 62)))))
                )
    return held


@final
@dataclass(frozen=True, eq=False)
class _Survey:
    """A survey among fakes: its plan, the reports, and which attribute of each is real."""

    attributes: Integers
    plan: Plan
    mechanism: Faked
    records: Records
    truth: Integers
    seed: int

    @classmethod
    def of(cls, people: Dataset, epsilon: float, attributes: Integers, draws: np.random.Generator) -> _Survey:
        """Ask everybody."""
        seed = int(draws.integers(1 << 62))
        mechanism = rsfd([people.ks[j] for j in attributes], epsilon, "grr", "published")
        plan = Plan.of({people.attributes[j]: people.labels[j] for j in attributes}, mechanism, people.n)
        records = mechanism.privatize(people.table[:, attributes].astype(np.int64), seeded(seed))
        return cls(attributes, plan, mechanism, records, real_attributes(mechanism, people.n, seed), seed)

    def trained(self, asked: Asked, whom: Integers) -> Integers:
        """The real attribute of each of these reports, as published."""
        school = School(
            self.mechanism, self.records, self.truth, seed=self.seed % (1 << 31), people=asked.training
        )
        return school.attack(_TRAINED, whom=whom).attributes

    def likeliest(self, whom: Integers) -> Integers:
        """The same, as well as can be."""
        return sampled_attribute(self.mechanism, self.records).attributes[whom]


def _take_for_real(
    people: Dataset, surveys: Sequence[_Survey], whom: Integers, found: Sequence[Integers]
) -> list[list[Clue]]:
    """Takes what was found to be real as reported, unless there was such before."""
    before, held = np.zeros((whom.size, people.d), dtype=bool), list[list[Clue]]()
    for survey, best in zip(surveys, found, strict=True):
        held.append([])
        for i, j in enumerate(survey.attributes.tolist()):
            new = (best == i) & ~before[:, j]
            before[new, j] = True
            if new.any():
                held[-1].append(
                    Clue(j, survey.plan.document.parts[i], whom[new], survey.records.columns[i][whom[new]])
                )
    return held
