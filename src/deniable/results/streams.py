"""Tallies a stream of reports as it arrives: a dataframe of Spark without an end, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from deniable.engines import Request
from deniable.engines.databases import SparkTable
from deniable.engines.form import ID, check_columns
from deniable.engines.spark import drop_repeated
from deniable.errors import InvalidParameter
from deniable.plan.document import PlanDocument
from deniable.reports.reports import Tallies
from deniable.results.kept_tallies import KeptTallies, Partition, lock_file
from deniable.results.windows import count_windows

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

STARTS = 60
"""Seconds that a stream has to say its id, once it has begun."""


@final
@dataclass(frozen=True)
class StreamCount:
    """Counts the batches of a stream into a file of tallies, each batch once.

    A stream that is started again from its checkpoint repeats its last batch, with the same number. The file
    says which batch it has last, and is replaced at once, so that this batch is counted or not at all.
    """

    document: PlanDocument
    into: Path
    request: Request

    def add(self, batch: Any, number: int, query: str) -> None:
        """Count a batch of the stream with this id, if it is not counted yet."""
        with lock_file(self.into):
            kept = self.read(query)
            part = kept.partitions.get(query)
            if part is not None and int(part.digest) >= number:
                return
            windows: dict[Any, Tallies] = {} if part is None else dict(part.windows)
            for key, tallies in count_windows(self.document, self.request, batch).items():
                windows[key] = windows[key] + tallies if key in windows else tallies
            replace(kept, partitions={query: Partition(query, str(number), windows)}).write(self.into)

    def read(self, query: str) -> KeptTallies:
        """What was counted of this stream; refuse the file of another one, or of other windows."""
        kept = KeptTallies(self.document, self.request.keys, self.request.number, source="stream")
        if self.into.exists():
            kept = KeptTallies.read(self.into, self.document)
        if (kept.by, kept.number) != (self.request.keys, self.request.number):
            raise InvalidParameter(
                f"the tallies in {self.into} are kept by {', '.join(kept.by) or 'nothing'}, of round "
                f"{kept.number or 'any'}; name the same, or another file"
            )
        if set(kept.partitions) - {query}:
            raise InvalidParameter(
                f"the tallies in {self.into} are of another stream, or of files; its checkpoint says which "
                "reports they have, so go on with that checkpoint, or name another file"
            )
        return kept


def tally_stream(
    document: PlanDocument,
    frame: Any,
    into: Path,
    checkpoint: str,
    within: tuple[str, str] | None,
    request: Request,
    trigger: Mapping[str, Any],
) -> StreamingQuery:
    """Start to count a stream of rows in the table form."""
    form = document.table_form
    check_columns(form, SparkTable(frame).kinds, request.by, request.number)
    if within is not None:
        if ID not in form.more_columns or ID not in frame.columns:
            raise InvalidParameter("reports that come again are known by their id, and this table has none")
        frame = drop_repeated(
            frame, [name for name in (form.round_column, ID) if name in frame.columns], within
        )
    count, started = StreamCount(document, into, request), Future[str]()

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


def request_stream(document: PlanDocument, by: str | Sequence[str] | None, number: int | None) -> Request:
    """What is counted of each batch, to be added to the others."""
    keys = () if by is None else ((by,) if isinstance(by, str) else tuple(by))
    request = Request(document.table_form, keys, number, kept=True)
    assert not request.mixes_rounds  # which it refuses
    return request
