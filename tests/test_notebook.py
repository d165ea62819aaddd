"""What notebooks show of fitted estimators: well-formed, escaped, true, and small."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as SklearnLinearSVC

import hedgerow as hr

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
Z, T = load_diabetes(return_X_y=True, as_frame=True)

CLASSIFIERS = [
    hr.AdaBoostClassifier(n_estimators=3),
    hr.AdaBoostClassifier(SklearnLinearSVC(), n_estimators=2),
    hr.BaggingClassifier(n_estimators=2),
    hr.BaggingClassifier(hr.KNeighborsClassifier(), n_estimators=2),
    hr.DecisionTreeClassifier(),
    hr.ExtraTreesClassifier(n_estimators=2),
    hr.GradientBoostingClassifier(n_estimators=2),
    hr.KNeighborsClassifier(),
    hr.LinearSVC(),
    hr.OneClassSVM(),
    hr.RadiusNeighborsClassifier(radius=1e4),
    hr.RandomForestClassifier(n_estimators=2, oob_score=False),
    hr.StagewiseClassifier(n_estimators=2),
    hr.SVC(),
]


class Words(HTMLParser):
    """Collects text, and checks that every tag is closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.words = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def words(estimator):
    return Words(estimator._repr_html_()).text


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: repr(model)[:60])
def test_every_fitted_estimator_has_a_small_summary(model):
    html = model.fit(X, Y)._repr_html_()
    text = Words(html).text
    assert text.startswith(type(model).__name__)
    assert "30 columns" in text
    assert len(html) < 6000


def test_the_summary_tells_rows_trees_and_changed_parameters():
    model = hr.RandomForestClassifier(n_estimators=7, oob_score=True, max_depth=5)
    with pytest.warns(UserWarning, match="out-of-bag"):
        model.fit(X, Y)
    text = words(model)
    assert "569 rows, 30 columns, 2 classes" in text
    assert "7 trees" in text
    assert "n_estimators=7" in text
    assert "max_depth=5" in text
    assert "criterion" not in text
    assert f"out-of-bag score {model.oob_score_:.4g}" in text


def test_the_five_features_of_largest_importance_are_shown():
    model = hr.DecisionTreeRegressor(max_depth=4).fit(Z, T)
    parts = Words(model._repr_html_()).words
    order = np.argsort(-model.feature_importances_)
    names = [part for part in parts if part in Z.columns]
    assert names == Z.columns[order[:5]].tolist()
    assert f"{100 * model.feature_importances_[order[0]]:.1f} %" in parts


def test_a_summary_has_the_best_round_and_the_automatic_choice():
    model = hr.GradientBoostingRegressor(n_estimators=30, early_stopping=True).fit(Z, T)
    text = words(model)
    assert f"{model.best_score_:.4g} in round {model.best_iteration_}" in text
    assert "rmse on validation" in text
    auto = hr.GradientBoostingRegressor(n_estimators="auto").fit(Z, T)
    assert f"n_estimators={auto.auto_.parameters['n_estimators']}" in words(auto)


def test_text_is_escaped():
    frame = pd.DataFrame({"<script>alert(1)</script>": np.arange(20.0)})
    model = hr.DecisionTreeRegressor(max_features="sqrt").fit(frame, np.arange(20.0))
    html = model._repr_html_()
    assert "<script>" not in html
    assert "<script>alert(1)</script>" in Words(html).text
    named = hr.GradientBoostingRegressor(
        n_estimators=2, min_samples_leaf=2, categorical_features=["<b>"]
    )
    named.fit(pd.DataFrame({"<b>": ["x", "y"] * 10}), np.arange(20.0))
    assert "<b>'" not in named._repr_html_()


def test_unfitted_ones_and_pipelines_keep_scikit_learns_diagram():
    model = hr.DecisionTreeClassifier()
    assert "sk-" in model._repr_html_()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
    assert "sk-" in pipeline._repr_html_()
    assert "share of the gain" not in pipeline._repr_html_()


def test_the_bundle_is_what_notebooks_ask_for():
    model = hr.DecisionTreeClassifier(max_depth=2).fit(X, Y)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert bundle["text/html"] == model._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_a_model_from_a_file_has_a_summary(tmp_path):
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(X, Y)
    model.save(tmp_path / "model.hedgerow")
    assert hr.load(tmp_path / "model.hedgerow")._repr_html_() == model._repr_html_()
