"""The one face that every library shows: ``fit(X, y)``, ``predict(X)``, and an estimator to serve.

A library is imported when its adapter is made, in its own worker process.
"""

import importlib.util
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray

from benchmarks.cases import Settings


class Library(ABC):
    """A model of one library with given settings; ``predict`` yields probabilities or numbers.

    For two classes that is the probability of class 1, for more a column for each class.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    module: ClassVar[str]

    def __init__(self, settings: Settings, threads: int) -> None:
        self.settings: Any = settings  # of the kind that the adapter is for
        self.threads = threads
        self.model: Any = None

    @classmethod
    def installed(cls) -> bool:
        return importlib.util.find_spec(cls.module) is not None

    @abstractmethod
    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        """Learn, from the raw table on."""

    @abstractmethod
    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Probabilities or numbers of rows."""

    @abstractmethod
    def estimator(self) -> Any:
        """An unfitted estimator with the same settings, as a user would serve it."""

    @property
    def binary(self) -> bool:
        return self.settings.n_classes == 2 and not self.numeric

    @property
    def numeric(self) -> bool:
        return self.settings.number_loss is not None


class EstimatorLibrary(Library):
    """A library whose estimator is its fast path."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        self.model = self.estimator().fit(X, y)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        if self.numeric:
            numbers: NDArray[Any] = self.model.predict(X)
            return numbers
        probabilities: NDArray[Any] = self.model.predict_proba(X)
        return probabilities[:, 1] if self.binary else probabilities
