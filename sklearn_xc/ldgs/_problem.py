"""The data of one call of LDGS, and what is computed of them."""

from typing import NamedTuple

import numpy as np

from ..utils._csr import stretches
from ..utils._rows import Rows
from ._candidate_gradients import Positives

ENTRIES_AT_ONCE = 2**20


class Problem(NamedTuple):
    """Data of one call of fit or partial_fit.

    Attributes
    ----------
    rows : Rows
    positives : Positives
    sample_weight : ndarray of float32 (n_samples,), or None
    held_out : ndarray of bool (n_samples,)
    n_classes : int
    multilabel : bool
    whole : bool
        Whether this is a fit, or a part of what `partial_fit` is given.
    n_texts : int
        How many of the last rows are texts of labels; of a part not known, and 0.
    """

    rows: Rows
    positives: Positives
    sample_weight: np.ndarray | None
    held_out: np.ndarray
    n_classes: int
    multilabel: bool
    whole: bool
    n_texts: int = 0

    @classmethod
    def of(cls, model, rows, positives, sample_weight, held_out=None, n_texts=0):
        """The problem of an estimator whose classes are known; a part where none are held out."""
        whole, n_classes = held_out is not None, len(model.classes_)
        if held_out is None:
            held_out = np.zeros(rows.shape[0], dtype=bool)
        multilabel = model._encoding.kind == "multilabel"
        return cls(rows, positives, sample_weight, held_out, n_classes, multilabel, whole, n_texts)

    def visited(self):
        """The samples to train on."""
        weight = self.sample_weight
        counted = ~self.held_out if weight is None else ~self.held_out & (weight > 0)
        return np.flatnonzero(counted)

    def samples(self, rows):
        """Those of the numbers of rows that are not of texts."""
        return rows[rows < self.rows.shape[0] - self.n_texts]

    def in_form(self, form):
        """With rows as steps of this form take them: sparse by features, dense by columns."""
        rows = self.rows
        if form == "features":
            rows = rows.as_sparse()
        return self._replace(rows=rows.as_dense() if form == "columns" else rows)

    def lengths(self):
        """The lengths of all rows, float64 (n_samples,)."""
        if self.rows.dense:
            return np.sqrt(self.rows.squared_norms())
        indptr, lengths = self.rows.indptr, np.zeros(self.rows.shape[0])
        for some, entries in stretches(indptr):
            squares = np.square(self.rows.data[entries], dtype=np.float64)
            # row by row, not by differences of running sums, which round off beside one long row
            n = some.stop - some.start
            of_row = np.repeat(np.arange(n), np.diff(indptr[some.start : some.stop + 1]))
            lengths[some] = np.sqrt(np.bincount(of_row, weights=squares, minlength=n))
        return lengths

    def moments(self, samples, weight):
        """Some rows, a stretch at a time: their weight, and of each column mean and squares.

        Yields what `Units.with_columns` takes.
        """
        X = self.rows.matrix()
        size = max(1, ENTRIES_AT_ONCE // max(1, X.shape[1]))
        for start in range(0, len(samples), size):
            part = X[samples[start : start + size]].astype(np.float64)
            w = weight[start : start + size]
            total = w.sum()
            mean = w @ part / total
            part -= mean
            yield total, mean, w @ (part * part)

    def seen_by(self, units, samples):
        """The units with some of the samples; None for None."""
        if units is None:
            return None
        weight = np.ones(len(samples))
        if self.sample_weight is not None:
            weight = self.sample_weight[samples].astype(np.float64)
        lengths = self.lengths()[samples]
        units = units.with_lengths(lengths, weight)
        if units.by_column:
            for moments in self.moments(samples, weight):
                units = units.with_columns(*moments)
        return units

    def in_units(self, change):
        """The rows in the units of a `Change`."""
        rows, shift, scale = self.rows, change.shift, change.scale
        if shift is None and np.ndim(scale) == 0:
            if np.float32(scale) == 1:  # rows of unit length: X is not copied
                return self
            return self._replace(rows=rows._replace(data=rows.data * np.float32(scale)))
        X = rows.matrix()
        if shift is not None:
            X = X - shift
        data = (X * scale).astype(np.float32).ravel()
        return self._replace(rows=rows._replace(data=data))
