"""`deniable tokens`: makes invitations, or withdraws those that nobody used."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, Number, whole
from deniable.commands.shared.stores import find_actor, open_store_of, store_option, suggest_extra
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.plan import Plan


@click.command("tokens")
@click.argument("plans", metavar="PLAN...", type=FILE, nargs=-1, required=True)
@click.option(
    "--count", type=Number(partial(whole, least=1, most=10**7)), help="The number of invitations to make."
)
@click.option(
    "--withdraw", is_flag=True, help="Withdraw all unused invitations instead; their links stop working."
)
@click.option("--yes", is_flag=True, help="Confirm --withdraw.")
@store_option
@click.option("--url", metavar="ADDRESS", help="The survey's address, to write links.")
@click.option("-o", "--out", type=FILE, help="Write the invitations to this CSV file, not to the terminal.")
@click.option(
    "--addresses",
    type=FILE,
    help="A CSV file with a row a person: each gets an invitation, and -o keeps all columns.",
)
@click.option("--letters", type=FILE, help="Write letters with QR codes to this page (.html), to print.")
@click.option(
    "--template",
    type=FILE,
    help="The text of the letters, with {link}, {code}, {survey} or a column of --addresses such as {name}.",
)
@click.option(
    "--language",
    metavar="CODE",
    help="The language of the letters: en, de, fr, es or pt.  [default: the first of the survey]",
)
@click.option("--cards", is_flag=True, help="Print cards to cut out in place of letters.")
@console.force
def make_tokens(
    plans: tuple[Path, ...],
    count: int | None,
    withdraw: bool,
    yes: bool,
    store: str,
    url: str | None,
    out: Path | None,
    addresses: Path | None,
    letters: Path | None,
    template: Path | None,
    language: str | None,
    cards: bool,
    force: bool,
) -> None:
    """Make invitations, or withdraw them.

    An invitation to PLAN is good for one report in any round. The store keeps only hashes of invitations, and
    never an address. Whoever has the list knows who was invited, but not what anybody reported. If PLAN was
    made with --ticket-key, devices exchange invitations for tickets; those that were exchanged cannot be
    withdrawn.

    With several plans, each person gets one link with an invitation to each of them: the survey asks all as
    one.
    """
    if withdraw:
        if (count, url, out, addresses, letters, template, language, cards) != (*[None] * 7, False):
            raise InvalidParameter(
                "--withdraw makes no invitations; leave out --count, --url, -o, --addresses, --letters, "
                "--template, --language and --cards"
            )
        for named in plans:
            _withdraw_unused(reading.read_plan(named), store, yes)
        return
    if (count is None) is (addresses is None):
        raise InvalidParameter(
            "say with --count how many invitations to make, or with --addresses for whom; or --withdraw "
            "those that are unused"
        )
    if yes:
        raise InvalidParameter("--yes goes with --withdraw")
    if letters is None and (template is not None or language is not None or cards):
        raise InvalidParameter(
            "--template, --language and --cards are for letters; name their file with --letters"
        )
    if template is not None and language is not None:
        raise InvalidParameter("--language is of the usual letter, and --template is a letter of your own")
    if letters is not None and url is None:
        raise InvalidParameter("letters show a link to the survey; give its address with --url")
    if addresses is not None and (out, letters) == (None, None):
        raise InvalidParameter("name a file for the invitations with -o or --letters: they name people")
    if out is not None:
        console.refuse_ending(out, [".csv"], "a list of invitations")
    if letters is not None:
        console.refuse_ending(letters, [".html"], "a page of letters")
    console.refuse_existing([one for one in (out, letters) if one is not None], force)
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidParameter(f"the survey's address begins with http:// or https://, got {url!r}")
    read = [reading.read_plan(named) for named in plans]
    _refuse_same(read)
    with suggest_extra():
        from deniable.collect.intake import hash_invitation
        from deniable.collect.letters import Addresses, Letter, write_page

    people = Addresses() if addresses is None else Addresses.read(addresses)
    number = len(people.rows) if count is None else count
    made = [[_draw_token() for _ in read] for _ in range(number)]
    codes = [" ".join(each) for each in made]
    links = [] if url is None else [_format_link(url, read, each) for each in made]
    table = people.merge(codes, links)
    page = None
    if letters is not None:
        assert url is not None
        spoken = _choose_language(read, language)
        titles = [found for one in read if (found := _find_title(one, spoken))]
        title = " · ".join(one.content.title or f"Plan {one.id[:12]}" for one in read)
        letter = (
            Letter.to(people.columns, ", ".join(titles), _list_senders(read, spoken), spoken)
            if template is None
            else Letter.read(template)
        )
        with suggest_extra(), console.progress("writing letters") as show:
            page = write_page(
                title,
                _format_survey(url, read),
                codes,
                links,
                people,
                letter,
                "cards" if cards else "letters",
                show,
            )
    with ExitStack() as both:  # the list is written before anything is let in by it, and kept only if it does
        for file, text in ((out, table), (letters, page)):
            if file is not None:
                both.enter_context(console.writing(file, private=True)).write_text(
                    text or "", encoding="utf-8"
                )
        left = []
        for i, plan in enumerate(read):
            hashes = [hash_invitation(each[i].encode()) for each in made]
            # the first plan of this command is no reason to doubt the next
            with open_store_of(store, plan, invited=True, warn=i == 0) as opened:
                opened.invite(plan.id, hashes, find_actor())
                left.append(opened.invitations_left(plan.id))
    if (out, letters) == (None, None):
        click.echo(table, nl=False)
    for plan, unused in zip(read, left, strict=True):
        how = "--invited" if plan.ticket_key is None else "--ticket-key"
        which = f" to {plan.content.title or plan.id[:12]}" if len(read) > 1 else ""
        click.echo(f"{_format_unused(unused, which)}; serve the plan with {how}", err=True)


def _choose_language(plans: Sequence[Plan], given: str | None) -> str:
    """The language that was asked for, or the first one of the surveys that letters are written in."""
    from deniable.collect.letter_texts import LANGUAGES

    if given is not None:
        if given not in LANGUAGES:
            raise InvalidParameter(not_among(given, "a language of the letters", LANGUAGES))
        return given
    texts = [plan.content.texts for plan in plans if plan.content.texts is not None]
    return next((each.language for each in texts if each.language in LANGUAGES), LANGUAGES[0])


def _find_title(plan: Plan, language: str) -> str:
    texts = plan.content.texts
    own = texts.title if texts is not None else ""
    return plan.content.title if isinstance(own, str) else own.get(language, plan.content.title)


def _list_senders(plans: Sequence[Plan], language: str) -> list[str]:
    """Who is responsible and how to reach them, in this language or else in the first of the survey."""
    texts = [plan.content.texts for plan in plans if plan.content.texts is not None]
    said = [(one, each.language) for each in texts for one in (each.responsible, each.contact)]
    return list(
        dict.fromkeys(
            one if isinstance(one, str) else one.get(language, one[first]) for one, first in said if one
        )
    )


def _refuse_same(plans: Sequence[Plan]) -> None:
    if len({plan.id for plan in plans}) < len(plans):
        raise InvalidParameter("a plan is named twice; a link has each of its plans once")


def _format_link(url: str, plans: Sequence[Plan], tokens: Sequence[str]) -> str:
    """The link of invitations; it names whole plans, so that all see that they have the same."""
    each = (f"plan={plan.id}&invitation={token}" for plan, token in zip(plans, tokens, strict=True))
    return f"{url.rstrip('/')}/#{'&'.join(each)}"


def _format_survey(url: str, plans: Sequence[Plan]) -> str:
    """Where a code is entered: with several plans, the address names them, as short as a page takes it."""
    if len(plans) == 1:
        return url
    return f"{url.rstrip('/')}/#{'&'.join(f'plan={plan.id[:12]}' for plan in plans)}"


def _format_unused(left: int, which: str) -> str:
    return f"{format_count(left, 'invitation')}{which} {'is' if left == 1 else 'are'} unused"


def _withdraw_unused(plan: Plan, url: str, yes: bool) -> None:
    with open_store_of(url, plan, invited=None, create=False) as store:
        left = store.invitations_left(plan.id)
        if left and not yes:
            raise InvalidParameter(
                f"this withdraws {format_count(left, 'unused invitation')}, which cannot be undone; "
                "repeat it with --yes"
            )
        gone = store.withdraw(plan.id, find_actor()) if left else 0
    click.echo(
        f"withdrew {format_count(gone, 'unused invitation')}"
        if gone
        else "no invitation is unused; there is none to withdraw"
    )


def _draw_token() -> str:
    """Draws a token for an address, never one that a spreadsheet or a shell would misread."""
    while (token := secrets.token_urlsafe(24)).startswith("-"):
        pass
    return token
