"""AugmentReduceClassifier: its curve, its optimum, options, bad input, interruption."""

import pickle

import numpy as np
import pandas as pd
import pytest
from _augment_reduce_models import MODELS, assert_same_model, make
from _full import in_full, rest_in_full
from scipy import sparse
from scipy.special import log_softmax, ndtr
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sklearn_xc import AugmentReduceClassifier

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")
SAMPLED = [name for name in MODELS if name != "exact"]


# --------------------------------------------------------------------------------- the optimum

ALPHA = 1.0


def total_objective(model, X, y):
    log_p = log_softmax(X.astype(float) @ np.asarray(model.coef_).T + model.intercept_, axis=1)
    ridge = ALPHA / 2 * (np.asarray(model.coef_, dtype=float) ** 2).sum()
    return -log_p[np.arange(len(y)), y].sum() + ridge


@pytest.fixture(scope="module")
def optimum(digits):
    best = LogisticRegression(C=1 / ALPHA, solver="newton-cg", tol=1e-6).fit(*digits)
    return total_objective(best, *digits)


@pytest.mark.parametrize(
    ("options", "excess"),
    [
        ({"bound": "exact", "learning_rate": 0.3}, 0.01),
        in_full(({"n_sampled_classes": 9, "learning_rate": 0.3}, 0.02)),
        in_full(({"n_sampled_classes": 3, "learning_rate": 0.1}, 0.04)),
        ({"n_sampled_classes": 1, "learning_rate": 0.1}, 0.08),  # with draws apart
        in_full(({"n_sampled_classes": 3, "learning_rate": 0.1, "sampling": "frequency"}, 0.05)),
    ],
)
def test_softmax_comes_to_the_optimum_of_the_ridge(options, excess, digits, optimum):
    """With larger rates than the published one, which is for more and longer passes."""
    model = AugmentReduceClassifier(
        alpha=ALPHA, batch_size=100, max_iter=300, tol=None, random_state=0, **options
    ).fit(*digits)
    assert optimum * (1 - 1e-5) <= total_objective(model, *digits) <= (1 + excess) * optimum


@pytest.mark.parametrize("learning_rate", rest_in_full([0.3, 0.5], 0.3))
def test_one_vs_each_has_its_optimum_elsewhere(learning_rate, digits, optimum):
    options = {"alpha": ALPHA, "batch_size": 100, "n_sampled_classes": 9, "tol": None}
    model = AugmentReduceClassifier(
        bound="one_vs_each", max_iter=300, learning_rate=learning_rate, random_state=0, **options
    ).fit(*digits)
    assert 1.022 * optimum < total_objective(model, *digits) < 1.04 * optimum


@pytest.mark.parametrize("name", rest_in_full(SAMPLED, "softmax"))
def test_how_classes_are_drawn_changes_the_result_and_not_its_quality(name, digits):
    """On classes of which the largest is forty times the smallest."""
    X, y = digits
    rng = np.random.default_rng(0)
    kept = rng.random(len(y)) < 0.67 ** np.arange(10)[y]
    X, y = X[kept], y[kept]
    usual = make(name, max_iter=50, n_sampled_classes=3).fit(X, y)
    other = make(name, max_iter=50, n_sampled_classes=3, sampling="frequency").fit(X, y)
    assert np.abs(usual.coef_ - other.coef_).max() > 1e-4
    assert other.log_likelihood(X, y) == pytest.approx(usual.log_likelihood(X, y), abs=0.06)
    assert other.score(X, y) > 0.9


