"""Navigable small-world graphs, by hnswlib."""

from numbers import Integral

import numpy as np

from .._optional import optional_import
from . import _cost as cost
from ._approximate import ApproximateIndex, doublings

ADDED = 10_000  # rows added at once: between two of them Python can take an interrupt
ASKED = 256  # queries that fail together
FIRST_EF = 32


class Graph:
    """A graph of reduced rows. Never changes after it is built.

    Parameters
    ----------
    rows : ndarray of float32 (n_rows, d)
    space : {"ip", "l2"}
    M, ef_construction, seed, n_threads : int
    """

    def __init__(self, rows, space, M, ef_construction, seed, n_threads):
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

    def search(self, asked, n, effort, n_threads):
        """Candidates int32 (n_queries, n), nearest first; -1 for queries that hnswlib fails on.

        Its search keeps as many candidates as it is asked for, so `effort`, the width of the
        beam, reaches it as n: the graph's own setting, which threads would share, stays.
        """
        wide = min(max(n, effort), self._graph.get_current_count())
        if wide == 0:
            return np.full((len(asked.reduced), n), -1, dtype=np.int32)
        ids = np.full((len(asked.reduced), n), -1, dtype=np.int32)
        for start in range(0, len(ids), ASKED):
            part = asked.reduced[start : start + ASKED]
            try:
                found = self._graph.knn_query(part, k=wide, num_threads=n_threads)[0]
            except RuntimeError:  # fewer than `wide` nodes can be reached
                continue
            ids[start : start + ASKED, :wide] = found[:, :n]  # wide < n in a graph that lacks rows
        return ids

    def replace(self, ids, rows):
        """Nothing: moving a node costs several times what adding it to a new graph does."""


class HNSWIndex(ApproximateIndex):
    """Maximum inner product search on a hierarchical navigable small-world graph.

    The graph is that of hnswlib [1]_, on the inner product itself ("ip") or on the distance after
    one more coordinate has given all rows the same norm ("xbox" [2]_), either with the rows'
    mean subtracted or not. None of them is right for all rows, and a wrong one fails without a
    sign: so each is tried on a sample of queries, and the best is taken. What the graph names is
    scored again with the current rows. A replaced row keeps its old place in the graph until it is
    rebuilt: it may be missed, but is never scored wrongly.

    Memory: rows, 4 (d + 1) bytes each in the graph, and there about 8 M + 20 more; the rows
    themselves as in ExactIndex; sketches of sparse rows 4 n_components. While it is built the
    reduced rows exist a second time.

    Parameters
    ----------
    reduction : {"auto", "ip", "xbox", "ip-centred", "xbox-centred"}, default="auto"
    M : int, default=16
        Neighbours of a node; hnswlib's usual value.
    ef_construction : int, default=100
        Width of the beam that looks for them.
    n_candidates : int or None, default=None
        Width of the beam of a search, all of which is scored again. None doubles it from 32 to at
        most 1024, until the sample of queries reaches min_recall.
    n_components : int, default=256
        Sparse rows with more features than that are searched by sketches of this length (see
        :class:`LinearSketch`).
    rebuild_share : float, default=0.1
        The graph is built anew when a larger share of the rows has changed: replacing nodes one
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
        The recall of each reduction tried; with more than 20,000 rows on so many of them, but for
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

    _allowed = ApproximateIndex._allowed | {
        "M": (Integral, 2, 512),
        "ef_construction": (Integral, 1, None),
        "n_candidates": frozenset([(Integral, 1, None)]),
    }
    _what = "graph"

    def __init__(
        self,
        reduction="auto",
        M=16,
        ef_construction=100,
        n_candidates=None,
        n_components=256,
        rebuild_share=0.1,
        min_recall=0.9,
        n_jobs=None,
        random_state=None,
    ):
        self.reduction = reduction
        self.M = M
        self.ef_construction = ef_construction
        self.n_candidates = n_candidates
        self.n_components = n_components
        self.rebuild_share = rebuild_share
        self.min_recall = min_recall
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _train(self, rows, mapping):
        n_threads = self._n_threads() if self.random_state is None else 1
        space = "l2" if mapping.extended else "ip"
        return Graph(rows, space, self.M, self.ef_construction, self._seed, n_threads)

    def _efforts(self, n_rows):
        if self.n_candidates is not None:
            return [min(n_rows, self.n_candidates)]
        return doublings(FIRST_EF, n_rows)

    def _n_named(self, k, effort):
        return max(k, effort)

    def _structure_bytes(self, n_rows, width):
        return n_rows * (2 * 4 * width + 8 * self.M + 20)

    def _query_cost(self, n_rows, width, effort):
        return cost.graph(n_rows, width, self.M, effort)

    def _build_cost(self, n_rows, width):
        return cost.graph_build(n_rows, width, self.M, self.ef_construction)
