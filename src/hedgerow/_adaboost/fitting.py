"""One call of AdaBoost's `fit`, from a table to the attributes of a fitted estimator.

Arguments → training set → learner → rounds → model. The base models are trees on bins
(`_BinnedTrainingSet`) or clones of an estimator (`_EstimatorTrainingSet`). Nothing is written to
the estimator here, so a fit that fails leaves it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples, has_fit_parameter

from hedgerow._adaboost.algorithms import (
    M1,
    R2,
    AdaBoostRounds,
    Algorithm,
    Discrete,
    Gentle,
    Logit,
    Real,
)
from hedgerow._adaboost.learners import (
    Draw,
    EstimatorLearner,
    Labels,
    Learner,
    RowIndices,
    TreeLearner,
)
from hedgerow._adaboost.model import (
    Committee,
    EstimatorCommittee,
    per_round,
    tree_committee,
)
from hedgerow._arithmetic import sum_of
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema
from hedgerow._data.pass_through import learn_columns, take_rows
from hedgerow._data.target import (
    read_classification_target,
    read_regression_target,
    read_weights,
    rows_with_weight,
    weigh_by_class,
)
from hedgerow._estimator import Estimator, column_attributes, seed_of
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.cart import CartParams
from hedgerow._tree.fitting import fit_binner
from hedgerow._types import Attributes, Floats, Indices
from hedgerow._warning import deduplicate_warnings, warn_user
from hedgerow.exceptions import DataError, ParameterError

DISCRETE = {"SAMME": Discrete, "M1": M1}
MAX_CLASSES = 2**16  # the kernel's class numbers have 16 bits


def fit_classifier(
    estimator: Estimator, X: Any, y: Any, sample_weight: Any, samples: Any
) -> Attributes:
    """Read, boost, and return the attributes of the fitted classifier."""
    _check_classifier(estimator, samples)
    training_set = _training_set(estimator, X)
    classes, labels = read_classes(y, training_set.n_rows)
    algorithm = _classification_algorithm(estimator, len(classes))
    weights = row_weights(estimator, sample_weight, classes, labels)
    fit = estimator, training_set, algorithm, labels
    rounds, attributes = _boost(*fit, weights, samples, classes)
    if not any(rounds.weights):
        is_m1 = estimator.algorithm == "M1"
        what = "has an error below 0.5" if is_m1 else "is better than chance"
        warn_user(f"No base model {what}: every class gets the same score.")
    return attributes | {
        "classes_": classes,
        "n_classes_": len(classes),
        "resets_": np.array(rounds.resets),
    }


def fit_regressor(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Attributes:
    """Read, boost, and return the attributes of the fitted regressor."""
    _check_base_estimator(estimator, has_classifiers=False)
    training_set = _training_set(estimator, X)
    target = read_regression_target(y, training_set.n_rows)
    weights = read_weights(sample_weight, training_set.n_rows)
    algorithm = R2(estimator.loss, estimator.learning_rate)
    return _boost(estimator, training_set, algorithm, target, weights)[1]


def _boost(
    estimator: Estimator,
    training_set: _TrainingSet,
    algorithm: Any,
    target: NDArray[Any],
    weights: Floats | None,
    samples: Any = None,
    classes: NDArray[Any] | None = None,
) -> tuple[AdaBoostRounds, Attributes]:
    """Run the rounds; `target` are numbers, or indices of `classes`."""
    rows = rows_with_weight(weights)
    if samples is not None:
        samples = _read_samples(samples, training_set.n_rows, estimator.n_estimators, rows)
    if rows is not None and weights is not None:
        training_set.take(rows)
        target, weights = target[rows], weights[rows]
    labels = None if classes is None else target
    draw = _draw(estimator, training_set, samples, 0 if classes is None else algorithm.n_outputs)
    learner = training_set.learner(weights, draw, labels, classes)
    start = starting_weights(weights, training_set.n_rows)
    with deduplicate_warnings():  # not in every round
        rounds = algorithm.boost(learner, target, start, estimator.n_estimators)
    return rounds, training_set.columns | {
        "_model": training_set.committee(algorithm, rounds, classes),
        "estimator_weights_": np.array(rounds.weights),
        "estimator_errors_": np.array(rounds.errors),
        "weight_sums_": np.array(rounds.weight_sums),
        **_sampled_rows(rounds, rows),
    }


def _sampled_rows(rounds: AdaBoostRounds, rows: Indices | None) -> Attributes:
    """Return the samples of the base models as row numbers of X, of which some may have weight."""
    if not rounds.samples:
        return {}
    numbers = [
        [(sample if rows is None else rows[sample]).astype(np.int32) for sample in of_round]
        for of_round in rounds.samples
    ]
    return {"estimators_samples_": per_round(numbers)}


def read_classes(y: Any, n_rows: int) -> tuple[NDArray[Any], Labels]:
    """Read a target: return the sorted classes and each row's class index."""
    classes, labels = read_classification_target(y, n_rows)
    if len(classes) > MAX_CLASSES:
        raise DataError(f"y has {len(classes)} classes; at most {MAX_CLASSES} are supported.")
    return classes, labels.astype(np.intp)


