"""Reads plans, reports and tables by the text of spec/wire.md alone, without the library."""
