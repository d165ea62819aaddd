"""Target statistics as the definition has them: for every row, a loop over the rows before it."""

import math

import numpy as np

from oracles.random_numbers import hash_of


def smoothing_of(codes, target, weights):
    """Variance within categories over that between them, by sums over rows."""
    rows = [i for i in range(len(codes)) if codes[i] >= 0 and weights[i] > 0]
    categories = sorted({codes[i] for i in rows})
    if len(categories) < 2 or len(rows) <= len(categories):
        return math.inf
    weight = {c: math.fsum(weights[i] for i in rows if codes[i] == c) for c in categories}
    mean = {
        c: math.fsum(weights[i] * target[i] for i in rows if codes[i] == c) / weight[c]
        for c in categories
    }
    total = math.fsum(weight.values())
    grand = math.fsum(weight[c] * mean[c] for c in categories) / total
    between_freedom, within_freedom = len(categories) - 1, len(rows) - len(categories)
    within = math.fsum(weights[i] * (target[i] - mean[codes[i]]) ** 2 for i in rows)
    within /= within_freedom
    between = math.fsum(weight[c] * (mean[c] - grand) ** 2 for c in categories) / between_freedom
    if between <= within * (1 + 2 * math.sqrt(2 / between_freedom + 2 / within_freedom)):
        return math.inf
    rows_of_one = (total - math.fsum(w * w for w in weight.values()) / total) / between_freedom
    return within / ((between - within) / rows_of_one)


def number(codes, target, weights, rows, code, prior, smoothing):
    """The number that some rows make for a category."""
    mine = [i for i in rows if codes[i] == code]
    count = math.fsum(weights[i] for i in mine)
    if count == 0:
        return prior
    return prior + math.fsum(weights[i] * (target[i] - prior) for i in mine) / (count + smoothing)


def training_numbers(codes, target, weights, seed, prior, smoothing, look_back=0.8):
    """Of each row, the number of the rows shortly before it on the circle."""
    n = len(codes)
    place = [hash_of(seed, "statistics_order", 0, row) for row in range(n)]
    numbers = np.empty(n)
    for row in range(n):
        back = [(place[row] - place[other]) % 2**64 for other in range(n)]
        before = [other for other in range(n) if 0 < back[other] <= int(look_back * 2**64)]
        numbers[row] = number(codes, target, weights, before, codes[row], prior, smoothing)
    return numbers
