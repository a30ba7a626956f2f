"""Functions inside of what `ppdsparse/test_solver.py` tests from outside."""

import numpy as np
import pytest
from _margin_losses import LOSSES
from _ppdsparse_problem import as_problem, dual_value, make, primal, settings_of, solve
from scipy import sparse

from sklearn_xc._kernels.ppdsparse._solver import N_LANES, Spare, solve_classes

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [1, N_LANES - 1, N_LANES, N_LANES + 1, 3 * N_LANES + 5])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_optimal_whatever_the_number_of_classes(n_classes, container, loss):
    X, Y = make(50, 8, n_classes)
    result = solve(container(X), Y, loss=loss, tol=1e-4)
    p, d = (f(X, Y, result, loss=loss) for f in (primal, dual_value))
    assert (result["gap"] <= 1e-4).all()
    np.testing.assert_allclose(result["gap"], (p - d) / p, atol=2e-6)
    np.testing.assert_array_less(0, result["n_iter"])


def test_a_request_to_stop_is_heard():
    X, Y = make(3000, 200, 40, density=1.0)
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        solve_classes(
            settings_of(tol=1e-12, max_iter=10**6),
            as_problem(X, Y),
            np.arange(40, dtype="i4"),
            (),
            False,
            np.ones(1, dtype="i4"),
            Spare(),
        )
