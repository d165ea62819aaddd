"""Bagging of any estimator: fitting the base models on their samples, and averaging them.

Predictions have the form that `Outputs` defines for the leaves of trees: class shares, or numbers.
Base models predict in parallel and are summed in their order, so that the sum does not depend on
the number of jobs. Bagged trees can be written as one sum of trees: since every base model has its
own categories and bins, the features of that sum are the columns of the first base model, then
those of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from hedgerow._bagging.sampling import BaggingSamples
from hedgerow._contract import internals
from hedgerow._data.names import Labels
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._estimator import Estimator, seed_nested
from hedgerow._tree.additive import AdditiveTrees, leaf_names, leaf_unit
from hedgerow._tree.structure import Ensemble, Rows, Tree
from hedgerow._types import Floats, Indices, SklearnEstimator
from hedgerow._warning import deduplicate_warnings
from hedgerow.exceptions import DataError

Jobs = dict[str, Any]
"""Arguments of joblib's Parallel."""


@dataclass(frozen=True, eq=False)
class BaggingTrainingSet:
    """The training set of the base models: each is a clone of the estimator, fitted to a sample.

    An estimator that supports weights gets each row once, weighted by how often it was drawn, times
    `weights`; for others, rows are repeated. With `takes_all_rows` it also gets the other rows with
    weight 0, so that it knows all categories and classes; not every estimator leaves these out.
    """

    estimator: SklearnEstimator
    X: Any
    y: NDArray[Any]
    sampling: BaggingSamples
    takes_weights: bool
    takes_all_rows: bool
    weights: Floats | None
    fit_params: dict[str, Any]

    def fit_base_model(self, index: int) -> Any:
        """Return the base model of a round; only the first warns about data and splits."""
        with deduplicate_warnings(is_repeated_fit=index > 0):
            return self._fit(index)

    def _fit(self, index: int) -> Any:
        base_model = seed_nested(clone(self.estimator), self.sampling.random_state(index), 2**31)
        X = columns_for(self.sampling, index, self.X)
        if not self.takes_weights:
            rows = self.sampling.samples(index)
            base_model.fit(take_rows(X, rows), take_rows(self.y, rows), **self._params_of(rows))
            return base_model
        counts = self.sampling.counts(index).astype(np.float64)
        weight = counts if self.weights is None else counts * self.weights
        if not weight.any():
            raise DataError(
                f"class_weight leaves no row with a positive weight in samples[{index}]. Pass "
                "other samples, or a class_weight without 0."
            )
        if self.takes_all_rows:
            base_model.fit(X, self.y, sample_weight=weight, **self.fit_params)
            return base_model
        rows = np.flatnonzero(weight > 0.0)
        base_model.fit(
            take_rows(X, rows),
            take_rows(self.y, rows),
            sample_weight=weight[rows],
            **self._params_of(rows),
        )
        return base_model

    def _params_of(self, rows: Indices) -> dict[str, Any]:
        params: dict[str, Any] = _check_method_params(self.X, self.fit_params, indices=rows)
        return params


