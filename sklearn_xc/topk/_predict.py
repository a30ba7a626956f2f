"""Top-k predictions of pipelines, searches and other wrappers."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..utils._label_places import named_labels
from ..utils._typing import LabelsLike
from ..utils._unwrap import Inner, find_inner
from ._restriction import weights_by_name


def predict_topk(
    estimator: Any,
    X: Any,
    k: int | None = None,
    scores: str = "decision",
    sparse_output: bool = False,
    *,
    labels: LabelsLike | None = None,
    exclude: LabelsLike | None = None,
    label_weight: Any = None,
    names: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray] | sparse.csr_array:
    """Return the k best classes of each sample, also through pipelines and searches.

    Looks for an estimator with the method ``predict_topk`` inside a fitted
    :class:`~sklearn.pipeline.Pipeline` (X goes through its other steps first), a search such as
    :class:`~sklearn.model_selection.GridSearchCV` (its ``best_estimator_``) and a
    :class:`~sklearn.frozen.FrozenEstimator`, nested in any order.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse, or whatever the first step of a pipeline takes
    k : int, default=None
        Number of classes; by default the smaller of 5 and the number of classes.
    scores : {"decision", "proba"}, default="decision"
        What to return in addition to the labels.
    sparse_output : bool, default=False
        Whether to return one sparse matrix with k entries a sample instead of two arrays.
    labels, exclude : sequence of labels, one sequence of labels a sample, or sparse indicator, \
            default=None
        The only labels that an answer may hold, and those that it may not.
    label_weight : array-like of shape (n_classes,), Series or dict, default=None
        What is added to the score of each class; a Series or a dict goes by the names of classes.
    names : array-like of shape (n_classes,), default=None
        What to call the classes in the place of the estimator's ``classes_``, in their order: the
        ``classes_`` of the :class:`~sklearn.preprocessing.MultiLabelBinarizer` that made y. Labels
        in `labels` and `exclude` are then given by these names.

    Returns
    -------
    labels : ndarray of shape (n_samples, k)
    scores : ndarray of float32, shape (n_samples, k)
    matrix : csr_array of float32, shape (n_samples, n_classes)
        In their place with `sparse_output`.

    Raises
    ------
    TypeError
        If no estimator with ``predict_topk`` is found, or a search has ``refit=False``.
    sklearn.exceptions.NotFittedError
        If a part that is needed has not been fitted.
    ValueError
        If an argument is not as described; see the method.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_xc import PPDSparseClassifier, predict_topk
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> passages += ["invert a matrix", "inverse of a square matrix"]
    >>> names = ["sort", "sort", "sum", "sum", "inv", "inv"]
    >>> model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier()).fit(passages, names)
    >>> labels, scores = predict_topk(model, ["how to sort?", "the inverse of it"], k=2)
    >>> labels[:, 0].tolist(), labels.shape, scores.shape
    (['sort', 'inv'], (2, 2), (2, 2))
    """
    inner = find_inner(estimator, "predict_topk")
    X = inner.transform(X)
    if names is not None:
        names = checked_names(names, inner.estimator)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        labels, exclude = (
            _numbers_of(given, names, n_rows, name)
            for given, name in ((labels, "labels"), (exclude, "exclude"))
        )
        label_weight = weights_by_name(label_weight, names)
    options = {
        "scores": None if scores == "decision" else scores,
        "sparse_output": sparse_output or None,
        "labels": labels,
        "exclude": exclude,
        "label_weight": label_weight,
    }
    options = {name: value for name, value in options.items() if value is not None}
    found = inner.estimator.predict_topk(X, k, **options)
    return found if sparse_output or names is None else (names[found[0]], found[1])


def topk_predictor(
    estimator: Any,
    k: int | None = None,
    scores: str = "decision",
    *,
    labels: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    label_weight: ArrayLike | None = None,
    names: ArrayLike | None = None,
) -> Callable[[Any], tuple[np.ndarray, np.ndarray]]:
    """Return an object that answers for single samples, or texts, in less time than
    :func:`predict_topk`.

    All that does not depend on the sample is done once: checks of the estimator, the search for it
    inside pipelines and searches, the weights of some labels only, changed intercepts. It pays
    for samples one at a time; many at once go to :func:`predict_topk`, which has several threads.

    Parameters
    ----------
    estimator : estimator
        Fitted, as for :func:`predict_topk`.
    k : int, default=None
        Number of classes; by default the smaller of 5 and those that may be given.
    scores : {"decision", "proba"}, default="decision"
        What to return in addition to the labels.
    labels, exclude : sequence of labels, default=None
        The only labels that an answer may hold, and those that it may not.
    label_weight : array-like of shape (n_classes,), default=None
        What is added to the score of each class. Not for probabilities.
    names : array-like of shape (n_classes,), default=None
        As of :func:`predict_topk`.

    Returns
    -------
    predictor : object
        ``predictor(X)`` returns ``(labels, scores)`` as :func:`predict_topk` does, on one thread.
        Any number of threads may call it at once; training the estimator again does not change it.
        ``predictor.classes_``, ``predictor.k`` and ``predictor.scores`` are what it answers with.

    Raises
    ------
    TypeError
        If no estimator with ``topk_predictor`` is found.
    ValueError
        If an argument is not as described, or leaves fewer than k labels, or there are no
        probabilities.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_xc import PPDSparseClassifier, topk_predictor
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier())
    >>> answer = topk_predictor(model.fit(passages, ["sort", "sort", "sum", "sum"]), k=1)
    >>> answer(["how to sort?"])[0].tolist()
    [['sort']]
    >>> answer
    TopkPredictor(PPDSparseClassifier, k=1, scores='decision', 2 classes, after TfidfVectorizer)
    """
    inner = find_inner(estimator, "topk_predictor")
    if names is not None:
        names = checked_names(names, inner.estimator)
        labels, exclude = (
            _numbers_of(given, names, 0, name)
            for given, name in ((labels, "labels"), (exclude, "exclude"))
        )
        label_weight = weights_by_name(label_weight, names)
    options = {"labels": labels, "exclude": exclude, "label_weight": label_weight}
    if scores != "decision":
        options["scores"] = scores
    predictor = inner.estimator.topk_predictor(k, **options)
    if not inner.transformers and names is None:
        return predictor
    return PredictorOfPipeline(inner, predictor, names)


class PredictorOfPipeline:
    """A predictor behind the transformers of a pipeline, and with other names of classes.

    It has ``classes_``, ``k`` and ``scores`` of the predictor.
    """

    def __init__(
        self,
        inner: Inner,
        predictor: Callable[[Any], tuple[np.ndarray, np.ndarray]],
        names: np.ndarray | None = None,
    ) -> None:
        self._inner, self._predictor, self._names = inner, predictor, names
        self.classes_ = predictor.classes_ if names is None else names
        self.k, self.scores = predictor.k, predictor.scores

    def __repr__(self) -> str:
        shown = repr(self._predictor)
        steps = [type(step).__name__ for step in self._inner.transformers]
        return f"{shown[:-1]}, after {', '.join(steps)})" if steps else shown

    def __call__(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Find the k best classes of each sample, and their scores.

        Parameters
        ----------
        X : whatever the first step of the pipeline takes

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
        scores : ndarray of float32, shape (n_samples, k)
        """
        labels, scores = self._predictor(self._inner.transform(X))
        return (labels if self._names is None else self._names[labels]), scores


