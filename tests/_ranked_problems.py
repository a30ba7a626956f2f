"""Random rankings of labels for the metrics."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st

# Problems


@st.composite
def problems(draw, min_columns=1):
    """Indicators, tied scores, which of them are stored, k, weights (or None), propensities."""
    n, n_columns = draw(st.integers(1, 7)), draw(st.integers(min_columns, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = draw(st.sampled_from([None, rng.integers(0, 3, n) + (np.arange(n) == 0)]))
    return {
        "true": rng.random((n, n_columns)) < draw(st.sampled_from([0.1, 0.4, 0.9])),
        "scores": rng.integers(-2, 3, (n, n_columns)) / 2,
        "stored": rng.random((n, n_columns)) < draw(st.sampled_from([0.2, 0.6, 1.0])),
        "k": draw(st.integers(1, n_columns)),
        "sample_weight": weights,
        "propensities": rng.choice([0.01, 0.2, 0.5, 1.0], n_columns),
    }


TRUE_FORMS = {
    "dense": lambda true: true.astype(np.int64),
    "bool": lambda true: true,
    "list": lambda true: true.astype(int).tolist(),
    "csr": lambda true: sp.csr_array(true.astype(np.float32)),
    "csc": lambda true: sp.csc_matrix(true.astype(np.int8)),
    "coo with zeros": lambda true: sp.coo_array(
        (true.ravel().astype(float), np.divmod(np.arange(true.size), true.shape[1])),
        shape=true.shape,
    ),
    "frame": lambda true: pd.DataFrame(true.astype(int)),
}


CLASS_NAMES = {
    "str": np.array(["1", "2", "ten", "b", "a", "c", "d", "e"]),
    "object": np.array(["1", "2", "ten", "b", "a", "c", "d", "e"], dtype=object),
    "int": np.array([7, -3, 10**12, 0, 5, 1, 2, 3]),
    "float": np.array([0.5, -1.0, 2.0, 3.0, 4.0, 1e300, 7.0, 8.0]),
    "bool": np.array([True, False]),
    "date": np.arange("2001-01", "2001-09", dtype="datetime64[M]"),
}
