"""The cases: a shape, the settings every library gets, and the bars Hedgerow must reach.

One case for each line about speed, memory or accuracy that the project promises.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from benchmarks.generated import (
    MakeTable,
    Split,
    binary_table,
    count_table,
    forest_table,
    skewed_number_table,
)
from benchmarks.results import HEDGEROW, Bar

UNQUANTISED_PEERS = ("lightgbm", "xgboost-leaf", "xgboost-level", "catboost", "scikit-learn")
PEERS = (*UNQUANTISED_PEERS, "lightgbm-quantised")
EVERY_LIBRARY = (HEDGEROW, *PEERS)
XGBOOST = ("xgboost-leaf", "xgboost-level")
INTEL = "scikit-learn-intelex"
INTEL_BRUTE = "scikit-learn-intelex-brute"
BINNED = "scikit-learn-binned"

QUANTILE = 0.9  # that the case of quantiles asks for

# Turns of a library that takes so long that more of them would tell little: one in each order.
SLOW_TURNS = 2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What to learn, as far as it is the same for every kind of model."""

    n_trees: int
    n_classes: int = 2
    # What numbers are learned by; None where classes are learned.
    number_loss: Literal["squared_error", "poisson", "quantile"] | None = None


@dataclass(frozen=True, kw_only=True)
class BoostingSettings(Settings):
    """Gradient boosting, in Hedgerow's names; ``boosters.py`` translates for each peer.

    A peer that lacks one of the two minima (XGBoost counts no rows, scikit-learn and CatBoost weigh
    no hessians) uses the other.
    """

    max_leaves: int
    max_depth: int | None = None
    learning_rate: float = 0.1
    max_bins: int = 255
    min_samples_leaf: int = 20
    min_child_weight: float = 1.0
    reg_lambda: float = 1.0
    splitter: Literal["hist", "exact"] = "hist"
    grow_policy: Literal["leafwise", "symmetric"] = "leafwise"
    multi_strategy: Literal["separate", "vector"] = "separate"

    @property
    def depth(self) -> int:
        """Depth at which a balanced tree has about ``max_leaves`` leaves."""
        return self.max_depth or (self.max_leaves + 1).bit_length() - 1


@dataclass(frozen=True, kw_only=True)
class TreeSettings(Settings):
    """Another kind of model: the name of an estimator, and what is not left at its default."""

    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NeighborSettings(TreeSettings):
    """Nearest neighbours: there are no trees."""

    n_trees: int = 1
    estimator: str = "KNeighborsClassifier"


