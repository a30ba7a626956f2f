"""Samples of a file for training: labels in memory, texts read again for each pass."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..utils._unwrap import find_inner
from ._text_rows import Row, TextColumns, format_of, read
from ._xc_format import iter_xc, load_headerless, load_xc

AT_ONCE = 1024  # samples that are predicted together
NUMBERS = "xc", "libsvm"  # formats of features
FROM = "features from"  # name of a note of a model file: the number that features count from


def batches(samples: Iterable, size: int = AT_ONCE) -> Iterator[list]:
    """Yield lists of `size` samples, and a last one of those left over."""
    leftover = []
    for sample in samples:
        leftover.append(sample)
        if len(leftover) == size:
            yield leftover
            leftover = []
    if leftover:
        yield leftover


class Numbers(NamedTuple):
    """Form of a file of features: "xc" or "libsvm", and of the latter the model's columns."""

    kind: str
    first: int
    n_features: int


def numbers_of(
    path: str, columns: TextColumns, notes: dict[str, Any], model: Any
) -> Numbers | None:
    """Return the form of a file of features that a model takes as they are; None for texts.

    `notes` are those of the model's file.
    """
    inner = find_inner(model, "predict_topk")
    steps = [*inner.transformers, inner.estimator]
    texts = any(hasattr(step, "analyzer") or hasattr(step, "vectorizer_") for step in steps)
    if texts or "columns" in notes or path == "-":
        return None
    kind, first = format_of(path, columns), notes.get(FROM)
    if kind == "libsvm" and first is None:
        raise ValueError(
            f"{path} has no header, and the model was not trained on such a file: write the line "
            "'samples features labels' first, and count features from 0"
        )
    if kind not in NUMBERS:
        return None
    return Numbers(kind, first or 0, getattr(model, "n_features_in_", 0))


def parts_of(
    path: str,
    columns: TextColumns,
    numbers: Numbers | None,
    size: int = AT_ONCE,
    only_labelled: bool = False,
) -> Iterator[tuple[list[int], Any, list[list]]]:
    """Yield lines, texts or features, and labels of the samples of a file, `size` at a time."""
    if numbers is None:
        rows = (row for row in read(path, columns) if row.labels or not only_labelled)
        for batch in batches(rows, size):
            yield tuple(map(list, zip(*batch, strict=True)))
        return
    line = 2 if numbers.kind == "xc" else 1  # after the header
    for X, Y in iter_xc(path, size) if line == 2 else _headerless(path, numbers, size):
        kept = np.flatnonzero(np.diff(Y.indptr)) if only_labelled else np.arange(X.shape[0])
        if len(kept):
            yield (kept + line).tolist(), X[kept], lists_of(Y[kept])
        line += X.shape[0]


def _headerless(
    path: str, numbers: Numbers, size: int
) -> Iterator[tuple[sparse.csr_matrix, sparse.csr_matrix]]:
    """Yield features and labels of a file without a header, which is read as a whole."""
    X, Y, _ = load_headerless(path, numbers.first, numbers.n_features)
    for start in range(0, X.shape[0], size):
        yield X[start : start + size], Y[start : start + size]


def lists_of(Y: sparse.csr_matrix) -> list[list[int]]:
    """Return the labels of each row of an indicator."""
    return [one.tolist() for one in np.split(Y.indices, Y.indptr[1:-1])]


def indicator_of(labels: list[list], names: Collection[str]) -> sparse.csr_array:
    """Return the indicator of lists of labels; labels that are none of the names are left out."""
    places = {name: place for place, name in enumerate(names)}
    found = [[places[one] for one in some if one in places] for some in labels]
    indptr = np.cumsum([0, *map(len, found)])
    indices = np.fromiter((place for one in found for place in sorted(one)), np.int32, indptr[-1])
    ones = np.ones(len(indices), dtype=np.int8)
    return sparse.csr_array((ones, indices, indptr), shape=(len(labels), len(names)))


def labels_of_one(rows: list[Row], path: str) -> np.ndarray:
    """Return the labels of samples that must have one each."""
    if several := next((row for row in rows if len(row.labels) > 1), None):
        raise ValueError(
            f"{path}, line {several.line} has several labels, and samples of the model have one: "
            "train again"
        )
    return np.array([row.labels[0] for row in rows], dtype=object)


def texts_of_labels(path: str) -> dict[str, list[str]]:
    """Return the texts of labels in a table with the columns label and text, one a line."""
    found = {}
    for row in read(path, TextColumns(["text"], "label")):
        for label in row.labels:
            found.setdefault(label, []).append(row.text)
    if not found:
        raise ValueError(f"{path} has no texts of labels")
    return found


def held_out(n: int, share: float, seed: int) -> np.ndarray:
    """Return the numbers of the samples to measure with, ascending."""
    # one to measure with, and two to train with, of two classes
    if n < 3:
        raise ValueError(f"{n} samples with labels are too few; at least 3 are needed")
    return np.sort(np.random.default_rng(seed).permutation(n)[: max(1, round(share * n))])


