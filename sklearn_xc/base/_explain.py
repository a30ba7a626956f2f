"""Contributions of the features to the score of a label."""

from collections.abc import Callable
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from ..utils._label_places import named_labels
from ..utils._rows import Rows
from ..utils._typing import LabelsLike, Matrix
from ..utils._unwrap import find_inner, names_after
from ._explanation import Explanation, Explanations


def places_of_labels(labels: LabelsLike, classes: np.ndarray, n_rows: int) -> list[list[int]]:
    """Return labels that a user wants explained, as places in `classes`: a list for each sample."""
    starts, places = named_labels(labels, classes, n_rows)
    if starts is None:
        return [places.tolist()] * n_rows
    return [row.tolist() for row in np.split(places, starts[1:-1])]


def explain_rows(
    X: Matrix,
    places: list[list[int]],
    classes: np.ndarray,
    weights_of_label: Callable[..., tuple[np.ndarray, float]],
    k: int | None,
    names: np.ndarray | None,
) -> Explanations:
    """Explain scores by features: the result of `BaseXCClassifier.explain`.

    `places` has for each sample the places in `classes` of the labels to explain. For a label and
    the features and values of a sample, `weights_of_label` returns the weights at these features,
    and the intercept.
    """
    explanations: list[Explanation] = []
    for i, of_row in enumerate(places):
        features, values = _entries(X, i)
        parts = [(place, *weights_of_label(place, features, values)) for place in of_row]
        # By falling score, which is known once the parts are added up.
        explained = [
            _explanation(i, classes, place, features, values, weights, intercept, names, k)
            for place, weights, intercept in parts
        ]
        explanations += sorted(explained, key=lambda item: -item.score)
    return Explanations(explanations)


def predicted_places(model: Any, kind: str, rows: Rows, n_threads: int) -> list[list[int]]:
    """Return the places in classes_ of the predicted labels of each sample, or of the best label.

    `model` has ``scores``, ``topk`` and ``positives``; `kind` is that of a `LabelEncoding`.
    """
    # Two classes have one score, that of classes_[1].
    if kind == "binary":
        return (model.scores(rows, n_threads) > 0).astype(int).tolist()
    best = model.topk(rows, 1, n_threads)[0].tolist()
    if kind == "multiclass":
        return best
    positives = model.positives(rows, n_threads)
    predicted = np.split(positives.indices, positives.indptr[1:-1])
    return [some.tolist() or one for some, one in zip(predicted, best, strict=True)]


def check_options(
    k: int | None,
    names: ArrayLike | None,
    n_names: int,
    argument: str = "feature_names",
    what: str = "features",
) -> np.ndarray | None:
    """Return names as an array, or None; refuse bad ones, and a bad number of parts to list."""
    # True is an Integral of Python.
    if not (k is None or (isinstance(k, Integral) and not isinstance(k, bool) and k >= 1)):
        raise ValueError(f"k must be an integer of at least 1, or None for all {what}; got {k!r}")
    if names is None:
        return None
    names = np.asarray(names)
    if names.shape != (n_names,):
        raise ValueError(
            f"{argument} must be 1-D with a name for each of the {n_names} {what}, got "
            f"shape {names.shape}"
        )
    return names


