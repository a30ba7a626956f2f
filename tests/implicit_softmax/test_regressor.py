"""ImplicitSoftmaxRegressor: optimum, rate search, options, bad input, interruption."""

import _thread
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest
from _full import in_full, rest_in_full
from _implicit_solvers import SHORT, assert_same_model, make
from scipy import sparse
from scipy.special import log_softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.implicit_softmax import _regressor as module
from sklearn_xc.implicit_softmax._data import NONE
from sklearn_xc.implicit_softmax._rate_search import RATES
from sklearn_xc.implicit_softmax._settings import settings_of
from sklearn_xc.implicit_softmax._solvers import DivergenceError, SingleSteps
from sklearn_xc.implicit_softmax._train import PUBLISHED_SIZES, passes, solver_class
from sklearn_xc.utils._matrix import as_rows

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


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(
    "learning_rate", rest_in_full(RATES, RATES[0], RATES[len(RATES) // 2], RATES[-1])
)
@pytest.mark.parametrize(
    "options", [{"sampling": "uniform"}, {"batch_size": 10, "n_sampled_classes": 3}]
)
def test_implicit_steps_are_finite_at_every_rate(options, learning_rate, alpha):
    X, y = load_digits(return_X_y=True)  # rows of length 50 to 80
    model = ImplicitSoftmaxRegressor(
        learning_rate=learning_rate,
        alpha=alpha,
        max_iter=2,
        intercept_scaling=1.0,
        random_state=1,
        **options,
    ).fit(X[:200], y[:200])
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.score(X[:200], y[:200]) > 0.3


# ------------------------------------------------------------------------- one result, whatever


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize(
    "container", rest_in_full([np.asarray, sparse.csr_array], sparse.csr_array)
)
def test_jobs_change_nothing_and_seeds_do(name, container, small):
    X, y = container(small[0]), small[1]
    options = {"alpha": 0.01, "learning_rate": "auto", "max_iter": 2}
    if "batches" in name:
        options["max_iter"] = 1
    one = make(name, **options, n_jobs=1).fit(X, y)
    assert_same_model(one, make(name, **options, n_jobs=2).fit(X, y))
    assert_same_model(one, pickle.loads(pickle.dumps(make(name, **options))).fit(X, y))
    assert np.isclose(one.learning_rate_, RATES).any()
    other = make(name, **options, random_state=1).fit(X, y)
    assert np.abs(other.coef_ - one.coef_).max() > 1e-6


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
    options = {"alpha": ALPHA, "max_iter": 300, "decay": 0.98, "random_state": 0}
    for changes in [{}, {"batch_size": 10, "n_sampled_classes": 3, "max_iter": 50, "decay": 0.9}]:
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


def test_partial_fit_takes_its_rate_from_the_length_of_the_first_rows(digits):
    X, y = digits[0][:800], digits[1][:800]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "searched_rate", None)
        models = [
            make("implicit", learning_rate="auto").partial_fit(c * X, y, classes=np.arange(10))
            for c in (1.0, 8.0)
        ]
        rate = models[0].learning_rate_
        assert rate == pytest.approx(1)
        assert models[1].learning_rate_ == pytest.approx(rate / 64)
        models[0].partial_fit(5 * digits[0][800:1100], digits[1][800:1100])
        assert models[0].learning_rate_ == rate


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


def test_a_search_in_which_every_rate_overflows_is_reported(small, monkeypatch):
    def diverging(*_):
        raise DivergenceError("as if")

    monkeypatch.setattr("sklearn_xc.implicit_softmax._train.SingleSteps.epoch", diverging)
    with pytest.raises(ValueError, match=r"every rate from 0.0001 to 10 did"):
        ImplicitSoftmaxRegressor("sgd", max_iter=3, random_state=0).fit(*small)


def test_impossible_sizes_are_refused_by_number(small, monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "5000")
    with pytest.raises(MemoryError, match="10 classes and 64 features"):
        ImplicitSoftmaxRegressor().fit(*small)


# ------------------------------------------------------------------------------ interruption


@pytest.mark.parametrize("name", SHORT)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(name, small, monkeypatch):
    model = make(name).fit(*small)
    before = vars(model).copy()
    steps = solver_class(settings_of(model, 64, None))
    real = steps.epoch

    def interrupted(self, number, rate):
        if number == 2:
            raise KeyboardInterrupt
        real(self, number, rate)

    monkeypatch.setattr(steps, "epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(small[0], small[1] % 5)
    assert vars(model) == before


def test_ctrl_c_stops_inside_an_epoch():
    n_samples = 2_000_000
    X = np.ones((n_samples, 1), dtype=np.float32)
    y = np.arange(n_samples) % 3
    model = ImplicitSoftmaxRegressor(learning_rate=1.0, max_iter=1000, random_state=0)
    timer = threading.Timer(1.0, _thread.interrupt_main)
    # programs that were started in the background of a shell ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not hasattr(model, "coef_")


def test_a_stopped_thread_gives_up(small):
    X, y = small
    model = make("implicit")
    data = module.SoftmaxData(as_rows(X), y.astype(np.int32), NONE)
    stop = np.ones(1, dtype=np.int32)
    for name in ("implicit batches", "umax batches", "exact"):
        settings = settings_of(make(name), 64, None)
        solver = solver_class(settings)(data, 10, settings, 0, 1, stop).begin()
        with pytest.raises(KeyboardInterrupt):
            solver.epoch(0, 0.1)
    assert solver_class(settings_of(model, 64, None)) is SingleSteps


# ------------------------------------------------------------------------------- the docstring


def test_published_settings_are_the_defaults():
    assert {PUBLISHED_SIZES[name] for name in ("implicit", "umax", "sgd")} == {(1, 1)}
    assert {PUBLISHED_SIZES[name] for name in ("one_vs_each", "nce", "importance")} == {(100, 5)}
    model = ImplicitSoftmaxRegressor()
    assert model.delta == 1.0
    for solver in PUBLISHED_SIZES:
        settings = settings_of(model.set_params(solver=solver), 1, None)
        assert passes("auto", settings, 10**5) == (10 if solver == "exact" else 50)
    settings = settings_of(model.set_params(solver="nce"), 1, None)
    assert (settings.batch_size, settings.n_sampled) == (100, 5)


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
