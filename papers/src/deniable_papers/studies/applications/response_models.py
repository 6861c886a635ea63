"""Fits models of the response time, one thread each. None is tuned on the calls that it is tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.arrays import Floats
from deniable_papers.studies.applications.emergencies import CATEGORIES, COLUMNS

_TREES = 200
_RATE = 0.05
_CATEGORIES = [COLUMNS.index(name) for name in CATEGORIES]
_NUMBERS = [column for column in range(len(COLUMNS)) if column not in _CATEGORIES]

Predict = Callable[[Floats, Floats, Floats], Floats]
"""From rows and their minutes to the minutes of other rows."""


def predict_mean(_table: Floats, minutes: Floats, asked: Floats) -> Floats:
    """The mean of all calls."""
    return np.full(len(asked), minutes.mean())


def predict_lightgbm(table: Floats, minutes: Floats, asked: Floats) -> Floats:
    """LightGBM, 200 trees of 15 leaves."""
    import lightgbm

    model = lightgbm.LGBMRegressor(
        n_estimators=_TREES,
        learning_rate=_RATE,
        num_leaves=15,
        min_child_samples=50,
        random_state=0,
        n_jobs=1,
        force_row_wise=True,
        verbose=-1,
    )
    model.fit(table, minutes)
    return np.asarray(model.predict(asked), dtype=np.float64)


def predict_xgboost(table: Floats, minutes: Floats, asked: Floats) -> Floats:
    """XGBoost, 200 trees of depth 4."""
    import xgboost

    model = xgboost.XGBRegressor(
        n_estimators=_TREES,
        learning_rate=_RATE,
        max_depth=4,
        min_child_weight=20,
        random_state=0,
        n_jobs=1,
    )
    model.fit(table, minutes)
    return np.asarray(model.predict(asked), dtype=np.float64)


def predict_mlp(table: Floats, minutes: Floats, asked: Floats) -> Floats:
    """A network of 64 and 32 units on standardized columns, stopped by a tenth of the training part."""
    from sklearn import neural_network

    network = neural_network.MLPRegressor(
        hidden_layer_sizes=(64, 32),
        alpha=0.1,
        early_stopping=True,
        n_iter_no_change=15,
        max_iter=200,
        random_state=0,
    )
    return _predict_encoded(network, table, minutes, asked)


def predict_lasso(table: Floats, minutes: Floats, asked: Floats) -> Floats:
    """LASSO on the same columns, its penalty by cross-validation in the training part."""
    from sklearn import linear_model

    return _predict_encoded(linear_model.LassoCV(cv=5, n_jobs=1), table, minutes, asked)


PREDICT: dict[str, Predict] = {
    "XGBoost": predict_xgboost,
    "LightGBM": predict_lightgbm,
    "MLP": predict_mlp,
    "LASSO": predict_lasso,
    "mean": predict_mean,
}


def _predict_encoded(model: Any, table: Floats, minutes: Floats, asked: Floats) -> Floats:
    """Numbers are standardized, and categories become columns of their own; unseen ones are none of them."""
    from sklearn import compose, pipeline, preprocessing

    numbers = preprocessing.StandardScaler()
    categories = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = [("numbers", numbers, _NUMBERS), ("categories", categories, _CATEGORIES)]
    encoded = compose.ColumnTransformer(columns)
    model = pipeline.make_pipeline(encoded, model)
    model.fit(table, minutes)
    return np.asarray(model.predict(asked), dtype=np.float64)
