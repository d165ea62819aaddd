"""AdaBoost ↔ a model file: a committee of trees, or of other estimators of the library."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._adaboost.algorithms import (
    M1,
    R2,
    Algorithm,
    Discrete,
    Gentle,
    Logit,
    Real,
)
from hedgerow._adaboost.model import EstimatorCommittee, TreeCommittee
from hedgerow._contract import internals
from hedgerow._estimator import Estimator, column_attributes
from hedgerow._model_file.base_models import (
    read_base_models,
    require_classes,
    require_columns,
    require_numbers,
)
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    is_number,
    read_columns,
    read_some_classes,
    require,
    with_prefix,
    write_classes,
    write_columns,
    write_list,
)
from hedgerow._model_file.trees import read_trees, write_trees

_ALGORITHMS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Discrete, M1, Real, Gentle, Logit, R2)
}
_TEXTS = {"error_divisor": ("weights", "rows"), "loss": ("linear", "square", "exponential")}
# Arrays with a number for each round; classifiers also have resets_.
_HISTORIES = ("estimator_weights_", "estimator_errors_", "weight_sums_")


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    model = internals(estimator).model()
    fitted = vars(estimator)
    document: Document = {
        "algorithm": {"name": type(model.algorithm).__name__} | asdict(model.algorithm),
        "classes": None if model.classes is None else write_classes(model.classes),
        "are_trees": isinstance(model, TreeCommittee),
    }
    arrays = with_prefix("rounds.", {name: fitted[name] for name in _HISTORIES})
    arrays["rounds.weights"] = model.weights
    if model.classes is not None:
        arrays["rounds.resets_"] = fitted["resets_"].astype(np.int64)
    for i, sample in enumerate(_flat(fitted.get("estimators_samples_", []))):
        arrays[f"samples.{i}"] = sample
    learned, more = _write_trees(model) if document["are_trees"] else _write_base_models(estimator)
    return document | learned, arrays | more


def _flat(per_round: list[Any]) -> list[Any]:
    """Return what belongs to each base model."""
    return [one for of in per_round for one in (of if isinstance(of, list) else [of])]


def _write_trees(model: TreeCommittee) -> tuple[Document, Arrays]:
    return {"schema": model.schema.to_dict()}, write_trees(model)


def _write_base_models(estimator: Estimator) -> tuple[Document, Arrays]:
    from hedgerow._model_file.contents import write_estimator

    model: EstimatorCommittee = internals(estimator).model()
    base_models = [
        write_estimator(base_model) for base_models in model.fitted for base_model in base_models
    ]
    document, arrays = write_list("members", base_models)
    return document | write_columns(estimator), arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    algorithm = _read_algorithm(stored.field("algorithm"))
    classes = read_some_classes(stored.field("classes"), kind)
    is_classifier = classes is not None
    require(
        isinstance(algorithm, R2) != is_classifier, f"a {kind.__name__} has a different algorithm"
    )
    attributes: dict[str, Any] = {}
    if classes is not None:
        require(len(classes) == getattr(algorithm, "n_classes", None), "n_classes is wrong")
        attributes |= {"classes_": classes, "n_classes_": len(classes)}
    rounds = _read_rounds(stored, is_classifier)
    weights = rounds.pop("weights")
    read_model = _read_trees if stored.flag("are_trees") else _read_base_models
    attributes |= rounds | read_model(stored, algorithm, weights, classes)
    if stored.has_arrays("samples."):
        require(is_classifier, "a regressor does not keep samples")
        attributes["estimators_samples_"] = _read_samples(stored, attributes["_model"])
    return attributes


def _read_algorithm(stored: Any) -> Algorithm | R2:
    values = Stored(stored, {})
    name = values.field("name")
    require(isinstance(name, str) and name in _ALGORITHMS, f"the algorithm is {name!r}")
    kind = _ALGORITHMS[name]
    arguments = {f.name: values.field(f.name) for f in fields(kind)}
    values.finish()
    require(is_number(arguments["learning_rate"]), "learning_rate is not a number")
    n_classes = arguments.get("n_classes", 2)
    require(type(n_classes) is int and 2 <= n_classes <= 2**16, "n_classes is not a number")
    for text, allowed in _TEXTS.items():
        require(
            text not in arguments or arguments[text] in allowed,
            f"{text} is {arguments.get(text)!r}",
        )
    algorithm: Algorithm | R2 = kind(**arguments)
    return algorithm


def _read_rounds(stored: Stored, is_classifier: bool) -> dict[str, NDArray[Any]]:
    names = [*_HISTORIES, "weights"]
    rounds = stored.arrays("rounds.", names + ["resets_"] * is_classifier)
    n_rounds = len(rounds["weights"])
    require(n_rounds > 0, "there are no rounds")
    for name, array in rounds.items():
        dtype = np.int64 if name == "resets_" else np.float64
        fits = array.dtype == dtype and array.shape == (n_rounds,)
        # The sums of weights may overflow.
        finite = name == "weight_sums_" or np.isfinite(array).all()
        require(fits and finite, f"{name} does not have a number for each round")
    return rounds


def _read_samples(stored: Stored, model: TreeCommittee | EstimatorCommittee) -> list[Any]:
    estimators = model.estimators
    n_samples = len(_flat(estimators))
    samples = stored.arrays("samples.", [str(i) for i in range(n_samples)]).values()
    for sample in samples:
        are_rows = sample.dtype == np.int32 and sample.ndim == 1 and len(sample) > 0
        require(are_rows and (sample >= 0).all(), "a sample is not a list of row numbers")
    left = iter(samples)
    return [[next(left) for _ in of] if isinstance(of, list) else next(left) for of in estimators]


def _read_trees(
    stored: Stored, algorithm: Algorithm | R2, weights: NDArray[Any], classes: NDArray[Any] | None
) -> dict[str, Any]:
    schema = stored.schema()
    binner, ensemble = read_trees(stored, schema)
    n_outputs = 1 if isinstance(algorithm, R2) else algorithm.n_outputs
    require(ensemble.n_outputs == n_outputs, "the number of outputs does not match the algorithm")
    require(not ensemble.base_score.any(), "a committee has a base score")
    per_round = ensemble.trees_per_round
    require(ensemble.n_trees == len(weights) * per_round, "a round lacks trees")
    in_turn = np.arange(ensemble.n_trees) % per_round
    require(np.array_equal(ensemble.tree_output, in_turn), "trees are not of each output in turn")
    model = TreeCommittee(schema, binner, ensemble, algorithm, weights, classes)
    return column_attributes(schema) | {"_model": model}


def _read_base_models(
    stored: Stored, algorithm: Algorithm | R2, weights: NDArray[Any], classes: NDArray[Any] | None
) -> dict[str, Any]:
    base_models, attributes = read_base_models(stored, "members"), read_columns(stored)
    for base_model in base_models:
        require_columns(base_model, attributes)
        if algorithm.has_classifiers and classes is not None:
            require_classes(base_model, [classes], shares=isinstance(algorithm, Real))
        else:
            require_numbers(base_model)
    per_round, rest = divmod(len(base_models), len(weights))
    n_outputs = 1 if isinstance(algorithm, R2) else algorithm.n_outputs
    expected = 1 if algorithm.has_classifiers else n_outputs
    require(rest == 0 and per_round == expected, "a round lacks base models")
    fitted = [base_models[i : i + per_round] for i in range(0, len(base_models), per_round)]
    model = EstimatorCommittee(fitted, algorithm, weights, classes)
    return attributes | {"_model": model}
