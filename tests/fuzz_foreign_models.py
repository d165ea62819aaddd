"""Mutates models of other libraries and reads them: a file is refused, or a whole model.

It is refused with ModelFileError and nothing else; a model must predict without an error.

    python tests/fuzz_foreign_models.py [number of files] [seed] [seconds after which to stop]

Files are damaged blindly (bytes and lines) and on purpose (a number or field of JSON becomes an odd
one). A file that fails is kept, and its name printed.
"""

import copy
import json
import math
import random
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

import hedgerow as hr
from importing.rows import NUMERIC, table, target, three_classes

ODD = (0, 1, -1, 2, 7, 99, 255, 256, 2**31 - 1, -(2**31), 2**32, 2**63, 10**30, 0.5, -0.0, 1e308)
ODD += (5e-324, float("nan"), float("inf"), None, True, "", "x", "1e5", "-1", [], {}, [0], {"x": 0})
ODD_TEXTS = ("0", "-1", "1", "99999999999", "nan", "inf", "-inf", "1e400", "x", "", "0.5", "-0")


def originals():
    """Return small files of each format, by ending."""
    frame = table(400)
    y, classes = target(frame), three_classes(frame)
    light = {"verbose": -1, "num_threads": 1, "num_leaves": 5, "min_data_per_group": 5}
    texts = [
        lightgbm.train(light | more, lightgbm.Dataset(frame, y_of), 3).model_to_string()
        for more, y_of in (
            ({"objective": "regression"}, y),
            ({"objective": "multiclass", "num_class": 3}, classes),
            ({"objective": "regression", "linear_tree": True}, y),
            ({"objective": "binary", "zero_as_missing": True}, y > 0),
        )
    ]
    boosters = [
        xgboost.train(
            {"max_depth": 3, "nthread": 1} | more,
            xgboost.DMatrix(frame, y_of, enable_categorical=True, nthread=1),
            3,
        )
        for more, y_of in (
            ({"objective": "binary:logistic", "max_cat_to_onehot": 1}, y > 0),
            ({"objective": "multi:softprob", "num_class": 3}, classes),
            ({"booster": "dart", "rate_drop": 0.5}, y),
        )
    ]
    folder = Path(__file__).parent / "importing"
    kept = [path.read_bytes() for path in sorted(folder.glob("*/*.json")) if path.stem != "scores"]
    # Without the parameters, which nobody reads and which are most of a text.
    texts = [
        text.partition("\nfeature_importances")[0] + text[text.rfind("\npandas") :]
        for text in texts
    ]
    return [
        *(("txt", text.encode()) for text in texts),
        *(("json", bytes(booster.save_raw("json"))) for booster in boosters),
        *(("ubj", bytes(booster.save_raw("ubj"))) for booster in boosters),
        *(("json", data) for data in kept),  # of CatBoost and of old versions of XGBoost
        *binary_originals(frame, y),
    ]


def binary_originals(frame, y):
    """Return a binary file of CatBoost, where it is installed."""
    if find_spec("catboost") is None:
        return []
    import catboost

    small = {"iterations": 3, "depth": 3, "verbose": 0, "thread_count": 1}
    model = catboost.CatBoostRegressor(**small, allow_writing_files=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.fit(frame[NUMERIC], y).save_model(str(path))
        return [("cbm", path.read_bytes())]


def with_other_bytes(data, rng):
    """Change, insert, delete or repeat some bytes."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.randbytes(rng.randrange(9))
        elif kind == 2:
            del data[at : at + rng.randrange(40)]
        elif kind == 3:
            data[at:at] = data[at : at + rng.randrange(60)]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


def with_other_word(data, rng):
    """Change a word of a line of text."""
    lines = data.decode().split("\n")
    i = rng.randrange(len(lines))
    name, mark, rest = lines[i].partition("=")
    words = rest.split(" ")
    at = rng.randrange(len(words))
    kind = rng.randrange(4)
    if kind == 0:
        words[at] = rng.choice(ODD_TEXTS)
    elif kind == 1:
        del words[at]
    elif kind == 2:
        words.insert(at, rng.choice(words))
    else:
        words[at] = rng.choice(words)
    lines[i] = name + mark + " ".join(words)
    if rng.random() < 0.05:
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines).encode()


def places(value, path=()):
    """Yield the path of each value in a document."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places(value[key], (*path, key))


def with_other_value(data, rng):
    """Change a value of a JSON document."""
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        paths = list(places(document))
        if not paths:  # an earlier change deleted all there was
            break
        path, inside = rng.choice(paths), document
        for key in path[:-1]:
            inside = inside[key]
        kind = rng.randrange(4)
        if kind == 0:
            inside[path[-1]] = rng.choice(ODD)
        elif kind == 1:
            del inside[path[-1]]
        elif kind == 2 and isinstance(inside, list):
            inside.insert(rng.randrange(len(inside) + 1), copy.deepcopy(rng.choice(inside)))
        else:
            siblings = list(inside.values()) if isinstance(inside, dict) else inside
            inside[path[-1]] = copy.deepcopy(rng.choice(siblings))
    return json.dumps(document).encode()


MUTATIONS = {
    "txt": (with_other_word, with_other_word, with_other_bytes),
    "json": (with_other_value, with_other_value, with_other_bytes),
    "ubj": (with_other_bytes,),
    "cbm": (with_other_bytes,),
}


def try_file(path, rows):
    """Read a file; return whether it was refused. Anything but a typed refusal raises."""
    try:
        model = hr.read_model(path)
    except hr.ModelFileError:
        return True
    n_features = model.n_features_in_
    new = rows[:, :1].repeat(n_features, axis=1) if n_features < 10_000 else None
    if new is not None:
        try:
            model.predict(new)
            model.apply(new)
        except hr.DataError:  # categories that are strings
            pass
    return False


def fuzz(n_files, seed, folder, seconds=math.inf, files=None):
    """Read mutated files; return how many were read and refused, and the longest time of one."""
    rng = random.Random(seed)
    rows = np.random.default_rng(0).normal(size=(20, 1))
    rows[::5] = np.nan
    files, refused, slowest = files or originals(), 0, 0.0
    end = time.perf_counter() + seconds
    for number in range(n_files):
        if time.perf_counter() > end:
            n_files = number
            break
        ending, original = rng.choice(files)
        data = rng.choice(MUTATIONS[ending])(original, rng)
        path = folder / f"fuzz-{seed}.{ending}"
        path.write_bytes(data)
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                refused += try_file(path, rows)
        except BaseException:
            path.rename(folder / f"failed-{seed}-{number}.{ending}")
            print(f"failed: {folder / f'failed-{seed}-{number}.{ending}'}")
            raise
        slowest = max(slowest, time.perf_counter() - begin)
    return n_files, refused, slowest


if __name__ == "__main__":
    n_files, seed, seconds = (
        int(sys.argv[i]) if len(sys.argv) > i else default
        for i, default in ((1, 1000), (2, 1), (3, math.inf))
    )
    begin = time.perf_counter()
    n_read, refused, slowest = fuzz(n_files, seed, Path(tempfile.gettempdir()), seconds)
    took = time.perf_counter() - begin
    print(f"{n_read} files in {took:.0f} s: {refused} refused, slowest {slowest:.2f} s")
