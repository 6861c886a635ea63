"""`make demo` installs what the demo needs, `make test` everything."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = {"demo": "'.[serve]'", "tour": "'.[plot]'", "check": "'.[dev]'"}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What make looks at in a fresh clone."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def planned(folder: Path, target: str) -> str:
    """What make would run."""
    return subprocess.run(
        ["make", "-n", target], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_every_target_installs_what_it_needs_once(clone: Path) -> None:
    for target, extra in EXTRAS.items():
        printed = planned(clone, target)
        assert [other for other in EXTRAS.values() if other in printed] == [extra]
        assert "--quiet" not in printed
    (clone / ".venv/bin").mkdir(parents=True)
    for name in ("bin/python", "demo-ready", "tour-ready", "ready"):
        (clone / ".venv" / name).touch()
    for target in EXTRAS:
        assert "pip install" not in planned(clone, target)
