"""Real tables from a folder, with every library's default parameters, scored by five folds.

Columns of text stay what they are for Hedgerow; every peer gets them in the form that its own
handling of categories asks for, and the time for that conversion is not counted against it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.frames import prepared, text_columns
from benchmarks.measure import Entrant, Say, available_cores, score, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing

FOLDS = 5

# With its defaults XGBoost grows level-wise, and LightGBM does not quantise.
DEFAULT_LIBRARIES = (HEDGEROW, "lightgbm", "xgboost-level", "catboost", "scikit-learn")
OTHERS = ("lightgbm", "xgboost-level", "scikit-learn")
# CatBoost's defaults predict best of all peers', and take by far the longest.
BARS = (
    Bar("score", "within", 0.0, OTHERS),
    Bar("score", "within", 0.0, ("catboost",)),
    Bar("fit", "times", 0.25, ("catboost",)),
)


@dataclass(frozen=True)
class RealSet:
    """A file, its target, and the columns that would give the target away or say nothing."""

    name: str
    about: str
    file: str
    target: str
    metric: Literal["AUC", "RMSE"]
    positive: Any = None
    drop: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = BARS
    libraries: tuple[str, ...] = DEFAULT_LIBRARIES
    turns: int = FOLDS
    quick: bool = False


REAL_SETS = (
    RealSet(
        name="adult",
        about="adult: 48,842 × 14, 8 columns of text, missing cells; default parameters",
        file="adult.csv.gz",
        target="income",
        positive=">50K",
        metric="AUC",
        drop=("split",),
    ),
    RealSet(
        name="california",
        about="California housing: 20,640 × 8; default parameters",
        file="california_housing.csv.gz",
        target="MedHouseVal",
        metric="RMSE",
    ),
    RealSet(
        name="diamonds",
        about="diamonds: 53,940 × 9, 3 columns of text; default parameters",
        file="diamonds.csv.gz",
        target="price",
        metric="RMSE",
    ),
    RealSet(
        name="bike",
        about="bike sharing: 17,379 × 12 by hour; default parameters",
        file="bike_sharing.csv.gz",
        target="count",
        metric="RMSE",
        drop=("date", "casual", "registered"),
    ),
    RealSet(
        name="higgs",
        about="higgs sample: 10,984 × 28; default parameters",
        file="higgs_sample.csv.gz",
        target="label",
        positive=1,
        metric="AUC",
    ),
)


def available_sets(folder: Path) -> list[RealSet]:
    """The known sets whose file is in the folder."""
    return [real for real in REAL_SETS if (folder / real.file).is_file()]


def load(real: RealSet, folder: Path) -> tuple[Any, NDArray[Any]]:
    """The features as a data frame and the target as numbers."""
    import pandas as pd

    table = pd.read_csv(folder / real.file)
    target = table.pop(real.target)
    y = target.to_numpy(np.float64) if real.positive is None else (target == real.positive)
    return table.drop(columns=list(real.drop)), np.asarray(y)


def default_model(library: str, *, classify: bool, text: list[str]) -> Any:
    """An estimator with default parameters: only categories, silence and a seed are asked for."""
    match library:
        case "hedgerow":
            import hedgerow

            kinds = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
            return kinds[classify](random_state=0)
        case "lightgbm":
            import lightgbm

            kinds = lightgbm.LGBMRegressor, lightgbm.LGBMClassifier
            return kinds[classify](random_state=0, verbosity=-1)
        case "xgboost-level":
            import xgboost

            kinds = xgboost.XGBRegressor, xgboost.XGBClassifier
            return kinds[classify](random_state=0, enable_categorical=True)
        case "catboost":
            import catboost

            kinds = catboost.CatBoostRegressor, catboost.CatBoostClassifier
            return kinds[classify](
                random_seed=0, cat_features=text, logging_level="Silent", allow_writing_files=False
            )
        case "scikit-learn":
            from sklearn import ensemble

            kinds = (
                ensemble.HistGradientBoostingRegressor,
                ensemble.HistGradientBoostingClassifier,
            )
            return kinds[classify](random_state=0, categorical_features="from_dtype")
    raise ValueError(f"no default model for {library!r}")


def folds(y: NDArray[Any], *, classify: bool) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Rows to train on and rows to score, for each fold; the same for every library."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if classify else KFold
    return list(kind(FOLDS, shuffle=True, random_state=0).split(y, y))


class RealBench:
    """One library on one real table; lives in a worker."""

    def __init__(self, real: RealSet, library: str, folder: Path) -> None:
        table, self._y = load(real, folder)
        self._real = real
        self._library = library
        self._classify = real.metric == "AUC"
        self._text = text_columns(table)
        self._table = prepared(library, table)
        self._folds = folds(self._y, classify=self._classify)
        self._model().fit(self._table[:500], self._y[:500])  # loads what is loaded lazily

    def fold(self, number: int) -> tuple[float, float, float]:
        """Seconds to fit, seconds to predict, and the score of one fold."""
        train, test = self._folds[number]
        X, y, X_test = self._table.iloc[train], self._y[train], self._table.iloc[test]
        model = self._model()
        fit_seconds = seconds_of(lambda: model.fit(X, y))
        prediction: list[NDArray[Any]] = []
        predict_seconds = seconds_of(lambda: prediction.append(self._predict(model, X_test)))
        return fit_seconds, predict_seconds, score(self._real.metric, self._y[test], prediction[0])

    def _model(self) -> Any:
        return default_model(self._library, classify=self._classify, text=self._text)

    def _predict(self, model: Any, X: Any) -> NDArray[Any]:
        values: NDArray[Any] = model.predict_proba(X)[:, 1] if self._classify else model.predict(X)
        return values


class RealEntrant(Entrant):
    """A library on a real table: a turn is a fold."""

    def __init__(self, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self._folds: list[tuple[float, float, float]] = []

    def turn(self, number: int) -> None:
        self._folds.append(self.worker.call("fold", number))

    def finish(self) -> None:
        fits, predicts, scores = zip(*self._folds, strict=True)
        self.result.fit = Timing(fits, available_cores())
        self.result.predict = Timing(predicts, available_cores())
        self.result.score = float(np.mean(scores))


def run_real(real: RealSet, folder: Path, libraries: Sequence[str], say: Say) -> list[Result]:
    """Measure some libraries on a real table."""

    def worker(library: str) -> Worker:
        return Worker(partial(RealBench, real), library, folder)

    return take_turns(real.name, FOLDS, libraries, worker, RealEntrant, say)
