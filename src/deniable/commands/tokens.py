"""`deniable tokens`: makes invitations, and reminds of those that nobody used, or withdraws them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import tzinfo
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, final
from urllib.parse import urlsplit

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import (
    FILE,
    argument,
    as_request,
    option,
    taken,
    whole_from,
    zone_option,
)
from deniable.commands.shared.stores import (
    find_actor,
    find_rounds,
    open_existing,
    open_store_of,
    store_option,
    suggest_extra,
)
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count

_FEW = 10
"""If fewer of a group took part, all of it are reminded: else it would be known whose reports the few are."""

if TYPE_CHECKING:
    from deniable.collect.letters import Addresses, Announced
    from deniable.study import Plan


@final
@dataclass(frozen=True)
class TokensRequest:
    """The plans to invite to, whom, and how."""

    plans: tuple[Path, ...] = argument("plans", metavar="PLAN...", type=FILE, nargs=-1, required=True)
    count: int | None = option(
        "--count", type=whole_from(1, 10**7), help="The number of invitations to make."
    )
    withdraw: bool = option(
        "--withdraw", is_flag=True, help="Withdraw all unused invitations instead; their links stop working."
    )
    reminders: Path | None = option(
        "--reminders",
        metavar="INVITATIONS",
        type=FILE,
        help="Write letters to those who did not use their invitation, from the file that -o wrote.",
    )
    yes: bool = option("--yes", is_flag=True, help="Confirm --withdraw.")
    register: Path | None = option(
        "--register",
        type=FILE,
        help="Let in the invitations of this CSV file instead, such as those of the design page.",
    )
    store: str = taken(store_option)
    url: str | None = option(
        "--url", metavar="ADDRESS", help="The survey's address, to write links, and codes to type there."
    )
    out: Path | None = option(
        "-o", "--out", type=FILE, help="Write the invitations to this CSV file, not to the terminal."
    )
    addresses: Path | None = option(
        "--addresses",
        type=FILE,
        help="A CSV file with a row a person: each gets an invitation, and -o keeps all columns.",
    )
    given_groups: tuple[str, ...] = option(
        "--group",
        "given_groups",
        metavar="QUESTION=ANSWER",
        multiple=True,
        help="The known group of these people, such as arm=A; a column of --addresses named arm does, too.",
    )
    letters: Path | None = option(
        "--letters", type=FILE, help="Write letters with QR codes to this page (.html), to print."
    )
    template: Path | None = option(
        "--template",
        type=FILE,
        help="The text of the letters, with {link}, {code}, {survey} or a column of --addresses such as "
        "{name}.",
    )
    language: str | None = option(
        "--language",
        metavar="CODE",
        help="The language of letters to people without one in --addresses: en, de, fr, es or pt.  "
        "[default: the first of the survey]",
    )
    zone: tzinfo | None = taken(zone_option("The time zone of the times in letters"))
    cards: bool = option("--cards", is_flag=True, help="Print cards to cut out in place of letters.")
    force: bool = taken(console.force)


@click.command("tokens")
@as_request(TokensRequest)
def make_tokens(request: TokensRequest) -> None:
    """Make invitations, remind, or withdraw them.

    An invitation to PLAN is good for one report in any round. The store keeps only hashes of invitations, and
    never an address. Whoever has the list knows who was invited, but not what anybody reported. If PLAN was
    made with --ticket-key, devices exchange invitations for tickets; those that were exchanged cannot be
    withdrawn.

    --reminders tells who did not answer, and so who did, but not what; it is logged. If fewer than 10 people
    took part, or fewer of a known group, all of these are reminded.

    With two or three plans, each person gets one link with an invitation to each of them: the survey asks
    all as one.
    """
    if request.reminders is not None:
        _remind(request, request.reminders)
        return
    if request.withdraw or request.register is not None:
        made_with = (
            (request.count, request.url, request.out, request.addresses),
            (request.letters, request.template, request.language, request.zone),
            (request.cards, request.given_groups),
        )
        if made_with != ((None,) * 4, (None,) * 4, (False, ())):
            instead = "--withdraw" if request.withdraw else "--register"
            raise InvalidParameter(
                f"{instead} makes no invitations; leave out --count, --url, -o, --addresses, --group, "
                "--letters, --template, --language, --time-zone and --cards"
            )
        if request.register is not None:
            if request.withdraw or request.yes:
                raise InvalidParameter("--register lets invitations in, and --withdraw ends them; give one")
            _register(request.register, [reading.read_plan(path) for path in request.plans], request.store)
            return
        for path in request.plans:
            _withdraw_unused(reading.read_plan(path), request.store, request.yes)
        return
    _refuse_conflicts(request)
    if request.url is not None and request.letters is not None:
        _warn_of_address(request.url)
    read = [reading.read_plan(path) for path in request.plans]
    if len({plan.id for plan in read}) < len(read):
        raise InvalidParameter("a plan is named twice; a link has each of its plans once")
    from deniable.explain.device_limit import warn_together

    together = warn_together([plan.document for plan in read])
    if together is not None:
        console.warn(together[0].lower() + together[1:])
    groups = _read_groups(request.given_groups, read)
    with suggest_extra():
        from deniable.collect.invitations import Invited, draw_invitation, format_link, hash_invited
        from deniable.collect.letters import Addresses

    people = Addresses() if request.addresses is None else Addresses.read(request.addresses)
    number = len(people.rows) if request.count is None else request.count
    invitations = [draw_invitation(read) for _ in range(number)]
    codes, token_lists = [code for code, _ in invitations], [tokens for _, tokens in invitations]
    has_links = request.url is not None
    # where a known question has no answer here, the survey asks; but what is given for all is never dropped
    invited = [
        [
            Invited(
                plan.id,
                token,
                tuple(_find_answers(plan, groups, people.person(i)).values()) if has_links else (),
            )
            for plan, token in zip(read, tokens, strict=True)
        ]
        for i, tokens in enumerate(token_lists)
    ]
    links = [] if request.url is None else [format_link(request.url, person) for person in invited]
    table = people.merge([" ".join(tokens) for tokens in token_lists], codes, links)
    page = None if request.url is None else _write_letters(read, people, codes, links, request.url, request)
    # the list is written before anything is let in by it, and kept only if it does
    with ExitStack() as files:
        _write_files(files, request, table, page)
        before: list[int] = []
        left: list[int] = []
        for i, plan in enumerate(read):
            hashes = [hash_invited(plan, person[i]) for person in invited]
            # the first plan of this command is no reason to doubt the next
            with open_store_of(request.store, plan, invited=True, warn=i == 0) as opened:
                before.append(opened.invitations_left(plan.id))
                opened.invite(plan.id, hashes, find_actor())
                left.append(opened.invitations_left(plan.id))
    if (request.out, request.letters) == (None, None):
        click.echo(table, nl=False)
    persons = [people.person(i) for i in range(number)] if people.rows else [{}] * number
    names = reading.name_plans(read)
    of_groups = [_warn_groups(plan, groups, persons) for plan in read if request.url is not None]
    for words in dict.fromkeys(chain.from_iterable(of_groups)):
        console.warn(words)
    for plan, name, more in zip(read, names, before, strict=True):
        if more:
            _warn_of_unused(plan, name, more)
    for plan, name, unused in zip(read, names, left, strict=True):
        _note_unused(plan, unused, name if len(read) > 1 else "")


def _write_files(files: ExitStack, request: TokensRequest, table: str, page: str | None) -> None:
    for file, text in ((request.out, table), (request.letters, page)):
        if file is not None:
            files.enter_context(console.writing(file, private=True)).write_text(text or "", encoding="utf-8")


def _remind(request: TokensRequest, path: Path) -> None:
    """Write letters, or a list, for the people of a list who did not use their invitation."""
    made_with = (request.count, request.url, request.addresses, request.given_groups)
    if made_with != (None, None, None, ()) or request.withdraw or request.yes:
        raise InvalidParameter(
            "--reminders makes no invitations; leave out --count, --url, --addresses, --group, --withdraw "
            "and --yes"
        )
    if (request.out, request.letters) == (None, None):
        raise InvalidParameter("name a file for the reminders with --letters or -o: they name people")
    _refuse_files(request)
    plans = [reading.read_plan(plan) for plan in request.plans]
    with suggest_extra():
        from deniable.collect.letters import Addresses
    people, invited = Addresses.read_invited(path)
    waiting: set[int] = set()
    for plan in plans:
        hashes = [_hash_linked(plan, link, number) for number, (*_, link) in enumerate(invited, 1)]
        with open_store_of(request.store, plan, invited=None, create=False) as opened:
            unused = opened.find_unused(plan.id, hashes, find_actor())
        waiting |= {person for person, hashed in enumerate(hashes) if hashed in unused}
    if not waiting:
        click.echo("no invitation of this list is unused; there is nobody to remind")
        return
    reminded = _add_few(waiting, [link for *_, link in invited])
    tokens, codes, links = ([invited[person][column] for person in reminded] for column in range(3))
    chosen = people.some(reminded) if people.columns else Addresses()
    page = _write_letters(plans, chosen, codes, links, links[0].partition("/#")[0], request)
    with ExitStack() as files:
        _write_files(files, request, chosen.merge(tokens, codes, links), page)
    if len(reminded) > len(waiting):
        who = "everybody" if len(reminded) == len(invited) else "everybody in such a group"
        console.warn(
            f"fewer than {_FEW} of these people have answered, or of those of one known group, and a list of "
            f"the others would tell which reports can be theirs: the reminders are for {who}"
        )
    else:
        console.note(
            f"{_format_unused(len(waiting), f' of {len(invited):,}')}: the reminders are for these people"
        )
    if len(reminded) < len(invited):
        console.warn("whoever has these files knows who took part; delete them when the reminders are sent")


def _add_few(waiting: Collection[int], links: Sequence[str]) -> list[int]:
    """Who is reminded: those who wait, and a whole group of which few have answered, as reports name it."""
    from deniable.collect.invitations import read_link

    groups: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for person, link in enumerate(links):
        groups.setdefault(tuple(part.answers for part in read_link(link)), []).append(person)
    answered = [[person for person in group if person not in waiting] for group in groups.values()]
    protected = [person for people in answered if len(people) < _FEW for person in people]
    return sorted([*waiting, *protected])


def _hash_linked(plan: Plan, link: str, number: int) -> bytes:
    """The hash of the invitation to a plan in a link, bound to the group that the link names."""
    from deniable.collect.invitations import hash_invited, read_link

    invited = [part for part in read_link(link) if part.plan_id == plan.id and part.token]
    if len(invited) != 1:
        raise InvalidParameter(
            f"the link of person {number} has no invitation to plan {plan.id[:12]}; name the plans that the "
            "list was made for"
        )
    return hash_invited(plan, invited[0])


def _refuse_conflicts(request: TokensRequest) -> None:
    """Refuse options that do not go together, and files that cannot be written."""
    if (request.count is None) is (request.addresses is None):
        raise InvalidParameter(
            "say with --count how many invitations to make, or with --addresses for whom; or --withdraw "
            "those that are unused"
        )
    if request.given_groups and request.url is None:
        raise InvalidParameter("--group is written into links; give the survey's address with --url")
    if request.yes:
        raise InvalidParameter("--yes goes with --withdraw")
    _refuse_files(request)
    if request.letters is not None and request.url is None:
        raise InvalidParameter("letters show a link to the survey; give its address with --url")
    if request.addresses is not None and (request.out, request.letters) == (None, None):
        raise InvalidParameter("name a file for the invitations with -o or --letters: they name people")
    if request.url is not None and not request.url.startswith(("http://", "https://")):
        raise InvalidParameter(f"the survey's address begins with http:// or https://, got {request.url!r}")


def _refuse_files(request: TokensRequest) -> None:
    """Refuse options of letters that do not go together, and files that cannot be written."""
    of_letters = (request.template, request.language, request.zone)
    if request.letters is None and (request.cards or of_letters != (None, None, None)):
        raise InvalidParameter(
            "--template, --language, --time-zone and --cards are for letters; name their file with --letters"
        )
    if request.template is not None and (request.language, request.zone) != (None, None):
        raise InvalidParameter(
            "--language and --time-zone are of the usual letter, and --template is a letter of your own"
        )
    if request.out is not None:
        console.refuse_ending(request.out, [".csv"], "a list of invitations")
    if request.letters is not None:
        console.refuse_ending(request.letters, [".html"], "a page of letters")
    files = [file for file in (request.out, request.letters) if file is not None]
    console.refuse_existing(files, request.force)


def _write_letters(
    plans: Sequence[Plan],
    people: Addresses,
    codes: Sequence[str],
    links: Sequence[str],
    url: str,
    request: TokensRequest,
) -> str | None:
    """The page of letters or cards, if it is wanted."""
    if request.letters is None:
        return None
    with suggest_extra():
        from deniable.collect.letters import Announced, Letter, choose_language, compose_letter, write_page

    announced = [Announced(plan, find_rounds(plan, request.store), request.zone) for plan in plans]
    usual = choose_language(announced, request.language)
    titles = [survey.title(usual) or f"Plan {survey.plan.id[:12]}" for survey in announced]
    title = " · ".join(dict.fromkeys(titles))
    if request.template is None:
        _warn_of_no_sender(announced, usual)
        is_reminder = request.reminders is not None
        texts = {
            tag: compose_letter(people.columns, announced, tag, is_reminder)
            for tag in {*people.languages(usual)}
        }
        written = [texts[tag] for tag in people.languages(usual)]
    else:
        written = [Letter.read(request.template)]
    with suggest_extra(), console.progress("writing letters") as show:
        return write_page(
            title, url, codes, links, people, written, "cards" if request.cards else "letters", show
        )


def _warn_of_unused(plan: Plan, name: str, unused: int) -> None:
    """Whoever has an old and a new invitation can be counted twice; those of other groups are for others."""
    which = f" to {name} from before"
    known = plan.document.known
    what_next = (
        "so withdraw the old ones if these replace them: --withdraw"
        if known is None
        else f"but keep the old ones if they are for other people, such as those of another {known.name!r}: "
        "--withdraw ends all links, of every group"
    )
    console.warn(f"{_format_unused(unused, which)}; whoever has two can be counted twice, {what_next}")


def _warn_of_address(url: str) -> None:
    """Warn of letters that would lead nowhere: before they are printed."""
    host = urlsplit(url).hostname or ""
    if host in ("localhost", "127.0.0.1", "::1"):
        console.warn(f"{url} is this machine; nobody else can open the links of these letters")
    elif url.startswith("http://"):
        console.warn(
            f"{url} is not https://; browsers take surveys over HTTPS only, so that the links of "
            "these letters would not work"
        )


def _warn_of_no_sender(plans: Sequence[Announced], language: str) -> None:
    """People throw away a letter of nobody."""
    silent = dict.fromkeys(
        plan.title(language) or plan.plan.id[:12] for plan in plans if not plan.senders(language)
    )
    if silent:
        console.warn(
            f"the letters do not say who asks: {', '.join(silent)} has nobody responsible; set "
            "responsible and contact in the study's [survey], or write the letter with --template"
        )


def _note_unused(plan: Plan, unused: int, name: str) -> None:
    how = "--invited" if plan.ticket_key is None else "--ticket-key"
    which = f" to {name}" if name else ""
    console.note(f"{_format_unused(unused, which)}; serve the plan with {how}")


def _register(list_of_invitations: Path, plans: Sequence[Plan], url: str) -> None:
    """Let in the invitations of a list that was made without this store."""
    with suggest_extra():
        from deniable.collect.letters import Addresses

    _, invited = Addresses.read_invited(list_of_invitations)
    all_hashes = [
        [_hash_linked(plan, link, number) for number, (*_, link) in enumerate(invited, 1)] for plan in plans
    ]
    names = reading.name_plans(plans) if len(plans) > 1 else [""]
    for i, plan in enumerate(plans):
        with open_store_of(url, plan, invited=True, warn=i == 0):
            continue  # each plan is in the store, before any invitation is
    with open_existing(url) as store:
        store.invite_first(
            {plan.id: hashes for plan, hashes in zip(plans, all_hashes, strict=True)}, find_actor()
        )
        for plan, name in zip(plans, names, strict=True):
            _note_unused(plan, store.invitations_left(plan.id), name)


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


def _read_groups(texts: Sequence[str], plans: Sequence[Plan]) -> dict[str, str]:
    """Answers to known questions, by name, from texts such as arm=A."""
    names = [name for plan in plans if plan.document.known is not None for name in plan.document.known.names]
    answers: dict[str, str] = {}
    for text in texts:
        name, sign, answer = text.partition("=")
        if not sign or not answer:
            raise InvalidParameter(f"--group is a known question and an answer, such as arm=A, got {text!r}")
        if not names:
            raise InvalidParameter('--group is for plans with known groups: "known = true" in the study')
        if name not in names:
            raise InvalidParameter(not_among(name, "a known question", names))
        if name in answers:
            raise InvalidParameter(f"--group names {name!r} twice; make invitations for one group at a time")
        answers[name] = answer
    return answers


def _warn_groups(plan: Plan, groups: Mapping[str, str], people: Sequence[Mapping[str, str]]) -> list[str]:
    """What leads people to a survey that asks for their group: links and codes that do not name it."""
    known = plan.document.known
    if known is None:
        return []
    lacking = [i for i, person in enumerate(people, 1) if not _find_answers(plan, groups, person)]
    warnings = []
    if lacking:
        name = "names" if len(lacking) == 1 else "name"
        first = f" (first in row {lacking[0]} of the list)" if any(people) else ""
        warnings.append(
            f"{len(lacking):,} of {format_count(len(people), 'link')} {name} no {known.name!r}{first}: the "
            "survey asks these people for it; give it with --group, or in --addresses"
        )
    if len(lacking) < len(people):
        warnings.append(
            f"a code that is typed does not name {known.name!r}: the survey asks for it, and shows all its "
            "answers; where people must not know of groups, give them the links only"
        )
    return warnings


def _find_answers(plan: Plan, groups: Mapping[str, str], person: Mapping[str, str]) -> dict[str, str]:
    """The answers to all known questions, or none."""
    known = plan.document.known
    if known is None:
        return {}
    answers = {name: groups.get(name) or person.get(name) or "" for name in known.names}
    absent = [name for name in known.names if not answers[name]]
    if absent and groups.keys() & set(known.names):
        raise InvalidParameter(
            f"a link names all known questions or none, and --group leaves out {', '.join(absent)}; give an "
            f"answer to each, such as {' '.join(f'--group {name}=...' for name in absent)}, or a column of "
            "this name in the list of addresses"
        )
    if absent:
        return {}
    known.codes({name: [answer] for name, answer in answers.items()})  # refuses what is no answer
    return answers
