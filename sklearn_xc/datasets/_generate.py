"""Random classification problems with very many classes."""

import numbers
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ..utils._typing import RandomState
from ._single_label import INDICATOR_DTYPE

_ROWS_PER_BLOCK = 1 << 16

PRESETS = {
    "short-texts": {
        "n_samples": 1000,
        "n_features": 10_000,
        "n_classes": 1000,
        "n_labels": None,
        "n_tokens": 30,
        "n_characteristic": 8,
        "signal": 0.5,
        "class_exponent": 1.0,
        "feature_exponent": 1.0,
        "feature_shift": 0.0,
        "n_topics": None,
        "topic_share": 0.85,
        "topic_signal": 0.2,
    },
    # N, D, K and the means that come out, which repeated labels and words lower, are those of the
    # repository's table; the exponent leaves most labels 4 samples or fewer.
    "amazon-670k": {
        "n_samples": 490_449,
        "n_features": 135_909,
        "n_classes": 670_091,
        "n_labels": 5.9,
        "n_tokens": 90.5,
        "n_characteristic": 4,
        "signal": 0.18,
        "class_exponent": 0.5,
        "feature_exponent": 1.0,
        "feature_shift": 20.0,
        "n_topics": 12_000,
        "topic_share": 0.85,
        "topic_signal": 0.2,
    },
}


