"""The text of a plan: one canonical JSON object, whose id is the hash of the rest."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from deniable_device.errors import Refused

LONGEST = 1 << 22
LARGEST = (1 << 53) - 1
DEEPEST = 16
NAMES = {str: "text", int: "an integer", bool: "true or false", list: "a list", dict: "an object"}

Json = Any
"""Whatever JSON can hold."""


def read(text: str | bytes) -> dict[str, Json]:
    """The object that the text of a plan holds, or the reason for which the text is refused."""
    data = text if isinstance(text, bytes) else encode(text)
    if len(data) > LONGEST:
        raise Refused("length", f"a plan has at most {LONGEST} bytes")
    tree = parse(data)
    if type(tree.get("version")) is not int or tree["version"] != 2:
        raise Refused("version", "this client reads plans of version 2")
    rest = {name: value for name, value in tree.items() if name != "id"}
    if tree.get("id") != hashlib.sha256(encode(write(rest))).hexdigest():
        raise Refused("id", "the id is not that of the text, so the plan was changed")
    if encode(write(tree)) != data.strip(b" \t\n\r"):
        raise Refused("canonical", "the text is not in its canonical form")
    return tree


def seal(tree: Json) -> str:
    """The text of a plan, with its id."""
    return write({**tree, "id": hashlib.sha256(encode(write(tree))).hexdigest()})


def encode(text: str) -> bytes:
    """The UTF-8 of a text, which has no half of a pair of surrogates."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("json", "a text has half of a pair of surrogates") from None


def parse(data: bytes) -> dict[str, Json]:
    """The JSON object in UTF-8, of integers that every language can hold."""
    try:
        text = data.decode("utf-8")
        if is_deep(text):
            raise Refused("json", f"lists and objects are nested more than {DEEPEST} deep")
        tree = json.loads(text, parse_int=integer, parse_float=integer, parse_constant=integer)
    except (ValueError, RecursionError) as problem:
        raise Refused("json", str(problem)) from None
    if not isinstance(tree, dict):
        raise Refused("json", "a plan is an object")
    return tree


def is_deep(text: str) -> bool:
    """Whether lists and objects of a JSON text are nested too deep; a text that is no JSON may seem so."""
    structure = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    brackets = re.sub(r"[^\[\]{}]+", "", structure).translate(str.maketrans("{}", "[]"))
    for _ in range(DEEPEST):
        brackets = brackets.replace("[]", "")
    return brackets != ""


def integer(digits: str) -> int:
    """A number of a plan. 1.0 is read as its integer, so that the text is not the canonical one."""
    if digits in ("NaN", "Infinity", "-Infinity"):
        raise ValueError(f"{digits} is no number of JSON")
    plain = digits.lstrip("-").isdigit()
    value = float(digits) if not plain or len(digits) > 17 else int(digits)
    if abs(value) > LARGEST or value != value // 1:
        raise Refused("integer", f"{digits[:40]} is not an integer below 2^53")
    return int(value)


def write(tree: Json) -> str:
    """The canonical JSON of a tree: sorted keys, no spaces, and no escapes that are not needed."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def typed(value: Json, kind: type, name: str) -> Json:
    """The value, if it has the type that its field has."""
    if type(value) is not kind:
        raise Refused("type", f"{name} must be {NAMES[kind]}")
    return value


def fields(tree: Json, required: dict[str, type], optional: dict[str, type] | None = None) -> dict[str, Json]:
    """The object, if it has all fields that it needs, no other, and each of its type (`object` is any)."""
    typed(tree, dict, "what has fields")
    kinds = {**required, **(optional or {})}
    for name in tree:
        if name not in kinds:
            raise Refused("fields", f"there is no field {name!r} here")
    for name, kind in kinds.items():
        if name not in tree:
            if name in required:
                raise Refused("fields", f"{name!r} is missing")
        elif kind is not object:
            typed(tree[name], kind, name)
    return dict(tree)


def kind_of(tree: Json) -> str:
    """The kind of a domain or a mechanism."""
    if not isinstance(tree, dict) or not isinstance(tree.get("kind"), str):
        raise Refused("kind", "what is here has no kind")
    return str(tree["kind"])


def within(value: int, low: int, high: int, reason: str, name: str) -> int:
    """The value, if it is from low to high."""
    if not low <= value <= high:
        raise Refused(reason, f"{name} must be from {low} to {high}, got {value}")
    return value


def threshold(text: Json) -> int:
    """A chance times 2^64, written in decimal digits."""
    if not isinstance(text, str) or not re.fullmatch("[1-9][0-9]{0,19}", text) or int(text) >= 1 << 64:
        raise Refused("threshold", "a threshold is from 1 to 2^64 - 1 in a text of plain digits")
    return int(text)
