"""The index that costs least at the recall wanted, by counted operations."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from . import _cost as cost
from ._approximate import PILOT_ROWS
from ._base import BaseIndex
from ._exact import ExactIndex
from ._hnsw import HNSWIndex
from ._lsh import SimpleLSHIndex
from ._parameters import check_parameters
from ._recall import stand_ins
from ._spherical import SphericalIndex

KINDS = {
    "exact": ExactIndex,
    "hnsw": HNSWIndex,
    "spherical": SphericalIndex,
    "lsh": SimpleLSHIndex,
}


class AutoIndex(BaseEstimator):
    """The index that answers at least cost with the recall wanted.

    Costs are counted operations with fixed weights (the user guide has the formulas), never
    measured times: the same rows and seed give the same choice anywhere. Each index is built on at
    most 20,000 of the rows to see what effort the recall takes, but not one that even at its least
    effort would cost more than the best so far. The one that costs least on all rows, by that
    effort, is built; if it then misses the recall or costs more than the exact search after all,
    the next is, and in the end the exact search.

    Memory: that of the index chosen; while choosing, that of each on 20,000 rows.

    Parameters
    ----------
    search : {"auto", "exact", "hnsw", "spherical", "lsh"}, default="auto"
        Anything but "auto" takes that index, so that estimators can pass on a parameter of theirs.
    n_queries : int or None, default=None
        How many queries will be asked before the rows have changed: each bears its part of the
        cost of building. None leaves building out of account, as for rows that never change.
    n_components : int, default=256
        Length of the sketches that stand for sparse rows (see :class:`LinearSketch`).
    min_recall : float, default=0.9
        The recall@10 wanted.
    n_jobs : int or None, default=None
        Threads over queries; has no part in the choice.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    search_ : str
        What answers: "exact", "hnsw", "spherical" or "lsh". "exact" too if the index prescribed
        falls back to exact answers.
    index_ : ExactIndex, HNSWIndex, SphericalIndex or SimpleLSHIndex
    costs_ : dict of str to float
        Operations a query of each index, in units of one multiply-add of a matrix product.
        Infinite where the recall was not reached, or hnswlib is missing; where the index was not
        tried, that at its least effort. Only with search="auto".
    recall_, ann_recall_, mode_, n_fallbacks_, n_rebuilds_, n_rows_, n_features_in_
        Those of ``index_``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.mips import AutoIndex
    >>> rng = np.random.default_rng(0)
    >>> rows, queries = rng.normal(size=(500, 8)), rng.normal(size=(50, 8))
    >>> index = AutoIndex(random_state=0).build(rows, queries)
    >>> ids, scores = index.query(queries, k=5)
    >>> index.search_, ids.shape
    ('exact', (50, 5))
    """

    _allowed = BaseIndex._allowed | {
        "search": ("auto", *KINDS),
        "n_queries": frozenset([(Integral, 1, None)]),
        "n_components": (Integral, 4, None),
    }

    def __init__(
        self,
        search="auto",
        n_queries=None,
        n_components=256,
        min_recall=0.9,
        n_jobs=None,
        random_state=None,
    ):
        self.search = search
        self.n_queries = n_queries
        self.n_components = n_components
        self.min_recall = min_recall
        self.n_jobs = n_jobs
        self.random_state = random_state

    def build(self, rows, queries=None):
        """Choose an index and build it.

        Parameters
        ----------
        rows : array-like or sparse matrix, shape (n_rows, n_features)
        queries : array-like or sparse matrix, shape (n, n_features), default=None
            As for the indexes: a sample of the vectors that will be asked.

        Returns
        -------
        index : the index itself

        Raises
        ------
        ValueError
            If a parameter is out of range, or rows or queries are not finite matrices that fit
            together.
        MemoryError
            If the rows or the index would exceed the limit on memory.
        """
        check_parameters(self)
        built = type(self)(**self.get_params(deep=False))
        if self.search == "auto":
            built._choose(rows, queries)
        else:
            built.index_ = built._make(self.search)._build(rows, queries)
        self.__dict__ = vars(built)  # only now, in one step: what was built before stays until then
        if self.search != "auto":
            self.index_._warn_once()
        return self

    def _choose(self, rows, queries):
        exact = self._make("exact")._build(rows, queries)
        store, sample = exact._store, exact._queries
        if sample is None:
            sample = stand_ins(store, np.random.default_rng(exact._seed))[0]
        self.costs_ = {"exact": cost.exact(store, sample)}
        plans = self._plans(store, sample, exact._seed)
        self.index_ = exact
        for kind, parameters in plans:
            if self.costs_[kind] >= self.costs_["exact"]:
                break
            index = self._make(kind, **parameters)._build(rows, queries)
            self.costs_[kind] = self._cost(index, store, index._width())
            if self.costs_[kind] < self.costs_["exact"]:
                self.index_ = index
                break

    def _plans(self, store, sample, seed):
        """Kinds worth building with their parameters, by cost; sets costs_."""
        n_rows, n_features = store.shape
        width = n_features if store.dense else min(n_features, self.n_components)
        chosen = np.sort(np.random.default_rng(seed).permutation(n_rows)[:PILOT_ROWS])
        indexes = {kind: self._make(kind) for kind in KINDS if kind != "exact"}
        for kind, index in indexes.items():
            least = index._efforts(n_rows)[0]
            self.costs_[kind] = self._cost(index, store, width, least)
        plans, lowest = [], self.costs_["exact"]
        for kind in sorted(indexes, key=self.costs_.get):
            if self.costs_[kind] >= lowest:
                break
            index = indexes[kind]
            try:
                pilot = self._make(kind)._build(store.take(chosen), sample)
            except ImportError:  # hnswlib has to be compiled, and may be missing
                pilot = None
            if pilot is None or pilot.mode_ == "exact":
                self.costs_[kind] = np.inf
                continue
            effort = index._scaled_effort(pilot.effort_, len(chosen), n_rows)
            self.costs_[kind] = self._cost(index, store, width, effort)
            lowest = min(lowest, self.costs_[kind])
            plans.append((kind, {"reduction": pilot.mode_}))
        return sorted(plans, key=lambda plan: self.costs_[plan[0]])

    def _cost(self, index, store, width, effort=None):
        """A query of the index, with its part of building it; infinite if it answers exactly."""
        if effort is None:
            effort = index.effort_
            if index.mode_ == "exact":
                return np.inf
        n_rows = store.shape[0]
        retrieved = index._n_candidates(10, effort)
        total = index._query_cost(n_rows, width, effort)
        total += cost.scored(retrieved, float(store.lengths.mean()), store.nbytes)
        if self.n_queries is not None:
            total += index._build_cost(n_rows, width) / self.n_queries
        return float(total)

    def _make(self, kind, **parameters):
        index = KINDS[kind](
            min_recall=self.min_recall, n_jobs=self.n_jobs, random_state=self.random_state
        )
        if kind != "exact":
            parameters = {"n_components": self.n_components} | parameters
        return index.set_params(**parameters)

    @property
    def search_(self):
        kinds = {index: kind for kind, index in KINDS.items()}
        return "exact" if self.index_.mode_ == "exact" else kinds[type(self.index_)]

    def __getattr__(self, name):
        shared = ("recall_", "ann_recall_", "mode_", "n_fallbacks_", "n_rebuilds_")
        if name in (*shared, "n_rows_", "n_features_in_") and "index_" in vars(self):
            return getattr(self.index_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def query(self, Q, k):
        """The k rows of largest inner product with each query.

        Parameters
        ----------
        Q : array-like or sparse matrix, shape (n_queries, n_features)
        k : int
            From 1 to the number of rows.

        Returns
        -------
        ids : ndarray of int32, shape (n_queries, k)
            Best first, ties to the smaller id.
        scores : ndarray of float32, shape (n_queries, k)
        """
        return self._built().query(Q, k)

    def candidates(self, Q, n):
        """The rows that the structure alone names, without their scores.

        Parameters
        ----------
        Q : array-like or sparse matrix, shape (n_queries, n_features)
        n : int

        Returns
        -------
        ids : ndarray of int32, shape (n_queries, n)
            -1 where the structure finds fewer.
        """
        return self._built().candidates(Q, n)

    def update(self, ids, rows):
        """Give some rows new values; the choice of the index stays.

        Parameters
        ----------
        ids : array-like of int, shape (n,)
        rows : array-like or sparse matrix, shape (n, n_features)

        Returns
        -------
        index : the index itself
        """
        self._built().update(ids, rows)
        return self

    def _built(self):
        if "index_" not in vars(self):
            raise ValueError(f"this {type(self).__name__} has no rows yet: call build first")
        return self.index_
