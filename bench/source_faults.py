"""Plants one-line faults in a copy of the tree, one by one, and says which of them the tests find.

`python bench/source_faults.py` takes the faults of bench/source_faults.toml. Each is planted in a copy of
what git tracks, and the tests of its scope run until one fails; that test must pass without the fault. With
`--whole`, all tests are run for a fault that its scope did not find, which takes long. Every result is kept
in .cache/source_faults, so that a run may be stopped and begun again: what is known of the same fault in the
same tree is not tried again. In the end bench/FAULTS.md has the table. The exit code is 1 if a fault
survived.

The faults of tests/faults.py are another thing: mechanisms that statistical tests try themselves on.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
FAULTS = HERE / "source_faults.toml"
PAGE = HERE / "FAULTS.md"
KEPT = ROOT / ".cache" / "source_faults"
LAST_RUN = "## The last run\n"
"""Where the part of the page begins that a run writes."""

_PAGES = "src/deniable/collect/pages"  # what is built from js/
_PACKAGES = ("js/node_modules", "js/pages/node_modules")
_NO_PART_OF_TREE = ("bench/FAULTS.md", "bench/source_faults.toml", "bench/source_faults.py")  # of no test
_PATIENCE = 3600.0  # seconds that a scope may take; a fault that lets it hang is found
_MOST_FAILING = 5  # tests that fail without the fault, and are left out

Outcome = Literal["found", "survived", "unclear"]


@dataclass(frozen=True)
class Fault:
    """One line that is wrong, what it does to people, and the tests that should find it."""

    name: str
    file: str
    before: str
    after: str
    suffers: str
    scope: tuple[str, ...]

    @property
    def first_tests(self) -> tuple[str, ...]:
        """Its scope, and the examples in the documentation of its own file."""
        return (self.file, *self.scope) if self.file.endswith(".py") else self.scope

    def find_problem(self, tree: Path) -> str:
        """Why it cannot be planted in this tree; empty where it can."""
        path = tree / self.file
        if not path.is_file():
            return f"there is no file {self.file}"
        times = path.read_text(encoding="utf-8").count(self.before)
        if times != 1:
            return f"{self.before!r} occurs {times} times in {self.file}, and must occur once"
        gone = [name for name in self.first_tests if not (tree / name.partition("::")[0]).exists()]
        return f"there are no tests {', '.join(gone)}" if gone else ""


@dataclass(frozen=True)
class Result:
    """What became of a fault."""

    name: str
    outcome: Outcome
    by: str
    """The test that found it, or why that is unclear."""
    seconds: float
    version: str
    """Of the fault and the tree: with another one, it is tried again."""


class Failure(NamedTuple):
    """A test that failed; without a name, the tests could not run or did not end."""

    test: str
    reason: str = ""


def read_faults(path: Path = FAULTS) -> list[Fault]:
    """All faults of the list."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**row, "scope": tuple(row["scope"])}) for row in rows]


def follow_moves(root: Path = ROOT, path: Path = FAULTS) -> list[str]:
    """Rewrite the file of each fault whose text has moved to one other file; say which cannot be followed."""
    text, lost = path.read_text(encoding="utf-8"), []
    for fault in read_faults(path):
        if (root / fault.file).is_file() and fault.before in (root / fault.file).read_text(encoding="utf-8"):
            continue
        old = Path(fault.file)
        same_kind = [name for name in list_files(root) if name.endswith(old.suffix) and "tests/" not in name]
        there = [name for name in same_kind if fault.before in (root / name).read_text(encoding="utf-8")]
        if len(there) > 1:
            there = [name for name in there if Path(name).name == old.name]
        if len(there) == 1:
            named = f'name = "{fault.name}"\nfile = "'
            text = text.replace(f'{named}{fault.file}"', f'{named}{there[0]}"')
        else:
            lost.append(f"{fault.name}: {fault.before!r} of {fault.file} is in {len(there)} files")
    path.write_text(text, encoding="utf-8")
    return lost


