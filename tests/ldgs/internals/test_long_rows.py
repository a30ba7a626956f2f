"""Functions inside of what `ldgs/test_long_rows.py` tests from outside."""

import numpy as np
from scipy import sparse

from sklearn_xc.ldgs._train import LDGSProblem
from sklearn_xc.utils._matrix import as_rows


def test_lengths_of_sparse_rows_do_not_round_off_beside_a_long_one():
    X = sparse.csr_array(np.array([[1e18, 0], [3e-4, 4e-4], [0, 0], [0, 2.0]], dtype=np.float32))
    for part, expected in ((X[1:], [5e-4, 0, 2]), (X, [1e18, 5e-4, 0, 2])):
        problem = LDGSProblem(as_rows(part), None, None, None, 2, False, True)
        np.testing.assert_allclose(problem.lengths(), expected)
