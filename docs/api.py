"""Writes docs/api.md, the page of all public names, from their signatures and docstrings: `make docs`.

A name is listed with the room that it is defined in. Its description is the first sentence of its docstring.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import deniable as dn
from deniable import choose, plan, reports, series, study
from deniable.formatting import Printed
from deniable.mechanisms import protocols

IMPORTED = {
    "advise": ("Advice", "Change", "Forecast", "Proposal"),
    "client": ("AboveCap", "CopiedLedger", "NotSent", "composed_loss"),
    "cross": ("CrossTable",),
    "crowd": ("Shuffled", "shuffled"),
    "discovery": ("Discovery",),
    "errors": ("FileMissing", "NotExact", "WordsExhausted"),
    "estimate": ("Interval",),
    "plan.maps": ("Map",),
    "randomness.simulated": ("fixed",),
    "results.kept_tallies": ("KeptTallies",),
}
"""Public names of rooms that are not at the top: `from deniable.client import NotSent`."""

PAGE = Path(__file__).with_name("api.md")


@dataclass(frozen=True)
class Section:
    """A heading, what is under it, and where to read more."""

    heading: str
    rooms: tuple[str, ...]
    text: str
    also: tuple[type, ...] = ()
    """Classes that are not public by name, of objects that everybody meets."""


SECTIONS = (
    Section(
        "Protocols for one answer",
        ("mechanisms",),
        "A protocol takes the number of values `k` and a budget `epsilon`. It returns a mechanism whose loss "
        "is at most `epsilon`. See [Choosing a protocol](choosing.md).",
        (protocols.Protocol,),
    ),
    Section(
        "Many attributes",
        ("records",),
        "Each takes `ks`, the number of values of each attribute, and a budget. It returns a record "
        "mechanism. See [Many attributes](records.md).",
    ),
    Section(
        "Asking again",
        ("rounds",),
        "Each takes a budget for one report and a budget for all reports of a value that does not change. "
        "See [Asking again](rounds.md).",
    ),
    Section(
        "Ordered values, locations and numbers",
        ("metric",),
        "These mechanisms know distances: most take an `epsilon` per unit. See "
        "[Ordered values, locations and numbers](metric.md).",
    ),
    Section(
        "Studies and plans",
        ("study", "advise", "results", "reports", "plan", "domain", "choose", "crowd", "discovery", "ranges"),
        "A study says what is asked, and its plan says how. See [Studies and plans](plans.md).",
        (plan.Loss, reports.Reports, reports.Tallies, study.Result, choose.Considered),
    ),
    Section("Devices", ("client",), "One person's side of a study. See [From an app](client.md)."),
    Section(
        "Estimates",
        ("estimate",),
        "What reports say about people. See [Estimates and error bars](estimates.md).",
    ),
    Section(
        "Most likely shares",
        ("likelihood",),
        "See [The most likely distribution](likelihood.md).",
    ),
    Section(
        "Means, quantiles and distances",
        ("summaries",),
        "They take estimates and most likely shares alike. See "
        "[Means and quantiles](estimates.md#means-and-quantiles).",
    ),
    Section(
        "Over days",
        ("series",),
        "Numbers by day, and the days on which one moved. See [Over days](series.md).",
        (series.Alarms, series.Alarm),
    ),
    Section(
        "Tables of two answers",
        ("cross",),
        "`result.cross(of, by)` makes them. See [Two answers at once](cross.md).",
    ),
    Section("Laws", ("law",), "What is known exactly about a report. See [Theory](theory.md)."),
    Section("Words", ("randomness",), "Where random words come from. See [Theory](theory.md#the-parts)."),
    Section(
        "Attacks",
        ("attack",),
        "These attack a plan, a record mechanism or a mechanism. See [Attacks](attack.md).",
    ),
    Section(
        "Audits",
        ("audit",),
        "These bound a loss from the bytes that a client sends. See [Auditing a client](audit.md).",
    ),
    Section(
        "Learning",
        ("learn",),
        "These learn from reports. See [Reports in a scikit-learn pipeline](privatizer.md).",
    ),
    Section("Errors", (), "All errors are a `DeniableError`. The warning is a `UserWarning`."),
)

HEAD = """# Names

All public names of `deniable`, from their docstrings. `help(dn.oue)` has the whole docstring. What is not on
this page is not public and may change. `make docs` writes this page: change the docstrings, not the page.

