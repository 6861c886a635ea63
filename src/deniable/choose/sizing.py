"""Finds how many people or what epsilon an error takes, and warns before the answer is noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from deniable.choose.candidate import Considered, label, one_in, the_same
from deniable.choose.objective import FOUND, Objective
from deniable.choose.precision import HALF_WIDTH, Precision, list_precisions
from deniable.choose.ranking import best_of, best_ranked
from deniable.choose.risks import exposure
from deniable.choose.task import (
    LARGE,
    Allowed,
    Names,
    Protocols,
    Question,
    Sizes,
    Task,
    checked_task,
    kinds_for,
)
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.formatting import format_count, say_found
from deniable.metric import Geometric, MetricMechanism
from deniable.records import Prior, RecordMechanism
from deniable.records.base import Per

_STEPS = 1000  # epsilon_needed answers in thousandths
_LARGEST = 20.0
_MOST_PEOPLE = (1 << 53) - 1  # above, one person more is no other float
_REASONABLE = 5.0  # a warning recommends no larger epsilon
_FEW = 4  # a mean that is known only to within a quarter of its range either way is noise
_PLAIN = 2.0  # steps times epsilon below which randomized response has the smaller error


def people_needed(
    ks: Sizes,
    target: float | Sequence[float],
    epsilon: float | None = None,
    objective: Objective | None = None,
    mechanisms: Names | None = None,
    protocols: Protocols | None = None,
    per: Per = "record",
) -> int:
    """The smallest n at which the best choice has a standard error of at most `target` (one for all, or one
    each).

    The best choice is the one that `consider` puts first. It depends on n only where that is so large that
    reports are to be counted at once. `Study.people_needed` is for a study.

    >>> people_needed([3, 5, 4], target=0.01, epsilon=1.0)
    71779
    """
    if epsilon is None:
        raise InvalidParameter(
            "give epsilon as well, people_needed([3, 5], 0.01, epsilon=1.0); of a study, use "
            "study.people_needed(error)"
        )
    task = checked_task(ks, epsilon, 1, objective, Allowed(mechanisms, protocols), per)
    targets = _targets(target, len(ks))
    n, most = _count_people(best_of(task), targets), max(question.k for question in task.questions)
    return _count_people(best_of(replace(task, n=n)), targets) if n * most >= LARGE else n


def _count_people(best: Considered, targets: Sequence[float]) -> int:
    """The smallest n at which this choice reaches its targets."""
    people = max(error * best.n / limit / limit for error, limit in zip(best.errors, targets, strict=True))
    if people > _MOST_PEOPLE:
        least = min(targets)
        raise InvalidParameter(f"an error of {least!r} takes more than 2^53 people; allow a larger one")
    n = max(1, math.ceil(people) - 4)  # the formula's rounding, either way
    while not _reaches(best, n, targets):
        n += 1
    return n


def epsilon_needed(
    ks: Sizes,
    target: float | Sequence[float],
    n: int,
    objective: Objective | None = None,
    mechanisms: Names | None = None,
    protocols: Protocols | None = None,
    per: Per = "record",
) -> float:
    """The smallest epsilon, in thousandths, at which n people give a standard error of at most `target`.

    Found by bisection: it is checked to reach the target, and one thousandth less not to.

    >>> epsilon_needed([3, 5, 4], target=0.01, n=68579)
    1.02
    """
    task = checked_task(ks, _LARGEST, n, objective, Allowed(mechanisms, protocols), per)
    return _epsilon(task, tuple(_targets(target, len(ks))))


def advise_epsilon(
    ks: Sizes,
    cap: float,
    mechanisms: Names | None = None,
    protocols: Protocols | None = None,
    per: Per = "record",
) -> str:
    """In plain words, the smallest epsilon, in thousandths, at which something keeps a cap on influence.

    Found by bisection as well. Other caps are left out: a larger epsilon may break these.

    >>> print(advise_epsilon([100], cap=5))
    epsilon 0.406 is the smallest that keeps this cap
    """
    task = checked_task(ks, _LARGEST, 1, Objective(influence_cap=cap), Allowed(mechanisms, protocols), per)

    def suffices(epsilon: float) -> bool:
        return best_ranked(replace(task, epsilon=epsilon)).why_not is None

    smallest = _smallest(suffices, _LARGEST)
    if smallest is None:
        return f"no epsilon up to {_LARGEST:g} keeps this cap"
    return f"epsilon {smallest:g} is the smallest that keeps this cap"


@lru_cache(maxsize=256)  # a plan is explained more than once
def _epsilon(task: Task, targets: tuple[float, ...]) -> float:
    """The smallest epsilon up to the task's own."""

    def suffices(epsilon: float) -> bool:
        return _reaches(best_of(replace(task, epsilon=epsilon)), task.n, targets)

    smallest = _smallest(suffices, task.epsilon)
    if smallest is None:
        raise InvalidParameter(
            f"no epsilon up to {task.epsilon:g} reaches this error with "
            f"{format_count(task.n, 'person')}; ask more people"
        )
    return smallest


