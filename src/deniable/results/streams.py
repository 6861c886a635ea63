"""Tallies a stream of reports as it arrives: a dataframe of Spark without an end, batch by batch."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from deniable.engines import Request
from deniable.engines.databases import SparkTable
from deniable.engines.form import ID, MissingColumn, check_columns
from deniable.engines.spark import drop_repeated
from deniable.errors import InvalidParameter
from deniable.plan.document import PlanDocument
from deniable.reports.reports import Tallies, tally_reports
from deniable.results.kept_tallies import KeptTallies, Partition, lock_file
from deniable.results.windows import count_windows, find_round

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

STARTS = 60
"""Seconds that a stream has to say its id, once it has begun."""


@final
@dataclass(frozen=True)
class StreamCount:
    """Counts the batches of a stream into a file of tallies, each batch once, for a plan and those that it
    continues.

    A stream that is started again from its checkpoint repeats its last batch, with the same number. The file
    says which batch it has last, and is replaced at once, so that this batch is counted or not at all.
    """

    document: PlanDocument
    into: Path
    by: tuple[str, ...] = ()
    number: int | None = None

    @property
    def requests(self) -> dict[str, Request]:
        """What is counted of each batch, by the plan; reports of several rounds are refused."""
        plans = (self.document,) if self.number is not None else self.document.plans_in_table
        requests = {plan.id: Request(plan.table_form, self.by, self.number, kept=True) for plan in plans}
        assert not any(request.mixes_rounds for request in requests.values())  # which it refuses
        return requests

    def add(self, batch: Any, number: int, query: str) -> None:
        """Count a batch of the stream with this id, if it is not counted yet."""
        with lock_file(self.into):
            kept, requests = self.read(query), self.requests
            parts = [part.partitions[query] for part in kept.chain if query in part.partitions]
            if any(int(part.digest) >= number for part in parts):
                return
            of_plans = {part.document.id: part for part in kept.chain}
            for plan_id, request in requests.items():
                of_plan = of_plans[plan_id]
                try:
                    counted = count_windows(of_plan.document, request, batch)
                except MissingColumn:  # then there are no reports of this plan
                    if plan_id == self.document.id:
                        raise
                    continue
                windows = _begin_windows(of_plan, query, parts[-1:])
                for key, tallies in counted.items():
                    windows[key] = windows[key] + tallies if key in windows else tallies
                partitions = {query: Partition(query, str(number), windows)}
                of_plans[plan_id] = replace(of_plan, partitions=partitions)
            *before, last = of_plans.values()
            replace(last, before=tuple(before)).write(self.into)

    def read(self, query: str) -> KeptTallies:
        """What was counted of this stream; refuse the file of another one, or of other windows."""
        kept = replace(KeptTallies.begin(self.document, self.by, self.number), source="stream")
        if self.into.exists():
            kept = KeptTallies.read(self.into, self.document)
        if (kept.by, kept.number) != (self.by, self.number):
            raise InvalidParameter(
                f"the tallies in {self.into} are kept by {', '.join(kept.by) or 'nothing'}, of round "
                f"{kept.number or 'any'}; name the same, or another file"
            )
        if {name for part in kept.chain for name in part.partitions} - {query}:
            raise InvalidParameter(
                f"the tallies in {self.into} are of another stream, or of files; its checkpoint says which "
                "reports they have, so go on with that checkpoint, or name another file"
            )
        return kept


def _begin_windows(
    kept: KeptTallies, query: str, before: Sequence[Partition]
) -> dict[tuple[Hashable, ...], Tallies]:
    """The tallies that a plan has of a stream; of one that came to the stream later, those of reports to
    other plans alone.
    """
    if query in kept.partitions:
        return dict(kept.partitions[query].windows)
    nothing, form = tally_reports(kept.document, []), kept.document.table_form
    return {
        key: replace(
            nothing,
            refused={"plan": tallies.n + sum(tallies.refused.values())},
            round=find_round(form, kept.by, key, None),
        )
        for part in before
        for key, tallies in part.windows.items()
    }


def tally_stream(
    count: StreamCount,
    frame: Any,
    checkpoint: str,
    within: tuple[str, str] | None,
    trigger: Mapping[str, Any],
) -> StreamingQuery:
    """Start to count a stream of rows in the table form."""
    form, request = count.document.table_form, count.requests[count.document.id]
    check_columns(form, SparkTable(frame).kinds, request.by, request.number)
    if within is not None:
        if ID not in form.more_columns or ID not in frame.columns:
            raise InvalidParameter("reports that come again are known by their id, and this table has none")
        names = (form.plan_column, form.round_column, ID)
        frame = drop_repeated(frame, [name for name in names if name in frame.columns], within)
    started = Future[str]()

    def add(batch: Any, number: int) -> None:
        batch.persist()  # a plan may take several queries
        try:
            count.add(batch, number, started.result(STARTS))
        finally:
            batch.unpersist()

    writer = frame.writeStream.foreachBatch(add).option("checkpointLocation", checkpoint)
    query: StreamingQuery = (writer.trigger(**trigger) if trigger else writer).start()
    try:
        count.read(query.id)
    except BaseException:
        query.stop()
        raise
    started.set_result(query.id)
    return query
