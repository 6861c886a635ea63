"""The origin of numbers: pages of measurements name the commit that they are from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

import origin


def test_a_page_names_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "check_output", lambda *_, **__: "0123456789ab-dirty\n")
    assert ", commit 0123456789ab-dirty, " in origin.describe_origin()


def test_without_git_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "check_output", refuse)
    assert ", commit unknown, " in origin.describe_origin()
