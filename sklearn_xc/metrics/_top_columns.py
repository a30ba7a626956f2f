"""The columns of the k highest scores of every sample, dense or sparse."""

import numpy as np
import scipy.sparse as sp

from ..topk._dense_topk import best_columns
from ..utils._typing import Matrix

# Entries of a score matrix handled at a time by `top_columns`: 8 MB in float64.
_BLOCK_ENTRIES = 1 << 20


def top_columns(scores: Matrix, k: int) -> np.ndarray:
    """Return columns of the k highest scores of every row, best first, ties to the smaller column.

    Scores are floats without NaN, sparse ones in canonical CSR, of which only stored entries count.
    The result is int64 of shape (n, k), with -1 at ranks for which a sparse row has no entry left.
    """
    n, width = scores.shape
    columns = np.full((n, k), -1, dtype=np.int64)
    is_sparse = sp.issparse(scores)
    lengths = np.diff(scores.indptr) if is_sparse else np.full(n, width)
    # Rows of like length are padded together, so that one long row does not widen the others.
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < n and (width := int(lengths[order[start]])) > 0:
        rows = order[start : start + max(1, _BLOCK_ENTRIES // width)]
        start += len(rows)
        if is_sparse:
            # a rectangle of the entries of these rows, with -inf beyond the end of each; positions
            # in a row ascend with the column, so that ties go to the smaller one
            stored = np.arange(width) < lengths[rows, None]
            entries = np.where(stored, scores.indptr[rows, None] + np.arange(width), 0)
            positions = best_columns(np.where(stored, scores.data[entries], -np.inf), k, stored)
            best = scores.indices[np.take_along_axis(entries, positions.clip(0), axis=1)]
        else:
            best = positions = best_columns(scores[rows], k)
        columns[rows, : positions.shape[1]] = np.where(positions >= 0, best, -1)
    return columns
