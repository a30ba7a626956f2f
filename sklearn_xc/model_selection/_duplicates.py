"""Samples that stand in both parts of a split."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..utils._matrix import as_rows, normalise

LEAST_SHARE = 0.1  # of the test samples, from which on a warning is due
LEAST_ROWS = 20  # tested; of fewer nothing is said


def warn_of_duplicates(X: Any, train: np.ndarray, test: np.ndarray, stacklevel: int = 3) -> None:
    """Warn if many test samples equal a training sample.

    X is texts, a table with a column of them, or a matrix of two features and more; of anything
    else nothing is said.
    """
    hashes = _hashes(X) if len(test) >= LEAST_ROWS else None
    if hashes is None:
        return
    n_known = int(np.isin(hashes[test], hashes[train]).sum())
    if n_known >= LEAST_SHARE * len(test):
        warnings.warn(
            f"{n_known} of {len(test)} test samples ({n_known / len(test):.0%}) equal a training "
            "sample: a score on them tells how well a model remembers. Drop duplicates before the "
            "split, such as with pandas.DataFrame.drop_duplicates",
            UserWarning,
            stacklevel=stacklevel,
        )


def _tuples(X: Any) -> Iterator[tuple]:
    """Return the rows of a table."""
    if hasattr(X, "itertuples"):
        return X.itertuples(index=False, name=None)
    return X.iter_rows()


def _hashes(X: Any) -> np.ndarray | None:
    """Return 64 bits for each sample, the same for equal ones; None where none can be compared."""
    if hasattr(X, "itertuples") or hasattr(X, "iter_rows"):  # tables of pandas and polars
        first = next(_tuples(X), ())
        # With texts in it a table is compared row by row; numbers alone are a matrix, see below.
        if any(isinstance(value, str) for value in first):
            try:
                return np.fromiter(map(hash, _tuples(X)), dtype=np.int64, count=len(X))
            except TypeError:  # a list, say
                return None
    if sparse.issparse(X) or getattr(X, "ndim", 1) == 2:
        # Values of one feature are equal by chance, or are sample numbers.
        if X.shape[1] < 2:
            return None
        try:
            values = X if sparse.issparse(X) else np.asarray(X)
            if values.dtype.kind not in "biuf":
                return None
            return as_rows(normalise(values)).hashes()
        except (TypeError, ValueError):  # the estimator says what is wrong with it
            return None
    rows = X.tolist() if hasattr(X, "tolist") else X
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        return None
    return np.fromiter(map(hash, rows), dtype=np.int64, count=len(rows))
