"""Rankers and survival models: what they share, one score per row, and their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar, get_args

import numpy as np

from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.estimators.parameters import GRADIENT_SAMPLING, PARAMETERS
from hedgerow._boosting.model import BoostedModel
from hedgerow._params import (
    COUNT,
    FLAG,
    MOST,
    NOTHING,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    With,
    any_of,
    parameters_for,
)
from hedgerow._tree.trainer import Sampling


class OneScore(GradientBoosting):
    """Gradient boosting without several outputs and without calibration."""

    multi_strategy: ClassVar[str] = "separate"
    calibration: ClassVar[None] = None
    init_estimator: ClassVar[None] = None

    def _output_names(self, model: BoostedModel) -> list[str]:  # noqa: ARG002
        return ["score"]

    def _unit(self, model: BoostedModel) -> str:  # noqa: ARG002
        return "score"


_LEFT_OUT = ("multi_strategy", "calibration", "calibration_fraction", "init_estimator")
_REWORDED = {
    "monotonic_constraints": "How the score may change with a numeric feature while all others "
    "stay the same: 1 or 'increasing', it never decreases as the feature increases; -1 or "
    "'decreasing', it never increases; 0, no constraint. Columns that are not in a dict are 0. "
    "The constraint holds at every input; missing values are not constrained.",
}


def _one_score_parameters(
    own: Iterable[Parameter], reworded: Mapping[str, str]
) -> tuple[Parameter, ...]:
    """Return an estimator's own parameters and those of all boosting, some with other texts."""
    reworded = _REWORDED | dict(reworded)
    shared = [
        replace(parameter, description=reworded.get(parameter.name, parameter.description))
        for parameter in parameters_for("one score", PARAMETERS)
        if parameter.name not in _LEFT_OUT
    ]
    without_classes = Options(tuple(name for name in get_args(Sampling) if name != "balanced"))
    return (
        *own,
        *(replace(p, allowed=without_classes) if p.name == "sampling" else p for p in shared),
    )


GAINS = ParameterKind(
    "a list of two or more numbers from 0 to 1e9 that do not decrease",
    lambda value: (
        isinstance(value, list | tuple | np.ndarray)
        and np.ndim(value) == 1
        and len(value) > 1
        and all(gain in Number(0, 1e9) for gain in value)
        and list(value) == sorted(value)
    ),
    "Sequence[float] | NDArray[Any]",
)
COLUMN = any_of(
    Number(0, MOST, integer=True), ParameterKind("a name", lambda v: isinstance(v, str), "str")
)

RANKER_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "ndcg",
        Options(("ndcg", "map", "pairwise", "listwise")),
        "Loss function to minimise. 'ndcg' is LambdaMART: pairs of rows with different relevance, "
        "weighted by the change of NDCG if they were swapped. 'map' is the same with mean average "
        "precision, for relevance 0 or 1. 'pairwise' gives all pairs of a query the same weight "
        "(RankNet). 'listwise' is the cross-entropy between the gains, normalised to sum to 1 in "
        "each query, and the softmax of the scores (ListNet).",
        Peers("objective", "objective", "loss_function", ""),
        group="Loss",
    ),
    Parameter(
        "gain",
        "exponential",
        any_of(Options(("exponential", "linear")), GAINS),
        "Gain of a row with relevance r: 'exponential' is 2^r − 1, for integers up to 30; "
        "'linear' is r, for any nonnegative numbers; a list contains the gain of each relevance "
        "0, 1, …",
        Peers("ndcg_exp_gain", "label_gain", "", ""),
        group="Loss",
    ),
    Parameter(
        "truncation",
        30,
        any_of(COUNT, NOTHING),
        "Truncation level of loss='ndcg' and 'map': only pairs with at least one row among this "
        "many top-ranked rows are used. None uses all pairs.",
        Peers("lambdarank_num_pair_per_sample", "lambdarank_truncation_level", "", ""),
        used=With("loss", Options(("ndcg", "map"))),
        group="Loss",
    ),
    Parameter(
        "sigma",
        1.0,
        Number(0, 1e6, open_low=True),
        "Steepness σ of the pairwise logistic loss log(1 + e^(−σ d)), where d is the difference "
        "of the scores.",
        Peers("", "sigmoid", "", ""),
        used=With("loss", Options(("ndcg", "map", "pairwise"))),
        group="Loss",
    ),
    Parameter(
        "normalize",
        True,
        FLAG,
        "Whether to limit the influence of single pairs and queries. With loss='ndcg' and 'map', "
        "the weight of a pair is the square root of its metric change, divided by the difference "
        "of its scores; with these and 'pairwise', the sum L of the lambdas in a query is "
        "rescaled to log2(1 + L).",
        Peers("lambdarank_normalization", "lambdarank_norm", "", ""),
        used=With("loss", Options(("ndcg", "map", "pairwise"))),
        group="Loss",
    ),
    Parameter(
        "qid_column",
        None,
        any_of(COLUMN, NOTHING),
        "Column of X, by name or index, with the query of each row. It is removed from the "
        "features, and column indices in other parameters do not count it. If None, pass qid or "
        "group to fit.",
        group="Loss",
    ),
)
# Descriptions that refer to rows elsewhere, and to queries here.
_RANKER_REWORDED = {
    "sampling": "How rows are sampled. 'uniform': each with the same probability. 'group': whole "
    f"queries. {GRADIENT_SAMPLING}",
    "max_categories": "Maximum number of categories that a split can divide into any two "
    "sets. A feature with more categories, or more than max_bins, is "
    "replaced by target statistics: mean relevances of other rows of the same category.",
    "validation_fraction": "Fraction of the queries in the validation set for early stopping, if "
    "there is no eval_set.",
    "eval_metric": "Metrics computed on the evaluation sets after each round; None is 'map' with "
    "loss='map', otherwise 'ndcg'. Names: 'ndcg', 'map', 'mrr', with a cutoff as in 'ndcg@10', and "
    "'precision@k' and 'recall@k' with a number k. "
    "Each is the mean over the queries that have a relevant row. A function is called for each "
    "query, as (y, scores), and returns a number or (name, number, higher_is_better). For a "
    "number alone, higher is better if the function's name ends in '_score', and lower if it ends "
    "in '_loss', '_error' or '_deviance'. Early stopping uses the first metric.",
}
RANKING = _one_score_parameters(RANKER_PARAMETERS, _RANKER_REWORDED)

