"""Steps of one rate on all classes, for one label of very many a row: those of the exact softmax.

With a thousand classes and more, rates that Adagrad lowers row by row leave those of rare features
far from the optimum after ten passes, and a step of the steps in `_features` takes several times as
long as one that reads and writes weights once.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..softmax._coordinates import weights_inside, weights_outside
from ..softmax._full_softmax import INTERCEPT, RIDGE, ExactSteps, cuts_at, exact_weights
from ..training._schedules import share_of_rate
from ..utils._random import stream
from ..utils._rows import FULL
from ._auto import LDGSCall
from ._layers import Start
from ._ridge import automatic_ridge


class Unchanged:
    """In the place of a `Change`: weights are for X as it is."""

    @staticmethod
    def outside(
        W: np.ndarray, b: np.ndarray, U: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return weights as they are."""
        return W, b, U


class LDGSPlainSteps:
    """Passes over all samples of a fit, with one label each; as `_steps.LDGSSteps`.

    `plan` has the rate of the steps, which the search for a ridge may have changed.
    """

    searching = False

    def __init__(self, problem: Any, start: Start | None, call: LDGSCall) -> None:
        params, plan, n_passes, seed, n_threads = call
        rows = problem.rows
        # Kernels of dense rows are faster on rows that are nearly full.
        if not rows.dense and len(rows.data) >= FULL * np.prod(rows.shape):
            rows = rows.as_dense()
        weight, self.visited = problem.sample_weight, problem.visited()
        # Of mean 1 over the samples visited: the rate is for a typical sample.
        self._weight = None
        if weight is not None:
            mean = weight[self.visited].mean(dtype=np.float64)
            self._weight = (weight / mean).astype(np.float32)
        self._coordinates = rows.coordinates_for_steps(
            self._weight, fit_intercept=params.fit_intercept
        )
        self.positives, self._y = problem.positives, problem.positives.ids
        self.rows = rows.inside(self._coordinates)
        self._seed, self._decay = seed, params.decay
        self._n_passes, self._batch_size = n_passes, min(params.batch_size, len(self.visited))
        self.n_classes, self.n_visited, self._done = problem.n_classes, 0, False
        if params.alpha == "auto":
            inside = problem._replace(rows=self.rows, sample_weight=self._weight)
            # The search may find that a ridge bears a higher rate as well.
            alpha, times = automatic_ridge(inside, call, RIDGE)
            plan = plan._replace(learning_rate=times * plan.learning_rate)
            self.alpha = alpha / len(self.visited)
        else:
            self.alpha = params.alpha
            # The parameter is the ridge on weights for X as it is, over the mean loss; steps take
            # it for weights inside, over the sum.
            alpha = params.alpha * len(self.visited) / np.square(self._coordinates.scale)
        self.plan = plan
        self._steps = ExactSteps(
            self.rows,
            self._y,
            self._weight,
            *self._start(start),
            self.visited,
            alpha=alpha,
            intercept=INTERCEPT if params.fit_intercept else 0.0,
            adaptive=False,
            n_threads=n_threads,
        )

    def _start(self, start: Start | None) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (n_features, n_places) and intercepts to start from, in these units."""
        if start is None:
            return exact_weights(None, np.zeros(self.n_classes), self.rows.shape[1])
        # Copies: steps change weights in place, and the estimator's stay if the fit fails.
        inside = weights_inside(self._coordinates, start.coef.copy(), start.intercept.copy())
        return exact_weights(*inside, self.rows.shape[1])

    @property
    def n_scored(self) -> int:
        """Number of scores that steps have taken: all classes of each sample."""
        return self.n_visited * self.n_classes

    @property
    def weights(self) -> SimpleNamespace:
        """Squares in the place of those that Adagrad sums up, about as large."""
        # A part that follows takes steps of Adagrad, in the form of the plan: without squares its
        # first one would be as long as the first of all. A class gets those of one gradient of
        # length 1 / batch_size for each visit of its samples.
        n_gradients = self.n_visited / max(len(self.visited), 1) / self._batch_size**2
        counts = np.bincount(self._y[self.visited], minlength=self.n_classes)
        of_classes = (n_gradients * counts).astype(np.float32)
        if self.plan.form != "features":
            return SimpleNamespace(squares_W=of_classes, squares_U=np.zeros(0, np.float32))
        weight = np.zeros(self.rows.shape[0], dtype=np.float32)
        weight[self.visited] = n_gradients
        of_features = np.square(self.rows.weighted_norms(weight))
        return SimpleNamespace(squares_W=of_classes, squares_U=of_features)

    def epoch(self, number: int, start: float | None = None, span: float = 1.0) -> float:
        """Visit all samples once; returns their mean loss, each before the step on it."""
        order = stream(self._seed, "pass", number).permutation(self.visited).astype(np.int32)
        n_batches = len(cuts_at(len(order), self._batch_size)) - 1
        passes = number + np.arange(n_batches) / n_batches
        if self._decay == "inverse_steps":
            shares = 1 / (1.0 + number * n_batches + np.arange(n_batches))
        else:
            shares = share_of_rate(self._decay, passes, self._n_passes)
        rates = self.plan.learning_rate * shares
        loss = self._steps.calm_epoch(order, self._batch_size, rates, self._seed, number)
        if not np.isfinite(loss):
            raise FloatingPointError(f"the loss in pass {number + 1} was not finite")
        self.n_visited += len(order)
        weight = self._steps.weight
        total = len(order) if weight is None else weight[self.visited].sum(dtype=np.float64)
        return loss / total

    def finish(self) -> None:
        """Make what `model` returns the weights themselves, not copies."""
        self._done = True

    def forget_untouched(self) -> None:
        """Leave weights that no step touches, which stay at zero."""

    def model(self) -> tuple[np.ndarray, np.ndarray, None]:
        """Return the label embeddings and intercepts so far, for X as it is; there is no table of
        features.
        """
        W, b = self._inside()
        if not self._done:
            # Callbacks see a model of this moment, while steps go on.
            W, b = W.copy(), b.copy()
        return *weights_outside(self._coordinates, W, b), None

    def scores(self, samples: np.ndarray) -> np.ndarray:
        """Return scores (n, n_classes) of samples."""
        W, b = self._inside()
        return self.rows.take(samples).matrix() @ W.T + b

    def _inside(self) -> tuple[np.ndarray, np.ndarray]:
        """Return label embeddings (n_classes, n_features) and intercepts, in the units of steps."""
        self._steps.finish()
        return self._steps.W[:, : self.n_classes].T, self._steps.b[: self.n_classes]
