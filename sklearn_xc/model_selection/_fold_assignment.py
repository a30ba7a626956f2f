"""Which part of a split each sample goes to: what the splitters have in common."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._kernels.model_selection import _folds as kernel
from ..base._labels import DROPPED, check_labels, encode
from ..utils._given_labels import label_names, plain_labels
from ..utils._memory_limit import require_memory
from ..utils._typing import LabelsLike

PINNED = -1


def label_pattern(y: LabelsLike) -> tuple[np.ndarray, sparse.csr_array]:
    """Return the classes of any y, and the 0/1 pattern of its positives as uint8, a column a class.

    The classes are the sorted labels, or the column names or numbers of an indicator.
    """
    check_labels(y, DROPPED)
    names = label_names(y)
    y = y if sparse.issparse(y) else np.asarray(plain_labels(y))
    if y.ndim == 0 or y.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, got shape {y.shape}")
    if y.dtype.kind == "f" and not sparse.issparse(y) and np.isnan(y).any():
        raise ValueError("Input y contains NaN: every sample needs a label")
    encoding, Y = encode(y, names, DROPPED)
    # Two classes are encoded as one column, of the second; both must be kept in training.
    if encoding.kind == "binary":
        columns = np.diff(Y.indptr).astype(np.int32)
        parts = np.ones(len(columns), np.uint8), columns, np.arange(len(columns) + 1, dtype=int)
        Y = sparse.csr_array(parts, shape=(len(columns), 2))
    return encoding.classes_, Y


class FoldProblem(NamedTuple):
    """Samples to be placed, as the kernels of `_kernels/model_selection/_folds.pyx` take them."""

    rows: np.ndarray  # int64 (n_rows,), the caller's numbers of the samples that may be tested
    indptr: np.ndarray  # with `indices` the labels of each of them
    indices: np.ndarray
    label_indptr: np.ndarray  # with `label_rows` the rows of each label
    label_rows: np.ndarray
    frequency: np.ndarray  # int32 (n_labels,)
    needed: np.ndarray  # uint8 (n_labels,): has two positives or more, none in a sample left out
    closed: np.ndarray  # uint8 (n_parts,): is not trained on while it is tested

    def labels(self, counts: np.ndarray) -> kernel.Labels:
        """Return the labels of the samples for the kernels, which count there."""
        return kernel.Labels(
            self.indptr, self.indices, self.frequency, self.needed, self.closed, counts
        )

    @property
    def by_label(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples of each label, as the kernels take them."""
        return self.label_indptr, self.label_rows


def make_problem(
    Y: sparse.csr_array,
    closed: np.ndarray | list[bool],
    pin_singletons: bool,
    rng: np.random.RandomState | None,
) -> FoldProblem:
    """Return the problem of splitting the samples of Y; in a random order if `rng` is not None."""
    require_memory(
        4 * Y.shape[1] * len(closed),
        f"the counts of {Y.shape[1]} labels in {len(closed)} parts",
        "use fewer splits",
    )
    total = np.bincount(Y.indices, minlength=Y.shape[1])
    rows = np.arange(Y.shape[0])
    # Samples that hold the only positive of a label are left out: how many such labels come before
    # the end of a sample, less those before its beginning, is 0 for all others.
    if pin_singletons:
        alone = np.append(0, np.cumsum(total[Y.indices] == 1))
        rows = rows[np.diff(alone[Y.indptr]) == 0]
    if rng is not None:
        rows = rng.permutation(rows)
    Y = Y[rows]
    # Of the samples that may be tested. A label with a positive outside is in training anyway.
    frequency = np.bincount(Y.indices, minlength=Y.shape[1])
    by_label = Y.tocsc()
    return FoldProblem(
        rows,
        Y.indptr.astype(np.int64),
        _at_least_one(Y.indices),
        by_label.indptr.astype(np.int64),
        _at_least_one(by_label.indices),
        frequency.astype(np.int32),
        ((total >= 2) & (frequency == total)).astype(np.uint8),
        np.asarray(closed, dtype=np.uint8),
    )


def _at_least_one(indices: np.ndarray) -> np.ndarray:
    """Convert to int32, not empty: kernels take the address of the first element."""
    indices = indices.astype(np.int32, copy=False)
    return indices if len(indices) else np.zeros(1, np.int32)


def deal(problem: FoldProblem) -> tuple[np.ndarray, np.ndarray]:
    """Deal samples by their rarest label, in hands of one sample a part.

    Returns the part of each sample, int32, and how many positives of each label each part has,
    int32 (n_labels, n_parts).
    """
    n_rows, n_labels, n_parts = len(problem.rows), len(problem.frequency), len(problem.closed)
    # rank = frequency * n_labels + label: the least of a sample is of its rarest label, ties to the
    # smaller one, and samples of the same rarest label stand together in the order.
    lengths = np.diff(problem.indptr)
    key = np.full(n_rows, -1, dtype=np.int32)
    rank = np.full(n_rows, np.iinfo(np.int64).max)
    if lengths.any():
        # Over samples with labels only: `reduceat` of an empty slice would give the next entry.
        entries = problem.frequency[problem.indices].astype(np.int64) * n_labels + problem.indices
        rank[lengths > 0] = np.minimum.reduceat(entries, problem.indptr[:-1][lengths > 0])
        key[lengths > 0] = rank[lengths > 0] % n_labels
    order = np.argsort(rank, kind="stable").astype(np.int32)
    counts = np.zeros((n_labels, n_parts), dtype=np.int32)
    part = np.full(n_rows, PINNED, dtype=np.int32)
    taken = np.zeros(n_parts, dtype=np.uint8)
    kernel.deal(problem.labels(counts), order, key, taken, part)
    return part, counts