@dataclass(frozen=True, eq=False)
class BaggedModel:
    """Fitted base models, their samples, and their outputs."""

    estimators: list[Any]
    outputs: Outputs
    sampling: BaggingSamples

    def mean(self, X: Any, jobs: Jobs, *, hard: bool) -> Floats:
        """Return the mean prediction of the base models, (n_rows, n_values)."""
        sums = np.zeros((_num_samples(X), self.outputs.n_values))
        if not len(sums):  # not every estimator accepts an empty table
            return sums
        for values in self._map(jobs, X, _values_of, self.outputs, hard):
            sums += values
        sums /= len(self.estimators)
        return sums

    def out_of_bag_means(self, X: Any, jobs: Jobs, *, hard: bool) -> Floats:
        """Return the mean out-of-bag prediction of each row; NaN if it is in every sample."""
        sums = np.zeros((self.sampling.n_rows, self.outputs.n_values))
        n_summed = np.zeros((self.sampling.n_rows, 1))
        arguments_of_each = ((self, index, X, hard) for index in range(len(self.estimators)))
        for rows, values in _in_threads(jobs, BaggedModel._out_of_bag, arguments_of_each):
            sums[rows] += values
            n_summed[rows] += 1
        with np.errstate(invalid="ignore"):
            return sums / n_summed

    def by_base_model(self, X: Any, jobs: Jobs) -> NDArray[Any]:
        """Return each base model's numbers or class indices, (n_estimators, n_rows, n_outputs)."""
        outputs = self.outputs
        is_classes = isinstance(outputs, ClassOutputs)
        if _num_samples(X) == 0:
            n = len(outputs.classes) if isinstance(outputs, ClassOutputs) else outputs.n_outputs
            return np.empty((len(self.estimators), 0, n), np.int32 if is_classes else np.float64)
        function = _votes_of if is_classes else _numbers_of
        return np.stack(list(self._map(jobs, X, function, self.outputs)))

    def mean_decision(self, X: Any, jobs: Jobs) -> Floats:
        """Return the mean of the decision functions."""
        assert isinstance(self.outputs, ClassOutputs)
        if not self.outputs.is_single:
            raise DataError(
                f"decision_function supports one output, but y had {len(self.outputs.classes)}."
            )
        n_classes = len(self.outputs.classes[0])
        for index, base_model in enumerate(self.estimators):
            if len(base_model.classes_) < n_classes:
                raise DataError(
                    f"estimators_[{index}] saw {len(base_model.classes_)} of the {n_classes} "
                    "classes in its sample, so its decision function does not cover the others. "
                    "Use predict_proba, or fit with a larger max_samples."
                )
        if _num_samples(X) == 0 and not isinstance(self.estimators[0], Estimator):
            return np.empty((0,) if n_classes == 2 else (0, n_classes))
        decisions = self._map(jobs, X, _decision_of)
        return np.asarray(sum(decisions) / len(self.estimators))

    def _map(self, jobs: Jobs, X: Any, function: Callable[..., Any], *others: Any) -> Iterator[Any]:
        """Yield the result of a function for each base model and its columns."""

        def of_base_model(index: int) -> Any:
            columns = columns_for(self.sampling, index, X)
            return function(self.estimators[index], columns, *others)

        return _in_threads(jobs, of_base_model, ((i,) for i in range(len(self.estimators))))

    def _out_of_bag(self, index: int, X: Any, hard: bool) -> tuple[Indices, Floats]:
        """Return the out-of-bag rows of a base model, and its predictions for them."""
        rows = np.flatnonzero(self.sampling.counts(index) == 0)
        if len(rows) == 0:
            return rows, np.zeros((0, self.outputs.n_values))
        own_columns = columns_for(self.sampling, index, take_rows(X, rows))
        return rows, _values_of(self.estimators[index], own_columns, self.outputs, hard)


def in_parallel(jobs: Jobs, function: Callable[..., Any], arguments: Any) -> Iterator[Any]:
    """Yield the results in the order of the arguments."""
    tasks = [delayed(function)(*args) for args in arguments]
    if (jobs["n_jobs"] or 0) > len(tasks):  # joblib starts that many workers for any number
        jobs = jobs | {"n_jobs": max(1, len(tasks))}
    results: Iterator[Any] = Parallel(return_as="generator", **jobs)(tasks)
    return results


def _in_threads(jobs: Jobs, function: Callable[..., Any], arguments: Any) -> Iterator[Any]:
    """Do the same in threads, so that fitted base models need not be copied."""
    return in_parallel({**jobs, "prefer": "threads"}, function, arguments)


def columns_for(sampling: BaggingSamples, index: int, X: Any) -> Any:
    """Return the columns of a base model."""
    return X if sampling.takes_all_columns else take_columns(X, sampling.features(index))


def _values_of(base_model: Any, X: Any, outputs: Outputs, hard: bool) -> Floats:
    if isinstance(outputs, NumberOutputs):
        return _numbers_of(base_model, X, outputs)
    shares = None if hard else _shares_of(base_model, X, outputs)
    if shares is None:
        return outputs.certain(_votes_of(base_model, X, outputs))
    return outputs.values(shares)


def _shares_of(base_model: Any, X: Any, outputs: ClassOutputs) -> list[Floats] | None:
    """Return the class probabilities of each output, if the base model provides them."""
    if not hasattr(base_model, "predict_proba"):
        return None
    shares, own_classes = base_model.predict_proba(X), base_model.classes_
    if outputs.is_single:
        shares, own_classes = [shares], [own_classes]
    if not isinstance(shares, list):  # some estimators return one array for several outputs
        return None
    return list(map(spread, shares, own_classes, outputs.classes))


