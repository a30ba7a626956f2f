"""Functions inside of what `base/test_names.py` tests from outside."""

import numpy as np
import pandas as pd
import pytest

from sklearn_xc import (
    PPDSparseClassifier,
)
from sklearn_xc.utils._given_labels import in_order_of, plain_labels

RNG = np.random.default_rng(0)
SHARES = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
Y = pd.DataFrame((RNG.random((600, 6)) < SHARES).astype(int), columns=list("abcdef"))
X = Y.to_numpy() @ RNG.normal(size=(6, 30)) + 1.5 * RNG.normal(size=(600, 30))


@pytest.fixture(scope="module")
def model():
    return PPDSparseClassifier(random_state=0).fit(X[:300], Y[:300])


# ------------------------------------------------------------------------ columns of labels


def test_tables_without_names_go_by_place():
    numbered = pd.DataFrame(Y.to_numpy())
    model = PPDSparseClassifier(random_state=0).fit(X, numbered)
    assert model.score(X, Y) == model.score(X, numbered) == model.score(X, Y.to_numpy())
    named = PPDSparseClassifier(random_state=0).fit(X, Y)
    assert named.score(X, numbered) == model.score(X, numbered)
    swapped = numbered[[1, 0, 2, 3, 4, 5]]
    np.testing.assert_array_equal(in_order_of(swapped, np.arange(6)), numbered)


# ------------------------------------------------------------------------ numbers of 64 bits


def test_one_long_name_does_not_widen_all():
    names = [f"n{i % 400}" for i in range(1999)] + ["a" * 100_000]
    assert isinstance(plain_labels(names), np.ndarray)  # of 800 MB if as wide as the longest
    assert plain_labels(names).dtype == object
    rows = np.eye(401)[[i % 400 for i in range(1999)] + [400]]
    model = PPDSparseClassifier(max_iter=1, tol=1).fit(rows, names)
    assert model.classes_.dtype == object
    short = PPDSparseClassifier(max_iter=1, tol=1).fit(rows, [name[:9] for name in names])
    assert short.classes_.dtype.kind == "U"
    short.add_labels(
        rows, ["a" * 100_000 if i == 3 else n for i, n in enumerate(names[:-1])] + ["n0"]
    )
    assert short.classes_.dtype == object
    assert len(short.classes_) == 402
