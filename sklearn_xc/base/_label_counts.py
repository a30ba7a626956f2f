"""Per-label counts of a fitted model: training samples, weights, accuracy on other rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..topk._weight_store import WeightStore
from ..utils._optional_import import optional_import
from ._explanation import shortened

MOST_SHOWN = 10  # labels in the text of a report
LONGEST_NAME = 30  # characters of a label's name in that text


@dataclass(frozen=True, eq=False, repr=False)
class LabelReport:
    """Training samples, weights and held-out accuracy of every label.

    Parameters
    ----------
    labels : ndarray of shape (n_classes,)
        ``classes_`` of the model.
    support : ndarray of int64, shape (n_classes,)
        Training samples that have the label; those of weight zero do not count.
    n_weights : ndarray of int64, shape (n_classes,)
        Non-zeros of the label's row of ``coef_``; two classes share a row.
    n_true : ndarray of int64, shape (n_classes,)
        Held-out samples that have the label; zeros where none were held out.
    n_predicted : ndarray of int64, shape (n_classes,)
        Held-out samples for which it was predicted.
    n_hits : ndarray of int64, shape (n_classes,)
        Held-out samples for which it was predicted and true.

    Attributes
    ----------
    precision : ndarray of float64, shape (n_classes,)
        Share of the label's predictions that were true, nan where there were none.
    recall : ndarray of float64, shape (n_classes,)
        Share of the label's held-out samples for which it was predicted, nan without such samples.
    f1 : ndarray of float64, shape (n_classes,)
        Harmonic mean of both, nan for a label neither true nor predicted.

    See Also
    --------
    sklearn_xc.inspection.label_report : Makes one from held-out samples.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> model = PPDSparseClassifier(l1=0.01).fit([[3, 0], [0, 2], [0, 3]], ["tea", "jam", "jam"])
    >>> report = model.label_report_
    >>> report.labels.tolist(), report.support.tolist(), report.precision.tolist()
    (['jam', 'tea'], [2, 1], [nan, nan])
    """

    labels: np.ndarray
    support: np.ndarray
    n_weights: np.ndarray
    n_true: np.ndarray
    n_predicted: np.ndarray
    n_hits: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """Share of the label's predictions that were true."""
        return share_of(self.n_hits, self.n_predicted)

    @property
    def recall(self) -> np.ndarray:
        """Share of the label's held-out samples for which it was predicted."""
        return share_of(self.n_hits, self.n_true)

    @property
    def f1(self) -> np.ndarray:
        """Harmonic mean of precision and recall."""
        return share_of(2 * self.n_hits, self.n_true + self.n_predicted)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        shown = np.argsort(-self.support, kind="stable")[:MOST_SHOWN]
        names = [shortened(name, LONGEST_NAME) for name in self.labels[shown].tolist()]
        width = max(len(name) for name in [*names, "label"])
        columns = f"{'support':>9}{'weights':>9}{'precision':>11}{'recall':>8}"
        lines = [f"{len(self)} labels, by falling support", f"  {'label':{width}}{columns}"]
        precision, recall = self.precision, self.recall
        for name, place in zip(names, shown, strict=True):
            lines.append(
                f"  {name:{width}}{self.support[place]:9}{self.n_weights[place]:9}"
                f"{precision[place]:11.3f}{recall[place]:8.3f}"
            )
        if len(self) > MOST_SHOWN:
            lines.append(f"  ... and {len(self) - MOST_SHOWN} more")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return the report as a table.

        Returns
        -------
        frame : pandas.DataFrame
            Indexed by label, in the order of ``classes_``, with the columns support, n_weights,
            n_true, n_predicted, precision, recall and f1.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pandas = optional_import("pandas", "to_frame")
        names = ["support", "n_weights", "n_true", "n_predicted", "precision", "recall", "f1"]
        columns = {name: getattr(self, name) for name in names}
        return pandas.DataFrame(columns, index=pandas.Index(self.labels, name="label"))


def share_of(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole, nan where the whole is 0."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def training_support(
    Y: sparse.csr_array, sample_weight: np.ndarray | None, n_classes: int
) -> np.ndarray:
    """Return the number of samples of each class in the pattern of `_labels.encode`."""
    # A sample of weight zero takes no part in training, as if it were not there.
    counted = np.ones(Y.shape[0]) if sample_weight is None else sample_weight > 0
    # A product with a vector counts without a transposed copy; float64 counts up to 2**53.
    positives = np.asarray(Y.T @ counted.astype(np.float64)).astype(np.int64)
    if Y.shape[1] == n_classes:
        return positives
    # Two classes have one column, that of the second.
    return np.append(np.count_nonzero(counted) - positives, positives)


def extended_support(
    support: np.ndarray | None,
    Y: sparse.csr_array,
    sample_weight: np.ndarray | None,
    places: np.ndarray,
) -> np.ndarray | None:
    """Return the samples of each class where labels join those of a fit; None where not known.

    `support` is that of the fit, whose labels now stand at `places`; Y has the positives of the new
    labels.
    """
    if support is None:
        return None
    extended = training_support(Y, sample_weight, Y.shape[1])
    extended[places] = support
    return extended


def summed_support(
    classes: np.ndarray,
    codes: np.ndarray,
    sample_weight: np.ndarray | None,
    before: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> np.ndarray | None:
    """Return samples of each class, in these data and those before; None if the latter are unknown.

    `codes` are places in the sorted `classes`, which hold all of the classes `before` as well.
    """
    counted = codes if sample_weight is None else codes[sample_weight > 0]
    support = np.bincount(counted, minlength=len(classes)).astype(np.int64)
    if before is None:
        return support
    earlier, earlier_support = before
    if earlier_support is None:
        return None
    same = earlier is classes
    support[slice(None) if same else np.searchsorted(classes, earlier)] += earlier_support
    return support


def counts_of_codes(true: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Count n_true, n_predicted and n_hits of each class, of class numbers with -1 as padding."""
    hits = true[true == predicted]
    return np.stack(
        [np.bincount(c[c >= 0], minlength=n_classes) for c in (true, predicted, hits)]
    ).astype(np.int64)


def report_of(
    classes: np.ndarray,
    weights: WeightStore,
    support: np.ndarray | None,
    held_out_counts: np.ndarray | None,
) -> LabelReport:
    """Return the report of an estimator with these weights, and counts of `counts_of_codes`.

    Raises AttributeError if the support is not known, or of other classes.
    """
    n_classes = len(classes)
    # AttributeError, so that `hasattr(model, "label_report_")` says what there is. A model that was
    # merged or edited has no support, or that of fewer classes.
    if support is None or len(support) != n_classes:
        raise AttributeError("label_report_: the training samples of the labels are not known")
    if held_out_counts is None:
        held_out_counts = np.zeros((3, n_classes), dtype=np.int64)
    # Two classes share a row of weights.
    n_weights = np.broadcast_to(weights.n_weights(), n_classes).astype(np.int64)
    return LabelReport(classes, support, n_weights, *held_out_counts)
