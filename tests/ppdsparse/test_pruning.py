"""Pruning by scores and objective, rows of weight zero, warm starts of single rounds."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from _full import rest_in_full
from _margin_losses import LOSSES, VALUES, taken
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def multilabel():
    X, Y = make_xc_classification(400, 300, 40, n_labels=3, random_state=0)
    return sparse.csr_array(X, dtype=np.float32), Y


def primal_and_dual(model, X, Y, k, weight=None):
    """The objective of class k at the weights of the model, and the dual at its dual variables."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    X = X.astype(np.float32).astype(float)
    weight = np.ones(len(X)) if weight is None else weight
    y = np.where(Y[:, [k]].toarray().ravel() > 0, 1.0, -1.0)
    w, b = model.coef_[[k]].toarray().ravel().astype(float), float(model.intercept_[k])
    margin = np.maximum(0, 1 - y * (X @ w + b))
    losses = VALUES[model.loss](margin)
    ridge = model.l2 / 2 * (w @ w + b * b)
    primal = model.l1 * np.abs(w).sum() + ridge + weight @ losses
    a = model.dual_coef_[[k]].toarray().ravel().astype(float)
    v, bias = X.T @ (a * y), a @ y
    s = np.maximum(np.abs(v) - model.l1, 0)
    quadratic = taken(model.loss, a, weight).sum()
    return primal, a.sum() - (s @ s + bias**2) / (2 * model.l2) - quadratic


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pruning", [0.003, 0.02, 0.2])
def test_no_training_score_moves_further(multilabel, pruning, loss, dense):
    X, Y = multilabel
    X = X.toarray() if dense else X
    whole = PPDSparseClassifier(0.01, 1.0, loss=loss, pruning=0, random_state=0).fit(X, Y)
    pruned = clone(whole).set_params(pruning=pruning).fit(X, Y)
    np.testing.assert_array_equal(pruned.intercept_, whole.intercept_)
    kept, all_weights = pruned.coef_.toarray(), whole.coef_.toarray()
    np.testing.assert_array_equal(kept[kept != 0], all_weights[kept != 0])
    moved = np.abs(X @ (all_weights - kept).T)
    assert moved.max() <= pruning * (1 + 1e-5)
    if loss != "hinge":
        assert pruned.coef_.nnz < whole.coef_.nnz


@pytest.mark.parametrize(
    ("dense", "weighted"),
    rest_in_full(
        [(False, False), (False, True), (True, False), (True, True)], (False, True), (True, False)
    ),
)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("pruning", "tol"), [(0.02, 0.03), (1.0, 0.03), (1.0, 0.3), (0.1, 1e-3)])
def test_the_gap_is_that_of_the_model_returned(multilabel, pruning, tol, loss, dense, weighted):
    X, Y = multilabel
    weight = np.random.default_rng(0).uniform(0.2, 3, size=400) if weighted else None
    model = PPDSparseClassifier(0.01, 1.0, loss=loss, pruning=pruning, tol=tol, max_iter=1000)
    model.set_params(random_state=0, warm_start=True).fit(X.toarray() if dense else X, Y, weight)
    assert (model.dual_gap_ <= tol).all()
    for k in range(40):
        primal, dual = primal_and_dual(model, X, Y, k, weight)
        assert (primal - dual) / primal <= model.dual_gap_[k] + 1e-5


def test_dense_rows_of_many_features_keep_their_weights():
    X, y = load_digits(return_X_y=True)
    X, y = X[:700], y[:700]
    rng = np.random.default_rng(0)
    X = normalize(np.kron(X.reshape(-1, 8, 8), np.ones((1, 8, 8))).reshape(len(X), -1))
    X = normalize(X + 0.3 * rng.normal(size=X.shape) / X.shape[1] ** 0.5)
    scores = [
        PPDSparseClassifier(pruning=pruning, random_state=0)
        .fit(X[:400], y[:400])
        .score(X[400:], y[400:])
        for pruning in (0.02, 0)
    ]
    assert scores[1] > 0.75
    assert scores[0] > scores[1] - 0.01


