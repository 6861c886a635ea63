"""Reproduces the attacks of Data poisoning attacks to LDP protocols (2021), with and without each defense.

Some of the reports are made up to push targets. The gain is how much the shares of all targets together grow.
It is computed from the law (`expected`), by the paper (`published`), and measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.choose import Objective, consider
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.exact import positive_epsilon, whole_number
from deniable.frames import Backend
from deniable.mechanisms import PROTOCOLS, SetMechanism
from deniable.randomness.simulated import numbers_from, seeded
from deniable.results.health import Health
from deniable.summaries.health import LEVEL, check_shares, watches
from deniable_papers.data import Dataset
from deniable_papers.simulate.population import zipf
from deniable_papers.studies.fakes import (
    Attack,
    Attacked,
    expected_gain,
    has_more,
    make_fakes,
    published_gain,
)
from deniable_papers.studies.recovery import FakeModel, recover_shares
from deniable_papers.studies.sweep import AGES, Progress, checked_methods, frame_points, take_attribute

METHODS = tuple(name for name in PROTOCOLS if name != "adaptive")
EPSILONS, QUICK_EPSILONS = (0.5, 1.0, 2.0, 4.0), (1.0,)
RUNS, QUICK_RUNS = 10, 2
K, SIMULATED = AGES, 10_000
FAKES = 0.05
"""The share of all reports that was made up."""
TARGETS = (1, 10)
CAP = 5.0
"""How many people a made-up report may count for, where the planner has a cap."""
NOTES = {
    "RIA": "these fakes follow the protocol, with false answers: no check of reports can notice them",
    "MAX": "a hash function that sends all values to one bucket needs no search",
}
"""What is to be known about an attack."""
NORMALIZED = "normalization"
_MODELS: dict[str, FakeModel] = {
    "RPA": "random reports",
    "RIA": "false answers",
    "MGA": "pushed values",
    "MAX": "pushed values",
}
_OTHERS: dict[FakeModel, FakeModel] = {
    "random reports": "pushed values",
    "false answers": "pushed values",
    "pushed values": "false answers",
}
"""What somebody who takes fakes of one kind for another may believe."""
_NOBODY = "none"
HALF, TWICE, OTHER = "recovery of half the fakes", "recovery of twice the fakes", "recovery by another model"
"""What recovery makes of a wrong statement on the fakes."""


@final
@dataclass(frozen=True, kw_only=True)
class PoisoningPoint:
    """What an attack gains against one defense; or why that is not known."""

    dataset: str
    attack: str
    """RPA, RIA, MGA or MAX; `none` is honest people only, and `gain` is then what the defense costs."""
    protocol: str
    epsilon: float
    k: int
    n: int
    """How many people are honest."""
    targets: int
    fakes: float
    """The share of all reports that was made up."""
    defense: str
    runs: int
    seed: int
    gain: float | None = None
    """How much the shares of all targets together grow: 1 is 100 points."""
    stderr: float | None = None
    """The error of its mean over the runs; 0 where it is computed, None of one run."""
    expected: float | None = None
    """The gain by the law, without a defense."""
    published: float | None = None
    """The gain by the formula of the paper, which has some protocols only."""
    alarmed: float | None = None
    """The share of runs in which the health of the reports raises an alarm."""
    covered: float | None = None
    """How often the 95 % interval of a target holds the true share."""
    width: float | None = None
    """How wide these intervals are, on average; one that no share is in, with so few fakes, is 0 wide."""
    note: str | None = None
    refused: str | None = None


def frame(rows: Iterable[PoisoningPoint], backend: Backend | None = None) -> Any:
    """A line per row, as a dataframe of the library you already have: pandas, polars or pyarrow."""
    return frame_points(PoisoningPoint, rows, backend)


def reproduce(
    people: Dataset | None = None,
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    users: int | None = None,
    targets: Iterable[int] = TARGETS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Iterator[PoisoningPoint]:
    """Rows by protocol, epsilon, number of targets, attack and defense, as they are done.

    People are Adult's by age, in 100 values, those of another dataset by its first attribute, or simulated
    ones with Zipf's shares. `users` asks this many of them. Targets are drawn at random, the same for all
    rows.
    """
    names = checked_methods(methods, METHODS, runs, seed, "a protocol")
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    dataset, values, k = _ask(people, users, seed)
    sizes = [whole_number("targets", size, 1, k - 1) for size in targets]
    pushed = tuple(_choose_targets(size, k, seed) for size in sizes)
    setting = _Setting(dataset, values, k, pushed, runs, seed)
    return _measure_all(setting, names, budgets, progress)


def _ask(people: Dataset | None, users: int | None, seed: int) -> tuple[str, Integers, int]:
    n = None if users is None else whole_number("users", users, 1)
    if people is None:
        counts = zipf(K).draw_counts(n or SIMULATED, numbers_from(seed, "people"))
        return "zipf", np.repeat(np.arange(K), counts), K
    name, values, k = take_attribute(people)
    if n is not None and n < values.size:
        values = numbers_from(seed, "users").choice(values, n, replace=False)
    return name, values, k


def _choose_targets(size: int, k: int, seed: int) -> Integers:
    return np.sort(numbers_from(seed, "targets", size).choice(k, size, replace=False))


@final
@dataclass(frozen=True, eq=False)
class _Setting:
    """Who is asked, and what fakes push."""

    dataset: str
    values: Integers
    k: int
    targets: tuple[Integers, ...]
    runs: int
    seed: int

    @property
    def truth(self) -> Floats:
        return np.asarray(np.bincount(self.values, minlength=self.k) / self.values.size)

    @property
    def count(self) -> int:
        """How many reports are made up."""
        return round(self.values.size * FAKES / (1 - FAKES))

    @property
    def fakes(self) -> float:
        return self.count / (self.count + self.values.size)

    def row(
        self, protocol: str, epsilon: float, targets: Integers, attack: str, defense: str, **more: Any
    ) -> PoisoningPoint:
        return PoisoningPoint(
            dataset=self.dataset,
            attack=attack,
            protocol=protocol,
            epsilon=epsilon,
            k=self.k,
            n=self.values.size,
            targets=targets.size,
            fakes=0.0 if attack == _NOBODY else self.fakes,
            defense=defense,
            runs=self.runs,
            seed=self.seed,
            note=NOTES.get(attack),
            **more,
        )


def _measure_all(
    setting: _Setting, names: Sequence[str], budgets: Sequence[float], progress: Progress | None
) -> Iterator[PoisoningPoint]:
    cells = [(name, epsilon) for name in names for epsilon in budgets]
    for done, (name, epsilon) in enumerate(cells, 1):
        try:
            yield from _measure(setting, name, epsilon)
        except InvalidParameter as problem:
            yield setting.row(name, epsilon, setting.targets[0], "MGA", "nothing", refused=str(problem))
        if progress is not None:
            progress(done, len(cells))
    for epsilon in budgets:
        yield from _plan(setting, epsilon)


def _measure(setting: _Setting, name: str, epsilon: float) -> Iterator[PoisoningPoint]:
    mechanism = PROTOCOLS[name].make(setting.k, epsilon)
    if not isinstance(mechanism, Attacked):
        raise InvalidParameter(f"there is no attack on reports of {mechanism.title}; leave it out")
    found: dict[tuple[int, str, str], list[_Seen]] = {}
    for run in range(setting.runs):
        draws = numbers_from(setting.seed, "poisoning", setting.dataset, name, epsilon, run)
        honest = mechanism.privatize(setting.values, seeded(int(draws.integers(1 << 62))))
        before, calm = _estimate(mechanism, honest), _is_alarmed(mechanism, honest)
        for j, targets in enumerate(setting.targets):
            seen = {_NOBODY: (before, calm)}
            for attack in _attacks(mechanism, targets):
                made_up = make_fakes(mechanism, attack, targets, setting.count, draws)
                reports = np.concatenate([honest, made_up])
                seen[attack] = _estimate(mechanism, reports), _is_alarmed(mechanism, reports)
            for which, (after, alarmed) in seen.items():
                defended = _defend(mechanism, before, after, targets, which, setting)
                defended["nothing"] = replace(defended["nothing"], alarmed=alarmed)
                for defense, one in defended.items():
                    found.setdefault((j, which, defense), []).append(one)
    computed: dict[tuple[int, str], dict[str, float | None]] = {
        (j, attack): _compute(setting, mechanism, name, epsilon, targets, attack)
        for j, targets in enumerate(setting.targets)
        for attack in _attacks(mechanism, targets)
    }
    for (j, which, defense), some in found.items():
        gains = computed.get((j, which), {})
        yield setting.row(name, epsilon, setting.targets[j], which, defense, **gains, **_sum_up(some))


def _attacks(mechanism: Attacked, targets: Integers) -> tuple[Attack, ...]:
    return ("RPA", "RIA", "MGA", "MAX") if has_more(mechanism, targets) else ("RPA", "RIA", "MGA")


def _estimate(mechanism: SetMechanism, reports: Array) -> Estimate:
    return mechanism.estimate(mechanism.tally(reports))


def _is_alarmed(mechanism: SetMechanism, reports: Array) -> bool:
    """Whether the checks of `deniable estimate` raise an alarm in a single look."""
    estimate, some = _estimate(mechanism, reports), watches(mechanism)
    for watch in some:
        watch.look(reports)
    tail = LEVEL / (2 + len(some))
    checks = [*check_shares("", estimate, tail), *(watch.check("", estimate, tail) for watch in some)]
    return bool(Health(tuple(checks), looks=1, n=estimate.n).alarms)


@final
@dataclass(frozen=True)
class _Seen:
    """What one run gave."""

    gain: float
    covered: float | None = None
    width: float | None = None
    alarmed: bool | None = None


def _defend(
    mechanism: SetMechanism,
    before: Estimate,
    after: Estimate,
    targets: Integers,
    attack: str,
    setting: _Setting,
) -> dict[str, _Seen]:
    """What each defense makes of these reports; where there are no fakes, it believes that there are."""
    truth = setting.truth[targets]

    def see(shares: Floats, low: Floats, high: Floats, honest: Floats = before.frequencies) -> _Seen:
        holds = (low[targets] <= truth) & (truth <= high[targets])
        gain = float((shares - honest)[targets].sum())
        return _Seen(gain, float(holds.mean()), float(np.nan_to_num(high - low)[targets].mean()))

    found = {
        "nothing": see(after.frequencies, *after.interval()),
        "worst case": see(after.frequencies, *after.interval_with_fakes(setting.fakes)),
    }
    for name, (fakes, model) in _statements(attack, setting.fakes).items():
        pushed = () if model == "random reports" else targets.tolist()
        recovered = recover_shares(mechanism, after, fakes, model, pushed)
        found[name] = see(recovered.frequencies, recovered.low, recovered.high)
    for name, project in ((NORMALIZED, _normalize), ("norm-sub", lambda one: one.project("norm-sub"))):
        found[name] = _Seen(float((project(after) - project(before))[targets].sum()))
    return found


def _statements(attack: str, fakes: float) -> dict[str, tuple[float, FakeModel]]:
    """What an operator may state of the fakes, rightly and wrongly: their share and their model."""
    if attack == _NOBODY:
        return {f"recovery, {model}": (fakes, model) for model in dict.fromkeys(_MODELS.values())}
    model = _MODELS[attack]
    return {
        f"recovery, {model}": (fakes, model),
        HALF: (fakes / 2, model),
        TWICE: (2 * fakes, model),
        OTHER: (fakes, _OTHERS[model]),
    }


def _normalize(estimate: Estimate) -> Floats:
    """The paper's countermeasure: shares above the least one, scaled to a sum of one."""
    above = estimate.frequencies - estimate.frequencies.min()
    return np.asarray(above / above.sum())


