"""ImplicitSoftmaxRegressor: optimum, rate search, options, bad input, interruption."""

import warnings

import numpy as np
import pytest
from _ctrl_c import ctrl_c
from _full import in_full
from _implicit_solvers import SHORT, assert_same_model, make
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from sklearn_xc import ImplicitSoftmaxRegressor

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


# ------------------------------------------------------------------------------- the optimum

ALPHA = 1.0


@pytest.fixture(scope="module")
def optimum(digits):
    best = LogisticRegression(C=1 / ALPHA, solver="newton-cg", tol=1e-6).fit(*digits)
    return total_objective(best, *digits)


def total_objective(model, X, y):
    log_p = log_softmax(X.astype(float) @ np.asarray(model.coef_).T + model.intercept_, axis=1)
    ridge = ALPHA / 2 * (np.asarray(model.coef_, dtype=float) ** 2).sum()
    return -log_p[np.arange(len(y)), y].sum() + ridge


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "implicit", "learning_rate": 0.3},
        in_full({"solver": "implicit", "learning_rate": 1.0}),
        {"solver": "implicit", "learning_rate": 0.3, "sampling": "frequency"},
        in_full({"solver": "implicit", "learning_rate": 0.3, "shuffle": False}),
        pytest.param(
            {
                "solver": "implicit",
                "learning_rate": 1.0,
                "max_iter": 40,
                "decay": 0.9,
                "batch_size": 20,
                "n_sampled_classes": 3,
            },
            marks=pytest.mark.full,
        ),
        {"solver": "umax", "learning_rate": 0.3},
        pytest.param(
            {"solver": "umax", "learning_rate": 0.3, "batch_size": 10, "n_sampled_classes": 3},
            marks=pytest.mark.full,
        ),
        {
            "solver": "umax",
            "learning_rate": 0.1,
            "formulation": "raman",
            "intercept_scaling": 1.0,  # whose steps are small here
        },
        {"solver": "exact", "learning_rate": 0.3},
    ],
)
def test_unbiased_solvers_reach_the_optimum(options, digits, optimum):
    options = {"max_iter": 200, "decay": 0.97, **options}
    model = ImplicitSoftmaxRegressor(alpha=ALPHA, random_state=0, **options).fit(*digits)
    assert optimum * (1 - 1e-5) <= total_objective(model, *digits) <= 1.01 * optimum


@pytest.mark.parametrize(
    ("options", "bias"),
    [
        ({"solver": "one_vs_each"}, 0.02),
        ({"solver": "nce"}, 0.03),
        in_full(({"solver": "importance", "n_sampled_classes": 1}, 0.012)),
    ],
)
def test_biased_solvers_do_not(options, bias, digits, optimum):
    """Neither another rate nor more steps bring them closer: they have converged elsewhere."""
    for learning_rate, max_iter in [(0.1, 100), (1.0, 100), (0.1, 200)]:
        model = ImplicitSoftmaxRegressor(
            alpha=ALPHA,
            random_state=0,
            learning_rate=learning_rate,
            max_iter=max_iter,
            decay=0.97,
            **options,
        ).fit(*digits)
        excess = total_objective(model, *digits) / optimum - 1
        assert bias < excess < 0.1


def test_without_features_the_probabilities_are_the_frequencies():
    y = np.repeat([0, 1, 2, 3], [50, 30, 15, 5])
    X = np.zeros((100, 2))
    model = ImplicitSoftmaxRegressor(
        learning_rate=0.3, decay=0.95, max_iter=150, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], [0.5, 0.3, 0.15, 0.05], atol=0.02)
    assert not model.coef_.any()


# ------------------------------------------------------------------------- one result, whatever


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("learning_rate", ["auto", 0.01])
def test_samples_of_weight_zero_are_not_there(name, learning_rate, small):
    X, y = small
    weight = np.random.default_rng(0).choice([0, 0.5, 2], size=len(y))
    options = {"learning_rate": learning_rate, "max_iter": 1}
    left = weight > 0
    assert_same_model(
        make(name, **options).fit(X, y, weight),
        make(name, **options).fit(X[left], y[left], weight[left]),
    )


def test_weights_count_in_the_objective(digits):
    X, y = digits[0][:300], digits[1][:300]
    weight = np.random.default_rng(0).integers(0, 4, size=300)
    best = LogisticRegression(C=1 / ALPHA, solver="newton-cg", tol=1e-6).fit(X, y, weight)
    rows = np.repeat(np.arange(300), weight)
    optimum = total_objective(best, X[rows], y[rows])
    options = {"alpha": ALPHA, "max_iter": 100, "decay": 0.95, "random_state": 0}
    for changes in [{"batch_size": 10, "n_sampled_classes": 3, "max_iter": 50, "decay": 0.9}, {}]:
        model = ImplicitSoftmaxRegressor(learning_rate=0.3, **{**options, **changes})
        model.fit(X, y, weight)
        assert total_objective(model, X[rows], y[rows]) <= 1.01 * optimum
    assert total_objective(model.fit(X, y), X[rows], y[rows]) > 1.01 * optimum


# ----------------------------------------------------------------------------- going on training


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_warm_start_goes_on(name, n_classes, small):
    X, y = small[0][small[1] < n_classes], small[1][small[1] < n_classes]
    model = make(name, warm_start=True, max_iter=5).fit(X, y)
    before, bias = model.coef_.copy(), model.intercept_.copy()
    model.set_params(learning_rate=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, before, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, bias, atol=1e-6)
    model.set_params(warm_start=False).fit(X, y)
    assert np.abs(model.coef_).max() < 1e-6


