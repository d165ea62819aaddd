"""Mutates model files and loads them: each must be refused with ModelFileError or be a whole model.

    python tests/fuzz_model_file.py [number of files] [seed]

Some mutations are blind damage; most are forgeries whose checksum is right, so that they reach the
checks behind it. A model that loads must predict what its arrays say, by the naive oracle.
A file that fails is kept, and its name printed.
"""

import contextlib
import copy
import faulthandler
import hashlib
import json
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from hedgerow import (
    SVC,
    SVR,
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DataError,
    DecisionClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    EnsembleClassifier,
    EnsembleRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    HedgerowError,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LinearSVC,
    LinearSVR,
    ModelFileError,
    NearestNeighbors,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OutputCodeClassifier,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
)
from hedgerow._adaboost.model import EstimatorCommittee
from hedgerow._bagging.base_models import BaggedModel
from hedgerow._boosting.model import BoostedModel
from hedgerow._data.table import as_matrix
from hedgerow._decisions.model import CodedModel, DecisionModel
from hedgerow._ensemble.model import EnsembleModel
from hedgerow._forest.model import ForestModel
from hedgerow._model_file import load
from hedgerow._model_file.container import pack, unpack
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._model_file.values import NotStored
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._stagewise.model import AdditiveModel
from hedgerow._svm.kernel.model import KernelModel
from hedgerow._svm.linear.estimators import LinearModel
from hedgerow._tree.structure import Ensemble
from oracles import kernel_svms as oracle_of_kernels
from oracles import neighbors as oracle_of_neighbors
from oracles import predict as oracle

SECONDS_FOR_ONE = 1800  # far beyond what a file takes on the busiest machine, even under sanitizers
MOST_GROWTH = 1 << 30  # bytes; the files are of kilobytes
DIGEST = slice(37, 101)

EDGES = (0, 1, -1, 2, 7, 8, 254, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**32, 2**53, 2**63 - 1)
EDGES += (-(2**63), 2**63, 2**64, 10**30, 0.5, -0.0, 1e308, 5e-324)
ODD_VALUES = (*EDGES, None, True, False, "", "x", "nan", [], {}, [[]], [0], {"x": 0}, "\ud800")
ODD_VALUES += ({"tuple": [1]}, {"dict": [["a", 1]]}, {"float": "inf"}, {"not_stored": "x"})
ODD_NUMBERS = {
    "f": (0.0, -1.0, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf),
    "i": (0, 1, -1, 2, 5, 100, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)),
    "u": (0, 1, 2, 100, 254, 255, 2**31, 2**32 - 1),
    "b": (0, 1, 2, 255),
}


def _first(_truth, _prediction):
    return 0.5


def _products(A, B):
    return A @ B.T


