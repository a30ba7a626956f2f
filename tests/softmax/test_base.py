"""Estimators with probabilities: probabilities, input, Pipeline."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sklearn_xc
from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, predict_topk
from sklearn_xc.metrics import make_topk_scorer

pytestmark = pytest.mark.kernel

FAST = [
    AugmentReduceClassifier(max_iter=20, random_state=0),
    AugmentReduceClassifier(bound="exact", max_iter=20, random_state=0),
    AugmentReduceClassifier(model="probit", max_iter=20, random_state=0),
    ImplicitSoftmaxRegressor(learning_rate=1.0, max_iter=5, random_state=0),
    ImplicitSoftmaxRegressor(solver="exact", learning_rate=0.1, max_iter=5, random_state=0),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize("model", FAST)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_probabilities_of_all_kinds_agree(model, n_classes, digits):
    X, y = digits[0][digits[1] < n_classes], digits[1][digits[1] < n_classes]
    model = clone(model).fit(X, y)
    assert model.score(X, y) > 0.8
    p = model.predict_proba(X)
    assert p.dtype == np.float64
    assert p.shape == (len(X), n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-10)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    labels, scores = model.predict_topk(X, 2, scores="proba")
    np.testing.assert_allclose(scores, np.sort(p, axis=1)[:, ::-1][:, :2], rtol=1e-5)
    np.testing.assert_array_equal(labels[:, 0], model.predict(X))
    by_decision = model.predict_topk(X, 2)[0]
    assert (by_decision[:, 0] == labels[:, 0]).all()
    expected = np.log(p)[np.arange(len(y)), y].mean()
    assert model.log_likelihood(X, y) == pytest.approx(expected, abs=1e-10)
    assert model.log_likelihood(X, np.full(len(y), 77)) == -np.inf


@pytest.mark.parametrize("model", FAST)
def test_coef_gives_the_decision_function(model, digits):
    X, y = digits
    model = clone(model).fit(X, y)
    assert model.coef_.shape == (10, 64)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-3
    )
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1


@pytest.mark.parametrize("model", FAST)
def test_sparse_and_dense_rows_give_one_model(model, digits):
    X, y = digits
    dense = clone(model).fit(X, y)
    thin = clone(model).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("model", FAST)
def test_threads_change_nothing(model, digits):
    X, y = digits
    one, two = (clone(model).set_params(n_jobs=n).fit(X[:400], y[:400]) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("model", FAST)
def test_partial_fit(model, digits):
    X, y = digits
    model = clone(model)
    with pytest.raises(ValueError, match="classes must be given at the first call"):
        model.partial_fit(X[:100], y[:100])
    assert not hasattr(model, "classes_")
    model.partial_fit(X[:100], y[:100], classes=np.arange(10))
    for _ in range(8):
        for part in np.array_split(np.arange(len(X)), 4):
            model.partial_fit(X[part], y[part])
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="classes leaves out 2, which an earlier call named"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="11, which is not in classes"):
        model.partial_fit(X[:2], [3, 11], classes=np.arange(10))
    with pytest.raises(ValueError, match="64 features"):
        model.partial_fit(X[:, :3], y)


@pytest.mark.parametrize("model", FAST)
def test_pipeline_and_search(model, digits):
    X, y = digits[0][:600], digits[1][:600].astype(str)
    search = GridSearchCV(
        make_pipeline(MaxAbsScaler(), clone(model)),
        {f"{type(model).__name__.lower()}__alpha": [0.0, 1e4]},
        scoring=make_topk_scorer("ndcg_at_k", k=3),
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {f"{type(model).__name__.lower()}__alpha": 0.0}
    labels, _ = predict_topk(search, X, 3)
    assert (labels == y[:, None]).any(axis=1).mean() > 0.8


@pytest.mark.parametrize("model", FAST)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_multilabel_y_is_refused_with_a_way_out(model, container):
    Y = container(np.eye(4, dtype=int))
    with pytest.raises(ValueError, match=r"one class a sample.*first_label.*PPDSparseClassifier"):
        clone(model).fit(np.eye(4), Y)
    with pytest.raises(ValueError, match="first_label"):
        clone(model).partial_fit(np.eye(4), Y, classes=[0, 1])


@pytest.mark.parametrize("model", FAST)
def test_bad_input_has_one_clear_error(model, digits):
    X, y = digits[0][:50], digits[1][:50]
    fitted = clone(model).fit(X, y)
    before = fitted.coef_.copy()
    broken = X.copy()
    broken[3, 2] = np.nan
    for bad, message in (
        ((broken, y), "NaN"),
        ((X[:, :0], y), "0 feature"),
        ((X, y[:7]), "inconsistent numbers of samples"),
        ((X, np.zeros(50)), "1 class"),
        ((X, y, np.full(50, -1.0)), "sample_weight must not be negative"),
        ((X, y, np.ones(3)), "sample_weight must be a 1d array of length 50"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.fit(*bad)
        np.testing.assert_array_equal(fitted.coef_, before)
    with pytest.raises(ValueError, match="k must be an integer from 1"):
        fitted.predict_topk(X, 11)
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba', got 'p'"):
        fitted.predict_topk(X, 2, scores="p")
    with pytest.raises(ValueError, match="y must be a 1d array of length 50"):
        fitted.log_likelihood(X, y[:3])
    with pytest.raises(NotFittedError):
        clone(model).predict_proba(X)


@pytest.mark.parametrize("model", FAST)
def test_impossible_sizes_are_refused_by_number(model, monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "100000")
    X = sparse.csr_array((np.ones(10_000), np.arange(10_000) * 5, [0, 1, 2, 10_000]), (3, 50_000))
    with pytest.raises(MemoryError, match="3 classes and 50000 features"):
        clone(model).fit(X, [0, 1, 2])
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(3, 10_000_000))
    with pytest.raises(MemoryError, match="3 classes and 10000 features"):
        clone(model).fit(X, [0, 1, 2])


@pytest.mark.parametrize("model", FAST)
def test_unusual_arrays(model, digits, tmp_path):
    """float16, int64 indices, unsorted and duplicate entries, memory maps, empty rows."""
    X, y = digits[0][:200].copy(), digits[1][:200]
    X[7] = 0
    expected = clone(model).fit(sparse.csr_array(X), y)
    odd = sparse.csr_array(X)
    odd.indices, odd.indptr = odd.indices.astype(np.int64), odd.indptr.astype(np.int64)
    row, column = np.tile(np.nonzero(X), 2)
    halves = sparse.coo_array((np.tile(X[X != 0] / 2, 2), (row, column)), shape=X.shape)
    for other in (odd, halves, sparse.csc_array(X)):
        np.testing.assert_array_equal(clone(model).fit(other, y).coef_, expected.coef_)
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    dense = clone(model).fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(mapped, y).coef_, dense.coef_)
    half = clone(model).fit(X.astype(np.float16), y)
    np.testing.assert_array_equal(
        half.coef_, clone(model).fit(X.astype(np.float16).astype(float), y).coef_
    )
    assert sklearn_xc.predict_topk(dense, X.astype(np.float16), 2)[0].shape == (200, 2)


def test_unused_columns_of_a_hashing(monkeypatch):
    """Columns that no row has cost nothing: the model is that of a step that drops them."""
    texts, y = [f"w{i % 9} v{i % 5}" for i in range(90)], np.arange(90) % 9
    model = ImplicitSoftmaxRegressor(learning_rate=1.0, max_iter=5, random_state=0)
    hashing = HashingVectorizer(n_features=2**16)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000000")
    with_all = make_pipeline(hashing, model).fit(texts, y)
    without = make_pipeline(hashing, VarianceThreshold(), clone(model)).fit(texts, y)
    assert without[-1].n_features_in_ == 14
    assert without.score(texts, y) == 1
    new = [*texts[:20], "another word"]
    assert np.array_equal(with_all.predict_proba(new), without.predict_proba(new))
