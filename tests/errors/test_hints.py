"""What a refusal suggests: the name that was meant, and an installation that works from here."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import sys
from pathlib import Path

import pytest

from deniable import errors
from deniable.errors import FileMissing, find_nearest, not_among, suggest_install
from deniable.frames.files import require_file
from deniable.mechanisms import PROTOCOLS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "names", "meant"),
    [
        ("blu", ["red", "green", "blue"], "blue"),
        ("trian", ["car", "train"], "train"),  # two letters in the wrong order are one slip
        ("TRAIN", ["car", "train"], "train"),
        ("gr", list(PROTOCOLS), "grr"),
        ("grrr", list(PROTOCOLS), "grr"),
        ("normsub", ["clip", "norm-sub", "norm-mul"], "norm-sub"),
        ("satisfeid", ["transport", "satisfied"], "satisfied"),
        ("home.lat", ["home.longitude", "home.latitude"], "home.latitude"),  # it begins like this
        ("synthetic5", ["synthetic-1", "synthetic-5"], "synthetic-5"),
        ("bone", ["bane", "bore", "bonbon"], "bane"),  # the first of those that are equally near
        ("bonne", ["bane", "bone"], "bone"),  # the nearer one
    ],
)
def test_a_near_name_is_suggested(given: str, names: list[str], meant: str) -> None:
    assert find_nearest(given, names) == meant
    assert not_among(given, "a name", names).endswith(f"; did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("ship", ["car", "train"]),
        ("a", ["b", "c"]),  # every letter is one slip from every other
        ("no", ["on", "ok", "yes"]),
        ("records", ["secret", "cords"]),
        ("attribute", ["contribute", "tribunal"]),
        ("question 1", ["question 2", "question 3"]),
        ("2020", ["2021", "2022"]),
        ("carbon", ["car"]),
        ("", ["car"]),
        ("median", ["mean", "medal"]),
    ],
)
def test_a_far_name_is_not_suggested(given: str, names: list[str]) -> None:
    assert find_nearest(given, names) is None
    assert "did you mean" not in not_among(given, "a name", names)


def test_a_file_is_suggested_by_its_name_and_not_by_its_ending(tmp_path: Path) -> None:
    for name in ("plan.json", "people.csv"):
        (tmp_path / name).write_text("")
    for given, meant in (("plna.json", "plan.json"), ("plan.jsn", "plan.json"), ("peopel.csv", "people.csv")):
        with pytest.raises(FileMissing, match=rf"did you mean '{meant}'\?$"):
            require_file(tmp_path / given, "make it")
    for given in ("data.json", "a.csv", "reports.parquet"):
        with pytest.raises(FileMissing, match=r"; make it$"):
            require_file(tmp_path / given, "make it")


def test_a_clone_is_named_from_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, named in ((ROOT, "."), (ROOT.parent, f"./{ROOT.name}"), (tmp_path, str(ROOT))):
        monkeypatch.chdir(folder)
        *_, option, requirement = shlex.split(suggest_install("plot"))
        assert (option, requirement) == ("-e", f"{named}[plot]")


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "deniable[plot]"),  # it came from an index
        ({"url": "FOLDER", "dir_info": {}}, "PATH[plot]"),
        ({"url": "file:///no/such/folder", "dir_info": {}}, "deniable[plot]"),
        (
            {"url": "https://example.org/d.git", "vcs_info": {"vcs": "git"}},
            "deniable[plot] @ git+https://example.org/d.git",
        ),
    ],
)
def test_an_installed_package_is_named_by_where_it_came_from(
    origin: dict[str, object] | None, requirement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    text = None if origin is None else json.dumps(origin).replace("FOLDER", folder.as_uri())

    class Installed:
        def read_text(self, name: str) -> str | None:
            return text if name == "direct_url.json" else None

    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed())
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "lib/site-packages/deniable/errors.py"))
    assert shlex.split(suggest_install("plot"))[-1] == requirement.replace("PATH", str(folder))


def test_pip_is_that_of_the_python_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pip", "python"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert suggest_install("plot").startswith("pip install ")
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert suggest_install("plot").startswith("/another/python -m pip install ")