def make_models():
    """Small models that together use all parts of a file."""
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=(60, 3))
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    frame["town"] = rng.choice(["Bonn", "Köln", "Ulm"], 60)
    frame["level"] = pd.Categorical(rng.integers(0, 4, 60))
    three = rng.integers(0, 3, 60)
    small = {"n_estimators": 3, "max_leaves": 4, "min_samples_leaf": 5, "max_bins": 16, "n_jobs": 1}
    stopping = {"early_stopping": True, "validation_fraction": 0.3, "eval_metric": ("log_loss",)}
    return [
        GradientBoostingRegressor(**small).fit(numbers, numbers[:, 0] - numbers[:, 1]),
        GradientBoostingClassifier(**small | stopping).fit(
            frame, np.where((frame["town"] == "Ulm") ^ (frame["a"] > 0), "yes", "no")
        ),
        GradientBoostingClassifier(class_weight={0: 2.0, 1: 1.0}, **small).fit(frame, three),
        GradientBoostingClassifier(multi_strategy="vector", **small).fit(frame, three),
        GradientBoostingClassifier(multi_strategy="vector", **small).fit(
            numbers, pd.DataFrame({"u": three > 0, "v": np.where(three > 1, "yes", "no")})
        ),
        GradientBoostingRegressor(loss="poisson", **small).fit(numbers, numbers[:, :2] ** 2),
        GradientBoostingRegressor(linear_leaves=True, **small).fit(frame, numbers[:, 0]),
        GradientBoostingClassifier(linear_leaves=True, multi_strategy="vector", **small).fit(
            frame, three
        ),
        GradientBoostingClassifier(max_categories=2, **small).fit(frame, three),
        GradientBoostingRegressor(max_categories=3, **small).fit(frame, numbers[:, 0]),
        GradientBoostingRanker(**small, gain=[0, 1, 5], qid_column="level").fit(frame, three),
        GradientBoostingSurvival(**small).fit(frame, numbers[:, 0]),
        GradientBoostingSurvival(**small, loss="aft").fit(numbers, np.abs(numbers[:, 0])),
        RandomForestClassifier(n_estimators=5, max_samples=0.2, max_bins=16, oob_score=_first).fit(
            frame, three
        ),
        RandomForestRegressor(n_estimators=2, min_samples_leaf=5, keep_targets=True).fit(
            numbers, numbers[:, 0]
        ),
        ExtraTreesRegressor(n_estimators=2, max_leaves=4, feature_combinations=2).fit(
            frame, numbers[:, :2]
        ),
        DecisionTreeClassifier(max_depth=3).fit(frame, np.column_stack([three, three > 0])),
        AdaBoostClassifier(n_estimators=3, max_depth=2).fit(frame, three),
        AdaBoostRegressor(n_estimators=2).fit(numbers, numbers[:, 0]),
        *make_neighbors(numbers, frame, three),
        LinearSVC(loss="hinge").fit(frame[["a", "b", "c"]], np.array(["x", "y", "z"])[three]),
        LinearSVC(multi_class="crammer_singer").fit(numbers, three),
        LinearSVR(epsilon=0.1).fit(numbers, numbers[:, 0] - numbers[:, 1]),
        *make_kernel_svms(numbers, frame, three),
        *make_composites(numbers, frame, three),
        GradientBoostingRegressor(budget="quick", learning_rate=0.3, max_bins=8, n_jobs=1).fit(
            numbers, numbers[:, 0]
        ),
        GradientBoostingRegressor(loss="quantile", quantile=(0.1, 0.9), **small).fit(
            numbers, numbers[:, 0]
        ),
        ExtraTreesClassifier(n_estimators=2, max_leaves=4).fit(frame, three),
        DecisionTreeRegressor(max_depth=2).fit(numbers, numbers[:, :2]),
        RadiusNeighborsRegressor(2.0).fit(numbers, numbers[:, 0]),
    ]


def make_composites(numbers, frame, three):
    """Models that consist of others: of classes and numbers, of all columns and of some."""
    named, labels = frame[["a", "b", "c"]], np.array(["x", "y", "z"])[three]
    two, tree = {"n_estimators": 2}, DecisionTreeRegressor(max_leaves=3, max_bins=8)
    return [
        BaggingClassifier(SVC(), **two).fit(named, labels),
        BaggingClassifier(LinearSVC(), **two, max_features=2, bootstrap_features=True).fit(
            named, labels
        ),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), **two, max_features=2).fit(
            frame, np.column_stack([three, three > 0])
        ),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), **two).fit(frame, labels),
        BaggingRegressor(KNeighborsRegressor(), **two).fit(numbers, numbers[:, :2]),
        BaggingRegressor(AdaBoostRegressor(tree, **two), **two).fit(numbers, numbers[:, 0]),
        EnsembleClassifier(
            [("svm", LinearSVC()), ("tree", DecisionTreeClassifier(max_depth=2))], cv=2
        ).fit(named, labels),
        EnsembleRegressor([("tree", tree)], cv=2, refit=True).fit(numbers, numbers[:, 0]),
        OutputCodeClassifier(LinearSVC(), code="one_vs_one").fit(named, labels),
        DecisionClassifier(DecisionTreeClassifier(max_depth=2), cost_matrix=np.ones((3, 3))).fit(
            frame, labels
        ),
        DecisionClassifier(DecisionTreeClassifier(max_depth=2), decision_threshold=0.3).fit(
            frame, three > 0
        ),
        AdaBoostClassifier(LinearSVC(), **two).fit(named, labels),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), **two, algorithm="real").fit(
            frame, labels
        ),
        AdaBoostClassifier(tree, **two, algorithm="logit").fit(numbers, labels),
        StagewiseClassifier(**two).fit(frame, labels),
        StagewiseClassifier(
            DecisionTreeClassifier(max_depth=1), **two, loss="exponential", init="zero"
        ).fit(named, three > 0),
        StagewiseClassifier(SVR(), **two, init=DecisionTreeClassifier(max_depth=1)).fit(
            numbers, labels
        ),
        StagewiseRegressor(LinearSVR(), **two, init=tree).fit(numbers, numbers[:, 0]),
    ]


