"""Grades: the values of an indicator weigh the losses of its positives (graded=True)."""

import numpy as np
import pandas as pd
import pytest
from _full import rest_in_full
from _margin_losses import LOSSES, TOPS, VALUES, ridge, taken
from scipy import sparse
from scipy.optimize import minimize
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sklearn_xc
from sklearn_xc import (
    PPDSparseClassifier,
    PPDSparseClassifierCV,
    TopKThresholdClassifier,
    load,
    merge,
)
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer
from sklearn_xc.model_selection import RareLabelKFold

TIGHT = {"tol": 1e-6, "pruning": 0.0, "max_iter": 5000, "random_state": 0}
GRADES = np.array([0.2, 0.5, 1.0])


def data(n_samples=600, n_features=300, n_classes=12, seed=0):
    """Rows, an indicator and the same with grades; enough rows for pruned searches if 3000."""
    X, Y = make_xc_classification(n_samples, n_features, n_classes, n_labels=2.5, random_state=seed)
    graded = Y.astype(np.float64)
    graded.data[:] = np.random.default_rng(seed).choice(GRADES, Y.nnz)
    return X, Y, graded


def assert_same(model, expected):
    assert (model.coef_ != expected.coef_).nnz == 0
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    np.testing.assert_array_equal(model.dual_gap_, expected.dual_gap_)


def optimum(X, y, weight, l1, l2, loss):
    """The optimal objective of one class, by its dual (SciPy, float64, dense)."""
    X = np.c_[X.toarray().astype(float), np.ones(X.shape[0])]
    signs = np.where(y, 1.0, -1.0)
    l1 = np.append(np.full(X.shape[1] - 1, l1), 0.0)

    def negative_dual(a):
        v = X.T @ (a * signs)
        shrunk = np.sign(v) * np.maximum(np.abs(v) - l1, 0)
        slope = a * ridge(loss, weight)
        value = a.sum() - shrunk @ shrunk / (2 * l2) - taken(loss, a, weight).sum()
        return -value, signs * (X @ shrunk) / l2 - 1 + slope

    found = minimize(
        negative_dual,
        np.zeros(len(signs)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, w * TOPS[loss]) for w in weight],
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-14, "gtol": 1e-9},
    )
    return -found.fun


def objective(model, k, X, y, weight, l1, l2, loss):
    w, b = model.coef_[[k]].toarray().ravel().astype(float), float(model.intercept_[k])
    margin = np.maximum(0, 1 - np.where(y, 1, -1) * (X @ w + b))
    losses = VALUES[loss](margin)
    return l1 * np.abs(w).sum() + l2 / 2 * (w @ w + b * b) + weight @ losses


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("n_samples", "loss"),  # in lanes; by pruned searches
    rest_in_full(
        [(n, loss) for n in (400, 3000) for loss in LOSSES],
        *((400, loss) for loss in LOSSES),
        (3000, "squared_hinge"),
    ),
)
@pytest.mark.parametrize("class_weight", rest_in_full([None, "propensity"], "propensity"))
def test_grades_of_one_change_no_bit(loss, n_samples, class_weight):
    X, Y, _ = data(n_samples, 2000, 20)
    weight = np.random.default_rng(0).uniform(0.5, 2, n_samples)
    options = {"loss": loss, "class_weight": class_weight, "warm_start": True, "random_state": 0}
    plain = PPDSparseClassifier(**options).fit(X, Y, weight)
    graded = PPDSparseClassifier(graded=True, **options).fit(X, Y.astype(float), weight)
    assert_same(graded, plain)
    assert (graded.dual_coef_ != plain.dual_coef_).nnz == 0
    assert_same(
        graded.set_params(l1="2*auto").fit(X, Y.astype(float), weight),
        plain.set_params(l1="2*auto").fit(X, Y, weight),
    )


