"""The best scores of samples that a model has not seen, as calibration and thresholds need them."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from ..base._labels import DROPPED, LabelEncoding, check_labels, encode
from ..metrics._ranking import _hits, _with_column_for_unknown, one_per_row
from ..metrics._ranking import codes as codes_in
from ..topk._inverted_index import topk_matrix
from ..topk._predict import predict_topk
from ..utils._callbacks import InnerFit
from ..utils._given_labels import in_order_of, label_names, plain_labels
from ..utils._matrix import n_rows
from ..utils._memory_limit import require_memory
from ..utils._records import either, is_a, is_labels, is_sparse, record
from ..utils._typing import LabelsLike, MatrixLike
from ._cross_val_topk import codes_of, out_of_fold_topk
from ._routing import part_of
from ._split import RareLabelKFold, train_test_split
from ._take_rows import take

# Below any score of a model: what PPDSparseClassifier gives to classes without positives.
NO_SCORE = -1e17


class HeldOut(NamedTuple):
    """The best scores of samples that were not trained on, and what was true.

    Of two classes (n_samples, 1): the decision function, and whether the second is true.
    """

    scores: np.ndarray  # (n_samples, k), best first; at most NO_SCORE where a class has none
    hits: np.ndarray  # bool (n_samples, k)
    n_true: np.ndarray  # (n_samples,), true classes, found or not
    weight: np.ndarray  # float64 (n_samples,)


@record(encoding=is_a(LabelEncoding), classes=is_labels, truth=either(None, is_sparse))
@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of y in the classes of an estimator."""

    encoding: LabelEncoding  # of y
    classes: np.ndarray
    # (n_samples, n_classes + 1), the last column for labels that are not among the classes.
    truth: sparse.csr_array | None

    def _check_record(self) -> None:
        """Raise ValueError unless the true labels fit the classes."""
        n_classes = len(self.classes)
        if self.truth is not None and self.truth.shape[1] != n_classes + 1:
            raise ValueError(f"true labels of shape {self.truth.shape} for {n_classes} classes")

    @property
    def kind(self) -> str:
        """As of `LabelEncoding`, by the classes of the estimator."""
        if self.encoding.kind == "multilabel":
            return "multilabel"
        # y may lack classes that the estimator knows.
        return "binary" if len(self.classes) == 2 else "multiclass"

    def indicator(
        self, codes: np.ndarray, chosen: np.ndarray
    ) -> np.ndarray | sparse.sparray | sparse.spmatrix:
        """Return the chosen ones of the distinct classes of each sample, in the container of y."""
        pattern = topk_matrix(codes, chosen, len(self.classes))
        pattern.eliminate_zeros()
        container, dtype = self.encoding.container, self.encoding.dtype
        if container is None:
            require_memory(
                pattern.shape[0] * pattern.shape[1] * dtype.itemsize,
                f"predict: a dense output of shape {pattern.shape}",
                "fit on a sparse y, or use predict_topk",
            )
        return self.encoding.indicator(pattern)


def read_labels(y: LabelsLike, known: np.ndarray | None = None) -> Labels:
    """Encode y, in the classes `known` of an estimator that is fitted, or its own."""
    check_labels(y, DROPPED)
    if known is not None:
        y = in_order_of(y, np.asarray(known))
    names = label_names(y)
    y = y if sparse.issparse(y) else np.asarray(plain_labels(y))
    if y.dtype.kind == "f":
        assert_all_finite(y.data if sparse.issparse(y) else y, input_name="y")
    encoding, Y = encode(y, names, DROPPED)
    classes = encoding.classes_ if known is None else np.asarray(known)
    if encoding.kind == "multilabel":
        if Y.shape[1] != len(classes):
            raise ValueError(
                f"y has {Y.shape[1]} columns, but the estimator was fitted on {len(classes)}"
            )
        return Labels(encoding, classes, _with_column_for_unknown(Y))
    # Labels that the estimator does not know are true, and never found: one more column.
    table = {label: code for code, label in enumerate(classes.tolist())}
    codes = codes_in(y.ravel(), table)
    codes[codes < 0] = len(classes)
    return Labels(encoding, classes, one_per_row(codes, len(classes) + 1))


