"""Candidates and features against a few lines of NumPy."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.stacking._candidates import candidates_of
from sklearn_xc.stacking._features import fitted_part, part_features
from sklearn_xc.stacking._judge import gains, hits_of
from sklearn_xc.stacking._label_facts import LabelFacts, presence, shares_of
from sklearn_xc.stacking._parts import MARGIN, UNKNOWN, VOTES, StackPart
from sklearn_xc.utils._matrix import as_rows

RNG = np.random.default_rng(0)
N, K = 40, 25
SCORES = RNG.normal(size=(2, N, K)).astype(np.float32)
SCORES[1] = np.maximum(SCORES[1], 0)


class Dense:
    """A part of which all scores are known."""

    def __init__(self, scores):
        self.scores = scores

    def best(self, k, only=None):
        order = np.argsort(-self.scores, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(self.scores, order, axis=1)

    def at(self, starts, places):
        return self.scores[np.repeat(np.arange(len(starts) - 1), np.diff(starts)), places]


def test_candidates_are_the_union_of_the_best_scored_by_all():
    found = candidates_of([Dense(part) for part in SCORES], [False, True], K, 4)
    for i in range(N):
        best = set(np.argsort(-SCORES[0, i], kind="stable")[:4])
        second = np.argsort(-SCORES[1, i], kind="stable")[:4]
        best |= set(second[SCORES[1, i, second] > 0])  # a vote of zero says nothing
        places = found.places[found.starts[i] : found.starts[i + 1]]
        assert places.tolist() == sorted(best)
        for part in (0, 1):
            of_row = found.scores[part, found.starts[i] : found.starts[i + 1]]
            np.testing.assert_array_equal(of_row, SCORES[part, i, places])
    np.testing.assert_array_equal(found.best, SCORES.max(axis=2))


def test_rows_get_as_many_labels_as_are_needed():
    nothing = np.zeros((3, K), np.float32)
    found = candidates_of([Dense(nothing)], [True], K, 4, n_needed=6)
    assert np.diff(found.starts).tolist() == [6, 6, 6]
    found = candidates_of([Dense(nothing)], [True], K, 4)
    assert np.diff(found.starts).tolist() == [4, 4, 4]


def test_features_of_a_margin():
    scores = np.array([1.5, -0.5, UNKNOWN, 100], np.float32)
    best = np.array([2.0, -0.5, 1.0, 100], np.float32)
    part = StackPart("m", None, MARGIN, middle=-0.5, scale=0.5)
    z = np.array([4.0, 0, 0, 8])  # unknown: as if nothing spoke for or against it
    gap = np.array([-1.0, 0, -3, 0])
    expected = np.stack([z, 1 / (1 + np.exp(2 - z)), gap], axis=1)
    np.testing.assert_allclose(part_features(part, scores, best), expected, rtol=1e-6)


def test_features_of_votes():
    scores, best = np.array([3, 0, 1], np.float32), np.array([6, 0, 1], np.float32)
    part = StackPart("v", None, VOTES, scale=2.0)
    votes, share = scores / 2, np.array([0.5, 0, 1])
    expected = np.stack([np.log(votes + 1e-3), share, votes], axis=1)
    np.testing.assert_allclose(part_features(part, scores, best), expected, rtol=1e-6)


def test_scales_are_those_of_held_out_scores():
    hits = RNG.random(100) < 0.3
    scores = RNG.normal(size=100).astype(np.float32)
    part = fitted_part("m", None, scores, hits, scores[:10])
    assert part.kind == MARGIN
    assert part.middle == pytest.approx(scores[~hits].mean(), abs=1e-6)
    assert part.scale == pytest.approx(scores.std(), rel=1e-5)
    votes = fitted_part("v", None, np.abs(scores), hits, np.abs(scores[:10]))
    assert (votes.kind, votes.middle) == (VOTES, 0)
    assert votes.scale == pytest.approx(np.abs(scores[:10]).mean(), rel=1e-5)


def test_features_of_labels_and_rows():
    X = sparse.csr_array((RNG.random((N, 12)) < 0.3) * RNG.random((N, 12)), dtype=np.float32)
    T = sparse.csr_array((RNG.random((K, 12)) < 0.2) * RNG.random((K, 12)), dtype=np.float32)
    T.data[:], truth = RNG.random(T.nnz), sparse.csr_array(RNG.random((N, K)) < 0.05)
    facts = LabelFacts.of(truth, shares_of([T]))
    starts = np.arange(0, N * 3 + 1, 3)
    places = np.concatenate([np.sort(RNG.permutation(K)[:3]) for _ in range(N)])
    row = np.repeat(np.arange(N), 3)
    found = facts.features(presence(as_rows(X)), row, starts, places, 1)
    T_, X_ = T.toarray().astype(float), X.toarray()
    f = truth.toarray().sum(axis=0)[places]
    share = T_ / np.where(T_.sum(axis=1) > 0, T_.sum(axis=1), 1)[:, None]
    cover = (share[places] * (X_[row] > 0)).sum(axis=1)
    words = (T_ > 0).sum(axis=1)[places]
    expected = [np.log1p(f), f == 0, cover, cover > 0.999, words == 0, words, np.sqrt(words)]
    expected += [(X_ > 0).sum(axis=1)[row]]
    np.testing.assert_allclose(found, np.stack(expected, axis=1).astype(float), atol=1e-6)
    assert len(facts.names(True)) == found.shape[1]


def test_judged_by_ndcg():
    truth = sparse.csr_array(RNG.random((N, K)) < 0.1)
    starts, places = np.arange(0, N * K + 1, K), np.tile(np.arange(K), N)
    hits = hits_of(np.repeat(np.arange(N), K), places, truth)
    np.testing.assert_array_equal(hits.reshape(N, K), truth.toarray())
    n_true = np.diff(truth.indptr)
    found = gains(starts, SCORES[0].ravel(), hits, n_true)
    for i in range(N):
        if not n_true[i]:
            assert np.isnan(found[i])
            continue
        hit = truth.toarray()[i, np.argsort(-SCORES[0, i])[:5]]
        discounts = 1 / np.log2(np.arange(2, 7))
        assert found[i] == pytest.approx(hit @ discounts / discounts[: n_true[i]].sum())
