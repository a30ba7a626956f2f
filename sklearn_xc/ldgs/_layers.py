"""How LDGS keeps what it trains: the columns of both layers, the entries of mini-batches."""

import itertools
from typing import NamedTuple, TypeAlias

import numpy as np

from ..utils._memory_limit import require_memory
from ._candidate_gradients import chunk_bounds

NO_NORMS = np.empty(0, dtype=np.int32)
# Of the ridge on a table: one for all dimensions, or one for each.
Strength: TypeAlias = float | np.ndarray


class StepSettings(NamedTuple):
    """The parameters of the steps, as in the estimator, with their "auto" values settled."""

    loss: str
    score: str
    gradient: str
    n_chunks: int
    n_message_passes: int
    query_size: int
    index: str
    n_centroids: int
    n_probes: int
    tau: float
    mu: float
    unretrieved: str
    fit_intercept: bool
    solver: str
    warmup: float | str
    batch_size: int
    learning_rate: float
    decay: float | str
    max_iter: int
    alpha: float
    of_parts: bool = False  # one of them is at hand, not all samples
    query_threshold: float | None = None


class ColumnLayout:
    """The columns of embeddings while they are trained: each chunk ends with one more.

    With linear scores the last column of a chunk holds its part of the intercept; with squared
    distances minus the squared length of the chunk of the label embedding, whose product with
    ``(2 x, 1)`` is then the score but for ``||x||^2``, which no loss sees.
    """

    def __init__(self, dim: int, n_chunks: int, score: str, fit_intercept: bool) -> None:
        self.bounds = chunk_bounds(dim, n_chunks)
        # Chunk j has moved by j columns: one more at the end of each before it.
        self.bounds += np.arange(n_chunks + 1, dtype=np.int32)
        self.n_columns = int(self.bounds[-1])
        self.last = self.bounds[1:] - 1
        self.plain = np.delete(np.arange(self.n_columns), self.last)
        chunks = enumerate(itertools.pairwise(self.bounds.tolist()))
        self._columns_of_dims = [(slice(a, b - 1), slice(a - c, b - 1 - c)) for c, (a, b) in chunks]
        self.squared = score == "sqeuclidean"
        # each chunk sees the same gradient of its part: together they step as one intercept would
        self._constant = np.float32(n_chunks**-0.5 if fit_intercept else 0)
        self.norms = self.bounds if self.squared else NO_NORMS

    def columns(self, values: Strength) -> np.ndarray:
        """Return a number for each column, from one a dimension or one for all; 0 for
        intercepts.
        """
        # Intercepts bear no ridge: their columns stay 0.
        wide = np.zeros(self.n_columns, dtype=np.float32)
        wide[self.plain] = values
        return wide

    def write(self, embeddings: np.ndarray, E: np.ndarray) -> None:
        """Write embeddings (n, dim) into a table of (n, n_columns)."""
        for columns, dims in self._columns_of_dims:  # several times as fast as by self.plain
            E[:, columns] = embeddings[:, dims]

    def weights(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return the table of label embeddings (n_classes, n_columns) that scores as these."""
        W = np.zeros((len(coef), self.n_columns), dtype=np.float32)
        self.write(coef, W)
        if self.squared:
            starts = self.bounds[:-1]
            W[:, self.last] = -np.add.reduceat(W * W, starts, axis=1)
        elif self._constant:
            # Each of the n_chunks last columns has an equal part, times the constant.
            W[:, self.last] = intercept[:, None] / (self._constant * len(self.last))
        return W

    def coef(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the label embeddings (n_classes, dim) and intercepts (n_classes,) of a table."""
        if self.squared:
            return W[:, self.plain], np.zeros(len(W), dtype=np.float32)
        return W[:, self.plain], self._constant * W[:, self.last].sum(axis=1)

    def queries(self, E: np.ndarray) -> np.ndarray:
        """Return embeddings (n, n_columns) made ready for the product with label embeddings, in
        place.
        """
        # -||x - w||^2 = <(2 x, 1), (w, -||w||^2)> - ||x||^2, chunk by chunk.
        if self.squared:
            E *= 2
        E[:, self.last] = 1 if self.squared else self._constant
        return E

    def of_embeddings(self, of_queries: np.ndarray) -> np.ndarray:
        """Return the gradient in the embeddings from that in their queries, in place."""
        if self.squared:
            of_queries *= 2
        # Constants of a query have no embedding behind them.
        of_queries[:, self.last] = 0
        return of_queries


class Weights:
    """Both layers and, for Adagrad, the sums of their squared gradients, one a row.

    W is (n_classes, n_columns), U (n_features, n_columns) or None.
    """

    def __init__(
        self,
        W: np.ndarray,
        U: np.ndarray | None,
        adaptive: bool,
        squares: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.W, self.U = W, U
        if squares is None or not adaptive:
            n_features = 0 if U is None else len(U)
            squares = (
                np.zeros(len(W) * adaptive, np.float32),
                np.zeros(n_features * adaptive, np.float32),
            )
        self.squares_W, self.squares_U = squares


class Start(NamedTuple):
    """Weights to go on from, for X as it is given; None in their place for a cold start."""

    coef: np.ndarray  # float32 (n_classes, dim)
    intercept: np.ndarray
    table: np.ndarray | None  # float32 (n_features, dim)
    squares: tuple  # sums of squared gradients of Adagrad, of label embeddings and of features


class EntryLists(NamedTuple):
    """The entries of the samples of a mini-batch; see `_kernels/ldgs/_row_updates.pyx`."""

    ids: np.ndarray
    values: np.ndarray
    begin: np.ndarray
    count: np.ndarray
    shared: bool = False


def require_weights(
    hidden_dim: int | None, n_classes: int, n_features: int, n_columns: int
) -> None:
    """Refuse weights that do not fit into memory."""
    hidden = hidden_dim is not None
    n_rows = 2 * n_classes + (2 * n_features if hidden else 0)
    require_memory(
        4 * n_rows * n_columns,
        f"fit: dense weights of {n_classes} classes and {n_columns} columns, twice",
        "use a smaller hidden_dim"
        if hidden
        else "set hidden_dim, to some hundred, or use fewer "
        "features (VarianceThreshold() before it drops those that no sample has)",
    )
