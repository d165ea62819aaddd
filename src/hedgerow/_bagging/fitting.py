"""One call of bagging's `fit`: arguments → data → training set → base models → model.

Hedgerow's own trees are grown as a forest: the table is read and binned once, and many trees grow
at a time. Any other estimator is cloned and fitted on one sample after another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

from hedgerow._bagging.base_models import BaggedModel, BaggingTrainingSet, Jobs, in_parallel
from hedgerow._bagging.sampling import BaggingSamples, column_samples, read_samples
from hedgerow._data.binned_rows import rows_of
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.pass_through import check_columns, fitted_columns, learn_columns
from hedgerow._data.sources import refuse_no_table
from hedgerow._data.target import (
    has_columns,
    read_weights,
    rows_with_weight,
    weigh_by_class,
)
from hedgerow._estimator import column_attributes, require_more, seed_of
from hedgerow._forest.class_samples import samples_by_class, with_classes
from hedgerow._forest.fitting import ForestSettings, bootstrap_samples, fit_trees, read_data
from hedgerow._forest.model import ForestModel
from hedgerow._forest.out_of_bag import attributes_of_means
from hedgerow._params import check_parameters, parameters_of
from hedgerow._progress import progress
from hedgerow._tree.cart import BootstrapSamples
from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow._tree.parameters import GROWTH, TABLE
from hedgerow._types import Attributes, Floats, SklearnEstimator
from hedgerow.exceptions import DataError, ParameterError

T = TypeVar("T")

OUR_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
COUNTED_LIMITS = ("min_samples_split", "min_samples_leaf")
_TREE_PARAMETERS = ("criterion", "ccp_alpha", *(parameter.name for parameter in (*GROWTH, *TABLE)))
_BAGGING_PARAMETERS = (
    *("n_estimators", "bootstrap", "max_samples", "oob_score"),
    *("random_state", "n_jobs", "verbose"),
)


@dataclass(frozen=True)
class BaggingArguments:
    """The arguments of bagging's `fit`."""

    X: Any
    y: Any
    sample_weight: Any
    samples: Any
    fit_params: dict[str, Any]


def fit_bag(
    bagging: Any,
    estimator: SklearnEstimator,
    init_model: ForestModel | BaggedModel | None,
    outputs: type[Outputs],
    arguments: BaggingArguments,
) -> Attributes:
    """Return the attributes of the fitted estimator; `init_model` is the model to continue."""
    _check_estimator(bagging, estimator)
    refuse_no_table(arguments.X)
    if _is_forest(bagging, estimator, arguments):
        forest = _continued(init_model, ForestModel)
        attributes = _fit_as_forest(bagging, estimator, forest, outputs, arguments)
    else:
        fitting = BaggingFitting.of(bagging, estimator, _continued(init_model, BaggedModel))
        attributes = fitting.run(outputs, arguments)
    return attributes | {"estimator_": clone(estimator)}


def _continued(init_model: Any, kind: type[T]) -> T | None:
    if init_model is not None and not isinstance(init_model, kind):
        raise ParameterError(
            "warm_start=True needs the same kind of estimator, columns and weights as the last "
            "fit, but they have changed. Fit with warm_start=False instead."
        )
    return init_model


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


def _is_forest(bagging: Any, estimator: SklearnEstimator, arguments: BaggingArguments) -> bool:
    """Return whether the base models can be grown as a forest: trees on bins of all columns."""
    if (
        not isinstance(estimator, OUR_TREES)
        or type(estimator) not in OUR_TREES
        or arguments.samples is not None
        or arguments.fit_params
    ):
        return False
    if getattr(bagging, "class_weight", None) is not None:
        return False
    is_weighted = arguments.sample_weight is not None
    if not _takes_all_columns(bagging, arguments.X) or (is_weighted and _draws_by_weight(bagging)):
        return False
    # A forest balances classes within a tree's sample, for one output and without weights.
    balances = getattr(estimator, "class_weight", None) == "balanced"
    if balances and (is_weighted or has_columns(arguments.y)):
        return False
    # A limit that is a fraction of the rows is one of a tree's sample, of which each has its own.
    if not all(isinstance(getattr(estimator, name), Integral) for name in COUNTED_LIMITS):
        return False
    # A packed tree stores only the values of leaves; inner nodes are means, not medians.
    return bool(estimator.splitter == "hist" and estimator.criterion != "absolute_error")