def test_weights_count_in_the_objective(small):
    """One mini-batch of all samples: a weight is a repetition, step by step."""
    X, y = small
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"batch_size": 5000, "max_iter": 20, "alpha": 0.3}
    weighted = make("exact", **options).fit(X, y, weight)
    repeated = make("exact", **options).fit(X[rows], y[rows])
    seen = X[rows].any(axis=0)  # the ridge leaves weights alone whose feature no sample has
    np.testing.assert_allclose(
        weighted.coef_[:, seen], repeated.coef_[:, seen], rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("name", MODELS)
def test_what_a_sample_of_weight_zero_holds_does_not_matter(name, small):
    X, y = small
    weight = np.ones(len(y))
    weight[100:] = np.random.default_rng(0).choice([0, 0.5, 2], size=len(y) - 100)
    nothing = weight == 0
    other_X, other_y = X.copy(), y.copy()
    other_X[nothing] = 1 - other_X[nothing]
    other_y[nothing] = (other_y[nothing] + 1) % 10
    some = make(name).fit(X, y, weight)
    other = make(name).fit(other_X, other_y, weight)
    np.testing.assert_allclose(some.coef_, other.coef_, rtol=1e-3, atol=1e-4)
    assert np.abs(make(name).fit(other_X, other_y).coef_ - some.coef_).max() > 1e-2


# ---------------------------------------------------------------------------- going on training


@pytest.mark.parametrize("name", ["softmax", "exact"])
def test_warm_start_needs_the_same_problem(name, small):
    X, y = small
    model = make(name, warm_start=True).fit(X, y)
    before = vars(model).copy()
    for bad in ((X, y % 3), (X, y + 1), (X[:, :30], y)):
        with pytest.raises(ValueError, match="warm_start=True needs the classes and features"):
            model.fit(*bad)
    assert vars(model) == before
    model.set_params(warm_start=False).fit(X[:, :30], y % 3)
    assert model.coef_.shape == (3, 30)


# -------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize(
    ("name", "noise"), [("softmax", "gumbel"), ("probit", "normal"), ("logistic", "logistic")]
)
def test_probabilities_are_the_shares_of_a_million_draws(name, noise, small):
    """A sample takes the class of the highest utility plus noise."""
    model = make(name).fit(*small)
    p = model.predict_proba(small[0])
    np.testing.assert_allclose(p.sum(axis=1, dtype=np.float64), 1, atol=1e-6)
    row = np.abs(p.max(axis=1) - 0.6).argmin()  # neither certain nor a lottery
    utilities = model.decision_function(small[0][row : row + 1]).astype(np.float32)
    rng = np.random.default_rng(1)
    counts = np.zeros(10)
    for _ in range(10):
        draws = getattr(rng, noise)(size=(100_000, 10)).astype(np.float32)
        counts += np.bincount((utilities + draws).argmax(axis=1), minlength=10)
    np.testing.assert_allclose(p[row], counts / counts.sum(), atol=1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_two_classes(name, small):
    X, y = small[0][small[1] < 2], np.where(small[1][small[1] < 2], "one", "nil")
    model = make(name, max_iter=20).fit(X, y)
    assert model.coef_.shape == (1, 64)
    assert model.intercept_.shape == (1,)
    assert model.classes_.tolist() == ["nil", "one"]
    assert model.score(X, y) > 0.98
    f = model.decision_function(X).astype(float)
    assert f.shape == y.shape
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0, "one", "nil"))
    if name == "probit":  # the difference of two normal variables is one of variance 2
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], ndtr(f / 2**0.5), atol=1e-6)
    if name == "logistic":  # of two logistic ones, in closed form
        with np.errstate(all="ignore"):
            expected = (1 - (1 + f) * np.exp(-f)) / (1 - np.exp(-f)) ** 2
        far = np.abs(f) > 0.1
        np.testing.assert_allclose(model.predict_proba(X)[far, 1], expected[far], atol=1e-5)
    if name in ("softmax", "one_vs_each", "exact"):
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-f)), atol=1e-6)