After `import deniable as dn` they are `dn.oue`, `dn.metric.geometric` and so on. A few stand in rooms that
are imported by name: `from deniable.client import NotSent`. A room is loaded when it is first used.
`-> Tally` says what a call returns.
"""


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)[0]


@cache
def notes(module: str) -> Mapping[str, str]:
    """Return the strings below the constants and fields of a module: `LEVEL` or `Audit.trials`."""
    file = str(getattr(sys.modules[module], "__file__", ""))
    if not file.endswith(".py"):
        return {}
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    bodies = {"": tree.body}
    bodies |= {f"{one.name}.": one.body for one in tree.body if isinstance(one, ast.ClassDef)}
    found: dict[str, str] = {}
    for prefix, body in bodies.items():
        for one, after in pairwise(body):
            name = assigned(one)
            if name and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[prefix + name] = str(after.value.value)
        for one in [each for block in body if isinstance(block, ast.If) for each in block.body]:
            if isinstance(one, ast.FunctionDef):  # a property that is declared for the type checker
                found[prefix + one.name] = ast.get_docstring(one) or ""
    return found


def assigned(statement: ast.stmt) -> str:
    """Return the name that a statement assigns to, or nothing."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.AnnAssign):
        target = statement.target
    return target.id if isinstance(target, ast.Name) else ""


def names() -> dict[str, object]:
    """Return every public object by the name that it is called by: `oue`, `attack.guess`."""
    found = {name: getattr(dn, name) for name in dn.__all__}
    for room in [name for name, member in found.items() if isinstance(member, ModuleType)]:
        module: ModuleType = getattr(dn, room)
        found |= {f"{room}.{name}": getattr(module, name) for name in module.__all__ if name not in found}
    for room, imported in IMPORTED.items():
        module = import_module(f"deniable.{room}")
        found |= {f"{room}.{name}": getattr(module, name) for name in imported}
    return {name: one for name, one in found.items() if not isinstance(one, ModuleType)}


def room_of(name: str, one: object) -> str:
    """Return the room that a public object belongs to."""
    if "." in name:
        return name.partition(".")[0]
    module = str(getattr(one, "__module__", ""))
    if not module.startswith("deniable."):
        module = module_of_constant(name)
    return module.split(".")[1]


def module_of_constant(name: str) -> str:
    """Return the module that says, in a string below a public constant, what it is."""
    room, _, short = name.rpartition(".")
    for module in sorted(sys.modules):
        if module.startswith(f"deniable.{room}") and short in notes(module):
            return module
    raise KeyError(f"the constant {name} has no string below it that says what it is")


def default_of(value: object) -> str:
    """Write the default of a parameter; only what is short and plain."""
    written = repr(value)
    plain = isinstance(value, bool | int | float | str | None) or value == ()
    return written if plain and len(written) < 20 else "..."


def returned(one: object, public: frozenset[str]) -> str:
    """Write what a function returns, where that has a name on this page."""
    annotation = str(getattr(one, "__annotations__", {}).get("return", ""))
    parts = [part.strip().rpartition(".")[2] for part in annotation.split("|")]
    return f" -> {' or '.join(parts)}" if parts and all(part in public for part in parts) else ""


def signature_of(
    one: Callable[..., object], name: str, public: frozenset[str] = frozenset(), method: bool = False
) -> str:
    """Write a call as a program writes it: names and defaults, no types."""
    parameters = list(inspect.signature(one).parameters.values())[int(method) :]
    written: list[str] = []
    for index, parameter in enumerate(parameters):
        if parameter.name.startswith("_"):
            continue
        star = ""
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        if parameter.kind is parameter.KEYWORD_ONLY and not any(
            before.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY) for before in parameters[:index]
        ):
            written.append("*")
        default = "" if parameter.default is parameter.empty else f"={default_of(parameter.default)}"
        written.append(star + parameter.name + default)
    return f"{name}({', '.join(written)}){returned(one, public)}"


def is_mine(one: type) -> bool:
    """Whether a class is one of this package."""
    return one.__module__.startswith("deniable.")


