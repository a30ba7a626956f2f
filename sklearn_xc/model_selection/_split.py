"""Splitters that keep rare labels in training: cross-validation and train_test_split."""

import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from ..utils._matrix import in_rows
from ..utils._typing import LabelsLike, MatrixLike, RandomState
from ._duplicates import warn_of_duplicates
from ._fold_assignment import (
    PINNED,
    FoldProblem,
    deal,
    keep_labels,
    label_pattern,
    make_problem,
    place_by_shares,
)
from ._take_rows import take


class _LabelKFold(BaseCrossValidator):
    """Base of the two splitters: parameters, and test parts from a placement of the samples."""

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: RandomState = None,
        pin_singletons: bool = True,
    ) -> None:
        if not isinstance(n_splits, Integral) or isinstance(n_splits, bool) or n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2, got {n_splits!r}")
        _check_switches(shuffle=shuffle, pin_singletons=pin_singletons)
        _check_random_state(shuffle, random_state)
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.pin_singletons = pin_singletons

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored, there for compatibility.

        Returns
        -------
        n_splits : int
        """
        return self.n_splits

    def split(
        self, X: MatrixLike, y: LabelsLike, groups: None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the sample numbers of the training and test part of each split.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Only its length is looked at.
        y : array-like of shape (n_samples,), or indicator (n_samples, n_classes), dense or sparse
        groups : None
            Not for these splitters: they do not keep the samples of a group together.

        Yields
        ------
        train, test : ndarray of int
            Ascending. Samples that are never tested are in every training part.

        Raises
        ------
        ValueError
            If fewer samples can be tested than there are splits, for a parameter out of range, or
            if groups are given.
        """
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} does not keep groups together: use "
                "sklearn.model_selection.GroupKFold, or split one sample of each group and take "
                "the others along"
            )
        part = self._parts(X, y)
        for number in range(self.n_splits):
            # PINNED is the number of no split: such samples are in every training part.
            test = part == number
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def withheld(self, X: MatrixLike, y: LabelsLike) -> np.ndarray:
        """Return the samples that are never tested.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Only its length is looked at.
        y : array-like of shape (n_samples,), or indicator (n_samples, n_classes), dense or sparse

        Returns
        -------
        rows : ndarray of int
            Ascending; the samples that hold the only positive of a label. Their labels count in no
            score, so that it tells how well known labels are found.
        """
        return np.flatnonzero(self._parts(X, y) == PINNED)

    def _parts(self, X: MatrixLike, y: LabelsLike) -> np.ndarray:
        """Return the number of the split that tests each sample, -1 if none does."""
        if y is None:
            raise ValueError(f"{type(self).__name__} needs y: it looks at the labels")
        X, y = in_rows(X, y, names="Xy")
        _, Y = label_pattern(y)
        rng = check_random_state(self.random_state) if self.shuffle else None
        # All parts are closed: each is tested once, and not trained on then.
        problem = make_problem(Y, np.ones(self.n_splits), self.pin_singletons, rng)
        n_rows = len(problem.rows)
        if n_rows < self.n_splits:
            held = " (the others hold the only positive of a label)" if self.pin_singletons else ""
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {n_rows} of {Y.shape[0]} samples that "
                f"can be tested{held}"
            )
        # Without a shuffle the same folds each time: ties and the repair draw from a fixed seed.
        seed = 0 if rng is None else rng.randint(2**31)
        placed, counts = self._place(problem, seed)
        keep_labels(problem, placed, counts, seed, PINNED if self.pin_singletons else None)
        part = np.full(Y.shape[0], PINNED, dtype=np.int32)
        part[problem.rows] = placed
        return part