class TextSamples:
    """Samples with labels of a file of texts, which are read again in each pass.

    ``seen(n)`` is called for each row of the first pass. `texts_of` has the texts of labels, of
    which some may have no sample.

    Attributes
    ----------
    n, n_empty : int
        Samples with labels, and without, which are left out.
    labels : list of list of str
    y : ndarray of str or csr_array
        One label a sample where no separator is given and each has one, else an indicator.
    names, classes : ndarray of str or None
        Of the columns of the indicator, or all classes; the other is None.
    """

    def __init__(
        self,
        path: str,
        columns: TextColumns,
        seen: Callable[[int], None],
        texts_of: dict[str, list[str]] | None = None,
    ) -> None:
        self.texts_of = texts_of or {}
        self._path, self._columns = path, columns
        # Of a text only a hash stays, to tell copies by: the texts may be larger than memory.
        self.labels, self._hashes, self.n_empty = [], [], 0
        for number, row in enumerate(read(path, columns), 1):
            seen(number)
            self.n_empty += not row.labels
            if row.labels:
                self.labels.append(row.labels)
                self._hashes.append(hash(row.text))
        if not self.labels:
            raise ValueError(f"{path} has no samples with labels")
        self.n, self.names, self.classes = len(self.labels), None, None
        # labels with texts alone are classes too: estimators that read texts of labels predict them
        known = sorted({one for some in self.labels for one in some} | self.texts_of.keys())
        if columns.separator is None and all(len(some) == 1 for some in self.labels):
            self.y = np.array([one for (one,) in self.labels], dtype=object)
            self.classes = np.array(known, dtype=object)
        else:
            self.y, self.names = indicator_of(self.labels, known), np.array(known, dtype=object)
        self.n_labels = len(known)

    def rows(self, places: np.ndarray) -> Iterator[str]:
        """Yield the texts of some samples, which are ascending numbers."""
        # `number` counts samples with labels, which `places` number; the file has others between
        wanted, number = iter(places.tolist()), -1
        following = next(wanted, None)
        for row in read(self._path, self._columns):
            number += bool(row.labels)
            if row.labels and number == following:
                yield row.text
                following = next(wanted, None)

    def notes(self) -> dict[str, Any]:
        """Return the notes of a model file on the form of this file."""
        return {"columns": self._columns.notes()}

    def labels_of(self, places: np.ndarray) -> np.ndarray | list[list[str]]:
        """Return the labels of some samples, one each or lists of several."""
        if self.names is None:
            return self.y[places]
        return [self.labels[i] for i in places.tolist()]

    def parts(self, places: np.ndarray) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Yield texts and labels of some samples."""
        some = ((text, self.labels[i]) for text, i in zip(self.rows(places), places, strict=True))
        for batch in batches(some):
            yield tuple(map(list, zip(*batch, strict=True)))

    def share_of_copies(self, places: np.ndarray) -> float:
        """Return the share of some samples whose texts are those of others too."""
        outside = set(places.tolist())
        known = {value for i, value in enumerate(self._hashes) if i not in outside}
        return float(np.mean([self._hashes[i] in known for i in places]))


class NumberSamples:
    """Samples of a file of features and labels that are numbers.

    `header` is that of `load_xc`. With a folder `scratch` they are put there and mapped. `first` is
    the number that features count from, in files without a header.
    """

    names, classes, texts_of, n_empty, first = None, None, None, 0, None

    def __init__(self, path: str, header: bool, scratch: str | None) -> None:
        to = None
        if scratch is not None and header:
            # removed with the samples, whose mapped arrays need the files until then
            to = tempfile.mkdtemp(dir=scratch)
            weakref.finalize(self, shutil.rmtree, to, ignore_errors=True)
        if header:
            self.X, self.y = load_xc(path, to=to)
        else:
            self.X, self.y, self.first = load_headerless(path)
        self.n, self.n_labels = self.y.shape

    def notes(self) -> dict[str, Any]:
        """Return the notes of a model file on the form of this file."""
        return {} if self.first is None else {FROM: self.first}

    def rows(self, places: np.ndarray) -> sparse.csr_matrix:
        """Return the features of some samples, as they lie there if these are all."""
        return self.X if len(places) == self.n else self.X[places]

    def parts(self, places: np.ndarray) -> Iterator[tuple[sparse.csr_matrix, list[list[int]]]]:
        """Yield features and labels of some samples."""
        for start in range(0, len(places), AT_ONCE):
            some = places[start : start + AT_ONCE]
            yield self.X[some], lists_of(self.y[some])

    def share_of_copies(self, places: np.ndarray) -> float:
        """Return 0: rows of numbers are not compared."""
        return 0.0
