"""Splitters that keep rare labels in training: cross-validation and train_test_split."""

from numbers import Integral

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state, indexable

from ._parts import PINNED, deal, keep_labels, label_pattern, make_problem, stratify


class _LabelKFold(BaseCrossValidator):
    """What the two splitters share: parameters, and test parts from a placement of the rows."""

    def __init__(self, n_splits=5, *, shuffle=False, random_state=None, pin_singletons=True):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.pin_singletons = pin_singletons

    def get_n_splits(self, X=None, y=None, groups=None):
        """The number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored, there for compatibility.

        Returns
        -------
        n_splits : int
        """
        return self.n_splits

    def split(self, X, y, groups=None):
        """The row numbers of the training and test part of each split.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Only its length is looked at.
        y : array-like of shape (n_samples,), or indicator (n_samples, n_classes), dense or sparse
        groups : object
            Ignored, there for compatibility.

        Yields
        ------
        train, test : ndarray of int
            Ascending. Rows that are never tested are in every training part.

        Raises
        ------
        ValueError
            If fewer rows can be tested than there are splits, or for a parameter out of range.
        """
        part = self._parts(X, y)
        for number in range(self.n_splits):
            test = part == number
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def _iter_test_indices(self, X=None, y=None, groups=None):
        part = self._parts(X, y)
        for number in range(self.n_splits):
            yield np.flatnonzero(part == number)

    def _parts(self, X, y):
        """The number of the split that tests each row, -1 if none does."""
        self._check_parameters()
        if y is None:
            raise ValueError(f"{type(self).__name__} needs y: it looks at the labels")
        X, y = indexable(X, y)
        _, Y = label_pattern(y)
        rng = check_random_state(self.random_state) if self.shuffle else None
        problem = make_problem(Y, np.ones(self.n_splits), self.pin_singletons, rng)
        n_rows = len(problem.rows)
        if n_rows < self.n_splits:
            held = " (the others hold the only positive of a label)" if self.pin_singletons else ""
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {n_rows} of {Y.shape[0]} rows that "
                f"can be tested{held}"
            )
        seed = 0 if rng is None else rng.randint(2**31)
        found, counts = self._place(problem, seed)
        keep_labels(problem, found, counts, seed, PINNED if self.pin_singletons else None)
        part = np.full(Y.shape[0], PINNED, dtype=np.int32)
        part[problem.rows] = found
        return part

    def _check_parameters(self):
        if (
            not isinstance(self.n_splits, Integral)
            or isinstance(self.n_splits, bool)
            or self.n_splits < 2
        ):
            raise ValueError(f"n_splits must be an integer of at least 2, got {self.n_splits!r}")
        for name in ("shuffle", "pin_singletons"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not self.shuffle and self.random_state is not None:
            raise ValueError(
                "random_state has no effect without shuffle=True; leave it at None, or shuffle"
            )


class RareLabelKFold(_LabelKFold):
    """K folds."""

    def _place(self, problem, seed):
        return deal(problem)


class IterativeStratifiedKFold(_LabelKFold):
    """K folds by iterative stratification."""

    def _place(self, problem, seed):
        return stratify(problem, _even_sizes(len(problem.rows), self.n_splits), seed)


def _even_sizes(n_rows, n_parts):
    return np.diff(np.arange(n_parts + 1) * n_rows // n_parts)
