"""A bag of estimators of any make: how each is fitted on its sample, and what they say together.

What a member says of rows is put as `Outputs` has it for the leaves of trees: the shares of the
classes, or numbers. Members are asked in parallel and added up in their order, so that the sum does
not depend on the number of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from hedgerow._bagging.draws import BagDraws
from hedgerow._bagging.tables import take_columns, take_rows
from hedgerow._contract import SklearnEstimator
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._estimator import Estimator
from hedgerow._types import Floats, Indices
from hedgerow._warning import warned_once
from hedgerow.exceptions import DataError

Jobs = dict[str, Any]
"""Arguments of joblib's Parallel."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """What members are fitted on: each is a clone of the estimator on a sample of X and y.

    An estimator that takes weights has each row once, weighted by how often it was drawn, times
    `weights`; for another, rows are repeated. `takes_all_rows` gives it the others too, with weight
    0, which saves a copy of the table; not every estimator takes that for not being there.
    """

    estimator: SklearnEstimator
    X: Any
    y: NDArray[Any]
    draws: BagDraws
    takes_weights: bool
    takes_all_rows: bool
    weights: Floats | None
    fit_params: dict[str, Any]

    def fit_member(self, index: int) -> Any:
        """Return the member of a round; the first alone warns of what columns hold."""
        with warned_once(data_seen=index > 0):
            return self._fitted_member(index)

    def _fitted_member(self, index: int) -> Any:
        member = _seeded(clone(self.estimator), self.draws.random_state(index))
        X = columns_for(self.draws, index, self.X)
        if not self.takes_weights:
            rows = self.draws.samples(index)
            member.fit(take_rows(X, rows), take_rows(self.y, rows), **self._params_of(rows))
            return member
        drawn = self.draws.counts(index).astype(np.float64)
        weight = drawn if self.weights is None else drawn * self.weights
        if not weight.any():
            raise DataError(
                f"sample_weight is 0 in all rows of sample {index}. Leave out rows of weight 0."
            )
        if self.takes_all_rows:
            member.fit(X, self.y, sample_weight=weight, **self.fit_params)
            return member
        rows = np.flatnonzero(weight > 0.0)
        member.fit(
            take_rows(X, rows),
            take_rows(self.y, rows),
            sample_weight=weight[rows],
            **self._params_of(rows),
        )
        return member

    def _params_of(self, rows: Indices) -> dict[str, Any]:
        params: dict[str, Any] = _check_method_params(self.X, self.fit_params, indices=rows)
        return params


@dataclass(frozen=True, eq=False)
class MemberModel:
    """Fitted estimators, what was drawn for them, and what they predict."""

    members: list[Any]
    outputs: Outputs
    draws: BagDraws

    def mean(self, X: Any, jobs: Jobs, *, hard: bool) -> Floats:
        """Return the mean over the members of what they say of rows, (n_rows, n_values)."""
        sums = np.zeros((_num_samples(X), self.outputs.n_values))
        if not len(sums):  # which not every estimator takes
            return sums
        for values in self._ask(jobs, X, _values_of, self.outputs, hard):
            sums += values
        sums /= len(self.members)
        return sums

    def out_of_bag_means(self, X: Any, jobs: Jobs, *, hard: bool) -> Floats:
        """Return the mean over the members that did not draw a row; NaN if all of them did."""
        sums = np.zeros((self.draws.n_rows, self.outputs.n_values))
        n_summed = np.zeros((self.draws.n_rows, 1))
        asked = ((self, index, X, hard) for index in range(len(self.members)))
        for rows, values in _in_threads(jobs, MemberModel._out_of_bag, asked):
            sums[rows] += values
            n_summed[rows] += 1
        with np.errstate(invalid="ignore"):
            return sums / n_summed

    def by_member(self, X: Any, jobs: Jobs) -> NDArray[Any]:
        """Return each member's numbers, or indices of classes, (n_members, n_rows, n_outputs)."""
        outputs = self.outputs
        is_classes = isinstance(outputs, ClassOutputs)
        if _num_samples(X) == 0:
            n = len(outputs.classes) if isinstance(outputs, ClassOutputs) else outputs.n_outputs
            return np.empty((len(self.members), 0, n), np.int32 if is_classes else np.float64)
        question = _votes_of if is_classes else _numbers_of
        return np.stack(list(self._ask(jobs, X, question, self.outputs)))

    def mean_decision(self, X: Any, jobs: Jobs) -> Floats:
        """Return the mean of the members' decision functions."""
        assert isinstance(self.outputs, ClassOutputs)
        if not self.outputs.is_single:
            raise DataError(
                f"decision_function is for one output, but y had {len(self.outputs.classes)}."
            )
        n_classes = len(self.outputs.classes[0])
        for index, member in enumerate(self.members):
            if len(member.classes_) < n_classes:
                raise DataError(
                    f"estimators_[{index}] saw {len(member.classes_)} of the {n_classes} classes "
                    "in its sample, so that its decision function says nothing of the others. "
                    "Ask predict_proba instead, or fit with a larger max_samples."
                )
        if _num_samples(X) == 0 and not isinstance(self.members[0], Estimator):
            return np.empty((0,) if n_classes == 2 else (0, n_classes))
        decisions = self._ask(jobs, X, _decision_of)
        return np.asarray(sum(decisions) / len(self.members))

    def _ask(self, jobs: Jobs, X: Any, question: Callable[..., Any], *others: Any) -> Iterator[Any]:
        """Yield what each member answers about its columns of the rows."""
        asked = (
            (question, member, self.draws, index, X, others)
            for index, member in enumerate(self.members)
        )
        return _in_threads(jobs, _answer, asked)

    def _out_of_bag(self, index: int, X: Any, hard: bool) -> tuple[Indices, Floats]:
        """Return the rows that a member did not draw, and what it says of them."""
        rows = np.flatnonzero(self.draws.counts(index) == 0)
        if len(rows) == 0:
            return rows, np.zeros((0, self.outputs.n_values))
        seen = columns_for(self.draws, index, take_rows(X, rows))
        return rows, _values_of(self.members[index], seen, self.outputs, hard)


