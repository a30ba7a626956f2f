"""Functions inside of what `implicit_softmax/test_regressor.py` tests from outside."""

import pickle

import numpy as np
import pytest
from _full import rest_in_full
from _implicit_solvers import SHORT, assert_same_model, make
from scipy import sparse
from sklearn.datasets import load_digits

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


# ----------------------------------------------------------------------------- going on training


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


# --------------------------------------------------------------------------------- bad input


def test_a_search_in_which_every_rate_overflows_is_reported(small, monkeypatch):
    def diverging(*_):
        raise DivergenceError("as if")

    monkeypatch.setattr("sklearn_xc.implicit_softmax._train.SingleSteps.epoch", diverging)
    with pytest.raises(ValueError, match=r"every rate from 0.0001 to 10 did"):
        ImplicitSoftmaxRegressor("sgd", max_iter=3, random_state=0).fit(*small)


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
