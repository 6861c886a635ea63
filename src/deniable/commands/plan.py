"""`deniable init`, `plan`, `verify`, `privatize`, `estimate`: from a study to its results, file by file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable import consistency
from deniable.commands import console, reading
from deniable.commands.console import FILE, one, positive, real, whole
from deniable.errors import InvalidParameter

if TYPE_CHECKING:
    from deniable.plan import Plan, Reports, Tallies
    from deniable.table import Show
    from deniable.words import Words

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


INVENTED = 50_000
"""How many people there are in the answers that go with the example."""


@click.command("init")
@click.argument("study", type=FILE, default=Path("study.toml"))
@click.option("--data", type=FILE, help=f"Write answers of {INVENTED:,} invented people, too: a CSV file to try it with.")
@console.force
def write_example(study: Path, data: Path | None, force: bool) -> None:
    """Write a commented example of a study to STUDY (study.toml)."""
    from deniable.table import replacing

    if data is not None:
        console.refuse_ending(data, [".csv"], "the invented data")
    console.refuse_existing([study, *([data] if data else [])], force)
    with replacing(study) as temporary:
        temporary.write_text(EXAMPLE, encoding="utf-8")
    if data is not None:
        with replacing(data) as temporary:
            temporary.write_text(_invented(INVENTED), encoding="utf-8")
        click.echo(f"wrote {data}, with invented people")
    click.echo(f"wrote {study}; next: deniable plan {study} --people 50000 -o plan.json")


def _invented(people: int) -> str:
    """Answers to the example, in round shares: 45 % come by car, 70 % are satisfied, few take more than an hour."""
    transport = ["car"] * 45 + ["train"] * 20 + ["bus"] * 15 + ["bicycle"] * 12 + ["on foot"] * 8
    satisfied = ["yes"] * 7 + ["no"] * 3
    minutes = [5 + 90 * i * i // 10**6 for i in range(1000)]
    rows = (f"{transport[i % 100]},{satisfied[i // 100 % 10]},{minutes[i * 617 % 1000]}\n" for i in range(people))
    return "transport,satisfied,minutes\n" + "".join(rows)


@click.command("plan")
@click.argument("study", type=FILE)
@click.option(
    "--people",
    callback=one(partial(whole, least=1, most=10**15)),
    required=True,
    help="How many are expected to answer, such as 50000 or 5e4.",
)
@click.option("-o", "--out", type=FILE, help="Where to write the plan, a JSON file.")
@click.option("--cite", is_flag=True, help="Print BibTeX of what the plan uses, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan itself, which is JSON, in place of the explanation.")
@console.force
def make_plan(study: Path, people: int, out: Path | None, cite: bool, as_json: bool, force: bool) -> None:
    """Make a plan of a study and explain it.

    Protocols and share are chosen by exact expected error, unless the study names them.
    """
    if cite and as_json:
        raise InvalidParameter("--cite and --json do not go together: BibTeX is not JSON")
    if out is not None:
        console.refuse_ending(out, [".json"], "a plan")
        console.refuse_existing([out], force)
    plan = reading.planned(study, people)
    if out is not None:
        plan.write(out)
        click.echo(f"wrote {out}", err=True)
    click.echo(plan.to_json() if as_json else plan.explain())
    if cite:
        click.echo("\n" + plan.cite())


@click.command("verify")
@click.argument("plan", type=FILE)
@click.option("--cap", callback=one(positive), help="Refuse a plan that loses more than this per record.")
@console.as_json
def verify_plan(plan: Path, cap: float | None, as_json: bool) -> None:
    """Recompute from a plan's integers alone what it gives away, and print it; or refuse the plan with the reason."""
    from deniable.plan import InvalidPlan

    read = reading.read_plan(plan)
    loss = read.verify()
    most = loss.record if loss.repeated is None else max(loss.record, loss.repeated.one_value_forever)
    if cap is not None and not most <= cap:
        raise InvalidPlan(f"{plan.name} is refused: it loses {most:.9g} per record, more than the cap of {cap:g}")
    if as_json:
        again = None if loss.repeated is None else asdict(loss.repeated)
        console.print_json(
            {"plan": read.id, "loss_record": loss.record, "loss_attribute": loss.attribute, "repeated": again, "cap": cap}
        )
        return
    click.echo(f"plan {read.id}")
    click.echo(f"loss per record     {_nats(read.stated.record)}")
    click.echo(f"loss per attribute  {_nats(read.stated.attribute)}")
    if loss.repeated is not None:
        click.echo("asked again, per record:")
        click.echo("\n".join(f"  {line}" for line in loss.repeated.explain().splitlines()))
    click.echo("OK: recomputed from the thresholds; nothing was changed, nothing is lost beyond what is stated")


