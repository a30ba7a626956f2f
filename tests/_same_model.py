"""Whether two fitted estimators are the same to the last bit."""

import numpy as np
from scipy import sparse

# How a fit was made, and what follows from the rest.
NOT_THE_MODEL = "n_jobs", "checkpoint", "scratch", "_index_cache", "_encoding"


def assert_same_bits(some, other):
    for name in vars(other):
        if name in NOT_THE_MODEL:
            continue
        a, b = getattr(some, name), getattr(other, name)
        if sparse.issparse(a):
            for part in "indptr", "indices", "data":
                np.testing.assert_array_equal(getattr(a, part), getattr(b, part), err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)
