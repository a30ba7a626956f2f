"""Texts in the XC format, random data sets, and how files are compressed."""

import bz2
import gzip
import lzma

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sklearn_xc.datasets import load_xc

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
# One folder serves all examples of a test: each writes its file anew. The list replaces that of
# tests/conftest.py.
one_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def load_text(folder, text):
    path = folder / "data.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_xc(path)


@st.composite
def data_sets(draw):
    n_rows, n_features, n_classes = (draw(st.integers(1, 6)) for _ in range(3))
    pairs = st.dictionaries(st.integers(0, n_features - 1), FLOAT32)
    label_sets = st.sets(st.integers(0, n_classes - 1))
    X, Y = sp.lil_matrix((n_rows, n_features)), sp.lil_matrix((n_rows, n_classes))
    X, Y = X.astype(np.float32), Y.astype(np.int32)
    for row in range(n_rows):
        features = draw(pairs)
        X.rows[row], X.data[row] = sorted(features), [features[j] for j in sorted(features)]
        Y.rows[row] = sorted(draw(label_sets))
        Y.data[row] = [1] * len(Y.rows[row])
    return X.tocsr(), Y.tocsr()
