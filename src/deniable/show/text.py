"""Lays findings out as the text of a shell and of a notebook; computes nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.domain import Range
from deniable.formatting import format_allowed, format_count, format_digits, format_percent, quote_question
from deniable.plan.attribute import Attribute, find_allowed
from deniable.results.estimates import MEAN
from deniable.results.findings import MOVED, WORST, Findings, name_quantile
from deniable.results.joined import describe_plans
from deniable.results.possible_shares import Method, describe_move
from deniable.summaries import Summary

if TYPE_CHECKING:
    from deniable.likelihood import Likelihood

NOISY = "too noisy to read"
_SHARES = {"share": "share", "low": "low", "high": "high"}
_UNBIASED = {"unbiased": "unbiased", "stderr": "stderr", "unbiased_low": "low", "unbiased_high": "high"}
_POINTS = ("share", "mle")  # columns that are withheld where they are too noisy to read
_MORE = {name: name for name in (*WORST, "mle", "reports")}
_PHRASES: dict[Method, str] = {
    "most likely": "most likely shares",
    "smoothed": "smoothed shares",
    "projected": "nearest possible shares",
    "unbiased": "unbiased shares",
}


def write_text(
    findings: Findings,
    bins: bool = False,
    most: int | None = None,
    shell: bool = True,
    unbiased: bool = False,
) -> str:
    """A plain table per attribute: groups of neighboring values where there are many, unless `bins`.

    At most `most` rows of each are shown. In the `shell` it says which options show more, else which methods
    do. With `unbiased` it shows unbiased shares, which may be impossible ones.
    """
    from deniable.explain.question_pairs import point_to_tables

    estimates = findings.estimates
    records = format_count(estimates.n, "record")
    lines = [f"{records} reported for plan {estimates.plan_id[:12]}; {100 * findings.level:g} % intervals"]
    lines += [] if estimates.weighting is None else [str(estimates.weighting.weights)]
    lines += [describe_plans(estimates)] if estimates.plans else []
    texts = estimates.question_texts
    for question, options in findings.several.items():
        rows = _option_rows(findings, options)
        lines += ["", f"{question}, {name_limit(options)}", *quote_question(texts, question)]
        lines += _share_lines(rows, unbiased)
        wide = _width_of(rows)
        noise = [] if unbiased else _option_noise(findings, options)
        lines += [f"{'noise':>{wide}} {text}" for text in noise]
        lines += [f"{'fit':>{wide}} {text}" for text in _option_fits(findings, options)]
        lines += [f"{'weights':>{wide}} {text}" for text in _option_weights(findings, options)]
        for people, mine in _option_answers(findings, options):
            lines += ["", f"{question}, of {people}: who chose each", *_share_lines(mine, unbiased)]
    for name in [name for name in findings.questions if name in findings.shown]:
        rows = _rows_of(findings, name, bins)
        grouped = name in findings.groups and (not bins or name in findings.leveled)
        more = "--bins shows every one" if shell else "frame(bins=True) has them all"
        if name in findings.leveled:
            in_python = f"result.range({name!r}, ...) reads any range"
            more = "--range 10:20 shows any range" if shell else in_python
        counted = ""
        if grouped:
            counted = f": {estimates[name].k:,} values in {format_count(len(rows), 'group')}; {more}"
        phrase = _phrase(findings, name, unbiased)
        where = more if shell or grouped else "frame() has them all"
        title = f"{name} ({count_reports(findings, name)}), {phrase}{counted}"
        lines += ["", title, *quote_question(texts, name), *_first_lines(rows, most, unbiased, where)]
        wide = _width_of(rows[:most])
        lines += [f"{what:>{wide}} {text}" for what, text in _summary(findings, name, unbiased)]
        for people, mine in _list_answers(findings, name):
            lines += ["", f"{name}, of {people}", *_first_lines(mine, most, unbiased, where)]
    document = estimates.document
    tables = "" if document is None else point_to_tables(document, shell)
    return "\n".join([*lines, *_lines_without_shares(findings, unbiased), *(["", tables] if tables else [])])


def _first_lines(
    rows: Sequence[Mapping[str, Any]], most: int | None, unbiased: bool, where: str
) -> list[str]:
    """The first rows as text, and where the others are."""
    first = rows[:most]
    lines = _share_lines(first, unbiased)
    if len(first) < len(rows):
        lines.append(f"{'...':>{_width_of(first)}} and {len(rows) - len(first):,} more; {where}")
    return lines


def _list_answers(findings: Findings, name: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of those who answered, and who these are, where there are such rows."""
    rows = [row for row in findings.rows.answered if row["attribute"] == name]
    return [(findings.answered[name].people, rows)] if rows else []