def make_xc_classification(
    n_samples: int | None = None,
    n_features: int | None = None,
    n_classes: int | None = None,
    *,
    preset: str = "short-texts",
    n_labels: float | None = None,
    n_tokens: float | None = None,
    n_characteristic: int | None = None,
    signal: float | None = None,
    class_exponent: float | None = None,
    feature_exponent: float | None = None,
    feature_shift: float | None = None,
    n_topics: int | None = None,
    topic_share: float | None = None,
    topic_signal: float | None = None,
    random_state: RandomState = None,
) -> tuple[sp.csr_matrix, np.ndarray | sp.csr_matrix]:
    """Generate a random problem that looks like the classification of texts.

    The model: every class gets `n_characteristic` features of its own, drawn uniformly (two
    classes may share some). A sample first gets its label or labels: class ``c`` with a probability
    proportional to ``(c + 1) ** -class_exponent``. Then it gets a number of tokens with a Poisson
    distribution. Each token names, with probability `signal`, a characteristic feature of one of
    the labels of its sample; otherwise feature ``j`` with a probability proportional to
    ``(j + 1 + feature_shift) ** -feature_exponent``, whatever the labels (the law of Zipf, with a
    shift that of Zipf and Mandelbrot). Tokens are counted, and the counts of a sample scaled to
    unit length.

    With `n_topics` every class belongs to one topic, drawn uniformly, and every topic has
    ``3 * n_characteristic`` features of its own, drawn with a probability proportional to
    ``1 / (j + 1 + feature_shift)``. A sample has a topic; each of its labels is with probability
    `topic_share` one of that topic, and each token with probability `topic_signal` one of its
    features. So labels that occur together are alike, which is what label trees live on.

    So class 0 is the largest and feature 0 the most frequent. The power laws are those of a
    continuous variable cut to whole numbers, which need no table of probabilities. Time and
    memory are linear in the number of non-zeros of the result, and independent of
    ``n_samples * n_classes`` and ``n_classes * n_features``.

    Parameters
    ----------
    n_samples : int, default=None
        Number of samples. This and every following None stands for the value of the preset.
    n_features : int, default=None
        Number of features.
    n_classes : int, default=None
        Number of classes.
    preset : {"short-texts", "amazon-670k"}, default="short-texts"
        What the parameters are that are not given:

        ================ ============= =============
        parameter        short-texts   amazon-670k
        ================ ============= =============
        n_samples        1,000         490,449
        n_features       10,000        135,909
        n_classes        1,000         670,091
        n_labels         (multiclass)  5.9
        n_tokens         30            90.5
        n_characteristic 8             4
        signal           0.5           0.18
        class_exponent   1             0.5
        feature_exponent 1             1
        feature_shift    0             20
        n_topics         (none)        12,000
        topic_share      0.85          0.85
        topic_signal     0.2           0.2
        ================ ============= =============

        The second has the shape of the data set Amazon-670K [2]_: about 75 non-zeros and 5.45
        labels a sample, more than half of the labels with at most 4 samples. It takes five seconds
        and 1 GB.
    n_labels : float, default=None
        A number of at least 1 gives a multilabel problem with about that many labels a sample: 1
        plus a Poisson draw, where repeated labels count once.
    n_tokens : float, default=None
        Mean number of tokens of a sample, at least 1: 1 plus a Poisson draw.
    n_characteristic : int, default=None
        Number of features drawn for every class.
    signal : float, default=None
        Share of the tokens that come from the labels, from 0 (nothing to learn) to 1 (no noise).
    class_exponent : float, default=None
        Exponent of the power law of the class sizes; 0 makes them alike. In a multiclass problem
        of at least `n_classes` samples every class occurs: the law then governs the other samples.
    feature_exponent : float, default=None
        Exponent of the power law of the features that do not depend on the labels.
    feature_shift : float, default=None
        What is added to their ranks: it takes away the few words that every text has.
    n_topics : int, default=None
        Number of topics.
    topic_share : float, default=None
        Share of the labels that are of the topic of their sample, from 0 to 1; only with topics.
    topic_signal : float, default=None
        Share of the tokens that come from the topic; with `signal` at most 1; only with topics.
    random_state : int, RandomState instance or None, default=None
        Seed; the same int gives the same data on every call.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features), dtype float32
        Rows of unit length, column indices int32 and sorted.
    y : ndarray of shape (n_samples,), dtype int64, or csr_matrix of shape (n_samples, n_classes)
        The class of every sample, or with `n_labels` the label indicator (dtype int32).

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] R. Babbar and B. Schölkopf, "Data scarcity, robustness and extreme multi-label
       classification", Machine Learning 108, 2019, on the power laws of such problems.
    .. [2] J. McAuley and J. Leskovec, "Hidden factors and hidden topics", RecSys 2013; as a data
       set of http://manikvarma.org/downloads/XC/XMLRepository.html

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
    # all arguments by name, before there are other local variables
    given = dict(locals())
    p = _parameters(given.pop("preset"), given)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))

    if p.n_labels is None:
        label_ptr = np.arange(p.n_samples + 1)
    else:
        label_ptr = _row_starts(rng, p.n_samples, p.n_labels)
    topics = None if p.n_topics is None else _Topics(rng, p)
    if topics is None:
        labels = _power_law(rng, label_ptr[-1], p.n_classes, p.class_exponent)
    else:
        labels = topics.labels(rng, label_ptr, p.topic_share)
    # a class that never occurs cannot be learnt: one sample each, chosen at random, is relabelled
    if p.n_labels is None and p.n_samples >= p.n_classes:
        labels[rng.permutation(p.n_samples)[: p.n_classes]] = np.arange(p.n_classes)
    shape = p.n_classes, p.n_characteristic
    characteristic = rng.integers(p.n_features, size=shape, dtype=np.int32)

    # Tokens are drawn block by block: arrays of all tokens would take several times the result.
    starts = range(0, p.n_samples, _ROWS_PER_BLOCK)
    drawn = p, label_ptr, labels, characteristic, topics
    X = sp.vstack([_block(rng, start, *drawn) for start in starts], format="csr")
    return X, labels if p.n_labels is None else _indicator(labels, label_ptr, p.n_classes)


def _block(
    rng: np.random.Generator,
    start: int,
    p: SimpleNamespace,
    label_ptr: np.ndarray,
    labels: np.ndarray,
    characteristic: np.ndarray,
    topics: "_Topics | None",
) -> sp.csr_matrix:
    """Return a block of samples, from `start` on."""
    ptr = label_ptr[start : start + _ROWS_PER_BLOCK + 1]
    indptr = _row_starts(rng, len(ptr) - 1, p.n_tokens)
    # first every token is of no label; then a share is replaced, by one draw from [0, 1): below
    # `signal` by a feature of a label, in the next `topic_signal` by a feature of the topic
    features = _zipf(rng, indptr[-1], p)
    source = rng.random(len(features))
    from_label = np.flatnonzero(source < p.signal)
    # token t is of the sample whose slice of `indptr` it lies in
    rows = np.searchsorted(indptr, from_label, side="right") - 1
    token_labels = labels[rng.integers(ptr[rows], ptr[rows + 1])]
    own = rng.integers(p.n_characteristic, size=len(rows))
    features[from_label] = characteristic[token_labels, own]
    if topics is not None:
        of_topic = (source >= p.signal) & (source < p.signal + p.topic_signal)
        rows = np.searchsorted(indptr, np.flatnonzero(of_topic), side="right") - 1 + start
        features[of_topic] = topics.features(rng, rows)
    return _unit_rows_of_counts(features, indptr, p.n_features)


def _parameters(preset: str, given: dict[str, Any]) -> SimpleNamespace:
    """Return the given parameters, and the preset's values for the rest, as attributes."""
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(map(repr, PRESETS))}, got {preset!r}")
    found = {
        name: value if given[name] is None else given[name]
        for name, value in PRESETS[preset].items()
    }
    for name in "n_samples", "n_features", "n_classes", "n_characteristic":
        _check_number(name, found[name], numbers.Integral, 1, np.iinfo(np.int32).max)
    if found["n_labels"] is not None:
        _check_number("n_labels", found["n_labels"], numbers.Real, 1, found["n_classes"])
    _check_number("n_tokens", found["n_tokens"], numbers.Real, 1, 1e6)
    _check_number("signal", found["signal"], numbers.Real, 0, 1)
    _check_number("class_exponent", found["class_exponent"], numbers.Real, 0, 10)
    _check_number("feature_exponent", found["feature_exponent"], numbers.Real, 0, 10)
    _check_number("feature_shift", found["feature_shift"], numbers.Real, 0, 1e9)
    if found["n_topics"] is not None:
        _check_number("n_topics", found["n_topics"], numbers.Integral, 1, found["n_classes"])
        _check_number("topic_share", found["topic_share"], numbers.Real, 0, 1)
        _check_number("topic_signal", found["topic_signal"], numbers.Real, 0, 1 - found["signal"])
    return SimpleNamespace(**found)


