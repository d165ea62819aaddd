"""Formula losses in gradient boosting: against the built-in losses, and what only they can do."""

# ruff: noqa: ARG005

import pickle

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import hedgerow as hr
from hedgerow import ParameterError
from hedgerow._boosting import losses as built_in
from hedgerow._boosting.losses import FormulaLoss

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 4))
NUMBERS = 2.0 * X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.5 * RNG.standard_t(3, N) + 3.0
LABELS = (NUMBERS > 3.5).astype(int)
CLASSES = np.digitize(NUMBERS, [2.0, 4.0])
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0] + 0.5)).astype(float)
POSITIVE = COUNTS + 0.5
PARTS = RNG.uniform(0.0, 1.0, N)
WEIGHTS = RNG.uniform(0.1, 3.0, N)
SCORES = RNG.normal(size=N)
FEW = {"n_estimators": 30, "random_state": 0}


def sign(y):
    return 2.0 * y - 1.0


def tweedie(power):
    a, b = 2.0 - power, 1.0 - power
    return lambda y, f: np.exp(a * f) / a - y * np.exp(b * f) / b


def pinball(level):
    return lambda y, f: np.maximum(level * (y - f), (level - 1.0) * (y - f))


def squared(y, f):
    return 0.5 * (y - f) ** 2


def absolute(y, f):
    return np.abs(y - f)


def log_loss(y, f):
    return np.logaddexp(0.0, f) - y * f


def multinomial(y, f):
    return np.logaddexp.reduce(f, axis=1) - f[np.arange(len(y)), y]


FORMULAS = {
    "squared": (squared, built_in.SquaredError(), NUMBERS),
    "log loss": (log_loss, built_in.BinaryLogLoss(), LABELS),
    "log loss by log_expit": (
        lambda y, f: -special.log_expit(sign(y) * f),
        built_in.BinaryLogLoss(),
        LABELS,
    ),
    "log loss by probabilities": (
        lambda y, f: (
            -special.xlogy(y, special.expit(f)) - special.xlog1py(1 - y, -special.expit(f))
        ),
        built_in.BinaryLogLoss(),
        LABELS,
    ),
    "parts": (log_loss, built_in.BernoulliLogLoss(), PARTS),
    "exponential": (lambda y, f: np.exp(-sign(y) * f), built_in.ExponentialLoss(), LABELS),
    "focal": (
        lambda y, f: -(special.expit(-sign(y) * f) ** 2.0) * special.log_expit(sign(y) * f),
        built_in.FocalLoss(2.0),
        LABELS,
    ),
    "poisson": (lambda y, f: np.exp(f) - y * f, built_in.TweedieLoss(1.0), COUNTS),
    "gamma": (lambda y, f: y * np.exp(-f) + f, built_in.TweedieLoss(2.0), POSITIVE),
    "tweedie": (tweedie(1.4), built_in.TweedieLoss(1.4), COUNTS),
    "huber": (
        lambda y, f: special.huber(0.7, y - f),
        built_in.RobustLoss("huber", 0.7),
        NUMBERS,
    ),
    "huber by where": (
        lambda y, f: np.where(
            np.abs(y - f) <= 0.7, 0.5 * (y - f) ** 2, 0.7 * (np.abs(y - f) - 0.35)
        ),
        built_in.RobustLoss("huber", 0.7),
        NUMBERS,
    ),
    "pseudo huber": (
        lambda y, f: special.pseudo_huber(0.7, y - f),
        built_in.RobustLoss("pseudo_huber", 0.7),
        NUMBERS,
    ),
    "log cosh": (
        lambda y, f: 0.49 * np.log(np.cosh((y - f) / 0.7)),
        built_in.RobustLoss("log_cosh", 0.7),
        NUMBERS,
    ),
    "expectile": (
        lambda y, f: np.where(y > f, 0.8, 0.2) * (y - f) ** 2,
        built_in.ExpectileLoss(0.8),
        NUMBERS,
    ),
    "absolute": (absolute, built_in.AbsoluteError(), NUMBERS),
    "quantile": (pinball(0.8), built_in.QuantileLoss((0.8,)), NUMBERS),
    "hinge": (lambda y, f: np.maximum(0.0, 1.0 - sign(y) * f), built_in.HingeLoss(), LABELS),
}
PIECEWISE_LINEAR = ("absolute", "quantile", "hinge")
# Of these the built-in loss has a hessian of its own, under which steps are never too long.
BOUNDED = ("huber", "huber by where", "pseudo huber", "log cosh", "focal")


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_those_of_the_built_in_loss(name):
    formula, loss, y = FORMULAS[name]
    first, second = hr.Loss(formula).derivatives(y, SCORES)
    gradient, hessian = loss.gradients(y.astype(float), SCORES[None], None)
    np.testing.assert_allclose(first, gradient, rtol=1e-12, atol=1e-13)
    if name in PIECEWISE_LINEAR:
        assert not second.any()
    elif name not in BOUNDED:
        np.testing.assert_allclose(second, hessian, rtol=1e-11, atol=1e-13)


