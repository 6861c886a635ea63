"""`deniable init`: writes an example of a study, and answers of simulated people to try it with."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import FILE

EXAMPLE = Path(__file__).with_name("example.toml").read_text(encoding="utf-8")
PEOPLE = 50_000
"""How many people there are in the answers that go with the example."""


@click.command("init")
@click.argument("study", type=FILE, default=Path("study.toml"))
@click.option(
    "--data", type=FILE, help=f"Also write the answers of {PEOPLE:,} simulated people to this CSV file."
)
@console.force
def write_example(study: Path, data: Path | None, force: bool) -> None:
    """Write an example of a study.

    STUDY is a commented TOML file to edit, study.toml unless named otherwise.
    """
    from deniable.frames import replacing

    console.refuse_ending(study, [".toml"], "a study")
    if data is not None:
        console.refuse_ending(data, [".csv"], "simulated data")
    console.refuse_existing([study, *([data] if data else [])], force)
    with replacing(study) as temporary:
        temporary.write_text(EXAMPLE, encoding="utf-8")
    if data is not None:
        with replacing(data) as temporary:
            temporary.write_text(_simulate_answers(PEOPLE), encoding="utf-8")
        console.note(f"wrote {data}, with simulated people")
    console.note(f"wrote {study}")
    console.say_next("people", study, "--error", 10, before="write your questions into it, then ")


def _simulate_answers(people: int) -> str:
    """Simulates answers: 45 % come by car, 70 % are satisfied, few take more than an hour."""
    transport = ["car"] * 45 + ["train"] * 20 + ["bus"] * 15 + ["bicycle"] * 12 + ["on foot"] * 8
    satisfied = ["yes"] * 7 + ["no"] * 3
    minutes = [5 + 90 * i * i // 10**6 for i in range(1000)]
    rows = (
        f"{transport[i % 100]},{satisfied[i // 100 % 10]},{minutes[i * 617 % 1000]}\n" for i in range(people)
    )
    return "transport,satisfied,minutes\n" + "".join(rows)
