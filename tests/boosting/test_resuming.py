"""Checkpoints, initial models, slices, and leaf values for other rows."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error

import hedgerow as hr
from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ModelFileError,
    ParameterError,
    _native,
)
from hedgerow._boosting.fit import checkpoint as resuming
from hedgerow._boosting.fit.checkpoint import digest
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._data.intake import Table
from hedgerow._model_file import atomic, checkpoint

RNG = np.random.default_rng(0)
N = 1_500
X = RNG.normal(size=(N, 5))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
NUMBERS = SIGNAL + RNG.normal(0, 0.3, N)
COUNTS = RNG.poisson(np.exp(SIGNAL)).astype(float)
THREE = np.digitize(NUMBERS, [-0.5, 0.7])
WEIGHTS = RNG.uniform(0.5, 2.0, N)


def bytes_of(model, folder):
    model.save(folder / "bytes")
    return (folder / "bytes").read_bytes()


class Stop(Exception):  # noqa: N818
    """What breaks a fit off."""


def breaking_off(at):
    def callback(info):
        if info.round == at:
            raise Stop

    return callback


CASES = {
    "plain": (GradientBoostingRegressor(), NUMBERS),
    "sampled": (GradientBoostingRegressor(subsample=0.6, colsample_bynode=0.5), NUMBERS),
    "by gradient": (
        GradientBoostingRegressor(subsample=0.4, sampling="minimal_variance", loss="poisson"),
        COUNTS,
    ),
    "huber": (GradientBoostingRegressor(loss="huber"), NUMBERS),
    "quantiles": (GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9]), NUMBERS),
    "classes": (GradientBoostingClassifier(subsample=0.7), THREE),
    "exact": (GradientBoostingRegressor(splitter="exact", max_leaves=6), NUMBERS),
    "early": (
        GradientBoostingRegressor(early_stopping=True, learning_rate=0.5, n_iter_no_change=4),
        NUMBERS,
    ),
    "early dart": (
        GradientBoostingRegressor(
            boosting="dart", skip_drop=0.0, early_stopping=True, learning_rate=0.5, drop_rate=0.3
        ),
        NUMBERS,
    ),
    "any seed": (GradientBoostingRegressor(subsample=0.5, random_state=None), NUMBERS),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", [5, 12, 17])
def test_a_fit_that_was_broken_off_ends_as_one_that_was_not(case, at, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "WRITING", np.inf)
    model, y = CASES[case]
    model = hr_clone(model, n_estimators=20)
    path = tmp_path / "checkpoint"
    with pytest.raises(Stop):
        model.fit(X, y, WEIGHTS, callbacks=breaking_off(at), checkpoint=path, checkpoint_every=5)
    seed = None
    if path.exists():
        done = hr.load(path).n_iter_
        assert done == (at - 1) // 5 * 5
        seed = read_seed(path)
    resumed = hr_clone(model).fit(X, y, WEIGHTS, checkpoint=path, checkpoint_every=5)
    if case == "any seed":
        model.set_params(random_state=read_seed(path))
        resumed.set_params(random_state=read_seed(path))
        assert seed in (None, read_seed(path))
    whole = hr_clone(model).fit(X, y, WEIGHTS)
    assert bytes_of(resumed, tmp_path) == bytes_of(whole, tmp_path)


@pytest.mark.parametrize("after", [2, 6])
def test_the_best_round_before_a_break_stays_the_best(after, tmp_path, monkeypatch):
    monkeypatch.setattr(resuming, "WRITING", np.inf)
    options = {"early_stopping": True, "learning_rate": 0.5, "n_iter_no_change": 8}
    whole = GradientBoostingRegressor(n_estimators=100, **options).fit(X, NUMBERS)
    broken, path = hr_clone(whole), tmp_path / "checkpoint"
    arguments = {"checkpoint": path, "checkpoint_every": 1}
    with pytest.raises(Stop):
        broken.fit(X, NUMBERS, callbacks=breaking_off(whole.best_iteration_ + after), **arguments)
    broken.fit(X, NUMBERS, **arguments)
    assert (broken.best_iteration_, broken.best_score_) == (
        whole.best_iteration_, whole.best_score_,
    )  # fmt: skip
    assert bytes_of(broken, tmp_path) == bytes_of(whole, tmp_path)


def read_seed(path):
    from hedgerow._model_file.checkpoint import read_checkpoint

    return read_checkpoint(path).seed


def hr_clone(model, **options):
    return type(model)(**(model.get_params() | options))


# A process that has imported the library, and runs programs in forks of itself.
FORKING = """
import json, os, sys
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow._model_file import atomic
for line in sys.stdin:
    program, *sys.argv = json.loads(line)
    child = os.fork()
    if child == 0:
        exec(program, {})
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def run():
    """Return a function that runs a program in a process of its own, and returns its exit code."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", FORKING], **pipes) as process:

        def run(program, *arguments):
            process.stdin.write(json.dumps([program, "", *map(str, arguments)]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield run
        process.stdin.close()


SCRIPT = """
import os, signal, sys
import numpy as np
from hedgerow import GradientBoostingClassifier
rng = np.random.default_rng(1)
X = rng.normal(size=(3000, 6)); y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=3000) > 1).astype(int)
def kill(info):
    if info.round == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
