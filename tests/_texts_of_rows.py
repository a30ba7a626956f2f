"""Text in the XC format, and the matrices that it is to be read as."""

import numpy as np
import scipy.sparse as sp

N, D, K = 3000, 500, 40


def assert_equal(found, expected):
    for some, other in zip(found, expected, strict=True):
        assert some.shape == other.shape
        for part in "data", "indices", "indptr":
            a, b = getattr(some, part), getattr(other, part)
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, err_msg=part)


def sp_stacked(batches, like):
    batches = list(batches)
    if not batches:
        return tuple(matrix[:0] for matrix in like)
    return tuple(sp.vstack(m, format="csr") for m in zip(*batches, strict=True))