class Tree:
    """A copy of the project in which faults are planted: one copy for all, so that caches stay warm."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._changes = 0

    @contextmanager
    def plant(self, fault: Fault) -> Iterator[None]:
        """Have the fault in the tree, and then not any more."""
        path = self.root / fault.file
        right, times = path.read_bytes(), path.stat()
        self._write(path, right.decode().replace(fault.before, fault.after).encode(), times.st_mtime)
        try:
            yield
        finally:
            self._write(path, right, times.st_mtime)

    def _write(self, path: Path, content: bytes, time_before: float) -> None:
        """Write with a time that this file never had: by it Python knows that its compiled form is old."""
        path.write_bytes(content)
        self._changes += 1
        os.utime(path, (time_before, time_before + 10 * self._changes))

    def build_pages(self) -> str:
        """Build the pages from the scripts, as `make pages` does; returns why that failed."""
        if not (self.root / "js/pages/build.mjs").is_file():
            return ""
        made = subprocess.run(
            ["node", "js/pages/build.mjs"], cwd=self.root, capture_output=True, text=True, check=False
        )
        return made.stderr[-500:] if made.returncode else ""

    def run(self, scope: Sequence[str], leave_out: Iterable[str] = ()) -> Failure | None:
        """Run tests until one fails."""
        in_python = [name for name in scope if not name.startswith("js/")]
        in_node = [name.removeprefix("js/") for name in scope if name.startswith("js/")]
        failure = self._run_pytest(in_python, leave_out) if in_python else None
        return self._run_vitest(in_node) if failure is None and in_node else failure

    def run_all(self) -> Failure | None:
        """Run all tests that there are."""
        failure = self._run_pytest([], ())
        if failure is not None or not (self.root / "js").is_dir():
            return failure
        _call(["node", "build.mjs"], self.root / "js", {})
        return self._run_vitest([])

    def passes(self, test: str) -> bool:
        """Whether a single test passes, as it is called in a failure."""
        if test.startswith("js/"):
            failure = self._run_vitest([test.partition(" > ")[0].removeprefix("js/")])
            return failure is None or failure.test != test
        return self._run_pytest([test], ()) is None

    def _run_pytest(self, scope: Sequence[str], leave_out: Iterable[str]) -> Failure | None:
        with tempfile.TemporaryDirectory(prefix="deniable-faults-") as folder:
            command = [sys.executable, "-m", "pytest", "-x", "-o", f"cache_dir={folder}", "--tb=no", *scope]
            command += [f"--deselect={name}" for name in leave_out]
            folders = [self.root / "src", self.root / "papers/src", self.root]
            sources = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
            code = _call(command, self.root, sources)
            if code in (0, None):
                return None if code == 0 else Failure("", "the tests did not end")
            failed = Path(folder) / "v/cache/lastfailed"
            names = list(json.loads(failed.read_text(encoding="utf-8"))) if failed.exists() else []
            return Failure(names[0]) if names else Failure("", f"pytest ended with code {code}")

    def _run_vitest(self, scope: Sequence[str]) -> Failure | None:
        with tempfile.TemporaryDirectory(prefix="deniable-faults-") as folder:
            report = Path(folder) / "report.json"
            command = ["node", "node_modules/vitest/vitest.mjs", "run", "--bail=1", "--reporter=json"]
            command += [f"--outputFile={report}", *scope]
            if scope:  # in a browser only what needs one
                browser = any(name.endswith(".browser.test.ts") for name in scope)
                command += ["--project=node", *(["--project=chromium"] if browser else [])]
            code = _call(command, self.root / "js", {"PYTHON": sys.executable})
            if code in (0, None):
                return None if code == 0 else Failure("", "the tests did not end")
            if not report.exists():
                return Failure("", f"vitest ended with code {code}")
            for file in json.loads(report.read_text(encoding="utf-8"))["testResults"]:
                name = Path(file["name"]).relative_to(self.root).as_posix()
                for test in file["assertionResults"]:
                    if test["status"] == "failed":
                        return Failure(f"{name} > {test['fullName']}")
                if file["status"] == "failed":
                    return Failure(f"{name} > {file.get('message', '')[:80]}")
            return Failure("", f"vitest ended with code {code}")


def _call(command: Sequence[str], folder: Path, more: Mapping[str, str]) -> int | None:
    """Run a program in silence; its code, or None where it did not end in time."""
    ended = subprocess.DEVNULL
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **more},
        stdin=ended,
        stdout=ended,
        stderr=ended,
        start_new_session=True,
    )
    try:
        return process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def try_fault(tree: Tree, fault: Fault, whole: bool = False) -> tuple[Outcome, str]:
    """Plant a fault and run the tests of its scope, then all if `whole`; the outcome, and by whom."""
    problem = fault.find_problem(tree.root)
    if problem:
        return "unclear", problem
    in_python = [name for name in fault.first_tests if not name.startswith("js/")]
    # tests of pages take the built ones, those of the client its sources
    is_built = fault.file.startswith("js/") and bool(fault.file.startswith("js/pages/") or in_python or whole)
    left_out: list[str] = []
    try:
        while True:
            with tree.plant(fault):
                why = tree.build_pages() if is_built else ""
                if why:
                    return "unclear", f"the pages cannot be built: {why}"
                failure = tree.run(fault.first_tests, left_out)
                if failure is None:
                    failure = tree.run_all() if whole else None
                if failure is None:
                    return "survived", ""
            if is_built:
                tree.build_pages()
            if not failure.test:
                return _judge_unnamed(tree, fault, failure)
            if tree.passes(failure.test):
                return "found", failure.test
            left_out.append(failure.test)
            if failure.test.startswith("js/") or len(left_out) == _MOST_FAILING:
                return "unclear", f"without the fault {failure.test} fails, too"
    finally:
        if is_built:
            tree.build_pages()


def _judge_unnamed(tree: Tree, fault: Fault, failure: Failure) -> tuple[Outcome, str]:
    """Tests that could not run, or did not end, have found a fault if they can without it."""
    without = tree.run(fault.first_tests)
    if without is None:
        return "found", failure.reason
    return "unclear", f"without the fault: {without.test or without.reason}"


def copy_tree(root: Path, into: Path) -> Tree:
    """Copy what git knows of the project as it is now; installed packages are linked."""
    into.mkdir(parents=True, exist_ok=True)
    files = set(list_files(root))
    for path in list(into.rglob("*")):
        relative = path.relative_to(into)
        is_kept = relative.as_posix() in files or "node_modules" in relative.parts or path.suffix == ".pyc"
        if path.is_file() and not is_kept:
            path.unlink()
    for name in files:
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        if not (into / name).exists() or (into / name).read_bytes() != (root / name).read_bytes():
            shutil.copy2(root / name, into / name)
    for name in _PACKAGES:  # no symbolic links: a page in a browser may only load what lies below its folder
        if (root / name).is_dir() and not (into / name).exists():
            shutil.copytree(root / name, into / name, copy_function=_link, symlinks=True)
    if (root / ".venv").exists() and not (into / ".venv").exists():
        (into / ".venv").symlink_to((root / ".venv").resolve())
    return Tree(into)


def _link(source: str, into: str) -> None:
    try:
        os.link(source, into)
    except OSError:  # on another disk
        shutil.copy2(source, into)


def list_files(root: Path) -> list[str]:
    """The files that git tracks, or would."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\0") if name and (root / name).is_file())


