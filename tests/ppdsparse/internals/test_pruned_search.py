"""Functions inside of what `ppdsparse/test_pruned_search.py` tests from outside."""

import numpy as np
from _made_text import make_text
from _ppdsparse_problem import solve

from sklearn_xc._kernels.ppdsparse._solver import Spare


def test_a_block_in_lanes_leaves_nothing_to_the_next_one():
    X, Y = make_text(n=8000, k=240)
    Y[:, 0] = np.arange(len(Y)) % 3 == 0  # columns of its features have most entries: in lanes
    spare = Spare()
    solve(X, Y, labels=[0], tol=0.01, spare=spare)
    after = solve(X, Y, labels=[1, 2, 3], tol=0.01, spare=spare)
    for name, expected in solve(X, Y, labels=[1, 2, 3], tol=0.01).items():
        np.testing.assert_array_equal(after[name], expected)
