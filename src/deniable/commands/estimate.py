"""`deniable estimate`: estimates shares from a file or a table of reports, a collector or its store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options, reading, sources, writing
from deniable.commands.shared.options import FILE, REAL, earlier_round, real
from deniable.errors import InvalidParameter
from deniable.estimate import consistency

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.reports import Tallies
    from deniable.results.change import Change, People
    from deniable.show.window_findings import WindowFindings
    from deniable.study import Plan

_TENS = 9
_CERTIFIED = 10.0**-_TENS  # where a search ends unless another tolerance is asked for


@click.command("estimate")
@click.argument("plan", type=FILE)
@click.argument("reports", type=FILE, required=False)
@options.source
@sources.table
@sources.by
@options.source_round
@options.change_from
@click.option(
    "--people",
    type=click.Choice(["same", "others"]),
    help="Who answered in both rounds, for a narrower interval of the change.  [default: not known]",
)
@options.token_file
@writing.out
@writing.plot("the shares")
@writing.figures("every attribute")
@options.level
@click.option(
    "--project",
    metavar="STEP",
    help=f"Also show shares made consistent: {', '.join(consistency.NAMES)}.",
)
@click.option(
    "--mle",
    is_flag=True,
    help="Also show the most likely shares, and how near they are to the best; from a file with fakes, those "
    "of whole reports.",
)
@click.option(
    "--smooth",
    is_flag=True,
    help="Show smoothed shares of ranges and grids; intervals stay those of the unbiased shares.",
)
@options.numbers_option("--quantile", real, "Also show these quantiles of ranges, such as 0.5,0.9.")
@click.option(
    "--range",
    "between",
    multiple=True,
    metavar="[NAME=]LOW:HIGH",
    help="Also show the share of people from one number to under another; either end may be left out, as in "
    "60000: for 60000 or more. May be repeated.",
)
@click.option(
    "--fakes",
    type=REAL,
    help="Also show where shares are if at most this share of reports was made up, such as 0.01.",
)
@click.option("--bins", is_flag=True, help="Show every bin of a long range and every cell of a large grid.")
@click.option(
    "--unbiased",
    is_flag=True,
    help="Show unbiased shares, which may be below 0 or above 100 %; files have both.",
)
@console.as_json
@console.force
def estimate_file(
    plan: Path,
    reports: Path | None,
    source: sources.Source | None,
    table: str | None,
    by: Sequence[str],
    number: int | None,
    since: str | None,
    people: People | None,
    token_file: Path | None,
    out: Sequence[Path],
    plot_files: Sequence[Path],
    figure_folder: Path | None,
    level: float,
    project: str | None,
    mle: bool,
    smooth: bool,
    quantile: Sequence[float],
    between: Sequence[str],
    fakes: float | None,
    bins: bool,
    unbiased: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Estimate shares, with error bars.

    REPORTS is a Parquet file; with --from, a collector or its store is asked instead, or a table of reports
    is counted where it is. Several files are counted together. The shares that are shown are possible ones:
    the most likely, or the nearest to the unbiased. For long ranges and large grids, the table and the plot
    show groups of neighboring values: the shares of groups are known far better than those of single values.
    Files and JSON also have every single value; of ranges in levels, they have the groups. The mean of a
    range without open ends is shown below, and its median.
    """
    from deniable.collect.reading import fetch_health
    from deniable.results.findings import Findings
    from deniable.results.health import HealthWatch
    from deniable.results.most_likely import has_fakes
    from deniable.results.range_queries import RangeQuery
    from deniable.results.windows import estimate_windows
    from deniable.show.plot import plot_findings
    from deniable.show.text import write_text
    from deniable.show.window_findings import WindowFindings

    source = sources.find_source(reports, source)
    counts = sources.is_table(source, table)
    if since is None and people is not None:
        raise InvalidParameter("--people is about a change; name the earlier round with --change-from")
    others = project or mle or smooth or quantile or between or unbiased or figure_folder
    if since is not None and (others or fakes is not None):
        raise InvalidParameter(
            "--change-from shows the change alone; leave out --project, --mle, --smooth, --quantile, "
            "--range, --unbiased, --figures, --fakes"
        )
    if by and (since is not None or figure_folder):
        raise InvalidParameter("--by shows windows; leave out --change-from and --figures")
    if by and reports is None and not counts:
        raise InvalidParameter(
            "--by names columns of a table of reports, and this is a collector or its store"
        )
    ranges = [RangeQuery.read(text) for text in between]
    writing.check(out, plot_files, force)
    writing.check_folder(figure_folder, force)
    read = reading.read_plan(plan)
    file = reports
    reports, source = sources.choose_reading(read, reports, source, bool(by) or number is not None)
    counts = sources.is_table(source, table)
    if by:
        assert source is not None
        tallied = sources.tally_windows(read, source, table, number, by)
        with console.progress("estimating") as show:
            windows = WindowFindings.of(
                tallied.by,
                estimate_windows(read.document, tallied, smooth),
                lambda estimates: Findings.read(
                    estimates, level, project, quantile, mle, None, fakes, ranges=ranges
                ),
                show,
            )
        _show_windows(windows, tallied.refused, out, plot_files, unbiased, as_json)
        return
    watch = HealthWatch(read.document)
    token = None if source is None else reading.find_token(source, token_file)
    if source is not None:
        number, tallies = sources.fetch_tallies(read, source, table, number, token)
    else:
        assert reports is not None
        with console.progress("counting") as show:
            tallies = reading.read_tallies(read, reports, show, watch)
    if since is not None:
        if file is not None:
            before = since, sources.tally_file(read, Path(since))
        else:
            assert source is not None
            before = _fetch_earlier(read, source, table, earlier_round(since), number, token)
        change = read.estimate(tallies).change(read.estimate(before[1]), level, people)
        _show_change(change, {"since": before[0], "round": number}, out, plot_files, bins, as_json)
        return
    likely = None
    if mle and reports is not None and has_fakes(read.document):
        with console.progress("reading whole reports") as show:
            blocks = list(read.read_reports(reports, show))
        with console.progress("searching") as show:
            likely = read.mle(blocks, progress=partial(_show_search, show))
    with console.progress("estimating") as show:
        findings = Findings.of(
            read.document, tallies, level, project, quantile, mle, smooth, show, fakes, likely, ranges
        )
    if mle and counts and has_fakes(read.document):
        click.echo(
            "the most likely shares are of each attribute by itself: those of whole reports take a file of "
            "reports, not a table",
            err=True,
        )
    about_round = {} if source is None or (counts and number is None) else {"round": number}
    if source is None or counts:
        health = watch.health(findings.estimates)
    else:
        health = fetch_health(read, str(source), number, token)
    about = findings.about() | about_round | {"health": health.about()}
    if counts:
        about["not_counted"] = dict(tallies.refused)
    for name in ("rows", "groups", "means", "quantiles", "ranges"):
        about[name] = [row | about_round for row in about[name]]
    rows = [row | about_round for row in findings.rows.table()]
    writing.write_tables(out, rows, about)
    writing.save_plots(plot_files, partial(plot_findings, findings, bins, unbiased))
    drawings = [(name, partial(plot_findings, findings, bins, unbiased, name)) for name in findings.estimates]
    writing.save_figures(figure_folder, drawings)
    if as_json:
        console.print_json(about)
    else:
        click.echo(f"{write_text(findings, bins, unbiased=unbiased)}\n\n{health}")


