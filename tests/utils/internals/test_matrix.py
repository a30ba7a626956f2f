"""Normalised X against NumPy, and the caller's arrays left as they were."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_xc.ppdsparse._ordering import STRETCH, fast_order, order_given
from sklearn_xc.utils import _csr
from sklearn_xc.utils._matrix import as_rows, normalise
from sklearn_xc.utils._rows import Rows

DENSE = np.array([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.25, 1.0]])


def to_dense(rows):
    """A plain reading of the definition of Rows."""
    out = np.zeros(rows.shape)
    for i in range(rows.shape[0]):
        first, last = rows.indptr[i], rows.indptr[i + 1]
        features = rows.indices[: last - first] if rows.dense else rows.indices[first:last]
        np.add.at(out[i], features, rows.data[first:last])
    return out


def assert_canonical(X):
    assert X.dtype == np.float32
    if sparse.issparse(X):
        assert X.format == "csr"
        assert X.indices.dtype == np.int32
        for i in range(X.shape[0]):
            assert (np.diff(X.indices[X.indptr[i] : X.indptr[i + 1]]) > 0).all()
    else:
        assert X.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i1", "i4", "i8", "u8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_dtypes(dtype, order):
    X = np.asarray(DENSE.astype(dtype), order=order)
    Z = normalise(X)
    assert_canonical(Z)
    np.testing.assert_array_equal(Z, X.astype(np.float32))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "?"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("flavour", ["array", "matrix"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_kinds(dtype, kind, flavour, index):
    X = getattr(sparse, f"{kind}_{flavour}")(DENSE.astype(dtype))
    for name in ("indices", "indptr"):
        if isinstance(getattr(X, name, None), np.ndarray):
            setattr(X, name, getattr(X, name).astype(index))
    Z = normalise(X)
    assert_canonical(Z)
    np.testing.assert_array_equal(Z.toarray(), DENSE.astype(dtype).astype(np.float32))


def test_what_is_right_already_is_not_copied():
    X = DENSE.astype(np.float32)
    assert normalise(X) is X
    assert np.shares_memory(as_rows(X).data, X)
    S = sparse.csr_matrix(X)
    Z = normalise(S)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(Z, name), getattr(S, name))
    assert as_rows(Z).data is Z.data
    assert as_rows(Z).indices is Z.indices


def test_unsorted_duplicates_are_summed_in_a_copy():
    data = np.array([100, 100, 2, 1], dtype=np.int8)  # 100 + 100 wraps around in int8
    indices = np.array([2, 2, 0, 1], dtype=np.int32)
    indptr = np.array([0, 3, 4], dtype=np.int32)
    for array in (data, indices, indptr):
        array.flags.writeable = False
    X = sparse.csr_array((data, indices, indptr), shape=(2, 3))
    attributes = set(vars(X))
    Z = normalise(X)
    assert_canonical(Z)
    np.testing.assert_array_equal(Z.toarray(), [[2, 0, 200], [0, 1, 0]])
    np.testing.assert_array_equal(X.indices, [2, 2, 0, 1])
    np.testing.assert_array_equal(X.data, [100, 100, 2, 1])
    assert set(vars(X)) == attributes


def test_read_only_memmaps(tmp_path):
    np.save(tmp_path / "X.npy", DENSE.astype(np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(to_dense(as_rows(normalise(X))), DENSE)
    S = sparse.csr_array(DENSE)
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(S, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    Z = normalise(sparse.csr_array(tuple(parts), shape=S.shape))
    np.testing.assert_array_equal(to_dense(as_rows(Z)), DENSE)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_overflow_of_float32_names_X_and_the_range(container):
    X = container(DENSE * 1e300)
    with pytest.raises(ValueError, match=r"X holds 3e\+300, beyond the range of float32"):
        normalise(X)
    assert np.isclose(normalise(container(DENSE * 1e38)).max(), 3e38)


def test_too_many_features():
    X = sparse.csr_array((2, 2**31))
    with pytest.raises(ValueError, match=r"X has 2147483648 features; at most 2147483647"):
        normalise(X)


def test_corrupt_indices_are_refused():
    X = sparse.csr_array(DENSE)
    X.indices[0] = 4
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        normalise(X)


@given(
    values=st.lists(
        st.lists(st.sampled_from([0.0, 0.0, 1.0, -0.5, 4.0]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    dense=st.booleans(),
    data=st.data(),
)
def test_rows_blocks_and_columns(values, dense, data):
    X = np.array(values)
    rows = as_rows(normalise(X if dense else sparse.coo_array(X)))
    assert isinstance(rows, Rows)
    assert (rows.indptr.dtype, rows.indices.dtype) == (np.int64, np.int32)
    np.testing.assert_array_equal(to_dense(rows), X)
    start = data.draw(st.integers(0, len(X)))
    stop = data.draw(st.integers(start, len(X)))
    block = rows.block(start, stop)
    np.testing.assert_array_equal(to_dense(block), X[start:stop])
    assert np.shares_memory(block.indptr, rows.indptr)
    if dense:
        return
    columns = rows.columns()
    assert (columns.indptr.dtype, columns.rows.dtype) == (np.int64, np.int32)
    assert columns.data.dtype == np.float32
    for j in range(X.shape[1]):
        column = slice(columns.indptr[j], columns.indptr[j + 1])
        np.testing.assert_array_equal(columns.rows[column], np.nonzero(X[:, j])[0])
        np.testing.assert_array_equal(columns.data[column], X[X[:, j] != 0, j])


MATRICES = st.tuples(st.integers(1, 7), st.integers(1, 6), st.integers(0, 2**31), st.booleans())


def random_matrix(n, d, seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)).astype(np.float32)


def rows_of(X, dense):
    return as_rows(normalise(X if dense else sparse.csr_array(X)))


@given(MATRICES, st.sampled_from([0.0, 0.3, 1.0, 100.0]))
def test_extremes_and_entries_above(matrix, threshold):
    *shape, dense = matrix
    X = random_matrix(*shape)
    rows = rows_of(X, dense)
    highest, lowest = rows.extremes()
    assert highest.dtype == lowest.dtype == np.float32
    np.testing.assert_array_equal(highest, X.max(axis=0, initial=0))
    np.testing.assert_array_equal(lowest, X.min(axis=0, initial=0))
    kept = rows.above(threshold)
    assert not kept.dense
    assert (kept.indptr.dtype, kept.indices.dtype) == (np.int64, np.int32)
    assert (np.abs(kept.data) > threshold).all()
    np.testing.assert_array_equal(to_dense(kept), np.where(np.abs(X) > threshold, X, 0))


def order_of(rows, seed):
    weight = np.ones(rows.shape[0])
    if rows.dense:
        return order_given(rows.shape[1], weight)
    return fast_order(np.diff(rows.indptr), rows.entry_counts(), seed, weight)


@given(MATRICES, st.integers(0, 2**31 - 1))
def test_an_order_is_a_permutation_and_rows_follow_it(matrix, seed):
    *shape, dense = matrix
    X = random_matrix(*shape)
    rows = rows_of(X, dense)
    order = order_of(rows, seed)
    assert order.samples.dtype == order.features.dtype == np.int32
    np.testing.assert_array_equal(np.sort(order.samples), np.arange(len(X)))
    np.testing.assert_array_equal(np.sort(order.features), np.arange(X.shape[1]))
    moved = rows.reordered(*order)
    np.testing.assert_array_equal(to_dense(moved), X[order.samples][:, order.features])
    np.testing.assert_array_equal(to_dense(rows), X)  # untouched
    if dense:
        assert moved is rows


@pytest.mark.parametrize("n_threads", [2, 3, 20])
def test_threads_reorder_rows_and_make_columns_alike(n_threads):
    X = random_matrix(300, 5, 0)
    rows = rows_of(X, dense=False)
    order = order_of(rows, 1)
    alone = rows.reordered(*order), rows.columns()
    with mock.patch.object(_csr, "FEWEST", 10):
        together = rows.reordered(*order, n_threads=n_threads), rows.columns(n_threads=n_threads)
        assert len(_csr.even_stretches(rows.indptr, n_threads)) == n_threads
    for one, other in zip(alone, together, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@given(lengths=st.lists(st.integers(0, 9), max_size=30), n=st.integers(1, 40))
def test_even_stretches_are_all_rows_in_order(lengths, n):
    indptr = 7 + np.append(0, np.cumsum(lengths, dtype=np.int64))
    with mock.patch.object(_csr, "FEWEST", 1):
        found = _csr.even_stretches(indptr, n)
    rows = [row for some in found for row in range(some.start, some.stop)]
    assert rows == list(range(len(lengths)))
    assert len(found) <= max(1, min(n, sum(lengths)))


def test_the_fast_order_is_frequent_features_first_and_lengths_sorted_in_stretches():
    rng = np.random.default_rng(0)
    n = 2 * STRETCH + 100
    X = np.ones((n, 8)) * (rng.random((n, 8)) < np.arange(1, 9) / 10)
    rows = rows_of(X, dense=False)
    order = order_of(rows, 3)
    frequency = (X != 0).sum(axis=0)[order.features]
    assert (np.diff(frequency) <= 0).all()
    lengths = (X != 0).sum(axis=1)[order.samples]
    for start in range(0, n, STRETCH):
        assert (np.diff(lengths[start : start + STRETCH]) >= 0).all()
    # a stretch is a random sample of the rows: its mean length is about that of all
    assert abs(lengths[:STRETCH].mean() - lengths.mean()) < 0.3
    np.testing.assert_array_equal(order_of(rows, 3).samples, order.samples)
    assert (order_of(rows, 4).samples != order.samples).any()


@pytest.mark.kernel
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_misaligned_numbers_are_copied(container):
    """A kernel may read vectors of them, which some processors refuse to do anywhere."""

    def misaligned(array):
        memory = np.zeros(array.nbytes + 1, np.uint8)
        found = memory[1:].view(array.dtype).reshape(array.shape)
        found[...] = array
        return found

    X = np.float32([[1, 0, 2], [0, 3, 4]])
    if container is np.asarray:
        found = normalise(misaligned(X))
        parts = [found]
    else:
        given = sparse.csr_array(X)
        given.data, given.indices = misaligned(given.data), misaligned(given.indices)
        given.indptr = misaligned(given.indptr)
        found = normalise(given)
        parts = [found.data, found.indices, found.indptr]
    assert all(part.flags.aligned for part in parts)
    np.testing.assert_array_equal(found if len(parts) == 1 else found.toarray(), X)


def test_room_that_no_row_uses_is_no_part_of_x():
    from sklearn_xc import PPDSparseClassifier

    roomy = sparse.csr_array(np.eye(6))
    roomy.data = np.append(roomy.data, np.nan)
    roomy.indices = np.append(roomy.indices, 2**30)
    y = [0, 1, 2] * 2
    model = PPDSparseClassifier(random_state=0).fit(roomy, y)
    np.testing.assert_array_equal(model.predict(roomy), model.predict(np.eye(6)))
