"""The data that the package carries is what papers/docs/data.md says, and every file can be read."""

from __future__ import annotations

import hashlib
import lzma
import re
from pathlib import Path

import pytest

from deniable_papers.data import published
from deniable_papers.data.published import FILES, FOLDER, rows_of

PAPERS = Path(__file__).parents[1]
CARRIED = published.carried_folder()
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \| (.+) \| (.+) \| `([0-9a-f]{64})` \|$", re.MULTILINE)
LICENSES = {"CC BY 4.0", "public domain", "public domain; MIT", "MIT", "facts"}
NOT_CARRIED = {"montgomery-911.csv", "census-income.data", "census-income.test"}


def read_content(path: Path) -> bytes:
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def test_the_table_names_every_file_with_its_license_and_hash() -> None:
    table = ROW.findall((PAPERS / "docs" / "data.md").read_text(encoding="utf-8"))
    files = {path.name.removesuffix(".xz"): path for path in CARRIED.iterdir() if path.name != "NOTICE.md"}
    assert sorted(name for name, *_ in table) == sorted(files)
    assert {terms for _, _, terms, _, _ in table} == LICENSES
    for name, _, _, _, sha256 in table:
        assert hashlib.sha256(read_content(files[name])).hexdigest() == sha256, name
        original = FILES[name].sha256 if name in FILES else None
        assert original in (None, sha256), f"{name} is not the publisher's original"


def test_what_may_not_be_carried_is_not() -> None:
    carried = {path.name.removesuffix(".xz") for path in CARRIED.iterdir()}
    assert set(FILES) - carried == NOT_CARRIED
    assert sum(path.stat().st_size for path in CARRIED.iterdir()) < 3_500_000


def test_notices_are_there() -> None:
    notice = (CARRIED / "NOTICE.md").read_text(encoding="utf-8")
    assert "Permission is hereby granted, free of charge" in notice
    assert "Copyright (c) 2020 hharcolezi" in notice
    assert "Copyright (c) 2023 Héber Hwang Arcolezi" in notice
    assert "CC BY 4.0" in notice


def test_every_carried_table_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a folder, a cache and a network."""
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setattr(published, "_cache", lambda: tmp_path)
    for name in sorted(set(FILES) - NOT_CARRIED - {"ms-fimu-marginals.json"}):
        first = published.read_text(FILES[name]).splitlines()[0].split(",")
        rows_of(FILES[name], first if name.endswith(".csv") else ())
