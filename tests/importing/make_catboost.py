"""Writes the files of CatBoost that `test_catboost.py` reads, with CatBoost's own raw scores.

python tests/importing/make_catboost.py     (where catboost is installed)
"""

import json
import sys
from pathlib import Path

import catboost
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from importing.rows import NUMERIC, table, target, three_classes

FOLDER = Path(__file__).parent / "catboost"
SMALL = {
    "iterations": 6,
    "depth": 4,
    "one_hot_max_size": 20,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
    "cat_features": ["label"],
    "random_seed": 1,
}


def texts(frame):
    """Return a table as CatBoost takes it: categories are strings."""
    return frame.assign(label=frame["label"].astype(object).fillna("none").astype(str))


def models():
    frame = texts(table())
    y, classes = target(table()), three_classes(table())
    regressor, classifier = catboost.CatBoostRegressor, catboost.CatBoostClassifier
    leafwise = SMALL | {"depth": 6, "grow_policy": "Lossguide", "max_leaves": 9}
    return {
        "squared": regressor(**SMALL).fit(frame, y),
        "missing_last": regressor(nan_mode="Max", **SMALL).fit(frame, y),
        "poisson": regressor(loss_function="Poisson", **SMALL).fit(frame, np.exp(y / 4)),
        "two_classes": classifier(**SMALL).fit(frame, np.where(y > 0, "yes", "no")),
        "classes": classifier(**SMALL).fit(frame, classes),
        "leafwise": regressor(**leafwise).fit(frame, y),
        "leafwise_classes": classifier(**leafwise).fit(frame, classes),
        "targets": regressor(loss_function="MultiRMSE", **SMALL).fit(
            frame, np.column_stack([y, -y])
        ),
    }


def numeric_models():
    """Return models without categorical features: their list of categories is null."""
    frame, y, classes = table()[NUMERIC], target(table()), three_classes(table())
    few = {name: value for name, value in SMALL.items() if name != "cat_features"}
    leafwise = few | {"grow_policy": "Lossguide", "max_leaves": 5}
    return {
        "numbers": catboost.CatBoostRegressor(**few).fit(frame, y),
        "numbers_two_classes": catboost.CatBoostClassifier(**few).fit(frame, y > 0),
        "numbers_classes": catboost.CatBoostClassifier(**few).fit(frame, classes),
        "numbers_leafwise": catboost.CatBoostRegressor(**leafwise).fit(frame, y),
    }


def pool_of(model):
    frame = texts(table())[model.feature_names_]
    return catboost.Pool(frame, target(table()), cat_features=model.get_cat_feature_indices())


def new_rows():
    frame = table(40, seed=5)
    labels = frame["label"].astype(object)
    labels[::7] = "unknown"
    return texts(frame.assign(label=labels))


def main():
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for name, model in (models() | numeric_models()).items():
        path = FOLDER / f"{name}.json"
        model.save_model(str(path), format="json", pool=pool_of(model))
        document = json.loads(path.read_text())
        kept = {"params": {"loss_function": document["model_info"]["params"]["loss_function"]}}
        kept["catboost_version_info"] = f"Branch: tags/v{catboost.__version__}"
        if "class_params" in document["model_info"]:
            kept["class_params"] = document["model_info"]["class_params"]
        path.write_text(json.dumps(document | {"model_info": kept}) + "\n")
        rows = new_rows()[model.feature_names_]
        scores = model.predict(rows, prediction_type="RawFormulaVal")
        expected[name] = np.asarray(scores).reshape(40, -1).tolist()
    (FOLDER / "scores.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
