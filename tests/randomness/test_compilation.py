"""Where compiled loops are kept, and who is told that they are compiled."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from deniable.randomness import compilation

PACKAGE = Path(deniable.__file__).parent
COMPILE = """
import numpy as np
from deniable.randomness.compilation import find_cache
from deniable.randomness.kernels import fill_seeded
words = np.empty(3, np.uint64)
fill_seeded(np.uint64(1), np.uint64(3), np.uint64(0), words)
print(find_cache(), len(set(words)))
"""
TOSS = """
import deniable as dn
from deniable.mechanisms.shapes import coins
dn.oue(100, 1.0).privatize(np.zeros(100_000, int), dn.seeded(1))
print(len(coins._toss.signatures))
"""
"""The costliest loop to compile is compiled once, whoever calls it."""
NOTICE = "Compiling loops for this machine, once; about 5 s.\n"


def caches(folder: Path) -> set[tuple[str, float]]:
    return {
        (str(file), file.stat().st_mtime) for ending in ("*.nbi", "*.nbc") for file in folder.rglob(ending)
    }


def compile_in(home: Path, program: str = COMPILE) -> tuple[str, str]:
    """Compile a loop in a process of its own; what it prints, and what it prints on a terminal."""
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    there = {name: value for name, value in os.environ.items() if name not in unset}
    outer, inner = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=there | {"HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=inner,
        text=True,
        check=True,
    )
    os.set_blocking(outer, False)
    try:
        shown = os.read(outer, 10_000).decode().replace("\r\n", "\n")
    except BlockingIOError:
        shown = ""
    os.close(inner)
    os.close(outer)
    return done.stdout, shown


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_compiled_code_is_in_the_users_cache_and_not_in_the_package(tmp_path: Path) -> None:
    before = caches(PACKAGE)
    printed, shown = compile_in(tmp_path)
    assert caches(PACKAGE) == before
    [folder] = (tmp_path / ".cache/deniable/compiled").iterdir()
    assert printed == f"{folder} 3\n"
    assert len(caches(folder)) == 2
    assert folder.stat().st_mode & 0o077 == 0
    assert shown == NOTICE
    assert compile_in(tmp_path) == (printed, "")  # the second time, it is there


@pytest.mark.long
def test_without_a_folder_every_process_compiles(tmp_path: Path) -> None:
    file = tmp_path / "file"  # even the superuser can make no folder in it
    file.write_text("")
    before = caches(PACKAGE)
    printed, shown = compile_in(file, COMPILE + TOSS)
    assert printed == "None 3\n1\n"
    assert shown == NOTICE.replace(", once", "")
    assert caches(PACKAGE) == before


def test_code_of_others_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    assert compilation.find_cache.__wrapped__() is not None
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert compilation.find_cache.__wrapped__() is None
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "named"))  # by NUMBA_CACHE_DIR
    named = compilation.find_cache.__wrapped__()
    assert named is not None
    assert named.is_relative_to(tmp_path / "named")


@pytest.mark.long
def test_a_pipe_shows_nothing_and_the_cache_can_be_named(tmp_path: Path) -> None:
    there = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    ended = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env=there | {"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    assert ended.stdout.startswith(f"{tmp_path}/deniable/compiled/")
    assert len(caches(tmp_path)) == 2


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.cache"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "HOME/.cache"),
        ("linux", {"XDG_CACHE_HOME": "/other"}, "/other"),
        ("darwin", {}, "HOME/Library/Caches"),
        ("win32", {"LOCALAPPDATA": "/users/me/local"}, "/users/me/local"),
        ("win32", {}, "HOME/AppData/Local"),
    ],
)
def test_every_system_has_its_folder(
    platform: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert compilation._user_cache() == Path(expected.replace("HOME", str(tmp_path)))
