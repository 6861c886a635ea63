"""The runner of all applications: parts are kept and resumed, and numbers are judged as they should be."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "bench"))

import applications
from application_parts import APPLICATIONS, Application, Line, Part, read_metrics, read_relative


@dataclass(frozen=True)
class Measured:
    model: str
    rmse: float
    stated: float | None
    margin: float | None
    differs: bool
    runs: int = 1


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """An application of two parts, and how often it was run."""
    made: list[int] = []

    def reproduce(runs: int, progress: Callable[[int, int], None]) -> Iterator[Measured]:
        made.append(runs)
        progress(1, 1)
        yield Measured("ridge", 2.0, 2.1, 0.2, False)
        yield Measured("mean", 3.0, 2.1, 0.2, True)
        yield Measured("none", 4.0, None, None, False)

    monkeypatch.setitem(sys.modules, "pretended.study", SimpleNamespace(reproduce=reproduce))
    parts = (Part("study-one", {"runs": 5}, {"runs": 1}), Part("study-two", {"runs": 6}, {"runs": 2}))
    study = Application("study", "study", "A study", {"model": "model"}, "rmse", parts, package="pretended")
    monkeypatch.setattr(applications, "APPLICATIONS", (study,))
    monkeypatch.setattr(applications, "PAGE", tmp_path / "page.md")
    return made


def test_a_part_that_is_done_is_not_run_again(calls: list[int], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    applications.main(["study-one", *out])
    assert calls == [5]
    assert "Not run yet: study-two." in (tmp_path / "page.md").read_text()
    applications.main(out)
    assert calls == [5, 6]
    applications.main(out)
    assert calls == [5, 6]
    applications.main(["study-two", "--again", *out])
    assert calls == [5, 6, 6]
    kept = json.loads((tmp_path / "study-one.json").read_text())
    assert (kept["options"], len(kept["rows"])) == ({"runs": 5}, 3)
    assert {"version", "commit", "date", "seconds"} <= set(kept)


def test_a_part_that_was_stopped_is_run_again(calls: list[int], tmp_path: Path) -> None:
    (tmp_path / "study-one.part").write_text('{"rows": [')
    applications.main(["study-one", "--out", str(tmp_path)])
    assert calls == [5]


def test_other_options_are_another_part(calls: list[int], tmp_path: Path) -> None:
    applications.main(["study-one", "--out", str(tmp_path)])
    file = tmp_path / "study-one.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "options": {"runs": 4}}))
    applications.main(["study-one", "--out", str(tmp_path)])
    assert calls == [5, 5]


def test_small_parts_are_kept_apart_and_write_no_page(calls: list[int], tmp_path: Path) -> None:
    applications.main(["--quick", "--out", str(tmp_path)])
    assert calls == [1, 2]
    assert not (tmp_path / "page.md").exists()
    applications.main(["study-one", "--out", str(tmp_path)])
    assert calls == [1, 2, 5]


@pytest.mark.usefixtures("calls")
def test_numbers_stand_beside_the_stated_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    applications.main(["--out", str(tmp_path)])
    page = (tmp_path / "page.md").read_text()
    assert "| ridge | 2 | 2.1 | 0.2 | inside |" in page
    assert "| mean | 3 | 2.1 | 0.2 | outside |" in page
    assert "| none | 4 |  |  |  |" in page
    assert page.count("| ridge |") == 1, "both parts measured it alike"
    assert "1 of 2 stated numbers are inside their tolerance" in page
    assert "study: 3 numbers, 1 inside their tolerance, 1 outside" in capsys.readouterr().out


@pytest.mark.usefixtures("calls")
def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        applications.main(["study-three"])
    assert "there is no part study-three; parts are study-one, study-two" in capsys.readouterr().err


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda one: str(one.name))
def test_every_application_can_be_run(application: Application) -> None:
    """Its study takes the options, and its rows have the columns."""
    study: Any = import_module(f"{application.package}.{application.file}")
    signature = inspect.signature(study.reproduce)
    for part in application.parts:
        for options in (part.options, part.quick):
            signature.bind(**options, progress=None)
        json.dumps(part.options)
    named = [name for part in application.parts for name in part.options.get("parts", [])]
    assert sorted(named) == sorted(getattr(study, "PARTS", [])), "every part of a study is run once"
    shown = {*application.columns, application.value, "margin"}
    kinds = [{one.name for one in fields(kind)} for kind in vars(study).values() if is_kind(kind)]
    assert any(shown <= names for names in kinds)


def is_kind(one: object) -> bool:
    """Whether it is a dataclass, and no instance of one."""
    return isinstance(one, type) and is_dataclass(one)


def test_rows_of_other_forms_are_read() -> None:
    study = APPLICATIONS[0]
    model = {"kind": "model", "dataset": "d", "mechanism": "GRR", "epsilon": 1.0, "acc": 0.8, "spd": 0.3}
    published = {"published": {"acc": 0.81, "spd": 0.5}, "margin": {"acc": 0.02, "spd": 0.1}}
    lines = list(read_metrics(study, {**model, "eod": 0.2, **published}))
    assert [line.verdict for line in lines] == ["inside", "outside", ""]
    attack = {"kind": "attack", "dataset": "d", "attribute": "sex", "accuracy": 0.9, "blind": 0.5}
    assert [line.verdict for line in read_metrics(study, attack)] == [""]
    other = Application("o", "o", "O", {"method": "method"}, "rmse", ())
    relative = {"method": "m", "rmse": 1.05, "stated": 1.0, "margin": 0.1}
    assert [line.verdict for line in read_relative(other, relative)] == ["inside"]
    assert [line.verdict for line in read_relative(other, {**relative, "rmse": 1.2})] == ["outside"]
    assert Line((), 1.0, refused="too few").verdict == "refused: too few"
