"""From label indicators to one label a sample."""

import numpy as np
import scipy.sparse as sp

from ..utils._matrix import checked, checked_csr
from ..utils._typing import MatrixLike

# Of the indicators made here. An indicator is computed with: ``Y.T @ Y`` counts how often labels
# stand together, ``-Y.sum(axis=0)`` sorts them by frequency. In 8 bits the first overflows at 256
# without a word, and of unsigned numbers the second is no negative. 32 bits with a sign hold what
# two thousand million rows can count, in half of the memory of scikit-learn's int64.
INDICATOR_DTYPE = np.int32


def first_label(Y: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest label of every sample of a label indicator.

    This turns a multilabel problem with about one label a sample into a multiclass one.

    Parameters
    ----------
    Y : {array-like, sparse matrix or array} of shape (n_samples, n_classes)
        Label indicator; every non-zero entry is a label.

    Returns
    -------
    labels : ndarray of shape (n_samples,), dtype int64
        The smallest column number with a label, and -1 for samples without labels.
    has_label : ndarray of shape (n_samples,), dtype bool
        Whether the sample has a label.

    Raises
    ------
    ValueError
        If `Y` is not two-dimensional.

    See Also
    --------
    load_xc : Read features and a label indicator from a file.

    Examples
    --------
    >>> from sklearn_xc.datasets import first_label
    >>> labels, has_label = first_label([[0, 1, 1], [0, 0, 0], [1, 0, 1]])
    >>> labels
    array([ 1, -1,  0])
    >>> has_label
    array([ True, False,  True])
    """
    Y = checked(Y, "Y") if sp.issparse(Y) else np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(f"Y must be two-dimensional, it has shape {Y.shape}")
    # stored zeros are no labels, which `nonzero` leaves out
    rows, columns = Y.nonzero()
    n_samples, n_classes = Y.shape
    # n_classes, larger than any column, stays where there is no label
    labels = np.full(n_samples, n_classes, dtype=np.int64)
    np.minimum.at(labels, rows, columns)
    has_label = labels < n_classes
    labels[~has_label] = -1
    return labels, has_label


def repeat_per_label(
    X: MatrixLike, Y: MatrixLike
) -> tuple[np.ndarray | sp.csr_array, np.ndarray, np.ndarray]:
    """Repeat each sample for every label that it has, with that label.

    This turns a multilabel problem into a multiclass one for training, as the MEMOIR paper does
    with its data. Split into training and test samples before.

    Parameters
    ----------
    X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
        Features.
    Y : {array-like, sparse matrix or array} of shape (n_samples, n_classes)
        Label indicator; every non-zero entry is a label.

    Returns
    -------
    X_repeated : ndarray or csr_array of shape (n_labels, n_features)
        Samples in the order of X; samples without labels are left out.
    y : ndarray of shape (n_labels,), dtype int64
        Column numbers, ascending for the copies of a sample.
    rows : ndarray of shape (n_labels,), dtype int64
        The row of X that each is a copy of.

    Raises
    ------
    ValueError
        If `Y` is not two-dimensional, or X and Y have different numbers of samples.

    See Also
    --------
    first_label : One label a sample, without repetitions.

    Examples
    --------
    >>> from sklearn_xc.datasets import repeat_per_label
    >>> X, y, rows = repeat_per_label([[1.0], [2.0], [3.0]], [[0, 1, 1], [0, 0, 0], [1, 0, 1]])
    >>> y, rows
    (array([1, 2, 0, 2]), array([0, 0, 2, 2]))
    >>> X.ravel()
    array([1., 1., 3., 3.])
    """
    Y, X = (
        sp.csr_array(checked_csr(M, name)) if sp.issparse(M) else np.asarray(M)
        for M, name in ((Y, "Y"), (X, "X"))
    )
    if Y.ndim != 2:
        raise ValueError(f"Y must be two-dimensional, it has shape {Y.shape}")
    if len(X.shape) != 2 or X.shape[0] != Y.shape[0]:
        raise ValueError(f"X and Y must have as many samples, got shapes {X.shape} and {Y.shape}")
    if sp.issparse(Y) and not Y.has_canonical_format:
        Y = Y.copy()  # the caller's arrays stay as they are
        Y.sum_duplicates()  # a label that is stored twice is one
    rows, labels = (found.astype(np.int64) for found in Y.nonzero())
    order = np.lexsort((labels, rows))
    rows, labels = rows[order], labels[order]
    return X[rows], labels, rows