model = GradientBoostingClassifier(n_estimators=40, subsample=0.5, colsample_bytree=0.7)
model.fit(X, y, callbacks=kill, checkpoint=sys.argv[1], checkpoint_every=3)
model.save(sys.argv[1] + ".model")
"""


def test_a_process_that_is_killed_loses_a_few_rounds_at_most(tmp_path, monkeypatch, run):
    for at, code in ((8, -9), (31, -9), (10**6, 0)):
        assert run(SCRIPT, tmp_path / "broken", at) == code
    monkeypatch.setattr(sys, "argv", ["fit.py", str(tmp_path / "whole"), str(10**6)])
    exec(SCRIPT, {})  # here it is not interrupted
    assert (tmp_path / "broken.model").read_bytes() == (tmp_path / "whole.model").read_bytes()


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path, monkeypatch):
    def is_full(_):
        raise OSError(errno.ENOSPC, "no space left")

    def fill_the_disk(info):
        if info.round == 6:
            monkeypatch.setattr(os, "fsync", is_full)

    path = tmp_path / "checkpoint"
    model = GradientBoostingRegressor(n_estimators=9, subsample=0.5)
    with pytest.raises(OSError, match="no space left"):
        model.fit(X, NUMBERS, callbacks=fill_the_disk, checkpoint=path, checkpoint_every=3)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]
    assert hr.load(path).n_iter_ == 3
    resumed = hr_clone(model).fit(X, NUMBERS, checkpoint=path)
    assert resumed._model.ensemble == hr_clone(model).fit(X, NUMBERS)._model.ensemble


def test_checkpoints_take_a_tenth_of_the_time_at_most(tmp_path, monkeypatch):
    """A write takes as long as 5 rounds here."""
    now, written = 0.0, []

    def grown(info):
        nonlocal now
        now += 1.0

    def write(checkpoint, path):
        nonlocal now
        now += 5.0
        written.append(checkpoint.model.n_iter_)

    monkeypatch.setattr(resuming, "perf_counter", lambda: now)
    monkeypatch.setattr(checkpoint, "write_checkpoint", write)
    model = GradientBoostingRegressor(n_estimators=231, max_leaves=2)
    model.fit(X, NUMBERS, callbacks=grown, checkpoint=tmp_path / "run", checkpoint_every=5)
    # Writes so far and this one, of 5 s each, against rounds of 1 s and the writes so far.
    assert written == [5, 95, 140, 185, 230, 231]
    model.fit(X, NUMBERS, callbacks=grown, checkpoint=tmp_path / "rare", checkpoint_every=100)
    assert written[6:] == [100, 200, 231]


KILLED_WHILE_WRITING = """
import os, signal, sys
import numpy as np
from hedgerow import GradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(200, 2))
def kill(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)
from hedgerow._model_file import atomic
atomic._open_unnamed = lambda folder: None  # as on a file system without unnamed files
if sys.argv[2] == "killed":
    os.fsync = kill
