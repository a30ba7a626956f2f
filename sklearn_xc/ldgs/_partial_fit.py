"""LDGS in parts: the method `partial_fit` of LDGSClassifier."""

from sklearn.utils import check_random_state

from ..utils._random import stream
from ._data import validated_part
from ._fitted import keep, start_of, state_of
from ._train import Problem, first_state, fit_ldgs, state_of_part


def partial_fit(self, X, y, classes=None, sample_weight=None):
    """Go on training with one pass over more samples, whose classes may be new.

    Many small parts do what few large ones do: what a sample adds to a step, its weight, the
    ridge and the time by which rates fall are relative to all rows seen, not to the call. With
    ``decay="linear"`` there is no last pass to which rates could fall: after t passes they are
    the first over ``sqrt(1 + t)``. What "auto" chose at the first call stays; the units of X
    follow all rows seen. Samples are visited in the order given, unless neighbours share their
    class far more often than by chance.

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
        X, positives, sample_weight = validated_part(self, X, y, classes, sample_weight)
        start, n_before = (None, 0) if first else (start_of(self), self.n_iter_)
        if first:
            state = first_state(self, X, len(self.classes_))
        else:
            state = state_of_part(self, state_of(self))
        seed = stream(
            check_random_state(self.random_state).randint(2**31), "part", n_before
        ).integers(2**31)
        problem = Problem.of(self, X, positives, sample_weight)
        outcome = fit_ldgs(
            problem, self, state, start, n_passes=1, n_before=n_before, seed=int(seed),
            n_threads=self._threads(), progress=self._progress_of_part(),
        )  # fmt: skip
        keep(self, outcome)
        self.n_iter_ = n_before + 1
    return self
