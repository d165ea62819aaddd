"""
Learning to rank
================

A search engine does not need to know how relevant a page is, only which pages to list first.
LambdaMART learns the order within each query and gives the top positions the most weight.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(0)
n_queries, size = 300, 20
qid = np.repeat(np.arange(n_queries), size)
X = random.normal(size=(n_queries * size, 6))

# %%
# The relevance of a row depends on its rank within its query. It cannot be compared between
# queries, but the order within them can be learned.
usefulness = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + random.normal(0.0, 0.5, len(qid))
within = usefulness.reshape(n_queries, size).argsort(axis=1).argsort(axis=1).reshape(-1)
relevance = np.digitize(within, [10, 15, 18])  # 0 to 3; two of twenty rows have relevance 3
train = qid < 200
ranker = hr.GradientBoostingRanker(n_estimators=120, learning_rate=0.1)
ranker.fit(X[train], relevance[train], qid=qid[train])

# %%
# The figure shows the mean relevance at each position of the list, for the ideal order, for the
# ranker and for the best single feature. A perfect ranker would follow the dotted line.
truth = relevance[~train].reshape(-1, size)


def by_position(scores):
    """Return the mean relevance at each position when rows are sorted by the scores."""
    order = np.argsort(-scores.reshape(-1, size), axis=1, kind="stable")
    return np.take_along_axis(truth, order, axis=1).mean(axis=0)


figure, ax = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
positions = np.arange(1, size + 1)
ax.plot(positions, -np.sort(-truth, axis=1).mean(axis=0), ":", color="#5a5a5a", label="ideal")
ax.plot(positions, by_position(ranker.predict(X[~train])), "o-", color="#0072b2", label="ranker")
ax.plot(positions, by_position(X[~train, 0]), "s-", color="#e69f00", label="first feature only")
ax.axhline(truth.mean(), color="#b8b8b8", linewidth=1.0, label="random order")
ax.set(xlabel="position in the list", ylabel="mean relevance", xticks=positions[::2])
ax.legend(frameon=False)

# %%
# NDCG weights the first positions most; 1 is the ideal order.
for k in (1, 5, 20):
    score = ranker.score(X[~train], relevance[~train], qid=qid[~train], k=k)
    print(f"NDCG@{k:<2} {score:.3f}")
