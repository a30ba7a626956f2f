"""Reading the XC text format: from bytes to pieces of rows."""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import IO, Any, Self

import numpy as np
import scipy.sparse as sp

from .._kernels.datasets._xc_format import Problem, parse_rows
from ._single_label import INDICATOR_DTYPE

_OPENERS: dict[str, Callable[..., IO]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PIECE_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # that some editors put before a text
_BYTES_OF_AN_ENTRY = 64  # of text: the feature, a colon, the value, a blank
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


def open_text(path: str, mode: str) -> IO:
    """Open a file whose ending may say that it is compressed."""
    opener = next((one for ending, one in _OPENERS.items() if path.lower().endswith(ending)), open)
    return opener(path, mode)


class _Lines:
    """Lines of a stream, none of which may be longer than `longest` and a piece."""

    # until the header is known, which then says how long a row can be
    longest = 0

    def __init__(self, stream: IO[bytes], path: str, piece_bytes: int) -> None:
        self._stream, self._path, self._piece_bytes = stream, path, piece_bytes

    def pieces(self) -> Iterator[bytes]:
        """Yield pieces of whole lines; the last line gets a newline if it has none."""
        unfinished, length = [], 0
        while chunk := _read(self._stream, self._path, self._piece_bytes):
            # pieces are joined once a newline comes, not at each piece: linear for any line
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield b"".join([*unfinished, whole, newline])
                unfinished, length = [], 0
            unfinished.append(rest)
            length += len(rest)
            # a few bytes of a compressed file may unpack to any number
            if length > self.longest + self._piece_bytes:
                raise ValueError(
                    f"{self._path}: a line has more than {length - 1} bytes and begins with "
                    f"{_shown(unfinished[0])}; this is no file in the XC format, or the header's "
                    "D and K are not its own"
                )
        if last_line := b"".join(unfinished):
            yield last_line + b"\n"


def _read(stream: IO[bytes], path: str, n_bytes: int) -> bytes:
    """Read bytes; ValueError, which names the file, for compressed data that are damaged."""
    try:
        return stream.read(n_bytes)
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path}: damaged or truncated compressed data ({error})") from error
    except OSError as error:
        # gzip and bz2 raise OSError too, with no number; with one, a disk fails
        if error.errno is not None:
            raise
        raise ValueError(f"{path}: damaged compressed data ({error})") from error


def _read_header(header: bytes, path: str) -> tuple[int, int, int]:
    """Return N, D and K of the first line."""
    # up to 18 digits, which fit into 64 bits
    fields = header.removeprefix(BYTE_ORDER_MARK).split()
    if not header:
        raise ValueError(f"{path}, line 1: expected the header 'N D K', found nothing")
    if len(fields) != 3 or not all(re.fullmatch(rb"[0-9]{1,18}", field) for field in fields):
        raise ValueError(
            f"{path}, line 1: expected the header 'N D K' of three whole numbers, found "
            f"{_shown(header)}; load_xc(path, header=False) reads files without one, as LIBSVM has "
            "them"
        )
    n_rows, n_features, n_classes = map(int, fields)
    for name, size in [("D", n_features), ("K", n_classes)]:
        if size > _LARGEST_INDEX:
            raise ValueError(
                f"{path}, line 1: {name}={size} is too large, indices of 32 bits allow "
                f"{_LARGEST_INDEX}"
            )
    return n_rows, n_features, n_classes


def _shown(text: bytes) -> str:
    """Return bytes of a file as they can stand in a message: on one line and of bearable length."""
    shown = repr(text[:60].decode("ascii", "backslashreplace")).replace("\\\\x", "\\x")
    return shown if len(text) <= 60 else f"{shown}..."


