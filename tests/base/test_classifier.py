"""The shared estimator base, through a small least-squares classifier."""

import joblib
import numpy as np
import pandas as pd
import pytest
from _least_squares import MULTICLASS, RNG, LeastSquares, X
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import get_tags

import sklearn_xc

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")
BINARY = np.array(["no", "yes"])[np.arange(40) % 2]
MULTILABEL = (RNG.random((40, 8)) < 0.3).astype(np.int64)


def plain_scores(model, X):
    return np.asarray(X, dtype=float) @ model.coef_.toarray().T + model.intercept_


# -------------------------------------------------------------------------------- prediction


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_multiclass(n_jobs):
    model = LeastSquares(n_jobs=n_jobs).fit(X, MULTICLASS)
    scores = plain_scores(model, X)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-5)
    assert model.decision_function(X).dtype == np.float32
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    labels, top = model.predict_topk(X, 3)
    best = np.argsort(-scores, axis=1)[:, :3]
    np.testing.assert_array_equal(labels, model.classes_[best])
    np.testing.assert_allclose(top, np.take_along_axis(scores, best, axis=1), atol=1e-5)
    assert model.score(X, MULTICLASS) == np.mean(model.predict(X) == MULTICLASS)


def test_binary():
    model = LeastSquares().fit(X, BINARY)
    f = plain_scores(model, X).ravel()
    assert model.coef_.shape == (1, 6)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0, "yes", "no"))
    labels, scores = model.predict_topk(X)
    np.testing.assert_array_equal(labels[:, 0], model.predict(X))
    np.testing.assert_array_equal(labels[:, 1] != labels[:, 0], True)
    np.testing.assert_allclose(scores, np.c_[np.abs(f), -np.abs(f)], atol=1e-5)
    assert model.predict_topk(X, 1)[0].shape == (40, 1)


def test_a_binary_tie_goes_to_the_first_class():
    model = LeastSquares().fit(X, BINARY)
    model.coef_ = sparse.csr_array((1, 6), dtype=np.float32)
    model.intercept_ = np.zeros(1, dtype=np.float32)
    assert set(model.predict(X)) == {"no"}
    assert set(model.predict_topk(X)[0][:, 0]) == {"no"}


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_multilabel_keeps_container_and_dtype(dtype, container):
    y = container(MULTILABEL.astype(dtype))
    model = LeastSquares().fit(X, y)
    predicted = model.predict(X)
    assert predicted.dtype == dtype
    assert sparse.issparse(predicted) == sparse.issparse(y)
    if sparse.issparse(y):
        assert predicted.format == "csr"
        assert isinstance(predicted, sparse.sparray) == isinstance(y, sparse.sparray)
        assert predicted.data.all()
        predicted = predicted.toarray()
    np.testing.assert_array_equal(predicted, plain_scores(model, X) > 0)
    labels, scores = model.predict_topk(X)
    assert labels.shape == scores.shape == (40, 5)
    np.testing.assert_array_equal(labels, np.argsort(-plain_scores(model, X), axis=1)[:, :5])


def test_an_indicator_in_parts_is_scored_as_fit_reads_it():
    Y = sparse.csr_array(MULTILABEL)
    parts = np.repeat(Y.indices, 2), 2 * Y.indptr
    model = LeastSquares().fit(X, Y)
    halves = sparse.csr_array((np.full(2 * Y.nnz, 0.5), *parts), shape=Y.shape)
    assert model.score(X, halves) == model.score(X, Y)
    with pytest.raises(ValueError, match="given twice add up"):
        model.score(X, sparse.csr_array((np.ones(2 * Y.nnz), *parts), shape=Y.shape))


def test_one_sparse_column_is_a_multilabel_problem():
    y = sparse.csr_array(MULTILABEL[:, :1])
    model = LeastSquares().fit(X, y)
    assert model.decision_function(X).shape == (40, 1)
    assert model.predict(X).shape == (40, 1)
    labels, _ = model.predict_topk(X)
    np.testing.assert_array_equal(labels, np.zeros((40, 1)))


def test_column_names_of_a_data_frame_are_the_labels():
    names = [f"label {j}" for j in range(8)]
    model = LeastSquares().fit(X, pd.DataFrame(MULTILABEL, columns=names))
    labels, _ = model.predict_topk(X, 2)
    best = np.argsort(-plain_scores(model, X), axis=1)[:, :2]
    np.testing.assert_array_equal(labels, np.array(names)[best])
    assert model.predict(X).dtype == np.int64


