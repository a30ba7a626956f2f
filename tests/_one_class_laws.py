"""One class of PPDSparse against the rest, in float64, and small data for its laws.

Objective and dual are those of the class docstring: a constant feature of weight b, which l2
penalises and l1 does not.
"""

import numpy as np
from _margin_losses import LOSSES, TOPS, VALUES, ridge, taken
from scipy import sparse

__all__ = ["LOSSES"]  # for tests of laws, with what is defined here
TIGHT = {"tol": 1e-6, "pruning": 0.0, "max_iter": 5000, "random_state": 0}


class Problem:
    """One class against the rest: the primal and dual objective, in float64."""

    def __init__(self, X, y, l1, l2, loss="squared_hinge", intercept=True, weight=1.0):
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        self.X = np.c_[X.astype(np.float32), np.full(len(X), float(intercept))].astype(float)
        self.y = np.where(y, 1.0, -1.0)
        self.l1 = np.append(np.full(X.shape[1], float(l1)), 0.0)  # none for the intercept
        self.l2, self.loss = l2, loss
        self.weight = np.broadcast_to(np.asarray(weight, dtype=float), self.y.shape)

    def primal(self, w):
        margin = np.maximum(0, 1 - self.y * (self.X @ w))
        losses = VALUES[self.loss](margin)
        return self.l1 @ np.abs(w) + self.l2 / 2 * w @ w + self.weight @ losses

    def weights_of(self, a):
        v = self.X.T @ (a * self.y)
        return np.sign(v) * np.maximum(np.abs(v) - self.l1, 0) / self.l2

    def dual(self, a):
        w = self.weights_of(a)
        return a.sum() - self.l2 / 2 * w @ w - taken(self.loss, a, self.weight).sum()

    def solve(self, tol=1e-9, max_iter=100_000):
        """Accelerated projected gradient on the dual, until the gap certifies the optimum."""
        keep = self.weight > 0
        weight = np.where(keep, self.weight, 1)
        top = np.where(keep, TOPS[self.loss] * weight, 0)
        slopes = np.where(keep, ridge(self.loss, weight), 0)
        step = 1 / (np.linalg.norm(self.X, 2) ** 2 / self.l2 + slopes.max() + 1e-12)
        a = b = np.zeros(len(self.y))
        t = 1.0
        for iteration in range(max_iter):
            gradient = self.y * (self.X @ self.weights_of(b)) - 1 + slopes * b
            new = np.clip(b - step * gradient, 0, top)
            if (b - new) @ (new - a) > 0:  # momentum points uphill: restart
                t = 1.0
            t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
            a, b, t = new, new + (t - 1) / t_new * (new - a), t_new
            if iteration % 20 == 0:
                primal = self.primal(self.weights_of(a))
                if primal - self.dual(a) <= tol * primal:
                    return self.weights_of(a), a, primal
        raise AssertionError("the reference did not converge")


def problems_of(model, X, Y, weight=1.0):
    """A `Problem` for each row of coef_."""
    return [
        Problem(X, y, model.l1, model.l2, model.loss, model.fit_intercept, weight)
        for y in (Y.toarray() if sparse.issparse(Y) else np.asarray(Y)).T
    ]


def weights_of(model):
    intercept = model.intercept_[:, None].astype(float)
    return np.hstack([model.coef_.toarray().astype(float), intercept])


def objectives(model, problems):
    return np.array([p.primal(w) for p, w in zip(problems, weights_of(model), strict=True)])


def optima(problems):
    return np.array([p.solve()[2] for p in problems])


def make_data(seed=0, n=60, d=12, k=4, density=0.4):
    """Sparse rows of unit length, and an indicator in which each class has some structure."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(n, d))) * (rng.random((n, d)) < density)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    scores = X @ rng.normal(size=(d, k)) + 0.3 * rng.normal(size=(n, k))
    return X.astype(np.float32), (scores > np.quantile(scores, 0.7, axis=0)).astype(int)


X, Y = make_data()
