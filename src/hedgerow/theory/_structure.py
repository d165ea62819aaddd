"""The objective that gradient boosting minimises, computed from the fitted trees.

A leaf's weight is w = −G / (H + λ), a node's cover is H, and a split's gain is stored. From these
follow the sums G, the structure score J and the penalty Ω of every tree. The training set is only
needed to verify them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.estimators.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.encoding import encode_again
from hedgerow._boosting.fit.fit_data import as_fitted, weigh
from hedgerow._boosting.losses import BaseLoss, NativeLoss
from hedgerow._contract import internals
from hedgerow._data.intake import as_matrix
from hedgerow._data.target import read_offset, read_weights
from hedgerow._result import BROWN, GREEN, Columns, Result
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.theory._voters import require_fitted

ACCEPTED = "Hedgerow's GradientBoostingClassifier or GradientBoostingRegressor"
# Rounding error of a gain, relative to the scores that it is a difference of.
ROUNDING = 1e-9
# Relative error of J by fixed-point sums that causes a warning, and a J that is only rounding.
COARSE, TINY = 1e-4, 1e-6


def structure_score(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, offset: Any = None
) -> StructureScore:
    """Return the structure score J of every tree of a gradient boosting model.

    A tree of T leaves with weights w, grown on gradients and hessians whose sums over leaf j are
    G_j and H_j, has the objective Σ_j [G_j w_j + ½ (H_j + λ) w_j²] + γT. Its minimum, at
    w_j = −G_j / (H_j + λ), is

        J = −½ Σ_j G_j² / (H_j + λ) + γT.

    This is the score of the root alone, γ − ½ G² / (H + λ), minus the gains of all splits, which
    are checked against the stored gains. The penalty within J is Ω = γT + ½ λ ‖w‖². Weights are
    those before shrinkage. λ is reg_lambda and γ is min_split_gain;
    with reg_alpha = α > 0, Ω has a term α ‖w‖₁ and G² becomes ``max(|G| − α, 0)²``.

    Splits that sort many categories are chosen by a gain with a larger λ. The gain returned here is
    always that of the formula, by which J decreases.

    Parameters
    ----------
    model : fitted GradientBoostingClassifier or GradientBoostingRegressor
        Its parameters must not have changed since the fit.
    X, y : training set, optional
        To compute J from the gradients of the rows as well, for comparison.
    sample_weight : array of shape (n_rows,), optional
        The weights passed to fit, if any.
    offset : array of shape (n_rows,) or (n_rows, n_scores), optional
        The offset passed to fit, if any.

    Returns
    -------
    StructureScore

    Warns
    -----
    UserWarning
        If J of the rows differs: with λ = 0 and min_child_weight = 0, the hessian of a leaf may be
        too small for the fixed-point sums of the trees.

    Raises
    ------
    ParameterError
        If the model is of another kind; if max_delta_step limited a weight, because G cannot be
        computed from it; if the leaves of the loss are not −G / (H + λ); or if gains and weights do
        not match the parameters, because these were changed after fit or for a warm start.
    """
    require_fitted(model, ACCEPTED)
    if not isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor):
        raise ParameterError(f"model: {type(model).__name__} is not allowed; pass {ACCEPTED}.")
    if (X is None) != (y is None):
        raise ParameterError("pass both X and y, or neither.")
    _require_newton_steps(model)
    ensemble = internals(model).model().ensemble
    used = as_fitted(model)
    rules = _Rules(used.reg_lambda, used.reg_alpha, used.min_split_gain)
    weight = ensemble.value[:, 0] / used.learning_rate
    _require_free_weights(weight, model.max_delta_step)
    nodes = _node_sums(ensemble, weight, rules)
    _require_gains(ensemble, nodes, rules)
    recomputed = None if X is None else _from_rows(model, rules, X, y, sample_weight, offset)
    result = _score_trees(ensemble, nodes, rules, recomputed)
    _warn_about_coarse_sums(result)
    return result


@dataclass(frozen=True, eq=False, repr=False)
class StructureScore(Result):
    """The structure score of every tree.

    Attributes
    ----------
    score : array of shape (n_trees,)
        J.
    root_score : array of shape (n_trees,)
        The J of a tree that consists only of the root.
    gain : array of shape (n_trees,)
        The sum of the gains of all splits: ``root_score - score``.
    penalty : array of shape (n_trees,)
        Ω.
    n_leaves : array of shape (n_trees,)
        T.
    output : array of shape (n_trees,)
        The output that the tree adds to: the class, if there are more than two.
    nodes : NodeSums
        Sums, weight and gain of every node.
    recomputed : array of shape (n_trees,) or None
        J from the gradients of the training set, if X and y were passed.
    """

    score: Floats
    root_score: Floats
    gain: Floats
    penalty: Floats
    n_leaves: NDArray[np.int64]
    output: NDArray[np.int32]
    nodes: NodeSums
    recomputed: Floats | None

    def _title(self) -> str:
        return f"StructureScore: {len(self.score)} trees, {self.n_leaves.sum()} leaves"

    def _figures(self) -> dict[str, float]:
        if self.recomputed is None:
            return {}
        difference = np.abs(self.score - self.recomputed).max() / np.abs(self.score).max()
        return {"largest difference to J from the rows, relative": float(difference)}

    def _columns(self) -> Columns:
        columns: dict[str, NDArray[Any]] = {
            "tree": np.arange(len(self.score)),
            "output": self.output,
            "leaves": self.n_leaves,
            "J": self.score,
            "root_J": self.root_score,
            "gain": self.gain,
            "omega": self.penalty,
        }
        return columns if self.recomputed is None else columns | {"recomputed_J": self.recomputed}

    def _draw(self, ax: Any) -> None:
        n_outputs = int(self.output.max()) + 1
        for output in range(n_outputs):
            of = self.output == output
            rounds = np.arange(1, of.sum() + 1)
            first = output == 0
            ax.plot(rounds, -self.score[of], color=GREEN, label="−J" if first else None)
            ax.plot(rounds, self.penalty[of], color=BROWN, label="Ω" if first else None)
        ax.set(xlabel="round", ylabel="objective and penalty")
        if (self.score < 0.0).all() and (self.penalty > 0.0).all():
            ax.set_yscale("log")
        ax.legend(frameon=False)


@dataclass(frozen=True, eq=False, repr=False)
class NodeSums(Result):
    """Sums, weight and gain of every node of every tree.

    Attributes
    ----------
    tree, node : array of shape (n_nodes,)
        Indices of the tree and the node; node 0 is the root.
    feature : array of shape (n_nodes,)
        The feature that its split tests; −1 in a leaf.
    G, H : array of shape (n_nodes,)
        Sums of gradients and hessians of its rows. With reg_alpha > 0, the G of a node of weight 0
        is NaN: it can be anything from −reg_alpha to reg_alpha.
    weight : array of shape (n_nodes,)
        w, before shrinkage.
    score : array of shape (n_nodes,)
        −½ G² / (H + λ): the score of the node as a leaf, without γ.
    gain : array of shape (n_nodes,)
        The gain of its split; 0 in a leaf.
    """

    tree: NDArray[np.int64]
    node: NDArray[np.int64]
    feature: NDArray[np.int32]
    G: Floats
    H: Floats
    weight: Floats
    score: Floats
    gain: Floats

    def _title(self) -> str:
        n_splits = np.count_nonzero(self.feature >= 0)
        return f"NodeSums: {len(self.node)} nodes, {n_splits} splits"

    def _columns(self) -> Columns:
        return dict(vars(self))

    def _draw(self, ax: Any) -> None:
        split = self.feature >= 0
        ax.scatter(self.tree[split] + 1, self.gain[split], s=8, color=GREEN, alpha=0.5, linewidth=0)
        ax.set(xlabel="tree", ylabel="gain of a split")
        if split.any():
            ax.set_yscale("log")


@dataclass(frozen=True)
class _Rules:
    """λ, α and γ."""

    reg_lambda: float
    reg_alpha: float
    min_split_gain: float

    def score(self, G: Floats, H: Floats) -> Floats:
        """Return −½ max(|G| − α, 0)² / (H + λ); 0 if the denominator is 0."""
        T = np.maximum(np.abs(G) - self.reg_alpha, 0.0)
        D = H + self.reg_lambda
        return -0.5 * np.divide(T * T, D, out=np.zeros_like(D), where=D > 0.0)


def _warn_about_coarse_sums(result: StructureScore) -> None:
    """Warn about trees whose J differs from that of the rows because of fixed-point sums."""
    if result.recomputed is None:
        return
    apart = np.abs(result.score - result.recomputed)
    off = apart > COARSE * (np.abs(result.score) + np.abs(result.recomputed) + TINY)
    if off.any():
        warn_user(
            f"structure_score: J of {np.count_nonzero(off)} trees differs from J of the rows, "
            f"first in tree {int(off.argmax())}. Trees are grown on fixed-point sums, and the "
            "hessians of some leaves are below their resolution. Set reg_lambda or "
            "min_child_weight above 0."
        )


def _require_newton_steps(model: Any) -> None:
    if hasattr(model, "auto_") and model.auto_.n_members > 1:
        raise ParameterError(
            f"n_estimators='auto' averaged {model.auto_.n_members} models, whose trees do not "
            "build on one another. Fit with a number of rounds."
        )
    if internals(model).model().ensemble.value.shape[1] > 1:
        raise ParameterError(
            "multi_strategy='vector': nodes store the mean of the outputs' H, from which G cannot "
            "be computed. Fit with multi_strategy='separate'."
        )
    if internals(model).model().ensemble.slopes is not None:
        raise ParameterError(
            "linear_leaves: the structure score is for constant leaves, but these have slopes. Fit "
            "with linear_leaves=False."
        )
    classes = getattr(model, "classes_", None)
    loss = internals(model).task.choose_loss(model, classes, model.n_outputs_)
    if isinstance(loss, NativeLoss) and (loss.is_piecewise_linear or any(loss.leaf_rates)):
        raise ParameterError(
            f"loss={model.loss!r}: its leaves minimise the loss exactly and are not −G / (H + λ), "
            "so there is no structure score."
        )


def _require_free_weights(weight: Floats, max_delta_step: float) -> None:
    if max_delta_step > 0.0 and (np.abs(weight) >= max_delta_step * (1.0 - ROUNDING)).any():
        raise ParameterError(
            f"model: max_delta_step={max_delta_step!r} limited weights, and G cannot be computed "
            "from such a weight. Fit with max_delta_step=0."
        )


def _node_sums(ensemble: Ensemble, weight: Floats, rules: _Rules) -> NodeSums:
    """Solve w = −T(G) / (H + λ) for G, and compute the gains of the splits."""
    H = ensemble.cover
    T = -weight * (H + rules.reg_lambda)
    score = 0.5 * weight * T
    G = np.where(
        T == 0.0, np.nan if rules.reg_alpha > 0.0 else 0.0, T + rules.reg_alpha * np.sign(T)
    )
    size = np.diff(ensemble.tree_offset)
    tree = np.repeat(np.arange(ensemble.n_trees), size)
    node = np.arange(ensemble.n_nodes) - np.repeat(ensemble.tree_offset[:-1], size)
    parent, left, right = _families(ensemble)
    gain = np.zeros(ensemble.n_nodes)
    gain[parent] = score[parent] - score[left] - score[right] - rules.min_split_gain
    return NodeSums(tree, node, ensemble.feature, G, H, weight, score, gain)


def _families(ensemble: Ensemble) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the nodes that were split, and their children, counted over all trees."""
    parent = np.flatnonzero(ensemble.feature >= 0)
    size = np.diff(ensemble.tree_offset)
    first = np.repeat(ensemble.tree_offset[:-1], size)[parent]
    return parent, first + ensemble.left[parent], first + ensemble.right[parent]


