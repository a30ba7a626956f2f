"""Dense rows rounded to bytes beside the rows themselves, where searches of them are cheaper."""

import numpy as np

from .._kernels.ppdsparse._byte_rows import GROUP, round_rows

FEWEST_ROWS, FEWEST_CLASSES, FEWEST_FEATURES = 4096, 32, 16
LARGEST_ERROR = 0.03  # of a row by its length, in the mean: beyond it most rows may violate


def rounded_rows(rows, n_classes, empty=np.empty):
    """The arguments of `ByteRows`, or None for rows that are searched in float32.

    Rounding costs about as many operations as searches of FEWEST_CLASSES, and the lists that a
    search by bytes ends with are shorter than the rows only where there are many of these. Rows
    whose largest entry is far above the others lose too much.

    Parameters
    ----------
    rows : Rows
    n_classes : int
    empty : callable
        Makes an array as large as the values of X, as :func:`numpy.empty`.

    Returns
    -------
    values : ndarray of uint8 (n_samples, n_features filled up)
    scale, error, length : ndarray of float32 (n_samples,)
    """
    n_samples, n_features = rows.shape
    if not rows.dense or n_classes < FEWEST_CLASSES:
        return None
    if n_samples < FEWEST_ROWS or n_features < FEWEST_FEATURES:
        return None
    values = empty((n_samples, -(-n_features // GROUP) * GROUP), np.uint8)
    scale, error, length = round_rows(rows.matrix(), values)
    if error.sum(dtype=np.float64) > LARGEST_ERROR * length.sum(dtype=np.float64):
        return None
    return values, scale, error, length
