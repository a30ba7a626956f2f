"""Why a label got its score: the contributions of the features to one prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy import sparse

from ._inner import find_inner, names_after
from ._optional import optional_import
from ._rows import as_matrix, normalise

INTERCEPT = "(intercept)"
REST = "(rest)"
MOST_SHOWN = 10  # explanations in the text of a list of them
LONGEST_NAME = 40  # characters of a feature's name in that text


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why one label got its score on one row.

    The score is the sum of its parts: ``contributions.sum() + rest + intercept``.

    Parameters
    ----------
    row : int
        Number of the row in X.
    label : object
        Entry of ``classes_``.
    score : float
        The label's decision function; for ``classes_[0]`` of two classes, minus that.
    intercept : float
        The part that does not depend on the row.
    feature_names : ndarray of str, shape (n_listed,)
        The features that contribute most, by falling magnitude of the contribution.
    features : ndarray of int64, shape (n_listed,)
        Their columns.
    values : ndarray of float32, shape (n_listed,)
        x_j, their values in the row.
    weights : ndarray of float32, shape (n_listed,)
        w_kj, their weights for the label.
    contributions : ndarray of float64, shape (n_listed,)
        The products w_kj * x_j. None is zero.
    rest : float
        Sum of the contributions of the features that are not listed.
    n_rest : int
        How many these are.

    Attributes
    ----------
    rest_label : str
        What to call the features that are not listed.

    See Also
    --------
    sklearn_xc.explain : Makes them.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> model = PPDSparseClassifier(l1=0.01).fit([[3, 0], [0, 2], [0, 3]], ["tea", "jam", "jam"])
    >>> (explanation,) = model.explain([[1, 0]], "tea", feature_names=["hot", "sweet"])
    >>> explanation.feature_names.tolist(), explanation.values.tolist(), explanation.n_rest
    (['hot'], [1.0], 0)
    """

    row: int
    label: object
    score: float
    intercept: float
    feature_names: np.ndarray
    features: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    contributions: np.ndarray
    rest: float
    n_rest: int

    def __repr__(self):
        names = [_shortened(name) for name in self.feature_names]
        width = max([len(name) for name in names] + [len(INTERCEPT)])
        numbers = _aligned([*self.contributions, self.rest, self.intercept])
        lines = [f"row {self.row}, label {self.label!r}: score {self.score:+.4g}"]
        for name, part, value, weight in zip(
            names, numbers[:-2], self.values, self.weights, strict=True
        ):
            lines.append(f"  {part}  {name:{width}}  {value:.4g} * {weight:.4g}")
        if self.n_rest:
            lines.append(f"  {numbers[-2]}  {self.rest_label}")
        lines.append(f"  {numbers[-1]}  {INTERCEPT}")
        return "\n".join(lines)

    @property
    def rest_label(self):
        """The features that are not listed, as a text."""
        return f"({self.n_rest} more feature{'s' if self.n_rest > 1 else ''})"

    def to_frame(self):
        """The parts of the score as a table.

        Returns
        -------
        frame : pandas.DataFrame
            Columns row, label, feature, value, weight and contribution: a line for each feature
            listed, one for the features that are not, where there are any, and one for the
            intercept. The contributions add up to the score.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return Explanations([self]).to_frame()


class Explanations(Sequence):
    """A list of :class:`Explanation`, row by row, the labels of a row by falling score.

    Parameters
    ----------
    items : iterable of Explanation

    Attributes
    ----------
    items : tuple of Explanation

    See Also
    --------
    sklearn_xc.explain : Makes them.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> model = PPDSparseClassifier(l1=0.01).fit([[3, 0], [0, 2], [0, 3]], ["tea", "jam", "jam"])
    >>> explanations = model.explain([[1, 0], [0, 1], [1, 1]], ["jam", "tea"])
    >>> len(explanations), [item.label for item in explanations.of_row(1)]
    (6, ['jam', 'tea'])
    """

    def __init__(self, items):
        self.items = tuple(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, place):
        found = self.items[place]
        return Explanations(found) if isinstance(place, slice) else found

    def __repr__(self):
        shown = [repr(item) for item in self.items[:MOST_SHOWN]]
        if len(self) > MOST_SHOWN:
            shown.append(f"... and {len(self) - MOST_SHOWN} more explanations")
        return "\n".join(shown) or "no explanations"

    def of_row(self, row):
        """The explanations of one row.

        Parameters
        ----------
        row : int
            Number of the row in X.

        Returns
        -------
        explanations : Explanations
            Empty if the row has none.
        """
        return Explanations(item for item in self.items if item.row == row)

    def to_frame(self):
        """The parts of all scores as one table.

        Returns
        -------
        frame : pandas.DataFrame
            As :meth:`Explanation.to_frame`, one explanation below the other.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pandas = optional_import("pandas", "to_frame")
        sizes = [len(item.features) + bool(item.n_rest) + 1 for item in self.items]
        columns = {
            "row": np.repeat(np.array([item.row for item in self.items], dtype=np.int64), sizes),
            "label": [
                item.label for item, n in zip(self.items, sizes, strict=True) for _ in range(n)
            ],
            "feature": [], "value": [], "weight": [], "contribution": [],
        }  # fmt: skip
        for item in self.items:
            rest = [(REST, np.nan, np.nan, item.rest)] if item.n_rest else []
            lines = [*rest, (INTERCEPT, 1.0, item.intercept, item.intercept)]
            names, ones, weights, parts = zip(*lines, strict=True)
            columns["feature"] += [*item.feature_names, *names]
            columns["value"] += [*item.values.tolist(), *ones]
            columns["weight"] += [*item.weights.tolist(), *weights]
            columns["contribution"] += [*item.contributions.tolist(), *parts]
        return pandas.DataFrame(columns)


