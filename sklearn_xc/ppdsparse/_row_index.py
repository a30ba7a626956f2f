"""The index over dense rows that may serve the searches of all classes (`search="hnsw"`).

The violators of a class are the rows of largest <w, x>. X never changes during a fit, so one index
serves every search of every class. What it misses costs a round: a class ends by a search of all
rows, whatever named its violators.
"""

from typing import Any, NamedTuple

import numpy as np

from ..mips import HNSWIndex
from ..mips import _cost as cost
from ..utils._optional_import import is_available
from ..utils._random import stream

# What `search="auto"` counts, in multiply-adds of a matrix product: a search by bytes takes a
# quarter of one for each number of X. A graph spares a class about one search of three, for four
# queries of about 300 rows each. Beams as wide as that, and building, take three times the counted
# operations of `mips`, whose unit is that of short queries (page on many classes).
OF_BYTES, SLOWER = 0.25, 3
SPARED, QUERIES, NAMED = 1, 4, 300
N_QUERIES = 256  # classes on whose positives the recall is measured


class RowIndex(NamedTuple):
    """What searches the rows.

    Attributes
    ----------
    search : {"exact", "hnsw"}
    index : HNSWIndex, or None
    recall : float
        Share of the ten rows of largest inner product that the index finds; 1.0 without one.
    """

    search: str
    index: Any
    recall: float


EXACT = RowIndex("exact", None, 1.0)


def graph_pays(n_samples, n_features, n_classes):
    """Whether a graph over dense rows saves more than it costs, by counted operations."""
    index = HNSWIndex()
    queries = QUERIES * cost.graph(n_samples, n_features, index.M, NAMED)
    built = cost.graph_build(n_samples, n_features, index.M, index.ef_construction)
    spared = SPARED * OF_BYTES * n_samples * n_features
    return n_classes * (spared - SLOWER * queries) > SLOWER * built


def wants_graph(search, sizes, dense, searched_whole):
    """Whether a fit takes a graph over its rows.

    Parameters
    ----------
    search : {"auto", "exact", "hnsw"}
    sizes : tuple
        Numbers of samples, of features, and of classes with positives.
    dense : bool
    searched_whole : bool
        Whether other searches read whole rows with whole weights.

    Raises
    ------
    ValueError
        If a graph is asked for over rows that are sparse, or searches that are not whole.
    """
    if search != "hnsw":
        possible = search == "auto" and dense and searched_whole
        return possible and is_available("hnswlib") and graph_pays(*sizes)
    if not searched_whole:
        raise ValueError(
            "search='hnsw' does not go with sparsification='random' or a feature_threshold above "
            "0, which shorten searches of all rows; set these to None and 0"
        )
    if not dense:
        raise ValueError(
            "search='hnsw' takes dense X: sparse rows, and dense ones that are mostly zeros, are "
            "searched through few of their columns; use search='auto' or 'exact'"
        )
    return True


def graph_over(X, Y, seed):
    """The `RowIndex` of dense rows, one thread, so that it is the same for any number of them.

    Parameters
    ----------
    X : ndarray of float32 (n_samples, n_features)
    Y : csc_array (n_samples, n_columns)
    seed : int
    """
    queries = directions(X, Y, stream(seed, "recall of the row index"))
    seed = int(stream(seed, "row index").integers(2**31))
    index = HNSWIndex(min_recall=0.0, n_jobs=1, random_state=seed).build(X, queries)
    return RowIndex("hnsw", index, index.recall_)


def directions(X, Y, rng):
    """What will be asked, about: sums of the positives of some classes less their share of X."""
    labels = np.flatnonzero(np.diff(Y.indptr))
    labels = np.sort(rng.permutation(labels)[:N_QUERIES])
    mean = X.mean(axis=0)
    rows = [Y.indices[Y.indptr[k] : Y.indptr[k + 1]] for k in labels]
    return np.stack([X[of_class].sum(axis=0) - len(of_class) * mean for of_class in rows])
