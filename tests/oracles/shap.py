"""Shapley values by their definition: every set of known players, one row at a time."""

from itertools import combinations
from math import factorial

import numpy as np

from oracles.predict import is_left, predict_raw


def share_left(ensemble, node, left, right):
    """The part of a node's training rows that go left."""
    for amount in (ensemble.cover, ensemble.count):
        a, b = float(amount[left]), float(amount[right])
        if a >= 0 and b >= 0 and a + b > 0:
            return a / (a + b)
    return 0.5


def expected(ensemble, row, player_of, known):
    """Scores of a row of which only the players in ``known`` are known (path-dependent)."""
    scores = ensemble.base_score.copy()
    n_values = ensemble.value.shape[1]

    def below(first, node):
        if ensemble.feature[node] < 0:
            return ensemble.value[node]
        left, right = first + ensemble.left[node], first + ensemble.right[node]
        feature = ensemble.feature[node]
        if player_of[feature] in known:
            return below(first, left if is_left(ensemble, node, row[feature]) else right)
        share = share_left(ensemble, node, left, right)
        return share * below(first, left) + (1.0 - share) * below(first, right)

    for tree, output in enumerate(ensemble.tree_output):
        first = int(ensemble.tree_offset[tree])
        scores[output : output + n_values] += below(first, first)
    return scores


def mixed(ensemble, row, background, player_of, known):
    """The mean score of a row whose unknown players are those of each row of a background."""
    is_known = np.isin(player_of, list(known))
    return predict_raw(ensemble, np.where(is_known, row, background)).mean(axis=0)


def shapley_values(game, n_players):
    """Values (n_players, n_outputs) of a game, a function of the set of known players."""
    worth = _worths(game, n_players)
    return np.stack(
        [
            sum(
                _weight(len(known), n_players - 1) * (worth[known | {j}] - worth[known])
                for known in _subsets(set(range(n_players)) - {j})
            )
            for j in range(n_players)
        ]
    )


def interaction_values(game, n_players):
    """Interaction values (n_players, n_players, n_outputs): half with each of a pair."""
    worth, values = _worths(game, n_players), shapley_values(game, n_players)
    pairs = np.zeros((n_players, *values.shape))
    for i, j in combinations(range(n_players), 2):
        pairs[i, j] = pairs[j, i] = sum(
            _weight(len(known), n_players - 1, of=2)
            * (worth[known | {i, j}] - worth[known | {i}] - worth[known | {j}] + worth[known])
            for known in _subsets(set(range(n_players)) - {i, j})
        )
    for i in range(n_players):
        pairs[i, i] = values[i] - pairs[i].sum(axis=0)
    return pairs


def _worths(game, n_players):
    return {known: game(known) for known in _subsets(set(range(n_players)))}


def _subsets(players):
    return [frozenset(c) for size in range(len(players) + 1) for c in combinations(players, size)]


def _weight(n_known, n_others, of=1):
    """How often so many players come before the one (or two) in an order of all; halved for two."""
    n = n_others + 1
    if of == 1:
        return factorial(n_known) * factorial(n - n_known - 1) / factorial(n)
    return factorial(n_known) * factorial(n - n_known - 2) / (2 * factorial(n - 1))
