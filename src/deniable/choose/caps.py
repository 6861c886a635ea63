"""Picks one option for each attribute: those that err least, under the caps on a guess and on bytes.

A lean pick takes the smallest report among those that err hardly more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deniable.choose.objective import Objective
from deniable.choose.options import Option
from deniable.choose.task import Task
from deniable.formatting import format_digits
from deniable.records.sample import count_name_bytes

Selection = tuple[list[Option], str | None]
"""One option per attribute, and why they are excluded together."""


def select_options(
    options: Sequence[Sequence[Option]], task: Task, sample_size: int | None, lean: bool = False
) -> Selection:
    """For each attribute the option that errs least under the caps; or the nearest to them, and why."""
    tolerance = task.objective.tolerance if lean else 0.0
    cap, most = task.objective.success_cap, task.objective.bytes_cap
    least = [min(choices, key=lambda option: option.order) for choices in options]
    fitting, most_influence = options, task.objective.influence_cap
    if most_influence is not None:
        options = [
            [option for option in choices if option.influence <= most_influence] for choices in options
        ]
        for j, choices in enumerate(options):
            if not choices:
                return _least_influence(fitting), _above_influence(task.label(j), fitting[j], most_influence)
        fitting = options
    if cap is not None:
        fitting = [[option for option in choices if option.success <= cap] for choices in options]
        for j, choices in enumerate(fitting):
            if not choices:
                nearest = [
                    min(fits or rest, key=_nearest(bool(fits)))
                    for fits, rest in zip(fitting, options, strict=True)
                ]
                return nearest, _above_cap(task.label(j), nearest[j], cap)
    if most is None:
        return [_pick(choices, tolerance) for choices in fitting], None
    names = 0 if sample_size is None else count_name_bytes(sample_size, task.d)
    fitted = _within(fitting, most - names, sample_size or task.d, task)
    if fitted is None:
        sizes = sorted(min(option.size for option in choices) for choices in fitting)
        smallest = names + sum(sizes[task.d - (sample_size or task.d) :])
        return least, f"a report takes {smallest} bytes or more, the cap is {most}"
    return fitted, None


def _pick(options: Sequence[Option], tolerance: float) -> Option:
    """The smallest report among the options whose standard error is at most this much above the least."""
    least = min(options, key=lambda option: option.order)
    precise = [option for option in options if option.unit <= least.unit * (1 + tolerance) ** 2]
    return min(precise, key=lambda option: (option.size, option.order)) if tolerance else least


def _least_influence(options: Sequence[Sequence[Option]]) -> list[Option]:
    return [min(choices, key=lambda option: option.influence) for choices in options]


def _above_influence(label: str, options: Sequence[Option], cap: float) -> str:
    """Why no option keeps a cap on fake reports: less epsilon for each attribute leaves more to a report."""
    (least,) = _least_influence([options])
    counts = format_digits(least.influence, 3)
    return (
        f"a fake report of {label} counts for {counts} people or more ({least.name}), the cap "
        f"is {cap:g}; a larger epsilon, or fewer attributes, leaves fake reports less"
    )


def _nearest(fits: bool) -> Callable[[Option], tuple[float, int]]:
    """The least error under the cap; where nothing keeps it, the hardest guess."""
    return (lambda option: option.order) if fits else (lambda option: (option.success, option.size))


def _above_cap(label: str, nearest: Option, cap: float) -> str:
    """Why no option keeps a cap on the guess: it is below a blind guess, or this epsilon reveals too much."""
    blind, known = nearest.blind, "" if nearest.prior is None else " by an attacker with the public prior"
    if cap < blind:
        return (
            f"a blind guess of {label}{known} is already right for {100 * blind:.4g} % of people, without "
            f"any report, and the cap is {100 * cap:.4g} %; give one above {100 * blind:.4g} %"
        )
    often = f"with probability {nearest.success:.4g} or more ({nearest.name})"
    return f"a guess of {label}{known} is right {often}, the cap is {cap:g}"


def _within(options: Sequence[Sequence[Option]], room: int, reported: int, task: Task) -> list[Option] | None:
    """The best options of which any `reported` fit into `room` together, exactly.

    The r largest of some sizes sum to the least, over all limits T, of r T and what exceeds T in each. So
    every T has its own knapsack, and the best of them is the best of all. Where all are reported T is 0,
    where one is, T is the whole room.
    """
    d, objective = task.d, task.objective
    if reported == d:
        limits = [0]
    elif reported == 1:
        limits = [room]
    else:
        limits = sorted(
            {0, *(option.size for choices in options for option in choices if option.size * reported <= room)}
        )
    fits = [_fit(options, room - reported * limit, limit, objective) for limit in limits]

    def score(chosen: list[Option]) -> tuple[float, float]:
        costs = [_cost(option, objective) for option in chosen]
        return max(costs) if objective.worst else 0.0, sum(costs)

    return min((chosen for chosen in fits if chosen is not None), key=score, default=None)


def _cost(option: Option, objective: Objective) -> float:
    return objective.cost(option.unit, option.importance)


def _fit(
    options: Sequence[Sequence[Option]], room: int, free: int, objective: Objective
) -> list[Option] | None:
    """One option per attribute, with the least errors that fit into `room`; `free` bytes of each are free.

    It is a knapsack, solved exactly.
    """

    def size(option: Option) -> int:
        return max(option.size - free, 0)

    if sum(min(map(size, choices)) for choices in options) > room:
        return None
    if objective.worst:  # the smallest limit on every error that still fits
        limits = sorted({_cost(option, objective) for choices in options for option in choices})
        low, high = -1, len(limits) - 1
        while high - low > 1:
            middle = (low + high) // 2
            within = [
                [size(option) for option in choices if _cost(option, objective) <= limits[middle]]
                for choices in options
            ]
            fits = all(within) and sum(map(min, within)) <= room
            low, high = (low, middle) if fits else (middle, high)
        options = [
            [option for option in choices if _cost(option, objective) <= limits[high]] for choices in options
        ]
    frontier: list[tuple[int, float, tuple[Option, ...]]] = [(0, 0.0, ())]  # more bytes, less error
    for choices in options:
        grown = sorted(
            (
                (used + size(option), total + _cost(option, objective), (*chosen, option))
                for used, total, chosen in frontier
                for option in choices
                if used + size(option) <= room
            ),
            key=lambda state: state[:2],
        )
        frontier = []
        for state in grown:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
    return list(frontier[-1][2])
