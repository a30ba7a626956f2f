"""The search for a learning rate, and the curve of the objective."""

import numpy as np
import pytest
from _implicit_solvers import SHORT, assert_same_model, make
from scipy import sparse
from scipy.special import log_softmax

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.implicit_softmax._data import NONE, SoftmaxData
from sklearn_xc.implicit_softmax._rate_search import RATES, Trials, climb, search_rate
from sklearn_xc.implicit_softmax._solvers import DivergenceError
from sklearn_xc.implicit_softmax._train import is_searched
from sklearn_xc.utils._matrix import as_rows

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


def mean_objective(X, y, weight, W, b, alpha):
    log_p = log_softmax(X.astype(float) @ W.T.astype(float) + b, axis=1)
    losses = -log_p[np.arange(len(y)), y]
    return (losses @ weight + alpha / 2 * (W.astype(float) ** 2).sum()) / weight.sum()


@pytest.mark.parametrize("n_classes", [2, 256, 600])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_objective_is_that_of_numpy(n_classes, container, monkeypatch):
    monkeypatch.setattr("sklearn_xc.implicit_softmax._data.SCORES_AT_ONCE", 256 * 7)
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(50, 6)).astype(np.float32)
    W, b = rng.normal(size=(n_classes, 6)).astype(np.float32) * 5, rng.normal(size=n_classes)
    y, weight = rng.integers(0, n_classes, size=50), rng.choice([0, 1, 2.5], size=50)
    arguments = y.astype(np.int32), weight.astype(np.float32), W, b.astype(np.float32)
    y, weight, W, b = arguments
    data = SoftmaxData(as_rows(container(X)), y, weight)
    found = data.objective(W, b, 0.3)
    np.testing.assert_allclose(found, mean_objective(X, y, weight, W, b, 0.3), rtol=1e-5)
    ones = data._replace(weight=NONE).objective(W, b, 0.0)
    np.testing.assert_allclose(ones, mean_objective(X, y, np.ones(50), W, b, 0), rtol=1e-5)
    assert data.objective(np.asfortranarray(W), b, 0.3) == found


def test_objective_of_diverged_weights_is_not_finite():
    X = np.ones((3, 1), dtype=np.float32)
    W = np.array([[np.inf], [0]], dtype=np.float32)
    y = np.zeros(3, dtype=np.int32)
    found = SoftmaxData(as_rows(X), y, NONE).objective(W, np.zeros(2, np.float32), 1.0)
    assert not np.isfinite(found)


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_tried_on_a_tenth_of_the_rows_and_of_the_ridge_and_judged_on_others(weighted):
    X = np.arange(20_000, dtype=np.float32)[:, None]
    weight = np.tile(np.float32([0, 2]), 10_000) if weighted else NONE
    data = SoftmaxData(as_rows(X), np.zeros(20_000, dtype=np.int32), weight)
    part, alpha, loss = data.part_for_rates(7.0, 0)
    n_rows = 1000 if weighted else 2000
    assert alpha == pytest.approx(0.7)
    judged = loss.func.__self__
    for found in (part, judged):
        assert len(found.y) == len(np.unique(found.rows.data)) == n_rows
        assert not weighted or (found.rows.data % 2 == 1).all()
    assert not set(part.rows.data.tolist()) & set(judged.rows.data.tolist())
    W, b = np.float32([[0], [1]]), np.zeros(2, np.float32)
    assert loss(W, b) == judged.objective(W, b, 0.0)
    few = SoftmaxData(as_rows(X[:1100]), data.y[:1100], NONE)  # hardly any are left to judge
    part, alpha, loss = few.part_for_rates(7.0, 0)
    assert loss(W, b) == part.objective(W, b, alpha)


def test_the_search_goes_to_the_best_rate():
    seen = []

    class Fits:
        def loss(self, rate):
            seen.append(rate)
            return np.inf if rate > 50 else 1 + abs(np.log10(rate) - 1)

    assert search_rate(Fits(), None) == (10, False)
    np.testing.assert_allclose(seen, [0.1, 1, 10, 100, 10**0.5, 10**1.5])


def test_trials_begin_anew_and_say_where_steps_diverge():
    class Solver:
        def begin(self, start):
            self.start, self.steps = start, []
            return self

        def epoch(self, number, rate):
            if rate > 1:
                raise DivergenceError
            self.steps.append(rate)

        def weights(self):
            return self.start[0], self.steps

    start = np.zeros(3), np.zeros(2)
    seen = []

    def loss(W, steps):
        seen.append(W)
        return sum(steps)

    trials = Trials(Solver(), loss, start, np.array([1.0, 0.5]))
    assert [trials.loss(rate) for rate in (0.5, 2.0, 1.0)] == [0.75, np.inf, 1.5]
    assert not any(np.shares_memory(W, start[0]) for W in seen)


