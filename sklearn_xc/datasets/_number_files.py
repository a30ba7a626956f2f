"""Samples whose features are numbers, in files of programs: XC or LIBSVM text, PECOS's folder."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from ..utils._typing import LabelsLike, MatrixLike
from ._xc_format import dump_xc, load_xc

KINDS = "omikuji", "pecos", "xc"  # of files that are written; omikuji reads XC text


def read_numbers(path: str, kind: str) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return features and an indicator: of a folder with X.npz and Y.npz, or of a file."""
    if os.path.isdir(path):
        X, Y = (sparse.load_npz(Path(path, f"{name}.npz")) for name in "XY")
        return X, Y
    return load_xc(path, header=kind == "xc")


def write_numbers(
    path: str, kind: str, X: MatrixLike, Y: LabelsLike, names: Iterable | None
) -> None:
    """Write features and an indicator, and the names of its columns into a file next to them."""
    if kind == "pecos":
        os.makedirs(path, exist_ok=True)
        for name, matrix in (("X", X), ("Y", Y)):
            sparse.save_npz(Path(path, f"{name}.npz"), sparse.csr_matrix(matrix, dtype=np.float32))
    else:
        dump_xc(path, X, Y)
    if names is not None:
        write_names(names_of(path, kind), names)


def names_of(path: str, kind: str) -> str:
    """Return where the names of labels are written."""
    return os.path.join(path, "labels.txt") if kind == "pecos" else f"{path}.labels"


def write_names(path: str, names: Iterable) -> None:
    """Write the names of labels, one a line."""
    # blanks in a name, among them line breaks, become one space
    lines = (" ".join(str(name).split()) for name in names)
    text = "".join(f"{line}\n" for line in lines)
    Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
