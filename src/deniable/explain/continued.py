"""Explains what a plan carries on from the plan before it, question by question."""

from __future__ import annotations

from deniable.formatting import format_count, shorten_names
from deniable.plan.chain import list_breaks
from deniable.plan.document import PlanDocument

_SHOWN = 6


def explain_continued(document: PlanDocument) -> str:
    """What became of each question, and what reports to all plans lose together; empty of a first plan."""
    if not document.continues:
        return ""
    before = document.continues[-1]
    title = f" · {before.title}" if before.title else ""
    lines = [f"This plan continues plan {before.id[:12]}{title}:"]
    for j, why in enumerate(list_breaks(before, document)):
        change = _describe_change(before, document, j)
        if why:
            change = f"a new question, since {why}. Its losses add up, and its series has a break"
        lines.append(f"  {document.names[j]!r}: {change}.")
    chain = document.loss.chain
    assert chain is not None, "a plan that continues others has their losses"
    many = format_count(1 + len(document.continues), "plan")
    lines.append(f"What all reports of one person to these {many} give away together, per record:")
    lines += [f"  {line}" for line in chain.explain().splitlines()]
    return "\n".join(lines)


def _describe_change(before: PlanDocument, document: PlanDocument, j: int) -> str:
    (old, old_part), (new, new_part) = before.pairs[j], document.pairs[j]
    added = new.domain.shown_labels[old.domain.k :] if old.domain != new.domain else ()
    changes = [f"with more answers: {shorten_names(added, _SHOWN)}"] if added else []
    if abs(old_part.loss() - new_part.loss()) > 1e-6:
        changes.append(f"one report of it loses {new_part.loss():.4g} in place of {old_part.loss():.4g}")
    return "carried on" + "".join(f", {change}" for change in changes)