def splits_of(
    cv: Any,
    X: MatrixLike,
    y: LabelsLike,
    kind: str,
    split_params: dict[str, Any] | None = None,
    weight: ArrayLike | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the (training, test) samples that `cv` means, of those with a weight above zero.

    An integer is the number of folds of :class:`RareLabelKFold`, a fraction the part that is held
    out once.
    """
    split_params = split_params or {}
    if hasattr(cv, "__iter__") and not hasattr(cv, "split"):
        return list(cv)
    # Samples of weight zero must not decide which others are tested.
    counted = None if weight is None else np.flatnonzero(np.asarray(weight) > 0)
    if counted is not None and 0 < len(counted) < n_rows(X):
        split_params = part_of(split_params, n_rows(X), counted)
        of_counted = splits_of(cv, take(X, counted), take(y, counted), kind, split_params)
        return [(counted[train], counted[test]) for train, test in of_counted]
    # Of two classes samples are pinned so that every training part has both. Otherwise samples
    # that hold the only positive of a label are tested as well: new samples hold such labels too,
    # and leaving them out would make the model look better than it is.
    pin = kind == "binary"
    share = float(cv) if isinstance(cv, Real) and not isinstance(cv, Integral) else None
    if share is not None and kind == "multiclass":
        # A fold: by shares hardly any class would lose all its samples, as classes of new samples
        # do.
        n_folds = min(round(1 / share), n_rows(X))
        return list(RareLabelKFold(n_folds, pin_singletons=False).split(X, y))[:1]
    if share is not None:
        rows = np.arange(n_rows(X))
        train, test = train_test_split(
            rows, test_size=share, shuffle=False, stratify=y, pin_singletons=pin
        )
        return [(train, test)]
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        cv = RareLabelKFold(int(cv), pin_singletons=pin)
    return list(cv.split(X, y, **split_params))


def held_out_topk(
    estimator: Any,
    X: MatrixLike,
    y: LabelsLike,
    labels: Labels,
    *,
    k: int,
    splits: list[tuple[np.ndarray, np.ndarray]] | None,
    weight: ArrayLike | None,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    response: str = "decision",
    next_fit: Callable[[str], InnerFit] | None = None,
) -> tuple[np.ndarray, HeldOut, np.ndarray]:
    """Return the k best scores of the samples held out, by copies of the estimator.

    Parameters
    ----------
    splits : list of (training, test) samples, or None
        None for an estimator that is fitted and has seen none of X: it predicts as it is.
    params : dict, default=None
        Of the estimator's fit.
    response : {"decision", "proba"}, default="decision"
        Which scores.
    next_fit : callable or None, default=None
        ``next_fit("fold")`` reports the fit of a fold to callbacks.

    Returns
    -------
    codes : ndarray of int64 (n_held_out, k)
        Numbers of the classes, best first; -1 where a copy of the estimator knew fewer than k.
        For two classes one column of ones.
    held_out : HeldOut
    samples : ndarray of int64 (n_held_out,)
        Which samples were held out.
    """
    # Of two classes both scores are read, of which the second is the decision function.
    k = 2 if labels.kind == "binary" else k
    if splits is None:
        names, scores = predict_topk(estimator, X, k, response)
        codes = codes_of(names, labels.classes).astype(np.int64)
    else:
        codes, scores, _ = out_of_fold_topk(
            estimator,
            X,
            y,
            k=k,
            cv=splits,
            n_jobs=n_jobs,
            params=params,
            scores=response,
            next_fit=next_fit,
        )
        codes = codes.astype(np.int64)
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
    # Samples that no fold has tested have no code.
    samples = np.flatnonzero((codes >= 0).any(axis=1) & (weight > 0))
    if not len(samples):
        raise ValueError("cv holds out no sample that has a weight above zero")
    codes, scores, truth = codes[samples], scores[samples], labels.truth[samples]
    if labels.kind == "binary":
        scores = np.take_along_axis(scores, np.argmax(codes == 1, axis=1)[:, None], axis=1)
        codes = np.ones_like(scores, dtype=np.int64)
    # Places without a class have NaN; what reads scores compares them with NO_SCORE.
    scores = np.where(codes >= 0, scores, np.float32(10 * NO_SCORE))
    n_true = np.diff(truth.indptr)
    return codes, HeldOut(scores, _hits(truth, codes), n_true, weight[samples]), samples


def is_prefit(estimator: Any, cv: Any) -> bool:
    """Return whether the estimator stays as it is, and all samples are new to it."""
    if isinstance(estimator, FrozenEstimator) or (isinstance(cv, str) and cv == "prefit"):
        check_is_fitted(estimator)
        return True
    return False
