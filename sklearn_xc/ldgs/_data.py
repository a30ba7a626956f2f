"""Training data of LDGS: the positives of samples, and the rows held out."""

import numpy as np
from scipy import sparse

from ..base._label_texts import texts_of
from ..base._labels import check_labels, codes_of, is_indicator
from ..base._multiclass import held_out_samples, validate_part, with_texts
from ..base._validation import grades_of, validate_fit
from ..mips._row_store import ranges
from ..training._minibatches import sorted_by_class
from ..utils._given_labels import in_order_of
from ._candidate_gradients import Positives


def positives_of(Y, encoding):
    """Return the positives of samples whose labels are encoded.

    Parameters
    ----------
    Y : csr_array of uint8 (n_samples, n_columns), of float32 with grades
        See `base._labels.encode`.
    encoding : LabelEncoding
    """
    if encoding.kind != "multilabel":
        return Positives(np.arange(Y.shape[0] + 1, dtype=np.int64), codes_of(Y))
    if Y.shape[1] < 2:
        raise ValueError(
            "y has one column: the losses rank labels against each other, so that at least two "
            "are needed"
        )
    positives = Positives(Y.indptr.astype(np.int64), Y.indices.astype(np.int32))
    return positives._replace(weight=Y.data) if Y.dtype == np.float32 else positives


def require_graded_loss(estimator):
    """Refuse grades where the loss is no sum over labels, whose terms could be weighed."""
    if estimator.graded and estimator.loss == "margin":
        raise ValueError(
            "graded=True needs a loss that is a sum over the labels of a sample, 'cross_entropy' "
            "or 'triplet'; loss='margin' is the largest over all pairs"
        )


def validated_part(estimator, X, y, classes, sample_weight, label_features=None):
    """Check parameters and data of a `partial_fit`, and take in new classes.

    Returns
    -------
    X : ndarray or csr_array of float32 (n_samples, n_features)
    positives : Positives
    sample_weight : ndarray of float32 (n_samples,), or None
    """
    check_labels(y, grades_of(estimator))
    first, multilabel = not estimator.__sklearn_is_fitted__(), is_indicator(y)
    if not first and multilabel != (estimator._encoding.kind == "multilabel"):
        raise ValueError("y must have one class a sample in all calls, or several in all")
    if not multilabel and estimator.graded:
        raise ValueError("graded=True is for an indicator y, but y has one class a sample")
    if multilabel:
        X, Y, sample_weight = _part_of_indicator(estimator, X, y, classes, sample_weight, first)
        texts = texts_of(estimator, label_features, X.shape[1], not sparse.issparse(X))
        X, Y, sample_weight = with_texts(estimator, X, Y, sample_weight, texts)
        return X, positives_of(Y, estimator._encoding), sample_weight
    given = X, y, classes, sample_weight, label_features
    X, codes, sample_weight = validate_part(estimator, *given)
    return X, Positives(np.arange(len(codes) + 1, dtype=np.int64), codes), sample_weight


def _part_of_indicator(estimator, X, y, classes, sample_weight, first):
    if not first:
        estimator._check_state()
    encoding, known = vars(estimator).get("_encoding"), vars(estimator).get("classes_")
    n_features, support = (None if first else estimator.n_features_in_), estimator._support
    beginning = vars(estimator).get("_beginning")
    require_graded_loss(estimator)
    y = y if first else in_order_of(y, known)
    rows, Y, sample_weight = validate_fit(estimator, X, y, sample_weight)
    X = rows.matrix()
    if not first:
        if X.shape[1] != n_features or len(estimator.classes_) != len(known):
            raise ValueError(
                f"X has {X.shape[1]} features and y {len(estimator.classes_)} columns, but in the "
                f"first call they had {n_features} and {len(known)}"
            )
        estimator._encoding, estimator.classes_ = encoding, known
        estimator._support = None if support is None else estimator._support + support
        if beginning is not None:
            estimator._beginning = beginning
    if classes is not None and len(classes) != len(estimator.classes_):
        raise ValueError(
            f"classes names {len(classes)} labels, but y has {len(estimator.classes_)} columns"
        )
    return X, Y, sample_weight


def held_out_of(model, positives, sample_weight, rng, n_texts=0):
    """Return samples kept from training, at random: ndarray of bool (n_samples,).

    None without `early_stopping`. With one class a sample, a class keeps at least one of its
    samples. The last `n_texts` are texts of labels, which stay.
    """
    n_samples, fraction = len(positives.indptr) - 1, model.validation_fraction
    held_out = np.zeros(n_samples, dtype=bool)
    if not model.early_stopping:
        return held_out
    if model._encoding.kind != "multilabel":
        return held_out_samples(positives.ids, fraction, rng, sample_weight, n_texts)
    counted = np.arange(n_samples - n_texts)
    if sample_weight is not None:
        counted = np.flatnonzero(sample_weight[: len(counted)] > 0)
    held_out[counted[rng.permutation(len(counted))[: int(fraction * len(counted))]]] = True
    return held_out


def in_runs(positives):
    """Return whether samples of a part come in runs of one label, which no step should be made
    of.
    """
    ones = np.diff(positives.indptr) == 1
    return sorted_by_class(positives.ids[positives.indptr[:-1][ones]])


def of_weight(X, positives, sample_weight):
    """Return the samples of weight above zero: X, positives and weights."""
    samples = X, positives, sample_weight
    if sample_weight is None or (sample_weight > 0).all():
        return samples
    return chosen(samples, np.flatnonzero(sample_weight))


def chosen(samples, some):
    """Take some of the samples, in that order."""
    X, positives, weight = samples
    count = np.diff(positives.indptr)[some]
    indptr = np.append(0, np.cumsum(count)).astype(np.int64)
    entries = ranges(positives.indptr[some], count)
    found = Positives(indptr, positives.ids[entries])
    if positives.weight.size:
        found = found._replace(weight=positives.weight[entries])
    return X[some], found, None if weight is None else weight[some]
