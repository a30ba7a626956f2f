"""Out-of-fold scores of the labels that samples have been given: where to look for errors in y."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ..base._labels import is_indicator
from ..topk._predict import predict_topk
from ..utils._given_labels import plain_labels
from ..utils._matrix import in_rows
from ..utils._typing import LabelsLike, MatrixLike
from ._cross_val_topk import tested_once
from ._fold_assignment import label_pattern
from ._routing import GroupedSplitter, fit_with, route, splitter
from ._take_rows import take


def cross_val_label_scores(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    cv: Any = None,
    n_jobs: int | None = None,
    params: dict[str, Any] | None = None,
    scores: str = "decision",
    groups: ArrayLike | None = None,
) -> np.ndarray | sparse.csr_array:
    """Compute the score of the given label of each sample, by a model that has not seen it.

    Labels that such a model finds improbable are where errors in y are found first. Only these
    scores are computed, not those of all classes.

    Parameters
    ----------
    estimator : estimator
        One that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline; fitted copies of it
        predict.
    X : array-like, sparse, or whatever the estimator takes
    y : array-like of shape (n_samples,), or indicator (n_samples, n_classes), dense or sparse
    cv, n_jobs, params : object, default=None
        As of :func:`cross_val_topk`.
    scores : {"decision", "proba"}, default="decision"
        As of :func:`sklearn_xc.predict_topk`. Probabilities can be compared between samples.
    groups : array-like of shape (n_samples,), default=None
        As of :func:`cross_val_topk`.

    Returns
    -------
    given : ndarray of float32 (n_samples,), or csr_array of float32 (n_samples, n_classes)
        For one class a sample its score: NaN for samples that are never tested, and where training
        knew no sample of the class. For an indicator the scores of its positives, at their places;
        of samples that are never tested nothing is stored.

    Raises
    ------
    ValueError
        If `cv` tests a sample twice, `scores` is not one of the two, or `groups` is given and `cv`
        takes no notice of it.
    TypeError
        If the estimator has no ``predict_topk``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.model_selection import cross_val_label_scores
    >>> X, y = make_xc_classification(600, 300, 20, signal=0.5, random_state=0)
    >>> y[7] = (y[7] + 1) % 20  # an error
    >>> given = cross_val_label_scores(PPDSparseClassifier(random_state=0), X, y)
    >>> print(f"score of the wrong label {given[7]:.1f}, median {np.median(given):.1f}")
    score of the wrong label -0.9, median 0.7
    """
    if scores not in ("decision", "proba"):
        raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
    X, y = in_rows(X, y, names="Xy")
    _, Y = label_pattern(y)
    cv = splitter(cv) if groups is None else GroupedSplitter(cv, groups)
    routed = route(estimator, params, owner="cross_val_label_scores", cv=cv)
    folds = tested_once(cv.split(X, y, **routed.split), Y.shape[0], "cross_val_label_scores")
    # Workers send back the scores of given labels only, not those of all classes.
    results = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(clone(estimator), X, y, Y, train, test, routed.fit, scores)
        for train, test in folds
    )
    if is_indicator(y):
        return _placed(results, folds, Y.shape)
    given = np.full(Y.shape[0], np.nan, dtype=np.float32)
    for (_, test), values in zip(folds, results, strict=True):
        given[test] = values
    return given


def _score_fold(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    Y: sparse.csr_array,
    train: np.ndarray,
    test: np.ndarray,
    params: dict[str, Any],
    scores: str,
) -> np.ndarray | sparse.csr_array:
    """Return the scores of a fold's given labels: an array, or a matrix with the pattern of Y."""
    fit_with(estimator, X, y, train, params, None)
    if is_indicator(y):
        pattern = sparse.csr_array(Y[test]).astype(bool)
        # The pattern restricts the labels of each sample to its own: the k best of these are all.
        most = max(1, int(np.diff(pattern.indptr).max(initial=0)))
        return predict_topk(estimator, take(X, test), most, scores, True, labels=pattern)
    # A class may be missing from training; the samples of such a class stay NaN.
    names = np.ravel(plain_labels(y))[test].tolist()
    known = set(estimator.classes_.tolist())
    there = np.array([name in known for name in names], dtype=bool)
    values = np.full(len(test), np.nan, dtype=np.float32)
    if there.any():
        own = [[name] for name, known in zip(names, there, strict=True) if known]
        result = predict_topk(estimator, take(X, test[there]), 1, scores, labels=own)
        values[there] = result[1][:, 0]
    return values


def _placed(
    parts: list[sparse.csr_array],
    folds: list[tuple[np.ndarray, np.ndarray]],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """Return samples of folds in the order of y."""
    # Samples stand fold after fold. In coordinates their rows can be renumbered.
    rows = np.concatenate([np.empty(0, dtype=np.int64), *(test for _, test in folds)])
    whole = sparse.vstack(parts, format="coo") if parts else sparse.coo_array(shape)
    whole = sparse.coo_array((whole.data, (rows[whole.row], whole.col)), shape=shape)
    return sparse.csr_array(whole, dtype=np.float32)
