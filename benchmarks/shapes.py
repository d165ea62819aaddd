"""Tables of every shape: few values, few or many rows, columns, classes, leaves; strings, texts.

A shape is one declaration: who generates the table, how large it is, and the size of the model.
Every booster fits and predicts it, and Hedgerow is held to the fastest peer that predicts as well.
"""

from functools import partial
from typing import Any

from benchmarks.cases import XGBOOST, BoostingSettings, Case
from benchmarks.frames import category_table, mixed_table
from benchmarks.generated import (
    MakeTable,
    binary_table,
    digit_table,
    flag_forest_table,
    flag_table,
    many_class_table,
    missing_table,
    noisy_number_table,
)
from benchmarks.results import HEDGEROW, Bar
from benchmarks.texts import text_table

SHAPE_PEERS = ("lightgbm", "lightgbm-quantised", *XGBOOST, "catboost")
FASTEST_EQUAL = partial(Bar, rule="times", peers=SHAPE_PEERS, equal_accuracy=True)


def shape(
    name: str,
    about: str,
    table: MakeTable,
    rows: int,
    columns: int,
    *,
    test_rows: int = 50_000,
    metric: str = "AUC",
    fit: float = 0.5,
    predict: float = 0.5,
    **settings: Any,
) -> Case:
    """A case: ``fit`` and ``predict`` are Hedgerow's bars, ``settings`` what is not 100 × 31."""
    boosting = BoostingSettings(**({"n_trees": 100, "max_leaves": 31} | settings))
    return Case(
        name=name,
        about=f"{about}, {boosting.n_trees} rounds of {boosting.max_leaves} leaves",
        rows=rows,
        columns=columns,
        test_rows=test_rows,
        table=table,
        metric=metric,
        settings=boosting,
        libraries=(HEDGEROW, *SHAPE_PEERS),
        predicts=3,
        bars=(FASTEST_EQUAL("fit", limit=fit), FASTEST_EQUAL("predict", limit=predict)),
    )


SHAPES = (
    shape(
        "flag-classes", "100,000 × 54 (10 numeric, 44 independent flags), 7 classes",
        flag_forest_table, 100_000, 54, metric="log loss", n_classes=7, n_trees=50, fit=0.4,
    ),
    shape("flags", "160,000 × 100 flags", flag_table, 160_000, 100),
    shape("digits", "160,000 × 50 integers from 0 to 9", digit_table, 160_000, 50),
    shape("words", "160,000 × 20 columns of 50 categories", category_table, 160_000, 20),
    shape(
        "mixed", "200,000 × 16, a data frame of 10 columns of numbers and 6 of strings",
        mixed_table, 200_000, 16,
    ),
    shape("leaves-255", "160,000 × 28", binary_table, 160_000, 28, max_leaves=255),
    shape("leaves-8", "1,000,000 × 10", binary_table, 1_000_000, 10, max_leaves=8),
    shape(
        "text", "20,000 × 20,000 words, sparse (0.3 %)",
        text_table, 20_000, 20_000, test_rows=10_000, fit=0.6, predict=1.0,
    ),
    shape(
        "classes-50", "50,000 × 28, 50 classes",
        many_class_table, 50_000, 28, metric="log loss", n_classes=50, n_trees=20,
    ),
    shape("tall", "3,800,000 × 8", binary_table, 3_800_000, 8, test_rows=200_000),
    shape("short", "2,000 × 5,000", binary_table, 2_000, 5_000, test_rows=2_000),
    shape("missing", "450,000 × 28, 30 % missing", missing_table, 450_000, 28),
    shape(
        "numbers", "500,000 × 28, squared error",
        noisy_number_table, 500_000, 28, metric="RMSE", number_loss="squared_error",
    ),
)  # fmt: skip
