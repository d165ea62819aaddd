"""Writes the files of old XGBoost versions that `test_old_xgboost.py` reads, with their scores.

python tests/importing/make_xgboost.py     (with xgboost 1.7 or 2.1 installed)
"""

import json
import sys
from pathlib import Path

import xgboost

sys.path.insert(0, str(Path(__file__).parents[1]))

from importing.rows import NUMERIC, table, target, three_classes

FOLDER = Path(__file__).parent / "xgboost"
SMALL = {"max_depth": 3, "nthread": 1, "seed": 1, "tree_method": "hist"}
SOFT = {"objective": "multi:softprob", "num_class": 3}
VECTOR = {"multi_strategy": "multi_output_tree"}


def two_classes(frame):
    return (target(frame) > 0).astype(int)


EVERYTHING = ["size", "step", "label", "count"]
BINARY = {"objective": "binary:logistic"}
# Parameters, target and columns of the models of each major version.
KINDS = {
    "1": {
        "categories": (BINARY | {"max_cat_to_onehot": 1}, two_classes, EVERYTHING),
        "dart": (BINARY | {"booster": "dart", "rate_drop": 0.5}, two_classes, NUMERIC),
        "raw_scores": ({"objective": "binary:logitraw"}, two_classes, NUMERIC),
    },
    "2": {
        "categories": (BINARY | {"max_cat_to_onehot": 1}, two_classes, EVERYTHING),
        "raw_scores": ({"objective": "binary:logitraw"}, two_classes, NUMERIC),
        "vectors": (SOFT | VECTOR, three_classes, NUMERIC),
    },
}


def new_rows(names):
    """Return rows with labels as codes, which old files expect."""
    frame = table(40, seed=5)
    return frame.assign(label=frame["label"].cat.codes.astype(float))[names]


def matrix(frame, y=None):
    kinds_of_columns = ["c" if name == "label" else "float" for name in frame]
    return xgboost.DMatrix(
        frame.to_numpy(float),
        y,
        feature_names=list(frame),
        feature_types=kinds_of_columns,
        enable_categorical=True,
        nthread=1,
    )


def main():
    FOLDER.mkdir(exist_ok=True)
    frame, expected = table(), {}
    major, minor, _ = xgboost.__version__.split(".")
    for kind, (parameters, y_of, names) in KINDS[major].items():
        coded = frame.assign(label=frame["label"].cat.codes.astype(float))[names]
        booster = xgboost.train(SMALL | parameters, matrix(coded, y_of(frame)), 3)
        name = f"{major}.{minor}-{kind}"
        booster.save_model(FOLDER / f"{name}.json")
        scores = booster.predict(matrix(new_rows(names)), output_margin=True)
        expected[name] = scores.reshape(40, -1).astype(float).tolist()
    path = FOLDER / "scores.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | expected) + "\n")


if __name__ == "__main__":
    main()