@pytest.mark.kernel
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("class_weight", rest_in_full([None, {0: 3.0, 1: 0.5}], {0: 3.0, 1: 0.5}))
def test_converged_fits_reach_the_weighted_optimum(loss, class_weight):
    X, _, graded = data(160, 50, 4)
    weight = np.random.default_rng(0).uniform(0.5, 2, 160)
    options = {"loss": loss, "class_weight": class_weight, "graded": True, **TIGHT}
    models = [
        PPDSparseClassifier(0.05, 0.5, **options).fit(given, graded, weight)
        for given in (X, X.toarray())
    ]
    for k in range(4):
        grades = graded[:, [k]].toarray().ravel()
        of_class = (class_weight or {}).get(k, 1.0)
        factor = weight * np.where(grades > 0, grades * of_class, 1)
        problem = X, grades > 0, factor, 0.05, 0.5, loss
        best = optimum(*problem)
        for model in models:
            assert objective(model, k, *problem) == pytest.approx(best, rel=1e-4)


@pytest.mark.kernel
@pytest.mark.parametrize("loss", LOSSES)
def test_pruned_searches_reach_the_same_optimum_as_lanes(loss):
    X, _, graded = data(3000, 2000, 40)
    options = {"graded": True, "loss": loss, **TIGHT, "tol": 1e-5}
    pruned = PPDSparseClassifier(0.05, 0.5, **options).fit(X, graded)
    # a threshold below all entries leaves them, and takes the pruned searches away
    lanes = PPDSparseClassifier(0.05, 0.5, feature_threshold=1e-9, **options).fit(X, graded)
    for k in range(40):
        grades = graded[:, [k]].toarray().ravel()
        problem = X, grades > 0, np.where(grades > 0, grades, 1), 0.05, 0.5, loss
        expected = objective(lanes, k, *problem)
        assert objective(pruned, k, *problem) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_ratios_are_repeated_rows_for_a_single_class(loss):
    X, _, graded = data(200, 60, 3)
    y = graded[:, [0]]
    times = np.where(y.toarray().ravel() > 0, np.round(10 * y.toarray().ravel()), 10).astype(int)
    rows = np.repeat(np.arange(200), times)
    options = {"l1": 0.5, "l2": 5.0, "loss": loss, **TIGHT}
    repeated = PPDSparseClassifier(**options).fit(X[rows], (y[rows] > 0).astype(int))
    weighted = PPDSparseClassifier(graded=True, **options).fit(X, y, np.full(200, 10.0))
    problem = X, y.toarray().ravel() > 0, times.astype(float), 0.5, 5.0, loss
    ours, theirs = (objective(model, 0, *problem) for model in (weighted, repeated))
    assert ours == pytest.approx(theirs, rel=1e-5)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=5e-3
    )


def test_a_grade_is_the_weight_of_the_sample_where_there_is_one_label():
    X, _, graded = data(300, 60, 3)
    y = graded[:, [0]]
    grades = y.toarray().ravel()
    options = {"l1": 0.05, "l2": 0.5, **TIGHT}
    model = PPDSparseClassifier(graded=True, **options).fit(X, y)
    expected = PPDSparseClassifier(**options).fit(X, y > 0, np.where(grades > 0, grades, 1))
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=2e-3)


def test_warm_starts_go_on():
    X, _, graded = data(800, 300, 20)
    model = PPDSparseClassifier(0.1, 1.0, graded=True, warm_start=True, **TIGHT).fit(X, graded)
    cold = model._n_visits
    gap, weights = model.dual_gap_, model.coef_.copy()
    model.fit(X, graded)
    assert model._n_visits < cold / 3
    assert (model.dual_gap_ <= np.maximum(gap, 1e-6)).all()
    assert np.abs((model.coef_ - weights).toarray()).max() < 1e-2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-0.5, r"graded=True: y of shape .* holds -0.5"),
        (1.5, r"graded=True: y of shape .* holds 1.5"),
        (1e-9, r"graded=True: y of shape .* holds 1e-09"),
        (np.nan, "y contains NaN"),
        (np.inf, "y contains infinity"),
    ],
)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_other_values_are_refused(value, message, form):
    X, _, graded = data(60, 30, 4)
    graded.data[7] = value
    y = graded.toarray() if form == "dense" else graded
    model = PPDSparseClassifier(graded=True)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_zero_is_a_label_that_is_not_there():
    X, _, graded = data(200, 60, 4)
    zeros = graded.copy()
    zeros.data[::5] = 0  # stored
    model = PPDSparseClassifier(graded=True, random_state=0).fit(X, zeros)
    assert_same(model, PPDSparseClassifier(graded=True, random_state=0).fit(X, zeros.toarray()))
    assert model.label_report_.support.sum() == (zeros.data > 0).sum()


