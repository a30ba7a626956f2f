"""Steps of LDGS without a hidden layer on sparse rows: only features that occur cost anything.

The weights lie feature by feature, (n_features, n_classes). A mini-batch is scored by the rows of
its features, and its gradient, one number a sample and class, goes back to the same rows: what the
layer of features does in `_steps`, with classes in place of hidden columns.
"""

import numpy as np

from .._kernels.ldgs import _full_gradient, _row_updates
from ..utils._memory_limit import require_memory
from ._candidate_gradients import scratch_places
from ._candidates import WORTH_THREADS
from ._layers import NO_NORMS, Strength
from ._ridge import Ridge
from ._steps import LDGSSteps


class FeatureWeights:
    """Weights feature by feature, intercepts, and for Adagrad the sums of squared gradients.

    W is (n_features, n_classes). `squares_W` are those of intercepts, which step together,
    `squares_U` those of the rows of W.
    """

    U = None

    def __init__(
        self,
        W: np.ndarray,
        intercept: np.ndarray,
        adaptive: bool,
        squares: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.W, self.intercept = W, intercept
        if squares is None or not adaptive:
            squares = (
                np.zeros(W.shape[1] * adaptive, np.float32),
                np.zeros(len(W) * adaptive, np.float32),
            )
        self.squares_W, self.squares_U = squares


class FeatureSteps(LDGSSteps):
    """Passes with exact gradients over sparse rows that change `FeatureWeights` in place."""

    @property
    def n_classes(self) -> int:
        """Number of scores of a sample."""
        return self.weights.W.shape[1]

    def _set_ridges(self, of_W: Strength, of_U: Strength) -> None:
        """Set the ridge on the weights; there is no layer."""
        w = self.weights
        # A row of W is a feature, so that its squares are those of the layer of features elsewhere.
        strength = np.full(w.W.shape[1], of_W, dtype=np.float32)
        self.ridge_W, self.ridge_U = Ridge(w.W, w.squares_U, strength, NO_NORMS), None

    def _allocate(self) -> None:
        """Make the memory of a step."""
        D, K = self.weights.W.shape
        n = min(self.settings.batch_size, len(self.visited))
        self.dense = self.settings.loss == "cross_entropy"
        require_memory(
            4 * n * K * (1 if self.dense else 4),
            f"fit: scores of {n} samples and {K} classes and their gradients",
            "use a smaller batch_size",
        )
        self.place = scratch_places(1, D)[0]
        self.scratch = np.empty((self.n_threads, K), dtype=np.float32)
        self.Z = np.empty((n, K), dtype=np.float32)
        if not self.dense:
            self._allocate_for_few(n, K)
            self.places = scratch_places(self.n_threads, K)

    def threads(self, n_rows: int) -> int:
        """Return threads for work on this many rows of weights, each of all classes."""
        return self.n_threads if n_rows * self.weights.W.shape[1] > WORTH_THREADS else 1

    def step(self, batch: np.ndarray, rate: float, rng: np.random.Generator | None) -> float:
        """Make a step on a mini-batch; returns the weighted sum of its losses before it."""
        lists, positives, w = self.lists_of(batch), self.positives_of(batch), self.weights
        Z = self.Z[: len(batch)]
        n_threads = self.threads(int(lists.count.sum()))
        # Z = X W: a sample combines the rows of its features.
        _row_updates.combine(*lists, w.W, Z, n_threads)
        Z += w.intercept
        losses = np.empty(len(batch))
        if self.dense:
            _full_gradient.softmax_gradients(
                Z, _full_gradient.Positives(*positives), losses, n_threads
            )
        else:
            found = self.few_gradients(Z, positives, losses)
            # What `step_rows` reads is a dense gradient: zeros but at the few classes with one.
            Z[...] = 0
            for z, own, values, count in zip(Z, *found, strict=True):
                z[own[:count]] = values[:count]
        # Z holds gradients now. Row k of W steps against sum_i x_ik z_i, over the samples with
        # feature k.
        share = self.shares[batch]
        self.ridge_W.advance(rate * float(share.sum()))
        self.step_rows(lists, share, Z, w.W, w.squares_U, self.place, self.ridge_W, rate)
        if self.settings.fit_intercept:
            self._step_intercept(share @ Z, rate)
        self.take_off_what_is_due()
        self.n_visited += len(batch)
        self.n_scored += Z.size
        return float(losses @ self.factor[batch])

    def _step_intercept(self, gradient: np.ndarray, rate: float) -> None:
        """Step all intercepts against their gradient (n_classes,)."""
        w = self.weights
        if len(w.squares_W):
            # Adagrad with one rate for all intercepts, as a row of weights has.
            w.squares_W += gradient * gradient
            total = float(w.squares_W.sum(dtype=np.float64))
            rate = rate / np.sqrt(total) if total > 0 else 0.0
        w.intercept -= np.float32(rate) * gradient

    def model(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return label embeddings and intercepts so far; there is no table of features."""
        return self.ridge_W.taken_off(self.n_threads).T, self.weights.intercept.copy(), None

    def scores(self, samples: np.ndarray) -> np.ndarray:
        """Return scores (n, n_classes) of samples."""
        Z = np.empty((len(samples), self.weights.W.shape[1]), dtype=np.float32)
        _row_updates.combine(*self.lists_of(samples), self.weights.W, Z, self.n_threads)
        return Z + self.weights.intercept
