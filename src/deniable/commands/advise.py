"""`deniable advise`: says what would make a study useful, and makes the changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, people_expected
from deniable.commands.shared.stores import suggest_extra
from deniable.errors import DeniableError, InvalidParameter

if TYPE_CHECKING:
    from deniable.advise import Proposal
    from deniable.study.study import Study

_WORDS = ("useful", "clear", "rough")


@click.command("advise")
@click.argument("study", type=FILE)
@people_expected
@click.option(
    "--want",
    multiple=True,
    metavar="[NAME=]HOW",
    help="How well answers must be known: useful, clear or rough, for all of them or by question or table; "
    "or in points, such as 'harassed by sex=10'.  [default: useful]",
)
@click.option(
    "--may-know", metavar="QUESTION,...", help="Questions whose answers you may know anyway, such as sex."
)
@click.option(
    "--apply", "numbers", metavar="NUMBER,...", help="Make the changes of these proposals, such as 1,3."
)
@click.option("-o", "--out", type=FILE, help="Write the changed study to this TOML file, with --apply.")
@console.as_json
@console.force
def give_advice(
    study: Path,
    people: int,
    want: tuple[str, ...],
    may_know: str | None,
    numbers: str | None,
    out: Path | None,
    as_json: bool,
    force: bool,
) -> None:
    """Say what would make a study useful.

    It says what works as it is, what does not, and the gentlest sets of at most three changes that mend it.
    Each is planned. With --apply, the changes are written into a copy of the file, which keeps its comments.
    """
    if (numbers is None) != (out is None):
        raise InvalidParameter("--apply and -o go together: --apply 1 -o better.toml")
    if out is not None:
        console.refuse_ending(out, [".toml"], "a study")
        console.refuse_existing([out], force)
    known = [name.strip() for name in (may_know or "").split(",") if name.strip()]
    from deniable.advise.parts import advise_parts

    asked = reading.read_study(study)
    with console.progress("planning") as show:
        try:
            advice = advise_parts(asked, people, read_want(want), known, show)
        except InvalidParameter as problem:
            raise DeniableError(f"{study.name}: {problem}") from None
    if numbers is None or out is None:
        if as_json:
            console.print_json(advice.to_dict())
            return
        click.echo(advice)
        if len(advice):
            console.say_next(
                *_repeat(study, people, want, may_know), "--apply", 1, "-o", console.free_name("better.toml")
            )
        return
    changed = advice.combine(_read_numbers(numbers))
    people = max(proposal.people for _, proposal in changed)
    _write(study, out, changed, people, force)
    if as_json:
        facts = [proposal.to_dict() for _, proposal in changed]
        console.print_json(facts[0] if len(facts) == 1 else facts)
    else:
        click.echo("\n\n".join(str(proposal) for _, proposal in changed))
    console.say_next("plan", out, "--people", people, "-o", console.free_name("plan.json"))


def read_want(wants: tuple[str, ...]) -> Any:
    """What is wanted, from words for everything and from names with words or points."""
    by_name: dict[str, str | float] = {}
    usual: list[str] = []
    for text in wants:
        name, equals, limit = text.rpartition("=")
        if not equals:
            usual.append(text)
            continue
        try:
            by_name[name.strip()] = float(limit)
        except ValueError:
            by_name[name.strip()] = limit.strip()
    if len(usual) > 1 or (usual and by_name):
        raise InvalidParameter(
            f"--want is one word for everything, {', '.join(_WORDS)}, or names with how well each is wanted, "
            f"such as --want 'harassed by sex=10'; got {', '.join(wants)}"
        )
    return by_name or (usual[0] if usual else "useful")


def _read_numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise InvalidParameter(f"--apply has the numbers of proposals, such as 1,3; got {text!r}") from None


def _repeat(study: Path, people: int, want: tuple[str, ...], may_know: str | None) -> list[object]:
    words: list[object] = ["advise", study, "--people", people]
    for text in want:
        words += ["--want", text]
    return words if may_know is None else [*words, "--may-know", may_know]


def _write(
    study: Path, out: Path, changed: Sequence[tuple[Study, Proposal[Study]]], people: int, force: bool
) -> None:
    """Write the changed study, and that of questions that are asked of other people."""
    with suggest_extra():
        from deniable.design.draft import Draft, note_people
        from deniable.design.rewrite import keep_part, rewrite_draft
    text = study.read_text(encoding="utf-8")
    draft = Draft.read(text)
    drafts = [(out, draft, people)]
    for before, proposal in changed:
        drafts[0] = (out, rewrite_draft(drafts[0][1], before, proposal.study, study.parent), people)
        if proposal.apart is not None:
            apart = out.with_stem(f"{out.stem}-apart" if len(drafts) == 1 else f"{out.stem}-apart-repeated")
            console.refuse_existing([apart], force)
            alone = rewrite_draft(keep_part(draft, before), before, proposal.apart.study, study.parent)
            drafts.append((apart, alone, proposal.people_apart))
    for file, rewritten, expected in drafts:
        with console.writing(file) as temporary:
            temporary.write_text(
                note_people(rewritten.write(text), expected, file.name), encoding="utf-8", newline=""
            )
