"""Attacks values and the sampled attribute, as published and as well as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from deniable.arrays import Array, Floats
from deniable.attack import profile, sampled_attribute
from deniable.attack.sampling import Assumed, estimate_marginals
from deniable.attack.values import guess_values
from deniable.mechanisms import PROTOCOLS, Mechanism
from deniable.randomness import Words
from deniable.randomness.simulated import seeded
from deniable.records import Faked, Records, rsfd, rsrfd
from deniable_papers.data import Dataset
from deniable_papers.studies.accuracy import CLASSICAL, COMPUTED, Asked, Cell, targets
from deniable_papers.trained import KNOWLEDGE, School, parse_knowledge

ON_VALUES = ("guess", *COMPUTED)
ON_SAMPLED = {"sampled-attribute": ("bayes",), "rsrfd": ("bayes", "bayes-uniform")}
"""The attacks that are not trained, by figure: in RS+FD the fakes are uniform."""
PRIORS = ("correct", "dirichlet", "zipf", "exponential")
_VALUE_ATTRIBUTES = 3  # as in Figure 1: as many collections as attributes
RSFD = {"GRR": "grr", "SUE-z": "sue-z", "OUE-z": "oue-z", "SUE-r": "sue-r", "OUE-r": "oue-r"}
RSRFD = {"GRR": "grr", "SUE-r": "sue-r", "OUE-r": "oue-r"}
_LAPLACE = 0.1  # the budget of the correct prior, over all attributes
_DRAWS, _ZIPF = 100_000, 1.01
# Seconds of one core: to grow an attribute's trees at all, by person and column, and what a person costs in
# columns; to look.
_GROWN, _LEARNED, _EACH, _LOOKED = 0.015, 3e-7, 28, 1e-7
_IN_FIGURE = {
    "ss": "published is (e^epsilon + 1) / 2k, from the study's text, held at 1; published-figure is what its "
    "figure shows: the exact values"
}
"""Protocols whose figure in the study does not show the formula of its text."""
MIXED = 1e-6
"""How much of every prior is uniform, since a value without a share would be refused."""


def value_cells(figure: str, people: Dataset, epsilons: Sequence[float], asked: Asked) -> Iterator[Cell]:
    """Three collections of three attributes: how often all three values are guessed."""
    ks = people.ks[:_VALUE_ATTRIBUTES]
    blind = math.prod(1 / k for k in ks)
    for metric, part in (("uniform", 1.0), ("non-uniform", math.factorial(len(ks)) / len(ks) ** len(ks))):
        more = {"d": len(ks), "baseline": blind * part, "surveys": len(ks), "metric": metric}
        for protocol in CLASSICAL:
            for epsilon in epsilons:
                attacks = [
                    attack
                    for attack in ON_VALUES
                    if attack in asked.attacks and (attack != "published-figure" or protocol in _IN_FIGURE)
                ]
                rows = [
                    asked.row(
                        figure,
                        people,
                        protocol.upper(),
                        epsilon,
                        attack,
                        note=_IN_FIGURE.get(protocol) if attack.startswith("published") else None,
                        **more,
                    )
                    for attack in attacks
                ]
                yield Cell(
                    tuple(rows), partial(_attack_values, people, protocol, epsilon, metric, attacks, asked)
                )


def _attack_values(
    people: Dataset,
    protocol: str,
    epsilon: float,
    metric: str,
    attacks: Sequence[str],
    asked: Asked,
    _run: int,
    draws: np.random.Generator,
) -> list[Array]:
    ks = people.ks[:_VALUE_ATTRIBUTES]
    parts = [_make_mechanism(protocol, k, epsilon) for k in ks]
    d = len(ks)

    def measure_guesses() -> Array:
        whom = targets(people.n, draws, asked.users)
        right = np.ones(whom.size, dtype=bool)
        for j, part in enumerate(parts):
            true = people.table[whom, j].astype(np.int64)
            right &= guess_values(part, part.privatize(true, _words(draws)), draws) == true
        if metric == "non-uniform":  # the same attribute twice tells nothing new
            drawn = np.sort(draws.integers(0, d, (whom.size, d)), axis=1)
            right &= (drawn == np.arange(d)).all(axis=1)
        return right

    def compute_exact() -> Array:
        return whole([part.success() for part in parts])

    def whole(chances: Sequence[float]) -> Array:
        return np.array(
            [profile([(1.0, chance, *[0.0] * (d - 1)) for chance in chances], d, metric == "non-uniform")]
        )

    ways: dict[str, Callable[[], Array]] = {
        "guess": measure_guesses,
        "exact": compute_exact,
        "published": lambda: whole([published_success(protocol, k, epsilon) for k in ks]),
        "published-figure": compute_exact,
    }
    return [ways[attack]() for attack in attacks]


def published_success(protocol: str, k: int, epsilon: float) -> float:
    """The formulas of the study's text: those of ss and olh are approximate; that of ss is above 1 where k is
    small, and held at 1.
    """
    e = math.exp(epsilon)
    if protocol == "ss":
        return min(1.0, (e + 1) / (2 * k))
    if protocol == "olh":
        return 1 / (2 * max(k / (e + 1), 1))
    return _make_mechanism(protocol, k, epsilon).success()


def sampled_cells(figure: str, people: Dataset, epsilons: Sequence[float], asked: Asked) -> Iterator[Cell]:
    """Which attribute is real, in RS+FD and, with all priors, in RS+RFD."""
    realistic = figure == "rsrfd"
    for prior in PRIORS if realistic else (None,):
        known = [
            one
            for one in asked.attacks
            if one in KNOWLEDGE and (prior in (None, "correct") or one[:2] == "NK")
        ]
        attacks = [*known, *(one for one in ON_SAMPLED[figure] if one in asked.attacks)]
        for name, protocol in (RSRFD if realistic else RSFD).items():
            for epsilon in epsilons:
                rows = [
                    asked.row(
                        *(figure, people, f"{'RS+RFD' if realistic else 'RS+FD'}[{name}]", epsilon, attack),
                        baseline=1 / people.d,
                        prior=prior,
                        trained_on=asked.trained_on(people) if attack in KNOWLEDGE else None,
                    )
                    for attack in attacks
                ]
                run = partial(_attack_attribute, people, protocol, epsilon, prior, attacks, asked)
                yield Cell(
                    tuple(rows), run, sum(_work(attack, people, protocol, asked) for attack in attacks)
                )


def _work(attack: str, people: Dataset, protocol: str, asked: Asked) -> float:
    """Trees are grown for every attribute, from everybody who is learned from, column by column."""
    columns = people.d if protocol == "grr" else sum(people.ks)
    if attack not in KNOWLEDGE:
        return _LOOKED * people.n * columns
    return training_work(sum(parse_knowledge(attack)) * asked.trained_on(people), columns, people.d)


def training_work(learned: float, columns: int, d: int) -> float:
    """About how many seconds of a core it takes to learn from this many people."""
    return d * (_GROWN + _LEARNED * learned * (columns + _EACH))


def _attack_attribute(
    people: Dataset,
    protocol: str,
    epsilon: float,
    prior: str | None,
    attacks: Sequence[str],
    asked: Asked,
    _run: int,
    draws: np.random.Generator,
) -> list[Array]:
    mechanism = _make_faked(people, protocol, epsilon, prior, draws)
    seed, rows = int(draws.integers(1 << 31)), _words(draws).rows(people.n, mechanism.words)
    records, truth = (
        mechanism.encode(np.ascontiguousarray(people.table.T.astype(np.int64)), rows),
        mechanism.sampled_attribute(rows),
    )
    whom = targets(people.n, draws, asked.users)
    assumed: Assumed = "known" if prior is None else "uniform"
    shares, some = (
        estimate_marginals(mechanism, records),
        Records(whom.size, tuple(column[whom] for column in records.columns)),
    )

    # nothing here is drawn from what the attacks share, so that each is the same without the others
    learning = [attack for attack in attacks if attack in KNOWLEDGE]
    found: dict[str, Array] = {}
    if learning:
        school = School(
            mechanism, records, truth, fakes=assumed, marginals=shares, seed=seed, people=asked.training
        )
        found = {
            one.knowledge: one.attributes == truth[one.whom] for one in school.attack_all(learning, whom)
        }
    for attack in set(attacks) - set(learning):
        best = sampled_attribute(mechanism, some, shares, "uniform" if attack == "bayes-uniform" else "known")
        found[attack] = best.attributes == truth[whom]
    return [found[attack] for attack in attacks]


def _make_faked(
    people: Dataset, protocol: str, epsilon: float, prior: str | None, draws: np.random.Generator
) -> Faked:
    if prior is None:
        return rsfd(people.ks, epsilon, protocol, "published")
    priors = public_priors(people, prior, draws)
    return rsrfd(people.ks, epsilon, priors, protocol, "published", fakes="published", mixed=MIXED)


def public_priors(people: Dataset, name: str, draws: np.random.Generator) -> list[Floats]:
    """The study's priors: the truth with a little noise, or three that have nothing to do with it."""
    if name == "correct":
        noisy = [counts + draws.laplace(0.0, people.d / _LAPLACE, counts.size) for counts in people.counts]
        return [_shares(np.maximum(np.rint(counts), 0.0)) for counts in noisy]
    if name == "dirichlet":
        return [draws.dirichlet(np.ones(k)) for k in people.ks]
    found = []
    for k in people.ks:
        drawn = (
            draws.zipf(_ZIPF, _DRAWS).astype(np.float64) if name == "zipf" else draws.exponential(1.0, _DRAWS)
        )
        found.append(_shares(np.histogram(drawn, bins=k)[0].astype(np.float64)))
    return found


def _shares(counts: Floats) -> Floats:
    total = counts.sum()
    return np.asarray(counts / total) if total > 0 else np.full(counts.size, 1 / counts.size)


def _make_mechanism(protocol: str, k: int, epsilon: float) -> Mechanism:
    return PROTOCOLS[protocol].make(k, epsilon)


def _words(draws: np.random.Generator) -> Words:
    return seeded(int(draws.integers(1 << 62)))
