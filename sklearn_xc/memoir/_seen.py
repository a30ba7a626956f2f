"""Totals of all calls of a MemoirSVC, and the problem of the next one.

All functions set the attributes of the estimator that say so.
"""

import numpy as np
from scipy import sparse

from ..utils._coordinates import Coordinates
from ..utils._matrix import as_rows, squared_norms
from ..utils._rows_seen import RowsSeen
from ..utils._sizes_seen import Columns
from ._data import Data, with_class_weight
from ._train import Problem


def begin(model, data, start):
    """Begin with nothing seen; the iterates that a warm start goes on from, or None.

    A warm start keeps the coordinates of its iterates; rates, the average and what is known of
    the data begin anew. A cold one has coordinates that suit the first rows.
    """
    model._seen, model._squares, model._n_visited, model._new = RowsSeen(), 0.0, 0, 0.0
    model._weight_of_squares, model._columns = 0.0, Columns()
    if start is not None:
        return start.without_average()
    model._coordinates, model._bias = Coordinates(), None
    if _by_column(model, data):
        model._coordinates = _of_all(data)
    return None


def _by_column(model, data):
    """Whether columns may get sizes of their own."""
    return model.fit_intercept and not model.normalize_scores and not sparse.issparse(data.X)


def _of_all(data):
    """The coordinates of samples that are all there are."""
    suited = Coordinates.of(data.X, data.weight if data.weight.size else None)
    # mere length is what rates and penalties follow
    return suited if suited.mean is not None else Coordinates()


def problem_of(model, data, shuffled=True, part=False):
    """The problem of these samples, which are taken into what is known of the data.

    Where they are a part, the coordinates become those of all rows so far, each as often as it is
    different: they must not follow the order of rows that come again.
    """
    raw = as_rows(data.X)
    weight = data.weight if data.weight.size else np.ones(raw.shape[0])
    before, model._seen = model._seen, model._seen.with_rows(raw, weight)
    new = model._seen.new_since(before)
    counted = Data(data.X, data.codes, new * weight.astype(np.float64))
    if new > 0 and _by_column(model, data) and model._columns is not None:
        model._columns = model._columns.with_rows(data.X, counted.weight)
    if part:
        _follow(model, data)
    rows = as_rows(model._coordinates.inside(data.X))
    model._squares += float(np.dot(squared_norms(rows), counted.weight))
    model._weight_of_squares += float(counted.weight.sum())
    model._new = new if before.n_visits else 0.0
    mean_weight = model._seen.weight_of_visits / model._seen.n_visits
    if part:
        factor = before.weight_of_visits / max(before.n_visits, 1) / mean_weight
        if factor not in (0, 1):
            model._saved = model._saved.in_weights_of(factor)
    return Problem(
        rows,
        data.codes,
        data.weight,
        len(model.classes_),
        mean_weight,
        model._n_visited,
        shuffled,
    )


def _follow(model, data):
    """Bring the coordinates, and the iterates in them, to those of all rows so far."""
    if not _by_column(model, data) or model._columns is None or not model._columns.weight:
        return
    if model._seen.n_rows <= data.X.shape[0]:
        found = _of_all(data)
    else:
        found = model._columns.coordinates() or Coordinates()
    before, model._coordinates = model._coordinates, found
    if found.mean is None and before.mean is None:
        return
    model._saved = model._saved.in_coordinates(before, found, model._bias, len(model.classes_))
    columns = model._columns
    square = np.sum(columns.squares / np.square(found.scale))
    if found.mean is None:
        square += columns.weight * np.vdot(columns.mean, columns.mean)
    # of the rows before, in the new coordinates
    model._squares = float(square / columns.weight * model._weight_of_squares)


def with_weight_of_classes(model, codes, sample_weight, first):
    """The weights to train with; "balanced" counts the samples of all calls."""
    before = 0 if first else vars(model).get("_totals", 0)
    weight, totals = with_class_weight(
        model.class_weight, model.classes_, codes, sample_weight, before
    )
    if totals is not None:
        model._totals = totals
    return weight
