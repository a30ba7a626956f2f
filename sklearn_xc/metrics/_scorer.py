"""Scorers for GridSearchCV and friends, made of the metrics of the k best predictions."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from ..topk._predict import predict_topk
from ..utils._typing import LabelsLike, MatrixLike
from ._at_k import hit_rate, ndcg, precision, psndcg, psprecision, recall
from ._found_at_k import average_precision, f1, reciprocal_rank
from ._label_sets import label_sets
from ._propensities import check_propensities
from ._ranking import check_k, rank

_METRICS = {
    "precision_at_k": precision,
    "recall_at_k": recall,
    "ndcg_at_k": ndcg,
    "top_k_accuracy": hit_rate,
    "mrr_at_k": reciprocal_rank,
    "map_at_k": average_precision,
    "f1_at_k": f1,
}
_PROPENSITY_METRICS = {"psprecision_at_k": psprecision, "psndcg_at_k": psndcg}

_shared: ContextVar[dict[str, Any] | None] = ContextVar(
    "the predictions that scorers share", default=None
)


@contextmanager
def shared_predictions(k: int) -> Iterator[None]:
    """Share predictions: scorers called inside, with at most this k, predict once for each X."""
    # A context variable, not a global: searches score in several threads.
    token = _shared.set({"k": k})
    try:
        yield
    finally:
        _shared.reset(token)


class TopkScorer:
    """Scorer that `make_topk_scorer` returns: ``scorer(estimator, X, y, sample_weight=None)``."""

    def __init__(
        self,
        metric: str | Callable[..., float],
        k: int,
        propensities: np.ndarray | None,
        classes: np.ndarray | None,
    ) -> None:
        self.metric = metric
        self.k = k
        self.propensities = propensities
        self.classes = classes
        self._sample_weight_request = None

    def __call__(
        self, estimator: Any, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the metric of ``predict_topk(estimator, X)`` against the true labels y.

        Parameters
        ----------
        estimator : fitted estimator
            One that `sklearn_xc.predict_topk` accepts, such as a Pipeline or a search.
        X : array-like or sparse matrix of shape (n, D)
        y : array-like of shape (n,), or array-like or sparse matrix of shape (n, K)
            Of an indicator with grades, as estimators with ``graded=True`` take it, every label
            that is not 0 is true.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        score : float
            Greater is better.
        """
        labels = self._predict(estimator, X, y)
        classes = _column_names(estimator, y) if self.classes is None else self.classes
        if callable(self.metric):
            # a function of the user need not have the argument where it is not used
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            k = min(self.k, labels.shape[1])
            return float(self.metric(y, labels, k=k, classes=classes, **weight))
        ranking = rank(y, labels, self.k, classes, sample_weight, from_predict_topk=True)
        if self.propensities is None:
            return _METRICS[self.metric](ranking)
        return _PROPENSITY_METRICS[self.metric](ranking, self.propensities)

    def _predict(self, estimator: Any, X: MatrixLike, y: LabelsLike) -> np.ndarray:
        """Return the k best labels, from predictions that an earlier scorer has left, if any."""
        shared = _shared.get()
        if shared is None:
            return predict_topk(estimator, X, _n_ranks(self.k, estimator, y))[0]
        # the same objects, which a search passes to one scorer after the other; not equal ones
        source = shared.get("source", (None, None))
        if source[0] is not estimator or source[1] is not X or shared["k"] < self.k:
            shared["k"] = max(self.k, shared["k"])
            shared["labels"] = predict_topk(estimator, X, _n_ranks(shared["k"], estimator, y))[0]
            shared["source"] = estimator, X
        return shared["labels"][:, : self.k]

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Say whether to score with ``sample_weight`` when metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to ask for it, False to do without, None to refuse it with an error, or the name
            under which it is given.

        Returns
        -------
        self : TopkScorer
        """
        self._sample_weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return requests of this scorer, for scikit-learn's metadata routing.

        Returns
        -------
        requests : MetadataRequest
        """
        requests = MetadataRequest(owner=repr(self))
        requests.score.add_request(param="sample_weight", alias=self._sample_weight_request)
        return requests

    def _accept_sample_weight(self) -> bool:
        """Return that weights are accepted."""
        # Without metadata routing, scikit-learn (1.7 and later) asks this of several scorers.
        return True

    def __sklearn_clone__(self) -> Self:
        """Return a copy: nothing is fitted, and the arrays are never changed."""
        return copy.copy(self)

    def __repr__(self) -> str:
        metric = getattr(self.metric, "__name__", self.metric)
        parts = [str(metric) if callable(self.metric) else repr(metric), f"k={self.k}"]
        for name in ("propensities", "classes"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"{name}=<{len(value)} values>")
        return f"make_topk_scorer({', '.join(parts)})"