def place_by_shares(
    problem: FoldProblem, sizes: ArrayLike, seed: int, shares: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Stratify iteratively into parts of these sizes and shares; as :func:`deal`."""
    n_labels, n_parts = len(problem.frequency), len(problem.closed)
    counts = np.zeros((n_labels, n_parts), dtype=np.int32)
    part = np.full(len(problem.rows), PINNED, dtype=np.int32)
    kernel.stratify(
        problem.labels(counts),
        *problem.by_label,
        np.asarray(sizes) / np.sum(sizes) if shares is None else shares,
        np.array(sizes, dtype=np.int64),
        seed,
        # A list of labels for each number of samples that may be left of one.
        np.empty(problem.frequency.max() + 1, dtype=np.int32),
        np.empty((2, n_labels), dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
        part,
    )
    return part, counts


def keep_labels(
    problem: FoldProblem, part: np.ndarray, counts: np.ndarray, seed: int, pin: int | None
) -> None:
    """Exchange samples until every label that is needed is in every training part.

    `part` and `counts`, from :func:`deal` or :func:`place_by_shares`, change in place. Where no
    way is found, a warning says so: samples are taken out of the test parts and put into `pin`, a
    part or ``PINNED``, or with None labels are left out of training.
    """
    size = np.bincount(part, minlength=len(problem.closed))
    n_labels = len(problem.frequency)
    missing = kernel.repair(
        problem.labels(counts),
        *problem.by_label,
        bool(problem.closed.all()),
        seed,
        np.empty(n_labels, dtype=np.int32),
        np.zeros(n_labels, dtype=np.uint8),
        part,
        size,
    )
    if not missing:
        return
    if pin is None:
        warnings.warn(
            f"{missing} labels with two or more positives are missing from a training part: no way "
            "was found to test as many samples and keep them. With pin_singletons=True fewer "
            "samples are tested and every label is kept",
            UserWarning,
            stacklevel=4,
        )
        return
    n_out = _take_out(problem, part, counts, pin)
    warnings.warn(
        f"{n_out} samples are not tested, in addition to those that hold the only positive of a "
        "label: no way was found to test them and keep every label in every training part",
        UserWarning,
        stacklevel=4,
    )


def _take_out(problem: FoldProblem, part: np.ndarray, counts: np.ndarray, pin: int) -> int:
    """Take out samples that hold labels missing from training, level the test parts, count them."""
    taking = _TakingOut(problem, part, counts, pin)
    # For each sample, how many of the labels that are missing it has.
    missing = np.flatnonzero(taking.missing()).tolist()
    n_missing = np.bincount(np.concatenate([taking.rows_of(label) for label in missing]))
    for label in missing:
        if taking.needed[label]:  # of its samples, the one that helps most labels
            rows = taking.rows_of(label)
            taking.out(rows[np.argmax(n_missing[rows])])
    # Taking out has made parts uneven: samples move from the largest to the smallest, or leave it
    # where none can move. Each round makes the difference smaller, or a part.
    while pin == PINNED:
        size = np.bincount(part[part >= 0], minlength=len(problem.closed))
        large, small = int(np.argmax(size)), int(np.argmin(size))
        if size[large] - size[small] <= 1:
            break
        rows = np.flatnonzero(part == large)
        if not taking.move(rows, (size[large] - size[small]) // 2, small):
            taking.out(rows[0])
    return taking.n_out


class _TakingOut:
    """A placement of the samples of a problem whose labels cannot all be kept."""

    def __init__(
        self, problem: FoldProblem, part: np.ndarray, counts: np.ndarray, pin: int
    ) -> None:
        self.problem, self.part, self.counts, self.pin = problem, part, counts, pin
        self.needed = problem.needed.astype(bool)
        self.n_out = 0

    def missing(self) -> np.ndarray:
        """Return the labels that are needed and have all their positives in one test part."""
        closed = self.counts[:, self.problem.closed.astype(bool)]
        return self.needed & (closed.max(axis=1) == self.problem.frequency)

    def labels_of(self, row: int) -> np.ndarray:
        """Return the labels of a sample."""
        start, stop = self.problem.indptr[row : row + 2]
        return self.problem.indices[start:stop]

    def rows_of(self, label: int) -> np.ndarray:
        """Return the samples of a label."""
        start, stop = self.problem.label_indptr[label : label + 2]
        return self.problem.label_rows[start:stop]

    def out(self, row: int) -> None:
        """Keep a sample out of all tests; its labels are then in every training part."""
        labels = self.labels_of(row)
        self.needed[labels] = False
        self.counts[labels, self.part[row]] -= 1
        self.part[row] = self.pin
        self.n_out += 1

    def move(self, rows: np.ndarray, n_moves: int, target: int) -> int:
        """Move this many of the samples at most to another part; how many could be moved."""
        n_moved = 0
        for row in rows:
            labels = self.labels_of(row)
            # Not where it would bring the last positive of a needed label into one part.
            full = self.counts[labels, target] + 1 == self.problem.frequency[labels]
            if not (full & self.needed[labels]).any():
                self.counts[labels, self.part[row]] -= 1
                self.counts[labels, target] += 1
                self.part[row] = target
                n_moved += 1
            if n_moved == n_moves:
                break
        return n_moved
