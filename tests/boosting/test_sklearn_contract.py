"""scikit-learn's own checks, and the tools of scikit-learn that users put around an estimator."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_regressor_multioutput

from contract import parametrize_with_checks, run_check
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor

SMALL = {"n_estimators": 5, "max_leaves": 4}


@parametrize_with_checks(
    [
        # The automatic search, with few rounds: a check makes up to thirty fits.
        GradientBoostingClassifier(budget=0.05),
        GradientBoostingRegressor(budget=0.05),
        GradientBoostingClassifier(n_estimators=20),
        GradientBoostingRegressor(n_estimators=20),
        GradientBoostingClassifier(n_estimators=20, multi_strategy="vector"),
        GradientBoostingClassifier(n_estimators=20, linear_leaves=True),
        GradientBoostingRegressor(n_estimators=20, linear_leaves=True),
    ]
)
# A check sets n_iter_no_change wherever it is a parameter, and that has no effect here; others fit
# to too few rows for a split.
@pytest.mark.filterwarnings(
    "default",
    "ignore:.*n_iter_no_change=20 has no effect",
    "ignore::hedgerow.NoSplitWarning",
)
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


def test_one_tree_for_several_numbers_passes_scikit_learns_check():
    check_regressor_multioutput("vector", GradientBoostingRegressor(multi_strategy="vector"))


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_clone_has_the_parameters_and_not_the_model(cancer):
    fitted = GradientBoostingClassifier(**SMALL).fit(*cancer)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")


def test_repr_shows_what_was_changed():
    assert (
        repr(GradientBoostingRegressor(max_leaves=7)) == "GradientBoostingRegressor(max_leaves=7)"
    )


def test_a_pickle_predicts_the_same_in_another_process(cancer, tmp_path):
    X, y = cancer
    model = GradientBoostingClassifier(**SMALL).fit(X, y)
    protocols = (2, pickle.HIGHEST_PROTOCOL)
    for protocol in protocols:
        (tmp_path / f"{protocol}.pickle").write_bytes(pickle.dumps(model, protocol))
    np.save(tmp_path / "X.npy", X)
    program = (
        "import pickle, sys, numpy as np, pathlib\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "for path in folder.glob('*.pickle'):\n"
        "    model = pickle.loads(path.read_bytes())\n"
        "    np.save(path.with_suffix('.npy'), model.predict_proba(np.load(folder / 'X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    for protocol in protocols:
        found = np.load(tmp_path / f"{protocol}.npy")
        np.testing.assert_array_equal(found, model.predict_proba(X))


def test_grid_search_in_two_processes(cancer):
    X, y = cancer
    grid = {"gradientboostingclassifier__max_leaves": [2, 8]}
    pipeline = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=20))
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.9


def test_cross_validation_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    assert cross_val_score(GradientBoostingRegressor(), X, y, cv=3).mean() > 0.3


def test_sample_weight_and_eval_set_are_routed(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = GradientBoostingClassifier(**SMALL)
        model.set_fit_request(sample_weight=True, eval_set=True).set_score_request(
            sample_weight=True
        )
        results = cross_validate(
            model,
            X,
            y,
            cv=3,
            params={"sample_weight": weights, "eval_set": [(X[:50], y[:50])]},
            return_estimator=True,
        )
    for fitted in results["estimator"]:
        assert len(fitted.evals_result_["eval_0"]["log_loss"]) == SMALL["n_estimators"]


def test_unknown_parameters_fail_as_in_any_estimator():
    with pytest.raises(TypeError, match="n_trees"):
        GradientBoostingClassifier(n_trees=3)
    with pytest.raises(ValueError, match="n_trees"):
        GradientBoostingClassifier().set_params(n_trees=3)
