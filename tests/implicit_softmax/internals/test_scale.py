"""Functions inside of what `implicit_softmax/test_scale.py` tests from outside."""

import numpy as np
from sklearn.datasets import load_digits

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.implicit_softmax._train import chosen_solver


def test_the_solver_is_chosen_by_counted_operations():
    assert chosen_solver(10, 64) == chosen_solver(1000, 256) == chosen_solver(8000, 50) == "exact"
    assert chosen_solver(10**5, 50) == chosen_solver(10**6, 5) == "implicit"
    X, y = load_digits(return_X_y=True)
    for options, solver in [
        ({}, "exact"),
        ({"n_sampled_classes": 1}, "implicit"),
        ({"sampling": "frequency"}, "implicit"),
    ]:
        model = ImplicitSoftmaxRegressor(max_iter=1, learning_rate=0.001, random_state=0, **options)
        assert model.fit(X[:200], y[:200]).solver_ == solver
        named = ImplicitSoftmaxRegressor(
            solver, max_iter=1, learning_rate=0.001, random_state=0, **options
        )
        np.testing.assert_array_equal(named.fit(X[:200], y[:200]).coef_, model.coef_)
