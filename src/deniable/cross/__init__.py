"""Reads two answers at once: tables of shares, conditional shares, ratios and tests."""

from deniable.cross.hypothesis import Test
from deniable.cross.table import CrossTable

__all__ = ["CrossTable", "Test"]
