"""Hundreds of threads in one process: the results are those of one after another.

On a free-threaded Python nothing but the library itself keeps threads apart.
"""

import json
import os
import pickle
import subprocess
import sys
import sysconfig
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import hedgerow as hr
from hedgerow._ensemble import training_set
from hedgerow._export import exported
from hedgerow._phases import phase, recording

N_THREADS = 200
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6)).round(1)
Y = (X[:, 0] + X[:, 1] > 0.0).astype(int)
SHORT = {"n_estimators": 5, "n_jobs": 2}
MODELS = [
    hr.GradientBoostingClassifier(learning_rate=0.1, **SHORT),
    hr.GradientBoostingRegressor(learning_rate=0.1, linear_leaves=True, **SHORT),
    hr.RandomForestClassifier(**SHORT),
    hr.ExtraTreesRegressor(**SHORT),
    hr.AdaBoostClassifier(n_estimators=5),
    hr.DecisionTreeClassifier(max_depth=4),
    hr.KNeighborsClassifier(n_jobs=2),
    hr.SVC(),
    hr.LinearSVC(),
]


def all_at_once(tasks):
    """Run each task in a thread of its own, all from the same moment on, and return the results."""
    together = threading.Barrier(len(tasks))

    def run(task):
        together.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def saved(model, folder):
    path = folder / f"{threading.get_ident()}.hedgerow"
    model.save(path)
    return path.read_bytes()


def uses(model, folder):
    """Return what threads may do with one fitted model at the same time; each returns bytes."""
    uses = [
        lambda: model.predict(X).tobytes(),
        lambda: model.predict(X[:1]).tobytes(),
        lambda: saved(model, folder),
        lambda: pickle.loads(pickle.dumps(model)).predict(X).tobytes(),
        lambda: saved(clone(model).fit(X, Y), folder),
    ]
    if hasattr(model, "predict_proba"):
        uses.append(lambda: model.predict_proba(X).tobytes())
    if isinstance(model, hr.GradientBoostingClassifier):
        uses.append(lambda: hr.explain.shap_values(model, X[:20]).values.tobytes())
        uses.append(lambda: hr.explain.partial_dependence(model, X, 0).average.tobytes())
        uses.append(lambda: exported(model, "c"))
    return uses


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_two_hundred_threads_use_one_model_and_fit_their_own(model, tmp_path):
    fitted = clone(model).fit(X, Y)
    expected = [use() for use in uses(fitted, tmp_path)]
    # A new object has prepared nothing yet: the threads do so at the same time.
    shared = uses(hr.load(_file(fitted, tmp_path)), tmp_path)
    tasks = [shared[i % len(shared)] for i in range(N_THREADS)]
    for i, result in enumerate(all_at_once(tasks)):
        assert result == expected[i % len(shared)]


def _file(model, folder):
    model.save(folder / "shared.hedgerow")
    return folder / "shared.hedgerow"


def test_one_estimator_that_many_threads_fit_is_that_of_one_of_them(tmp_path):
    targets = [(X[:, j] > 0.0).astype(int) + 10 * j for j in range(4)]
    alone = [saved(clone(MODELS[0]).fit(X, y), tmp_path) for y in targets]
    shared = clone(MODELS[0])
    all_at_once([lambda i=i: shared.fit(X, targets[i % 4]) for i in range(40)])
    assert saved(shared, tmp_path) in alone
    np.testing.assert_array_equal(shared.classes_, np.unique(shared.predict(X)))


def test_all_threads_see_the_same_tree():
    model = hr.DecisionTreeClassifier(max_depth=4).fit(X, Y)
    views = all_at_once([lambda: model.tree_] * 50)
    assert len({id(view) for view in views}) == 1


def test_fits_in_several_threads_leave_the_filters_of_warnings_as_they_were():
    class SlowSplitter(KFold):
        def split(self, *args):
            time.sleep(0.002)  # in which others would replace the filters
            return super().split(*args)

    data = type("Data", (), {"n_rows": 300, "passed": X, "numbers": np.arange(300), "target": Y})
    before = list(warnings.filters)
    all_at_once([lambda: training_set.fold_numbers(SlowSplitter(3), data, None, 0)] * 20)
    assert warnings.filters == before


def test_a_thread_that_inherits_the_variables_of_another_records_no_phases_there():
    def inherited():
        with phase("of another thread"):
            pass

    with recording() as record, ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, inherited).result()
        with phase("of this thread"):
            pass
    assert "of this thread" in record.seconds
    assert "of another thread" not in record.seconds


CHECK = """
import json, sys
import hedgerow
for name in hedgerow.__all__:
    getattr(hedgerow, name)
from hedgerow import _native
print(json.dumps([sys._is_gil_enabled(), sorted(n for n in sys.modules if "_native." in n)]))
"""


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock"
)
def test_importing_everything_leaves_the_lock_off():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", CHECK]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    is_locked, native = json.loads(printed.stdout)
    assert not is_locked
    assert "hedgerow._native.cpu" in native