def test_entries_named_twice_are_added_and_then_judged():
    X, _, graded = data(200, 60, 4)
    halves = graded.tocoo()
    rows, columns = (np.concatenate([place, place]) for place in halves.coords)
    parts = np.concatenate([halves.data / 2, halves.data / 2])
    twice = sparse.coo_array((parts, (rows, columns)), shape=graded.shape)
    model = PPDSparseClassifier(graded=True, random_state=0)
    assert_same(
        model.fit(X, twice), PPDSparseClassifier(graded=True, random_state=0).fit(X, graded)
    )
    twice.data[:] = 0.7
    with pytest.raises(ValueError, match=r"holds 1\.4"):
        model.fit(X, twice)


def test_without_graded_values_are_refused_as_before():
    X, _, graded = data(60, 30, 4)
    for y in (graded, graded.toarray()):
        with pytest.raises(ValueError, match=r"must be an indicator of 0 and 1.*graded=True"):
            PPDSparseClassifier().fit(X, y)


def test_one_class_a_sample_takes_no_grades():
    with pytest.raises(ValueError, match="graded=True is for an indicator y"):
        PPDSparseClassifier(graded=True).fit(np.eye(4), [0, 1, 2, 1])


@pytest.mark.parametrize(
    "container", [sparse.csr_matrix, sparse.csc_array, "dense", "frame", "list"]
)
def test_every_container(container):
    X, _, graded = data(200, 60, 4)
    expected = PPDSparseClassifier(graded=True, random_state=0).fit(X, graded)
    dense = graded.toarray()
    y = {"dense": dense, "frame": pd.DataFrame(dense, columns=list("abcd")), "list": dense.tolist()}
    y = y[container] if isinstance(container, str) else container(graded)
    model = PPDSparseClassifier(graded=True, random_state=0).fit(X, y)
    assert_same(model, expected)
    predicted = model.predict(X)
    assert sparse.issparse(predicted) == (not isinstance(container, str))
    values = predicted.toarray() if sparse.issparse(predicted) else np.asarray(predicted)
    assert set(np.unique(values)) <= {0, 1}
    if container == "frame":
        assert model.predict_topk(X[:3], 2)[0].dtype.kind in "OU"


def test_support_and_class_weights_count_labels_not_grades():
    X, Y, graded = data(400, 100, 10)
    model = PPDSparseClassifier(graded=True, class_weight="balanced", random_state=0)
    support = model.fit(X, graded).label_report_.support
    np.testing.assert_array_equal(support, np.asarray(Y.sum(axis=0)).ravel())
    of_counts = {k: Y.nnz / 10 / n for k, n in enumerate(support)}
    expected = PPDSparseClassifier(graded=True, class_weight=of_counts, random_state=0)
    assert_same(model, expected.fit(X, graded))


def test_add_labels_and_merge():
    X, _, graded = data(600, 200, 12)
    options = {"graded": True, "l1": 0.05, "l2": 1.0, **TIGHT}
    whole = PPDSparseClassifier(**options).fit(X, graded)
    grown = PPDSparseClassifier(**options).fit(X, graded[:, :8]).add_labels(X, graded[:, 8:])
    parts = [PPDSparseClassifier(**options).fit(X, graded[:, c]) for c in (range(8), range(8, 12))]
    for model in (grown, merge(parts)):
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=0.1)
    np.testing.assert_array_equal(grown.label_report_.support, whole.label_report_.support)
    with pytest.raises(ValueError, match=r"holds 2\.0"):
        grown.add_labels(X, 2.0 * graded[:, :2].ceil())
    plain = PPDSparseClassifier().fit(X, graded[:, :8].ceil())
    with pytest.raises(ValueError, match="indicator of 0 and 1"):
        plain.add_labels(X, graded[:, 8:])


