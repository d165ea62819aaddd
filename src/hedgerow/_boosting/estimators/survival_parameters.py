"""The parameters of survival models: those of all gradient boosting, and their own."""

from __future__ import annotations

from hedgerow._boosting.estimators.one_score import one_score_parameters
from hedgerow._boosting.estimators.parameters import BY_GRADIENTS
from hedgerow._params import Number, Options, Parameter, Peers, With, any_of

OWN: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "cox",
        Options(("cox", "aft")),
        "What is minimised. 'cox' is the negative log of Cox's partial likelihood: scores are "
        "logarithms of risks, and hazards are proportional. 'aft' is that of accelerated failure "
        "times, log T = score + aft_scale · Z, and takes times that are left-, right- or "
        "interval-censored.",
        Peers("objective", "", "loss_function", ""),
        group="Loss",
    ),
    Parameter(
        "ties",
        "efron",
        Options(("efron", "breslow")),
        "Of loss='cox', how events at the same time are counted: Efron's way is closer to the mean "
        "over their orders, Breslow's takes each to be the first.",
        used=With("loss", Options(("cox",))),
        group="Loss",
    ),
    Parameter(
        "aft_distribution",
        "normal",
        Options(("normal", "logistic", "extreme")),
        "Of loss='aft', the distribution of Z: T is log-normal, log-logistic or Weibull.",
        Peers("aft_loss_distribution", "", "dist", ""),
        used=With("loss", Options(("aft",))),
        group="Loss",
    ),
    Parameter(
        "aft_scale",
        "auto",
        any_of(Number(1e-3, 100.0), Options(("auto",))),
        "Of loss='aft', the factor of Z. 'auto' is the one of greatest likelihood, found anew for "
        "the scores of each round.",
        Peers("aft_loss_distribution_scale", "", "scale", ""),
        used=With("loss", Options(("aft",))),
        group="Loss",
    ),
)
REWORDED = {
    "sampling": "How subsample is drawn. 'group' draws whole groups, of those that fit is given. "
    f"{BY_GRADIENTS}",
    "max_categories": "Categories of a column, at most, that splits part into any two sets. For "
    "those of a column that has more of them, or more than max_bins, numbers stand: means of how "
    "long rows lasted in other rows of the same category.",
    "validation_fraction": "Part of the rows held out for early stopping when there is no "
    "eval_set.",
    "eval_metric": "What is measured on the evaluation sets after each round; None is the loss's "
    "own. Names: 'cox_nloglik' of loss='cox', the mean over events; 'aft_nloglik' of loss='aft', "
    "if aft_scale='auto' with the scale that suits the rows measured; 'concordance' of both. A "
    "function is called as (y, prediction[, sample_weight]), where y has the bounds of the time, "
    "(n, 2), and prediction is what predict returns, and returns a number or (name, number, "
    "higher_is_better); of a number alone, higher is better if the function's name ends in "
    "'_score', and lower if in '_loss', '_error' or '_deviance'. The first metric decides when to "
    "stop.",
}
SURVIVAL = one_score_parameters(OWN, REWORDED)