def test_warm_start_needs_the_same_problem(small):
    X, y = small
    model = make("implicit", warm_start=True).fit(X, y)
    before = model.coef_
    with pytest.raises(ValueError, match="warm_start=True needs the classes and features"):
        model.fit(X, y % 3)
    with pytest.raises(ValueError, match="warm_start=True needs the classes and features"):
        model.fit(X[:, :30], y)
    assert model.coef_ is before


@pytest.mark.parametrize("name", SHORT)
def test_partial_fit_learns_part_by_part(name, digits):
    X, y = digits
    model = make(name, max_iter=1)
    for _ in range(2):
        for start in range(0, 1500, 500):
            part = slice(start, start + 500)
            model.partial_fit(X[part], y[part], classes=np.arange(10))
    assert model.n_iter_ == 6
    assert model.score(X[:1500], y[:1500]) > 0.75
    np.testing.assert_array_equal(model.classes_, np.arange(10))


def test_partial_fit_after_fit_goes_on_with_its_rate_and_its_draws(small):
    model = make("implicit", learning_rate="auto").fit(*small)
    first, rate = model.coef_, model.learning_rate_
    model.partial_fit(*small)
    assert model.n_iter_ == 5
    assert model.learning_rate_ == rate
    assert np.abs(model.coef_ - first).max() > 0


# --------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "adam"}, "'solver' parameter"),
        ({"formulation": "double"}, "'formulation' parameter"),
        ({"formulation": "raman"}, "solver='umax' and solver='sgd', not for solver='auto'"),
        ({"formulation": "raman", "solver": "nce"}, "not for solver='nce'"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"batch_size": 2.5}, "'batch_size' parameter"),
        ({"n_sampled_classes": 0}, "'n_sampled_classes' parameter"),
        ({"n_sampled_classes": 3, "solver": "exact"}, "n_sampled_classes=3: solver='exact'"),
        ({"sampling": "frequency", "solver": "exact"}, "sampling='frequency' is not for"),
        ({"sampling": "frequency", "batch_size": 5}, "sampling='frequency' is not for"),
        ({"sampling": "hard"}, "'sampling' parameter"),
        ({"alpha": -1}, "'alpha' parameter"),
        ({"alpha": np.inf}, "'alpha' parameter"),
        ({"learning_rate": 0}, "'learning_rate' parameter"),
        ({"learning_rate": "fast"}, "'learning_rate' parameter"),
        ({"decay": 0}, "'decay' parameter"),
        ({"decay": 1.1}, "'decay' parameter"),
        ({"decay": "cosine"}, "'decay' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"delta": 0}, "'delta' parameter"),
    ],
)
def test_bad_parameters_have_one_clear_error(options, message, small):
    with pytest.raises(ValueError, match=message):
        ImplicitSoftmaxRegressor(**options).fit(*small)
    with pytest.raises(ValueError, match=message):
        ImplicitSoftmaxRegressor(**options).partial_fit(*small, classes=np.arange(10))


def test_more_classes_than_there_are_others_is_all_others(small):
    for solver in ("implicit", "umax", "importance"):
        options = {"solver": solver, "batch_size": 5, "learning_rate": 0.1, "max_iter": 1}
        many = ImplicitSoftmaxRegressor(**options, n_sampled_classes=99, random_state=0)
        all_others = ImplicitSoftmaxRegressor(**options, n_sampled_classes=9, random_state=0)
        assert_same_model(many.fit(*small), all_others.fit(*small))


@pytest.mark.parametrize("options", [{}, {"batch_size": 5, "n_sampled_classes": 2}])
def test_overflow_is_reported_and_leaves_nothing_half_fitted(options, small):
    X, y = small
    model = ImplicitSoftmaxRegressor(
        "sgd", learning_rate=0.01, max_iter=2, random_state=0, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="use a smaller learning_rate"):
            model.set_params(learning_rate=1000.0).fit(X, y)
        assert not hasattr(model, "classes_")
        model.set_params(learning_rate=0.01).fit(X, y)
        fitted = vars(model).copy()
        with pytest.raises(ValueError, match=r"solver='sgd' with learning_rate=1000.0 left"):
            model.set_params(learning_rate=1000.0).fit(X, y)
    fitted["learning_rate"] = 1000.0
    assert vars(model) == fitted


def test_impossible_sizes_are_refused_by_number(small, monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "5000")
    with pytest.raises(MemoryError, match="10 classes and 64 features"):
        ImplicitSoftmaxRegressor().fit(*small)


# ------------------------------------------------------------------------------ interruption


def test_ctrl_c_stops_inside_an_epoch():
    n_samples = 2_000_000
    X = np.ones((n_samples, 1), dtype=np.float32)
    y = np.arange(n_samples) % 3
    model = ImplicitSoftmaxRegressor(learning_rate=1.0, max_iter=1000, random_state=0)
    with ctrl_c(1.0), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


# ------------------------------------------------------------------------------- the docstring


def test_classes_are_drawn_by_frequency_unless_the_solver_cannot(small):
    for changes, sampling in [
        ({}, "frequency"),
        ({"batch_size": 5}, "uniform"),
        ({"solver": "umax"}, "uniform"),
    ]:
        options = {"solver": "implicit", "learning_rate": 0.01, "max_iter": 2, "random_state": 0}
        options |= changes
        default = ImplicitSoftmaxRegressor(**options).fit(*small)
        same = ImplicitSoftmaxRegressor(sampling=sampling, **options).fit(*small)
        np.testing.assert_array_equal(default.coef_, same.coef_)
