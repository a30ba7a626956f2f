"""Functions inside of what `base/test_explain.py` tests from outside."""

import numpy as np
import pytest

from sklearn_xc import (
    PPDSparseClassifier,
)
from sklearn_xc.base._linear_model import LinearScores
from sklearn_xc.utils._matrix import as_rows

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 12)) * (RNG.random((60, 12)) < 0.5)).astype(np.float32)
X[7] = 0
MULTICLASS = np.array(["ant", "bee", "cow", "dog", "eel"])[np.arange(60) % 5]
BINARY = np.array(["no", "yes"])[np.arange(60) % 2]


def all_scores(estimator):
    scores = estimator.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack([-scores, scores])


class ProjectedScores(LinearScores):
    def __init__(self, model):
        super().__init__(model.n_features_in_, len(model.classes_) == 2)
        self._projection = getattr(model, "projection_", None)

    def inputs(self, rows, n_threads):
        return as_rows(np.float32(rows.matrix() @ self._projection))

    def weights_at(self, store, row, features):
        return (self._projection[features] @ store.dense()[row]).astype(np.float32)


class Projected(PPDSparseClassifier):
    """Scores by weights on projected features: linear in the features, but not by coef_ alone."""

    def fit(self, X, y):
        self.projection_ = np.random.default_rng(1).normal(size=(X.shape[1], 4))
        super().fit(X @ self.projection_, y)
        self.n_features_in_ = X.shape[1]
        return self

    def _scores_of(self, state=None):
        return ProjectedScores(self)


@pytest.mark.parametrize("y", [MULTICLASS, BINARY], ids=["multiclass", "binary"])
def test_a_model_may_have_weights_beside_coef_(y):
    model = Projected(l1=0.01, random_state=0).fit(X, y)
    scores, best = all_scores(model), model.predict(X)
    found = model.explain(X, k=2)
    assert [item.label for item in found] == best.tolist()
    for item in found:
        assert item.score == pytest.approx(scores[item.row].max(), abs=1e-5)
        assert set(item.features) <= set(np.flatnonzero(X[item.row]))
