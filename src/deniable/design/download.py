"""Packs what a study needs next: its plan, letters with their invitations, and its notebook."""

from __future__ import annotations

import io
import zipfile

from deniable.collect.invitations import Invited, draw_invitation, format_link
from deniable.collect.letters import (
    MOST,
    Addresses,
    Announced,
    choose_language,
    compose_letter,
    write_page,
)
from deniable.design.notebook import write_notebook
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.study import Plan


def pack(plan: Plan, folder: str, url: str, letters: object) -> bytes:
    """A zip file with one folder. Without an address there are no letters, which would lead nowhere.

    Invitations in letters let nobody in until `deniable tokens --register` reads their list.
    """
    files = {"plan.json": plan.to_json(), "study.ipynb": write_notebook(plan)}
    if url:
        files |= _write_letters(plan, url, whole_number("the number of letters", letters, 1, MOST))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}/{name}", text)
    return packed.getvalue()


def _write_letters(plan: Plan, url: str, number: int) -> dict[str, str]:
    if not url.startswith(("http://", "https://")):
        raise InvalidParameter(f"the survey's address begins with http:// or https://, got {url!r}")
    people, announced = Addresses(), [Announced(plan)]
    invitations = [draw_invitation([plan]) for _ in range(number)]
    codes, tokens = [code for code, _ in invitations], [tokens[0] for _, tokens in invitations]
    links = [format_link(url, [Invited(plan.id, token)]) for token in tokens]
    language = choose_language(announced, None)
    title = announced[0].title(language) or f"Plan {plan.id[:12]}"
    letter = compose_letter(people.columns, announced, language)
    return {
        "letters.html": write_page(title, url, codes, links, people, [letter]),
        "invitations.csv": people.merge(tokens, codes, links),
    }
