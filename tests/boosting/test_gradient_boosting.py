"""The estimators: classes, weights, importances, one row, and what can be wrong with data."""

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HedgerowError,
    ParameterError,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
NUMBERS = X[:, 0] * 3 + X[:, 1] ** 2 + RNG.normal(size=400) * 0.3
TWO = (NUMBERS > 1).astype(int)
THREE = np.digitize(NUMBERS, [0.0, 2.0])
WEIGHTS = RNG.uniform(0.1, 2.0, 400)
SMALL = {"n_estimators": 10, "max_leaves": 6}


def classifier(**parameters):
    return GradientBoostingClassifier(**SMALL | parameters)


def regressor(**parameters):
    return GradientBoostingRegressor(**SMALL | parameters)


def test_real_data_is_learned():
    X, y = load_breast_cancer(return_X_y=True)
    quick = {"budget": "quick"}
    scores = cross_val_score(GradientBoostingClassifier(**quick), X, y, scoring="roc_auc", cv=3)
    assert scores.mean() > 0.985
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(GradientBoostingClassifier(**quick), X, y, cv=3).mean() > 0.92
    X, y = load_diabetes(return_X_y=True)
    assert cross_val_score(GradientBoostingRegressor(), X, y, cv=3).mean() > 0.35


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array([-1, 1]), np.array([False, True]), np.array([3.0, 7.0])],
)
def test_labels_of_any_kind_give_the_same_model(labels):
    expected = classifier().fit(X, TWO)
    model = classifier().fit(X, labels[TWO])
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), labels[expected.predict(X)])


@pytest.mark.parametrize("y", [TWO, THREE])
def test_probabilities_decisions_and_labels_agree(y):
    model = classifier().fit(X, y)
    p, decision = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    if y is TWO:
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-12)
    else:
        exponentials = np.exp(decision)
        np.testing.assert_allclose(
            p, exponentials / exponentials.sum(axis=1, keepdims=True), rtol=1e-12
        )


def test_class_weight_is_a_sample_weight():
    by_class = classifier(class_weight={0: 3.0, 1: 0.5}).fit(X, TWO, WEIGHTS)
    by_row = classifier().fit(X, TWO, WEIGHTS * np.where(TWO == 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_balanced_classes_have_equal_priors():
    model = classifier(class_weight="balanced", min_samples_leaf=400).fit(X, THREE, WEIGHTS)
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3, rtol=1e-6)


def test_a_class_left_out_of_class_weight_has_weight_one():
    left_out = classifier(class_weight={"b": 2.0}).fit(X, np.array(["a", "b"])[TWO])
    named = classifier(class_weight={"a": 1.0, "b": 2.0}).fit(X, np.array(["a", "b"])[TWO])
    np.testing.assert_array_equal(left_out.predict_proba(X), named.predict_proba(X))


@pytest.mark.parametrize("weights", [{"c": 2.0}, {0: -1.0}, {0: np.nan}, {0: 0.0, 1: 0.0}])
def test_a_wrong_class_weight_is_named(weights):
    with pytest.raises(HedgerowError, match="class_weight"):
        classifier(class_weight=weights).fit(X, TWO)


def test_rows_of_no_weight_do_not_count():
    weights = np.where(np.arange(400) < 300, 1.0, 0.0)
    spoiled = NUMBERS.copy()
    spoiled[300:] = 1e6
    model = regressor(min_samples_leaf=1).fit(X, spoiled, weights)
    assert np.abs(model.predict(X[:300])).max() < 20


def test_importances_are_sums_over_the_splits_of_each_feature():
    model = classifier().fit(X, THREE)
    ensemble = model._model.ensemble
    for kind in ("gain", "split", "cover"):
        expected = np.zeros(5)
        for node, feature in enumerate(ensemble.feature):
            if feature >= 0:
                expected[feature] += {"gain": ensemble.gain, "cover": ensemble.cover}.get(
                    kind, np.ones(ensemble.n_nodes)
                )[node]
        np.testing.assert_allclose(model.importances(kind), expected, rtol=1e-12)
    np.testing.assert_allclose(
        model.feature_importances_, model.importances("gain") / model.importances("gain").sum()
    )
    assert model.feature_importances_.argmax() == 0


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_importances_of_a_model_without_splits_are_zero():
    model = regressor().fit(np.ones((50, 3)), np.arange(50.0))
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(3))


def test_an_unknown_importance_is_an_error():
    with pytest.raises(ParameterError, match="kind='weight'"):
        regressor().fit(X, NUMBERS).importances("weight")


def test_apply_gives_leaves_whose_values_add_up():
    model = regressor().fit(X, NUMBERS)
    leaves, ensemble = model.apply(X), model._model.ensemble
    assert leaves.shape == (400, 10)
    values = [ensemble.tree(t).value[leaves[:, t], 0] for t in range(10)]
    np.testing.assert_allclose(ensemble.base_score[0] + np.sum(values, axis=0), model.predict(X))