def _aligned(numbers):
    """Numbers as texts of one length, with the sign."""
    largest = max(map(abs, numbers))
    form = "+.4f" if 1e-3 <= largest < 1e6 or largest == 0 else "+.3e"
    texts = [format(number, form) for number in numbers]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def _shortened(name):
    name = str(name)
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


# ------------------------------------------------------------------------------ which labels


def places_of_labels(labels, classes, n_rows):
    """The labels that a user wants explained, as places in `classes`.

    Parameters
    ----------
    labels : a label; a sequence of labels; one sequence of labels a row; or a sparse indicator
    classes : ndarray of shape (n_classes,)
    n_rows : int

    Returns
    -------
    places : list of n_rows lists of int
    """
    if sparse.issparse(labels):
        return _places_of_indicator(labels, len(classes), n_rows)
    table = {label: place for place, label in enumerate(classes.tolist())}
    labels = _as_list(labels)
    if not isinstance(labels, list):
        return [_checked_places([labels], table, "")] * n_rows
    nested = [isinstance(row, list) for row in labels]
    if not any(nested):
        return [_checked_places(labels, table, "")] * n_rows
    if not all(nested):
        raise ValueError("labels mixes labels and lists of labels; give one list for each row")
    if len(labels) != n_rows:
        raise ValueError(f"labels has lists for {len(labels)} rows, but X has {n_rows} rows")
    return [_checked_places(row, table, f" for row {i}") for i, row in enumerate(labels)]


def _as_list(labels):
    """Arrays, tuples and so on as nested lists of Python objects; a single label as it is."""
    if hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    if isinstance(labels, (np.ndarray, np.generic)):
        if labels.ndim > 2:
            raise ValueError(f"labels must have at most 2 dimensions, got shape {labels.shape}")
        labels = labels.tolist()
    if isinstance(labels, (list, tuple, set, frozenset, range)):
        return [_as_list(label) for label in labels]
    return labels


def _checked_places(labels, table, where):
    places = []
    for label in labels:
        try:
            place = table.get(label)
        except TypeError:  # not hashable, hence no label
            place = None
        if place is None:
            raise ValueError(f"labels names {label!r}{where}, which is not in classes_")
        places.append(place)
    if len(set(places)) < len(places):
        (twice, *_) = (label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"labels names {twice!r} twice{where}; for one label each row, such as the result of "
            "predict, give an array of shape (n_samples, 1), and an indicator as a sparse matrix"
        )
    return places


def _places_of_indicator(labels, n_classes, n_rows):
    if labels.shape != (n_rows, n_classes):
        raise ValueError(
            f"labels is sparse, hence an indicator, and must have the shape "
            f"({n_rows}, {n_classes}); got {labels.shape}"
        )
    labels = normalise(labels).astype(bool)  # a copy
    labels.eliminate_zeros()
    return [row.tolist() for row in np.split(labels.indices, labels.indptr[1:-1])]


# --------------------------------------------------------------------------------- the parts


