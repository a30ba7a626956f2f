"""Training data of LDGS: the positives of samples, and the rows held out."""

from typing import TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..base._labels import LabelEncoding, codes_of
from ..base._multiclass import held_out_samples
from ..mips._row_store import ranges
from ..training._minibatches import sorted_by_class
from ..utils._typing import Matrix
from ._candidate_gradients import Positives

# X, positives and weights of samples.
LabelledSamples: TypeAlias = tuple[Matrix, Positives, np.ndarray | None]


def positives_of(Y: sparse.csr_array, encoding: LabelEncoding) -> Positives:
    """Return the positives of samples whose labels are encoded; float32 values of Y are grades."""
    if encoding.kind != "multilabel":
        return Positives(np.arange(Y.shape[0] + 1, dtype=np.int64), codes_of(Y))
    # With one column there is no negative, and all losses are constant.
    if Y.shape[1] < 2:
        raise ValueError(
            "y has one column: the losses rank labels against each other, so that at least two "
            "are needed"
        )
    positives = Positives(Y.indptr.astype(np.int64), Y.indices.astype(np.int32))
    return positives._replace(weight=Y.data) if Y.dtype == np.float32 else positives


def require_graded_loss(estimator: BaseEstimator) -> None:
    """Refuse grades where the loss is no sum over labels, whose terms could be weighed."""
    if estimator.graded and estimator.loss == "margin":
        raise ValueError(
            "graded=True needs a loss that is a sum over the labels of a sample, 'cross_entropy' "
            "or 'triplet'; loss='margin' is the largest over all pairs"
        )


def held_out_of(
    model: BaseEstimator,
    positives: Positives,
    sample_weight: np.ndarray | None,
    rng: np.random.RandomState,
    n_texts: int = 0,
) -> np.ndarray:
    """Return samples kept from training, at random: ndarray of bool (n_samples,).

    Without `early_stopping` there are none. With one class a sample, a class keeps at least one of
    its samples for training. The last `n_texts` are texts of labels, which stay.
    """
    n_samples, fraction = len(positives.indptr) - 1, model.validation_fraction
    held_out = np.zeros(n_samples, dtype=bool)
    if not model.early_stopping:
        return held_out
    if model._encoding.kind != "multilabel":
        return held_out_samples(positives.ids, fraction, rng, sample_weight, n_texts)
    # Samples of weight zero tell nothing, neither in training nor when they are held out.
    counted = np.arange(n_samples - n_texts)
    if sample_weight is not None:
        counted = np.flatnonzero(sample_weight[: len(counted)] > 0)
    held_out[counted[rng.permutation(len(counted))[: int(fraction * len(counted))]]] = True
    return held_out


def in_runs(positives: Positives) -> bool:
    """Return whether samples of a part come in runs of one label, which no step should be made
    of.
    """
    # Neighbours with several labels each do not come in runs of one.
    ones = np.diff(positives.indptr) == 1
    return sorted_by_class(positives.ids[positives.indptr[:-1][ones]])


def of_weight(X: Matrix, positives: Positives, sample_weight: np.ndarray | None) -> LabelledSamples:
    """Return the samples of weight above zero: X, positives and weights."""
    samples = X, positives, sample_weight
    if sample_weight is None or (sample_weight > 0).all():
        return samples
    return chosen(samples, np.flatnonzero(sample_weight))


def chosen(samples: LabelledSamples, some: np.ndarray) -> LabelledSamples:
    """Take some of the samples, in that order."""
    X, positives, weight = samples
    count = np.diff(positives.indptr)[some]
    indptr = np.append(0, np.cumsum(count)).astype(np.int64)
    entries = ranges(positives.indptr[some], count)
    found = Positives(indptr, positives.ids[entries])
    if positives.weight.size:
        found = found._replace(weight=positives.weight[entries])
    return X[some], found, None if weight is None else weight[some]