@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row_has_the_bits_it_has_among_many(y, dtype):
    rows = X.astype(dtype)
    rows[::7, 2] = np.nan
    model = classifier().fit(rows, y)
    many = model.predict_proba(rows)
    for i in range(0, 400, 13):
        np.testing.assert_array_equal(model.predict_proba(rows[i : i + 1]), many[i : i + 1])


@pytest.mark.parametrize("row", [X[:1], np.asfortranarray(X[:1]), X[:1].tolist(), X[:2][::2]])
def test_one_row_may_come_in_any_form(row):
    model = regressor().fit(X, NUMBERS)
    np.testing.assert_array_equal(model.predict(row), model.predict(X)[:1])


@pytest.mark.parametrize("n_rows", [1, 2, 100])
def test_a_wrong_row_gets_the_same_error_alone_and_among_many(n_rows):
    model = classifier().fit(X, TWO)
    with pytest.raises(
        DataError, match="X has 4 features, but GradientBoostingClassifier is expecting 5"
    ):
        model.predict_proba(X[:n_rows, :4].copy())
    spoiled = X[:n_rows].copy()
    spoiled[0, 3] = -np.inf
    with pytest.raises(DataError, match="column 3 contains infinity"):
        model.predict_proba(spoiled)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decision_function", "apply", "staged_predict"]
)
@pytest.mark.parametrize("rows", [X[:1], X])
def test_an_estimator_that_is_not_fitted_says_so(method, rows):
    with pytest.raises(NotFittedError, match="GradientBoostingClassifier instance is not fitted"):
        getattr(classifier(), method)(rows)


def test_a_frame_of_strings_gaps_and_numbers_is_taken_as_it_is():
    frame = pd.DataFrame({"number": X[:, 0], "city": np.array(["Ulm", "Bonn", None])[THREE]})
    frame.loc[::9, "number"] = np.nan
    model = regressor().fit(frame, NUMBERS)
    assert model.feature_names_in_.tolist() == ["number", "city"]
    assert model.score(frame, NUMBERS) > 0.5
    np.testing.assert_array_equal(model.predict(frame[["city", "number"]]), model.predict(frame))
    unknown = frame.assign(city="Rom")
    missing = frame.assign(city=None)
    np.testing.assert_array_equal(model.predict(unknown), model.predict(missing))
    with pytest.raises(DataError, match="'Rom'"):
        model.set_params(unknown_category="error").predict(unknown)


def test_a_category_seen_in_the_held_out_part_only_is_no_trouble():
    city = np.full(400, "Ulm", dtype=object)
    city[::2] = "Bonn"
    for i in range(0, 400, 40):
        city[i] = f"village {i}"
    frame = pd.DataFrame({"number": X[:, 0], "city": city})
    model = regressor(early_stopping=True, validation_fraction=0.5).fit(frame, NUMBERS)
    assert np.isfinite(model.predict(frame)).all()


def test_a_sparse_matrix_is_the_dense_one():
    rows = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = regressor().fit(rows, NUMBERS)
    sparse = regressor().fit(scipy.sparse.csr_matrix(rows), NUMBERS)
    np.testing.assert_array_equal(dense.predict(rows), sparse.predict(scipy.sparse.csc_array(rows)))


def replaced(array, value):
    copied = array.astype(np.result_type(array, type(value)))
    copied[(7,) * array.ndim if array.ndim == 1 else (7, 2)] = value
    return copied


