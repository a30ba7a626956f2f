"""Functions inside of what `model_selection/test_split.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.model_selection._fold_assignment import (
    deal,
    label_pattern,
    make_problem,
    place_by_shares,
)

pytestmark = pytest.mark.kernel


def reference_deal(Y, n_splits):
    """The dealing of RareLabelKFold in plain Python, without the rule on the last positive."""
    frequency = Y.sum(axis=0)
    labels = [np.flatnonzero(row) for row in Y]
    rarest = [
        min(found, key=lambda label: (frequency[label], label), default=-1) for found in labels
    ]
    order = sorted(range(len(Y)), key=lambda i: (rarest[i] < 0, frequency[rarest[i]], rarest[i], i))
    counts = np.zeros((n_splits, Y.shape[1]))
    part = np.empty(len(Y), dtype=int)
    for start in range(0, len(order), n_splits):
        free = list(range(n_splits))
        for row in order[start : start + n_splits]:
            mine = labels[row]
            best = min(
                free,
                key=lambda p: (
                    counts[p, rarest[row]] if len(mine) else 0,
                    (counts[p, mine] / frequency[mine]).sum(),
                    p,
                ),
            )
            part[row] = best
            counts[best] += Y[row]
            free.remove(best)
    return part


@pytest.mark.parametrize("seed", range(5))
def test_dealing_is_that_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((300, 12)) < rng.uniform(0.05, 0.3, size=12)
    problem = make_problem(sparse.csr_array(Y.astype(np.uint8)), np.ones(4), False, None)
    part, counts = deal(problem)
    assert np.array_equal(part, reference_deal(Y.astype(int), 4))
    assert np.array_equal(counts, [np.bincount(part[column], minlength=4) for column in Y.T])


def reference_stratify(Y, n_splits, rng):
    """Algorithm 1 of Sechidis et al. as printed, but for parts that are full."""
    part = np.full(len(Y), -1)
    wants = np.outer(np.full(n_splits, 1 / n_splits), Y.sum(axis=0))
    room = np.diff(np.arange(n_splits + 1) * len(Y) // n_splits).astype(float)
    while (part < 0).any():
        left = Y[part < 0].sum(axis=0)
        if left.any():
            label = rng.choice(np.flatnonzero(left == left[left > 0].min()))
            rows = np.flatnonzero((part < 0) & (Y[:, label] > 0))
        else:
            label, rows = None, np.flatnonzero(part < 0)
        for row in rows:
            open_parts = np.flatnonzero(room > 0)
            want = wants[open_parts, label] if label is not None else np.zeros(len(open_parts))
            keys = list(
                zip(
                    want.round(9),
                    room[open_parts],
                    rng.random(len(open_parts)),
                    open_parts,
                    strict=True,
                )
            )
            part[row] = max(keys)[-1]
            wants[part[row]] -= Y[row]
            room[part[row]] -= 1
    return part


def unevenness(Y, part, n_splits):
    counts = np.array([Y[part == p].sum(axis=0) for p in range(n_splits)])
    return np.abs(counts - Y.sum(axis=0) / n_splits).mean()


def test_stratification_is_as_even_as_the_reference():
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 30)) < rng.uniform(0.01, 0.3, size=30)).astype(int)
    problem = make_problem(sparse.csr_array(Y.astype(np.uint8)), np.ones(5), False, None)
    ours = [unevenness(Y, place_by_shares(problem, [80] * 5, s)[0], 5) for s in range(40)]
    theirs = [unevenness(Y, reference_stratify(Y, 5, rng), 5) for _ in range(12)]
    at_random = unevenness(Y, rng.integers(0, 5, size=400), 5)
    assert np.mean(ours) <= 1.1 * np.mean(theirs)
    assert np.mean(ours) < 0.5 * at_random


def test_two_classes_get_a_column_each():
    classes, Y = label_pattern(np.array(["b", "a", "b"]))
    assert classes.tolist() == ["a", "b"]
    assert Y.toarray().tolist() == [[0, 1], [1, 0], [0, 1]]
