"""A forest on the rows of several workers is that of one, byte for byte."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import cluster
from hedgerow.exceptions import ParameterError

rng = np.random.default_rng(0)
N = 700
FRAME = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
FRAME.loc[::9, "b"] = np.nan
FRAME["town"] = rng.choice(["Basel", "Bern", "Chur"], N)
NUMBERS = (FRAME["a"] + rng.normal(size=N)).to_numpy()
CLASSES = np.digitize(NUMBERS, [-1.0, 1.0])
WEIGHTS = rng.gamma(1.0, size=N)

CASES = [
    (hr.RandomForestRegressor(n_estimators=7), NUMBERS, {}),
    (hr.RandomForestClassifier(n_estimators=7, class_weight="balanced"), CLASSES, {}),
    (
        hr.RandomForestClassifier(n_estimators=5, class_weight="balanced_subsample", max_depth=4),
        np.array(["low", "middle", "high"])[CLASSES],
        {"sample_weight": WEIGHTS},
    ),
    (
        hr.RandomForestClassifier(n_estimators=4, bootstrap="undersample", voting="hard"),
        CLASSES,
        {"sample_weight": WEIGHTS},
    ),
    (hr.ExtraTreesRegressor(n_estimators=2), NUMBERS, {"sample_weight": WEIGHTS}),
    (hr.ExtraTreesClassifier(n_estimators=6, max_bins=20, subsample_for_bin=200), CLASSES, {}),
    (hr.RandomForestRegressor(n_estimators=4, ccp_alpha=0.01), np.c_[NUMBERS, -NUMBERS], {}),
    (hr.RandomForestRegressor(n_estimators=4, max_samples=0.5, bootstrap=False), NUMBERS, {}),
]


def bytes_of(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def together(model, y, ends, **arguments):
    def work(communicator):
        rows = slice(ends[communicator.rank], ends[communicator.rank + 1])
        own = {name: values[rows] for name, values in arguments.items()}
        copy = type(model)(**model.get_params(deep=False))
        return cluster.fit(copy, FRAME[rows], y[rows], communicator=communicator, **own)

    return cluster.run_threads(work, len(ends) - 1)


@pytest.mark.parametrize("ends", [[0, 300, N], [0, 0, 1, 650, 650, N]], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case[0]).__name__)
def test_the_forest_is_that_of_one_worker(tmp_path, case, ends):
    model, y, arguments = case
    copy = type(model)(**model.get_params(deep=False))
    local = bytes_of(copy.fit(FRAME, y, **arguments), tmp_path)
    for fitted in together(model, y, ends, **arguments):
        assert bytes_of(fitted, tmp_path) == local


def test_workers_share_a_random_seed(tmp_path):
    model = hr.RandomForestRegressor(n_estimators=3, random_state=None)
    one, other = together(model, NUMBERS, [0, 300, N])
    assert bytes_of(one, tmp_path) == bytes_of(other, tmp_path)


@pytest.mark.parametrize(
    "parameters", [{"oob_score": True}, {"feature_combinations": 2}, {"warm_start": True}]
)
def test_what_needs_all_rows_is_refused_by_name(parameters):
    (name,) = parameters
    with pytest.raises(ParameterError, match=f"{name}.*several workers"):
        together(hr.RandomForestRegressor(n_estimators=2, **parameters), NUMBERS, [0, 300, N])
