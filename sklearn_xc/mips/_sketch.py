"""Linear sketches: short dense vectors that keep inner products on average."""

from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ..base._validation import check_parameters
from ..utils._memory_limit import require_memory
from ..utils._typing import Matrix, MatrixLike, RandomState
from ._row_store import check_ids, check_vectors

COMMON = 0.1  # share of the queries that have a feature which is worth keeping
BLOCK = 4096  # rows multiplied at once: a sparse product of them is turned into a dense one


class LinearSketch(BaseEstimator):
    """A seeded linear map from many features to few that keeps inner products on average.

    Each feature is spread over ``n_nonzeros`` components, one in each of as many equal parts of
    them, at a random place and with a random sign, times 1 / sqrt(n_nonzeros) [1]_. For any two
    vectors the inner product of their sketches has theirs as its expectation, and a variance of at
    most 2 ||x||^2 ||y||^2 / n_components. Features named to `fit` are kept instead, each as a
    component of its own: they add nothing to the variance, and the others share what components
    are left. Being linear, the sketch of a change is the change of the sketch.

    Parameters
    ----------
    n_components : int, default=256
        Length of a sketch. The error of an inner product falls with its root: 256 leaves one of
        about a sixteenth of ||x|| ||y||.
    n_nonzeros : int, default=4
        Components a feature is spread over. More of them make large errors rarer, since two
        features then seldom share all of their components, and cost as many times the work.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    projection_ : csr_array of float32, shape (n_features, n_components)
        8 n_nonzeros + 4 bytes a feature. The components of features that are kept come first.
    n_features_in_ : int

    References
    ----------
    .. [1] D. M. Kane, J. Nelson. Sparser Johnson-Lindenstrauss Transforms. Journal of the ACM
       61(1), 2014, section 3 (the block construction).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from sklearn_xc.mips import LinearSketch
    >>> X = sparse.random_array((2, 10_000), density=0.01, rng=0, dtype=np.float32)
    >>> sketch = LinearSketch(n_components=512, random_state=0).fit(10_000)
    >>> sketch.transform(X).shape
    (2, 512)
    >>> twice = sketch.transform(2 * X)
    >>> print(f"{abs(twice - 2 * sketch.transform(X)).max():.4f}")  # it is linear
    0.0000
    """

    _parameter_constraints = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_nonzeros": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components: int = 256, n_nonzeros: int = 4, random_state: RandomState = None
    ) -> None:
        self.n_components = n_components
        self.n_nonzeros = n_nonzeros
        self.random_state = random_state

    def fit(self, n_features: int, kept: ArrayLike = ()) -> Self:
        """Draw the map.

        Parameters
        ----------
        n_features : int
        kept : array-like of int, default=()
            Distinct features that get a component of their own: those with large shares of the
            squares of the vectors.

        Returns
        -------
        self : LinearSketch

        Raises
        ------
        ValueError
            If a parameter is out of range, kept names no features, or n_nonzeros exceeds the
            components that are left.
        """
        check_parameters(self)
        if not isinstance(n_features, Integral) or n_features < 1:
            raise ValueError(f"n_features must be an integer of at least 1, got {n_features!r}")
        kept = check_ids(kept, int(n_features), "kept")
        if self.n_nonzeros > self.n_components - len(kept):
            beside = f" less the {len(kept)} kept" if len(kept) else ""
            raise ValueError(
                f"n_nonzeros must be at most n_components={self.n_components}{beside}, "
                f"got {self.n_nonzeros}"
            )
        n, s = int(n_features), self.n_nonzeros
        require_memory((8 * s + 4) * n, f"a sketch of {n} features", "use a smaller n_nonzeros")
        random = check_random_state(self.random_state)
        rng = np.random.default_rng(random.randint(2**31 - 1))
        # The components that are left in s parts, and for each feature one place in each of them:
        # places of a feature are distinct.
        edges = np.linspace(len(kept), self.n_components, s + 1).astype(np.int64)
        places = rng.integers(edges[:-1], edges[1:], size=(n, s)).astype(np.int32)
        signs = rng.integers(0, 2, size=(n, s), dtype=np.int8)
        values = (2 * signs - 1).astype(np.float32) / np.float32(np.sqrt(s))
        # One entry of 1 for a feature that is kept; its others are zero and dropped below.
        values[kept], places[kept, 0] = 0, np.arange(len(kept))
        values[kept, 0] = 1
        self.projection_ = sparse.csr_array(
            (values.ravel(), places.ravel(), np.arange(0, n * s + 1, s)),
            shape=(n, self.n_components),
        )
        self.projection_.eliminate_zeros()
        self.n_features_in_ = n
        return self

    def transform(self, vectors: MatrixLike) -> np.ndarray:
        """Return the sketches of some vectors.

        Parameters
        ----------
        vectors : array-like or sparse matrix, shape (n, n_features)

        Returns
        -------
        sketches : ndarray of float32, shape (n, n_components)

        Raises
        ------
        ValueError
            If they are not finite or have another number of features.
        MemoryError
            If the sketches would exceed the limit on memory.
        """
        vectors = check_vectors(vectors, "vectors", self.n_features_in_)
        shape = vectors.shape[0], self.n_components
        require_memory(
            4 * shape[0] * shape[1], f"sketches of shape {shape}", "use fewer n_components"
        )
        sketches = np.empty(shape, dtype=np.float32)
        for start in range(0, shape[0], BLOCK):
            block = vectors[start : start + BLOCK] @ self.projection_
            sketches[start : start + BLOCK] = block.toarray() if sparse.issparse(block) else block
        return sketches


def heavy_features(rows: Matrix, queries: Matrix, n_components: int) -> np.ndarray:
    """Return the features that a sketch should keep, for the least variance of inner products.

    At most half of the components are given away. A constant feature, for the intercepts, is the
    usual one that is kept.
    """
    # With a_j and b_j the shares of feature j in the squares of rows and queries, the variance of
    # the mean inner product goes with sum(a_j) sum(b_j) / m. The sums are over the features that
    # are hashed, and m is the number of components left for them.
    a, b = (_shares(matrix) for matrix in (rows, queries))
    # Features that few of these queries have are passed over: they say little of other queries, and
    # a recall that is measured on these queries would flatter.
    present = sparse.csr_array(queries).indices
    often = np.bincount(present, minlength=len(b)) >= COMMON * queries.shape[0]
    order = np.argsort(np.where(often, -(a + b), 0), kind="stable")[: np.count_nonzero(often)]
    order = order[: min(n_components // 2, n_components - 4)]
    # Entry c is for the first c of them kept.
    left = [1 - np.append(0, np.cumsum(shares[order])) for shares in (a, b)]
    variance = left[0] * left[1] / (n_components - np.arange(len(order) + 1))
    return np.sort(order[: np.argmin(variance)])


def _shares(matrix: Matrix) -> np.ndarray:
    """Return the share of each feature in the sum of all squares; zero where all are."""
    if sparse.issparse(matrix):
        squares = np.bincount(
            matrix.indices, weights=matrix.data.astype(np.float64) ** 2, minlength=matrix.shape[1]
        )
    else:
        squares = np.einsum("ij,ij->j", matrix, matrix, dtype=np.float64)
    return squares / (squares.sum() or 1.0)
