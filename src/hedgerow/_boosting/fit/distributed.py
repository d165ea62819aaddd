"""Parameters that several workers do not support yet: refused by name, before any work is done."""

from __future__ import annotations

from hedgerow._boosting.fit.fit_data import Problem, Settings
from hedgerow._boosting.losses import CustomLoss, NativeLoss, RankingLoss
from hedgerow.exceptions import ParameterError

# Values of parameters that need all rows in one place, and what to do instead.
_REFUSED = (
    ("splitter", "exact", "Use splitter='hist'."),
    ("splitter", "approx", "Use splitter='hist'."),
    ("linear_leaves", True, "Use linear_leaves=False."),
    ("leaf_step", "minimum", "Use leaf_step='newton'."),
    ("boosting", "dart", "Use boosting='gradient'."),
)


def require_distributable(problem: Problem, settings: Settings) -> None:
    """Refuse what several workers cannot do together."""
    for name, value, advice in _REFUSED:
        if vars(settings.params).get(name) == value:
            raise _refusal(f"{name}={value!r}", advice)
    if settings.params.device != "cpu":
        raise _refusal(f"device={settings.params.device!r}", "Use device='cpu'.")
    if settings.params.calibration is not None:
        raise _refusal(
            f"calibration={settings.params.calibration!r}",
            "Fit without it, and call calibrate on a sample of rows.",
        )
    if settings.params.init_estimator is not None:
        raise _refusal(
            f"init_estimator={type(settings.params.init_estimator).__name__}",
            "Fit it first, and pass its scores as offset=….",
        )
    if problem.has_vector_leaves:
        raise _refusal("multi_strategy='vector'", "Use multi_strategy='separate'.")
    if not isinstance(problem.loss, NativeLoss | RankingLoss | CustomLoss):
        raise _refusal(
            f"loss={settings.params.loss!r}",
            "Use a built-in loss, or a function that returns gradient and hessian.",
        )
    most = min(settings.params.max_categories, settings.params.max_bins)
    for j, categories in problem.schema.categories.items():
        if len(categories.values) > most:
            names = problem.schema.feature_names
            raise _refusal(
                f"Column {j if names is None else repr(names[j])} with {len(categories.values)} "
                f"categories, more than max_categories={settings.params.max_categories},",
                "Encode it as numbers, or merge rare categories.",
            )


def _refusal(what: str, advice: str) -> ParameterError:
    return ParameterError(f"{what} cannot be used in a fit on several workers yet. {advice}")
