"""Spherical k-means and inverted lists of its clusters."""

from collections.abc import Callable
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from .._kernels.mips import _search as kernel
from ..utils._parallel import single_threaded_blas
from ..utils._typing import RandomState
from ._approximate import ApproximateIndex, Queries, doublings
from ._exact_search import BLAS_WORK, for_blocks, multiply, product
from ._reductions import Reduction
from ._row_store import Heaps, RowStore

BATCH = 1024  # queries that share the reading of a list
ASSIGNED = 4096  # rows assigned at once
POINTS = 64  # rows a cluster to train on
ITERATIONS = 10
WORTH_THREADS = 2_000_000  # multiply-adds, so that waiting for threads does not show
NAMED = 32  # candidates a list that was read, where sketches only estimate the scores


class CentroidLists:
    """Reduced rows by the nearest of trained centroids.

    A centroid is the direction of its cluster, times the root mean square of the norms of its rows:
    so that of two clusters in the same direction the one with longer rows is read first. Cluster c
    has the rows ``members[starts[c]:starts[c + 1]]``, ascending.
    """

    def __init__(self, rows: np.ndarray, n_clusters: int, seed: int, n_threads: int) -> None:
        self._directions = train(rows, n_clusters, seed, n_threads)
        self._assigned = assign(rows, self._directions, n_threads)
        self._group()
        squares = np.einsum("ij,ij->i", rows, rows)
        total = np.bincount(self._assigned, squares, minlength=len(self._directions))
        scale = np.sqrt(total / np.maximum(np.diff(self.starts), 1)).astype(np.float32)
        self.centroids = self._directions * scale[:, None]

    def _group(self) -> None:
        """Sort the rows by cluster."""
        n = len(self._assigned)
        shape = n, len(self._directions)
        pattern = sparse.csr_array(
            (np.ones(n, dtype=np.int8), self._assigned, np.arange(n + 1)), shape=shape
        ).tocsc()  # a counting sort
        self.members = pattern.indices.astype(np.int32, copy=False)
        self.starts = pattern.indptr.astype(np.int64, copy=False)

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Move the rows given to the clusters where they belong now."""
        self._assigned[ids] = assign(rows, self._directions, 1)
        self._group()

    def search(self, queries: Queries, n: int, effort: int, n_threads: int) -> np.ndarray:
        """Return candidates int32 (n_queries, n) with the best inner products in `effort` lists."""
        n_queries, effort = len(queries.reduced), min(effort, len(self.centroids))
        if n_queries == 0:
            return np.empty((0, n), dtype=np.int32)
        n_rows, width = queries.vectors.shape
        # If lists are about equally long. Few queries read their lists one by one, many share the
        # reading of a list in a matrix product.
        work = n_queries * width * effort * n_rows // len(self.centroids)
        if work < BLAS_WORK:
            return self._search_few(queries, n, effort, n_threads if work > WORTH_THREADS else 1)
        parts = for_blocks(
            search_block, n_queries, BATCH, self, *queries, n, effort, n_threads=n_threads
        )
        return np.concatenate(parts)

    def probes(self, reduced: np.ndarray, n_probes: int) -> np.ndarray:
        """Return the clusters to read for each query, int (n_queries, n_probes)."""
        scores = product(reduced, self.centroids)
        if n_probes == len(self.centroids):
            return np.broadcast_to(np.arange(n_probes), scores.shape)
        return np.argpartition(-scores, n_probes - 1, axis=1)[:, :n_probes]

    def _search_few(self, queries: Queries, n: int, n_probes: int, n_threads: int) -> np.ndarray:
        """Return candidates of few queries, each of which reads its own lists."""
        top = Heaps(len(queries.reduced), n)
        probes = np.ascontiguousarray(self.probes(queries.reduced, n_probes), dtype=np.int64)
        kernel.search_lists(
            queries.plain,
            queries.vectors.matrix,
            self.members,
            self.starts,
            probes,
            top.scores,
            top.ids,
            min(n_threads, len(probes)),
        )
        return top.sorted()[0]


def search_block(
    block: range,
    lists: CentroidLists,
    reduced: np.ndarray,
    plain: np.ndarray,
    vectors: RowStore,
    n: int,
    n_probes: int,
) -> np.ndarray:
    """Return candidates of a block of queries, by a matrix product for each list that is read."""
    reduced, plain = reduced[block.start : block.stop], plain[block.start : block.stop]
    top = Heaps(len(block), n)
    # Pairs of a query and a list that it reads, sorted by list: `askers` are their queries.
    clusters = lists.probes(reduced, n_probes).ravel()
    order = np.argsort(clusters, kind="stable")
    askers = (order // n_probes).astype(np.int32)
    ends = np.append(np.flatnonzero(np.diff(clusters[order])) + 1, len(order))
    start = 0
    with single_threaded_blas():
        for end in ends:
            cluster, who = clusters[order[start]], askers[start:end]
            ids = lists.members[lists.starts[cluster] : lists.starts[cluster + 1]]
            if len(ids):
                top.offer(multiply(plain[who], vectors.matrix[ids]), ids[None], who)
            start = end
    return top.sorted()[0]


# ------------------------------------------------------------------------------------ training


def assign(rows: np.ndarray, directions: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the direction of largest inner product with each row, int32 (n_rows,)."""
    parts = for_blocks(assign_block, len(rows), ASSIGNED, rows, directions, n_threads=n_threads)
    return np.concatenate([np.empty(0, dtype=np.int32), *parts])