class XCReader:
    """Rows of a file in the XC format, piece by piece; raises the errors of `load_xc`.

    About `piece_bytes` of text are parsed at a time, or a single line that is longer. `header`
    replaces the first line; ``shape`` is (N, D, K) as the header says.
    """

    def __init__(
        self,
        path: str,
        piece_bytes: int = PIECE_BYTES,
        *,
        header: tuple[int, int, int] | None = None,
    ) -> None:
        self._path = path
        self._stream = open_text(path, "rb")
        try:
            lines = _Lines(self._stream, path, piece_bytes)
            self._texts = lines.pieces()
            self._rest = next(self._texts, b"")
            if header is None:
                first, _, self._rest = self._rest.partition(b"\n")
                header = _read_header(first, path)
            self.shape = header
        except BaseException:
            self._stream.close()
            raise
        # a row with every feature and label, each value in some thirty digits
        lines.longest = _BYTES_OF_AN_ENTRY * (self.shape[1] + self.shape[2])
        self._n_read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
        """Yield (X, Y) of the next rows, as `load_xc` returns those of all; perhaps of none."""
        yield self._parse(self._rest)
        for text in self._texts:
            yield self._parse(text)
        if self._n_read < self.shape[0]:
            raise self._error(
                self._n_read,
                f"the file ends after {self._n_read} rows, the header says N={self.shape[0]} "
                "(truncated?)",
            )

    def _parse(self, text: bytes) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return the rows of whole lines."""
        n_rows, n_features, n_classes = self.shape
        # Arrays for all that the text can hold: each pair has a colon, each label a comma or the
        # end of a row behind it. The kernel relies on it, and writes no further.
        n_lines, n_pairs = text.count(b"\n"), text.count(b":")
        feature_ptr, label_ptr = np.empty((2, n_lines + 1), np.int64)
        features = np.empty(n_pairs, np.int32)
        values = np.empty(n_pairs, np.float32)
        inexact = np.empty(n_pairs, np.int64)
        labels = np.empty(n_lines + text.count(b","), np.int32)
        n_parsed, n_inexact, problem, at = parse_rows(
            text, n_features, n_classes, feature_ptr, features, values, label_ptr, labels, inexact
        )
        if self._n_read + n_parsed > n_rows:
            line = text.split(b"\n", n_rows - self._n_read + 1)[n_rows - self._n_read]
            raise self._error(
                n_rows, f"the header says N={n_rows} rows, here is another: {_shown(line)}"
            )
        if problem:
            token = re.compile(rb"[^ \t\r\n]*").match(text, at)[0] or text[at : at + 1]
            raise self._error(
                self._n_read + n_parsed,
                _EXPLANATIONS[problem].format(
                    token=_shown(token), last_feature=n_features - 1, last_class=n_classes - 1
                ),
            )
        # values whose rounding takes exact arithmetic, which are few
        entries = np.flatnonzero(np.isnan(values))
        for entry, start in zip(entries, inexact[:n_inexact], strict=True):
            number = re.compile(rb"[^ \t\r\n]*").match(text, start)[0]
            values[entry] = self._exact_value(number, feature_ptr, entry)
        X = self._features((values, features, feature_ptr), n_parsed)
        labels = labels[: label_ptr[-1]]
        ones = np.ones(len(labels), INDICATOR_DTYPE)
        Y = sp.csr_matrix((ones, labels, label_ptr), shape=(n_parsed, n_classes))
        Y.sum_duplicates()
        Y.data[:] = 1
        self._n_read += n_parsed
        return X, Y

    def _features(
        self, parts: tuple[np.ndarray, np.ndarray, np.ndarray], n_parsed: int
    ) -> sp.csr_matrix:
        """Return the features of rows, with the values of a repeated feature added up."""
        X = sp.csr_matrix(parts, shape=(n_parsed, self.shape[1]))
        n_values = X.nnz
        X.sum_duplicates()
        if X.nnz < n_values and not np.isfinite(X.data).all():
            row = np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], "right") - 1
            raise self._error(
                self._n_read + row, "values of one feature add up to more than float32 can hold"
            )
        return X

    def _exact_value(self, number: bytes, feature_ptr: np.ndarray, entry: np.integer) -> np.float32:
        """Return the float32 nearest to a number, by exact arithmetic."""
        value = _nearest_float32(number.decode())
        if np.isinf(value):
            row = self._n_read + np.searchsorted(feature_ptr, entry, side="right") - 1
            raise self._error(row, f"the value {_shown(number)} is too large for float32")
        return value

    def _error(self, row: int | np.integer, message: str) -> ValueError:
        """Return the error about a row; the header is line 1, so row 0 stands on line 2."""
        return ValueError(f"{self._path}, line {row + 2}: {message}")


def _nearest_float32(number: str) -> np.float32:
    """Round a decimal number to float32 once, where rounding to float64 first could go wrong."""
    # Rounded twice, it is at most one float32 away: the nearest of three, by exact fractions.
    value = float(number)
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(value)
        neighbours = [np.nextafter(nearest, np.float32(side)) for side in (-np.inf, np.inf)]
    if value == 0 or np.isinf(nearest):
        return nearest
    exact = Fraction(number)
    candidates = [nearest, *filter(np.isfinite, neighbours)]
    return min(candidates, key=lambda value: abs(Fraction(float(value)) - exact))