def row_weights(
    estimator: Estimator, sample_weight: Any, classes: NDArray[Any], labels: Labels
) -> Floats | None:
    """Return the sample weights times the weights of the rows' classes; None if all are 1."""
    weights = read_weights(sample_weight, len(labels))
    return weigh_by_class(estimator.class_weight, [classes], labels[:, None], weights)


def starting_weights(weights: Floats | None, n_rows: int) -> Floats:
    """Return the initial weights, which sum to 1: 1/N, or the sample weights."""
    return np.full(n_rows, 1.0 / n_rows) if weights is None else weights / sum_of(weights)


class _BinnedTrainingSet:
    """Trees on bins; the table is binned once the weights are known."""

    binner: Binner

    def __init__(self, estimator: Estimator, X: Any, seed: int) -> None:
        self.estimator, self.seed = estimator, seed
        self.random = np.random.RandomState(seed)
        self.n_threads = effective_n_jobs(estimator.n_jobs)
        self.schema, self.table = learn_schema(X, estimator.categorical_features)
        self.columns = column_attributes(self.schema)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def take(self, rows: Indices) -> None:
        """Keep only some of the rows."""
        self.table = self.table.take(rows)

    def learner(
        self,
        weights: Floats | None,
        draw: Draw | None,
        labels: Labels | None,
        classes: NDArray[Any] | None,
    ) -> Learner:
        """Return the learner of trees."""
        estimator, threads = self.estimator, self.n_threads
        self.binner = fit_binner(estimator, self.schema, self.table, weights, self.seed, threads)
        binned = self.binner.transform(self.table, columns_only=True, threads=threads)
        limits = CartParams(
            criterion=getattr(estimator, "criterion", "gini"),
            max_depth=estimator.max_depth or 0,
            max_leaves=estimator.max_leaves or 0,
            min_samples_leaf=estimator.min_samples_leaf,
            seed=self.seed,
        )
        n_classes = 0 if classes is None else len(classes)
        return TreeLearner(
            binned, limits, labels=labels, n_classes=n_classes, draw=draw, n_threads=threads
        )

    def committee(
        self, algorithm: Algorithm | R2, rounds: AdaBoostRounds, classes: NDArray[Any] | None
    ) -> Committee:
        """Return the trees as a model."""
        return tree_committee(self.schema, self.binner, algorithm, rounds, classes)


class _EstimatorTrainingSet:
    """Clones of an estimator, on the table as passed."""

    def __init__(self, estimator: Estimator, X: Any, seed: int) -> None:
        self.estimator = estimator.estimator
        self.random = np.random.RandomState(seed)
        self.X, self.columns = learn_columns(X)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(_num_samples(self.X))

    def take(self, rows: Indices) -> None:
        """Keep only some of the rows."""
        self.X = take_rows(self.X, rows)

    def learner(
        self,
        weights: Floats | None,  # noqa: ARG002
        draw: Draw | None,
        labels: Labels | None,
        classes: NDArray[Any] | None,
    ) -> Learner:
        """Return the learner of clones."""
        return EstimatorLearner(
            self.estimator, self.X, labels=labels, classes=classes, draw=draw, random=self.random
        )

    def committee(
        self, algorithm: Algorithm | R2, rounds: AdaBoostRounds, classes: NDArray[Any] | None
    ) -> Committee:
        """Return the clones as a model."""
        return EstimatorCommittee(rounds.estimators, algorithm, np.array(rounds.weights), classes)


_TrainingSet = _BinnedTrainingSet | _EstimatorTrainingSet


def _training_set(estimator: Estimator, X: Any) -> _TrainingSet:
    kind = _BinnedTrainingSet if estimator.estimator is None else _EstimatorTrainingSet
    return kind(estimator, X, seed_of(estimator.random_state))


