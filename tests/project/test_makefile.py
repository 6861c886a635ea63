"""What make installs: the demo what it needs, the tests everything; by pins, with hashes of known files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
FILES = {"demo": "hashes/demo.txt", "check": "hashes/test.txt"}
PAPERS = ("papers/pyproject.toml", "hashes/papers.txt")
LOCKS = ("js/package-lock.json", "js/pages/package-lock.json")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What make looks at in a fresh clone."""
    for name in ("Makefile", "pyproject.toml", *FILES.values(), *PAPERS, *LOCKS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def planned(folder: Path, target: str) -> str:
    """What make would run."""
    return subprocess.run(
        ["make", "-n", target], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_every_target_installs_what_it_needs_once(clone: Path) -> None:
    for target, file in FILES.items():
        printed = planned(clone, target)
        assert re.findall(r"-r (\S+)", printed) == [file]
        installs = re.findall(r"pip install [^&;]*", printed)
        assert ["--require-hashes" in one or "--no-deps --no-build-isolation" in one for one in installs] == [
            True,
            True,
        ]
        assert "--quiet" not in printed
    (clone / ".venv/bin").mkdir(parents=True)
    for name in ("bin/python", "demo-ready", "ready"):
        (clone / ".venv" / name).touch()
    for target in FILES:
        assert "pip install" not in planned(clone, target)
    papers = planned(clone, "papers")
    assert re.findall(r"-r (\S+)", papers) == ["hashes/papers.txt"]
    assert "--no-deps --no-build-isolation -e ./papers" in papers


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_release_installs_only_what_has_a_known_hash(clone: Path) -> None:
    """It is not built here: what make would run is read, and what it would install has hashes."""
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


def test_nothing_beside_the_clone_is_used() -> None:
    """Our machines have a folder of datasets there, others do not."""
    beside = "/".join(("shared", "datasets"))
    for path in (ROOT / "Makefile", *(ROOT / "tests").rglob("*.py"), *(ROOT / "src").rglob("*.py")):
        assert beside not in path.read_text(encoding="utf-8"), path
    guard = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "env -u DENIABLE_DATA HOME=" in guard
    assert 'make -C "$stranger/clone"' in guard


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_npm_installs_only_what_is_locked(clone: Path) -> None:
    printed = planned(clone, "release")
    assert "npx" not in printed
    assert len(re.findall("&& npm install --omit-lockfile-registry-resolved", printed)) == 3
    assert "--no-package-lock" not in printed


def test_the_wheel_holds_every_file_of_the_package() -> None:
    """Pages, letters, examples and tables are files beside the modules, and some are read at import. Vectors
    are beside the package in a clone, and in it in a wheel.
    """
    package = ROOT / "src" / "deniable"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    held = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    spec = ROOT / "spec"
    vectors = {f"deniable/{path.relative_to(spec).as_posix()}" for path in spec.glob("vectors/**/*.json")}
    assert held == {path.relative_to(package.parent).as_posix() for path in files} | vectors
    assert {path.suffix for path in files} >= {".py", ".json", ".toml", ".html"}


_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def pins(text: str) -> dict[str, str]:
    """Versions by the names of packages, spelled as an index does."""
    found = (_PIN.match(line) for line in text.splitlines())
    return {re.sub(r"[-_.]+", "-", one[1].lower()): one[2] for one in found if one}


def test_hashes_are_those_of_the_pins() -> None:
    constraints, library, papers = (
        (ROOT / name).read_text() for name in ("constraints.txt", "hashes.txt", "hashes/papers.txt")
    )
    hashes = library + papers
    assert pins(hashes) == pins(constraints), "make hashes writes them anew"
    for package in re.split(r"\n(?! )", hashes.strip()):
        head, *lines = [line.strip(" \\") for line in package.splitlines()]
        assert _PIN.match(head), head
        assert lines, f"{head} has no hash"
        assert all(_HASH.fullmatch(line) for line in lines), f"{head} has more than hashes"


def test_parts_of_the_hashes_are_those_of_the_whole() -> None:
    whole = set(re.split(r"\n(?! )", (ROOT / "hashes.txt").read_text().strip()))
    for name in ("hashes/demo.txt", "hashes/test.txt"):
        part = set(re.split(r"\n(?! )", (ROOT / name).read_text().strip()))
        names = {_PIN.match(package)[0] for package in part}  # type: ignore[index]
        assert names <= {_PIN.match(package)[0] for package in whole}  # type: ignore[index]
        assert {_only_hashes(package) for package in part} <= {_only_hashes(package) for package in whole}
        assert any(package.startswith("hatchling==") for package in part), "it builds the project"


def _only_hashes(package: str) -> tuple[str, ...]:
    return tuple(_HASH.findall(package))


def test_npm_locks_have_integrity_and_no_hosts() -> None:
    for folder in ("js", "js/pages", "js/release"):
        stated = json.loads((ROOT / folder / "package.json").read_text())
        locked = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
        root = locked.pop("")
        for kind in ("dependencies", "devDependencies"):
            assert root.get(kind, {}) == stated.get(kind, {}), f"make hashes writes the lock of {folder} anew"
        for name, package in locked.items():
            assert package["integrity"].startswith("sha512-"), name
            assert "resolved" not in package, name


def test_the_pages_state_the_library_that_the_client_is_built_with() -> None:
    """Their bill of materials lists it; the sources that are bundled find it beside the client."""
    name = "@cloudflare/blindrsa-ts"
    client, pages = (json.loads((ROOT / path / "package.json").read_text()) for path in ("js", "js/pages"))
    assert client["devDependencies"][name] == pages["dependencies"][name]
