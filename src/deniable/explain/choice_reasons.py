"""Explains a choice: which question decided, what the next best costs, and what was given up for it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from deniable.choose import HALF_WIDTH, Considered, Precision, Use, list_precisions
from deniable.choose.objective import COMMON, FOUND
from deniable.formatting import (
    format_count,
    format_digits,
    format_loss,
    format_percent,
    format_table,
    format_up,
    shorten_names,
)
from deniable.mechanisms import PROTOCOLS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_IN_FULL = 2
_MOST_ROWS = 4
_BLOCKS = "SPL+SMP"
_MOST_NAMED = 3
_MOST_REPEATED = 3
_KINDS = {
    "SPL": "everybody reports all questions",
    "SPL by importance": "everybody reports all questions, important ones with more of epsilon",
    "SMP": "everybody reports one question, drawn at random",
    _BLOCKS: "everybody reports metric questions, maybe numbers, and one of the others, drawn at random",
    "SPL of SMP": "everybody reports one question that stays and one that changes",
    "RS+FD": "everybody reports all questions: one is real, and the others are fakes",
    "RS+RFD": "everybody reports all questions: one is real, and the others are fakes from public shares",
    "NEAR": "everybody reports some options, or all yes/no answers, together, and every other question",
}

_OTHER_NAMES = {
    "near_sets": "some options, probably chosen ones",
    "near_bits": "yes/no answers, most of them probably true",
    "l_grr": "generalized randomized response with kept answers",
    "l_sue": "symmetric unary encoding with kept answers",
    "l_oue": "optimized unary encoding with kept answers",
    "l_osue": "optimized unary encoding of kept answers, symmetric in each round",
    "l_soue": "symmetric unary encoding of kept answers, optimized in each round",
    "loloha": "local hashing with kept answers",
    "l_plh": "local hashing by a public pool, with kept answers",
    "l_duchi": "the side of a kept line, with kept answers",
    "dbitflip": "some bits of a histogram, kept",
}


def explain_choice(considered: Sequence[Considered]) -> str:
    """Why the first of these was chosen, in a few sentences; empty where nobody knows what else there was."""
    chosen = considered[0] if considered else None
    if chosen is None or not chosen.variances:
        return ""
    others = [row for row in considered[1:] if row.why_not is None and row.variances]
    compared = _name_decider(chosen, others), _name_smaller(chosen, others)
    costs = _cap_cost(considered), _explain_limit_cost(considered)
    return " ".join(filter(None, [_name_goal(chosen), *compared, *costs]))


def tabulate_choices(considered: Sequence[Considered], reports: int | None) -> str:
    """A table of what was considered: the choice, the best of each other kind, and what is next to them."""
    if not considered:
        return "What else was considered is known when a plan is made; its file keeps the choice only."
    figures = ["times the least error", "best guess", "bytes", "per record", "per attribute"]
    headers = ["choice", *figures, "forever", "changing", "why not"]
    rows = []
    different = _different(considered)
    best = {row.kind: j for j, (_, row) in reversed([*enumerate(different)])}
    places = dict.fromkeys([*sorted(best.values()), *range(len(different))])
    choices = [different[j] for j in sorted([*places][:_MOST_ROWS])]
    for names, row in choices:
        if row.mechanism is None:
            rows.append([names, *[""] * (len(headers) - 2), _first_line(row.why_not)])
            continue
        numbers = [f"{row.score:.3f}", format_percent(max(row.success), 1), str(row.report_bytes.most)]
        losses = map(format_loss, (row.loss_record, row.loss_attribute))
        repeated = _list_repeated_losses(row, reports)
        rows.append([names, *numbers, *losses, *repeated, _first_line(row.why_not)])
    more = len(different) - _MOST_ROWS
    lines = [
        "What was considered, the choice first (errors of what is read, averaged; guess and bytes at most):"
    ]
    lines += format_table(headers, rows, ("why not",))
    lines += [f"and {more} more: plan.considered has all, in Python"] if more > 0 else []
    lines += explain_kinds([row for _, row in choices])
    if reports is not None:
        lines.append(
            f"changing: what {format_count(reports, 'report')} of values that change give away, against any "
            "other sequence"
        )
    return "\n".join(lines)


def _different(considered: Sequence[Considered]) -> list[tuple[str, Considered]]:
    """What differs in any figure, under all its names: for two values, direct encoding is a subset of one."""
    different: dict[object, tuple[str, Considered]] = {}
    for row in considered:
        errors_and_sizes = row.kind, row.variances, row.success, row.report_bytes, row.why_not
        losses = row.loss_record, row.loss_attribute, row.loss_forever
        key = (errors_and_sizes, losses) if row.mechanism is not None else row.name
        names, first = different.get(key, ("", row))
        different[key] = (f"{names} or {row.name}" if names else row.name, first)
    return list(different.values())


def _list_repeated_losses(row: Considered, reports: int | None) -> tuple[str, str]:
    """What a person's reports give away: any number of one value, and so many of values that change."""
    losses = [part.losses(reports, reports) for part in row.parts if part.repeated and reports is not None]
    if not losses:
        return "", ""
    worst = max(losses, key=lambda loss: loss.changing_values)
    return format_loss(max(loss.one_value_forever for loss in losses)), format_up(worst.changing_values)


