"""Encoding of y: every kind of labels, the way back, and the messages for bad ones."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.base._labels import check_labels, encode
from sklearn_xc.inspection import label_report
from sklearn_xc.metrics import micro_f1
from sklearn_xc.utils._given_labels import label_names

INDICATOR = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0]])


def assert_pattern(Y):
    assert Y.format == "csr"
    assert Y.dtype == np.uint8
    assert Y.indices.dtype == np.int32
    assert (Y.data == 1).all()
    for i in range(Y.shape[0]):
        assert (np.diff(Y.indices[Y.indptr[i] : Y.indptr[i + 1]]) > 0).all()


@pytest.mark.parametrize(
    "y",
    [
        np.array([5, -1, 7, 5]),
        np.array([5, 0, 7, 5], dtype=np.uint8),
        np.array([1.0, 3.0, 2.0, 2.0]),
        np.array(["b", "a", "b", "ccc"]),
        np.array([b"b", b"a", b"b", b"ccc"]),
        np.array(["b", "a", "b", "ccc"], dtype=object),
        np.array([3, 2**70, 3, 5], dtype=object),
    ],
    ids=lambda y: str(y.dtype),
)
def test_multiclass(y):
    encoding, Y = encode(y)
    classes, codes = np.unique(y, return_inverse=True)
    assert encoding.kind == "multiclass"
    assert encoding.classes_.dtype == y.dtype
    np.testing.assert_array_equal(encoding.classes_, classes)
    assert encoding.n_classes == encoding.n_columns == len(classes)
    assert_pattern(Y)
    np.testing.assert_array_equal(Y.toarray(), np.eye(len(classes))[codes])


@pytest.mark.parametrize(
    "y", [np.array([2, 9, 9, 2]), np.array(["n", "y", "y", "n"]), np.array([False, True, True, 0])]
)
def test_two_classes_give_one_column_of_the_greater(y):
    encoding, Y = encode(y)
    assert (encoding.kind, encoding.n_classes, encoding.n_columns) == ("binary", 2, 1)
    np.testing.assert_array_equal(encoding.classes_, np.unique(y))
    assert_pattern(Y)
    np.testing.assert_array_equal(Y.toarray().ravel(), y == encoding.classes_[1])


def test_column_vector_is_taken_as_labels_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        encoding, Y = encode(np.array([[1], [2], [3]]))
    assert encoding.kind == "multiclass"
    assert Y.shape == (3, 3)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("container", ["ndarray", "csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("flavour", ["array", "matrix"])
def test_indicator_and_the_way_back(dtype, container, flavour):
    y = INDICATOR.astype(dtype)
    if container != "ndarray":
        y = getattr(sparse, f"{container}_{flavour}")(y)
    encoding, Y = encode(y)
    assert (encoding.kind, encoding.n_classes, encoding.n_columns) == ("multilabel", 3, 3)
    np.testing.assert_array_equal(encoding.classes_, [0, 1, 2])
    assert_pattern(Y)
    np.testing.assert_array_equal(Y.toarray(), INDICATOR)
    back = encoding.indicator(Y)
    assert back.dtype == dtype
    if container == "ndarray":
        assert type(back) is np.ndarray
        np.testing.assert_array_equal(back, y)
    else:
        assert back.format == "csr"
        assert isinstance(back, sparse.sparray) == (flavour == "array")
        np.testing.assert_array_equal(back.toarray(), INDICATOR)


def test_explicit_zeros_unsorted_and_int64_indices():
    indices = np.array([2, 0, 1, 0], dtype=np.int64)
    y = sparse.csr_array((np.array([1, 1, 0, 1]), indices, np.array([0, 3, 3, 4])), shape=(3, 3))
    y.indices = indices
    encoding, Y = encode(y)
    assert encoding.kind == "multilabel"
    assert_pattern(Y)
    np.testing.assert_array_equal(Y.toarray(), [[1, 0, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(y.indices, [2, 0, 1, 0])


def test_entries_in_parts_add_up():
    """Wherever a CSR comes in, and as a conversion from COO has it."""
    parts = np.array([0, 0, 2]), np.array([0, 2, 3])
    halves = sparse.csr_array((np.array([0.5, 0.5, 1]), *parts), shape=(2, 3))
    _, Y = encode(halves)
    np.testing.assert_array_equal(Y.toarray(), [[1, 0, 0], [0, 0, 1]])
    assert halves.nnz == 3  # the caller's matrix is left alone
    with pytest.raises(ValueError, match="given twice add up"):
        encode(sparse.csr_array((np.ones(3), *parts), shape=(2, 3)))


def test_sparse_with_one_column_is_one_label():
    encoding, Y = encode(sparse.csr_array([[1], [0], [1]]))
    assert (encoding.kind, encoding.n_classes, encoding.n_columns) == ("multilabel", 1, 1)
    np.testing.assert_array_equal(Y.toarray(), [[1], [0], [1]])


def test_data_frame_keeps_its_column_names():
    frame = pd.DataFrame(INDICATOR, columns=["rain", "snow", "fog"])
    encoding, Y = encode(frame.to_numpy(), label_names(frame))
    assert encoding.classes_.tolist() == ["rain", "snow", "fog"]
    np.testing.assert_array_equal(Y.toarray(), INDICATOR)
    assert label_names(INDICATOR) is None


def test_object_indicator_is_given_back_as_integers():
    y = pd.DataFrame({"a": [0, 1], "b": [True, False]}).to_numpy()
    assert y.dtype == object
    encoding, Y = encode(y)
    assert encoding.dtype == np.int64
    np.testing.assert_array_equal(Y.toarray(), [[0, 1], [1, 0]])


@given(
    st.lists(st.sampled_from([0, 1, 2, 3, 17]), min_size=2, max_size=30),
    st.sampled_from([np.int64, np.float64, "<U2", object]),
)
def test_every_label_comes_back(labels, dtype):
    y = np.array(labels).astype(dtype)
    if len(np.unique(y)) < 2:
        with pytest.raises(ValueError, match="y holds 1 class"):
            encode(y)
        return
    encoding, Y = encode(y)
    assert_pattern(Y)
    if encoding.kind == "binary":
        codes = Y.toarray().ravel()
    else:
        np.testing.assert_array_equal(Y.sum(axis=1), 1)
        codes = Y.indices
    np.testing.assert_array_equal(encoding.classes_[codes], y)
    assert (encoding.classes_[1:] > encoding.classes_[:-1]).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([0.5, 1.0, 2.0]), r"Unknown label type: continuous. y holds 0.5"),
        (np.array([3, 3, 3]), r"y holds 1 class, 3;"),
        (np.array(["a", 1, "b"], dtype=object), "labels in y cannot be sorted into classes"),
        (np.array([[0, 2], [1, 0]]), r"y of shape \(2, 2\) must be .* 0 and 1, but holds 2"),
        (sparse.csr_array([[0.5, 1], [1, 0]]), r"must be .* 0 and 1, but holds 0.5"),
        (np.array([["a", "b"], ["c", "d"]]), r"but holds a; .*MultiLabelBinarizer"),
    ],
)
def test_bad_values(y, message):
    with pytest.raises(ValueError, match=message):
        encode(y)


def test_corrupt_sparse_indicator():
    y = sparse.csr_array(INDICATOR)
    y.indices[0] = 3
    with pytest.raises(ValueError, match="y is not a valid sparse matrix"):
        encode(y)


def test_too_many_columns():
    with pytest.raises(ValueError, match="y has 2147483648 columns; at most 2147483647"):
        encode(sparse.csr_array((2, 2**31), dtype=np.uint8))


@pytest.mark.parametrize(
    "y",
    [
        [[1], [2, 3], []],
        [(1, 2), (3, 4)],
        [{1}, {0}],
        [{0, 1}, {0, 1}],
        [["a", "b"], ["a", "c"]],
        [[1], [0]],
        [[0, 1], 1],
        np.array([[1], [2, 3], []], dtype=object),
        pd.Series([[1], [2, 3], []]),
    ],
)
def test_lists_of_labels_name_the_way_out(y):
    with pytest.raises(ValueError, match=r"MultiLabelBinarizer\(sparse_output=True\)"):
        check_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "b"],
        [1.0, np.nan, 2.0],
        np.array(["a", np.nan], dtype=object),
        pd.Series(["a", pd.NA], dtype="string"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
    ],
)
def test_missing_labels(y):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        check_labels(y)


@pytest.mark.parametrize("y", [np.zeros((3, 0)), sparse.csr_array((3, 0)), pd.DataFrame(index=[0])])
def test_no_columns(y):
    with pytest.raises(ValueError, match=r"y has no columns \(shape \(., 0\)\)"):
        check_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        ("a", "b"),
        [[0, 1], [1, 1]],
        [np.array([True, False]), np.array([True, True])],
        INDICATOR,
        sparse.csr_array(INDICATOR),
        pd.Series(["a", "b"], dtype="category"),
        pd.DataFrame(INDICATOR),
    ],
)
def test_good_labels_pass_the_first_check(y):
    assert check_labels(y) is None


def test_one_dimensional_sparse():
    with pytest.raises(ValueError, match="a sparse y must be an indicator matrix"):
        check_labels(sparse.coo_array(np.array([0, 1, 1])))


def test_half_a_million_rows_and_25000_labels_take_no_time():
    n, K, rng = 500_000, 25_000, np.random.default_rng(0)
    # three labels a row, of a third of all each, so that none is there twice
    labels = 3 * rng.integers(0, K // 3, (n, 3)) + np.arange(3)
    y = sparse.csr_array((np.ones(3 * n), labels.ravel(), np.arange(n + 1) * 3), shape=(n, K))
    start = time.process_time()
    encode(y)
    encode(y.indices[::3])
    assert time.process_time() - start < 3  # 0.1 s on an idle machine; dense it could not be held


def test_an_indicator_of_bytes_counts_beyond_255():
    """Whatever the dtype of y, counts of labels are not made in it."""
    rng = np.random.default_rng(0)
    Y = (rng.random((900, 4)) < [0.5, 0.4, 0.9, 0.01]).astype(np.int64)
    X = Y @ rng.normal(size=(4, 10)) + rng.normal(size=(900, 10))
    reports = []
    for dtype in (np.int64, np.uint8, np.int8, bool):
        indicator = sparse.csr_array(Y.astype(dtype))
        model = PPDSparseClassifier(random_state=0, class_weight="balanced", tol=0.3)
        model.fit(X, indicator)
        found = model.predict(X)
        assert found.dtype == dtype
        report = label_report(model, X, indicator)
        assert report.support.tolist() == report.n_true.tolist() == Y.sum(axis=0).tolist()
        reports.append(
            (model.coef_.toarray(), report.n_predicted, report.n_hits, micro_f1(indicator, found))
        )
    for other in reports[1:]:
        for a, b in zip(reports[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_texts_that_end_with_nul():
    """NumPy drops it in arrays of texts, and two labels would be one."""
    labels = ["a", "a\0", "b"] * 2
    for y in (labels, tuple(labels)):
        with pytest.raises(ValueError, match=r"y holds 'a\\x00', whose last character is NUL"):
            PPDSparseClassifier().fit(np.eye(6), y)
    model = PPDSparseClassifier().fit(np.eye(6), np.array(labels, dtype=object))
    assert model.classes_.tolist() == ["a", "a\0", "b"]