def test_derivatives_of_classes_are_those_of_the_built_in_loss():
    scores = np.random.RandomState(0).normal(size=(N, 3))
    gradient, hessian = built_in.MultinomialLogLoss(3).gradients(
        CLASSES.astype(float), np.ascontiguousarray(scores.T), None
    )
    softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    for formula in (
        multinomial,
        lambda y, f: -np.log(np.exp(f) / np.exp(f).sum(axis=1, keepdims=True))[np.arange(N), y],
        lambda y, f: -(np.eye(3)[y] * f).sum(axis=1) + np.log(np.sum(np.exp(f), axis=1)),
    ):
        first, second = hr.Loss(formula).derivatives(CLASSES, scores)
        np.testing.assert_allclose(first, gradient, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(second.T, softmax * (1.0 - softmax), rtol=1e-12, atol=1e-14)
    assert hessian.shape == second.shape


@pytest.mark.parametrize("name", ["squared", "parts", "expectile"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_model_is_that_of_the_built_in_loss(name, weights):
    names = {
        "squared": ({}, None),
        "parts": ({"loss": "log_loss"}, "sigmoid"),
        "expectile": ({"loss": "expectile", "quantile": 0.8}, None),
    }
    options, link = names[name]
    formula, _, y = FORMULAS[name]
    own = hr.GradientBoostingRegressor(loss=hr.Loss(formula, link=link), **FEW).fit(X, y, weights)
    other = hr.GradientBoostingRegressor(**options, **FEW).fit(X, y, weights)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)


def test_a_classifier_is_that_of_the_log_loss():
    own = hr.GradientBoostingClassifier(loss=hr.Loss(log_loss), **FEW).fit(X, LABELS)
    other = hr.GradientBoostingClassifier(**FEW).fit(X, LABELS)
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), rtol=1e-9)


def test_a_classifier_of_several_classes_learns_as_well():
    y = np.array(["low", "middle", "high"])[CLASSES]
    own = hr.GradientBoostingClassifier(loss=hr.Loss(multinomial), **FEW).fit(X, y)
    other = hr.GradientBoostingClassifier(**FEW).fit(X, y)
    assert own.score(X, y) > other.score(X, y) - 0.03
    np.testing.assert_allclose(own.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_straight_losses_learn_at_any_scale(scale, level):
    y = scale * NUMBERS
    own = hr.GradientBoostingRegressor(loss=hr.Loss(pinball(level)), **FEW).fit(X, y)
    other = hr.GradientBoostingRegressor(loss="quantile", quantile=level, **FEW).fit(X, y)
    losses = [pinball(level)(y, model.predict(X)).mean() for model in (own, other)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_leaves_of_a_straight_loss_are_minimal(splitter):
    model = hr.GradientBoostingRegressor(
        loss=hr.Loss(absolute), n_estimators=1, learning_rate=1.0, max_leaves=5, splitter=splitter
    ).fit(X, NUMBERS)
    leaves, predicted = model.apply(X)[:, 0], model.predict(X)
    assert len(np.unique(leaves)) == 5
    for leaf in np.unique(leaves):
        y = NUMBERS[leaves == leaf]
        actual = np.abs(y - predicted[leaves == leaf]).sum()
        assert actual <= 1.005 * np.abs(y - np.median(y)).sum()


def test_leaves_are_searched_among_the_drawn_rows_and_capped():
    options = {"loss": hr.Loss(absolute), "learning_rate": 1.0, "max_leaves": 4}
    sampled = hr.GradientBoostingRegressor(subsample=0.5, n_estimators=3, **options).fit(X, NUMBERS)
    assert np.abs(NUMBERS - sampled.predict(X)).mean() < np.abs(NUMBERS - np.median(NUMBERS)).mean()
    capped = hr.GradientBoostingRegressor(max_delta_step=0.1, n_estimators=1, **options)
    steps = capped.fit(X, NUMBERS).predict(X) - capped._model.ensemble.base_score[0]
    assert np.abs(steps).max() == pytest.approx(0.1)


def test_several_scores_of_a_straight_loss():
    levels = np.array([0.1, 0.5, 0.9])

    def several(y, f):
        r = y[:, None] - f
        return np.maximum(levels * r, (levels - 1.0) * r).sum(axis=1)

    own = hr.GradientBoostingRegressor(loss=hr.Loss(several, n_outputs=3), **FEW).fit(X, NUMBERS)
    other = hr.GradientBoostingRegressor(loss="quantile", quantile=levels, **FEW).fit(X, NUMBERS)
    predicted = own.predict(X)
    assert predicted.shape == (N, 3)
    losses = [several(NUMBERS, model.predict(X)).mean() for model in (own, other)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


def gaussian(y, f):
    mean, log_scale = f.T
    return 0.5 * ((y - mean) * np.exp(-log_scale)) ** 2 + log_scale


def test_a_mean_and_its_spread_are_learned_together(tmp_path):
    spread = np.exp(0.8 * X[:, 2])
    y = 3.0 * X[:, 0] + spread * np.random.RandomState(0).normal(size=N)
    model = hr.GradientBoostingRegressor(loss=hr.Loss(gaussian, n_outputs=2), **FEW).fit(X, y)
    mean, log_scale = model.predict(X).T
    assert np.corrcoef(mean, X[:, 0])[0, 1] > 0.9
    assert np.corrcoef(log_scale, X[:, 2])[0, 1] > 0.7
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(hr.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("link", ["identity", "log", "sigmoid", "half_sigmoid"])
def test_the_link_leads_from_scores_to_predictions(link):
    model = hr.GradientBoostingRegressor(loss=hr.Loss(squared, link=link), **FEW).fit(X, PARTS)
    scores = model._scores(X)[:, 0]
    means = {"identity": lambda s: s, "log": np.exp, "sigmoid": special.expit}
    mean = means.get(link, lambda s: special.expit(2.0 * s))
    np.testing.assert_allclose(model.predict(X), mean(scores), rtol=1e-12)


def test_softmax_of_a_regressor_s_scores():
    def shares(y, f):
        p = np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True))
        return (y - p[:, 0]) ** 2 + 0.01 * (f**2).sum(axis=1)

    loss = hr.Loss(shares, link="softmax", n_outputs=2)
    predicted = hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, PARTS).predict(X)
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0)


