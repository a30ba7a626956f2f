"""Bad input to PPDSparseClassifier: one clear error, and nothing half fitted.  And odd good input.

The messages are read, since they are all that a user gets.
"""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklearn_xc import PPDSparseClassifier, predict_topk

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(30, 6)) * (RNG.random((30, 6)) < 0.6)).astype(np.float32)
LABELS = np.array(["ant", "bee", "cow"])[np.arange(30) % 3]
INDICATOR = (RNG.random((30, 4)) < 0.4).astype(np.int64)
CONTAINERS = [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


def assert_refused(model, X, y, error, message, sample_weight=None):
    """fit raises and leaves all attributes as they were, unfitted or from an earlier fit."""
    earlier = PPDSparseClassifier().fit(np.eye(4), [0, 1, 2, 0]).set_params(**model.get_params())
    for estimator in model, earlier:
        before = vars(estimator).copy()
        with pytest.raises(error, match=message):
            estimator.fit(X, y, sample_weight)
        assert vars(estimator).keys() == before.keys()
        assert all(vars(estimator)[name] is before[name] for name in before)


# ------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("l1", -0.1, r"a float in the range \[0.0, 1000000000000.0\]"),
        ("l1", np.inf, "a float in the range"),
        ("l1", np.nan, "a float in the range"),
        ("l2", 0, r"a float in the range \[1e-12, 1000000000000.0\]"),
        ("l2", -1.0, "a float in the range"),
        ("l2", 1e-50, "a float in the range"),
        ("l2", None, "a float in the range"),
        ("loss", "logistic", "a str among"),
        ("fit_intercept", "yes", "an instance of 'bool'"),
        ("max_iter", 0, r"an int in the range \[1, inf\)"),
        ("max_iter", 2.5, r"an int in the range \[1, inf\)"),
        ("tol", 0, r"a float in the range \(0.0, inf\)"),
        ("tol", -1e-3, r"a float in the range \(0.0, inf\)"),
        ("n_select", 0, r"a str among {'auto'} or an int in the range \[1, inf\)"),
        ("n_select", "many", "a str among"),
        ("sparsification", "exact", "a str among {'random'} or None"),
        ("delta", 0, r"a float in the range \(0.0, inf\)"),
        ("feature_threshold", -1, r"a float in the range \[0.0, inf\)"),
        ("pruning", -0.01, r"a float in the range \[0.0, inf\)"),
        ("class_weight", "heavy", "a str among {.*}, an instance of 'dict' or None"),
        ("n_jobs", 1.5, "an instance of 'int' or None"),
        ("random_state", "seed", "an instance of 'numpy.random.mtrand.RandomState'"),
        ("verbose", -1, r"an int in the range \[0, inf\)"),
        ("warm_start", 2, "an instance of 'bool'"),
    ],
)
def test_parameters_out_of_range(name, value, allowed):
    model = PPDSparseClassifier(**{name: value})
    assert_refused(
        model,
        X,
        LABELS,
        ValueError,
        f"(?s)The '{name}' parameter of PPDSparseClassifier must be .*({allowed}).*Got ",
    )


def test_no_jobs_at_all():
    assert_refused(PPDSparseClassifier(n_jobs=0), X, LABELS, ValueError, "n_jobs == 0")


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"dog": 1.0}, "class_weight names 'dog', which is not a class of y"),
        ({"ant": 0}, "class_weight must be above zero and up to 1e.12, got 0 for 'ant'"),
        ({"ant": -2.0}, "class_weight must be above zero and up to 1e.12, got -2.0 for 'ant'"),
        ({"ant": np.nan}, "class_weight must be above zero and up to 1e.12, got nan for 'ant'"),
        ({"ant": 1e300}, "class_weight must be above zero and up to 1e.12, got 1e.300 for 'ant'"),
        ({"ant": "much"}, "class_weight must be above zero and up to 1e.12, got 'much' for 'ant'"),
    ],
)
def test_class_weights_that_are_none(class_weight, message):
    model = PPDSparseClassifier(class_weight=class_weight)
    assert_refused(model, X, LABELS, ValueError, message)


def test_class_weight_of_a_column_that_is_not_there():
    model = PPDSparseClassifier(class_weight={7: 2.0})
    assert_refused(model, X, INDICATOR, ValueError, "class_weight names 7, which is not a class")


