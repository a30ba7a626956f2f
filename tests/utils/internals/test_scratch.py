"""Large arrays in memory or in files."""

import errno
import os
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.utils import _csr, _scratch
from sklearn_xc.utils._coordinates import Coordinates
from sklearn_xc.utils._csr import stretches
from sklearn_xc.utils._matrix import as_rows, normalise
from sklearn_xc.utils._scratch import Scratch


def test_in_memory():
    with Scratch() as scratch:
        assert not scratch.on_disk
        assert type(scratch.empty(3, np.float32)) is np.ndarray
        assert scratch.lasting((2, 3), np.int32).tolist() == [[0] * 3] * 2


def test_in_files(tmp_path):
    folder = tmp_path / "new" / "folder"
    with Scratch(folder) as scratch:
        assert scratch.on_disk
        named, lasting = scratch.empty((3, 5), np.float32), scratch.lasting((2, 3), np.int64)
        assert isinstance(named, np.memmap)
        named[...] = 7
        np.testing.assert_array_equal(np.fromfile(named.filename, np.float32), np.full(15, 7))
        assert not isinstance(lasting, np.memmap)
        lasting[1] = 3
        assert scratch.empty(0, np.float32).size == scratch.lasting((0, 4), np.int32).size == 0
    assert os.listdir(folder) == []
    assert lasting.tolist() == [[0] * 3, [3] * 3]
    assert pickle.loads(pickle.dumps(lasting)).tolist() == lasting.tolist()
    with joblib.parallel_config(backend="loky"):
        tasks = (joblib.delayed(np.sum)(np.broadcast_to(lasting, (10**5, 2, 3))) for _ in range(2))
        assert joblib.Parallel(n_jobs=2)(tasks) == [9 * 10**5] * 2


def test_it_is_gone_after_an_error(tmp_path):
    def fails():
        with Scratch(tmp_path) as scratch:
            scratch.empty(10, np.int32)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert os.listdir(tmp_path) == []


def test_errors_name_the_folder(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(OSError, match=r"scratch='.*file': File exists"), Scratch(file):
        pass

    def full(file, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_scratch, "_reserve", full)
    with Scratch(tmp_path / "folder") as scratch:
        for make in scratch.empty, scratch.lasting:
            with pytest.raises(OSError, match=r"scratch='.*folder': No space left") as caught:
                make(10, np.int32)
            assert caught.value.errno == errno.ENOSPC


def test_without_the_system_call(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(_scratch, "ZEROS_AT_ONCE", 7)
    with Scratch(tmp_path) as scratch:
        assert scratch.empty(25, np.int8).tolist() == [0] * 25


# ------------------------------------------------------------------------------------ stretches


def random_csr(n_rows=200, n_columns=30, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 8, n_rows) * (rng.random(n_rows) < 0.8)
    lengths[[0, 50, -1]] = 0, 25, 0  # empty rows at both ends, and one longer than a stretch
    mask = np.arange(n_columns) < lengths[:, None]
    dense = rng.permuted(np.where(mask, rng.normal(size=mask.shape), 0), axis=1)
    return normalise(sparse.csr_array(dense)), dense.astype(np.float32)


@pytest.mark.parametrize("size", [1, 10, 64, 10**9])
def test_stretches_cover_all_rows(monkeypatch, size):
    monkeypatch.setattr(_csr, "STRETCH", size)
    X, _ = random_csr()
    cuts = list(stretches(X.indptr))
    assert [n for rows, _ in cuts for n in range(rows.start, rows.stop)] == list(range(200))
    for rows, entries in cuts:
        assert (entries.start, entries.stop) == (X.indptr[rows.start], X.indptr[rows.stop])
        assert entries.stop - entries.start <= size or rows.stop - rows.start == 1
    assert list(stretches(np.zeros(1, np.int64))) == []


@pytest.mark.parametrize("size", [1, 10, 10**9])
def test_sums_and_columns_in_stretches(monkeypatch, size):
    monkeypatch.setattr(_csr, "STRETCH", size)
    X, dense = random_csr()
    rows, weight = as_rows(X), np.arange(200) % 3
    np.testing.assert_allclose(rows.squared_norms(), (dense.astype(float) ** 2).sum(axis=1))
    norms = np.sqrt((weight[:, None] * dense.astype(float) ** 2).sum(axis=0))
    np.testing.assert_allclose(rows.weighted_norms(weight), norms, rtol=1e-6)
    counts = (dense[weight > 0] != 0).sum(axis=0)
    np.testing.assert_array_equal(rows.entry_counts(weight), counts)
    for scale in 2.5, np.arange(1.0, 31):
        inside = rows.inside(Coordinates(scale=scale)).matrix()
        np.testing.assert_allclose(inside.toarray(), dense / scale, rtol=1e-6)
    indptr, which, data = as_rows(X).columns()
    expected = X.tocsc()
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(which, expected.indices)
    np.testing.assert_array_equal(data, expected.data)
