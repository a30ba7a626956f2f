"""Totals of all calls of a MemoirSVC, and the problem of the next one.

All functions set the attributes of the estimator that say so.
"""

import numpy as np
from scipy import sparse

from ..utils._coordinates import Coordinates
from ..utils._matrix import as_rows, squared_norms
from ..utils._rows_seen import RowsSeen
from ._data import with_class_weight
from ._train import Problem


def begin(model, data, start):
    """Begin with nothing seen; the iterates that a warm start goes on from, or None.

    A warm start keeps the coordinates of its iterates; rates, the average and what is known of
    the data begin anew. A cold one has coordinates that suit the first rows.
    """
    model._seen, model._squares, model._n_visited, model._new = RowsSeen(), 0.0, 0, 0.0
    if start is not None:
        return start.without_average()
    model._coordinates, model._bias = Coordinates(), None
    if model.fit_intercept and not model.normalize_scores and not sparse.issparse(data.X):
        suited = Coordinates.of(data.X, data.weight if data.weight.size else None)
        if suited.mean is not None:  # mere length is what rates and penalties follow
            model._coordinates = suited
    return None


def problem_of(model, data, shuffled=True, part=False):
    """The problem of these samples, which are taken into what is known of the data."""
    rows = as_rows(model._coordinates.inside(data.X))
    squares = squared_norms(rows)
    weight = data.weight if data.weight.size else np.ones(len(squares))
    model._squares += float(np.dot(squares, weight.astype(np.float64)))
    before = model._seen
    model._seen = model._seen.with_rows(rows, weight)
    new = (model._seen.n_rows - before.n_rows) / rows.shape[0]
    model._new = min(max(new, 0.0), 1.0) if before.n_visits else 0.0
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


def with_weight_of_classes(model, codes, sample_weight, first):
    """The weights to train with; "balanced" counts the samples of all calls."""
    before = 0 if first else vars(model).get("_totals", 0)
    weight, totals = with_class_weight(
        model.class_weight, model.classes_, codes, sample_weight, before
    )
    if totals is not None:
        model._totals = totals
    return weight
