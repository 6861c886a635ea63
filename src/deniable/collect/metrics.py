"""Counts what the collector does, in the text format of Prometheus; nothing in it is about a person."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import final

from deniable.collect.health import Key, Look
from deniable.collect.messages import REASONS
from deniable.formatting import describe_metric, label_metric
from deniable.store.sweeping import Traces

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


@final
class Metrics:
    """Counters since the collector was started."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self.counted = 0
        self.before = 0
        self.refused = dict.fromkeys(REASONS, 0)
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0
        self.certificate_ends: Callable[[], float] | None = None
        """When the certificate ends, where the collector serves one itself."""

    def committed(self, seconds: float) -> None:
        """Record that a group of reports was made durable in this many seconds."""
        self._buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(
        self,
        queue: int,
        reports: Iterable[tuple[str, int, int]],
        invitations: Mapping[str, int],
        tickets: Mapping[str, tuple[int, int]],
        looks: Mapping[Key, Look] | None = None,
    ) -> str:
        """All counters as text; `reports` has the counted reports, by plan and round, `looks` the last ones
        at their health; `invitations` has the unused ones, and `tickets` the exchanges and the used tickets,
        by plan.
        """
        lines = [
            *describe_metric(
                "deniable_reports_total", "counter", "Reports that were counted, or had been counted before."
            ),
            f'deniable_reports_total{{outcome="counted"}} {self.counted}',
            f'deniable_reports_total{{outcome="counted before"}} {self.before}',
            *describe_metric(
                "deniable_refused_total", "counter", "Requests and reports that were refused, by reason."
            ),
            *(f'deniable_refused_total{{reason="{reason}"}} {n}' for reason, n in self.refused.items()),
            *describe_metric("deniable_queue_length", "gauge", "Reports that wait to be made durable."),
            f"deniable_queue_length {queue}",
            *describe_metric("deniable_unswept", "gauge", "Reports and exchanges that were not swept yet."),
            f"deniable_unswept {self._traces.unswept}",
            *describe_metric(
                "deniable_swept_timestamp_seconds",
                "gauge",
                "The time before which all tables were swept, 0 for none.",
            ),
            f"deniable_swept_timestamp_seconds {self._traces.swept or 0:.6f}",
            *describe_metric(
                "deniable_log_swept_timestamp_seconds",
                "gauge",
                "The time before which the log of the database was cleared, 0 for none.",
            ),
            f"deniable_log_swept_timestamp_seconds {self._traces.log_swept or 0:.6f}",
            *describe_metric(
                "deniable_commit_seconds", "histogram", "How long it took to make a group of reports durable."
            ),
            *self._histogram("deniable_commit_seconds"),
            *describe_metric("deniable_reports", "gauge", "Reports in the store, by plan and round."),
            *(f"deniable_reports{label_metric(plan=plan, round=number)} {n}" for plan, number, n in reports),
            *describe_metric(
                "deniable_invitations_unused", "gauge", "Invitations that are still to be used, by plan."
            ),
            *(f"deniable_invitations_unused{label_metric(plan=plan)} {n}" for plan, n in invitations.items()),
            *describe_metric(
                "deniable_exchanges", "gauge", "Invitations that were exchanged for a ticket, by plan."
            ),
            *(f"deniable_exchanges{label_metric(plan=plan)} {n}" for plan, (n, _) in tickets.items()),
            *describe_metric("deniable_tickets_used", "gauge", "Tickets that let in a report, by plan."),
            *(f"deniable_tickets_used{label_metric(plan=plan)} {n}" for plan, (_, n) in tickets.items()),
            *self._describe_certificate(),
            *_describe_looks(looks or {}),
        ]
        return "\n".join(lines) + "\n"

    def _describe_certificate(self) -> list[str]:
        if self.certificate_ends is None:
            return []
        name = "deniable_certificate_end_timestamp_seconds"
        text = "When the certificate that is served ends."
        return [*describe_metric(name, "gauge", text), f"{name} {self.certificate_ends():.0f}"]

    def _histogram(self, name: str) -> list[str]:
        total, lines = 0, []
        for bound, n in zip((*map(str, _BOUNDS), "+Inf"), self._buckets, strict=True):
            total += n
            lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
        return [*lines, f"{name}_sum {self._seconds:.6f}", f"{name}_count {total}"]


def _describe_looks(looks: Mapping[Key, Look]) -> list[str]:
    """The health of the reports at the last look: nothing is computed here."""

    def gauge(name: str, text: str, values: Iterable[object]) -> Iterator[str]:
        yield from describe_metric(name, "gauge", text)
        for key, value in zip(looks, values, strict=True):
            yield f"{name}{label_metric(plan=key.plan, round=key.round)} {value}"

    health = [look.health for look in looks.values()]
    p_values = [
        (
            label_metric(plan=key.plan, round=key.round, attribute=check.attribute, check=check.name),
            check.p_value,
        )
        for key, look in looks.items()
        for check in look.health.checks
    ]
    return [
        *gauge(
            "deniable_health_alarms",
            "Checks of the reports that honest ones hardly ever fail.",
            [len(observed.alarms) for observed in health],
        ),
        *gauge(
            "deniable_health_checks",
            "Checks of the reports at the last look.",
            [len(observed.checks) for observed in health],
        ),
        *gauge(
            "deniable_health_reports",
            "Reports in the store at the last look.",
            [look.n for look in looks.values()],
        ),
        *gauge(
            "deniable_health_timestamp_seconds",
            "When the reports were looked at last, in seconds since 1970.",
            [f"{look.time:.3f}" for look in looks.values()],
        ),
        *describe_metric(
            "deniable_health_p_value", "gauge", "How often honest reports look at least as strange."
        ),
        *(f"deniable_health_p_value{labels} {p_value:g}" for labels, p_value in p_values),
    ]