def assign_block(block: range, rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the direction of largest inner product with each row of a block."""
    scores = product(rows[block.start : block.stop], directions)
    return scores.argmax(axis=1).astype(np.int32)


def train(
    rows: np.ndarray,
    n_clusters: int,
    seed: int,
    n_threads: int,
    start: np.ndarray | None = None,
    n_iterations: int = ITERATIONS,
    assign: Callable[..., np.ndarray] = assign,
) -> np.ndarray:
    """Return unit directions of clusters by spherical k-means on some of the rows.

    `start` holds directions to go on from, by default of some rows; `assign` says which direction
    each row belongs to, as the function of this name does. All directions are zero if all rows are.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(rows))[: POINTS * n_clusters]
    points = rows[np.sort(chosen)]
    # Rows of zeros have no direction and take no part.
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    points, norms = points[norms > 0], norms[norms > 0]
    if len(points) == 0:
        return np.zeros((n_clusters, rows.shape[1]), dtype=np.float32)
    points /= norms[:, None]
    directions = start
    if directions is None:
        directions = points[rng.permutation(len(points))[:n_clusters]]
    if len(directions) < n_clusters:
        directions = np.resize(directions, (n_clusters, rows.shape[1]))
    for _ in range(n_iterations):
        assigned = assign(points, directions, n_threads)
        n = len(points)
        # The unit vector with the largest sum of inner products with the points of a cluster is
        # their sum, divided by its length.
        which = sparse.csr_array(
            (np.ones(n, dtype=np.float32), assigned, np.arange(n + 1)), shape=(n, n_clusters)
        )
        sums = which.T.tocsr() @ points
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        # A cluster that has lost its points goes on from one that fits its own cluster worst.
        empty = np.flatnonzero(lengths <= 1e-12)
        if len(empty):
            sums[empty[:n]] = worst(points, directions, assigned, len(empty))
            lengths[empty] = 1
        directions = sums / lengths[:, None]
    return directions


def worst(points: np.ndarray, directions: np.ndarray, assigned: np.ndarray, n: int) -> np.ndarray:
    """Return the n points with the least inner product with their own direction."""
    fit = np.einsum("ij,ij->i", points, directions[assigned])
    return points[np.argsort(fit, kind="stable")[:n]]


