"""Defines one small tree of exceptions; every message says what was given, what is allowed, what to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from pathlib import Path

_LENGTHS = (3, 8, 13)
"""How long a name must be for one, two and three slips to be taken for the same name."""
_BEGINNING = 3
"""How many letters a name must begin with to be recognized by them."""


class DeniableError(Exception):
    """The root: catch this to catch everything the library refuses."""


class InvalidParameter(DeniableError, ValueError):
    """A parameter that no mechanism can be built from (k < 2, epsilon <= 0, an unknown name...)."""

    def __init__(self, message: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """Why a plan with it, or a code, is refused, in a word of spec/wire.md; empty where there is none."""


class InvalidValue(DeniableError, ValueError):
    """A value that is not in the domain. It is never passed on: a value sent as it is discloses itself."""

    def __init__(self, message: str = "", remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.message = message
        """What is wrong, without the remedy, which is for the author of the study."""
        self.remedy = remedy
        """What can be done; answers with one remedy are refused for one reason."""


class InvalidReport(DeniableError, ValueError):
    """A report that the mechanism cannot have sent, or that is not in its canonical form."""


class FileMissing(DeniableError, FileNotFoundError):
    """A file does not exist, or is a folder."""


class DeniableWarning(UserWarning):
    """Something that is allowed, and that somebody should know about."""


class NotExact(DeniableError):
    """An exact guarantee was asked of something without one (floating-point noise, a marginal)."""


class WordsExhausted(DeniableError):
    """A finite list of words was too short for what was asked of it."""


def not_among(
    value: object, what: str, allowed: Iterable[str], moved: Mapping[str, str] | None = None
) -> str:
    """Refuse a name that is not on a list: what was given, what is allowed, and the nearest name.

    Of a name that has `moved` it says where it is now: the nearest name would be something else.

    >>> not_among("greem", "a color", ["green", "red"])
    "'greem' is not a color (green, red); did you mean 'green'?"
    >>> not_among("bred", "a color", ["green", "red"], {"bred": "it is a participle"})
    "'bred' is not a color (green, red); it is a participle"
    """
    names = list(allowed)
    if moved and str(value) in moved:
        return f"{value!r} is not {what} ({', '.join(names)}); {moved[str(value)]}"
    return f"{value!r} is not {what} ({', '.join(names)})" + suggest_name(find_nearest(str(value), names))


def suggest_name(nearest: str | None) -> str:
    """The end of a refusal: the name that was meant, if one is near.

    >>> suggest_name("blue"), suggest_name(None)
    ("; did you mean 'blue'?", '')
    """
    return "" if nearest is None else f"; did you mean {nearest!r}?"


def find_nearest(written: str, names: Collection[str]) -> str | None:
    """The name that was probably meant: one with a slip or two, or one that begins like this.

    A slip is a letter too many, too few or wrong, or two letters in the wrong order. Short names allow one,
    longer ones two or three. Names that differ in their digits are different names.

    >>> find_nearest("trian", ["car", "train"]), find_nearest("geo", ["grr", "geometric"])
    ('train', 'geometric')
    >>> find_nearest("ship", ["car", "train"]), find_nearest("question 1", ["question 2"])
    (None, None)
    """
    sought = written.casefold()
    digits = _digits(sought)
    letters = set(sought)
    best = None
    fewest = len(_LENGTHS) + 1
    for name in names:
        folded = name.casefold()
        longest = max(len(sought), len(folded))
        most = min(sum(longest >= length for length in _LENGTHS), fewest - 1)
        others = _digits(folded)
        if abs(len(sought) - len(folded)) > most or (digits and others and digits != others):
            continue
        if len(letters - set(folded)) > most:  # each takes a slip
            continue
        slips = _count_slips(sought, folded, most)
        if slips <= most:
            best, fewest = name, slips
    if best is None and len(sought) >= _BEGINNING:
        best = next((name for name in names if name.casefold().startswith(sought)), None)
    return best


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _count_slips(name: str, other: str, most: int) -> int:
    """The edits that turn one name into another, a swap of neighbors being one; above `most`, any
    number above it.
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
    name, other = name[same:], other[same:]
    before: list[int] = []
    row = [j if j <= most else most + 1 for j in range(len(other) + 1)]
    for i, letter in enumerate(name, 1):
        earlier, before, row = before, row, [most + 1] * (len(other) + 1)
        row[0] = min(i, most + 1)
        for j in range(max(1, i - most), min(len(other), i + most) + 1):
            slips = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other[j - 1]))
            if i > 1 and j > 1 and letter == other[j - 2] and name[i - 2] == other[j - 1]:
                slips = min(slips, earlier[j - 2] + 1)
            row[j] = slips
        if min(row) > most:
            return most + 1
    return row[-1]


def suggest_install(extra: str) -> str:
    """The command that installs an extra where this program was installed from: a clone, a file, or an index.

    The package is on no index yet, so that only the address it came from can be named.
    """
    import shlex

    options, requirement = _name_requirement(extra)
    return " ".join([*_name_pip(), "install", *options, shlex.quote(requirement)])


def _name_pip() -> list[str]:
    """The pip of the Python that runs: another one would install for another Python."""
    import shlex
    from shutil import which

    pip = which("pip")
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return ["pip"]
    return [shlex.quote(_shorten_path(Path(sys.executable))), "-m", "pip"]


def _name_requirement(extra: str) -> tuple[list[str], str]:
    """The options of pip, and what it is to install."""
    clone = Path(__file__).resolve().parents[2]
    if (clone / "pyproject.toml").is_file():
        return ["-e"], f"{_shorten_path(clone)}[{extra}]"
    url = _find_origin()
    path = _path_of(url)
    if path is not None and path.exists():
        return [], f"{_shorten_path(path)}[{extra}]"
    if url.startswith("git+"):
        return [], f"deniable[{extra}] @ {url}"
    return [], f"deniable[{extra}]"


def _find_origin() -> str:
    """The address that this package was installed from, if it was not an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("deniable").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    origin = json.loads(text or "{}")
    prefix = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return prefix + str(origin.get("url", ""))


def _path_of(url: str) -> Path | None:
    """The folder or file of an address, if it is one of this machine."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None


def _shorten_path(path: Path) -> str:
    """As a path is named from here; one name alone would be taken for a package."""
    try:
        short = str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
    return short if short == "." or os.sep in short else os.path.join(".", short)
