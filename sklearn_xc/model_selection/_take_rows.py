"""Taking samples of whatever scikit-learn takes as data."""

from typing import Any

import numpy as np
from scipy import sparse

from ..utils._given_labels import is_polars_frame
from ..utils._matrix import checked_csr


def take(data: Any, rows: np.ndarray) -> Any:
    """Return the samples named, in the container that the data came in; None of None."""
    if data is None:
        return None
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if sparse.issparse(data):
        return checked_csr(data, "sparse data to take samples of")[rows]
    if isinstance(data, (list, tuple)):
        return type(data)(data[row] for row in rows)
    if hasattr(data, "column_names"):  # a table of Arrow
        return data.take(rows)
    # Frames of other libraries have no iloc, and take numbers of samples in brackets.
    exchanged = hasattr(data, "__dataframe__") and not hasattr(data, "__array_interface__")
    if exchanged or is_polars_frame(data):
        return data[rows]
    return np.asarray(data)[rows]
