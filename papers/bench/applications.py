"""Runs every application at full size, in parts that are kept, and writes papers/bench/APPLICATIONS.md.

`python papers/bench/applications.py` takes about an hour on two free processors. A part that is done is kept
in out/applications with its options and its commit, and is not run again: so it can be stopped at any time.
`--again` runs all parts, or those that are named. `--quick` runs small ones into a folder of their own, and
writes no page.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from application_parts import APPLICATIONS, Application, Line, Part, Row

import deniable as dn

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "bench"))

from origin import find_commit  # noqa: E402  # it is beside the speed table

PAGE = HERE / "APPLICATIONS.md"
OUT = HERE.parents[1] / "out" / "applications"


def run_part(application: Application, part: Part, folder: Path, quick: bool, again: bool) -> Row:
    """The rows of a part with what they were made by: kept ones, unless they are to be made again."""
    options = part.quick if quick else part.options
    file = folder / f"{part.name}.json"
    if file.exists() and not again:
        kept: Row = json.loads(file.read_text(encoding="utf-8"))
        if kept["options"] == json.loads(json.dumps(options)):
            print(f"{part.name}: kept, of {kept['date']}", flush=True)
            return kept
        print(f"{part.name}: its options have changed", flush=True)
    began = time.monotonic()

    def show(done: int, total: int) -> None:
        print(f"{part.name}: {done} of {total}, {time.monotonic() - began:.0f} s", flush=True)

    rows = list(application.reproduce(options, show))
    made = {
        "part": part.name,
        "options": options,
        "version": dn.__version__,
        "commit": find_commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(time.monotonic() - began, 1),
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps(made, indent=1), encoding="utf-8")
    partial.replace(file)  # at once, so that a part that is there is whole
    return made


def list_table(application: Application, lines: Sequence[Line]) -> list[str]:
    """A table in Markdown: what was measured, ours, and the specification's."""
    headings = [*application.columns.values(), "ours", "specification", "tolerance", ""]
    table = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    for line in lines:
        cells = [*line.cells, line.ours, line.stated, line.margin]
        table.append(f"| {' | '.join([*map(_format_cell, cells), line.verdict])} |")
    return table


def _format_cell(value: object) -> str:
    if value is None or value is False:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"
    return "yes" if value is True else str(value)


def write_page(found: Mapping[str, Sequence[Row]]) -> list[str]:
    """The page of all parts that are done; its last lines say which are not."""
    dates = sorted({part["date"] for parts in found.values() for part in parts})
    commits = sorted({part["commit"] for parts in found.values() for part in parts})
    seconds = sum(part["seconds"] for parts in found.values() for part in parts)
    when = dates[0] if dates[:1] == dates[-1:] else f"{dates[0]} to {dates[-1]}"
    lines = [
        "# The applications, at full size",
        "",
        f"`make applications` writes this page. Measured {when} on {os.cpu_count()} processors "
        f"({platform.machine()}), Deniable {dn.__version__} ({', '.join(commits)}), "
        f"{seconds / 60:.0f} minutes in all. Each number stands beside that of the specification and its "
        "tolerance. What is not stated there has none. `deniable reproduce` prints the guarantees.",
    ]
    for application in APPLICATIONS:
        parts = found.get(application.name, [])
        rows = [row for part in parts for row in part["rows"]]
        if not rows:
            continue
        measured = application.list_lines(rows)
        verdicts = [line.verdict for line in measured]
        inside, outside = verdicts.count("inside"), verdicts.count("outside")
        runs = sorted({row["runs"] for row in rows if row.get("runs")})
        lines += ["", f"## {application.name}", "", f"{application.title}.", ""]
        lines += list_table(application, measured)
        took = sum(part["seconds"] for part in parts)
        lines += [
            "",
            f"{inside} of {inside + outside} stated numbers are inside their tolerance. Runs: "
            f"{', '.join(map(str, runs))}. {took:.0f} seconds.",
        ]
    missing = [
        part.name
        for application in APPLICATIONS
        for part in application.parts
        if part.name not in {done["part"] for done in found.get(application.name, [])}
    ]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}."]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is not done, and write the page."""
    names = [part.name for application in APPLICATIONS for part in application.parts]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", help="the parts to run (default: all)")
    parser.add_argument("--again", action="store_true", help="run parts that are done already")
    parser.add_argument("--quick", action="store_true", help="run small parts, and write no page")
    parser.add_argument("--list", action="store_true", help="list the parts")
    parser.add_argument("--out", type=Path, default=OUT, help="where parts are kept")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.parts) - set(names))
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; parts are {', '.join(names)}")
    if given.list:
        print("\n".join(names))
        return 0
    folder = given.out / "quick" if given.quick else given.out
    found: dict[str, list[Row]] = {}
    for application in APPLICATIONS:
        for part in application.parts:
            is_asked = not given.parts or part.name in given.parts
            is_kept = (folder / f"{part.name}.json").exists()
            if is_asked or (is_kept and not given.quick):
                made = run_part(application, part, folder, given.quick, given.again and is_asked)
                found.setdefault(application.name, []).append(made)
    if not given.quick:
        PAGE.write_text("\n".join(write_page(found)) + "\n", encoding="utf-8")
        print(f"wrote {PAGE}")
    for application in APPLICATIONS:
        rows = [row for part in found.get(application.name, []) for row in part["rows"]]
        verdicts = [line.verdict for line in application.list_lines(rows)]
        if verdicts:
            counted = (
                f"{verdicts.count('inside')} inside their tolerance, {verdicts.count('outside')} outside"
            )
            print(f"{application.name}: {len(verdicts)} numbers, {counted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
