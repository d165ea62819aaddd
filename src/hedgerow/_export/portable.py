"""`PortableModel`: a fitted tree model as plain arrays and strings, which every export writes.

A prediction takes four steps: columns → features (a category becomes a number) → the sum over the
trees → the link, or the division of a mean → the probabilities of both of two classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import __version__
from hedgerow._adaboost.algorithms import R2, Discrete, Gentle, Logit, Real
from hedgerow._adaboost.model import TreeCommittee
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.model import BoostedModel, Calibration
from hedgerow._contract import internals
from hedgerow._data.columns import Label
from hedgerow._data.outputs import ClassOutputs, NumberOutputs
from hedgerow._data.table import Categories, TableSchema
from hedgerow._data.target_statistics import BESIDES
from hedgerow._estimator import Estimator
from hedgerow._forest.model import ForestModel
from hedgerow._links import Link
from hedgerow._tree.additive import column_names, number_names
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats
from hedgerow.exceptions import ExportError


@dataclass(frozen=True, eq=False)
class PortableColumn:
    """A column of the table, and the features of the trees that it becomes.

    Attributes
    ----------
    name : str
    features : tuple of int
        The column's features: one, or several for target statistics of several outputs.
    categories : Categories, optional
        Those of a categorical column.
    numbers : float64 array (n_features, n_categories + 2), optional
        What the trees read in place of each category, of an unknown category and of a missing
        value; NaN is missing.
    is_set : bool
        Whether the numbers are members of the sets that splits list, not compared with thresholds.
    """

    name: str
    features: tuple[int, ...]
    categories: Categories | None = None
    numbers: Floats | None = None
    is_set: bool = False

    @property
    def has_unknown_bin(self) -> bool:
        """Whether an unknown category is in a bin of its own instead of missing."""
        return self.is_set and self.numbers is not None and not np.isnan(self.numbers[0, -BESIDES])

    @property
    def labels(self) -> tuple[Label, ...]:
        """The categories of the column, sorted; none if it is numeric."""
        return () if self.categories is None else self.categories.values

    def members(self, bits: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return whether each category is in the set of a split, which is a set of bins."""
        assert self.numbers is not None
        bins = self.numbers[0, :-BESIDES].astype(np.int64)
        return (bits[bins >> 5] >> (bins & 31).astype(np.uint32) & 1).astype(bool)


@dataclass(frozen=True, eq=False, kw_only=True)
class PortableModel:
    """A model of one of the tree estimators.

    Attributes
    ----------
    kind : str
        The name of the estimator.
    origin : str
        The version of this library.
    columns : tuple of PortableColumn
    ensemble : Ensemble
    n_averaged : int
        The number by which the sum over the trees is divided: that of the trees if the model is
        their mean, otherwise 1.
    link : Link
        The function from predictions to scores.
    calibration : Calibration, optional
    classes : tuple of arrays
        The classes of each output of a classifier; empty for a regressor.
    pairs : tuple of int
        The scores that are the probability of the second of two classes, whose complement is
        predicted as well.
    prediction_names : tuple of str
        A name for each number of a prediction: a class, or an output.
    has_names : bool
        Whether the columns had names in the table of the fit, or are numbered here.
    """

    kind: str
    origin: str = f"Hedgerow {__version__}"
    columns: tuple[PortableColumn, ...]
    ensemble: Ensemble
    n_averaged: int = 1
    link: Link = "identity"
    calibration: Calibration | None = None
    classes: tuple[NDArray[Any], ...] = ()
    pairs: tuple[int, ...] = ()
    prediction_names: tuple[str, ...]
    has_names: bool = True

    @property
    def n_predictions(self) -> int:
        """Numbers in a prediction."""
        return self.ensemble.n_outputs + len(self.pairs)

    @property
    def width(self) -> int:
        """Values in a leaf: 1, or one for each output."""
        return self.ensemble.value.shape[1]


def portable(estimator: Estimator) -> PortableModel:
    """Return a fitted tree model in portable form.

    Raises
    ------
    ExportError
        If the model is not a sum or mean of trees on the columns of a table.
    """
    if isinstance(estimator, GradientBoosting):
        return _boosted(estimator)
    fitted = internals(estimator).model()
    if isinstance(fitted, TreeModel):
        return _averaged(estimator, fitted, fitted.ensemble)
    if isinstance(fitted, ForestModel):
        return _averaged(estimator, fitted, _forest_trees(estimator, fitted))
    if isinstance(fitted, TreeCommittee):
        return _committee(estimator, fitted)
    raise ExportError(
        f"this {type(estimator).__name__} cannot be exported. Supported are gradient boosting, "
        "random forests, extra trees, decision trees, AdaBoost classifiers with the default "
        "trees, bagging of histogram-based trees, support vector machines and neighbours."
    )


def _boosted(estimator: GradientBoosting) -> PortableModel:
    model = internals(estimator).model()
    if model.zero_is_missing is not None:
        raise ExportError(
            "this model cannot be exported: it treats 0 as missing, which no format supports."
        )
    if model.init_estimator is not None:
        raise ExportError(
            "the trees are added to the predictions of "
            f"init_estimator={type(model.init_estimator).__name__}, which cannot be exported. Fit "
            "with offset=… instead of init_estimator, and add the offset to the exported scores."
        )
    names = tuple(internals(estimator).output_names(model))
    classes: tuple[NDArray[Any], ...] = ()
    pairs: tuple[int, ...] = ()
    if isinstance(model.classes, list):
        classes = tuple(model.classes)
    elif model.classes is not None:
        classes = (model.classes,)
        if len(model.classes) == 2 and model.link != "margin":
            pairs, names = (0,), _texts(model.classes)
    return PortableModel(
        kind=type(estimator).__name__,
        columns=_columns(model.schema, model.category_bins, model),
        ensemble=model.ensemble,
        n_averaged=model.ensemble.n_rounds if model.ensemble.arithmetic.is_mean else 1,
        link=model.link,
        calibration=model.calibration,
        classes=classes,
        pairs=pairs,
        prediction_names=names,
        has_names=not model.schema.has_no_names,
    )


