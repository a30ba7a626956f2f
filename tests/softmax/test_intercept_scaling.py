"""The intercepts of ImplicitSoftmaxRegressor: the weights of a constant feature."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.implicit_softmax._data import SoftmaxData
from sklearn_xc.utils._coordinates import Coordinates

pytestmark = pytest.mark.kernel

SHORT = {
    "implicit": {"solver": "implicit", "learning_rate": 0.5},
    "implicit batches": {
        "solver": "implicit",
        "learning_rate": 0.5,
        "batch_size": 20,
        "n_sampled_classes": 3,
    },
    "umax": {"solver": "umax", "learning_rate": 0.01},
    "umax batches": {"solver": "umax", "learning_rate": 0.01, "batch_size": 9},
    "sgd raman": {"solver": "sgd", "formulation": "raman", "learning_rate": 0.01},
    "one_vs_each": {"solver": "one_vs_each", "learning_rate": 0.05},
    "importance": {"solver": "importance", "learning_rate": 0.05},
    "exact": {"solver": "exact", "learning_rate": 0.1},
}  # nce is absent: its intercepts start at -log K, and weights at 0


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X[:300]).astype(np.float32), y[:300]


def fit(X, y, sample_weight=None, **options):
    options = {"alpha": 0.0, "max_iter": 3, "random_state": 0, **options}
    return ImplicitSoftmaxRegressor(**options).fit(X, y, sample_weight)


# With 3 some go up at these rates, and say so; what they do is compared.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scaling", [0.2, 3.0])
@pytest.mark.parametrize("name", SHORT)
def test_intercepts_are_the_weights_of_a_constant_feature(digits, name, scaling, form, monkeypatch):
    """In the same coordinates: a constant feature changes the length and the mean of rows."""
    monkeypatch.setattr(SoftmaxData, "coordinates", lambda *_: Coordinates())
    monkeypatch.setattr(SoftmaxData, "length", lambda _: 1.0)
    X, y = digits
    constant = np.full((len(y), 1), scaling, dtype=np.float32)
    model = fit(form(X), y, intercept_scaling=scaling, **SHORT[name])
    wider = fit(form(np.hstack([X, constant])), y, fit_intercept=False, **SHORT[name])
    assert np.abs(model.intercept_).max() > 1e-3
    np.testing.assert_allclose(model.coef_, wider.coef_[:, :-1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, scaling * wider.coef_[:, -1], rtol=1e-3, atol=1e-3)


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
