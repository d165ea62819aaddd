"""The estimators: those of `hedgerow`, with the same parameters, on Dask collections."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

from distributed import Client, get_client
from sklearn.base import clone
from sklearn.utils import Tags

import hedgerow as hr
from hedgerow._arguments import with_parameters
from hedgerow._estimator import Estimator, adopt
from hedgerow._params import (
    NOTHING,
    Parameter,
    ParameterKind,
    any_of,
    check_parameters,
    parameters_of,
)
from hedgerow.dask._collections import PartitionedData, from_local, is_collection, read_dataset
from hedgerow.dask._driver import FitRun
from hedgerow.dask._predicting import predict, predict_proba, shap_values
from hedgerow.exceptions import DataError, ParameterError

CLIENT = Parameter(
    "client",
    None,
    any_of(
        NOTHING,
        ParameterKind("a distributed.Client", lambda value: isinstance(value, Client), "Any"),
    ),
    "The client of the Dask cluster. None uses the client that was created last.",
    group="Running",
)


class DaskEstimator(Estimator):
    """An estimator that is fitted on a Dask cluster and holds the local model."""

    _local: ClassVar[type[Any]]
    _model: Any

    def _parameters_of_local(self) -> dict[str, Any]:
        names = [parameter.name for parameter in parameters_of(self._local)]
        return {name: getattr(self, name) for name in names}

    def to_local(self) -> Any:
        """Return the fitted model as an estimator of `hedgerow`, which needs no Dask.

        The model is the same, bit for bit, as that of the estimator of `hedgerow` fitted to the
        whole table.
        """
        return copy.copy(self._fitted_model())

    def predict(self, X: Any) -> Any:
        """Return the prediction for each row, as a Dask collection with the partitions of X.

        For a table in memory the result is an array, as with the local model.
        """
        return predict(self, X) if is_collection(X) else self._fitted_model().predict(X)

    def shap_values(self, X: Any) -> Any:
        """Return the Shapley values of each row and column, as `hedgerow.dask.shap_values`."""
        return shap_values(self, X)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the local model to a file, which `hedgerow.load` reads."""
        self._fitted_model().save(path)

    def _fit(
        self,
        train: dict[str, Any],
        eval_set: Any,
        options: dict[str, Any],
        workers: Sequence[str] | None,
    ) -> Self:
        check_parameters(self)
        local = self._local(**self._parameters_of_local())
        client = self._client()
        datasets = {"train": read_dataset(train)} | self._eval_datasets(eval_set)
        passed = {name: value for name, value in options.items() if value is not None}
        run = FitRun(client, clone(local), datasets, passed, workers)
        adopt(self, {"_model": run.run()})
        return self

    def _client(self) -> Client:
        try:
            client = self.client if self.client is not None else get_client()
        except ValueError:
            raise ParameterError(
                "There is no Dask client. Create one first, as in client = distributed.Client(), "
                "or pass client=… to the constructor."
            ) from None
        if client.status in ("closing", "closed"):
            raise ParameterError("client is closed. Create a new one, as in distributed.Client().")
        if client.asynchronous:
            raise ParameterError(
                "client is asynchronous, but a fit waits for its result: use a client with "
                "asynchronous=False, or call fit in a thread."
            )
        return client

    def _eval_names(self) -> list[str]:
        """Return the names of the entries of an evaluation set."""
        return ["X", "y", "sample_weight", "offset"]

    def _eval_datasets(self, eval_set: Any) -> dict[str, PartitionedData]:
        if eval_set is None:
            return {}
        names, datasets = self._eval_names(), {}
        is_one = isinstance(eval_set, tuple) and not all(isinstance(e, tuple) for e in eval_set)
        entries = [eval_set] if is_one else eval_set
        for i, entry in enumerate(entries if isinstance(entries, tuple | list) else [entries]):
            if not isinstance(entry, tuple | list) or not 2 <= len(entry) <= len(names):
                raise DataError(
                    f"eval_set must be a list of ({', '.join(names)}), with Dask collections or "
                    "tables in memory."
                )
            passed = dict(zip(names, map(from_local, entry), strict=False))
            datasets[f"eval_{i}"] = read_dataset(passed, where=f"eval_set[{i}]: ")
        return datasets

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.endswith("_") and not name.startswith("_") and "_model" in self.__dict__:
                return getattr(self._model, name)
            return super().__getattr__(name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"client": None}  # which belongs to this process

    def __sklearn_clone__(self) -> Self:
        names = [parameter.name for parameter in parameters_of(self) if parameter is not CLIENT]
        passed = {name: clone(getattr(self, name), safe=False) for name in names}
        return type(self)(**passed, client=self.client)

    def __sklearn_tags__(self) -> Tags:
        return self._local().__sklearn_tags__()


class DaskProbabilities(DaskEstimator):
    """A classifier."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, as a Dask collection with the partitions of X."""
        if is_collection(X):
            return predict_proba(self, X)
        return self._fitted_model().predict_proba(X)


class DaskScores(DaskEstimator):
    """Gradient boosting, whose scores may have an offset."""

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Return the prediction for each row, as a Dask collection with the partitions of X.

        An offset, a collection with the same partitions, is added to the scores. For a table in
        memory the result is an array, as with the local model.
        """
        if is_collection(X):
            return predict(self, X, offset=offset)
        return self._fitted_model().predict(X, offset=offset)


class DaskScoredProbabilities(DaskEstimator):
    """A classifier whose scores may have an offset."""

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Return the probability of each class, as a Dask collection with the partitions of X."""
        if is_collection(X):
            return predict_proba(self, X, offset=offset)
        return self._fitted_model().predict_proba(X, offset=offset)


