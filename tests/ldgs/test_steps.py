"""Steps of LDGS: gradients, what they reach, and what they leave alone."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import LDGSClassifier

pytestmark = pytest.mark.kernel

GRADIENTS = ["exact", "sampled", "mips", "decomposed"]
LOSSES = ["cross_entropy", "margin", "triplet"]


# -------------------------------------------------------------------------------- gradients


def test_cross_entropy_reaches_the_optimum_of_softmax_regression(digits):
    from sklearn.linear_model import LogisticRegression

    X, y = digits[0][:150], digits[1][:150]
    alpha = 0.05
    model = LDGSClassifier(
        gradient="exact",
        alpha=alpha,
        solver="sgd",
        learning_rate=0.5,
        decay=1.0,
        max_iter=1500,
        batch_size=150,
        random_state=0,
    ).fit(X, y)
    reference = LogisticRegression(C=1 / (alpha * 150), tol=1e-8, max_iter=5000).fit(X, y)
    # the ridge is taken off apart from the steps: an error of the order of rate times alpha
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("similarity", rest_in_full(["linear", "sqeuclidean"], "linear"))
@pytest.mark.parametrize("gradient", GRADIENTS)
def test_every_combination_learns(digits, loss, similarity, gradient):
    X, y = digits
    model = LDGSClassifier(
        loss,
        similarity=similarity,
        gradient=gradient,
        hidden_dim=12,
        query_size=5,
        max_iter=10,
        warmup=0.3,
        random_state=0,
    )
    assert model.fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.75
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.n_scored_ == 10 if gradient == "exact" else model.n_scored_ < 10


@pytest.mark.parametrize(
    "options",
    [
        {"n_message_passes": 1},
        {"n_message_passes": 3, "tau": 1e-3},
        {"unretrieved": "zero", "gradient": "mips"},
        {"unretrieved": "exclude", "tau": 1e-3},
        {"index": "hnsw"},
        {"index": "exact", "n_chunks": 3},
        {"hidden_dim": None},
        {"solver": "sgd", "learning_rate": 3.0, "decay": 0.98},
        {"warmup": "auto"},
        {"fit_intercept": False},
        {"n_chunks": 100},
        {"batch_size": 10**6},
        {"alpha": 1e-3},
    ],
)
@pytest.mark.parametrize("loss", ["cross_entropy", "margin"])
def test_options_learn(digits, options, loss):
    X, y = digits
    options = {"hidden_dim": 12, "query_size": 5, "max_iter": 6, "warmup": 1} | options
    model = LDGSClassifier(loss, random_state=0, **options).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > (0.5 if "batch_size" in options else 0.7)


def test_sparse_and_dense_rows_give_one_model(labels):
    X, Y = labels
    for hidden_dim in (None, 8):
        model = LDGSClassifier(hidden_dim=hidden_dim, max_iter=2, random_state=0)
        some = clone(model).fit(X, Y)
        other = clone(model).fit(X.toarray(), Y.toarray())
        np.testing.assert_allclose(some.coef_, other.coef_, atol=1e-6)
        np.testing.assert_allclose(some.transform(X), other.transform(X.toarray()), atol=1e-6)


def test_only_features_that_occur_are_touched(labels):
    X, Y = labels
    X = sparse.csr_array(sparse.hstack([X, sparse.csr_array((400, 5))]))
    start = LDGSClassifier(hidden_dim=8, max_iter=1, learning_rate=1e-12, random_state=0).fit(X, Y)
    model = LDGSClassifier(hidden_dim=8, max_iter=1, random_state=0).fit(X, Y)
    moved = (model.input_embeddings_ != start.input_embeddings_).any(axis=1)
    assert moved[:80].all()
    assert not moved[80:].any()
