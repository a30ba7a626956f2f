"""Functions inside of what `topk/test_wide_spaces.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.topk._inverted_index import InvertedIndex
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel
WIDE = 2**20


def _problem(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    used = np.sort(rng.choice(WIDE, 200, replace=False))
    coef = sparse.random_array(
        (n_classes, 200), density=0.3, rng=rng, dtype=np.float32, format="csr"
    )
    rows = sparse.random_array((30, 200), density=0.2, rng=rng, dtype=np.float32, format="csr")
    other = sparse.csr_array(
        (np.ones(30), (np.arange(30), rng.integers(WIDE, size=30))), (30, WIDE)
    )
    wide = [
        sparse.csr_array((m.data, used[m.indices], m.indptr), (m.shape[0], WIDE))
        for m in (coef, rows)
    ]
    known = np.isin(other.indices, used)
    other.data[known] = 0
    return coef, rows, wide[0], normalise(sparse.csr_array(wide[1] + other))


@pytest.mark.parametrize("n_classes", [40, 700])
def test_answers_are_those_of_the_used_columns_alone(n_classes):
    coef, rows, wide_coef, wide_rows = _problem(n_classes)
    intercept = np.linspace(-1, 1, n_classes, dtype=np.float32)
    narrow, wide = InvertedIndex(coef, intercept), InvertedIndex(wide_coef, intercept)
    rows, wide_rows = as_rows(normalise(rows)), as_rows(wide_rows)
    for one, other in zip(narrow.topk(rows, 5, 1), wide.topk(wide_rows, 5, 1), strict=True):
        assert np.array_equal(one, other)
    scores = narrow.scores(rows, 1)
    assert np.array_equal(scores, wide.scores(wide_rows, 2))
    assert (narrow.positives(rows, 1) != wide.positives(wide_rows, 1)).nnz == 0
    some = np.arange(3, n_classes, 4)
    parts = narrow.part(lambda: coef, some), wide.part(lambda: wide_coef, some)
    best = parts[0].topk(rows, 3, 1), parts[1].topk(wide_rows, 3, 1)
    assert all(map(np.array_equal, *best))
    starts = np.arange(31, dtype=np.int64) * 2
    places = np.tile(some[:2], 30).astype(np.int64)
    found = wide.scores_at(lambda: wide_coef, wide_rows, starts, places, 1)
    assert np.array_equal(found.reshape(30, 2), scores[:, some[:2]])


def test_no_array_of_the_index_is_as_long_as_the_space():
    _, _, coef, _ = _problem(40)
    index = InvertedIndex(coef, np.zeros(40, dtype=np.float32))
    arrays = [value for value in vars(index).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) < 4 * coef.nnz + 8 * WIDE / 10
