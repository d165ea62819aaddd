"""Forests, single trees, bagging and AdaBoost of the libraries that have them.

Hedgerow shares scikit-learn's names of estimators and parameters, and Intel's extension replaces
scikit-learn's classes, so all get the same words. Each has all cores, where it can use them, and
float32 input in C order, which is what scikit-learn's and Intel's trees work on.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import NDArray

from benchmarks.library import EstimatorLibrary


class TreeLibrary(EstimatorLibrary):
    """A library with scikit-learn's names."""

    homes: ClassVar[tuple[str, ...]]
    extra_parameters: ClassVar[dict[str, Any]] = {}

    def estimator(self) -> Any:
        s = self.settings
        model_class = self._class()
        offered = {"n_estimators": s.n_trees, "n_jobs": self.threads, "random_state": 0}
        accepted = (
            model_class().get_params()
        )  # a tree has no n_estimators; not everybody has n_jobs
        offered = {name: value for name, value in offered.items() if name in accepted}
        return model_class(**(offered | dict(s.parameters) | self.extra_parameters))

    def save(self, path: Path) -> None:
        """Write the fitted model to a file as the library's users do, uncompressed."""
        joblib.dump(self.model, path)

    def staged_errors(self, X: NDArray[Any], y: NDArray[Any]) -> list[float]:
        """Part of the rows that the first tree gets wrong, the first two, and so on."""
        return [float((labels != y).mean()) for labels in self.model.staged_predict(X)]

    def _class(self) -> Any:
        name = self.settings.estimator
        for home in self.homes:
            if hasattr(import_module(home), name):
                return getattr(import_module(home), name)
        raise LookupError(f"{self.name} has no {name}")


class HedgerowTrees(TreeLibrary):
    name = package = module = "hedgerow"
    homes = ("hedgerow",)

    def save(self, path: Path) -> None:
        self.model.save(path)


class CombiningHedgerow(HedgerowTrees):
    """Breiman's Forest-RC as in his paper: a node tries two sums of three inputs."""

    name = "hedgerow-combined"
    extra_parameters: ClassVar[dict[str, Any]] = {"feature_combinations": 3, "max_features": 2}


class ScikitLearnTrees(TreeLibrary):
    """scikit-learn, told to use threads: a worker may start no processes, and they are no faster.

    Without being told it would use one core for bagging, and to predict with forests.
    """

    name = package = "scikit-learn"
    module = "sklearn"
    homes = ("sklearn.ensemble", "sklearn.tree")

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        with joblib.parallel_config(backend="threading"):
            super().fit(X, y)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        with joblib.parallel_config(backend="threading"):
            return super().predict(X)


class BinnedScikitLearnTrees(ScikitLearnTrees):
    """scikit-learn on the numbers of Hedgerow's bins: where Hedgerow differs, it is not by binning.

    Only for what it learns; its times say nothing.
    """

    name = "scikit-learn-binned"

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        from hedgerow._data.binning import Binner
        from hedgerow._data.intake import learn_schema

        _, table = learn_schema(X)
        self._thresholds = Binner().fit(table, threads=self.threads).thresholds
        super().fit(self._bins(X), y)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return super().predict(self._bins(X))

    def staged_errors(self, X: NDArray[Any], y: NDArray[Any]) -> list[float]:
        return super().staged_errors(self._bins(X), y)

    def _bins(self, X: NDArray[Any]) -> NDArray[Any]:
        columns = zip(self._thresholds, X.T, strict=True)
        return np.stack([np.searchsorted(ends, column) for ends, column in columns], axis=1)


class IntelTrees(ScikitLearnTrees):
    """Intel's extension: its own forests under scikit-learn's names."""

    name = package = "scikit-learn-intelex"
    module = "sklearnex"
    homes = ("sklearnex.ensemble",)


TREE_LIBRARIES: dict[str, type[TreeLibrary]] = {
    library.name: library
    for library in (
        HedgerowTrees,
        CombiningHedgerow,
        IntelTrees,
        ScikitLearnTrees,
        BinnedScikitLearnTrees,
    )
}
