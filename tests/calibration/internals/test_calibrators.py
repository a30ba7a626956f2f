"""Functions inside of what `calibration/test_calibrators.py` tests from outside."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sklearn_xc.calibration._calibrators import fit_calibration
from sklearn_xc.model_selection._out_of_fold import HeldOut


def held_out(seed=0, n=400, k=4, one_a_row=False):
    """Scores whose probabilities are known: expit(2 s - 1)."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.normal(size=(n, k)), axis=1)
    hits = rng.random((n, k)) < expit(2 * scores - 1)
    if one_a_row:
        hits &= hits.cumsum(axis=1) == 1
    n_true = np.ones(n) if one_a_row else hits.sum(axis=1) + rng.integers(0, 2, size=n)
    return HeldOut(scores, hits, n_true, rng.integers(0, 4, size=n).astype(float))


def repeated(data):
    rows = np.repeat(np.arange(len(data.weight)), data.weight.astype(int))
    return HeldOut(data.scores[rows], data.hits[rows], data.n_true[rows], np.ones(len(rows)))


def test_sigmoid_is_an_almost_unpenalised_logistic_regression():
    data = held_out(n=3000)
    transform = fit_calibration("sigmoid", "multilabel", 10, data).transform
    reference = LogisticRegression(C=1e10, tol=1e-10, solver="newton-cg").fit(
        data.scores.reshape(-1, 1), data.hits.ravel(), np.repeat(data.weight, 4)
    )
    # but for Platt's targets, which are off 0 and 1 by one over their number
    assert transform.slope == pytest.approx(reference.coef_[0, 0], rel=5e-3)
    assert transform.offset == pytest.approx(reference.intercept_[0], rel=5e-3)
    assert transform.slope == pytest.approx(2, abs=0.1)


def test_sigmoid_is_the_minimum_of_platts_loss():
    data = repeated(held_out(seed=2, n=50))
    transform = fit_calibration("sigmoid", "multilabel", 10, data).transform
    s, h = data.scores.ravel(), data.hits.ravel()
    targets = np.where(h, (h.sum() + 1) / (h.sum() + 2), 1 / ((~h).sum() + 2))
    excess = expit(transform.slope * s + transform.offset) - targets
    assert abs(excess.mean()) < 1e-6
    assert abs((excess * s).mean()) < 1e-6


def test_isotonic_is_scikit_learns():
    data = repeated(held_out(seed=3))
    transform = fit_calibration("isotonic", "multilabel", 10, data).transform
    s, h = data.scores.ravel(), data.hits.ravel()
    targets = np.where(h, (h.sum() + 1) / (h.sum() + 2), 1 / ((~h).sum() + 2))
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, targets)
    grid = np.linspace(-9, 9, 1001)
    np.testing.assert_allclose(transform(grid), reference.predict(grid))


def test_temperature_is_the_maximum_of_the_likelihood():
    data = held_out(seed=4, one_a_row=True)
    calibration = fit_calibration("temperature", "multiclass", 50, data)

    def loss(inverse, other):
        """The smoothed log-likelihood, sample by sample."""
        total = 0.0
        epsilon = 1 / (data.weight.sum() + 2)
        for scores, hits, weight in zip(data.scores, data.hits, data.weight, strict=True):
            u = np.append(inverse * scores, other)
            log_p = u - np.log(np.exp(u - u.max()).sum()) - u.max()
            true = np.append(hits, not hits.any())
            total -= weight * ((1 - epsilon) * log_p[true].sum() + epsilon * log_p.mean())
        return total

    found = calibration.transform.inverse, calibration.transform.other
    least = loss(*found)
    for step in [(1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)]:
        assert least < loss(found[0] + step[0], found[1] + step[1])


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("sigmoid", "multilabel"),
        ("isotonic", "multilabel"),
        ("sigmoid", "multiclass"),
        ("isotonic", "multiclass"),
        ("temperature", "multiclass"),
        ("top_label", "multiclass"),
    ],
)
def test_weights_are_repetitions(method, kind):
    data = held_out(seed=5, one_a_row=kind == "multiclass")
    some = fit_calibration(method, kind, 20, data)
    others = fit_calibration(method, kind, 20, repeated(data))
    scores = np.array([[2.0, 1.0, 0.0, -3.0]])
    for one, other in zip(some.candidates(scores), others.candidates(scores), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    assert some.rest_probability == pytest.approx(others.rest_probability)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature", "top_label"])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_extreme_scores(method, scale):
    data = held_out(seed=6, one_a_row=True)
    calibration = fit_calibration(
        method, "multiclass", 20, data._replace(scores=scale * data.scores)
    )
    scores = scale * np.array([[1e30, 1e30, 1e29, 0], [3, 2, 1, 0], [-1, -2, -3e5, -3e5]])
    p, rest = calibration.candidates(np.append(scores, [[1, -1e18, -1e18, -1e18]], axis=0))
    assert p.dtype == rest.dtype == np.float64
    assert (p > 0).all()
    assert (p < 1).all()
    assert (rest > 0).all()
    assert (np.diff(np.column_stack([p, rest]), axis=1) <= 0).all()
    np.testing.assert_allclose(p.sum(axis=1) + 16 * rest, 1, rtol=1e-12)


def test_scores_that_separate_stay_finite():
    scores = np.linspace(1, -1, 40).reshape(-1, 1)
    data = HeldOut(scores, scores > 0, np.ones(40), np.ones(40))
    for method in ["sigmoid", "isotonic", "temperature"]:
        p = fit_calibration(method, "binary", 2, data).binary(scores)
        assert 0 < p.min() < 0.1
        assert 0.9 < p.max() < 1
        assert (np.diff(p.ravel()) <= 0).all()


def test_scores_that_mislead_are_not_followed():
    data = held_out(seed=7, n=500)
    calibration = fit_calibration("sigmoid", "multilabel", 10, data._replace(hits=~data.hits))
    assert calibration.transform.slope == 0


def test_the_rest_gets_its_frequency():
    scores = np.tile([2.0, 1.0], (100, 1))
    hits = np.tile([True, False], (100, 1))
    data = HeldOut(scores, hits, np.full(100, 3.0), np.ones(100))  # two more true, of 8 others
    calibration = fit_calibration("sigmoid", "multilabel", 10, data)
    assert calibration.rest_probability == pytest.approx(0.25, rel=0.01)
    _, rest = calibration.candidates(np.array([[2.0, -50.0]]))
    assert rest[0] <= 1e-4  # never above the k-th best