# --------------------------------------------------------------------------------------- X and y


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")]
)
def test_x_not_finite(container, value, message):
    bad = X.copy()
    bad[3, 2] = value
    assert_refused(PPDSparseClassifier(), container(bad), LABELS, ValueError, message)
    model = PPDSparseClassifier().fit(X, LABELS)
    for method in model.predict, model.predict_topk, model.decision_function:
        with pytest.raises(ValueError, match=message):
            method(container(bad))


@pytest.mark.parametrize("container", CONTAINERS)
def test_x_beyond_float32(container):
    bad = X.astype(np.float64)
    bad[3, 2] = 1e200
    message = r"X holds 1e\+200, beyond the range of float32 .* scale the features"
    assert_refused(PPDSparseClassifier(0.1, 1.0), container(bad), LABELS, ValueError, message)


@pytest.mark.parametrize("container", CONTAINERS)
def test_x_whose_squares_leave_float32(container):
    bad = X.copy()
    bad[3, 2] = 1e20
    message = r"X has a row of squared length 1e\+40; .* takes up to 1e\+24: scale the features"
    assert_refused(PPDSparseClassifier(0.1, 1.0), container(bad), LABELS, ValueError, message)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (X[0], "Expected 2D array, got 1D array instead"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (X[:, :0], r"Found array with 0 feature\(s\)"),
        (X.astype(complex), "Complex data not supported"),
        (np.full(X.shape, "word"), "X holds texts, such as 'word'"),
        (X[None], "Found array with dim 3"),
    ],
    ids=["1d", "no rows", "no features", "complex", "words", "3d"],
)
def test_x_of_the_wrong_form(bad, message):
    labels = LABELS[: len(bad)] if len(bad) != 6 else LABELS[:6]
    assert_refused(PPDSparseClassifier(), bad, labels, ValueError, message)


def test_x_and_y_of_different_length():
    message = r"Found input variables with inconsistent numbers of samples: \[30, 29\]"
    for y in LABELS[:29], INDICATOR[:29], sparse.csr_array(INDICATOR[:29]):
        assert_refused(PPDSparseClassifier(), X, y, ValueError, message)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(30) == 4, np.nan, np.arange(30) % 3), "Input y contains NaN"),
        (np.where(np.arange(30) == 4, np.inf, np.arange(30) % 3), "Input y contains infinity"),
        (np.append(LABELS[1:].astype(object), [None]), "Input y contains NaN or None"),
        (np.where(INDICATOR, np.nan, 0), "Input y contains NaN"),
        (np.linspace(0, 1, 30), "Unknown label type: continuous"),
        (np.full(30, "ant"), "y holds 1 class, 'ant'; a classifier needs at least two classes"),
        (np.empty((30, 0)), r"y has no columns .*: at least one class is required"),
        (sparse.csr_array((30, 0)), r"y has no columns .*: at least one class is required"),
        (INDICATOR * 2, "must be an indicator of 0 and 1, but holds 2"),
        (-sparse.csr_array(INDICATOR), "must be an indicator of 0 and 1, but holds -1"),
        (np.zeros((30, 3)), "no class of y has a positive sample with a weight above zero"),
        (sparse.csr_array((30, 3)), "no class of y has a positive sample"),
        (np.array(["ant", 1, 2] * 10, dtype=object), "cannot be sorted into classes"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_y_of_the_wrong_form(y, message):
    assert_refused(PPDSparseClassifier(), X, y, ValueError, message)


@pytest.mark.parametrize(
    "y",
    [
        [["ant"], ["ant", "bee"], []] * 10,
        [{"ant"}, {"bee"}, {"cow"}] * 10,
        [(0, 2), (1,), ()] * 10,
    ],
)
def test_lists_of_labels(y):
    message = r"ambiguous; .*MultiLabelBinarizer\(sparse_output=True\)"
    assert_refused(PPDSparseClassifier(), X, y, ValueError, message)


# --------------------------------------------------------------------------------- sample weights


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[np.ones(29), -1], "sample_weight must not be negative, got -1"),
        (np.r_[np.ones(29), np.nan], "sample_weight holds NaN, infinity"),
        (np.r_[np.ones(29), np.inf], "sample_weight holds NaN, infinity"),
        (np.zeros(30), "sample_weight is zero for every sample"),
        (np.ones(29), r"sample_weight must be a 1d array of length 30 like X, got .* \(29,\)"),
        (np.ones((30, 2)), r"sample_weight must be a 1d array of length 30 like X"),
        (["heavy"] * 30, "sample_weight must be numbers"),
        (LABELS == "bee", "sample_weight is above zero for 1 class only, 'bee'; .* two classes"),
    ],
    ids=["negative", "nan", "inf", "zero", "short", "2d", "words", "one class"],
)
def test_sample_weights(weight, message):
    model = PPDSparseClassifier()
    assert_refused(model, X, LABELS, ValueError, message, sample_weight=weight)


