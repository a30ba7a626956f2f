"""Passes of alternating gradient steps on the skip-gram objective (see `_objective`)."""

from collections.abc import Callable, Iterator

import numpy as np

from .._kernels.word_embedding import _vector_updates as kernel
from ..utils._parallel import single_threaded_blas
from ..utils._random import stream
from ._objective import SoftmaxSums, WordPairs


class Adagrad:
    """Steps against a gradient, scaled coordinate by coordinate (Duchi, Hazan and Singer).

    Words differ in the curvature of their terms by orders of magnitude, which plain steps of one
    length would have to be short enough for. One more matrix of that shape is kept.
    """

    def __init__(self, shape: tuple[int, int], n_threads: int = 1) -> None:
        self._squares, self._n_threads = np.zeros(shape, dtype=np.float32), n_threads

    def step(
        self,
        M: np.ndarray,
        gradient: np.ndarray,
        rows: np.ndarray | None,
        factor: np.ndarray,
        rate: float,
    ) -> None:
        """Change M[rows], or all of M for None, against its gradient, row by row times a factor."""
        n_threads = self._n_threads if rows is None else 1
        kernel.adagrad_step(M, self._squares, gradient, rows, factor, rate, n_threads)


class SkipGram:
    """Embeddings U and V, changed in place, and passes of alternating steps on them.

    A pass deals the words out to `n_parts` parts, at random. It visits part after part, and the
    words of a part block by block: sums over the softmax, a step of the embeddings of the words,
    then with these the sums for the contexts, whose embeddings take a step when all of the part are
    done. Gradients are divided by q(x), and by q(y): the step of a rare word is as long as that of
    a frequent one.
    """

    def __init__(
        self,
        pairs: WordPairs,
        U: np.ndarray,
        V: np.ndarray,
        sums: SoftmaxSums,
        n_parts: int = 1,
        seed: int = 0,
    ) -> None:
        self.pairs, self.U, self.V, self.sums = pairs, U, V, sums
        self._steps = Adagrad(U.shape), Adagrad(V.shape, sums.n_threads)
        self._gradient = np.empty_like(V)
        self.n_passes, self._n_parts, self._seed = 0, n_parts, seed

    def iterate(self, rate: Callable[[float], float]) -> None:
        """Make one pass; `rate` is a function of passes made, not whole inside a pass."""
        for _ in self.parts(rate):
            pass

    def parts(self, rate: Callable[[float], float]) -> Iterator[float]:
        """Iterate part by part: yield, after each, how many passes have been made."""
        number, n_parts = self.n_passes, self._n_parts
        self.n_passes += 1
        order = stream(self._seed, "order", number).permutation(self.pairs.n_words)
        with single_threaded_blas():  # once, not with every block
            # Ascending, so that rows of U are read in the order of the memory.
            parts = [np.sort(order[part::n_parts]) for part in range(n_parts)]
            self.sums.begin(self.U, self.V, self.n_passes, parts)
            for part, rows in enumerate(parts):
                self._visit(part, rows, rate(number + part / n_parts))
                yield number + (part + 1) / n_parts

    def _visit(self, part: int, rows: np.ndarray, rate: float) -> None:
        """Step the words of a part, then all contexts."""

        def step(
            rows: np.ndarray, gradient_at: Callable[[np.ndarray], np.ndarray]
        ) -> tuple[np.ndarray, np.ndarray]:
            """Step some words of the part; returns their new vectors and q(x)."""
            gradient = gradient_at(self.U[rows])
            share = self.pairs.word_share[rows]
            # A word without pairs has no term in the objective: its vector stays.
            counted = (share > 0).astype(np.float32)
            self._steps[0].step(self.U, gradient, rows, counted, rate)
            return self.U[rows], share.astype(np.float32)

        gradient = self._gradient
        gradient[:] = 0
        self.sums.visit(part, rows, step, gradient)
        # Divided by q(y), but not by next to nothing; a part has a part of the whole gradient.
        share = np.maximum(self.pairs.context_share, 0.1 / self.pairs.n_words**2)
        factor = (self._n_parts / share).astype(np.float32)
        self._steps[1].step(self.V, gradient, None, factor, rate)
