"""Implicit steps on several samples and several classes, with ridge (Proposition 3, appendix F.3).

With c_k = 1 + rate alpha beta_k / J, J mini-batches in a pass, the step is the minimiser of::

    sum_i rate_i (u_i + e^-u_i d_i) + 1/2 |u - u_old|^2
        + 1/2 sum_k (c_k ||w_k - w_k_old / c_k||^2 + (b_k - b_k_old)^2)

where d_i sums ``exp(psi_ik - psi_iy)`` over the labels of the mini-batch and, scaled up, over the
classes drawn. (In the paper's (19) to (21) the rate is missing from the ridge; this is the form
that follows from its definition.) The best u_i is ``u_old - rate_i + v_i``, where v_i is Wright's
omega of ``log(rate_i d_i) + rate_i - u_old``, and what remains is ``1/2 sum_i (1 + v_i)^2`` beside
the squared step of the weights, in the span of the rows. In an orthonormal basis of that span, from
the Gram matrix, the curvature of the squares is 1 in every direction. A Newton method whose
directions are found by conjugate gradients stops when the gradient is at most `TOLERANCE` times the
length of the step: by strong convexity the step is then right to that relative accuracy.
"""

from typing import Self

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, wrightomega

from ..softmax._coordinates import Weights
from ..training._lazy_scale import fold
from ..utils._csr import as_dense
from ..utils._random import stream
from ..utils._rows import Rows
from ..utils._typing import Matrix
from ._solvers import DivergenceError, Solver

TOLERANCE = 1e-6
MAX_NEWTON = 100
MAX_HALVINGS = 40


class ImplicitBatches(Solver):
    """Implicit steps on fixed mini-batches; every label in one is a negative of all others."""

    def _prepare(self) -> None:
        order = self.order(0)  # any: it does not change from pass to pass
        cuts = range(self.settings.batch_size, len(order), self.settings.batch_size)
        self.batches = np.split(order, cuts)
        # Distinct labels: F.3 of the paper takes those of a mini-batch to be distinct, which they
        # need not be (Errata on the page "How ImplicitSoftmaxRegressor works").
        self.labels = [np.unique(self.data.y[batch]) for batch in self.batches]
        # alpha beta_k / J of the module's docstring.
        self.ridge = self.settings.alpha * self.share / len(self.batches) / self.chance_of_touch()

    def begin(self, start: Weights | None = None) -> Self:
        super().begin(start)
        self.scale = np.ones(self.n_classes)
        return self

    def n_drawn(self, labels: np.ndarray) -> int:
        return min(self.settings.n_sampled, self.n_classes - len(labels))

    def chance_of_touch(self) -> np.ndarray:
        """Return how likely a step touches each class, 1 / beta_k of F.3 with repeated labels
        allowed.
        """
        n_classes = self.n_classes
        chance = np.zeros(n_classes)
        for labels in self.labels:
            drawn = self.n_drawn(labels)
            of_others = drawn / (n_classes - len(labels)) if drawn else 0.0
            chance += of_others
            # Labels of the mini-batch are touched for sure, all other classes with the same chance.
            chance[labels] += 1 - of_others
        return chance / len(self.batches)

    def epoch(self, number: int, rate: float) -> None:
        batches = np.arange(len(self.batches))
        if self.settings.shuffle:
            stream(self.seed, "order of batches", number).shuffle(batches)
        first = number * len(batches)
        if self.settings.whole is not None:  # of a part: mini-batches of all parts count
            first = self.whole.n_before // self.settings.batch_size
        for step, j in enumerate(batches):
            self.check_stop()
            labels = self.labels[j]
            rng = stream(self.seed, "draws", first + step)
            drawn = draw_others(labels, len(self.b), self.n_drawn(labels), rng)
            self.step(self.batches[j], labels, drawn, rate)

    def step(self, batch: np.ndarray, labels: np.ndarray, drawn: np.ndarray, rate: float) -> None:
        """Make one implicit step on these samples, their labels and the classes drawn."""
        classes = np.concatenate([labels, drawn])
        shrinkage = 1 + rate * self.ridge[classes]
        features, X = block_of_rows(self.data.rows, batch)
        place = np.ix_(classes, features)
        # The proximal step first shrinks w_k by 1 / c_k: w_k_old / c_k in the module's docstring. A
        # factor of the class does it at the cost of one number.
        self.scale[classes] /= shrinkage
        # Only the features of the mini-batch are read and written.
        W = self.W[place].astype(np.float64)
        scores = X @ (W * self.scale[classes, None]).T + self.b[classes]
        # A sample's weight multiplies its term, and hence its rate.
        rates = rate * self.data.weight[batch] if self.data.weight.size else rate
        # Labels count once, classes drawn (K - number of labels) / m times: the sum over all other
        # classes is estimated without bias.
        log_factor = np.zeros(len(classes))
        if len(drawn):
            log_factor[len(labels) :] = np.log((len(self.b) - len(labels)) / len(drawn))
        lengths, shifts, u = implicit_step(
            scores,
            np.searchsorted(labels, self.data.y[batch]),
            self.u[batch],
            np.broadcast_to(np.asarray(rates, dtype=np.float64), len(batch)),
            log_factor,
            as_dense(X @ X.T),
            shrinkage,
            self.settings.intercept,
        )
        self.u[batch] = u
        steps = np.asarray((X.T @ lengths).T)
        # False for NaN as well.
        if not (np.abs(steps) < 1e30).all():
            raise DivergenceError("an implicit step left the range of float32")
        W += steps / self.scale[classes, None]
        self.W[place] = W
        self.b[classes] += shifts.astype(np.float32)
        fold(self.W, self.scale, classes)

    def weights(self) -> Weights:
        fold(self.W, self.scale)
        return self.W, self.b


