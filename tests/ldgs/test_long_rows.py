"""One corrupt row, far longer than the others, does not decide what LDGSClassifier learns."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.datasets import load_digits

from sklearn_xc import LDGSClassifier


def topics():
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=600)
    topics = rng.random((12, 200)) ** 12
    X = rng.poisson(topics[y] * 20 / topics.sum(axis=1)[y][:, None])
    return X.astype(float), y


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("raw digits", {}),
        ("topics", {"hidden_dim": 20}),
        *rest_in_full(
            [
                ("digits", {}),
                ("digits", {"solver": "sgd"}),
                ("digits", {"similarity": "sqeuclidean"}),
                ("topics", {}),
                ("topics", {"hidden_dim": 20, "solver": "sgd"}),
            ]
        ),
    ],
)
@pytest.mark.parametrize("row", rest_in_full([7, 100], 7))
def test_one_long_row_leaves_the_others_their_classes(data, options, row):
    X, y = topics() if data == "topics" else load_digits(return_X_y=True)
    if data == "digits":
        X = X / 16
    corrupt = X.copy()
    corrupt[row] *= 1e4
    others = np.arange(len(y)) != row
    if data == "topics":
        X, corrupt = sparse.csr_array(X), sparse.csr_array(corrupt)
    options = options | {"random_state": 0}
    clean = LDGSClassifier(**options).fit(X, y).score(X[others], y[others])
    assert clean > 0.9
    found = LDGSClassifier(**options).fit(corrupt, y).score(X[others], y[others])
    assert found > clean - 0.01