def test_climb_goes_on_for_as_long_as_it_gets_better():
    def climbed(loss):
        tried = []

        def losses(places):
            tried.extend(RATES[places].tolist())
            return [loss(np.log10(RATES[place])) for place in places]

        return climb(losses), tried

    for best in (-3.5, -2, 0, 0.5, 3):
        found, tried = climbed(lambda x, best=best: 1 + (x - best) ** 2)
        assert found == (10.0**best, False)
        assert len(tried) <= 9
    assert climbed(lambda x: np.exp(x))[0].rate < 1e-2  # flat below, not worth going on
    found, tried = climbed(lambda x: 10 - x)
    assert found == (1e4, True)
    assert len(tried) == 6
    assert climbed(lambda x: np.inf if x > -2 else x + 20)[0] == (1e-4, True)
    assert climbed(lambda x: np.inf if x > -1.6 else 2 - x)[0].rate == 10**-2
    with pytest.raises(DivergenceError, match=r"every rate from 0.0001 to 10 did"):
        climbed(lambda x: np.inf)


def test_search_takes_the_rate_of_the_best_fit(digits):
    """With a thousand rows or fewer the search is a fit at each rate."""
    X, y = digits[0][:1000], digits[1][:1000]
    options = {"solver": "implicit", "max_iter": 5, "alpha": 0.1, "random_state": 0}
    auto = ImplicitSoftmaxRegressor(**options).fit(X, y)
    found = {}
    for rate in RATES[RATES < 1000]:
        model = ImplicitSoftmaxRegressor(**options, learning_rate=rate).fit(X, y)
        W, b = model.coef_, model.intercept_
        found[rate] = mean_objective(X, y, np.ones(1000), W, b, 0.1)
    assert auto.learning_rate_ == pytest.approx(min(found, key=found.get))
    chosen = ImplicitSoftmaxRegressor(**options, learning_rate=auto.learning_rate_).fit(X, y)
    assert_same_model(auto, chosen)


@pytest.mark.parametrize("name", SHORT)
def test_a_linear_decay_is_a_fit_of_single_epochs_with_falling_rates(name, small):
    """Up to the order of the samples, which `shuffle` takes away, and the classes drawn."""
    X, y = small
    options = {"learning_rate": 0.1, "alpha": 0.0, "shuffle": False, "sampling": "uniform"}
    whole = make(name, **options, decay="linear", max_iter=4, compute_loss=True).fit(X, y)
    constant = make(name, **options, decay=1.0, max_iter=4, compute_loss=True).fit(X, y)
    assert not np.allclose(whole.loss_curve_, constant.loss_curve_, rtol=1e-6)
    if name != "exact":  # which neither draws classes nor keeps u
        return
    model = make(name, **options, decay=1.0, warm_start=True, max_iter=1)
    losses = []
    for share in [0.875, 0.625, 0.375, 0.125]:
        model.set_params(learning_rate=0.1 * share, compute_loss=True).fit(X, y)
        losses.append(model.loss_curve_[0])
    np.testing.assert_allclose(whole.loss_curve_, losses, rtol=1e-5)


def test_the_search_needs_no_more_memory_than_a_fit_or_its_workers(small, monkeypatch):
    """Weights of the fit and their copy, or those of every worker: never both."""
    X, y = small
    size = 4 * X.shape[1] * len(np.unique(y))
    for n_jobs, copies in [(1, 2), (2, 2), (3, 3)]:
        model = ImplicitSoftmaxRegressor("implicit", max_iter=1, n_jobs=n_jobs, random_state=0)
        needed = copies * size + 16 * len(y)
        monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", str(needed - 1))
        with pytest.raises(MemoryError, match="dense weights"):
            model.fit(X, y)
        monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", str(needed))
        model.fit(X, y)


def test_loss_curve(small):
    X, y = small
    model = make("exact", compute_loss=True, alpha=0.1).fit(X, y)
    assert model.loss_curve_.shape == (4,)
    assert (np.diff(model.loss_curve_) < 0).all()
    last = mean_objective(X, y, np.ones(len(y)), model.coef_, model.intercept_, 0.1)
    np.testing.assert_allclose(model.loss_curve_[-1], last, rtol=1e-5)
    for name in SHORT:
        watched = make(name, compute_loss=True, alpha=0.1).fit(X, y)
        unwatched = make(name, alpha=0.1).fit(X, y)
        np.testing.assert_allclose(watched.coef_, unwatched.coef_, rtol=1e-4, atol=1e-5)
    watched.set_params(compute_loss=False).fit(X, y)
    assert not hasattr(watched, "loss_curve_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exact_steps_have_a_rate_by_the_rows_of_a_class():
    assert is_searched("exact", 1000, 10)
    assert is_searched("implicit", 28_291, 3734)
    assert not is_searched("exact", 1797, 10)
    assert not is_searched("exact", 900, 300)
    rng = np.random.default_rng(0)
    X, y = 3 * rng.normal(size=(6200, 4)), np.arange(6200) % 1500
    length = np.median(np.linalg.norm(X, axis=1))
    for n_classes, rate in ((1500, 10), (310, 10**0.5)):
        model = ImplicitSoftmaxRegressor(max_iter=1, random_state=0).fit(X, y % n_classes)
        assert model.learning_rate_ == pytest.approx(rate / length**2, rel=1e-3)


def test_exact_steps_do_not_take_a_rate_that_only_serves_a_part():
    """A part makes fewer steps: with a search on it one seed took 100 and another 3.2 on bibtex."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 30))
    y = rng.integers(60, size=4000)
    X = (centres[y] + 3 * rng.normal(size=(4000, 30))).astype(np.float32)
    rates = [
        ImplicitSoftmaxRegressor(random_state=seed).fit(X, y).learning_rate_ for seed in (0, 1)
    ]
    assert rates[0] == rates[1]
