"""Sparse weights of many classes, put together from the blocks that were solved."""

import numpy as np
from scipy import sparse


def weights_of_classes(labels, counts, entries, n_classes, names, n_features=None):
    """CSR weights from the results of all blocks.

    Parameters
    ----------
    labels : ndarray of int32 (n_solved,)
        The classes in the order in which the blocks finished them.
    counts : sequence of ndarray of int64
        For each block, the number of weights of each of its classes.
    entries : sequence of (indices, data)
        For each block, the positions (int32) and values (float32) of these weights.
    n_classes : int
    names : ndarray of int32 (n_features,)
        The feature that each position stands for.
    n_features : int, default=None
        How many there are, where not all have a position.

    Returns
    -------
    weights : csr_array of float32 (n_classes, n_features)
        With sorted int32 indices; classes that were not solved have no weights.
    """
    indices = names[np.concatenate([block[0] for block in entries])]
    data = np.concatenate([block[1] for block in entries])
    of_class = np.repeat(labels, np.concatenate(counts))
    shape = n_classes, len(names) if n_features is None else n_features
    weights = sparse.coo_array((data, (of_class, indices)), shape=shape).tocsr()
    weights.sort_indices()
    return weights
