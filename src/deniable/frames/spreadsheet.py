"""Writes rows as CSV that a spreadsheet opens without running anything in it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r")  # also in full width
_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?"
_HARMLESS = re.compile(rf"{_NUMBER}(?: to under {_NUMBER}| or more)?")  # numbers, and the names of their bins


def csv_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A table with a header, in UTF-8; all rows have the columns of the first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escape_formula, rows[0]))
    writer.writerows([escape_formula(cell) for cell in row.values()] for row in rows)
    return text.getvalue().encode()


def escape_formula(cell: object) -> object:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    >>> [escape_formula(cell) for cell in ("=HYPERLINK(...)", "red", -0.5, "-10 to under 0")]
    ["'=HYPERLINK(...)", 'red', -0.5, '-10 to under 0']
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _HARMLESS.fullmatch(cell):
        return f"'{cell}"
    return cell
