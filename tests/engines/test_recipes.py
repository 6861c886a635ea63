"""What docs/engines.md tells to type does run, with a real database."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import compute, csv, parquet

import deniable as dn
from tests import services

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
PLAN = dn.Study(
    {"smoker": ["yes", "no"], "device": ["phone", "desk"]}, epsilon=2.0, mechanism="split", protocol="grr"
).plan(people=1000)
LISTS = dn.Plan.of({"town": [str(i) for i in range(1000)]}, dn.ss(1000, 5.0), people=1000)


def read_blocks(heading: str) -> list[tuple[str, str]]:
    """The blocks of a section, each with its language."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(sh|python)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty schema; programs of this environment, and psql, are found by name."""
    if shutil.which("psql") is None:
        services.missing("psql is not installed")
    monkeypatch.chdir(tmp_path)
    address = services.cluster().url()
    monkeypatch.setenv("DATABASE", address)
    folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    return address


def do(language: str, text: str) -> str:
    """Type a block into a shell, or run it as a program; what it prints."""
    command = ["bash", "-e", "-c", text] if language == "sh" else [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_answers_become_days_in_a_database(database: str) -> None:
    PLAN.write("plan.json")
    rows = [
        f"{'yes' if i % 4 else 'no'},{'phone' if i % 2 else 'desk'},2026-11-0{1 + i % 3}" for i in range(600)
    ]
    Path("people.csv").write_text("\n".join(["smoker,device,day", *rows]))
    [made] = [do(*block) for block in read_blocks("From answers to days")]
    assert "600 records in 3 windows" in made
    table = parquet.read_table("reports.parquet").replace_schema_metadata()
    table = table.append_column("plan", compute.cast([PLAN.id] * 600, "string"))
    csv.write_csv(table, "reports.csv")
    _, estimated, copied = (do(*block) for block in read_blocks("Into PostgreSQL"))
    assert estimated == made
    assert copied.endswith(made)
    assert PLAN.tally(database, "reports", by="day").refused == {}


@pytest.mark.long
def test_lists_are_copied_to_a_database(database: str) -> None:
    LISTS.write("plan.json")
    reports = LISTS.privatize({"town": [str(i) for i in range(300)]}, dn.seeded(1))
    LISTS.write_reports("reports.parquet", reports)
    do(*read_blocks("Into PostgreSQL")[0])
    assert LISTS.tally(database, "reports") == LISTS.tally(reports)