def make_kernel_svms(numbers, frame, three):
    """Kernel machines of dense, sparse and given kernels, for classes, numbers and one class."""
    sparse = scipy.sparse.csr_array(np.where(np.abs(numbers) > 1, numbers, 0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sigmoid is no scalar product
        return [
            SVC(probability=True).fit(frame[["a", "b", "c"]], np.array(["x", "y", "z"])[three]),
            SVC(kernel="laplacian", multi_class="ovr").fit(sparse, three),
            NuSVC(kernel="poly", coef0=1.0).fit(numbers, three > 0),
            SVR(kernel="linear").fit(sparse, numbers[:, 0]),
            NuSVR(kernel="precomputed").fit(numbers @ numbers.T, numbers[:, 0]),
            SVR(kernel=_products).fit(numbers, numbers[:, 0]),
            OneClassSVM(kernel="sigmoid", gamma=0.01).fit(numbers),
        ]


def make_neighbors(numbers, frame, three):
    """Neighbours of dense, sparse and mixed rows, with and without a tree."""
    gaps = frame.mask(np.arange(60)[:, None] % 7 == np.arange(frame.shape[1]))
    sparse = scipy.sparse.csr_array(np.where(np.abs(numbers) > 1, numbers, 0.0))
    return [
        NearestNeighbors(metric="minkowski", p=3, radius=0.5).fit(numbers),
        NearestNeighbors(algorithm="brute").fit(sparse),
        KNeighborsRegressor(weights=_first, algorithm="kd_tree").fit(numbers, numbers[:, :2]),
        KNeighborsRegressor(metric="cosine", weights="distance").fit(sparse, numbers[:, 0]),
        KNeighborsClassifier(metric="gower", metric_params={"w": [1.0, 2.0, 0.5, 1.0, 1.0]}).fit(
            gaps, np.array(["x", "y", "z"])[three]
        ),
        RadiusNeighborsClassifier(2.0, outlier_label="x", metric="precomputed").fit(
            np.abs(numbers[:, :1] - numbers[:, 0]), np.array(["x", "y", "z"])[three]
        ),
        NearestNeighbors(metric=_first, metric_params={"p": 2}).fit(numbers),
    ]


def seal(data):
    """Give the file with the checksum that it should have."""
    if len(data) < DIGEST.stop:
        return data
    hashed = hashlib.sha256(data[: DIGEST.start] + data[DIGEST.stop :])
    return data[: DIGEST.start] + hashed.hexdigest().encode() + data[DIGEST.stop :]


def with_header(data, header):
    """Give the file with another safetensors header, sealed."""
    old_end = 8 + int.from_bytes(data[:8], "little")
    return seal(len(header).to_bytes(8, "little") + header + data[old_end:])


def header_of(data):
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def dumped(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def damage(rng, data, _):
    """Flip, cut, insert, repeat or overwrite bytes; leave the checksum as it is."""
    at, length = rng.randrange(len(data)), rng.choice([1, 1, 2, 8, 100])
    part = data[at : at + length]
    return rng.choice(
        [
            data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            data[:at],
            data[:at] + data[at + length :],
            data[:at] + rng.randbytes(length) + data[at:],
            data[:at] + part + data[at:],
            data[:at] + rng.randbytes(len(part)) + data[at + len(part) :],
            data + rng.randbytes(length),
        ]
    )


def damage_and_seal(rng, data, _):
    return seal(damage(rng, data, _))


def forge_document(rng, data, _):
    """Change one to three values of the document."""
    document, arrays = unpack(data)
    for _ in range(rng.randint(1, 3)):
        change_value(rng, document)
    return pack(document, arrays)


def change_value(rng, tree):
    """Walk down a JSON tree at random and replace, remove or add something there."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
            tree = tree[key]
            continue
        action = rng.random()
        if action < 0.15:
            del tree[key]
        elif action < 0.25 and isinstance(tree, list):
            tree.insert(key, copy.deepcopy(tree[key]))
        elif action < 0.25:
            tree[rng.choice(["x", "n_features", "loss", "tuple"])] = copy.deepcopy(
                rng.choice(ODD_VALUES)
            )
        elif action < 0.4:
            tree[key] = copy.deepcopy(tree[rng.choice(keys)])
        else:
            tree[key] = copy.deepcopy(rng.choice(ODD_VALUES))
        return


def forge_arrays(rng, data, models):
    """Change one to three arrays."""
    document, arrays = unpack(data)
    for _ in range(rng.randint(1, 3)):
        if arrays:  # the only one may have been removed
            change_array(rng, arrays, rng.choice(sorted(arrays)), models)
    return pack(document, arrays)


def change_array(rng, arrays, name, models):
    array = arrays[name]
    action = rng.random()
    if action < 0.5 and array.size:
        array = array.copy()
        # A bool is written as its byte, which need not be 0 or 1.
        flat = array.reshape(-1).view(np.uint8 if array.dtype.kind == "b" else array.dtype)
        values = [value for value in ODD_NUMBERS[array.dtype.kind] if fits(value, flat.dtype)]
        flat[rng.randrange(flat.size)] = rng.choice([*values, flat[rng.randrange(flat.size)]])
        arrays[name] = array
    elif action < 0.6:
        arrays[name] = array[: rng.randint(0, len(array))]
    elif action < 0.7:
        arrays[name] = np.concatenate([array, array[: rng.randint(0, 3)]])
    elif action < 0.78:
        with np.errstate(all="ignore"):
            other = rng.choice([np.float64, np.int64, np.int32, np.uint8, bool])
            arrays[name] = array.astype(other)
    elif action < 0.86:
        arrays[name] = array.reshape(rng.choice([(-1,), (1, -1), (-1, 1), (1, 1, -1)]))
    elif action < 0.9:
        del arrays[name]
    elif action < 0.93:
        arrays["ensemble.extra"] = array
    else:
        arrays[name] = rng.choice(models)[1].get(name, array)


def fits(value, dtype):
    return dtype.kind == "f" or np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def forge_table(rng, data, _):
    """Change the safetensors table: names, types, shapes and offsets."""
    header = header_of(data)
    name = rng.choice([name for name in header if name != "__metadata__"])
    tensor = header[name]
    action = rng.random()
    if action < 0.3:
        place = tensor[rng.choice(["shape", "data_offsets"])]
        place[rng.randrange(len(place))] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif action < 0.4:
        tensor["shape"] = rng.choice([[], [2**62, 4], [2**40, 0], [0] * 70, [2**63, 2], "x", [1.5]])
    elif action < 0.6:
        types = ["F64", "F32", "F16", "BF16", "F8_E4M3", "F4", "I64", "U64", "BOOL", "C64", "x", 1]
        tensor["dtype"] = rng.choice(types)
    elif action < 0.7:
        header[rng.choice(["x", "", "ensemble.left", "__metadata__", "é"])] = header.pop(name)
    elif action < 0.8:
        change_value(rng, header)
    else:
        other = rng.choice(list(header))
        header[name], header[other] = header[other], header[name]
    return with_header(data, dumped(header).encode())


def forge_text(rng, data, _):
    """Write the JSON in a way that is not ours: twice the same field, NaN, depth, long numbers."""
    old = data[8 : 8 + int.from_bytes(data[:8], "little")]
    inner = rng.choice(
        [
            (b'"shape":[', b'"shape":[' + b"[" * rng.choice([10, 1000, 100_000])),
            (b'\\"best_score\\":', b'\\"best_score\\":' + b"[" * 100_000),
            (b'\\"link\\":', b'\\"link\\":\\"identity\\",\\"link\\":'),
            (b'"dtype":', b'"dtype":"F64","dtype":'),
            (b"0.1", rng.choice([b"NaN", b"Infinity", b"1e999", b"1" * 5000, b"0.1e-400"])),
            (
                b"{",
                b" {",
            ),
            (b":", b" : "),
            (b"a", b"\\u0061"),
            (b"a", rng.choice([b"\xff", b"\x00", b"\\ud800", "é".encode()])),
        ]
    )
    count = old.count(inner[0])
    if not count:
        return data
    parts = old.split(inner[0])
    at = rng.randint(1, count)
    new = inner[0].join(parts[:at]) + inner[1] + inner[0].join(parts[at:])
    return with_header(data, new)


def forge_members(rng, data, models):
    """Put another model, or the whole of this one, in the place of a member, or repeat members."""
    document, arrays = unpack(data)
    names = [name for name in LISTS_OF_MODELS if document.get(name)]
    if not names:
        return forge_kind(rng, data, models)
    name = rng.choice(names)
    action, place = rng.random(), rng.randrange(len(document[name]))
    if action < 0.5:
        replace_member(rng.choice(models), document, arrays, name, place)
    elif action < 0.7:
        for _ in range(rng.choice([1, 3, 20])):
            inner = copy.deepcopy(document), dict(arrays)
            replace_member(inner, document, arrays, name, place)
    elif action < 0.85:
        document[name].append(copy.deepcopy(document[name][place]))
        prefix, last = f"{name}.{place}.", len(document[name]) - 1
        for key in [key for key in arrays if key.startswith(prefix)]:
            arrays[f"{name}.{last}.{key.removeprefix(prefix)}"] = arrays[key]
    else:
        change_value(rng, document[name][place])
    return pack(document, arrays)


LISTS_OF_MODELS = ("members", "learners", "start")


def replace_member(model, document, arrays, name, place):
    """Put a model in the place of a member."""
    prefix = f"{name}.{place}."
    for key in [key for key in arrays if key.startswith(prefix)]:
        del arrays[key]
    document[name][place] = copy.deepcopy(model[0])
    arrays |= {prefix + key: array for key, array in model[1].items()}


def forge_kind(rng, data, models):
    """Say that a model is of another kind, or take some of another model's fields."""
    document, arrays = unpack(data)
    other = rng.choice(models)[0]
    for field in rng.sample(sorted(other), rng.randint(1, 2)):
        document[field] = copy.deepcopy(other[field])
    if rng.random() < 0.5:
        document["estimator"] = other["estimator"]
        document["parameters"] = copy.deepcopy(other["parameters"])
    return pack(document, arrays)


MUTATIONS = (
    *(damage, damage_and_seal, forge_document, forge_arrays, forge_table, forge_text),
    *(forge_members, forge_kind),
)
SEALED_OFF = (damage,)  # mutations that the checksum alone must find


def probe(schema, rng, *, gaps=True):
    """Make a table as the model expects it, with gaps, if it takes them, and unknown categories."""
    columns = {}
    for j in range(schema.n_features):
        if j in schema.categories:
            known = schema.categories[j]
            unknown = "?" if known.kind == "string" else 12345
            values = [*known.values, unknown, None]
            column = pd.Series([rng.choice(values) for _ in range(40)], dtype=object)
            columns[j] = column.astype("category")
        else:
            numbers = [rng.gauss(0, 2) for _ in range(40)]
            columns[j] = [rng.choice([np.nan, x]) for x in numbers] if gaps else numbers
    table = pd.DataFrame(columns)
    if schema.feature_names is None:
        return table if schema.categories else table.to_numpy(np.float64)
    return table.set_axis(pd.Index(schema.feature_names, dtype=object), axis=1)


def exercise(model, rng):
    """Use a loaded model in every way, and hold what it says against the naive oracle."""
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=1)
    exercises = {NeighborsModel: exercise_neighbors, LinearModel: exercise_linear}
    exercises[KernelModel] = exercise_kernels
    exercises |= dict.fromkeys(COMPOSITES, exercise_composite)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        exercises.get(type(model._model), exercise_trees)(model, rng)
        repr(model)
        document, arrays = write_estimator(model)
        read_estimator(*unpack(pack(document, arrays)))


def exercise_trees(model, rng):
    model.set_params(unknown_category="missing")
    X = probe(model._model.schema, rng)
    table = model._read(X, model._model.schema)
    if isinstance(model._model, BoostedModel):
        table = model._model.statistics.encode(table)
    matrix = as_matrix(table, model._model.category_bins)
    if isinstance(model._model, ForestModel):
        exercise_forest(model, X, matrix)
    else:
        exercise_ensemble(model._model.ensemble, matrix)
    model.predict(X)
    if hasattr(model, "classes_"):
        model.predict_proba(X)
    if hasattr(model, "staged_predict"):
        list(model.staged_predict(X))
    if hasattr(model, "predict_quantile"):
        model.predict_survival_function(X, [0.0, 1.0, 1e300, np.inf])
        model.predict_quantile(X)
    if hasattr(model, "importances"):
        model.importances("cover")
    if hasattr(model, "export_text"):
        model.export_text()
    model._model.binner.transform(table)


COMPOSITES = (
    *(BaggedModel, EnsembleModel, EstimatorCommittee, AdditiveModel),
    *(CodedModel, DecisionModel),
)
METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "staged_predict"),
    *("staged_predict_proba", "staged_decision_function", "predict_trees"),
)


