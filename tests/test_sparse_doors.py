"""Sparse matrices with wrong index arrays: refused by every door, before any row is taken.

A door that does not look may end the process, and the test run with it.
"""

import numpy as np
import pytest
import scipy.sparse
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier as SklearnTree

import hedgerow as hr
from hedgerow import DataError
from hedgerow._data.sparse import sound, sound_rows

RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((40, 4)) < 0.6, RNG.normal(size=(40, 4)), 0.0)
Y = (DENSE[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)
SMALL = {"n_estimators": 2}
BOOSTED = SMALL | {"min_samples_leaf": 2}


def linear_kernel(A, B):
    return A @ B.T


def csr():
    return scipy.sparse.csr_array(DENSE)


def bad_indptr():
    X = csr()
    X.indptr[5] = 10**6
    return X


def decreasing_indptr():
    X = csr()
    X.indptr[5], X.indptr[6] = X.indptr[6], X.indptr[5]
    return X


def wrapping_indptr():
    X = csr()
    X.indptr[5:8] = [2**31 - 1, -(2**31), 2**31 - 1]  # whose differences overflow to small ones
    return X


def late_start():
    X = csr()
    X.indptr[0] = 1
    return X


def column_beyond():
    X = csr()
    X.indices[3] = 4
    return X


def negative_column():
    X = csr()
    X.indices[3] = -1
    return X


def short_indices():
    X = csr()
    X.indices = X.indices[:-5]
    return X


def short_values():
    X = csr()
    X.data = X.data[:-5]
    return X


def short_indptr():
    X = csr()
    X.indptr = X.indptr[:-2]
    return X


def floating_indices():
    X = csr()
    X.indices = X.indices + 0.5
    return X


def bad_csc():
    X = csr().tocsc()
    X.indices[3] = 40
    return X


def bad_matrix():
    X = scipy.sparse.csr_matrix(DENSE)
    X.indptr[5] = 10**6
    return X


def bad_coo():
    X = csr().tocoo()
    X.coords[0][3] = 40
    return X


def short_coo():
    X = csr().tocoo()
    X.coords = (X.coords[0][:-1], X.coords[1])
    return X


def bad_lil():
    X = csr().tolil()
    X.rows[3] = [*X.rows[3][:-1], 10**6]
    return X


def short_lil():
    X = csr().tolil()
    X.rows[0] = X.rows[0][:-1]
    return X


def bad_bsr():
    X = csr().tobsr((2, 2))
    X.indices[3] = 2
    return X


def bad_dok():
    X = csr().todok()
    X._dict[40, 0] = 1.0
    return X


BAD = [
    *(bad_indptr, decreasing_indptr, wrapping_indptr, late_start, column_beyond, negative_column),
    *(short_indices, short_values, short_indptr, floating_indices, bad_csc, bad_matrix, bad_coo),
    *(short_coo, bad_lil, short_lil, bad_bsr, bad_dok),
]


@pytest.mark.parametrize("make", BAD)
def test_a_wrong_matrix_is_refused_and_stays_as_it_was(make):
    X = make()
    with pytest.raises(DataError, match="a table is not a valid sparse matrix"):
        sound(X, "a table")
    again = make()
    for part in ("data", "indices", "indptr"):
        if X.format in ("csr", "csc"):
            np.testing.assert_array_equal(getattr(X, part), getattr(again, part))


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_a_sound_matrix_keeps_its_values_and_its_kind(layout, kind):
    X = kind(DENSE).asformat(layout)
    for checked in (sound(X), sound_rows(X)):
        np.testing.assert_array_equal(checked.toarray(), DENSE)
        assert isinstance(checked, scipy.sparse.sparray) == isinstance(X, scipy.sparse.sparray)
    assert sound_rows(X).format == (layout if layout in ("csr", "csc") else "csr")


def test_an_empty_matrix_is_sound():
    for layout in ("csr", "csc", "bsr", "coo", "lil", "dok", "dia"):
        empty = scipy.sparse.csr_array((3, 2)).asformat(layout)
        np.testing.assert_array_equal(sound(empty).toarray(), np.zeros((3, 2)))


def test_other_tables_pass_as_they_are():
    assert sound(DENSE) is DENSE


def test_unsigned_indices_are_taken():
    X = csr()
    X.indices = X.indices.astype(np.uint32)
    np.testing.assert_array_equal(sound(X).toarray(), DENSE)


def shuffled_but_remembered_as_sorted(layout):
    X = csr().asformat(layout)
    assert X.has_canonical_format
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end] = X.indices[start:end][::-1]
        X.data[start:end] = X.data[start:end][::-1]
    return X


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize(
    "model",
    [
        hr.SVC(),
        hr.LinearSVC(),
        hr.KNeighborsClassifier(),
        hr.RandomForestClassifier(n_estimators=3),
    ],
)
def test_what_scipy_remembers_of_a_matrix_is_not_believed(model, layout):
    X = shuffled_but_remembered_as_sorted(layout)
    expected = model.fit(csr(), Y).predict(csr())
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), expected)