BAD = {
    "NaN in y": (X, replaced(NUMBERS, np.nan), None, "y contains NaN"),
    "inf in y": (X, replaced(NUMBERS, np.inf), None, "y contains infinity"),
    "inf in X": (replaced(X, np.inf), NUMBERS, None, "column 2 contains infinity"),
    "no rows": (X[:0], NUMBERS[:0], None, "X has 0 sample"),
    "no columns": (X[:, :0], NUMBERS, None, "X has 0 feature"),
    "no y": (X, None, None, "y is None"),
    "short y": (X, NUMBERS[:-1], None, "y has 399 values, but X has 400 rows"),
    "deep y": (X, np.ones((400, 2, 1)), None, r"y .*\(400, 2, 1\)"),
    "strings in y": (X, NUMBERS.astype(str), None, "y contains strings"),
    "one dimension": (X[:, 0], NUMBERS, None, "X must have two dimensions"),
    "objects": (
        pd.DataFrame({"a": [{}] * 400}),
        NUMBERS,
        None,
        "column 'a': row 0 contains a dict",
    ),
    "dates": (pd.DataFrame({"a": pd.date_range("2020", periods=400)}), NUMBERS, None, "dates"),
    "complex": (X + 1j, NUMBERS, None, "Complex data not supported"),
    "negative weight": (X, NUMBERS, replaced(WEIGHTS, -1.0), "sample_weight is negative in row 7"),
    "NaN weight": (X, NUMBERS, replaced(WEIGHTS, np.nan), "sample_weight contains NaN"),
    "zero weights": (X, NUMBERS, np.zeros(400), "sample_weight is zero in every row"),
    "short weights": (X, NUMBERS, WEIGHTS[:-1], "sample_weight has 399 values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_named_and_harms_no_model(case):
    rows, y, weights, message = BAD[case]
    model = regressor().fit(X, NUMBERS)
    before = copy.copy(vars(model))
    with pytest.raises(DataError, match=message):
        model.fit(rows, y, weights)
    assert vars(model) == before


@pytest.mark.parametrize(
    "y", [replaced(NUMBERS, np.nan), NUMBERS, np.zeros(400), np.full(400, "a")]
)
def test_a_target_without_classes_to_tell_apart_is_named(y):
    with pytest.raises(DataError, match="y "):
        classifier().fit(X, y)


def test_a_class_without_weight_is_never_predicted():
    model = classifier().fit(X, THREE, (THREE != 1).astype(float))
    assert set(model.predict(X)) <= {0, 2}
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_one_row_makes_a_constant_model():
    model = regressor().fit(X[:1], [5.0])
    np.testing.assert_array_equal(model.predict(X), np.full(400, 5.0))


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_constant_columns_make_a_constant_model():
    model = classifier().fit(np.ones((400, 3)), TWO)
    np.testing.assert_allclose(model.predict_proba(np.ones((2, 3)))[:, 1], TWO.mean(), rtol=1e-6)


def test_a_column_of_gaps_is_harmless():
    rows = np.column_stack([X, np.full(400, np.nan)])
    np.testing.assert_array_equal(
        regressor().fit(rows, NUMBERS).predict(rows), regressor().fit(X, NUMBERS).predict(X)
    )


@pytest.mark.parametrize("scale", [1e-149, 1e-12, 1e12, 1e60])
def test_targets_of_any_size_are_learned(scale):
    prediction = regressor().fit(X, NUMBERS * scale).predict(X) / scale
    np.testing.assert_allclose(prediction, regressor().fit(X, NUMBERS).predict(X), rtol=1e-3)


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_targets_whose_squares_vanish_are_refused_but_zeros_are_not():
    with pytest.raises(DataError, match=r"y contains only numbers up to .*e-179, .*1e-150 or more"):
        regressor().fit(X, NUMBERS * 1e-180)
    np.testing.assert_array_equal(regressor().fit(X, np.zeros(400)).predict(X), 0.0)


def test_subsampling_depends_on_the_seed_alone():
    options = {"subsample": 0.5, "colsample_bytree": 0.6, "min_samples_leaf": 5}
    one = regressor(**options, random_state=1, n_jobs=1).fit(X, NUMBERS).predict(X)
    again = regressor(**options, random_state=1, n_jobs=2).fit(X, NUMBERS).predict(X)
    other = regressor(**options, random_state=2).fit(X, NUMBERS).predict(X)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_no_seed_is_a_new_seed_and_a_random_state_is_drawn_from():
    options = {"subsample": 0.5, "min_samples_leaf": 5}
    first, second = (
        regressor(**options, random_state=None).fit(X, NUMBERS).predict(X) for _ in "ab"
    )
    assert not np.array_equal(first, second)
    first, second = (
        regressor(**options, random_state=np.random.RandomState(3)).fit(X, NUMBERS).predict(X)
        for _ in "ab"
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "options",
    [
        {"splitter": "exact"},
        {"grow_policy": "levelwise", "max_depth": 3, "max_leaves": None},
        {"max_bins": 8},
        {"reg_alpha": 1.0, "reg_lambda": 0.0, "min_split_gain": 0.1, "max_delta_step": 0.5},
        {"colsample_bylevel": 0.5, "colsample_bynode": 0.5},
    ],
)
def test_every_way_of_growing_learns(options):
    model = GradientBoostingClassifier(n_estimators=50, **options).fit(X, THREE)
    assert roc_auc_score(THREE, model.predict_proba(X), multi_class="ovr") > 0.95


def test_exact_growth_takes_what_the_histograms_take():
    frame = pd.DataFrame({"number": X[:, 0], "city": np.array(["Ulm", "Bonn", None])[THREE]})
    frame.loc[::9, "number"] = np.nan
    model = regressor(splitter="exact", subsample=0.8, colsample_bytree=0.9, early_stopping=True)
    assert model.fit(frame, NUMBERS, WEIGHTS).score(frame, NUMBERS) > 0.4