def _classification_algorithm(estimator: Estimator, n_classes: int) -> Algorithm:
    rate = estimator.learning_rate
    if estimator.algorithm in DISCRETE:
        return DISCRETE[estimator.algorithm](n_classes, rate, estimator.error_divisor)
    if estimator.algorithm == "gentle":
        return Gentle(n_classes, rate)
    if estimator.algorithm == "logit":
        return Logit(n_classes, rate)
    return Real(n_classes, rate)


def _check_classifier(estimator: Estimator, samples: Any) -> None:
    """Refuse inconsistent parameters, before the table is read."""
    algorithm = estimator.algorithm
    if estimator.error_divisor == "rows" and algorithm not in DISCRETE:
        raise ParameterError(
            f"error_divisor='rows' applies only to algorithm='SAMME' and 'M1', not to "
            f"algorithm={algorithm!r}."
        )
    if samples is not None and not estimator.resample:
        raise ParameterError(
            "samples needs resample=True; with resample=False every round uses all rows."
        )
    _check_base_estimator(estimator, has_classifiers=algorithm not in ("gentle", "logit"))
    base_model = estimator.estimator
    has_probabilities = base_model is None or hasattr(base_model, "predict_proba")
    if algorithm in ("SAMME.R", "real") and not has_probabilities:
        raise ParameterError(
            f"estimator={base_model!r} is not allowed with algorithm={algorithm!r}: it must have "
            "predict_proba."
        )


def _check_base_estimator(estimator: Estimator, *, has_classifiers: bool) -> None:
    base_model = estimator.estimator
    if base_model is None:
        return
    kind, is_right = (
        ("a classifier", is_classifier) if has_classifiers else ("a regressor", is_regressor)
    )
    if not is_right(base_model):
        raise ParameterError(f"estimator={base_model!r} is not allowed here; it must be {kind}.")
    if not estimator.resample and not _takes_weights(base_model):
        raise ParameterError(
            f"estimator={base_model!r} does not support sample_weight in fit. Choose one that "
            "does, or set resample=True."
        )


def _takes_weights(base_model: Any) -> bool:
    if get_config()["enable_metadata_routing"]:
        return bool(get_routing_for_object(base_model).consumes("fit", ("sample_weight",)))
    return has_fit_parameter(base_model, "sample_weight")


def _draw(
    estimator: Estimator,
    training_set: _TrainingSet,
    samples: list[RowIndices] | None,
    n_kept: int,
) -> Draw | None:
    """Return what samples the rows of a base model, or None without resampling."""
    if not estimator.resample:
        return None
    if samples is not None:
        return Draw(_in_turn(samples), n_kept)
    n_rows, random = training_set.n_rows, training_set.random
    return Draw(lambda w: np.asarray(random.choice(n_rows, size=n_rows, p=w)), n_kept)


def _read_samples(
    samples: Any, n_rows: int, n_rounds: int, rows: Indices | None
) -> list[RowIndices]:
    """Return the user's samples; of some rows, as numbers among these, without the other rows."""
    if not isinstance(samples, Iterable) or isinstance(samples, str | bytes):
        raise DataError("samples must be a list of arrays of row numbers, one for each round.")
    read = [_read_sample(sample, n_rows, i) for i, sample in enumerate(samples)]
    if len(read) < n_rounds:
        raise DataError(
            f"samples has {len(read)} arrays, but there are n_estimators={n_rounds} rounds."
        )
    if rows is None:
        return read
    kept = [np.searchsorted(rows, sample[np.isin(sample, rows)]) for sample in read]
    for i, sample in enumerate(kept):
        if not len(sample):
            raise DataError(f"samples[{i}] contains only rows of weight 0, which are left out.")
    return kept


def _in_turn(samples: list[RowIndices]) -> Callable[[Floats], RowIndices]:
    """Return a function that returns the samples, one after another."""
    left = iter(samples)

    def draw(_weights: Floats) -> RowIndices:
        try:
            return next(left)
        except StopIteration:
            raise DataError(
                f"All {len(samples)} samples have been used, but a base model worse than chance "
                "needs another one. Pass more samples."
            ) from None

    return draw


def _read_sample(sample: Any, n_rows: int, index: int) -> RowIndices:
    rows = np.asarray(sample)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
        raise DataError(f"samples[{index}] must be an array of row numbers.")
    if rows.min() < 0 or rows.max() >= n_rows:
        raise DataError(f"samples[{index}] contains row numbers outside 0 … {n_rows - 1}.")
    return rows.astype(np.intp)
