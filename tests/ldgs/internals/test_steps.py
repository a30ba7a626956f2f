"""Functions inside of what `ldgs/test_steps.py` tests from outside."""

import numpy as np
import pytest
from _ldgs_data import SETTINGS
from scipy import sparse
from scipy.special import logsumexp

from sklearn_xc import LDGSClassifier
from sklearn_xc.ldgs import _candidates, _inverted_lists, _steps
from sklearn_xc.ldgs._candidate_gradients import Positives
from sklearn_xc.ldgs._steps import ColumnLayout, LDGSSteps, Weights
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel

GRADIENTS = ["exact", "sampled", "mips", "decomposed"]


def objective(X, own, W, U, similarity, loss, layout):
    """Mean loss with weights (n_classes, dim + 1), the last column the intercept, in float64."""
    E = X if U is None else X @ U
    z = E @ W[:, :-1].T + W[:, -1]
    if similarity == "sqeuclidean":
        z = -((E[:, None] - W[None, :, :-1]) ** 2).sum(axis=2)
    total = 0.0
    for row, positive in zip(z, own, strict=True):
        negative = np.delete(row, positive)
        if loss == "cross_entropy":
            total += (logsumexp(row) - row[positive]).sum()
        else:
            total += np.maximum(negative[None] - row[positive][:, None] + 1, 0).sum()
    return total / len(z)


@pytest.mark.parametrize("gradient", ["exact", "decomposed"])
@pytest.mark.parametrize("loss", ["cross_entropy", "triplet"])
@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_step_follows_the_numerical_gradient(gradient, loss, similarity, hidden, container):
    rng = np.random.default_rng(0)
    n, n_features, dim, n_classes = 6, 5, 4, 7
    if not hidden:
        dim = n_features
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7)
    own = [rng.choice(n_classes, 1 + i % 2, replace=False) for i in range(n)]
    W = rng.normal(size=(n_classes, dim + 1)) / 2
    if similarity == "sqeuclidean":
        W[:, -1] = 0
    U = rng.normal(size=(n_features, dim)) / 2 if hidden else None
    options = SETTINGS._replace(
        loss=loss, score=similarity, gradient=gradient, query_size=n_classes, batch_size=n
    )
    layout = ColumnLayout(dim, 2, similarity, True)
    table = None
    if hidden:
        table = np.zeros((n_features, layout.n_columns), dtype=np.float32)
        table[:, layout.plain] = U
    weights = Weights(layout.weights(W[:, :-1], W[:, -1]), table, False)
    indptr = np.concatenate([[0], np.cumsum([len(ids) for ids in own])])
    positives = Positives(indptr.astype(np.int64), np.concatenate(own).astype(np.int32))
    rows = as_rows(normalise(container(X)))
    steps = LDGSSteps(rows, positives, None, np.arange(n), weights, layout, options, 0, 1)
    loss_before = steps.epoch(0)
    assert loss_before == pytest.approx(objective(X, own, W, U, similarity, loss, layout), rel=1e-5)
    coef, intercept = layout.coef(weights.W)
    parameters = [(W, np.column_stack([coef, intercept]))]
    if hidden:
        parameters.append((U, weights.U[:, layout.plain]))
    for before, after in parameters:
        numerical = np.zeros(before.shape)
        for place in np.ndindex(before.shape):
            if similarity == "sqeuclidean" and before is W and place[1] == dim:
                continue  # there are no intercepts
            kept = before[place]
            sides = []
            for shift in (1e-6, -1e-6):
                before[place] = kept + shift
                sides.append(objective(X, own, W, U, similarity, loss, layout))
            before[place] = kept
            numerical[place] = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose((before - after) / 1e-3, numerical, atol=2e-3)


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("loss", ["cross_entropy", "margin"])
def test_threads_do_not_change_the_weights(labels, gradient, loss, monkeypatch):
    for module in (_inverted_lists, _candidates, _steps):
        monkeypatch.setattr(module, "WORTH_THREADS", 0)  # threads even for so little work
    X, Y = labels
    models = [
        LDGSClassifier(
            loss,
            gradient=gradient,
            hidden_dim=8,
            n_jobs=n_jobs,
            max_iter=2,
            warmup=0.2,
            query_size=4,
            random_state=3,
        ).fit(X, Y)
        for n_jobs in (1, 2)
    ]
    for name in ("coef_", "intercept_", "input_embeddings_"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))


@pytest.mark.parametrize("loss", ["margin", "triplet"])
@pytest.mark.parametrize("gradient", ["decomposed", "mips", "sampled"])
@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
def test_reading_rounded_weights_first_changes_nothing(
    labels, loss, gradient, similarity, monkeypatch
):
    X, Y = labels
    models = []
    for worth in (0, np.inf):
        monkeypatch.setattr(_candidates, "WORTH_ROUNDING", worth)
        model = LDGSClassifier(
            loss,
            gradient=gradient,
            similarity=similarity,
            hidden_dim=8,
            max_iter=4,
            warmup=0.2,
            query_size=6,
            alpha=0.03,
            random_state=3,
        )
        models.append(model.fit(X, Y))
    for name in ("coef_", "input_embeddings_", "loss_curve_", "n_scored_"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))
