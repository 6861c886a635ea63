"""`deniable init`, `plan`, `verify`, `privatize`, `estimate`: from a study to its results, file by file."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.errors import InvalidParameter

if TYPE_CHECKING:
    from deniable.plan import Plan, Reports
    from deniable.result import Result
    from deniable.table import Show
    from deniable.words import Words

_FILE = click.Path(path_type=Path)

EXAMPLE = """\
# A study: what is asked, and how much one report may give away. Make a plan of it with
#   deniable plan study.toml --people 50000 -o plan.json

title = "How people come to work"

# The privacy budget of one report: no report is more than e^epsilon times likelier from one person than from another.
epsilon = 1.0

# What epsilon is about: the whole "record" (any two people), or one "attribute" (two people who differ in one answer).
per = "record"

# A missing answer: "refuse" it, make it a "value" of its own ("no answer"), or answer at "random".
missing = "refuse"

# Everything below is chosen by the least error unless it is named.
# share = "sample"      # or "split", "faked"
# protocol = "grr"      # for all attributes; see: deniable protocols

[attributes]
transport = ["car", "train", "bus", "bicycle", "on foot"]

[attributes.satisfied]
values = ["yes", "no"]
# protocol = "grr"      # for this attribute only

[attributes.minutes]    # numbers, in bins: 0 to under 10, 10 to under 20, ...
low = 0
high = 120
step = 10
open_high = true        # 120 and above count in the last bin; without this they are refused

# [objective]           # limits on what may be chosen
# success_cap = 0.5     # no attacker's best guess from one report may be right more often
# bytes_cap = 16        # no report may take more bytes

# To ask the same people again and again, leave out epsilon and per, and give instead:
# [repeat]
# epsilon_first = 1.0   # one report
# epsilon_forever = 2.0 # any number of reports of an answer that does not change
# rounds = 10           # for how many collections the losses are stated
"""


def _people(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    """A whole number as people write them: 10000, 10_000, 1e4."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 1 <= number <= 10**15 or number != number.to_integral_value():
        raise click.BadParameter(f"{text!r} is not a number of people, such as 10000, 10_000 or 1e4")
    return int(number)


@click.command("init")
@click.argument("study", type=_FILE, default=Path("study.toml"))
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def write_example(study: Path, force: bool) -> None:
    """Write a commented example of a study to STUDY (study.toml)."""
    from deniable.table import replacing

    if study.exists() and not force:
        raise InvalidParameter(f"{study} is there already; choose another name, or overwrite it with --force")
    with replacing(study) as temporary:
        temporary.write_text(EXAMPLE, encoding="utf-8")
    click.echo(f"wrote {study}; next: deniable plan {study} --people 50000 -o plan.json")


@click.command("plan")
@click.argument("study", type=_FILE)
@click.option("--people", callback=_people, required=True, help="How many are expected to answer, such as 50000 or 5e4.")
@click.option("-o", "--out", type=_FILE, help="Where to write the plan.")
@click.option("--cite", is_flag=True, help="Print BibTeX of what the plan uses, too.")
def make_plan(study: Path, people: int, out: Path | None, cite: bool) -> None:
    """Make a plan of a study and explain it.

    Protocols and share are chosen by exact expected error, unless the study names them.
    """
    from deniable.study import Study

    plan = Study.read(study).plan(people)
    click.echo(plan.explain())
    if cite:
        click.echo("\n" + plan.cite())
    if out is not None:
        plan.write(out)
        click.echo(f"wrote {out}", err=True)


@click.command("verify")
@click.argument("plan", type=_FILE)
@click.option("--cap", type=float, help="Refuse a plan that loses more than this per record.")
def verify_plan(plan: Path, cap: float | None) -> None:
    """Recompute from a plan's integers alone what it gives away, and print it; or refuse the plan with the reason."""
    read = _read_plan(plan)
    loss = read.verify()
    most = loss.record if loss.repeated is None else max(loss.record, loss.repeated.one_value_forever)
    if cap is not None and not most <= cap:
        raise InvalidParameter(f"this plan loses {most:.9g} per record, more than the cap of {cap:g}")
    click.echo(f"plan {read.id}")
    click.echo(f"loss per record     {_nats(read.stated.record)}")
    click.echo(f"loss per attribute  {_nats(read.stated.attribute)}")
    if loss.repeated is not None:
        click.echo("asked again, per record:")
        click.echo("\n".join(f"  {line}" for line in loss.repeated.explain().splitlines()))
    click.echo("OK: recomputed from the thresholds; nothing was changed, nothing is lost beyond what is stated")


