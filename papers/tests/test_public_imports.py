"""Papers take only public names of the library: those that a room hands out, or that are listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
GROUND = ("arrays", "errors", "exact", "formatting")
"""Modules that are rooms of their own."""
OPEN = ("commands.shared", "plot", "randomness.simulated")
"""What commands, drawings and simulated people are made of, whose modules are used by name."""
INSIDE = {
    "attack.inputs": "Background checked_truth compact records_from",
    "attack.likelihoods": "Clue Priors Source names_of",
    "attack.reidentification": "Evidence match match_surveys",
    "attack.results": "LEVEL find_mean_interval find_share_interval",
    "attack.sampling": "Assumed assume_fakes estimate_marginals find_hidden",
    "attack.values": "guess_values",
    "choose.views": "Search",
    "cross.independence": "Covariance find_dependence find_noncentral find_null find_power find_slopes",
    "cross.source": "agree",
    "cross.spread": "OneReport Spread TwoReports fix_total",
    "crowd.deltas": "Blanket Coins",
    "estimate.consistency": "NAMES STEPS simplex",
    "explain.question_pairs": "list_tables",
    "explain.table_precision": "count_people",
    "likelihood.certificate": "Search Solution",
    "likelihood.fitting": "fit",
    "likelihood.problem": "Counted Grouped Listed Reported refuse_empty refuse_unordered",
    "likelihood.rows": "Decay Rows Stacked Supports expand few_threads pack_bits shared",
    "likelihood.sources": "Source build_problem",
    "likelihood.steps": "along em level",
    "likelihood.supports": "MOST_BYTES guess_shares pack_layers",
    "mechanisms.calibrate": "theta_for",
    "mechanisms.checks": "floats unmasked",
    "metric.base": "ROUNDED_UP describe_metric loss_by_units",
    "metric.certified": "LARGEST checked_budget divided_up largest_ratio logarithms",
    "metric.globe": "EARTH checked_locations unit_vectors",
    "metric.line": "Decaying",
    "metric.waves": "half_window",
    "randomness.compilation": "compiled",
    "randomness.draws": "WordArray",
    "randomness.kernels": "Address SPAN draw",
    "randomness.words": "Rows",
    "records.near": "Tick",
    "reports.reports": "records_of_round",
    "results.estimates": "bins_of",
    "results.health": "Health",
    "results.most_likely": "RecordLikelihood has_fakes",
    "summaries.health": "LEVEL check_shares watches",
    "summaries.totals": "error_of",
}
"""Names beside that, by their modules: what studies of the inside of a method need. A change of the library
may break a name that is added here; prefer what a room hands out.
"""


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
    return None if name in INSIDE.get(inside, "").split() else f"{module} does not hand {name} to papers"


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


def test_no_name_is_listed_in_vain() -> None:
    texts = [file.read_text(encoding="utf-8") for file in SOURCES.rglob("*.py")]
    taken = {pair for text in texts for pair in find_imports(text)}
    listed = {(f"deniable.{module}", name) for module, names in INSIDE.items() for name in names.split()}
    assert listed <= taken