def _first_line(text: str | None) -> str:
    return "" if text is None else text.split("\n", 1)[0]


def name_use(use: Use) -> str:
    """Whether something is worth reading, in a word or a few."""
    return "too noisy to read" if use == "noise" else use


def tabulate_precisions(row: Considered) -> str:
    """How well everything will be known that is read, and how many people would make it useful."""
    headers = ["question", "what is read", "known to within", "that is", "people to be useful"]
    precisions = list(list_precisions(row))
    rows = [
        [known.attribute, known.describe(), known.format_margin(), name_use(known.use), known.format_people()]
        for known in precisions
    ]
    present = (
        f" in a round, in which about {round(row.n * row.presence):,} answer" if row.presence < 1 else ""
    )
    lines = [
        f"What {format_count(row.n, 'person')} will tell{present} (95 %, either way):",
        *format_table(headers, rows, ["question", "what is read", "that is"]),
        "clear: known to within a quarter of an average share, and 5 points; useful: half of one, and 10 "
        "points; rough: all of one (of a mean or median, 5, 10 and 25 % of the range)",
    ]
    if any(precision.what == FOUND for precision in precisions):
        clear, useful, rough = (part / COMMON for part in (25, 50, 100))
        lines.append(
            "values that are found: about half of the time, from this share of people on; clear up to "
            f"{clear:g} %, useful up to {useful:g} %, rough up to {rough:g} %"
        )
    if any(precision.what == "median" for precision in precisions):
        anywhere = "" if all(row.readings) else " In levels, the margin of a median holds wherever it is."
        lines.append(
            "A range with an open end has a median and no mean. Of other ranges, results have the mean, too."
            f"{anywhere}"
        )
    return "\n".join(lines)


def plot_precisions(precisions: Sequence[Precision], title: str = "") -> Figure:
    """A bar for everything that is read, as long as its margin: in points, or hundredths of the range."""
    from deniable.plot.charts import Bars, plot_bars

    margins = np.array([HALF_WIDTH * precision.stderr for precision in precisions])
    labels = [
        f"{precision.attribute}: {precision.describe()} ({name_use(precision.use)})"
        for precision in precisions
    ]
    numbers = [precision.format_margin() for precision in precisions]
    heading = f"{title}: what" if title else "What"
    return plot_bars(
        labels,
        [Bars(np.minimum(margins, 1.0), numbers=numbers)],
        f"{heading} {format_count(precisions[0].people, 'person')} will tell",
        "known to within, either way (95 %); of a mean, as a part of the range",
    )


def _name_goal(chosen: Considered) -> str:
    """What choices were compared by, where it is not the usual mean."""
    if not chosen.objective.is_absolute:
        return ""
    sampling = " Attributes are drawn by their errors." if len(set(chosen.chances)) > 1 else ""
    return f"As wanted, the {chosen.objective.goal} is to be the least.{sampling}"


