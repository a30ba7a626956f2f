"""The loop of MEMOIR: batches, shrinking or truncation, projection, the average of the iterates."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._kernels.memoir import _steps as kernel
from .._kernels.memoir._growing_weights import WeightLists
from ..utils._matrix import narrow_indices, narrow_pointers, squared_norms
from ..utils._random import stream

SMALLEST_SCALE = 1e-4  # float32 values keep their precision above it
# Theorem 3 wants truncations that change little: none cuts a vector longer than this share of all
# weights when they were longest. A threshold that would is lowered until its cut is this long, but
# for a hundredth.
LARGEST_CUT, CUT_TOLERANCE = 0.3, 0.01
ENTRIES_AT_ONCE = 2**18


class Settings(NamedTuple):
    """The parameters of the steps, as in the estimator."""

    penalty: str
    alpha: float
    rho: float
    batch_size: float  # that eta0, eta_step and alpha * eta are meant for; a call may have fewer
    reduction: str
    eta0: float
    eta_step: float
    sampling: str
    average: bool
    bias: float  # the value of a feature that all samples have, for the intercept; 0 for none


class Weights:
    """The weights W = scale V while they are trained, and the sum of the iterates so far.

    Parameters
    ----------
    n_classes, n_features : int
        One more feature stands for the intercept.
    averaged : bool
    saved : tuple, default=None
        What :meth:`save` returned, to go on from.
    """

    def __init__(self, n_classes, n_features, averaged, saved=None):
        self.lists = WeightLists(n_features + 1, n_classes, averaged)
        self.state = np.array([1.0, 0.0, 0.0])  # scale, sum of the scales of iterates, ||V||^2
        self.n_iterates = self.n_folds = 0
        self.longest = 0.0  # norm of W so far
        self.scores = np.full(self.lists.n_places, -np.inf, dtype=np.float32)
        self.scores[:n_classes] = 0
        if saved is not None:
            arrays, state, self.n_iterates = saved
            self.lists.load(*arrays)
            self.state[:] = state
            if averaged and not arrays[3].size:  # saved without sums: the average begins here
                self.state[1] = self.n_iterates = 0

    def save(self):
        return self.lists.dump(), self.state.copy(), self.n_iterates

    @property
    def shape(self):
        return self.lists.n_classes, self.lists.n_features - 1

    def shrink(self, factor):
        """W <- factor W."""
        if not 0 < self.state[0] * factor < np.inf:
            factor = 0.0
        self.state[0] *= factor
        if self.state[0] < SMALLEST_SCALE:
            self.fold()

    def fold(self):
        """Make the scale 1 again."""
        scale, of_iterates, square = self.state
        self.lists.rescale(scale, of_iterates)
        self.n_folds += 1
        self.state[:] = 1, 0, scale**2 * square

    def project(self, radius):
        """On the ball of this radius around zero."""
        norm = self.state[0] * np.sqrt(max(self.state[2], 0))
        if norm > radius:
            self.shrink(radius / norm)

    def truncate(self, classes, threshold):
        """Eq. 13 on the weights of these classes, by the threshold or the largest that it may be.

        The cut of a threshold t is the root of the sum of min(|v|, t)^2, which divided by t falls:
        thresholds made smaller by wanted / cut come down to the wanted one and never below.
        """
        chosen = np.zeros(self.shape[0], dtype=np.uint8)
        chosen[classes] = 1
        scale, norm = self.state[0], np.sqrt(max(self.state[2], 0))
        self.longest = max(self.longest, scale * norm)
        longest = LARGEST_CUT * self.longest / scale
        scaled = min(threshold / scale, 2 * norm)  # more would cut no more
        cut, left = self._cut(chosen, scaled)
        while cut > longest:
            scaled *= (1 - CUT_TOLERANCE) * longest / cut
            cut, left = self._cut(chosen, scaled)
        self.state[2] = left
        self.lists.truncate(chosen, scaled, self.state[1], False)

    def _cut(self, chosen, threshold):
        """The length of what a threshold would cut, and the square of what it would leave."""
        square, left = self.lists.truncate(chosen, threshold, self.state[1], True)
        return np.sqrt(square), left

    def count_iterates(self, n):
        """W is an iterate of which the average consists; the kernel has added n - 1 before it."""
        self.state[1] += self.state[0]
        self.n_iterates += n

    def values(self):
        """V with the column of the intercept last: CSR of float32 (n_classes, n_features + 1)."""
        indptr, classes, values, _ = self.lists.dump()
        return self._csr(indptr, classes, values)

    def _csr(self, indptr, classes, data):
        shape = self.lists.n_classes, self.lists.n_features
        csr = sparse.csc_array((data, classes, narrow_pointers(indptr)), shape=shape).tocsr()
        csr.sort_indices()
        return narrow_indices(csr)


def model_of(saved, n_classes, average):
    """The last iterate or the average, from what :meth:`Weights.save` returned.

    Returns
    -------
    coef : csr_array of float32 (n_classes, n_features)
    constant : ndarray of float32 (n_classes,)
        The weights of the constant feature.
    """
    (indptr, classes, values, sums), (scale, of_iterates, _), n_iterates = saved
    data = np.empty_like(values)
    for start in range(0, len(data), ENTRIES_AT_ONCE):
        part = slice(start, start + ENTRIES_AT_ONCE)
        if average and n_iterates:
            data[part] = (of_iterates * values[part].astype(np.float64) - sums[part]) / n_iterates
        else:
            data[part] = scale * values[part].astype(np.float64)
    last = indptr[-2]  # where the entries of the constant feature begin
    constant = np.zeros(n_classes, dtype=np.float32)
    constant[classes[last:]] = data[last:]
    shape = n_classes, len(indptr) - 2
    columns = data[:last], classes[:last], narrow_pointers(indptr[:-1])
    csr = sparse.csc_array(columns, shape=shape).tocsr()
    csr.eliminate_zeros()
    csr.sort_indices()
    return narrow_indices(csr), constant


class Steps:
    """Passes over samples that change weights in place.

    Parameters
    ----------
    rows : Rows
    y : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or of size 0 for weights of 1
    weights : Weights
    settings : Settings
    seed : int
    mean_weight : float
        Of the samples of all calls.
    shuffled : bool
        Whether passes visit the samples in random order, not in that of the rows.
    search : object
        ``candidates(samples)`` gives classes to look for the rivals in, int32 (n_samples, n), with
        n = 0 for all; it is asked for at most ``samples_at_once``, and then told by
        ``changed(classes)`` which classes their steps may have moved.
    stop : ndarray of int32 (1,)
    """

    def __init__(
        self, rows, y, sample_weight, weights, settings, seed, mean_weight, shuffled, search, stop
    ):
        self.rows, self.y, self.sample_weight = rows, y, sample_weight
        self.weights, self.settings, self.seed = weights, settings, seed
        self.mean_weight, self.shuffled = mean_weight, shuffled
        self.search, self.stop = search, stop
        self.squares = squared_norms(rows) + settings.bias**2
        counted = np.flatnonzero(sample_weight) if sample_weight.size else np.arange(len(y))
        self.visited = counted.astype(np.int32)
        self.n_scored = self.n_visited = 0

    def order(self, epoch):
        """The samples of a pass: each once, or each class equally often."""
        rng = stream(self.seed, "pass", epoch)
        if self.settings.sampling == "uniform":
            return rng.permutation(self.visited) if self.shuffled else self.visited
        by_class = self.visited[np.argsort(self.y[self.visited], kind="stable")]
        present, counts = np.unique(self.y[by_class], return_counts=True)
        ends = np.cumsum(counts)
        drawn = rng.integers(len(present), size=len(self.visited))
        return by_class[ends[drawn] - 1 - rng.integers(counts[drawn])]

    def epoch(self, number, n_before):
        """A pass; returns the mean loss of the samples, each before its step.

        Parameters
        ----------
        number : int
        n_before : int
            Samples visited before, in passes and calls.
        """
        order = self.order(number)
        n_batches = max(1, round(len(order) / self.settings.batch_size))
        loss = 0.0
        for samples in np.array_split(order, n_batches):
            loss += self.batch(samples, n_before / self.settings.batch_size)
            n_before += len(samples)
        counted = self.sample_weight[order].sum(dtype=np.float64) if self.sample_weight.size else 0
        return loss / (counted or len(order))

    def batch(self, samples, t):
        """One round of the outer loop of Algorithm 1 or 2; returns the sum of the losses.

        A batch of fewer samples than the settings speak of, as a part of the data may be, carries
        its share of the penalty and of the time t, so that parts add up to the whole.
        """
        s, weights = self.settings, self.weights
        eta = s.eta0 / (1 + s.eta_step * t)
        share = len(samples) / s.batch_size
        if s.penalty == "l2":
            weights.shrink(1 - s.alpha * eta * share)
        rate = eta / s.rho / self.mean_weight
        if s.reduction == "mean":
            rate /= s.batch_size
        rivals = np.empty(len(samples), dtype=np.int32)
        loss = 0.0
        size = self.search.samples_at_once
        for start in range(0, len(samples), size):
            part = slice(start, start + size)
            loss += self.visit(samples[part], rate, rivals[part], start > 0, t)
        touched = np.union1d(self.y[samples], rivals)
        if s.penalty == "l2":
            weights.project(1 / np.sqrt(s.alpha) if s.alpha > 0 else np.inf)
        else:
            weights.truncate(touched, weights.shape[0] / len(touched) * s.alpha * eta * share)
        if s.average:
            weights.count_iterates(len(samples))
        return loss

    def visit(self, samples, rate, rivals, continued, t):
        rows = self.rows
        loss, n_scored, bad = kernel.run_batch(
            rows.indptr, rows.indices, rows.data, rows.dense, samples, self.y, self.sample_weight,
            self.squares, self.search.candidates(samples), self.settings.bias,
            self.weights.lists, self.weights.state, rate, self.settings.rho,
            self.weights.scores, rivals, continued, self.stop,
        )  # fmt: skip
        if bad >= 0:
            raise FloatingPointError(f"the margin of a sample in batch {int(t) + 1} was not finite")
        self.search.changed(np.union1d(self.y[samples], rivals))
        self.n_scored += n_scored
        self.n_visited += len(samples)
        return loss
