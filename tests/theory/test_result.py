"""What every result can do: print itself, draw itself, become a frame."""

import dataclasses
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow import theory
from hedgerow._result import texts

mpl.use("Agg")
import matplotlib.pyplot as plt

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
CANDIDATES = [("trees", hr.ExtraTreesRegressor(n_estimators=9)), ("svm", hr.LinearSVR(C=99.0))]


def results():
    X, y = CANCER
    boosted = AdaBoostClassifier(n_estimators=15, random_state=0).fit(X, y)
    forest = hr.RandomForestClassifier(n_estimators=15).fit(X, y)
    trees = hr.GradientBoostingRegressor(n_estimators=15, max_leaves=5).fit(*DIABETES)
    score = theory.structure_score(trees, *DIABETES)
    made = [
        theory.majority_vote_curve(),
        theory.majority_vote(correlation=np.linspace(0.0, 1.0, 9)),
        theory.objective(trees, *DIABETES),
        theory.function_descent(DIABETES[0][:60, 2:3], DIABETES[1][:60]),
        theory.adaboost_bound(boosted, X, y),
        theory.margins(boosted, X, y),
        theory.forest_bound(forest, X, y),
        theory.bias_variance(DecisionTreeRegressor(), *DIABETES, n_repeats=5),
        theory.bias_variance(DecisionTreeClassifier(), X, y, n_repeats=5),
        theory.diversity(hr.EnsembleRegressor(CANDIDATES, cv=2).fit(*DIABETES), *DIABETES),
        score,
        score.nodes,
    ]
    return {type(result).__name__: result for result in made}


RESULTS = results()
COLUMNS = {
    "MajorityVoteCurve": ["n", "error", "vote_error"],
    "MajorityVote": ["correlation", "beta_binomial", "one_factor_normal"],
    "Objective": ["round", "loss", "penalty", "objective"],
    "FunctionDescent": ["step", "loss_rows", "loss_learner"],
    "AdaBoostBound": ["round", "err", "alpha", "z", "bound", "training_error"],
    "EnsembleDiversity": ["member", "weight", "error", "ambiguity"],
    "Margins": ["round", "minimum", "q10", "median", "q90", "mean", "not_positive"],
    "ForestBound": ["tree", "rows", "right", "rival", "sd"],
    "SquaredErrorDecomposition": ["mean_prediction", "noise", "bias_squared", "variance", "error"],
    "ZeroOneDecomposition": ["main_prediction", "noise", "bias", "variance", "error"],
    "StructureScore": [
        *("tree", "output", "leaves", "J", "root_J", "gain", "omega", "recomputed_J"),
    ],
    "NodeSums": ["tree", "node", "feature", "G", "H", "weight", "score", "gain"],
}
WITHOUT_LEGEND = {"SquaredErrorDecomposition", "ZeroOneDecomposition", "NodeSums"}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_every_result_is_tested():
    assert set(RESULTS) == set(COLUMNS)
    kinds = {name for name in theory.__all__ if isinstance(getattr(theory, name), type)}
    assert kinds == set(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_frames_have_their_columns(name):
    frame = RESULTS[name].to_frame()
    assert list(frame) == COLUMNS[name]
    assert len(frame) > 0


@pytest.mark.parametrize("name", COLUMNS)
def test_plots_are_drawn_and_labelled(name):
    ax = RESULTS[name].plot()
    ax.figure.canvas.draw()
    assert ax.get_xlabel()
    assert ax.get_ylabel() or [label.get_text() for label in ax.get_yticklabels()]
    assert ax.has_data()
    assert (ax.get_legend() is None) == (name in WITHOUT_LEGEND)


@pytest.mark.parametrize("name", COLUMNS)
def test_plots_go_where_they_are_told(name):
    figure, axes = plt.subplots(1, 2, figsize=(6, 2.4), layout="constrained")
    assert RESULTS[name].plot(axes[1]) is axes[1]
    assert RESULTS[name].plot(ax=axes[0]) is axes[0]
    figure.canvas.draw()
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("name", COLUMNS)
def test_the_repr_is_a_small_aligned_table(name):
    text = repr(RESULTS[name])
    lines = text.splitlines()
    assert lines[0].startswith(f"{name}: ")
    assert len(lines) <= 9
    assert max(map(len, lines)) <= 90
    table = [line for line in lines if len(line.split()) == len(lines[-1].split())]
    assert len({len(line) for line in table}) == 1


@pytest.mark.parametrize("name", COLUMNS)
def test_results_cannot_be_changed(name):
    field = dataclasses.fields(RESULTS[name])[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(RESULTS[name], field, None)


def test_the_bars_of_a_decomposition_end_at_its_error():
    for name in ("SquaredErrorDecomposition", "ZeroOneDecomposition"):
        ax = RESULTS[name].plot()
        *terms, total = ax.patches
        assert total.get_width() == pytest.approx(RESULTS[name].error)
        assert sum(bar.get_width() for bar in terms) == pytest.approx(RESULTS[name].error)
        assert "noise" not in [label.get_text() for label in ax.get_yticklabels()]


def test_numbers_are_written_with_as_many_decimals_as_their_size_needs():
    assert texts(np.array([0.5, 0.0123456, 0.0])) == ["0.5000", "0.0123", "0.0000"]
    assert texts(np.array([123.456, -12.0])) == ["123.5", "-12.0"]
    assert texts(np.array([0.5, 1e-9])) == ["0.5000", "1e-09"]
    assert texts(np.array([12345.678, 1.25, 0.0])) == ["12346", "1.250", "0"]
    assert texts(np.array([1e9, 1.0])) == ["1e+09", "1.000"]
    assert texts(np.array([np.inf, np.nan, 0.25])) == ["inf", "nan", "0.2500"]
    assert texts(np.array([1, 200])) == ["1", "200"]


def test_matplotlib_and_pandas_are_asked_for_only_when_needed():
    code = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "matplotlib"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
from hedgerow import theory
curve = theory.majority_vote_curve()
repr(curve)
for method, package in ((curve.to_frame, "pandas"), (curve.plot, "matplotlib")):
    try:
        method()
    except ImportError as error:
        assert str(error).endswith(f"needs {package}. Install it: pip install {package}"), error
    else:
        raise AssertionError(package)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
