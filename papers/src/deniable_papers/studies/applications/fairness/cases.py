"""Names the three tables of the fairness study: what is predicted, who is compared, what is sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, final

from deniable_papers import data
from deniable_papers.data import Dataset


@final
@dataclass(frozen=True)
class Case:
    """A table of the study, and the published settings of its model."""

    name: str
    dataset: str
    target: str
    protected: str
    """The attribute whose two groups are compared; code 1 is the privileged one."""
    sensitive: tuple[str, ...]
    """The attributes that are sanitized in the training part."""
    settings: Mapping[str, Any]
    """max_depth, learning_rate and n_estimators of LightGBM, as published."""

    def load(self) -> Dataset:
        """The table, read once in each process."""
        return _load(self.dataset)


def _settings(max_depth: int, learning_rate: float, n_estimators: int) -> Mapping[str, Any]:
    found = {"max_depth": max_depth, "learning_rate": learning_rate, "n_estimators": n_estimators}
    return MappingProxyType(found)


CASES = {
    case.name: case
    for case in (
        Case(
            "adult",
            "adult-26k",
            "income",
            "gender",
            ("gender", "race", "native-country", "age"),
            _settings(38, 0.02255696731716368, 1100),
        ),
        Case(
            "acs",
            "acs-coverage",
            "PUBCOV",
            "DIS",
            ("DIS", "AGEP", "SEX", "SCHL"),
            _settings(47, 0.20243400958078808, 1300),
        ),
        Case(
            "lsac",
            "lsac",
            "pass_bar",
            "race1",
            ("race1", "fam_inc", "gender", "fulltime"),
            _settings(9, 0.18177994587365698, 1100),
        ),
    )
}
"""The tables by name."""


@lru_cache(maxsize=3)
def _load(name: str) -> Dataset:
    return data.load(name)
