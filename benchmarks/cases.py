"""The cases: a shape, the settings every library gets, and the bars Hedgerow must reach.

One case for each line about speed, memory or accuracy that the project promises.
"""

from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.results import HEDGEROW, Bar

UNQUANTISED_PEERS = ("lightgbm", "xgboost-leaf", "xgboost-level", "catboost", "scikit-learn")
PEERS = (*UNQUANTISED_PEERS, "lightgbm-quantised")
EVERY_LIBRARY = (HEDGEROW, *PEERS)
XGBOOST = ("xgboost-leaf", "xgboost-level")


@dataclass(frozen=True)
class Settings:
    """What to learn, in Hedgerow's names; ``libraries.py`` translates for each peer.

    A peer that lacks one of the two minima (XGBoost counts no rows, scikit-learn and CatBoost weigh
    no hessians) uses the other.
    """

    n_trees: int
    max_leaves: int
    max_depth: int | None = None
    n_classes: int = 2
    learning_rate: float = 0.1
    max_bins: int = 255
    min_samples_leaf: int = 20
    min_child_weight: float = 1.0
    reg_lambda: float = 1.0
    splitter: Literal["hist", "exact"] = "hist"

    @property
    def depth(self) -> int:
        """Depth at which a balanced tree has about ``max_leaves`` leaves."""
        return self.max_depth or (self.max_leaves + 1).bit_length() - 1


@dataclass(frozen=True)
class Case:
    """One generated table and what is measured on it.

    A library's turn is ``fits`` fits and ``predicts`` predictions; the libraries take ``turns``
    turns. Where ``one_row_calls`` is set, a turn is that many predictions of a single row instead.
    """

    name: str
    about: str
    rows: int
    columns: int
    settings: Settings
    held_out: int
    metric: str = "AUC"
    libraries: tuple[str, ...] = EVERY_LIBRARY
    bars: tuple[Bar, ...] = ()
    turns: int = 3
    fits: int = 1
    predicts: int = 1
    one_row_calls: int = 0
    memory: bool = False
    # Starting threads costs a small fit more than they save in some libraries. Every library is
    # then timed with all cores and with one, and its better time counts.
    also_one_thread: bool = False
    quick: bool = False

    def made_quick(self) -> "Case":
        """A small version that runs in seconds: it shows that all works, not who is faster."""
        return replace(
            self,
            about=f"quick version of: {self.about}",
            rows=max(1_000, self.rows // 50),
            held_out=max(1_000, self.held_out // 50),
            columns=min(self.columns, 60),
            settings=replace(self.settings, n_trees=max(5, self.settings.n_trees // 10)),
            turns=1,
            fits=1,
            one_row_calls=min(self.one_row_calls, 50),
            quick=True,
        )


CASES = (
    Case(
        name="big",
        about="1,000,000 × 28 float32, 100 trees of 63 leaves, 255 bins",
        rows=1_000_000,
        columns=28,
        held_out=200_000,
        settings=Settings(n_trees=100, max_leaves=63),
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
        held_out=20_000,
        settings=Settings(n_trees=100, max_leaves=31),
        fits=20,
        also_one_thread=True,
        bars=(Bar("fit", "times", 0.4, ("lightgbm",)),),
    ),
    Case(
        name="medium",
        about="10,000 × 20, 100 trees of 31 leaves",
        rows=10_000,
        columns=20,
        held_out=20_000,
        settings=Settings(n_trees=100, max_leaves=31),
        fits=10,
        also_one_thread=True,
        bars=(Bar("fit", "times", 0.4, ("lightgbm",)),),
    ),
    Case(
        name="wide",
        about="50,000 × 500, 50 trees of 31 leaves",
        rows=50_000,
        columns=500,
        held_out=20_000,
        settings=Settings(n_trees=50, max_leaves=31),
        bars=(Bar("fit", "times", 0.5, UNQUANTISED_PEERS),),
    ),
    Case(
        name="classes",
        about="100,000 × 54 (10 numeric, 44 one-hot), 7 classes, 50 rounds, 31 leaves",
        rows=100_000,
        columns=54,
        held_out=50_000,
        metric="log loss",
        settings=Settings(n_trees=50, max_leaves=31, n_classes=7),
        bars=(Bar("fit", "times", 0.5, PEERS),),
    ),
    Case(
        name="exact",
        about="exact greedy splits: 100,000 × 28, 20 trees of depth 6",
        rows=100_000,
        columns=28,
        held_out=50_000,
        # XGBoost's exact method knows no minimum of rows, so neither library gets one.
        settings=Settings(
            n_trees=20, max_leaves=64, max_depth=6, min_samples_leaf=1, splitter="exact"
        ),
        libraries=(HEDGEROW, "xgboost-exact"),
        bars=(Bar("fit", "times", 0.7, ("xgboost-exact",)),),
    ),
    Case(
        name="predict",
        about="predict 200,000 × 28 with 100 trees of 63 leaves",
        rows=100_000,
        columns=28,
        held_out=200_000,
        settings=Settings(n_trees=100, max_leaves=63),
        predicts=5,
        bars=(Bar("predict", "times", 0.4, XGBOOST),),
    ),
    Case(
        name="one-row",
        about="predict_proba of one NumPy row through the estimator, 100 trees of 63 leaves",
        rows=20_000,
        columns=28,
        held_out=1_000,
        settings=Settings(n_trees=100, max_leaves=63),
        libraries=(HEDGEROW, "lightgbm", *XGBOOST, "catboost", "scikit-learn"),
        one_row_calls=1_000,
        also_one_thread=True,
        bars=(
            Bar("one row", "absolute", 40e-6),
            Bar("one row", "times", 1.0, ("lightgbm", *XGBOOST, "catboost")),
        ),
    ),
)
