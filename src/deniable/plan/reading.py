"""Reads the document of a plan: refuses what was changed, reformatted, or is something else."""

from __future__ import annotations

import hashlib
from pathlib import Path

from deniable.errors import InvalidParameter
from deniable.frames import file_kind
from deniable.plan.document import VERSION, Content
from deniable.plan.losses import Stated
from deniable.plan.strict_json import InvalidPlan, canonical, parsed


def read_document(raw: bytes) -> tuple[Content, Stated]:
    """What a document holds, and the losses that it states; whatever is wrong with it is refused."""
    data = parsed(raw)
    if data.get("version") != VERSION or type(data["version"]) is not int:
        raise InvalidPlan(_explain_version(data.get("version")), "version")
    said = data.pop("id", None)
    found = hashlib.sha256(canonical(data)).hexdigest()
    if said != found:
        raise InvalidPlan(
            f"the plan was changed after it was made: it says its id is {said!r}, but it is {found!r}",
            "id",
        )
    stated = Stated.from_dict(data.pop("losses", None))
    try:
        return Content.from_dict(data), stated
    except InvalidPlan:
        raise
    except InvalidParameter as problem:
        raise InvalidPlan(f"the plan does not fit together: {problem}", problem.reason) from None


def refuse_reformatted(raw: bytes, text: str) -> None:
    """Refuse a document that is not the canonical text of its plan."""
    if raw.strip() != text.encode():
        raise InvalidPlan(
            "the plan is not in its canonical form (sorted keys, no spaces); was it reformatted?",
            "canonical",
        )


def refuse_study(file: Path) -> None:
    """Refuse the file of a study where that of a plan is meant."""
    if file_kind(file) == "a study":
        name = file.name
        raise InvalidPlan(
            f"{name} is a study, not a plan; make one: Study.read({name!r}).plan(people=...)"
        ) from None


def encode_text(text: str | bytes) -> bytes:
    """The bytes of a document."""
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        raise InvalidPlan("this is not a plan: it has half of a pair of surrogates", "json") from None


def _explain_version(version: object) -> str:
    what = f"this plan has version {version!r}, and this program reads version {VERSION}"
    if type(version) is int and version > VERSION:
        return f"{what}: a newer program wrote it, so upgrade this one"
    return f"{what}: make it again with `deniable plan`"
