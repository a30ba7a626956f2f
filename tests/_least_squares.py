"""A least-squares classifier on the shared base, and small data for it."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse

from sklearn_xc.base._classifier import BaseXCClassifier, Interval
from sklearn_xc.base._validation import validate_fit


class LeastSquares(BaseXCClassifier):
    """Weighted ridge regression on -1 and +1."""

    _parameter_constraints = {  # noqa: RUF012
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }

    def __init__(self, alpha=1e-3, n_jobs=None, interrupt=False):
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.interrupt = interrupt

    def fit(self, X, y, sample_weight=None):
        with self._all_or_nothing():
            rows, Y, weight = validate_fit(self, X, y, sample_weight)
            if self.interrupt:
                raise KeyboardInterrupt
            dense = rows.as_dense().matrix()
            A = np.c_[dense, np.ones(len(dense))].astype(float)
            B = A.T if weight is None else A.T * weight
            Z = 2.0 * Y.toarray() - 1
            W = np.linalg.solve(B @ A + self.alpha * np.eye(A.shape[1]), B @ Z).T
            W = W.astype(np.float32)
            self._set_linear_model(sparse.csr_array(W[:, :-1]), W[:, -1].copy())
        return self


RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)).astype(np.float32)
MULTICLASS = np.array(["ant", "bee", "cow", "dog", "eel", "fox", "gnu"])[np.arange(40) % 7]
