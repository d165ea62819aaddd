"""The base class of the estimators: fitting, raw scores, importances."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import IN_TABLE
from hedgerow._boosting.estimators.parameters import PARAMETER_GROUPS
from hedgerow._boosting.fit.calibration import calibrate_model, require_calibratable
from hedgerow._boosting.fit.fit_data import FitArguments, Settings, read_problem
from hedgerow._boosting.fit.fitting import fit_boosting
from hedgerow._boosting.fit.observers import OBSERVERS, observed
from hedgerow._boosting.fit.refit import Refitting
from hedgerow._boosting.gpu_predictions import Finish, GpuFinish, predict_on_gpu
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.tasks import Task
from hedgerow._contract import TableInternals, internals
from hedgerow._cuda.predictions import GpuScores
from hedgerow._data.binned_rows import BinnedRows, TreeRows
from hedgerow._data.binned_table import BinnedTable
from hedgerow._data.gpu_arrays import is_on_gpu
from hedgerow._data.memory import MemoryLimit
from hedgerow._data.outputs import NumberOutputs
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.sparse import SparseLayouts
from hedgerow._data.target import fit_columns, fit_offset, read_offset
from hedgerow._estimator import TableEstimator, adopt, by_batch, model_to_continue
from hedgerow._links import Link, prediction_of
from hedgerow._params import IMPORTANCE_KIND, Number, check_parameters
from hedgerow._peers import NOT_NEEDED_FOR_BOOSTING
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.additive import (
    AdditiveTrees,
    Meaning,
    column_names,
    number_names,
    sums_over_splits,
)
from hedgerow._tree.decision_tree import DecisionTreeRegressor, as_fitted
from hedgerow._tree.fitting import TreeModel
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Importance = Literal["gain", "split", "cover"]

UNITS: dict[Link, str] = {
    "identity": "the target",
    "sorted": "the target",
    "log": "log of the mean",
    "sigmoid": "log-odds",
    "half_sigmoid": "half of the log-odds",
    "margin": "margin",
    "softmax": "log of the probability, up to a constant",
}


@dataclass(frozen=True)
class BoostedInternals(TableInternals[BoostedModel]):
    """What gradient boosting offers to other packages, in addition to `TableInternals`.

    Attributes
    ----------
    task : Task
        How y is read, and its losses and metrics.
    scores : function of a table and, optionally, an offset
        Returns raw scores, (n_rows, n_outputs).
    unit : function of the model
        Returns the unit of a score, such as "log-odds".
    output_names : function of the model
        Returns a name for each score.
    count_scores : function of y and the number of rows
        Returns how many scores a row of a training set has.
    """

    task: Task
    scores: Callable[..., Floats]
    unit: Callable[[BoostedModel], str]
    output_names: Callable[[BoostedModel], list[str]]
    count_scores: Callable[[Any, int], int]


def _nothing(_: GpuScores) -> None:
    """Leave the last step of a prediction to the CPU."""


class GradientBoosting(TableEstimator):
    """Gradient boosting of trees, for any target and any meaning of scores."""

    _task: ClassVar[Task]
    _predicted_unit: ClassVar[str] = "the target"
    _parameter_groups: ClassVar[Sequence[str]] = PARAMETER_GROUPS
    _not_needed: ClassVar[Mapping[str, str]] = NOT_NEEDED_FOR_BOOSTING
    _model: BoostedModel

    def fit(
        self,
        X: Any,
        y: Any = IN_TABLE,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        callbacks: Any = None,
        init_model: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
        memory_limit: float | str | None = None,
        offset: Any = None,
    ) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. NaN, None and NA are
            missing values; columns of strings or categories are categorical features. A
            `ParquetTable` is read from its files, a few columns at a time.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target. Several columns are a multi-output (numbers) or multilabel (classes) target.
            Not needed if X is a `ParquetTable` that has one.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows, nonnegative and not all 0. Rows of weight 0 are left out.
        groups : array of shape (n_rows,), optional
            The group of each row. Holdouts for early stopping, calibration and
            ``n_estimators="auto"`` consist of whole groups, and ``sampling="group"`` samples whole
            groups.
        eval_set : list of (X, y), (X, y, sample_weight) or (X, y, sample_weight, offset), optional
            Evaluation sets: metrics are computed after each round and stored in
            ``evals_result_``. Early stopping uses the last one. A sample_weight may be None. Class
            weights multiply it, as they do in the training set.
        eval_names : list of str, optional
            Names of the evaluation sets; by default ``eval_0`` and so on.
        callbacks : list, optional
            Functions of a `RoundInfo`, called after every round; one that returns True stops the
            fit. Objects with methods ``before_fit(estimator)``, ``after_round(info)`` and
            ``after_fit(estimator)`` are callbacks, too.
        init_model : fitted estimator, or the path of a model file, optional
            The initial model, to which n_estimators rounds are added. The table must have the same
            columns; its values are binned as in that model.
        checkpoint : str or path-like, optional
            A file to which the rounds so far are written every ``checkpoint_every`` rounds and at
            the end. If the file exists, the fit resumes from it: after a crash, the same call gives
            the same model, bit for bit, as a fit without interruption. `hedgerow.load` can read
            the file as well.
        checkpoint_every : int
            The minimum number of rounds between checkpoints. There are fewer if they would take
            more than a tenth of the time of the fit. The first and the last are always written.
        memory_limit : float or str, optional
            The memory that the process may use, in bytes or as in "4GB". If the estimate
            (`memory_estimate`) is larger, `fit` raises `MemoryLimitError` before it starts.
        offset : array of shape (n_rows,) or (n_rows, n_scores), optional
            Added to the scores of each row before the first round. For a loss with a log link, this
            is the logarithm of a known factor, such as an exposure. Prediction methods have the
            same argument; without it, the offset is 0.

        Returns
        -------
        self
        """
        limit = None if memory_limit is None else MemoryLimit(memory_limit)  # before y is read
        y, sample_weight, groups = fit_columns(X, y, sample_weight, groups)
        arguments = FitArguments(
            *(X, y, sample_weight, groups, eval_set, eval_names, callbacks),
            *(init_model, checkpoint, checkpoint_every, limit, fit_offset(X, offset)),
        )
        return self._fit(arguments)

    def _fit(self, arguments: FitArguments) -> Self:
        check_parameters(self)
        if not OBSERVERS:
            return self._fit_unobserved(arguments)
        with observed(self, arguments) as with_callbacks:
            return self._fit_unobserved(with_callbacks)

    def _fit_unobserved(self, arguments: FitArguments) -> Self:
        warm_model = model_to_continue(self)
        adopt(self, fit_boosting(self, self._task, warm_model, arguments))
        return self

    def refit(
        self,
        X: Any,
        y: Any = IN_TABLE,
        sample_weight: Any = None,
        *,
        keep: float = 0.0,
        offset: Any = None,
    ) -> Self:
        """Fit the leaf values to other rows; the splits do not change.

        Round after round, each leaf takes the best step for its rows, as in `fit`. If it fails,
        the estimator is left unchanged.

        Parameters
        ----------
        X, y, sample_weight, offset : as in `fit`
            Other rows, with the same columns and, in classification, the same classes.
        keep : float in [0, 1]
            The fraction of its old value that a leaf keeps. Leaves without rows keep all of it.

        Returns
        -------
        self
        """
        self._fitted_model()
        check_parameters(self)
        if keep not in Number(0, 1):
            raise ParameterError(f"keep={keep!r} is not allowed; it must be {Number(0, 1)}.")
        y, sample_weight, _ = fit_columns(X, y, sample_weight)
        arguments = FitArguments(X, y, sample_weight, offset=fit_offset(X, offset))
        adopt(self, Refitting(self, self._task, arguments, keep).run())
        return self

    def _calibrate(self, X: Any, y: Any, sample_weight: Any, offset: Any, method: str) -> Self:
        model = self._fitted_model()
        estimator = copy.copy(self).set_params(calibration=method)
        check_parameters(estimator)
        settings = Settings.of(estimator)
        arguments = FitArguments(X, y, sample_weight, offset=fit_offset(X, offset))
        problem, holdout = read_problem(arguments, self._task, model, settings)
        require_calibratable(problem.loss, problem.classes, estimator)
        self._model = calibrate_model(model, problem.loss, holdout, method, settings.n_threads)
        return self

    def _why_not(self, name: str) -> str | None:
        if name not in ("auto_", "best_iteration_", "best_score_"):
            return super()._why_not(name)
        if not self.__sklearn_is_fitted__():
            return f"There is no {name} before fit."
        if name == "auto_":
            return "auto_ exists only with n_estimators='auto'."
        if self.evals_result_:
            return (
                f"There is no {name}: eval_metric does not say whether higher is better. "
                "It should return (name, value, higher_is_better)."
            )
        return (
            f"There is no {name}, because rounds were not evaluated: pass an eval_set, or set "
            "early_stopping=True and a number of rounds, n_estimators."
        )

    @property
    def init_estimator_(self) -> Any:
        """The fitted `init_estimator`."""
        fitted = self._fitted_model().init_estimator
        if fitted is None:
            raise AttributeError("init_estimator_ exists only if init_estimator was set.")
        return fitted

    def __getitem__(self, rounds: slice) -> Self:
        """Return the model of some of the rounds, ``model[:50]`` for the first 50.

        Any slice with a positive step is allowed, such as ``model[10:]`` or ``model[::2]``. The
        base score is always included.
        """
        if not isinstance(rounds, slice):
            raise TypeError(
                f"models can only be sliced by rounds, as in model[:50], not indexed by {rounds!r}."
            )
        model = self._fitted_model()
        chosen = range(model.ensemble.n_rounds)[rounds]
        if chosen.step < 0:
            raise ParameterError("rounds cannot be reversed: the step must be positive.")
        sliced = copy.copy(self)
        adopt(sliced, _of_rounds(self, chosen))
        return sliced

    @property
    def n_estimators_(self) -> int:
        """Number of rounds, as `n_iter_`."""
        n_rounds: int = self._fitted_model().ensemble.n_rounds
        return n_rounds

    @property
    def estimators_(self) -> NDArray[Any]:
        """The trees as regression trees, (rounds, trees of a round), unpacked on access.

        Their predictions, plus the base score and the offset, add up to the scores.
        """
        model: BoostedModel = self._fitted_model()
        if model.statistics.columns or model.zero_is_missing is not None:
            raise AttributeError(
                "estimators_: the trees of this model split on target statistics of categories, or "
                "take 0 as missing, so they are not estimators for the columns of X. Use apply, or "
                "hedgerow.explain."
            )
        trees = np.empty((model.ensemble.n_rounds, model.ensemble.trees_per_round), object)
        for place, tree in zip(np.ndindex(trees.shape), model.ensemble.trees(), strict=True):
            outputs = NumberOutputs(tree.value.shape[1], is_single=tree.value.shape[1] == 1)
            of_tree = TreeModel.of(model.schema, model.binner, tree, outputs)
            trees[place] = as_fitted(DecisionTreeRegressor(splitter="exact"), of_tree)
        return trees

    @by_batch
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, as node indices, shape (n_rows, n_trees)."""
        rows = self._tree_rows(X)
        return self._model.ensemble.apply(rows, n_threads=self._threads_for(rows))

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's fraction of the total gain; all 0 if no tree has a split."""
        gain = self.importances("gain")
        total = gain.sum()
        return gain / total if total > 0.0 else gain

    def importances(self, kind: Importance = "gain") -> Floats:
        """Return the importance of each feature: the sum of a quantity over its splits.

        Parameters
        ----------
        kind : {"gain", "split", "cover"}
            What is summed: the gain of the split ("gain"), 1 ("split"), or the sum of hessians in
            the node ("cover").
        """
        IMPORTANCE_KIND.check(kind)
        model = self._fitted_model()
        sources = model.statistics.sources
        return sums_over_splits(model.ensemble, kind, sources, self.n_features_in_)

    def __hedgerow__(self) -> BoostedInternals:
        """Return what other packages of the library may use."""
        return BoostedInternals(
            **vars(super().__hedgerow__()) | {"can_be_additive": self.init_estimator is None},
            task=self._task,
            scores=self._scores,
            unit=self._unit,
            output_names=self._output_names,
            count_scores=self._count_scores,
        )

    def _count_scores(self, y: Any, n_rows: int) -> int:
        classes, target = self._task.learn_target(y, n_rows, self.loss)
        n_targets = self._task.count_targets(classes, target)
        return self._task.choose_loss(self, classes, n_targets).n_outputs

    def _matrix(self, X: Any) -> NDArray[Any]:
        model: BoostedModel = self._fitted_model()
        return model.matrix(self._read(X, model.schema))

    def _stored(self, X: Any) -> SparseLayouts | None:
        model: BoostedModel = self._fitted_model()
        return super()._stored(X) if model.zero_is_missing is None else None

    def _rows_in_bins(self, X: BinnedTable) -> TreeRows:
        model: BoostedModel = self._fitted_model()
        return model.rows(self._read(X, model.schema))

    def _bins_tables(self) -> bool:
        return self.init_estimator is None  # which reads the table itself

    def _additive_trees(self) -> AdditiveTrees:
        model: BoostedModel = self._fitted_model()
        if model.init_estimator is not None:
            raise ParameterError(
                "The trees of this model are added to the predictions of init_estimator, so they "
                "explain only part of the score. To explain the trees, fit with offset=… (the "
                "scores of a fitted initial estimator) instead of init_estimator."
            )
        return AdditiveTrees(
            ensemble=model.ensemble.as_sum(),
            matrix=self._matrix,
            stored=self._stored,
            sources=model.statistics.sources,
            feature_names=column_names(model.schema),
            output_names=tuple(self._output_names(model)),
            unit=self._unit(model),
            n_threads=effective_n_jobs(self.n_jobs),
            prediction=self._meaning(model),
        )

    def _output_names(self, model: BoostedModel) -> list[str]:
        """Return a name for each score."""
        return number_names(model.ensemble.n_outputs)

    def _unit(self, model: BoostedModel) -> str:
        """Return the unit of a score."""
        return UNITS[model.link]

    def _meaning(self, model: BoostedModel) -> Meaning | None:
        """Return how scores become predictions; None if they are predictions."""
        if model.link in ("identity", "margin"):
            return None
        return Meaning(
            lambda scores: prediction_of(scores, model.link).reshape(scores.shape),
            self._predicted_unit,
        )

    def _scores(self, X: Any, offset: Any = None) -> Floats:
        """Return raw scores, shape (n_rows, n_outputs)."""
        if not isinstance(X, ParquetTable):
            return self._scores_in_memory(X, offset)
        offset = read_offset(fit_offset(X, offset), X.n_rows, self._n_scores())
        by_row = () if offset is None else (offset,)
        return X.computed(self._scores_in_memory, self.verbose, *by_row)

    def _from_scores(
        self, X: Any, offset: Any, finish: Finish, finish_on_gpu: GpuFinish = _nothing
    ) -> Any:
        """Return what follows from the scores of rows: on a GPU, if X is on one."""
        if not is_on_gpu(X):
            return finish(self._scores(X, offset))
        return predict_on_gpu(
            self._fitted_model(),
            X,
            offset,
            finish,
            finish_on_gpu,
            self._scores_in_memory,
            accepts_unknown=self.unknown_category != "error",
            estimator_name=type(self).__name__,
        )

    def _prediction(self, scores: Floats) -> Floats:
        return prediction_of(scores, self._model.link)

    def _gpu_prediction(self, scores: GpuScores) -> Any:
        return scores.prediction(self._model.link)

    def _scores_in_memory(self, X: Any, offset: Any = None) -> Floats:
        rows = self._tree_rows(X)
        added, n_threads = self._added(X, offset, len(rows)), self._threads_for(rows)
        return self._model.ensemble.predict_raw(rows, offset=added, n_threads=n_threads)

    def _staged_scores(self, X: Any, offset: Any = None) -> Iterator[Floats]:
        """Yield raw scores after each round."""
        rows = self._tree_rows(X)
        assert not isinstance(rows, BinnedRows)
        added, n_threads = self._added(X, offset, len(rows)), self._threads_for(rows)
        return self._model.ensemble.staged_raw(rows, offset=added, n_threads=n_threads)

    def _added(self, X: Any, offset: Any, n_rows: int) -> Floats | None:
        """Return what is added to the base score: the offset, and the scores of init_estimator."""
        added = read_offset(offset, n_rows, self._n_scores())
        initial = self._model.initial_scores(X)
        return added if initial is None else initial if added is None else added + initial

    def _n_scores(self) -> int:
        model: BoostedModel = self._fitted_model()
        return model.ensemble.n_outputs


