"""Reads two answers at once: tables of shares, conditional shares, ratios and tests."""

from deniable.cross.independence import Test
from deniable.cross.source import Source
from deniable.cross.table import CrossTable, LikelyTable, Side, TableChange

__all__ = ["CrossTable", "LikelyTable", "Side", "Source", "TableChange", "Test"]
