"""The package: it needs the standard library alone, and is small and quick."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from vectors import ROOT, read_vectors

SOURCE = ROOT / "device" / "src" / "deniable_device"
OF_PYTHON = {
    *(
        "__future__",
        "abc",
        "base64",
        "collections",
        "contextlib",
        "decimal",
        "fcntl",
        "fractions",
        "functools",
        "hashlib",
    ),
    *(
        "hmac",
        "http",
        "itertools",
        "json",
        "math",
        "os",
        "re",
        "secrets",
        "sys",
        "time",
        "typing",
        "unicodedata",
    ),
    "urllib",
}
IMPORT = 0.120
"""Seconds of processor time: twice what `make bench` allows, since other work on a machine slows it down."""
INSTALLED = 400_000
MEMORY = 20_000


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_package_imports_nothing_of_the_library() -> None:
    """The contract: modules of the standard library of Python 3.9, and those of this package."""
    names = {
        name.split(".")[0]
        for file in SOURCE.glob("*.py")
        for name in imports(ast.parse(file.read_text("utf-8")))
    }
    assert names - {"deniable_device"} == OF_PYTHON


def test_the_package_is_written_in_python_3_9() -> None:
    for file in SOURCE.glob("*.py"):
        ast.parse(file.read_text("utf-8"), feature_version=(3, 9))


def test_the_library_and_the_device_have_one_version() -> None:
    import deniable
    import deniable_device

    assert deniable_device.__version__ == deniable.__version__


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The Python of an empty environment with the wheel, and the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "-w", str(folder)]
    subprocess.run([*pip, *build, str(ROOT / "device")], check=True)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "empty", with_pip=False)
    python = folder / "empty" / "bin" / "python"
    subprocess.run(
        [*pip, "--python", str(python), "install", "--quiet", "--no-index", str(wheel)], check=True
    )
    return python, wheel


def run(python: Path, program: str, text: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), "-c", program]
    return subprocess.run(
        command, input=text, capture_output=True, check=True, text=True, env=environment, cwd=python.parent
    ).stdout


def test_what_is_installed_is_small(installed: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(installed[1]) as wheel:
        assert sum(entry.file_size for entry in wheel.infolist()) < INSTALLED


def test_the_import_is_quick(installed: tuple[Path, Path]) -> None:
    program = "import time; a = time.process_time(); import deniable_device; print(time.process_time() - a)"
    assert min(float(run(installed[0], program)) for _ in range(5)) < IMPORT


TEN_QUESTIONS = """
import resource, sys, time
from deniable_device import Client, Plan
plan = Plan(sys.stdin.read())
clients = [Client(plan, None, bytes([number] * 32), 1e9) for number in range(20)]
answers = {f"question {number}": f"answer {number}" for number in range(10)}
start = time.process_time()
reports = {client.report(answers).to_bytes() for client in clients}  # a client makes its report once
assert len(reports) == 20
print((time.process_time() - start) / 20, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_a_report_of_ten_questions_is_quick_and_small(installed: tuple[Path, Path]) -> None:
    import deniable as dn

    labels = {f"question {number}": [f"answer {each}" for each in range(10)] for number in range(10)}
    mechanism = dn.spl([10] * 10, 10.0, "oue")
    plan = dn.Plan.of(labels, mechanism, people=1000).to_json()
    seconds, kilobytes = map(float, run(installed[0], TEN_QUESTIONS, plan).split())
    empty = float(
        run(installed[0], "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
    )
    assert seconds < 0.005
    assert kilobytes - empty < MEMORY


def test_the_program_answers_lines(installed: tuple[Path, Path], tmp_path: Path) -> None:
    case = read_vectors("devices")[0]
    path = tmp_path / "plan.json"
    path.write_text(case["plan"], "utf-8")
    program = f"import sys; from deniable_device.__main__ import main; sys.exit(main([{str(path)!r}]))"
    line = f'{{"answers": {{"city": "city 1"}}, "round": 1, "secret": "{case["secret"]}"}}\n'
    assert case["answers"] == {"city": "city 1"}
    assert run(installed[0], program, line * 2) == f"{case['report']}\n" * 2
