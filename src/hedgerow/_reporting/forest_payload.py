"""A model's trees as JSON: what the page needs to show them and to predict exactly as the model.

The arrays are those of `Ensemble`, packed: inner nodes and leaves have separate arrays, thresholds
are indices into the distinct ones, and each array is the base64 of its bytes. page/what_if.js reads
them and computes predictions to the last bit.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._adaboost.model import TreeCommittee
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.model import BoostedModel, Calibration
from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.table import TableSchema
from hedgerow._data.target_statistics import EncodedColumn
from hedgerow._estimator import Estimator
from hedgerow._forest.model import ForestModel
from hedgerow._reporting.any_model import model_name
from hedgerow._reporting.wording import brief
from hedgerow._tree.additive import column_names, leaf_names, leaf_unit
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.structure import Ensemble
from hedgerow.explain._shap import node_shares
from hedgerow.plot._tree_contents import encoded_names

MOST_LETTERS = 3_000_000  # of base64 for trees in a page below 5 MB
MOST_OPTIONS = 300  # of a categorical column, to choose from
# Shorter names for the scores of several classes.
UNITS = {"log of the probability, up to a constant": "log-probability score"}
MOST_CATEGORY_NAMES = 2000  # of a column, above which its splits do not list categories


class OmittedError(Exception):
    """A section of the report is omitted; the message is the reason for the reader."""


@dataclass(frozen=True, eq=False)
class PageTrees:
    """The trees of the page: the first ones of the model, or all."""

    ensemble: Ensemble
    n_trees: int  # of the model
    feature_names: list[str]
    sources: NDArray[np.int64]  # the column of the table that each feature comes from
    schema: TableSchema
    category_bins: list[Any]  # for each categorical feature, the bin of each category
    encoded: tuple[EncodedColumn, ...] = ()  # categorical columns with target statistics
    unit: str = "votes"  # of the leaf values
    output_names: tuple[str, ...] = ()  # of the scores that the trees add up to
    is_mean: bool = False  # whether the score is the mean over the trees, not their sum

    @property
    def is_complete(self) -> bool:
        """Whether these are all of the model's trees."""
        return self.ensemble.n_trees == self.n_trees


def page_trees(model: Any) -> PageTrees:
    """Return the trees of a model, as many as fit into a page."""
    if not isinstance(model, Estimator):
        raise OmittedError(f"{model_name(model)} has no trees that the page could show.")
    fitted = internals(model).model()
    if isinstance(fitted, BoostedModel):
        return _boosted(model, fitted)
    if isinstance(fitted, TreeModel):
        return replace(_plain(fitted.ensemble, fitted), **_of_leaves(fitted.outputs))
    if isinstance(fitted, TreeCommittee):
        return _plain(fitted.ensemble, fitted)
    if isinstance(fitted, ForestModel):
        return _forest(fitted)
    raise OmittedError(f"{type(model).__name__} has no trees that the page could show.")


def _boosted(model: Any, fitted: BoostedModel) -> PageTrees:
    trees, names, statistics = _fitting(fitted.ensemble), encoded_names(fitted), fitted.statistics
    return PageTrees(
        *(trees, fitted.ensemble.n_trees, names, np.asarray(statistics.sources, np.int64)),
        *(fitted.schema, fitted.category_bins, statistics.columns),
        unit=internals(model).unit(fitted),
        output_names=tuple(internals(model).output_names(fitted)),
    )


def _plain(ensemble: Ensemble, fitted: Any) -> PageTrees:
    names = list(column_names(fitted.schema))
    trees = _fitting(ensemble)
    sources = np.arange(len(names), dtype=np.int64)
    return PageTrees(trees, ensemble.n_trees, names, sources, fitted.schema, fitted.category_bins)


def _of_leaves(outputs: Outputs) -> dict[str, Any]:
    return {"unit": leaf_unit(outputs), "output_names": leaf_names(outputs), "is_mean": True}


