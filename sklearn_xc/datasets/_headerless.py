"""Files of rows without a header, as LIBSVM has them for several labels a row."""

import re

import numpy as np

from ._xc_reader import XCReader, open_text

_AT_ONCE = 1 << 20
_FEATURE = re.compile(rb"(?<=[ \t])([0-9]{1,10}):")
_LABELS = re.compile(rb"^([0-9,]+)", re.MULTILINE)


class HeaderlessReader(XCReader):
    """Rows of a file whose header is found by a pass over it.

    `first_feature` is the smallest number of a feature: 1 where they count from 1.
    """

    def __init__(self, path: str) -> None:
        sizes, self.first_feature = _sizes(path)
        super().__init__(path, header=sizes)

    def _error(self, row: int | np.integer, message: str) -> ValueError:
        """Return the error about a row, the first of which stands on line 1."""
        return ValueError(f"{self._path}, line {row + 1}: {message}")


def _sizes(path: str) -> tuple[tuple[int, int, int], int]:
    """Return rows, features and labels of a file, and its smallest feature."""
    n_rows, last_feature, last_label, first_feature = 0, -1, -1, None
    rest = b""
    with open_text(path, "rb") as stream:
        # a piece may end inside of a line, whose beginning is put before the next piece
        while chunk := stream.read(_AT_ONCE):
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            text = whole + newline
            n_rows += text.count(b"\n")
            last_feature, last_label, first_feature = _counted(
                text, last_feature, last_label, first_feature
            )
    # a last line without a newline
    n_rows += bool(rest)
    last_feature, last_label, first_feature = _counted(
        rest, last_feature, last_label, first_feature
    )
    if not n_rows:
        raise ValueError(f"{path} is empty")
    largest = np.iinfo(np.int32).max
    if max(last_feature, last_label) >= largest:
        raise ValueError(
            f"{path}: a feature or label of {max(last_feature, last_label)} is too large, indices "
            f"of 32 bits allow {largest}"
        )
    return (n_rows, last_feature + 1, last_label + 1), first_feature or 0


def _counted(
    text: bytes, last_feature: int, last_label: int, first_feature: int | None
) -> tuple[int, int, int | None]:
    """Return the largest feature and label and the smallest feature, with those of some lines."""
    features = list(map(int, _FEATURE.findall(text)))
    labels = [int(one) for many in _LABELS.findall(text) for one in many.split(b",") if one]
    if features:
        last_feature = max(last_feature, max(features))
        smallest = min(features)
        first_feature = smallest if first_feature is None else min(first_feature, smallest)
    return last_feature, max([last_label, *labels]), first_feature