TWO = np.column_stack([NUMBERS, -10.0 * X[:, 3] + NUMBERS])


def absolute_of_both(y, f):
    return np.abs(y - f).sum(axis=1)


@pytest.mark.parametrize("strategy", ["separate", "vector"])
def test_several_columns_of_y_are_seen_at_once(strategy):
    options = {"multi_strategy": strategy, **FEW}
    loss = hr.Loss(lambda y, f: 0.5 * ((y - f) ** 2).sum(axis=1))
    own = hr.GradientBoostingRegressor(loss=loss, **options).fit(X, TWO)
    other = hr.GradientBoostingRegressor(**options).fit(X, TWO)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-8)
    straight = hr.GradientBoostingRegressor(loss=hr.Loss(absolute_of_both), **options)
    quantiles = hr.GradientBoostingRegressor(loss="absolute_error", **options)
    actual, expected = (
        absolute_of_both(TWO, model.fit(X, TWO).predict(X)).mean()
        for model in (straight, quantiles)
    )
    assert actual == pytest.approx(expected, rel=0.05)


def test_columns_of_y_may_share_a_score():
    def middle(y, f):
        return ((y - f[:, None]) ** 2).sum(axis=1)

    loss = hr.Loss(middle, n_outputs=1)
    model = hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, TWO, eval_set=[(X, TWO)])
    start = ((TWO - TWO.mean()) ** 2).sum(axis=1).mean()
    assert model.predict(X).shape == (N,)
    assert model.evals_result_["eval_0"]["middle"][-1] < start


