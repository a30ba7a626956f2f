"""Augment-and-Reduce in parts: lasting steps on whole mini-batches, one that passes on the rest.

See `training/_waiting.py`.
"""

import numpy as np

from ..base._multiclass import labels_of
from ..softmax._parts import chosen, tables_of, with_waiting
from ..training._minibatches import in_parts, sorted_by_class
from ..training._rows_seen import RowsSeen
from ..training._waiting import Waiting
from ..utils._callbacks import SILENT
from ..utils._matrix import as_rows
from ..utils._random import stream
from ._auto import batch_size_of
from ._feature_moments import FeatureMoments
from ._train import train


def train_on_part(model, X, codes, sample_weight, first):
    """Make one pass over more samples and the leftover ones.

    Parameters
    ----------
    model : AugmentReduceClassifier
    X : ndarray or csr_array of float32 (n_samples, n_features)
    codes : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or None
    first : bool
        Whether no fit or part came before.
    """
    X, codes, sample_weight, n_new, cold = with_waiting(model, X, codes, sample_weight, first)
    if cold:
        model.n_steps_, model._averages = 0, None
    seen = None if cold else vars(model).get("_seen")  # not of models of other origin
    moments = None if cold else vars(model).get("_moments")
    if model.learning_rate == "auto":
        X = as_rows(X).shortened(sample_weight, moments and moments.length).matrix()
    given = as_rows(X if cold else X[len(codes) - n_new :])
    rows = as_rows(X)
    columns = model._keep_columns(rows.features, rows.shape[1], cold, rows.dense)
    X = X if columns is None else rows.as_sparse().narrowed(columns).matrix()
    moments = moments and model._moments
    rows = as_rows(X if cold else X[len(codes) - n_new :])
    new_weight = None if sample_weight is None else sample_weight[len(codes) - rows.shape[0] :]
    model._seen = (seen or RowsSeen()).with_hashes(given.hashes(), new_weight)
    weight = np.ones(rows.shape[0]) if new_weight is None else new_weight.astype(float)
    moments = moments or FeatureMoments(X.shape[1])
    model._moments = moments.with_sums(rows.feature_sums(weight), weight)
    size = batch_size_of(model, part=True)
    rng = stream(0, "order of a part", model._seen.n_visits) if sorted_by_class(codes) else None
    whole, rest = in_parts(len(codes), size, rng)
    progress = model._progress_of_part()
    model._waiting = None
    if len(whole):
        weights = None if cold else model._start_weights()
        X_whole, *others = chosen(X, codes, sample_weight, whole)
        model._keep(train(model, as_rows(X_whole), *others, weights, 1, progress, part=1.0))
        progress, cold = SILENT, False
    before = None if cold else tables_of(model)
    if len(rest):
        weights = None if cold else model._start_weights()
        X, codes, sample_weight = chosen(X, codes, sample_weight, rest)
        samples = as_rows(X), codes, sample_weight
        _step_on_rest(model, samples, weights, progress, size)
        model._waiting = Waiting(
            model._in_all_columns(X),
            labels_of(codes),
            sample_weight,
            cold,
            before or (),
            tables_of(model),
        )


def _step_on_rest(model, samples, weights, progress, size):
    """Make a step for less than a mini-batch, of which only the weights are kept."""
    state = model._averages, model.n_steps_
    told = {name: vars(model)[name] for name in TOLD if progress is SILENT}
    part = len(samples[1]) / size
    model._keep(train(model, *samples, weights, 1, progress, part=part))
    model._averages, model.n_steps_ = state
    vars(model).update(told)


# Attributes that tell of a call: where there were lasting steps, of them.
TOLD = ("loss_curve_",)