def in_parallel(jobs: Jobs, function: Callable[..., Any], arguments: Any) -> Iterator[Any]:
    """Yield the results in the order of the arguments."""
    tasks = (delayed(function)(*given) for given in arguments)
    results: Iterator[Any] = Parallel(return_as="generator", **jobs)(tasks)
    return results


def _in_threads(jobs: Jobs, function: Callable[..., Any], arguments: Any) -> Iterator[Any]:
    """Yield the results likewise; fitted members need not be copied for other processes."""
    return in_parallel({**jobs, "prefer": "threads"}, function, arguments)


def _answer(
    question: Callable[..., Any], member: Any, draws: BagDraws, index: int, X: Any, others: Any
) -> Any:
    return question(member, columns_for(draws, index, X), *others)


def columns_for(draws: BagDraws, index: int, X: Any) -> Any:
    """Return the columns of a table that were drawn for a member."""
    return X if draws.takes_all_columns else take_columns(X, draws.features(index))


def _seeded(member: Any, stream: np.random.RandomState) -> Any:
    """Give an estimator and whatever it consists of seeds of their own."""
    names = sorted(
        name
        for name in member.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    return member.set_params(**{name: int(stream.randint(2**31)) for name in names})


def _values_of(member: Any, X: Any, outputs: Outputs, hard: bool) -> Floats:
    if isinstance(outputs, NumberOutputs):
        return _numbers_of(member, X, outputs)
    shares = None if hard else _shares_of(member, X, outputs)
    if shares is None:
        return outputs.certain(_votes_of(member, X, outputs))
    return outputs.values(shares)


def _shares_of(member: Any, X: Any, outputs: ClassOutputs) -> list[Floats] | None:
    """Return the probabilities of each output's classes, if a member gives them for each."""
    if not hasattr(member, "predict_proba"):
        return None
    shares, known = member.predict_proba(X), member.classes_
    if outputs.is_single:
        shares, known = [shares], [known]
    if not isinstance(shares, list):  # of several outputs some give one probability each
        return None
    return list(map(spread, shares, known, outputs.classes))


def spread(shares: Floats, known: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return a column for each class, where a member may not know all of them."""
    if len(known) == len(classes):
        return np.asarray(shares, np.float64)
    spread = np.zeros((len(shares), len(classes)))
    spread[:, np.searchsorted(classes, known)] = shares
    return spread


def _numbers_of(member: Any, X: Any, outputs: NumberOutputs) -> Floats:
    return np.asarray(member.predict(X), np.float64).reshape(-1, outputs.n_outputs)


def _votes_of(member: Any, X: Any, outputs: ClassOutputs) -> NDArray[np.int32]:
    """Return the indices of the classes that a member predicts, (n_rows, n_outputs)."""
    labels = np.asarray(member.predict(X)).reshape(-1, len(outputs.classes))
    return np.column_stack(list(map(_places_among, outputs.classes, labels.T))).astype(np.int32)


def _places_among(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[places] != labels
    if unknown.any():
        raise DataError(
            f"An estimator predicted {labels[unknown][0]!r}, which is not among the classes "
            f"{classes.tolist()!r} of y."
        )
    return places


def _decision_of(member: Any, X: Any) -> Floats:
    return np.asarray(member.decision_function(X))
