"""Searching chunk by chunk: the indexes of LDGS and the gradients on what they name.

The scores of a sample with embedding h are W h. Their columns are cut into chunks; an index for
inner products holds each chunk of W, and names for each chunk of h the classes that score best
there. On these and the positives :func:`set_gradients` takes the gradient of a loss.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from .._kernels.ldgs import _candidate_gradients as kernel
from .._kernels.ldgs._losses import KINDS
from ..mips import ExactIndex, HNSWIndex
from ._int8_rows import ByteRows
from ._inverted_lists import ChunkLists

# An empty array stands for "none" in arguments of kernels, whose memoryviews take no None.
ONES = np.empty(0, dtype=np.float32)
NO_ROWS = np.empty((0, 0), dtype=np.int8)


class Positives(NamedTuple):
    """The positives of samples."""

    indptr: np.ndarray  # int64 (n_rows + 1,)
    ids: np.ndarray  # int32 (nnz,), distinct in a row
    # float32 (nnz,), of size 0 for ones: factors on their terms of cross-entropy, such as the
    # q_{y|x} of eq. 9, and of triplets.
    weight: np.ndarray = ONES


class SetGradients(NamedTuple):
    """Gradients of samples in the scores of some classes.

    The classes of sample i are ``ids[i, :counts[i]]``, its positives first.
    """

    ids: np.ndarray  # int32 (n_rows, capacity)
    values: np.ndarray  # float32 (n_rows, capacity); 0 beyond, where some callers multiply too
    counts: np.ndarray  # int64 (n_rows,)
    n_scored: np.ndarray  # int64 (n_rows,): `counts`, or more where some had no gradient
    losses: np.ndarray  # float64 (n_rows,): of the set, or with passes the decomposed loss, eq. 12
    # float64 (n_rows,), or of size 0: the largest gradient of a class outside the set, if each
    # search retrieved the best of its chunk; of cross-entropy only.
    left_out: np.ndarray

    def spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the entries of each row begin in `ids` and `values` as vectors, and how
        many.
        """
        return np.arange(len(self.ids), dtype=np.int64) * self.ids.shape[1], self.counts


def chunk_bounds(n_columns: int, n_chunks: int) -> np.ndarray:
    """Return where chunks of about equal size begin, and the end: int32 (n_chunks + 1,)."""
    return (np.arange(n_chunks + 1) * n_columns // n_chunks).astype(np.int32)


class SetLoss(NamedTuple):
    """A loss on the positives and the candidates of samples."""

    name: str
    mu: float = 1.0  # smoothing of "margin"
    # Passes of Algorithm 2, whose chunks know the scores of what they retrieved only; 0 scores all
    # classes of the set exactly.
    n_message_passes: int = 0
    # tau_2 of Algorithm 2. Without passes, the smallest gradients of negatives in cross-entropy are
    # 0 that together do not reach tau.
    tau: float = 0.0
    zero_rest: bool = False  # classes outside count as scored 0, as in Algorithm 1, or not at all


class ComparedClasses(NamedTuple):
    """Classes that samples are compared with, in addition to their own."""

    # int32 (n_rows, n_chunks, n), C-contiguous, distinct in a line but for -1, which is padding.
    retrieved: np.ndarray
    # int32 (n_rows, n_drawn), C-contiguous: uniformly drawn classes that stand for all that are
    # neither positive nor retrieved. With cross-entropy each has its importance weight, so that the
    # partition function is estimated without bias; else they are candidates like those retrieved.
    drawn: np.ndarray | None = None
    # Where what is left out is wanted, this many of each line are used at first, and twice that as
    # long as a class that is left out could have a gradient above tau. None uses all.
    n_first: int | None = None

    @property
    def size(self) -> int:
        """Number of classes named for all samples together."""
        return self.retrieved.size + (0 if self.drawn is None else self.drawn.size)


def set_gradients(
    W: np.ndarray,
    H: np.ndarray,
    bounds: np.ndarray,
    candidates: ComparedClasses,
    positives: Positives,
    loss: SetLoss,
    *,
    wants_left_out: bool = False,
    n_threads: int = 1,
    places: np.ndarray | None = None,
    rounded: ByteRows | None = None,
) -> SetGradients:
    """Return gradients of a loss on the positives and the candidates of samples.

    Scores are H @ W.T, both C-contiguous float32; `bounds` are those of `chunk_bounds`. Results do
    not depend on `n_threads`. `places`, int32 (n_threads, n_classes) of -1 and left so, is memory
    that one call can hand to the next. With W `rounded`, negatives that cannot have a gradient, by
    bounds of their scores, are not read in W and not in the result; cross-entropy and message
    passes do not use it.
    """
    retrieved, drawn, n_first = candidates
    n_rows, n_chunks, n = retrieved.shape
    n_threads = max(1, min(n_threads, n_rows))
    if drawn is None:
        drawn = np.empty((n_rows, 0), dtype=np.int32)
    most = int(np.diff(positives.indptr).max(initial=0))
    # Room for the positives, all retrieved and all drawn of the sample with the most, which are at
    # most all classes since each counts once. At least 1: kernels point to the first.
    capacity = max(1, min(n_chunks * n + drawn.shape[1] + most, W.shape[0]))
    left_out = np.empty(n_rows if wants_left_out else 0)
    found = SetGradients(
        np.empty((n_rows, capacity), dtype=np.int32),
        # Zeros beyond the counts: `_context_sums` multiplies whole rows.
        np.zeros((n_rows, capacity), dtype=np.float32),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows),
        left_out,
    )
    values = NO_ROWS
    # Cross-entropy has a gradient at every class of the set, and messages need scores of each
    # chunk.
    if rounded is not None and loss.name != "cross_entropy" and loss.n_message_passes == 0:
        values = rounded.values
    if places is None:
        places = scratch_places(n_threads, W.shape[0])
    options = {
        "kind": KINDS[loss.name],
        "mu": loss.mu,
        "zero_rest": loss.zero_rest,
        "n_passes": loss.n_message_passes,
        "tau": loss.tau,
        # All at once where nothing is to be widened.
        "n_first": n_first or n,
    }
    kernel.gradients(
        kernel.LabelEmbeddings(W, bounds, values),
        H,
        kernel.Candidates(retrieved, drawn, *positives),
        options,
        kernel.SetGradients(*found),
        kernel.Scratch(places, n_threads, n_chunks, capacity, values.shape[1]),
        n_threads,
    )
    return found


