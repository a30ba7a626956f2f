"""A warm start on data that has grown: rows after those of the earlier fit."""

import numpy as np
import pytest
from _margin_losses import VALUES
from sklearn.base import clone

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(4000, 1500, 60, n_labels=2, random_state=0)
OLD = 3600


def objective(model):
    """The primal objectives of all classes together, float64 by brute force."""
    scores = (X @ model.coef_.T).toarray().astype(float) + model.intercept_
    margins = np.maximum(0, 1 - np.where(Y.toarray() > 0, scores, -scores))
    W, b = model.coef_.astype(float), model.intercept_.astype(float)
    norms = (W.multiply(W)).sum() + (b**2).sum()
    losses = VALUES[model.loss](margins)
    return model.l1_ * abs(W).sum() + model.l2_ / 2 * norms + losses.sum()


# Of the rows that a cold fit reads; the hinge needs more passes, which both fits have.
@pytest.mark.parametrize(("loss", "share"), [("squared_hinge", 0.8), ("hinge", 0.85)])
def test_new_rows_of_old_labels(loss, share):
    penalties = {"l1": 0.1, "l2": 1, "loss": loss, "tol": 1e-3, "pruning": 0}
    model = PPDSparseClassifier(**penalties, warm_start=True, random_state=0)
    model.fit(X[:OLD], Y[:OLD])
    cold = clone(model).fit(X, Y)
    model.fit(X, Y)
    assert model.dual_coef_.shape == (60, 4000)
    assert model.dual_gap_.max() <= 1e-3
    assert model._n_visits < share * cold._n_visits
    assert objective(model) == pytest.approx(objective(cold), rel=1e-3)


def test_default_penalties_follow_the_grown_data():
    model = PPDSparseClassifier(warm_start=True, random_state=0).fit(X[:OLD], Y[:OLD])
    cold = PPDSparseClassifier(random_state=0).fit(X, Y)
    model.fit(X, Y)
    assert (model.l1_, model.l2_) == (cold.l1_, cold.l2_)
    assert (model.predict_topk(X, 1)[0] == cold.predict_topk(X, 1)[0]).mean() > 0.97