def test_column_vector_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning):
        model = LeastSquares().fit(X, MULTICLASS[:, None])
    np.testing.assert_array_equal(model.classes_, np.unique(MULTICLASS))


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.coo_matrix,
        np.asfortranarray,
        lambda X: X.astype(np.float64),
        lambda X: sparse.csr_matrix(X.astype(np.float64)),
        lambda X: X.tolist(),
        pd.DataFrame,
    ],
)
def test_any_form_of_X_gives_the_same(form):
    model = LeastSquares().fit(X, MULTICLASS)
    other = LeastSquares().fit(form(X), MULTICLASS)
    np.testing.assert_array_equal(other.coef_.toarray(), model.coef_.toarray())
    scores = other.decision_function(form(X))
    np.testing.assert_array_equal(scores, model.decision_function(X))


def test_int64_indices_unsorted_duplicates_and_memmaps(tmp_path):
    model = LeastSquares().fit(X, MULTICLASS)
    data, indices = np.hstack([X / 2, X / 2])[:, ::-1], np.tile(np.arange(6)[::-1], (40, 2))
    S = sparse.csr_array(
        (data.ravel(), indices.ravel().astype(np.int64), np.arange(41) * 12), shape=X.shape
    )
    assert S.indices.dtype == np.int64
    before = S.indices.copy()
    other = LeastSquares().fit(S, MULTICLASS)
    np.testing.assert_array_equal(other.coef_.toarray(), model.coef_.toarray())
    np.testing.assert_array_equal(S.indices, before)
    joblib.dump((X, sparse.csr_array(X)), tmp_path / "X")
    for mapped in joblib.load(tmp_path / "X", mmap_mode="r"):
        other = LeastSquares().fit(mapped, MULTICLASS)
        np.testing.assert_array_equal(other.coef_.toarray(), model.coef_.toarray())
        np.testing.assert_array_equal(other.predict(mapped), model.predict(X))


def test_empty_rows_get_the_intercepts():
    model = LeastSquares().fit(X, MULTICLASS)
    scores = model.decision_function(sparse.csr_array((3, 6)))
    np.testing.assert_array_equal(scores, np.tile(model.intercept_, (3, 1)))


@given(k=st.integers(1, 7), rows=st.lists(st.integers(0, 39), min_size=1, max_size=12))
def test_topk_agrees_with_decision_function(k, rows):
    model = LeastSquares().fit(X, MULTICLASS)
    full = model.decision_function(X[rows])
    best = np.argsort(-full, axis=1, kind="stable")[:, :k]
    labels, scores = model.predict_topk(X[rows], k)
    np.testing.assert_array_equal(labels, model.classes_[best])
    np.testing.assert_array_equal(scores, np.take_along_axis(full, best, axis=1))


@pytest.mark.parametrize("k", [0, -1, 8, 2.0, "3", True])
@pytest.mark.parametrize("sparse_y", [False, True])
def test_bad_k(k, sparse_y):
    y = sparse.csr_array(MULTILABEL[:, :7]) if sparse_y else MULTICLASS
    model = LeastSquares().fit(X, y)
    with pytest.raises(ValueError, match=rf"k must be .* 1 to .* classes, 7; got k={k!r}"):
        model.predict_topk(X, k)


def test_numpy_integers_are_good_k():
    assert LeastSquares().fit(X, MULTICLASS).predict_topk(X, np.int64(7))[0].shape == (40, 7)


@pytest.mark.parametrize("method", ["predict", "predict_topk", "decision_function"])
def test_before_fit(method):
    with pytest.raises(NotFittedError, match="LeastSquares instance is not fitted yet"):
        getattr(LeastSquares(), method)(X)
    with pytest.raises(NotFittedError, match="LeastSquares instance is not fitted yet"):
        sklearn_xc.predict_topk(make_pipeline(MaxAbsScaler().fit(X), LeastSquares()), X)


@pytest.mark.parametrize("method", ["predict", "predict_topk", "decision_function"])
def test_other_number_of_features(method):
    model = LeastSquares().fit(X, MULTICLASS)
    with pytest.raises(ValueError, match="X has 5 features, but LeastSquares is expecting 6"):
        getattr(model, method)(X[:, :5])