def name_version(root: Path) -> str:
    """What changes when a file of the tree does."""
    found = sha256()
    for name in list_files(root):
        if name not in _NO_PART_OF_TREE:
            found.update(f"{name}\0{sha256((root / name).read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:16]


def read_results(path: Path) -> dict[str, Result]:
    """What is known, the newest result of each fault; a line that was cut off is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            result = Result(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[result.name] = result
    return found


def run_faults(faults: Sequence[Fault], root: Path, kept: Path, whole: bool) -> list[Result]:
    """Try all faults of which nothing is known yet, and keep each result at once."""
    version, lines = name_version(root), kept / "results.jsonl"
    tree, known, results = copy_tree(root, kept / "tree"), read_results(lines), []
    for number, fault in enumerate(faults, 1):
        own = sha256(f"{version} {whole} {fault}".encode()).hexdigest()[:16]
        result = known.get(fault.name)
        if result is None or result.version != own:
            started = time.monotonic()
            outcome, by = try_fault(tree, fault, whole)
            result = Result(fault.name, outcome, by, round(time.monotonic() - started, 1), own)
            with lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
        results.append(result)
        took = f"{result.seconds:.0f} s"
        print(f"{number}/{len(faults)} {result.outcome}, {took}: {fault.name} ({result.by})", flush=True)
    return results


def format_page(faults: Sequence[Fault], results: Sequence[Result], origin: str) -> str:
    """The part of the page that a run writes: the number found, and a row for each fault."""
    found = sum(result.outcome == "found" for result in results)
    lines = [f"{LAST_RUN}", f"{found} of {len(results)} faults were found. {origin}", ""]
    lines += ["| fault | file | outcome | by |", "|---|---|---|---|"]
    for fault, result in zip(faults, results, strict=True):
        by = result.by.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {fault.name} | `{fault.file}` | {result.outcome} | {by and f'`{by}`'} |")
    return "\n".join(lines) + "\n"


def write_page(text: str, page: Path = PAGE) -> None:
    """Replace the last run on the page; what stands above it was written by hand."""
    above = page.read_text(encoding="utf-8").partition(LAST_RUN)[0] if page.exists() else ""
    page.write_text(above + text, encoding="utf-8")


def main() -> int | str:
    """Try the faults, and print those that survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--whole", action="store_true", help="run all tests for faults that a scope misses")
    parser.add_argument("--only", metavar="TEXT", default="", help="faults whose name or file has this text")
    parser.add_argument("--follow", action="store_true", help="only find the files that lines have moved to")
    options = parser.parse_args()
    if options.follow:
        return "\n".join(follow_moves()) or 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended; the same command goes on from here"))
    sys.path.insert(0, str(HERE))
    from origin import describe_origin

    faults = [fault for fault in read_faults() if options.only in f"{fault.name} {fault.file}"]
    results = run_faults(faults, ROOT, KEPT, options.whole)
    for outcome in ("survived", "unclear"):
        for fault, result in zip(faults, results, strict=True):
            if result.outcome == outcome:
                print(f"{outcome}: {fault.name}, in {fault.file}; {fault.suffers} {result.by}".rstrip())
    print(f"{sum(result.outcome == 'found' for result in results)} of {len(results)} faults were found")
    if not options.only:
        write_page(format_page(faults, results, describe_origin()))
    return int(any(result.outcome != "found" for result in results))


if __name__ == "__main__":
    sys.exit(main())