def exercise_composite(model, rng):
    """Ask a model of others all that it may be asked: it answers, or says what is wrong with X.

    Members of a forged file may want tables that no table is, such as a column of numbers for one
    and of categories for another.
    """
    if getattr(model, "n_features_in_", 0) > 1000:
        return
    X = probe_members(model, rng)
    for name in METHODS:
        ask = getattr(model, name, None)
        if ask is not None:
            with contextlib.suppress(HedgerowError):
                answer = ask(X)
                list(answer) if "staged" in name else answer


def probe_members(model, rng):
    """Make a table for a model of others, with categories where one of its members has them."""
    n_features = getattr(model, "n_features_in_", 3)
    columns = {j: [rng.gauss(0, 2) for _ in range(40)] for j in range(n_features)}
    for schema, places in schemas_in(model, np.arange(n_features)):
        for j, known in schema.categories.items():
            if j < len(places):
                values = [rng.choice(known.values) for _ in range(40)]
                columns[int(places[j])] = pd.Series(values, dtype=object).astype("category")
    table, names = pd.DataFrame(columns), getattr(model, "feature_names_in_", None)
    if names is not None:
        return table.set_axis(pd.Index(names, dtype=object), axis=1)
    is_numeric = all(dtype == np.float64 for dtype in table.dtypes)
    return table.to_numpy(np.float64) if is_numeric else table


