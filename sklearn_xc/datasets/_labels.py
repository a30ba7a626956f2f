"""From label indicators to one label a row."""

import numpy as np
import scipy.sparse as sp


def first_label(Y):
    """Smallest label of every row of a label indicator.

    This turns a multilabel problem with about one label a row into a multiclass one.

    Parameters
    ----------
    Y : {array-like, sparse matrix or array} of shape (n_samples, n_classes)
        Label indicator; every non-zero entry is a label.

    Returns
    -------
    labels : ndarray of shape (n_samples,), dtype int64
        The smallest column number with a label, and -1 in rows without labels.
    has_label : ndarray of shape (n_samples,), dtype bool
        Whether the row has a label.

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
    if not sp.issparse(Y):
        Y = np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(f"Y must be two-dimensional, it has shape {Y.shape}")
    rows, columns = Y.nonzero()
    n_samples, n_classes = Y.shape
    labels = np.full(n_samples, n_classes, dtype=np.int64)
    np.minimum.at(labels, rows, columns)
    has_label = labels < n_classes
    labels[~has_label] = -1
    return labels, has_label
