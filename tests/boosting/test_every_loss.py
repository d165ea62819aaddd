"""Models of every built-in loss: what they learn, what they are measured by, what they refuse."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import (
    d2_pinball_score,
    log_loss,
    mean_absolute_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
)

RNG = np.random.default_rng(7)
N = 4000
X = RNG.normal(size=(N, 5))
SIGNAL = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0)
MEAN = np.exp(SIGNAL)
TARGETS = {
    "squared_error": SIGNAL + RNG.normal(0, 0.5, N),
    "absolute_error": SIGNAL + RNG.standard_t(2, N),
    "huber": SIGNAL + RNG.standard_t(2, N),
    "pseudo_huber": SIGNAL + RNG.standard_t(2, N),
    "log_cosh": SIGNAL + RNG.standard_t(2, N),
    "mape": MEAN * np.exp(0.3 * RNG.normal(size=N)),
    "quantile": SIGNAL + RNG.gumbel(size=N),
    "expectile": SIGNAL + RNG.gumbel(size=N),
    "poisson": RNG.poisson(MEAN).astype(float),
    "gamma": RNG.gamma(2.0, MEAN / 2.0),
    "tweedie": RNG.poisson(MEAN) * RNG.gamma(2.0, 1.0, N),
    "log_loss": RNG.beta(4 * expit(SIGNAL), 4 * expit(-SIGNAL)),
}
LABELS = (RNG.random(N) < expit(2 * SIGNAL - 1)).astype(int)
TRAIN, TEST = slice(0, N // 2), slice(N // 2, N)
CLASSIFIERS = ("log_loss", "exponential", "hinge", "focal")


def regressor(loss, **options):
    return GradientBoostingRegressor(**({"loss": loss, "n_estimators": 60} | options))


def classifier(loss, **options):
    return GradientBoostingClassifier(**({"loss": loss, "n_estimators": 60} | options))


@pytest.mark.parametrize("loss", TARGETS)
def test_the_loss_falls_on_rows_that_were_not_trained_on(loss):
    y = TARGETS[loss]
    model = regressor(loss).fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])])
    ((metric, values),) = model.evals_result_["eval_0"].items()
    constant = regressor(loss, n_estimators=1, learning_rate=1e-12)
    constant.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])])
    start = constant.evals_result_["eval_0"][metric][0]
    assert min(values) < 0.95 * start
    assert start > values[0] > values[10]
    assert np.isfinite(model.predict(X)).all()


def weighted_quantile(y, weights, level):
    order = np.argsort(y)
    return y[order][np.searchsorted(np.cumsum(weights[order]), level * weights.sum())]


SIZE = np.abs(TARGETS["mape"])
# What is best for all rows at once, by its closed form, given weights.
BEST_CONSTANTS = {
    "absolute_error": lambda y, w: weighted_quantile(y, w, 0.5),
    "quantile": lambda y, w: weighted_quantile(y, w, 0.8),
    "mape": lambda y, w: weighted_quantile(y, w / np.maximum(SIZE, 1.0), 0.5),
} | dict.fromkeys(
    ("squared_error", "poisson", "gamma", "tweedie", "log_loss"),
    lambda y, w: np.average(y, weights=w),
)


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.parametrize("loss", BEST_CONSTANTS)
def test_a_depth_0_model_predicts_the_best_constant(loss):
    y, weights = TARGETS[loss], RNG.uniform(0.5, 2.0, N)
    level = {"quantile": 0.8} if loss in ("quantile", "expectile") else {}
    model = regressor(loss, **level, n_estimators=3, min_samples_leaf=N).fit(X, y, weights)
    desired = BEST_CONSTANTS[loss](y, weights)
    np.testing.assert_allclose(model.predict(X), desired, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_depth_0_expectiles_and_robust_losses_have_no_slope_left():
    weights = RNG.uniform(0.5, 2.0, N)
    slopes = {
        "expectile": lambda r: np.where(r > 0, 0.8, 0.2) * r,
        "huber": lambda r: np.clip(r, -1.0, 1.0),
        "pseudo_huber": lambda r: r / np.sqrt(1 + r**2),
        "log_cosh": np.tanh,
    }
    for loss, slope in slopes.items():
        y, option = TARGETS[loss], {"quantile": 0.8} if loss == "expectile" else {"delta": 1.0}
        model = regressor(loss, **option, n_estimators=1, min_samples_leaf=N).fit(X, y, weights)
        sizes = weights * slope(y - model.predict(X))
        assert abs(sizes.sum()) < 1e-9 * np.abs(sizes).sum(), loss


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.parametrize(
    ("loss", "n_classes"), [("log_loss", 2), ("log_loss", 3), ("exponential", 2)]
)
def test_a_depth_0_classifier_predicts_the_parts_of_the_classes(loss, n_classes):
    y, weights = np.digitize(SIGNAL, [-0.5, 0.7][: n_classes - 1]), RNG.uniform(0.5, 2.0, N)
    model = classifier(loss, n_estimators=3, min_samples_leaf=N).fit(X, y, weights)
    parts = np.bincount(y, weights) / weights.sum()
    np.testing.assert_allclose(model.predict_proba(X[:3]), np.tile(parts, (3, 1)), rtol=1e-9)


@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_classes_are_told_apart_by_every_loss(loss):
    model = classifier(loss).fit(X[TRAIN], LABELS[TRAIN], eval_set=[(X[TEST], LABELS[TEST])])
    values = next(iter(model.evals_result_["eval_0"].values()))
    assert min(values[5:]) < values[0]
    plain = classifier("log_loss").fit(X[TRAIN], LABELS[TRAIN])
    auc, usual = (roc_auc_score(LABELS[TEST], m.decision_function(X[TEST])) for m in (model, plain))
    assert auc > usual - (0.03 if loss == "hinge" else 0.01)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))


@pytest.mark.parametrize(
    ("loss", "metric", "options"),
    [
        ("absolute_error", mean_absolute_error, {}),
        ("poisson", mean_poisson_deviance, {}),
        ("gamma", mean_gamma_deviance, {}),
        ("quantile", lambda y, p: mean_pinball_loss(y, p, alpha=0.8), {"quantile": 0.8}),
    ],
)
def test_quality_is_that_of_scikit_learn(loss, metric, options):
    y = TARGETS[loss]
    common = {"learning_rate": 0.1, "min_samples_leaf": 20} | options
    ours = regressor(loss, n_estimators=100, reg_lambda=0.0, **common).fit(X[TRAIN], y[TRAIN])
    theirs = HistGradientBoostingRegressor(loss=loss, max_iter=100, early_stopping=False, **common)
    with threadpool_limits(1):  # its threads spin, and wait for each other on a busy machine
        theirs.fit(X[TRAIN], y[TRAIN])
        mine, other = (metric(y[TEST], model.predict(X[TEST])) for model in (ours, theirs))
    assert mine < 1.03 * other


@pytest.mark.parametrize("loss", ["huber", "pseudo_huber", "log_cosh"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_robust_losses_do_not_depend_on_the_unit_of_the_target(loss, scale):
    y = TARGETS[loss]
    model = regressor(loss).fit(X[TRAIN], scale * y[TRAIN])
    plain = regressor(loss).fit(X[TRAIN], y[TRAIN])
    np.testing.assert_allclose(model.predict(X[TEST]) / scale, plain.predict(X[TEST]), atol=0.2)


@pytest.mark.parametrize("loss", ["huber", "pseudo_huber", "log_cosh"])
def test_outliers_do_not_count_much(loss):
    y = SIGNAL + RNG.normal(0, 0.2, N)
    y[::50] += 1e4
    robust = regressor(loss, delta=1.0).fit(X[TRAIN], y[TRAIN])
    squared = regressor("squared_error").fit(X[TRAIN], y[TRAIN])
    error, other = (np.median(np.abs(m.predict(X) - SIGNAL)) for m in (robust, squared))
    assert error < 0.3
    assert other > 10 * error


@pytest.mark.parametrize("level", [0.1, 0.9])
def test_quantiles_cover_their_part(level):
    y = TARGETS["quantile"]
    model = regressor("quantile", quantile=level, n_estimators=40, min_samples_leaf=60)
    model.fit(X[TRAIN], y[TRAIN])
    assert (y[TEST] < model.predict(X[TEST])).mean() == pytest.approx(level, abs=0.04)
    assert d2_pinball_score(y[TEST], model.predict(X[TEST]), alpha=level) > 0.0


@pytest.mark.parametrize("strategy", ["separate", "vector"])
def test_several_quantiles_are_in_order_everywhere(strategy):
    y = TARGETS["quantile"]
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    options = {"quantile": levels, "multi_strategy": strategy, "calibration": "conformal"}
    model = regressor("quantile", n_estimators=20, learning_rate=0.3, **options)
    model.fit(X[TRAIN], y[TRAIN])
    anywhere = RNG.standard_normal((1_000_000, 5), dtype=np.float32)
    anywhere[::7] *= 100
    anywhere[::11, 0] = np.nan
    assert (np.diff(model._scores(anywhere[:50_000]), axis=1) < 0.0).any()  # it is not for nothing
    prediction = model.predict(anywhere)
    assert prediction.shape == (1_000_000, 5)
    assert (np.diff(prediction, axis=1) >= 0.0).all()
    for coverage in (0.05, 0.5, 0.9):  # of which the first makes intervals narrower
        assert (np.diff(model.predict_interval(anywhere[:100_000], coverage), axis=1) >= 0.0).all()


def test_several_quantiles_are_as_good_as_one_alone():
    y = TARGETS["quantile"]
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    model = regressor("quantile", quantile=levels).fit(X[TRAIN], y[TRAIN])
    alone = [regressor("quantile", quantile=level).fit(X[TRAIN], y[TRAIN]) for level in levels]
    for k, (level, one) in enumerate(zip(levels, alone, strict=True)):
        # Putting quantiles in order never makes the sum of their losses worse, and these are close.
        ours = mean_pinball_loss(y[TEST], model.predict(X[TEST])[:, k], alpha=level)
        assert ours < 1.05 * mean_pinball_loss(y[TEST], one.predict(X[TEST]), alpha=level)


def test_the_metric_of_several_quantiles_is_the_mean_of_theirs():
    y = TARGETS["quantile"]
    model = regressor("quantile", quantile=[0.2, 0.8], n_estimators=5)
    model.fit(X, y, eval_set=[(X, y)])
    low, high = model.predict(X).T
    own = mean_pinball_loss(y, low, alpha=0.2), mean_pinball_loss(y, high, alpha=0.8)
    assert model.evals_result_["eval_0"]["pinball"][-1] == pytest.approx(np.mean(own), rel=1e-12)


def test_deviances_are_measured_on_means():
    for loss, deviance in [
        ("poisson", mean_poisson_deviance),
        ("gamma", mean_gamma_deviance),
        ("tweedie", lambda y, p: mean_tweedie_deviance(y, p, power=1.5)),
    ]:
        y = TARGETS[loss]
        model = regressor(loss).fit(X, y, eval_set=[(X, y)])
        measured = model.evals_result_["eval_0"][f"{loss}_deviance"][-1]
        assert measured == pytest.approx(deviance(y, model.predict(X)), rel=1e-9)
        assert (model.predict(X) > 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reg_lambda": 20.0, "learning_rate": 0.3},
        {"reg_alpha": 1.0},
        {"splitter": "exact", "max_leaves": 8},
        {"multi_strategy": "vector"},
        {"monotonic_constraints": [1, 0, 0, 0, 0]},
    ],
    ids=str,
)
def test_means_of_counts_add_up_to_the_counts_in_every_round(options):
    # The root of the tree's slope is one of the sum of all rows: see CommonStep.
    weights = np.random.default_rng(1).uniform(0.1, 2.0, N)
    y = TARGETS["poisson"]
    if options.get("multi_strategy"):
        y = np.column_stack([y, y[::-1] + 1.0])
    model = regressor("poisson", **options).fit(X, y, sample_weight=weights)
    loose = 1e-3 if "monotonic_constraints" in options else 1e-9  # whose values move afterwards
    for predicted in (*model[:7].staged_predict(X), model.predict(X)):
        np.testing.assert_allclose(weights @ predicted, weights @ y, rtol=loose)


def test_quotients_of_gamma_means_stay_one_on_average():
    y, weights = TARGETS["gamma"], np.random.default_rng(1).uniform(0.1, 2.0, N)
    model = regressor("gamma", reg_lambda=5.0).fit(X, y, sample_weight=weights)
    assert np.average(y / model.predict(X), weights=weights) == pytest.approx(1.0, abs=1e-9)


def test_a_longest_step_is_the_longest():
    model = regressor("poisson", max_delta_step=0.2, n_estimators=1).fit(X, TARGETS["poisson"])
    values = model._model.ensemble.value
    assert np.abs(values).max() == pytest.approx(0.02, rel=1e-12)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_tweedie_ends_at_poisson_and_gamma(power):
    y = TARGETS["gamma"]
    name = {1.0: "poisson", 2.0: "gamma"}[power]
    one = regressor("tweedie", tweedie_power=power).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), regressor(name).fit(X, y).predict(X))


def test_a_half_expectile_is_the_squared_error():
    y = TARGETS["expectile"]
    half, squared = regressor("expectile").fit(X, y), regressor("squared_error").fit(X, y)
    np.testing.assert_allclose(half.predict(X), squared.predict(X), rtol=1e-6)


def test_parts_of_one_are_learned_as_probabilities():
    y = TARGETS["log_loss"]
    model = regressor("log_loss").fit(X[TRAIN], y[TRAIN])
    p = model.predict(X[TEST])
    assert ((p > 0) & (p < 1)).all()
    assert np.abs(p - expit(SIGNAL[TEST])).mean() < 0.08


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_can_be_targets(n_classes):
    scores = np.column_stack([SIGNAL, -SIGNAL, X[:, 3]])[:, :n_classes]
    truth = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    names = ["a", "b", "c"][:n_classes]
    model = classifier("cross_entropy")
    y = pd.DataFrame(truth[TRAIN], columns=names)
    model.fit(X[TRAIN], y, eval_set=[(X[TEST], truth[TEST])])
    p = model.predict_proba(X[TEST])
    assert np.abs(p - truth[TEST]).mean() < 0.03
    assert list(model.classes_) == names
    assert set(model.predict(X)) <= set(names)
    measured = model.evals_result_["eval_0"]["cross_entropy"][-1]
    assert measured == pytest.approx(-(truth[TEST] * np.log(p)).sum(axis=1).mean(), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_certain_probabilities_are_classes(n_classes):
    y = np.digitize(SIGNAL, [-0.5, 0.7][: n_classes - 1])
    one_hot = (y[:, None] == np.arange(n_classes)).astype(float)
    soft = classifier("cross_entropy").fit(X, one_hot)
    hard = classifier("log_loss").fit(X, y)
    np.testing.assert_array_equal(soft.predict_proba(X), hard.predict_proba(X))


def test_scale_pos_weight_is_a_class_weight():
    scaled = classifier("log_loss", scale_pos_weight=3.0).fit(X, LABELS)
    weighted = classifier("log_loss", class_weight={1: 3.0}).fit(X, LABELS)
    np.testing.assert_array_equal(scaled.predict_proba(X), weighted.predict_proba(X))
    both = classifier("log_loss", scale_pos_weight=3.0, class_weight={1: 2.0}).fit(X, LABELS)
    six = classifier("log_loss", class_weight={1: 6.0}).fit(X, LABELS)
    np.testing.assert_array_equal(both.predict_proba(X), six.predict_proba(X))


def test_a_focal_loss_without_focus_is_the_log_loss():
    focal = classifier("focal", focal_gamma=0.0).fit(X, LABELS)
    plain = classifier("log_loss").fit(X, LABELS)
    np.testing.assert_allclose(focal.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_exponential_scores_are_half_the_log_odds():
    model = classifier("exponential").fit(X[TRAIN], LABELS[TRAIN])
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], expit(2 * model.decision_function(X)), rtol=1e-12
    )
    # A step in half log-odds is worth two.
    plain = classifier("log_loss", n_estimators=120).fit(X[TRAIN], LABELS[TRAIN])
    ours, theirs = (log_loss(LABELS[TEST], m.predict_proba(X[TEST])) for m in (model, plain))
    assert ours < 1.1 * theirs


def test_a_hinge_loss_has_no_probabilities():
    model = classifier("hinge").fit(X, LABELS)
    for method in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
        assert not hasattr(model, method)
    with pytest.raises(ParameterError, match="eval_metric='log_loss'"):
        classifier("hinge", eval_metric="log_loss").fit(X, LABELS, eval_set=[(X, LABELS)])


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", -1.0, r"y is -1 in row 3, but loss='poisson' needs y >= 0"),
        ("gamma", 0.0, r"y is 0 in row 3, but loss='gamma' needs y > 0.*use loss='tweedie'"),
        ("tweedie", -0.5, r"y is -0.5 in row 3, but loss='tweedie' needs y >= 0"),
        ("log_loss", 1.5, r"y is 1.5 in row 3, but loss='log_loss' needs 0 <= y <= 1"),
    ],
)
def test_targets_that_a_loss_cannot_have_are_named(loss, y, message):
    bad = np.full(N, 0.5)
    bad[3] = y
    with pytest.raises(DataError, match=message):
        regressor(loss).fit(X, bad)
    good = np.full(N, 0.5)
    with pytest.raises(DataError, match=rf"eval_set\[0\]: {message}"):
        regressor(loss).fit(X, good, eval_set=[(X, bad)])


def test_counts_of_nothing_are_refused():
    with pytest.raises(DataError, match="y is 0 in every row"):
        regressor("poisson").fit(X, np.zeros(N))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (LABELS, "a probability for each class"),
        (np.column_stack([LABELS, LABELS]), "do not add up to 1"),
        (np.column_stack([2.0 * np.ones(N), -np.ones(N)]), "negative probability"),
    ],
)
def test_what_is_no_probability_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        classifier("cross_entropy").fit(X, y)


@pytest.mark.parametrize("loss", ["exponential", "hinge", "focal"])
def test_losses_of_two_classes_refuse_more(loss):
    with pytest.raises(ParameterError, match=f"loss='{loss}' is for two classes, but y has 3"):
        classifier(loss).fit(X, np.arange(N) % 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantile": 0.0}, "quantile=0.0"),
        ({"quantile": [0.5, 0.5]}, "quantile="),
        ({"quantile": [0.9, 0.1]}, "increasing order"),
        ({"quantile": []}, "quantile="),
        ({"delta": 0.0}, "delta=0.0"),
        ({"tweedie_power": 2.5}, "tweedie_power=2.5"),
        ({"loss": "expectile", "quantile": [0.1, 0.9]}, "only loss='quantile' supports"),
        ({"loss": "squared"}, "loss='squared' is not allowed"),
    ],
)
def test_parameters_of_losses_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**options).fit(X, SIGNAL)


def test_parameters_of_classifiers_are_checked():
    with pytest.raises(
        ParameterError, match=r"scale_pos_weight=2\.0 is the weight of the second of two"
    ):
        classifier("log_loss", scale_pos_weight=2.0).fit(X, np.arange(N) % 3)
    with pytest.raises(ParameterError, match="class_weight and scale_pos_weight"):
        classifier("cross_entropy", class_weight="balanced").fit(X, np.full((N, 2), 0.5))
    with pytest.raises(ParameterError, match="focal_gamma=-1"):
        classifier("focal", focal_gamma=-1).fit(X, LABELS)


EVERY = [
    *(regressor(loss, n_estimators=8) for loss in TARGETS),
    regressor("quantile", quantile=[0.1, 0.5, 0.9], n_estimators=8),
    *(classifier(loss, n_estimators=8) for loss in CLASSIFIERS),
]


def target_of(model):
    return TARGETS[model.loss] if hasattr(model, "quantile") else LABELS


@pytest.mark.parametrize("model", EVERY, ids=str)
@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_files_threads_and_warm_starts_keep_every_bit(model, splitter, tmp_path):
    y = target_of(model)
    weights = RNG.uniform(0.5, 2.0, N)
    options = {"splitter": splitter, "subsample": 0.8, "max_leaves": 8}
    fitted = hr_clone(model, **options, n_jobs=1).fit(X, y, weights)
    desired = fitted._model.ensemble
    threads = hr_clone(model, **options, n_jobs=3).fit(X, y, weights)
    assert threads._model.ensemble == desired
    half = hr_clone(model, **options, n_jobs=1, n_estimators=3, warm_start=True).fit(X, y, weights)
    half.set_params(n_estimators=8).fit(X, y, weights)
    assert half._model.ensemble == desired
    fitted.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model").set_params(n_jobs=1)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.get_params() == fitted.get_params()


def hr_clone(model, **options):
    return type(model)(**(model.get_params() | options))


def test_percentage_errors_are_the_same_in_every_unit():
    errors = []
    for unit in (1.0, 1e3, 1e6, 1e12):
        y = unit * (1.0 + TARGETS["mape"])
        model = GradientBoostingRegressor(loss="mape", n_estimators=30).fit(X, y)
        errors.append(np.mean(np.abs(model.predict(X) - y) / y))
    np.testing.assert_allclose(errors, errors[0], rtol=1e-6)


def test_several_quantiles_are_scored_by_their_pinball_loss():
    levels, y = (0.1, 0.5, 0.9), TARGETS["quantile"]
    model = regressor("quantile", quantile=levels, n_estimators=20).fit(X[TRAIN], y[TRAIN])
    weights = RNG.uniform(0.5, 2.0, N)[TEST]
    prediction, truth = model.predict(X[TEST]), y[TEST]
    for w in (None, weights):
        ours = [
            mean_pinball_loss(truth, at, alpha=level, sample_weight=w)
            for at, level in zip(prediction.T, levels, strict=True)
        ]
        constant = [least_pinball_loss(truth, level, w) for level in levels]
        expected = 1.0 - np.mean(ours) / np.mean(constant)
        assert model.score(X[TEST], truth, w) == pytest.approx(expected, rel=1e-9)
    assert 0.1 < model.score(X[TEST], truth) < 1.0


def least_pinball_loss(y, level, weights):
    """Try every value as the constant: one of them is a quantile."""
    some = np.quantile(y, [level - 0.03, level + 0.03])
    tried = y[(y >= some[0]) & (y <= some[1])]
    return min(
        mean_pinball_loss(y, np.full(len(y), at), alpha=level, sample_weight=weights)
        for at in tried
    )


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_a_constant_target_has_a_score():
    model = regressor("quantile", quantile=[0.2, 0.8], n_estimators=2).fit(X[:50], np.ones(50))
    assert model.score(X[:50], np.ones(50)) == 1.0
    assert model.score(X[:50], np.zeros(50)) == 0.0


@pytest.mark.parametrize(
    ("parameters", "target"),
    [
        ({"loss": "quantile", "quantile": [0.1, 0.9]}, "quantile"),
        ({"loss": "quantile", "quantile": 0.5}, "quantile"),
        ({"loss": "expectile", "quantile": 0.5}, "expectile"),
        ({"multi_strategy": "vector"}, "several"),
        ({"loss": "poisson"}, "poisson"),
    ],
)
def test_models_of_every_kind_can_be_searched(parameters, target):
    y = np.column_stack([SIGNAL, -SIGNAL]) if target == "several" else TARGETS[target]
    model = GradientBoostingRegressor(**parameters, n_estimators=10)
    search = GridSearchCV(model, {"learning_rate": [0.001, 0.2]}, cv=2).fit(X[:400], y[:400])
    assert search.best_params_ == {"learning_rate": 0.2}
    scores = cross_val_score(model, X[:400], y[:400], cv=2)
    assert ((scores > 0.0) & (scores < 1.0)).all()
