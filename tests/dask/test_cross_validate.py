"""`hr.cross_validate(client=)` gives the result of the local one."""

import distributed
import numpy as np
import pandas as pd
import pytest

import dask_work
import hedgerow as hr

rng = np.random.RandomState(0)
FRAME = pd.DataFrame(rng.randn(300, 3), columns=["a", "b", "c"])
FRAME["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], 300)
Y = np.where(FRAME["a"] + rng.randn(300) > 0, "yes", "no")
T = FRAME["a"].to_numpy() * 2 + rng.randn(300)


def half(y, prediction):
    return "half", float(np.mean(prediction) / 2), True


@pytest.mark.parametrize(
    ("model", "y", "options"),
    [
        (hr.GradientBoostingClassifier(n_estimators=3), Y, {"scoring": ["log_loss", "auc"]}),
        (hr.GradientBoostingRegressor(n_estimators=3), T, {"early_stopping": True}),
        (hr.RandomForestRegressor(n_estimators=3), T, {"scoring": half, "cv": 3}),
        (hr.GradientBoostingRegressor(n_estimators=3), T, {"sample_weight": np.arange(300) + 1.0}),
    ],
    ids=["classes", "early stopping", "forest", "weights"],
)
def test_folds_on_a_cluster_give_the_local_result(threads, model, y, options):
    found = hr.cross_validate(model, FRAME, y, client=threads, **options)
    local = hr.cross_validate(model, FRAME, y, **options)
    assert found.scores.keys() == local.scores.keys()
    for name, values in local.scores.items():
        np.testing.assert_array_equal(found.scores[name], values)
    np.testing.assert_array_equal(found.oof_prediction, local.oof_prediction)
    assert found.method == local.method
    for one, other in zip(found.models, local.models, strict=True):
        assert dask_work.file_bytes(one) == dask_work.file_bytes(other)


def test_folds_are_sent_to_processes(processes):
    model = hr.GradientBoostingRegressor(n_estimators=3)
    found = hr.cross_validate(model, FRAME, T, client=processes)
    local = hr.cross_validate(model, FRAME, T)
    np.testing.assert_array_equal(found.oof_prediction, local.oof_prediction)


def test_the_error_of_a_fold_names_it(threads):
    def fails(y, prediction):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        hr.cross_validate(
            hr.GradientBoostingRegressor(n_estimators=2), FRAME, T, scoring=fails, client=threads
        )
    assert "This was fold 1 of 5." in caught.value.__notes__


def test_something_else_is_no_client():
    with pytest.raises(hr.ParameterError, match="client='here' is not allowed"):
        hr.cross_validate(hr.GradientBoostingRegressor(), FRAME, T, client="here")


def test_a_closed_client_is_refused(threads):
    client = distributed.Client(threads.scheduler.address, set_as_default=False)
    client.close()
    with pytest.raises(hr.ParameterError, match="client is closed"):
        hr.cross_validate(hr.GradientBoostingRegressor(), FRAME, T, client=client)
