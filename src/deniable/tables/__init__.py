"""Reads answers from tables and files, and writes results to them."""

from deniable.tables.answers import (
    DEGREES,
    PLAN_KEY,
    ROWS,
    Show,
    column_names,
    columns_of,
    header_of,
    is_table,
    lacking,
    places_of,
    read_answers,
    separator_of,
    split_places,
)
from deniable.tables.categories import codes_for
from deniable.tables.files import existing, file_kind, replacing, require_pyarrow
from deniable.tables.frames import Backend, frame_of, frame_of_rows

__all__ = [
    "DEGREES",
    "PLAN_KEY",
    "ROWS",
    "Backend",
    "Show",
    "codes_for",
    "column_names",
    "columns_of",
    "existing",
    "file_kind",
    "frame_of",
    "frame_of_rows",
    "header_of",
    "is_table",
    "lacking",
    "places_of",
    "read_answers",
    "replacing",
    "require_pyarrow",
    "separator_of",
    "split_places",
]
