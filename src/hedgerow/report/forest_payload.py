"""A model's trees as JSON: what the page needs to show them and to predict as the model does.

The arrays are those of `Ensemble`, packed: what inner nodes hold and what leaves hold are arrays of
their own, thresholds are numbers of distinct ones, and each array is the base64 of its bytes.
page/what_if.js reads this, and follows it to the last bit of a prediction.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.adaboost.model import TreeCommittee
from hedgerow.boosting.calibration import Calibration
from hedgerow.boosting.estimator import GradientBoosting
from hedgerow.boosting.model import BoostedModel
from hedgerow.data.schema import TableSchema
from hedgerow.data.target_statistics import EncodedColumn
from hedgerow.forest.model import ForestModel
from hedgerow.tree.additive import column_names
from hedgerow.tree.fitting import TreeModel
from hedgerow.tree.outputs import ClassOutputs, Outputs
from hedgerow.tree.structure import Ensemble

MOST_BYTES = 2_800_000  # of trees in a page, before base64: a page stays below 5 MB
MOST_OPTIONS = 300  # of a column of categories, to choose from


class NotShownError(Exception):
    """Why a section of the report is left out, in words for its reader."""


@dataclass(frozen=True, eq=False)
class ShownTrees:
    """Trees as the page shows them.

    Attributes
    ----------
    ensemble : Ensemble
        The first of the model's trees, or all.
    n_trees : int
        How many the model has.
    feature_names : list of str
        What trees test.
    schema : TableSchema
        The columns of the table.
    category_bins : list
        Of each categorical feature, the bin of each category.
    """

    ensemble: Ensemble
    n_trees: int
    feature_names: list[str]
    schema: TableSchema
    category_bins: list[Any]
    encoded: tuple[EncodedColumn, ...] = field(default=())

    @property
    def is_whole(self) -> bool:
        """Whether these are all of the model's trees."""
        return self.ensemble.n_trees == self.n_trees


def shown_trees(model: Any) -> ShownTrees:
    """Return a model's trees, as many as fit into a page."""
    fitted = model._fitted_model()  # noqa: SLF001  a report is a friend
    if isinstance(fitted, BoostedModel):
        return _boosted(fitted)
    if isinstance(fitted, TreeModel | TreeCommittee):
        return _plain(fitted.ensemble, fitted)
    if isinstance(fitted, ForestModel):
        return _forest(fitted)
    raise NotShownError(f"{type(model).__name__} is not made of trees that share one table.")


def _boosted(fitted: BoostedModel) -> ShownTrees:
    names = list(column_names(fitted.schema))
    statistics = fitted.statistics
    names = [names[j] for j in statistics.sources]
    for j in range(len(names)):
        if statistics.sources[j] in statistics.features:
            names[j] = f"mean target of {names[j]}"
    shown = _fitting(fitted.ensemble)
    return ShownTrees(
        *(shown, fitted.ensemble.n_trees, names, fitted.schema, fitted.category_bins),
        statistics.columns,
    )


def _plain(ensemble: Ensemble, fitted: Any) -> ShownTrees:
    names = list(column_names(fitted.schema))
    shown = _fitting(ensemble)
    return ShownTrees(shown, ensemble.n_trees, names, fitted.schema, fitted.category_bins)


def _forest(fitted: ForestModel) -> ShownTrees:
    if fitted.combinations is not None:
        raise NotShownError("its trees test sums of columns (feature_combinations).")
    forest = fitted.forest
    width = forest.value.shape[1]
    n_fitting = _how_many(forest.tree_offset, width, int(fitted.outputs.n_values))
    trees = [forest.tree(index) for index in range(n_fitting)]
    base = np.zeros(width)
    ensemble = Ensemble.from_trees(
        trees, np.zeros(n_fitting, np.int32), base, fitted.schema.n_features
    )
    names = list(column_names(fitted.schema))
    return ShownTrees(ensemble, forest.n_trees, names, fitted.schema, fitted.category_bins)


def _fitting(ensemble: Ensemble) -> Ensemble:
    n_terms = 0 if ensemble.slopes is None else ensemble.slopes.n_terms
    width = ensemble.value.shape[1]
    per_term = n_terms * (20 + 16 * width) / max(ensemble.n_nodes, 1)
    n_fitting = _how_many(ensemble.tree_offset, width, width, per_term)
    return ensemble if n_fitting == ensemble.n_trees else ensemble.first_trees(n_fitting)


