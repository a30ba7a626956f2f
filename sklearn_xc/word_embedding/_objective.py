"""The collapsed skip-gram objective, and the pairs of words that it is of.

With q(x) the share of pairs whose word is x, and q(y|x) the share of those whose context is y,

    F(U, V) = sum_x q(x) sum_y q(y|x) (log sum_y' exp <v_y', u_x> - <v_y, u_x>)

(eq. 9 of the LDGS paper). Its gradients are, with p the softmax of the scores,

    q(x) (sum_y p(y|x) v_y - sum_y q(y|x) v_y)   in u_x and
    sum_x q(x) (p(y|x) - q(y|x)) u_x             in v_y.

The sums over p are what a gradient costs; `_context_sums` and `_block_sums` estimate them.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from .._kernels.ldgs import _row_updates as rows_kernel
from ..utils._parallel import in_threads, single_threaded_blas

# step(rows, gradient): a step of some words. `gradient` gives the sums of (p(y|x) - q(y|x)) v_y for
# their vectors; it returns their new vectors and q(x).
Step: TypeAlias = Callable[
    [np.ndarray, Callable[[np.ndarray], np.ndarray]], tuple[np.ndarray, np.ndarray]
]


class SoftmaxSums(Protocol):
    """Sums over the softmax as `SkipGram` takes them."""

    n_scored: float
    n_threads: int

    def begin(self, U: np.ndarray, V: np.ndarray, number: int, parts: list[np.ndarray]) -> None:
        """Get ready for a pass of that number over these parts; it changes U and V in place."""

    def visit(self, part: int, rows: np.ndarray, step: Step, of_contexts: np.ndarray) -> None:
        """Have the words of a part step, and add the gradient of contexts with their new vectors.

        The sums of q(x) (p(y|x) - q(y|x)) u_x over the words are added to `of_contexts`.
        """


class WordPairs:
    """Shares of words, q(x), of contexts, and q(y|x), row by row, in all pairs.

    Counts are not negative, with a positive sum and sorted indices.
    """

    def __init__(self, counts: sparse.csr_array) -> None:
        sums = np.asarray(counts.sum(axis=1)).ravel()
        total = sums.sum()
        self.n_words = counts.shape[0]
        self.word_share = sums / total
        self.context_share = np.asarray(counts.sum(axis=0)).ravel() / total
        self.indptr = counts.indptr.astype(np.int64)
        self.ids = counts.indices.astype(np.int32, copy=False)
        per_row = np.repeat(np.maximum(sums, np.finfo(float).tiny), np.diff(counts.indptr))
        self.share = (counts.data / per_row).astype(np.float32)

    def count_of(self, rows: np.ndarray) -> int:
        """Return how many pairs some words have."""
        return (self.indptr[rows + 1] - self.indptr[rows]).sum()

    def of(self, rows: np.ndarray) -> "OwnPairs":
        """Return the pairs of some words: an OwnPairs."""
        begin = self.indptr[rows]
        count = self.indptr[rows + 1] - begin
        ends = np.cumsum(count)
        numbers = np.repeat(np.arange(len(rows), dtype=np.int32), count)
        # From the place in the result to that among all pairs, word by word.
        entries = np.arange(len(numbers)) + np.repeat(begin - ends + count, count)
        return OwnPairs(numbers, self.ids[entries], self.share[entries], np.append(0, ends))

    def of_contexts(self, V: np.ndarray, rows: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Return sum_y q(y|x) v_y of some words, float32 (len(rows), dim)."""
        out = np.empty((len(rows), V.shape[1]), dtype=np.float32)
        begin = self.indptr[rows]
        count = self.indptr[rows + 1] - begin
        rows_kernel.combine(self.ids, self.share, begin, count, False, V, out, n_threads)
        return out


class OwnPairs(NamedTuple):
    """The pairs of the words of a block."""

    rows: np.ndarray  # int32 (n_pairs,), the place of the word in the block, in rising order
    ids: np.ndarray  # int32 (n_pairs,), the context
    share: np.ndarray  # float32 (n_pairs,), q(y|x)
    indptr: np.ndarray  # int64 (n_rows + 1,)


def objective(
    pairs: WordPairs,
    U: np.ndarray,
    V: np.ndarray,
    batch_size: int,
    n_threads: int,
    sample: np.ndarray | None = None,
) -> float:
    """Return F(U, V), evaluated block by block.

    `sample` are words drawn with the probabilities q(x), whose mean is an estimate; by default F
    itself.
    """
    words = np.arange(pairs.n_words) if sample is None else sample
    # sum_x q(x) f(x), or the mean of f over words drawn by q.
    weight = pairs.word_share if sample is None else np.full(pairs.n_words, 1 / len(sample))
    blocks = blocks_of(words, batch_size)
    with single_threaded_blas():
        parts = in_threads(_objective_of_block, blocks, pairs, U, V, weight, n_threads=n_threads)
        return float(sum(parts))


def blocks_of(rows: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Return consecutive blocks of words."""
    return [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]


def _objective_of_block(
    rows: np.ndarray, pairs: WordPairs, U: np.ndarray, V: np.ndarray, weight: np.ndarray
) -> float:
    """Return the part of some words in F, weighted."""
    u = U[rows]
    log_normaliser = softmax(u @ V.T)
    own = np.einsum("ij,ij->i", pairs.of_contexts(V, rows), u, dtype=np.float64)
    # A word without pairs has no term, whatever its normaliser.
    return weight[rows] @ np.where(pairs.word_share[rows] > 0, log_normaliser - own, 0)


def softmax(z: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exp(z) of each row; OUT z: each divided by it."""
    # In place: z is the largest array of a block.
    top = z.max(axis=1, keepdims=True)
    z -= top
    np.exp(z, out=z)
    total = z.sum(axis=1, dtype=np.float64)
    z /= total[:, None].astype(np.float32)
    return np.log(total) + top.ravel()