def test_several_columns_of_labels():
    labels = (TWO > 2.0).astype(int)
    loss = hr.Loss(lambda y, f: (np.logaddexp(0.0, f) - y * f).sum(axis=1), name="both")
    own = hr.GradientBoostingClassifier(loss=loss, **FEW).fit(X, labels, eval_set=[(X, labels)])
    other = hr.GradientBoostingClassifier(**FEW).fit(X, labels)
    for of_own, of_other in zip(own.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(of_own, of_other, rtol=1e-8)
    assert "both" in own.evals_result_["eval_0"]
    loss = hr.Loss(absolute_of_both, n_outputs=3)
    with pytest.raises(ParameterError, match=r"n_outputs must be 1\. Leave it out"):
        hr.GradientBoostingClassifier(loss=loss, **FEW).fit(X, labels)


def test_scores_that_are_not_of_the_target_cannot_be_calibrated():
    loss = hr.Loss(gaussian, n_outputs=2)
    with pytest.raises(ParameterError, match="its 2 scores are not predictions of y"):
        hr.GradientBoostingRegressor(loss=loss, calibration="conformal").fit(X, NUMBERS)


def test_losses_that_are_not_convex_are_minimised():
    def cauchy(y, f):
        return np.log1p((y - f) ** 2)

    y = NUMBERS + np.where(np.random.RandomState(0).uniform(size=N) < 0.1, 1000.0, 0.0)
    start = cauchy(y, hr.Loss(cauchy).base_score(y)).mean()
    actual = {}
    for curvature in ("absolute", "clipped", "constant"):
        loss = hr.Loss(cauchy, curvature=curvature)
        model = hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, y)
        actual[curvature] = cauchy(y, model.predict(X)).mean()
    assert actual["absolute"] < min(actual["clipped"], actual["constant"]) < start


def test_the_mean_loss_is_measured_unless_something_else_is():
    loss = hr.Loss(lambda y, f: np.exp(f) - y * f, link="log", name="poisson")
    model = hr.GradientBoostingRegressor(loss=loss, **FEW)
    model.fit(X, COUNTS, eval_set=[(X, COUNTS, WEIGHTS)])
    raw = np.log(model.predict(X))
    expected = np.average(np.exp(raw) - COUNTS * raw, weights=WEIGHTS)
    assert model.evals_result_["eval_0"]["poisson"][-1] == pytest.approx(expected, rel=1e-12)
    model.set_params(eval_metric=["mae", "poisson"]).fit(X, COUNTS, eval_set=[(X, COUNTS)])
    assert set(model.evals_result_["eval_0"]) == {"mae", "poisson"}


def test_classifiers_stop_early_by_their_own_loss():
    model = hr.GradientBoostingClassifier(
        loss=hr.Loss(multinomial), early_stopping=True, n_estimators=300
    ).fit(X, CLASSES)
    history = model.evals_result_["validation"]["multinomial"]
    assert model.best_iteration_ == np.argmin(history) + 1 < 300


def test_a_loss_of_several_scores_has_no_other_metric():
    loss = hr.Loss(gaussian, n_outputs=2)
    with pytest.raises(ParameterError, match=r"eval_metric='rmse' is not allowed.*gaussian"):
        hr.GradientBoostingRegressor(loss=loss, eval_metric="rmse").fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, f: (y - f + f.mean()) ** 2, "changes with the scores of other rows"),
        (lambda y, f: (y - f).mean(), r"returned shape \(\)"),
        (lambda y, f: np.interp(f, [0, 1], [0, 1]), "np.interp cannot be used on scores"),
        (lambda y, f: np.log(f - 1e9), "NaN or infinite at the constant scores"),
    ],
)
def test_a_fit_to_a_mistake_fails_before_the_first_round(function, message):
    model = hr.GradientBoostingRegressor(loss=hr.Loss(function))
    with pytest.raises(ParameterError, match=f"^loss: .*{message}"):
        model.fit(X, NUMBERS)
    assert not hasattr(model, "n_iter_")


def test_other_arrays_of_the_training_rows_may_be_used():
    exposure = np.random.RandomState(0).uniform(0.5, 2.0, N)
    loss = hr.Loss(lambda y, f: exposure * np.exp(f) - y * f, link="log")
    model = hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, COUNTS)
    assert model._model.ensemble.base_score[0] == pytest.approx(
        np.log(COUNTS.sum() / exposure.sum()), rel=1e-12
    )


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (hr.Loss(log_loss, link="log"), LABELS, "link must be 'sigmoid' or 'half_sigmoid'"),
        (hr.Loss(log_loss, n_outputs=2), LABELS, "n_outputs must be 1"),
        (hr.Loss(multinomial, link="sigmoid"), CLASSES, "link must be 'softmax'"),
        (hr.Loss(multinomial, n_outputs=4), CLASSES, "n_outputs must be 3"),
    ],
)
def test_links_and_outputs_must_suit_the_classes(loss, y, message):
    with pytest.raises(ParameterError, match=message):
        hr.GradientBoostingClassifier(loss=loss).fit(X, y)


def test_softmax_is_of_several_scores():
    with pytest.raises(ParameterError, match="link='softmax' needs n_outputs >= 2"):
        hr.GradientBoostingRegressor(loss=hr.Loss(squared, link="softmax")).fit(X, NUMBERS)