def _draws_by_weight(bagging: Any) -> bool:
    """Return whether rows are sampled in proportion to their weights."""
    return bool(bagging.bootstrap) and not samples_by_class(bagging.bootstrap)


def _takes_all_columns(bagging: Any, X: Any) -> bool:
    if bagging.bootstrap_features:
        return False
    if isinstance(bagging.max_features, Integral):
        return bool(bagging.max_features == getattr(X, "shape", (0,))[-1])
    return bool(bagging.max_features == 1.0)


def voting_of(bagging: Any) -> str:
    """Return whether the base models vote by class ("hard") or by probabilities ("soft")."""
    return str(getattr(bagging, "voting", "soft"))


def jobs_of(bagging: Any, estimator: SklearnEstimator) -> Jobs:
    """Return the joblib arguments: one of our trees uses all threads itself."""
    return {"n_jobs": 1 if isinstance(estimator, OUR_TREES) else bagging.n_jobs}


def _fit_as_forest(
    bagging: Any,
    tree: Any,
    init_model: ForestModel | None,
    outputs: type[Outputs],
    arguments: BaggingArguments,
) -> Attributes:
    """Grow the trees as a forest; return the attributes of the fitted estimator."""
    settings = ForestSettings.of(_as_forest(bagging, tree), init_model)
    data = read_data(settings, outputs, arguments.X, arguments.y, arguments.sample_weight)
    model = fit_trees(settings, data)
    attributes = column_attributes(data.schema) | data.outputs.attributes()
    if bagging.oob_score:
        rows = rows_of(data.whole, model.binner)
        means = model.out_of_bag_means(rows, settings.n_threads, model.values(voting_of(bagging)))
        score = bagging.oob_score
        attributes |= attributes_of_means(
            *(data.outputs, means, data.whole_y, score, "estimator", data.sampling.rows)
        )
    return attributes | {"_model": model}


def _as_forest(bagging: Any, tree: Any) -> Any:
    """Return the parameters of a forest that is equivalent to the bagged trees."""
    of_tree = {name: getattr(tree, name) for name in _TREE_PARAMETERS}
    of_bag = {name: getattr(bagging, name) for name in _BAGGING_PARAMETERS}
    class_weight = getattr(tree, "class_weight", None)
    return SimpleNamespace(
        **(of_tree | of_bag),
        class_weight="balanced_subsample" if class_weight == "balanced" else class_weight,
        feature_combinations=None,
        __hedgerow__=bagging.__hedgerow__,  # which reads tables
        _parameters=parameters_of(tree),
    )


