"""Which samples teach the second stage, and which labels are hidden from the parts meanwhile."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

MOST_ROWS = 12_000  # held out: more teach the second stage nothing
# Fewer held-out samples choose parts by noise: with 20 of 100 samples of two classes the stack was
# 6.0 points of accuracy below its best part, with five such shares 0.2.
FEW_HELD_OUT = 100
MOST_FOLDS = 5


class StackHeldOut(NamedTuple):
    """Samples that parts are fitted on, and others that are held out; ascending numbers.

    The samples of the `hidden` labels are taken away from `train`.
    """

    train: np.ndarray
    test: np.ndarray
    hidden: np.ndarray


def hold_out(
    truth: sparse.csr_array,
    weight: np.ndarray | None,
    share: float,
    hidden_share: float,
    one_a_row: bool,
    rng: np.random.RandomState,
    once: bool,
) -> list[StackHeldOut]:
    """Draw the samples that are held out, and the labels that are hidden.

    Where that would be few samples, several shares are drawn, disjoint ones, unless `once`. Samples
    of weight zero are never held out. Where samples have one class, those of a hidden class leave
    `train`, in which two classes stay. ValueError if too few samples or classes are left, or no
    sample that is held out has a label.
    """
    n_rows = truth.shape[0]
    counted = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    order = counted[rng.permutation(len(counted))]
    # A part cannot be fitted on one class: the first samples of two classes go to the end of the
    # order, which is trained on.
    if one_a_row:
        codes = truth.indices[order]
        pinned = [0, *np.flatnonzero(codes != codes[:1])[:1]] if len(order) else []
        order = np.concatenate([np.delete(order, pinned), order[pinned]])
    # 1,900 held-out samples teach trees nearly as well as 9,400 (nDCG@5 27.5 and 27.9): of many
    # samples few are taken from the parts.
    n_test = min(MOST_ROWS, max(1, round(share * len(order))))
    if len(order) - n_test < (2 if one_a_row else 1):
        raise ValueError(
            f"cv={share}: X has {n_rows} sample(s), {len(counted)} with a weight above zero, of "
            "which some must be held out and others trained on; give more samples"
        )
    n_folds = 1 if once or n_test >= FEW_HELD_OUT else min(MOST_FOLDS, int(1 / share))
    free = order[: len(order) - (2 if one_a_row else 0)]
    tests = [free[i : i + n_test] for i in range(0, len(free), n_test)[:n_folds]]
    if not truth[np.concatenate(tests)].nnz:
        raise ValueError(
            f"cv={share} holds out {n_test} of {n_rows} samples, and none of these has a label: "
            "the second stage has nothing to learn from; give more samples with labels, or raise cv"
        )
    folds = []
    for test in tests:
        train = np.setdiff1d(order, test)
        hidden = _hidden(truth[train], hidden_share, one_a_row, rng)
        if one_a_row:
            train = train[~hidden[truth[train].indices]]
        folds.append(StackHeldOut(train, np.sort(test), hidden))
    return folds


def _hidden(
    truth: sparse.csr_array, share: float, one_a_row: bool, rng: np.random.RandomState
) -> np.ndarray:
    """Return which labels lose their samples, of the rarer half; two classes keep theirs."""
    # A second stage that has never met a label without samples puts it below all others: parts gave
    # it nothing. With labels hidden on purpose it learns what texts alone are worth. They are rare
    # ones, as labels without samples are. Were frequent ones hidden, the best label of many samples
    # would be missing, and the others' distance to the best not be what it is later.
    hidden = np.zeros(truth.shape[1], dtype=bool)
    counts = np.bincount(truth.indices, minlength=truth.shape[1])
    there = np.flatnonzero(counts > 0)
    n_hidden = min(round(share * len(there)), len(there) - (2 if one_a_row else 1))
    if n_hidden > 0:
        rarer = there[counts[there] <= np.median(counts[there])]
        hidden[rng.permutation(rarer)[:n_hidden]] = True
    return hidden


def without_labels(Y: sparse.csr_array, hidden: np.ndarray) -> sparse.csr_array:
    """Return an indicator, CSR, without the entries of hidden labels."""
    kept = ~hidden[Y.indices]
    starts = np.append(0, np.cumsum(kept))[Y.indptr]
    return sparse.csr_array((Y.data[kept], Y.indices[kept], starts), shape=Y.shape)
