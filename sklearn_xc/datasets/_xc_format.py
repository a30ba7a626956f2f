"""Reading and writing the text format of the extreme classification repository."""

import bz2
import gzip
import lzma
import re
import zlib
from fractions import Fraction
from os import fsdecode

import numpy as np
import scipy.sparse as sp

from .._kernels.datasets._xc_format import Problem, parse_rows
from ..utils._memory_limit import VARIABLE, memory_limit
from ..utils._sparse import checked
from ._single_label import INDICATOR_DTYPE

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_CHUNK_BYTES = 1 << 20
_BYTES_OF_AN_ENTRY = 64  # of text: the feature, a colon, the value, a blank
_POINTER_BYTES = 32  # a row, in X, Y and the pieces they are made of
_ROWS_PER_WRITE = 4096
_LARGEST_INDEX = np.iinfo(np.int32).max

_EXPLANATIONS = {
    Problem.LABEL: "{token} is not a list of labels such as 3 or 3,17 (a row without labels "
    "starts with a space)",
    Problem.LABEL_RANGE: "a label of {token} is out of range, the header allows 0 to {last_class}",
    Problem.INDEX: "{token} is not a pair feature:value with a whole number as feature",
    Problem.INDEX_RANGE: "the feature of {token} is out of range, the header allows 0 to "
    "{last_feature}",
    Problem.COLON: "{token} has no colon, expected feature:value",
    Problem.VALUE: "the value of {token} is not a decimal number",
    Problem.TOO_LONG: "the value of {token} has more than 100 characters",
}