def schemas_in(model, places):
    """Yield the schema of every innermost model, and the columns that it is handed."""
    fitted = model._model
    if not isinstance(fitted, COMPOSITES):
        yield fitted.schema, places
    elif isinstance(fitted, BaggedModel):
        for index, member in enumerate(fitted.estimators):
            columns = (
                fitted.sampling.features(index) if not fitted.sampling.takes_all_columns else places
            )
            yield from schemas_in(member, places[columns[columns < len(places)]])
    elif isinstance(fitted, EnsembleModel):
        for member in fitted.members:  # those with an encoded table read no categories
            for estimator in () if member.is_encoded else member.base_models:
                yield from schemas_in(estimator, places)
    else:
        for member in members_of(fitted):
            yield from schemas_in(member, places)


def members_of(fitted):
    """Return the members of a model that are all handed the same columns."""
    if isinstance(fitted, AdditiveModel):
        starts = [] if isinstance(fitted.start, np.ndarray) else [fitted.start]
        return starts + [stage.learner for stage in fitted.stages]
    if isinstance(fitted, CodedModel):
        return fitted.base_models
    if isinstance(fitted, DecisionModel):
        return [fitted.base_model]
    return [member for estimators in fitted.fitted for member in estimators]


def exercise_linear(model, rng):
    X = probe(model._model.schema, rng, gaps=False)
    says = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    numbers = np.asarray(X, np.longdouble)
    expected = numbers @ np.atleast_2d(model.coef_).T + model.intercept_
    with np.errstate(all="ignore"):
        size = np.abs(numbers) @ np.abs(np.atleast_2d(model.coef_)).T + np.abs(model.intercept_)
    near = np.abs(says.reshape(expected.shape) - expected) <= 1e-12 * size
    assert (near | ~(size < 1e300)).all()
    model.predict(X)


