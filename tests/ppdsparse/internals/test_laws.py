"""Functions inside of what `ppdsparse/test_laws.py` tests from outside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc._kernels.ppdsparse._active_set import sparsify

pytestmark = pytest.mark.kernel


def sparsified_many_times(w, delta, times=4000):
    copies, draws = zip(*(sparsify(w, delta, seed) for seed in range(times)), strict=True)
    assert len(set(draws)) == 1
    return np.array(copies, dtype=float), draws[0]


@pytest.mark.parametrize("delta", [0.2, 0.5, 2.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_sparsification_is_unbiased_sparse_and_close(delta, seed):
    rng = np.random.default_rng(seed)
    w = (rng.standard_t(3, size=30) * (rng.random(30) < 0.7)).astype(np.float32) / 3
    copies, draws = sparsified_many_times(w, delta)
    assert draws == np.ceil(2 * np.abs(w.astype(float)).sum() ** 2 / delta**2)
    assert (np.count_nonzero(copies, axis=1) <= draws).all()
    assert not copies[:, w == 0].any()
    error = copies.std(axis=0, ddof=1) / np.sqrt(len(copies))
    assert (np.abs(copies.mean(axis=0) - w) <= 5 * error + 1e-6).all()  # E[w~] = w
    x = rng.normal(size=(20, 30))
    rms = np.sqrt(np.mean(((copies - w) @ x.T) ** 2, axis=0))
    bound = delta / np.sqrt(2) * np.abs(x).max(axis=1)
    assert (rms <= bound * 1.05).all()


def test_sparsification_of_nothing_is_nothing():
    for w in np.zeros(5, dtype=np.float32), np.zeros(0, dtype=np.float32):
        copy, draws = sparsify(w, 0.5, 0)
        assert draws == 0
        np.testing.assert_array_equal(copy, w)


@given(
    st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=12),
    st.floats(0.3, 5.0),
    st.integers(0, 2**63),
)
def test_a_sparsified_vector_keeps_norm_and_signs(values, delta, seed):
    w = np.array(values, dtype=np.float32)
    copy, draws = sparsify(w, delta, seed)
    assert np.count_nonzero(copy) <= draws
    assert (copy * w >= 0).all()
    assert np.abs(copy).sum(dtype=float) == pytest.approx(np.abs(w).sum(dtype=float), rel=1e-3)
