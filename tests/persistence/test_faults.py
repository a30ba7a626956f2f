"""What `save` once wrote and `load` refused, files from elsewhere than a path, threads, pickles."""

import copy
import io
import os
import pickle
import sys
import threading
import warnings

import numpy as np
import pytest
from _forged_models import MODELS, X, Y, fitted
from _model_file import File
from scipy import sparse
from sklearn.exceptions import InconsistentVersionWarning

from sklearn_xc import (
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    PPDSparseClassifier,
    load,
    save,
)


@pytest.mark.parametrize("mode", [None, "r"])
def test_rows_of_zeros(tmp_path, mode):
    """Sums over nothing are of float64 as all others."""
    model = ImplicitSoftmaxRegressor(random_state=0).fit(np.zeros((6, 3)), [0, 1, 2] * 2)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", mode)
    rows = np.eye(3), [0, 1, 2]
    expected = model.partial_fit(*rows).coef_
    np.testing.assert_array_equal(loaded.partial_fit(*rows).coef_, expected)


@pytest.mark.parametrize("mode", [None, "r"])
def test_sparse_weights_by_distance(tmp_path, mode):
    """Weights of a matrix in a mapped file come with its shape, when they are asked for."""
    model = LDGSClassifier(similarity="sqeuclidean", random_state=0)
    model.fit(np.eye(6), [0, 1, 2] * 2).sparsify().save(tmp_path / "model")
    loaded = load(tmp_path / "model", mode)
    np.testing.assert_array_equal(loaded.predict(np.eye(6)), model.predict(np.eye(6)))
    file = File((tmp_path / "model").read_bytes())
    file.attributes["coef_"]["shape"][0] += 1
    file.attributes["coef_"]["container"] = "csc_array"
    (tmp_path / "model").write_bytes(file.bytes())
    with pytest.raises(ValueError, match=r"does not hold a valid model|weights of shape"):
        load(tmp_path / "model", mode).predict(np.eye(6))


def test_a_record_is_checked_before_it_is_saved(tmp_path):
    model = ImplicitSoftmaxRegressor(random_state=0).fit(np.eye(6), [0, 1, 2] * 2)
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    wrong = [part for part in vars(model).values() if hasattr(part, "_fields_of_record")]
    (name,) = list(vars(wrong[0]))[:1]
    vars(wrong[0])[name] = "text"
    with pytest.raises(TypeError, match=f"{name} of a {type(wrong[0]).__name__} cannot be"):
        model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before


