"""Texts as sparse tables: a column for each word, of which a row has few."""

from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.generated import Labels

WORDS_EACH = 57  # of 20,000 about 0.3 % are then stored


def text_rows(
    n_rows: int, n_words: int = 10_000, words_each: int = 75, seed: int = 0
) -> tuple[Any, Any]:
    """Texts of words that are as rare as Zipf's law has it, as rows of tf-idf of length 1."""
    rng = np.random.default_rng(seed)
    rarity = 1.0 / (np.arange(n_words) + 10.0)
    lengths = rng.poisson(words_each, n_rows) + 5
    # 32 bits: LIBLINEAR takes no other indices.
    words = rng.permutation(n_words).astype(np.int32)[
        rng.choice(n_words, size=lengths.sum(), p=rarity / rarity.sum())
    ]
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), lengths)
    counts = scipy.sparse.csr_array((np.ones(len(rows)), (rows, words)), shape=(n_rows, n_words))
    counts.sum_duplicates()
    texts_with = np.bincount(counts.indices, minlength=n_words)
    idf = np.log((1 + n_rows) / (1 + texts_with)) + 1.0
    X = counts.copy()
    X.data = (1.0 + np.log(counts.data)) * idf[counts.indices]
    lengths = np.sqrt((X * X).sum(axis=1))
    X = scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 / lengths) @ X)
    signal = X @ (rng.standard_normal(n_words) * (rng.random(n_words) < 0.3))
    noise = 0.5 * signal.std() * rng.standard_normal(n_rows)
    return X, (signal + noise > 0).astype(np.int64)


def text_table(rows: int, columns: int, seed: int) -> tuple[Any, Labels]:
    """Two classes of texts in float32, as a matrix: LightGBM predicts no sparse arrays."""
    X, y = text_rows(rows, columns, WORDS_EACH, seed)
    return scipy.sparse.csr_matrix(X, dtype=np.float32), y.astype(np.int32)
