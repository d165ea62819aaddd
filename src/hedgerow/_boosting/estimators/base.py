"""What the estimators share: fitting, raw scores, importances."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.estimators.parameters import PARAMETER_GROUPS
from hedgerow._boosting.fit.calibrating import calibrated, require_calibratable
from hedgerow._boosting.fit.fitting import fit
from hedgerow._boosting.fit.problem import read_problem
from hedgerow._boosting.fit.refit import Refitting
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_data import Given
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.tasks import Task
from hedgerow._contract import TableInternals, internals
from hedgerow._estimator import TableEstimator, adopt
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
    """What gradient boosting offers to other packages, beyond what every estimator does.

    Attributes
    ----------
    task : Task
        What y may be, and which losses and metrics there are for it.
    scores : function of a table
        Returns raw scores, (n_rows, n_outputs).
    unit : function of the model
        Returns what a score is, such as "log-odds".
    output_names : function of the model
        Returns a name for each score.
    """

    task: Task
    scores: Callable[[Any], Floats]
    unit: Callable[[BoostedModel], str]
    output_names: Callable[[BoostedModel], list[str]]


class GradientBoosting(TableEstimator):
    """Gradient boosting of trees, apart from what a target is and what a score means."""

    _task: ClassVar[Task]
    _predicted_unit: ClassVar[str] = "the target"
    _parameter_groups: ClassVar[Sequence[str]] = PARAMETER_GROUPS
    _not_needed: ClassVar[Mapping[str, str]] = NOT_NEEDED_FOR_BOOSTING
    _model: BoostedModel

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        callbacks: Any = None,
        init_model: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Fit the model.

        If this raises, Ctrl-C included, the estimator stays what it was before the call.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. NaN, None and NA are
            missing values; strings and categories are taken as they are.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target. Several columns are numbers, or labels of two classes each.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows, not negative and not all 0.
        groups : array of shape (n_rows,), optional
            What rows belong together: early stopping, calibration and ``n_estimators="auto"`` hold
            whole groups out, and ``sampling="group"`` draws whole groups.
        eval_set : list of (X, y) or (X, y, sample_weight), optional
            Rows to measure on after each round, with results in ``evals_result_``.
        eval_names : list of str, optional
            Names of the evaluation sets; ``eval_0`` and so on if left out.
        callbacks : list, optional
            Told of every round, and may stop; see `hedgerow._boosting.fit.callbacks`.
        init_model : fitted estimator, or the file of one, optional
            A model to go on from: n_estimators rounds are added to its own. The table must have the
            same columns; its values are binned as in that model.
        checkpoint : str or path-like, optional
            A file that the rounds so far are written to every ``checkpoint_every`` rounds and at
            the end. If it is there already, the fit goes on from it: after a crash, the same call
            gives the same model, bit for bit, as one that was never broken off. `hedgerow.load`
            reads it too.
        checkpoint_every : int
            Rounds between writes, at least: where these would take more than a tenth of the fit's
            time, there are fewer. The first and the last are always written.

        Returns
        -------
        self
        """
        given = Given(
            *(X, y, sample_weight, groups, eval_set, eval_names, callbacks),
            *(init_model, checkpoint, checkpoint_every),
        )
        return self._fit(given)

    def _fit(self, given: Given) -> Self:
        check_parameters(self)
        before = self._model if self.warm_start and self.__sklearn_is_fitted__() else None
        adopt(self, fit(self, self._task, before, given))
        return self

    def refit(self, X: Any, y: Any, sample_weight: Any = None, *, keep: float = 0.0) -> Self:
        """Give the trees' leaves the values that other rows ask for; splits stay as they are.

        Round after round, each leaf takes the step that is best for the rows which reach it, as in
        `fit`. If this raises, the estimator stays what it was.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Other rows of the same columns and, in classification, of the same classes.
        keep : float in [0, 1]
            The part of its old value that a leaf keeps. One that no row reaches keeps all of it.

        Returns
        -------
        self
        """
        self._fitted_model()
        check_parameters(self)
        if keep not in Number(0, 1):
            raise ParameterError(f"keep={keep!r} is not allowed; it must be {Number(0, 1)}.")
        adopt(self, Refitting(self, self._task, Given(X, y, sample_weight), keep).run())
        return self

    def _calibrate(self, X: Any, y: Any, sample_weight: Any, method: str) -> Self:
        model = self._fitted_model()
        asked = copy.copy(self).set_params(calibration=method)
        check_parameters(asked)
        settings = Settings.of(asked)
        problem, held = read_problem(Given(X, y, sample_weight), self._task, model, settings)
        require_calibratable(problem, asked)
        self._model = calibrated(model, problem, settings, held)
        return self

    def _why_not(self, name: str) -> str | None:
        if name not in ("auto_", "best_iteration_", "best_score_"):
            return super()._why_not(name)
        if not self.__sklearn_is_fitted__():
            return f"There is no {name} before fit."
        if name == "auto_":
            return "There is an auto_ with n_estimators='auto' only, for nothing else is chosen."
        if self.evals_result_:
            return (
                f"There is no {name}: eval_metric does not say whether higher is better. Let it "
                "return (name, number, higher_is_better)."
            )
        return (
            f"There is no {name}, for rounds were not measured: that takes an eval_set, or "
            "early_stopping=True with a number for n_estimators."
        )

    def __getitem__(self, rounds: slice) -> Self:
        """Return the model of some rounds alone, ``model[:50]`` for the first 50.

        Any slice is allowed, such as ``model[10:]`` or ``model[::2]``; the base score is part of
        each.
        """
        if not isinstance(rounds, slice):
            raise TypeError(f"a model is sliced by rounds, as in model[:50], not by {rounds!r}.")
        model = self._fitted_model()
        chosen = range(model.ensemble.n_rounds)[rounds]
        if chosen.step < 0:
            raise ParameterError("rounds are taken in their order: the step must be positive.")
        sliced = copy.copy(self)
        adopt(sliced, _of_rounds(self, chosen))
        return sliced

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, as node numbers, shape (n_rows, n_trees)."""
        matrix = self._matrix(X)
        return self._model.ensemble.apply(matrix, n_threads=self._threads_for(matrix))

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's part of the total gain; all 0 if no tree has a split."""
        gain = self.importances("gain")
        total = gain.sum()
        return gain / total if total > 0.0 else gain

    def importances(self, kind: Importance = "gain") -> Floats:
        """Return a number for each feature: the sum over the splits made on it.

        Parameters
        ----------
        kind : {"gain", "split", "cover"}
            What is summed: the split's gain, 1, or the node's sum of hessians.
        """
        IMPORTANCE_KIND.check(kind)
        model = self._fitted_model()
        sources = model.statistics.sources
        return sums_over_splits(model.ensemble, kind, sources, self.n_features_in_)

    def __hedgerow__(self) -> BoostedInternals:
        """Return what other packages of the library may ask of the estimator."""
        return BoostedInternals(
            **vars(super().__hedgerow__()),
            task=self._task,
            scores=self._scores,
            unit=self._unit,
            output_names=self._output_names,
        )

    def _matrix(self, X: Any) -> NDArray[Any]:
        model: BoostedModel = self._fitted_model()
        return model.matrix(self._read(X, model.schema))

    def _bins_tables(self) -> bool:
        return True

    def _additive_trees(self) -> AdditiveTrees:
        model: BoostedModel = self._fitted_model()
        return AdditiveTrees(
            ensemble=model.ensemble,
            matrix=self._matrix,
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
        """Return what a score is."""
        return UNITS[model.link]

    def _meaning(self, model: BoostedModel) -> Meaning | None:
        """Return what is predicted of scores, None if it is the scores."""
        if model.link in ("identity", "margin"):
            return None
        return Meaning(
            lambda scores: prediction_of(scores, model.link).reshape(scores.shape),
            self._predicted_unit,
        )

    def _scores(self, X: Any) -> Floats:
        """Return raw scores, shape (n_rows, n_outputs)."""
        matrix = self._matrix(X)
        return self._model.ensemble.predict_raw(matrix, n_threads=self._threads_for(matrix))

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield raw scores after each round."""
        matrix = self._matrix(X)
        return self._model.ensemble.staged_raw(matrix, n_threads=self._threads_for(matrix))


def _of_rounds(estimator: GradientBoosting, chosen: range) -> dict[str, Any]:
    """Return the attributes of a model with some rounds, and the history if it is theirs."""
    model = internals(estimator).model()
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    sliced = replace(model, ensemble=model.ensemble.of_rounds(chosen))
    if len(chosen) < model.ensemble.n_rounds:
        # What was learned about the scores was about those of all rounds.
        sliced = replace(sliced, curve=None, calibration=None, residuals=None)
    fitted |= {"_model": sliced}
    fitted["n_iter_"] = len(chosen)
    if "auto_" in fitted:
        fitted["auto_"] = fitted["auto_"].of_every(chosen.step)
    is_known = chosen == range(len(chosen)) and all(
        len(values) >= estimator.n_iter_
        for by_metric in estimator.evals_result_.values()
        for values in by_metric.values()
    )
    fitted["evals_result_"] = {
        of: {metric: values[: len(chosen)] for metric, values in by_metric.items()}
        for of, by_metric in (estimator.evals_result_.items() if is_known else ())
    }
    if not fitted["evals_result_"] or fitted.get("best_iteration_", 0) > len(chosen):
        fitted.pop("best_iteration_", None)
        fitted.pop("best_score_", None)
    return fitted
