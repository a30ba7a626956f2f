"""Functions inside of what `meta/test_threshold.py` tests from outside."""

import itertools

import numpy as np
import pytest
from _full import rest_in_full
from sklearn.metrics import fbeta_score

from sklearn_xc.meta._threshold_search import ScoredPairs, global_threshold, label_thresholds

METRICS = ["micro_f1", "macro_f1", "example_f1"]
AVERAGE = {"micro_f1": "micro", "macro_f1": "macro", "example_f1": "samples"}


def problem(seed, n=12, n_labels=5, k=3, decimals=1, weighted=True):
    """Truth, and the k best scores of each row, with ties; as pairs too."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, n_labels)) < 0.3
    scores = np.round(rng.normal(size=(n, n_labels)) + truth, decimals)
    codes = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    weight = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    sample = np.repeat(np.arange(n), k)
    label = codes.ravel()
    pairs = ScoredPairs(
        scores[sample, label],
        truth[sample, label],
        sample,
        label,
        weight,
        truth.sum(axis=1).astype(float),
        weight @ truth,
    )
    return truth, pairs


def predicted(pairs, thresholds, shape):
    found = np.zeros(shape, dtype=int)
    limit = np.broadcast_to(thresholds, shape[1])[pairs.label]
    found[pairs.sample, pairs.label] = pairs.score >= limit
    return found


def value_of(metric, truth, found, weight, beta=1.0):
    return fbeta_score(
        truth, found, beta=beta, average=AVERAGE[metric], sample_weight=weight, zero_division=0
    )


def candidates(score):
    """Thresholds with every possible result."""
    return np.append(np.unique(score), np.inf)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("beta", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("seed", rest_in_full(range(3), 0))
def test_global_threshold_is_that_of_brute_force(metric, beta, seed):
    truth, pairs = problem(seed)
    threshold, value = global_threshold(metric, pairs, beta)
    every = [
        value_of(metric, truth, predicted(pairs, t, truth.shape), pairs.weight, beta)
        for t in candidates(pairs.score)
    ]
    assert value == pytest.approx(max(every), abs=1e-12)
    found = predicted(pairs, threshold, truth.shape)
    assert value_of(metric, truth, found, pairs.weight, beta) == pytest.approx(value)


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("seed", rest_in_full(range(3), 0))
def test_label_thresholds_are_those_of_brute_force(metric, seed):
    truth, pairs = problem(seed, n=6, n_labels=3, k=2)
    thresholds, value = label_thresholds(metric, pairs, min_positives=1)
    grids = [candidates(pairs.score[pairs.label == label]) for label in range(3)]
    if metric == "macro_f1":
        with_hits = np.isin(np.arange(3), pairs.label[pairs.hit])
        grids = [grid if some else [np.inf] for grid, some in zip(grids, with_hits, strict=True)]
    every = [
        value_of(metric, truth, predicted(pairs, np.array(t), truth.shape), pairs.weight)
        for t in itertools.product(*grids)
    ]
    assert value == pytest.approx(max(every), abs=1e-12)
    found = predicted(pairs, thresholds, truth.shape)
    assert value_of(metric, truth, found, pairs.weight) == pytest.approx(value)


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_rare_labels_share_the_best_threshold(metric):
    truth, pairs = problem(20, n=30, n_labels=4, k=4)
    counts = truth.sum(axis=0)
    least = int(np.sort(counts)[2])  # two labels or more are rarer
    rare = counts < least
    assert 2 <= rare.sum() < 4
    thresholds, value = label_thresholds(metric, pairs, min_positives=least)
    assert len(set(thresholds[rare])) == 1
    found = predicted(pairs, thresholds, truth.shape)
    assert value_of(metric, truth, found, pairs.weight) == pytest.approx(value)
    for shared in candidates(pairs.score):
        other = np.where(rare, shared, thresholds)
        found = predicted(pairs, other, truth.shape)
        assert value_of(metric, truth, found, pairs.weight) <= value + 1e-12


@pytest.mark.parametrize("metric", METRICS)
def test_weights_are_repetitions(metric):
    truth, pairs = problem(3)
    rows = np.repeat(np.arange(len(truth)), pairs.weight.astype(int))
    chosen = [np.flatnonzero(pairs.sample == row) for row in rows]
    repeated = ScoredPairs(
        *(np.concatenate([values[c] for c in chosen]) for values in (pairs.score, pairs.hit)),
        np.repeat(np.arange(len(rows)), [len(c) for c in chosen]),
        np.concatenate([pairs.label[c] for c in chosen]),
        np.ones(len(rows)),
        pairs.sample_true[rows],
        pairs.label_true,
    )
    some, others = global_threshold(metric, pairs), global_threshold(metric, repeated)
    assert some[0] == others[0]
    assert some[1] == pytest.approx(others[1])
    if metric != "example_f1":
        some, others = (label_thresholds(metric, p, min_positives=2) for p in (pairs, repeated))
        assert some[1] <= others[1] + 1e-12  # repeated positives count as more


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_is_predicted_where_nothing_is_right(metric):
    truth, pairs = problem(4)
    pairs = pairs.take(~pairs.hit)
    threshold, value = global_threshold(metric, pairs)
    assert value == 0
    assert threshold > pairs.score.max()
    none = pairs.take(np.zeros(len(pairs.score), dtype=bool))
    assert global_threshold(metric, none) == (np.inf, 0.0)
    if metric != "example_f1":
        thresholds, value = label_thresholds(metric, pairs)
        assert value == 0
        assert not predicted(pairs, thresholds, truth.shape).any()
