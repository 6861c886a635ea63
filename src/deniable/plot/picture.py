"""Makes figures that a notebook shows; it needs matplotlib, so it is loaded when something is drawn."""

from __future__ import annotations

import io
from typing import final

from matplotlib.figure import Figure

from deniable.plot.figure import style


@final
class Picture(Figure):
    """A figure that shows itself. A notebook shows others only once `matplotlib.pyplot` is loaded."""

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        with style():
            self.savefig(written, format="png", dpi=100, facecolor="white")
        return written.getvalue()