GradientBoostingRegressor(n_estimators=4).fit(X, X[:, 0], checkpoint=sys.argv[1])
"""


def test_a_killed_write_leaves_nothing_behind_for_good(tmp_path, run):
    """Neither does the next fit delete what others write: other files, and those still open."""
    path = tmp_path / "run"
    assert run(KILLED_WHILE_WRITING, path, "killed") == -9
    assert run(KILLED_WHILE_WRITING, tmp_path / "other", "killed") == -9
    left = list(tmp_path.glob(".hedgerow-*.tmp"))
    assert len(left) == 2
    assert not path.exists()
    mine = set(tmp_path.glob(f"{atomic._prefix(path)}*"))
    assert len(mine) == 1
    with next(iter(mine)).open("rb") as writing:
        atomic._lock(writing.fileno())
        assert run(KILLED_WHILE_WRITING, path, "whole") == 0
        assert set(left) <= set(tmp_path.iterdir())
    assert run(KILLED_WHILE_WRITING, path, "whole") == 0
    assert set(tmp_path.iterdir()) == {path, *left} - mine


def test_a_finished_checkpoint_is_the_model(tmp_path):
    path = tmp_path / "checkpoint"
    fitted = GradientBoostingRegressor(n_estimators=7).fit(X, NUMBERS, checkpoint=path)
    rounds = []
    again = GradientBoostingRegressor(n_estimators=7)
    again.fit(X, NUMBERS, checkpoint=path, callbacks=lambda info: rounds.append(info.round))
    assert rounds == []
    assert bytes_of(again, tmp_path) == bytes_of(fitted, tmp_path)
    np.testing.assert_array_equal(hr.load(path).predict(X), fitted.predict(X))
    more = GradientBoostingRegressor(n_estimators=9).fit(X, NUMBERS, checkpoint=path)
    whole = GradientBoostingRegressor(n_estimators=9).fit(X, NUMBERS)
    assert bytes_of(more, tmp_path) == bytes_of(whole, tmp_path)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    model = GradientBoostingRegressor(n_estimators=3).fit(X, NUMBERS, checkpoint=path)
    before = path.read_bytes()
    for other, y, message in [
        (
            GradientBoostingRegressor(learning_rate=0.2, n_estimators=3),
            NUMBERS,
            "with learning_rate='auto', not 0.2",
        ),
        (GradientBoostingRegressor(), NUMBERS, "with n_estimators=3, not 'auto'"),
        (GradientBoostingClassifier(), THREE, "of a GradientBoostingRegressor"),
        (GradientBoostingRegressor(n_estimators=3), NUMBERS + 1.0, "of a fit to different data"),
    ]:
        with pytest.raises(ParameterError, match=message):
            other.fit(X, y, checkpoint=path)
    with pytest.raises(ParameterError, match="of a fit to different data"):
        GradientBoostingRegressor(n_estimators=3).fit(X[::-1], NUMBERS, checkpoint=path)
    assert path.read_bytes() == before
    model.save(path)
    with pytest.raises(ModelFileError, match="a model, but not a checkpoint"):
        GradientBoostingRegressor().fit(X, NUMBERS, checkpoint=path)
    path.write_bytes(before[:-5])
    with pytest.raises(ModelFileError, match="damaged"):
        GradientBoostingRegressor().fit(X, NUMBERS, checkpoint=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint": 3}, "checkpoint=3 is not allowed"),
        ({"checkpoint": "x", "checkpoint_every": 0}, "checkpoint_every=0"),
        ({"init_model": GradientBoostingClassifier()}, "init_model="),
        ({"init_model": 5}, "init_model=5 is not allowed"),
    ],
)
def test_what_cannot_be_an_initial_model_is_named(options, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor().fit(X, NUMBERS, **options)


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize(
    ("model", "y"),
    [(GradientBoostingRegressor(subsample=0.8), NUMBERS), (GradientBoostingClassifier(), THREE)],
    ids=["numbers", "classes"],
)
def test_a_fit_goes_on_from_another_model(model, y, from_file, tmp_path):
    first = hr_clone(model, n_estimators=6).fit(X, y)
    start = first
    if from_file:
        start = tmp_path / "model"
        first.save(start)
    more = hr_clone(model, n_estimators=4).fit(X, y, init_model=start)
    whole = hr_clone(model, n_estimators=10).fit(X, y)
    assert more.n_iter_ == 10
    assert more._model.ensemble == whole._model.ensemble
    assert first.n_iter_ == 6


def test_going_on_with_other_rows_learns_from_them():
    first = GradientBoostingRegressor(n_estimators=30).fit(X[:700], NUMBERS[:700])
    more = GradientBoostingRegressor(n_estimators=30).fit(X[700:], NUMBERS[700:], init_model=first)
    error, before = (mean_squared_error(SIGNAL, m.predict(X)) for m in (more, first))
    assert error < before


def test_slices_are_models_of_their_rounds():
    model = GradientBoostingClassifier(n_estimators=12).fit(X, THREE, eval_set=[(X, THREE)])
    staged = list(model.staged_decision_function(X))
    for n in (1, 5, 12):
        first = model[:n]
        np.testing.assert_array_equal(first.decision_function(X), staged[n - 1])
        assert first.n_iter_ == n
        assert (
            first.evals_result_["eval_0"]["log_loss"]
            == (model.evals_result_["eval_0"]["log_loss"][:n])
        )
    base = model._model.ensemble.base_score
    scores = model[:4].decision_function(X) + model[4:].decision_function(X) - base
    np.testing.assert_allclose(scores, staged[-1], atol=1e-12)
    every_other = model[::2]
    assert every_other.n_iter_ == 6
    assert every_other.evals_result_ == {}
    np.testing.assert_array_equal(model[:0].decision_function(X), np.tile(base, (N, 1)))
    assert model.n_iter_ == 12
    for wrong in (3, "x", (1, 2)):
        with pytest.raises(TypeError, match="sliced by rounds"):
            model[wrong]
    with pytest.raises(ParameterError, match="step must be positive"):
        model[::-1]


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "poisson", "huber", "quantile"]
)
def test_leaves_for_the_rows_of_fit_are_those_that_there_are(loss, splitter):
    options = {"loss": loss, "n_estimators": 8, "splitter": splitter}
    if loss == "quantile":
        options["quantile"] = 0.7
    model = GradientBoostingRegressor(**options).fit(X, COUNTS, WEIGHTS)
    before = model.predict(X)
    np.testing.assert_allclose(model.refit(X, COUNTS, WEIGHTS).predict(X), before, rtol=1e-9)


def test_refitted_leaves_suit_the_new_rows():
    model = GradientBoostingClassifier(n_estimators=20).fit(X, THREE)
    structure = model._model.ensemble.feature.copy()
    other = (THREE + 1) % 3
    assert model.score(X, other) < 0.2
    model.refit(X, other)
    assert model.score(X, other) > 0.8
    np.testing.assert_array_equal(model._model.ensemble.feature, structure)


def test_what_is_kept_of_old_leaves():
    model = GradientBoostingRegressor(n_estimators=1).fit(X, NUMBERS)
    old = model.predict(X)
    new = hr_clone(model).fit(X, NUMBERS).refit(X, -NUMBERS).predict(X)
    both = hr_clone(model).fit(X, NUMBERS).refit(X, -NUMBERS, keep=0.25).predict(X)
    np.testing.assert_allclose(both, 0.25 * old + 0.75 * new, rtol=1e-12)
    kept = model.refit(X[:1], NUMBERS[:1] + 5.0)
    changed = kept.predict(X) != old
    assert 0 < changed.sum() < N
    with pytest.raises(ParameterError, match="keep=2"):
        model.refit(X, NUMBERS, keep=2)


def test_a_failed_refit_leaves_the_model_as_it_was():
    model = GradientBoostingRegressor(n_estimators=2).fit(X, NUMBERS)
    before = model._model
    with pytest.raises(DataError):
        model.refit(X, np.full(N, np.nan))
    assert model._model is before


def test_the_digest_is_a_sum_over_rows_that_workers_can_compute():
    bins = RNG.integers(0, 256, (5, 2 * N)).astype(np.uint8)
    words = np.arange(2 * N, dtype=np.uint64)
    whole = _native.digest_rows(bins, [words], 0, 2)
    for cut in (0, 1, N, 2 * N):
        parts = [
            _native.digest_rows(np.ascontiguousarray(bins[:, rows]), [words[rows]], first, 1)
            for first, rows in ((0, slice(0, cut)), (cut, slice(cut, None)))
        ]
        assert (parts[0] + parts[1] == whole).all()
    digests = {_native.digest_rows(bins, [words], 1, 1).tobytes(), whole.tobytes()}
    digests.add(_native.digest_rows(bins[::-1].copy(), [words], 0, 1).tobytes())
    digests.add(_native.digest_rows(bins[:, ::-1].copy(), [words], 0, 1).tobytes())
    for column, row in RNG.integers(0, (5, 2 * N), (500, 2)).tolist():
        changed = bins.copy()
        changed[column, row] ^= 1
        digests.add(_native.digest_rows(changed, [words], 0, 1).tobytes())
    assert len(digests) >= 4 + 480  # some changes are the same


def test_the_digest_is_that_of_all_data():
    bins = RNG.integers(0, 256, (5, 2 * N)).astype(np.uint8)
    rows = Dataset(Table(None, dense=bins.T), np.arange(2.0 * N), np.ones(2 * N))
    numbers = X[np.arange(2 * N) % N]
    digests = {digest([rows], [bins], None, 0), digest([rows], [bins], numbers, 0)}
    digests.add(digest([rows], [bins], None, 1))
    digests.add(digest([replace(rows, weights=None)], [bins], None, 0))
    digests.add(digest([replace(rows, groups=np.zeros(2 * N, np.int32))], [bins], None, 0))
    for changed in (0, N, 2 * N - 1):
        target = rows.target.copy()
        target[changed] += 0.5
        digests.add(digest([replace(rows, target=target)], [bins], None, 0))
    for first in (N, N + 1):
        parts = np.split(np.arange(2 * N), [first])
        of_parts = [np.ascontiguousarray(bins[:, part]) for part in parts]
        digests.add(digest([rows.take(part) for part in parts], of_parts, None, 0))
    assert len(digests) == 10
    assert digest([rows], [bins], None, 0, n_threads=2) in digests


def test_a_checkpoint_is_of_its_seed_its_rows_and_its_start(tmp_path):
    path, options = tmp_path / "checkpoint", {"n_estimators": 6, "subsample": 0.5}
    eval_set = {"eval_set": [(X[:50], NUMBERS[:50])]}
    model = GradientBoostingRegressor(**options).fit(X, NUMBERS, checkpoint=path, **eval_set)
    again = GradientBoostingRegressor(**options)
    for change, arguments, message in [
        ({"random_state": 5}, eval_set, "with random_state=0, not 5"),
        ({}, {}, "of a fit to different data"),
        ({}, {"eval_set": [(X[:40], NUMBERS[:40])]}, "of a fit to different data"),
        ({}, eval_set | {"init_model": model}, "of a fit to different data"),
        ({}, eval_set | {"sample_weight": WEIGHTS}, "of a fit to different data"),
        ({}, eval_set | {"groups": np.arange(N) // 5}, "of a fit to different data"),
        ({"n_estimators": 2}, eval_set, "of 6 rounds, more than the 2"),
    ]:
        other = GradientBoostingRegressor(**(options | change))
        with pytest.raises(ParameterError, match=message):
            other.fit(X, NUMBERS, checkpoint=path, **arguments)
    again.fit(X, NUMBERS, checkpoint=path, **eval_set)
    assert again._model.ensemble == model._model.ensemble
    with pytest.raises(ParameterError, match="there is no folder"):
        again.fit(X, NUMBERS, checkpoint=tmp_path / "nowhere" / "checkpoint")


def test_initial_models_of_another_link_are_refused():
    counts = np.round(np.abs(NUMBERS))
    start = GradientBoostingRegressor(n_estimators=2).fit(X, counts)
    with pytest.raises(ParameterError, match="a different meaning"):
        GradientBoostingRegressor(loss="poisson", n_estimators=2).fit(X, counts, init_model=start)


@pytest.mark.parametrize(
    ("loss", "before", "now"),
    [("quantile", 0.1, 0.9), ("quantile", [0.1, 0.9], [0.2, 0.9]), ("expectile", 0.2, 0.5)],
)
def test_initial_models_of_other_quantiles_are_refused(loss, before, now):
    def model(quantile):
        return GradientBoostingRegressor(n_estimators=2, loss=loss, quantile=quantile)

    start = model(before).fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="initial model was fitted with quantile="):
        model(now).fit(X, NUMBERS, init_model=start)
    warm = model(before).set_params(warm_start=True).fit(X, NUMBERS)
    warm.set_params(n_estimators=4, quantile=now)
    with pytest.raises(ParameterError, match="initial model was fitted with quantile="):
        warm.fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="initial model was fitted with quantile="):
        warm.refit(X, NUMBERS)
    assert warm.set_params(quantile=before).fit(X, NUMBERS).n_iter_ == 4


def test_a_file_knows_which_quantiles_its_scores_are(tmp_path):
    model = GradientBoostingRegressor(n_estimators=2, loss="quantile", quantile=0.1)
    model.set_params(warm_start=True).fit(X, NUMBERS).save(tmp_path / "model.hedgerow")
    loaded = hr.load(tmp_path / "model.hedgerow").set_params(quantile=0.9, n_estimators=4)
    with pytest.raises(ParameterError, match=r"was fitted with quantile=0.1"):
        loaded.fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("loss", "before"), [("quantile", 0.1), ("quantile", [0.1, 0.9]), ("expectile", 0.2)]
)
def test_the_same_quantiles_are_gone_on_from(loss, before):
    def model(quantile):
        return GradientBoostingRegressor(n_estimators=2, loss=loss, quantile=quantile)

    start = model(before).fit(X, NUMBERS)
    same = np.array(before) if isinstance(before, list) else before
    assert model(same).fit(X, NUMBERS, init_model=start).n_iter_ == 4


@pytest.mark.filterwarnings("ignore:.*quantile.* has no effect")
def test_levels_that_a_loss_does_not_have_may_differ():
    start = GradientBoostingRegressor(n_estimators=2, quantile=0.1).fit(X, NUMBERS)
    more = GradientBoostingRegressor(n_estimators=2, quantile=0.9)
    assert more.fit(X, NUMBERS, init_model=start).n_iter_ == 4
