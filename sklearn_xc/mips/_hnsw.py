"""Navigable small-world graphs, by hnswlib."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..utils._optional_import import optional_import
from ..utils._typing import RandomState
from . import _cost as cost
from ._approximate import ApproximateIndex, Queries, doublings
from ._exact_search import product
from ._recall import TOP
from ._reductions import MODES, RANGES, Reduction

ADDED = 10_000  # rows added at once: between two of them Python can take an interrupt
ASKED = 256  # queries that fail together
FIRST_EF = 32
SKETCHED_EF = 64  # scores of sketches are less sure: it takes more of them
# Ranges of the norm, of this many rows at least. Their beams together are SPARE times as wide as
# the number of rows retrieved: how the best are spread over ranges differs between queries.
N_RANGES, ROWS_OF_A_RANGE, SPARE = 16, 64, 2


class Graph:
    """A graph of reduced rows in the space "ip" or "l2". Never changes after it is built."""

    def __init__(
        self, rows: np.ndarray, space: str, M: int, ef_construction: int, seed: int, n_threads: int
    ) -> None:
        hnswlib = optional_import("hnswlib", "HNSWIndex")
        self._graph = hnswlib.Index(space, rows.shape[1])
        self._graph.init_index(len(rows), M=M, ef_construction=ef_construction, random_seed=seed)
        try:
            for start in range(0, len(rows), ADDED):
                part = rows[start : start + ADDED]
                ids = np.arange(start, start + len(part))
                self._graph.add_items(part, ids, num_threads=n_threads)
        except RuntimeError:  # a graph that lacks rows: what it finds decides whether it is used
            pass

    @property
    def n_rows(self) -> int:
        return self._graph.get_current_count()

    def search(self, queries: Queries, n: int, effort: int, n_threads: int) -> np.ndarray:
        """Return candidates int32 (n_queries, n), nearest first; -1 where hnswlib fails."""
        # hnswlib's search keeps as many candidates as it returns, so `effort`, the width of the
        # beam, reaches it as the number to return. Threads would share the graph's own setting.
        ids = self.nearest(queries.reduced, max(n, effort), n_threads)[0][:, :n]
        lacking = n - ids.shape[1]  # of a graph that lacks rows
        return np.pad(ids, ((0, 0), (0, lacking)), constant_values=-1)

    def nearest(
        self, queries: np.ndarray, wide: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ids int32 and distances float32, (n_queries, wide) or as many as there are rows.

        -1 and infinity for queries that hnswlib fails on.
        """
        wide = min(wide, self.n_rows)
        ids = np.full((len(queries), wide), -1, dtype=np.int32)
        distances = np.full((len(queries), wide), np.inf, dtype=np.float32)
        for start in range(0, len(ids) if wide else 0, ASKED):
            part = slice(start, start + ASKED)
            try:
                result = self._graph.knn_query(queries[part], k=wide, num_threads=n_threads)
            except RuntimeError:  # fewer than `wide` nodes can be reached
                continue
            ids[part], distances[part] = result
        return ids, distances

    def all(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same of all rows, in their order, by comparing each: for graphs on "ip"."""
        ids = np.arange(self.n_rows, dtype=np.int32)
        rows = np.asarray(self._graph.get_items(ids), dtype=np.float32)
        return np.broadcast_to(ids, (len(queries), len(ids))), 1 - product(queries, rows)

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Keep the graph: moving a node costs several times what adding it to a new one does."""


class RangedGraphs:
    """Graphs of the rows' directions, one for each range of their norms. Never changes.

    A graph on inner products leads to the rows of large norm and loses the others; one on distance
    under a common bound of the norm, the other way round. Rows of about the same norm have
    neighbours by angle, and those of a query are its best among them [1]_.

    References
    ----------
    .. [1] X. Yan, J. Li, X. Dai, H. Chen, J. Cheng. Norm-Ranging LSH for Maximum Inner Product
       Search. NeurIPS 2018.
    """

    def __init__(
        self, rows: np.ndarray, M: int, ef_construction: int, seed: int, n_threads: int
    ) -> None:
        # By falling norm, so that ranges are slices; rows of zeros have no direction.
        self._norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        self._zero = np.flatnonzero(self._norms == 0).astype(np.int32)
        order = np.argsort(-self._norms, kind="stable").astype(np.int32)
        order = order[: len(rows) - len(self._zero)]
        n_ranges = max(1, min(N_RANGES, len(order) // ROWS_OF_A_RANGE))
        self._ranges = np.array_split(order, n_ranges) if len(order) else []
        self._graphs = [
            Graph(rows[ids] / self._norms[ids, None], "ip", M, ef_construction, seed, n_threads)
            for ids in self._ranges
        ]

    def search(self, queries: Queries, n: int, effort: int, n_threads: int) -> np.ndarray:
        """Return candidates int32 (n_queries, n), best first; -1 where there are not so many."""
        reduced = queries.reduced
        wide = -(-SPARE * max(n, effort) // max(1, len(self._graphs)))
        names, scores = [], []
        for ids, graph in zip(self._ranges, self._graphs, strict=True):
            # A search for half of the rows of a graph may not reach all of them.
            all_of_them = 2 * wide >= len(ids) == graph.n_rows
            places, distances = (
                graph.all(reduced) if all_of_them else graph.nearest(reduced, wide, n_threads)
            )
            reached = places >= 0
            names.append(np.where(reached, ids[places], -1))
            scores.append((1 - distances) * self._norms[ids[places]])  # minus infinity for -1
        # Rows of zeros are all alike: ten compete with the others, the rest come last.
        zero = self._zero[:n]
        of_zero = np.where(np.arange(len(zero)) < TOP, 0, np.finfo(np.float32).min)
        names.append(np.broadcast_to(zero, (len(reduced), len(zero))))
        scores.append(np.broadcast_to(of_zero.astype(np.float32), names[-1].shape))
        return best_candidates(np.hstack(names), np.hstack(scores), n)

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Keep the graphs, as `Graph` does."""


def best_candidates(names: np.ndarray, scores: np.ndarray, n: int) -> np.ndarray:
    """Return the n of largest score of each line, best first; -1 where there are fewer names."""
    if names.shape[1] > n:
        chosen = np.argpartition(-scores, n - 1, axis=1)[:, :n]
        names, scores = (np.take_along_axis(a, chosen, axis=1) for a in (names, scores))
    order = np.argsort(-scores, axis=1, kind="stable")
    names = np.take_along_axis(names, order, axis=1)
    return np.pad(names, ((0, 0), (0, n - names.shape[1])), constant_values=-1)


class HNSWIndex(ApproximateIndex):
    """Maximum inner product search on a hierarchical navigable small-world graph.

    The graph is that of hnswlib [1]_, on the inner product itself ("ip") or on the distance after
    one more coordinate has given all rows the same norm ("xbox" [2]_), either with the rows'
    mean subtracted or not. None of them is right for all rows, and a wrong one fails without a
    sign: so each is tried on a sample of queries, and the best is taken. For sketches of sparse
    rows there is a fifth, "ranges": sixteen graphs of the rows' directions, one for each range of
    their norms [3]_, whose answers are compared by inner product. What the graph names is
    scored again with the current rows. A replaced row keeps its old place in the graph until it is
    rebuilt: it may be missed, but is never scored wrongly.

    Memory: rows, 4 (d + 1) bytes each in the graph, and there about 8 M + 20 more; the rows
    themselves as in ExactIndex; sketches of sparse rows 4 n_components. While it is built the
    reduced rows exist a second time.

    Parameters
    ----------
    reduction : {"auto", "ip", "xbox", "ip-centred", "xbox-centred", "ranges"}, default="auto"
        "auto" tries "ranges" on sparse rows of more than `n_components` features only.
    M : int, default=16
        Neighbours of a node; hnswlib's usual value.
    ef_construction : int, default=100
        Width of the beam that looks for them.
    n_candidates : int or None, default=None
        Width of the beam of a search, all of which is scored again. None doubles it from 32 to at
        most 1024, of sketches from 64 to 2048, until the sample of queries reaches min_recall.
    n_components : int, default=256
        Sparse rows with more features than that are searched by sketches of this length (see
        :class:`LinearSketch`).
    rebuild_share : float, default=0.1
        The graph is rebuilt when a larger share of the rows has changed: replacing nodes one
        by one costs six times a rebuild and more.
    min_recall : float, default=0.9
        With a lower recall@10 on a sample of queries the index warns once and answers exactly.
    n_jobs : int or None, default=None
        Threads over queries. The graph is built by as many only without a random_state: with two
        threads no two graphs are the same.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    mode_ : str
        The reduction in use, or "exact".
    recall_ : float
        Recall@10 of what `query` returns, on queries other than those that chose the reduction.
    ann_recall_ : float
        That of the graph alone; where no graph was found worth building on all rows, the best on
        20,000 of them.
    recalls_ : dict
        The recall of each reduction tried; with more than 20,000 rows on this many of them, but for
        the last ones built.
    effort_ : int
        The width of the beam in use; 0 if none is.
    n_fallbacks_ : int
        Queries answered exactly because hnswlib failed on them.
    n_rebuilds_ : int
    n_rows_, n_features_in_ : int

    References
    ----------
    .. [1] Yu. A. Malkov, D. A. Yashunin. Efficient and robust approximate nearest neighbor search
       using Hierarchical Navigable Small World graphs. IEEE TPAMI 42(4), 2020.
    .. [2] Y. Bachrach et al. Speeding Up the Xbox Recommender System Using a Euclidean
       Transformation for Inner-Product Spaces. RecSys 2014.
    .. [3] X. Yan, J. Li, X. Dai, H. Chen, J. Cheng. Norm-Ranging LSH for Maximum Inner Product
       Search. NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.mips import HNSWIndex
    >>> rng = np.random.default_rng(0)
    >>> rows, queries = rng.normal(size=(2000, 16)), rng.normal(size=(100, 16))
    >>> index = HNSWIndex(random_state=0).build(rows, queries)
    >>> ids, scores = index.query(queries, k=5)
    >>> index.recall_ >= 0.9, ids.shape
    (True, (100, 5))
    """

    _parameter_constraints = ApproximateIndex._parameter_constraints | {
        "reduction": [StrOptions({"auto", *MODES, RANGES})],
        "M": [Interval(Integral, 2, 512, closed="both")],
        "ef_construction": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    }
    _what = "graph"

    def __init__(
        self,
        reduction: str = "auto",
        M: int = 16,
        ef_construction: int = 100,
        n_candidates: int | None = None,
        n_components: int = 256,
        rebuild_share: float = 0.1,
        min_recall: float = 0.9,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.reduction = reduction
        self.M = M
        self.ef_construction = ef_construction
        self.n_candidates = n_candidates
        self.n_components = n_components
        self.rebuild_share = rebuild_share
        self.min_recall = min_recall
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _train(self, rows: np.ndarray, mapping: Reduction) -> Graph | RangedGraphs:
        # hnswlib links rows in the order in which its threads come to them.
        n_threads = self._n_threads() if self.random_state is None else 1
        if mapping.mode == RANGES:
            return RangedGraphs(rows, self.M, self.ef_construction, self._seed, n_threads)
        # Extended rows all have the same norm: the nearest have the largest inner products.
        space = "l2" if mapping.extended else "ip"
        return Graph(rows, space, self.M, self.ef_construction, self._seed, n_threads)

    def _efforts(self, n_rows: int) -> list[int]:
        if self.n_candidates is not None:
            return [min(n_rows, self.n_candidates)]
        return doublings(FIRST_EF if self._sketch is None else SKETCHED_EF, n_rows)

    def _allowed_modes(self) -> tuple[str, ...]:
        modes = super()._allowed_modes()
        return modes if self._sketch is None or len(modes) == 1 else (RANGES, *modes)

    def _n_candidates(self, k: int, effort: int) -> int:
        return max(k, effort)

    def _structure_bytes(self, n_rows: int, width: int) -> int:
        return n_rows * (2 * 4 * width + 8 * self.M + 20)

    def _query_cost(self, n_rows: int, width: int, effort: int) -> float:
        """Count a query as `_cost` does; `MemoirSVC` chooses its search by this."""
        return cost.graph(n_rows, width, self.M, effort)

    def _build_cost(self, n_rows: int, width: int) -> float:
        """Count the building of the graph as `_cost` does."""
        return cost.graph_build(n_rows, width, self.M, self.ef_construction)
