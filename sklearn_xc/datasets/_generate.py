"""Random classification problems with very many classes."""

import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ._single_label import INDICATOR_DTYPE

_ROWS_PER_BLOCK = 1 << 16


def make_xc_classification(
    n_samples=1000,
    n_features=10_000,
    n_classes=1000,
    *,
    n_labels=None,
    n_tokens=30,
    n_characteristic=8,
    signal=0.5,
    class_exponent=1.0,
    feature_exponent=1.0,
    random_state=None,
):
    """Generate a random problem that looks like the classification of short texts.

    The model: every class gets `n_characteristic` features of its own, drawn uniformly (two
    classes may share some). A row first gets its label or labels: class ``c`` with a probability
    proportional to ``(c + 1) ** -class_exponent``. Then it gets a number of tokens with a Poisson
    distribution. Each token names, with probability `signal`, a characteristic feature of one of
    the labels of its row; otherwise feature ``j`` with a probability proportional to
    ``(j + 1) ** -feature_exponent``, whatever the labels (Zipf's law). Tokens are counted, and the
    counts of a row scaled to unit length.

    So class 0 is the largest and feature 0 the most frequent. The power laws are those of a
    continuous variable cut to whole numbers, which need no table of probabilities. Time and
    memory are linear in the number of non-zeros of the result, and independent of
    ``n_samples * n_classes`` and ``n_classes * n_features``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=10000
        Number of features.
    n_classes : int, default=1000
        Number of classes.
    n_labels : float, default=None
        None gives a multiclass problem. A number of at least 1 gives a multilabel problem with
        about that many labels a row: 1 plus a Poisson draw, where repeated labels count once.
    n_tokens : float, default=30
        Mean number of tokens of a row, at least 1: 1 plus a Poisson draw. The default is the
        length of a short text.
    n_characteristic : int, default=8
        Number of features drawn for every class.
    signal : float, default=0.5
        Share of the tokens that come from the labels, from 0 (nothing to learn) to 1 (no noise).
    class_exponent : float, default=1.0
        Exponent of the power law of the class sizes; 0 makes them alike. In a multiclass problem
        of at least `n_classes` rows every class occurs: the law then governs the other rows.
    feature_exponent : float, default=1.0
        Exponent of the power law of the features that do not depend on the labels.
    random_state : int, RandomState instance or None, default=None
        Seed; the same int gives the same data on every call.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features), dtype float32
        Rows of unit length, column indices int32 and sorted.
    y : ndarray of shape (n_samples,), dtype int64, or csr_matrix of shape (n_samples, n_classes)
        The class of every row, or with `n_labels` the label indicator (dtype int32).

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] R. Babbar and B. Schölkopf, "Data scarcity, robustness and extreme multi-label
       classification", Machine Learning 108, 2019, on the power laws of such problems.

    Examples
    --------
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, y = make_xc_classification(500, n_features=2000, n_classes=100, random_state=0)
    >>> X.shape, y.shape, int(y.max())
    ((500, 2000), (500,), 99)
    >>> X, Y = make_xc_classification(500, n_classes=100, n_labels=3, random_state=0)
    >>> Y.shape
    (500, 100)
    """
    for name, size in [
        ("n_samples", n_samples),
        ("n_features", n_features),
        ("n_classes", n_classes),
        ("n_characteristic", n_characteristic),
    ]:
        _check_number(name, size, numbers.Integral, 1, np.iinfo(np.int32).max)
    if n_labels is not None:
        _check_number("n_labels", n_labels, numbers.Real, 1, n_classes)
    _check_number("n_tokens", n_tokens, numbers.Real, 1, 1e6)
    _check_number("signal", signal, numbers.Real, 0, 1)
    _check_number("class_exponent", class_exponent, numbers.Real, 0, 10)
    _check_number("feature_exponent", feature_exponent, numbers.Real, 0, 10)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))

    if n_labels is None:
        label_ptr = np.arange(n_samples + 1)
    else:
        label_ptr = _row_starts(rng, n_samples, n_labels)
    labels = _power_law(rng, label_ptr[-1], n_classes, class_exponent)
    if n_labels is None and n_samples >= n_classes:
        labels[rng.permutation(n_samples)[:n_classes]] = np.arange(n_classes)
    characteristic = rng.integers(n_features, size=(n_classes, n_characteristic), dtype=np.int32)

    blocks = []
    for start in range(0, n_samples, _ROWS_PER_BLOCK):
        ptr = label_ptr[start : start + _ROWS_PER_BLOCK + 1]
        indptr = _row_starts(rng, len(ptr) - 1, n_tokens)
        features = _power_law(rng, indptr[-1], n_features, feature_exponent).astype(np.int32)
        from_label = np.flatnonzero(rng.random(len(features)) < signal)
        rows = np.searchsorted(indptr, from_label, side="right") - 1
        token_labels = labels[rng.integers(ptr[rows], ptr[rows + 1])]
        features[from_label] = characteristic[
            token_labels, rng.integers(n_characteristic, size=len(rows))
        ]
        blocks.append(_unit_rows_of_counts(features, indptr, n_features))
    X = sp.vstack(blocks, format="csr")
    if n_labels is None:
        return X, labels
    return X, _indicator(labels, label_ptr, n_classes)


def _check_number(name, value, kind, smallest, largest):
    if (
        not isinstance(value, kind)
        or isinstance(value, bool | np.bool_)
        or not smallest <= value <= largest
    ):
        what = "a whole number" if kind is numbers.Integral else "a number"
        raise ValueError(f"{name} must be {what} from {smallest} to {largest}, got {value!r}")


def _row_starts(rng, n_rows, mean):
    """Row pointer of rows of 1 + Poisson(mean - 1) entries."""
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(1 + rng.poisson(mean - 1, size=n_rows), out=indptr[1:])
    return indptr


def _power_law(rng, size, n_values, exponent):
    """Draw from 0..n_values-1 by inversion of the distribution with density ~ x**-exponent.

    A continuous x on [1, n_values + 1) is cut to whole numbers.
    """
    uniform = rng.random(size)
    if exponent == 1:
        x = (n_values + 1.0) ** uniform
    else:
        power = 1.0 - exponent
        x = (1.0 + uniform * ((n_values + 1.0) ** power - 1.0)) ** (1.0 / power)
    return np.minimum(x.astype(np.int64) - 1, n_values - 1)  # rounding may reach n_values + 1


def _unit_rows_of_counts(features, indptr, n_features):
    X = sp.csr_matrix(
        (np.ones(len(features), np.float32), features, indptr),
        shape=(len(indptr) - 1, n_features),
    )
    X.sum_duplicates()
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))  # no row is empty
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X


def _indicator(labels, label_ptr, n_classes):
    Y = sp.csr_matrix(
        (np.ones(len(labels), INDICATOR_DTYPE), labels, label_ptr),
        shape=(len(label_ptr) - 1, n_classes),
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y