def test_memory_refusal(monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000")
    model = LeastSquares().fit(X, MULTICLASS)
    with pytest.raises(MemoryError) as caught:
        model.decision_function(X)
    message = str(caught.value)
    for part in ("decision_function", "(40, 7)", "1,120 bytes", "1,000 bytes", "predict_topk"):
        assert part in message
    assert "SKLEARN_XC_MEMORY_LIMIT" in message
    assert model.decision_function(X[:30]).shape == (30, 7)
    assert model.predict(X).shape == (40,)
    assert model.predict_topk(X)[0].shape == (40, 5)


def test_memory_refusal_of_dense_multilabel_only(monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryError, match=r"predict: .*\(40, 8\) would take 2,560 bytes"):
        LeastSquares().fit(X, MULTILABEL).predict(X)
    model = LeastSquares().fit(X, sparse.csr_array(MULTILABEL))
    assert model.predict(X).shape == (40, 8)


# --------------------------------------------------------------------------------------- fit


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, r"'alpha' parameter of LeastSquares must be a float in .* Got 0 instead"),
        ({"n_jobs": "all"}, r"'n_jobs' parameter of LeastSquares .* Got 'all' instead"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        LeastSquares(**parameters).fit(X, MULTICLASS)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (MULTICLASS[:39], r"inconsistent numbers of samples: \[40, 39\]"),
        (sparse.csr_array(MULTILABEL[:39]), r"inconsistent numbers of samples: \[40, 39\]"),
        (["a"] * 40, "y holds 1 class, 'a'"),
        (X[:, 0], "Unknown label type: continuous"),
        (X, "Unknown label type: y of shape"),
        (np.zeros((40, 0)), "y has no columns"),
        ([[1], [2, 3]] * 20, r"MultiLabelBinarizer\(sparse_output=True\)"),
        ([1, 2, np.nan, 3] * 10, "Input y contains NaN"),
        (np.where(MULTILABEL, np.nan, 0), "Input y contains NaN"),
    ],
)
def test_bad_y(y, message):
    model = LeastSquares()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model) == vars(LeastSquares())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "X contains NaN"), (np.inf, "X contains infinity"), (1e300, "X holds 1e\\+300")],
)
def test_bad_X(container, value, message):
    bad = X.astype(np.float64)
    bad[3, 2] = value
    model = LeastSquares()
    with pytest.raises(ValueError, match=message):
        model.fit(container(bad), MULTICLASS)
    assert vars(model) == vars(LeastSquares())
    model.fit(X, MULTICLASS)
    with pytest.raises(ValueError, match=message):
        model.predict_topk(container(bad))


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.ones(39), r"length 40 like X, got an array of shape \(39,\)"),
        (np.ones((40, 1)), r"length 40 like X, got an array of shape \(40, 1\)"),
        (2.0, r"length 40 like X, got an array of shape \(\)"),
        (["heavy"] * 40, "sample_weight must be numbers"),
        (np.r_[np.nan, np.ones(39)], "sample_weight holds NaN"),
        (np.r_[np.inf, np.ones(39)], "sample_weight holds NaN, infinity"),
        (np.r_[1e300, np.ones(39)], "a value beyond float32"),
        (np.r_[-0.5, np.ones(39)], "sample_weight must not be negative, got -0.5"),
        (np.zeros(40), "sample_weight is zero for every sample"),
    ],
)
def test_bad_sample_weight(sample_weight, message):
    with pytest.raises(ValueError, match=message):
        LeastSquares().fit(X, MULTICLASS, sample_weight)


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series])
def test_sample_weight_counts_repetitions(form):
    weight = np.arange(40) % 3
    weighted = LeastSquares().fit(X, MULTILABEL, sample_weight=form(weight))
    rows = np.repeat(np.arange(40), weight)
    repeated = LeastSquares().fit(X[rows], MULTILABEL[rows])
    np.testing.assert_allclose(weighted.coef_.toarray(), repeated.coef_.toarray(), atol=1e-5)


def test_a_failed_or_interrupted_fit_leaves_everything_as_it_was():
    model = LeastSquares(interrupt=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, MULTICLASS)
    assert vars(model) == vars(LeastSquares(interrupt=True))
    model.set_params(interrupt=False).fit(X, MULTICLASS)
    before, predicted = vars(model).copy(), model.predict(X)
    with pytest.raises(ValueError, match="y holds 1 class"):
        model.fit(X[:, :3], np.zeros(40))
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), predicted)


def test_what_is_recorded_of_X():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = LeastSquares().fit(frame, MULTICLASS)
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("fedcba")])
    model.fit(X, MULTICLASS)
    assert not hasattr(model, "feature_names_in_")


