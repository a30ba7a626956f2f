"""The text format of the extreme classification repository: whole, in batches, to disk."""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from os import fsdecode
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..utils._matrix import checked
from ..utils._memory_limit import VARIABLE, memory_limit
from ..utils._typing import LabelsLike, MatrixLike
from ._headerless import HeaderlessReader
from ._mapped_csr import open_folder, write_folder
from ._xc_reader import XCReader, open_text

# Of the pointers of a row, in X, Y and the pieces they are made of.
_POINTER_BYTES = 32
_ROWS_PER_WRITE = 4096
# What is in memory for each byte of text: the text twice, and for the four bytes that an entry has
# at least, its feature, value and place, and these again while rows are put in order.
_BYTES_A_BYTE = 16


def load_xc(
    path: str | os.PathLike,
    *,
    to: str | os.PathLike | None = None,
    working_memory: int = 64,
    header: bool = True,
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Load features and labels from a file in the XC text format.

    The first line is the header ``N D K``: the numbers of samples, features and labels. Every other
    line is one sample, ``l1,l2,... f:v f:v ...``, with labels and features counted from 0. A sample
    without labels starts with a space, a sample without features ends after its labels, and an
    empty line is a sample that has neither.

    The file is read in pieces of about one megabyte, so the memory needed is that of the result,
    twice over while its pieces are joined. With `to` it is that of one piece: what is returned lies
    in files and is mapped, as in ``numpy.load(..., mmap_mode="r")``.

    Parameters
    ----------
    path : str or path-like
        The file. The ending ``.gz``, ``.bz2`` or ``.xz`` says that it is compressed. Or a folder
        that an earlier call has written with `to`, which opens at once.
    to : str or path-like, default=None
        A folder that does not exist or is empty. X and Y are written there as six .npy files, in
        one pass and whole or not at all, and returned mapped and read-only.
    working_memory : int, default=64
        With `to`, about how many MiB may be in use at a time, as long as no sample needs more.
    header : bool, default=True
        False for a file without the first line, as LIBSVM and others have them for several labels
        a sample. It is read twice; the numbers of features and labels are the largest that occur,
        and where no feature is 0, features count from 1. Not with `to`.

    Returns
    -------
    X : csr_matrix of shape (N, D), dtype float32
        Features. Column indices are int32, sorted and without duplicates: the values of a feature
        that a sample names more than once are added up. A value written as 0 stays a stored entry.
        Every value is the float32 nearest to the decimal number in the file.
    Y : csr_matrix of shape (N, K), dtype int32
        Label indicator. All stored entries are 1; a label that a sample names twice counts once. Of
        32 bits and with a sign, so that ``Y.T @ Y`` and ``-Y.sum(axis=0)`` are what they look like.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileExistsError
        If `to` is a folder that is not empty.
    MemoryError
        If X and Y would take more than half of the memory available (see
        `SKLEARN_XC_MEMORY_LIMIT` on the page "Environment variables"); not with `to`.
    ValueError
        If the content is not in this format: a header other than three whole numbers, an index
        outside the header's D or K, a value that is missing, not a number, not finite in float32
        or longer than 100 characters, more or fewer rows than N, or damaged compressed data. The
        message names the file, the line and the offending text.

    See Also
    --------
    dump_xc : Write such a file.
    iter_xc : Read it in batches.
    first_label : Turn ``Y`` into one label a sample.

    References
    ----------
    .. [1] K. Bhatia, K. Dahiya, H. Jain, P. Kar, A. Mittal, Y. Prabhu and M. Varma, "The extreme
       classification repository: multi-label datasets and code", 2016,
       http://manikvarma.org/downloads/XC/XMLRepository.html

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_xc.datasets import load_xc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.txt")
    ...     _ = path.write_text("2 4 3\\n0,2 1:0.5 3:2\\n 0:1\\n")
    ...     X, Y = load_xc(path)
    >>> X.toarray()
    array([[0. , 0.5, 0. , 2. ],
           [1. , 0. , 0. , 0. ]], dtype=float32)
    >>> Y.toarray()
    array([[1, 0, 1],
           [0, 0, 0]], dtype=int32)
    """
    path = fsdecode(path)
    if not header:
        if to is not None:
            raise ValueError("header=False is for files that are read whole, without `to`")
        return load_headerless(path)[:2]
    if to is None and os.path.isdir(path):
        return open_folder(path)
    if to is None:
        with XCReader(path) as reader:
            return _joined(reader, path)
    _check_size("working_memory", working_memory)
    with XCReader(path, (working_memory << 20) // _BYTES_A_BYTE) as reader:
        write_folder(reader, reader.shape, fsdecode(to))
    return open_folder(fsdecode(to))


def load_headerless(
    path: str, first: int | None = None, n_features: int | None = None
) -> tuple[sp.csr_matrix, sp.csr_matrix, int]:
    """Load a file without a header; return X, Y and the number that features count from, 0 or 1.

    With `first` and `n_features` X has the columns of another file.
    """
    with HeaderlessReader(path) as reader:
        X, Y = _joined(reader, path)
        own = int(reader.first_feature > 0)
    # features that count from 1 leave column 0 empty
    first = own if first is None else first
    if own < first and X.nnz:
        raise ValueError(f"{path} has a feature 0, and those of the model count from 1")
    X = X[:, first:]
    if n_features is not None:
        if X.shape[1] > n_features:
            last = X.shape[1] + first - 1
            raise ValueError(f"{path} has a feature {last}, and the model {n_features} features")
        X.resize((X.shape[0], n_features))
    return X, Y, first


def iter_xc(
    path: str | os.PathLike, batch_size: int = 1024
) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """Iterate over features and labels of a file in the XC text format, some samples at a time.

    For `partial_fit`, or to count something over data that is larger than memory. Every pass reads
    the text again; where there are many, ``load_xc(path, to=folder)`` first and give the folder.

    Parameters
    ----------
    path : str or path-like
        The file, as for :func:`load_xc`, or a folder that ``load_xc(path, to=folder)`` has written.
    batch_size : int, default=1024
        Samples of each batch; the last one may have fewer.

    Returns
    -------
    batches : iterator of (X, Y)
        `X` a csr_matrix of shape (batch_size, D), dtype float32, `Y` one of shape (batch_size, K),
        dtype int32, as :func:`load_xc` returns those of all samples.

    Raises
    ------
    FileNotFoundError, ValueError
        As :func:`load_xc`, when the batch with the offending line is read.

    See Also
    --------
    load_xc : Read the whole file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_xc.datasets import iter_xc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.txt")
    ...     _ = path.write_text("3 4 3\\n0,2 1:0.5 3:2\\n 0:1\\n1 2:1\\n")
    ...     [(X.shape, Y.nnz) for X, Y in iter_xc(path, batch_size=2)]
    [((2, 4), 2), ((1, 4), 1)]
    """
    path = fsdecode(path)
    _check_size("batch_size", batch_size)
    if os.path.isdir(path):
        return _slices(*open_folder(path), batch_size)
    return _batches(path, batch_size)


def _check_size(name: str, value: Any) -> None:
    """Refuse a parameter that is no whole number of at least 1."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def _slices(
    X: sp.csr_matrix, Y: sp.csr_matrix, batch_size: int
) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """Yield X and Y some rows at a time."""
    for start in range(0, X.shape[0], batch_size):
        rows = slice(start, start + batch_size)
        yield X[rows], Y[rows]