def _entries(matrix: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the non-zero features of a row, ascending, and their values."""
    # Stored zeros would be listed as contributions of 0.
    if sparse.issparse(matrix):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        features, values = matrix.indices[part], matrix.data[part]
        return features[values != 0], values[values != 0]
    features = np.flatnonzero(matrix[i])
    return features, matrix[i, features]


def _explanation(
    i: int,
    classes: np.ndarray,
    place: int,
    features: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    intercept: float,
    names: np.ndarray | None,
    k: int | None,
) -> Explanation:
    """Explain the score of one label on row `i`, whose features have these weights."""
    # In float64, so that parts add up to the score that is shown.
    parts = weights.astype(np.float64) * values
    used = np.flatnonzero(parts)
    # Stable: of equal contributions the first feature comes first, on every machine.
    order = used[np.argsort(-np.abs(parts[used]), kind="stable")]
    listed, rest = (order, order[:0]) if k is None else (order[:k], order[k:])
    shown = features[listed]
    remaining = float(parts[rest].sum())
    return Explanation(
        row=i,
        label=classes[place : place + 1].tolist()[0],  # str, not np.str_
        score=float(parts[listed].sum()) + remaining + intercept,
        intercept=intercept,
        feature_names=(
            np.array([f"x{j}" for j in shown], dtype=object) if names is None else names[shown]
        ),
        features=shown.astype(np.int64),
        values=values[listed],
        weights=weights[listed],
        contributions=parts[listed],
        rest=remaining,
        n_rest=len(rest),
    )


def explain(
    estimator: BaseEstimator,
    X: Any,
    labels: LabelsLike | None = None,
    k: int | None = 5,
    *,
    feature_names: ArrayLike | None = None,
) -> Explanations:
    """Return the features that contribute most to the scores of labels, also through pipelines.

    Looks for a linear estimator with the method ``explain`` where :func:`predict_topk` looks for
    its, and in the ``estimator_`` of a meta-estimator. The features are those that reach the
    estimator: behind a vectorizer, words, with the names of its ``get_feature_names_out``.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse, or whatever the first step of a pipeline takes
    labels : label, sequence of labels, one sequence of labels a sample, or sparse indicator, \
            default=None
        What to explain. A label, or labels, for all samples; or for each sample its own: an array
        of shape (n_samples, n_labels) such as the labels of :func:`predict_topk`, a list of lists,
        or a sparse indicator as `predict` returns it. By default the labels that `predict` of
        `estimator` gives; where it gives none, the best.
    k : int or None, default=5
        Features to list for a label; the others are summed up. None lists all.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features that reach the estimator. By default those of the pipeline, those
        of a DataFrame, or ``x0, x1, ...``.

    Returns
    -------
    explanations : Explanations
        A sequence of :class:`sklearn_xc.inspection.Explanation`, sample by sample, the labels of a
        sample by falling score.

    Raises
    ------
    TypeError
        If no estimator with ``explain`` is found, or a search has ``refit=False``.
    ValueError
        If a label is not in ``classes_`` or named twice for a sample, or k or feature_names are not
        as described.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_xc import PPDSparseClassifier, explain
    >>> passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    >>> passages += ["invert a matrix", "inverse of a square matrix"]
    >>> names = ["sort", "sort", "sum", "sum", "inv", "inv"]
    >>> model = make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0))
    >>> explanations = explain(model.fit(passages, names), ["how to sort an array?"], k=1)
    >>> explanations[0].label, explanations[0].feature_names.tolist()
    ('sort', ['sort'])
    """
    inner = find_inner(estimator, "explain", into_meta_estimators=True)
    linear, rows = inner.estimator, inner.transform(X)
    # A meta-estimator (a threshold, an abstention) predicts otherwise than the model inside it.
    if labels is None and inner.decided_outside:
        labels = _labels_decided(estimator.predict(X), linear, rows)
    # Nearest neighbours explain by samples of training, which have no weights at features.
    if "feature_names" not in signature(linear.explain).parameters:
        if feature_names is not None:
            raise ValueError(
                f"feature_names is for features, but {type(linear).__name__} explains by training "
                "samples: call its explain with row_names"
            )
        return linear.explain(rows, labels, k)
    if feature_names is None:
        feature_names = names_after(inner.transformers)
    return linear.explain(rows, labels, k, feature_names=feature_names)


def _labels_decided(
    predicted: np.ndarray | sparse.csr_array, linear: BaseEstimator, rows: Any
) -> LabelsLike:
    """Return labels that a meta-estimator predicts of each sample; the best where it has none."""
    if getattr(predicted, "ndim", 1) == 1:
        return np.reshape(predicted, (-1, 1))
    pattern = sparse.csr_array(predicted, copy=True)
    pattern.eliminate_zeros()
    best = linear.predict_topk(rows, 1)[0].tolist()
    decided = np.split(pattern.indices, pattern.indptr[1:-1])
    return [linear.classes_[some].tolist() or one for some, one in zip(decided, best, strict=True)]
