"""Functions inside of what `ppdsparse/test_classifier_cv.py` tests from outside."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from sklearn_xc import PPDSparseClassifier, PPDSparseClassifierCV, load
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer

X, Y = make_xc_classification(300, 200, 20, n_labels=2, random_state=0)


def test_scores_are_those_of_plain_fits():
    rows = np.arange(300)
    train, test = train_test_split(rows, test_size=0.3, random_state=0)
    model = PPDSparseClassifierCV([0.3, 0.03], [1.0, 2.0], cv=[(train, test)], tol=1e-4)
    model.set_params(random_state=0, scoring=make_topk_scorer("ndcg_at_k", 5), search="grid")
    from sklearn_xc.ppdsparse import _classifier_cv

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_classifier_cv, "TOL", 1e-4)
        model.fit(X, Y)
    for i, l1 in enumerate(model.l1s):
        for j, l2 in enumerate(model.l2s):
            cold = PPDSparseClassifier(l1, l2, random_state=0, tol=1e-4, pruning=0.0)
            expected = model.scoring(cold.fit(X[train], Y[train]), X[test], Y[test])
            assert model.scores_[i, j, 0] == pytest.approx(expected, abs=2e-3)
    assert model.scores_.shape == (2, 2, 1)
    assert model.scores_[(*model.best_index_, 0)] == model.scores_.max()


def test_the_best_pair_is_fitted_on_all_rows(tmp_path):
    model = PPDSparseClassifierCV(cv=3, random_state=0).fit(X, Y)
    assert model.scores_.shape == (3, 5, 3)
    i, j = model.best_index_
    from sklearn_xc.ppdsparse._classifier_cv import L1S, L2S

    plain = PPDSparseClassifier(L1S[i], L2S[j], random_state=0).fit(X, Y)
    assert (model.l1_, model.l2_) == (plain.l1_, plain.l2_)
    assert (model.coef_ != plain.coef_).nnz == 0
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    np.testing.assert_array_equal(loaded.predict_topk(X)[1], plain.predict_topk(X)[1])
    np.testing.assert_array_equal(loaded.scores_, model.scores_)


CLIMBS = {
    (3.2, 0.1): [(2, 1), (3, 1), (4, 1), (3, 2), (3, 0), (4, 0), (2, 0)],
    (0.8, 0.1): [(2, 1), (3, 1), (1, 1), (0, 1), (1, 2), (1, 0), (2, 0), (0, 0)],
    (1.9, 3.1): [(2, 1), (3, 1), (1, 1), (2, 2), (2, 3), (3, 3), (1, 3)],
    (2.1, 1.2): [(2, 1), (3, 1), (1, 1), (2, 2), (2, 0)],
}


@pytest.mark.parametrize("peak", CLIMBS)
def test_lines_go_beside_the_best(peak):
    """Of a known surface: up along l1 at the middle l2, along l2, beside where l2 has moved."""
    from sklearn_xc.ppdsparse import _penalty_search

    surface = -np.add.outer((np.arange(5) - peak[0]) ** 2, (np.arange(4) - peak[1]) ** 2)
    tried = []

    class Part:
        def score(self, i, j):
            tried.append((i, j))
            return surface[i, j]

        def keep(self):
            pass

        go_back = keep

    class Silent:
        def begin(self):
            pass

        def end(self, score):
            pass

    pairs = _penalty_search.PairScores(range(5), range(4), [Part()], Silent())
    _penalty_search.try_lines(pairs, [4, 3, 2, 1, 0], [0, 1, 2, 3])
    assert tried == CLIMBS[peak]
    assert pairs.best() == tuple(np.round(peak))
    assert len(tried) <= _penalty_search.n_pairs("lines", 5, 4) == 8
