"""Laws of PPDSparse's theory: optimum, corrected bounds, invariances."""

import numpy as np
import pytest
from _full import rest_in_full
from _margin_losses import VALUES
from _one_class_laws import LOSSES, TIGHT, Problem, X, Y, objectives, optima, problems_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from sklearn_xc import PPDSparseClassifier

pytestmark = pytest.mark.kernel

# ------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l1", [0.0, 0.05, 0.5])
@pytest.mark.parametrize(
    ("l2", "intercept"),
    rest_in_full(
        [(l2, intercept) for l2 in (0.1, 1.0, 10.0) for intercept in (True, False)],
        (0.1, True),
        (10.0, False),
    ),
)
def test_objective_is_that_of_an_independent_optimum(loss, l1, l2, intercept):
    model = PPDSparseClassifier(l1, l2, loss=loss, fit_intercept=intercept, **TIGHT).fit(X, Y)
    problems = problems_of(model, X, Y)
    np.testing.assert_allclose(objectives(model, problems), optima(problems), rtol=1e-5)
    if not intercept:
        assert not model.intercept_.any()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_l1_it_is_scikit_learns_linear_svc(loss, container, weighted):
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.2, 3, len(X)) if weighted else np.ones(len(X))
    l2 = 0.7
    model = PPDSparseClassifier(0.0, l2, loss=loss, **TIGHT)
    model.fit(container(X), Y[:, 0], weight)
    # LinearSVC minimises (1/2)||w, b||^2 + C sum loss, its squared hinge without our 1/2
    svc = LinearSVC(
        C=(1 if loss == "hinge" else 0.5) / l2,
        loss=loss,
        dual=True,
        tol=1e-9,
        max_iter=1_000_000,
        random_state=0,
    ).fit(X.astype(float), Y[:, 0], weight)
    problem = Problem(X, Y[:, 0], 0.0, l2, loss, weight=weight.astype(np.float32))
    optimum = problem.primal(np.append(svc.coef_, svc.intercept_))
    assert objectives(model, [problem])[0] == pytest.approx(optimum, rel=1e-5)
    atol = 1e-2 if loss == "hinge" else 1e-3
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=atol)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_smoothed_hinge_has_the_minimum_that_scipy_finds(container):
    signs, l1, l2 = np.where(Y[:, 0], 1.0, -1.0), 0.05, 0.3
    model = PPDSparseClassifier(l1, l2, loss="smoothed_hinge", **TIGHT)
    model.fit(container(X), Y[:, 0])

    def objective(parts):
        """Over the positive and the negative part of w, and b."""
        w, b = parts[:-1].reshape(2, -1), parts[-1]
        m = np.maximum(0, 1 - signs * (X @ (w[0] - w[1]) + b))
        losses = np.where(m < 1, m**2 / 2, m - 0.5)
        v = X.T.astype(float) @ (pull := signs * np.minimum(m, 1))
        slopes = l1 + np.array([l2 * (w[0] - w[1]) - v, v - l2 * (w[0] - w[1])]).ravel()
        penalties = l1 * w.sum() + l2 / 2 * (((w[0] - w[1]) ** 2).sum() + b * b)
        return penalties + losses.sum(), np.append(slopes, l2 * b - pull.sum())

    bounds = [(0, None)] * (2 * X.shape[1]) + [(None, None)]
    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 20_000}
    found = minimize(objective, np.zeros(len(bounds)), jac=True, bounds=bounds, options=options)
    w = model.coef_.toarray().ravel().astype(float)
    ours = objective(np.r_[np.maximum(w, 0), np.maximum(-w, 0), float(model.intercept_[0])])[0]
    assert ours == pytest.approx(found.fun, rel=1e-5)
    assert (model.dual_gap_ <= TIGHT["tol"]).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_multiply_the_loss(loss):
    rng = np.random.default_rng(2)
    sample_weight = rng.uniform(0.1, 4, len(X)) * (rng.random(len(X)) < 0.8)
    class_weight = {0: 0.5, 1: 1.0, 2: 3.0, 3: 7.5}
    model = PPDSparseClassifier(0.02, 0.5, loss=loss, class_weight=class_weight, **TIGHT)
    model.fit(X, Y, sample_weight)
    problems = [
        Problem(X, y, 0.02, 0.5, loss, weight=sample_weight * np.where(y, class_weight[k], 1))
        for k, y in enumerate(Y.T)
    ]
    np.testing.assert_allclose(objectives(model, problems), optima(problems), rtol=1e-5)


def test_balanced_weights_of_two_classes_act_on_both():
    y = Y[:, 0]
    model = PPDSparseClassifier(0.02, 0.5, class_weight="balanced", **TIGHT).fit(X, y)
    weight = np.where(y, len(y) / (2 * y.sum()), len(y) / (2 * (1 - y).sum()))
    problem = Problem(X, y, 0.02, 0.5, weight=weight)
    np.testing.assert_allclose(objectives(model, [problem]), optima([problem]), rtol=1e-5)


