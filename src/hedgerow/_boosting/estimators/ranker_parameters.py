"""The parameters of a ranker: those of all gradient boosting, and its own."""

from __future__ import annotations

import numpy as np

from hedgerow._boosting.estimators.one_score import one_score_parameters
from hedgerow._boosting.estimators.parameters import BY_GRADIENTS
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

OWN: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "ndcg",
        Options(("ndcg", "map", "pairwise", "listwise")),
        "What is minimised. 'ndcg' is LambdaMART: pairs of rows of different relevance, weighed by "
        "what swapping them would do to the NDCG. 'map' is the same of the mean average precision, "
        "for relevances 0 and 1. 'pairwise' weighs all pairs of a query alike (RankNet). "
        "'listwise' is the cross-entropy between the gains, as parts of their sum in the query, "
        "and the softmax of the scores (ListNet).",
        Peers("objective", "objective", "loss_function", ""),
        group="Loss",
    ),
    Parameter(
        "gain",
        "exponential",
        any_of(Options(("exponential", "linear")), GAINS),
        "What a row of relevance r is worth: 2^r − 1, for ints up to 30; r itself, for any numbers "
        "that are not negative; or the r-th number of a list.",
        Peers("ndcg_exp_gain", "label_gain", "", ""),
        group="Loss",
    ),
    Parameter(
        "truncation",
        30,
        any_of(COUNT, NOTHING),
        "Of loss='ndcg' and 'map', how far down a ranking is looked at: at least one row of a pair "
        "is among so many that are ranked first. None takes all pairs.",
        Peers("lambdarank_num_pair_per_sample", "lambdarank_truncation_level", "", ""),
        used=With("loss", Options(("ndcg", "map"))),
        group="Loss",
    ),
    Parameter(
        "sigma",
        1.0,
        Number(0, 1e6, open_low=True),
        "σ, how fast the loss of a pair falls with the difference of its scores.",
        Peers("", "sigmoid", "", ""),
        used=With("loss", Options(("ndcg", "map", "pairwise"))),
        group="Loss",
    ),
    Parameter(
        "normalize",
        True,
        FLAG,
        "Whether few pairs, and few queries, are kept from outweighing all others. With "
        "loss='ndcg' and 'map' a pair counts by the root of what swapping it would change, divided "
        "by the difference of its scores; but for 'listwise' the sum L of the forces in a query "
        "becomes log2(1 + L).",
        Peers("lambdarank_normalization", "lambdarank_norm", "", ""),
        used=With("loss", Options(("ndcg", "map", "pairwise"))),
        group="Loss",
    ),
    Parameter(
        "qid_column",
        None,
        any_of(COLUMN, NOTHING),
        "The column of X, by name or index, that tells the query of a row. It is taken out of the "
        "features, so that other parameters do not count it. None: fit is given qid or group.",
        group="Loss",
    ),
)
# What is said of rows elsewhere is said of queries here.
REWORDED = {
    "sampling": f"How subsample is drawn. 'group' draws whole queries. {BY_GRADIENTS}",
    "max_categories": "Categories of a column, at most, that splits part into any two sets. For "
    "those of a column that has more of them, or more than max_bins, numbers stand: means of the "
    "relevance in other rows of the same category.",
    "validation_fraction": "Part of the queries held out for early stopping when there is no "
    "eval_set.",
    "eval_metric": "What is measured on the evaluation sets after each round; None is 'map' of "
    "loss='map', else 'ndcg'. Names: 'ndcg', 'map', 'mrr', up to a rank as in 'ndcg@10'. Each is "
    "the mean over queries, those left out that have no relevant row. A function is called for "
    "each query, as (y, scores), and returns a number or (name, number, higher_is_better); of a "
    "number alone, higher is better if the function's name ends in '_score', and lower if in "
    "'_loss', '_error' or '_deviance'. The first metric decides when to stop.",
}
RANKING = one_score_parameters(OWN, REWORDED)
