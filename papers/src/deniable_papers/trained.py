"""Trains the published classifiers of the sampled attribute, for reproduction. None beats the Bayes attack.

The attacker learns from simulated people (NK: no knowledge), from compromised ones whose attribute is known
(PK: partial knowledge), or from both (HM: hybrid).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from os import cpu_count
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.attack.inputs import checked_truth, records_from
from deniable.attack.likelihoods import Priors, Source, names_of
from deniable.attack.results import LEVEL, find_share_interval
from deniable.attack.sampling import Assumed, assume_fakes, estimate_marginals, find_hidden
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import format_percent
from deniable.frames import Backend, frame_of_rows
from deniable.randomness.simulated import numbers_from, seeded
from deniable.records import Faked, Records

Classifier = Literal["xgboost", "logistic"]
_Lesson = tuple[list[Array], list[Integers], Integers]
KNOWLEDGE = (
    "NK-1n",
    "NK-3n",
    "NK-5n",
    "PK-0.1n",
    "PK-0.3n",
    "PK-0.5n",
    "HM-1n-0.1n",
    "HM-3n-0.3n",
    "HM-5n-0.5n",
)
"""What the published attackers learn from: simulated people (times n), compromised people (part of n), or
both.
"""

_SMALL = 1 << 21  # numbers to learn from: with fewer, cores wait for each other longer than they work
_STREAM = "invented"  # names the stream of random numbers: another name would change all published results


@final
@dataclass(frozen=True, eq=False)
class TrainedAttack:
    """What a trained attacker found: the people that were attacked, and the attribute predicted for each."""

    knowledge: str
    whom: Integers
    attributes: Integers
    accuracy: float
    classifier: Classifier = "xgboost"
    blind: float = 0.0
    """How often a blind guess is right."""
    seed: int = 1

    @property
    def n(self) -> int:
        """The number of people who were attacked."""
        return int(self.whom.size)

    def __str__(self) -> str:
        rate = f"{format_percent(self.accuracy)} right (blind {format_percent(self.blind)})"
        return f"Trained attack {self.knowledge}, {self.n:,} people: the sampled attribute is {rate}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def frame(self, level: float = LEVEL, backend: Backend | None = None) -> Any:
        """Makes a dataframe of one row: how often it was right, with its interval at `level`."""
        who = {"attack": self.knowledge, "classifier": self.classifier, "n": self.n, "seed": self.seed}
        counted = find_share_interval(self.accuracy * self.n, self.n, level)
        return frame_of_rows([{**who, "accuracy": self.accuracy, **counted, "blind": self.blind}], backend)


def trained_attribute(
    plan: Source,
    reports: object,
    truth: npt.ArrayLike,
    knowledge: str = "NK-1n",
    classifier: Classifier = "xgboost",
    fakes: Assumed = "known",
    seed: int = 1,
    jobs: int | None = None,
    among: str | int | None = None,
) -> TrainedAttack:
    """Guesses which attribute of each report is real by a trained classifier; one of KNOWLEDGE says what it
    learns from.

    `truth` is the attribute of every report: of the compromised people it is learned from, of the others it
    judges. With fakes="uniform" simulated people have uniform fakes whatever the plan says, as in the
    published attacks on RS+RFD. `jobs` is how many cores are used; unless given all, or one where there is
    little to learn from. `among` is as in `sampled_attribute`.
    """
    records = records_from(plan, reports)
    school = School(plan, records, truth, classifier, fakes, seed=seed, among=among)
    return school.attack(knowledge, jobs)


@final
class School:
    """One collection that several attackers learn from and attack: what they all need is made once.

    What an attacker finds depends on the seed and on its own knowledge, not on who else attacks. `people` is
    the n by which they simulate and compromise people, that of the records unless given.
    """

    def __init__(
        self,
        plan: Source,
        records: Records,
        truth: npt.ArrayLike,
        classifier: Classifier = "xgboost",
        fakes: Assumed = "known",
        marginals: Priors | None = None,
        seed: int = 1,
        people: int | None = None,
        among: str | int | None = None,
    ) -> None:
        hidden = find_hidden(plan, among)
        mechanism = hidden.mechanism
        records = hidden.select(records)
        if classifier not in ("xgboost", "logistic"):
            raise InvalidParameter(f"a classifier is 'xgboost' or 'logistic', got {classifier!r}")
        self._mechanism = mechanism
        self._records = records
        self._classifier = classifier
        self._seed = seed
        self._assumed = assume_fakes(mechanism, fakes)
        self._truth = checked_truth(
            truth, records.n, names_of(plan)[hidden.first : hidden.first + mechanism.d]
        )
        self._given = marginals
        self._people = records.n if people is None else min(records.n, whole_number("people", people, 1))

    @cached_property
    def _marginals(self) -> Priors:
        return estimate_marginals(self._mechanism, self._records) if self._given is None else self._given

    @cached_property
    def _real(self) -> Array:
        return features(self._mechanism, self._records, self._classifier)

    @cached_property
    def _simulated(self) -> list[tuple[Array, Integers]]:
        return []

    def _simulate_people(self, number: int) -> tuple[list[Array], list[Integers]]:
        """Some simulated people; the first ones are always the same."""
        n, blocks = self._people, self._simulated
        while len(blocks) * n < number:
            seed = int(numbers_from(self._seed, _STREAM, len(blocks)).integers(1 << 62))
            made, which = simulate_reports(self._assumed, self._marginals, n, seed)
            blocks.append((features(self._mechanism, made, self._classifier), which))
        some = [
            (block[: number - i * n], which[: number - i * n])
            for i, (block, which) in enumerate(blocks)
            if i * n < number
        ]
        return [block for block, _ in some], [which for _, which in some]

    def attack(self, knowledge: str, jobs: int | None = None, whom: Integers | None = None) -> TrainedAttack:
        """Learns as this knowledge says, and attacks everybody else.

        With `whom`, only these people are attacked, and others are compromised first.
        """
        return self._train(knowledge, self._lesson(knowledge, whom), jobs)

    def attack_all(self, knowledge: Sequence[str], whom: Integers | None = None) -> list[TrainedAttack]:
        """Runs several attackers at once, each on a core of its own."""
        lessons = [self._lesson(each, whom) for each in knowledge]
        with ThreadPoolExecutor(cpu_count()) as cores:
            return list(cores.map(lambda each, lesson: self._train(each, lesson, 1), knowledge, lessons))

    def _lesson(self, knowledge: str, whom: Integers | None) -> _Lesson:
        """Chooses what is learned from, in blocks, with the real attributes; and the people attacked."""
        simulated, compromised = parse_knowledge(knowledge)
        n = self._records.n
        if compromised and n < 2:
            raise InvalidParameter(
                f"{knowledge} compromises some people and attacks the others, of at least 2, got {n}"
            )
        order = numbers_from(self._seed, "trained", knowledge).permutation(n)
        sought = np.ones(n, dtype=bool) if whom is None else np.isin(np.arange(n), whom)
        order = order[np.argsort(sought[order], kind="stable")]
        known, left = np.split(
            order, [min(n - 1, max(1, round(compromised * self._people))) if compromised else 0]
        )
        inputs, labels = self._simulate_people(max(1, round(simulated * self._people)) if simulated else 0)
        if known.size:
            inputs.append(self._real[known])
            labels.append(self._truth[known])
        return inputs, labels, np.sort(left[sought[left]])

    def _train(self, knowledge: str, lesson: _Lesson, jobs: int | None) -> TrainedAttack:
        inputs, labels, whom = lesson
        # a classifier knows only what it has seen, and wants it numbered from 0
        seen, numbered = np.unique(np.concatenate(labels), return_inverse=True)
        if seen.size == 1:
            found = np.full(whom.size, seen[0])
        else:
            small = sum(block.size for block in inputs) < _SMALL
            model = _model(self._classifier, self._seed, 1 if jobs is None and small else jobs)
            with nullcontext() if self._classifier == "xgboost" else _cores(jobs):
                model.fit(np.concatenate(inputs), numbered)
            found = seen[np.asarray(model.predict(self._real[whom]), dtype=np.int64)]
        accuracy = float((found == self._truth[whom]).mean())
        return TrainedAttack(
            knowledge, whom, found, accuracy, self._classifier, 1 / self._mechanism.d, self._seed
        )


def parse_knowledge(name: str) -> tuple[float, float]:
    """How many simulated and how many compromised people there are, in parts of n.

    >>> parse_knowledge("HM-3n-0.3n"), parse_knowledge("PK-0.5n")
    ((3.0, 0.3), (0.0, 0.5))
    """
    number = r"(\d+(?:\.\d+)?)n"
    found = re.fullmatch(f"NK-{number}|PK-{number}|HM-{number}-{number}", str(name))
    if found is None:
        raise InvalidParameter(f"{name!r} is not what a published attacker knows ({', '.join(KNOWLEDGE)})")
    simulated, compromised = float(found[1] or found[3] or 0), float(found[2] or found[4] or 0)
    if not all(float(given) for given in found.groups() if given is not None):
        raise InvalidParameter(
            f"{name!r} learns from nobody: a number of people is above 0, such as 1n or 0.1n"
        )
    if compromised >= 1:
        raise InvalidParameter(
            f"{name!r} leaves nobody to attack: the compromised are a part of n, such as 0.1n"
        )
    return simulated, compromised


def simulate_reports(mechanism: Faked, marginals: Priors, n: int, seed: int) -> tuple[Records, Integers]:
    """Simulates people with these marginals: their reports, and the attribute that each reports."""
    draws = numbers_from(seed, _STREAM)
    people = np.column_stack(
        [draws.choice(shares.size, whole_number("n", n, 1), p=shares) for shares in marginals]
    )
    rows = seeded(seed).rows(n, mechanism.words)
    return mechanism.encode(np.ascontiguousarray(people.T), rows), mechanism.sampled_attribute(rows)


def features(mechanism: Faked, records: Records, classifier: Classifier = "xgboost") -> Array:
    """Turns reports into features: values and bits, as published; only bits for logistic regression."""
    columns = []
    for part, column in zip((fake.part for fake in mechanism.fakes), records.columns, strict=True):
        if part.bitwise or classifier == "logistic":
            columns.append(part.support(column).astype(np.uint8))
        elif part.names_value and column.ndim == 1:
            columns.append(np.asarray(column)[:, None])
        else:
            raise InvalidParameter(
                f"a classifier is trained on values and bits, not on reports of {type(part).__name__}"
            )
    return np.concatenate(columns, axis=1)


def _cores(jobs: int | None) -> AbstractContextManager[object]:
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(jobs)
    return limits


def _model(classifier: Classifier, seed: int, jobs: int | None) -> Any:
    if classifier == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(random_state=seed, eval_metric="mlogloss", n_jobs=jobs)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)