def _smallest(suffices: Callable[[float], bool], most: float) -> float | None:
    """The smallest epsilon in thousandths that is enough, by bisection; None where even the most is not."""
    low, high = 0, int(most * _STEPS)
    if not suffices(high / _STEPS):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle / _STEPS) else (middle, high)
    return high / _STEPS


def warning(considered: Considered, n: int) -> str | None:
    """In plain words, before launch, that the answer of n people would be noise; or None.

    It would be where the 95 % interval of a share reaches further, on either side, than the average share 1 /
    k: a value that nobody has then looks like one that has its fair share. The interval is about everyone
    asked, for a uniform truth. A larger epsilon is recommended only where `exposure` would not warn of it.

    >>> from deniable.choose import consider
    >>> best = consider({"town": 50, "smokes": 3}, epsilon=0.5, n=2000)[0]
    >>> print(warning(best, 2000))
    With 2,000 people what they say of 'town' would be noise. 'town' has 50 values, so a share is 2.0 %
    on average, but it would be known only to within 24 points either way. It takes 1,156,329 people at
    this epsilon to be useful. With these people epsilon 3.596 makes it rough.
    But then a report nearly reveals an answer; better ask more people, or about fewer values.
    """
    whole_number("n, the number of people,", n, 1)
    if considered.mechanism is None:
        raise InvalidParameter(f"{considered.name} cannot be built: {considered.why_not}")
    ks = [
        _FEW if part.numeric or not readings else readings[0].count(part.law)
        for part, readings in zip(considered.parts, considered.readings, strict=True)
    ]
    widths = [HALF_WIDTH * math.sqrt(error) for error in _about_everyone(considered, n)]
    noisy = [j for j, k in enumerate(ks) if 1 < widths[j] * k < math.inf]  # what nobody reports is no noise
    if not noisy:
        return None
    worst = max(noisy, key=lambda j: widths[j] * ks[j])
    others = the_same(considered.names, [j for j in noisy if j != worst], worst)
    name = label(considered.names, worst)
    about = "the answer" if len(noisy) == len(ks) else f"what they say of {name}"
    reading = considered.readings[worst][0]
    precision = _find_precision(considered, worst, n)
    counted = format_count(ks[worst], {"share": "value"}.get(reading.what, reading.what))
    part = f"{100 * min(1.0, widths[worst]):.1f} % of its range"
    known = (
        f"The mean of {name} would be known only to within {part} either way."
        if considered.parts[worst].numeric
        else f"{name[0].upper()}{name[1:]} has {counted}, so a share is {100 / ks[worst]:.1f} % on average, "
        f"but it would be known only to within {precision.format_margin()} either way."
    )
    if reading.what == FOUND:
        known = f"Values of {name} are found about half of the time {precision.format_margin()} of people on."
        if not precision.is_known:
            known = say_found(precision.margin, "", f"a value of {name}")
    text = f"With {format_count(n, 'person')} {about} would be noise. {known} {others}"
    if precision.is_reachable:
        text += f"It takes {precision.format_people()} people at this epsilon to be useful."
    else:
        text += precision.refuse_people()
    if considered.parts[worst].metric:
        return f"{text}{_name_better(considered, worst)}"
    if any(part.repeated or part.metric or part.numeric for part in considered.parts):
        return text
    # one of your own, or with levels, which nothing here chooses
    if considered.kind not in kinds_for(len(ks)) or not all(considered.readings):
        return text
    task = replace(
        checked_task(_ask_again(considered), _REASONABLE, n, per=considered.per),
        kinds=(considered.kind,),
        priors=_priors(considered.mechanism),
    )
    try:
        epsilon = _epsilon(task, tuple(1 / (HALF_WIDTH * k) for k in ks))
    except InvalidParameter:
        return f"{text} No reasonable epsilon, up to {_REASONABLE:g}, is enough with these people."
    which = " per attribute" if considered.per == "attribute" and len(ks) > 1 else ""
    text += f" With these people epsilon {epsilon:g}{which} makes it rough."
    if exposure(best_of(replace(task, epsilon=epsilon))) is None:
        return text
    return (
        f"{text} But then a report nearly reveals an answer; better ask more people, or about fewer values."
    )


