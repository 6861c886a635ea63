"""Plans a study that goes on with an earlier plan, so that what devices keep is carried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from deniable.explain.references import name_protocol
from deniable.mechanisms import Direct, Mechanism, calibrate
from deniable.plan.chain import is_carried
from deniable.plan.document import PlanDocument
from deniable.records import Faked, Sample, Single, Split
from deniable.rounds import Memoized
from deniable.rounds.carried import grow
from deniable.rounds.memoized import MemoizedBuckets
from deniable.rounds.named import solve_second


def follow_study(study: Any, before: PlanDocument) -> Any:
    """The study with the choices of the plan before, where it has none of its own and asks the same."""
    if study.rounds is None or set(study.inquiry.attributes) != set(before.names):
        return study
    chosen: dict[str, Any] = {}
    if study.mechanism is None and before.mechanism.d > 1:
        is_split = bool(study.changes) and isinstance(before.mechanism, Split)
        usual = "split" if is_split else "sample"
        chosen["mechanism"] = "faked" if isinstance(before.mechanism, Faked) else usual
    if study.protocol is None:
        free = [pair for pair in before.pairs if not (pair[1].metric or pair[1].numeric)]
        chosen["protocol"] = {attribute.name: name_protocol(part) for attribute, part in free}
    return replace(study, **chosen)


def follow_document(document: PlanDocument, before: PlanDocument) -> PlanDocument:
    """The plan that continues the one before, with its kept answers wherever they lose as much as planned."""
    mechanism, old = document.mechanism, before.mechanism
    if document.names == before.names and type(mechanism) is type(old):
        plans = [
            plan.mechanism.mechanisms for plan in (*before.continues, before) if plan.names == document.names
        ]
        parts = tuple(map(_follow_part, mechanism.mechanisms, zip(*plans, strict=True)))
        if isinstance(mechanism, Single):
            mechanism = Single(parts[0])
        elif isinstance(mechanism, Sample):
            mechanism = replace(mechanism, parts=parts, weights=cast(Sample, old).weights)
    return replace(document, mechanism=mechanism, continues=(*before.continues, before))


def _follow_part(new: Mechanism, earlier: Sequence[Mechanism]) -> Mechanism:
    """The planned mechanism, with an old first round if both lose as much of a value for ever."""
    if not isinstance(new, Memoized | MemoizedBuckets) or type(new) is not type(earlier[-1]):
        return new
    planned = _find_buckets(new)
    old = [_find_buckets(part) for part in earlier if type(part) is type(new)]
    near = [each for each in old if abs(each.first.loss() - planned.first.loss()) <= _NEAR]
    before = [*old, *near][-1]
    if not (isinstance(before.first, Direct) and isinstance(planned.first, Direct)):
        return new
    if isinstance(new, MemoizedBuckets):
        first = before.first if near else calibrate.direct(before.k, planned.first.loss())
        carried = replace(new, buckets=solve_second(first, planned.loss()))
        return carried if first != planned.first and is_carried(earlier[-1], carried) else new
    grown = grow(before.first, new.k) if near else None
    return new if grown is None or grown == planned.first else solve_second(grown, planned.loss())


def _find_buckets(part: Mechanism) -> Memoized:
    return part.buckets if isinstance(part, MemoizedBuckets) else cast(Memoized, part)


_NEAR = 1e-6  # nats: the same epsilon_forever, calibrated for another number of values
