"""Functions inside of what `ppdsparse/test_gaps.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc._kernels.ppdsparse._solver import scores_in_lanes

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("d", [1, 7, 64, 1000])
def test_scores_of_dense_rows_are_those_of_numpy(d):
    """Whatever rows are beside a row, it has the same score to the last bit."""
    rng = np.random.default_rng(d)
    rows, weights = rng.normal(size=(53, d)), rng.normal(size=(d, 16))
    rows, weights = rows.astype(np.float32), weights.astype(np.float32)
    bias = rng.normal(size=16).astype(np.float32)
    scores = scores_in_lanes(rows, weights, bias)
    rounding = (d + 1) * np.finfo(np.float32).eps * (np.abs(rows) @ np.abs(weights) + np.abs(bias))
    exact = rows.astype(float) @ weights.astype(float) + bias
    assert (np.abs(scores - exact) <= rounding).all()
    for start in (1, 5, 50):
        np.testing.assert_array_equal(scores_in_lanes(rows[start:], weights, bias), scores[start:])
