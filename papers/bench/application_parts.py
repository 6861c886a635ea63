"""Lists every application in parts, and what its rows show beside the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from importlib import import_module
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A part of an application: what its `reproduce` is given."""

    name: str
    options: Mapping[str, Any]
    quick: Mapping[str, Any] = field(default_factory=dict)
    """What is given instead for a small one."""


@dataclass(frozen=True)
class Line:
    """A line of a table: what was measured, the number, and what is stated of it."""

    cells: tuple[object, ...]
    ours: float | None
    stated: float | None = None
    margin: float | None = None
    refused: str | None = None

    @property
    def verdict(self) -> str:
        """Whether the number is as near to the stated one as it should be; empty if nothing is stated."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.ours is None or self.stated is None or self.margin is None:
            return ""
        return "inside" if abs(self.ours - self.stated) <= self.margin else "outside"


@dataclass(frozen=True)
class Application:
    """A study of `deniable_papers.studies.applications`, its parts, and the columns of its table."""

    name: str
    file: str
    title: str
    columns: Mapping[str, str]
    """Fields of a row, with their headings."""
    value: str
    """The field that the specification states."""
    parts: tuple[Part, ...]
    read_row: Callable[[Application, Row], Iterator[Line]] | None = None
    """What makes lines of a row; without it, a line has the columns and the value."""
    package: str = "deniable_papers.studies.applications"

    def reproduce(self, options: Mapping[str, Any], progress: Callable[[int, int], None]) -> Iterator[Row]:
        """The rows of a part, as they are done."""
        study = import_module(f"{self.package}.{self.file}")
        for row in study.reproduce(**options, progress=progress):
            assert is_dataclass(row)
            assert not isinstance(row, type)
            yield asdict(row)

    def list_lines(self, rows: Sequence[Row]) -> list[Line]:
        """The lines of the table of these rows; what several parts measure alike is listed once."""
        read = self.read_row or read_value
        return list(dict.fromkeys(line for row in rows for line in read(self, row)))


def read_value(application: Application, row: Row) -> Iterator[Line]:
    """One line: the fields of the columns, and the value."""
    cells = tuple(row.get(name) for name in application.columns)
    yield Line(cells, row.get(application.value), row.get("stated"), row.get("margin"), row.get("refused"))


def read_relative(application: Application, row: Row) -> Iterator[Line]:
    """One line of a row whose margin is a part of what is stated."""
    stated = row.get("stated")
    margin = None if stated is None else stated * row["margin"]
    cells = tuple(row.get(name) for name in application.columns)
    yield Line(cells, row.get(application.value), stated, margin, row.get("refused"))


def read_metrics(_application: Application, row: Row) -> Iterator[Line]:
    """A line for each metric of a model's fairness, and one for each attack on an attribute."""
    if row["kind"] == "attack":
        metric = f"{row['attribute']} guessed (blind {row['blind']:.3f})"
        yield Line((row["dataset"], "", None, metric), row["accuracy"], refused=row.get("refused"))
        return
    for metric in ("acc", "spd", "eod"):
        cells = (row["dataset"], row["mechanism"], row["epsilon"], metric)
        stated, margin = ((row[name] or {}).get(metric) for name in ("published", "margin"))
        yield Line(cells, row[metric], stated, margin, row.get("refused"))


def read_learning(application: Application, row: Row) -> Iterator[Line]:
    """One line: the accuracy of a model; of an attack on it, the advantage of members over other people."""
    if row.get("advantage") is None:
        yield from read_value(application, row)
        return
    cells = (f"{row['figure']}: advantage", *(row.get(name) for name in list(application.columns)[1:]))
    yield Line(cells, row["advantage"], refused=row.get("refused"))


_BY_PROTOCOL: Mapping[str, Mapping[str, Sequence[str]]] = {
    "oue": {"datasets": ["synthetic"], "protocols": ["oue"]},
    "grr": {"datasets": ["synthetic"], "protocols": ["grr"]},
    "sue": {"datasets": ["synthetic"], "protocols": ["sue"]},
    "montgomery": {"datasets": ["montgomery"]},
}
_MODELS = (["LightGBM", "XGBoost", "mean"], ["MLP"], ["LASSO"])

