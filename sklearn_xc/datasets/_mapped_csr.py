"""CSR matrices in a folder, written piece by piece and opened memory-mapped."""

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ..utils._interrupts import to_the_end
from ._single_label import INDICATOR_DTYPE

ABOUT = "xc.json"
FORMAT = 1
ARRAYS = {
    "X": {"data": np.float32, "indices": np.int32, "indptr": np.int64},
    "Y": {"data": INDICATOR_DTYPE, "indices": np.int32, "indptr": np.int64},
}
MOST_ENTRIES = np.iinfo(np.int32).max


class _GrowingArray:
    """One-dimensional array in a .npy file, whose length is known at its end."""

    def __init__(self, file: BinaryIO, dtype: DTypeLike) -> None:
        self._file, self._dtype, self.n = file, np.dtype(dtype), 0
        self._start = self._write_header()

    def _write_header(self) -> int:
        """Write a header with room for the length to grow, so that it can be written again."""
        # version 1.0 is padded to a multiple of 64 bytes, with space for the digits of a length
        what = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(self._file, what | {"shape": (self.n,)})
        return self._file.tell()

    def append(self, values: Sequence | np.ndarray) -> None:
        """Write values at the end."""
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self.n += len(values)

    def finish(self) -> None:
        """Write the header again, now that the length is known."""
        self._file.seek(0)
        # a longer header would have overwritten the first values
        if self._write_header() != self._start:
            raise RuntimeError("the header of a .npy file does not fit its place")


class _GrowingCSR:
    """CSR matrix as three growing arrays, in files that are closed with an `ExitStack`."""

    def __init__(self, folder: Path, name: str, files: ExitStack) -> None:
        self._name, self._arrays = name, {}
        for part, dtype in ARRAYS[name].items():
            path = folder / f"{name}.{part}.npy"
            file = files.enter_context(open(path, "wb"))  # noqa: SIM115
            self._arrays[part] = _GrowingArray(file, dtype)
        self._arrays["indptr"].append([0])

    def append(self, rows: sp.csr_matrix) -> None:
        """Write rows below those before."""
        n_before = self._arrays["data"].n
        if n_before + rows.nnz > MOST_ENTRIES:
            raise ValueError(
                f"{self._name} has more than {MOST_ENTRIES:,} non-zeros, beyond which SciPy wants "
                "indices of 64 bits; read it in batches with iter_xc"
            )
        self._arrays["data"].append(rows.data)
        self._arrays["indices"].append(rows.indices)
        self._arrays["indptr"].append(rows.indptr[1:].astype(np.int64) + n_before)

    def finish(self) -> None:
        """Write the lengths of the three arrays."""
        for array in self._arrays.values():
            array.finish()


def write_folder(
    pieces: Iterable[tuple[sp.csr_matrix, sp.csr_matrix]], shape: tuple[int, int, int], folder: str
) -> None:
    """Write X and Y into a folder that does not exist or is empty, whole or not at all.

    `pieces` are X and Y of successive rows, `shape` is (N, D, K).
    """
    folder = Path(os.path.abspath(folder))
    if folder.exists() and (not folder.is_dir() or os.listdir(folder)):
        raise FileExistsError(f"to={os.fspath(folder)!r} exists and is not an empty folder")
    os.makedirs(folder.parent, exist_ok=True)
    # Written next to it, in the same file system, and renamed, which is one step.
    beside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        beside.mkdir()
        with ExitStack() as files:
            growing = [_GrowingCSR(beside, name, files) for name in ARRAYS]
            for matrices in pieces:
                for matrix, rows in zip(growing, matrices, strict=True):
                    matrix.append(rows)
            for matrix in growing:
                matrix.finish()
        (beside / ABOUT).write_text(json.dumps({"format": FORMAT, "shape": shape}))
        # not every system renames a folder to one that is there, even if it is empty
        if folder.exists():
            folder.rmdir()
        os.rename(beside, folder)
    except BaseException:
        to_the_end(partial(shutil.rmtree, beside, ignore_errors=True))
        raise


def open_folder(folder: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Open X and Y of a folder, read-only and mapped; ValueError if not of `write_folder`."""
    try:
        about = json.loads(Path(folder, ABOUT).read_text())
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}")
        n_rows, n_features, n_classes = map(int, about["shape"])
        shapes = {"X": (n_rows, n_features), "Y": (n_rows, n_classes)}
        X, Y = (_open_csr(Path(folder), name, shapes[name]) for name in ARRAYS)
        return X, Y
    except Exception as error:  # what reads headers of damaged .npy files raises any kind
        raise ValueError(
            f"{os.fspath(folder)!r} is no folder that load_xc(path, to=...) has written: {error}"
        ) from error


def _open_csr(folder: Path, name: str, shape: tuple[int, int]) -> sp.csr_matrix:
    """Open X or Y of a folder, with checks that read no more than the pointers."""
    parts = {}
    for part, dtype in ARRAYS[name].items():
        array = np.load(folder / f"{name}.{part}.npy", mmap_mode="r", allow_pickle=False)
        if array.ndim != 1 or array.dtype != dtype:
            raise ValueError(f"{name}.{part}.npy holds another array")
        parts[part] = array
    if not parts["indptr"][-1] == len(parts["data"]) == len(parts["indices"]):
        raise ValueError(f"the arrays of {name} do not belong together")
    # with such pointers SciPy would cut rows out of other memory
    if (np.diff(parts["indptr"]) < 0).any():
        raise ValueError(f"{name}.indptr.npy falls")
    return sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