def members(one: type, described: frozenset[type], public: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield what a class adds to the classes that are described elsewhere: a member and its description."""
    covered = {name for base in one.__mro__[1:] if base in described for name in vars(base)}
    seen: set[str] = set()
    for base in [each for each in one.__mro__ if is_mine(each) and (each is one or each not in described)]:
        fields = {
            name: text
            for owner, _, name in (key.partition(".") for key in notes(base.__module__))
            if owner == base.__name__ and name
            for text in [notes(base.__module__)[f"{owner}.{name}"]]
        }
        for name in [*fields, *vars(base)]:
            if name.startswith("_") or name in seen or name in covered:
                continue
            call = name if name in fields else written_member(one, name, vars(base)[name], public)
            if call is not None:
                seen.add(name)
                yield call, fields.get(name) or documented(one, name)


def documented(one: type, name: str) -> str:
    """Return the docstring of a member, from the first class that has one."""
    found = (
        getattr(vars(base).get(name), "__doc__", None)
        or notes(base.__module__).get(f"{base.__name__}.{name}")
        for base in one.__mro__
        if is_mine(base)
    )
    return next((text for text in found if text), "")


def written_member(one: type, name: str, member: object, public: frozenset[str]) -> str | None:
    """Write how a member is used; None where it is no method and no property."""
    if isinstance(member, property | cached_property):
        return name
    own = public | {"Self"}
    if isinstance(member, staticmethod | classmethod):
        bound = isinstance(member, classmethod)
        written = f"{one.__name__}.{signature_of(member.__func__, name, own, method=bound)}"
    elif inspect.isfunction(member):
        written = signature_of(member, name, own, method=True)
    else:
        return None
    return written.replace("-> Self", f"-> {one.__name__}")


def table(rows: list[tuple[str, str]], *headings: str) -> str:
    """Write a table of two columns: code and its description."""
    lines = [f"| {' | '.join(headings)} |", "|---|---|"]
    for code, text in rows:
        lines.append(f"| `{code}` | {first_sentence(text).replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def describe_class(name: str, one: type, classes: frozenset[type], public: frozenset[str]) -> str:
    """Write a class: how it is made, its first sentence, and its members."""
    parts = [f"### {name}", first_sentence(inspect.getdoc(one) or "")]
    if not inspect.isabstract(one):
        parts[1] += f" Made by `{signature_of(one, name)}`." if inspect.signature(one).parameters else ""
    bases = [base.__name__ for base in one.__mro__[1:] if base in classes]
    rows = list(members(one, classes - {one}, public))
    if bases:
        parts[1] += f" It has all members of `{bases[0]}`" + (", and these:" if rows else ".")
    if rows:
        parts.append(table(rows, "member", "what it is or does"))
    return "\n\n".join(parts)


def abstract_first(one: type) -> tuple[bool, int]:
    """Return a key that sorts contracts before what fulfills them."""
    return (not inspect.isabstract(one), len(one.__mro__) if inspect.isabstract(one) else 0)


def write_section(section: Section, found: Mapping[str, object]) -> str:
    """Write a section: constants and functions in a table, then the classes, contracts first."""
    public = frozenset(name.rpartition(".")[2] for name in names())
    public |= {one.__name__ for one in extra_classes()}
    described = frozenset(one for one in names().values() if isinstance(one, type)) | extra_classes()
    classes = {name: one for name, one in found.items() if isinstance(one, type)}
    classes |= {one.__name__: one for one in section.also}
    classes |= {one.__name__: one for one in shared_bases() if one.__module__.split(".")[1] in section.rooms}
    parts = [f"## {section.heading}", textwrap.fill(section.text, 110, break_on_hyphens=False)]
    if section.heading == "Errors":
        parts.append(
            table(
                [(name, inspect.getdoc(one) or "") for name, one in classes.items()], "error", "what it says"
            )
        )
        return "\n\n".join(parts)
    rows: list[tuple[str, str]] = []
    for name, one in found.items():
        if inspect.isfunction(one):
            rows.append((signature_of(one, name, public), inspect.getdoc(one) or ""))
        elif not isinstance(one, type):
            note = notes(module_of_constant(name))[name.rpartition(".")[2]]
            rows.append((name, note))
    if rows:
        parts.append(table(rows, "name", "what it does"))
    for name, each in sorted(classes.items(), key=lambda item: (abstract_first(item[1]), item[0])):
        parts.append(describe_class(name, each, described, public))
    return "\n\n".join(parts)


@cache
def shared_bases() -> tuple[type, ...]:
    """Return the classes without a public name that several public classes share."""
    public = [one for one in names().values() if isinstance(one, type) and not issubclass(one, Exception)]
    counted = Counter(base for one in public for base in one.__mro__ if is_mine(base) and base not in public)
    return tuple(base for base, times in counted.items() if times > 1 and base is not Printed)


def extra_classes() -> frozenset[type]:
    """Return the classes that are described although they have no public name."""
    return frozenset(one for section in SECTIONS for one in section.also) | frozenset(shared_bases())


def page() -> str:
    """Write the whole page."""
    found = names()
    errors = {
        name: one for name, one in found.items() if isinstance(one, type) and issubclass(one, Exception)
    }
    rooms = {name: room_of(name, one) for name, one in found.items() if name not in errors}
    lost = set(rooms.values()) - {room for section in SECTIONS for room in section.rooms}
    assert not lost, f"no section of the page has the rooms {sorted(lost)}"
    parts = [HEAD.strip()]
    for section in SECTIONS:
        mine = {name: found[name] for name, room in rooms.items() if room in section.rooms}
        parts.append(write_section(section, mine if section.rooms else errors))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
