"""Out-of-fold top-k predictions."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ..base._labels import is_indicator
from ..topk._predict import predict_topk
from ..utils._callbacks import InnerFit
from ..utils._matrix import in_rows
from ..utils._typing import LabelsLike, MatrixLike
from ..utils._validation import check_k
from ._duplicates import warn_of_duplicates
from ._fold_assignment import label_pattern
from ._routing import GroupedSplitter, fit_with, named_classes, route, splitter
from ._take_rows import take


class TopkPredictions(NamedTuple):
    """Result of :func:`cross_val_topk`; unpacks into its three arrays.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_samples, k)
        Places of the labels in `classes`, best first; n_classes, which is no place, where there is
        none.
    scores : ndarray of float32, shape (n_samples, k)
        Their scores; NaN where there is none.
    classes : ndarray of shape (n_classes,)
        The sorted labels of the whole y; column names or numbers of an indicator. With the
        argument `classes` of fit among `params`, these.
    """

    codes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray

    @property
    def tested(self) -> np.ndarray:
        """Whether each sample was tested, ndarray of bool (n_samples,)."""
        return np.any(self.codes < len(self.classes), axis=1)

    @property
    def labels(self) -> np.ndarray:
        """The labels of the samples that were tested, ndarray of shape (n_tested, k).

        Raises
        ------
        ValueError
            If a fold was trained on fewer than k classes, so that some places are empty.
        """
        codes = self.codes[self.tested]
        if (codes == len(self.classes)).any():
            raise ValueError(
                f"a fold was trained on fewer than k={codes.shape[1]} classes: some places are "
                "empty, see codes"
            )
        return self.classes[codes]


def cross_val_topk(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    k: int | None = None,
    cv: Any = None,
    n_jobs: int | None = None,
    params: dict[str, Any] | None = None,
    scores: str = "decision",
    groups: ArrayLike | None = None,
) -> TopkPredictions:
    """Return the k best labels of every sample, predicted by a model that has not seen the sample.

    It does for k labels what :func:`sklearn.model_selection.cross_val_predict` does for all K, and
    never builds an array of shape (n, K). Calibration and thresholds are fitted on its result.

    Parameters
    ----------
    estimator : estimator
        One that :func:`sklearn_xc.predict_topk` accepts, such as a Pipeline; fitted copies of it
        predict.
    X : array-like, sparse, or whatever the estimator takes
    y : array-like of shape (n_samples,), or indicator (n_samples, n_classes), dense or sparse
    k : int, default=None
        From 1 to the number of classes K of the whole y; by default the smaller of 5 and K.
    cv : int, splitter or iterable of (train, test), default=None
        None is 5 and an integer n :class:`RareLabelKFold` with n splits, which never tests samples
        that hold the only positive of a label. No sample may be tested twice.
    n_jobs : int or None, default=None
        Folds that are fitted at once, as in joblib.
    params : dict, default=None
        Arguments of the estimator's ``fit``, such as ``{"sample_weight": w}``; those with one
        entry a sample are split with X. With scikit-learn's metadata routing enabled they go to who
        requests them, the splitter included.
    scores : {"decision", "proba"}, default="decision"
        As of :func:`sklearn_xc.predict_topk`.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are all trained on or all tested, by a splitter that does so
        (:class:`sklearn.model_selection.GroupKFold`); others are refused.

    Returns
    -------
    predictions : named tuple ``(codes, scores, classes)``
        ``codes``, int32 of shape (n_samples, k): places in ``classes``, best first. ``scores``,
        float32 of the same shape. ``classes``, shape (n_classes,): the sorted labels of the whole
        y, or the column names or numbers of an indicator. A sample that is never tested has
        n_classes, which is no place, and NaN throughout; so have the last places of a sample whose
        fold was trained on fewer than k classes. The attribute ``tested`` says which samples were
        tested, ``labels`` has the labels of these. Metrics take the whole as ``y_pred``, and leave
        out samples that were never tested.

    Raises
    ------
    ValueError
        If k is not an integer from 1 to K, `cv` tests a sample twice, or `groups` is given and `cv`
        takes no notice of it.
    TypeError
        If the estimator has no ``predict_topk``.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.model_selection import cross_val_topk
    >>> X, Y = make_xc_classification(n_samples=300, n_features=500, n_classes=40, random_state=0)
    >>> codes, scores, classes = cross_val_topk(PPDSparseClassifier(random_state=0), X, Y, k=3)
    >>> codes.shape, scores.dtype, len(classes)
    ((300, 3), dtype('float32'), 40)
    >>> from sklearn_xc.metrics import precision_at_k
    >>> found = cross_val_topk(PPDSparseClassifier(random_state=0), X, Y, k=3)
    >>> round(precision_at_k(Y, found, k=3), 1)
    0.3
    """
    if scores not in ("decision", "proba"):
        raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
    if groups is not None:
        cv = GroupedSplitter(cv, groups)
    predictions = out_of_fold_topk(
        estimator, X, y, k=k, cv=cv, n_jobs=n_jobs, params=params, scores=scores, warns=True
    )
    # -1 would be the last class in classes[codes]
    codes = np.where(predictions.codes < 0, np.int32(len(predictions.classes)), predictions.codes)
    return predictions._replace(codes=codes)


def out_of_fold_topk(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    k: int | None,
    cv: Any,
    n_jobs: int | None,
    params: dict[str, Any] | None,
    scores: str,
    next_fit: Callable[[str], InnerFit] | None = None,
    warns: bool = False,
) -> TopkPredictions:
    """Predict out of fold as :func:`cross_val_topk`, with -1 where there is no label.

    With `warns` of samples of the first fold that equal a training sample, if these are many.
    ``next_fit("fold")`` is an `InnerFit` to tell callbacks of the fit of a fold.
    """
    X, y = in_rows(X, y, names="Xy")
    classes, Y = label_pattern(y)
    cv = splitter(cv)
    routed = route(estimator, params, owner="cross_val_topk", cv=cv)
    # A fit that gets the names of more classes than y holds may predict these too.
    if (named := named_classes(routed.fit, estimator, y)) is not None:
        classes = named
    k = check_k(k, len(classes))
    folds = tested_once(cv.split(X, y, **routed.split), Y.shape[0], "cross_val_topk")
    if warns and folds:
        warn_of_duplicates(X, *folds[0], stacklevel=4)
    results = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(
            clone(estimator),
            X,
            y,
            train,
            test,
            k,
            routed.fit,
            classes,
            scores,
            None if next_fit is None else next_fit("fold"),
        )
        for train, test in folds
    )
    # Folds that were trained on fewer than k classes leave the last places empty.
    codes = np.full((Y.shape[0], k), -1, dtype=np.int32)
    values = np.full((Y.shape[0], k), np.nan, dtype=np.float32)
    for (_, test), (fold_codes, fold_scores, _) in zip(folds, results, strict=True):
        codes[test, : fold_codes.shape[1]] = fold_codes
        values[test, : fold_codes.shape[1]] = fold_scores
    if results:
        classes = results[-1][2]
    return TopkPredictions(codes, values, classes)


def tested_once(
    folds: Iterable[tuple[np.ndarray, np.ndarray]], n_rows: int, name: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds as a list; ValueError if they test a sample twice."""
    folds = list(folds)
    # Not `times[test] += 1`, which counts a sample once that a fold names twice.
    times = np.zeros(n_rows, dtype=np.int64)
    for _, test in folds:
        np.add.at(times, test, 1)
    if (times > 1).any():
        raise ValueError(
            f"cv tests {(times > 1).sum()} samples more than once, sample "
            f"{np.flatnonzero(times > 1)[0]} for one; {name} needs one prediction a sample"
        )
    return folds


def _predict_fold(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    train: np.ndarray,
    test: np.ndarray,
    k: int,
    params: dict[str, Any],
    classes: np.ndarray,
    scores: str,
    inner_fit: InnerFit | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes and scores of a fold's test samples, and the classes of the codes."""
    fit_with(estimator, X, y, train, params, inner_fit)
    own_classes = getattr(estimator, "classes_", None)
    k = k if own_classes is None else min(k, len(own_classes))
    labels, values = predict_topk(estimator, take(X, test), k, scores)
    if is_indicator(y) and own_classes is not None:  # it may call the columns by other names
        classes = own_classes
    return codes_of(labels, classes), values, classes


def codes_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each label in `classes`, int32 of the same shape; all must be there."""
    # Objects of several types may not compare, and a search by bisection needs that they do.
    if classes.dtype.kind == "O":
        place = {label: code for code, label in enumerate(classes.tolist())}
        codes = [place[label] for label in labels.ravel().tolist()]
        return np.array(codes, dtype=np.int32).reshape(labels.shape)
    # Classes that were named by the caller stand in any order.
    order = np.argsort(classes, kind="stable")
    places = np.searchsorted(classes, labels, sorter=order)
    return order[places].astype(np.int32)
