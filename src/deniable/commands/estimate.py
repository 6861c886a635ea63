"""`deniable estimate`: estimates shares from a file or a table of reports, a collector or its store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import click

from deniable.commands.shared import console, options, reading, sources, writing
from deniable.commands.shared.options import (
    FILE,
    PLAN_AND_ROUND,
    REAL,
    PlanAndRound,
    argument,
    as_request,
    earlier_round,
    option,
    plan_and_round,
    real,
    taken,
)
from deniable.errors import InvalidParameter

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.reports import Reports
    from deniable.results.estimates import Estimates
    from deniable.results.findings import FindingsRequest
    from deniable.results.range_queries import RangeQuery
    from deniable.rounds.differences import People
    from deniable.study import Plan

_TENS = 9
_CERTIFIED = 10.0**-_TENS  # where a search ends unless another tolerance is asked for


@final
@dataclass(frozen=True)
class EstimateRequest:
    """A plan, its reports, what to estimate and how to show it."""

    plan: Path = argument("plan", type=FILE)
    reports: Path | None = argument("reports", type=FILE, required=False)
    source: sources.Source | None = taken(options.source)
    table: str | None = taken(sources.table)
    by: Sequence[str] = taken(sources.by)
    number: int | None = taken(options.source_round)
    since: str | None = taken(options.change_from)
    every_round: bool = option(
        "--every-round",
        is_flag=True,
        help="Show the change since --change-from in every later round that has reports, with --from.",
    )
    continues: Sequence[tuple[PlanAndRound, str]] = option(
        "--continues",
        type=(PLAN_AND_ROUND, str),
        multiple=True,
        metavar="PLAN REPORTS",
        help="Join the shares with those of a plan that this one continues, by its reports: a file, or a "
        "collector or store. old.json:2 names its round 2. May be repeated.",
    )
    people: People | None = option(
        "--people",
        type=click.Choice(["same", "population", "others", "linked"]),
        help="Whose change is meant: that of the population that people are drawn from, or of the very "
        "people who reported (same). If other people answered each time: others. Of those who answered both "
        "rounds: linked.  [default: linked if the plan is, and its reports are at hand; others for a plan "
        "that asks once; else population]",
    )
    token_file: Path | None = taken(options.token_file)
    out: Sequence[Path] = taken(writing.out)
    plot_files: Sequence[Path] = taken(writing.plot("the shares"))
    figure_folder: Path | None = taken(writing.figures("every attribute"))
    level: float = taken(options.level)
    weights: Path | None = taken(options.weights)
    mle: bool = option(
        "--mle",
        is_flag=True,
        help="Also show the most likely shares, and how near they are to the best; from a file with fakes, "
        "those of whole reports.",
    )
    smooth: bool = option(
        "--smooth",
        is_flag=True,
        help="Show smoothed shares of ranges and grids; intervals stay those of the unbiased shares.",
    )
    quantile: Sequence[float] = taken(
        options.numbers_option("--quantile", real, "Also show these quantiles of ranges, such as 0.5,0.9.")
    )
    between: Sequence[str] = option(
        "--range",
        "between",
        multiple=True,
        metavar="[NAME=]LOW:HIGH",
        help="Also show the share of people from one number to under another; either end may be left out, "
        "as in 60000: for 60000 or more. May be repeated.",
    )
    fakes: float | None = option(
        "--fakes",
        type=REAL,
        help="Also show where shares are if at most this share of reports was made up, such as 0.01.",
    )
    bins: bool = option(
        "--bins", is_flag=True, help="Show every bin of a long range and every cell of a large grid."
    )
    unbiased: bool = option(
        "--unbiased",
        is_flag=True,
        help="Show unbiased shares, which may be below 0 or above 100 %; files have both.",
    )
    as_json: bool = taken(console.as_json)
    force: bool = taken(console.force)


@click.command("estimate")
@as_request(EstimateRequest)
def estimate_file(request: EstimateRequest) -> None:
    """Estimate shares, with error bars.

    REPORTS is a Parquet file; with --from, a collector or its store is asked instead, or a table of reports
    is counted where it is. Several files, each after a --from, are counted together. The shares that are
    shown are possible ones: the most likely, or the nearest to the unbiased. For long ranges and large grids,
    the table and the plot show groups of neighboring values: the shares of groups are known far better than
    those of single values. Files and JSON also have every single value; of ranges in levels, they have the
    groups. The mean of a range without open ends is shown below, and its median.
    """
    source = sources.find_source(request.reports, request.source)
    _refuse_conflicts(request, source)
    writing.check(request.out, request.plot_files, request.force)
    writing.check_folder(request.figure_folder, request.force)
    plan = reading.read_plan(request.plan)
    as_table = bool(request.by) or request.number is not None
    reports, source = sources.choose_reading(plan, request.reports, source, as_table)
    if request.by:
        assert source is not None
        _estimate_windows(plan, source, request)
    elif request.since is not None and request.every_round:
        _estimate_series(plan, source, request.since, request)
    elif request.since is not None:
        _estimate_change(plan, reports, source, request.since, request)
    else:
        _estimate_shares(plan, reports, source, request)


def _refuse_conflicts(request: EstimateRequest, source: sources.Source | None) -> None:
    """Refuse options that do not go together."""
    is_table = sources.is_table(source, request.table)
    if request.weights is not None and (request.mle or request.smooth or request.fakes is not None):
        raise InvalidParameter(
            "--weights shows a population, and --mle, --smooth and --fakes are about the very reports; leave "
            "them out, or --weights"
        )
    if request.since is None and request.people is not None and not request.continues:
        raise InvalidParameter("--people is about a change; name the earlier round with --change-from")
    alone = (request.since is not None, request.by, request.weights, request.smooth, request.mle)
    if request.continues and any((*alone, request.fakes is not None)):
        raise InvalidParameter(
            "--continues joins the shares of plans; leave out --change-from, --by, --weights, --smooth, "
            "--mle and --fakes"
        )
    if request.every_round and (request.since is None or request.number is not None or request.reports):
        raise InvalidParameter(
            "--every-round shows the change since one round in all later ones of a collector, its store or a "
            "table: name the round with --change-from, give --from, and leave out --round and a file"
        )
    of_shares = (
        request.mle,
        request.smooth,
        request.quantile,
        request.between,
        request.unbiased,
        request.figure_folder,
        request.fakes is not None,
    )
    if request.since is not None and any(of_shares):
        raise InvalidParameter(
            "--change-from shows the change alone; leave out --mle, --smooth, --quantile, --range, "
            "--unbiased, --figures, --fakes"
        )
    if request.by and (request.since is not None or request.figure_folder):
        raise InvalidParameter("--by shows windows; leave out --change-from and --figures")
    if request.by and request.reports is None and not is_table:
        raise InvalidParameter(
            "--by names columns of a table of reports, and this is a collector or its store"
        )
    _read_ranges(request)


def _read_ranges(request: EstimateRequest) -> list[RangeQuery]:
    from deniable.results.range_queries import RangeQuery

    return [RangeQuery.read(text) for text in request.between]


def _choose_findings(request: EstimateRequest) -> FindingsRequest:
    """What is to be found beside shares, by the options."""
    from deniable.results.findings import FindingsRequest

    return FindingsRequest(
        quantiles=request.quantile, ranges=_read_ranges(request), mle=request.mle, fakes=request.fakes
    )


def _estimate_windows(plan: Plan, source: sources.Source, request: EstimateRequest) -> None:
    """Estimates each window of a table by itself; writes, draws and prints the estimates."""
    from deniable.results.findings import Findings
    from deniable.results.windows import estimate_windows
    from deniable.show.window_findings import WindowFindings

    tallied = sources.tally_windows(plan, source, request.table, request.number, request.by)
    with console.progress("estimating") as show:
        windows = WindowFindings.of(
            tallied.by,
            estimate_windows(plan.document, tallied, request.smooth, reading.read_sizes(request.weights)),
            lambda estimates: Findings.read(estimates, request.level, _choose_findings(request)),
            show,
        )
    about = windows.about() | {"not_counted": dict(tallied.refused)}
    writing.write_tables(request.out, windows.table(), about)
    writing.save_plots(request.plot_files, partial(windows.plot, request.unbiased))
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(windows.text(request.unbiased))


def _join_earlier(estimates: Estimates, request: EstimateRequest) -> Estimates:
    """The estimates of all people who reported to this plan, or to those of --continues."""
    from deniable.results.joined import join_plans
    from deniable.results.unbiased import estimate_tallies

    results = [estimates]
    for (file, number), place in request.continues:
        before = reading.read_plan(file)
        if Path(place).exists():
            earlier = sources.tally_file(before, Path(place), number)
        else:
            token = reading.find_token(place, request.token_file)
            choose = f"name one with its plan, such as --continues {file}:1"
            earlier = sources.fetch_tallies(before, place, None, number, token, choose=choose)[1]
        results.append(estimate_tallies(before.document, earlier, False, may_be_empty=True))
    people = request.people or "same"
    if people not in ("same", "others"):
        raise InvalidParameter(f"--people {people} is about a change; plans are joined of the same or others")
    joined = join_plans(results, people)
    if joined.plan_id != estimates.plan_id:
        raise InvalidParameter(
            f"plan {joined.plan_id[:12]} continues plan {estimates.plan_id[:12]}; name it first, and this "
            "one after --continues"
        )
    return joined


def _estimate_change(
    plan: Plan, reports: Path | None, source: sources.Source | None, since: str, request: EstimateRequest
) -> None:
    """Estimates the change since an earlier round or file; writes, draws and prints it."""
    number, token = request.number, None
    if source is None:
        assert reports is not None
        with console.progress("counting") as show:
            tallies = reading.read_tallies(plan, reports, show)
    else:
        token = reading.find_token(source, request.token_file)
        number, tallies = sources.fetch_tallies(plan, source, request.table, number, token)
    places: tuple[int | Path, ...] = ()
    plan_before = plan
    if request.reports is not None:
        plan_before = sources.choose_plan(plan, Path(since))
        before = sources.tally_file(plan_before, Path(since))
        places = () if reports is None else (Path(since), reports)
    elif plan.document.continues and plan_and_round(since).file.suffix == ".json":
        assert source is not None
        file, earlier_number = plan_and_round(since)
        plan_before = reading.read_plan(file)
        if plan_before.id not in {plan.id, *(document.id for document in plan.document.continues)}:
            raise InvalidParameter(
                f"plan {plan.id[:12]} does not continue plan {plan_before.id[:12]} in {file}; "
                "--change-from names a plan that it continues, or a round of its own"
            )
        choose = f"name one with its plan, such as --change-from {file}:1"
        before = sources.fetch_tallies(
            plan_before, source, request.table, earlier_number, token, newest=plan, choose=choose
        )[1]
    else:
        assert source is not None
        earlier = earlier_round(since)
        if earlier == number:
            raise InvalidParameter(f"a change is from one round to another, got round {earlier} twice")
        since = str(earlier)
        places = (earlier, 1 if number is None else number)
        _, before = sources.fetch_tallies(plan, source, request.table, earlier, token)
    counted = [before.n, tallies.n]
    linked = None
    if plan_before.id == plan.id:
        linked = _read_linked(plan, source, list(zip(places, counted, strict=False)), request, token)
    elif request.people == "linked":
        raise InvalidParameter("--people linked is about one plan: a pseudonym is that of no other plan")
    if linked is not None:
        reports_before, reports_after = linked
        change = plan.compare_rounds(reports_before, reports_after, request.level)
    else:
        sizes = reading.read_sizes(request.weights)
        now = reading.weigh(plan.estimate(tallies), sizes)
        earlier_result = reading.weigh(plan_before.estimate(before), sizes)
        change = now.change(earlier_result, request.level, request.people)
    heading = {"since": since, "round": number}
    about = heading | change.about()
    rows = [{**row, "level": change.level, **heading} for row in about["rows"]]
    writing.write_tables(request.out, rows, about)
    writing.save_plots(request.plot_files, change.plot)
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(change.text(request.bins))


def _read_linked(
    plan: Plan,
    source: sources.Source | None,
    places: Sequence[tuple[int | Path, int]],
    request: EstimateRequest,
    token: str | None,
) -> list[list[Reports]] | None:
    """The reports of rounds or files, of which so many were counted, to be compared person by person; None
    where another change is wanted, or where tallies are all that is left.
    """
    is_wanted = request.people == "linked"
    if is_wanted and request.weights is not None:
        raise InvalidParameter(
            "--people linked is about the people who answered both, and --weights about a population; leave "
            "one of them out"
        )
    if is_wanted and source is not None and not plan.document.linked:
        raise InvalidParameter(
            "a collector does not know who sent what, as this plan is not linked; leave out --people linked"
        )
    if not is_wanted and (request.people, request.weights, plan.document.linked) != (None, None, True):
        return None
    blocks = [
        list(plan.read_reports(place))
        if isinstance(place, Path)
        else sources.fetch_reports(plan, source or "", request.table, place, token)
        for place, _ in places
    ]
    there = [sum(block.n for block in of_round) for of_round in blocks]
    if places and all(n >= counted for n, (_, counted) in zip(there, places, strict=True)):
        return blocks
    gone = "reports are scrubbed, or in a table that is counted where it is"
    if is_wanted:
        raise InvalidParameter(f"--people linked takes the reports of both rounds, and {gone}; leave it out")
    console.note(f"{gone}: so this is not the change of those who answered both rounds")
    return None


def _estimate_series(plan: Plan, source: sources.Source | None, since: str, request: EstimateRequest) -> None:
    """Estimates the change since an earlier round in every later one; writes, draws and prints it."""
    from deniable.results.linked import follow_pairs

    assert source is not None
    token = reading.find_token(source, request.token_file)
    tallies = sources.fetch_rounds(plan, source, request.table, earlier_round(since), token)
    counted = [(number, of_round.n) for number, of_round in tallies.items()]
    linked = _read_linked(plan, source, counted, request, token)
    if linked is not None:
        series = follow_pairs(plan.document, dict(zip(tallies, linked, strict=True)), request.level)
    else:
        rounds = {number: plan.estimate(tallies_of) for number, tallies_of in tallies.items()}
        series = plan.follow(rounds, request.level, request.people)
    rows = [{**row, "level": request.level, "since": series.since} for row in series.rows()]
    about = series.about()
    writing.write_tables(request.out, rows, about)
    writing.save_plots(request.plot_files, series.plot)
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(str(series))


def _estimate_shares(
    plan: Plan, reports: Path | None, source: sources.Source | None, request: EstimateRequest
) -> None:
    """Estimates shares, and what else is wanted with them; writes, draws and prints them."""
    from deniable.collect.reading import fetch_health
    from deniable.results.findings import Findings
    from deniable.results.health import HealthWatch
    from deniable.results.most_likely import has_fakes
    from deniable.results.unbiased import estimate_tallies, weigh_estimates
    from deniable.show.plot import plot_findings
    from deniable.show.text import write_text

    is_table = sources.is_table(source, request.table)
    watch = HealthWatch(plan.document)
    number, token = request.number, None
    if source is not None:
        token = reading.find_token(source, request.token_file)
        number, tallies = sources.fetch_tallies(plan, source, request.table, number, token)
    else:
        assert reports is not None
        with console.progress("counting") as show:
            tallies = reading.read_tallies(plan, reports, show, watch)
    likely = None
    if request.mle and reports is not None and has_fakes(plan.document):
        with console.progress("reading whole reports") as show:
            blocks = list(plan.read_reports(reports, show))
        with console.progress("searching") as show:
            likely = plan.mle(blocks, progress=partial(_show_search, show))
    with console.progress("estimating") as show:
        estimates = estimate_tallies(plan.document, tallies, request.smooth)
        chosen = replace(_choose_findings(request), progress=show, likely=likely)
        sizes = reading.read_sizes(request.weights)
        shown = estimates if sizes is None else weigh_estimates(estimates, sizes)
        shown = _join_earlier(shown, request) if request.continues else shown
        findings = Findings.read(shown, request.level, chosen)
    if request.mle and is_table and has_fakes(plan.document):
        console.note(
            "the most likely shares are of each attribute by itself: those of whole reports take a file of "
            "reports, not a table"
        )
    about_round = {} if source is None or (is_table and number is None) else {"round": number}
    if source is None or is_table:
        health = watch.health(estimates)
    else:
        health = fetch_health(plan, str(source), number, token)
    about = findings.about() | about_round | {"health": health.about()}
    if is_table:
        about["not_counted"] = dict(tallies.refused)
    for name in ("rows", "groups", "means", "quantiles", "ranges"):
        about[name] = [row | about_round for row in about[name]]
    writing.write_tables(request.out, [row | about_round for row in findings.rows.table()], about)
    draw = partial(plot_findings, findings, request.bins, request.unbiased)
    writing.save_plots(request.plot_files, draw)
    writing.save_figures(request.figure_folder, [(name, partial(draw, name)) for name in findings.questions])
    if request.as_json:
        console.print_json(about)
    else:
        click.echo(f"{write_text(findings, request.bins, unbiased=request.unbiased)}\n\n{health}")


def _show_search(show: Show, _step: int, gap: float) -> None:
    """How much of the way to the certificate is gone, in powers of ten."""
    show(round(100 * min(max(-math.log10(max(gap, _CERTIFIED)), 0.0), _TENS)), 100 * _TENS)