@pytest.mark.parametrize("kept", [0, 1])
def test_weights_that_leave_one_of_two_classes(kept):
    y = np.arange(30) % 2
    message = f"sample_weight is above zero for 1 class only, {kept}; .* two classes"
    assert_refused(PPDSparseClassifier(), X, y, ValueError, message, sample_weight=y == kept)


def test_weights_that_leave_no_label():
    y = sparse.csr_array(INDICATOR)
    message = "no class of y has a positive sample with a weight above zero"
    unlabelled = (INDICATOR.sum(axis=1) == 0).astype(float)
    assert unlabelled.any()
    assert_refused(PPDSparseClassifier(), X, y, ValueError, message, sample_weight=unlabelled)


# -------------------------------------------------------------------------- warm starts and sizes


@pytest.mark.parametrize(
    ("x", "y", "samples", "columns"),
    [(X[:20], INDICATOR[:20], 20, 4), (X, INDICATOR[:, :3], 30, 3), (X, LABELS, 30, 3)],
    ids=["samples", "labels", "kind"],
)
def test_warm_start_from_another_problem(x, y, samples, columns):
    model = PPDSparseClassifier(warm_start=True).fit(X, INDICATOR)
    before = vars(model).copy()
    message = (
        f"warm_start: the earlier fit had 30 samples and 4 columns of labels, X and y have "
        f"{samples} and {columns}; give the same data, perhaps with more samples"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(x, y)
    assert vars(model) == before


def test_more_features_than_memory():
    many = 2**31 - 5
    huge = sparse.csr_array((np.ones(3), [0, 5, many - 1], [0, 1, 2, 3]), shape=(3, many))
    message = rf"fit: weights of 16 classes of {many} features for each of 1 jobs would take 412,"
    assert_refused(PPDSparseClassifier(), huge, [0, 1, 2], MemoryError, message)


def test_memory_limit_of_the_environment(monkeypatch):
    wide = sparse.csr_array((30, 200_000), dtype=np.float32)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000000")
    with pytest.raises(MemoryError, match=r"more than the limit of 1,000,000 bytes .*; use fewer"):
        PPDSparseClassifier().fit(wide, LABELS)


# ---------------------------------------------------------------------------------- prediction


METHODS = ["predict", "predict_topk", "decision_function"]


@pytest.mark.parametrize("method", METHODS)
def test_prediction_before_fit(method):
    with pytest.raises(NotFittedError, match="This PPDSparseClassifier instance is not fitted yet"):
        getattr(PPDSparseClassifier(), method)(X)
    with pytest.raises(NotFittedError, match="not fitted"):
        predict_topk(PPDSparseClassifier(), X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_prediction_with_other_features(method, container):
    model = PPDSparseClassifier().fit(X, LABELS)
    message = "X has 5 features, but PPDSparseClassifier is expecting 6 features as input"
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(container(X[:, :5]))


@pytest.mark.parametrize("k", [4, 0, -1, 1.5, "two", True])
def test_k_that_is_none(k):
    model = PPDSparseClassifier().fit(X, LABELS)
    message = f"k must be an integer from 1 to the number of classes, 3; got k={k!r}"
    with pytest.raises(ValueError, match=message):
        model.predict_topk(X, k)


# ------------------------------------------------------------- odd input that has to work as well


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
    np.testing.assert_allclose(
        fitted(csr, tol=1e-5).decision_function(X),
        fitted(sparse.csr_array(X), tol=1e-5).decision_function(X),
        atol=0.02,
    )
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
