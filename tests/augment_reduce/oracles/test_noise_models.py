"""Noise distributions against SciPy, probabilities against integrals and closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from _full import rest_in_full
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from sklearn_xc._kernels.augment_reduce import _bounds, _quadrature
from sklearn_xc._kernels.augment_reduce import _noise as kernel
from sklearn_xc.augment_reduce._noise_models import (
    MODELS,
    expectation,
    log_probabilities,
    log_probability_of,
)

pytestmark = pytest.mark.kernel

EXTREME = np.array([0.0, 1e-30, 1e-9, 1e-3, 1, 5, 8.3, 20, 38, 40, 100, 1e4, 1e10, 1e20, 2e30])
POINTS = np.concatenate([-EXTREME, EXTREME, np.linspace(-45, 45, 9001)])


def tabulate(x, model):
    out = np.empty((4, len(x)))
    kernel.tabulate(np.ascontiguousarray(x, dtype=float), out, MODELS[model])
    return out


def log_cdf(x, model):
    return special.log_ndtr(x) if model == "probit" else special.log_expit(x)


def log_density(x, model):
    if model == "probit":
        return stats.norm.logpdf(x)
    return special.log_expit(x) + special.log_expit(-x)


def all_log_probabilities(scores, model, n_threads=1):
    """In double, for scores of float32."""
    scores = np.atleast_2d(np.ascontiguousarray(scores, dtype=np.float32))
    return log_probabilities(scores, model, n_threads, out=np.empty(scores.shape))


def random_scores(n_classes, spread, seed=0):
    return (spread * np.random.default_rng(seed).normal(size=n_classes)).astype(np.float32)


def integral(scores, k, model):
    """log p of class k by adaptive quadrature of eq. 5, scaled by its largest value."""
    scores = np.asarray(scores, dtype=float)
    others = np.delete(scores, k)

    def log_integrand(t):
        x = np.atleast_1d(t)[:, None]
        return log_density(x[:, 0] - scores[k], model) + log_cdf(x - others, model).sum(axis=1)

    reach = 14 if model == "probit" else 60
    grid = np.linspace(min(scores[k], scores.max()) - reach, scores.max() + reach, 4001)
    heights = log_integrand(grid)
    top = heights.max()
    inside = grid[heights > top - 45]
    edges = np.linspace(inside[0] - 0.1, inside[-1] + 0.1, 9)
    parts = [
        integrate.quad(lambda t: np.exp(log_integrand(t)[0] - top), a, b, epsabs=0, epsrel=1e-12)[0]
        for a, b in pairwise(edges)
    ]
    return top + np.log(sum(parts))


def summed(scores, model, n_nodes=12001):
    """All log p of a row by the trapezoidal rule, straight from eq. 5 and without shared sums."""
    scores = np.asarray(scores, dtype=float)
    reach = 14 if model == "probit" else 60
    t = np.linspace(scores.min() - reach, scores.max() + reach, n_nodes)
    total = np.zeros(n_nodes)
    for score in scores:
        total += log_cdf(t - score, model)
    step = t[1] - t[0]
    return np.array(
        [
            special.logsumexp(total + log_density(t - s, model) - log_cdf(t - s, model))
            for s in scores
        ]
    ) + np.log(step)


# ------------------------------------------------------------------------------------ exp and log


def test_float32_exponential_everywhere():
    x = np.concatenate([np.linspace(-110, 95, 400_001), np.linspace(-1e-3, 1e-3, 1001)])
    x = np.concatenate([x, [-np.inf, np.inf, -3e38, 3e38, 0.0, -0.0]]).astype(np.float32)
    out = np.empty_like(x)
    kernel.exponential(x, out)
    with np.errstate(over="ignore"):
        expected = np.exp(x.astype(float)).astype(np.float32)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(out[~finite], np.inf)
    ulp = np.spacing(np.maximum(expected[finite], np.finfo(np.float32).tiny))
    assert np.abs((out[finite].astype(float) - expected[finite]) / ulp).max() <= 2
    assert out[x == -np.inf] == 0
    kernel.exponential(np.array([np.nan], dtype=np.float32), out[:1])
    assert np.isnan(out[0])


def test_double_exponential_and_logarithm():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(-708, 709, 100_001), rng.normal(size=10_000), [-1e300, -709]])
    x = np.concatenate([x, 1 + 1e-3 * rng.normal(size=10_000), 10.0 ** rng.uniform(-290, 290, 999)])
    x = x[(x != 0) & (x <= 709)]
    out = np.empty((2, len(x)))
    kernel.exponential_and_logarithm(x, out)
    expected = np.where(x < -708, 0, np.exp(np.maximum(x, -708)))
    np.testing.assert_allclose(out[0], expected, rtol=5e-16, atol=0)
    np.testing.assert_allclose(out[1], np.log(np.abs(x)), rtol=1e-15, atol=0)


# --------------------------------------------------------------------------------- distributions


@pytest.mark.parametrize("model", MODELS)
def test_functions_of_the_noise(model):
    density, slope, cdf, hazard = tabulate(POINTS, model)
    np.testing.assert_allclose(density, log_density(POINTS, model), rtol=1e-13)
    if model == "probit":
        np.testing.assert_array_equal(slope, -POINTS)
    else:
        np.testing.assert_allclose(slope, -np.tanh(POINTS / 2), rtol=1e-13, atol=1e-16)
    # SciPy's own log_ndtr is exact to about 1e-14; it underflows to zero beyond 38
    kept = np.abs(log_cdf(POINTS, model)) > 1e-300
    np.testing.assert_allclose(cdf[kept], log_cdf(POINTS, model)[kept], rtol=1e-12, atol=0)
    assert (np.abs(cdf[~kept]) < 1e-300).all()
    expected = np.exp(density - cdf)
    moderate = np.abs(POINTS) < 40
    np.testing.assert_allclose(hazard[moderate], expected[moderate], rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_overflows(model):
    x = np.concatenate([-EXTREME, EXTREME, [-2e38, 2e38]])
    assert np.isfinite(tabulate(x, model)).all()


def test_gaussian_tail():
    # 40 standard deviations out, from the asymptotic series; the ratio phi / Phi is -x - 1/x + ...
    _, _, cdf, hazard = tabulate(np.array([-40.0, -1e4, -1e10]), "probit")
    assert cdf[0] == pytest.approx(-804.6084420137538, rel=1e-14)
    np.testing.assert_allclose(hazard[1:], [1e4 + 1e-4, 1e10], rtol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_draws_follow_the_distribution(model):
    rows = np.arange(50_000, dtype=np.int32)
    u = np.empty(len(rows))
    kernel.draw(rows, u, 7, 3, False, MODELS[model])
    distribution = stats.norm if model == "probit" else stats.logistic
    assert stats.kstest(u, distribution.cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.02


@pytest.mark.parametrize("model", MODELS)
def test_a_draw_depends_on_seed_iteration_step_and_row_alone(model):
    def draws(rows, *key):
        u = np.empty(len(rows))
        kernel.draw(np.asarray(rows, dtype=np.int32), u, *key, MODELS[model])
        return u

    u = draws(np.arange(100), 7, 3, False)
    np.testing.assert_array_equal(draws([99, 5, 17], 7, 3, False), u[[99, 5, 17]])
    for key in (8, 3, False), (7, 4, False), (7, 3, True):
        assert not np.isin(draws(np.arange(100), *key), u).any()


@pytest.mark.parametrize("model", MODELS)
def test_expectations(model):
    nodes, weights = expectation(model)
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    variance = 1 if model == "probit" else np.pi**2 / 3
    assert weights @ nodes**2 == pytest.approx(variance, rel=1e-7)
    distribution = stats.norm if model == "probit" else stats.logistic
    for mu, beta in (0.0, 1.0), (3.0, 0.3), (-2.0, 1.5):
        expected = integrate.quad(
            lambda u, mu=mu, beta=beta: distribution.pdf(u) * log_cdf(mu + beta * u, model),
            -40,
            40,
            epsabs=1e-12,
            limit=500,
            points=[-5, 0, 5],
        )[0]
        assert weights @ log_cdf(mu + beta * nodes, model) == pytest.approx(expected, abs=1e-6)


# --------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("n_classes", rest_in_full([2, 3, 10, 40, 300], 2, 10, 300))
@pytest.mark.parametrize("spread", rest_in_full([0.0, 0.5, 2.0, 8.0, 15.0], 0.0, 2.0, 15.0))
@pytest.mark.parametrize("model", MODELS)
def test_against_adaptive_quadrature(model, spread, n_classes):
    scores = random_scores(n_classes, spread)
    log_p = all_log_probabilities(scores, model)[0]
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)
    order = np.argsort(scores)
    for k in {order[0], order[n_classes // 2], order[-2], order[-1]}:
        expected = integral(scores, k, model)
        assert np.exp(log_p[k]) == pytest.approx(np.exp(expected), abs=1e-10)
        assert log_p[k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("n_classes", "spread"),
    rest_in_full([(2000, 0.0), (2000, 1.0), (1000, 6.0), (400, 6.0)], (400, 6.0)),
)
@pytest.mark.parametrize("model", MODELS)
def test_many_classes_against_a_plain_sum(model, n_classes, spread):
    scores = random_scores(n_classes, spread)
    log_p, expected = all_log_probabilities(scores, model)[0], summed(scores, model)
    np.testing.assert_allclose(np.exp(log_p), np.exp(expected), rtol=0, atol=1e-11)
    np.testing.assert_allclose(log_p, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_hundred_thousand_classes(model, spread):
    scores = random_scores(100_000, spread)
    log_p = all_log_probabilities(scores, model)[0]
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-9)
    if spread == 0:
        np.testing.assert_allclose(log_p, -np.log(100_000), rtol=0, atol=1e-9)
    else:  # the order of the scores is that of the probabilities
        assert (np.diff(log_p[np.argsort(scores)]) >= -1e-9).all()


@pytest.mark.parametrize("model", MODELS)
def test_two_classes_in_closed_form(model):
    d = np.concatenate([np.linspace(-99, 99, 41), [0, 1e-3, -40, 12.345]]).astype(np.float32)
    log_p = all_log_probabilities(np.c_[np.zeros_like(d), d], model)[:, 1]
    d = d.astype(float)
    if model == "probit":
        expected = special.log_ndtr(d / np.sqrt(2))
    else:  # P(difference of two logistic variables < d) = (1 - (1 + d) e^-d) / (1 - e^-d)^2
        a = np.abs(d) + (d == 0)
        lower = np.log((a - 1) * np.exp(-a) + np.exp(-2 * a)) - 2 * np.log1p(-np.exp(-a))
        small = np.abs(d) < 0.01  # the closed form cancels there: 1/2 + d/6
        expected = np.where(d < 0, lower, np.log1p(-np.exp(lower)))
        expected = np.where(small, np.log(0.5 + np.where(small, d, 0) / 6), expected)
    np.testing.assert_allclose(log_p, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_against_draws(model):
    scores = random_scores(12, 1.5, seed=3)
    rng = np.random.default_rng(0)
    n = 10**6
    noise = rng.normal(size=(n, 12)) if model == "probit" else rng.logistic(size=(n, 12))
    share = np.bincount((scores + noise).argmax(axis=1), minlength=12) / n
    p = np.exp(all_log_probabilities(scores, model)[0])
    assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-6).all()


@pytest.mark.parametrize("model", MODELS)
def test_classes_far_below(model):
    scores = np.array([[0, -99, -101, -150, -1e4, -1e18, -1e30], [1e30, 0, 1, 2, -1e30, 5, 6]])
    log_p = all_log_probabilities(scores, model)
    assert np.isfinite(log_p.astype(np.float32)).all()
    np.testing.assert_allclose(log_p.max(axis=1), 0, atol=1e-12)
    assert (np.diff(log_p[0, :5]) < 0).all()
    assert (np.exp(log_p[:, 3:][log_p[:, 3:] < -1]) < 1e-40).all()
    if model == "logistic":  # two classes alone: the closed form, far out
        two = all_log_probabilities([[0, -5000]], model)[0, 1]
        assert two == pytest.approx(np.log(4999) - 5000, rel=1e-6)
    else:
        two = all_log_probabilities([[0, -5000]], model)[0, 1]
        assert two == pytest.approx(special.log_ndtr(-5000 / np.sqrt(2)), rel=1e-6)


def one_row(draw):
    n_classes = draw(st.integers(2, 60))
    seed = draw(st.integers(0, 2**31))
    spread = draw(st.sampled_from([0.0, 0.1, 1.0, 5.0, 30.0]))
    scores = random_scores(n_classes, spread, seed)
    return np.round(scores, 1) if draw(st.booleans()) else scores  # with ties, too


@given(data=st.data(), model=st.sampled_from(list(MODELS)))
def test_laws(data, model):
    scores = data.draw(st.composite(one_row)())
    log_p = all_log_probabilities(scores, model)[0]
    # a distribution
    assert (log_p <= 0).all()
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-10)
    # in the order of the scores, the same for the same score
    order = np.argsort(scores, kind="stable")
    assert (np.diff(log_p[order]) >= -1e-9 * np.abs(log_p[order][1:])).all()
    # whatever the order of the classes
    mixed = np.random.default_rng(0).permutation(len(scores))
    other = all_log_probabilities(scores[mixed], model)[0]
    np.testing.assert_allclose(other, log_p[mixed], rtol=1e-11, atol=1e-11)
    # wherever the scores stand: 1024 is added without rounding
    scores = np.round(scores * 64) / 64
    moved = all_log_probabilities(scores + 1024, model)[0]
    np.testing.assert_array_equal(moved, all_log_probabilities(scores, model)[0])
    # never above the probability to beat the best other class alone
    best = scores.argmax()
    pairs = np.c_[np.full(len(scores), scores[best]), scores]
    duel = all_log_probabilities(pairs, model)[:, 1]
    others = np.arange(len(scores)) != best
    own = all_log_probabilities(scores, model)[0]
    assert (own[others] <= duel[others] + 1e-9 * np.abs(duel[others])).all()


@pytest.mark.parametrize("model", MODELS)
def test_derivative_of_the_log_probability(model):
    # of a sum over classes: the gradient of log p_y by the scores sums to zero, and by psi_y it
    # is the posterior expectation of minus the slope of log phi
    scores = random_scores(20, 1.0)
    t, y, step = np.linspace(-30, 40, 7001), 4, 2.0**-6
    others = np.delete(scores.astype(float), y)
    density = log_density(t - scores[y], model)
    heights = density + log_cdf(t[:, None] - others, model).sum(axis=1)
    posterior = special.softmax(heights)
    expected = posterior @ -tabulate(t - scores[y], model)[1]
    moved = np.stack([scores, scores])
    moved[:, y] += [-step, step]
    low, high = all_log_probabilities(moved, model)[:, y]
    assert (high - low) / (moved[1, y] - moved[0, y]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_classes", [2, 30, 500])
def test_one_class_of_each_row(model, n_classes):
    scores = np.random.default_rng(1).normal(size=(300, n_classes)).astype(np.float32) * 3
    scores[0, -1] = -1e18
    y = np.random.default_rng(2).integers(n_classes, size=300).astype(np.int32)
    y[0] = n_classes - 1
    log_p = log_probability_of(scores, y, model, 1)
    expected = all_log_probabilities(scores, model)[np.arange(300), y]
    np.testing.assert_allclose(log_p, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(log_probability_of(scores, y, model, 2), log_p)


@pytest.mark.parametrize("model", MODELS)
def test_threads_change_nothing(model):
    scores = np.random.default_rng(1).normal(size=(70, 50)).astype(np.float32)
    one = all_log_probabilities(scores, model, 1)
    np.testing.assert_array_equal(all_log_probabilities(scores, model, 3), one)
    single = log_probabilities(scores, model, 2)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, one.astype(np.float32))
    assert log_probabilities(scores, model, 2, out=scores) is scores  # in place
    np.testing.assert_array_equal(scores, single)


def test_a_number_of_no_model_is_refused():
    """A third model must not fall into the second."""
    rows, numbers, one = np.zeros(1, np.int32), np.zeros(1), np.ones((1, 3), np.float32)
    for call in (
        lambda: kernel.draw(rows, numbers, 0, 0, False, 2),
        lambda: kernel.tabulate(numbers, np.zeros((4, 1)), -1),
        lambda: _quadrature.log_probabilities(one, one.copy(), 2, 1),
        lambda: _bounds.local_noise(
            one, one[:, 1:], rows, numbers, numbers, numbers.copy(), 0.1, 2, 1
        ),
    ):
        with pytest.raises(ValueError, match="no noise model has the number"):
            call()