def _name_decider(chosen: Considered, others: Sequence[Considered]) -> str:
    """Which question decided between the choice and the best of another kind."""
    next_best = next((row for row in others if row.kind != chosen.kind), None)
    if next_best is None:
        next_best = next((row for row in others if row.protocols != chosen.protocols), None)
        if next_best is None or next_best.score <= chosen.score:
            return ""
        return _name_next_best(chosen, next_best)
    ratios = [math.log(b / a) for a, b in zip(chosen.units, next_best.units, strict=True)]
    most = max(range(len(ratios)), key=ratios.__getitem__)
    precision, other = (_first_precision(row, most) for row in (chosen, next_best))
    decided = (
        f"The choice was made by {precision.attribute!r}, where it matters most: {chosen.kind} knows "
        f"{precision.describe()} to within {precision.format_margin()}, {next_best.kind} to within "
        f"{other.format_margin()}. "
    )
    return f"{decided if ratios[most] > 0 else ''}{_name_next_best(chosen, next_best)}"


def _name_next_best(chosen: Considered, other: Considered) -> str:
    """How much more another choice errs, and in what it differs."""
    errs = f"The next best, {name_choice(other)}, errs {_format_score(other.score / chosen.score)}"
    changed: dict[str, list[str]] = {}
    for j, (protocol, used) in enumerate(zip(other.protocols, chosen.protocols, strict=True)):
        if protocol != used:
            changed.setdefault(protocol, []).append(_first_precision(other, j).attribute)
    is_alike = (chosen.kind, list_always(chosen)) == (other.kind, list_always(other))
    differs = [] if is_alike else [explain_kind(other)]
    if len(changed) <= _MOST_IN_FULL:
        differs += [
            f"{name_protocol_in_full(protocol) or protocol} for {shorten_names([*map(repr, names)], 3)}"
            for protocol, names in changed.items()
        ]
    difference = "; ".join(filter(None, differs))
    return f"{errs}: {difference}." if difference else f"{errs}."


def _first_precision(row: Considered, attribute: int) -> Precision:
    """How well the first thing is known that is read of an attribute."""
    before = sum(len(readings) for readings in row.readings[:attribute])
    return list(list_precisions(row))[before]


def _name_smaller(chosen: Considered, others: Sequence[Considered]) -> str:
    """What was given up for smaller reports."""
    least = min(others, key=lambda row: row.score, default=chosen)
    if least.score >= chosen.score or least.report_bytes <= chosen.report_bytes:
        return ""
    less = f"{name_choice(least)} would err {100 * (1 - least.score / chosen.score):.2g} % less"
    most, chosen_bytes = least.report_bytes.most, chosen.report_bytes.most
    if most == chosen_bytes:
        return f"{less}, with reports that are longer on average."
    return f"{less}, with {format_count(most, 'byte')} a report instead of {chosen_bytes:,}."


def _format_times(ratio: float) -> str:
    if ratio < 1.0005:
        return "as much"
    if ratio < 1.5:
        return f"{100 * (ratio - 1):.2g} % more"
    return f"{format_digits(ratio, 2)} times as much"


def _format_score(ratio: float) -> str:
    """How much more a choice errs by its score, which is an average over what is read."""
    return f"{_format_times(ratio)}{' on average' if ratio >= 1.5 else ''}"


def _cap_cost(considered: Sequence[Considered]) -> str:
    """What a cap on influence costs: the choice without it, and both errors."""
    chosen = considered[0]
    cap = chosen.objective.influence_cap
    if cap is None:
        return ""
    free = next((row for row in considered if row.objective.influence_cap is None), None)
    if free is None:
        return f"The cap of {cap:g} people per fake report costs nothing: without it the choice is the same."
    ratios = [math.sqrt(a / b) for a, b in zip(chosen.units, free.units, strict=True)]
    return (
        f"The cap of {cap:g} people per fake report has a price: without it the choice would be "
        f"{name_choice(free)}, and a fake report would count for up to "
        f"{format_digits(max(free.influence), 3)} people. Now it is {name_choice(chosen)}, with "
        f"{format_digits(max(chosen.influence), 3)} people, and errs up to "
        f"{_format_times(max(ratios))}."
    )


