"""`deniable texts`: prints the consent that follows from a study, for editing."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, name_option, people_expected, plan_continued


@click.command("texts")
@click.argument("study", type=FILE)
@people_expected
@plan_continued
@name_option("--language", "The languages: en, de, fr, es or pt.  [default: those of the survey]")
@console.as_json
def print_texts(study: Path, people: int, continues: Path | None, language: list[str], as_json: bool) -> None:
    """Print a consent for a survey.

    It says what is sent and what that gives away, as the plan of the study has it. Edit it, and put it into
    the file of the study. With `consent = true` there, the plan has it as it is.
    """
    from deniable.explain.consent import generate_consent, generate_joint_consent

    documents = [plan.document for plan in reading.plan_study(study, people, continues=continues)]
    texts = documents[0].texts
    languages = language or ([*texts.languages] if texts else ["en"])
    consents = {
        code: generate_consent(documents[0], code)
        if len(documents) == 1
        else generate_joint_consent(documents, code)
        for code in languages
    }
    if as_json:
        console.print_json({"consent": consents})
        return
    click.echo("[survey.consent]")
    for code, text in consents.items():
        click.echo(f'{code} = """\n{text}"""')
