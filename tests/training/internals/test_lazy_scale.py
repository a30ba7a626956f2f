"""Scales that are folded into weights, against NumPy."""

import numpy as np

from sklearn_xc.training._lazy_scale import SMALLEST_SCALE, fold

RNG = np.random.default_rng(0)


def weights(by_feature):
    W = RNG.normal(size=(7, 4)).astype(np.float32)
    return np.ascontiguousarray(W.T).T if by_feature else W


def test_folding_leaves_the_scaled_weights_as_they_are():
    for by_feature in (False, True):
        W, scale = weights(by_feature), RNG.uniform(0.1, 2, size=7)
        scale[3] = 1
        expected = W * scale[:, None]
        fold(W, scale)
        np.testing.assert_allclose(W, expected, rtol=1e-6)
        assert (scale == 1).all()


def test_only_tiny_scales_of_some_classes_are_folded():
    for by_feature in (False, True):
        W, scale = weights(by_feature), np.array([1, 0.5, 1e-7, 1e-8, 2, 1, 1e-9])
        expected = W * scale[:, None]
        fold(W, scale, np.array([1, 2, 6]))
        np.testing.assert_allclose(W * scale[:, None], expected, rtol=1e-6)
        assert scale.tolist() == [1, 0.5, 1, 1e-8, 2, 1, 1]
        assert SMALLEST_SCALE > 1e-7