def stale_duplicates(layout):
    """Give a matrix that SciPy remembers as canonical, with a value in two parts."""
    X = csr().asformat(layout)
    assert X.has_canonical_format
    first = int(np.flatnonzero(np.diff(X.indptr) > 1)[0])
    X.indices[X.indptr[first] + 1] = X.indices[X.indptr[first]]
    return X


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize(
    "model",
    [
        hr.SVC(),
        hr.LinearSVC(),
        hr.KNeighborsClassifier(),
        hr.RandomForestClassifier(n_estimators=3),
    ],
)
def test_duplicates_are_added_up_whatever_scipy_remembers(model, layout):
    X = stale_duplicates(layout)
    parts = (X.data.copy(), X.indices.copy(), X.indptr.copy())
    added = type(X)(parts, shape=X.shape).toarray()
    before = X.indices.copy()
    expected = model.fit(scipy.sparse.csr_array(added), Y).predict(added)
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), expected)
    np.testing.assert_array_equal(X.indices, before)


# Every door

SOME = [bad_indptr, column_beyond, bad_csc, bad_coo, bad_lil]

CLASSIFIERS = [
    hr.GradientBoostingClassifier(**BOOSTED),
    hr.GradientBoostingClassifier(**BOOSTED, early_stopping=True),
    hr.RandomForestClassifier(**SMALL),
    hr.ExtraTreesClassifier(**SMALL),
    hr.DecisionTreeClassifier(),
    hr.DecisionTreeClassifier(splitter="exact"),
    hr.AdaBoostClassifier(**SMALL),
    hr.AdaBoostClassifier(hr.SVC(), **SMALL, resample=True),
    hr.AdaBoostClassifier(SklearnTree(), **SMALL),
    hr.BaggingClassifier(**SMALL),
    hr.BaggingClassifier(hr.SVC(), **SMALL),
    hr.BaggingClassifier(hr.LinearSVC(), **SMALL, max_features=2),
    hr.BaggingClassifier(LogisticRegression(), n_estimators=5),
    hr.StagewiseClassifier(**SMALL),
    hr.StagewiseClassifier(**SMALL, early_stopping=True),
    hr.StagewiseClassifier(hr.SVR(), **SMALL, subsample=0.5),
    hr.StagewiseClassifier(hr.BaggingRegressor(hr.SVR(), **SMALL), **SMALL),
    hr.KNeighborsClassifier(),
    hr.RadiusNeighborsClassifier(2.0),
    hr.SVC(),
    hr.SVC(probability=True),
    hr.NuSVC(nu=0.3),
    hr.LinearSVC(),
]
REGRESSORS = [
    hr.GradientBoostingRegressor(**BOOSTED),
    hr.GradientBoostingSurvival(**BOOSTED),
    hr.GradientBoostingRanker(**BOOSTED, qid_column=3),
    hr.RandomForestRegressor(**SMALL, keep_targets=True),
    hr.ExtraTreesRegressor(**SMALL, keep_targets=True),
    hr.DecisionTreeRegressor(),
    hr.AdaBoostRegressor(**SMALL),
    hr.AdaBoostRegressor(hr.SVR(), **SMALL),
    hr.BaggingRegressor(hr.KNeighborsRegressor(), **SMALL),
    hr.StagewiseRegressor(hr.LinearSVR(), **SMALL, early_stopping=True),
    hr.KNeighborsRegressor(),
    hr.RadiusNeighborsRegressor(2.0),
    hr.SVR(),
    hr.NuSVR(),
    hr.LinearSVR(),
]
OTHERS = [hr.NearestNeighbors(), hr.OneClassSVM()]
PRECOMPUTED = [
    hr.SVC(kernel="precomputed"),
    hr.KNeighborsClassifier(metric="precomputed"),
    hr.KNeighborsClassifier(metric="cosine"),
    hr.SVC(kernel=linear_kernel),
]
METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"),
    *("staged_predict", "staged_predict_proba", "staged_decision_function", "predict_quantile"),
    *("apply", "decision_path", "predict_trees", "proximities", "predict_quantiles"),
    *("kneighbors", "kneighbors_graph", "radius_neighbors", "radius_neighbors_graph"),
)
WITH_TARGET = (
    *("score", "staged_score", "staged_weights", "permutation_importances", "calibrate", "refit"),
    "cost_complexity_pruning_path",
)


def type_of(model):
    return type(model).__name__


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *OTHERS, *PRECOMPUTED], ids=type_of)
def test_every_fit_refuses_a_wrong_matrix(model):
    for make in SOME:
        with pytest.raises(DataError, match="valid sparse matrix"):
            model.fit(make(), Y)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *OTHERS], ids=type_of)
