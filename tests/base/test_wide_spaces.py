"""A hashed space of very many columns, of which few are used, costs what these cost.

The models are those of the columns that are used, alone.
"""

import io
import pickle
from itertools import pairwise

import numpy as np
import pytest
from _memory import with_peak
from scipy import sparse

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    load,
)
from sklearn_xc.utils import _column_map

WIDE = _column_map.WIDE
N_COLUMNS, N_USED, N_CLASSES = 2**20, 3000, 20
MODELS = {
    "exact": (ImplicitSoftmaxRegressor, {"max_iter": 3}),
    "implicit": (ImplicitSoftmaxRegressor, {"solver": "implicit", "max_iter": 2}),
    "drawn classes": (AugmentReduceClassifier, {"bound": "augment_reduce", "max_iter": 3}),
    "all classes": (AugmentReduceClassifier, {"max_iter": 3}),
    "features": (LDGSClassifier, {"max_iter": 2}),
}


SPARSE = {"MEMOIR": (MemoirSVC, {"max_iter": 2}), "PPDSparse": (PPDSparseClassifier, {})}
LAYERS = {
    "layer": (LDGSClassifier, {"max_iter": 2, "hidden_dim": 8}),
    "distances": (LDGSClassifier, {"max_iter": 2, "hidden_dim": 8, "similarity": "sqeuclidean"}),
}


def _made(kind, parameters):
    return lambda **others: kind(random_state=0, **parameters, **others)


@pytest.fixture(params=MODELS | LAYERS)
def made(request):
    return _made(*(MODELS | LAYERS)[request.param])


@pytest.fixture(params=SPARSE)
def made_sparse(request):
    return _made(*SPARSE[request.param])


@pytest.fixture(params=MODELS)
def made_without_layer(request):
    return _made(*MODELS[request.param])


def texts(n_rows=400, seed=0, n_columns=N_COLUMNS):
    """Return rows of a wide space, the columns that they use, and labels."""
    rng = np.random.default_rng(seed)
    used = np.sort(np.random.default_rng(0).choice(n_columns, N_USED, replace=False))
    y = rng.integers(N_CLASSES, size=n_rows)
    y[:N_CLASSES] = np.arange(N_CLASSES)
    own = y[:, None] * 7 + rng.integers(7, size=(n_rows, 4))
    words = np.c_[own, rng.integers(N_USED, size=(n_rows, 6))]
    X = sparse.csr_array(
        (np.full(words.size, 0.3), used[words.ravel()], np.arange(n_rows + 1) * 10),
        (n_rows, n_columns),
    )
    X.sum_duplicates()
    return X, used, y


def of_columns(model):
    """Return the weights that there are for each column, as `coef_` or the layer has them."""
    table = getattr(model, "input_embeddings_", None)
    return model.coef_ if table is None else table.T


def of_same_bits(one, other, used):
    assert np.array_equal(one.intercept_, other.intercept_)
    weights, known = of_columns(one), of_columns(other)
    known = known.toarray() if sparse.issparse(known) else known
    assert np.array_equal(weights.tocsc()[:, used].toarray(), known)
    assert np.count_nonzero(weights.data) == np.count_nonzero(known)


def test_a_fit_is_that_of_the_used_columns(made):
    X, _, y = texts()
    used = np.unique(X.indices)
    wide, narrow = made().fit(X, y), made().fit(X[:, used], y)
    of_same_bits(wide, narrow, used)
    assert of_columns(wide).shape[1] == N_COLUMNS
    new, *_ = texts(50, seed=1)
    assert np.array_equal(wide.predict_proba(new), narrow.predict_proba(new[:, used]))
    assert np.array_equal(wide.predict_topk(new, 3)[0], narrow.predict_topk(new[:, used], 3)[0])


def test_embeddings_are_those_of_the_layer():
    X, _, y = texts()
    model = _made(*LAYERS["layer"])().fit(X, y)
    new, *_ = texts(50, seed=1)
    assert model.input_embeddings_.shape == (N_COLUMNS, 8)
    expected = (sparse.csr_array(new) @ model.input_embeddings_).toarray()
    np.testing.assert_allclose(model.transform(new), expected, atol=1e-5)
    explained = model.explain(new[:1], k=None)[0]
    scores = model.decision_function(new[:1])[0]
    assert np.isclose(explained.score, scores[explained.label], atol=1e-4)


