"""Functions inside of what `softmax/test_intercept_scaling.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse

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
