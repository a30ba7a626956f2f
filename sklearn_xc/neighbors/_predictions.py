"""Predictions of TopKNeighborsClassifier from the scores of its labels."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..base._explain import check_options, places_of_labels
from ..base._explanation import Explanations
from ..base._fit_labels import TakesLabels
from ..base._predict_topk import PredictsTopK
from ..base._topk_predictor import AnswersSingleRows
from ..base._validation import as_it_is
from ..topk._inverted_index import row_blocks
from ..topk._restriction import Restriction, best_of_columns
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix, MatrixLike
from ._explain import explain_rows
from ._row_parts import RowParts

SHARE = 0.5  # of all votes that a predicted label has at least
SCORES_AT_ONCE = 1 << 22


class _Inputs:
    """Form of the training samples, in which `topk_predictor` brings others."""

    def __init__(self, parts: RowParts) -> None:
        self._parts = parts

    def inputs(self, rows: Rows, n_threads: int) -> Rows:
        """Return the rows in this form."""
        return self._parts.in_form(rows)


class NeighborsPredictions(PredictsTopK, AnswersSingleRows, TakesLabels):
    """Mixin of predictions, made from ``_model()``, ``_row_parts`` and ``_encoding``."""

    def _scores_of(self) -> _Inputs:
        """Return what brings samples into the form of a search, for `topk_predictor`."""
        return _Inputs(self._row_parts)

    def _rows(self, X: MatrixLike) -> Rows:
        """Return rows in the form of the training samples."""
        check_is_fitted(self)
        return self._row_parts.in_form(self._feature_rows(X))

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return scores of all classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of float32, shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]`` less that of ``classes_[0]``, over their
            sum.

        Raises
        ------
        MemoryError
            If the scores would take more than half of the memory available;
            :meth:`predict_topk` never does.
        """
        now = as_it_is(self)
        rows = now._rows(X)
        now._require_output(rows, np.float32, "decision_function", len(now.classes_))
        if now._encoding.kind == "binary":
            return now._balance(rows)
        return now._model().scores(rows, now._threads())

    def predict(self, X: MatrixLike) -> Matrix:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_classes) dense or CSR
            The class with the highest score, of equal ones the first; where y was an indicator,
            the labels with at least half of all votes, possibly none, in the container and dtype
            of fit's y.

        Raises
        ------
        MemoryError
            If a dense indicator would take more than half of the memory available.
        """
        now = as_it_is(self)
        rows, encoding = now._rows(X), now._encoding
        if encoding.kind != "multilabel":
            return now.classes_[now._topk(rows, 1)[0].ravel()]
        if encoding.container is None:
            now._require_output(rows, encoding.dtype, "predict")
        # One block of dense shares at a time becomes a pattern: K columns of all rows never exist.
        found = [now._shares(block) >= SHARE for block in now._blocks(rows)]
        parts = [sparse.csr_array(part) for part in found]
        empty = sparse.csr_array((0, len(now.classes_)), dtype=bool)
        pattern = sparse.csr_array(sparse.vstack([empty, *parts], format="csr"))
        self._warn_if_nearly_empty(np.diff(pattern.indptr), "half of the votes")
        return encoding.indicator(pattern)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return shares of the votes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)

        Returns
        -------
        shares : ndarray of float64, shape (n_samples, n_classes)
            Of one class a sample the scores divided by their sum; all alike where nothing is like
            the sample. Of several labels the share of all votes, of the neighbours and of the best
            text, that went to the label; before the power of frequencies, so that their order may
            be another than that of scores.

        Raises
        ------
        MemoryError
            If they would take more than half of the memory available.
        """
        now = as_it_is(self)
        rows = now._rows(X)
        now._require_output(rows, np.float64, "predict_proba", len(now.classes_))
        shares = np.empty((rows.shape[0], len(now.classes_)))
        start = 0
        for block in now._blocks(rows):
            shares[start : start + block.shape[0]] = now._shares(block)
            start += block.shape[0]
        return shares

    def kneighbors(
        self, X: MatrixLike, n_neighbors: int | None = None, return_similarity: bool = True
    ) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
        """Return the training samples of largest inner product, all of unit length.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        n_neighbors : int, default=None
            From 1 to the number of training samples; by default ``n_neighbors_`` or all, if these
            are fewer.
        return_similarity : bool, default=True

        Returns
        -------
        similarities : ndarray of float32, shape (n_samples, n_neighbors)
            Best first; left out with ``return_similarity=False``.
        ids : ndarray of int32, shape (n_samples, n_neighbors)
            Numbers of training samples, in the order in which they came; ties to the smaller.

        Raises
        ------
        ValueError
            If there are fewer training samples.
        """
        now = as_it_is(self)
        rows, n = now._rows(X), now._row_parts.n_rows
        k = min(now.n_neighbors_, n) if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n:
            raise ValueError(
                f"n_neighbors must be an integer from 1 to the number of training samples, {n}; "
                f"got {n_neighbors!r}"
            )
        ids, similarities = now._row_parts.nearest(rows, int(k), now._threads())
        return (similarities, ids) if return_similarity else ids

    @property
    def n_samples_fit_(self) -> int:
        """The number of training samples."""
        check_is_fitted(self)
        return self._row_parts.n_rows

    @property
    def nbytes_(self) -> int:
        """The bytes that samples, labels and texts take."""
        check_is_fitted(self)
        return self._model().n_bytes

    def explain(
        self,
        X: MatrixLike,
        labels: LabelsLike = None,
        k: int | None = 5,
        *,
        row_names: ArrayLike | None = None,
    ) -> Explanations:
        """Return the neighbours that a label has its score from, and what each gave.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
        labels : label, sequence of labels, one sequence of labels a sample, or sparse indicator, \
                default=None
            What to explain, as in :meth:`PPDSparseClassifier.explain`; by default the best label.
        k : int or None, default=5
            Neighbours to list for a label; the others are summed up. None lists all.
        row_names : array-like, one a training sample, default=None
            Names of the training samples, such as titles; by default ``row 0, row 1, ...``.

        Returns
        -------
        explanations : Explanations
            Of :class:`sklearn_xc.inspection.Explanation`, sample by sample, the labels of a sample
            by falling score. Features are training samples there, -1 is the text of the label.

        Raises
        ------
        ValueError
            If a label is not in ``classes_`` or named twice for a sample, or k or row_names are not
            as described.
        """
        now = as_it_is(self)
        rows, n_threads = now._rows(X), now._threads()
        names = check_options(k, row_names, now._row_parts.n_rows, "row_names", "training samples")
        if labels is None:
            places = now._topk(rows, 1)[0].tolist()
        else:
            places = places_of_labels(labels, now.classes_, rows.shape[0])
        return explain_rows(now, rows, places, k, names, n_threads)

    # ------------------------------------------------------------------------ shares of votes

    def _blocks(self, rows: Rows) -> Iterator[Rows]:
        """Yield rows of which all scores are held at once."""
        for _, block in row_blocks(rows, max(1, SCORES_AT_ONCE // len(self.classes_))):
            yield block

    def _shares(self, rows: Rows) -> np.ndarray:
        """Return the shares of all labels of some rows, float64."""
        model = self._model()
        scores, totals = model.scores_and_totals(rows, self._threads())
        return self._shares_of(scores, totals, slice(None))

    def _shares_of(
        self, scores: np.ndarray, totals: np.ndarray, labels: np.ndarray | slice
    ) -> np.ndarray:
        """Return the shares that belong to scores of some labels, float64."""
        # Labels of an indicator do not exclude each other: a share is of all votes, given or not,
        # and without the power of frequencies, so that it is at most 1. Classes share their sum.
        scores = scores.astype(np.float64)
        if self._encoding.kind == "multilabel":
            scores, total = scores / self._model().factors[labels], totals[:, :1]
        else:
            total = totals[:, 1:]
        shares = np.minimum(scores / np.where(total > 0, total, 1), 1)
        if self._encoding.kind == "multilabel":
            return shares
        return np.where(total > 0, shares, 1 / len(self.classes_))

    def _balance(self, rows: Rows) -> np.ndarray:
        """Return the share of the second of two classes less that of the first, float32."""
        # Over the sum, not the plain difference: comparable between samples with near and with far
        # neighbours, and zero, no answer either way, where nothing is like the sample.
        first, second = self._model().scores(rows, self._threads()).astype(np.float64).T
        both = first + second
        return ((second - first) / np.where(both > 0, both, 1)).astype(np.float32)

    # -------------------------------------------------------------------- for predict_topk

    def _topk(
        self, rows: Rows, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers and scores of the k best classes of each row."""
        model, n_threads = self._model(), self._threads()
        if self._encoding.kind != "binary":
            if only is None:
                return model.topk(rows, k, n_threads)
            return only.topk(model, None, rows, k, n_threads)
        scores = self._balance(rows)[:, None]
        return best_of_columns(np.hstack([-scores, scores]), k, only)

    def _topk_probabilities(
        self, rows: Rows, k: int, only: Restriction | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of the k best classes by score, and their shares."""
        # Ranked by score, not by share: powers of frequencies decide the order of predictions.
        best, _ = self._topk(rows, k, only)
        places = np.maximum(best, 0).astype(np.int64)
        starts = np.arange(0, places.size + 1, k)
        found, totals = self._model().scores_and_totals_at(
            rows, starts, places.ravel(), self._threads()
        )
        shares = self._shares_of(found.reshape(best.shape), totals, places)
        return best, np.where(best >= 0, shares, 0).astype(np.float32)
