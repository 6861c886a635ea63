"""`deniable export`: writes collected reports to Parquet, as engines count them, or a codebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading, writing
from deniable.commands.shared.options import FILE, ROUND
from deniable.commands.shared.stores import choose_plan, find_actor, open_existing, store_option
from deniable.errors import InvalidParameter
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.frames import Show
    from deniable.reports import Reports
    from deniable.store.schedule import Round
    from deniable.store.store import Store
    from deniable.study import Plan

LABELS = (".sav", ".dta")
_AT_ONCE = 100_000  # reports of a group of rows
_BYTES = 32 << 20  # or as many as have so many bytes


@click.command("export")
@click.argument("plan_file", metavar="[PLAN]", type=FILE, required=False)
@store_option
@click.option("--round", "number", type=ROUND, help="The round.  [default: all, in a folder]")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write to this folder, a file for each plan and round; or to a file ending in .parquet.  [required]",
)
@click.option(
    "--codebook",
    is_flag=True,
    help="In place of reports, what the values of PLAN mean: to the shell, or to a file: .csv, .json, "
    ".parquet, or only labels for SPSS (.sav) or Stata (.dta).",
)
@console.as_json
@console.force
def export_reports(
    plan_file: Path | None,
    store: str,
    number: int | None,
    out: Path | None,
    codebook: bool,
    as_json: bool,
    force: bool,
) -> None:
    """Write reports, or the codebook of a plan.

    Reports are written to Parquet. A folder gets plan=ID/round=NUMBER/part-0.parquet for each round of PLAN,
    or of all plans of the store. To export again writes these files again, each wholly or not at all, so that
    it may be repeated at any time. Reports are in the order of their random ids, which are written only where
    the plan is linked: there they are people's pseudonyms. The file of reports that were scrubbed since is
    left as it is; what came after them goes to a file beside it.
    """
    if codebook:
        _export_codebook(plan_file, number, out, as_json, force)
        return
    if as_json:
        raise InvalidParameter("--json is for --codebook; reports are written to Parquet")
    if plan_file is not None:
        reading.read_plan(plan_file)  # what is wrong with it is said before what is wrong with the store
    if out is None:
        raise InvalidParameter(
            "name the folder that reports are written to: -o exported, or a file: -o reports.parquet"
        )
    if out.suffix.lower() == ".parquet":
        console.refuse_existing([out], force)
        _export_file(store, plan_file, number, out)
        return
    if out.is_file() or out.suffix.lower() in (".csv", ".tsv", ".json"):
        raise InvalidParameter(
            f"{out} is a file; reports go to a folder, or to a file ending in .parquet"
            if out.is_file()
            else f"{out} is no folder's name; reports go to a folder, or to a file ending in .parquet"
        )
    from deniable.study import Plan

    with open_existing(store) as opened:
        if plan_file is None:
            plans = [Plan(stored.document) for stored in opened.plans()]
        else:
            plans = [choose_plan(opened, plan_file)]
        rounds = [
            (plan, stored)
            for plan in plans
            for stored in opened.rounds(plan.id)
            if stored.counted and number in (None, stored.number)
        ]
        if not rounds:
            where = opened.name if number is None else f"{opened.name}, round {number}"
            raise InvalidParameter(f"there are no reports to export in {where}")
        with console.progress("exporting") as show:
            _export_rounds(opened, rounds, out, show)


def _export_codebook(
    plan_file: Path | None, number: int | None, out: Path | None, as_json: bool, force: bool
) -> None:
    """Write or print what the values of a plan mean."""
    if plan_file is None or number is not None:
        raise InvalidParameter(
            "a codebook is of a plan: deniable export plan.json --codebook -o codebook.csv"
        )
    codebook = reading.read_plan(plan_file).codebook()
    if out is not None and out.suffix.lower() in LABELS:
        console.refuse_existing([out], force)
        with console.writing(out) as temporary:
            codebook.write_labels(temporary)
    else:
        files = [] if out is None else [out]
        writing.check(files, [], force)
        writing.write_tables(files, codebook.rows, codebook.about())
    if as_json:
        console.print_json(codebook.about())
    elif out is None:
        click.echo(str(codebook))


def _export_rounds(store: Store, rounds: list[tuple[Plan, Round]], out: Path, show: Show) -> None:
    total, before = sum(stored.counted - stored.scrubbed for _, stored in rounds), 0
    for plan, stored in rounds:
        path, left = name_file(out, plan, stored), stored.counted - stored.scrubbed
        # what earlier files have is scrubbed, and so is in no later file
        earlier = sum(_count_rows(part) for part in path.parent.glob("part-*.parquet") if part != path)
        if not left or earlier > stored.scrubbed:
            console.note(_explain_left(path.parent, stored.scrubbed, earlier, left))
            before += left
            continue
        store.access.log(find_actor(), "exported reports", plan.id, f"round {stored.number}")
        n = plan.write_reports(path, _read_reports(store, plan, stored.number, show, before, total), True)
        before += left
        others = _name_others(stored.scrubbed, earlier)
        console.note(f"wrote {format_count(n, 'report')} to {path}{others}")


def _explain_left(folder: Path, scrubbed: int, earlier: int, left: int) -> str:
    """Why nothing is written to the folder of a round."""
    if left:
        return (
            f"left {folder} as it is: {scrubbed:,} reports are scrubbed since, and it has {earlier:,}; scrub "
            "the others, too, and export again"
        )
    if not earlier:
        return (
            f"there is nothing for {folder}: all of its {scrubbed:,} reports were scrubbed, and only the "
            "tallies of the store count them"
        )
    lost = scrubbed - earlier
    more = f"; {lost:,} others are only in the tallies of the store" if lost else ""
    return f"left {folder} as it is: {scrubbed:,} reports are scrubbed since{more}"


def _name_others(scrubbed: int, earlier: int) -> str:
    """Where reports are that were scrubbed: in files of earlier exports, and in the tallies alone."""
    lost = scrubbed - earlier
    if not lost:
        return f"; {earlier:,} others are in the files of earlier exports" if earlier else ""
    are = "other was" if lost == 1 else "others were"
    also = f", and {earlier:,} are in the files of earlier exports" if earlier else ""
    return (
        f"; {lost:,} {are} scrubbed and only the tallies of the store count them{also}: estimates with all "
        "reports come from the store"
    )


def name_file(folder: Path, plan: Plan, stored: Round) -> Path:
    """The file of a round, of the reports that came after those that are scrubbed.

    A folder is called like a column unless an attribute is called so, too.
    """
    form = plan.table_form
    of_plan, of_round = f"{form.plan_column}={plan.id}", f"{form.round_column}={stored.number}"
    return folder / of_plan / of_round / f"part-{stored.scrubbed}.parquet"


def _count_rows(path: Path) -> int:
    """How many reports an earlier export wrote."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        raise InvalidParameter(
            f"{path} is damaged, or no file of reports; remove it, and export again"
        ) from None


