"""Propensities of labels: how likely a true label is to be recorded."""

import numbers

import numpy as np
from numpy.typing import ArrayLike

from ..utils._given_labels import in_order_of
from ..utils._propensity import A as DEFAULT_A
from ..utils._propensity import B as DEFAULT_B
from ..utils._propensity import propensities_of
from ..utils._typing import LabelsLike
from ._ranking import check_number_of_names, codes, column_names, true_labels

# (A, B) of Jain et al. (2016), as the extreme classification repository uses them.
_PRESETS = {"default": (DEFAULT_A, DEFAULT_B), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}


def propensities(
    y: LabelsLike,
    preset: str = "default",
    *,
    A: float | None = None,
    B: float | None = None,
    classes: ArrayLike | None = None,
) -> np.ndarray:
    r"""Return propensities of labels, estimated from how often they occur in the training part.

    .. math:: p_l = \frac{1}{1 + C e^{-A \log(N_l + B)}}, \quad C = (\log N - 1) (B + 1)^A

    with :math:`N_l` the number of samples that have label l and N the number of samples [1]_. A
    label that never occurs has the smallest propensity, not zero.

    Parameters
    ----------
    y : array-like of shape (N,), or array-like or sparse matrix of shape (N, K)
        Training labels: class labels, or an indicator of zeros and ones.
    preset : {"default", "wikipedia", "amazon"}, default="default"
        A and B as fitted in [1]_ and used by the extreme classification repository:
        (0.55, 1.5), (0.5, 0.4) for the Wikipedia sets, (0.6, 2.6) for the Amazon sets.
    A, B : float, default=None
        Each replaces the preset's value; greater than zero.
    classes : array-like of shape (K,), default=None
        Names of the classes of 1-D y, in the order of the result; by default its sorted distinct
        labels, which are the ``classes_`` of a fitted classifier. Names the columns of a 2-D y.

    Returns
    -------
    propensities : ndarray of shape (K,), float64
        Each in (0, 1].

    Raises
    ------
    ValueError
        If the preset is unknown, A or B is not positive, y has a label that is not in `classes`,
        or y has fewer than three samples, for which the formula gives no probability.

    References
    ----------
    .. [1] H. Jain, Y. Prabhu, M. Varma, "Extreme multi-label loss functions for recommendation,
       tagging, ranking and other missing label applications", KDD 2016.

    Examples
    --------
    >>> from sklearn_xc.metrics import propensities
    >>> propensities(["a", "a", "a", "b"]).round(4)
    array([0.7815, 0.7213])
    """
    if preset not in _PRESETS:
        raise ValueError(f"preset must be one of {sorted(_PRESETS)}, got {preset!r}")
    A, B = (
        usual if given is None else given
        for given, usual in zip((A, B), _PRESETS[preset], strict=True)
    )
    for name, value in {"A": A, "B": B}.items():
        if not (isinstance(value, numbers.Real) and 0 < value < np.inf):
            raise ValueError(f"{name} must be a finite number greater than 0, got {value!r}")
    counts, n_rows = _label_counts(y, classes)
    return propensities_of(counts, n_rows, A, B)


def _label_counts(y: LabelsLike, classes: ArrayLike | None) -> tuple[np.ndarray, int]:
    """Return the number of samples that have each label, and the number of samples."""
    if classes is not None:
        y = in_order_of(y, np.asarray(classes))
    names = column_names(y, classes)
    labels = true_labels(y, "y", grades=True)
    n_rows = labels.shape[0]
    if labels.ndim == 2:
        check_number_of_names(names, labels.shape[1], "y")
        return np.bincount(labels.indices, minlength=labels.shape[1]), n_rows
    if names is None:
        return np.unique(labels, return_counts=True)[1], n_rows
    columns = codes(labels, names)
    if (columns < 0).any():
        raise ValueError(f"y has the label {labels[columns < 0][0]!r}, which is not in classes")
    return np.bincount(columns, minlength=len(names)), n_rows


def check_propensities(propensities: ArrayLike, n_classes: int | None = None) -> np.ndarray:
    """Check propensities: float64 of shape (n_classes,), each in (0, 1]."""
    propensities = np.asarray(propensities, dtype=np.float64)
    if propensities.ndim != 1 or n_classes not in (None, len(propensities)):
        expected = "1-D" if n_classes is None else f"of shape ({n_classes},), one for each class"
        raise ValueError(f"propensities must be {expected}; got shape {propensities.shape}")
    # not `propensities <= 0 | propensities > 1`, which NaN would pass
    wrong = np.flatnonzero(~((propensities > 0) & (propensities <= 1)))
    if len(wrong):
        raise ValueError(
            f"propensities must lie in (0, 1], got {propensities[wrong[0]]} at {wrong[0]}"
        )
    return propensities