def scratch_places(n_threads: int, n_classes: int) -> np.ndarray:
    """Return the room for what kernels have seen: int32 (n_threads, n_classes) of -1."""
    return np.full((n_threads, n_classes), -1, dtype=np.int32)


class ChunkIndexes:
    """One index for each chunk of the weights: "spherical", "hnsw" or "exact".

    "spherical" has `n_centroids` clusters, by default the root of the number of classes, of which a
    query reads `n_probes`.
    """

    def __init__(
        self,
        kind: str,
        bounds: np.ndarray,
        *,
        n_centroids: int | None = None,
        n_probes: int = 1,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.bounds, self._kind, self._seed, self._n_jobs = bounds, kind, seed, n_jobs
        self._lists = self._indexes = None
        if kind == "spherical":
            self._lists = ChunkLists(bounds, n_centroids, n_probes, seed, n_jobs)

    def _make(self) -> ExactIndex | HNSWIndex:
        """Return an index of one chunk, not built yet."""
        if self._kind == "exact":
            return ExactIndex(n_jobs=self._n_jobs)
        # What an index misses is for the caller to measure: it may not turn to exact answers.
        return HNSWIndex("xbox", min_recall=0.0, n_jobs=self._n_jobs, random_state=self._seed)

    def _chunks(self, matrix: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the columns of each chunk, as a matrix in C order."""
        for start, stop in zip(self.bounds, self.bounds[1:], strict=False):
            yield np.ascontiguousarray(matrix[:, start:stop])

    def build(self, W: np.ndarray, queries: np.ndarray | None = None) -> Self:
        """Index W (n_classes, n_columns), again after it has changed.

        Some embeddings (n, n_columns) stand for all queries of "hnsw".
        """
        if self._lists is not None:
            self._lists.build(W)
            return self
        samples = [None] * (len(self.bounds) - 1) if queries is None else self._chunks(queries)
        self._indexes = [
            self._make().build(rows, some)
            for rows, some in zip(self._chunks(W), samples, strict=True)
        ]
        return self

    def candidates(self, H: np.ndarray, n: int, n_first: int | None = None) -> np.ndarray:
        """Return n classes that score best in each chunk, int32 (n_rows, n_chunks, n); -1: padding.

        The best `n_first` stand first, the next up to twice as many then, and so on.
        """
        if self._lists is not None:
            return self._lists.candidates(H, n, n_first)
        found = [
            index.candidates(rows, n)
            for index, rows in zip(self._indexes, self._chunks(H), strict=True)
        ]
        return np.stack(found, axis=1)

    def beyond(self, W: np.ndarray, H: np.ndarray, n: int, threshold: float) -> np.ndarray:
        """Return the classes of which a chunk's score is beyond a threshold, of either sign.

        Of the n best and the n lowest in each chunk, int32 (n_rows, n_chunks, 2 n); -1: padding.
        """
        sides = []
        # S_j = {k : |z_jk| > tau_1} (step 1): the lowest scores are the best of the negated query.
        for sign in (1, -1):
            queries = sign * H
            named = self.candidates(queries, n)
            # Where a place is padding, -1, the comparison reads the last class, and the place is -1
            # either way.
            for h, of_row in zip(queries, named, strict=True):
                for j, (a, b) in enumerate(itertools.pairwise(self.bounds)):
                    of_row[j, W[of_row[j], a:b] @ h[a:b] <= threshold] = -1
            sides.append(named)
        return np.concatenate(sides, axis=2)