# -------------------------------------------------------------------------- rows of weight zero


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"feature_threshold": 0.1}])
def test_rows_of_weight_zero_are_nowhere(multilabel, dense, options):
    X, Y = multilabel
    X = X.toarray() if dense else X
    there = np.arange(400) % 4 > 0
    strange = X * 1.0
    strange[np.flatnonzero(~there)] *= 1000  # their norms and largest entries do not count either
    model = PPDSparseClassifier(0.02, random_state=0, warm_start=True, **options)
    without = clone(model).fit(X[there], Y[there])
    model.fit(strange, Y, there.astype(float))
    for name in ("intercept_", "dual_gap_", "n_active_", "n_iter_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(without, name))
    np.testing.assert_array_equal(model.coef_.toarray(), without.coef_.toarray())
    dual = model.dual_coef_.toarray()
    np.testing.assert_array_equal(dual[:, there], without.dual_coef_.toarray())
    assert not dual[:, ~there].any()
    again = model.fit(strange, Y, there.astype(float)).dual_gap_
    assert (again <= model.tol).all()


def test_rows_of_weight_zero_beyond_the_range_of_norms():
    X = np.eye(3, dtype=np.float32)[np.arange(30) % 3]
    X[0] = 1e20
    y, weight = np.arange(30) % 3, np.append(0.0, np.ones(29))
    assert PPDSparseClassifier().fit(X, y, weight).score(X[1:], y[1:]) == 1


# ------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("kind", ["sample_weight", "class_weight"])
def test_weights_beyond_the_range_of_losses_are_refused(kind):
    X, y = np.eye(3)[np.arange(60) % 3], np.arange(60) % 3
    sample_weight = np.full(60, 3e38 if kind == "sample_weight" else 1e25)
    class_weight = None if kind == "sample_weight" else {0: 1e10}
    model = PPDSparseClassifier(class_weight=class_weight)
    with pytest.raises(ValueError, match=r"sample_weight times class_weight reaches .*1e\+30"):
        model.fit(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:max_iter=:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [1e-40, 1e-20, 1e20, 1e29])
def test_extreme_weights_train_or_say_that_they_did_not(weight, loss, class_weight):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16, y[:200]
    model = PPDSparseClassifier(loss=loss, max_iter=5, class_weight=class_weight, random_state=0)
    with nullcontext() if weight > 1 else pytest.warns(UserWarning, match="every weight is zero"):
        model.fit(X, y, np.full(len(X), weight))
    assert np.isfinite(model.coef_.data).all()
    assert np.isfinite(model.dual_gap_).all()
    if weight > 1:
        assert model.score(X, y) > 0.95
    else:  # against such weights the penalty keeps every weight at zero
        assert model.coef_.nnz == 0


# --------------------------------------------------------------------------------- warm starts


@pytest.mark.parametrize("loss", LOSSES)
def test_fits_of_one_round_each_end_where_one_fit_does(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20)), rng.integers(0, 5, 1000)
    X[np.arange(1000), y] += 1
    cold = PPDSparseClassifier("rows", "rows", loss=loss, random_state=0).fit(X, y)
    model = clone(cold).set_params(warm_start=True, max_iter=1)
    gaps = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(3 * cold.n_iter_ + 5):
            gaps.append(model.fit(X, y).dual_gap_.max())
    assert gaps[0] > model.tol
    assert gaps[-1] <= model.tol
    assert (model.dual_coef_.data > 0).all()  # nothing is left to go on with


def test_violators_of_a_last_round_are_stored_zeros(multilabel):
    X, Y = multilabel
    model = PPDSparseClassifier(tol=1e-4, max_iter=1, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model.fit(X, Y)
    assert (model.dual_coef_.data == 0).any()
    assert model.dual_coef_.has_canonical_format


# ------------------------------------------------------------------------------ sparsification


def test_sparsification_that_saves_nothing_changes_nothing(multilabel):
    X, Y = multilabel
    plain = PPDSparseClassifier(0.02, random_state=0).fit(X, Y)
    # at this delta more draws than weights: nothing to gain, and every round is an exact one
    random = clone(plain).set_params(sparsification="random", delta=0.01).fit(X, Y)
    np.testing.assert_array_equal(random.coef_.toarray(), plain.coef_.toarray())
    assert random._n_visits == plain._n_visits
    coarse = clone(random).set_params(delta=5.0).fit(X, Y)
    assert (coarse.dual_gap_ <= coarse.tol).all()
    assert coarse._n_visits != plain._n_visits