def _export_file(address: str, plan_file: Path | None, number: int | None, out: Path) -> None:
    """Write the reports of one round to one file."""
    from deniable.store.schedule import no_round

    with open_existing(address) as opened:
        plan = choose_plan(opened, plan_file)
        if number is None and plan.table_form.rounds > 1:
            raise InvalidParameter(
                "a file has the reports of one round, and this plan has rounds 1 to "
                f"{plan.table_form.rounds}: choose one with --round, or name a folder, which gets a file for "
                "each"
            )
        number = number or 1
        rounds = {stored.number: stored for stored in opened.rounds(plan.id)}
        if number not in rounds:
            raise no_round(plan.document, number)
        gone, left = rounds[number].scrubbed, rounds[number].counted - rounds[number].scrubbed
        opened.access.log(find_actor(), "exported reports", plan.id, f"round {number}")
        with console.progress("exporting") as show:
            n = plan.write_reports(out, _read_reports(opened, plan, number, show, 0, left), overwrite=True)
    if gone and not n:
        console.warn(
            f"{out} has no reports: what all {gone:,} say is scrubbed; estimates come from the tallies"
        )
        return
    console.note(f"wrote {format_count(n, 'report')} to {out}{_name_others(gone, 0)}")


def _read_reports(
    store: Store, plan: Plan, number: int, show: Show, before: int, total: int
) -> Iterator[Reports]:
    """The reports of a round, in blocks that are worth a group of rows."""
    from deniable.wire import Wire

    done = before
    for reports in store.reports(plan.id, number, min(_AT_ONCE, _BYTES // Wire(plan.document).lengths[-1])):
        yield reports
        done += reports.n
        show(min(done, total), total)
