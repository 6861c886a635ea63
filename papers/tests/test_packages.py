"""A study without one of its packages says in one line how to install it."""

from __future__ import annotations

import sys

import pytest

from deniable.errors import DeniableError
from deniable_papers.studies.applications.fairness.model import train_lightgbm
from deniable_papers.studies.applications.learning.models import make_trees
from deniable_papers.studies.applications.packages import import_package
from deniable_papers.studies.applications.response_models import predict_xgboost


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lightgbm", "xgboost"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(DeniableError, match=r"needs lightgbm; install it with: .*install.*learn"):
        make_trees(1)
    with pytest.raises(DeniableError, match="needs lightgbm"):
        train_lightgbm([[0]], [0], 1, {})  # type: ignore[arg-type]  # nothing is looked at before
    with pytest.raises(DeniableError, match=r"needs xgboost; install it with: .*attack"):
        predict_xgboost([[0.0]], [0.0], [[0.0]])  # type: ignore[arg-type]
    assert import_package("sklearn.metrics").roc_auc_score([0, 1], [0.1, 0.9]) == 1.0