def _how_many(tree_offset: NDArray[np.int64], width: int, shown: int, more: float = 0.0) -> int:
    """Return how many trees fit: a node takes about 11 bytes, and values as a leaf or to show."""
    bytes_so_far = tree_offset[1:] * (11.0 + 4.0 * width + 2.0 * shown + more)
    return max(1, int(np.searchsorted(bytes_so_far, MOST_BYTES)))


def trees_payload(shown: ShownTrees) -> dict[str, Any]:
    """Return the trees as JSON types."""
    e = shown.ensemble
    inner = e.feature >= 0
    tests_category = e.category_set[inner] >= 0
    thresholds, place = np.unique(e.threshold[inner][~tests_category], return_inverse=True)
    at = np.empty(int(inner.sum()), np.int64)
    at[~tests_category] = place
    at[tests_category] = e.category_set[inner][tests_category]
    payload = {
        "n_trees": shown.n_trees,
        "n_features": e.n_features,
        "width": e.value.shape[1],
        "feature_names": shown.feature_names,
        "base": e.base_score.tolist(),
        "offset": _packed(e.tree_offset, "u4"),
        "output": _packed(e.tree_output, "u2"),
        "feature": _packed(e.feature, "i2" if e.n_features < 1 << 15 else "i4"),
        "thresholds": _packed(thresholds, "f8"),
        "at": _packed(at, _narrow(at)),
        "left": _packed(e.left[inner], _narrow(e.left)),
        "right": _packed(e.right[inner], _narrow(e.right)),
        "flags": _packed(e.missing_left[inner] + 2 * tests_category, "u1"),
        "sets": _packed(e.category_bits, "u4"),
        "value": _packed(e.value[~inner], "f8"),
        # Only shown, so that float32 will do.
        "inner_value": _packed(e.value[inner], "f4"),
        "gain": _packed(e.gain[inner], "f4"),
        "count": _packed(e.count, "u4"),
    }
    return payload if e.slopes is None else payload | {"slopes": _slopes(e)}


def _slopes(e: Ensemble) -> dict[str, Any]:
    assert e.slopes is not None
    by_leaf = np.append(e.slopes.start[:-1][e.feature < 0], e.slopes.start[-1])
    return {
        "start": _packed(by_leaf, "u4"),
        "feature": _packed(e.slopes.feature, "u4"),
        **{
            name: _packed(getattr(e.slopes, name), "f8")
            for name in ("coefficient", "centre", "low", "high")
        },
    }


def _narrow(values: NDArray[Any]) -> str:
    return "u2" if values.max(initial=0) < 1 << 16 else "u4"


def _packed(values: NDArray[Any], dtype: str) -> dict[str, str]:
    data = np.ascontiguousarray(values, f"<{dtype}").tobytes()
    return {"dtype": dtype, "data": base64.b64encode(data).decode()}


def rule_payload(model: Any) -> dict[str, Any]:
    """Return how sums over trees become what `predict_proba` or `predict` returns."""
    fitted = model._fitted_model()  # noqa: SLF001
    if isinstance(model, GradientBoosting):
        return _boosted_rule(fitted)
    if isinstance(fitted, TreeModel):
        return _shares_rule(fitted.outputs, 1)
    if isinstance(fitted, ForestModel):
        if getattr(model, "voting", "soft") == "hard":
            raise NotShownError("its trees vote for one class each, which the page does not do.")
        return _shares_rule(fitted.outputs, fitted.forest.n_trees)
    raise NotShownError(
        f"the page can add up trees of gradient boosting, forests and single trees, not the votes "
        f"of {type(model).__name__}."
    )


def _boosted_rule(fitted: BoostedModel) -> dict[str, Any]:
    rule: dict[str, Any] = {"kind": "link", "link": fitted.link, "calibration": None}
    if isinstance(fitted.classes, list):
        rule["labels"] = [[str(c) for c in classes] for classes in fitted.classes]
    elif fitted.classes is not None:
        rule["classes"] = [str(c) for c in fitted.classes]
    if fitted.calibration is not None:
        rule["calibration"] = _calibration(fitted.calibration)
    return rule


def _calibration(found: Calibration) -> dict[str, Any]:
    arrays = {
        name: getattr(found, name).tolist() for name in ("slope", "offset", "x", "y", "start")
    }
    return {"method": found.method, **arrays}


def _shares_rule(outputs: Outputs, n_trees: int) -> dict[str, Any]:
    rule: dict[str, Any] = {"kind": "mean", "n_trees": n_trees}
    if isinstance(outputs, ClassOutputs):
        labels = [[str(c) for c in classes] for classes in outputs.classes]
        rule |= {"classes": labels[0]} if outputs.is_single else {"labels": labels}
        rule["shares"] = True
    return rule