def load_xc(path):
    """Load features and labels from a file in the XC text format.

    The first line is the header ``N D K``: the numbers of rows, features and labels. Every other
    line is one row, ``l1,l2,... f:v f:v ...``, with labels and features counted from 0. A row
    without labels starts with a space, a row without features ends after its labels, and an empty
    line is a row that has neither.

    The file is read in pieces of about one megabyte, so the memory needed is that of the result,
    twice over while its pieces are joined.

    Parameters
    ----------
    path : str or path-like
        The file. The ending ``.gz``, ``.bz2`` or ``.xz`` says that it is compressed.

    Returns
    -------
    X : csr_matrix of shape (N, D), dtype float32
        Features. Column indices are int32, sorted and without duplicates: the values of a feature
        that a row names more than once are added up. A value written as 0 stays a stored entry.
        Every value is the float32 nearest to the decimal number in the file.
    Y : csr_matrix of shape (N, K), dtype int32
        Label indicator. All stored entries are 1; a label that a row names twice counts once. Of 32
        bits and with a sign, so that ``Y.T @ Y`` and ``-Y.sum(axis=0)`` are what they look like.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the content is not in this format: a header other than three whole numbers, an index
        outside the header's D or K, a value that is missing, not a number, not finite in float32
        or longer than 100 characters, more or fewer rows than N, or damaged compressed data. The
        message names the file, the line and the offending text.

    See Also
    --------
    dump_xc : Write such a file.
    first_label : Turn ``Y`` into one label a row.

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
    with _open(path, "rb") as stream:
        lines = _Lines(stream, path)
        pieces = lines.pieces()
        text = next(pieces, b"")
        header, _, text = text.partition(b"\n")
        rows = _Rows(path, *_read_header(header, path))
        lines.longest = rows.longest_line()
        rows.add(text)
        for text in pieces:
            rows.add(text)
    return rows.finish()


def dump_xc(path, X, Y):
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
        If `X` and `Y` differ in their number of rows, if either is not two-dimensional, if `X` has
        a value that is not finite in float32, or if `Y` has an entry other than 0 and 1.

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
        raise ValueError(f"X has {X.shape[0]} rows and Y has {Y.shape[0]}; they must have as many")
    with _open(fsdecode(path), "wb") as stream:
        stream.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        for start in range(0, X.shape[0], _ROWS_PER_WRITE):
            rows = slice(start, start + _ROWS_PER_WRITE)
            stream.write(_rows_as_text(X[rows], Y[rows]).encode())


def _open(path, mode):
    ending = next((ending for ending in _OPENERS if path.endswith(ending)), None)
    return _OPENERS.get(ending, open)(path, mode)


class _Lines:
    """The lines of a stream, of which none may be longer than `longest` and a megabyte."""

    longest = 0  # until the header is known

    def __init__(self, stream, path):
        self._stream, self._path = stream, path

    def pieces(self):
        """Yield pieces of whole lines; the last line gets a newline if it has none."""
        unfinished, length = [], 0
        while chunk := _read(self._stream, self._path):
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield b"".join([*unfinished, whole, newline])
                unfinished, length = [], 0
            unfinished.append(rest)
            length += len(rest)
            if length > self.longest + _CHUNK_BYTES:  # a few bytes may unpack to any number
                raise ValueError(
                    f"{self._path}: a line has more than {length - 1} bytes and begins with "
                    f"{_shown(unfinished[0])}; this is no file in the XC format, or the header's "
                    "D and K are not its own"
                )
        if last_line := b"".join(unfinished):
            yield last_line + b"\n"


def _read(stream, path):
    try:
        return stream.read(_CHUNK_BYTES)
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path}: damaged or truncated compressed data ({error})") from error
    except OSError as error:
        if error.errno is not None:  # a failing disk, not the content
            raise
        raise ValueError(f"{path}: damaged compressed data ({error})") from error


def _read_header(header, path):
    fields = header.split()
    if not header:
        raise ValueError(f"{path}, line 1: expected the header 'N D K', found nothing")
    if len(fields) != 3 or not all(re.fullmatch(rb"[0-9]{1,18}", field) for field in fields):
        raise ValueError(
            f"{path}, line 1: expected the header 'N D K' of three whole numbers, found "
            f"{_shown(header)}"
        )
    n_rows, n_features, n_classes = map(int, fields)
    for name, size in [("D", n_features), ("K", n_classes)]:
        if size > _LARGEST_INDEX:
            raise ValueError(
                f"{path}, line 1: {name}={size} is too large, indices of 32 bits allow "
                f"{_LARGEST_INDEX}"
            )
    return n_rows, n_features, n_classes


def _shown(text):
    """Bytes of a file as they can stand in a message: on one line and of bearable length."""
    shown = repr(text[:60].decode("ascii", "backslashreplace")).replace("\\\\x", "\\x")
    return shown if len(text) <= 60 else f"{shown}..."


class _Rows:
    """The rows of a file, parsed piece by piece."""

    def __init__(self, path, n_rows, n_features, n_classes):
        self.path = path
        self.shape = n_rows, n_features, n_classes
        self.n_read = self.n_bytes = 0
        self.limit = memory_limit()
        self.require_memory(_POINTER_BYTES * n_rows)
        self.feature_counts, self.features, self.values = [], [], []
        self.label_counts, self.labels = [], []

    def longest_line(self):
        """Bytes of a row with every feature and label, each value in some thirty digits."""
        return _BYTES_OF_AN_ENTRY * (self.shape[1] + self.shape[2])

    def require_memory(self, n_bytes):
        """Refuse arrays that are larger than the limit on memory was at the start."""
        self.n_bytes += n_bytes
        if self.limit is not None and self.n_bytes > self.limit:
            raise MemoryError(
                f"{self.path}: X and Y would take more than {self.n_bytes / 1e9:.3g} GB, the limit "
                f"is {self.limit / 1e9:.3g} GB ({VARIABLE}); read the file in parts"
            )

    def add(self, text):
        """Parse the whole lines in `text`."""
        n_rows, n_features, n_classes = self.shape
        n_lines, n_pairs = text.count(b"\n"), text.count(b":")
        feature_ptr, label_ptr = np.empty((2, n_lines + 1), np.int64)
        features = np.empty(n_pairs, np.int32)
        values = np.empty(n_pairs, np.float32)
        inexact = np.empty(n_pairs, np.int64)
        labels = np.empty(n_lines + text.count(b","), np.int32)
        n_parsed, n_inexact, problem, at = parse_rows(
            text, n_features, n_classes, feature_ptr, features, values, label_ptr, labels, inexact
        )
        if self.n_read + n_parsed > n_rows:
            line = text.split(b"\n", n_rows - self.n_read + 1)[n_rows - self.n_read]
            raise self.error(
                n_rows, f"the header says N={n_rows} rows, here is another: {_shown(line)}"
            )
        if problem:
            token = re.compile(rb"[^ \t\r\n]*").match(text, at)[0] or text[at : at + 1]
            raise self.error(
                self.n_read + n_parsed,
                _EXPLANATIONS[problem].format(
                    token=_shown(token), last_feature=n_features - 1, last_class=n_classes - 1
                ),
            )
        entries = np.flatnonzero(np.isnan(values))
        for entry, start in zip(entries, inexact[:n_inexact], strict=True):
            number = re.compile(rb"[^ \t\r\n]*").match(text, start)[0]
            values[entry] = self.exact_value(number, feature_ptr, entry)
        self.feature_counts.append(np.diff(feature_ptr))
        self.label_counts.append(np.diff(label_ptr))
        self.features.append(features)
        self.values.append(values)
        self.labels.append(labels[: label_ptr[-1]])
        self.require_memory(features.nbytes + values.nbytes + 2 * self.labels[-1].nbytes)
        self.n_read += n_parsed

    def exact_value(self, number, feature_ptr, entry):
        value = _nearest_float32(number.decode())
        if np.isinf(value):
            row = self.n_read + np.searchsorted(feature_ptr, entry, side="right") - 1
            raise self.error(row, f"the value {_shown(number)} is too large for float32")
        return value

    def error(self, row, message):
        """The error about a row; the header is line 1, so row 0 stands on line 2."""
        return ValueError(f"{self.path}, line {row + 2}: {message}")

    def finish(self):
        """Join the pieces."""
        n_rows, n_features, n_classes = self.shape
        if self.n_read < n_rows:
            raise self.error(
                self.n_read,
                f"the file ends after {self.n_read} rows, the header says N={n_rows} (truncated?)",
            )
        X = _csr(self.values, self.features, self.feature_counts, (n_rows, n_features))
        n_values = X.nnz
        X.sum_duplicates()
        if X.nnz < n_values and not np.isfinite(X.data).all():
            row = np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], "right") - 1
            raise self.error(row, "values of one feature add up to more than float32 can hold")
        ones = [np.ones(len(piece), INDICATOR_DTYPE) for piece in self.labels]
        Y = _csr(ones, self.labels, self.label_counts, (n_rows, n_classes))
        Y.sum_duplicates()
        Y.data[:] = 1
        return X, Y


def _csr(data, indices, counts, shape):
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.concatenate(counts), out=indptr[1:])
    return sp.csr_matrix((np.concatenate(data), np.concatenate(indices), indptr), shape=shape)


def _nearest_float32(number):
    """Round a decimal number to float32 once, where rounding to float64 first could go wrong."""
    value = float(number)
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(value)
        neighbours = [np.nextafter(nearest, np.float32(side)) for side in (-np.inf, np.inf)]
    if value == 0 or np.isinf(nearest):
        return nearest
    exact = Fraction(number)
    candidates = [nearest, *filter(np.isfinite, neighbours)]
    return min(candidates, key=lambda value: abs(Fraction(float(value)) - exact))


def _features_to_write(X):
    X = _own_csr(X, "X")
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    if not np.isfinite(X.data).all():
        raise ValueError("X has NaN, infinite or too large values; the format holds finite float32")
    return X


def _labels_to_write(Y):
    Y = _own_csr(Y, "Y")
    odd = Y.data[(Y.data != 0) & (Y.data != 1)]
    if len(odd):
        raise ValueError(f"Y must be a label indicator of entries 0 and 1, it has {odd[0]}")
    Y.eliminate_zeros()
    return Y


def _own_csr(matrix, name):
    """A copy in CSR form, sorted and without duplicates: the caller's arrays stay as they are."""
    matrix = checked(matrix, name) if sp.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional, it has shape {matrix.shape}")
    matrix = sp.csr_matrix(matrix, copy=True)
    matrix.sum_duplicates()
    return matrix


def _rows_as_text(X, Y):
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
