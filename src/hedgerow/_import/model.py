"""`ForeignModel`, a model of another library in terms of ours, and the estimator that it becomes.

Each reader returns a `ForeignModel`. From there on nothing depends on the library: categories are
coded, trees become an `Ensemble`, and a `Binner` is made of the split points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from hedgerow._boosting.model import BoostedModel, Calibration
from hedgerow._data.binning import MAX_BINS, Binner
from hedgerow._data.names import read_names
from hedgerow._data.table import TableSchema
from hedgerow._data.target_statistics import EncodedColumn, TargetStatistics
from hedgerow._estimator import Estimator, adopt, column_attributes
from hedgerow._import.categories import (
    CodedColumn,
    ForeignColumn,
    code_columns,
    more_features,
    node_tests,
)
from hedgerow._import.fields import MOST_FEATURES, MOST_OUTPUTS, refuse
from hedgerow._import.trees import FlatNodes, ForeignTree, Indices, ensemble_of, in_turn
from hedgerow._links import Link
from hedgerow._model_file.origin import Origin
from hedgerow._tree.structure import OWN_ARITHMETIC, Arithmetic, Ensemble
from hedgerow._types import Floats

BoostedKind = type[GradientBoostingClassifier | GradientBoostingRegressor | GradientBoostingRanker]


@dataclass(frozen=True)
class ScoreMeaning:
    """What the scores of a boosted model mean.

    Attributes
    ----------
    kind : type
        The estimator.
    link : Link
    parameters : dict
        Parameters of the estimator that predictions depend on.
    is_multilabel : bool
        Whether each output is a target of its own with two classes.
    slope : float
        The factor of scores within the sigmoid.
    is_ova : bool
        Whether the probability of each class is a sigmoid of its own.
    """

    kind: BoostedKind
    link: Link = "identity"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_multilabel: bool = False
    slope: float = 1.0
    is_ova: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ForeignModel:
    """Boosted trees of another library.

    Attributes
    ----------
    origin : Origin
    meaning : ScoreMeaning
    columns : sequence of ForeignColumn
    trees : sequence of ForeignTree
    tree_output : int array (n_trees,)
        The output that a tree adds to; 0 if leaves have a value for each output.
    base_score : float64 array (n_outputs,)
    arithmetic : Arithmetic
    classes : array, optional
        The classes, if they are not 0, 1, …
    """

    origin: Origin
    meaning: ScoreMeaning
    columns: Sequence[ForeignColumn]
    trees: Sequence[ForeignTree]
    tree_output: Indices
    base_score: Floats
    arithmetic: Arithmetic = OWN_ARITHMETIC
    classes: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class ReadTrees:
    """The trees of a model, and how tables are read for them."""

    schema: TableSchema
    statistics: TargetStatistics
    binner: Binner
    ensemble: Ensemble


def read_trees(
    columns: Sequence[ForeignColumn],
    trees: Sequence[ForeignTree],
    tree_output: Indices,
    base_score: Floats,
    arithmetic: Arithmetic = OWN_ARITHMETIC,
) -> ReadTrees:
    """Return the trees as an ensemble, with schema and bins."""
    n_columns = len(columns)
    if not 1 <= n_columns <= MOST_FEATURES:
        refuse("the number of features", n_columns, f"from 1 to {MOST_FEATURES}")
    flat = FlatNodes.of(trees, n_columns)
    coded = code_columns(flat, columns)
    statistics = _statistics(coded, n_columns)
    ensemble = ensemble_of(
        flat,
        node_tests(coded, n_columns),
        tree_output,
        base_score,
        statistics.n_columns,
        arithmetic,
    )
    _refuse_mixed_columns(ensemble, coded, columns)
    schema = TableSchema(
        n_columns, _names(columns), {j: column.categories for j, column in coded.items()}
    )
    binner = _binner(ensemble, {j: column for j, column in coded.items() if column.is_set})
    return ReadTrees(schema, statistics, binner, ensemble)


def _refuse_mixed_columns(
    ensemble: Ensemble, coded: Mapping[int, CodedColumn], columns: Sequence[ForeignColumn]
) -> None:
    """Refuse thresholds of categorical columns."""
    is_set = np.zeros(ensemble.n_features, bool)
    is_set[[j for j, column in coded.items() if column.is_set]] = True
    numeric = (ensemble.feature >= 0) & (ensemble.category_set < 0)
    wrong = numeric & is_set[ensemble.feature]
    if wrong.any():
        j = int(ensemble.feature[wrong][0])
        refuse(f"the split of column {columns[j].name or j}", "a threshold", "a set of categories")


def _names(columns: Sequence[ForeignColumn]) -> Any:
    names = [column.name for column in columns]
    return None if None in names else read_names(names)


def _statistics(coded: Mapping[int, CodedColumn], n_columns: int) -> TargetStatistics:
    """Return the tables of columns that became numbers, each with the same number of features."""
    n_numbers = more_features(dict(coded)) + 1
    encoded = []
    for j, column in coded.items():
        if not column.is_set:
            padding = np.zeros((n_numbers - len(column.numbers), column.numbers.shape[1]))
            numbers = np.concatenate([column.numbers, padding])
            encoded.append(EncodedColumn(j, np.ones(n_numbers), numbers))
    if not encoded:
        return TargetStatistics(n_columns)
    return TargetStatistics(n_columns, 0, np.zeros(n_numbers), tuple(encoded))


def _binner(ensemble: Ensemble, sets: Mapping[int, CodedColumn]) -> Binner:
    """Return bins that end at the split points; of very many, at some that are evenly spread."""
    n_features = ensemble.n_features
    numeric = (ensemble.feature >= 0) & (ensemble.category_set < 0)
    feature, threshold = ensemble.feature[numeric], ensemble.threshold[numeric]
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(feature) != 0) | (np.diff(threshold) != 0)
    feature, threshold = feature[is_new], threshold[is_new]
    counts = np.bincount(feature, minlength=n_features)
    place = np.arange(len(feature)) - np.repeat(np.cumsum(counts) - counts, counts)
    most = MAX_BINS - 1
    n_own = np.repeat(np.maximum(counts, 1), counts)
    kept = (n_own <= most) | ((place + 1) * most // n_own > place * most // n_own)
    is_categorical = np.zeros(n_features, bool)
    is_categorical[list(sets)] = True
    bins = {j: column.numbers[0] for j, column in sets.items()}
    lengths = np.zeros(n_features, np.int64)
    values = [np.empty(0, np.uint8)]
    for j in sorted(sets):
        own = bins[j][:-1]  # without the number of missing values, which is NaN
        own = own[~np.isnan(own)].astype(np.uint8)
        values.append(own)
        lengths[j] = len(own)
    return Binner.from_dict(
        {
            "is_categorical": is_categorical,
            "threshold_values": threshold[kept],
            "threshold_starts": _starts(np.bincount(feature[kept], minlength=n_features)),
            "category_values": np.concatenate(values),
            "category_starts": _starts(lengths),
        }
    )


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def boosted_estimator(model: ForeignModel) -> Any:
    """Return the estimator of a boosted model."""
    n_outputs = len(model.base_score)
    if not 1 <= n_outputs <= MOST_OUTPUTS:
        refuse("the number of outputs", n_outputs, f"from 1 to {MOST_OUTPUTS}")
    trees, tree_output = model.trees, model.tree_output
    width = trees[0].value.shape[1] if trees else 1
    if width == 1:
        order = in_turn(np.bincount(tree_output, minlength=n_outputs), tree_output)
        trees, tree_output = [trees[t] for t in order.tolist()], tree_output[order]
    read = read_trees(model.columns, trees, tree_output, model.base_score, model.arithmetic)
    classes = _classes(model, n_outputs)
    calibration = None
    if model.meaning.slope != 1.0 or model.meaning.is_ova:
        calibration = _sigmoids(n_outputs, model.meaning.slope)
    fitted = BoostedModel(
        read.schema,
        read.statistics,
        read.binner,
        read.ensemble,
        model.meaning.link,
        classes,
        calibration,
        zero_is_missing=_zero_is_missing(model.columns),
    )
    attributes = column_attributes(read.schema) | {
        "_model": fitted,
        "n_iter_": read.ensemble.n_rounds,
        "n_outputs_": 1 if isinstance(classes, np.ndarray) else n_outputs,
        "evals_result_": {},
        "n_initial_rounds_": 0,
        "origin_": model.origin,
    }
    if classes is not None:
        attributes["classes_"] = classes
    estimator: Estimator = model.meaning.kind(**model.meaning.parameters)
    adopt(estimator, attributes)
    return estimator


def _classes(model: ForeignModel, n_outputs: int) -> Any:
    if model.meaning.kind is not GradientBoostingClassifier:
        return None
    if model.meaning.is_multilabel:
        return [np.arange(2) for _ in range(n_outputs)]
    n_classes = 2 if n_outputs == 1 else n_outputs
    if model.classes is None:
        return np.arange(n_classes)
    if len(model.classes) != n_classes:
        refuse("the number of classes", len(model.classes), f"{n_classes}")
    return model.classes


def _sigmoids(n_outputs: int, slope: float) -> Calibration:
    none = np.empty(0)
    slopes, offsets = np.full(n_outputs, slope), np.zeros(n_outputs)
    return Calibration("sigmoid", slopes, offsets, none, none, np.empty(0, np.int64))


def _zero_is_missing(columns: Sequence[ForeignColumn]) -> NDArray[np.intp] | None:
    listed = [j for j, column in enumerate(columns) if column.zero_is_missing]
    return np.array(listed, np.intp) if listed else None
