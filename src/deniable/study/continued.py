"""Plans a study that goes on with an earlier plan, so that what devices keep is carried on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from deniable.explain.references import name_protocol
from deniable.mechanisms import Direct, Mechanism
from deniable.plan.chain import is_carried
from deniable.plan.document import PlanDocument
from deniable.records import Faked, Sample, Single
from deniable.rounds import Memoized
from deniable.rounds.grown import grow
from deniable.rounds.memoized import MemoizedBuckets
from deniable.rounds.named import solve_second


def follow_study(study: Any, before: PlanDocument) -> Any:
    """The study with the choices of the plan before, where it has none of its own and asks the same."""
    if set(study.inquiry.attributes) != set(before.names):
        return study
    chosen: dict[str, Any] = {}
    if study.mechanism is None and before.mechanism.d > 1:
        chosen["mechanism"] = "faked" if isinstance(before.mechanism, Faked) else "sample"
    if study.protocol is None:
        free = [pair for pair in before.pairs if not (pair[1].metric or pair[1].numeric)]
        chosen["protocol"] = {attribute.name: name_protocol(part) for attribute, part in free}
    return replace(study, **chosen)


def follow_document(document: PlanDocument, before: PlanDocument) -> PlanDocument:
    """The plan that continues the one before, with its kept answers wherever they lose as much as planned."""
    mechanism, old = document.mechanism, before.mechanism
    if document.names == before.names and type(mechanism) is type(old):
        parts = tuple(map(_follow_part, mechanism.mechanisms, old.mechanisms))
        if isinstance(mechanism, Single):
            mechanism = Single(parts[0])
        elif isinstance(mechanism, Sample):
            mechanism = replace(mechanism, parts=parts, weights=cast(Sample, old).weights)
    return replace(document, mechanism=mechanism, continues=(*before.continues, before))


def _follow_part(new: Mechanism, old: Mechanism) -> Mechanism:
    """The planned mechanism, or one with the old first round, if both lose as much of a value for ever."""
    if type(new) is not type(old) or is_carried(old, new) or not isinstance(new, Memoized | MemoizedBuckets):
        return new
    before, planned = _find_buckets(old), _find_buckets(new)
    if not isinstance(before.first, Direct) or abs(before.first.loss() - planned.first.loss()) > _NEAR:
        return new
    if isinstance(new, MemoizedBuckets):
        carried = replace(new, buckets=solve_second(before.first, planned.loss()))
        return carried if is_carried(old, carried) else new
    first = grow(before.first, new.k) if new.k > old.k else None
    return new if first is None else solve_second(first, planned.loss())


def _find_buckets(part: Mechanism) -> Memoized:
    return part.buckets if isinstance(part, MemoizedBuckets) else cast(Memoized, part)


_NEAR = 1e-6  # nats: the same epsilon_forever, calibrated for another number of values