def _forest(fitted: ForestModel) -> PageTrees:
    if fitted.combinations is not None:
        raise OmittedError("its trees split on sums of columns (feature_combinations).")
    forest = fitted.forest
    n_fitting = _at_most(forest.tree_offset, forest.value.shape[1])
    first = [forest.tree(index) for index in range(n_fitting)]
    base = np.zeros(first[0].value.shape[1])
    ensemble = Ensemble.from_trees(
        first, np.zeros(n_fitting, np.int32), base, fitted.schema.n_features
    )
    trees = replace(_plain(ensemble, fitted), **_of_leaves(fitted.outputs))
    return replace(trees, n_trees=forest.n_trees)


def _fitting(ensemble: Ensemble) -> Ensemble:
    """Return the first trees, as many as fit into a page."""
    n_fitting = _at_most(ensemble.tree_offset, ensemble.value.shape[1])
    while True:
        if n_fitting < ensemble.n_trees:
            ensemble = ensemble.first_trees(n_fitting)
        n_letters = _n_letters(_arrays(ensemble))
        if n_letters <= MOST_LETTERS:
            return ensemble
        if ensemble.n_trees == 1:
            raise OmittedError("even one of its trees is too large for a page of 5 MB.")
        n_fitting = max(1, int(0.97 * ensemble.n_trees * MOST_LETTERS / n_letters))


def _at_most(tree_offset: NDArray[np.int64], width: int) -> int:
    """Return an upper bound on the number of trees that fit, by the minimum size of nodes."""
    letters_so_far = tree_offset[1:] * (4 / 3 * (11.0 + 4.0 * width))
    return max(1, int(np.searchsorted(letters_so_far, MOST_LETTERS)))


def _n_letters(arrays: dict[str, Any]) -> int:
    if "data" in arrays:
        return len(arrays["data"])
    return sum(_n_letters(array) for array in arrays.values() if isinstance(array, dict))


def trees_payload(trees: PageTrees, target_name: str = "the target") -> dict[str, Any]:
    """Return the trees as JSON types."""
    e = trees.ensemble
    return {
        "n_trees": trees.n_trees,
        "n_features": e.n_features,
        "width": e.value.shape[1],
        "feature_names": trees.feature_names,
        "sources": trees.sources.tolist(),
        "categories": _categories(trees),
        "is_mean": trees.is_mean,
        "unit": score_label(trees.unit, trees.output_names, target_name),
        # The output that a tree adds to; empty if leaves have all outputs.
        "output_names": list(trees.output_names) if e.value.shape[1] < e.n_outputs else [],
        "base": e.base_score.tolist(),
        **_arrays(e),
    }


def score_label(unit: str, output_names: Sequence[str], target_name: str) -> str:
    """Return a description of a score: the target, or the probability or log-odds of a class."""
    unit = UNITS.get(unit, unit)
    if "the target" in unit:
        return unit.replace("the target", target_name)
    if len(output_names) != 1 or output_names[0] in ("score", "y"):
        return unit
    return f"{unit} of {brief(output_names[0])}"


def in_units(unit: str, output_names: Sequence[str], target_name: str) -> str:
    """Return the unit of a score as it follows the word "in"."""
    label = score_label(unit, output_names, target_name)
    return f"units of {label}" if unit == "the target" else label


def _categories(trees: PageTrees) -> dict[str, Any]:
    """Return the categories of columns with categorical splits, and the bin of each."""
    encoded = {column.feature for column in trees.encoded}
    return {
        str(j): {
            "labels": [str(label) for label in categories.values],
            "bins": [int(one) for one in trees.category_bins[j][: len(categories.values)]],
        }
        for j, categories in trees.schema.categories.items()
        if j not in encoded and len(categories.values) <= MOST_CATEGORY_NAMES
    }


