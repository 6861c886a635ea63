"""Draws the rows of the reproductions, never computes: error against epsilon, one panel per dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable.formatting import format_count
from deniable_papers.studies import allomfree, rsfd
from deniable_papers.studies.plot.lines import Lines, plot_lines
from deniable_papers.studies.sweep import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AT_RECORD = " at record"
_ERRORS: dict[str, Any] = {
    "line": lambda row: row.method,
    "y": lambda row: row.mse_avg,
    "reach": lambda row: 2 * (row.mse_avg_stderr or 0.0),
    "clipped": "log",
}


def _describe_runs(rows: Sequence[Point]) -> str:
    return f"MSE_avg of unbiased estimates, {format_count(rows[0].runs, 'run')}, seed {rows[0].seed}"


def _as_logarithm(epsilon: float) -> str:
    whole = round(math.exp(epsilon))
    return f"ln {whole}" if math.isclose(math.log(max(whole, 1)), epsilon, rel_tol=1e-3) else f"{epsilon:.3g}"


def _finish_rsfd(axes: Axes, rows: Sequence[rsfd.RsfdPoint]) -> None:
    """Epsilons as logarithms below, and what RS+FD truly loses above; variances have a label of their own."""
    if rows[0].figure == "variances":
        axes.set_ylabel(f"variance of a share, {rows[0].n:,} people")
    epsilons = sorted({row.epsilon for row in rows})
    axes.set_xticks(epsilons, [_as_logarithm(epsilon) for epsilon in epsilons])
    published = [
        row for row in rows if row.method.startswith("RS+FD") and not row.method.endswith(_AT_RECORD)
    ]
    true = {row.epsilon: row.loss_record for row in published}
    if true:
        above = axes.secondary_xaxis("top")
        above.set_xticks(list(true), [f"{loss:.2f}" for loss in true.values()])
        above.set_xlabel("true loss of RS+FD per record")


def _style(method: str) -> dict[str, Any]:
    if method.startswith("RS+RFD"):
        return {"linestyle": "-."}
    return {"linestyle": "--", "markerfacecolor": "white"} if method.endswith(_AT_RECORD) else {}


def _title_rsfd(rows: Sequence[rsfd.RsfdPoint]) -> str:
    figures = dict.fromkeys(row.figure for row in rows)
    titles = {
        "errors": "RS+FD, SMP and SPL, solid as published;\n"
        "dashed (at record): a record truly loses no more than epsilon",
        "variances": "Variances of RS+FD, SMP and SPL at f = 0, solid as published;\n"
        "dashed (at record): a record truly loses no more than epsilon",
        "realistic": "RS+FD (solid) and RS+RFD (dash-dotted), as published; priors with Laplace noise",
    }
    lines = [titles[figure] for figure in figures]
    return "\n".join(lines if list(figures) == ["variances"] else [*lines, _describe_runs(rows)])


rsfd_plot = partial(
    plot_lines,
    Lines(
        title=_title_rsfd,
        panel=lambda row: f"{row.dataset}: n = {row.n:,} people, d = {row.d}",
        names=dict.fromkeys(
            name for name in (*rsfd.METHODS, *rsfd.REALISTIC) if not name.endswith(_AT_RECORD)
        ),
        look=lambda method: method.removesuffix(_AT_RECORD),
        style=_style,
        x=lambda row: row.epsilon,
        labels=("epsilon that is claimed", "MSE_avg"),
        finish=_finish_rsfd,
        layout={"size": (4.4, 3.5), "legend_columns": 2},
        **_ERRORS | {"y": lambda row: row.variance if row.figure == "variances" else row.mse_avg},
    ),
)
"""Draws errors as published (solid) and at equal true loss (dashed), and what RS+FD loses."""


def _name_part(row: allomfree.AllomfreePoint) -> str:
    part = row.epsilon_first / row.epsilon_forever
    return f"{row.dataset}: n = {row.n:,}, d = {row.d}, one report {part:.2g} epsilon"


allomfree_plot = partial(
    plot_lines,
    Lines(
        title=lambda rows: (
            f"Two rounds on one attribute per person:\nthe error of one collection\n{_describe_runs(rows)}"
        ),
        panel=_name_part,
        names=allomfree.METHODS,
        x=lambda row: row.epsilon_forever,
        labels=("epsilon_infinity: of all reports of one value", "MSE_avg"),
        layout={"columns": 2, "most": 24, "size": (4.4, 3.5), "legend_columns": 2},
        **_ERRORS,
    ),
)
"""Draws one collection of each dataset, for each part of the budget that one report may spend."""
