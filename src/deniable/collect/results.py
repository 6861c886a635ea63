"""Shows an operator the estimates of a plan, as JSON, CSV or Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar, final

import msgspec

from deniable.collect import messages
from deniable.collect.joining import ALONE, Before, list_breaks
from deniable.collect.messages import Estimates, Fit, Mean, Noise, Quantile, Refusal, Respondents, Row
from deniable.domain.grid import Grid
from deniable.errors import DeniableError, InvalidParameter
from deniable.formatting import format_count
from deniable.frames.files import csv_bytes
from deniable.reports import Tallies
from deniable.results.change import Change, compare_estimates
from deniable.results.findings import AMONG, Findings, FindingsRequest, tabulate
from deniable.results.joined import join_estimates_of_plans
from deniable.results.linked import Pairs, compare_pairs, count_participation, pair_reports
from deniable.results.range_queries import RangeQuery, ShownShare, answer_queries
from deniable.results.smoothed import list_smoothable
from deniable.results.unbiased import estimate_tallies
from deniable.rounds.differences import People
from deniable.store.store import Store
from deniable.study import Plan, Result

_MOST_KEPT = 10_000  # values: results of more would fill the memory, and take no longer than others
Kind = TypeVar("Kind", bound=messages.Message)

_LISTS: Mapping[str, type[Any]] = {
    "means": Mean,
    "groups": Row,
    "quantiles": Quantile,
    "noise": Noise,
    "respondents": Respondents,
    AMONG: Row,
    "fit": Fit,
}
"""What is found beside the shares of values, and the message of each."""


def enough(tallies: Tallies, minimum: int) -> Tallies:
    """Refuse to show results of too few reports."""
    refuse_few(tallies.n, minimum)
    return tallies


def refuse_few(n: int, minimum: int) -> None:
    """Refuse to show results of fewer reports than the minimum."""
    if n < minimum:
        raise Refusal("few", f"{format_count(n, 'report')} so far; results appear from {minimum:,} on.")


def result_of(plan: Plan, tallies: Tallies, text_alone: bool = False, before: Before = ALONE) -> Result:
    """The estimates; refused where nobody has reported a value of any attribute yet, or text alone.

    They are joined with what people reported to the plans that this one continues, `before` it.
    """
    documents = {document.id: document for document in (*plan.document.continues, plan.document)}
    try:
        results = [
            estimate_tallies(documents[each.plan_id], each, False, may_be_empty=True)
            for each in before.tallies
            if each.n
        ]
        results.append(estimate_tallies(plan.document, tallies, False, text_alone))
        return Result(join_estimates_of_plans(results, before.people))
    except InvalidParameter as problem:
        raise Refusal("few", f"{format_count(tallies.n, 'report')} so far: {problem}") from None


def estimated(
    plan: Plan,
    tallies: Tallies,
    number: int | None,
    level: float,
    include_slow: bool = True,
    smooth: bool = False,
    weights: str = "",
    before: Before = ALONE,
) -> Estimates:
    """The results of `deniable estimate`, by the same code; without attributes that nobody has reported yet.

    Grids take longest, and are left out without `include_slow`. What was found from the same tallies is kept:
    pages of several people ask again every few seconds, and the blocks of 2,000 cells take four. With
    `smooth`, the shares of ranges and grids are smoothed; with `weights`, known groups have those sizes.
    Shares that are joined with those of reports to plans `before` this one are not smoothed, and weighted
    ones are of this plan alone.
    """
    joined = ALONE if weights else before
    digest = b"".join(map(_digest, (tallies, *joined.tallies)))
    plans = plan.id, joined.people, *(earlier.plan_id for earlier in joined.tallies)
    key = (plans, digest, number, level, include_slow, smooth and not joined.tallies, weights)
    query = _Query(key, plan, tallies, joined)
    many = sum(tally.counts.size for tally in tallies.tallies.values()) > _MOST_KEPT
    estimates = _estimate.__wrapped__(query) if many else _estimate(query)
    rounds = [part.round for part in joined.tallies if part.n] + [tallies.round or number]
    return _name_rounds(estimates, plan, rounds, joined) if estimates.plans else estimates


def _name_rounds(estimates: Estimates, plan: Plan, rounds: Sequence[int | None], before: Before) -> Estimates:
    """Joined estimates with the round of each part, and with what is not joined."""
    plans = [
        msgspec.structs.replace(part, round=number)
        for part, number in zip(estimates.plans, rounds, strict=True)
    ]
    not_joined = [
        messages.NotJoined(part_id, name, why)
        for part_id in dict.fromkeys(part.plan for part in plans)
        for name, why in list_breaks(plan.document, part_id).items()
    ]
    return msgspec.structs.replace(estimates, plans=plans, not_joined=[*before.not_joined, *not_joined])


@final
@dataclass(frozen=True)
class _Query:
    """A request for estimates, equal to another if all that it asks for is, by the counts themselves."""

    key: tuple[tuple[str, ...], bytes, int | None, float, bool, bool, str]
    plan: Plan = field(compare=False, repr=False)
    tallies: Tallies = field(compare=False, repr=False)
    before: Before = field(compare=False, repr=False)


def _digest(tallies: Tallies) -> bytes:
    hashed = sha256(tallies.n.to_bytes(8, "little"))
    for name, tally in [
        item for table in (tallies.tallies, *tallies.groups) for item in sorted(table.items())
    ]:
        asked_counts = b"" if tally.asked is None else tally.asked.tobytes()
        for part in (name.encode(), tally.n.to_bytes(8, "little"), tally.counts.tobytes(), asked_counts):
            hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.digest()


@lru_cache(maxsize=64)
def _estimate(query: _Query) -> Estimates:
    plan, tallies = query.plan, query.tallies
    _, _, number, level, include_slow, smooth, weights = query.key
    result = result_of(plan, tallies, before=query.before)
    try:
        if smooth:
            result = plan.estimate(tallies, smooth)
        result = weigh(result, weights)
        about = Findings.read(result.numbers, level, FindingsRequest(include_slow=include_slow)).about()
        sure = _sure(result, level) if include_slow else {}
    except DeniableError as problem:
        raise Refusal("parameter", str(problem)) from None
    reported = [row for row in about["rows"] if row["attribute"] in result]
    rows = _write_row(
        Row, (row | {"low_together": next(sure.get(row["attribute"], iter((None,))))} for row in reported)
    )
    lists: dict[str, Any] = {name: _write_row(kind, about[name]) for name, kind in _LISTS.items()}
    lists |= {"refused": about["refused"], "questions": about["questions"]}
    lists["smoothable"] = [] if result.numbers.plans else list_smoothable(result.numbers)
    lists["plans"] = [messages.JoinedPlan(part.plan_id, part.n, None) for part in result.numbers.plans]
    if about["weights"] is not None:
        lists |= {"weights": msgspec.convert(about["weights"], messages.Weights)}
    return Estimates(plan.id, number, result.n, level, rows, smooth=smooth, **lists)


def weigh(result: Result, weights: str) -> Result:
    """The result of a population, by the sizes of known groups as JSON; as it is without any."""
    if not weights:
        return result
    try:
        sizes = msgspec.json.decode(weights, type=dict[str, dict[str, float]])
    except msgspec.DecodeError:
        raise InvalidParameter('weights are JSON, such as {"region": {"north": 0.4, "south": 0.6}}') from None
    return result.weighted(sizes)


def between(
    plan: Plan,
    tallies: Tallies,
    number: int | None,
    query: RangeQuery,
    level: float,
    weights: str,
    before: Before = ALONE,
) -> messages.Between:
    """The share of a range, as `deniable estimate --range` shows it."""
    result = weigh(result_of(plan, tallies, before=ALONE if weights else before), weights)
    [(name, shares)] = answer_queries(result.numbers, [query], level).items()
    estimate = shares[query]
    share = ShownShare.of(result.numbers, name, query, estimate)
    possible = share.share.value, share.share.low, share.share.high
    numbers = *possible, estimate.value, estimate.stderr
    return messages.Between(
        plan.id, number, name, str(query), level, *numbers, noisy=share.noisy, moved_from=share.moved_from
    )


def crossed(
    plan: Plan, tallies: Tallies, number: int | None, pair: tuple[str, str], level: float, weights: str
) -> dict[str, Any]:
    """The table of `deniable cross`, by the same code."""
    result = weigh(result_of(plan, tallies), weights)
    return {"plan": plan.id, "round": number} | result.cross(*pair, level).about()


@final
@dataclass(frozen=True)
class Comparison:
    """The tallies of two rounds, and whose change is meant."""

    since: int
    earlier: Tallies
    round: int
    later: Tallies
    level: float
    people: People | None
    """None: of those who answered both where their reports are linked, else of the population."""
    weights: str = ""
    pairs: Pairs | None = None

    @property
    def may_pair(self) -> bool:
        """Whether linked reports are to be compared person by person."""
        return self.people == "linked" or (self.people is None and not self.weights)

    def read(self, plan: Plan) -> Change:
        """The change of all attributes but grids, by the code of `--change-from`."""
        if self.pairs is not None:
            return compare_pairs(self.pairs, self.level)
        if self.people == "linked":
            raise InvalidParameter(
                "people=linked is about reports that are linked and not scrubbed; ask for another change"
            )
        before, now = (
            weigh(result_of(plan, tallies), self.weights).numbers for tallies in (self.earlier, self.later)
        )
        return compare_estimates(before, now, self.level, self.people, include_slow=False)

    def about(self, plan: Plan) -> dict[str, Any]:
        """Which rounds these are."""
        return {"plan": plan.id, "round": self.round, "since": self.since}


def pair_rounds(store: Store, plan: Plan, comparison: Comparison) -> Pairs | None:
    """The reports of those who answered both rounds; None where some are scrubbed."""
    numbers = comparison.since, comparison.round

    def is_scrubbed() -> bool:
        return any(stored.scrubbed for stored in store.rounds(plan.id) if stored.number in numbers)

    if comparison.weights:
        raise InvalidParameter("people=linked is about those who answered both, and weights about others")
    if is_scrubbed():
        return None
    blocks = [list(store.reports(plan.id, number)) for number in numbers]
    # somebody may scrub while they are read: so few would seem to have answered both
    return None if is_scrubbed() else pair_reports(plan.document, *blocks)


def enough_people(pairs: Pairs, minimum: int) -> None:
    """Refuse to compare too few people."""
    both = pairs.rounds[0].n
    if both < minimum:
        raise Refusal(
            "few", f"{format_count(both, 'person')} answered both rounds; results appear from {minimum:,} on."
        )


def list_participation(store: Store, plan: Plan) -> list[messages.Participation]:
    """Who answered each round and the one before it, as far as both have reports."""
    return [
        messages.Participation(since, number, **asdict(shown))
        for (since, number), shown in count_participation(store, plan.id).items()
    ]


def changed(plan: Plan, comparison: Comparison) -> dict[str, Any]:
    """The change of every share and mean from one round to another."""
    return comparison.about(plan) | comparison.read(plan).about()


def changed_table(plan: Plan, comparison: Comparison, pair: tuple[str, str]) -> dict[str, Any]:
    """The change of a table from one round to another; by a known question it is that of the population."""
    known = plan.document.known
    if comparison.people is None and known is not None and set(known.names) & set(pair):
        comparison = replace(comparison, pairs=None)
    return comparison.about(plan) | comparison.read(plan).cross(*pair).about()


def _sure(result: Result, level: float) -> dict[str, Iterator[float]]:
    """For locations, which are many: the low ends of intervals that hold for all of them at once."""
    locations = [name for name in result.estimates if isinstance(result.domains[name], Grid)]
    findings = Findings(result.numbers, level)
    lows = {name: findings.find_unbiased(name, 1 - (1 - level) / result[name].k)[2] for name in locations}
    return {name: iter(low.tolist()) for name, low in lows.items()}


def _write_row(kind: type[Kind], rows: Iterable[Mapping[str, Any]]) -> list[Kind]:
    """Write one finding as `deniable estimate` does, in the fields of a message."""
    names = kind.__struct_fields__
    return [kind(**{name: row[name] for name in names if name in row}) for row in rows]


def as_csv(estimates: Estimates) -> bytes:
    """The table, with a header."""
    return csv_bytes(_table(estimates))


def as_parquet(estimates: Estimates) -> bytes:
    """The table as a Parquet file."""
    pa, parquet = require_pyarrow()
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(_table(estimates)), sink)
    return sink.getvalue()


def require_pyarrow() -> tuple[Any, Any]:
    """Refuse Parquet where its library is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise Refusal(
            "parameter", "This collector writes no Parquet: its machine lacks the extra 'frames' of deniable"
        ) from None
    return pa, parquet


def _table(estimates: Estimates) -> list[dict[str, Any]]:
    """Rows that can be read on their own, with the columns of `deniable estimate` in its order."""
    kinds = (estimates.rows, estimates.groups, estimates.among, estimates.means, estimates.quantiles)
    about: dict[str, Any] = {"level": estimates.level, "plan": estimates.plan, "round": estimates.round}
    if estimates.day:
        about["day"] = estimates.day
    if estimates.outdated:
        counted = f"{estimates.outdated.counted:%Y-%m-%dT%H:%M:%SZ}"
        about["outdated"] = f"counted at {counted}; not read since: {estimates.outdated.why}"
    if estimates.plans:
        about["plans"] = " ".join(part.plan for part in estimates.plans)
    values, groups, among, means, quantiles = (list(map(msgspec.to_builtins, rows)) for rows in kinds)
    rows = tabulate(values, groups, among, means, quantiles, (), estimates.questions)
    return [row | about for row in rows]
