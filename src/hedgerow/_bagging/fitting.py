"""One call of bagging's `fit`, by one of two ways.

Hedgerow's own trees on bins are grown as a forest is: the table is read and binned once, and many
trees grow at a time. Any other estimator is cloned and fitted on one sample after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from types import SimpleNamespace
from typing import Any, TypeVar

from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import (
    _routing_enabled,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import _num_samples, has_fit_parameter

from hedgerow._bagging.draws import BagDraws, column_draws, read_samples
from hedgerow._bagging.members import Jobs, Lesson, MemberModel, in_parallel
from hedgerow._contract import SklearnEstimator
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.passed_on import check_columns, known_columns, learn_columns
from hedgerow._data.target import has_columns, read_weights
from hedgerow._estimator import seed_of
from hedgerow._forest.fitting import ForestFitting, row_draws
from hedgerow._forest.model import ForestModel
from hedgerow._forest.out_of_bag import attributes_of_means
from hedgerow._params import check_parameters, parameters_of
from hedgerow._progress import progress
from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow._tree.parameters import GROWTH, TABLE
from hedgerow._types import Attributes, Floats
from hedgerow.exceptions import DataError, ParameterError

T = TypeVar("T")

OUR_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
_OF_THE_TREE = ("criterion", "ccp_alpha", *(parameter.name for parameter in (*GROWTH, *TABLE)))
_OF_THE_BAG = (
    *("n_estimators", "bootstrap", "max_samples", "oob_score"),
    *("random_state", "n_jobs", "verbose"),
)


@dataclass(frozen=True)
class Given:
    """The arguments of `fit`."""

    X: Any
    y: Any
    sample_weight: Any
    samples: Any
    fit_params: dict[str, Any]


def fit_bag(
    bagging: Any,
    estimator: SklearnEstimator,
    start: ForestModel | MemberModel | None,
    outputs: type[Outputs],
    given: Given,
) -> Attributes:
    """Return the attributes of the fitted bag of estimators; `start` is what they are added to."""
    _check_estimator(bagging, estimator)
    if _is_forest(bagging, estimator, given):
        fitting = TreeFitting(bagging, estimator, _continued(start, ForestModel))
        attributes = fitting.run(outputs, given.X, given.y, given.sample_weight)
    else:
        members = MemberFitting(bagging, estimator, _continued(start, MemberModel))
        attributes = members.run(outputs, given)
    return attributes | {"estimator_": clone(estimator)}


def _continued(start: Any, kind: type[T]) -> T | None:
    if start is not None and not isinstance(start, kind):
        raise ParameterError(
            "warm_start=True goes on with the kind of estimator, columns and weights of the last "
            "fit, but they are not the same now. Fit anew with warm_start=False."
        )
    return start


def _check_estimator(bagging: Any, estimator: SklearnEstimator) -> None:
    if isinstance(estimator, OUR_TREES):
        check_parameters(estimator)
    kind, is_other = "classifier", is_regressor
    if is_regressor(bagging):
        kind, is_other = "regressor", is_classifier
    if is_other(estimator):
        raise ParameterError(
            f"estimator={estimator!r} is not allowed; {type(bagging).__name__} needs a {kind}."
        )


def _is_forest(bagging: Any, estimator: SklearnEstimator, given: Given) -> bool:
    """Tell whether a bag is a forest: trees on bins of all columns, and rows drawn evenly."""
    if (
        not isinstance(estimator, OUR_TREES)
        or type(estimator) not in OUR_TREES
        or given.samples is not None
        or given.fit_params
    ):
        return False
    is_weighted = given.sample_weight is not None
    if not _takes_all_columns(bagging, given.X) or (is_weighted and bagging.bootstrap):
        return False
    # A forest balances classes by the rows that a tree drew, of one output and without weights.
    balances = getattr(estimator, "class_weight", None) == "balanced"
    if balances and (is_weighted or has_columns(given.y)):
        return False
    # Of a packed tree only the leaves' values are kept, of which others are means, not medians.
    return bool(estimator.splitter == "hist" and estimator.criterion != "absolute_error")


def _takes_all_columns(bagging: Any, X: Any) -> bool:
    if bagging.bootstrap_features:
        return False
    if isinstance(bagging.max_features, Integral):
        return bool(bagging.max_features == getattr(X, "shape", (0,))[-1])
    return bool(bagging.max_features == 1.0)


def is_hard(bagging: Any) -> bool:
    """Tell whether estimators have a vote each, instead of shares of one."""
    return getattr(bagging, "voting", "soft") == "hard"


def leaf_values(model: ForestModel, *, hard: bool) -> Floats | None:
    """Return what the leaves of a bag of trees say, if not what they hold: a vote each."""
    if not hard or not isinstance(model.outputs, ClassOutputs):
        return None
    return model.outputs.certain(model.outputs.votes(model.forest.value))


def jobs_of(bagging: Any, estimator: SklearnEstimator) -> Jobs:
    """Return how many estimators are at work at once: one of our trees uses all threads itself."""
    return {"n_jobs": 1 if isinstance(estimator, OUR_TREES) else bagging.n_jobs}


class TreeFitting(ForestFitting):
    """A fit of trees that are grown as a forest."""

    def __init__(self, bagging: Any, tree: Any, start: ForestModel | None) -> None:
        super().__init__(_as_forest(bagging, tree), start, random_cuts=False)
        self.bagging = bagging

    def _look_back(
        self, model: ForestModel, matrix: NDArray[Any]
    ) -> tuple[ForestModel, Attributes]:
        values = leaf_values(model, hard=is_hard(self.bagging))
        means = model.out_of_bag_means(matrix, self.n_threads, values)
        score = self.bagging.oob_score
        return model, attributes_of_means(self.outputs, means, self.y, score, "estimator")


def _as_forest(bagging: Any, tree: Any) -> Any:
    """Return the parameters of the forest that a bag of trees is."""
    of_tree = {name: getattr(tree, name) for name in _OF_THE_TREE}
    of_bag = {name: getattr(bagging, name) for name in _OF_THE_BAG}
    class_weight = getattr(tree, "class_weight", None)
    return SimpleNamespace(
        **(of_tree | of_bag),
        class_weight="balanced_subsample" if class_weight == "balanced" else class_weight,
        feature_combinations=None,
        __hedgerow__=bagging.__hedgerow__,  # which reads tables
        _parameters=parameters_of(tree),
    )


class MemberFitting:
    """A fit of clones of an estimator, one by one."""

    def __init__(
        self, bagging: Any, estimator: SklearnEstimator, start: MemberModel | None
    ) -> None:
        self.bagging = bagging
        self.estimator = clone(estimator)
        if isinstance(estimator, OUR_TREES):
            self.estimator.set_params(n_jobs=bagging.n_jobs)
        self.start = start
        self.seed = seed_of(bagging.random_state) if start is None else start.draws.rows.seed
        self.jobs = jobs_of(bagging, estimator)

    def run(self, outputs: type[Outputs], given: Given) -> Attributes:
        """Return the attributes of the fitted estimator."""
        X, attributes = self._read(given.X)
        learned, y = outputs.learn(given.y, _num_samples(X))
        lesson = self._lesson(X, _targets(learned, y), given)
        self._check_continues(learned, lesson.draws)
        model = MemberModel(self._fit_members(lesson), learned, lesson.draws)
        if self.bagging.oob_score:
            attributes |= self._look_back(model, X, y)
        return attributes | learned.attributes() | {"_model": model}

    def _read(self, X: Any) -> tuple[Any, Attributes]:
        if self.start is None:
            return learn_columns(X)
        X = check_columns(self.bagging, X)  # in the order of the columns of the members so far
        return X, known_columns(self.bagging)

    def _lesson(self, X: Any, y: NDArray[Any], given: Given) -> Lesson:
        weights = read_weights(given.sample_weight, len(y))
        takes_weights = _takes_weights(self.estimator)
        by_weight = weights if self.bagging.bootstrap else None
        passed_on = weights if not self.bagging.bootstrap else None
        if passed_on is not None and not takes_weights:
            raise ParameterError(
                f"bootstrap=False passes sample_weight on, but estimator={self.estimator!r} does "
                "not take it. With bootstrap=True rows are drawn by their weights instead."
            )
        return Lesson(
            estimator=self.estimator,
            X=X,
            y=y,
            draws=self._draws(X.shape, by_weight, given),
            takes_weights=takes_weights,
            takes_all_rows=isinstance(self.estimator, OUR_TREES),
            weights=passed_on,
            fit_params=_routed(self.bagging, given.fit_params),
        )

    def _draws(self, shape: tuple[int, int], weights: Floats | None, given: Given) -> BagDraws:
        n_rows, n_features = shape
        samples = given.samples
        if samples is not None and given.sample_weight is not None:
            raise DataError("samples and sample_weight cannot both be given.")
        if samples is not None:
            samples = read_samples(samples, self.bagging.n_estimators, n_rows)
        return BagDraws(
            n_rows=n_rows,
            n_features=n_features,
            rows=row_draws(self.bagging, n_rows, self.seed),
            columns=column_draws(self.bagging, n_features, self.seed),
            weights=weights,
            given=samples,
        )

    def _check_continues(self, outputs: Outputs, draws: BagDraws) -> None:
        if self.start is None:
            return
        n_members, n_wanted = len(self.start.members), self.bagging.n_estimators
        if n_wanted < n_members:
            raise ParameterError(
                f"n_estimators={n_wanted} is less than the {n_members} estimators that "
                "warm_start=True begins with."
            )
        if outputs != self.start.outputs:
            raise DataError(
                "y has other classes or outputs than the fit that warm_start=True continues."
            )
        if not draws.continues(self.start.draws, n_members):
            raise ParameterError(
                "The number of rows, and how rows and columns are drawn from them, must be as in "
                "the fit that warm_start=True continues."
            )

    def _fit_members(self, lesson: Lesson) -> list[Any]:
        """Fit the members that are not there yet."""
        members = [] if self.start is None else list(self.start.members)
        n_members, verbose = self.bagging.n_estimators, self.bagging.verbose
        rounds = ((lesson, index) for index in range(len(members), n_members))
        fitted = in_parallel(self.jobs, Lesson.fit_member, rounds)
        with progress(verbose, n_members, len(members), unit="estimator", title="bagging") as shown:
            for member in fitted:
                members.append(member)
                if shown is not None:
                    shown.show(len(members))
        return members

    def _look_back(self, model: MemberModel, X: Any, y: NDArray[Any]) -> Attributes:
        """Judge the training rows by the members that did not draw them."""
        means = model.out_of_bag_means(X, self.jobs, hard=is_hard(self.bagging))
        score = self.bagging.oob_score
        return attributes_of_means(model.outputs, means, y, score, "estimator")


def _targets(outputs: Outputs, y: NDArray[Any]) -> NDArray[Any]:
    """Return y as an estimator takes it: one column is a vector."""
    return outputs.labels(y) if isinstance(outputs, ClassOutputs) else outputs.prediction(y)


def _takes_weights(estimator: SklearnEstimator) -> bool:
    if isinstance(estimator, OUR_TREES):
        return True
    if _routing_enabled():
        return bool(get_routing_for_object(estimator).consumes("fit", ("sample_weight",)))
    return bool(has_fit_parameter(estimator, "sample_weight"))


def _routed(bagging: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Return what of the parameters of `fit` is meant for the estimators' own."""
    return dict(process_routing(bagging, "fit", **fit_params).estimator.fit) if fit_params else {}