@click.command("privatize")
@click.argument("plan", type=_FILE)
@click.argument("data", type=_FILE)
@click.option("-o", "--out", type=_FILE, required=True, help="The reports, a Parquet file.")
@click.option("--seed", type=click.IntRange(0), help="Simulate: reproducible words, which protect nobody.")
def privatize_file(plan: Path, data: Path, out: Path, seed: int | None) -> None:
    """Turn DATA, a CSV or Parquet file with a row per person, into reports.

    Random words come from the operating system. Nothing is written unless all of it is.
    """
    read = _read_plan(plan)
    with _progress("privatizing") as show:
        n = read.write_reports(out, _reported(read, data, seed, show))
    click.echo(f"wrote {n:,} reports to {out}", err=True)
    if seed is not None:
        click.echo("these reports were simulated: whoever knows the seed knows the answers", err=True)


def _reported(plan: Plan, data: Path, seed: int | None, show: Show) -> Iterator[Reports]:
    """Reports block by block; where first answers are kept, all at once, since each row is a person."""
    import numpy as np

    from deniable import words
    from deniable.table import read_answers

    blocks = read_answers(data, plan.names, show)
    source: Words | None = None if seed is None else words.seeded(seed)
    if plan.content.rounds is None:
        for block in blocks:
            yield plan.privatize(block, source)
        return
    if seed is None:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept on their own device; "
            "a file of people can only be simulated, with --seed"
        )
    codes = [plan.encode(block) for block in blocks]
    if codes:
        yield plan.privatize_codes(np.concatenate(codes, axis=1), words.remembering(seed))


@click.command("estimate")
@click.argument("plan", type=_FILE)
@click.argument("reports", type=_FILE)
@click.option("--csv", "csv_file", type=_FILE, help="Write the table as CSV (- prints it).")
@click.option("--json", "json_file", type=_FILE, help="Write the table as JSON (- prints it).")
@click.option("--parquet", "parquet_file", type=_FILE, help="Write the table as Parquet.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw the shares (png, svg, pdf).")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of the intervals.")
@click.option("--project", help="Show a consistent version, too: clip, norm-sub, simplex, ...")
def estimate_file(
    plan: Path,
    reports: Path,
    csv_file: Path | None,
    json_file: Path | None,
    parquet_file: Path | None,
    plot_file: Path | None,
    level: float,
    project: str | None,
) -> None:
    """Estimate every attribute's shares from REPORTS, a Parquet file, with error bars."""
    if plot_file is not None:
        from deniable import plot

        plot.require_matplotlib()
        plot.checked_path(plot_file)
    read = _read_plan(plan)
    with _progress("counting") as show:
        total = None
        for block in read.read_reports(reports, show):
            counted = read.tally(block)
            total = counted if total is None else total + counted
    if total is None:
        raise InvalidParameter(f"there are no reports in {reports}")
    result = read.estimate(total)
    rows = result.rows(level, project)
    if str(csv_file) != "-" and str(json_file) != "-":
        click.echo(_shown(result, rows, level))
    if csv_file is not None:
        _put(csv_file, _as_csv(rows))
    if json_file is not None:
        about = {"plan": result.plan_id, "n": result.n, "level": level, "project": project, "rows": rows}
        _put(json_file, json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    if parquet_file is not None:
        _put_parquet(parquet_file, rows)
    if plot_file is not None:
        from deniable import plot, plot_result

        plot.save(plot_result.result_plot(result, level), plot_file)
        click.echo(f"wrote {plot_file}", err=True)


COMMANDS = (write_example, make_plan, verify_plan, privatize_file, estimate_file)
"""What the command line offers from here."""


def _read_plan(path: Path) -> Plan:
    from deniable.plan import InvalidPlan, Plan

    try:
        return Plan.read(path)
    except InvalidPlan as problem:
        raise InvalidPlan(f"{path.name} is refused: {problem}") from None


def _shown(result: Result, rows: list[dict[str, Any]], level: float) -> str:
    """A plain table, a block of lines per attribute."""
    lines = [f"{result.n:,} records reported for plan {result.plan_id[:12]}; {100 * level:g} % intervals"]
    wide = max(len(str(row["value"])) for row in rows)
    numbers = [name for name in ("frequency", "stderr", "low", "high", "projected") if name in rows[0]]
    for name, estimate in result.items():
        lines += ["", f"{name} ({estimate.n:,} reports)", f"{'value':>{wide}}" + "".join(f"{one:>11}" for one in numbers)]
        for row in rows:
            if row["attribute"] == name:
                lines.append(f"{row['value']!s:>{wide}}" + "".join(f"{row[one]:11.4f}" for one in numbers))
    return "\n".join(lines)


def _as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _put(path: Path, text: str) -> None:
    from deniable.table import replacing

    if str(path) == "-":
        click.echo(text, nl=False)
        return
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}", err=True)


def _put_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    from deniable.table import replacing, require_pyarrow

    require_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    with replacing(path) as temporary:
        parquet.write_table(pa.Table.from_pylist(rows), temporary)
    click.echo(f"wrote {path}", err=True)


def _nats(units: int) -> str:
    """Billionths of a nat, as they are stated."""
    return f"{units // 10**9}.{units % 10**9:09d}"


@contextmanager
def _progress(text: str) -> Iterator[Show]:
    """A bar on stderr while there is a terminal to see it, gone when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn(text), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