def _explain_limit_cost(considered: Sequence[Considered]) -> str:
    """What the limit of devices costs, where they refuse the choice that errs least."""
    chosen, limit = considered[0], considered[0].limit
    if limit is None:
        return ""
    for free in considered[1:]:
        if free.mechanism is not None and free.why_not == limit.refuse(free.mechanism) is not None:
            break
    else:
        return ""
    mechanism = free.mechanism
    lost = mechanism.losses(limit.reports, limit.reports).changing_values
    fewer = bisect_left(
        range(1, limit.reports),
        True,
        key=lambda turns: limit._replace(reports=turns).refuse(mechanism) is not None,
    )
    accepted = f" With turns = {fewer} they may accept the former." if fewer else ""
    return (
        f"Devices refuse {name_choice(free)}, which errs least: "
        f"{format_count(limit.reports, 'report')} of answers that change give away {format_up(lost)}, and a "
        f"device allows {limit.most:g}. They accept {name_choice(chosen)}, which errs "
        f"{_format_score(max(1.0, chosen.score / free.score))}.{accepted}"
    )


def name_choice(row: Considered) -> str:
    """Record mechanism and the protocol of every attribute; two choices may both be called adaptive."""
    if len(set(row.protocols)) == 1:
        return row.name
    names: list[str] = []
    for name, same in groupby(row.protocols):
        count = len(list(same))
        names += [f"{count} {name}"] if count > _MOST_REPEATED else [name] * count
    return f"{row.kind}[{shorten_names(names)}]"


def explain_name(row: Considered) -> str:
    """A choice in words, or empty where its name has no short ones: SMP[grr] is "everybody reports ...".

    >>> from deniable.choose import consider
    >>> print(explain_name(consider([2, 3], epsilon=1.0, n=1000, mechanisms="SMP", protocols="grr")[0]))
    everybody reports one question, drawn at random; grr: generalized randomized response
    """
    names = [_name_protocol(name) for name in dict.fromkeys(row.protocols)]
    return "; ".join(filter(None, [explain_kind(row), *names]))


def explain_kind(row: Considered) -> str:
    """The record mechanism of a choice in words: also which questions everybody reports, where some are."""
    always = list_always(row)
    if row.kind != _BLOCKS or not always:
        return _explain_kind(row.kind)
    return f"everybody reports {shorten_names(always, _MOST_NAMED)}, and one of the others, drawn at random"


def list_always(row: Considered) -> list[str]:
    """The attributes that everybody reports; none where nothing can be built."""
    if row.mechanism is None:
        return []
    names = row.names or [f"attribute {j}" for j in range(len(row.chances))]
    return [repr(name) for name, chance in zip(names, row.chances, strict=True) if chance == 1]


def explain_kinds(rows: Sequence[Considered]) -> list[str]:
    """A line for each record mechanism of these choices."""
    meanings: dict[str, str] = {}
    for row in rows:
        words = explain_kind(row)
        alike = meanings.setdefault(row.kind, words) == words
        meanings[row.kind] = words if alike else _explain_kind(row.kind)
    return [f"{kind}: {words}" for kind, words in meanings.items() if words]


def _explain_kind(kind: str) -> str:
    name, _, count = kind.rpartition("-")
    if name == "SMP" and count.isdigit():
        return f"everybody reports {count} questions, drawn at random"
    return _KINDS.get(kind, "")


def _name_protocol(name: str) -> str:
    full = name_protocol_in_full(name)
    return f"{name}: {full}" if full else ""


def name_protocol_in_full(name: str) -> str:
    """The full name of a protocol of the papers; empty for others, which are words already."""
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    row = PROTOCOLS.get(name)
    if row is None or name == "adaptive":
        return ""
    full = row.title.partition(":")[0].partition(",")[0]
    return f"{full[0].lower()}{full[1:]}"