def exercise_kernels(model, rng):
    fitted = model._model
    if fitted.schema.n_features > 1000:  # sparse vectors may have any number of empty columns
        return
    kernel = fitted.kernel
    if kernel.function is not None:
        model.set_params(kernel=_products)
    X = probe(fitted.schema, rng, gaps=False)
    numbers = np.asarray(X, np.float64)
    try:
        scores = model._scores(X)
    except DataError:  # constants of a forged kernel may be of any size
        return
    if kernel.name == "precomputed":
        K = numbers[:, fitted.support]
    else:
        dense = (
            fitted.vectors.toarray() if scipy.sparse.issparse(fitted.vectors) else fitted.vectors
        )
        name = "linear" if kernel.function is not None else kernel.name
        constants = (kernel.gamma, kernel.coef0, kernel.degree)
        K = oracle_of_kernels.kernel(name, numbers, dense, *constants)
    coefficients = fitted.svm_coefficients()
    expected = K @ coefficients.T + fitted.intercepts
    size = np.abs(K) @ np.abs(coefficients).T + np.abs(fitted.intercepts)
    # A sum of products that a steep kernel makes much of may be off in its last digits.
    exact = 1e-4 if fitted.single else 1e-9
    near = np.abs(scores - expected) <= exact * (size + np.abs(coefficients).sum(axis=1))
    is_steep = (
        kernel.name != "precomputed" and not 1e-100 < kernel.gamma * max(1, kernel.degree) < 10
    )
    assert is_steep or (near | ~(size < 1e300)).all()
    model.predict(X)
    if hasattr(model, "classes_"):
        model.decision_function(X)
    if fitted.sigmoids is not None:
        model.set_params(probability=True).predict_proba(X)


