"""What was chosen for parameters that are "auto" ↔ a model file."""

from __future__ import annotations

from typing import Any

from hedgerow._boosting.fit.auto import MOST_MEMBERS, Choice, Tried
from hedgerow._boosting.fit.settings import PLAIN
from hedgerow._model_file.container import Document
from hedgerow._model_file.stored import is_number, is_table, require
from hedgerow._model_file.values import decode, encode

_FIELDS = {"parameters", "n_members", "metric", "n_folds", "tried", "best"}


def write_choice(choice: Choice) -> Document:
    """Return a choice as JSON types."""
    sliced = {"in_turn": choice.in_turn} if choice.in_turn else {}
    return sliced | {
        "parameters": dict(choice.parameters),
        "n_members": choice.n_members,
        "metric": choice.metric,
        "n_folds": choice.n_folds,
        "best": choice.best,
        "tried": [
            [dict(trial.parameters), trial.n_rounds, encode(trial.score), encode([*trial.curve])]
            for trial in choice.tried
        ],
    }


def read_choice(stored: Any) -> Choice:
    """Read what `write_choice` gave."""
    is_choice = is_table(stored) and set(stored) - {"in_turn"} == _FIELDS
    require(is_choice, "there is no choice of parameters")
    members, metric, folds = stored["n_members"], stored["metric"], stored["n_folds"]
    require(
        type(members) is int and members in (1, 2, MOST_MEMBERS),
        "the number of models is not a small power of 2",
    )
    require(isinstance(metric, str), "the metric has no name")
    require(type(folds) is int and folds >= 0, "the number of folds is not one")
    require(isinstance(stored["tried"], list), "what was tried is not a list")
    parameters = _read_parameters(stored["parameters"])
    require("n_estimators" in parameters, "no number of rounds was chosen")
    trials, best = tuple(map(_read_trial, stored["tried"])), stored["best"]
    require(type(best) is int and 0 <= best <= max(len(trials) - 1, 0), "the best was not tried")
    require(len({frozenset(each.parameters) for each in trials}) <= 1, "trials differ in kind")
    in_turn = stored.get("in_turn", 0)
    is_fewer = type(in_turn) is int and in_turn in range(members)
    require(is_fewer, "more models stand in turn than there are")
    return Choice(parameters, members, metric, folds, trials, best, in_turn)


def _read_parameters(stored: Any) -> dict[str, Any]:
    """Read the numbers in place of some parameters; a positive one could have been chosen."""
    what = "the parameters that were chosen are not numbers"
    require(is_table(stored) and set(stored) <= set(PLAIN), what)
    for name, value in stored.items():
        is_count = name in ("n_estimators", "max_leaves", "min_samples_leaf")
        if name == "max_leaves" and value is None:
            continue
        require(type(value) is int if is_count else is_number(value), what)
        require(0 <= value < 2**31, what)
    return {name: stored[name] for name in PLAIN if name in stored}


def _read_trial(stored: Any) -> Tried:
    require(isinstance(stored, list) and len(stored) == 4, "what was tried is not a trial")
    parameters, n_rounds, score, curve = stored
    score, curve = decode(score), decode(curve)
    is_curve = isinstance(curve, list) and all(map(is_number, curve))
    require(is_curve, "a trial's curve is not numbers")
    require(
        is_table(parameters) and "max_leaves" in parameters, "a trial is of no known kind of trees"
    )
    require(type(n_rounds) is int and n_rounds >= 0, "a trial's best round is not a number")
    require(is_number(score), "a trial's score is not a number")
    return Tried(_read_parameters(parameters), n_rounds, score, tuple(curve))