def _require_gains(ensemble: Ensemble, nodes: NodeSums, rules: _Rules) -> None:
    """Check the gains stored in training against those of the weights."""
    parent, left, right = _families(ensemble)
    scale = np.abs(nodes.score[parent]) + np.abs(nodes.score[left]) + np.abs(nodes.score[right])
    slack = ROUNDING * (scale + rules.min_split_gain)
    is_equal = np.abs(ensemble.gain[parent] - nodes.gain[parent]) <= slack
    # A split on sorted categories was chosen with a larger λ for its children.
    sorted_gain = (
        nodes.score[parent]
        - _with_more_lambda(nodes, left, rules)
        - _with_more_lambda(nodes, right, rules)
        - rules.min_split_gain
    )
    is_sorted = np.abs(ensemble.gain[parent] - sorted_gain) <= slack
    is_equal |= is_sorted & (ensemble.category_set[parent] >= 0)
    if not is_equal.all():
        raise ParameterError(
            f"model: the gains of tree {nodes.tree[parent[~is_equal][0]]} do not match its weights "
            f"with reg_lambda={rules.reg_lambda!r}, reg_alpha={rules.reg_alpha!r}, "
            f"min_split_gain={rules.min_split_gain!r} and the learning_rate. Were parameters "
            "changed after fit, or between fits with warm_start?"
        )


