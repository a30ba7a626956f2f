"""The interface that all indexes share."""

import warnings
from numbers import Integral, Real
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ..base._validation import check_parameters
from ..utils._locks import ForkSafeLock
from ..utils._matrix import checked_csr
from ..utils._parallel import effective_threads, single_threaded_blas
from ..utils._typing import Matrix, MatrixLike
from ._exact_search import ExactSearch
from ._recall import SAMPLE
from ._row_store import RowStore, check_ids, check_vectors, require_rows


class BaseIndex(BaseEstimator):
    """Checks, the store of the current rows, and the exact answer.

    A subclass lists its parameters in ``_parameter_constraints``, builds its structure in
    ``_construct``, keeps it up to date in ``_replaced``, and names the rows it finds in ``_find``.
    """

    _parameter_constraints = {  # noqa: RUF012
        "min_recall": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    # --------------------------------------------------------------------------- the interface

    def build(self, rows: MatrixLike, queries: MatrixLike | None = None) -> Self:
        """Index rows.

        Parameters
        ----------
        rows : array-like or sparse matrix, shape (n_rows, n_features)
            Finite numbers. Kept as float32: read-only arrays of that type where they are until a
            row is replaced, others as a copy.
        queries : array-like or sparse matrix, shape (n, n_features), default=None
            A sample of the queries to come; of more than 256, 256 are drawn, and only these are
            looked at and kept. Without it, rows and Gaussian vectors are both tried and the lower
            recall counts.

        Returns
        -------
        index : the index itself

        Raises
        ------
        ValueError
            If a parameter is out of range, or rows or queries are not finite matrices that fit
            together.
        MemoryError
            If rows or structure would exceed the limit on memory.
        """
        self._build(rows, queries)
        self._warn_once()
        return self

    def _build(self, rows: MatrixLike, queries: MatrixLike | None) -> Self:
        """Build, without the warning that it may leave."""
        built = type(self)(**self.get_params(deep=False))
        built._build_new(rows, queries)
        # Only now, and in one step: what was built before stays if anything fails, and a query that
        # another thread has begun ends on it.
        self.__dict__ = vars(built)
        return self

    def _as_it_is(self) -> Self:
        """Return this index as it is now: `build` replaces the state and leaves this one."""
        now = object.__new__(type(self))
        now.__dict__ = vars(self)
        return now

    def _build_new(self, rows: MatrixLike, queries: MatrixLike | None) -> None:
        """Check the parameters and arrays, and build an index that has no state yet."""
        self._check_parameters()
        require_rows(np.shape(rows), None if sparse.issparse(rows) else 4 * np.size(rows))
        checked = check_vectors(rows, "rows")
        if checked.shape[0] == 0:
            raise ValueError(f"rows must have at least one row, got shape {checked.shape}")
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if queries is not None:
            queries = drawn(queries, self._seed)
            queries = check_vectors(queries, "queries", checked.shape[1])
            if queries.shape[0] == 0:
                raise ValueError("queries must have at least one row, or be None")
        self._store = RowStore(checked, rows)
        self._exact = ExactSearch(self._store)
        self._lock = ForkSafeLock()
        self.n_rows_, self.n_features_in_ = self._store.shape
        self.n_fallbacks_ = 0
        self.n_rebuilds_ = 0
        self._queries = queries
        self._warning, self._warned = None, False
        with single_threaded_blas():  # once: setting the limit takes milliseconds
            self._set_up()

    def query(self, Q: MatrixLike, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k rows of largest inner product with each query.

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
            Their inner products with the current rows, exact whatever found them.

        Raises
        ------
        ValueError
            If Q or k does not fit the rows.
        """
        now = self._as_it_is()
        Q, k = now._check_query(Q, k, "k")
        return now._query(Q, k)

    def candidates(self, Q: MatrixLike, n: int) -> np.ndarray:
        """Return the rows that the structure alone names, without their scores.

        Parameters
        ----------
        Q : array-like or sparse matrix, shape (n_queries, n_features)
        n : int
            From 1 to the number of rows.

        Returns
        -------
        ids : ndarray of int32, shape (n_queries, n)
            Distinct, about best first; -1 where the structure finds fewer. Where ``mode_`` is
            "exact", the n best.

        Raises
        ------
        ValueError
            If Q or n does not fit the rows.
        """
        now = self._as_it_is()
        Q, n = now._check_query(Q, n, "n")
        return now._candidates(Q, n)

    def update(self, ids: ArrayLike, rows: MatrixLike) -> Self:
        """Give some rows new values; not to be called while other threads ask or update.

        Later queries score with them. The structure follows at once where that is cheap, and is
        rebuilt, and its recall measured again, when ``rebuild_share`` of the rows have changed.

        Parameters
        ----------
        ids : array-like of int, shape (n,)
            Distinct.
        rows : array-like or sparse matrix, shape (n, n_features)

        Returns
        -------
        index : the index itself

        Raises
        ------
        ValueError
            If ids or rows do not fit the index.
        """
        now = self._as_it_is()  # another thread may build meanwhile
        now._check_built()
        ids = check_ids(ids, now.n_rows_)
        rows = check_vectors(rows, "rows", now.n_features_in_)
        if rows.shape[0] != len(ids):
            raise ValueError(f"rows has {rows.shape[0]} rows, but ids names {len(ids)}")
        if len(ids):
            now._store.replace(ids, rows)
            now._exact.mark(ids)
            try:
                now._replaced(ids, rows)
            except BaseException:
                now._give_up()  # the rows are the new ones; the structure may be half changed
                raise
            now._warn_once()
        return self

    # ------------------------------------------------------------------- what subclasses differ in

    def _set_up(self) -> None:
        """Build the structure for the rows of the store."""

    def _replaced(self, ids: np.ndarray, rows: Matrix) -> None:
        """Take note of rows that have just been replaced in the store."""

    def _give_up(self) -> None:
        """Answer exactly from now on: the structure does not fit the rows of the store."""

    def _query(self, Q: Matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and scores of the k best rows of queries that are checked."""
        return self._exact.topk(Q, k, self._n_threads())

    def _candidates(self, Q: Matrix, n: int) -> np.ndarray:
        """Return n candidates of queries that are checked."""
        return self._exact.topk(Q, n, self._n_threads())[0]

    # ------------------------------------------------------------------------------------ details

    def _check_parameters(self) -> None:
        """Raise ValueError unless all parameters are in their ranges."""
        check_parameters(self)

    def _warn_once(self) -> None:
        """Give the warning that a structure left, the first one only."""
        if self._warning is not None and not self._warned:
            self._warned = True
            warnings.warn(self._warning, RuntimeWarning, stacklevel=3)

    def _n_threads(self) -> int:
        """Return the number of threads that n_jobs means now."""
        # Counting the cores of the machine takes longer than a query of a graph.
        return 1 if joblib.effective_n_jobs(self.n_jobs) == 1 else effective_threads(self.n_jobs)

    def _check_built(self) -> None:
        """Raise ValueError if there are no rows yet."""
        if not hasattr(self, "_store"):
            raise ValueError(f"this {type(self).__name__} has no rows yet: call build first")

    def _check_query(self, Q: MatrixLike, k: int, name: str) -> tuple[Matrix, int]:
        """Return queries as float32 and k, called `name` in errors, as an int."""
        self._check_built()
        # True is an Integral, but nobody means 1 by it.
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= self.n_rows_:
            raise ValueError(
                f"{name} must be an integer from 1 to the number of rows, {self.n_rows_}; got {k!r}"
            )
        return check_vectors(Q, "Q", self.n_features_in_), int(k)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # A lock cannot be pickled; the copy gets one of its own.
        return {name: value for name, value in state.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = ForkSafeLock()


def drawn(queries: MatrixLike, seed: int) -> MatrixLike:
    """Draw at most `SAMPLE` queries: all of a training set would be kept and pickled."""
    if not sparse.issparse(queries):
        queries = np.asarray(queries)
    if queries.ndim != 2 or queries.shape[0] <= SAMPLE:
        return queries
    chosen = np.random.default_rng(seed).permutation(queries.shape[0])[:SAMPLE]
    return (checked_csr(queries, "queries") if sparse.issparse(queries) else queries)[
        np.sort(chosen)
    ]
