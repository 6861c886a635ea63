"""Takes fakes out of the shares of a plan, under a model of them that is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.formatting import format_percent
from deniable.plan.plan import Plan
from deniable.plan.result import Result
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

    def __str__(self) -> str:
        lines: list[str] = []
        for name, one in self.recoveries.items():
            lines += [f"{name!r}. {one}:"]
            labels, before = self._labels(name), self.estimates[name].frequencies
            order = [*self.targets[name], *(-one.frequencies).argsort().tolist()]
            for value in list(dict.fromkeys(order))[:_SHOWN]:
                ends = " to ".join(format_percent(float(end[value])) for end in (one.low, one.high))
                shares = " -> ".join(format_percent(float(part[value])) for part in (before, one.frequencies))
                lines.append(f"  {labels[value]}: {shares}, from {ends}")
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

    Nothing is guessed: the model, how many fakes there are and what they push is what you believe.
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
        part = plan.content.parts[attribute]
        recoveries[name] = recover_shares(part, result.estimates[name], fakes, model, codes[name], level)
    return Recovered(result.estimates, recoveries, codes)


def _find(estimate: Estimate, name: str, label: str) -> int:
    labels = [str(one) for one in (range(estimate.k) if estimate.labels is None else estimate.labels)]
    if label not in labels:
        raise InvalidParameter(not_among(label, f"a value of {name!r}", labels))
    return labels.index(label)
