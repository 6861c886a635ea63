"""Reads the published visits, calls and series that papers measure on."""
