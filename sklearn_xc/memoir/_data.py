"""The samples of a call of fit: the weights, those kept apart, their score."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score

from ..base._classifier import BaseXCClassifier
from ..base._label_texts import Texts
from ..base._multiclass import held_out_samples
from ..topk._inverted_index import InvertedIndex
from ..training._class_weight import weights_of_labels
from ..utils._column_map import ColumnMap
from ..utils._coordinates import Coordinates
from ..utils._rows import Rows


class MemoirData(NamedTuple):
    """Samples, their classes and their weights."""

    rows: Rows
    codes: np.ndarray  # int32 (n_samples,)
    weight: np.ndarray  # float32 (n_samples,), or of size 0 for 1

    def take(self, chosen: np.ndarray) -> "MemoirData":
        """Return some of the samples."""
        weight = self.weight[chosen] if self.weight.size else self.weight
        return MemoirData(self.rows.take(chosen), self.codes[chosen], weight)

    def counted(self) -> "MemoirData":
        """Return the samples without those of weight zero, which are nowhere."""
        if not self.weight.size or self.weight.all():
            return self
        return self.take(self.weight > 0)

    def with_texts(self, texts: Texts, factors: np.ndarray | None = None) -> "MemoirData":
        """Return samples with the texts of labels below them; `factors` are weights of classes."""
        if not texts.n:
            return self
        weight = self.weight if self.weight.size else None
        rows, codes, weight = texts.join(self.rows, self.codes, weight, factors=factors)
        return MemoirData(rows, codes, np.empty(0, np.float32) if weight is None else weight)

    def split(
        self, model: BaseXCClassifier, rng: np.random.RandomState, sample_weight: np.ndarray | None
    ) -> tuple["MemoirData", "MemoirData | None"]:
        """Return the samples to train on, and those kept apart if the model stops early, or None.

        Samples kept apart count with `sample_weight`, which does not hold weights of the classes.
        """
        data = self.counted()
        if not model.early_stopping:
            return data, None
        held_out = held_out_samples(data.codes, model.validation_fraction, rng)
        if not held_out.any():
            return data, None
        given = np.empty(0, np.float32)
        if sample_weight is not None:
            given = sample_weight[self.weight > 0]
        return data.take(~held_out), data._replace(weight=given).take(held_out)

    def coordinates(self, model: BaseXCClassifier) -> Coordinates:
        """Return coordinates that centre the columns of dense rows, if these are very uneven."""
        # Without an intercept nothing could take up the means. Scores by cosine are of columns as
        # they are.
        if not self.rows.dense or not model.fit_intercept or model.normalize_scores:
            return Coordinates()
        weight = self.weight if self.weight.size else None
        suited = self.rows.shortened(weight).coordinates(weight)
        # Coordinates without a mean change the length of rows only, which rates and penalties
        # follow by themselves.
        return Coordinates() if suited.mean is None else suited

    def narrowed(self, columns: ColumnMap | None) -> "MemoirData":
        """Return the samples by the columns of a `ColumnMap`, which are kept of sparse rows."""
        if columns is None:
            return self
        return self._replace(rows=self.rows.as_sparse().narrowed(columns))

    def inside(self, coordinates: Coordinates) -> "MemoirData":
        """Return the samples in these coordinates."""
        return self._replace(rows=self.rows.inside(coordinates))

    def measures(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return hashes of the rows, uint64, their squared lengths, float64, and weights."""
        return self.rows.hashes(), self.rows.squared_norms(), self.weight

    def macro_f1(self, coef: sparse.csr_array, intercept: np.ndarray, n_threads: int) -> float:
        """Return the macro-averaged F1 of the samples by these weights."""
        predicted = InvertedIndex(coef, intercept).topk(self.rows, 1, n_threads)[0].ravel()
        weight = self.weight if self.weight.size else None
        scored = self.codes, predicted
        return f1_score(*scored, average="macro", zero_division=0, sample_weight=weight)


def with_class_weight(
    class_weight: dict | str | None,
    classes: np.ndarray,
    codes: np.ndarray,
    sample_weight: np.ndarray | None,
    totals: np.ndarray | float = 0,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return weights of the samples times those of their classes, and the totals with this call.

    Weights of 1 are of size 0. `totals`, which "balanced" counts, are the weights of the samples of
    each class in the calls before; without `class_weight` None is returned for them.
    """
    if class_weight is None:
        return np.empty(0, np.float32) if sample_weight is None else sample_weight, None
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    totals = np.bincount(codes, weights=weight, minlength=len(classes)) + totals
    factors = weights_of_labels(class_weight, classes, totals)
    return (weight * factors[codes]).astype(np.float32), totals
