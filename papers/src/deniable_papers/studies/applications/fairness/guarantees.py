"""States what the study promises, what is true, and what the raw columns tell."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.formatting import format_percent
from deniable_papers.studies.applications.fairness.cases import CASES
from deniable_papers.studies.applications.fairness.point import AttributePoint, FairnessPoint
from deniable_papers.studies.applications.guarantee import Guarantee


def describe_guarantee(name: str, rows: Sequence[FairnessPoint | AttributePoint]) -> Guarantee:
    """The guarantee of one table, with what its rows measured."""
    case = CASES[name]
    mine = [row for row in rows if row.dataset == name]
    losses = {
        f"{row.mechanism} {row.epsilon:g}": row.loss
        for row in mine
        if isinstance(row, FairnessPoint) and row.epsilon is not None and row.loss is not None
    }
    exact = (
        ", ".join(f"{loss:.9g} ({what})" for what, loss in losses.items()) or "none: nothing was sanitized"
    )
    sensitive = ", ".join(case.sensitive)
    told = [_describe_guess(row) for row in mine if isinstance(row, AttributePoint)]
    return Guarantee(
        published=f"epsilon-LDP for the sensitive attributes ({sensitive}) of each training record",
        true=f"the same, given all other columns: the exact losses are {exact}",
        unit="record",
        unprotected=(
            f"the other columns and the target ({case.target}), which are raw",
            *told,
            "the people of the test part, whose values are raw",
        ),
    )


def _describe_guess(row: AttributePoint) -> str:
    found, blind = format_percent(row.accuracy, 1), format_percent(row.blind, 1)
    return (
        f"{row.attribute}: the other inputs alone find it in {found} (AUC {row.auc:.3f}; blind {blind}), "
        "whatever epsilon is"
    )