APPLICATIONS = (
    Application(
        "fairness",
        "fairness",
        "Sanitized attributes and fairness; what is stated was published for the same splits",
        {"dataset": "dataset", "mechanism": "mechanism", "epsilon": "epsilon", "kind": "metric"},
        "acc",
        tuple(
            Part(
                f"fairness-{name}",
                {"datasets": [name]},
                {"datasets": [name], "mechanisms": ["GRR"], "epsilons": [1.0], "runs": 1},
            )
            for name in ("lsac", "adult", "acs")
        ),
        read_metrics,
    ),
    Application(
        "learning",
        "learning",
        "Learning from sanitized data: accuracy, and the advantage of attacks on the models",
        {
            "figure": "measured",
            "model": "model",
            "protocol": "learned from",
            "sanitized": "sanitized",
            "epsilon": "epsilon",
        },
        "accuracy",
        (
            Part(
                "learning-accuracy",
                {"parts": ["accuracy"]},
                {"parts": ["accuracy"], "runs": 1, "epsilons": [1.0], "most": 4000},
            ),
            Part(
                "learning-attacks",
                {"parts": ["attacks"]},
                {"parts": ["attacks"], "attacked": [1.0], "rows": 2000, "shadows": 2},
            ),
        ),
        read_learning,
    ),
    Application(
        "forecasting",
        "forecasting",
        "Forecasts of counts over time: root mean squared error of a series, mean of six",
        {
            "model": "model",
            "calendar": "calendar",
            "noise": "noise",
            "sigma": "sigma",
            "epsilon": "epsilon",
            "per": "per",
        },
        "rmse",
        (
            Part("forecasting-input", {"parts": ["baselines", "ridge", "input"]}, {"parts": ["baselines"]}),
            Part("forecasting-trees", {"parts": ["trees"]}, {"parts": ["ridge"]}),
            Part("forecasting-network", {"parts": ["network"]}, {"parts": ["ridge"]}),
            Part("forecasting-gradients", {"parts": ["gradients"]}, {"parts": ["ridge"]}),
        ),
    ),
    Application(
        "mobility",
        "mobility",
        "Reports of a week of visits: root mean squared error of 64 shares, mean of 28 unions",
        {"method": "method", "noise": "noise", "consistency": "consistency", "epsilon": "epsilon"},
        "rmse",
        (
            Part(
                "mobility", {"parts": ["week", "day"]}, {"methods": ["sample"], "epsilons": [4.0], "runs": 1}
            ),
        ),
        read_relative,
    ),
    Application(
        "synthetic-mobility",
        "synthetic_mobility",
        "Sets of days of synthetic people: total variation from the true ones",
        {"method": "method", "noise": "noise", "epsilon": "epsilon", "mre": "error of unions"},
        "tv",
        (Part("synthetic-mobility", {}, {"cases": ["maxent", "day-set"], "epsilons": [1.0], "runs": 1}),),
    ),
    Application(
        "demand",
        "demand",
        "Demand by region: mean absolute error, in records",
        {"dataset": "dataset", "model": "model", "protocol": "protocol", "epsilon": "epsilon"},
        "mae",
        tuple(
            Part(f"demand-{name}", {**asked, "runs": 8}, {**asked, "runs": 1, "epsilons": [1.0]})
            for name, asked in _BY_PROTOCOL.items()
        ),
    ),
    Application(
        "response-time",
        "response_time",
        "Response time from noisy places: root mean squared error, in minutes",
        {
            "model": "model",
            "protocol": "places",
            "radius": "radius, m",
            "remapped": "remapped",
            "tested": "tested on",
            "moved": "moved, m",
        },
        "rmse",
        tuple(
            Part(
                f"response-time-{models[0].lower()}",
                {"models": models, "runs": 8},
                {"models": models, "runs": 1, "radii": [1000.0]},
            )
            for models in _MODELS
        ),
    ),
)
"""Every application, in the order of the page."""
