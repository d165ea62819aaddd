"""What a cross-validation leaves behind, as text, table and picture."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import Ridge

import hedgerow as hr
from hedgerow._validation import CrossValidation
from hedgerow._validation.result import Fold

mpl.use("Agg")
import matplotlib.pyplot as plt

ROWS = np.arange(6)
FOLDS = [Fold(ROWS[:4], ROWS[4:], 0.5, 0.25), Fold(ROWS[2:], ROWS[:2], 0.25, 0.5)]


def result(**scores):
    return CrossValidation(
        models=[Ridge(), Ridge()],
        scores={name: np.array(values) for name, values in scores.items()},
        oof_prediction=np.zeros(6),
        folds=FOLDS,
        method="predict",
        classes=None,
    )


def test_it_shows_means_and_spreads_and_every_fold():
    assert repr(result(rmse=[1.5, 2.5], r2=[0.25, 0.75])) == "\n".join(
        [
            "Cross-validation of Ridge: 2 folds, 6 rows",
            "  rmse  2.000 ± 0.500",
            "  r2    0.5000 ± 0.2500",
            "  fold  train_rows  test_rows   rmse      r2  fit_time",
            "     1           4          2  1.500  0.2500    0.5000",
            "     2           4          2  2.500  0.7500    0.2500",
        ]
    )


def test_means_and_spreads_are_numbers_by_metric():
    validation = result(rmse=[1.5, 2.5], r2=[0.25, 0.75])
    assert validation.mean == {"rmse": 2.0, "r2": 0.5}
    assert validation.std == {"rmse": 0.5, "r2": 0.25}


def test_columns_have_an_entry_for_each_fold():
    validation = result(rmse=[1.5, 2.5])
    columns = {name: column.tolist() for name, column in validation.to_dict().items()}
    assert columns == {
        "fold": [1, 2],
        "train_rows": [4, 4],
        "test_rows": [2, 2],
        "rmse": [1.5, 2.5],
        "fit_time": [0.5, 0.25],
        "score_time": [0.25, 0.5],
    }
    frame = validation.to_frame()
    assert list(frame.columns) == list(columns)
    assert frame["rmse"].tolist() == [1.5, 2.5]


def test_it_can_be_drawn():
    ax = result(rmse=[1.5, 2.5]).plot()
    assert ax.get_ylabel() == "rmse"
    assert ax.get_title() == "rmse 2.000 ± 0.500"
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [1.5, 2.5])
    plt.close(ax.figure)


def test_times_are_there_and_positive():
    rng = np.random.RandomState(0)
    validation = hr.cross_validate(Ridge(), rng.normal(size=(30, 2)), rng.normal(size=30), cv=2)
    assert all(fold.fit_time > 0.0 and fold.score_time > 0.0 for fold in validation.folds)


def test_it_can_be_asked_by_scikit_learn_s_names():
    validation = result(rmse=[1.5, 2.5], r2=[0.25, 0.75])
    assert (
        list(validation)
        == list(validation.keys())
        == [
            *(
                "fit_time",
                "score_time",
                "estimator",
                "indices",
                "test_score",
                "test_rmse",
                "test_r2",
            )
        ]
    )
    assert validation["test_score"].tolist() == validation["test_rmse"].tolist() == [1.5, 2.5]
    assert validation["test_r2"].tolist() == [0.25, 0.75]
    assert validation["fit_time"].tolist() == [0.5, 0.25]
    assert validation["estimator"] is validation.models
    assert validation["indices"]["test"][1].tolist() == [0, 1]
    assert dict(validation).keys() == set(validation.keys())
    with pytest.raises(KeyError, match="'train_score' is not a key; the keys are fit_time, "):
        validation["train_score"]
