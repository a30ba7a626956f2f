"""Fixtures of the tests of data sets."""

import pytest
from _texts_of_rows import D, K, N

from sklearn_xc.datasets import (
    dump_xc,
    make_xc_classification,
)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "data.txt"
    X, Y = make_xc_classification(N, D, K, n_labels=2, random_state=0)
    dump_xc(path, X, Y)
    return path