def test_what_load_would_refuse_is_not_written(tmp_path):
    model = PPDSparseClassifier(random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    model.dual_gap_ = "text"
    with pytest.raises(ValueError, match=r"load would refuse this model .*dual_gap_"):
        model.save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_attribute_that_no_class_declares_is_refused(tmp_path):
    for name in MODELS:
        fitted(name).save(tmp_path / "model")
        file = File((tmp_path / "model").read_bytes())
        file.attributes["any_"] = {"$": "dict", "items": []}
        (tmp_path / "other").write_bytes(file.bytes())
        for mode in (None, "r"):
            with pytest.raises(ValueError, match="'any_' is no attribute of a fitted"):
                load(tmp_path / "other", mode)


def test_parameters_of_places_are_refused(tmp_path):
    PPDSparseClassifier().fit(X, Y).save(tmp_path / "model")
    file = File((tmp_path / "model").read_bytes())
    file.manifest["model"]["parameters"]["scratch"] = "/tmp"
    (tmp_path / "model").write_bytes(file.bytes())
    with pytest.raises(ValueError, match="has no parameters \\['scratch'\\] in a file"):
        load(tmp_path / "model")


# --------------------------------------------------------------------------- not from a path


@pytest.mark.parametrize("mode", [None, "r"])
@pytest.mark.parametrize("name", ["sparse", "hidden", "sampled"])
def test_bytes_and_file_objects(name, mode, tmp_path):
    model, stream = fitted(name), io.BytesIO()
    model.save(stream)
    model.save(tmp_path / "model")
    content = stream.getvalue()
    assert content == (tmp_path / "model").read_bytes()
    sources = content, bytearray(content), memoryview(content), io.BytesIO(content)
    with open(tmp_path / "model", "rb") as file:
        for source in (*sources, file):
            loaded = load(source, mode)
            np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
            np.testing.assert_array_equal(
                pickle.loads(pickle.dumps(loaded)).predict(X), model.predict(X)
            )


def test_what_is_no_file(tmp_path):
    model = PPDSparseClassifier().fit(X, Y)
    with pytest.raises(TypeError, match="not bytes"):
        save(model, b"model")
    with pytest.raises(ValueError, match="the bytes given is not a model"):
        load(b"model")
    with pytest.raises(TypeError, match="open for bytes"):
        load(io.StringIO("model"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="no regular file"):
            load(tmp_path / "pipe")


def test_a_long_name(tmp_path):
    name = "m" * 251 + ".sxc"
    PPDSparseClassifier().fit(X, Y).save(tmp_path / name)
    assert load(tmp_path / name).classes_.shape == (7,)


def test_mapped_texts_are_characters(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_xc.persistence._file.SMALL", 0)
    PPDSparseClassifier().fit(X, np.array([f"n{i}" for i in range(7)])[Y]).save(tmp_path / "model")
    file = File((tmp_path / "model").read_bytes())
    for number, (dtype, _, _) in enumerate(file.manifest["segments"]):
        if dtype.startswith("<U"):
            file.arrays[number][:4] = b"\xff\xff\xff\x7f"
    (tmp_path / "model").write_bytes(file.bytes())
    for mode in (None, "r"):
        with pytest.raises(ValueError, match="no characters"):
            load(tmp_path / "model", mode)


# --------------------------------------------------------------------------- threads and pickles


@pytest.mark.parametrize("name", ["sparse", "sampled", "hidden"])
def test_threads_copy_one_mapped_model(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    found, expected = [], fitted(name).predict(X)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(20):
            model, barrier = load(tmp_path / "model", "r"), threading.Barrier(4)

            def work(model=model, barrier=barrier):
                barrier.wait()
                try:
                    found.append((pickle.loads(pickle.dumps(model)).predict(X) == expected).all())
                    found.append((model.predict(X) == expected).all())
                except Exception as error:
                    found.append(error)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert [one for one in found if one is not np.True_ and one is not True] == []


def test_a_pickle_of_another_version_is_warned_of():
    model = PPDSparseClassifier().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.copy(pickle.loads(pickle.dumps(model)))
    state = model.__getstate__() | {"_sklearn_xc_version": "0.0.1"}
    with pytest.warns(InconsistentVersionWarning, match="PPDSparseClassifier from version 0.0.1"):
        PPDSparseClassifier().__setstate__(state)
    assert "_sklearn_xc_version" not in vars(pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize("mode", [None, "r"])
def test_a_file_follows_the_features_in_use(mode, tmp_path, monkeypatch):
    """A hashed space has a million columns, of which a collection uses some thousand."""
    monkeypatch.setattr("sklearn_xc.persistence._file.SMALL", 0)
    wide = sparse.csr_array((60, 2**20), dtype=np.float32)
    wide = sparse.csr_array((X.data, 50_000 * X.indices + 7, X.indptr), shape=wide.shape)
    model = PPDSparseClassifier(random_state=0).fit(wide, Y)
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 20_000  # 13 MB with a place for each column
    loaded = load(tmp_path / "model", mode)
    for some, other in zip(loaded.predict_topk(wide), model.predict_topk(wide), strict=True):
        np.testing.assert_array_equal(some, other)
    assert (loaded.coef_ != model.coef_).nnz == 0
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").stat().st_size == (tmp_path / "model").stat().st_size
    again = load(tmp_path / "again", mode)
    np.testing.assert_array_equal(again.predict_topk(wide)[1], model.predict_topk(wide)[1])
    file = File((tmp_path / "model").read_bytes())
    features = file.array("features")
    for wrong in (features[::-1].copy(), features + 2**20, features - 8):
        file.replace("features", wrong)
        (tmp_path / "wrong").write_bytes(file.bytes())
        with pytest.raises(ValueError, match="features do not ascend within 1048576"):
            load(tmp_path / "wrong", mode)


@pytest.mark.parametrize("mode", [None, "r"])
def test_weights_that_are_all_zero(mode, tmp_path):
    model = PPDSparseClassifier(random_state=0).fit(X, Y).prune(1e9)
    assert model.coef_.nnz == 0
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model", mode).predict(X), model.predict(X))
