"""Odd input that has to work as well: dtypes, layouts, memmaps, extreme values."""

import joblib
import numpy as np
import pandas as pd
import pytest
from _small_input import CONTAINERS, INDICATOR, LABELS, X
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import PPDSparseClassifier

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]


def fitted(X, y=LABELS, **options):
    return PPDSparseClassifier(random_state=0, **options).fit(X, y)


def assert_same(some, other):
    np.testing.assert_array_equal(some.coef_.toarray(), other.coef_.toarray())
    np.testing.assert_array_equal(some.intercept_, other.intercept_)


@pytest.mark.parametrize(
    ("dtype", "container"),
    [
        (dtype, container)
        for dtype in (np.float16, np.float32, np.float64, np.int8, np.int64, bool)
        for container in (np.asarray, sparse.csr_array, sparse.csc_array)
        if dtype != np.float16 or container is np.asarray  # SciPy has no sparse float16
    ],
)
def test_dtypes_of_x(dtype, container):
    whole = np.round(X * 2).astype(dtype)
    model = fitted(container(whole))
    assert_same(model, fitted(container(whole.astype(np.float32))))
    assert model.predict(container(whole)).shape == (30,)


@pytest.mark.parametrize("order", ["F", "strided", "reversed", "list", "frame"])
def test_layouts_of_x(order):
    given = {
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "reversed": X[::-1].copy()[::-1],
        "list": X.tolist(),
        "frame": pd.DataFrame(X, columns=list("abcdef")),
    }[order]
    assert_same(fitted(given), fitted(X))


@pytest.mark.parametrize("container", CONTAINERS[1:])
def test_sparse_forms_of_x(container):
    assert_same(fitted(container(X)), fitted(sparse.csr_array(X)))


def test_int64_indices():
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    assert csr.indices.dtype == np.int64
    model = fitted(csr)
    assert_same(model, fitted(sparse.csr_array(X)))
    assert csr.indices.dtype == np.int64  # the caller's matrix is left alone
    y = sparse.csr_array(INDICATOR)
    y.indices, y.indptr = y.indices.astype(np.int64), y.indptr.astype(np.int64)
    assert_same(fitted(csr, y), fitted(csr, sparse.csr_array(INDICATOR)))


def test_unsorted_entries_and_duplicates_are_summed():
    plain = sparse.coo_array(X)
    order = np.random.default_rng(1).permutation(2 * plain.nnz)
    data = np.tile(plain.data / 2, 2)[order]
    rows, columns = np.tile(plain.row, 2)[order], np.tile(plain.col, 2)[order]
    by_row = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[by_row], np.arange(31))
    messy = sparse.csr_array((data[by_row], columns[by_row], indptr), shape=X.shape)
    copies = [part.copy() for part in (messy.data, messy.indices, messy.indptr)]
    assert_same(fitted(messy), fitted(sparse.csr_array(X)))
    np.testing.assert_array_equal(
        fitted(messy).decision_function(messy), fitted(messy).decision_function(plain)
    )
    for part, copy in zip((messy.data, messy.indices, messy.indptr), copies, strict=True):
        np.testing.assert_array_equal(part, copy)


def test_explicit_zeros_do_not_count():
    csr = sparse.csr_array(np.ones_like(X))
    csr.data[:] = X.ravel()
    assert csr.nnz == X.size
    assert_same(fitted(csr), fitted(sparse.csr_array(X)))
    y = sparse.csr_array(np.ones_like(INDICATOR))
    y.data[:] = INDICATOR.ravel()
    assert_same(fitted(X, y), fitted(X, sparse.csr_array(INDICATOR)))


def as_memmap(array, path):
    np.save(path, array)
    mapped = np.load(path, mmap_mode="r")
    assert not mapped.flags.writeable
    return mapped


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_read_only_memmaps(tmp_path, kind, backend):
    dense = np.tile(X, (4, 1))
    y = sparse.csr_array(np.tile(INDICATOR, (4, 12)))  # enough classes for several blocks
    given = dense if kind == "dense" else sparse.csr_array(dense)
    expected = fitted(given, y)
    if kind == "dense":
        given = as_memmap(given, tmp_path / "X.npy")
    else:
        parts = "data", "indices", "indptr"
        mapped = (as_memmap(getattr(given, part), tmp_path / f"{part}.npy") for part in parts)
        given = sparse.csr_array(tuple(mapped), shape=dense.shape)
    with joblib.parallel_config(backend=backend):
        model = fitted(given, y, n_jobs=2)
    assert_same(model, expected)
    np.testing.assert_array_equal(model.decision_function(given), expected.decision_function(dense))


def test_read_only_arrays_are_left_alone():
    arrays = X.copy(), LABELS.copy(), np.ones(30)
    for array in arrays:
        array.flags.writeable = False
    PPDSparseClassifier().fit(*arrays)
    np.testing.assert_array_equal(arrays[0], X)


def test_one_row_of_each_class_one_feature():
    model = PPDSparseClassifier().fit([[0.0], [1.0]], ["off", "on"])
    assert model.predict([[1.0]]) == ["on"]
    model = PPDSparseClassifier().fit(sparse.eye_array(3), [0, 1, 2])
    np.testing.assert_array_equal(model.predict(sparse.eye_array(3)), [0, 1, 2])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_no_information_at_all(container):
    model = PPDSparseClassifier().fit(container(np.zeros((30, 6))), LABELS)
    assert model.coef_.nnz == 0
    assert np.isfinite(model.decision_function(X)).all()


def test_features_of_very_different_scale_warn_but_stay_finite():
    wild = X * np.array([1e-8, 1e-3, 1, 1e3, 1e6, 1e9], dtype=np.float32)
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        given = PPDSparseClassifier(0.1, 1.0, random_state=0).fit(wild, LABELS)
    for model in given, fitted(wild):  # penalties that follow the columns need no warning
        assert np.isfinite(model.coef_.data).all()
        assert np.isfinite(model.decision_function(wild)).all()
        assert np.isfinite(model.dual_gap_).all()