SURVIVAL_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "cox",
        Options(("cox", "aft")),
        "Loss function to minimise. 'cox' is the negative log partial likelihood of Cox's "
        "proportional hazards model: scores are log hazard ratios. 'aft' is the negative log "
        "likelihood of an accelerated failure time model, log T = score + aft_scale · Z, for "
        "left-, right- and interval-censored times.",
        Peers("objective", "", "loss_function", ""),
        group="Loss",
    ),
    Parameter(
        "ties",
        "efron",
        Options(("efron", "breslow")),
        "How loss='cox' treats events at the same time. 'efron' is closer to the average over "
        "their possible orders; 'breslow' treats each as if it came first.",
        used=With("loss", Options(("cox",))),
        group="Loss",
    ),
    Parameter(
        "aft_distribution",
        "normal",
        Options(("normal", "logistic", "extreme")),
        "Distribution of Z with loss='aft': 'normal', 'logistic' and 'extreme' make T log-normal, "
        "log-logistic and Weibull.",
        Peers("aft_loss_distribution", "", "dist", ""),
        used=With("loss", Options(("aft",))),
        group="Loss",
    ),
    Parameter(
        "aft_scale",
        "auto",
        any_of(Number(1e-3, 100.0), Options(("auto",))),
        "Scale of Z with loss='aft'. 'auto' estimates it by maximum likelihood in each round.",
        Peers("aft_loss_distribution_scale", "", "scale", ""),
        used=With("loss", Options(("aft",))),
        group="Loss",
    ),
)
_SURVIVAL_REWORDED = {
    "sampling": "How rows are sampled. 'uniform': each with the same probability. 'group': whole "
    f"groups, as passed to fit. {GRADIENT_SAMPLING}",
    "max_categories": "Maximum number of categories that a split can divide into any two "
    "sets. A feature with more categories, or more than max_bins, is "
    "replaced by target statistics: mean survival of other rows of the same category.",
    "validation_fraction": "Fraction of the rows in the validation set for early stopping, if "
    "there is no eval_set.",
    "eval_metric": "Metrics computed on the evaluation sets after each round; None chooses "
    "the metric that belongs to the loss. Names: 'cox_nloglik' for loss='cox', the mean over "
    "events; 'aft_nloglik' for loss='aft', with the scale fitted to the evaluation set if "
    "aft_scale='auto'; 'concordance' for both. A function is called as "
    "(y, prediction[, sample_weight]), where y has the bounds of the times, (n, 2), and prediction "
    "is the result of predict, and returns a number or (name, number, higher_is_better). For a "
    "number alone, higher is better if the function's name ends in '_score', and lower if it ends "
    "in '_loss', '_error' or '_deviance'. Early stopping uses the first metric.",
}
SURVIVAL = _one_score_parameters(SURVIVAL_PARAMETERS, _SURVIVAL_REWORDED)
