"""The search for a learning rate, and the curve of the objective."""

import numpy as np
import pytest
from _implicit_solvers import SHORT, assert_same_model, make
from scipy import sparse
from scipy.special import log_softmax

from sklearn_xc import ImplicitSoftmaxRegressor
from sklearn_xc.implicit_softmax._rate_search import RATES, climb, objective, search_rate
from sklearn_xc.implicit_softmax._solvers import NONE, DivergenceError
from sklearn_xc.utils._matrix import as_rows

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


def mean_objective(X, y, weight, W, b, alpha):
    log_p = log_softmax(X.astype(float) @ W.T.astype(float) + b, axis=1)
    losses = -log_p[np.arange(len(y)), y]
    return (losses @ weight + alpha / 2 * (W.astype(float) ** 2).sum()) / weight.sum()


@pytest.mark.parametrize("n_classes", [2, 256, 600])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_objective_is_that_of_numpy(n_classes, container, monkeypatch):
    monkeypatch.setattr("sklearn_xc.implicit_softmax._rate_search.SCORES_AT_ONCE", 256 * 7)
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(50, 6)).astype(np.float32)
    W, b = rng.normal(size=(n_classes, 6)).astype(np.float32) * 5, rng.normal(size=n_classes)
    y, weight = rng.integers(0, n_classes, size=50), rng.choice([0, 1, 2.5], size=50)
    arguments = y.astype(np.int32), weight.astype(np.float32), W, b.astype(np.float32)
    found = objective(as_rows(container(X)), *arguments, 0.3)
    np.testing.assert_allclose(found, mean_objective(X, y, weight, W, b, 0.3), rtol=1e-5)
    ones = objective(as_rows(container(X)), arguments[0], NONE, *arguments[2:], 0.0)
    np.testing.assert_allclose(ones, mean_objective(X, y, np.ones(50), W, b, 0), rtol=1e-5)
    in_other_order = np.asfortranarray(W)
    again = objective(as_rows(container(X)), *arguments[:2], in_other_order, arguments[3], 0.3)
    assert again == found


def test_objective_of_diverged_weights_is_not_finite():
    X = np.ones((3, 1), dtype=np.float32)
    W = np.array([[np.inf], [0]], dtype=np.float32)
    y = np.zeros(3, dtype=np.int32)
    assert not np.isfinite(objective(as_rows(X), y, NONE, W, np.zeros(2, np.float32), 1.0))


@pytest.mark.parametrize("weighted", [False, True])
def test_search_sees_a_tenth_of_the_rows_and_of_the_ridge_and_validates_on_others(weighted):
    X = np.arange(20_000, dtype=np.float32)[:, None]
    y = np.zeros(20_000, dtype=np.int32)
    weight = np.tile(np.float32([0, 2]), 10_000) if weighted else NONE
    seen = []

    def train(rows, y, weight, alpha, rate):
        if rate > 100:
            raise DivergenceError
        seen.append((rate, rows.shape[0], alpha, rows.data.copy()))
        W = np.float32([[0], [abs(np.log10(rate) - 1) / 20_000]])  # best at a rate of 10
        return W, np.zeros(2, np.float32)

    found = search_rate(train, as_rows(X), y, weight, 7.0, 0, None)
    assert found == (10, False)
    np.testing.assert_allclose([entry[0] for entry in seen], [0.1, 1, 10, 100, 10**0.5, 10**1.5])
    rows = {entry[1] for entry in seen}
    assert rows == ({1000} if weighted else {2000})
    np.testing.assert_allclose([entry[2] for entry in seen], 0.7, rtol=1e-6)
    for entry in seen:
        np.testing.assert_array_equal(entry[3], seen[0][3])
        assert len(np.unique(entry[3])) == entry[1]
        assert not weighted or (entry[3] % 2 == 1).all()

    def never_right_on_the_part(rows, y, weight, alpha, rate):
        """Scores of the wrong class are high on the part, at 1 more than elsewhere."""
        part = set(rows.data.tolist())
        level = {1.0: 100.0}.get(rate, 1.0)
        assert len(part) == rows.shape[0]
        table[:] = [level if value in part else 1 / level for value in X[:, 0]]
        return np.float32([[0], [1]]), np.zeros(2, np.float32)

    table = np.ones(20_000)
    rows_judged = []

    def spy(rows, *rest):
        rows_judged.append(set(rows.data.tolist()))
        return float(np.mean([table[int(value)] for value in rows.data]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_xc.implicit_softmax._rate_search.objective", spy)
        assert search_rate(never_right_on_the_part, as_rows(X), y, weight, 7.0, 0, None)[0] == 1
    assert not rows_judged[0] & set(seen[0][3].tolist())
    assert len(rows_judged[0]) == len(seen[0][3])


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
