"""Pins, and the hashes of what they install: the same packages, known files, no addresses."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def pins(text: str) -> dict[str, str]:
    """Versions by the names of packages, spelled as an index does."""
    found = (_PIN.match(line) for line in text.splitlines())
    return {re.sub(r"[-_.]+", "-", one[1].lower()): one[2] for one in found if one}


def test_hashes_are_those_of_the_pins() -> None:
    constraints, hashes = ((ROOT / name).read_text() for name in ("constraints.txt", "hashes.txt"))
    assert pins(hashes) == pins(constraints), "make hashes writes them anew"
    for package in re.split(r"\n(?! )", hashes.strip()):
        head, *lines = [line.strip(" \\") for line in package.splitlines()]
        assert _PIN.match(head), head
        assert lines, f"{head} has no hash"
        assert all(_HASH.fullmatch(line) for line in lines), f"{head} has more than hashes"


def test_the_pages_state_the_library_that_the_client_is_built_with() -> None:
    """Their bill of materials lists it; the sources that are bundled find it beside the client."""
    name = "@cloudflare/blindrsa-ts"
    client, pages = (json.loads((ROOT / path / "package.json").read_text()) for path in ("js", "js/pages"))
    assert client["devDependencies"][name] == pages["dependencies"][name]
