"""Counts what the collector does, in the text format of Prometheus; nothing in it is about a person."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import final

from deniable.collect.messages import REASONS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


@final
class Metrics:
    """Counters since the collector was started."""

    def __init__(self) -> None:
        self.counted = 0
        self.before = 0
        self.refused = dict.fromkeys(REASONS, 0)
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def committed(self, seconds: float) -> None:
        """Record that a group of reports was made durable in this many seconds."""
        self._buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, queue: int, reports: Iterable[tuple[str, int, int]]) -> str:
        """All counters as text; `reports` has the counted reports, by plan and round."""
        lines = [
            *_head(
                "deniable_reports_total", "counter", "Reports that were counted, or had been counted before."
            ),
            f'deniable_reports_total{{outcome="counted"}} {self.counted}',
            f'deniable_reports_total{{outcome="counted before"}} {self.before}',
            *_head("deniable_refused_total", "counter", "Requests and reports that were refused, by reason."),
            *(f'deniable_refused_total{{reason="{reason}"}} {n}' for reason, n in self.refused.items()),
            *_head("deniable_queue_length", "gauge", "Reports that wait to be made durable."),
            f"deniable_queue_length {queue}",
            *_head(
                "deniable_commit_seconds", "histogram", "How long it took to make a group of reports durable."
            ),
            *self._histogram("deniable_commit_seconds"),
            *_head("deniable_reports", "gauge", "Reports in the store, by plan and round."),
            *(f'deniable_reports{{plan="{plan}",round="{number}"}} {n}' for plan, number, n in reports),
        ]
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str) -> list[str]:
        total, lines = 0, []
        for bound, n in zip((*map(str, _BOUNDS), "+Inf"), self._buckets, strict=True):
            total += n
            lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
        return [*lines, f"{name}_sum {self._seconds:.6f}", f"{name}_count {total}"]


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
