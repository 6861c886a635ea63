"""People who answer five surveys, and are looked for in a background table, as in the attack study.

One difference: there, people are shuffled and cut into groups of equal size, one per attribute; here everybody draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from deniable.attack.background import Background, compact
from deniable.attack.evidence import Clue
from deniable.attack.guessing import guessed_values
from deniable.attack.matching import Evidence, match, match_surveys
from deniable.attack.sampled import sampled_attribute
from deniable.data import Dataset
from deniable.errors import InvalidParameter
from deniable.law import Integers
from deniable.multidimensional import rsfd
from deniable.plan import Plan
from deniable.population import numbers_from
from deniable.protocols import PROTOCOLS
from deniable.shape import Encoder
from deniable.share import Records
from deniable.simulated import seeded
from deniable.studies.risks import Asked, Cell, Row, study_name

PROTOCOLS_ASKED = ("grr", "ss", "sue", "oue", "olh")
FAKED = "RS+FD[GRR]"
SURVEYS = 5
TOPS = (1, 10)
METRICS = ("uniform", "non-uniform")
BACKGROUNDS = ("FK", "PK")
"""Full and partial knowledge: all columns, or some of them, drawn once per run."""


def people_cells(figure: str, people: Dataset, epsilons: Sequence[float], asked: Asked) -> Iterator[Cell]:
    """After two to five surveys, by guesses and by supports."""
    for metric in METRICS:
        for protocol in (*PROTOCOLS_ASKED, FAKED):
            for epsilon in epsilons:
                attacks = [attack for attack in ("guess", "support") if attack in asked.attacks]
                cells = [
                    (surveys, background, attack, top)
                    for surveys in range(2, SURVEYS + 1)
                    for background in BACKGROUNDS
                    for attack in attacks
                    for top in TOPS
                ]
                name = protocol if protocol == FAKED else protocol.upper()
                rows = [
                    Row(
                        *(
                            figure,
                            study_name(people),
                            name,
                            epsilon,
                            attack,
                            None,
                            None,
                            asked.runs,
                            people.n,
                            people.d,
                            asked.seed,
                        ),
                        baseline=top / people.n,
                        users=min(people.n, asked.looked_for),
                        surveys=surveys,
                        top=top,
                        background=background,
                        metric=metric,
                    )
                    for surveys, background, attack, top in cells
                ]
                yield Cell(tuple(rows), people, partial(_looked_for, people, protocol, epsilon, metric, attacks, asked))


def _looked_for(
    people: Dataset,
    protocol: str,
    epsilon: float,
    metric: str,
    attacks: Sequence[str],
    asked: Asked,
    run: int,
    draws: np.random.Generator,
) -> list[float]:
    if protocol == FAKED and metric == "uniform":
        raise InvalidParameter(
            "among fakes nobody knows which attribute was reported before, so that none can be left out; the published code "
            "samples with replacement, too: see the non-uniform metric"
        )
    chosen, known = drawn_surveys(people.d, numbers_from(asked.seed, "surveys", people.name, run))
    whom = asked.targets(people.n, draws, asked.looked_for)
    plans, records = list[Plan](), list[Records]()
    if protocol == FAKED:
        plans, records = _asked_among_fakes(people, epsilon, chosen, draws)
        held = _among_fakes(people, chosen, plans, records)
    else:
        held = _reported(people, protocol, epsilon, metric, chosen, draws)
    guessed = [
        [Evidence(clue.attribute, clue, guessed_values(clue.part, clue.reports, draws)) for clue in survey] for survey in held
    ]
    supported = [[Evidence(clue.attribute, clue) for clue in survey] for survey in held]
    columns, own = compact(people.table.T), np.arange(people.n)
    found = []
    for surveys in range(2, SURVEYS + 1):
        for background in BACKGROUNDS:
            for attack in attacks:
                if plans and attack == "support":
                    kept = [j for j in range(people.d) if background == "FK" or j in known]
                    names = [people.attributes[j] for j in kept]
                    result = match_surveys(plans[:surveys], records[:surveys], Background(names, columns[kept], own), whom)
                    found += [result.success(top) for top in TOPS]
                    continue
                seen = [
                    one
                    for survey in (guessed if attack == "guess" else supported)[:surveys]
                    for one in survey
                    if background == "FK" or one.column in known
                ]
                result = match(seen, columns, own, whom)
                found += [result.success(top) for top in TOPS]
    return found


def drawn_surveys(d: int, draws: np.random.Generator) -> tuple[list[Integers], set[int]]:
    """The attributes of each survey, and the columns of a partial background: half of all to all but one, at random.

    They are the same for all protocols and epsilons of a run.
    """

    def some() -> Integers:
        return np.sort(draws.choice(d, int(draws.integers(round(d / 2), d)), replace=False))

    return [some() for _ in range(SURVEYS)], set(some().tolist())


def _reported(
    people: Dataset, protocol: str, epsilon: float, metric: str, chosen: Sequence[Integers], draws: np.random.Generator
) -> list[list[Clue]]:
    """What each survey learns that is new: a report of every person's attribute, unless it was reported before."""
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
            assert isinstance(part, Encoder)
            who = np.flatnonzero((drawn == j) & ~again)
            if who.size:
                values = people.table[who, j].astype(np.int64)
                held[-1].append(Clue(j, part, who, part.privatize(values, seeded(int(draws.integers(1 << 62))))))
    return held


def _asked_among_fakes(
    people: Dataset, epsilon: float, chosen: Sequence[Integers], draws: np.random.Generator
) -> tuple[list[Plan], list[Records]]:
    """One plan for each survey, and what everybody reports by it."""
    plans, records = [], []
    for attributes in chosen:
        share = rsfd([people.ks[j] for j in attributes], epsilon, "grr", "published")
        plans.append(Plan.of({people.attributes[j]: people.labels[j] for j in attributes}, share, people.n))
        records.append(share.privatize(people.table[:, attributes].astype(np.int64), seeded(int(draws.integers(1 << 62)))))
    return plans, records


def _among_fakes(
    people: Dataset, chosen: Sequence[Integers], plans: Sequence[Plan], records: Sequence[Records]
) -> list[list[Clue]]:
    """What is likeliest to be real in each survey, as it was reported, unless the attribute was taken for real before."""
    before, held = np.zeros((people.n, people.d), dtype=bool), list[list[Clue]]()
    for attributes, plan, sent in zip(chosen, plans, records, strict=True):
        best = sampled_attribute(plan.share, sent).attributes
        held.append([])
        for i, j in enumerate(attributes.tolist()):
            who = np.flatnonzero((best == i) & ~before[:, j])
            before[who, j] = True
            if who.size:
                held[-1].append(Clue(j, plan.content.parts[i], who, sent.columns[i][who]))
    return held
