"""Functions inside of what `datasets/test_mapped_csr.py` tests from outside."""

import errno
import os

import pytest
from _texts_of_rows import N, assert_equal, sp_stacked

from sklearn_xc.datasets import (
    _mapped_csr,
    _xc_format,
    iter_xc,
    load_xc,
)


@pytest.mark.parametrize("batch_size", [1, 7, 1000, N, 10 * N])
@pytest.mark.parametrize("where", ["text", "folder"])
def test_batches(text, tmp_path, monkeypatch, batch_size, where):
    if batch_size == 1 and where == "folder":
        monkeypatch.setattr(
            _xc_format, "open_folder", lambda p: tuple(m[:50] for m in load_xc(text))
        )
    monkeypatch.setattr(_xc_format.XCReader.__init__, "__defaults__", (5000,))
    source = text
    if where == "folder":
        source = tmp_path / "folder"
        load_xc(text, to=source)
    batches = list(iter_xc(source, batch_size))
    sizes = [X.shape[0] for X, _ in batches]
    n = sum(sizes)
    assert sizes == [batch_size] * (n // batch_size) + [n % batch_size] * (n % batch_size > 0)
    assert_equal(sp_stacked(batches, None), tuple(m[:n] for m in load_xc(text)))


def test_whole_or_not_at_all(text, tmp_path, monkeypatch):
    bad = tmp_path / "bad.txt"
    bad.write_text("2 3 2\n0 1:1\n0 1:x\n")
    with pytest.raises(ValueError, match="line 3: the value of '1:x'"):
        load_xc(bad, to=tmp_path / "folder")
    with pytest.raises(FileNotFoundError):
        load_xc(tmp_path / "none", to=tmp_path / "folder")
    monkeypatch.setattr(_mapped_csr, "MOST_ENTRIES", 1000)
    with pytest.raises(ValueError, match=r"X has more than 1,000 non-zeros.*iter_xc"):
        load_xc(text, to=tmp_path / "folder")

    def full(self, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_mapped_csr._GrowingArray, "append", full)
    with pytest.raises(OSError, match="No space left"):
        load_xc(text, to=tmp_path / "folder")
    assert os.listdir(tmp_path) == ["bad.txt"]
