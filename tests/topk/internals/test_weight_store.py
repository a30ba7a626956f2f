"""Dense and sparse weights give the same answers behind one interface."""

import inspect

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.topk import _weight_store
from sklearn_xc.topk._weight_store import (
    DenseWeights,
    SparseWeights,
    are_weights,
    checked_weights,
    store_of,
)

RNG = np.random.default_rng(0)
W = (RNG.normal(size=(5, 11)) * (RNG.random((5, 11)) < 0.4)).astype(np.float32)
W[:, 3] = 0
DENSE = [np.asarray, np.asfortranarray]
SPARSE = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_matrix]
every_form = pytest.mark.parametrize("form", DENSE + SPARSE)


def methods(cls):
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in vars(cls).items()
        if not name.startswith("_") and callable(method)
    }


def test_both_stores_have_the_same_methods():
    assert len(methods(DenseWeights)) > 12
    assert methods(DenseWeights) == methods(SparseWeights)


@every_form
def test_the_form_decides_the_store(form):
    assert type(store_of(form(W))) is (DenseWeights if form in DENSE else SparseWeights)
    assert are_weights(form(W))
    assert not are_weights(W.tolist())
    assert not are_weights(None)


@every_form
def test_checked_weights_are_csr_or_an_ndarray(form):
    found = checked_weights(form(W))
    assert isinstance(found, np.ndarray) if form in DENSE else found.format == "csr"
    np.testing.assert_array_equal(store_of(found).dense(), W)


def test_checked_weights_lie_at_multiples_of_their_size():
    memory = np.zeros(4 * W.size + 1, dtype=np.uint8)
    odd = memory[1:].view(np.float32).reshape(W.shape)
    odd[...] = W
    assert not odd.flags.aligned
    assert checked_weights(odd).flags.aligned
    np.testing.assert_array_equal(checked_weights(odd), W)


def test_a_broken_structure_is_refused():
    broken = sparse.csr_array(W)
    broken.indices[0] = 11
    with pytest.raises(ValueError, match="coef_ is not a valid sparse matrix"):
        checked_weights(broken)


@every_form
def test_the_number_of_weights_of_each_class(form, monkeypatch):
    monkeypatch.setattr(_weight_store, "ENTRIES_AT_ONCE", 7)
    found = store_of(form(W)).n_weights()
    assert found.dtype == np.int64
    assert found.tolist() == (W != 0).sum(axis=1).tolist()
    if form in (sparse.csr_array, sparse.csc_array):
        stored = form(W)
        stored.data[:] = 0
        assert store_of(stored).n_weights().tolist() == [0] * 5


@every_form
def test_weights_of_a_class(form):
    empty = W.copy()
    empty[2] = 0
    for k in range(3):
        for features in [np.array([], dtype=int), np.array([0, 3, 7]), np.arange(11)]:
            found = store_of(form(empty)).of_class(k, features)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, empty[k, features])


def test_weights_of_a_class_of_an_unsorted_matrix_with_duplicates():
    indices, indptr = np.array([5, 1, 5, 2]), np.array([0, 3, 4])
    coef = sparse.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), indices, indptr), shape=(2, 6))
    assert store_of(coef).of_class(0, np.array([0, 1, 5])).tolist() == [0, 2, 4]
    assert coef.indices.tolist() == [5, 1, 5, 2]


@every_form
def test_features_and_columns(form):
    store = store_of(form(W)).checked()
    assert store.features().tolist() == np.flatnonzero(W.any(axis=0)).tolist()
    columns = np.array([1, 3, 8], dtype=np.int32)
    assert not store.are_of(columns)
    np.testing.assert_array_equal(store.of_columns(columns), W[:, columns])
    assert store.of_columns(columns).dtype == np.float32


def test_weights_of_some_columns_are_seen_without_a_copy():
    columns = np.array([1, 8], dtype=np.int32)
    parts = np.arange(10, dtype=np.float32), np.tile(columns, 5), np.arange(0, 11, 2)
    store = store_of(sparse.csr_array(parts, shape=(5, 11)))
    assert store.are_of(columns)
    assert not store.are_of(np.array([1, 9], dtype=np.int32))
    assert not store_of(store.coef.tocsc()).are_of(columns)
    found = store.of_columns(columns)
    np.testing.assert_array_equal(found, parts[0].reshape(5, 2))
    assert np.shares_memory(found, store.coef.data)


@every_form
def test_other_forms_have_the_same_weights(form):
    store = store_of(form(W)).checked()
    for found in store.dense(), store.densified(), store.csr(), store.sparsified():
        np.testing.assert_array_equal(store_of(found).dense(), W)
    assert store.csr().nnz == store.sparsified().nnz == np.count_nonzero(W)
    assert isinstance(store.densified(), np.ndarray)
    assert type(store_of(store.in_form(sparse.csr_array(W)))) is type(store)
    assert store.largest() == np.abs(W).max()
    limit = np.float32(np.median(np.abs(W[W != 0])))
    pruned = store_of(store.pruned(limit))
    np.testing.assert_array_equal(pruned.dense(), np.where(np.abs(W) > limit, W, 0))
    assert pruned.is_sparse == store.is_sparse
    np.testing.assert_array_equal(store.dense(), W)


def test_weights_for_a_file():
    W = np.array([[1, 1e-9, 0], [0.1, -2, 1e-3]], dtype=np.float32)
    store = store_of(sparse.csr_array(W))
    assert store.for_file("float32", 0.0) is store.coef
    rounded = W.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(store.for_file("float16", 0.0).toarray(), rounded)
    assert store.for_file("float16", 0.0).nnz == 4
    assert store.for_file("float32", 0.5).toarray().tolist() == [[1, 0, 0], [0, -2, 0]]
    assert store_of(W).for_file("float16", 0.0) is W
    with pytest.raises(ValueError, match="leaves out weights of a sparse coef_"):
        store_of(W).for_file("float32", 0.5)