def _option_answers(
    findings: Findings, options: Sequence[Attribute]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Answers to options, under their own names."""
    all_ = [(option, *answer) for option in options for answer in _list_answers(findings, option.name)]
    rows = [
        row | {"value": option.option, "reports": row["n"]}
        for option, _, mine in all_
        for row in mine
        if row["value"] == "yes"
    ]
    return [(all_[0][1], rows)] if rows else []


def _phrase(findings: Findings, name: str, unbiased: bool) -> str:
    """Which shares these are, and whose."""
    people = "these" if name in findings.respondents else findings.among(name)
    shares = findings.group_shares if name in findings.leveled else findings.shares
    which = _PHRASES["unbiased" if unbiased else shares[name].method]
    return which if people is None else f"{which} of {people}"


def count_reports(findings: Findings, name: str) -> str:
    """How many reports were counted, and of how many people results are where that is not everybody."""
    if name in findings.respondents:
        return str(findings.respondents[name])
    return format_count(findings.estimates[name].n, "report")


def name_limit(options: Sequence[Attribute]) -> str:
    """How many options people choose, in words."""
    allowed = find_allowed(options)
    limit = "all that apply" if allowed is None else f"{format_allowed(allowed)} of {len(options)}"
    return f"{limit}: who chose each"


def _option_rows(findings: Findings, options: Sequence[Attribute]) -> list[dict[str, Any]]:
    """The row of those who chose it, for each option, under its own name; then who was not asked."""
    rows = []
    for option in options:
        mine = [row | {"reports": row["n"]} for row in _rows_of(findings, option.name, bins=True)]
        rows += [row | {"value": option.option} for row in mine if row["value"] == "yes"]
        if option is options[-1]:
            rows += [row for row in mine if row["value"] not in ("yes", "no")]
    return rows


def _option_noise(findings: Findings, options: Sequence[Attribute]) -> list[str]:
    """What would mend options that are too noisy: the one that needs most, and how many there are."""
    names = [option.name for option in options]
    noise = [option for option in findings.noise if option.attribute in names]
    if not noise:
        return []
    worst = max(noise, key=lambda option: option.people)
    many = f"{len(noise)} of {format_count(len(options), 'option')}"
    return [f"{many} {'is' if len(noise) == 1 else 'are'} too noisy to read: {worst.ways}"]


def _rows_of(findings: Findings, name: str, bins: bool) -> list[dict[str, Any]]:
    grouped = name in findings.groups and (not bins or name in findings.leveled)
    rows = findings.rows.groups if grouped else findings.rows.values
    return [row for row in rows if row["attribute"] == name]


def _width_of(rows: Sequence[Mapping[str, Any]]) -> int:
    """How many characters the values of these rows take."""
    return max(12, *(len(str(row["value"])) for row in rows))


def _share_lines(rows: Sequence[Mapping[str, Any]], unbiased: bool) -> list[str]:
    """An attribute's shares as text, with the columns that its rows have."""
    wide, first = _width_of(rows), rows[0]
    columns = {
        column: name
        for column, name in ((_UNBIASED if unbiased else _SHARES) | _MORE).items()
        if first.get(column) is not None or (column in first and column in WORST)
    }
    lines = [f"{'value':>{wide}}" + "".join(f"{name:>11}" for name in columns.values())]
    for row in rows:
        noisy = row["noisy"] and not unbiased
        hidden = _POINTS if noisy else ()
        cells = (f"{'-':>11}" if name in hidden else _format_cell(row[name]) for name in columns)
        moved_from = None if unbiased else row.get(MOVED)
        note = "" if moved_from is None else f"  {describe_move(moved_from)}"
        if noisy:
            note = f"  {NOISY}"
        lines.append(f"{row['value']!s:>{wide}}" + "".join(cells) + note)
    return lines


def _option_fits(findings: Findings, options: Sequence[Attribute]) -> list[str]:
    """The options whose reports fit honest people badly."""
    fits = {attribute.option: findings.fits.get(attribute.name) for attribute in options}
    return [f"{option}: {fit}" for option, fit in fits.items() if fit is not None and fit.is_bad]


def _option_weights(findings: Findings, options: Sequence[Attribute]) -> list[str]:
    """How good weighted options are: those of the largest error."""
    weighted = [option.name for option in options if option.name in findings.weights]
    worst = max(weighted, key=lambda name: float(findings.unbiased[name][1].max()), default=None)
    return [] if worst is None else findings.weights[worst]


def _format_cell(cell: float | None) -> str:
    if cell is None:
        return f"{'impossible':>11}"
    return f"{cell:11,}" if isinstance(cell, int) else f"{100 * cell:9.2f} %"


def _summary(findings: Findings, name: str, unbiased: bool) -> list[tuple[str, str]]:
    """Below an attribute's shares: its mean, its quantiles, how good what is most likely is, and noise."""
    domain = findings.estimates.domains.get(name)
    lines = []
    whose = _whose(findings, name)
    mean = (findings.unbiased_means if unbiased else findings.means).get(name)
    if mean is not None:
        noisy = name in findings.noisy_means and not unbiased
        moved = "" if noisy or unbiased else _note_moved_mean(findings, name)
        lines.append((MEAN, f"{_format_summary(mean, noisy)}{whose}{moved}"))
    elif isinstance(domain, Range) and (domain.open_low or domain.open_high):
        lines.append((MEAN, "not known, since an end of the range is open"))
    for share, quantile in findings.all_quantiles.get(name, {}).items():
        stated = _format_quantile(findings, name, quantile, unbiased)
        lines.append((name_quantile(share), f"{stated}{whose}"))
    ranges = [row for row in findings.rows.ranges if row["attribute"] == name]
    lines += [(row["value"], f"{_format_share(row, unbiased)}{whose}") for row in ranges]
    if name in findings.leveled and findings.estimates.ranges[name].few:
        lines.append(("few reports", findings.estimates.ranges[name].few))
    for of, likely in findings.likelihoods:
        if name in likely:
            item = likely[name]
            best = "no certificate"
            if item.gap < math.inf:
                best = f"log-likelihood per report within {item.gap:.2g} of the best"
            ends = "" if item.smoothing is None else "; intervals are those of the unbiased shares"
            lines.append((of, f"{_how(item)}; {best}{ends}"))
    unexplained = findings.find_unexplained()
    if name in unexplained:
        value, share = unexplained[name]
        least = f"at least {format_percent(share)} of all reports must have been made up to explain"
        lines.append(("fake reports", f"{least} {value!r}; there may be more"))
    if not unbiased:
        lines += [("noise", str(item)) for item in findings.noise if item.attribute == name]
    if name in findings.fits and findings.fits[name].is_bad:
        lines.append(("fit", str(findings.fits[name])))
    lines += [("weights", text) for text in findings.weights.get(name, [])]
    return [*lines, *([("", findings.refused[name])] if name in findings.refused else [])]


def _format_share(row: Mapping[str, Any], unbiased: bool) -> str:
    """A share between two numbers, and where the true one is."""
    columns = ("unbiased", "unbiased_low", "unbiased_high") if unbiased else ("share", "low", "high")
    share, low, high = (100 * row[column] for column in columns)
    text = NOISY if row["noisy"] and not unbiased else f"{share:.2f} % of people"
    moved = "" if unbiased or row["noisy"] or row[MOVED] is None else f", {describe_move(row[MOVED])}"
    return f"{text}, from {low:.2f} to {high:.2f} %{moved}"


def _note_moved_mean(findings: Findings, name: str) -> str:
    """The unbiased mean, where the one that is shown is far from it."""
    [row] = [row for row in findings.rows.means if row["attribute"] == name]
    if row[MOVED] is None:
        return ""
    return f", cut from {_format_number(row[MOVED], _count_digits(row['stderr']))}"


def _whose(findings: Findings, name: str) -> str:
    """Whom a mean or a quantile is about, where that is not everybody."""
    people = findings.among(name, of_mean=True)
    return "" if people is None else f", of {people}"


def _lines_without_shares(findings: Findings, unbiased: bool) -> list[str]:
    """The attributes that have a mean only, or nothing yet."""
    lines, estimates = [], findings.estimates
    noise = {item.attribute: item for item in findings.noise}
    for name in estimates.means:
        mean = (findings.unbiased_means if unbiased else findings.means)[name]
        names = "".join(f"{item:>13}" for item in (MEAN, "stderr", "low", "high"))
        noisy = name in findings.noisy_means and not unbiased
        digits = _count_digits(mean.stderr)
        middle = "-" if noisy else f"{mean.value:.{digits}f}"
        ends = (mean.stderr, mean.low, mean.high)
        numbers = f"{middle:>13}" + "".join(f"{item:13.{digits}f}" for item in ends)
        whose = ", mean of these" if name in findings.respondents else _whose(findings, name)
        title = f"{name} ({count_reports(findings, name)}){whose}"
        question = quote_question(estimates.question_texts, name)
        lines += ["", title, *question, " " * 12 + names, " " * 12 + numbers]
        moved = "" if noisy or unbiased else _note_moved_mean(findings, name).removeprefix(", ")
        lines += [f"{MEAN:>12} {moved}"] if moved else []
        lines += [f"{'noise':>12} {noise[name]}"] if name in noise and not unbiased else []
        lines += [f"{'weights':>12} {text}" for text in findings.weights.get(name, [])]
    for name, nothing in estimates.unreported.items():
        lines += ["", f"{name} ({format_count(nothing.n, 'report')}): {nothing.why}"]
    return lines


def _how(likelihood: Likelihood) -> str:
    """By which steps shares were found, in words."""
    if likelihood.smoothing is None:
        return f"{likelihood.method}, {likelihood.stop}"
    passes, weight = f"{likelihood.smoothing.passes:,} passes", likelihood.smoothing.weight
    if weight == 0:
        return f"EM stopped early, after {passes}, chosen by held-out reports; neighbors are not averaged"
    return f"{passes} of EM that give {weight:g} of a share to either neighbor, chosen by held-out reports"


def _format_quantile(findings: Findings, name: str, quantile: Summary, unbiased: bool) -> str:
    """A number, or the label of a scale, and where the true one is."""
    noisy = findings.is_wide(name, quantile) and not unbiased
    labels = findings.label_quantile(name, quantile)
    if labels is None:
        return _format_summary(quantile, noisy)
    return f"{NOISY if noisy else labels.label}, from {labels.low_label} to {labels.high_label}"


def _format_summary(summary: Summary, noisy: bool) -> str:
    """A number and where the true one is; only the latter if it is too noisy to read."""
    within = f", and {describe_bins(summary.within)}" if summary.within else ""
    digits = _count_digits(summary.stderr)
    ends = (_format_number(number, digits) for number in (summary.value, summary.low, summary.high))
    value, low, high = ends
    return f"{NOISY if noisy else value}, from {low} to {high}{within}"


def describe_bins(within: float) -> str:
    """How much farther off than its interval says a mean of bins may be, in words."""
    return f"up to {format_digits(within, 6)} more either way, since answers are counted in bins"


def _count_digits(stderr: float) -> int:
    """As many decimals as two digits of the error have: more would be noise."""
    if not (math.isfinite(stderr) and stderr > 0):
        return 2
    return min(max(1 - math.floor(math.log10(stderr)), 0), 12)


def _format_number(number: float, digits: int) -> str:
    return f"{number:.{digits}f}" if math.isfinite(number) else "beyond the open end"