def _committee(estimator: Estimator, model: TreeCommittee) -> PortableModel:
    """Return the votes of AdaBoost as a sum of trees, of which the link makes probabilities."""
    algorithm, classes = model.algorithm, model.classes
    if isinstance(algorithm, R2) or classes is None:
        raise ExportError(
            "an AdaBoostRegressor predicts the weighted median of its trees, which cannot be "
            "exported. GradientBoostingRegressor(loss='absolute_error') can be."
        )
    are_two = len(classes) == 2
    if isinstance(algorithm, Gentle) and not are_two:
        raise ExportError(
            "algorithm='gentle' with more than two classes cannot be exported: its probabilities "
            "are sigmoids that are divided by their sum. Use another algorithm."
        )
    link: Link = "softmax"
    if are_two:
        link = "sigmoid" if isinstance(algorithm, Logit) else "half_sigmoid"
    divisor = 1.0
    if isinstance(algorithm, Discrete):
        divisor = float(np.cumsum(model.weights)[-1]) or 1.0
    if isinstance(algorithm, Discrete | Real):
        divisor *= len(classes) - 1
    return PortableModel(
        kind=type(estimator).__name__,
        columns=_columns(model.schema, model.category_bins),
        ensemble=model.ensemble if divisor == 1.0 else model.ensemble.scaled(1.0 / divisor),
        link=link,
        classes=(classes,),
        pairs=(0,) if are_two else (),
        prediction_names=_texts(classes),
        has_names=not model.schema.has_no_names,
    )


def _averaged(
    estimator: Estimator, model: TreeModel | ForestModel, ensemble: Ensemble
) -> PortableModel:
    classes, pairs, names = _leaf_outputs(model.outputs)
    return PortableModel(
        kind=type(estimator).__name__,
        columns=_columns(model.schema, model.category_bins),
        ensemble=ensemble,
        n_averaged=ensemble.n_trees,
        classes=classes,
        pairs=pairs,
        prediction_names=names,
        has_names=not model.schema.has_no_names,
    )


def _forest_trees(estimator: Estimator, model: ForestModel) -> Ensemble:
    if model.combinations is not None:
        raise ExportError(
            "the trees of feature_combinations split on sums of columns, which cannot be exported. "
            "Fit the forest with feature_combinations=None to export it."
        )
    if getattr(estimator, "voting", "soft") == "hard":
        raise ExportError("voting='hard' cannot be exported; use voting='soft'.")
    forest = model.forest
    trees = [forest.tree(index) for index in range(forest.n_trees)]
    outputs = np.zeros(forest.n_trees, np.int32)
    base = np.zeros(model.outputs.n_values)
    return Ensemble.from_trees(trees, outputs, base, model.schema.n_features)


def _leaf_outputs(
    outputs: ClassOutputs | NumberOutputs,
) -> tuple[tuple[NDArray[Any], ...], tuple[int, ...], tuple[str, ...]]:
    """Return classes, pairs and names of the predictions of CART trees."""
    if isinstance(outputs, NumberOutputs):
        return (), (), tuple(number_names(outputs.n_outputs))
    pairs: list[int] = []
    names: list[str] = []
    n_scores = 0
    for k, labels in enumerate(outputs.classes):
        if len(labels) == 2:
            pairs.append(n_scores)
        n_scores += 1 if len(labels) == 2 else len(labels)
        texts = _texts(labels)
        names += texts if outputs.is_single else [f"y{k}={text}" for text in texts]
    return outputs.classes, tuple(pairs), tuple(names)


def _texts(classes: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(label) for label in classes)


def _columns(
    schema: TableSchema, category_bins: Sequence[Any], boosted: BoostedModel | None = None
) -> tuple[PortableColumn, ...]:
    encoded = {} if boosted is None else _encoded_columns(boosted)
    return tuple(
        encoded.get(j) or _column(name, j, schema.categories.get(j), category_bins)
        for j, name in enumerate(column_names(schema))
    )


def _column(
    name: str, j: int, categories: Categories | None, category_bins: Sequence[Any]
) -> PortableColumn:
    if categories is None:
        return PortableColumn(name, (j,))
    numbers = np.full(len(categories.values) + BESIDES, np.nan)
    numbers[: len(category_bins[j])] = category_bins[j]  # which may have one for unknown categories
    return PortableColumn(name, (j,), categories, numbers[np.newaxis], is_set=True)


def _encoded_columns(model: BoostedModel) -> dict[int, PortableColumn]:
    """Return the columns with target statistics: their own feature, then some at the end."""
    names, n_more = column_names(model.schema), len(model.statistics.priors) - 1
    columns, first = {}, model.schema.n_features
    for column in model.statistics.columns:
        j = column.feature
        features = (j, *range(first, first + n_more))
        first += n_more
        categories = model.schema.categories[j]
        columns[j] = PortableColumn(names[j], features, categories, column.numbers)
    return columns
