"""How precision grows with the number of training samples."""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..inspection._display import Axes, DrawsCurve, draw_curve, name_of
from ..metrics import precision_at_k
from ..topk._predict import predict_topk
from ..utils._matrix import n_rows
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ..utils._unwrap import find_inner
from ._take_rows import take

SIZES = 0.1, 0.2, 0.4, 0.7, 1.0


class TopKLearningCurveDisplay(DrawsCurve):
    """Precision of the best labels against the number of training samples.

    A curve that still rises at its end says that more samples would help. Part of the samples is
    held out once, the same for all sizes, and each size has the samples of the one before. Unlike
    scikit-learn's LearningCurveDisplay it takes sparse indicators, and predicts the k best labels
    only.

    Parameters
    ----------
    train_sizes : ndarray of int64, shape (n_sizes,)
        Training samples.
    precision : ndarray of float64, shape (n_sizes, n_k)
        Precision at each k on the samples held out.
    k : list of int
    name : str, default=None
        Of the model, in the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn.model_selection.LearningCurveDisplay : By cross-validation, for a dense y.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> from sklearn_xc.model_selection import TopKLearningCurveDisplay
    >>> X, Y = make_xc_classification(n_samples=500, n_features=500, n_classes=20, random_state=0)
    >>> model = PPDSparseClassifier(random_state=0)
    >>> display = TopKLearningCurveDisplay.from_estimator(model, X, Y, k=[1, 3], random_state=0)
    >>> display.train_sizes.tolist(), display.precision.shape
    ([40, 80, 160, 280, 400], (5, 2))
    """

    def __init__(
        self,
        train_sizes: np.ndarray,
        precision: np.ndarray,
        k: list[int],
        *,
        name: str | None = None,
    ) -> None:
        self.train_sizes = train_sizes
        self.precision = precision
        self.k = k
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: LabelsLike,
        *,
        train_sizes: Sequence[float] = SIZES,
        k: Sequence[int] = (1, 3, 5),
        test_size: float = 0.2,
        random_state: RandomState = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Fit copies of an estimator on more and more samples, and draw their precision.

        Parameters
        ----------
        estimator : estimator
            Its copies are fitted; one that :func:`sklearn_xc.predict_topk` accepts, such as a
            Pipeline.
        X : array-like, sparse, or whatever the first step of a pipeline takes
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            True labels.
        train_sizes : sequence of float or int, default=(0.1, 0.2, 0.4, 0.7, 1.0)
            Shares of the samples that are not held out, or their numbers.
        k : sequence of int, default=(1, 3, 5)
            Best labels to look at; a line each.
        test_size : float, default=0.2
            Share of the samples held out.
        random_state : int, RandomState instance or None, default=None
            Draws the samples held out, and the order of the others.
        name : str, default=None
            By default that of the estimator's class.
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        **kwargs : dict
            For ``ax.plot``.

        Returns
        -------
        display : TopKLearningCurveDisplay

        Raises
        ------
        ValueError
            If a size is no share from 0 to 1 and no number of samples, or k is no integer from 1.
        TypeError
            If cv is given: one part of the samples is held out, of the share `test_size`.
        """
        # It would be an option of the lines, and fail there after all the fits.
        if "cv" in kwargs:
            raise TypeError(
                f"cv={kwargs['cv']!r} is not possible: the curve holds out one part of the "
                "samples, whose share above 0 and below 1 is test_size; for a dense y, "
                "sklearn.model_selection.LearningCurveDisplay cross-validates"
            )
        cuts = list(k)
        if not cuts or not all(isinstance(cut, Integral) and cut >= 1 for cut in cuts):
            raise ValueError(f"k must be integers from 1 on, got {k!r}")
        if not (isinstance(test_size, Real) and 0 < test_size < 1):
            raise ValueError(f"test_size must be above 0 and below 1, got {test_size!r}")
        n = n_rows(X)
        order = check_random_state(random_state).permutation(n)
        n_test = max(1, round(test_size * n))
        # The first samples of one order for each size: curves rise by more samples, not others.
        test, train = np.sort(order[:n_test]), order[n_test:]
        sizes = _sizes(train_sizes, len(train))
        X_test, y_test, precision = take(X, test), take(y, test), []
        for size in sizes:
            rows = np.sort(train[:size])
            model = clone(estimator).fit(take(X, rows), take(y, rows))
            classes = find_inner(model, "predict_topk").estimator.classes_
            best, _ = predict_topk(model, X_test, min(max(cuts), len(classes)))
            precision.append([_precision(y_test, best, cut, classes) for cut in cuts])
        display = cls(np.array(sizes), np.array(precision), cuts, name=name_of(model, name))
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Axes, name: str | None, given: dict[str, Any]) -> None:
        self.lines_ = []
        for cut, values in zip(self.k, self.precision.T, strict=True):
            label = f"at {cut}" if name is None else f"{name}, at {cut}"
            style = {"marker": "o", "markersize": 4, "label": label, **given}
            self.lines_.append(draw_curve(ax, self.train_sizes, values, **style))
        ax.set_xlabel("training samples")
        ax.set_ylabel("precision on samples held out")
        ax.set_ylim(
            0,
            max(1.08 * self.precision.max(), 0.1, ax.get_ylim()[1] * (len(ax.lines) > len(self.k))),
        )
        ax.grid(alpha=0.3)
        ax.legend()


def _precision(y_test: LabelsLike, best: np.ndarray, cut: int, classes: np.ndarray) -> float:
    """Return the precision at k, of a model with fewer than k classes too."""
    # Places that a model of few classes cannot fill are misses.
    k = min(cut, best.shape[1])
    indicator = len(getattr(y_test, "shape", ())) == 2
    return precision_at_k(y_test, best, k, classes=classes if indicator else None) * k / cut


def _sizes(given: Iterable[float], n: int) -> list[int]:
    """Return numbers of training samples, rising."""
    sizes = set()
    for size in given:
        share = isinstance(size, Real) and not isinstance(size, Integral) and 0 < size <= 1
        number = isinstance(size, Integral) and not isinstance(size, bool) and 1 <= size <= n
        if not (share or number):
            raise ValueError(
                f"train_sizes must be shares above 0 and up to 1, or numbers from 1 to {n}, got "
                f"{size!r}"
            )
        sizes.add(max(1, round(size * n)) if share else int(size))
    if not sizes:
        raise ValueError("train_sizes must name a size")
    return sorted(sizes)