def _with_more_lambda(nodes: NodeSums, of: NDArray[Any], rules: _Rules) -> Floats:
    D = nodes.H[of] + rules.reg_lambda
    more = D + GrowthParams().cat_l2
    return nodes.score[of] * D / more


def _score_trees(
    ensemble: Ensemble, nodes: NodeSums, rules: _Rules, recomputed: Floats | None
) -> StructureScore:
    leaf = nodes.feature < 0
    n_leaves = _by_tree(ensemble, leaf.astype(np.float64)).astype(np.int64)
    squares = rules.reg_lambda * nodes.weight**2 / 2.0 + rules.reg_alpha * np.abs(nodes.weight)
    gamma = rules.min_split_gain
    return StructureScore(
        score=_by_tree(ensemble, np.where(leaf, nodes.score, 0.0)) + gamma * n_leaves,
        root_score=nodes.score[ensemble.tree_offset[:-1]] + gamma,
        gain=_by_tree(ensemble, nodes.gain),
        penalty=_by_tree(ensemble, np.where(leaf, squares, 0.0)) + gamma * n_leaves,
        n_leaves=n_leaves,
        output=ensemble.tree_output,
        nodes=nodes,
        recomputed=recomputed,
    )


def _by_tree(ensemble: Ensemble, of_nodes: Floats) -> Floats:
    return np.add.reduceat(of_nodes, ensemble.tree_offset[:-1])


