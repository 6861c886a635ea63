"""Explains what a plan carries on from the plan before it, question by question."""

from __future__ import annotations

from deniable.explain.device_limit import describe_room
from deniable.formatting import format_count, shorten_names
from deniable.plan.chain import find_rounds, list_breaks, list_unlike
from deniable.plan.document import PlanDocument

_SHOWN = 6
_FEW = 1e-6  # nats


def explain_continued(document: PlanDocument) -> str:
    """What became of each question, and what reports to all plans lose together; empty of a first plan."""
    if not document.continues:
        return ""
    before = document.continues[-1]
    title = f" · {before.title}" if before.title else ""
    lines = [f"This plan continues plan {before.id[:12]}{title}:"]
    breaks = zip(list_breaks(before, document), list_unlike(before, document), strict=True)
    for j, (why, unlike) in enumerate(breaks):
        change = _describe_change(before, document, j)
        if why and unlike:
            change = f"a new question, since {why}. Its losses add up, and its series has a break"
        elif why:
            change = f"asked with fresh noise, since {why}. Its losses add up, and its series goes on"
        elif not document.parts[j].repeated:
            change = "asked as before, with fresh noise in every round, so that its losses add up"
        lines.append(f"  {document.names[j]!r}: {change}.")
    chain = document.loss.chain
    assert chain is not None, "a plan that continues others has their losses"
    many = format_count(1 + len(document.continues), "plan")
    lines.append(f"What all reports of one person to these {many} give away together, per record:")
    lines += [f"  {line}" for line in chain.explain().splitlines()]
    room = describe_room(document)
    return "\n".join(lines if room is None else [*lines, f"  {room}"])


def _describe_change(before: PlanDocument, document: PlanDocument, j: int) -> str:
    (old, old_part), (new, new_part) = before.pairs[j], document.pairs[j]
    labels = [each.domain.shown_labels if old.domain != new.domain else () for each in (old, new)]
    added, removed = ([label for label in labels[i] if label not in labels[1 - i]] for i in (1, 0))
    changes = [f"with more answers: {shorten_names(added, _SHOWN)}"] if added else []
    if removed:
        changes.append(f"without the answers: {shorten_names(removed, _SHOWN)}")
    kept = [rounds.first.loss() for rounds in map(find_rounds, (old_part, new_part)) if rounds is not None]
    losses = {"one report": [old_part.loss(), new_part.loss()], "any number of reports": kept}
    for reports, figures in losses.items():
        if figures and abs(figures[0] - figures[1]) > _FEW:
            changes.append(f"{reports} of it loses {figures[1]:.4g} in place of {figures[0]:.4g}")
    return "carried on" + "".join(f", {change}" for change in changes)
