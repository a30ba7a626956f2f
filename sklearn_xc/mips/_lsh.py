"""Symmetric hashing for inner products."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._kernels.mips import _search as kernel
from ..utils._typing import RandomState
from . import _cost as cost
from ._approximate import ApproximateIndex, Queries, doublings
from ._exact_search import for_blocks, product
from ._reductions import Reduction

CODED = 8192  # rows projected at once
FIRST = 128
SHARE = 4  # at most this part of the rows is retrieved


class Codes:
    """Signs of Gaussian projections of reduced rows, 64 to a word."""

    def __init__(self, rows: np.ndarray, n_bits: int, seed: int, n_threads: int) -> None:
        rng = np.random.default_rng(seed)
        self._projection = rng.standard_normal((n_bits, rows.shape[1]), dtype=np.float32)
        parts = for_blocks(
            code_block, len(rows), CODED, rows, self._projection, n_threads=n_threads
        )
        self.codes = np.concatenate(parts)

    def search(self, queries: Queries, n: int, effort: int, n_threads: int) -> np.ndarray:
        """Return candidates int32 (n_queries, n) by Hamming distance, ties to the smaller id."""
        n_queries, n_rows = len(queries.reduced), len(self.codes)
        n_threads = max(1, min(n_threads, n_queries))
        ids = np.empty((n_queries, n), dtype=np.int32)
        kernel.nearest(
            encode(queries.reduced, self._projection),
            self.codes,
            ids,
            np.empty((n_threads, n_rows), dtype=np.uint16),
            np.empty((n_threads, 64 * self.codes.shape[1] + 1), dtype=np.int64),
            n_threads,
        )
        return ids

    def replace(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Compute new codes for these rows."""
        self.codes[ids] = encode(rows, self._projection)


def encode(vectors: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Return codes of uint64 (n, n_bits / 64)."""
    codes = np.empty((len(vectors), len(projection) // 64), dtype=np.uint64)
    kernel.pack_signs(product(vectors, projection), codes)
    return codes


def code_block(block: range, rows: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Return the codes of a block of rows."""
    return encode(rows[block.start : block.stop], projection)


class SimpleLSHIndex(ApproximateIndex):
    """Maximum inner product search by the symmetric hash of Neyshabur and Srebro [1]_.

    Rows are divided by the largest norm M and get the coordinate sqrt(1 - ||w / M||^2), queries
    are divided by their norm and get 0. A bit is the sign of a Gaussian projection: bits of a row
    and a query differ with probability arccos(<q, w> / (||q|| M)) / pi. The rows whose codes are
    nearest in Hamming distance are scored again. Reading all codes costs a few operations a row;
    the codes of rows with a norm far below the largest say little, and long codes and many
    candidates have to make up for it.

    Memory: the rows as in ExactIndex, n_bits / 8 bytes a row for the codes, 2 a row and thread for
    distances; sketches of sparse rows 4 n_components. While codes are made the reduced rows exist
    once more.

    Parameters
    ----------
    reduction : {"auto", "xbox", "xbox-centred"}, default="auto"
        With the rows' mean subtracted or not.
    n_bits : int, default=64
        A multiple of 64, at most 1024. 64 bits are what the literature uses.
    n_candidates : int or None, default=None
        Rows that are scored. None doubles the number from 128 or a 64th of the rows, to at most a
        quarter of them, until the sample of queries reaches min_recall.
    n_components : int, default=256
        Sparse rows with more features than that are hashed by sketches of this length (see
        :class:`LinearSketch`).
    rebuild_share : float, default=0.5
        Replaced rows get new codes at once; when a larger share of them has changed, the norm
        bound and the number of candidates are chosen again.
    min_recall : float, default=0.9
        With a lower recall@10 on a sample of queries the index warns once and answers exactly.
    n_jobs : int or None, default=None
        Threads; never change the result.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    mode_ : str
        "xbox" or "xbox-centred", or "exact".
    recall_ : float
        Recall@10 of what `query` returns, on queries other than those that chose the effort.
    ann_recall_ : float
        That of the codes alone.
    recalls_ : dict
        The recall of each reduction tried.
    effort_ : int
        The number of candidates in use; 0 if none is.
    n_fallbacks_, n_rebuilds_ : int
    n_rows_, n_features_in_ : int

    References
    ----------
    .. [1] B. Neyshabur, N. Srebro. On Symmetric and Asymmetric LSHs for Inner Product Search.
       ICML 2015, section 4 (SIMPLE-LSH).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.mips import SimpleLSHIndex
    >>> rng = np.random.default_rng(0)
    >>> rows, queries = rng.normal(size=(2000, 16)), rng.normal(size=(100, 16))
    >>> index = SimpleLSHIndex(n_bits=256, random_state=0).build(rows, queries)
    >>> ids, scores = index.query(queries, k=5)
    >>> index.recall_ >= 0.9, ids.shape
    (True, (100, 5))
    """

    _parameter_constraints = ApproximateIndex._parameter_constraints | {
        "reduction": [StrOptions({"auto", "xbox", "xbox-centred"})],
        "n_bits": [Interval(Integral, 64, 1024, closed="both")],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
    }
    _modes = ("xbox", "xbox-centred")
    _what = "set of codes"

    def __init__(
        self,
        reduction: str = "auto",
        n_bits: int = 64,
        n_candidates: int | None = None,
        n_components: int = 256,
        rebuild_share: float = 0.5,
        min_recall: float = 0.9,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.reduction = reduction
        self.n_bits = n_bits
        self.n_candidates = n_candidates
        self.n_components = n_components
        self.rebuild_share = rebuild_share
        self.min_recall = min_recall
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_bits % 64:
            raise ValueError(
                f"n_bits of SimpleLSHIndex must be a multiple of 64; got {self.n_bits}"
            )

    def _train(self, rows: np.ndarray, mapping: Reduction) -> Codes:
        return Codes(rows, self.n_bits, self._seed, self._n_threads())

    def _efforts(self, n_rows: int) -> list[int]:
        if self.n_candidates is not None:
            return [min(n_rows, self.n_candidates)]
        return doublings(max(FIRST, n_rows // 64), max(FIRST, n_rows // SHARE))

    def _n_candidates(self, k: int, effort: int) -> int:
        return max(k, effort)

    def _structure_bytes(self, n_rows: int, width: int) -> int:
        return n_rows * (4 * width + self.n_bits // 8)

    def _build_cost(self, n_rows: int, width: int) -> float:
        """Count the making of the codes as `_cost` does."""
        return cost.codes_build(n_rows, width, self.n_bits)
