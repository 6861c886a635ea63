"""Sets one style for all drawings, and writes them: equal figures give equal files.

Figures are values: nothing here touches matplotlib's global state, so that drawing in a server or a test is
safe.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError, InvalidParameter, suggest_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
INK = "#24292f"
"""The color of text and axes."""
TRUTH, ESTIMATE = "#56b4e9", "#d55e00"
"""The colors of bars and of what is estimated."""
NOISE = "#8c8c8c"
"""The color of what is too noisy to read."""
NOISE_TEXT = "#5c5c5c"
"""The color of words about noise, which are read on white."""
GRID: dict[str, Any] = {"color": INK, "alpha": 0.15, "linewidth": 0.6}
"""The look of lines behind what is drawn."""
_STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "deniable",
    "pdf.fonttype": 42,  # text that journals accept and readers can search
} | dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
_STYLE |= {f"grid.{key}": value for key, value in GRID.items()}


def checked_path(path: Path) -> Path:
    """A file whose ending says what to write."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidParameter(
            f"a plot is written to a file ending in {', '.join(FORMATS)}; got {path.name!r}"
        )
    return path


def require_matplotlib() -> None:
    """Say how to get plots where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise DeniableError(f"plots need matplotlib; install it with: {suggest_install('plot')}")


def style() -> AbstractContextManager[None]:
    """In this, and only in this, figures look like ours."""
    require_matplotlib()
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as png, svg or pdf, by the path's ending; equal figures give equal files."""
    kind = FORMATS[checked_path(path).suffix.lower()]
    path.parent.mkdir(parents=True, exist_ok=True)
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    quick: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if kind == "png" else {}
    with style():
        figure.savefig(path, format=kind, dpi=160, metadata=dates.get(kind), facecolor="white", **quick)
    return path


def format_tick(share: float, _position: float) -> str:
    """A tick of an axis of shares."""
    return f"{100 * share:g} %"


def format_points(difference: float, _position: float) -> str:
    """A tick of an axis of differences between shares: of 20 %, 5 points more are not 5 % more."""
    return f"{100 * difference:g}"
