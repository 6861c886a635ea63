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
    constraints, library, papers = (
        (ROOT / name).read_text() for name in ("constraints.txt", "hashes.txt", "hashes/papers.txt")
    )
    hashes = library + papers
    assert pins(hashes) == pins(constraints), "make hashes writes them anew"
    for package in re.split(r"\n(?! )", hashes.strip()):
        head, *lines = [line.strip(" \\") for line in package.splitlines()]
        assert _PIN.match(head), head
        assert lines, f"{head} has no hash"
        assert all(_HASH.fullmatch(line) for line in lines), f"{head} has more than hashes"


def test_parts_of_the_hashes_are_those_of_the_whole() -> None:
    whole = set(re.split(r"\n(?! )", (ROOT / "hashes.txt").read_text().strip()))
    for name in ("hashes/demo.txt", "hashes/test.txt"):
        part = set(re.split(r"\n(?! )", (ROOT / name).read_text().strip()))
        names = {_PIN.match(package)[0] for package in part}  # type: ignore[index]
        assert names <= {_PIN.match(package)[0] for package in whole}  # type: ignore[index]
        assert {_only_hashes(package) for package in part} <= {_only_hashes(package) for package in whole}
        assert any(package.startswith("hatchling==") for package in part), "it builds the project"


def _only_hashes(package: str) -> tuple[str, ...]:
    return tuple(_HASH.findall(package))


def test_npm_locks_have_integrity_and_no_hosts() -> None:
    for folder in ("js", "js/pages", "js/release"):
        stated = json.loads((ROOT / folder / "package.json").read_text())
        locked = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
        root = locked.pop("")
        for kind in ("dependencies", "devDependencies"):
            assert root.get(kind, {}) == stated.get(kind, {}), f"make hashes writes the lock of {folder} anew"
        for name, package in locked.items():
            assert package["integrity"].startswith("sha512-"), name
            assert "resolved" not in package, name


def test_the_pages_state_the_library_that_the_client_is_built_with() -> None:
    """Their bill of materials lists it; the sources that are bundled find it beside the client."""
    name = "@cloudflare/blindrsa-ts"
    client, pages = (json.loads((ROOT / path / "package.json").read_text()) for path in ("js", "js/pages"))
    assert client["devDependencies"][name] == pages["dependencies"][name]
