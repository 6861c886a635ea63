"""Recognizes the addresses of engines, and shows them without what is secret."""

from __future__ import annotations

from pathlib import Path

POSTGRES = ("postgresql://", "postgres://")
SPARK = "spark://"
DUCKDB = "duckdb:///"
_DUCKDB_FILES = (".duckdb", ".ddb")


def is_address(address: object) -> bool:
    """Whether something is the address of an engine, and not the name of files of reports."""
    return isinstance(address, str | Path) and (
        str(address).startswith((*POSTGRES, SPARK)) or find_duckdb(address) is not None
    )


def find_duckdb(address: object) -> Path | None:
    """The file of a DuckDB database, by its ending or by its address; None of anything else.

    >>> str(find_duckdb("lake.duckdb")), str(find_duckdb("duckdb:///lake.db")), find_duckdb("lake")
    ('lake.duckdb', 'lake.db', None)
    """
    if not isinstance(address, str | Path):
        return None
    text = str(address)
    if text.startswith(DUCKDB):
        return Path(text.removeprefix(DUCKDB))
    return Path(text) if text.lower().endswith(_DUCKDB_FILES) else None


def hide_password(source: str) -> str:
    """An address as it may be shown: without what is secret in it.

    >>> hide_password("postgresql://me:secret@host:5432/db?password=x")
    'postgresql://host:5432/db'
    """
    scheme, sign, rest = source.partition("://")
    return f"{scheme}{sign}{rest.rpartition('@')[2].partition('?')[0]}" if sign else source
