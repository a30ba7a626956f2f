"""The index that always finds the best."""

from ..utils._typing import RandomState
from ._base import BaseIndex


class ExactIndex(BaseIndex):
    """Exact maximum inner product search.

    Sparse rows are read through an inverted index: a query walks the lists of its own features.
    Dense rows are multiplied block by block by BLAS, or, for queries with few non-zeros, read
    feature by feature. Either is often the fastest answer there is: see the page "Inner product
    search".

    Memory: the rows (4 bytes a number dense, 8 a non-zero sparse); the lists of sparse rows, 8
    bytes a non-zero, built by the first query; for sparse queries of dense rows a copy of them
    feature by feature.

    Parameters
    ----------
    min_recall : float, default=0.9
        Without effect: the recall is 1. All indexes take it.
    n_jobs : int or None, default=None
        Threads over queries, as in joblib; never changes the result.
    random_state : int, RandomState instance or None, default=None
        Without effect. All indexes take it.

    Attributes
    ----------
    mode_ : str
        "exact".
    recall_, ann_recall_ : float
        1.0.
    n_fallbacks_, n_rebuilds_ : int
        0.
    n_rows_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.mips import ExactIndex
    >>> index = ExactIndex().build(np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 2.0]]))
    >>> ids, scores = index.query(np.array([[1.0, 1.0]]), k=2)
    >>> ids.tolist(), scores.tolist()
    ([[2, 1]], [[4.0, 3.0]])
    """

    def __init__(
        self, min_recall: float = 0.9, n_jobs: int | None = None, random_state: RandomState = None
    ) -> None:
        self.min_recall = min_recall
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _set_up(self) -> None:
        self.mode_ = "exact"
        self.recall_ = self.ann_recall_ = 1.0