def test_a_warm_start_goes_on_with_the_loss():
    loss = hr.Loss(absolute)
    whole = hr.GradientBoostingRegressor(loss=loss, n_estimators=20).fit(X, NUMBERS)
    half = hr.GradientBoostingRegressor(loss=loss, n_estimators=10, warm_start=True)
    half.fit(X, NUMBERS).set_params(n_estimators=20).fit(X, NUMBERS)
    losses = [absolute(NUMBERS, model.predict(X)).mean() for model in (whole, half)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


def test_models_do_not_depend_on_threads():
    for loss in (hr.Loss(absolute), hr.Loss(squared)):
        one, two = (
            hr.GradientBoostingRegressor(loss=loss, n_jobs=n_jobs, **FEW).fit(X, NUMBERS)
            for n_jobs in (1, 2)
        )
        np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_estimators_can_be_cloned_pickled_searched_and_saved(tmp_path):
    model = hr.GradientBoostingRegressor(loss=hr.Loss(squared), **FEW).fit(X, NUMBERS)
    again = clone(model).fit(X, NUMBERS)
    pickled = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    for other in (again, pickled, loaded):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert repr(model) == ("GradientBoostingRegressor(loss=Loss(squared), n_estimators=30)")
    assert np.isfinite(cross_val_score(clone(model), X, NUMBERS, cv=3)).all()
    assert repr(loaded.loss) == "<the function squared, not stored in the model file>"
    with pytest.raises(ParameterError, match="squared was not stored in the model file"):
        loaded.fit(X, NUMBERS)


def test_a_lambda_is_saved_by_name_and_not_pickled(tmp_path):
    model = hr.GradientBoostingRegressor(loss=hr.Loss(lambda y, f: (y - f) ** 2), **FEW)
    model.fit(X, NUMBERS).save(tmp_path / "model")
    np.testing.assert_array_equal(hr.load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(model)


def test_stagewise_boosting_takes_formula_losses():
    own = hr.StagewiseRegressor(loss=hr.Loss(squared), n_estimators=5).fit(X, NUMBERS)
    other = hr.StagewiseRegressor(n_estimators=5).fit(X, NUMBERS)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)


def test_the_first_gradients_of_a_fit_are_checked_and_no_others():
    calls = []

    def counted(y, f):
        calls.append(type(f))
        return (y - f) ** 2

    loss = FormulaLoss.for_regression(hr.Loss(counted))
    loss.gradients(NUMBERS, SCORES[None], None)
    first = len(calls)
    loss.gradients(NUMBERS, SCORES[None], None)
    assert (first > 5, len(calls) - first) == (True, 1)


def test_classes_come_as_integers():
    observed = []

    def looks(y, f):
        observed.append(y.dtype)
        return log_loss(y, f)

    loss = FormulaLoss.for_classification(hr.Loss(looks), built_in.BinaryLogLoss())
    assert isinstance(loss, FormulaLoss)
    loss.gradients(LABELS.astype(float), SCORES[None], None)
    assert set(observed) == {np.dtype(np.intp)}


class StopError(Exception):
    """Breaks a fit off."""


@pytest.mark.parametrize("loss", [hr.Loss(absolute), hr.Loss(squared)], ids=repr)
def test_a_fit_that_was_broken_off_goes_on_to_the_same_bits(loss, tmp_path):
    def stop(info):
        if info.round == 13:
            raise StopError

    whole = hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, NUMBERS)
    options = {"checkpoint": tmp_path / "rounds", "checkpoint_every": 5}
    model = hr.GradientBoostingRegressor(loss=loss, **FEW)
    with pytest.raises(StopError):
        model.fit(X, NUMBERS, callbacks=[stop], **options)
    model.fit(X, NUMBERS, **options)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


@pytest.mark.parametrize("loss", [hr.Loss(absolute), hr.Loss(squared)], ids=repr)
def test_leaves_can_be_fitted_again(loss):
    model = hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, NUMBERS)
    again = clone(model).fit(X, NUMBERS).refit(X, NUMBERS + 100.0)
    assert loss.mean(NUMBERS + 100.0, again.predict(X)) < loss.mean(
        NUMBERS + 100.0, model.predict(X)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"boosting": "dart"},
        {"subsample": 0.5, "sampling": "gradient"},
        {"subsample": 0.5, "sampling": "minimal_variance"},
    ],
    ids=str,
)
def test_rounds_of_every_kind_lower_the_loss(options):
    loss = hr.Loss(absolute)
    model = hr.GradientBoostingRegressor(loss=loss, **options, **FEW).fit(X, NUMBERS)
    start = loss.mean(NUMBERS, np.full(N, np.median(NUMBERS)))
    assert loss.mean(NUMBERS, model.predict(X)) < 0.6 * start
