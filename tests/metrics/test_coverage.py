"""Accuracy by the share of rows answered."""

import numpy as np
import pytest

from sklearn_xc.metrics import coverage_curve


def test_against_a_loop():
    rng = np.random.default_rng(0)
    y, found = rng.integers(0, 4, size=(2, 300))
    score = rng.integers(0, 20, size=300) / 20
    weight = rng.integers(0, 3, size=300).astype(float)
    coverage, accuracy, thresholds = coverage_curve(y, found, score, sample_weight=weight)
    np.testing.assert_array_equal(thresholds, np.unique(score[weight > 0])[::-1])
    for share, right, least in zip(coverage, accuracy, thresholds, strict=True):
        answered = score >= least
        assert share == pytest.approx(weight[answered].sum() / weight.sum())
        assert right == pytest.approx(np.average((y == found)[answered], weights=weight[answered]))
    assert coverage[-1] == 1


def test_forms():
    labels, p = np.array([["a", "b"], ["b", "a"]]), np.array([[0.9, 0.1], [0.6, 0.4]])
    expected = [[0.5, 1.0], [1.0, 0.5], [0.9, 0.6]]
    for y in (["a", "a"], np.array([[1, 0], [1, 0]])):
        classes = np.array(["a", "b"]) if np.ndim(y) == 2 else None
        np.testing.assert_allclose(coverage_curve(y, labels, p, classes=classes), expected)
    np.testing.assert_allclose(coverage_curve(["a", "a"], labels[:, 0], p[:, 0]), expected)
    np.testing.assert_allclose(coverage_curve([1.5, 1.5], [1.5, 2.5], p[:, 0]), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2], [0.5]), r"the same shape, .* got \(2,\) and \(1,\)"),
        (([1, 2], [1, 2], [0.5, np.nan]), "NaN or infinity"),
        (([1, 2], [1, 2, 3], [0.5, 0.5, 0.5]), "row|length|sample"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        coverage_curve(*arguments)
    with pytest.raises(ValueError, match="weight"):
        coverage_curve([1], [1], [0.5], sample_weight=[0])
