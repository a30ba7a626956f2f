"""Cost of a search, in counted operations.

The unit is one multiply-add of a matrix product by BLAS; everything else is this many of them.
The weights were fitted to the times in `benchmarks/results/mips.json`; its page also shows what
they predict beside what was measured. They are for many queries at a time and one thread.
"""

import numpy as np
from scipy import sparse

from ..topk._layout import FULL_SHARE

# Reading a score that a product has left, and comparing it.
SCAN = 25
# An inverted list: finding it, and each entry, whose place in the scores is anywhere. A row of a
# feature that is stored for all rows; a row beside, for reading all scores afterwards.
LIST, POSTING, FULL, CLASS = 2000, 80, 3, 10
# Numbers beyond this many bytes come from memory and not from a cache, when they are read in no
# order: a row of them costs READ_ROW and READ_NUMBER each, one in the caches CACHED_NUMBER.
CACHE = 16 << 20
READ_ROW, READ_NUMBER, CACHED_NUMBER = 500, 36, 4
# A node of a graph looked at: its neighbours' list and its vector are in no order either.
NODE, CACHED_NODE = 2000, 700
# Putting a row into a graph against searching for it with the same beam.
INSERT = 1.3
# Copying the rows of a list together, a number; shared by as many queries as read them at once.
COPY, SHARING = 64, 512
# A centroid's score, and finding the best of them.
CENTROID = 50
# A code compared, and each of its words.
CODE, WORD = 30, 16


def exact(store, queries):
    """A query of the exact search, on average over a sample of them.

    Parameters
    ----------
    store : RowStore
    queries : ndarray or csr_array (n, n_features)

    Returns
    -------
    cost : float
    """
    n_rows, n_features = store.shape
    if store.dense and not sparse.issparse(queries):
        return float(n_rows * (n_features + SCAN))
    if store.dense:
        return n_rows * (min(4.0 * queries.nnz / queries.shape[0], n_features) + SCAN)
    lengths = np.bincount(store.take(np.arange(n_rows)).indices, minlength=n_features)
    lists = np.where(lengths > FULL_SHARE * n_rows, FULL * n_rows, LIST + POSTING * lengths)
    if sparse.issparse(queries):
        total = lists[queries.indices].sum() / queries.shape[0]
    else:
        total = lists.sum()
    return float(total + CLASS * n_rows)


def scored(n, n_entries, n_bytes):
    """Scoring n rows of this many entries each, picked from this many bytes."""
    number = READ_NUMBER if n_bytes > CACHE else CACHED_NUMBER
    return n * (READ_ROW + number * n_entries)


def graph(n_rows, width, M, effort):
    """A query of a graph: the descent, then about M nodes looked at for each place of the beam."""
    node = NODE if n_rows * (4 * width + 8 * M) > CACHE else CACHED_NODE
    return (effort + np.log2(n_rows + 1)) * M * (width + node)


def graph_build(n_rows, width, M, ef_construction):
    return n_rows * INSERT * graph(n_rows, width, M, ef_construction)


def lists(n_rows, width, n_clusters, effort):
    """A query of inverted lists: the centroids, the lists read, its share of copying them."""
    read = effort * n_rows / n_clusters
    copied = min(1.0, SHARING * effort / n_clusters) * n_rows * COPY / SHARING
    return n_clusters * (width + CENTROID) + (read + copied) * (width + SCAN)


def lists_build(n_rows, width, n_clusters, n_points, n_iterations):
    return (n_rows + n_points * n_iterations) * n_clusters * (width + SCAN)


def codes(n_rows, width, n_bits):
    """A query of binary codes: its own code, and all distances."""
    return n_bits * width + n_rows * (CODE + WORD * n_bits // 64)


def codes_build(n_rows, width, n_bits):
    return n_rows * (n_bits * width + CODE * n_bits)