@dataclass(frozen=True, eq=False)
class BaggingFitting:
    """A fit of clones of an estimator, one by one."""

    bagging: Any
    estimator: SklearnEstimator
    init_model: BaggedModel | None
    seed: int
    jobs: Jobs

    @classmethod
    def of(
        cls, bagging: Any, estimator: SklearnEstimator, init_model: BaggedModel | None
    ) -> BaggingFitting:
        """Clone the base estimator, and resolve the seed and the number of jobs."""
        base = clone(estimator)
        if isinstance(estimator, OUR_TREES):
            base.set_params(n_jobs=bagging.n_jobs)
        if init_model is None:
            seed = seed_of(bagging.random_state)
        else:
            seed = init_model.sampling.rows.seed
        return cls(bagging, base, init_model, seed, jobs_of(bagging, estimator))

    def run(self, outputs: type[Outputs], arguments: BaggingArguments) -> Attributes:
        """Return the attributes of the fitted estimator."""
        X, attributes = self._read(arguments.X)
        learned, y = outputs.learn(arguments.y, _num_samples(X))
        training_set = self._lesson(X, learned, y, arguments)
        self._check_continues(learned, training_set.sampling)
        model = BaggedModel(self._fit_base_models(training_set), learned, training_set.sampling)
        if self.bagging.oob_score:
            attributes |= self._out_of_bag_attributes(model, X, y)
        return attributes | learned.attributes() | {"_model": model}

    def _read(self, X: Any) -> tuple[Any, Attributes]:
        if self.init_model is None:
            return learn_columns(X)
        X = check_columns(self.bagging, X)  # in the order of the columns of the base models so far
        return X, fitted_columns(self.bagging)

    def _lesson(
        self, X: Any, outputs: Outputs, y: NDArray[Any], arguments: BaggingArguments
    ) -> BaggingTrainingSet:
        weights = read_weights(arguments.sample_weight, len(y))
        if isinstance(outputs, ClassOutputs):
            weights = weigh_by_class(self.bagging.class_weight, outputs.classes, y, weights)
        takes_weights = _takes_weights(self.estimator)
        by_weight = _draws_by_weight(self.bagging)
        fit_weights = None if by_weight else weights
        if fit_weights is not None and not takes_weights:
            raise ParameterError(
                f"With bootstrap={self.bagging.bootstrap!r}, sample_weight is passed to the "
                f"estimator, but estimator={self.estimator!r} does not support it. With "
                "bootstrap=True, rows are sampled in proportion to their weights instead."
            )
        rows = rows_with_weight(weights)
        n_drawn_from = len(y) if rows is None else len(rows)
        draws = bootstrap_samples(self.bagging, n_drawn_from, self.seed)
        if samples_by_class(self.bagging.bootstrap):
            of_rows = y if rows is None else y[rows]
            draws = with_classes(draws, self.bagging.bootstrap, outputs, of_rows)
        draws = replace(draws, rows=rows)
        sampling = self._sampling(X.shape, draws, weights if by_weight else None, arguments)
        return BaggingTrainingSet(
            estimator=self.estimator,
            X=X,
            y=_targets(outputs, y),
            sampling=sampling,
            takes_weights=takes_weights,
            takes_all_rows=isinstance(self.estimator, OUR_TREES),
            weights=fit_weights,
            fit_params=_routed(self.bagging, arguments.fit_params),
        )

    def _sampling(
        self,
        shape: tuple[int, int],
        draws: BootstrapSamples,
        weights: Floats | None,
        arguments: BaggingArguments,
    ) -> BaggingSamples:
        n_rows, n_features = shape
        samples = arguments.samples
        if samples is not None and arguments.sample_weight is not None:
            raise DataError("samples and sample_weight cannot be combined.")
        if samples is not None:
            samples = read_samples(samples, self.bagging.n_estimators, n_rows)
        return BaggingSamples(
            n_rows=n_rows,
            n_features=n_features,
            rows=draws,
            columns=column_samples(self.bagging, n_features, self.seed),
            weights=weights,
            fixed=samples,
        )

    def _check_continues(self, outputs: Outputs, sampling: BaggingSamples) -> None:
        if self.init_model is None:
            return
        n_done = len(self.init_model.estimators)
        require_more(self.bagging, n_done, "base models")
        if outputs != self.init_model.outputs:
            raise DataError(
                "y has different classes or outputs than in the fit that warm_start=True continues."
            )
        if not sampling.continues(self.init_model.sampling, n_done):
            raise ParameterError(
                "The number of rows, and how rows and columns are sampled, must be the same as in "
                "the fit that warm_start=True continues."
            )

    def _fit_base_models(self, training_set: BaggingTrainingSet) -> list[Any]:
        """Fit the base models that `init_model` does not have."""
        estimators = [] if self.init_model is None else list(self.init_model.estimators)
        n_done, verbose = self.bagging.n_estimators, self.bagging.verbose
        rounds = ((training_set, index) for index in range(len(estimators), n_done))
        fitted = in_parallel(self.jobs, BaggingTrainingSet.fit_base_model, rounds)
        with progress(
            verbose, n_done, len(estimators), unit="estimator", title="bagging"
        ) as progress_bar:
            for base_model in fitted:
                estimators.append(base_model)
                if progress_bar is not None:
                    progress_bar.show(len(estimators))
        return estimators

    def _out_of_bag_attributes(self, model: BaggedModel, X: Any, y: NDArray[Any]) -> Attributes:
        """Return the out-of-bag attributes."""
        means = model.out_of_bag_means(X, self.jobs, hard=voting_of(self.bagging) == "hard")
        score = self.bagging.oob_score
        rows = model.sampling.rows.rows
        return attributes_of_means(model.outputs, means, y, score, "estimator", rows)


def _targets(outputs: Outputs, y: NDArray[Any]) -> NDArray[Any]:
    """Return y as an estimator expects it: one column is a vector."""
    return outputs.labels(y) if isinstance(outputs, ClassOutputs) else outputs.prediction(y)


def _takes_weights(estimator: SklearnEstimator) -> bool:
    if isinstance(estimator, OUR_TREES):
        return True
    if _routing_enabled():
        return bool(get_routing_for_object(estimator).consumes("fit", ("sample_weight",)))
    return bool(has_fit_parameter(estimator, "sample_weight"))


def _routed(bagging: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of `fit` that are routed to the base estimator."""
    return dict(process_routing(bagging, "fit", **fit_params).estimator.fit) if fit_params else {}
