"""`deniable texts`: prints the consent that follows from a study, for editing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, Number, name_option, whole


@click.command("texts")
@click.argument("study", type=FILE)
@click.option(
    "--people",
    type=Number(partial(whole, least=1, most=10**15)),
    required=True,
    help="The number of people you expect to answer, such as 50000, 50,000 or 5e4.",
)
@name_option("--language", "The languages: en, de, fr, es or pt.  [default: those of the survey]")
@console.as_json
def print_texts(study: Path, people: int, language: list[str], as_json: bool) -> None:
    """Print a consent for a survey.

    It says what is sent and what that gives away, as the plan of the study has it. Edit it, and put it into
    the file of the study. With `consent = true` there, the plan has it as it is.
    """
    from deniable.plan.consent import generate_consent

    plan = reading.plan_study(study, people)
    texts = plan.content.texts
    wanted = language or ([*texts.languages] if texts else ["en"])
    found = {one: generate_consent(plan, one) for one in wanted}
    if as_json:
        console.print_json({"consent": found})
        return
    click.echo("[survey.consent]")
    for one, text in found.items():
        click.echo(f'{one} = """\n{text}"""')
