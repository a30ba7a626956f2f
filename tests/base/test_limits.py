"""What cannot fit into memory is refused by number, before memory is taken for any of it."""

import tracemalloc

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    LDGSWordEmbedding,
    MemoirSVC,
    PPDSparseClassifier,
    load,
    merge,
    mips,
)
from sklearn_xc.utils import _column_map

N, LARGEST = 40, 2**31 - 1
Y = np.arange(N) % 4
ESTIMATORS = [
    PPDSparseClassifier(random_state=0),
    MemoirSVC(max_iter=50, random_state=0),
    LDGSClassifier(max_iter=100, random_state=0),
    AugmentReduceClassifier(max_iter=100, random_state=0),
    ImplicitSoftmaxRegressor(max_iter=50, random_state=0),
]
ids = [type(estimator).__name__ for estimator in ESTIMATORS]


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", str(64 * 2**20))


def spread(width):
    """One entry a row, over all columns."""
    columns = np.linspace(0, width - 1, N).astype(np.int64)
    return sparse.csr_array((np.ones(N), columns, np.arange(N + 1)), shape=(N, width))


NARROW = spread(100)


def assert_refused(call, match="more than the limit"):
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=match):
            call()
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
@pytest.mark.parametrize("width", [10**7, 10**8, LARGEST])
def test_features(estimator, width, monkeypatch):
    monkeypatch.setattr(_column_map, "WIDE", np.inf)  # as if all columns were used
    model = clone(estimator)
    assert_refused(lambda: model.fit(spread(width), Y))
    if hasattr(model, "partial_fit"):
        assert_refused(lambda: model.partial_fit(spread(width), Y, classes=np.arange(4)))
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
@pytest.mark.parametrize("width", rest_in_full([10**7, 10**8, LARGEST], LARGEST))
def test_few_of_many_features(estimator, width):
    X, narrow = spread(width), sparse.csr_array(np.eye(N))
    expected = clone(estimator).fit(narrow, Y)
    tracemalloc.start()
    try:
        model = clone(estimator).fit(X, Y)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X[:3], Y[:3])
            expected.partial_fit(narrow[:3], Y[:3])
        scores = model.decision_function(X)
        assert tracemalloc.get_traced_memory()[1] < 48 * 2**20
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(scores, expected.decision_function(narrow), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimator", [ESTIMATORS[0], ESTIMATORS[2]], ids=[ids[0], ids[2]])
@pytest.mark.parametrize("width", [10**7, LARGEST])
def test_labels(estimator, width):
    model = clone(estimator)
    assert_refused(lambda: model.fit(NARROW, spread(width)))
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("estimator", ESTIMATORS[3:], ids=ids[3:])
def test_classes_named_in_advance(estimator):
    model, classes = clone(estimator), np.arange(50_000)
    X = spread(10_000)
    with pytest.raises(MemoryError, match="dense weights of 50000 classes and 10000 features"):
        model.partial_fit(X, Y, classes=classes)
    assert not hasattr(model, "classes_")
    with pytest.raises(MemoryError, match="dense weights of 50000 classes"):
        LDGSClassifier(hidden_dim=2000).partial_fit(X, Y, classes=classes)


def test_layers():
    assert_refused(lambda: LDGSClassifier(hidden_dim=65535).fit(spread(10**4), Y))
    words = [str(i) for i in range(1000)]
    model = LDGSWordEmbedding(dim=65536, vocabulary=words)
    assert_refused(lambda: model.fit(sparse.eye_array(1000)))


def test_what_changes_a_model(monkeypatch):
    X = spread(200_000)
    model = PPDSparseClassifier(random_state=0).fit(spread(1000), Y)
    model.coef_ = sparse.csr_array((4, 10**7), dtype=np.float32)
    assert_refused(model.densify, "densify: dense weights of 4 classes and 10000000 features")
    several = PPDSparseClassifier(random_state=0).fit(NARROW, spread(4))
    for width in 10**7, LARGEST - 10:
        more = sparse.csr_array((N, width))
        assert_refused(lambda more=more: several.add_labels(NARROW, more))
    assert len(several.classes_) == 4
    monkeypatch.setattr(_column_map, "WIDE", np.inf)
    assert_refused(lambda: PPDSparseClassifier(n_jobs=2).fit(X, np.arange(N)), "for each of 2 jobs")
    PPDSparseClassifier(n_jobs=1, random_state=0).fit(X, np.arange(N))


def test_merge(monkeypatch):
    models = [PPDSparseClassifier(random_state=0).fit(NARROW, spread(4)) for _ in range(2)]
    for model in models:
        model.coef_ = sparse.random_array((4, 100), density=0.5, format="csr", dtype=np.float32)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "2000")
    assert_refused(lambda: merge(models), "merge: 400 weights")
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "20000")
    assert merge(models).coef_.nnz == 400


def test_load(tmp_path, monkeypatch):
    model = PPDSparseClassifier(random_state=0).fit(NARROW, Y)
    model.save(tmp_path / "model")
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000")
    assert_refused(lambda: load(tmp_path / "model"), "load: the arrays of .*model would take")
    assert load(tmp_path / "model", "r").predict(NARROW).shape == (N,)


def test_indexes():
    assert_refused(lambda: mips.ExactIndex().build(np.broadcast_to(np.float32(1), (10**6, 100))))


def test_outputs():
    model = PPDSparseClassifier(random_state=0).fit(NARROW, Y)
    rows = sparse.csr_array((10**7, 100))
    with pytest.raises(MemoryError, match=r"scores of shape|more than the limit"):
        model.decision_function(rows)
