"""Search over inverted lists: the same as a sum of all products, to the last bit."""

from contextlib import suppress

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse

from sklearn_xc import TopKNeighborsClassifier
from sklearn_xc.neighbors._row_lists import RowLists

pytestmark = pytest.mark.kernel
FIXED = {"n_neighbors": 10, "power": 2.0, "frequency_power": 0.0, "text_weight": 0.0}
N, N_FEATURES = 20_000, 500


def text_rows(n, seed, signed=False, length=12):
    """Rows whose features are as frequent as words, and weigh the less for it; copies and zeros."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(2, N_FEATURES + 2)
    shares *= length / shares.sum()
    weights = -np.log(np.minimum(shares, 0.9)) + 0.1
    X = (rng.random((n, N_FEATURES)) < shares) * weights * rng.integers(1, 3, (n, N_FEATURES))
    X[:: max(1, n // 7)] = 0
    X[n // 2 : n // 2 + n // 9] = X[: n // 9]
    if signed:
        X *= np.where(np.arange(N_FEATURES) % 3, 1, -1) * rng.choice((1, 1, 1, -1), X.shape)
    return sparse.csr_array(X.astype(np.float32))


def by_all_products(X, Q, k):
    """Float32 sums by falling weight of the query's features, then the smaller feature."""
    ids, scores = np.empty((len(Q), k), np.int32), np.empty((len(Q), k), np.float32)
    for i, query in enumerate(Q):
        total = np.zeros(len(X), dtype=np.float32)
        for j in np.argsort(-np.abs(query), kind="stable")[: np.count_nonzero(query)]:
            total += query[j] * X[:, j]
        ids[i] = np.argsort(-total, kind="stable")[:k]
        scores[i] = total[ids[i]]
    return ids, scores


def stored(model):
    """The rows of a model with one part, dense, as its search has them."""
    part = model._row_parts.parts[0].without_columns()
    X = np.zeros((part.n_rows, N_FEATURES), dtype=np.float32, order="F")
    X[part.rows, np.repeat(part.features, np.diff(part.starts))] = part.values
    return X


@pytest.mark.parametrize(
    ("signed", "length"),
    rest_in_full([(False, 4), (False, 30), (True, 4), (True, 30)], (False, 4), (True, 30)),
)
def test_neighbours_are_those_of_all_products_to_the_last_bit(signed, length):
    X, Q = text_rows(N, 0, signed, length), text_rows(30, 1, signed, length)
    y = np.arange(N) % 5
    model = TopKNeighborsClassifier(**FIXED).fit(X, y)
    parts = TopKNeighborsClassifier(**FIXED)
    for some in (slice(0, 14_000), slice(14_000, N)):
        parts.partial_fit(X[some], y[some], classes=range(5))
    assert len(parts._row_parts.parts) > 1
    q = model._row_parts.in_form(model._rows(Q))
    queries = sparse.csr_array((q.data, q.indices, q.indptr), shape=Q.shape).toarray()
    for k in (1, 10, 3000):
        ids, scores = by_all_products(stored(model), queries, k)
        for searched in (model, parts):
            found_scores, found = searched.kneighbors(Q, k)
            np.testing.assert_array_equal(found_scores, scores)
            np.testing.assert_array_equal(found, ids)


def test_rows_of_frequent_features_only_are_found():
    """Rows whose whole length lies in features that are looked up are kept apart."""
    X = text_rows(N, 0).tolil()
    X[[77, 15_000, 19_999]] = 0
    X[[77, 15_000, 19_999], 0] = 1
    X[[500, 16_000], 0], X[[500, 16_000], 1] = 1, 1
    X = X.tocsr()
    model = TopKNeighborsClassifier(**FIXED).fit(X, np.arange(N) % 5)
    Q = sparse.csr_array(np.eye(2, N_FEATURES, dtype=np.float32))
    scores, ids = model.kneighbors(Q, 3)
    np.testing.assert_array_equal(ids[0], np.flatnonzero(stored(model)[:, 0] == 1)[:3])
    np.testing.assert_array_equal(scores[0], 1)


def test_what_can_be_looked_up_takes_little():
    model = TopKNeighborsClassifier(**FIXED).fit(text_rows(N, 0), np.arange(N) % 5)
    (part,) = model._row_parts.parts
    n_entries = len(part.rows) + np.count_nonzero(part.columns)
    arrays = sum(a.nbytes for a in vars(part).values() if isinstance(a, np.ndarray))
    made = part.n_bytes - arrays
    assert len(part._long_lists()) > 10
    assert 0 < made <= 2 * n_entries + 2 * N
    assert model.nbytes_ <= 16 * n_entries


def test_lists_that_are_no_lists_are_read_within_their_bounds():
    """A file that nobody has checked: answers may be anything, memory is not left."""
    rng = np.random.default_rng(0)
    model = TopKNeighborsClassifier(**FIXED).fit(text_rows(N, 0), np.arange(N) % 5)
    (part,) = model._row_parts.parts
    queries = model._row_parts.in_form(model._rows(text_rows(40, 1)))
    names = "features", "starts", "rows", "values", "n_rows", "column_of", "columns"
    arrays = {name: getattr(part, name) for name in names}
    huge = np.iinfo(np.int32)
    broken = [
        {"rows": rng.integers(huge.min, huge.max, len(part.rows), dtype=np.int32)},
        {"rows": rng.integers(0, N, len(part.rows), dtype=np.int32)},
        {"rows": np.full(len(part.rows), N - 1, dtype=np.int32)},
        {"starts": rng.integers(-5, 10 * N, len(part.starts))},
        {"values": rng.normal(size=len(part.rows)).astype(np.float32) * np.float32(1e30)},
        {"values": np.full(len(part.rows), np.nan, dtype=np.float32)},
        {"columns": np.full(part.columns.shape, np.inf, dtype=np.float32)},
        {"column_of": rng.integers(-9, 99, len(part.features), dtype=np.int32)},
    ]
    for change in broken:
        lists = RowLists(**arrays | change)
        for lists.signed in (False, True):
            model._row_parts.parts[:] = [lists]
            with suppress(ValueError):  # scores that are not finite
                ids, _ = model._row_parts.nearest(queries, 10, 1)
                assert ids.max() < N