def _n_ranks(k: int, estimator: Any, y: LabelsLike) -> int:
    """Return the k to ask for: a training fold may have fewer classes than the metric's k."""
    if (width := _n_columns(y)) is not None:
        return min(k, width)
    return min(k, len(getattr(estimator, "classes_", range(k))))


def _column_names(estimator: Any, y: LabelsLike) -> np.ndarray | None:
    """Return the estimator's names of the columns of an indicator without names."""
    classes, width = getattr(estimator, "classes_", None), _n_columns(y)
    if label_sets(y) is not None:
        return classes
    if width is None or hasattr(y, "columns"):
        return None
    return classes if classes is not None and len(classes) == width else None


def _n_columns(y: LabelsLike) -> int | None:
    """Return columns of an indicator or a table; None of one label a sample, and of lists."""
    if label_sets(y) is not None:
        return None
    shape = np.shape(y)
    return shape[1] if len(shape) == 2 else None


def make_topk_scorer(
    metric: str | Callable[..., float] = "ndcg_at_k",
    k: int = 5,
    *,
    propensities: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> TopkScorer:
    """Return a scorer of the k best predictions, for ``scoring=`` of GridSearchCV and similar.

    The scorer asks the estimator for its k best labels, never for an (n, K) matrix. It takes
    sparse and 1-D y, looks through a Pipeline or a search, and works when a fold lacks classes: a
    true label that is not in the training fold is a miss, and if the training fold has fewer than
    k classes, all of them are ranked and the metric's k stays as it is.

    Parameters
    ----------
    metric : {"precision_at_k", "recall_at_k", "ndcg_at_k", "top_k_accuracy", "mrr_at_k", \
            "map_at_k", "f1_at_k", "psprecision_at_k", "psndcg_at_k"} or callable, \
            default="ndcg_at_k"
        Name of the metric, or the function of :mod:`sklearn_xc.metrics` itself. The default is the
        one that looks at the order of the k best. Any other function is called as
        ``metric(y_true, labels, k=k, classes=classes)``, with ``sample_weight=`` where there is
        one.
    k : int, default=5
        Number of predictions looked at, at least 1.
    propensities : array-like of shape (K,), default=None
        Propensities of all labels, each in (0, 1]; required for the metrics whose name starts
        with "ps", refused for the others. See `propensities`.
    classes : array-like of shape (K,), default=None
        Names of all labels. With 1-D y required with propensities, in the same order, and to
        contain the classes of every fold. Otherwise not needed.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sample_weight=None)`` returns a float, greater is better. It can
        be pickled and cloned.

    Raises
    ------
    ValueError
        If the metric is unknown, k is not an integer of at least 1, or propensities are missing,
        superfluous or outside (0, 1], or do not have the length of classes.

    References
    ----------
    .. [1] H. Jain, Y. Prabhu, M. Varma, "Extreme multi-label loss functions for recommendation,
       tagging, ranking and other missing label applications", KDD 2016.

    Examples
    --------
    >>> from sklearn_xc.metrics import make_topk_scorer
    >>> make_topk_scorer("precision_at_k", k=3)
    make_topk_scorer('precision_at_k', k=3)
    """
    allowed = [*_METRICS, *_PROPENSITY_METRICS]
    # a function of ours by its name, whose predictions scorers share; others are called as they are
    if getattr(metric, "__module__", "").startswith("sklearn_xc.metrics."):
        metric = metric.__name__
    if not callable(metric) and metric not in allowed:
        raise ValueError(f"metric must be one of {allowed}, got {metric!r}")
    k = check_k(k)
    if (propensities is not None) != (metric in _PROPENSITY_METRICS):
        needs = "needs" if propensities is None else "does not take"
        raise ValueError(f"metric {metric!r} {needs} propensities")
    if classes is not None:
        classes = np.asarray(classes)
    if propensities is not None:
        propensities = check_propensities(propensities, None if classes is None else len(classes))
    return TopkScorer(metric, k, propensities, classes)
