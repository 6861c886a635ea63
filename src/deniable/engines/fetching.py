"""Fetches rows that an engine cannot count itself, in blocks, so that memory does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

from deniable.engines.counting import quote
from deniable.engines.databases import Engine

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True)
class EngineRows:
    """Rows of a table of an engine, which are read as those of a file are."""

    engine: Engine
    source: str
    """What follows FROM."""

    @cached_property
    def rows(self) -> int:
        """How many rows there are, as the engine counts them."""
        rows = f'SELECT 1 AS "one" FROM {self.source} AS "reports"'
        ((n,),) = self.engine.run(f'WITH "rows" AS ({rows}) SELECT COUNT(*) AS "n" FROM "rows"')
        return int(n)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks."""
        import pyarrow as pa

        types = {
            "integer": pa.int64(),
            "list": pa.list_(pa.int64()),
            "text": pa.string(),
            "date": pa.date32(),
            "bool": pa.bool_(),
        }
        kinds = self.engine.kinds
        columns = ", ".join(map(quote, names))
        first = f'SELECT {columns} FROM {self.source} AS "reports"'
        schema = pa.schema([(name, types[kinds[name]]) for name in names])
        return self.engine.stream(f'WITH "rows" AS ({first}) SELECT {columns} FROM "rows"', schema)