# ----------------------------------------------------- Theorems 3.2, 3.3 and 4.1, as corrected


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(3, 40),
    positives=st.integers(1, 4),
    l1=st.sampled_from([0.001, 0.01, 0.1, 1.0]),
    l2=st.sampled_from([0.1, 1.0, 10.0]),
    scale=st.sampled_from([0.3, 1.0, 2.0]),
    loss=st.sampled_from(LOSSES),
)
def test_norms_are_bounded_by_the_number_of_positives(seed, n, positives, l1, l2, scale, loss):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * scale
    y = np.arange(n) < min(positives, n - 1)
    _, a, primal = Problem(X, y, l1, l2, loss).solve(tol=1e-7)
    trivial = Problem(X, y, l1, l2, loss).primal(np.append(np.zeros(6), -1.0))
    bound = l2 / 2 + VALUES[loss](2.0) * y.sum()  # the loss of a positive of score -1
    assert trivial == pytest.approx(bound)
    assert primal <= trivial * (1 + 1e-6)
    assert a.sum() <= 2 * bound * (1 + 1e-4)
    # Theorem 3.2 holds for every w no worse than the trivial solution, so for every rough fit
    for tol in 0.5, 0.03, 1e-3:
        model = PPDSparseClassifier(l1, l2, loss=loss, warm_start=True, **{**TIGHT, "tol": tol})
        model.fit(X, y)
        problem = Problem(X, y, l1, l2, loss)
        if objectives(model, [problem])[0] <= trivial:
            assert l1 * np.abs(model.coef_).sum() <= bound * (1 + 1e-6)
    assert model.dual_coef_.sum() <= 2 * bound * (1 + 1e-2)


@pytest.mark.parametrize("l1", [1.0, 5.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_more_weights_than_support_vectors_with_hardly_any_l2(seed, l1):
    """Theorem 3.1, which is about l2=0, close to it: rows in general position."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 200))
    y = rows[:, :3].sum(axis=1) + 0.3 * rng.normal(size=40) > 0
    options = {"fit_intercept": False, "warm_start": True, **TIGHT, "tol": 1e-4}
    model = PPDSparseClassifier(l1, 0.1, **options).fit(rows, y)
    assert 0 < model.coef_.nnz <= model.dual_coef_.nnz < len(rows)
    strong = PPDSparseClassifier(l1, 100.0, **options).fit(rows, y)
    assert strong.coef_.nnz > model.coef_.nnz  # with much l2 weights do not have to balance


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_counter_example_to_the_printed_bounds(loss):
    """The printed bounds ||w||_1 <= 2 n_pos / l1 and ||a*||_1 <= 4 n_pos can fail.

    One positive at x = 0 and twenty negatives at x = 10, l1 = 40, l2 = 20: the optimum is
    (w, b) = (-0.0645, -0.149), hence l1 |w| = 2.58 > 2 and ||a*||_1 = 5.28 > 4 (hinge: 3.37, 5.17).
    """
    X, y = np.r_[0.0, np.full(20, 10.0)][:, None], np.arange(21) == 0
    model = PPDSparseClassifier(40, 20, loss=loss, warm_start=True, **TIGHT).fit(X, y)
    w, a, _ = Problem(X, y, 40, 20, loss).solve()
    l1_norm, dual_norm = (3.3663, 5.1683) if loss == "hinge" else (2.5782, 5.2779)
    assert 40 * abs(w[0]) == pytest.approx(l1_norm, abs=1e-3)
    assert 40 * np.abs(model.coef_).sum() == pytest.approx(l1_norm, abs=1e-2)
    assert a.sum() == pytest.approx(dual_norm, abs=1e-3)
    assert model.dual_coef_.sum() == pytest.approx(dual_norm, abs=1e-2)


# --------------------------------------------------------------------------------- invariances


@pytest.mark.parametrize("loss", LOSSES)
def test_weight_two_is_the_row_twice(loss):
    weight = 1 + np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), weight)
    model = PPDSparseClassifier(0.02, 0.5, loss=loss, **TIGHT)
    weighted = model.fit(X, Y, weight).decision_function(X)
    atol = 1e-2 if loss == "hinge" else 2e-3
    np.testing.assert_allclose(
        model.fit(X[rows], Y[rows]).decision_function(X), weighted, atol=atol
    )


def test_weight_zero_is_no_row():
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    model = PPDSparseClassifier(0.02, 0.5, **TIGHT)
    weighted = model.fit(X, Y, weight).decision_function(X)
    without = model.fit(X[weight > 0], Y[weight > 0]).decision_function(X)
    np.testing.assert_allclose(without, weighted, atol=2e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_orders_of_rows_features_and_classes_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    rows, features, classes = (rng.permutation(size) for size in (*X.shape, Y.shape[1]))
    model = PPDSparseClassifier(0.02, 0.5, **TIGHT)
    scores = model.fit(X, Y).decision_function(X)
    model.fit(X[rows][:, features], Y[rows][:, classes])
    again = model.decision_function(X[:, features])
    np.testing.assert_allclose(again, scores[:, classes], atol=2e-3)


@pytest.mark.parametrize("c", [0.1, 30.0])
def test_scaling_features_and_penalties_together(c):
    # without an intercept w/c on cX gives the same scores; l1 |w| and l2 w^2 grow by c and c^2
    model = PPDSparseClassifier(0.02, 0.5, fit_intercept=False, **TIGHT).fit(X, Y)
    scaled = PPDSparseClassifier(0.02 * c, 0.5 * c * c, fit_intercept=False, **TIGHT)
    scaled.fit(c * X, Y)
    np.testing.assert_allclose(
        scaled.decision_function(c * X), model.decision_function(X), atol=2e-3
    )


def test_scaling_loss_and_penalties_together():
    model = PPDSparseClassifier(0.02, 0.5, **TIGHT).fit(X, Y)
    scaled = PPDSparseClassifier(0.2, 5.0, **TIGHT).fit(X, Y, np.full(len(X), 10.0))
    np.testing.assert_allclose(scaled.decision_function(X), model.decision_function(X), atol=2e-3)


def test_swapping_two_classes_flips_the_sign():
    model = PPDSparseClassifier(0.02, 0.5, **TIGHT)
    scores = model.fit(X, Y[:, 0]).decision_function(X)
    np.testing.assert_allclose(model.fit(X, 1 - Y[:, 0]).decision_function(X), -scores, atol=2e-3)
