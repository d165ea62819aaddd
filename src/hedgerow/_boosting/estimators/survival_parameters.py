"""The parameters of survival models: those of all gradient boosting, and their own."""

from __future__ import annotations

from hedgerow._boosting.estimators.one_score import one_score_parameters
from hedgerow._boosting.estimators.parameters import GRADIENT_SAMPLING
from hedgerow._params import Number, Options, Parameter, Peers, With, any_of

OWN: tuple[Parameter, ...] = (
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
REWORDED = {
    "sampling": "How rows are sampled. 'uniform': each with the same probability. 'group': whole "
    f"groups, as passed to fit. {GRADIENT_SAMPLING}",
    "max_categories": "Maximum number of categories of a feature whose splits divide the "
    "categories into any two sets. A feature with more categories, or more than max_bins, is "
    "replaced by target statistics: mean survival of other rows of the same category.",
    "validation_fraction": "Fraction of the rows in the validation set for early stopping, if "
    "there is no eval_set.",
    "eval_metric": "Metrics computed on the evaluation sets after each round; None is that of the "
    "loss. Names: 'cox_nloglik' for loss='cox', the mean over events; 'aft_nloglik' for "
    "loss='aft', with the scale fitted to the evaluation set if aft_scale='auto'; 'concordance' "
    "for both. A function is called as (y, prediction[, sample_weight]), where y has the bounds "
    "of the times, (n, 2), and prediction is the result of predict, and returns a number or "
    "(name, number, higher_is_better). For a number alone, higher is better if the function's "
    "name ends in '_score', and lower if it ends in '_loss', '_error' or '_deviance'. The first "
    "metric decides on early stopping.",
}
SURVIVAL = one_score_parameters(OWN, REWORDED)