def test_checkpoints_are_of_these_grades(tmp_path):
    X, Y, graded = data(300, 100, 20)
    options = {"graded": True, "random_state": 0}
    expected = PPDSparseClassifier(**options).fit(X, graded)
    model = PPDSparseClassifier(checkpoint=tmp_path / "a", keep_checkpoint=True, **options)
    assert_same(model.fit(X, graded), expected)
    assert_same(model.fit(X, graded), expected)  # read from the files
    with pytest.raises(ValueError, match="of another fit: y differ"):
        model.fit(X, Y.astype(float))
    with pytest.raises(ValueError, match="graded"):
        model.set_params(graded=False).fit(X, Y)


def test_saved_models(tmp_path):
    X, _, graded = data(200, 60, 4)
    model = PPDSparseClassifier(graded=True, random_state=0).fit(X, graded)
    model.save(tmp_path / "model.sxc")
    loaded = load(tmp_path / "model.sxc")
    assert loaded.graded is True
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_same(sklearn_xc.load(tmp_path / "model.sxc").fit(X, graded), model)


def test_calibration_and_thresholds_take_any_grade_as_a_label():
    X, Y, graded = data(600, 200, 8)
    model = PPDSparseClassifier(graded=True, calibration="sigmoid", random_state=0).fit(X, graded)
    p = model.predict_proba(X)
    assert p.shape == (600, 8)
    assert p.sum() == pytest.approx(Y.nnz, rel=0.25)
    thresholds = TopKThresholdClassifier(PPDSparseClassifier(graded=True, random_state=0))
    predicted = thresholds.fit(X, graded).predict(X)
    assert 0.5 < predicted.sum() / Y.nnz < 2


def test_searches_score_labels_of_any_grade():
    X, Y, graded = data(500, 200, 10)
    pipeline = make_pipeline(MaxAbsScaler(), PPDSparseClassifier(graded=True, random_state=0))
    grid = {"ppdsparseclassifier__l1": [0.01, 0.1]}
    scorer = make_topk_scorer("precision_at_k", 1)
    for cv in (KFold(3), RareLabelKFold(3)):
        search = GridSearchCV(pipeline, grid, scoring=scorer, cv=cv).fit(X, graded)
        model = search.best_estimator_
        assert scorer(model, X, graded) == scorer(model, X, Y) > 0.5
    for y in (graded, graded.toarray(), pd.DataFrame(graded.toarray(), columns=list("abcdefghij"))):
        by_accuracy = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
        assert 0 <= by_accuracy.best_score_ <= 1
        assert by_accuracy.score(X, y) == pytest.approx(
            np.mean(
                (by_accuracy.predict(X) != (Y if sparse.issparse(y) else Y.toarray())).sum(1) == 0
            )
        )
    with pytest.raises(ValueError, match="found -1"):
        scorer(search, X, -graded.ceil())


@pytest.mark.parametrize("scoring", [None, "f1_micro"])
def test_classifier_cv(scoring):
    X, Y, graded = data(500, 200, 10)
    options = {"l1s": [0.05, 0.1], "l2s": [1.0], "scoring": scoring, "random_state": 0}
    model = PPDSparseClassifierCV(graded=True, **options).fit(X, graded)
    plain = PPDSparseClassifierCV(**options).fit(X, Y)
    assert_same(PPDSparseClassifierCV(graded=True, **options).fit(X, Y.astype(float)), plain)
    best = PPDSparseClassifier(model.l1_, model.l2_, graded=True, random_state=0).fit(X, graded)
    np.testing.assert_allclose(model.decision_function(X), best.decision_function(X), atol=1e-5)
    assert model.scores_.min() > 0