def _of_rounds(estimator: GradientBoosting, chosen: range) -> dict[str, Any]:
    """Return the attributes of a model with some rounds; the history if they are the first."""
    model = internals(estimator).model()
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    sliced = replace(model, ensemble=model.ensemble.of_rounds(chosen))
    if len(chosen) < model.ensemble.n_rounds:
        # Survival curve and calibration belong to the scores of all rounds.
        sliced = replace(sliced, curve=None, calibration=None, residuals=None)
    fitted |= {"_model": sliced}
    fitted["n_iter_"] = len(chosen)
    if "auto_" in fitted:
        fitted["auto_"] = fitted["auto_"].of_every(chosen.step, chosen.start)
    before = fitted.get("n_initial_rounds_", 0)  # pickles of old versions have none
    is_known = (
        before < len(chosen)
        and chosen == range(len(chosen))
        and all(
            before + len(values) >= estimator.n_iter_
            for by_metric in estimator.evals_result_.values()
            for values in by_metric.values()
        )
    )
    fitted["evals_result_"] = {
        of: {metric: values[: len(chosen) - before] for metric, values in by_metric.items()}
        for of, by_metric in (estimator.evals_result_.items() if is_known else ())
    }
    fitted["n_initial_rounds_"] = before if is_known else 0
    if not fitted["evals_result_"] or fitted.get("best_iteration_", 0) > len(chosen):
        fitted.pop("best_iteration_", None)
        fitted.pop("best_score_", None)
    return fitted