def _show_search(show: Show, _step: int, gap: float) -> None:
    """How much of the way to the certificate is gone, in powers of ten."""
    show(round(100 * min(max(-math.log10(max(gap, _CERTIFIED)), 0.0), _TENS)), 100 * _TENS)


def _fetch_earlier(
    plan: Plan,
    source: sources.Source,
    table: str | None,
    since: int,
    number: int | None,
    token: str | None,
) -> tuple[str, Tallies]:
    """The tallies of an earlier round."""
    if since == number:
        raise InvalidParameter(f"a change is from one round to another, got round {since} twice")
    return str(since), sources.fetch_tallies(plan, source, table, since, token)[1]


def _show_windows(
    windows: WindowFindings,
    refused: Mapping[str, int],
    out: Sequence[Path],
    plot_files: Sequence[Path],
    unbiased: bool,
    as_json: bool,
) -> None:
    """Writes, draws and prints the estimates of windows."""
    about = windows.about() | {"not_counted": dict(refused)}
    writing.write_tables(out, windows.table(), about)
    writing.save_plots(plot_files, partial(windows.plot, unbiased))
    if as_json:
        console.print_json(about)
    else:
        click.echo(windows.text(unbiased))


def _show_change(
    change: Change,
    heading: Mapping[str, object],
    out: Sequence[Path],
    plot_files: Sequence[Path],
    bins: bool,
    as_json: bool,
) -> None:
    """Writes, draws and prints a change."""
    rows = change.rows()
    setting = {"level": change.level, "people": change.people, "validity": change.validity}
    about = {**heading, **setting, "rows": rows}
    writing.write_tables(out, [{**row, "level": change.level, **heading} for row in rows], about)
    writing.save_plots(plot_files, change.plot)
    if as_json:
        console.print_json(about)
    else:
        click.echo(change.text(bins))