def _sum_up(seen: Sequence[_Seen]) -> dict[str, float | None]:
    gains = np.array([one.gain for one in seen])
    found: dict[str, float | None] = {"gain": float(gains.mean())}
    if gains.size > 1:
        found["stderr"] = float(gains.std(ddof=1) / np.sqrt(gains.size))
    for name in ("covered", "width", "alarmed"):
        some = [getattr(one, name) for one in seen]
        found[name] = None if some[0] is None else float(np.mean(some))
    return found


def _compute(
    setting: _Setting, mechanism: Attacked, name: str, epsilon: float, targets: Integers, attack: Attack
) -> dict[str, float | None]:
    """What an attack gains without a defense, by the law and by the paper."""
    held = float(setting.truth[targets].sum())
    return {
        "expected": expected_gain(mechanism, attack, targets, setting.truth, setting.fakes),
        "published": published_gain(name, attack, epsilon, targets.size, setting.k, held, setting.fakes),
    }


def _plan(setting: _Setting, epsilon: float) -> Iterator[PoisoningPoint]:
    """What the planner would choose, without and with a cap on the influence of a fake; not simulated."""
    for defense, cap in (("planner", None), (f"planner, cap {CAP:g}", CAP)):
        best = consider([setting.k], epsilon, setting.values.size, Objective(influence_cap=cap))[0]
        for targets in setting.targets:
            if best.why_not is not None or not isinstance(best.parts[0], Attacked):
                yield setting.row(best.name, epsilon, targets, "MGA", defense, refused=best.why_not)
                continue
            for attack in _attacks(best.parts[0], targets):
                gains = _compute(setting, best.parts[0], best.name, epsilon, targets, attack)
                more = gains | {"gain": gains["expected"], "stderr": 0.0}
                yield setting.row(best.name, epsilon, targets, attack, defense, **more)