def explain_rows(estimator, X, labels, k, feature_names):
    """What `BaseXCClassifier.explain` returns."""
    rows = estimator._rows(X)
    if not (k is None or (isinstance(k, Integral) and not isinstance(k, bool) and k >= 1)):
        raise ValueError(f"k must be an integer of at least 1, or None for all features; got {k!r}")
    names = _checked_names(feature_names, estimator, rows.shape[1])
    if labels is None:
        places = estimator._predicted_places(rows)
    else:
        places = places_of_labels(labels, estimator.classes_, rows.shape[0])
    matrix = as_matrix(rows)
    found = []
    for i, of_row in enumerate(places):
        features, values = _entries(matrix, i)
        of_row = [_explanation(estimator, i, place, features, values, names, k) for place in of_row]
        found += sorted(of_row, key=lambda item: -item.score)
    return Explanations(found)


def _checked_names(names, estimator, n_features):
    if names is None:
        return getattr(estimator, "feature_names_in_", None)
    names = np.asarray(names)
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names must be 1-D with a name for each of the {n_features} features, got "
            f"shape {names.shape}"
        )
    return names


def _entries(matrix, i):
    """The non-zero features of a row, ascending, and their values."""
    if sparse.issparse(matrix):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        features, values = matrix.indices[part], matrix.data[part]
        return features[values != 0], values[values != 0]
    features = np.flatnonzero(matrix[i])
    return features, matrix[i, features]


def _explanation(estimator, i, place, features, values, names, k):
    weights, intercept = estimator._weights_of_label(place, features)
    parts = weights.astype(np.float64) * values
    used = np.flatnonzero(parts)
    order = used[np.argsort(-np.abs(parts[used]), kind="stable")]
    listed, rest = (order, order[:0]) if k is None else (order[:k], order[k:])
    shown = features[listed]
    remaining = float(parts[rest].sum())
    return Explanation(
        row=i,
        label=estimator.classes_[place : place + 1].tolist()[0],  # str, not np.str_
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


def weights_at(coef, k, features):
    """Weights of class k at some features.

    Parameters
    ----------
    coef : ndarray or sparse matrix of shape (n_classes, n_features)
        Looks at nothing but row k, where the matrix is dense or CSR.
    k : int
    features : ndarray of int, ascending

    Returns
    -------
    weights : ndarray of float32, shape (n_listed,)
        Zero where a sparse matrix holds none.
    """
    if not sparse.issparse(coef):
        return np.asarray(coef[k, features], dtype=np.float32)
    coef = coef.tocsr()
    part = slice(coef.indptr[k], coef.indptr[k + 1])
    indices, data = coef.indices[part], coef.data[part]
    if np.any(indices[1:] <= indices[:-1]):  # put in place by the user: unsorted, or duplicates
        indices, inverse = np.unique(indices, return_inverse=True)
        data = np.bincount(inverse, weights=data)
    weights = np.zeros(len(features), dtype=np.float32)
    places = np.searchsorted(indices, features)
    inside = np.flatnonzero(places < len(indices))
    hit = inside[indices[places[inside]] == features[inside]]
    weights[hit] = data[places[hit]]
    return weights


def explain(estimator, X, labels=None, k=5, *, feature_names=None):
    """The features that contribute most to the scores of labels, also through pipelines.

    Looks for a linear estimator with the method ``explain`` where :func:`predict_topk` looks for
    its, and in the ``estimator_`` of a meta-estimator. The features are those that reach the
    estimator: behind a vectorizer, words, with the names of its ``get_feature_names_out``.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like, sparse, or whatever the first step of a pipeline takes
    labels : label, sequence of labels, one sequence of labels a row, or sparse indicator, \
            default=None
        What to explain. A label, or labels, for all rows; or for each row its own: an array of
        shape (n_samples, n_labels) such as the labels of :func:`predict_topk`, a list of lists, or
        a sparse indicator as `predict` returns it. By default the predicted labels; where the
        model predicts none, the best.
    k : int or None, default=5
        Features to list for a label; the others are summed up. None lists all.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features that reach the estimator. By default those of the pipeline, those
        of a DataFrame, or ``x0, x1, ...``.

    Returns
    -------
    explanations : Explanations
        A sequence of :class:`sklearn_xc.inspection.Explanation`, row by row, the labels of a row by
        falling score.

    Raises
    ------
    TypeError
        If no estimator with ``explain`` is found, or a search has ``refit=False``.
    ValueError
        If a label is not in ``classes_`` or named twice for a row, or k or feature_names are not
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
    inner, transformers = find_inner(estimator, "explain", into_meta_estimators=True)
    for step in transformers:
        X = step.transform(X)
    if feature_names is None:
        feature_names = names_after(transformers)
    return inner.explain(X, labels, k, feature_names=feature_names)