class RareLabelKFold(_LabelKFold):
    """K folds that never leave a label out of training, for rare labels in any number.

    Samples are sorted by their rarest label and dealt like cards, one sample to each fold in turn;
    in its hand, a sample takes the fold that has fewest positives of its labels so far. Samples
    that would leave a label out of training are then exchanged for others.

    For any 1-D y and any indicator, dense or sparse,

    * every label with two positives or more has at least one in every training part;
    * a sample that holds the only positive of a label is never tested, so that every label is in
      every training part (``pin_singletons=False`` tests these samples too);
    * every other sample is tested exactly once;
    * the numbers of samples tested differ by at most one between folds;
    * with 1-D y, the numbers of samples of a class differ by at most one between folds; with an
      indicator, those of the samples that have a label as their rarest differ by at most two,
      unless that would leave out a label.

    Labels can make the first and the third impossible together: three samples of which every two
    share a label of their own cannot be tested in two folds. Nor is it always found where it is
    possible (that is a graph colouring). Then further samples are left untested, as few as were
    found, or with ``pin_singletons=False`` labels are missing from training, and a warning says
    how many.

    Parameters
    ----------
    n_splits : int, default=5
        At least 2.
    shuffle : bool, default=False
        Whether to shuffle the samples before; without it, the folds depend on the order of the
        samples alone.
    random_state : int, RandomState instance or None, default=None
        For the shuffle; refused without it.
    pin_singletons : bool, default=True
        Whether samples that hold the only positive of a label are kept in all training parts and
        never tested.

    Attributes
    ----------
    n_splits, shuffle, random_state, pin_singletons : object
        The parameters.

    See Also
    --------
    IterativeStratifiedKFold : The frequent labels evenly as well.
    sklearn.model_selection.StratifiedKFold : For classes that all have `n_splits` samples or more.

    Notes
    -----
    :func:`sklearn.model_selection.cross_val_predict` wants every sample tested once and refuses a
    splitter that pins samples ("cross_val_predict only works for partitions"): use
    ``pin_singletons=False`` with it, knowing that the samples that hold the only positive of a
    label get predictions of models that do not know it; or
    :func:`~sklearn_xc.model_selection.cross_val_topk`, which marks the samples that are never
    tested. Scores of :class:`~sklearn.model_selection.GridSearchCV` say nothing about pinned
    samples; a model meets labels that rare in use, too, and cannot do well on those it has never
    seen.

    Takes time O(nnz(y) * n_splits) and K * n_splits * 4 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.model_selection import RareLabelKFold
    >>> y = np.array(["a", "a", "a", "b", "b", "c"])
    >>> for train, test in RareLabelKFold(n_splits=2).split(y, y):
    ...     print(y[train], y[test])
    ['a' 'b' 'c'] ['a' 'a' 'b']
    ['a' 'a' 'b' 'c'] ['a' 'b']
    """

    def _place(self, problem: FoldProblem, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return deal(problem)


class IterativeStratifiedKFold(_LabelKFold):
    """K folds by iterative stratification: every label in its share, the rarest first.

    The label with the fewest samples not yet placed comes next; each of these samples goes to the
    fold that lacks most positives of this label, then to the one that lacks most samples, then to
    one at random. Beyond the paper, a fold that has its samples takes no more, a fold does not take
    the last sample of a label of which it has all others, and a single positive may be pinned.

    The guarantees of :class:`RareLabelKFold` hold here too, but for the last one: the positives of
    a label differ between folds by as little as the method reaches, most often by at most one.

    Parameters
    ----------
    n_splits : int, default=5
        At least 2.
    shuffle : bool, default=False
        Whether to shuffle the samples before, and to draw at random among folds that lack the same.
        Without it, the folds depend on the order of the samples alone.
    random_state : int, RandomState instance or None, default=None
        For the shuffle; refused without it.
    pin_singletons : bool, default=True
        Whether samples that hold the only positive of a label are kept in all training parts and
        never tested. See :class:`RareLabelKFold` on what this means for ``cross_val_predict``.

    Attributes
    ----------
    n_splits, shuffle, random_state, pin_singletons : object
        The parameters.

    See Also
    --------
    RareLabelKFold : Simpler, with the same guarantees.

    Notes
    -----
    Takes time O(nnz(y) * n_splits) and K * n_splits * 4 bytes.

    References
    ----------
    .. [1] K. Sechidis, G. Tsoumakas and I. Vlahavas. "On the Stratification of Multi-Label Data".
       ECML PKDD 2011, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.model_selection import IterativeStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 1], [1, 1], [1, 0], [1, 0], [1, 0]])
    >>> [Y[test].sum(axis=0).tolist() for _, test in IterativeStratifiedKFold(2).split(Y, Y)]
    [[3, 1], [3, 1]]
    """

    def _place(self, problem: FoldProblem, seed: int) -> tuple[np.ndarray, np.ndarray]:
        # Sizes that differ by a sample must not make shares of labels differ: ties would be none.
        sizes = np.diff(np.arange(self.n_splits + 1) * len(problem.rows) // self.n_splits)
        return place_by_shares(problem, sizes, seed, np.full(self.n_splits, 1 / self.n_splits))


def train_test_split(
    *arrays: Any,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: RandomState = None,
    shuffle: bool = True,
    stratify: LabelsLike | None = None,
    pin_singletons: bool = True,
    return_withheld: bool = False,
) -> list:
    """Split samples into one training and one test part, stratified by labels however rare.

    The twin of scikit-learn's function by iterative stratification: every label that has a
    positive has one in the training part, and otherwise its share of both parts as nearly as it
    goes. With ``pin_singletons=False`` this holds for labels with two positives or more.

    A score on the test part therefore tells how well labels are found that training knows. Samples
    to come have others too: with many labels of one sample a split at random, as scikit-learn makes
    it, measures up to nine points less. The page "Splitting" has what each way measures on six data
    sets.

    Parameters
    ----------
    *arrays : sequence of array-likes, sparse matrices, DataFrames or lists
        At least one, of the same length; the last is y, unless `stratify` is given.
    test_size : float or int, default=None
        Share or number of samples to test; a share is rounded up. By default the part that
        `train_size` leaves, or 0.25.
    train_size : float or int, default=None
        Share or number of samples to train on; a share is rounded down. The two parts together have
        all samples: with both sizes given, they must add up.
    random_state : int, RandomState instance or None, default=None
        For the shuffle; refused without it.
    shuffle : bool, default=True
        Whether to draw at random, and to give the samples back in random order. Without it, both
        parts are in the order of the samples.
    stratify : array-like or sparse, shape (n_samples,) or (n_samples, n_classes), default=None
        Labels to look at, 1-D or an indicator; by default the last of the arrays.
    pin_singletons : bool, default=True
        Whether samples that hold the only positive of a label are always trained on.
    return_withheld : bool, default=False
        Whether to return as well which samples could not be tested.

    Returns
    -------
    parts : list
        ``train, test`` of the first array, then of the second, and so on. With `return_withheld`
        the numbers of the samples that hold the only positive of a label and are trained on for
        that reason, ascending, come last.

    Raises
    ------
    ValueError
        If no array is given, their lengths differ, the sizes do not add up or leave a part empty,
        or more samples are to be tested than there are without pinned ones.

    Warns
    -----
    UserWarning
        If fewer samples are tested than requested, or (``pin_singletons=False``) labels missing
        from the training part, since no way was found to have both; if a tenth of the test samples
        of the first array, or more, equal a training sample, since a score then tells how well a
        model remembers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_xc.model_selection import train_test_split
    >>> X, y = np.arange(8), np.array(["a", "a", "a", "a", "b", "b", "b", "c"])
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=3, random_state=0)
    >>> sorted(y_train.tolist()), sorted(y_test.tolist())
    (['a', 'a', 'b', 'b', 'c'], ['a', 'a', 'b'])
    """
    if not arrays:
        raise ValueError("at least one array is needed")
    _check_switches(shuffle=shuffle, pin_singletons=pin_singletons, return_withheld=return_withheld)
    _check_random_state(shuffle, random_state)
    labels = arrays[-1] if stratify is None else stratify
    names = [f"arrays[{i}]" for i in range(len(arrays))]
    *arrays, labels = in_rows(*arrays, labels, names=[*names, "stratify"])
    try:
        _, Y = label_pattern(labels)
    except ValueError as error:
        # such as a table of texts and labels, which scikit-learn's function splits
        hint = "; the last array is y: give X and y, or stratify=y" if stratify is None else ""
        raise ValueError(f"{error}{hint}") from error
    n_test = _n_test(Y.shape[0], test_size, train_size)
    rng = check_random_state(random_state) if shuffle else None
    # Part 0 is tested and part 1 trained on, which a label may have all its positives in.
    problem = make_problem(Y, [True, False], pin_singletons, rng)
    n_free = len(problem.rows)
    if n_test > n_free:
        raise ValueError(
            f"{n_test} samples are to be tested, but only {n_free} can be: the other "
            f"{Y.shape[0] - n_free} hold the only positive of a label; lower test_size, or set "
            "pin_singletons=False"
        )
    seed = 0 if rng is None else rng.randint(2**31)
    part, counts = place_by_shares(problem, [n_test, n_free - n_test], seed)
    keep_labels(problem, part, counts, seed, 1 if pin_singletons else None)
    # Samples that were left out of the problem are trained on.
    tested = np.zeros(Y.shape[0], dtype=bool)
    tested[problem.rows[part == 0]] = True
    order = np.arange(Y.shape[0]) if rng is None else rng.permutation(Y.shape[0])
    train, test = order[~tested[order]], order[tested[order]]
    warn_of_duplicates(arrays[0], train, test)
    parts = [take(array, rows) for array in arrays for rows in (train, test)]
    if not return_withheld:
        return parts
    return [*parts, np.setdiff1d(np.arange(Y.shape[0]), problem.rows)]


def _n_test(n_rows: int, test_size: float | None, train_size: float | None) -> int:
    """Return the number of samples to test."""
    sizes = {"test_size": test_size, "train_size": train_size}
    numbers = {}
    for name, size in sizes.items():
        if size is None:
            continue
        if isinstance(size, Integral) and not isinstance(size, bool) and 0 < size < n_rows:
            numbers[name] = int(size)
        elif isinstance(size, Real) and not isinstance(size, Integral) and 0 < size < 1:
            # Rounded as scikit-learn's function does.
            exact = float(size) * n_rows
            numbers[name] = math.ceil(exact) if name == "test_size" else math.floor(exact)
        else:
            raise ValueError(
                f"{name} must be a share between 0 and 1 or a number of samples from 1 to "
                f"{n_rows - 1}, got {size!r}"
            )
    if not numbers:
        numbers["test_size"] = math.ceil(0.25 * n_rows)
    if len(numbers) == 2 and sum(numbers.values()) != n_rows:
        raise ValueError(
            f"test_size={test_size!r} and train_size={train_size!r} are {sum(numbers.values())} "
            f"of {n_rows} samples; all samples must be in one of the parts, so give one of the two"
        )
    n_test = numbers.get("test_size", n_rows - numbers.get("train_size", 0))
    if not 0 < n_test < n_rows:
        raise ValueError(
            f"test_size={test_size!r} and train_size={train_size!r} leave a part of the "
            f"{n_rows} samples empty"
        )
    return n_test


def _check_switches(**switches: Any) -> None:
    """Raise ValueError unless these are True or False."""
    for name, value in switches.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False, got {value!r}")


def _check_random_state(shuffle: bool, random_state: RandomState) -> None:
    """Raise ValueError for a random_state that nothing draws from."""
    if not shuffle and random_state is not None:
        raise ValueError(
            "random_state has no effect without shuffle=True; leave it at None, or shuffle"
        )
