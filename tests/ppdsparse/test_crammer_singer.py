"""The loss that compares classes: against its definition, a reference solver, and its refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import sklearn_xc
from sklearn_xc import PPDSparseClassifier, PPDSparseClassifierCV
from sklearn_xc.datasets import make_xc_classification

L1, L2 = 0.05, 0.7


def rows_and_classes(n=300, n_classes=40, seed=0):
    X, y = make_xc_classification(n, 200, n_classes, random_state=seed)
    return sp.csr_array(X, dtype=np.float32), y


def model_of(**parameters):
    given = {"l1": L1, "l2": L2, "loss": "crammer_singer", "random_state": 0, **parameters}
    return PPDSparseClassifier(**given)


def loss_of(scores, own, cost=1.0):
    """max over a >= 0, sum a <= cost of sum a (1 + z_k - z_own) - a^2 / (2 cost), by bisection."""
    g = np.delete(1 + scores - scores[own], own)

    def a_of(threshold):
        return cost * np.maximum(0, g - threshold)

    low, high = 0.0, max(0.0, g.max())
    if a_of(0).sum() > cost:
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if a_of(middle).sum() > cost else (low, middle)
    a = a_of(high if a_of(0).sum() > cost else 0)
    return a @ g - a @ a / (2 * cost), a


def objective(X, own, coef, intercept, costs, l1=L1, l2=L2):
    scores = X @ coef.T + intercept
    losses = sum(loss_of(*of_row)[0] for of_row in zip(scores, own, costs, strict=True))
    squares = (coef**2).sum() + (intercept**2).sum()
    return l1 * np.abs(coef).sum() + l2 / 2 * squares + losses


def solved(X, own, n_classes, costs, n_steps=500):
    """The smallest objective that accelerated proximal gradient steps reach."""
    X = np.hstack([X, np.ones((len(X), 1))])
    W = V = np.zeros((n_classes, X.shape[1]))
    # the gradient of the loss of a row in its scores changes by at most 2 costs times theirs
    rate = 1 / (L2 + 2 * costs.max() * np.linalg.norm(X, 2) ** 2)
    for t in range(n_steps):
        scores, G = X @ V.T, np.zeros((len(X), n_classes))
        for i, k in enumerate(own):
            _, a = loss_of(scores[i], k, costs[i])
            G[i] = np.insert(a, k, -a.sum())
        new = V - rate * (G.T @ X + L2 * V)
        new[:, :-1] = np.sign(new[:, :-1]) * np.maximum(np.abs(new[:, :-1]) - rate * L1, 0)
        W, V = new, new + t / (t + 3) * (new - W)
    return objective(X[:, :-1], own, W[:, :-1], W[:, -1], costs)


def dense_weights(model):
    return model.coef_.toarray().astype(float), model.intercept_.astype(float)


def test_is_the_optimum():
    X, y = rows_and_classes(40, 5)
    classes, own = np.unique(y, return_inverse=True)
    costs = np.random.default_rng(0).uniform(0.3, 2, size=len(y))
    model = model_of(tol=1e-4, pruning=0, max_iter=500).fit(X, y, sample_weight=costs)
    reached = objective(X.toarray(), own, *dense_weights(model), costs)
    best = solved(X.toarray().astype(float), own, len(classes), costs)
    assert reached <= best * (1 + 2e-4)
    assert reached >= best * (1 - 1e-3)  # of which a thousandth is for the steps


@pytest.mark.parametrize("pruning", [0, 0.05])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gap_is_that_of_the_weights(pruning, intercept):
    X, y = rows_and_classes()
    classes, own = np.unique(y, return_inverse=True)
    model = model_of(pruning=pruning, fit_intercept=intercept, warm_start=True).fit(X, y)
    assert model.dual_gap_.max() <= model.tol
    coef, constant = dense_weights(model)
    assert intercept or not constant.any()
    primal = objective(X.toarray(), own, coef, constant, np.ones(len(y)))
    alpha = model.dual_coef_.toarray().astype(float)
    assert alpha.min() >= 0
    of_own = alpha[own, np.arange(len(y))]
    assert of_own.max() <= 1 + 1e-5
    signed = -alpha
    signed[own, np.arange(len(y))] = of_own
    np.testing.assert_allclose(signed.sum(axis=0), 0, atol=1e-5)
    v = signed @ X
    w = np.sign(v) * np.maximum(np.abs(v) - L1, 0) / L2
    b = signed.sum(axis=1) / L2 * intercept
    others = alpha.sum() - of_own.sum()
    squares = (alpha**2).sum() - of_own @ of_own
    dual = others - squares / 2 - L2 / 2 * ((w**2).sum() + (b**2).sum())
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-5)
    if not pruning:
        np.testing.assert_allclose(coef, w, atol=1e-4)
    assert model.n_active_.shape == model.dual_gap_.shape == classes.shape


def test_pruning_moves_no_score_by_more():
    X, y = rows_and_classes()
    whole, pruned = (model_of(pruning=p).fit(X, y) for p in (0, 0.1))
    assert pruned.coef_.nnz < whole.coef_.nnz
    moved = pruned.decision_function(X) - whole.decision_function(X)
    assert np.abs(moved).max() <= 0.1


def test_the_same_for_any_number_of_jobs():
    X, y = rows_and_classes(800, 120)
    models = [model_of(n_jobs=n).fit(X, y) for n in (1, 2, 3)]
    for model in models[1:]:
        assert (model.coef_ != models[0].coef_).nnz == 0
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
        np.testing.assert_array_equal(model.dual_gap_, models[0].dual_gap_)


def test_weights_of_samples_are_copies():
    X, y = rows_and_classes(150, 12)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    exact = {"tol": 1e-5, "pruning": 0, "max_iter": 2000}
    weighted = model_of(**exact).fit(X, y, sample_weight=weight)
    copied = model_of(**exact).fit(X[copies], y[copies])
    there = np.isin(weighted.classes_, copied.classes_)
    np.testing.assert_allclose(
        weighted.decision_function(X)[:, there], copied.decision_function(X), atol=0.02
    )


def test_weights_of_classes():
    X, y = rows_and_classes(150, 12)
    factors = {k: 1.0 + k % 3 for k in np.unique(y)}
    by_class = model_of(class_weight=factors).fit(X, y)
    by_sample = model_of().fit(X, y, sample_weight=[factors[k] for k in y])
    np.testing.assert_allclose(by_class.dual_gap_, by_sample.dual_gap_, atol=0.03)
    np.testing.assert_allclose(
        by_class.decision_function(X), by_sample.decision_function(X), atol=0.3
    )


def test_a_class_of_samples_without_weight_is_never_the_answer():
    X, y = rows_and_classes(150, 12)
    model = model_of().fit(X, y, sample_weight=(y != y[0]).astype(float))
    k = np.searchsorted(model.classes_, y[0])
    assert model.intercept_[k] < -1e17
    assert model.coef_[[k]].nnz == 0
    assert y[0] not in model.predict(X)


def test_two_classes():
    X, y = rows_and_classes()
    y = np.where(y % 2, "odd", "even")
    model = model_of(warm_start=True, tol=1e-3, pruning=0, max_iter=500).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.dual_gap_.shape == model.n_active_.shape == (1,)
    assert model.score(X, y) > 0.8
    again = clone(model).fit(X, y)
    again.fit(X, y)
    assert again.n_iter_ == 1
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=0.05)


def test_dense_rows_are_as_sparse_ones():
    X, y = rows_and_classes()
    sparse, dense = model_of().fit(X, y), model_of().fit(X.toarray(), y)
    assert np.mean(sparse.predict(X) == dense.predict(X)) > 0.98


def test_warm_start():
    X, y = rows_and_classes(600, 60)
    model = model_of(warm_start=True).fit(X[:500], y[:500])
    model.set_params(l2=0.5).fit(X, y)
    cold = model_of(l2=0.5).fit(X, y)
    assert model.n_iter_ <= cold.n_iter_
    assert np.mean(model.predict(X) == cold.predict(X)) > 0.97


def test_dual_variables_of_either_loss_are_a_start_of_the_other():
    X, y = rows_and_classes()
    model = model_of(loss="squared_hinge", warm_start=True).fit(X, y)
    model.set_params(loss="crammer_singer").fit(X, y)
    assert model.dual_gap_.max() <= model.tol
    model.set_params(loss="squared_hinge").fit(X, y)
    assert model.dual_gap_.max() <= model.tol


def test_rows_without_entries_and_a_row_of_its_own_class():
    X, y = rows_and_classes()
    X = sp.vstack([X, sp.csr_array((2, X.shape[1]), dtype=np.float32)], format="csr")
    y = np.append(y, [y[0], 999])
    for intercept in True, False:
        model = model_of(fit_intercept=intercept).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.dual_gap_.max() <= model.tol


def test_without_arguments_and_by_cross_validation():
    X, y = rows_and_classes(800, 60)
    auto = model_of(l1="auto", l2="auto").fit(X, y)
    assert auto.score(X, y) > 0.5
    chosen = PPDSparseClassifierCV(loss="crammer_singer", random_state=0).fit(X, y)
    assert chosen.dual_gap_.max() <= chosen.tol


def test_calibration():
    X, y = rows_and_classes(800, 60)
    model = model_of(calibration="temperature", calibration_cv=0.3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)


def test_too_few_rounds_warn():
    X, y = rows_and_classes()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        model_of(max_iter=1, tol=1e-5).fit(X, y)


def test_a_saved_model_answers_alike(tmp_path):
    X, y = rows_and_classes()
    model = model_of(warm_start=True).fit(X, y)
    sklearn_xc.save(model, tmp_path / "model")
    loaded = sklearn_xc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("checkpoint", "folder"),
        ("scratch", "folder"),
        ("sparsification", "random"),
        ("feature_threshold", 0.1),
    ],
)
def test_what_is_for_classes_solved_apart_is_refused(name, value):
    X, y = rows_and_classes()
    with pytest.raises(ValueError, match=f"{name}=.* is for classes that are solved apart"):
        model_of(**{name: value}).fit(X, y)


def test_an_indicator_is_refused():
    X, Y = make_xc_classification(100, 50, 10, n_labels=2, random_state=0)
    with pytest.raises(ValueError, match="compares the class of a sample with all others"):
        model_of().fit(X, Y)


def test_adding_labels_and_merging_are_refused():
    X, y = rows_and_classes()
    model = model_of().fit(X, y)
    with pytest.raises(ValueError, match=r"add_labels: .*crammer_singer"):
        model.add_labels(X, np.where(y == y[0], 999, y))
    with pytest.raises(TypeError, match="crammer_singer"):
        sklearn_xc.merge([model, model])
