"""The negative classes of a step on one sample."""

from typing import TypeAlias

import numpy as np

from .._kernels.softmax import _sampled_classes as kernel
from ..utils._rows import Rows

# indptr, indices, data and dense as in Rows, and numbers of samples in them.
RowArrays: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, bool, np.ndarray]


def uniform(counts: np.ndarray) -> np.ndarray:
    """Return the same probability for each class."""
    return np.full(len(counts), 1 / len(counts))


def frequency(counts: np.ndarray) -> np.ndarray:
    """Mix frequencies and uniform: no class weighs more than twice its uniform weight."""
    return 0.5 / len(counts) + 0.5 * counts / counts.sum()


SAMPLINGS = {"uniform": uniform, "frequency": frequency}


class ClassSampler:
    """Sampler of classes other than a sample's own.

    "uniform" draws without replacement. "frequency" draws with replacement, each class with a
    probability that is half uniform and half its share of the samples, and weights what it drew by
    the inverse of that probability. Either way a sum over the drawn classes, each times its
    importance, has the sum over all other classes as its expectation.

    Parameters
    ----------
    counts : ndarray (n_classes,)
        Samples, or their weights, of each class; not all zero.
    n_sampled : int
        Classes drawn for a sample; "uniform" draws at most the n_classes - 1 that there are.
    """

    def __init__(
        self, sampling: str, counts: np.ndarray, n_sampled: int, n_threads: int = 1
    ) -> None:
        n_classes = len(counts)
        self.n_classes, self.n_threads = n_classes, n_threads
        self.with_replacement = sampling != "uniform"
        self.n_sampled = n_sampled if self.with_replacement else min(n_sampled, n_classes - 1)
        self.probability = SAMPLINGS[sampling](np.asarray(counts, dtype=np.float64))
        self.threshold, self.alias = alias_table(self.probability)

    def left_out(self) -> tuple[float, float] | None:
        """Return the factors of an estimate of the sum over all other classes that leaves one draw
        out: of the term of that class, and of the terms of the other classes drawn, each times its
        importance.

        Given which class is left out, the estimate has the sum as its expectation. None if too few
        classes are drawn.
        """
        n_others = self.n_classes - 1
        if self.with_replacement:
            # Draws are independent: those that remain are an estimate by themselves, from one
            # fewer.
            return None if self.n_sampled == 1 else (0.0, self.n_sampled / (self.n_sampled - 1))
        if n_others == 1:
            return 1.0, 0.0
        if self.n_sampled == 1:
            return None
        # The class left out is known, so its term counts once; the rest is a uniform draw of
        # n_sampled - 1 from the n_others - 1 other classes, whose importance of n_others /
        # n_sampled becomes (n_others - 1) / (n_sampled - 1).
        missing = (n_others - 1) / (self.n_sampled - 1)
        return 1.0, missing * self.n_sampled / n_others

    def draw(self, y: np.ndarray, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw classes for the samples of a mini-batch, whose own classes are `y`; return them,
        int32 (n_rows, n_sampled + 1) with the own class first, and their importance, float32
        (n_rows, n_sampled).

        A draw depends on the seed, the step and the place in the mini-batch alone.
        """
        classes = np.empty((len(y), self.n_sampled + 1), dtype=np.int32)
        classes[:, 0] = y
        if not self.with_replacement:
            kernel.draw_distinct(classes, self.n_classes, seed, step, self.n_threads)
            weight = (self.n_classes - 1) / self.n_sampled
            return classes, np.full((len(y), self.n_sampled), weight, dtype=np.float32)
        kernel.draw_alias(classes, self.threshold, self.alias, seed, step, self.n_threads)
        # The own class is rejected, so that the others are drawn from q_k / (1 - q_y).
        drawn = self.probability[classes[:, 1:]] / (1 - self.probability[y])[:, None]
        return classes, (1 / (self.n_sampled * drawn)).astype(np.float32)


def side_by_side(rows: Rows, batch: np.ndarray, n_threads: int = 1) -> RowArrays:
    """Return the samples of a mini-batch as the kernels take them, sparse ones copied together."""
    if rows.dense:
        return *rows[:4], batch
    packed = kernel.pack(rows.indptr, rows.indices, rows.data, batch, n_threads)
    return *packed, False, np.arange(len(batch), dtype=np.int32)


class Drawn:
    """A mini-batch with the classes drawn for it: one draw for all, or one for each kind of step.

    Parameters
    ----------
    rows : RowArrays
        From `side_by_side`.
    classes : tuple of ndarray of int32 (n_rows, n_sampled + 1)
        Of one draw or two, the own class first. The first draw's are stepped, all are scored at
        once so that weights are read once.
    importance : tuple of ndarray of float32 (n_rows, n_sampled)
    """

    def __init__(
        self,
        rows: RowArrays,
        n_classes: int,
        classes: tuple[np.ndarray, ...],
        importance: tuple[np.ndarray, ...],
        n_threads: int,
    ) -> None:
        self.importance = importance
        every = classes[0]
        if len(classes) == 1:
            self.stepped = self.scored = kernel.MiniBatch(*rows, every, n_classes)
        else:
            every = np.hstack([classes[0], classes[1][:, 1:]])
            self.stepped, self.scored = kernel.two_mini_batches(
                *rows, classes[0], every, n_classes, n_threads
            )
        self.psi = np.empty(every.shape, dtype=np.float32)

    def psi_of_draws(self) -> list[np.ndarray]:
        """Return the scores of each draw, the own class first."""
        if len(self.importance) == 1:
            return [self.psi]
        width = self.importance[0].shape[1] + 1
        # The scores of both draws lie side by side after one column of the own class. The column
        # before the second draw, the last of the first, makes place for it.
        second = self.psi[:, width - 1 :].copy()
        second[:, 0] = self.psi[:, 0]
        return [self.psi[:, :width].copy(), second]


def alias_table(probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return thresholds and aliases of Walker's table: draw a place, keep it if a uniform number is
    below its threshold, else take its alias.
    """
    n = len(probability)
    threshold, alias = probability * n / probability.sum(), np.arange(n, dtype=np.int32)
    kernel.fill_alias_table(threshold, alias)
    return threshold, alias
