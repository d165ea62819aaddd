"""What a constructor was given that it does not take, in words that lead on.

Names may be misspelt, other libraries' (`Peers` of the declarations knows those of estimators,
`NATIVE` those of their other interfaces), or those of arguments of `fit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from inspect import signature
from typing import Any

from hedgerow.params import Parameter
from hedgerow.spelling import nearest

# What XGBoost, LightGBM and CatBoost call parameters that their estimators have another name for.
NATIVE = {
    "alpha": ("reg_alpha", "quantile", "delta"),
    "auto_class_weights": ("class_weight",),
    "bagging_fraction": ("subsample",),
    "bin_construct_sample_cnt": ("subsample_for_bin",),
    "eta": ("learning_rate",),
    "feature_fraction": ("colsample_bytree",),
    "is_unbalance": ("class_weight", "scale_pos_weight"),
    "lambda": ("reg_lambda",),
    "lambda_l1": ("reg_alpha",),
    "lambda_l2": ("reg_lambda",),
    "min_data_in_leaf": ("min_samples_leaf",),
    "min_gain_to_split": ("min_split_gain",),
    "min_split_loss": ("min_split_gain",),
    "min_sum_hessian_in_leaf": ("min_child_weight",),
    "nthread": ("n_jobs",),
    "num_boost_round": ("n_estimators",),
    "num_iterations": ("n_estimators",),
    "num_threads": ("n_jobs",),
    "od_wait": ("n_iter_no_change",),
    "random_seed": ("random_state",),
    "seed": ("random_state",),
}


def explain_arguments(cls: type[Any], given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise TypeError if the constructor does not take what it is given by place and by name."""
    if not given and named.keys() <= (cls.__init__.__kwdefaults__ or {}).keys():
        return
    taken = signature(cls.__init__)
    names = [*taken.parameters][1:]
    try:
        taken.bind(None, *given, **named)
    except TypeError:  # which the constructor would raise in Python's words
        unknown = [name for name in named if name not in names]
        if unknown:
            raise TypeError(about(unknown[0], cls, names)) from None
        if given:
            name = cls.__name__
            raise TypeError(
                f"{name} takes its parameters by name, as in {name}({names[0]}=…)."
            ) from None


def about(unknown: str, cls: type[Any], names: Sequence[str]) -> str:
    """Say what to write instead of a name that is none of a parameter."""
    text = f"{cls.__name__} has no parameter {unknown!r}"
    if unknown in signature(cls.fit).parameters:
        return f"{text}; it is an argument of fit."
    not_needed = getattr(cls, "_not_needed", {})
    if unknown in not_needed:
        return f"{text}: {not_needed[unknown]}."
    ours = _of_peers(unknown, cls._parameters)
    if not ours:
        near = nearest(unknown, names)
        ours = [] if near is None else [near]
    if not ours:
        return f"{text}; its parameters are {', '.join(names)}."
    return f"{text}; did you mean {' or '.join(map(repr, ours))}?"


def _of_peers(name: str, parameters: Iterable[Parameter]) -> list[str]:
    """Return our names of what other libraries give this name."""
    return [
        parameter.name
        for parameter in parameters
        if name in astuple(parameter.peers) or parameter.name in NATIVE.get(name, ())
    ]
