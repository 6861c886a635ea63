"""Takes fakes out of the shares of a plan, under a model of them that is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.formatting import format_count
from deniable.results.result import Result
from deniable.study.plan import Plan
from deniable.summaries.recovery import FakeModel, Recovery, recover_shares

_SHOWN = 10  # values of an attribute: the targets, and the commonest of the others


@final
@dataclass(frozen=True)
class Recovered:
    """Shares of honest people by attribute, beside the estimates; they hold only if the model does."""

    estimates: Mapping[str, Estimate]
    recoveries: Mapping[str, Recovery]
    targets: Mapping[str, Sequence[int]]

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            name: {
                "model": one.model,
                "fakes": one.fakes,
                "targets": [str(self._labels(name)[value]) for value in self.targets[name]],
                "rows": [
                    {"value": str(label), "share": share, "low": low, "high": high}
                    for label, share, low, high in zip(
                        self._labels(name),
                        one.frequencies.tolist(),
                        one.low.tolist(),
                        one.high.tolist(),
                        strict=True,
                    )
                ],
            }
            for name, one in self.recoveries.items()
        }

    def columns(self, attribute: object, value: object) -> dict[str, float | None]:
        """What a row of a table about this value says besides."""
        names = ("recovered", "recovered low", "recovered high")
        one = self.recoveries.get(str(attribute))
        labels = [] if one is None else list(map(str, self._labels(str(attribute))))
        if one is None or str(value) not in labels:
            return dict.fromkeys(names)
        code = labels.index(str(value))
        parts = (one.frequencies, one.low, one.high)
        return {name: float(part[code]) for name, part in zip(names, parts, strict=True)}

    def __str__(self) -> str:
        lines: list[str] = []
        for name, one in self.recoveries.items():
            lines += [f"{name!r}, {format_count(self.estimates[name].n, 'report')}. {one}:"]
            labels, before = self._labels(name), self.estimates[name].frequencies
            order = [*self.targets[name], *(-one.frequencies).argsort().tolist()]
            for value in list(dict.fromkeys(order))[:_SHOWN]:
                shown = (before[value], one.frequencies[value], one.low[value], one.high[value])
                share, recovered, low, high = (f"{100 * part:.1f} %" for part in shown)
                lines.append(f"  {labels[value]}: {share} -> {recovered}, from {low} to {high}")
        return "\n".join(lines)

    def _labels(self, name: str) -> Sequence[object]:
        found = self.estimates[name]
        return range(found.k) if found.labels is None else found.labels


def recover_plan(
    plan: Plan,
    result: Result,
    fakes: float,
    model: FakeModel,
    targets: Mapping[str, Sequence[str]],
    level: float = 0.95,
) -> Recovered:
    """Take this share of fakes out of the attributes that have targets; out of all, if these are random.

    Nothing is guessed: the model, how many of all reports are fakes, and what they push is what you believe.
    Where people report some of the attributes, fakes that push values report those that have targets, each as
    often. Of the reports of such an attribute, they are a larger share.
    """
    for name in targets:
        if name not in result.estimates:
            raise InvalidParameter(not_among(name, "an attribute with shares", list(result.estimates)))
    chosen = list(targets) or list(result.estimates)
    codes = {
        name: [_find(result.estimates[name], name, one) for one in targets.get(name, ())] for name in chosen
    }
    recoveries = {}
    for name in chosen:
        attribute = plan.names.index(name)
        if plan.mechanism.fake(attribute) is not None:
            raise InvalidParameter(
                f"{name!r} is reported among fake answers (RS+FD): no made-up reports can be taken out"
            )
        part, estimate = plan.content.parts[attribute], result.estimates[name]
        aimed = model == "pushed values" and estimate.n < result.n
        share = fakes * result.n / (estimate.n * len(chosen)) if aimed else fakes
        if share >= 1:
            few = format_count(estimate.n, "report")
            raise InvalidParameter(f"{name!r} has {few}, fewer than the {fakes * result.n:,.0f} fakes")
        recoveries[name] = recover_shares(part, estimate, share, model, codes[name], level)
    return Recovered(result.estimates, recoveries, codes)


def _find(estimate: Estimate, name: str, label: str) -> int:
    labels = [str(one) for one in (range(estimate.k) if estimate.labels is None else estimate.labels)]
    if label not in labels:
        raise InvalidParameter(not_among(label, f"a value of {name!r}", labels))
    return labels.index(label)
