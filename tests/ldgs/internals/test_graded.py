"""Functions inside of what `ldgs/test_graded.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc._kernels.ldgs import _full_gradient
from sklearn_xc._kernels.ldgs import _losses as kernel

WEIGHED = ["cross_entropy", "triplet"]


def reference(loss, z, weight):
    """Loss and gradient of a set whose first scores are of positives, in float64."""
    z, n = z.astype(float), len(weight)
    if loss == "cross_entropy":
        log_total = np.log(np.exp(z).sum())
        gradient = weight.sum() * np.exp(z - log_total)
        gradient[:n] -= weight
        return weight @ (log_total - z[:n]), gradient
    margins = z[None, n:] - z[:n, None] + 1
    violated = (margins > 0) * weight[:, None]
    gradient = np.append(-violated.sum(axis=1), violated.sum(axis=0))
    return (violated * margins).sum(), gradient


@pytest.mark.kernel
@pytest.mark.parametrize("loss", WEIGHED)
def test_kernels_weigh_positives(loss):
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, n_positive = rng.integers(4, 12), rng.integers(1, 4)
        z = (2 * rng.normal(size=n)).astype(np.float32)
        weight = rng.choice([0.2, 0.5, 1.0], n_positive).astype(np.float32)
        gradient = np.empty(n, np.float32)
        value = kernel.of_set(kernel.KINDS[loss], 1.0, 0.0, z, weight, n_positive, gradient)
        expected, of_scores = reference(loss, z, weight.astype(float))
        assert value == pytest.approx(expected, rel=1e-4, abs=1e-5)
        np.testing.assert_allclose(gradient, of_scores, atol=1e-4)


@pytest.mark.kernel
def test_gradients_of_all_classes_weigh_positives():
    rng = np.random.default_rng(0)
    n, K = 9, 40
    indptr = np.append(0, np.cumsum(rng.integers(0, 4, n)))
    ids = np.concatenate([rng.choice(K, m, replace=False) for m in np.diff(indptr)])
    weight = rng.random(len(ids)).astype(np.float32)
    positives = _full_gradient.Positives(indptr, ids.astype(np.int32), weight)
    scores = rng.normal(size=(n, K)).astype(np.float32)
    Z, losses = scores.copy(), np.empty(n)
    _full_gradient.softmax_gradients(Z, positives, losses, 1)
    W, H = np.eye(K, dtype=np.float32), scores.copy()
    of_W, of_H, of_blocks = np.empty_like(W), np.empty_like(H), np.empty(n)
    scratch = _full_gradient.BlockScratch(
        np.empty((n, K), np.float32),
        np.empty((1, n), np.float32),
        np.empty((1, n)),
        np.empty(n),
        np.empty((1, n, K), np.float32),
    )
    ones = np.ones(n, np.float32)
    _full_gradient.cross_entropy(W, H, positives, ones, scratch, of_W, of_H, of_blocks, 1)
    for i in range(n):
        own = slice(indptr[i], indptr[i + 1])
        order = np.append(ids[own], np.setdiff1d(np.arange(K), ids[own]))
        value, gradient = reference("cross_entropy", scores[i, order], weight[own].astype(float))
        assert losses[i] == pytest.approx(value, abs=1e-4)
        assert of_blocks[i] == pytest.approx(value, abs=1e-4)
        np.testing.assert_allclose(Z[i, order], gradient, atol=1e-5)
        np.testing.assert_allclose(of_H[i, order], gradient, atol=1e-5)
