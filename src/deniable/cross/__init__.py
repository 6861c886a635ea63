"""Reads two answers at once: tables of shares, conditional shares, ratios and tests."""

from deniable.cross.hypothesis import Test
from deniable.cross.likely import LikelyTable
from deniable.cross.sides import Side
from deniable.cross.source import Source
from deniable.cross.table import CrossTable, TableChange

__all__ = ["CrossTable", "LikelyTable", "Side", "Source", "TableChange", "Test"]