def test_every_fit_refuses_objects_in_a_matrix_and_single_values(model):
    for X in (csr(), csr().tocsc()):
        X.data = X.data.astype(object)
        with pytest.raises(DataError, match="X has the dtype object"):
            model.fit(X, Y)
    for value in (None, 3, np.array(3.0)):
        with pytest.raises(DataError, match=r"X (is|must have two)|X, whose shape is"):
            model.fit(value, Y)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *OTHERS], ids=type_of)
def test_every_method_refuses_a_wrong_matrix(model):
    model.fit(csr(), Y)
    calls = [(getattr(model, name, None), ()) for name in METHODS]
    calls += [(getattr(model, name, None), (Y,)) for name in WITH_TARGET]
    for method, target in calls:
        for make in SOME if method is not None else ():
            with pytest.raises(DataError, match="valid sparse matrix"):
                list(method(make(), *target))


FITTED = hr.GradientBoostingClassifier(**BOOSTED).fit(csr(), Y)
DOORS = {
    "eval_set": lambda X: hr.GradientBoostingClassifier(**BOOSTED).fit(csr(), Y, eval_set=(X, Y)),
    "init_score": lambda X: FITTED.refit(X, Y),
    "cross_validate": lambda X: hr.cross_validate(hr.SVC(), X, Y),
    "cross_validate_bins": lambda X: hr.cross_validate(FITTED, X, Y),
    "cross_validate_sklearn": lambda X: hr.cross_validate(LogisticRegression(), X, Y),
    "shap_values": lambda X: hr.explain.shap_values(FITTED, X),
    "background": lambda X: hr.explain.shap_values(FITTED, csr(), background=X),
    "partial_dependence": lambda X: hr.explain.partial_dependence(FITTED, X, 0),
    "partial_dependence_of_any": lambda X: hr.explain.partial_dependence(
        LogisticRegression().fit(csr(), Y), X, 0
    ),
    "accumulated_effects": lambda X: hr.explain.accumulated_effects(FITTED, X, 0),
    "interaction_strength": lambda X: hr.explain.interaction_strength(FITTED, X, (0, 1)),
    "permutation_importance": lambda X: hr.explain.permutation_importance(FITTED, X, Y),
    "permutation_importance_of_any": lambda X: hr.explain.permutation_importance(
        LogisticRegression().fit(csr(), Y), X, Y
    ),
    "report": lambda X: hr.report(FITTED, X, Y, "never-written.html"),
    "margins": lambda X: hr.theory.margins(hr.AdaBoostClassifier(**SMALL).fit(csr(), Y), X, Y),
    "forest_bound": lambda X: hr.theory.forest_bound(
        hr.RandomForestClassifier(**SMALL).fit(csr(), Y), X, Y
    ),
    "bias_variance": lambda X: hr.theory.bias_variance(
        LogisticRegression(), X, Y, X_test=csr(), y_test=Y, n_repeats=2
    ),
    "bias_variance_test": lambda X: hr.theory.bias_variance(
        LogisticRegression(), csr(), Y, X_test=X, y_test=Y, n_repeats=2
    ),
    "adaboost_bound": lambda X: hr.theory.adaboost_bound(
        SklearnAdaBoost(**SMALL).fit(csr(), Y), X, Y
    ),
    "margins_of_any": lambda X: hr.theory.margins(SklearnAdaBoost(**SMALL).fit(csr(), Y), X, Y),
    "structure_score": lambda X: hr.theory.structure_score(FITTED, X, Y),
    "staged_shap": lambda X: hr.plot.StagedShapDisplay.from_estimator(FITTED, X, row=5),
    "roc": lambda X: hr.plot.RocDisplay.from_estimator(FITTED, X, Y),
    "calibration": lambda X: hr.plot.CalibrationDisplay.from_estimator(FITTED, X, Y),
    "precision_recall": lambda X: hr.plot.PrecisionRecallDisplay.from_estimator(FITTED, X, Y),
    "residuals": lambda X: hr.plot.ResidualDisplay.from_estimator(
        hr.LinearSVR().fit(csr(), Y), X, Y
    ),
    "decision_boundary": lambda X: hr.plot.DecisionBoundaryDisplay.from_estimator(
        hr.SVC().fit(DENSE[:, :2], Y), X
    ),
    "roc_of_any": lambda X: hr.plot.RocDisplay.from_estimator(
        LogisticRegression().fit(csr(), Y), X, Y
    ),
    "residuals_of_any": lambda X: hr.plot.ResidualDisplay.from_estimator(
        Ridge().fit(csr(), Y), X, Y
    ),
    "forest_bound_of_any": lambda X: hr.theory.forest_bound(
        SklearnForest(**SMALL).fit(csr(), Y), X, Y, out_of_bag=False
    ),
    "plot_partial_dependence": lambda X: hr.plot.PartialDependenceDisplay.from_estimator(
        FITTED, X, [0]
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_other_door_refuses_a_wrong_matrix(door):
    for make in SOME:
        with pytest.raises(DataError, match="valid sparse matrix"):
            DOORS[door](make())