def _batches(path: str, batch_size: int) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """Yield X and Y of a file some rows at a time."""
    with XCReader(path) as reader:
        # pieces of the reader have any number of rows: leftover rows come before the next piece
        leftover, n_leftover = [], 0
        for piece in reader:
            leftover.append(piece)
            n_leftover += piece[0].shape[0]
            if n_leftover >= batch_size:
                X, Y = _stacked(leftover)
                n_whole = n_leftover - n_leftover % batch_size
                yield from _slices(X[:n_whole], Y[:n_whole], batch_size)
                leftover, n_leftover = [(X[n_whole:], Y[n_whole:])], n_leftover - n_whole
        if n_leftover:
            yield _stacked(leftover)


def _stacked(
    pieces: list[tuple[sp.csr_matrix, sp.csr_matrix]],
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return the rows of all pieces, as X and Y."""
    X, Y = (sp.vstack(matrices, format="csr") for matrices in zip(*pieces, strict=True))
    return X, Y


def _joined(reader: XCReader, path: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return all rows of a reader; MemoryError once they take more than the limit at the start."""
    n_rows, limit = reader.shape[0], memory_limit()
    pieces, n_bytes = [], _POINTER_BYTES * n_rows
    _require_memory(n_bytes, limit, path)
    for X, Y in reader:
        pieces.append((X, Y))
        # a value and an index of each entry, of 4 bytes
        n_bytes += 8 * (X.nnz + Y.nnz)
        _require_memory(n_bytes, limit, path)
    return _stacked(pieces)


def _require_memory(n_bytes: int, limit: int | None, path: str) -> None:
    """Raise MemoryError if X and Y take more than the limit."""
    if limit is not None and n_bytes > limit:
        raise MemoryError(
            f"{path}: X and Y would take more than {n_bytes / 1e9:.3g} GB, the limit is "
            f"{limit / 1e9:.3g} GB ({VARIABLE}); read the file in batches (iter_xc), or to a "
            "folder (to=...)"
        )


def dump_xc(path: str | os.PathLike, X: MatrixLike, Y: LabelsLike) -> None:
    """Write features and labels to a file in the XC text format.

    Every value is written with the fewest digits that identify it among the float32 numbers, so
    `load_xc` gives back the same bits.

    Parameters
    ----------
    path : str or path-like
        The file to write; an existing one is replaced. The ending ``.gz``, ``.bz2`` or ``.xz``
        asks for compression.
    X : {array-like, sparse matrix or array} of shape (N, D)
        Features, rounded to float32. Stored entries of a sparse `X` are written even where they
        are 0; duplicates are added up first.
    Y : {array-like, sparse matrix or array} of shape (N, K)
        Label indicator with entries 0 and 1 (or False and True).

    Raises
    ------
    ValueError
        If `X` and `Y` differ in their number of samples, if either is not two-dimensional, if `X`
        has a value that is not finite in float32, or if `Y` has an entry other than 0 and 1.

    See Also
    --------
    load_xc : Read such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_xc.datasets import dump_xc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.txt")
    ...     dump_xc(path, X=[[0, 0.5], [1, 0]], Y=[[1, 1, 0], [0, 0, 0]])
    ...     print(path.read_text(), end="")
    2 2 3
    0,1 1:0.5
     0:1
    """
    X, Y = _features_to_write(X), _labels_to_write(Y)
    if X.shape[0] != Y.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} samples and Y has {Y.shape[0]}; they must have as many"
        )
    path = fsdecode(path)
    folder, name = os.path.split(os.path.abspath(path))
    # a pipe, which cannot be replaced
    if os.path.exists(path) and not os.path.isfile(path):
        _write(path, X, Y)
        return
    # Written next to it and renamed: an old file stays whole until the new one is.
    beside = os.path.join(folder, f".{secrets.token_hex(4)}.{name[-60:]}")  # the ending stays
    try:
        _write(beside, X, Y)
        os.replace(beside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def _write(path: str, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
    """Write a file, piece by piece, since its text is larger than X and Y."""
    with open_text(path, "wb") as stream:
        stream.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        for start in range(0, X.shape[0], _ROWS_PER_WRITE):
            rows = slice(start, start + _ROWS_PER_WRITE)
            stream.write(_rows_as_text(X[rows], Y[rows]).encode())


def _features_to_write(X: MatrixLike) -> sp.csr_matrix:
    """Return features in float32, which a reader makes of them as well."""
    X = _own_csr(X, "X")
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    if not np.isfinite(X.data).all():
        raise ValueError("X has NaN, infinite or too large values; the format holds finite float32")
    return X


def _labels_to_write(Y: LabelsLike) -> sp.csr_matrix:
    """Return an indicator whose stored entries are all 1."""
    Y = _own_csr(Y, "Y")
    odd = Y.data[(Y.data != 0) & (Y.data != 1)]
    if len(odd):
        raise ValueError(f"Y must be a label indicator of entries 0 and 1, it has {odd[0]}")
    Y.eliminate_zeros()
    return Y


def _own_csr(matrix: MatrixLike, name: str) -> sp.csr_matrix:
    """Return a copy in CSR form, sorted and without duplicates: the caller's arrays stay as they
    are.
    """
    matrix = checked(matrix, name) if sp.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional, it has shape {matrix.shape}")
    matrix = sp.csr_matrix(matrix, copy=True)
    matrix.sum_duplicates()
    return matrix


def _rows_as_text(X: sp.csr_matrix, Y: sp.csr_matrix) -> str:
    """Return the lines of some rows."""
    # The text of a float32 scalar is the shortest that identifies it.
    pairs = [
        f"{feature}:{str(value).removesuffix('.0')}"
        for feature, value in zip(X.indices.tolist(), X.data, strict=True)
    ]
    labels = list(map(str, Y.indices.tolist()))
    lines = []
    for row in range(X.shape[0]):
        row_labels = ",".join(labels[Y.indptr[row] : Y.indptr[row + 1]])
        row_pairs = pairs[X.indptr[row] : X.indptr[row + 1]]
        lines.append(" ".join([row_labels, *row_pairs]) + "\n")
    return "".join(lines)
