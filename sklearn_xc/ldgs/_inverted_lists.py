"""Inverted lists for each chunk of the columns of weights: the index that LDGS trains with.

:class:`~sklearn_xc.mips.SphericalIndex` answers any query, measures its recall and can be updated
row by row. Here all chunks of a mini-batch are searched in one call, and the rows are scored
again by the caller: so the rows in the lists may be those of a while ago, and rounded to bytes.
"""

from typing import Self

import numpy as np
from scipy import sparse

from .._kernels.ldgs import _inverted_lists as kernel
from ..mips._spherical import ITERATIONS, train
from ..utils._memory_limit import require_memory

AGAIN = 2  # iterations of k-means from the directions before
WORTH_THREADS = 200_000  # multiply-adds of a search, so that waiting for threads does not show
LANES, BYTES = kernel.lanes(), kernel.bytes_of_word()


class ChunkLists:
    """Rows by the nearest of trained centroids, chunk by chunk; a query reads `n_probes` lists.

    Memory: about a byte a column, in each chunk rounded up to four, and 4 bytes a chunk for each
    row and for eight more a cluster. There are by default as many clusters as the root of the
    number of rows.
    """

    def __init__(
        self, bounds: np.ndarray, n_clusters: int | None, n_probes: int, seed: int, n_threads: int
    ) -> None:
        self._bounds, self._most_clusters, self._n_probes = bounds, n_clusters, n_probes
        self._seed, self._n_threads = seed, n_threads
        self._directions = [None] * (len(bounds) - 1)
        self._n_words = -(-np.diff(bounds) // BYTES)  # of a row

    def build(self, W: np.ndarray) -> Self:
        """Index the rows of W, float32 (n_rows, n_columns); again from the centroids before."""
        n_rows, bounds = len(W), self._bounds
        n_clusters = self._most_clusters or max(1, round(n_rows**0.5))
        self._n_clusters = n_clusters = min(n_clusters, n_rows)
        self._n_probes = min(self._n_probes, n_clusters)
        # Before any of the lists is made.
        self._require_memory(n_rows)
        n_chunks, longest = len(bounds) - 1, len(as_blocks(np.empty((n_clusters, 0))))
        self._starts = np.empty((n_chunks, n_clusters + 1), dtype=np.int64)
        self._offsets = np.empty(n_chunks, dtype=np.int64)
        centroids, ids, end = [], [], 0
        for j in range(n_chunks):
            assigned, own = self._clusters(W, j)
            centroids.append(own.ravel())
            # Blocks of a chunk lie in the order of its clusters; those of the chunks follow one
            # another.
            starts, members = grouped(assigned, n_clusters)
            ids.append(members)
            self._starts[j], self._offsets[j] = starts, end
            end += members.size * int(self._n_words[j])
            # A query reads n_probes distinct lists: at worst the longest. The scratch holds their
            # scores, or those of all centroids, whichever are more.
            read = np.sort(np.diff(starts))[::-1][: self._n_probes].sum()
            longest = max(longest, int(read))
        self._centroids, self._ids = np.concatenate(centroids), np.concatenate(ids)
        self._values = np.empty(end, dtype=np.int32)
        self._scales = np.empty(len(self._ids), dtype=np.float32)
        # Two walks, since the sizes of all chunks have to be known before the arrays are made.
        first = 0
        for j, members in enumerate(ids):
            a, b = int(bounds[j]), int(bounds[j + 1])
            here = self._values[self._offsets[j] :], self._scales[first:]
            kernel.lay_out(W, a, b - a, members, *here, self._n_threads)
            first += len(members)
        self._scratch = tuple(
            np.empty((self._n_threads, size), dtype=dtype)
            for size, dtype in [
                (LANES * longest, np.float32),
                (LANES * longest, np.uint64),
                (self._n_probes, np.float32),
                (self._n_probes, np.int32),
            ]
        )
        self.work_of_query = (LANES * longest + n_clusters) * int(bounds[-1])
        return self

    def _require_memory(self, n_rows: int) -> None:
        """Refuse lists that do not fit into memory."""
        n_chunks, n_columns = len(self._bounds) - 1, int(self._bounds[-1])
        places = n_rows + LANES // 2 * self._n_clusters  # the last blocks are half full
        require_memory(
            4 * places * (int(self._n_words.sum()) + n_chunks),
            f"lists of {n_rows} rows of {n_columns} columns",
            "use a smaller hidden_dim, or index='hnsw'",
        )

    def _clusters(self, W: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster of each row, and the centroids in blocks.

        A centroid is a direction times the root mean square of the norms of its rows, as in
        SphericalIndex: of two in the same direction the one with longer rows is read first.
        """
        a, b = int(self._bounds[j]), int(self._bounds[j + 1])
        before, n_clusters = self._directions[j], self._n_clusters
        directions = train(
            # Directions of the build before, where there are some: weights have moved little, and
            # AGAIN iterations follow them.
            W[:, a:b],
            n_clusters,
            self._seed,
            self._n_threads,
            before,
            ITERATIONS if before is None else AGAIN,
            assign,
        )
        assigned = assign(W, directions, self._n_threads, a)
        squares = np.einsum("ij,ij->i", W[:, a:b], W[:, a:b])
        # The root mean square of the norms in a cluster; an empty one has length 0.
        total = np.bincount(assigned, squares, minlength=n_clusters)
        count = np.bincount(assigned, minlength=n_clusters)
        scale = np.sqrt(total / np.maximum(count, 1)).astype(np.float32)
        self._directions[j] = directions
        return assigned, as_blocks(directions * scale[:, None])

    def candidates(self, H: np.ndarray, n: int, n_first: int | None = None) -> np.ndarray:
        """Return rows that score best in each chunk, int32 (n_queries, n_chunks, n); -1: padding.

        The best `n_first` stand first, then the next up to twice as many, and so on; with None they
        are in any order. H is in C order.
        """
        retrieved = np.empty((len(H), len(self._offsets), n), dtype=np.int32)
        n_threads = self._n_threads if len(H) * self.work_of_query > WORTH_THREADS else 1
        lists = kernel.InvertedFile(
            self._bounds,
            self._centroids,
            self._starts,
            self._values,
            self._scales,
            self._offsets,
            self._ids,
        )
        memory = kernel.Scratch(*self._scratch)
        kernel.search(H, lists, self._n_probes, n_first or n, retrieved, memory, n_threads)
        return retrieved


def as_blocks(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, d) in blocks (n_blocks, d, LANES), filled up with zeros."""
    n_blocks = -(-len(rows) // LANES)
    blocks = np.zeros((n_blocks * LANES, rows.shape[1]), dtype=np.float32)
    blocks[: len(rows)] = rows
    return np.ascontiguousarray(blocks.reshape(n_blocks, LANES, -1).transpose(0, 2, 1))


def assign(rows: np.ndarray, directions: np.ndarray, n_threads: int, start: int = 0) -> np.ndarray:
    """Return the direction of largest inner product with columns of each row, int32 (n_rows,)."""
    assigned = np.empty(len(rows), dtype=np.int32)
    kernel.assign(rows, start, as_blocks(directions), len(directions), assigned, n_threads)
    return assigned


def grouped(assigned: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first block of each cluster, and the rows in blocks (n_blocks, LANES), ascending.

    A cluster begins with a block of its own; -1 fills up the last.
    """
    n_rows = len(assigned)
    pattern = sparse.csr_array(
        (np.ones(n_rows, dtype=np.int8), assigned, np.arange(n_rows + 1)),
        shape=(n_rows, n_clusters),
    ).tocsc()  # a counting sort
    count = np.diff(pattern.indptr)
    starts = np.concatenate([[0], np.cumsum(-(-count // LANES))]).astype(np.int64)
    ids = np.full((max(1, int(starts[-1])), LANES), -1, dtype=np.int32)
    # From the place of a row among the sorted ones to that behind what fills up clusters before.
    shift = LANES * starts[:-1] - pattern.indptr[:-1]
    ids.ravel()[np.arange(n_rows) + np.repeat(shift, count)] = pattern.indices
    return starts, ids
