"""prune, sparsify, densify, nbytes_ of all estimators."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    MemoirSVC,
    PPDSparseClassifier,
)

MODELS = [
    PPDSparseClassifier(random_state=0),
    AugmentReduceClassifier(max_iter=3, random_state=0),
    ImplicitSoftmaxRegressor(learning_rate=1.0, max_iter=3, random_state=0),
    MemoirSVC(max_iter=2, random_state=0),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16, y[:400]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def unfitted(request):
    return clone(request.param)


@pytest.fixture(params=[2, 10])
def fitted(request, unfitted, digits):
    X, y = digits
    few = y < request.param
    return unfitted.fit(X[few], y[few])


def predictions(model, X):
    labels, scores = model.predict_topk(X, 2)
    return [model.predict(X), model.decision_function(X), labels, scores]


def assert_same(found, expected):
    """The same labels; scores to the rounding of sums in another grouping."""
    for one, other in zip(found, expected, strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_forms_of_the_weights_predict_the_same(fitted, container, digits):
    X = container(digits[0])
    expected = predictions(fitted, X)
    coef = fitted.coef_ if isinstance(fitted.coef_, np.ndarray) else fitted.coef_.toarray()
    for method, kind in (("densify", np.ndarray), ("sparsify", sparse.csr_array)) * 2:
        assert getattr(fitted, method)() is fitted
        assert isinstance(fitted.coef_, kind)
        assert fitted.coef_.dtype == np.float32
        assert_same(predictions(fitted, X), expected)
        assert_same(predictions(pickle.loads(pickle.dumps(fitted)), X), expected)
        again = fitted.coef_ if kind is np.ndarray else fitted.coef_.toarray()
        np.testing.assert_array_equal(again, coef)
    assert fitted.coef_.nnz == np.count_nonzero(coef)


@pytest.mark.parametrize("form", ["densify", "sparsify"])
def test_pruning_drops_the_small_weights_alone(fitted, form, digits):
    X = digits[0]
    getattr(fitted, form)()
    coef = fitted.coef_.toarray() if form == "sparsify" else fitted.coef_.copy()
    before, intercept = fitted.decision_function(X), fitted.intercept_
    threshold = float(np.median(np.abs(coef[coef != 0])))
    n_bytes = fitted.nbytes_
    assert fitted.prune(threshold) is fitted
    kept = fitted.coef_.toarray() if form == "sparsify" else fitted.coef_
    expected = np.where(np.abs(coef) <= np.float32(threshold), 0, coef)
    np.testing.assert_array_equal(kept, expected)
    assert 0 < np.count_nonzero(kept) < np.count_nonzero(coef)
    np.testing.assert_array_equal(fitted.intercept_, intercept)
    bound = threshold * np.abs(X).sum(axis=1) + 1e-4
    moved = np.abs(fitted.decision_function(X) - before).reshape(len(X), -1)
    assert (moved <= bound[:, None]).all()
    if form == "sparsify":
        assert fitted.nbytes_ < n_bytes
        assert fitted.coef_.nnz == np.count_nonzero(kept)
    with pytest.raises(ValueError, match="read-only"):
        (fitted.coef_.data if form == "sparsify" else fitted.coef_)[0] = 1
    fitted.prune(1e300)
    assert np.abs(fitted.decision_function(X) - fitted.intercept_.squeeze()).max() == 0


def test_pruned_by_zero_is_the_same_model(fitted, digits):
    expected = predictions(fitted, digits[0])
    assert_same(predictions(fitted.prune(0), digits[0]), expected)


@pytest.mark.parametrize("threshold", [-1, np.nan, np.inf, "0.1", None, True, [0.1]])
def test_thresholds_that_are_none(threshold, digits):
    model = clone(MODELS[0]).fit(*digits)
    coef = model.coef_
    with pytest.raises(ValueError, match=r"threshold must be a (finite )?number of zero or more, "):
        model.prune(threshold)
    assert model.coef_ is coef


def test_nothing_works_before_a_fit(unfitted):
    for call in (unfitted.sparsify, unfitted.densify, lambda: unfitted.prune(0.1)):
        with pytest.raises(NotFittedError):
            call()
    with pytest.raises(NotFittedError):
        _ = unfitted.nbytes_
    assert not hasattr(unfitted, "nbytes_")


def test_sizes_are_refused_by_number(unfitted, digits, monkeypatch):
    model = unfitted.fit(*digits).sparsify()
    coef = model.coef_
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "2000")
    with pytest.raises(MemoryError, match=r"densify: dense weights of 10 classes and 64 features"):
        model.densify()
    assert model.coef_ is coef
    monkeypatch.undo()
    coef = model.densify().coef_
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "200")
    for call in (model.sparsify, lambda: model.prune(0.1)):
        with pytest.raises(MemoryError, match="would take"):
            call()
    assert model.coef_ is coef


def test_huge_shapes_are_refused_before_anything_is_allocated(monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", str(2**34))
    X = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [5, 6, 7, 5])), shape=(4, 2_000_000_000))
    model = PPDSparseClassifier(random_state=0)
    model.fit(X[:, :50], [0, 1, 2, 0])
    model.coef_ = sparse.csr_array((3, 2_000_000_000), dtype=np.float32)
    with pytest.raises(MemoryError, match="3 classes and 2000000000 features"):
        model.densify()


def test_training_goes_on_afterwards(digits):
    X, y = digits
    for model in MODELS[1:]:
        for form in ("sparsify", "densify"):
            plain = clone(model).fit(X, y)
            other = getattr(clone(model).fit(X, y), form)()
            for one in (plain, other):
                one.partial_fit(X, y)
                one.set_params(warm_start=True, max_iter=1).fit(X, y)
            assert_same([other.decision_function(X)], [plain.decision_function(X)])
    model = clone(MODELS[0]).set_params(warm_start=True).fit(X, y)
    scores = clone(model).fit(X, y).fit(X, y).decision_function(X)
    model.prune(0.1).densify().fit(X, y)
    assert_same([model.decision_function(X)], [scores])
    assert sparse.issparse(model.coef_)


def test_bytes_count_all_arrays_once(digits):
    X, y = digits
    model = PPDSparseClassifier(random_state=0, warm_start=True).fit(X, y)

    def size(M):
        return M.data.nbytes + M.indices.nbytes + M.indptr.nbytes

    arrays = model.intercept_, model.classes_, model.dual_gap_, model.n_active_, model._support
    expected = size(model.coef_) + size(model.dual_coef_) + sum(a.nbytes for a in arrays)
    assert model.nbytes_ == expected
    model.predict(X)
    assert model.nbytes_ == expected
    names = np.array(["a" * 1000, "b" * 1000, "c" * 1000], dtype=object)[y % 3]
    assert PPDSparseClassifier(random_state=0).fit(X, names).nbytes_ > 3000
    memoir = MemoirSVC(random_state=0).fit(X, y)
    assert (
        memoir.nbytes_ > size(memoir.coef_) + 12 * memoir._state.saved.classes.size
    )  # its lists too
