"""What the reports of a plan say: an estimate per attribute, and all of them as one table."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from deniable.errors import not_among
from deniable.estimate import Backend, Estimate


@final
@dataclass(frozen=True)
class Result(Mapping[str, Estimate]):
    """Estimates by attribute, with the values' names."""

    plan_id: str
    n: int
    """How many records were reported."""
    estimates: Mapping[str, Estimate]

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.estimates:
            raise KeyError(not_among(name, "an attribute", self.estimates))
        return self.estimates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def rows(self, level: float = 0.95, project: str | None = None) -> list[dict[str, Any]]:
        """A row per value, as in `frame`."""
        found = []
        for name, estimate in self.estimates.items():
            low, high = estimate.interval(level)
            projected = None if project is None else estimate.project(project)
            for v, label in enumerate(estimate.labels or range(estimate.k)):
                row = {
                    "attribute": name,
                    "value": label,
                    "frequency": float(estimate.frequencies[v]),
                    "stderr": float(estimate.stderr[v]),
                    "low": float(low[v]),
                    "high": float(high[v]),
                    "count": float(estimate.counts[v]),
                }
                found.append(row if projected is None else row | {"projected": float(projected[v])})
        return found

    def frame(self, level: float = 0.95, project: str | None = None, backend: Backend | None = None) -> Any:
        """A row per value, as a dataframe of the library you already have: pandas, polars or pyarrow.

        Names and numbers are those of each attribute's own `Estimate.frame`: the unbiased `frequency`, its `stderr`, the ends
        `low` and `high` of its interval, and `count`, how many of the people who reported the attribute have the value.
        `projected` is what the consistency step `project` makes of the frequencies.
        """
        import narwhals as nw

        frames = []
        for name, estimate in self.estimates.items():
            frame = nw.from_native(estimate.frame(level, backend), eager_only=True)
            columns = [nw.lit(name).alias("attribute"), *map(nw.col, frame.columns)]
            frame = frame.select(*columns)
            if project is not None:
                frame = frame.with_columns(nw.new_series("projected", estimate.project(project), backend=frame.implementation))
            frames.append(frame)
        return nw.maybe_reset_index(nw.concat(frames)).to_native()

    def text(self, level: float = 0.95, project: str | None = None, most: int | None = None) -> str:
        """A plain table per attribute, with at most so many values of each."""
        lines = [f"{self.n:,} records reported for plan {self.plan_id[:12]}; {100 * level:g} % intervals"]
        rows = self.rows(level, project)
        numbers = [name for name in ("frequency", "stderr", "low", "high", "projected") if name in rows[0]]
        for name, estimate in self.estimates.items():
            shown = [row for row in rows if row["attribute"] == name][:most]
            wide = max(12, *(len(str(row["value"])) for row in shown))
            lines += ["", f"{name} ({estimate.n:,} reports)", f"{'value':>{wide}}" + "".join(f"{one:>11}" for one in numbers)]
            lines += [f"{row['value']!s:>{wide}}" + "".join(f"{row[one]:11.4f}" for one in numbers) for row in shown]
            if len(shown) < estimate.k:
                lines.append(f"{'...':>{wide}} and {estimate.k - len(shown)} more; frame() has them all")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text(most=20)

    def _repr_html_(self) -> str:
        parts = [f"<h4>{html.escape(name)}</h4>{estimate._repr_html_()}" for name, estimate in self.estimates.items()]
        return f"<p>{self.n:,} records reported for plan {self.plan_id[:8]}…</p>" + "".join(parts)