def test_tags_and_html():
    tags = get_tags(LeastSquares())
    assert tags.input_tags.sparse
    assert tags.classifier_tags.multi_class
    assert tags.classifier_tags.multi_label
    assert "LeastSquares" in LeastSquares()._repr_html_()


# ------------------------------------------------------------------- the function predict_topk


def pipeline():
    return Pipeline([("scale", MaxAbsScaler()), ("no", "passthrough"), ("model", LeastSquares())])


@pytest.mark.parametrize(
    "wrapped",
    [
        LeastSquares(),
        make_pipeline(LeastSquares()),
        pipeline(),
        make_pipeline(MaxAbsScaler(), pipeline()),
        GridSearchCV(LeastSquares(), {"alpha": [0.1, 1.0]}, cv=KFold(2)),
        GridSearchCV(pipeline(), {"model__alpha": [0.1, 1.0]}, cv=KFold(2)),
        make_pipeline(
            MaxAbsScaler(),
            RandomizedSearchCV(LeastSquares(), {"alpha": [0.1, 1.0]}, n_iter=2, cv=KFold(2)),
        ),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("freeze", [False, True])
def test_predict_topk_looks_inside(wrapped, freeze):
    S = sparse.csr_matrix(X)
    fitted = clone(wrapped).fit(S, MULTICLASS)
    if freeze:
        fitted = FrozenEstimator(fitted)
    labels, scores = sklearn_xc.predict_topk(fitted, S, 3)
    assert labels.shape == scores.shape == (40, 3)
    np.testing.assert_array_equal(labels[:, 0], fitted.predict(S))
    assert (np.diff(scores, axis=1) <= 0).all()
    assert sklearn_xc.predict_topk(fitted, S)[0].shape == (40, 5)


def test_predict_topk_with_sparse_y_and_a_search():
    search = GridSearchCV(pipeline(), {"model__alpha": [0.1, 1.0]}, cv=KFold(2), scoring="accuracy")
    search.fit(X, sparse.csr_matrix(MULTILABEL))
    labels, _ = sklearn_xc.predict_topk(search, X)
    assert labels.shape == (40, 5)


def test_predict_topk_as_a_sparse_matrix():
    for y in (MULTICLASS, MULTILABEL, MULTICLASS == "ant"):
        model = LeastSquares().fit(X, y)
        k = min(3, len(model.classes_))
        labels, scores = model.predict_topk(X, k)
        matrix = model.predict_topk(X, k, sparse_output=True)
        assert matrix.shape == (40, len(model.classes_))
        assert matrix.dtype == np.float32
        assert matrix.indices.dtype == np.int32
        assert matrix.has_canonical_format
        np.testing.assert_array_equal(np.diff(matrix.indptr), k)
        columns = np.searchsorted(model.classes_, labels)
        np.testing.assert_array_equal(np.take_along_axis(matrix.toarray(), columns, 1), scores)
        through = sklearn_xc.predict_topk(FrozenEstimator(model), X, k, sparse_output=True)
        assert (through != matrix).nnz == 0


def test_predict_topk_without_probabilities():
    model = LeastSquares().fit(X, MULTICLASS)
    with pytest.raises(ValueError, match="scores='proba': LeastSquares has no probabilities"):
        sklearn_xc.predict_topk(model, X, scores="proba")
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba', got 'logits'"):
        model.predict_topk(X, scores="logits")


def test_predict_topk_refusals():
    with pytest.raises(
        TypeError, match=r"LogisticRegression has no method predict_topk; .*argsort"
    ):
        sklearn_xc.predict_topk(LogisticRegression(), X)
    with pytest.raises(ValueError, match=r"is a dict: .* give \[names\[label\] for label"):
        sklearn_xc.predict_topk(LeastSquares().fit(X, MULTICLASS), X, names={0: "a"})
    with pytest.raises(TypeError, match=r"LogisticRegression \(inside Pipeline\) has no method"):
        sklearn_xc.predict_topk(make_pipeline(LogisticRegression()), X)
    with pytest.raises(TypeError, match=r"'passthrough' \(inside Pipeline\) has no method"):
        sklearn_xc.predict_topk(make_pipeline(MaxAbsScaler().fit(X), "passthrough"), X)
    search = GridSearchCV(LeastSquares(), {"alpha": [1.0]}, cv=KFold(2), refit=False)
    with pytest.raises(NotFittedError):
        sklearn_xc.predict_topk(search, X)
    with pytest.raises(TypeError, match="best estimator of GridSearchCV, which refit=False"):
        sklearn_xc.predict_topk(search.fit(X, MULTICLASS), X)