def checked_names(names: ArrayLike, estimator: Any) -> np.ndarray:
    """Return names of classes as an array, or raise ValueError."""
    if isinstance(names, Mapping):
        raise ValueError(
            "names must be 1-D, in the order of the classes, and is a dict: from labels to names, "
            "give [names[label] for label in binarizer.classes_]"
        )
    names, classes = np.asarray(names), estimator.classes_
    if names.shape != classes.shape:
        raise ValueError(
            f"names must be 1-D with a name for each of the {len(classes)} classes, got shape "
            f"{names.shape}"
        )
    if classes.dtype.kind not in "iu" or (classes != np.arange(len(classes))).any():
        raise ValueError(
            "names is for classes that are numbers from 0 on, such as the columns of an indicator; "
            f"this {type(estimator).__name__} has labels of its own, such as {classes[0]!r}, and "
            "answers with them: look its answers up in a table of names"
        )
    return names


def _numbers_of(
    labels: Any, names: np.ndarray, n_rows: int, argument: str
) -> np.ndarray | sparse.csr_array | None:
    """Return labels that were given by name, as the columns of an indicator that the estimator
    knows.
    """
    if labels is None or sparse.issparse(labels):
        return labels
    missing: Literal["refused", "left out"] = "left out" if argument == "exclude" else "refused"
    starts, places = named_labels(labels, names, n_rows, argument, missing)
    if starts is None:
        return places
    ones = np.ones(len(places), dtype=bool)
    return sparse.csr_array((ones, places, starts), shape=(n_rows, len(names)))
