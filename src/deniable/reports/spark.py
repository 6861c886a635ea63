"""Privatizes tables that are too large for one machine: dataframes of Spark, in the tasks of its cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from deniable.engines.databases import name_kind
from deniable.engines.form import check_beside
from deniable.engines.parquet import reports_schema, to_batch
from deniable.engines.spark import map_once
from deniable.errors import InvalidParameter
from deniable.frames import columns_of
from deniable.frames.answers import split_locations
from deniable.reports.extra_columns import refuse_beside
from deniable.reports.privatize import choose_columns, privatize_answers

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.plan.document import PlanDocument
    from deniable.randomness import Words


def privatize_frame(
    document: PlanDocument,
    frame: Any,
    words: Words | None = None,
    people: object = None,
    into: str | None = None,
    beside: Sequence[str] = (),
) -> Any:
    """A dataframe of reports, a row for each row of answers: the columns of the table form, those that are to
    stand `beside` them as they are, and no others.
    """
    if words is not None or people is not None:
        raise InvalidParameter(
            "the tasks of a cluster take their words from their own operating systems: a task that runs "
            "again would reuse given ones; leave out words and people, or simulate on this machine"
        )
    if document.rounds is not None:
        raise InvalidParameter(
            "this plan asks again and again, so that every person's first answer must be kept on their own "
            "device; a cluster cannot keep it for them"
        )
    needed = list(choose_columns(document, document.attributes, frame.columns))
    locations = [name for name in document.locations if name in needed]
    nothing: dict[str, list[Any]] = {name: [] for name in frame.columns}
    columns_of(nothing, needed, locations)  # refuses here what a task would refuse
    columns = split_locations(needed, frame.columns, locations)
    types = dict(frame.dtypes)
    refuse_beside(document, columns, beside, list(types))
    check_beside(document.table_form, {name: name_kind(types[name], "spark") for name in beside})
    work = partial(_privatize_blocks, document.to_json(), tuple(columns))
    return map_once(frame, columns, work, document.table_form, into, beside)


def _privatize_blocks(
    text: str, names: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What a task does: it verifies the plan, and takes its random words from its own operating system."""
    import pyarrow as pa

    from deniable.plan.document import PlanDocument

    document = PlanDocument.from_json(text)
    form = document.table_form
    schema = reports_schema(form)
    for batch in batches:
        if not batch.num_rows:
            continue
        answers = pa.Table.from_batches([batch.select(range(len(names)))]).rename_columns(list(names))
        encoded = to_batch(privatize_answers(document, answers, None, None).records, form, schema)
        arrays = [*encoded.columns, pa.array([document.id] * batch.num_rows), *batch.columns[len(names) :]]
        yield pa.RecordBatch.from_arrays(arrays, [f"r{i}" for i in range(len(arrays))])