def draw_others(
    labels: np.ndarray, n_classes: int, n_drawn: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw distinct classes that are not in the sorted `labels`, uniformly."""
    drawn = rng.choice(n_classes - len(labels), n_drawn, replace=False, shuffle=False)
    # The i-th of the classes that are no label is i plus the number of labels below it.
    return drawn + np.searchsorted(labels - np.arange(len(labels)), drawn, side="right")


def block_of_rows(rows: Rows, batch: np.ndarray) -> tuple[np.ndarray, Matrix]:
    """Return the features of some samples and the samples in these features, float64."""
    if rows.dense:
        X = rows.data.reshape(rows.shape)[batch].astype(np.float64)
        return np.arange(rows.shape[1]), X
    lengths = rows.indptr[batch + 1] - rows.indptr[batch]
    entries = np.concatenate([np.arange(*rows.indptr[i : i + 2]) for i in batch])
    # The distinct features of the mini-batch, and the place of each entry among them.
    features, columns = np.unique(rows.indices[entries], return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values = rows.data[entries].astype(np.float64)
    return features, sparse.csr_array((values, columns, indptr), shape=(len(batch), len(features)))


def implicit_step(
    scores: np.ndarray,
    own: np.ndarray,
    u: np.ndarray,
    rates: np.ndarray,
    log_factor: np.ndarray,
    gram: np.ndarray,
    shrinkage: np.ndarray,
    intercept: float,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve an implicit step on n samples and c classes in the span of the samples, and return the
    coefficients of x_i in the step of w_k (n, c), the steps of the intercepts (c,) and the new
    auxiliary variables (n,).

    `scores` (n, c) are of shrunk weights, `own` the place of each sample's class among the classes.
    `u` and `rates` (n,) are old auxiliary variables, and rates times sample weights; `log_factor`
    (c,) are logarithms of importance weights, `gram` (n, n) inner products of the samples, and
    `shrinkage` (c,) is c_k of the module's docstring. The gradient at the end is at most
    `tolerance` times the length of the step.
    """
    problem = _Problem(scores, own, u, rates, log_factor, gram, shrinkage, intercept)
    point = problem.point(np.zeros(problem.shape))
    for _ in range(MAX_NEWTON):
        if point.size <= tolerance * np.linalg.norm(point.x):
            break
        # Newton steps far from the minimum may be too long; halved, they lower the gradient in the
        # end, as the problem is strongly convex.
        direction = problem.newton_direction(point)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            new = problem.point(point.x + length * direction)
            if new.size <= (1 - 1e-4 * length) * point.size:
                break
            length /= 2
        if not new.size < point.size:
            break  # rounding: the gradient does not fall any more
        point = new
    return (*problem.step_of(point.x), problem.u_of(point))


class _Point:
    """Scores and derivatives at a step x: v, p = softmax, and the gradient."""

    def __init__(self, problem: "_Problem", x: np.ndarray) -> None:
        self.x = x
        own = np.arange(len(problem.own)), problem.own
        log_p = log_softmax(problem.scores + problem.spread(x) + problem.log_factor, axis=1)
        self.p = np.exp(log_p)
        self.log_d = -log_p[own]
        # The best u_i has a closed form: with v_i + log v_i = log(rate_i d_i) + rate_i - u_old, it
        # is u_old - rate_i + v_i.
        self.v = wrightomega(problem.log_rates + self.log_d + problem.rates - problem.u)
        self.slope = self.p.copy()  # of log d
        # 1 - p_y as the sum of the others: p_y - 1 would lose its digits near 0.
        self.slope[own] = 0
        self.slope[own] = -self.slope.sum(axis=1)
        # Of 1/2 ||x||^2 + 1/2 sum_i (1 + v_i)^2: the derivative of the latter by log d_i is v_i, as
        # dv / d log d = v / (1 + v).
        self.gradient = x + problem.gather(self.v[:, None] * self.slope)
        self.size = np.linalg.norm(self.gradient)


class _Problem:
    """The step in coordinates where its square is that of the Euclidean length.

    Row k < rank of x holds, for each class, the coordinate along the k-th basis vector; with an
    intercept, a last row holds the shifts of the intercepts.
    """

    def __init__(
        self,
        scores: np.ndarray,
        own: np.ndarray,
        u: np.ndarray,
        rates: np.ndarray,
        log_factor: np.ndarray,
        gram: np.ndarray,
        shrinkage: np.ndarray,
        intercept: float,
    ) -> None:
        self.scores, self.own, self.u, self.rates = scores, own, u, rates
        self.log_rates, self.log_factor = np.log(rates), log_factor
        # x is root(c_k) times the step of w_k, so that c_k ||step||^2 is ||x||^2.
        self.root = np.sqrt(shrinkage)
        # The Gram matrix is V diag(values) V^T: samples have the coordinates V sqrt(values) in an
        # orthonormal basis of their span. Directions of rounding errors are left out.
        values, vectors = np.linalg.eigh(gram)
        kept = values > len(gram) * np.finfo(float).eps * max(values[-1], 0)
        self.basis = vectors[:, kept] * np.sqrt(values[kept])  # rows in the orthonormal basis
        self.dual_basis = vectors[:, kept] / np.sqrt(values[kept])
        self.intercept = intercept
        self.rank = int(kept.sum())
        self.shape = self.rank + (intercept > 0), len(shrinkage)

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return the change of the scores by a step."""
        added = self.basis @ (x[: self.rank] / self.root)
        return added + self.intercept * x[self.rank] if self.intercept else added

    def gather(self, of_scores: np.ndarray) -> np.ndarray:
        """Return the transpose of `spread`."""
        x = self.basis.T @ of_scores / self.root
        return np.vstack([x, self.intercept * of_scores.sum(axis=0)]) if self.intercept else x

    def step_of(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients of the samples and the shifts of the intercepts of a step."""
        shifts = self.intercept * x[self.rank] if self.intercept else np.zeros(self.shape[1])
        return self.dual_basis @ (x[: self.rank] / self.root), shifts

    def point(self, x: np.ndarray) -> _Point:
        return _Point(self, x)

    def u_of(self, point: _Point) -> np.ndarray:
        """Return ``u - rates + v``."""
        # Where v is as large as the rates, the sum would lose digits; by v + log v = its argument,
        # u is then log(rate d) - log v.
        large = point.v > 1
        log_v = np.log(point.v, where=large, out=np.zeros_like(point.v))
        return np.where(large, self.log_rates + point.log_d - log_v, self.u - self.rates + point.v)

    def newton_direction(self, point: _Point) -> np.ndarray:
        """Return minus the inverse Hessian times the gradient, to a falling relative accuracy."""
        # d v / d log d, the curvature along the gradient of log d; v times the covariance under p
        # is that across it.
        along = (point.v / (1 + point.v))[:, None]

        def hessian(x: np.ndarray) -> np.ndarray:
            z = self.spread(x)
            rise = (point.slope * z).sum(axis=1, keepdims=True)
            mean = (point.p * z).sum(axis=1, keepdims=True)
            change = along * rise * point.slope + point.v[:, None] * point.p * (z - mean)
            return x + self.gather(change)

        direction = np.zeros_like(point.x)
        residual = -point.gradient
        search, square = residual, np.vdot(residual, residual)
        # Inexact Newton: a relative accuracy of root(size) keeps convergence faster than linear.
        enough = (min(0.1, np.sqrt(point.size)) * point.size) ** 2
        for _ in range(2 * point.x.size):
            if square <= enough:
                break
            product = hessian(search)
            length = square / np.vdot(search, product)
            direction = direction + length * search
            residual = residual - length * product
            previous, square = square, np.vdot(residual, residual)
            search = residual + square / previous * search
        return direction
