"""What a MemoirSVC knows of the samples of all its calls.

All functions set the attributes of the estimator that say so.
"""

import numpy as np

from ..training._class_weight import weights_of_labels
from ..training._rows_seen import RowsSeen
from ..utils._coordinates import Coordinates
from ..utils._far_rows import shares, typical_length
from ._data import with_class_weight


def begin(model, start):
    """Begin with nothing seen; the iterates that a warm start goes on from, or None.

    A warm start keeps the coordinates of its iterates; rates, the average and what is known of
    the data begin anew.
    """
    model._seen, model._squares, model._n_visited, model._new = RowsSeen(), 0.0, 0, 0.0
    if start is not None:
        return start.without_average()
    model._coordinates, model._bias = Coordinates(), None
    return None


def take_in(model, hashes, squares, weight):
    """Take the samples of a call into what is known.

    Steps are of one rate, and as long as the row: that of a row far longer than others would undo
    those of all of them, whatever its loss. It counts as one of `FAR` typical lengths.

    Parameters
    ----------
    model : MemoirSVC
    hashes, squares, weight
        The `MemoirData.measures` of the samples.

    Returns
    -------
    weight : ndarray of float32 (n_samples,), or of size 0 for 1
        To train with.
    mean_weight : float
        Of all samples so far.
    """
    of_step = shares(np.sqrt(squares), _typical_length(model, squares))
    if of_step.min() < 1:
        weight = (of_step * weight if weight.size else of_step).astype(np.float32)
        squares = squares * of_step**2
    counted = weight if weight.size else np.ones(len(squares))
    model._squares += float(np.dot(squares, counted.astype(np.float64)))
    before = model._seen
    model._seen = model._seen.with_hashes(hashes, counted)
    new = (model._seen.n_rows - before.n_rows) / len(hashes)
    model._new = min(max(new, 0.0), 1.0) if before.n_visits else 0.0
    return weight, mean_weight_of(model._seen)


def _typical_length(model, squares):
    """Return the typical row length: of earlier calls, or in the first call its median."""
    seen = model._seen
    if seen.weight_of_visits > 0 and model._squares > 0:
        return float(np.sqrt(model._squares / seen.weight_of_visits))
    return typical_length(squares)


def mean_weight_of(seen):
    """Return the mean weight of all samples so far; 0 where there are none."""
    return seen.weight_of_visits / max(seen.n_visits, 1)


def with_weight_of_classes(model, codes, sample_weight, first):
    """Return the weights to train with; "balanced" counts the samples of all calls."""
    before = 0 if first else vars(model).get("_totals", 0)
    weight, totals = with_class_weight(
        model.class_weight, model.classes_, codes, sample_weight, before
    )
    if totals is not None:
        model._totals = totals
    return weight


def factors_of_texts(model):
    """Return the weights of the classes, by the samples counted so far; None for weights of 1."""
    if model.class_weight is None:
        return None
    return weights_of_labels(model.class_weight, model.classes_, model._totals)