def test_new_columns_join_a_layer_and_leave_the_others():
    Xs, ys, _ = parts()
    model = _made(*LAYERS["layer"])(learning_rate=1e-12)
    X, y = sparse.vstack(Xs[:5], format="csr"), np.concatenate(ys[:5])
    model.partial_fit(X, y, classes=np.arange(N_CLASSES))  # more rows than a beginning has
    before, known = model.input_embeddings_, model._columns
    model.partial_fit(Xs[5], ys[5])
    now, new = model.input_embeddings_, np.setdiff1d(model._columns, known)
    np.testing.assert_allclose(now[known].toarray(), before[known].toarray(), atol=1e-5)
    sizes = [np.sqrt((table.toarray() ** 2).mean()) for table in (now[new], before[known])]
    assert 0.8 < sizes[0] / sizes[1] < 1.25


def test_a_fit_takes_the_memory_of_the_used_columns(made):
    X, _, y = texts()
    made().fit(X, y)
    model, peak = with_peak(lambda: made(warm_start=True).fit(X, y))
    # all columns take 84 MB of weights
    assert peak < 15e6
    assert model.nbytes_ < 5e6
    file = io.BytesIO()
    model.save(file)
    assert file.tell() < 2e6


def test_a_limit_on_memory_counts_used_columns(made, monkeypatch):
    X, _, y = texts()
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "20000000")
    made().fit(X, y)
    made().partial_fit(X, y, classes=np.arange(N_CLASSES)).partial_fit(X, y)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "10000")
    with pytest.raises(MemoryError, match=r"limit of 10,000 bytes"):
        made().fit(X, y)


def parts(n_columns=N_COLUMNS):
    """Return parts of a stream whose columns and classes grow, with a class that comes later."""
    X, used, y = texts(1200, n_columns=n_columns)
    order = np.argsort(y == N_CLASSES - 1, kind="stable")
    X, y = X[order], y[order]
    bounds = [0, 1, 40, 300, 900, 901, 1200]
    some = [slice(*ends) for ends in pairwise(bounds)]
    return [X[part] for part in some], [y[part] for part in some], used


def test_a_stream_whose_columns_grow_is_that_of_all_columns(made_without_layer, monkeypatch):
    Xs, ys, _ = parts(WIDE)
    few, full, kept = made_without_layer(), made_without_layer(), []
    classes = np.arange(N_CLASSES - 1)
    for X, y in zip(Xs, ys, strict=True):
        few.partial_fit(X, y, classes=classes)
        with monkeypatch.context() as patch:
            patch.setattr(_column_map, "WIDE", np.inf)
            full.partial_fit(X, y, classes=classes)
        classes = None
        assert isinstance(full.coef_, np.ndarray)
        # sums over columns are rounded otherwise where zeros are between
        np.testing.assert_allclose(few.coef_.toarray(), full.coef_, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(few.intercept_, full.intercept_, rtol=1e-5, atol=1e-6)
        kept.append(len(few._columns))
    assert kept == sorted(kept)
    assert kept[0] < 11
    assert len(np.unique(kept)) == len(kept)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_a_stream_goes_on_from_a_file(made, tmp_path, mmap_mode):
    Xs, ys, _ = parts()
    model = made().partial_fit(Xs[2], ys[2], classes=np.arange(N_CLASSES))
    model.partial_fit(Xs[3], ys[3])
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mmap_mode)
    assert np.array_equal(loaded.predict_proba(Xs[5]), model.predict_proba(Xs[5]))
    for each in (model, loaded):
        each.partial_fit(Xs[4], ys[4]).partial_fit(Xs[5], ys[5])
    assert (abs(of_columns(loaded) - of_columns(model)) > 0).nnz == 0
    assert np.array_equal(loaded.intercept_, model.intercept_)


def test_rows_that_come_again_are_known_where_columns_have_other_numbers(made):
    Xs, ys, _ = parts()
    model = made().partial_fit(Xs[3], ys[3], classes=np.arange(N_CLASSES))
    model.partial_fit(Xs[5], ys[5])  # with columns between those of before
    seen = (model._stream if hasattr(model, "_stream") else model._state).seen
    n_rows = seen.n_rows
    model.partial_fit(Xs[3], ys[3])
    seen = (model._stream if hasattr(model, "_stream") else model._state).seen
    assert seen.n_rows == n_rows


def test_a_warm_start_goes_on_with_other_columns(made):
    Xs, ys, _ = parts()
    model = made(warm_start=True)
    columns = []
    for some in (3, 5):
        y = np.r_[np.arange(N_CLASSES), ys[some][N_CLASSES:]]
        model.fit(Xs[some], y)
        columns.append(np.unique(Xs[some].indices))
    assert np.array_equal(model._columns, np.union1d(*columns))
    assert model.score(Xs[5], y) > 0.5
    first = of_columns(model).tocsc()[:, np.setdiff1d(*columns)]
    assert np.count_nonzero(first.data) > 0


