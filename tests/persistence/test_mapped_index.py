"""A mapped model among some labels: of its lists the weights of these are read, and no others."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.base._labels import encode
from sklearn_xc.persistence import _file, _mapped_index

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


def test_searched_and_read_lists_are_alike(monkeypatch):
    rng = np.random.default_rng(0)
    index = _mapped_index._ClassesOf.__new__(_mapped_index._ClassesOf)
    for _ in range(50):
        listed = np.sort(rng.choice(100, rng.integers(1, 60), replace=False)).astype(np.int32)
        index._places = np.sort(rng.choice(100, rng.integers(1, 20), replace=False))
        weights, found = rng.normal(size=len(listed)).astype(np.float32), []
        for limit in (0, 1000):
            monkeypatch.setattr(_mapped_index, "WORTH_SEARCHING", limit)
            found.append(index._of_list(listed, weights))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(
            index._places[found[0][0]], np.intersect1d(listed, index._places)
        )
    damaged = np.array([99, -7, 2**30, 3] * 20, dtype=np.int32)  # not ascending, out of bounds
    for limit in (0, 1000):
        monkeypatch.setattr(_mapped_index, "WORTH_SEARCHING", limit)
        own, _ = index._of_list(damaged, np.ones(80, np.float32))
        assert ((own >= 0) & (own < len(index._places))).all()