def exercise_neighbors(model, rng):
    fitted = model._model
    if fitted.schema.n_features > 1000:  # sparse rows may have any number of empty columns
        return
    if isinstance(getattr(model, "weights", None), NotStored):
        model.set_params(weights="uniform")
    if fitted.metric.function is not None:
        model.set_params(metric=lambda a, b, **_: np.abs(a - b).sum())
    X = probe(fitted.schema, rng, gaps=fitted.gower is not None)
    X = abs(X) if fitted.metric.name == "precomputed" else X
    if hasattr(model, "kneighbors"):
        exercise_nearest(model.set_params(n_neighbors=min(3, fitted.n_rows)), X)
    if hasattr(model, "radius_neighbors"):
        model.radius_neighbors(X)
    if hasattr(model, "predict") and getattr(model, "outlier_label_", "") is not None:
        model.predict(X)
    if hasattr(model, "predict_proba") and getattr(model, "outlier_label_", "") is not None:
        model.predict_proba(X)


def exercise_nearest(model, X):
    fitted = model._model
    distances, indices = model.kneighbors(X)
    assert ((indices >= 0) & (indices < fitted.n_rows)).all()
    assert (distances[:, 1:] >= distances[:, :-1]).all()
    rows = fitted.rows.toarray() if scipy.sparse.issparse(fitted.rows) else fitted.rows
    if fitted.metric.spec.sums_powers and fitted.metric.p <= 8:
        parts = (np.asarray(part, np.longdouble) for part in (rows, X))
        named = (fitted.metric.name, fitted.metric.p)
        sums = oracle_of_neighbors.sums(*parts, *named)
        expected = np.sort(oracle_of_neighbors.finished(sums, *named), axis=1)
        np.testing.assert_allclose(distances, expected[:, : model.n_neighbors].astype(float), 1e-9)