def test_dense_rows_and_weights_put_in_place_join(made_without_layer):
    Xs, ys, used = parts()
    model = made_without_layer().partial_fit(Xs[3], ys[3], classes=np.arange(N_CLASSES))
    other = np.setdiff1d(np.arange(5), used)[0]
    coef = sparse.lil_array(model.coef_.shape, dtype=np.float32)
    coef[3, other] = 2
    model.coef_ = sparse.csr_array(coef)
    model.partial_fit(Xs[4].toarray(), ys[4])
    assert model.coef_[3, other] > 1
    assert model.coef_.shape == (N_CLASSES, N_COLUMNS)


def test_random_weights_at_the_start_are_in_all_columns():
    X, _, y = texts(n_columns=2 * WIDE)
    model = AugmentReduceClassifier(init_scale=0.1, max_iter=1, random_state=0).fit(X, y)
    assert isinstance(model.coef_, np.ndarray)


def test_explanations_thresholds_and_copies(made):
    X, _, y = texts()
    model = made().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    words = X.indices[X.indptr[0] : X.indptr[1]]
    named = set(model.explain(X[:1])[0].features.tolist())
    assert named <= set(words.tolist())
    assert np.array_equal(model.prune(0).predict(X), again.predict(X))
    assert np.allclose(again.sparsify().decision_function(X), model.decision_function(X))


def test_sparse_models_are_those_of_the_used_columns(made_sparse):
    X, _, y = texts()
    used = np.unique(X.indices)
    wide, narrow = made_sparse().fit(X, y), made_sparse().fit(X[:, used], y)
    assert (wide.coef_.tocsc()[:, used] != narrow.coef_).nnz == 0
    assert wide.coef_.nnz == narrow.coef_.nnz
    assert np.array_equal(wide.intercept_, narrow.intercept_)
    new, *_ = texts(50, seed=1)
    assert np.array_equal(wide.decision_function(new), narrow.decision_function(new[:, used]))


def test_sparse_models_take_the_memory_of_the_used_columns(made_sparse, monkeypatch):
    X, _, y = texts()
    made_sparse().fit(X, y)
    model, peak = with_peak(lambda: made_sparse(warm_start=True).fit(X, y))
    assert peak < 8e6  # 8 MB are 8 bytes a column
    file = io.BytesIO()
    model.save(file)
    assert file.tell() < 2e6
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "20000000")
    made_sparse().fit(X, y)


def test_parts_of_memoir_grow_in_columns(tmp_path, monkeypatch):
    Xs, ys, _ = parts(WIDE)
    few, full, classes = MemoirSVC(random_state=0), MemoirSVC(random_state=0), np.arange(19)
    for X, y in zip(Xs, ys, strict=True):
        few.partial_fit(X, y, classes=classes)
        with monkeypatch.context() as patch:
            patch.setattr(_column_map, "WIDE", np.inf)
            full.partial_fit(X, y, classes=classes)
        classes = None
        assert full._columns is None
        assert (few.coef_ != full.coef_).nnz == 0
        few.save(tmp_path / "model")
        few = load(tmp_path / "model")
    assert len(few._columns) < 3001


def test_texts_and_labels_that_join_are_of_columns_of_their_own():
    X, _, y = texts()
    rows = np.arange(20)
    columns = np.setdiff1d(np.arange(1000), X.indices)[rows]
    names = sparse.csr_array((np.ones(20), (rows, columns)), (20, N_COLUMNS))
    model = PPDSparseClassifier(random_state=0).fit(X, y, label_features=names)
    assert np.array_equal(model.predict(names), rows)
    new = sparse.csr_array((np.ones(400), (np.arange(400), np.full(400, columns[5] + 1))), X.shape)
    model.add_labels(sparse.csr_array(X + new), y * 0 + 20 + y % 2)
    assert model.coef_.shape == (22, N_COLUMNS)
    assert set(model.predict(X)) <= set(range(22))


@pytest.mark.parametrize(
    "columns",
    [
        np.array([-1, 3], np.int32),
        np.array([3, N_COLUMNS], np.int32),
        np.array([3, 3], np.int32),
        np.array([3.0, 4.0], np.float32),
        np.empty(0, np.int32),
    ],
)
def test_columns_of_a_file_are_columns_of_the_model(columns, made):
    X, _, y = texts()
    model = made().fit(X, y)
    model._columns = columns
    with pytest.raises(ValueError, match="the columns in use do not ascend within 1048576"):
        model.save(io.BytesIO())


def test_a_layer_of_other_columns_is_refused():
    X, _, y = texts()
    model = _made(*LAYERS["layer"])().fit(X, y)
    model._columns = model._columns[:-1]
    with pytest.raises(ValueError, match=r"rows|one for each feature|sums of squared"):
        model.save(io.BytesIO())
