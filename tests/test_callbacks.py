"""Callbacks for other libraries, with the libraries themselves."""

import numpy as np
import pytest

import hedgerow as hr

optuna = pytest.importorskip("optuna")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = (X[:, 0] + RNG.normal(0, 0.5, 400) > 0).astype(int)
VALID = (X[300:], Y[300:])


def fit(trial, rounds=20, **names):
    rate = trial.suggest_float("learning_rate", 1e-6, 0.3, log=True)
    model = hr.GradientBoostingClassifier(
        n_estimators=rounds, learning_rate=rate, eval_metric=["log_loss", "auc"]
    )
    pruning = hr.callbacks.OptunaPruning(trial, **names)
    return model.fit(X[:300], Y[:300], eval_set=[VALID], eval_names=["valid"], callbacks=[pruning])


@pytest.fixture(autouse=True)
def _silent():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def test_bad_trials_are_pruned_and_good_ones_are_not():
    pruner = optuna.pruners.MedianPruner(n_startup_trials=1)
    study = optuna.create_study(direction="minimize", pruner=pruner)
    for rate in (0.2, 1e-5):
        study.enqueue_trial({"learning_rate": rate})
    study.optimize(lambda trial: fit(trial).best_score_, n_trials=2)
    whole, pruned = study.trials
    assert (whole.state.name, pruned.state.name) == ("COMPLETE", "PRUNED")
    assert sorted(whole.intermediate_values) == list(range(1, 21))
    assert sorted(pruned.intermediate_values) == [1]


def test_the_values_are_those_of_the_history():
    study = optuna.create_study(direction="maximize")
    study.enqueue_trial({"learning_rate": 0.15})
    trial = study.ask()
    model = fit(trial, eval_name="valid", metric="auc")
    reported = study.trials[0].intermediate_values
    assert list(reported.values()) == model.evals_result_["valid"]["auc"]


@pytest.mark.parametrize(
    ("names", "message"),
    [({"eval_name": "vald"}, "Did you mean 'valid'"), ({"metric": "rmse"}, "log_loss, auc")],
)
def test_unknown_names_are_refused(names, message):
    trial = optuna.create_study().ask()
    with pytest.raises(hr.ParameterError, match=message):
        fit(trial, **names)


@pytest.mark.parametrize(
    ("direction", "metric", "right"),
    [("minimize", "auc", "maximize"), ("maximize", "log_loss", "minimize")],
)
def test_a_study_of_the_wrong_direction_is_refused(direction, metric, right):
    trial = optuna.create_study(direction=direction).ask()
    message = f"direction of its study is '{direction}'.*'{metric}'.*direction='{right}'"
    with pytest.raises(hr.ParameterError, match=message):
        fit(trial, metric=metric)


def test_a_trial_without_a_study_and_a_metric_without_a_direction_are_not_refused():
    fit(optuna.trial.FixedTrial({"learning_rate": 0.1}), metric="auc")
    trial = optuna.create_study().ask()
    model = hr.GradientBoostingClassifier(n_estimators=2, eval_metric=lambda _, p: p.mean())
    model.fit(X, Y, eval_set=[VALID], callbacks=[hr.callbacks.OptunaPruning(trial)])


def test_what_is_no_trial_and_fits_without_metrics_are_refused():
    with pytest.raises(hr.ParameterError, match="Optuna trial"):
        hr.callbacks.OptunaPruning("trial")
    pruning = hr.callbacks.OptunaPruning(optuna.create_study().ask())
    with pytest.raises(hr.ParameterError, match="evaluation set"):
        hr.GradientBoostingClassifier(n_estimators=2).fit(X, Y, callbacks=[pruning])
