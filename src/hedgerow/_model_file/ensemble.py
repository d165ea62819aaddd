"""Ensembles of different kinds of models ↔ a model file: members, weights, and the encoder."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hedgerow._contract import internals
from hedgerow._data.intake import TableSchema
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._ensemble.encoding import TableEncoder
from hedgerow._ensemble.fitting import EnsembleMembers
from hedgerow._ensemble.model import EnsembleModel, Member, PlattScaling
from hedgerow._ensemble.training_set import TargetUnits
from hedgerow._estimator import Estimator
from hedgerow._model_file.base_models import (
    read_base_models,
    require_classes,
    require_columns,
    require_numbers,
)
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    finite_or_none,
    is_number,
    outputs_kind,
    read_columns,
    read_outputs,
    require,
    with_prefix,
    write_columns,
    write_list,
    write_outputs,
)

_ENCODER = ("centre", "scale", "has_missing", "category_starts", "category_codes")
_MOST_FOLDS = 1 << 31


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    model: EnsembleModel = internals(estimator).model()
    document, arrays = write_list("members", [_write_member(member) for member in model.members])
    document |= write_columns(estimator) | {
        "outputs": write_outputs(model.outputs),
        "refit": model.refit,
        "has_encoder": model.encoder is not None,
        "candidates": _write_candidates(estimator.members_),
    }
    arrays["fold"] = model.fold
    if model.encoder is not None and model.schema is not None:
        document["schema"] = model.schema.to_dict()
        arrays |= with_prefix("encoder.", {name: getattr(model.encoder, name) for name in _ENCODER})
    return document, arrays


def _write_member(member: Member) -> tuple[Document, Arrays]:
    from hedgerow._model_file.contents import write_estimator

    document, arrays = write_list("models", [write_estimator(each) for each in member.base_models])
    document |= {
        "name": member.name,
        "weight": member.weight,
        "is_encoded": member.is_encoded,
        "mean": member.units.mean,
        "deviation": member.units.deviation,
        "is_scaled": member.scaling is not None,
    }
    if member.scaling is not None:
        arrays["scaling"] = member.scaling.coefficients
    return document, arrays


def _write_candidates(table: EnsembleMembers) -> Document:
    """Return the table of candidates, without their times, which differ between equal fits."""
    return {
        "name": table.name.tolist(),
        "weight": table.weight.tolist(),
        "loss": [finite_or_none(loss) for loss in table.loss.tolist()],
        "note": table.note.tolist(),
        "metric": table.metric,
        "ensemble_loss": finite_or_none(table.ensemble_loss),
    }


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    attributes = read_columns(stored)
    outputs = read_outputs(outputs_kind(kind), stored.field("outputs"))
    require(outputs.is_single, "an ensemble has several outputs")
    fold = stored.array("fold", (None,), np.int64)
    in_range = len(fold) > 1 and fold.min() >= -1 and 0 <= fold.max() < _MOST_FOLDS
    require(in_range, "the folds of the rows are missing")
    refit = stored.field("refit")
    require(isinstance(refit, bool) or refit == "both", "refit is neither a flag nor 'both'")
    members = [_read_member(each, outputs) for each in stored.nested_list("members")]
    require(len(members) > 0, "there are no members")
    schema = encoder = None
    if stored.flag("has_encoder"):
        schema = stored.schema()
        encoder = _read_encoder(stored, schema)
        require(
            schema.n_features == attributes.get("n_features_in_"), "schema has different columns"
        )
    for member in members:
        _check_member(member, attributes, encoder, outputs)
    model = EnsembleModel(outputs, members, schema, encoder, fold, refit)
    n_models = 1 if refit is True else model.n_folds + (refit == "both")
    require(all(len(member.base_models) == n_models for member in members), "a fold has no model")
    candidates = _read_candidates(Stored(stored.field("candidates"), {}))
    return attributes | outputs.attributes() | {"_model": model, "members_": candidates}


def _read_member(stored: Stored, outputs: Outputs) -> Member:
    name, weight = stored.field("name"), stored.field("weight")
    require(isinstance(name, str), "the name of a member is not a string")
    require(is_number(weight) and 0.0 < weight <= 1.0, "the weight of a member is not allowed")
    mean, deviation = stored.field("mean"), stored.field("deviation")
    are_units = is_number(mean) and is_number(deviation) and deviation > 0.0
    are_units = are_units and math.isfinite(mean) and math.isfinite(deviation)
    require(are_units, "the units are not numbers")
    scaling = None
    if stored.flag("is_scaled"):
        require(isinstance(outputs, ClassOutputs), "a regressor has class probabilities")
        n_classes = len(outputs.classes[0]) if isinstance(outputs, ClassOutputs) else 0
        coefficients = stored.array("scaling", (1 if n_classes == 2 else n_classes, 2))
        require(np.isfinite(coefficients).all(), "the scaling is not finite")
        scaling = PlattScaling(coefficients)
    member = Member(
        name=name,
        weight=float(weight),
        base_models=read_base_models(stored, "models"),
        is_encoded=stored.flag("is_encoded"),
        units=TargetUnits(float(mean), float(deviation)),
        scaling=scaling,
    )
    stored.finish()
    return member


def _read_encoder(stored: Stored, schema: TableSchema) -> TableEncoder:
    arrays, n = stored.arrays("encoder.", _ENCODER), schema.n_features
    dtypes = (np.float64, np.float64, np.bool_, np.int64, np.int64)
    are_right = all(a.dtype == dtype for a, dtype in zip(arrays.values(), dtypes, strict=True))
    require(are_right and all(a.ndim == 1 for a in arrays.values()), "the encoder is invalid")
    encoder = TableEncoder(**arrays)
    lengths = [len(arrays[name]) for name in _ENCODER[:4]]
    require(lengths == [n, n, n, n + 1], "the encoder has a different number of features")
    finite = np.isfinite(encoder.centre).all() and np.isfinite(encoder.scale).all()
    require(finite and (encoder.scale >= 0.0).all(), "the encoder is not finite")
    starts, codes = encoder.category_starts, encoder.category_codes
    ascending = starts[0] == 0 and (np.diff(starts) >= 0).all() and starts[-1] == len(codes)
    require(ascending, "the categories of the encoder are out of order")
    for j in range(n):
        own = codes[starts[j] : starts[j + 1]]
        n_categories = len(schema.categories[j].values) if j in schema.categories else 0
        in_range = ((own >= 0) & (own < n_categories)).all()
        require(in_range, "the encoder has a category that the schema lacks")
    return encoder


def _check_member(
    member: Member, attributes: dict[str, Any], encoder: TableEncoder | None, outputs: Outputs
) -> None:
    """Check that the base models accept what the ensemble passes to them."""
    require(encoder is not None or not member.is_encoded, "the encoder is missing")
    for base_model in member.base_models:
        if member.is_encoded and encoder is not None:
            require_columns(base_model, {"n_features_in_": encoder.width})
        else:
            require_columns(base_model, attributes)
        if isinstance(outputs, ClassOutputs):
            shares = member.scaling is None
            require_classes(base_model, outputs.classes, shares=shares)
            decides = hasattr(base_model, "decision_function")
            require(shares or decides, "a base model has no decision function")
        else:
            require_numbers(base_model)


def _read_candidates(stored: Stored) -> EnsembleMembers:
    names, weights, losses, notes = map(stored.field, ("name", "weight", "loss", "note"))
    columns = (names, weights, losses, notes)
    are_lists = all(isinstance(column, list) and len(column) == len(names) for column in columns)
    require(are_lists, "the candidates are not lists of one length")
    are_texts = all(isinstance(text, str) for text in [*names, *notes])
    require(are_texts and all(map(is_number, weights)), "a candidate has no name or weight")
    require(all(loss is None or is_number(loss) for loss in losses), "a loss is not a number")
    metric, ensemble_loss = stored.field("metric"), stored.score("ensemble_loss")
    require(metric in ("log loss", "RMSE"), "the metric of the candidates is unknown")
    stored.finish()
    return EnsembleMembers(
        name=np.array(names, object),
        weight=np.array(weights, np.float64),
        loss=np.array([np.nan if loss is None else loss for loss in losses], np.float64),
        seconds=np.full(len(names), np.nan),
        note=np.array(notes, object),
        metric=metric,
        ensemble_loss=np.nan if ensemble_loss is None else ensemble_loss,
    )
