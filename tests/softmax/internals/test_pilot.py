"""The ridge of softmax models is found on rows held out of some classes."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.preprocessing import normalize

from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, LDGSClassifier
from sklearn_xc.softmax import _pilot
from sklearn_xc.softmax._full_softmax import RATE, RIDGE, usual_rate
from sklearn_xc.softmax._pilot import RidgePilot, gains, pilot_of, rate_by, ridge_by
from sklearn_xc.utils._matrix import as_rows

N_CLASSES, N_ROWS, N_WORDS = 1200, 4800, 2400


def words(chance, seed=0):
    """Rows of six words: each of the class's own dozen, but for those that are any by chance."""
    rng = np.random.default_rng(seed)
    y = np.arange(N_ROWS) % N_CLASSES
    own = rng.integers(N_WORDS, size=(N_CLASSES, 12))
    columns = own[y[:, None], rng.integers(12, size=(N_ROWS, 6))]
    any_word = rng.random(columns.shape) < chance
    columns[any_word] = rng.integers(N_WORDS, size=any_word.sum())
    parts = np.ones(columns.size), (np.repeat(np.arange(N_ROWS), 6), columns.ravel())
    X = normalize(sparse.csr_array(parts, shape=(N_ROWS, N_WORDS))).astype(np.float32)
    return X, y


