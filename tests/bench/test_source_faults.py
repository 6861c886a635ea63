"""One-line faults of the source: all can be planted, and survivors are told from those that are found."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

import source_faults
from source_faults import ROOT, Fault, Outcome, Result, Tree

OUTCOMES: tuple[Outcome, ...] = ("survived", "found")
SOURCE = "def share(part: int, whole: int) -> float:\n    return min(1.0, part / whole)\n"
TESTS = """from tiny import share

def test_half() -> None:
    assert share(1, 2) == 0.5

def test_that_fails_anyway() -> None:
    assert share(3, 2) != 1.0
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A project of one function, with a test that works and one that never does."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each run starts pytest anew
    for name, text in {"src/tiny.py": SOURCE, "tests/test_tiny.py": TESTS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return Tree(tmp_path)


def fault(before: str, after: str, scope: str = "tests/test_tiny.py") -> Fault:
    return Fault("a fault", "src/tiny.py", before, after, "somebody", (scope,))


def test_every_fault_of_the_list_can_be_planted() -> None:
    faults = source_faults.read_faults()
    problems = {one.name: one.find_problem(ROOT) for one in faults}
    remedy = "python bench/source_faults.py --follow finds lines that moved; change the others in the list"
    assert {name: why for name, why in problems.items() if why} == {}, remedy
    assert [name for name, times in Counter(one.name for one in faults).items() if times > 1] == []
    assert [one.name for one in faults if one.before == one.after or not (one.suffers and one.scope)] == []
    assert len(faults) >= 60


def test_a_fault_is_found_by_a_test_that_passes_without_it(tree: Tree) -> None:
    found = source_faults.try_fault(tree, fault("part / whole", "whole / part"))
    assert found == ("found", "tests/test_tiny.py::test_half")
    assert (tree.root / "src/tiny.py").read_text(encoding="utf-8") == SOURCE


def test_a_fault_that_no_test_finds_has_survived(tree: Tree) -> None:
    """The other test fails with the fault, and fails without it, too: it has found nothing."""
    assert source_faults.try_fault(tree, fault("part / whole", "part / 2")) == ("survived", "")


def test_what_cannot_be_planted_is_no_survivor(tree: Tree) -> None:
    for wrong, why in (
        (fault("part", "whole"), "'part' occurs 2 times in src/tiny.py, and must occur once"),
        (fault("nothing", "whole"), "'nothing' occurs 0 times in src/tiny.py, and must occur once"),
        (fault("part / whole", "0", "tests/test_gone.py"), "there are no tests tests/test_gone.py"),
    ):
        assert source_faults.try_fault(tree, wrong) == ("unclear", why)


def test_faults_follow_lines_that_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"src/moved.py": SOURCE, "src/other.py": "whole = 1\n", "src/another.py": "whole = 1\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(source_faults, "list_files", lambda _: list(files))
    row = (
        '[[fault]]\nname = "{}"\nfile = "src/tiny.py"\nbefore = "{}"\nafter = "0"\nsuffers = ""\nscope = []\n'
    )
    listed = tmp_path / "faults.toml"
    listed.write_text(row.format("it", "part / whole") + row.format("lost", "whole = 1"), encoding="utf-8")
    lost = source_faults.follow_moves(tmp_path, listed)
    assert lost == ["lost: 'whole = 1' of src/tiny.py is in 0 files"]
    assert [one.file for one in source_faults.read_faults(listed)] == ["src/moved.py", "src/tiny.py"]


def test_results_are_kept_until_the_fault_or_the_tree_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, kept, tried = tmp_path / "project", tmp_path / "kept", list[str]()
    root.mkdir()
    (root / "tiny.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(source_faults, "list_files", lambda _: ["tiny.py"])

    def survive(_: Tree, planted: Fault, __: bool) -> tuple[str, str]:
        tried.append(planted.name)
        return "survived", ""

    monkeypatch.setattr(source_faults, "try_fault", survive)
    faults = [fault("part / whole", "part"), replace(fault("part / whole", "whole"), name="another")]
    [first, _] = source_faults.run_faults(faults, root, kept, whole=False)
    with (kept / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"name": "another", "outc')  # the run was ended while it wrote
    source_faults.run_faults(faults, root, kept, whole=False)
    assert tried == ["a fault", "another"]
    changed = [fault("part / whole", "0"), faults[1]]
    source_faults.run_faults(changed, root, kept, whole=False)
    assert tried[2:] == ["a fault"]
    (root / "tiny.py").write_text(SOURCE + "\n", encoding="utf-8")
    [last, _] = source_faults.run_faults(changed, root, kept, whole=False)
    assert len(tried) == 5
    assert first.version != last.version
    assert "1/2 survived" in capsys.readouterr().out


def test_the_page_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    page, faults = tmp_path / "FAULTS.md", [fault("a", "b")]
    page.write_text("# By hand\n\n", encoding="utf-8")
    for outcome in OUTCOMES:
        result = Result("a fault", outcome, "test[a|b]", 1.0, "")
        source_faults.write_page(source_faults.format_page(faults, [result], "Today."), page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# By hand\n\n## The last run\n\n1 of 1 faults were found. Today.\n")
    assert text.count("| a fault |") == 1
    assert "`test[a\\|b]`" in text
