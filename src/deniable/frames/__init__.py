"""Reads answers from tables and files, and writes results to them."""

from deniable.frames.answers import (
    DEGREES,
    PLAN_KEY,
    ROWS,
    Show,
    codes_for,
    column_names,
    columns_of,
    find_lacking,
    header_of,
    is_table,
    locate_rows,
    read_answers,
    separator_of,
    split_locations,
)
from deniable.frames.files import file_kind, read_toml, replacing, require_file, require_pyarrow
from deniable.frames.frames import Backend, frame_of, frame_of_rows

__all__ = [
    "DEGREES",
    "PLAN_KEY",
    "ROWS",
    "Backend",
    "Show",
    "codes_for",
    "column_names",
    "columns_of",
    "file_kind",
    "find_lacking",
    "frame_of",
    "frame_of_rows",
    "header_of",
    "is_table",
    "locate_rows",
    "read_answers",
    "read_toml",
    "replacing",
    "require_file",
    "require_pyarrow",
    "separator_of",
    "split_locations",
]
