"""Bad input to PPDSparseClassifier: one clear error, and nothing half fitted.  And odd good input.

The messages are read, since they are all that a user gets.
"""

import numpy as np
import pytest
from _small_input import CONTAINERS, INDICATOR, LABELS, X
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sklearn_xc import PPDSparseClassifier, predict_topk

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]


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


def test_a_penalty_of_none_is_told_what_there_is():
    message = "l2 must be a number, 'auto', 'rows', or a multiple of these"
    assert_refused(PPDSparseClassifier(l2=None), X, LABELS, ValueError, message)


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
    message = r"X has a sample of squared length 1e\+40; .* takes up to 1e\+24: scale the features"
    assert_refused(PPDSparseClassifier(0.1, 1.0), container(bad), LABELS, ValueError, message)


@pytest.mark.parametrize("container", CONTAINERS)
def test_x_whose_samples_are_too_unlike_in_length(container):
    """Samples are scaled first, and no length of a scaled one is a length in X."""
    small = np.float32(1e-15) * X
    small[3] = 1
    message = r"length \S+ times that of a usual one; .* up to 1e\+24 times: scale the features"
    assert_refused(PPDSparseClassifier(), container(small), LABELS, ValueError, message)


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