# ---------------------------------------------------------------------- one result, whatever


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # too few passes
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_jobs_change_nothing_and_seeds_do(name, container, small):
    X, y = container(small[0]), small[1]
    options = {"alpha": 0.1, "early_stopping": True, "sampling": "frequency", "max_iter": 2}
    one = make(name, **options, n_jobs=1).fit(X, y)
    two = make(name, **options, n_jobs=2).fit(X, y)
    assert_same_model(one, two)
    np.testing.assert_array_equal(one.loss_curve_, two.loss_curve_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = make(name, **options, random_state=1).fit(X, y)
    assert np.abs(other.coef_ - one.coef_).max() > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_labels_of_any_kind_frames_copies_and_pictures(name, small):
    X, y = small
    names = [f"pixel {j}" for j in range(64)]
    words = np.array([f"digit {k}" for k in range(10)])[y]
    model = make(name).fit(X, y)
    framed = make(name).fit(pd.DataFrame(X, columns=names), words)
    assert_same_model(model, framed)
    assert framed.feature_names_in_.tolist() == names
    assert framed.n_features_in_ == 64
    assert framed.classes_.tolist() == [f"digit {k}" for k in range(10)]
    frame = pd.DataFrame(X[:20], columns=names)
    assert framed.predict(frame).tolist() == [f"digit {k}" for k in model.predict(X[:20])]
    with pytest.raises(ValueError, match="feature names should match"):
        framed.predict(frame.rename(columns={"pixel 3": "voxel 3"}))
    copy = pickle.loads(pickle.dumps(model))
    assert_same_model(model, copy)
    np.testing.assert_array_equal(model.predict_proba(X[:20]), copy.predict_proba(X[:20]))
    unfitted = clone(model)
    assert unfitted.get_params() == model.get_params()
    assert not hasattr(unfitted, "coef_")
    assert "AugmentReduceClassifier" in model._repr_html_()


def test_no_more_classes_are_drawn_than_there_are_others(small):
    many, others = (make("softmax", n_sampled_classes=n).fit(*small) for n in (10**6, 9))
    assert_same_model(many, others)


def test_zero_start(small):
    model = make("softmax", init_scale=0.0, learning_rate=1e-12).fit(*small)
    assert np.abs(model.coef_).max() < 1e-9
    np.testing.assert_allclose(model.predict_proba(small[0][:5]), 0.1, atol=1e-6)
    drawn = make("softmax", init_scale=0.3, learning_rate=1e-12).fit(*small)
    assert drawn.coef_.std() == pytest.approx(0.3, rel=0.1)
    assert drawn.intercept_.std() < 0.01


# ----------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("model", ["probit", "logistic"])
@pytest.mark.parametrize("bound", ["one_vs_each"])
def test_bounds_of_the_softmax_are_refused_with_other_noise(model, bound, small):
    estimator = AugmentReduceClassifier(model, bound)
    message = f"bound='{bound}' is one of the softmax; with model='{model}' only"
    with pytest.raises(ValueError, match=message):
        estimator.fit(*small)
    with pytest.raises(ValueError, match=message):
        estimator.partial_fit(*small, classes=np.arange(10))
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("model", rest_in_full(["probit", "logistic"], "probit"))
def test_exact_steps_of_other_noise_are_for_fits_without_a_rate(model, small):
    X, y = small
    estimator = AugmentReduceClassifier(model, "exact", max_iter=50, random_state=0)
    message = f"bound='exact' of model='{model}' has steps of its own, for fit only"
    with pytest.raises(ValueError, match=message):
        estimator.partial_fit(X, y, classes=np.arange(10))
    for options in {"learning_rate": 0.1}, {"batch_size": 100}:
        with pytest.raises(ValueError, match=message):
            AugmentReduceClassifier(model, "exact", **options).fit(X, y)
    assert estimator.fit(X, y).bound_ == "exact"
    drawn = AugmentReduceClassifier(model, max_iter=50, random_state=0).fit(X, y)
    assert drawn.bound_ == "augment_reduce"
    assert estimator.log_likelihood(X, y) > drawn.log_likelihood(X, y) - 0.05


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("model", ["gumbel", None]),
        ("bound", ["elbo", None]),
        ("batch_size", [0, 2.5, 2**40, "all"]),
        ("n_sampled_classes", [0, 1.5, None]),
        ("sampling", ["hard", 1]),
        ("local_steps", ["none", 0.3]),
        ("max_iter", [0, 10.0, "all"]),
        ("learning_rate", [0, -0.1, "slow", np.nan]),
        ("alpha", [-1, np.nan, "some"]),
        ("init_scale", [-0.1, None, "small"]),
        ("tol", [-1e-4, "small"]),
        ("early_stopping", ["no", None]),
        ("validation_fraction", [0, 1, -0.1]),
        ("n_iter_no_change", [0, 1.5]),
        ("n_jobs", [1.5, "all"]),
        ("random_state", ["seed", -1]),
        ("verbose", [-1, "much"]),
        ("warm_start", [None, "yes"]),
        ("class_weight", ["even", 2.0]),
        ("label_feature_weight", [-1.0, np.nan, np.inf, None]),
    ],
)
def test_bad_parameters_have_one_clear_error(name, values, small):
    for value in values:
        model = AugmentReduceClassifier(**{name: value})
        with pytest.raises(ValueError, match=f"'{name}' parameter of AugmentReduceClassifier"):
            model.fit(*small)
        with pytest.raises(ValueError, match=f"'{name}' parameter of AugmentReduceClassifier"):
            model.partial_fit(*small, classes=np.arange(10))
        assert not hasattr(model, "classes_")


def test_every_parameter_has_its_bad_values_tested():
    (mark,) = (
        mark
        for mark in test_bad_parameters_have_one_clear_error.pytestmark
        if mark.name == "parametrize"
    )
    assert {name for name, _ in mark.args[1]} == set(AugmentReduceClassifier().get_params())
