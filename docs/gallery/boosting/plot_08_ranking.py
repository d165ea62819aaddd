"""
Ranking: the order within a query
=================================

A search engine need not know how relevant a page is, only which page comes before which.
LambdaMART learns that order, and cares most about its first places.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(0)
n_queries, size = 300, 20
qid = np.repeat(np.arange(n_queries), size)
X = random.normal(size=(n_queries * size, 6))

# %%
# What is good differs from query to query by a constant that no column tells: levels cannot be
# compared between queries, but orders within them can be learned.
usefulness = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + random.normal(0.0, 0.5, len(qid))
within = usefulness.reshape(n_queries, size).argsort(axis=1).argsort(axis=1).reshape(-1)
relevance = np.digitize(within, [10, 15, 18])  # 0 to 3; two rows of twenty are a 3
train = qid < 200
ranker = hr.GradientBoostingRanker(n_estimators=120, learning_rate=0.1)
ranker.fit(X[train], relevance[train], qid=qid[train])

# %%
# The mean relevance at each place of the list: the ideal order, the ranker's, and that of the best
# single column. A perfect ranker would follow the dotted line.
truth = relevance[~train].reshape(-1, size)


def by_place(scores):
    """Return the mean relevance at each place of the ranking by some scores."""
    order = np.argsort(-scores.reshape(-1, size), axis=1, kind="stable")
    return np.take_along_axis(truth, order, axis=1).mean(axis=0)


figure, ax = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
places = np.arange(1, size + 1)
ax.plot(places, -np.sort(-truth, axis=1).mean(axis=0), ":", color="#5a5a5a", label="ideal")
ax.plot(places, by_place(ranker.predict(X[~train])), "o-", color="#0072b2", label="ranker")
ax.plot(places, by_place(X[~train, 0]), "s-", color="#e69f00", label="first column alone")
ax.axhline(truth.mean(), color="#b8b8b8", linewidth=1.0, label="any order")
ax.set(xlabel="place in the list", ylabel="mean relevance", xticks=places[::2])
ax.legend(frameon=False)

# %%
# NDCG weighs first places most; 1 is the ideal order.
for k in (1, 5, 20):
    score = ranker.score(X[~train], relevance[~train], qid=qid[~train], k=k)
    print(f"NDCG@{k:<2} {score:.3f}")
