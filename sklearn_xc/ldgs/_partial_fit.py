"""LDGS in parts: the method `partial_fit` of LDGSClassifier."""

from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from ..training._minibatches import in_parts
from ..training._waiting import Waiting, keep_beginning, take_back, with_beginning
from ..utils._callbacks import SILENT
from ..utils._matrix import as_rows
from ..utils._random import stream
from ._candidate_gradients import Positives
from ._data import chosen, in_runs, of_weight, validated_part
from ._fitted import keep, keep_weights, put_back, start_of, state_of, tables_of
from ._train import LDGSProblem, first_state, fit_ldgs, having_seen, state_of_part, without_far_rows


def partial_fit(self, X, y, classes=None, sample_weight=None, label_features=None):
    """Go on training with one pass over more samples, whose classes may be new.

    Many small parts do what few large ones do: weights, the ridge and the passes by which rates
    fall are relative to all rows seen, not to the call, and lasting steps are on whole mini-batches
    of `batch_size` rows. The rows left over take a step for as much of a mini-batch as they are,
    wait in the model (in copies and files too), and begin the next call, which takes that step
    back. The first rows are kept: until there are a hundred, each call trains on all of them
    from the start, and up to 800 each by which their number has grown by a quarter.

    With ``decay="linear"`` there is no last pass to which rates could fall: after t whole passes
    they are the first over ``sqrt(1 + t)``. What "auto" chose at the first call stays; the units of
    X follow all rows seen, and with several labels a sample the threshold of `predict` the last two
    thousand. Rows are visited in the order given, unless neighbours share their class far more
    often than by chance.

    Parameters
    ----------
    X : array-like or sparse, shape (n_samples, n_features)
    y : array-like or sparse, shape (n_samples,) or (n_samples, n_classes)
        An indicator has the same columns in all calls.
    classes : array-like of shape (n_classes,), default=None
        Required at the first call with one class a sample, where no fit came before: the
        classes to begin with. Later, all classes from this call on: those of before, and any
        new ones; then y may hold no others. Without it, a label that no call before has named
        becomes a class, whose weights start as those of a fit do.
    sample_weight : array-like of shape (n_samples,), default=None
    label_features : array-like or sparse, shape (n_classes, n_features), or sequence of these, \
            default=None
        Texts of the labels, as in `fit`: further rows of this call, after the others, also where
        rows choose the threshold of `predict`. They are of the columns of an indicator, of
        `classes` in its order, or of all classes after the call, sorted.

    Returns
    -------
    self : LDGSClassifier

    Raises
    ------
    ValueError
        If ``classes`` is missing at the first call, later leaves out a class of before or does
        not name a label of y, or if X or an indicator does not fit the calls before.
    """
    with self._all_or_nothing():
        first = not self.__sklearn_is_fitted__()
        given = X, y, classes, sample_weight, label_features
        X, positives, sample_weight = validated_part(self, *given)
        train_on_part(self, X, positives, sample_weight, first)
    return self


def problem_of(model, samples, some):
    """Return the problem of some samples, as a part."""
    X, *others = chosen(samples, some)
    return LDGSProblem.of(model, as_rows(X), *others)


def train_on_part(model, X, positives, sample_weight, first):
    """Make one pass over more samples and the leftover ones (see `training/_waiting.py`).

    Parameters
    ----------
    model : LDGSClassifier
    X : ndarray or csr_array of float32 (n_samples, n_features)
    positives : Positives
    sample_weight : ndarray of float32 (n_samples,), or None
    first : bool
        Whether no fit or part came before.
    """
    n_before = 0 if first else model.n_iter_
    tables, samples = partial(tables_of, model), of_weight(X, positives, sample_weight)
    samples, first, known = with_beginning(model, tables, samples, first)
    waiting, n_new = None if first else take_back(model, tables_of, put_back), samples[0].shape[0]
    cold = first or (waiting is not None and waiting.cold)
    if waiting is not None:
        samples = waiting.followed_by(*samples)
    samples = samples[0], Positives(*samples[1]), samples[2]
    n_samples = samples[0].shape[0]
    if cold:
        n_new = n_samples
        state = first_state(model, as_rows(samples[0]), len(model.classes_))
    else:
        state = state_of_part(model, state_of(model))
    rows = without_far_rows(state, as_rows(samples[0]), samples[2], known=not cold)
    samples = rows.matrix(), *samples[1:]
    new = np.arange(n_samples - n_new, n_samples)
    state = having_seen(state, problem_of(model, samples, new))
    columns = model._keep_columns(rows.features, rows.shape[1], cold, rows.dense)
    if columns is not None:
        samples = rows.as_sparse().narrowed(columns).matrix(), *samples[1:]
    seed = check_random_state(model.random_state).randint(2**31)
    rng = stream(seed, "order of a part", n_before) if in_runs(samples[1]) else None
    whole, rest = in_parts(n_samples, model.batch_size, rng)
    progress = model._progress_of_part()
    model._waiting = None

    def train(some, progress):
        """Return a pass over some of the samples."""
        number = stream(seed, "part", int(state.n_visited)).integers(2**31)
        return fit_ldgs(
            problem_of(model, samples, some),
            model,
            state,
            None if cold else start_of(model),
            n_passes=1,
            n_before=n_before,
            seed=int(number),
            n_threads=model._threads(),
            progress=progress,
        )

    if len(whole):
        outcome = train(whole, progress)
        keep(model, outcome)
        state, cold, progress = outcome.state, False, SILENT
    before = None if cold else tables_of(model)
    if len(rest):
        keep_weights(model, train(rest, progress), told=len(whole) > 0, cold=cold)
        X, *others = chosen(samples, rest)
        model._waiting = Waiting(model._in_all_columns(X), *others, cold, before or (), tables())
    model.n_iter_ = n_before + 1
    keep_beginning(model, tables, known, first)