def noise(n_classes=60, n_rows=3000):
    """Dense rows that say little of their class."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    X = rng.normal(size=(n_classes, 40))[y] + 4 * rng.normal(size=(n_rows, 40))
    return X.astype(np.float32), y


def made(X, y, weight=None, seed=0, **options):
    samples = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    return pilot_of(as_rows(X), y, weight, samples, 10, seed, fit_intercept=True, **options)


def log_loss(model, X, y):
    own = np.arange(len(y)), np.searchsorted(model.classes_, y)
    return -model.predict_log_proba(X)[own].mean()


@pytest.mark.parametrize("kind", [ImplicitSoftmaxRegressor, LDGSClassifier])
def test_clean_labels_of_few_rows_are_hardly_shrunk(kind):
    X, y = words(0.0)
    test = np.arange(N_ROWS) < N_CLASSES
    usual = RIDGE if kind is ImplicitSoftmaxRegressor else RIDGE / np.sum(~test)
    found = kind(random_state=0).fit(X[~test], y[~test])
    given = kind(random_state=0, alpha=usual).fit(X[~test], y[~test])
    assert found.alpha_ < 0.1 * usual
    assert log_loss(found, X[test], y[test]) < 0.8 * log_loss(given, X[test], y[test])


@pytest.mark.parametrize(
    "model", rest_in_full(["softmax", "probit", "logistic"], "softmax", "probit")
)
def test_noise_models_of_clean_labels_are_hardly_shrunk_whatever_the_threads(model):
    X, y = words(0.0)
    test = np.arange(N_ROWS) < N_CLASSES
    found, twin = (
        AugmentReduceClassifier(model, random_state=0, n_jobs=n).fit(X[~test], y[~test])
        for n in (1, 2)
    )
    assert found.alpha_ == twin.alpha_ < 0.1 * RIDGE
    np.testing.assert_array_equal(found.coef_, twin.coef_)
    given = AugmentReduceClassifier(model, random_state=0, alpha=RIDGE).fit(X[~test], y[~test])
    assert given.alpha_ == RIDGE
    assert log_loss(found, X[test], y[test]) < 0.9 * log_loss(given, X[test], y[test])


def test_other_steps_have_the_constants():
    X, y = words(0.0)
    few = y < 600
    drawn = AugmentReduceClassifier(bound="augment_reduce", max_iter=1, random_state=0)
    assert drawn.fit(X, y).alpha_ == 1
    assert drawn.set_params(bound="auto").fit(X[few], y[few]).alpha_ == 1
    logistic = AugmentReduceClassifier("logistic", "exact", max_iter=1, random_state=0)
    assert logistic.fit(X[few], y[few]).alpha_ == RIDGE
    assert drawn.partial_fit(X[few], y[few], classes=np.arange(N_CLASSES)).alpha_ == 1


def test_rows_that_say_little_are_shrunk_more():
    X, y = noise()
    test, losses = np.arange(len(y)) < 1000, []
    found = ImplicitSoftmaxRegressor(random_state=0, learning_rate=0.003)
    losses.append(log_loss(found.fit(X[~test], y[~test]), X[test], y[test]))
    given = ImplicitSoftmaxRegressor(random_state=0, learning_rate=0.003, alpha=found.alpha_ / 10)
    losses.append(log_loss(given.fit(X[~test], y[~test]), X[test], y[test]))
    assert losses[0] < 0.95 * losses[1]


def test_a_fifth_of_the_classes_come_with_all_their_rows():
    X, y = words(0.0)
    some = np.flatnonzero(y < 1000)
    pilot = made(X, y)
    assert pilot.n_classes == _pilot.FEWEST_CLASSES
    assert not pilot.whole
    assert len(pilot.y) + len(pilot.y_held_out) == 4 * _pilot.FEWEST_CLASSES
    assert len(pilot.y_held_out) == _pilot.HELD_OUT * 4 * _pilot.FEWEST_CLASSES
    assert pilot.share == 1 - _pilot.HELD_OUT
    np.testing.assert_array_equal(np.unique(pilot.y), np.arange(pilot.n_classes))
    assert made(X[some], y[some] % 100).whole


def test_rows_of_weight_zero_and_texts_of_labels_decide_nothing():
    X, y = words(0.0)
    weight = np.where(np.arange(N_ROWS) % 3 == 0, 0, 1).astype(np.float32)
    there, both = weight > 0, made(X, y, weight)
    alone = made(X[there], y[there])
    np.testing.assert_array_equal(both.y, alone.y)
    np.testing.assert_array_equal(both.losses(RIDGE, RATE), alone.losses(RIDGE, RATE))
    twice = made(X, y, 2 * weight)
    assert twice.losses(RIDGE, RATE).mean() != pytest.approx(both.losses(RIDGE, RATE).mean())
    assert made(X, y, n_texts=N_ROWS - 100) is None


def test_features_of_other_rows_have_no_weights():
    X, y = words(0.0)
    wide = sparse.csr_array((X.data, X.indices * 50 + 7, X.indptr), (N_ROWS, 50 * N_WORDS))
    one, two = made(X, y), made(wide, y)
    n_used = len(np.unique(one.rows.indices))
    assert n_used < one.rows.shape[1] == N_WORDS  # nothing to gain from fewer
    assert two.rows.shape == (len(two.y), n_used)
    assert two.held_out.shape[1] == n_used
    np.testing.assert_array_equal(one.losses(RIDGE, RATE), two.losses(RIDGE, RATE))
    nothing = sparse.csr_array(X.shape, dtype=np.float32)
    assert np.isfinite(made(nothing, y).losses(RIDGE, RATE)).all()


def test_too_few_rows_leave_the_constants():
    X, y = words(0.0)
    assert made(X[:N_CLASSES], y[:N_CLASSES]) is None  # one row a class
    assert made(X[:100], y[:100] % 5) is None
    assert ridge_by(None, RATE) == RIDGE
    assert rate_by(None, RIDGE, RATE) == RATE


def test_threads_change_nothing():
    X, y = words(0.1)
    one, two = (made(X, y, n_threads=n).losses(0.01, RATE) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


class Curve:
    """A pilot whose loss is least at some powers of ten of the constants."""

    whole = True

    def __init__(self, ridge, rate=0.0):
        self.best, self.tried = (ridge, rate), []

    def losses(self, ridge, rate):
        place = np.log10(ridge / RIDGE), np.log10(rate / RATE)
        self.tried.append(np.round(place, 2).tolist())
        return np.full(100, 2 + np.square(np.subtract(place, self.best)).sum())


@pytest.mark.parametrize(
    ("best", "found"), [(0.1, 0), (-0.6, -0.5), (-1.1, -1), (-2.6, -2.5), (-9, -3), (1, 1), (4, 1)]
)
def test_the_ridge_goes_where_losses_are_least(best, found):
    curve = Curve(best)
    assert np.log10(ridge_by(curve, RATE) / RIDGE) == pytest.approx(found)
    assert len(curve.tried) == len({tuple(place) for place in curve.tried}) <= 6


def test_rates_only_fall_and_where_all_classes_are_there():
    curve = Curve(0, -1)
    assert rate_by(curve, RIDGE, RATE) == pytest.approx(RATE / 10)
    assert rate_by(Curve(0, 1), RIDGE, RATE) == RATE
    curve.whole = False
    assert rate_by(curve, RIDGE, RATE) == RATE


def test_chance_and_small_gains_decide_nothing():
    rng = np.random.default_rng(0)
    losses = rng.exponential(size=400)
    assert gains(losses - 0.03, losses)
    assert not gains(losses - 0.01, losses)
    assert not gains(losses - 0.03 + rng.normal(size=400), losses)


def test_losses_are_those_of_held_out_rows():
    X, y = words(0.2)
    pilot = made(X, y)
    scored = pilot._replace(held_out=pilot.rows, y_held_out=pilot.y)
    assert isinstance(pilot, RidgePilot)
    assert scored.losses(RIDGE, RATE).mean() < 0.5 * pilot.losses(RIDGE, RATE).mean()


def test_many_rows_a_class_take_a_third_of_the_rate():
    assert usual_rate(1999, 100) == RATE
    assert usual_rate(2000, 100) == pytest.approx(RATE / 10**0.5)