def _from_rows(
    model: Any, rules: _Rules, X: Any, y: Any, sample_weight: Any, offset: Any
) -> Floats:
    leaves = _leaf_sums(model, X, y, sample_weight, offset)
    return np.array([rules.score(G, H).sum() + rules.min_split_gain * len(G) for G, H in leaves])


def _leaf_sums(
    model: Any, X: Any, y: Any, sample_weight: Any, offset: Any
) -> Iterator[tuple[Floats, Floats]]:
    """Yield for each tree the sums G and H of its leaves, in the order of their nodes.

    They are recomputed from the training set in NumPy: the scores before each round, and the
    gradients of the loss at these scores. The other arguments are those of `fit`.
    """
    fitted = internals(model).model()
    ensemble = fitted.ensemble
    classes = getattr(model, "classes_", None)
    loss = internals(model).task.choose_loss(model, classes, model.n_outputs_)
    dataset = read_training_set(model, X, y, sample_weight, offset)
    _require_all_rows(ensemble, len(dataset.target))
    table = encode_again(fitted.statistics, dataset, loss, classes, 1)
    leaves = ensemble.apply(as_matrix(table, fitted.category_bins))
    scores = np.empty((ensemble.n_outputs, len(leaves)))
    scores[...] = ensemble.base_score[:, None]
    if dataset.offset is not None:
        scores += dataset.offset.T
    for first in range(0, ensemble.n_trees, ensemble.n_outputs):
        gradient, hessian = _gradients(loss, scores, dataset)
        for output, (g, h) in enumerate(zip(gradient, hessian, strict=True)):
            begin, end = ensemble.tree_offset[first + output : first + output + 2]
            node = leaves[:, first + output]
            is_leaf = ensemble.feature[begin:end] < 0
            G, H = (np.bincount(node, of_rows, minlength=end - begin) for of_rows in (g, h))
            scores[output] += ensemble.value[begin:end, 0][node]
            yield G[is_leaf], H[is_leaf]


def read_training_set(model: Any, X: Any, y: Any, sample_weight: Any, offset: Any) -> Dataset:
    """Read the arguments of `fit` for a fitted model, with weights by class, if any.

    As in `fit`, rows of weight 0 are left out.
    """
    task, classes = internals(model).task, getattr(model, "classes_", None)
    loss = task.choose_loss(model, classes, model.n_outputs_)
    table = internals(model).read(X, internals(model).model().schema)
    target = task.read_target(y, table.n_rows, classes, model.loss)
    weights = read_weights(sample_weight, table.n_rows)
    added = read_offset(offset, table.n_rows, loss.n_outputs)
    dataset = Dataset(table, target, weights, offset=added)
    return weigh(dataset, model, task.class_weights(dataset, model, classes), loss)


def _require_all_rows(ensemble: Ensemble, n_rows: int) -> None:
    """Refuse models whose trees were grown on samples of the rows, which are not known."""
    n_grown = ensemble.count[ensemble.tree_offset[:-1]]
    other = np.flatnonzero(n_grown != n_rows)
    if len(other):
        raise DataError(
            f"X has {n_rows} rows, but tree {other[0]} was grown on {n_grown[other[0]]}. The "
            "comparison needs the training set of fit, with all rows in every tree: no subsample "
            "and no validation set for early stopping."
        )


def _gradients(loss: BaseLoss, scores: Floats, dataset: Dataset) -> tuple[Floats, Floats]:
    """Return weighted gradients and hessians of shape (n_outputs, n_rows)."""
    target, weights = dataset.target_by_output, dataset.weights
    return loss.gradients(target, scores, loss.row_weights(target, weights))