def _arrays(e: Ensemble) -> dict[str, Any]:
    inner = e.feature >= 0
    tests_category = e.category_set[inner] >= 0
    thresholds, place = np.unique(e.threshold[inner][~tests_category], return_inverse=True)
    sets, which = np.unique(e.category_bits, axis=0, return_inverse=True)
    at = np.empty(int(inner.sum()), np.int64)
    at[~tests_category] = place
    at[tests_category] = which.reshape(-1)[e.category_set[inner][tests_category]]
    arrays = {
        "offset": packed(e.tree_offset, "u4"),
        "output": packed(e.tree_output, "u2"),
        "feature": packed(e.feature, "i2" if e.n_features < 1 << 15 else "i4"),
        "thresholds": packed(thresholds, "f8"),
        "at": packed(at, _narrow(at)),
        "left": packed(e.left[inner], _narrow(e.left)),
        "right": packed(e.right[inner], _narrow(e.right)),
        "flags": packed(e.missing_left[inner] + 2 * tests_category, "u1"),
        "n_sets": len(sets),
        "sets": packed(_in_use(sets), "u4"),
        "value": packed(e.value[~inner], "f8"),
        "gain": packed(e.gain[inner], "f4"),  # only displayed, so that float32 is enough
        "count": packed(e.count, "u4"),
        **_shares(e, inner),
    }
    return arrays if e.slopes is None else arrays | {"slopes": _slopes(e)}


def _shares(e: Ensemble, inner: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the share of each inner node's training rows that go left, for Shapley values.

    If rows have equal weights, it is a ratio of the counts, which the page has.
    """
    first = np.repeat(e.tree_offset[:-1], np.diff(e.tree_offset))[inner]
    left, right = first + e.left[inner], first + e.right[inner]
    share = node_shares(e)[left]
    total = e.count[left].astype(np.float64) + e.count[right]
    by_count = e.count[left] / np.where(total > 0.0, total, 1.0)
    is_same = np.allclose(share, by_count, rtol=0.0, atol=1e-14)
    return {} if is_same else {"share": packed(share, "f8")}


def _in_use(sets: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return sets of categories, transposed, without trailing words that are 0 in all sets."""
    n_used = int(np.flatnonzero(sets.any(axis=0)).max(initial=-1)) + 1
    return sets.T[:n_used]


def _slopes(e: Ensemble) -> dict[str, Any]:
    assert e.slopes is not None
    by_leaf = np.append(e.slopes.start[:-1][e.feature < 0], e.slopes.start[-1])
    return {
        "start": packed(by_leaf, "u4"),
        "feature": packed(e.slopes.feature, "u4"),
        **{
            name: packed(getattr(e.slopes, name), "f8")
            for name in ("coefficient", "centre", "low", "high")
        },
    }


def _narrow(values: NDArray[Any]) -> str:
    return "u2" if values.max(initial=0) < 1 << 16 else "u4"


def packed(values: NDArray[Any], dtype: str) -> dict[str, str]:
    """Return an array as the base64 of its bytes, little-endian."""
    data = np.ascontiguousarray(values, f"<{dtype}").tobytes()
    return {"dtype": dtype, "data": base64.b64encode(data).decode()}


def rule_payload(model: Any) -> dict[str, Any]:
    """Return how sums over trees become the result of `predict_proba` or `predict`."""
    fitted = internals(model).model()
    if isinstance(model, GradientBoosting):
        return _boosted_rule(fitted)
    if isinstance(fitted, TreeModel):
        return _shares_rule(fitted.outputs, 1)
    if isinstance(fitted, ForestModel):
        if getattr(model, "voting", "soft") == "hard":
            raise OmittedError("hard voting is not supported by the page.")
        return _shares_rule(fitted.outputs, fitted.forest.n_trees)
    raise OmittedError(
        f"the page supports gradient boosting, forests and single trees, but not "
        f"{type(model).__name__}."
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


def _calibration(calibration: Calibration) -> dict[str, Any]:
    arrays = {
        name: getattr(calibration, name).tolist() for name in ("slope", "offset", "x", "y", "start")
    }
    return {"method": calibration.method, **arrays}


def _shares_rule(outputs: Outputs, n_trees: int) -> dict[str, Any]:
    rule: dict[str, Any] = {"kind": "mean", "n_trees": n_trees}
    if isinstance(outputs, ClassOutputs):
        labels = [[str(c) for c in classes] for classes in outputs.classes]
        rule |= {"classes": labels[0]} if outputs.is_single else {"labels": labels}
        rule["shares"] = True
    return rule
