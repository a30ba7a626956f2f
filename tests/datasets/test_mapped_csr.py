"""X and Y on disk: `load_xc(path, to=folder)`, and batches of `iter_xc`."""

import json
import os
import stat
import tracemalloc

import numpy as np
import pytest
from _texts_of_rows import D, K, N, assert_equal, sp_stacked

from sklearn_xc.datasets import (
    iter_xc,
    load_xc,
)


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


@pytest.mark.parametrize("working_memory", [1, 64])
def test_the_same_matrices_from_disk(text, tmp_path, working_memory):
    expected = load_xc(text)
    converted = load_xc(text, to=tmp_path / "new" / "folder", working_memory=working_memory)
    again = load_xc(tmp_path / "new" / "folder")
    for found in converted, again:
        assert_equal(found, expected)
        for matrix in found:
            assert is_mapped(matrix.data)
            assert is_mapped(matrix.indices)
            assert not matrix.data.flags.writeable
    assert os.listdir(tmp_path / "new") == ["folder"]
    mode = stat.S_IMODE((tmp_path / "new" / "folder").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "new").stat().st_mode)


def test_odd_rows_and_sizes(tmp_path):
    """No rows, rows of nothing, names in any order and twice; an empty folder is taken."""
    for i, content in enumerate(["0 3 2\n", "3 3 2\n\n1,0,1 2:1 0:2 2:3\n 1:0\n", "1 1 1\n0"]):
        path, folder = tmp_path / f"{i}.txt", tmp_path / f"to{i}"
        path.write_text(content)
        folder.mkdir()
        assert_equal(load_xc(path, to=folder), load_xc(path))
        assert_equal(sp_stacked(iter_xc(path, 2), load_xc(path)), load_xc(path))


def test_memory_is_bounded(tmp_path):
    """Forty MB of text with the shortest entries there are, in less than 8 MiB."""
    path = tmp_path / "long.txt"
    row = "0,1 " + " ".join(f"{j % 10}:1" for j in range(40)) + "\n"
    n = 40_000_000 // len(row)
    with path.open("w") as f:
        f.write(f"{n} 10 2\n")
        f.writelines(row for _ in range(n))
    tracemalloc.start()
    try:
        X, Y = load_xc(path, to=tmp_path / "folder", working_memory=8)
        peak = tracemalloc.get_traced_memory()[1]
        assert peak < 8 << 20 + 8 * n  # SciPy copies indptr
        tracemalloc.reset_peak()
        assert sum(X.shape[0] for X, _ in iter_xc(path, 1000)) == n
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert X.shape == (n, 10)
    assert Y.nnz == 2 * n


def test_folders_of_something_else(text, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("kept")
    for taken in tmp_path / "other", tmp_path / "other" / "file":
        with pytest.raises(FileExistsError, match="exists and is not an empty folder"):
            load_xc(text, to=taken)
    with pytest.raises(ValueError, match=r"other' is no folder that load_xc\(path, to=...\) has"):
        load_xc(tmp_path / "other")
    good = tmp_path / "good"
    load_xc(text, to=good)
    about = json.loads((good / "xc.json").read_text())
    for change in {"format": 2}, {"shape": [N, D]}, {"shape": [N + 1, D, K]}, {"shape": None}:
        (good / "xc.json").write_text(json.dumps(about | change))
        with pytest.raises(ValueError, match="good' is no folder"):
            load_xc(good)
    (good / "xc.json").write_text(json.dumps(about))
    np.save(good / "X.data.npy", np.ones(3, np.float32))
    with pytest.raises(ValueError, match="the arrays of X do not belong together"):
        load_xc(good)
    (good / "X.data.npy").write_bytes(b"")
    with pytest.raises(ValueError, match="good' is no folder"):
        load_xc(good)
    np.save(good / "X.data.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"X\.data\.npy holds another array"):
        load_xc(good)
    np.save(good / "X.data.npy", np.ones(0, np.float32))
    np.save(good / "X.indptr.npy", np.ones(0, np.int64))
    with pytest.raises(ValueError, match="good' is no folder"):
        load_xc(good)


@pytest.mark.parametrize("value", [0, -1, 1.5, "1", True, None])
def test_sizes_are_checked(text, tmp_path, value):
    with pytest.raises(ValueError, match="working_memory must be a whole number of at least 1"):
        load_xc(text, to=tmp_path / "folder", working_memory=value)
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1"):
        iter_xc(text, batch_size=value)
