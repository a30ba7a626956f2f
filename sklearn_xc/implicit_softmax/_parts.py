"""ImplicitSoftmaxRegressor in parts: what a step follows is a function of the rows seen.

Rows are visited in the order given, lasting steps of mini-batches are on whole ones
(see `training/_waiting.py`), draws and auxiliary variables go on, and coordinates are those of all
rows so far: weights outside do not change with them.
"""

import numpy as np
from sklearn.utils import check_random_state

from ..base._multiclass import labels_of
from ..softmax._parts import tables_of, with_waiting
from ..training._minibatches import in_parts, sorted_by_class
from ..training._schedules import share_of_part
from ..training._waiting import Waiting
from ..utils._callbacks import SILENT
from ..utils._matrix import as_rows
from ..utils._random import stream as random_stream
from ._data import NONE, SoftmaxData
from ._settings import settings_of


def train_on_part(model, X, codes, sample_weight, first):
    """Make one pass over more samples and the leftover ones.

    Parameters
    ----------
    model : ImplicitSoftmaxRegressor
    X : ndarray or csr_array of float32 (n_samples, n_features)
    codes : ndarray of int32 (n_samples,)
    sample_weight : ndarray of float32 (n_samples,), or None
    first : bool
        Whether no fit or part came before.
    """
    X, codes, sample_weight, n_new, cold = with_waiting(model, X, codes, sample_weight, first)
    weight = NONE if sample_weight is None else sample_weight
    before, n_calls = None if cold else model._stream, 0 if first else model.n_iter_
    data = SoftmaxData(as_rows(X), codes, weight).full().shortened(before and before.typical)
    of_rows = data.rows.features, data.rows.shape[1]
    data = data.narrowed(model._keep_columns(*of_rows, cold, data.rows.dense))
    before = before and model._stream
    solver = None if first else vars(model).get("solver_")
    settings = settings_of(model, data.entries_a_row(), solver)
    started = not cold
    new = data if cold else data.take(np.arange(len(codes) - n_new, len(codes)))
    model._stream = new.stream(model, settings, before)
    seed = check_random_state(model.random_state).randint(2**31)
    shuffled = sorted_by_class(codes)
    rng = random_stream(seed, "order of a part", n_calls) if shuffled else None
    whole, rest = in_parts(len(codes), settings.batch_size, rng)
    model._waiting, progress = None, model._progress_of_part()

    def step(some, progress):
        start = model._start_weights() if started else None
        shares = np.array([share_of_part(model.decay, model._stream.seen)])
        model._train(data.take(some), start, settings, shares, n_calls, progress, part=True)

    if len(whole):
        step(whole, progress)
        progress, cold, started = SILENT, False, True
    tables = None if cold else tables_of(model)
    if len(rest):
        kept = model._stream
        step(rest, progress)
        model._stream = kept
        left = data.take(rest)
        model._waiting = Waiting(
            model._in_all_columns(left.rows.matrix()),
            labels_of(left.y),
            left.sample_weight(),
            cold,
            tables or (),
            tables_of(model),
        )