@dataclass(frozen=True)
class Case:
    """One generated table and what is measured on it.

    A library's turn is ``fits`` fits and ``predicts`` predictions; the libraries take ``turns``
    turns, slow ones fewer. Where ``one_row_calls`` is set, a turn is that many predictions of a
    single row instead. On request also the peak memory of a fit, the size of the model's file and
    the held-out error after each tree are found.
    """

    name: str
    about: str
    rows: int
    columns: int
    settings: Settings
    test_rows: int
    table: MakeTable = binary_table
    metric: str = "AUC"
    libraries: tuple[str, ...] = EVERY_LIBRARY
    bars: tuple[Bar, ...] = ()
    turns: int = 3
    fits: int = 1
    predicts: int = 1
    one_row_calls: int = 0
    slow: tuple[str, ...] = ()
    memory: bool = False
    file: bool = False
    staged_errors: bool = False
    # Starting threads costs a small fit more than they save in some libraries. Every library is
    # then timed with all cores and with one, and its better time counts.
    also_one_thread: bool = False
    threads: int | None = None  # all cores
    quick: bool = False

    def split(self, seed: int = 0) -> Split:
        """The tables to train on and to test with."""
        X, y = self.table(self.rows + self.test_rows, self.columns, seed)
        return Split(X[: self.rows], y[: self.rows], X[self.rows :], y[self.rows :])

    def turns_of(self, library: str) -> int:
        """How many turns a library takes."""
        return min(self.turns, SLOW_TURNS) if library in self.slow else self.turns

    def quick_version(self) -> "Case":
        """A small version that runs in seconds: it shows that all works, not who is faster."""
        return replace(
            self,
            about=f"quick version of: {self.about}",
            rows=max(1_000, self.rows // 50),
            test_rows=max(1_000, self.test_rows // 50),
            columns=min(self.columns, 60),
            settings=replace(self.settings, n_trees=max(5, self.settings.n_trees // 10)),
            turns=1,
            fits=1,
            one_row_calls=min(self.one_row_calls, 50),
            quick=True,
        )


BOOSTING_CASES = (
    Case(
        name="big",
        about="1,000,000 × 28 float32, 100 trees of 63 leaves, 255 bins",
        rows=1_000_000,
        columns=28,
        test_rows=200_000,
        settings=BoostingSettings(n_trees=100, max_leaves=63),
        memory=True,
        bars=(
            Bar("fit", "times", 0.45, ("xgboost-leaf", "lightgbm")),
            Bar("fit", "times", 0.65, ("lightgbm-quantised",)),
            Bar("score", "within", 0.0005, ("xgboost-leaf", "lightgbm", "lightgbm-quantised")),
            Bar("memory", "times", 1.0, ("lightgbm", *XGBOOST)),
        ),
    ),
    Case(
        name="small",
        about="1,000 × 20, 100 trees of 31 leaves",
        rows=1_000,
        columns=20,
        test_rows=20_000,
        settings=BoostingSettings(n_trees=100, max_leaves=31),
        fits=20,
        also_one_thread=True,
        bars=(Bar("fit", "times", 0.4, ("lightgbm",)),),
    ),
    Case(
        name="medium",
        about="10,000 × 20, 100 trees of 31 leaves",
        rows=10_000,
        columns=20,
        test_rows=20_000,
        settings=BoostingSettings(n_trees=100, max_leaves=31),
        fits=10,
        also_one_thread=True,
        bars=(Bar("fit", "times", 0.4, ("lightgbm",)),),
    ),
    Case(
        name="wide",
        about="50,000 × 500, 50 trees of 31 leaves",
        rows=50_000,
        columns=500,
        test_rows=20_000,
        settings=BoostingSettings(n_trees=50, max_leaves=31),
        bars=(Bar("fit", "times", 0.5, UNQUANTISED_PEERS),),
    ),
    Case(
        name="classes",
        about="100,000 × 54 (10 numeric, 44 one-hot), 7 classes, 50 rounds, 31 leaves",
        rows=100_000,
        columns=54,
        test_rows=50_000,
        table=forest_table,
        metric="log loss",
        settings=BoostingSettings(n_trees=50, max_leaves=31, n_classes=7),
        bars=(Bar("fit", "times", 0.5, PEERS),),
    ),
    Case(
        name="vector-classes",
        about="the same with one tree a round, of 31 leaves with a value for each class",
        rows=100_000,
        columns=54,
        test_rows=50_000,
        table=forest_table,
        metric="log loss",
        settings=BoostingSettings(n_trees=50, max_leaves=31, n_classes=7, multi_strategy="vector"),
        libraries=(HEDGEROW, "lightgbm", "lightgbm-quantised", *XGBOOST, "xgboost-vector"),
        bars=(
            Bar("fit", "times", 0.6, ("lightgbm", "lightgbm-quantised", *XGBOOST)),
            Bar("fit", "times", 0.6, ("xgboost-vector",)),
            Bar("score", "within", 0.002, ("xgboost-vector",)),
        ),
    ),
    Case(
        name="poisson",
        about="counts, Poisson deviance: 500,000 × 28, 100 trees of 31 leaves",
        rows=500_000,
        columns=28,
        test_rows=100_000,
        table=count_table,
        metric="Poisson deviance",
        settings=BoostingSettings(n_trees=100, max_leaves=31, number_loss="poisson"),
        libraries=(HEDGEROW, "lightgbm", "lightgbm-quantised", *XGBOOST),
        bars=(
            Bar("fit", "times", 0.6, ("lightgbm", *XGBOOST)),
            Bar("score", "within", 0.002, ("lightgbm", *XGBOOST)),
        ),
    ),
    Case(
        name="quantile",
        about="0.9-quantile of skewed numbers: 500,000 × 28, 100 trees of 31 leaves",
        rows=500_000,
        columns=28,
        test_rows=100_000,
        table=skewed_number_table,
        metric="pinball loss",
        settings=BoostingSettings(n_trees=100, max_leaves=31, number_loss="quantile"),
        libraries=(HEDGEROW, "lightgbm", "lightgbm-quantised", *XGBOOST),
        bars=(
            Bar("fit", "times", 0.6, ("lightgbm", *XGBOOST)),
            Bar("score", "within", 0.002, ("lightgbm", *XGBOOST)),
        ),
    ),
    Case(
        name="exact",
        about="exact greedy splits: 100,000 × 28, 20 trees of depth 6",
        rows=100_000,
        columns=28,
        test_rows=50_000,
        # XGBoost's exact method knows no minimum of rows, so neither library gets one.
        settings=BoostingSettings(
            n_trees=20, max_leaves=64, max_depth=6, min_samples_leaf=1, splitter="exact"
        ),
        libraries=(HEDGEROW, "xgboost-exact"),
        bars=(Bar("fit", "times", 0.7, ("xgboost-exact",)),),
    ),
    Case(
        name="symmetric",
        about="symmetric trees: 1,000,000 × 28, 100 trees of depth 6; predict 200,000 rows",
        rows=1_000_000,
        columns=28,
        test_rows=200_000,
        # CatBoost has no minimum of a leaf in such trees, so neither library gets one.
        settings=BoostingSettings(
            n_trees=100,
            max_leaves=64,
            max_depth=6,
            min_samples_leaf=1,
            min_child_weight=0.0,
            grow_policy="symmetric",
        ),
        libraries=(HEDGEROW, "catboost"),
        predicts=5,
        bars=(
            Bar("fit", "times", 0.5, ("catboost",)),
            Bar("predict", "times", 0.7, ("catboost",)),
            Bar("score", "within", 0.002, ("catboost",)),
        ),
    ),
    Case(
        name="predict",
        about="predict 200,000 × 28 with 100 trees of 63 leaves",
        rows=100_000,
        columns=28,
        test_rows=200_000,
        settings=BoostingSettings(n_trees=100, max_leaves=63),
        predicts=5,
        bars=(Bar("predict", "times", 0.4, XGBOOST),),
    ),
    Case(
        name="one-row",
        about="predict_proba of one NumPy row through the estimator, 100 trees of 63 leaves",
        rows=20_000,
        columns=28,
        test_rows=1_000,
        settings=BoostingSettings(n_trees=100, max_leaves=63),
        libraries=(HEDGEROW, "lightgbm", *XGBOOST, "catboost", "scikit-learn"),
        one_row_calls=1_000,
        also_one_thread=True,
        bars=(
            Bar("one row", "absolute", 40e-6),
            Bar("one row", "times", 1.0, ("lightgbm", *XGBOOST, "catboost")),
        ),
    ),
)


def tree_case(name: str, about: str, settings: TreeSettings, **fields: Any) -> Case:
    """A case of trees that are not boosted by gradients: always on the same table."""
    return Case(
        name=name,
        about=f"{about} on 100,000 × 28",
        rows=100_000,
        columns=28,
        test_rows=100_000,
        settings=settings,
        **{"libraries": (HEDGEROW, "scikit-learn"), "slow": ("scikit-learn",), **fields},
    )


DEEP_TREES = {"min_samples_leaf": 5, "max_features": "sqrt"}
SAME_SCORE = Bar("score", "within", 0.001, ("scikit-learn",))

TREE_CASES = (
    tree_case(
        "forest",
        "random forest of 100 trees, leaves of 5 rows or more",
        TreeSettings(estimator="RandomForestClassifier", n_trees=100, parameters=DEEP_TREES),
        libraries=(HEDGEROW, INTEL, "scikit-learn"),
        predicts=3,
        memory=True,
        file=True,
        bars=(
            Bar("fit", "times", 0.5, (INTEL,)),
            Bar("fit", "times", 0.1, ("scikit-learn",)),
            SAME_SCORE,
            Bar("predict", "times", 0.5, (INTEL,)),
            Bar("file", "times", 0.25, ("scikit-learn",)),
        ),
    ),
    tree_case(
        "extra-trees",
        "100 extremely randomised trees, leaves of 5 rows or more",
        TreeSettings(estimator="ExtraTreesClassifier", n_trees=100, parameters=DEEP_TREES),
        bars=(Bar("fit", "times", 0.25, ("scikit-learn",)), SAME_SCORE),
    ),
    tree_case(
        "adaboost",
        "AdaBoost of 100 stumps",
        TreeSettings(estimator="AdaBoostClassifier", n_trees=100),
        libraries=(HEDGEROW, "scikit-learn", BINNED),
        slow=("scikit-learn", BINNED),
        staged_errors=True,
        bars=(
            Bar("fit", "times", 0.03, ("scikit-learn",)),
            Bar("staged errors", "near", 0.001, (BINNED,)),
        ),
    ),
    tree_case(
        "cart",
        "one tree grown to the end with exact splits",
        TreeSettings(estimator="DecisionTreeClassifier", n_trees=1),
        slow=(),
        bars=(Bar("fit", "times", 0.5, ("scikit-learn",)),),
    ),
    tree_case(
        "bagging",
        "bagging of 20 trees grown to the end",
        TreeSettings(estimator="BaggingClassifier", n_trees=20),
        bars=(Bar("fit", "times", 0.3, ("scikit-learn",)),),
    ),
)

NEIGHBOR_CASES = tuple(
    Case(
        name=f"neighbors-{columns}",
        about=f"50,000 × {columns} float32, the ten nearest of 10,000 rows",
        rows=50_000,
        columns=columns,
        test_rows=10_000,
        settings=NeighborSettings(parameters={"n_neighbors": 10}),
        libraries=(HEDGEROW, INTEL, INTEL_BRUTE, "scikit-learn"),
        slow=("scikit-learn",),
        bars=(
            Bar("predict", "times", 1.0, (INTEL, INTEL_BRUTE)),
            Bar("score", "within", 0.001, ("scikit-learn",)),
        ),
    )
    for columns in (28, 8)
)

CASES = (*BOOSTING_CASES, *TREE_CASES, *NEIGHBOR_CASES)
