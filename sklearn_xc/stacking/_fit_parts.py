"""Parts of a stack, fitted: which by default, on which samples, with which arguments."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ..memoir._classifier import MemoirSVC
from ..model_selection._take_rows import take
from ..neighbors._classifier import TopKNeighborsClassifier
from ..ppdsparse._classifier import PPDSparseClassifier
from ..ppdsparse._classifier_cv import PPDSparseClassifierCV
from ..utils._matrix import n_rows
from ..utils._typing import MatrixLike
from ._centroids import DENSE_NUMBERS, LabelCentroids
from ._held_out import without_labels

TEXTS = "texts"  # the default part that reads nothing but texts of labels
MOST_WEIGHTS = 50_000_000  # dense weights for one class a sample, at most
# Power 1 leaves the similarity as it is, of which the second stage makes forms of its own.
ONLY_TEXTS: dict[str, Any] = {
    "n_neighbors": 1,
    "power": 1.0,
    "frequency_power": 0.0,
    "text_weight": 1.0,
}


class PartData(NamedTuple):
    """Data that the parts are fitted on; `truth` is the pattern of true labels.

    Row k of `label_features`, or of each of several matrices, is of ``classes[k]``.
    """

    X: MatrixLike
    y: np.ndarray | sparse.csr_array
    truth: sparse.csr_array
    weight: np.ndarray | None
    label_features: MatrixLike
    classes: np.ndarray

    @property
    def one_a_row(self) -> bool:
        """Whether a sample has one class."""
        return not sparse.issparse(self.y)

    def rows(self, rows: np.ndarray, hidden: np.ndarray | None = None) -> "PartData":
        """Return some samples, without the entries of hidden labels of an indicator."""
        # Samples of one class that is hidden are not among these: `hold_out` has left them out.
        y, truth = self.y[rows], self.truth[rows]
        if hidden is not None and hidden.any() and not self.one_a_row:
            y, truth = without_labels(y, hidden), without_labels(truth, hidden)
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(X=take(self.X, rows), y=y, truth=truth, weight=weight)

    def counted(self) -> "PartData":
        """Return the samples of a weight above zero."""
        if self.weight is None or self.weight.all():
            return self
        return self.rows(np.flatnonzero(self.weight))


def default_parts(data: PartData, n_jobs: int | None, seed: int) -> list[tuple[str, BaseEstimator]]:
    """Return the parts that stand for ``estimators=None``."""
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed}
    # nDCG@5 of library titles, added to one-vs-rest: neighbours 0.8 points, centroids 0.9 more,
    # texts 3.2 more. Centroids never win alone and cost a product.
    parts = [
        ("one_vs_rest", PPDSparseClassifier(**common)),
        ("neighbors", TopKNeighborsClassifier(**common)),
    ]
    n_labels, n_features = len(data.classes), np.shape(data.X)[1] if np.ndim(data.X) == 2 else 0
    if sparse.issparse(data.X) or n_labels * n_features <= DENSE_NUMBERS:
        parts.append(("centroids", LabelCentroids(n_jobs=n_jobs)))
    if data.label_features is not None:
        parts.append((TEXTS, TopKNeighborsClassifier(**common, **ONLY_TEXTS)))
    if data.one_a_row and n_labels > 2 and n_labels * n_features <= MOST_WEIGHTS:
        parts.append(("svm", MemoirSVC(**common)))
    return parts


def fit_part(estimator: BaseEstimator, data: PartData, texts_alone: bool = False) -> BaseEstimator:
    """Return a fitted copy of a part, with `texts_alone` on the texts of labels without samples."""
    estimator = clone(estimator)
    if texts_alone:
        named = {"classes": data.classes} if data.one_a_row else {}
        return estimator.fit(None, label_features=data.label_features, **named)
    params = {}
    if data.weight is not None and has_fit_parameter(estimator, "sample_weight"):
        params["sample_weight"] = data.weight
    if data.label_features is not None and has_fit_parameter(estimator, "label_features"):
        params["label_features"] = data.label_features
    if data.one_a_row and has_fit_parameter(estimator, "classes"):
        # A part cannot name a class that neither y nor an argument holds.
        there = np.bincount(data.truth.indices, minlength=len(data.classes)) > 0
        if "label_features" in params or not there.all():
            params["classes"] = data.classes
    return estimator.fit(data.X, data.y, **params)


def chooses_by_trial(part: BaseEstimator) -> bool:
    """Return whether a part searches in `fit` what its copies can take over."""
    # On fewer samples leave-one-out may choose other powers, and the pilot other penalties: the
    # second stage would learn from scores that are not those of the parts that answer. And each
    # search would cost its seconds twice, for penalties half of the fit (bibtex 0.75 s of 1.6).
    # Choices on fewer samples are none for all: with them nDCG@5 of bibtex fell from 65.3 to 64.9.
    while isinstance(part, Pipeline):
        part = part.steps[-1][1]
    of_ours = PPDSparseClassifier, PPDSparseClassifierCV, TopKNeighborsClassifier
    return isinstance(part, (*of_ours, GridSearchCV, RandomizedSearchCV))


def require_same_rows(X: MatrixLike, y: np.ndarray | sparse.csr_array) -> None:
    """Refuse X and y of different numbers of samples."""
    if n_rows(X) != y.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows(X)}, "
            f"{y.shape[0]}]"
        )
