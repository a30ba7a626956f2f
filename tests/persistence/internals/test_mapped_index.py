"""A mapped model among some labels: of its lists the weights of these are read, and no others."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.base._labels import encode
from sklearn_xc.persistence import _file, _mapped_index
from sklearn_xc.persistence._weights import LoadedWeights, StoredWeights
from sklearn_xc.topk._inverted_index import InvertedIndex
from sklearn_xc.utils._matrix import as_rows, normalise

K, D, N = 3000, 60, 40


@pytest.fixture(scope="module", params=["float32", "float16"])
def saved(request, tmp_path_factory):
    """A model of many classes, one in five of whose features nearly all classes use."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, D)).astype(np.float32)
    model = PPDSparseClassifier(random_state=0).fit(X, np.arange(60) % 6)
    coef = sparse.random_array((K, D), density=0.02, format="lil", rng=rng)
    coef[:, ::5] = rng.normal(size=(K, D // 5))
    model._encoding, _ = encode(np.arange(K))
    model.classes_, model._support = model._encoding.classes_, None
    model._set_linear_model(
        sparse.csr_array(coef.astype(np.float32)), rng.normal(size=K).astype(np.float32)
    )
    path = tmp_path_factory.mktemp("saved") / "model.sxc"
    model.save(path, dtype=request.param)
    return path, load(path)


def rows(kind):
    X = sparse.random_array((N, D), density=0.3, rng=np.random.default_rng(1), dtype=np.float32)
    return X.toarray() if kind == "dense" else sparse.csr_array(X)


@pytest.fixture
def mapped(saved, monkeypatch):
    monkeypatch.setattr(_file, "SMALL", 0)
    monkeypatch.setattr(_mapped_index.MappedIndex, "rows_at_once", 16)

    def refuse(*arguments):
        raise AssertionError("all scores were computed")

    monkeypatch.setattr(_mapped_index.MappedIndex, "scores", refuse)
    return load(saved[0], mmap_mode="r")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_labels", [1, 7, 400])
def test_labels_for_all_rows(saved, mapped, kind, n_labels):
    labels = np.random.default_rng(2).choice(K, n_labels, replace=False)
    weight = np.random.default_rng(3).normal(size=K)
    for options in ({"labels": labels}, {"labels": labels, "label_weight": weight}):
        expected = saved[1].predict_topk(rows(kind), min(5, n_labels), **options)
        found = mapped.predict_topk(rows(kind), min(5, n_labels), **options)
        for some, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(some, wanted)  # to the last bit
    assert "coef_" not in vars(mapped)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("density", [0.001, 0.2])
def test_labels_of_each_row(saved, mapped, kind, density):
    mask = sparse.random_array((N, K), density=density, rng=np.random.default_rng(2)) != 0
    options = {"labels": sparse.csr_array(mask), "sparse_output": True}
    expected = saved[1].predict_topk(rows(kind), 5, **options)
    assert (mapped.predict_topk(rows(kind), 5, **options) != expected).nnz == 0
    assert "coef_" not in vars(mapped)


def test_rows_without_entries(saved, mapped):
    X = sparse.csr_array((3, D), dtype=np.float32)
    for labels in ([5, 9], [[5], [9, 2], [1]]):
        options = {"labels": labels, "sparse_output": True}
        expected = saved[1].predict_topk(X, 1, **options)
        assert (mapped.predict_topk(X, 1, **options) != expected).nnz == 0


@pytest.mark.parametrize("damaged", [False, True])
def test_searched_and_read_lists_are_alike(saved, damaged, monkeypatch):
    mapped, found = load(saved[0], mmap_mode="r")._model(), []
    if damaged:  # not ascending, though within bounds
        mapped.classes = np.random.default_rng(0).permutation(np.array(mapped.classes))
    places, features = np.arange(5, K, 50), np.arange(0, D, 2)
    for least, search in ((2**30, 0), (0, 0)):
        monkeypatch.setattr(_mapped_index, "READ_AT_LEAST", least)
        monkeypatch.setattr(_mapped_index, "WORTH_SEARCHING", search)
        found.append(_mapped_index._ClassesOf(mapped, places)._weights_of(features))
    for ours, theirs in zip(*found, strict=True):
        if not damaged:
            np.testing.assert_array_equal(ours, theirs)
    assert found[1][1].max(initial=0) < len(places)
    mapped.classes = np.full(len(mapped.classes), 2**30, dtype=np.int32)
    monkeypatch.setattr(_mapped_index, "READ_AT_LEAST", 2**30)
    classes = _mapped_index._ClassesOf(mapped, places)
    with pytest.raises(ValueError, match="a damaged model file"):
        classes._weights_of(features)


@pytest.mark.parametrize("n_classes", [600, 65_536, 65_537])
def test_numbers_of_classes_take_two_bytes_where_these_hold_them(n_classes, tmp_path):
    """And files that hold four bytes are read alike, in memory and mapped."""
    last = n_classes - 1
    W = sparse.csr_array(([1.0, 2.0, 3.0], ([0, last, last], [0, 0, 1])), shape=(n_classes, D))
    index = InvertedIndex(W.astype(np.float32), np.zeros(n_classes))
    stored = StoredWeights(index, True, "float32").segments()
    assert stored["classes"].dtype == ("<u2" if n_classes <= 65_536 else "<i4")
    arrays = {
        name: np.frombuffer(b"".join(s.blocks()), s.dtype).reshape(s.shape)
        for name, s in stored.items()
    }
    for dtype in {stored["classes"].dtype, "<i4"}:
        arrays["classes"] = arrays["classes"].astype(dtype)
        for mapped in (False, True):
            loaded = LoadedWeights((n_classes, D), True, lambda name, _: arrays[name], mapped)
            for k, only in ((2, None), (1, np.array([last]))):
                of = loaded.index if only is None else loaded.index.part(loaded.coef, only)
                best, scores = of.topk(as_rows(normalise(np.eye(1, D))), k, 1)
                assert best.tolist() == [[last, 0][:k]]
                assert scores.tolist() == [[2, 1][:k]]