class _Topics:
    """Topics of classes: which classes and which features each of them has."""

    def __init__(self, rng: np.random.Generator, p: SimpleNamespace) -> None:
        topic_of = rng.integers(p.n_topics, size=p.n_classes)
        # no topic is empty: one class each, drawn without repetition
        topic_of[rng.permutation(p.n_classes)[: p.n_topics]] = np.arange(p.n_topics)
        # classes by topic, those of topic t at starts[t] to starts[t + 1] - 1
        self.classes = np.argsort(topic_of, kind="stable")
        self.starts = np.searchsorted(topic_of[self.classes], np.arange(p.n_topics + 1))
        sizes = (self.classes + 1.0) ** -p.class_exponent
        self.before = np.append(0, np.cumsum(sizes))  # of each class in this order
        ranks = _power_law(
            rng, p.n_topics * 3 * p.n_characteristic, p.n_features, 1, p.feature_shift
        )
        self.own = ranks.astype(np.int32).reshape(p.n_topics, -1)

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw topics, each as often as its classes together."""
        position = rng.random(n) * self.before[-1]
        return np.searchsorted(self.before[self.starts[1:-1]], position, side="right")

    def labels(self, rng: np.random.Generator, label_ptr: np.ndarray, share: float) -> np.ndarray:
        """Draw a topic of each sample, and a class for each place, of that topic or of any."""
        self.of_row = self.draw(rng, len(label_ptr) - 1)
        # By inversion: a uniform number between the sums of sizes before the first and after the
        # last class of the topic, and the class whose share of the sum it falls into.
        topic = np.repeat(self.of_row, np.diff(label_ptr))
        other = rng.random(len(topic)) >= share
        topic[other] = self.draw(rng, int(other.sum()))
        first, last = self.before[self.starts[topic]], self.before[self.starts[topic + 1]]
        place = np.searchsorted(
            self.before, first + rng.random(len(topic)) * (last - first), "right"
        )
        # rounding may reach the class before or after
        return self.classes[np.clip(place - 1, self.starts[topic], self.starts[topic + 1] - 1)]

    def features(self, rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
        """Return a feature of the topic of each of these samples."""
        return self.own[self.of_row[rows], rng.integers(self.own.shape[1], size=len(rows))]


def _check_number(name: str, value: Any, kind: type, smallest: float, largest: float) -> None:
    """Refuse a parameter that is no number of the kind, or out of its range."""
    if (
        not isinstance(value, kind)
        or isinstance(value, bool | np.bool_)
        or not smallest <= value <= largest
    ):
        what = "a whole number" if kind is numbers.Integral else "a number"
        raise ValueError(f"{name} must be {what} from {smallest} to {largest}, got {value!r}")


def _row_starts(rng: np.random.Generator, n_rows: int, mean: float) -> np.ndarray:
    """Return the row pointer of rows of 1 + Poisson(mean - 1) entries."""
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(1 + rng.poisson(mean - 1, size=n_rows), out=indptr[1:])
    return indptr


def _zipf(rng: np.random.Generator, size: int, p: SimpleNamespace) -> np.ndarray:
    """Return features that do not depend on the labels."""
    drawn = _power_law(rng, size, p.n_features, p.feature_exponent, p.feature_shift)
    return drawn.astype(np.int32)


def _power_law(
    rng: np.random.Generator, size: int, n_values: int, exponent: float, shift: float = 0.0
) -> np.ndarray:
    """Draw from 0..n_values-1 with a density like x**-exponent, by inversion."""
    # A continuous x on [first, end) is cut to whole numbers. Its distribution function is
    # F(x) = (x^p - first^p) / (end^p - first^p) with p = 1 - exponent, or for p = 0
    # log(x / first) / log(end / first); x = F^-1(u) for u uniform in [0, 1).
    uniform = rng.random(size)
    first, end = 1.0 + shift, n_values + 1.0 + shift
    power = 1.0 - exponent
    if abs(power) < 1e-8:  # the powers below would be rounded to 1
        x = first * (end / first) ** uniform
    else:
        x = (first**power + uniform * (end**power - first**power)) ** (1.0 / power)
    x -= shift
    # rounding may reach n_values + 1, or fall below 1
    return np.clip(x.astype(np.int64) - 1, 0, n_values - 1)


def _unit_rows_of_counts(
    features: np.ndarray, indptr: np.ndarray, n_features: int
) -> sp.csr_matrix:
    """Return CSR rows of length 1, whose entries are like the counts of features."""
    X = sp.csr_matrix(
        (np.ones(len(features), np.float32), features, indptr), shape=(len(indptr) - 1, n_features)
    )
    X.sum_duplicates()
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))  # no row is empty
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X


def _indicator(labels: np.ndarray, label_ptr: np.ndarray, n_classes: int) -> sp.csr_matrix:
    """Return the indicator of labels, in which one that is drawn twice counts once."""
    Y = sp.csr_matrix(
        (np.ones(len(labels), INDICATOR_DTYPE), labels, label_ptr),
        shape=(len(label_ptr) - 1, n_classes),
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y