def _find_precision(considered: Considered, attribute: int, n: int) -> Precision:
    """How well n people tell what is read of an attribute first."""
    before = sum(map(len, considered.readings[:attribute]))
    precision = next(islice(list_precisions(considered), before, None))
    return replace(precision, people=n, stderr=precision.stderr * math.sqrt(considered.n / n))


def _name_better(considered: Considered, attribute: int) -> str:
    """What is known better of a metric attribute whose shares are noise."""
    name = label(considered.names, attribute)
    part, (first, *others) = considered.parts[attribute], considered.readings[attribute]
    if first.what == "share" and isinstance(part, MetricMechanism) and len(part.shape) == 2:
        return f" Shares of several cells of {name} together are known better."
    middle = "".join(f" The {other.what} of {name}" for other in others)
    if first.what != "share":
        return f"{middle} is known better." if middle else ""
    return f"{middle or f' The mean of {name}'}, and shares of several neighbors together, are known better."


def _ask_again(considered: Considered) -> list[Question]:
    """The questions of a choice."""
    pairs = zip(considered.parts, considered.readings, strict=True)
    return [Question(part.k, readings) for part, readings in pairs]


def plainer(considered: Considered) -> str | None:
    """In plain words, that randomized response would serve an ordered attribute better; or None.

    At n steps of epsilon each with n epsilon below 2, it has the smaller error of the shares at the same
    promise to neighbors, which it keeps for all pairs of values.
    """
    weak = [
        (label(considered.names, j), part)
        for j, part in enumerate(considered.parts)
        if isinstance(part, Geometric) and part.n * part.loss_at(1) < _PLAIN
    ]
    if not weak:
        return None
    name, part = weak[0]
    return (
        f"{name[0].upper()}{name[1:]} has {part.n} steps of epsilon {part.loss_at(1):.4g}, which is so "
        "little that noise by distance is the worse choice: as an ordinary attribute with that epsilon it "
        "would have more exact shares, and lose no more between neighbors, nor between any other two values."
    )


def _about_everyone(considered: Considered, n: int) -> list[float]:
    """The errors with n people, about all of them."""
    errors = [error * considered.n / n for error in considered.errors]
    if considered.objective.about_everyone:
        return errors
    rest = zip(considered.parts, considered.chances, considered.readings, strict=True)
    return [
        error + (readings[0].spread(part.law) * (one_in(part, chance) - 1) / n if readings else 0.0)
        for error, (part, chance, readings) in zip(errors, rest, strict=True)
    ]


def _priors(mechanism: RecordMechanism) -> tuple[Prior, ...] | None:
    """What the fakes are drawn from, where every attribute has one."""
    fakes = [mechanism.fake(j) for j in range(mechanism.d)]
    known = tuple(fake.belief for fake in fakes if fake is not None)
    return known if len(known) == len(fakes) else None


def _targets(target: float | Sequence[float], d: int) -> tuple[float, ...]:
    targets = tuple(target) if isinstance(target, Sequence) else (target,) * d
    allowed = f"a positive standard error, or one for each of {d} attributes"
    if len(targets) != d:
        raise InvalidParameter(f"target must be {allowed}, got {target!r}")
    return tuple(number("target", limit, 0.0, math.inf, allowed) for limit in targets)


def _reaches(considered: Considered, n: int, targets: Sequence[float]) -> bool:
    errors = (error * considered.n / n for error in considered.errors)
    return all(math.sqrt(error) <= limit for error, limit in zip(errors, targets, strict=True))