class DaskBoosting(DaskScores):
    """Gradient boosting on a Dask cluster."""

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
        offset: Any = None,
        workers: Sequence[str] | None = None,
    ) -> Self:
        """Fit the model to all partitions of a Dask collection.

        The model is the same, bit for bit, as that of the local estimator for the same rows in the
        order of the partitions. If `fit` fails, the estimator is left unchanged, and nothing is
        left on the cluster.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_rows, n_features)
            The table. Partitions may be empty.
        y : Dask Series, DataFrame or Array
            The target, with the partitions of X.
        sample_weight, groups, offset : Dask Series or Array, optional
            As in the local estimator, with the partitions of X.
        eval_set : list of (X, y), (X, y, sample_weight) or (X, y, sample_weight, offset), optional
            Evaluation sets: Dask collections, or tables in memory.
        eval_names, callbacks : list, optional
            As in the local estimator. Callbacks are called on every worker.
        init_model : fitted estimator, optional
            As in the local estimator; an estimator of `hedgerow` or `hedgerow.dask`.
        workers : list of str, optional
            Addresses of the Dask workers that take part; by default all.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            If workers were lost more often than ``hedgerow.retries`` in Dask's configuration
            allows, or a partition cannot be loaded.
        """
        train = {"X": X, "y": y, "sample_weight": sample_weight}
        train |= {"groups": groups, "offset": offset}
        options = {
            "eval_names": eval_names,
            "callbacks": callbacks,
            "init_model": _as_local(init_model),
        }
        return self._fit(train, eval_set, options, workers)


class DaskRanking(DaskScores):
    """Learning to rank on a Dask cluster."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        callbacks: Any = None,
        init_model: Any = None,
        offset: Any = None,
        workers: Sequence[str] | None = None,
    ) -> Self:
        """Fit the model to all partitions of a Dask collection.

        Parameters
        ----------
        X, y, sample_weight, qid, offset : Dask collections
            As in the local estimator, all with the partitions of X.
        eval_set : list of (X, y, qid[, sample_weight[, offset]]), optional
            Evaluation sets: Dask collections, or tables in memory. With qid_column, entries have
            no qid.
        eval_names, callbacks, init_model, workers :
            As in `GradientBoostingRegressor.fit`.

        Returns
        -------
        self
        """
        train = {"X": X, "y": y, "sample_weight": sample_weight, "qid": qid, "offset": offset}
        options = {
            "eval_names": eval_names,
            "callbacks": callbacks,
            "init_model": _as_local(init_model),
        }
        return self._fit(train, eval_set, options, workers)

    def _eval_names(self) -> list[str]:
        names = ["X", "y", "qid", "sample_weight", "offset"]
        return names if self.qid_column is None else [name for name in names if name != "qid"]


class DaskForest(DaskEstimator):
    """A forest on a Dask cluster."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        workers: Sequence[str] | None = None,
    ) -> Self:
        """Fit the model to all partitions of a Dask collection.

        Parameters
        ----------
        X, y, sample_weight : Dask collections
            As in the local estimator, all with the partitions of X.
        workers : list of str, optional
            Addresses of the Dask workers that take part; by default all.

        Returns
        -------
        self
        """
        return self._fit({"X": X, "y": y, "sample_weight": sample_weight}, None, {}, workers)


def _as_local(model: Any) -> Any:
    return model.to_local() if isinstance(model, DaskEstimator) else model


_DOCUMENTATION = """{name} on a Dask cluster: the same model, bit for bit.

    Parameters are those of `hedgerow.{name}`, and `client`. Fitted attributes are those of the
    local model, which `to_local` returns.

    Parameters
    ----------
    {{parameters}}
    """


def on_dask(local: type[Any], *bases: type[Any]) -> Any:
    """Return the class of the same name whose `fit` accepts Dask collections."""
    namespace = {
        "__doc__": _DOCUMENTATION.format(name=local.__name__),
        "__module__": "hedgerow.dask",
        "_local": local,
        "_parameters": (*parameters_of(local), CLIENT),
        "_parameter_groups": getattr(local, "_parameter_groups", ()),
        "_not_needed": getattr(local, "_not_needed", {}),
    }
    return with_parameters(type(local.__name__, bases, namespace))


GradientBoostingClassifier = on_dask(
    hr.GradientBoostingClassifier, DaskBoosting, DaskScoredProbabilities
)
GradientBoostingRegressor = on_dask(hr.GradientBoostingRegressor, DaskBoosting)
GradientBoostingRanker = on_dask(hr.GradientBoostingRanker, DaskRanking)
RandomForestClassifier = on_dask(hr.RandomForestClassifier, DaskForest, DaskProbabilities)
RandomForestRegressor = on_dask(hr.RandomForestRegressor, DaskForest)
ExtraTreesClassifier = on_dask(hr.ExtraTreesClassifier, DaskForest, DaskProbabilities)
ExtraTreesRegressor = on_dask(hr.ExtraTreesRegressor, DaskForest)
