"""Writes the last day of a series in the text format of Prometheus, as its node exporter reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time

import numpy as np

from deniable.formatting import describe_metric, label_metric
from deniable.series.rule import Alarms
from deniable.series.series import Series


def write_metrics(series: Series, alarms: Alarms, day: date) -> str:
    """The numbers of a day with their intervals, and whether each raised an alarm on it."""
    return "\n".join([*_list_metrics(series, alarms, day), ""])


def _list_metrics(series: Series, alarms: Alarms, day: date) -> Iterator[str]:
    t, last = series.dates.index(day), series.document
    plan = (*last.continues, last)[0].id  # it stays when a plan continues others, and so do lines of a graph
    alarmed = {(alarm.attribute, alarm.value) for alarm in alarms.since(day).numbers}
    midnight = datetime.combine(day, time(), UTC).timestamp()
    yield from describe_metric(
        "deniable_day_timestamp_seconds", "gauge", "When the day begins that is shown."
    )
    yield f"deniable_day_timestamp_seconds{label_metric(plan=plan)} {midnight:.0f}"
    yield from describe_metric(
        "deniable_day_plan_info", "gauge", "The newest of the plans that continue the first one."
    )
    yield f"deniable_day_plan_info{label_metric(plan=plan, newest=last.id)} 1"
    yield from describe_metric("deniable_day_reports", "gauge", "Reports of the day.")
    yield f"deniable_day_reports{label_metric(plan=plan)} {series.reports[t]:.0f}"
    yield from describe_metric("deniable_day_burst", "gauge", "How many times the usual reports the day has.")
    yield f"deniable_day_burst{label_metric(plan=plan)} {series.bursts[t]:.4g}"
    labeled = [
        (line, label_metric(plan=plan, attribute=line.attribute, value=line.value)) for line in series.lines
    ]
    yield from describe_metric("deniable_day_alarm", "gauge", "Whether the number moved, by its last days.")
    for line, labels in labeled:
        yield f"deniable_day_alarm{labels} {int((line.attribute, line.value) in alarmed)}"
    ends = [(line.numbers[t], *(end[t] for end in line.interval(0.95))) for line, _ in labeled]
    texts = {
        "number": "The unbiased share or mean of the day.",
        "low": "The lower end of its 95 % interval.",
        "high": "The upper end of its 95 % interval.",
    }
    for i, (name, text) in enumerate(texts.items()):
        yield from describe_metric(f"deniable_day_{name}", "gauge", text)
        for (_, labels), numbers in zip(labeled, ends, strict=True):
            if np.isfinite(numbers[i]):
                yield f"deniable_day_{name}{labels} {numbers[i]:.6g}"