class SphericalIndex(ApproximateIndex):
    """Maximum inner product search by trained spherical k-means and inverted lists [1]_.

    Rows are clustered by direction. A query is compared with the centroids, and the rows in the
    lists of the nearest are scored. Many queries at once are answered list by list, by a matrix
    product of all that read it. Of the reductions, "xbox" makes all rows equally long, as in [1]_
    (with one extra coordinate instead of its several, which make them only nearly so); with "ip"
    clusters of long rows are preferred instead.

    Memory: the rows as in ExactIndex, 8 (d + 1) bytes a cluster and 8 a row; sketches of sparse
    rows 4 n_components. While the clusters are trained the reduced rows exist once more.

    Parameters
    ----------
    reduction : {"auto", "ip", "xbox", "ip-centred", "xbox-centred"}, default="auto"
    n_clusters : int or None, default=None
        None takes the root of the number of rows: a query then compares with about as many
        centroids as a list has rows.
    n_probes : int or None, default=None
        Lists read. None doubles their number from a 64th to a quarter of them, until the sample
        of queries reaches min_recall.
    n_components : int, default=256
        Sparse rows with more features than that are clustered and read by sketches of this length
        (see :class:`LinearSketch`); 32 candidates for each list read are then scored exactly.
    rebuild_share : float, default=0.5
        Replaced rows move to other lists at once; when a larger share of them has changed, the
        clusters are trained again.
    min_recall : float, default=0.9
        With a lower recall@10 on a sample of queries the index warns once and answers exactly.
    n_jobs : int or None, default=None
        Threads; never change the result.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    mode_ : str
        The reduction in use, or "exact".
    recall_ : float
        Recall@10 of what `query` returns, on queries other than those that chose the reduction.
    ann_recall_ : float
        That of the lists alone; where no lists were found worth building for all rows, the best
        for 20,000 of them.
    recalls_ : dict
        The recall of each reduction tried; with more than 20,000 rows on this many of them, but for
        the last ones built.
    effort_ : int
        The number of lists read; 0 if none is.
    n_fallbacks_ : int
        Queries answered exactly because the lists they read held fewer than k rows.
    n_rebuilds_ : int
    n_rows_, n_features_in_ : int

    References
    ----------
    .. [1] A. Auvolat, S. Chandar, P. Vincent, H. Larochelle, Y. Bengio. Clustering is Efficient
       for Approximate Maximum Inner Product Search. arXiv:1507.05910, 2015, sections 3 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.mips import SphericalIndex
    >>> rng = np.random.default_rng(0)
    >>> rows, queries = rng.normal(size=(2000, 8)), rng.normal(size=(100, 8))
    >>> index = SphericalIndex(random_state=0).build(rows, queries)
    >>> ids, scores = index.query(queries, k=5)
    >>> index.recall_ >= 0.9, ids.shape
    (True, (100, 5))
    """

    _parameter_constraints = ApproximateIndex._parameter_constraints | {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "n_probes": [Interval(Integral, 1, None, closed="left"), None],
    }
    _what = "set of inverted lists"

    def __init__(
        self,
        reduction: str = "auto",
        n_clusters: int | None = None,
        n_probes: int | None = None,
        n_components: int = 256,
        rebuild_share: float = 0.5,
        min_recall: float = 0.9,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.reduction = reduction
        self.n_clusters = n_clusters
        self.n_probes = n_probes
        self.n_components = n_components
        self.rebuild_share = rebuild_share
        self.min_recall = min_recall
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _clusters_for(self, n_rows: int) -> int:
        """Return the number of clusters for this many rows."""
        if self.n_clusters is None:
            return max(1, round(n_rows**0.5))
        return min(n_rows, self.n_clusters)

    def _train(self, rows: np.ndarray, mapping: Reduction) -> CentroidLists:
        return CentroidLists(rows, self._clusters_for(len(rows)), self._seed, self._n_threads())

    def _efforts(self, n_rows: int) -> list[int]:
        n_clusters = self._clusters_for(n_rows)
        if self.n_probes is not None:
            return [min(n_clusters, self.n_probes)]
        return doublings(max(1, n_clusters // 64), max(1, n_clusters // 4))

    def _n_candidates(self, k: int, effort: int) -> int:
        return k if self._sketch is None else max(k, NAMED * effort)

    def _structure_bytes(self, n_rows: int, width: int) -> int:
        return 4 * n_rows * width + 8 * self._clusters_for(n_rows) * width + 8 * n_rows
