"""The intercepts of ImplicitSoftmaxRegressor: the weights of a constant feature."""

import numpy as np
import pytest

from sklearn_xc import ImplicitSoftmaxRegressor

pytestmark = pytest.mark.kernel


def fit(X, y, sample_weight=None, **options):
    options = {"alpha": 0.0, "max_iter": 3, "random_state": 0, **options}
    return ImplicitSoftmaxRegressor(**options).fit(X, y, sample_weight)


def test_auto_is_a_tenth_of_the_length_of_a_row(digits):
    X, y = digits
    assert fit(X, y, learning_rate=0.5).intercept_scaling_ == pytest.approx(0.1)
    assert fit(7 * X, y, learning_rate=0.5).intercept_scaling_ == pytest.approx(0.7)
    assert fit(0 * X, y, learning_rate=0.5).intercept_scaling_ == 1
    some = (np.arange(len(y)) % 2 == 0).astype(float)  # samples of weight zero do not count
    mixed = np.where(some[:, None], X, 5 * X)
    weighted = fit(mixed, y, some, learning_rate=0.5)
    assert weighted.intercept_scaling_ == pytest.approx(0.1)
    without = fit(X, y, learning_rate=0.5, fit_intercept=False)
    assert without.intercept_scaling_ == 0
    far = X.copy()
    far[7] *= 1e4  # one corrupt row decides nothing
    assert fit(far, y, learning_rate=0.5).intercept_scaling_ == pytest.approx(0.1)
    np.testing.assert_array_equal(without.intercept_, 0)


def test_parts_keep_the_constant_feature_of_a_fit(digits):
    X, y = digits
    model = ImplicitSoftmaxRegressor(learning_rate=0.5, random_state=0)
    model.fit(X, y).partial_fit(9 * X, y)
    assert model.intercept_scaling_ == pytest.approx(0.1)


@pytest.mark.parametrize("scaling", [0, -1.0, np.inf, "some"])
def test_scaling_must_be_above_zero(digits, scaling):
    with pytest.raises(ValueError, match="intercept_scaling"):
        fit(*digits, intercept_scaling=scaling)
