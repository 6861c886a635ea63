"""Papers take only public names of the library: those that a room hands out, or plain names of modules that
are listed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
GROUND = ("arrays", "errors", "exact", "formatting")
"""Modules that are rooms of their own."""
OPEN = ("commands.shared", "plot")
"""Rooms whose modules are used by name: what commands and drawings are made of."""
MODULES = {
    "deniable.attack.inputs",
    "deniable.attack.likelihoods",
    "deniable.attack.reidentification",
    "deniable.attack.sampling",
    "deniable.attack.results",
    "deniable.attack.values",
    "deniable.choose.views",
    "deniable.cross.source",
    "deniable.cross.independence",
    "deniable.cross.spread",
    "deniable.crowd.deltas",
    "deniable.estimate.consistency",
    "deniable.explain.question_pairs",
    "deniable.explain.table_precision",
    "deniable.likelihood.certificate",
    "deniable.likelihood.fitting",
    "deniable.likelihood.problem",
    "deniable.likelihood.rows",
    "deniable.likelihood.sources",
    "deniable.likelihood.steps",
    "deniable.likelihood.supports",
    "deniable.mechanisms.calibrate",
    "deniable.mechanisms.checks",
    "deniable.metric.base",
    "deniable.metric.certified",
    "deniable.metric.globe",
    "deniable.metric.line",
    "deniable.metric.waves",
    "deniable.randomness.compilation",
    "deniable.randomness.draws",
    "deniable.randomness.kernels",
    "deniable.randomness.simulated",
    "deniable.randomness.words",
    "deniable.reports.drawn",
    "deniable.reports.reports",
    "deniable.results.estimates",
    "deniable.results.health",
    "deniable.results.most_likely",
    "deniable.summaries.totals",
    "deniable.summaries.health",
}
"""Modules beside that, whose documented names studies of the inside of a method need."""


def find_imports(text: str) -> Iterator[tuple[str, str]]:
    """Modules of the library, and the names that are taken from them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "deniable":
            yield from ((str(node.module), alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("deniable."))


def find_problem(module: str, name: str) -> str | None:
    """Why a name may not be imported from there."""
    inside = module.removeprefix("deniable").strip(".")
    if any(part.startswith("_") for part in (*inside.split("."), name)):
        return f"{module}.{name} is private"
    if inside in ("", *GROUND) or any(inside == room or inside.startswith(f"{room}.") for room in OPEN):
        return None
    room = import_module(".".join(module.split(".")[:2]))
    handed_out = getattr(room, "__all__", vars(room))
    if room.__name__ == module:
        return None if name in handed_out else f"{module} does not hand out {name}"
    if name in handed_out:
        return f"{name} is handed out by {room.__name__}"
    return None if module in MODULES else f"{module} is not a module that papers may use"


def test_papers_import_public_names_only() -> None:
    problems = [
        f"{file.relative_to(SOURCES)}: {problem}"
        for file in sorted(SOURCES.rglob("*.py"))
        for module, name in find_imports(file.read_text(encoding="utf-8"))
        if (problem := find_problem(module, name))
    ]
    assert problems == []


def test_private_names_would_be_found() -> None:
    taken = (
        "from deniable.attack.loops import show\nfrom deniable.records import _parts\nimport deniable.collect"
    )
    assert [find_problem(*pair) is not None for pair in find_imports(taken)] == [True, True, True]
