"""Packs what a study needs next: its plan, letters with their invitations, and its notebook."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

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


def pack(plans: Sequence[Plan], folder: str, url: str, letters: object) -> bytes:
    """A zip file with one folder. Without an address there are no letters, which would lead nowhere.

    Invitations in letters let nobody in until `deniable tokens --register` reads their list.
    """
    files = {}
    for plan, end in zip(plans, ("", "-repeated"), strict=False):  # as deniable plan names them
        files[f"plan{end}.json"] = plan.to_json()
        files[f"study{end}.ipynb"] = write_notebook(plan, f"plan{end}.json")
    if url:
        files |= _write_letters(plans, url, whole_number("the number of letters", letters, 1, MOST))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}/{name}", text)
    return packed.getvalue()


def _write_letters(plans: Sequence[Plan], url: str, number: int) -> dict[str, str]:
    if not url.startswith(("http://", "https://")):
        raise InvalidParameter(f"the survey's address begins with http:// or https://, got {url!r}")
    people, announced = Addresses(), [Announced(plan) for plan in plans]
    invitations = [draw_invitation(plans) for _ in range(number)]
    codes = [code for code, _ in invitations]
    links = [
        format_link(url, [Invited(plan.id, token) for plan, token in zip(plans, tokens, strict=True)])
        for _, tokens in invitations
    ]
    language = choose_language(announced, None)
    title = announced[0].title(language) or f"Plan {plans[0].id[:12]}"
    letter = compose_letter(people.columns, announced, language)
    return {
        "letters.html": write_page(title, url, codes, links, people, [letter]),
        "invitations.csv": people.merge([" ".join(tokens) for _, tokens in invitations], codes, links),
    }