@click.command("privatize")
@click.argument("plan", type=FILE)
@click.argument("data", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The reports, a Parquet file.")
@click.option("--seed", type=click.IntRange(0), help="Simulate: reproducible words, which protect nobody.")
@console.force
def privatize_file(plan: Path, data: Path, out: Path, seed: int | None, force: bool) -> None:
    """Turn DATA, a CSV or Parquet file with a row per person, into reports.

    Random words come from the operating system. Nothing is written unless all of it is.
    """
    console.refuse_ending(out, [".parquet"], "a file of reports")
    console.refuse_existing([out], force)
    read = reading.read_plan(plan)
    with console.progress("privatizing") as show:
        n = read.write_reports(out, _reported(read, data, seed, show))
    click.echo(f"wrote {n:,} reports to {out}", err=True)
    if seed is not None:
        click.echo("these reports were simulated: whoever knows the seed knows the answers", err=True)


def _reported(plan: Plan, data: Path, seed: int | None, show: Show) -> Iterator[Reports]:
    """Reports block by block; where first answers are kept, all at once, since each row is a person."""
    import numpy as np

    from deniable import simulated

    if plan.content.rounds is not None and seed is None:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept on their own device; "
            "a file of people can only be simulated, with --seed"
        )
    blocks = reading.read_codes(plan, data, show)
    if plan.content.rounds is not None and seed is not None:
        yield plan.privatize_codes(np.concatenate(list(blocks), axis=1), simulated.remembering(seed))
        return
    source: Words | None = None if seed is None else simulated.seeded(seed)
    for codes in blocks:
        yield plan.privatize_codes(codes, source)


@click.command("estimate")
@click.argument("plan", type=FILE)
@click.argument("reports", type=FILE, required=False)
@click.option("--from", "source", help="A collector's address (http://…) or its store's (sqlite:///…, postgresql://…).")
@click.option("--round", "number", callback=one(partial(whole, least=1)), help="With --from: the round.")
@click.option("--token-file", type=FILE, help="With --from http://…: the operator's token, unless DENIABLE_TOKEN has it.")
@click.option("-o", "--out", type=FILE, multiple=True, help="Write the table (.csv, .json, .parquet), once or several times.")
@click.option("--plot", "plot_file", type=FILE, help="Draw the shares (png, svg, pdf).")
@click.option("--level", callback=one(real), default="0.95", show_default=True, help="Confidence of the intervals.")
@click.option("--project", help=f"Show a consistent version, too: {', '.join(consistency.NAMES)}.")
@console.as_json
@console.force
def estimate_file(
    plan: Path,
    reports: Path | None,
    source: str | None,
    number: int | None,
    token_file: Path | None,
    out: Sequence[Path],
    plot_file: Path | None,
    level: float,
    project: str | None,
    as_json: bool,
    force: bool,
) -> None:
    """Estimate every attribute's shares from REPORTS, a Parquet file, or from a collector, with error bars."""
    if (reports is None) == (source is None):
        raise InvalidParameter("reports come from a file, or with --from from a collector or its store; give one of both")
    console.check_plots([plot_file], force)
    for file in out:
        console.refuse_ending(file, _WRITERS, "the table (a plot: --plot)")
    console.refuse_existing(out, force)
    read = reading.read_plan(plan)
    if reports is not None:
        with console.progress("counting") as show:
            tallies = reading.read_tallies(read, reports, show)
    else:
        tallies = _collected(read, str(source), number, token_file)
    result = read.estimate(tallies)
    rows = result.rows(level, project)
    about = {"plan": result.plan_id, "n": result.n, "level": level, "project": project, "rows": rows}
    for file in out:
        with console.writing(file) as temporary:
            _WRITERS[file.suffix.lower()](about, temporary)
    if plot_file is not None:
        from deniable import plot_result

        console.save_plot(plot_result.result_plot(result, level), plot_file)
    if as_json:
        console.print_json(about)
    else:
        click.echo(result.text(level, project))


def _collected(plan: Plan, source: str, number: int | None, token_file: Path | None) -> Tallies:
    """The tallies of a collector, or of its store."""
    from deniable.collect.reading import fetch_tallies, find_token

    token = find_token(token_file) if source.startswith("http") else None
    return fetch_tallies(plan, source, number, token)


COMMANDS = (write_example, make_plan, verify_plan, privatize_file, estimate_file)
"""What the command line offers from here."""


def _write_csv(about: dict[str, Any], file: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(about["rows"][0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(about["rows"])
    file.write_text(text.getvalue(), encoding="utf-8")


def _write_json(about: dict[str, Any], file: Path) -> None:
    file.write_text(console.json_text(about), encoding="utf-8")


def _write_parquet(about: dict[str, Any], file: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(about["rows"]), file)


_WRITERS: dict[str, Callable[[dict[str, Any], Path], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}


def _nats(units: int) -> str:
    """Billionths of a nat, as they are stated."""
    return f"{units // 10**9}.{units % 10**9:09d}"