def spread(shares: Floats, own_classes: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return a column for each class; the base model may not know all of them."""
    if len(own_classes) == len(classes):
        return np.asarray(shares, np.float64)
    spread = np.zeros((len(shares), len(classes)))
    spread[:, np.searchsorted(classes, own_classes)] = shares
    return spread


def _numbers_of(base_model: Any, X: Any, outputs: NumberOutputs) -> Floats:
    return np.asarray(base_model.predict(X), np.float64).reshape(-1, outputs.n_outputs)


def _votes_of(base_model: Any, X: Any, outputs: ClassOutputs) -> NDArray[np.int32]:
    """Return the indices of the predicted classes, (n_rows, n_outputs)."""
    labels = np.asarray(base_model.predict(X)).reshape(-1, len(outputs.classes))
    return np.column_stack(list(map(_indices_among, outputs.classes, labels.T))).astype(np.int32)


def _indices_among(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    indices = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[indices] != labels
    if unknown.any():
        raise DataError(
            f"An estimator predicted {labels[unknown][0]!r}, which is not among the classes "
            f"{classes.tolist()!r} of y."
        )
    return indices


def _decision_of(base_model: Any, X: Any) -> Floats:
    return np.asarray(base_model.decision_function(X))


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table, or of an array of any rank, in the same type."""
    return _safe_indexing(X, rows)


def take_columns(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns of a table; repeated columns of a data frame are renamed."""
    frame = _as_frame(X)
    if frame is None:
        return X[:, columns]
    own = [frame.columns[column] for column in columns]
    if not all(isinstance(name, str) for name in own):  # only in pandas
        return X.iloc[:, columns].set_axis(range(len(columns)), axis=1)
    repeats = [own[:j].count(name) for j, name in enumerate(own)]
    names = [f"{name}#{n + 1}" if n else name for name, n in zip(own, repeats, strict=True)]
    selection = [nw.nth(int(j)).alias(name) for j, name in zip(columns, names, strict=True)]
    return frame.select(selection).to_native()


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    frame = nw.from_native(X, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def joined_trees(
    model: BaggedModel,
    labels: Labels,
    checked: Callable[[Any], Any],
    n_threads: int,
    *,
    hard: bool,
) -> AdditiveTrees:
    """Return the mean of a bag's trees as a sum.

    Parameters
    ----------
    model : BaggedModel
        Fitted decision trees.
    labels : Labels
        Names of the columns.
    checked : function of a table
        Returns the table as input of `columns_for`.
    n_threads : int
        Threads to use.
    hard : bool
        Whether base models vote by class.
    """
    columns = [model.sampling.features(index) for index in range(len(model.estimators))]
    starts = np.concatenate([[0], np.cumsum([len(own) for own in columns])])
    trees = [
        _scaled_tree(base_model, int(first), model, hard=hard)
        for base_model, first in zip(model.estimators, starts, strict=False)
    ]

    def matrix(X: Any) -> Rows:
        X = checked(X)
        parts = [
            internals(base_model).matrix(columns_for(model.sampling, index, X))
            for index, base_model in enumerate(model.estimators)
        ]
        return np.concatenate(parts, axis=1)

    base = np.zeros(model.outputs.n_values)
    return AdditiveTrees(
        ensemble=Ensemble.from_trees(trees, np.zeros(len(trees), np.int32), base, int(starts[-1])),
        matrix=matrix,
        sources=np.concatenate(columns),
        feature_names=labels,
        output_names=leaf_names(model.outputs),
        unit=leaf_unit(model.outputs),
        n_threads=n_threads,
    )


def _scaled_tree(base_model: Any, first_feature: int, model: BaggedModel, *, hard: bool) -> Tree:
    """Return a base model's tree with shifted features, and its share of the mean as values."""
    model_of_tree = internals(base_model).model()
    tree: Tree = model_of_tree.tree
    own: Outputs = model_of_tree.outputs
    values = _values(tree.value, own, model.outputs, hard=hard) / len(model.estimators)
    return replace(tree.with_features_moved(first_feature), value=values)


def _values(values: Floats, own: Outputs, outputs: Outputs, *, hard: bool) -> Floats:
    """Return a base model's values for the classes of the ensemble, which may be more."""
    if not isinstance(outputs, ClassOutputs):
        return values
    assert isinstance(own, ClassOutputs)
    shares = list(map(spread, own.probabilities(values), own.classes, outputs.classes))
    if hard:  # ties go to the first class, as in the base model
        return outputs.certain(outputs.votes(outputs.values(shares)))
    return outputs.values(shares)
