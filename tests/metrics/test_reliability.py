"""Reliability of the k best predictions and its expected error."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import calibration_curve

from sklearn_xc.metrics import expected_calibration_error, reliability_curve


def random_case(seed, n=60, n_classes=12, m=7):
    rng = np.random.default_rng(seed)
    labels = np.argsort(rng.random((n, n_classes)), axis=1)[:, :m]
    probabilities = -np.sort(-rng.random((n, m)), axis=1)
    truth = (rng.random((n, n_classes)) < 0.3).astype(int)
    return truth, labels, probabilities, rng.integers(0, 4, size=n)


def reference_error(truth, labels, probabilities, k, n_bins, weight):
    """Loops over predictions and bins."""
    entries = []
    for i, row in enumerate(labels):
        entries += [(truth[i, c], probabilities[i, r], weight[i]) for r, c in enumerate(row[:k])]
    hit, p, w = map(np.array, zip(*entries, strict=True))
    error = 0.0
    for b in range(n_bins):
        inside = (p > b / n_bins) & (p <= (b + 1) / n_bins) | ((b == 0) & (p == 0))
        error += abs(w[inside] @ (p[inside] - hit[inside]))
    return error / w.sum()


@pytest.mark.parametrize("k", [1, 5, 7])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_curve_is_scikit_learns_on_pooled_predictions(k, strategy):
    truth, labels, probabilities, _ = random_case(k)
    found = reliability_curve(truth, labels, probabilities, k, strategy=strategy)
    hits = np.take_along_axis(truth, labels, axis=1)[:, :k].ravel()
    p = probabilities[:, :k].ravel()
    expected = calibration_curve(hits, p, n_bins=10, strategy=strategy)
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    assert found[2].sum() == len(p)


@pytest.mark.parametrize("seed", range(5))
def test_error_is_the_reference(seed):
    truth, labels, probabilities, weight = random_case(seed)
    found = expected_calibration_error(
        sparse.csr_matrix(truth), labels, probabilities, 4, n_bins=6, sample_weight=weight
    )
    assert found == pytest.approx(reference_error(truth, labels, probabilities, 4, 6, weight))


def test_weights_are_repetitions():
    truth, labels, probabilities, weight = random_case(3)
    rows = np.repeat(np.arange(len(weight)), weight)
    some = reliability_curve(truth, labels, probabilities, sample_weight=weight)
    others = reliability_curve(truth[rows], labels[rows], probabilities[rows])
    for one, other in zip(some, others, strict=True):
        np.testing.assert_allclose(one, other)


def test_matrices_of_probabilities_give_what_labels_give():
    truth, labels, probabilities, _ = random_case(7)
    stored = sparse.csr_array(
        (probabilities.ravel(), labels.ravel(), np.arange(0, labels.size + 1, labels.shape[1])),
        shape=truth.shape,
    )
    expected = expected_calibration_error(truth, labels, probabilities)
    assert expected_calibration_error(truth, stored) == pytest.approx(expected)
    assert expected_calibration_error(truth, stored.toarray()) == pytest.approx(expected)


def test_entries_that_are_not_stored_are_not_counted():
    stored = sparse.csr_array(([0.5], [1], [0, 1, 1]), shape=(2, 3))
    assert reliability_curve([[0, 1, 0], [1, 0, 0]], stored)[2].tolist() == [1]


def test_labels_of_one_class_a_row():
    labels = np.array([["b", "a"], ["a", "c"]])
    error = expected_calibration_error(["b", "c"], labels, [[0.7, 0.3], [0.7, 0.3]])
    assert error == pytest.approx(0.2)
    # labels that are floats are no scores where y_prob stands beside them
    error = expected_calibration_error([2.0, 3.0], [[2.0], [1.0]], [[0.5], [0.5]])
    assert error == pytest.approx(0.0)


def test_probabilities_drawn_from_are_calibrated():
    rng = np.random.default_rng(0)
    p = rng.random((20000, 1))
    y = np.where(rng.random(20000) < p.ravel(), "right", "other")
    labels = np.full((20000, 1), "right")
    assert expected_calibration_error(y, labels, p) < 0.02
    assert expected_calibration_error(y, labels, p**3) > 0.15


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_prob": [[0.5, 1.5]]}, "y_prob must hold probabilities from 0 to 1, found 1.5"),
        ({"y_prob": [[0.5, np.nan]]}, "found nan"),
        ({"y_prob": [[0.5]]}, r"y_prob must have the shape of y_pred, \(1, 2\), got \(1, 1\)"),
        ({"y_prob": None}, "y_pred holds labels, so that y_prob must give"),
        ({"n_bins": 0}, "n_bins must be an integer of at least 1, got 0"),
        ({"strategy": "log"}, "strategy must be 'uniform' or 'quantile', got 'log'"),
        ({"k": 0}, "k must be an integer of at least 1, got 0"),
        ({"y_pred": [[0.2, 2.0]], "y_prob": None}, "y_pred must hold probabilities"),
        (
            {"y_pred": sparse.csr_array((1, 2)), "y_prob": None},
            "y_pred predicts nothing for any sample",
        ),
    ],
)
def test_bad_input(changes, message):
    arguments = {"y_true": [[1, 0]], "y_pred": [[0, 1]], "y_prob": [[0.5, 0.5]]} | changes
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(**arguments)