def exercise_ensemble(ensemble, matrix):
    scores, leaves = oracle.predict_raw(ensemble, matrix), oracle.apply(ensemble, matrix)
    np.testing.assert_array_equal(ensemble.predict_raw(matrix), scores)
    np.testing.assert_array_equal(ensemble.apply(matrix), leaves)


def exercise_forest(model, X, matrix):
    forest = model._model.forest
    if model._model.combinations is not None:
        matrix = model._model.combinations.of(matrix)
    trees = [forest.tree(t) for t in range(forest.n_trees)]
    base = np.zeros(forest.n_values)
    whole = Ensemble.from_trees(trees, [0] * len(trees), base, forest.n_features)
    np.testing.assert_array_equal(forest.sum_values(matrix), oracle.predict_raw(whole, matrix))
    np.testing.assert_array_equal(model.apply(X), oracle.apply(whole, matrix))
    if model._model.leaf_targets is not None:
        model.predict_quantiles(X)


def try_file(path, data, original, must_be_refused, rng, loader=load):
    """Load a file; return whether it was refused. Raise if anything else than that happens."""
    path.write_bytes(data)
    try:
        model = loader(path)
    except ModelFileError:
        return True
    assert data == original or not must_be_refused, "damage that the checksum did not find"
    exercise(model, rng)
    return False


def fuzz(n_files, seed, path):
    """Try so many files at a path; return how many were refused, and the longest time of one."""
    models = [write_estimator(model) for model in make_models()]
    originals = [pack(*model) for model in models]
    refused, slowest = 0, 0.0
    for i in range(n_files):
        rng = random.Random(f"{seed} {i}")
        original = rng.choice(originals)
        mutation = rng.choice(MUTATIONS)
        mutated = mutation(rng, original, models)
        started = time.perf_counter()
        # To the real one: it ends the process, and what a test runner captured would go with it.
        faulthandler.dump_traceback_later(SECONDS_FOR_ONE, exit=True, file=sys.__stderr__)
        try:
            refused += try_file(path, mutated, original, mutation in SEALED_OFF, rng)
        except BaseException as error:
            error.add_note(f"with {path}, file {i} of seed {seed}, made by {mutation.__name__}")
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
        slowest = max(slowest, time.perf_counter() - started)
    path.unlink()
    return refused, slowest


def main():
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    refused, slowest = fuzz(n_files, seed, Path(tempfile.gettempdir()) / f"fuzz-{seed}.hedgerow")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_GROWTH, f"the process grew by {grown} bytes"
    print(
        f"{n_files} passed in {time.perf_counter() - started:.0f} s: {refused} refused, "
        f"{n_files - refused} loaded and as good as their arrays; "
        f"slowest {slowest:.2f} s, memory grew by {grown >> 20} MiB"
    )


if __name__ == "__main__":
    main()
