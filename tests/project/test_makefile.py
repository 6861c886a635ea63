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


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_release_installs_only_what_has_a_known_hash(clone: Path) -> None:
    """It is not built here: what make would run is read, and what it would install has hashes."""
    for name in ("js/package.json", "js/pages/package.json"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    lines = [line for line in planned(clone, "release").splitlines() if "/pip " in line]
    fetched, *installed = lines
    assert "download" in fetched
    assert "--require-hashes -r hashes.txt -d build/wheels" in fetched
    assert len(installed) == 2
    assert all("--no-index --find-links build/wheels" in line for line in installed)
    tools = installed[0].partition("-c constraints.txt ")[2].split()
    assert {"build", "cyclonedx-bom", "hatchling"} <= set(tools)
    known = (ROOT / "hashes.txt").read_text().splitlines()
    assert [tool for tool in tools if not any(line.startswith(f"{tool}==") for line in known)] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_release_has_its_bills_of_materials_and_hashes(clone: Path) -> None:
    for name in ("js/package.json", "js/pages/package.json"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    printed = planned(clone, "release")
    steps = (
        "-m build --no-isolation",
        "dist/deniable.cdx.json",
        "dist/deniable-pages.cdx.json",
        "SHA256SUMS",
    )
    places = [printed.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places), "hashes come last, and are of all files"
