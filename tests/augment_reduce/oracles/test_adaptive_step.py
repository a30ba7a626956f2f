"""Steps and bounds of Augment-and-Reduce against NumPy, finite differences and the likelihood."""

from itertools import combinations, product

import numpy as np
import pytest
from _full import rest_in_full
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from sklearn_xc._kernels.augment_reduce import _bounds as kernel
from sklearn_xc._kernels.softmax._sampled_classes import global_one_vs_each
from sklearn_xc.augment_reduce._noise_models import MODELS, expectation, log_probability_of
from sklearn_xc.softmax._class_sampling import ClassSampler

pytestmark = pytest.mark.kernel

NO_WEIGHTS = np.empty(0, dtype=np.float32)
BOUNDS = ["softmax", "one_vs_each", *MODELS]


class Problem:
    """Rows with scores of all classes, the own class first, and local variables of each row."""

    def __init__(self, psi, seed=0):
        rng = np.random.default_rng(seed)
        self.psi = np.ascontiguousarray(psi, dtype=np.float32)
        n = len(self.psi)
        self.importance = np.ones((n, self.psi.shape[1] - 1), dtype=np.float32)
        self.batch = np.arange(n, dtype=np.int32)
        self.weight = NO_WEIGHTS
        self.log_eta = rng.normal(1, 1, n)
        self.mu = rng.normal(size=n)
        self.gamma = rng.normal(size=n)

    def sampled(self, columns):
        """Only these of the other classes, weighted as a uniform sample."""
        part = Problem(self.psi[:, [0, *columns]])
        part.importance *= self.importance.shape[1] / len(columns)
        part.log_eta, part.mu, part.gamma = self.log_eta, self.mu, self.gamma
        return part

    def bound(self, model, n_threads=1):
        out = np.empty(len(self.psi))
        rows = self.psi, self.importance, self.batch
        if model == "softmax":
            kernel.bound_softmax(*rows, self.log_eta, out, n_threads)
        elif model == "one_vs_each":
            kernel.bound_one_vs_each(*rows[:2], out, n_threads)
        else:
            nodes, weights = expectation(model)
            kernel.bound_noise(
                *rows, self.mu, self.gamma, nodes, weights, out, MODELS[model], n_threads
            )
        return out

    def coefs(self, model, u=None, n_threads=1):
        """The gradient by psi; for probit and logistic with this noise, or its expectation."""
        out = np.empty_like(self.psi)
        rows = self.psi, self.importance, self.batch, self.weight
        if model == "softmax":
            kernel.global_softmax(*rows, self.log_eta, out, n_threads)
        elif model == "one_vs_each":
            global_one_vs_each(*rows, out, n_threads)
        elif u is not None:
            kernel.global_noise(*rows, u, self.mu, self.gamma, out, MODELS[model], n_threads)
        else:
            return sum(
                w * self.coefs(model, np.full(len(out), x)).astype(float)
                for x, w in zip(*expectation(model), strict=True)
            )
        return out

    def leave_one_out(self, step, own, others, n_threads=1):
        """log eta after the step, and coefficients."""
        out, log_eta = np.empty_like(self.psi), self.log_eta.copy()
        kernel.leave_one_out_softmax(
            self.psi,
            self.importance,
            self.batch,
            self.weight,
            log_eta,
            step,
            own,
            others,
            out,
            n_threads,
        )
        return log_eta, out

    def local_gradient(self, model, u=None):
        """By (mu, gamma), the same way."""
        if u is None:
            return sum(
                w * self.local_gradient(model, np.full(len(self.psi), x))
                for x, w in zip(*expectation(model), strict=True)
            )
        mu, gamma = self.mu.copy(), self.gamma.copy()
        rows = self.psi, self.importance, self.batch
        kernel.local_noise(*rows, u, mu, gamma, 1.0, MODELS[model], 1)
        return np.stack([mu - self.mu, gamma - self.gamma])

    def log_likelihood(self, model):
        if model in MODELS:
            return log_probability_of(self.psi, np.zeros(len(self.psi), dtype="i4"), model, 1)
        return self.psi[:, 0] - special.logsumexp(self.psi.astype(float), axis=1)


def random_problem(n_rows=20, n_classes=6, spread=1.5, seed=0):
    rng = np.random.default_rng(seed)
    return Problem(spread * rng.normal(size=(n_rows, n_classes)), seed)


# ----------------------------------------------------------------------------- what they compute


def test_softmax_against_numpy():
    p = random_problem(n_rows=50, n_classes=130)
    p.importance[:] = np.random.default_rng(1).uniform(0.5, 3, p.importance.shape)
    p.weight = np.random.default_rng(2).uniform(0, 2, 50).astype(np.float32)
    difference = p.psi[:, 1:].astype(float) - p.psi[:, :1]
    pull = p.weight[:, None] * p.importance * np.exp(difference - p.log_eta[:, None])
    coefs = p.coefs("softmax")
    np.testing.assert_allclose(coefs[:, 1:], -pull, rtol=1e-6)
    np.testing.assert_allclose(coefs[:, 0], pull.sum(axis=1), rtol=1e-6)
    eta = 1 + (p.importance * np.exp(difference)).sum(axis=1)
    for step in 0.0, 1e-6, 0.3, 1.0:
        log_eta = p.log_eta.copy()
        kernel.local_softmax(p.psi, p.importance, p.batch, log_eta, step, 1)
        expected = np.log((1 - step) * np.exp(p.log_eta) + step * eta)
        np.testing.assert_allclose(log_eta, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("own", "others"), [(1.0, 0.7), (0.0, 1.2)])
@pytest.mark.parametrize("step", [0.0, 0.3, 1.0])
def test_leaving_one_out_against_numpy(step, own, others):
    p = random_problem(n_rows=150, n_classes=130)
    p.importance[:] = np.random.default_rng(1).uniform(0.5, 3, p.importance.shape)
    p.weight = np.random.default_rng(2).uniform(0, 2, 150).astype(np.float32)
    terms = np.exp(p.psi[:, 1:].astype(float) - p.psi[:, :1])
    weighted = p.importance * terms
    without = own * terms + others * (weighted.sum(axis=1, keepdims=True) - weighted)
    eta = (1 - step) * np.exp(p.log_eta)[:, None] + step * (1 + without)
    pull = p.weight[:, None] * weighted / eta
    log_eta, coefs = p.leave_one_out(step, own, others)
    np.testing.assert_allclose(coefs[:, 1:], -pull, rtol=2e-6)
    np.testing.assert_allclose(coefs[:, 0], pull.sum(axis=1), rtol=2e-6)
    kernel.local_softmax(p.psi, p.importance, p.batch, p.log_eta, step, 1)
    np.testing.assert_allclose(log_eta, p.log_eta, rtol=1e-6, atol=1e-6)


def test_one_vs_each_against_numpy():
    p = random_problem(n_rows=50, n_classes=130, spread=10)
    p.importance[:] = np.random.default_rng(1).uniform(0.5, 3, p.importance.shape)
    p.weight = np.random.default_rng(2).uniform(0, 2, 50).astype(np.float32)
    difference = p.psi[:, 1:].astype(float) - p.psi[:, :1]
    pull = p.weight[:, None] * p.importance * special.expit(difference)
    coefs = p.coefs("one_vs_each")
    np.testing.assert_allclose(coefs[:, 1:], -pull, rtol=2e-6)
    np.testing.assert_allclose(coefs[:, 0], pull.sum(axis=1), rtol=2e-6)
    expected = (p.importance * special.log_expit(-difference)).sum(axis=1)
    np.testing.assert_allclose(p.bound("one_vs_each"), expected, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_noise_models_against_numpy(model):
    p = random_problem(n_rows=50, n_classes=130)
    p.importance[:] = np.random.default_rng(1).uniform(0.5, 3, p.importance.shape)
    p.weight = np.random.default_rng(2).uniform(0, 2, 50).astype(np.float32)
    u = np.random.default_rng(3).normal(size=50)
    beta = np.logaddexp(0, p.gamma)
    noise = p.mu + beta * u
    x = noise[:, None] + p.psi[:, :1] - p.psi[:, 1:].astype(float)
    if model == "probit":
        hazard, slope = np.exp(-(x**2) / 2 - special.log_ndtr(x)) / np.sqrt(2 * np.pi), -noise
    else:
        hazard, slope = special.expit(-x), -np.tanh(noise / 2)
    pull = p.importance * hazard
    coefs = p.coefs(model, u)
    np.testing.assert_allclose(coefs[:, 1:], -p.weight[:, None] * pull, rtol=1e-6)
    np.testing.assert_allclose(coefs[:, 0], p.weight * pull.sum(axis=1), rtol=1e-6)
    by_noise = slope + pull.sum(axis=1)
    expected = by_noise, special.expit(p.gamma) * (by_noise * u + 1 / beta)
    np.testing.assert_allclose(p.local_gradient(model, u), expected, rtol=1e-10)


# ----------------------------------------------------------------------------- laws of the bounds


@pytest.mark.parametrize("model", BOUNDS)
def test_estimates_are_unbiased(model):
    """Averaged over all subsets of the classes, bound and gradient are the exact ones."""
    p = random_problem(n_classes=6)
    parts = list(combinations(range(1, 6), 2))
    bound, coefs = np.zeros(20), np.zeros((20, 6))
    for columns in parts:
        part = p.sampled(columns)
        bound += part.bound(model) / len(parts)
        coefs[:, [0, *columns]] += part.coefs(model) / len(parts)
    np.testing.assert_allclose(bound, p.bound(model), rtol=1e-6)
    np.testing.assert_allclose(coefs, p.coefs(model), rtol=1e-5, atol=1e-7)


def test_natural_parameter_is_unbiased():
    p = random_problem(n_classes=6)
    parts = list(combinations(range(1, 6), 2))

    def step(part):
        log_eta = p.log_eta.copy()
        kernel.local_softmax(part.psi, part.importance, part.batch, log_eta, 0.4, 1)
        return np.exp(log_eta)

    mean = sum(step(p.sampled(columns)) for columns in parts) / len(parts)
    np.testing.assert_allclose(mean, step(p), rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_local_gradients_are_unbiased(model):
    p = random_problem(n_classes=6)
    parts = list(combinations(range(1, 6), 2))
    mean = sum(p.sampled(columns).local_gradient(model) for columns in parts) / len(parts)
    np.testing.assert_allclose(mean, p.local_gradient(model), rtol=1e-6, atol=1e-9)


@given(
    n_classes=st.integers(2, 40),
    spread=st.sampled_from([0.0, 0.1, 1.0, 5.0, 20.0]),
    seed=st.integers(0, 2**31),
)
@pytest.mark.parametrize("model", BOUNDS)
def test_never_above_the_log_likelihood(model, n_classes, spread, seed):
    p = random_problem(5, n_classes, spread, seed)
    p.log_eta = 10 * np.abs(p.log_eta)
    p.mu *= 3
    p.gamma *= 3
    exact = p.log_likelihood(model)
    assert (p.bound(model) <= exact + 1e-6 * (1 + np.abs(exact))).all()


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
def test_softmax_bound_is_tight_at_the_optimal_eta(spread):
    p = random_problem(100, 50, spread)
    kernel.local_softmax(p.psi, p.importance, p.batch, p.log_eta, 1.0, 1)
    np.testing.assert_allclose(p.bound("softmax"), p.log_likelihood("softmax"), rtol=3e-6)


@pytest.mark.parametrize("model", rest_in_full(MODELS, "probit"))
def test_the_best_posterior_comes_close_to_the_log_likelihood(model):
    p = random_problem(30, 8)
    for _ in range(600):
        gradient = p.local_gradient(model)
        p.mu += 0.25 * gradient[0]
        p.gamma += 0.25 * gradient[1]
    gap = p.log_likelihood(model) - p.bound(model)
    assert (gap >= 0).all()
    assert gap.max() < (0.06 if model == "probit" else 0.35)
    np.testing.assert_allclose(p.local_gradient(model), 0, atol=1e-4)


def eta_of(coefs, p):
    """The eta by which the terms of the classes drawn were divided."""
    terms = p.importance * np.exp(p.psi[:, 1:].astype(float) - p.psi[:, :1])
    return -terms / coefs[:, 1:]


@pytest.mark.parametrize("n_sampled", [2, 3, 5])
def test_the_eta_of_a_class_left_out_is_unbiased_given_that_class(n_sampled):
    """Its average over all the sets of classes that may be drawn with it; uniform sampling."""
    p = random_problem(8, 6)
    left_out = ClassSampler("uniform", np.ones(6), n_sampled).left_out()
    seen = [[] for _ in range(5)]
    for columns in combinations(range(5), n_sampled):
        part = p.sampled([1 + j for j in columns])
        eta = eta_of(part.leave_one_out(1.0, *left_out)[1], part)
        for j, of_class in zip(columns, eta.T, strict=True):
            seen[j].append(of_class)
    exact = np.exp(-p.log_likelihood("softmax"))
    for etas in seen:
        np.testing.assert_allclose(np.mean(etas, axis=0), exact, rtol=1e-5)


def test_the_eta_of_a_class_left_out_is_unbiased_with_replacement():
    p = random_problem(8, 5)
    sampler = ClassSampler("frequency", np.array([4, 1, 2, 8, 3]), 3)
    chance = sampler.probability[1:] / sampler.probability[1:].sum()  # the own class is 0
    mean = np.zeros(8)
    for others in product(range(4), repeat=2):  # the classes drawn beside class 2
        part = Problem(p.psi[:, [0, 2, *(1 + k for k in others)]])
        part.importance[:] = 1 / (3 * chance[[1, *others]])
        eta = eta_of(part.leave_one_out(1.0, *sampler.left_out())[1], part)
        mean += chance[list(others)].prod() * eta[:, 0]
    np.testing.assert_allclose(mean, np.exp(-p.log_likelihood("softmax")), rtol=1e-5)


def test_no_class_can_be_left_out_of_one():
    for sampling in "uniform", "frequency":
        assert ClassSampler(sampling, np.ones(5), 1).left_out() is None
    assert ClassSampler("uniform", np.ones(2), 20).left_out() == (1, 0)  # it is the only other one


# ------------------------------------------------------------------------- gradients of the bounds


def difference(value, variable, step):
    """Central difference of value() when every entry of a column of `variable` moves."""
    kept = variable.copy()
    variable += step
    high, moved = value(), variable.copy()
    variable[...] = kept - step
    low, moved = value(), moved - variable
    variable[...] = kept
    return (high - low) / moved


@pytest.mark.parametrize("model", BOUNDS)
def test_gradient_by_the_scores(model):
    p = random_problem(30, 5, spread=2.0)
    coefs = p.coefs(model)
    for j in range(5):
        expected = difference(lambda: p.bound(model), p.psi[:, j], 2.0**-7)
        np.testing.assert_allclose(coefs[:, j], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_gradient_by_the_posterior(model):
    p = random_problem(30, 5, spread=2.0)
    by_mu, by_gamma = p.local_gradient(model)
    bound = lambda: p.bound(model)  # noqa: E731
    np.testing.assert_allclose(by_mu, difference(bound, p.mu, 1e-5), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_gamma, difference(bound, p.gamma, 1e-5), rtol=1e-5, atol=1e-6)


def test_gradient_of_the_softmax_bound_is_that_of_the_likelihood_where_it_is_tight():
    p = random_problem(30, 8)
    kernel.local_softmax(p.psi, p.importance, p.batch, p.log_eta, 1.0, 1)
    expected = -special.softmax(p.psi.astype(float), axis=1)
    expected[:, 0] += 1
    np.testing.assert_allclose(p.coefs("softmax"), expected, rtol=1e-5)


# --------------------------------------------------------------------------- extremes and threads


@pytest.mark.parametrize("model", BOUNDS)
@pytest.mark.parametrize("size", [1e2, 1e5, 1e18, 1e30])
def test_nothing_overflows(model, size):
    signs = np.array(list(np.ndindex(3, 3, 3)), dtype=np.float32) - 1
    p = Problem(signs * np.float32(size))
    p.importance[:] = 1e5
    u = np.linspace(-5, 5, len(signs))
    for _ in range(20):
        if model == "softmax":
            kernel.local_softmax(p.psi, p.importance, p.batch, p.log_eta, 0.1, 1)
        elif model in MODELS:
            rows = p.psi, p.importance, p.batch
            kernel.local_noise(*rows, u, p.mu, p.gamma, 0.01, MODELS[model], 1)
        assert np.isfinite([p.log_eta, p.mu, p.gamma]).all()
        assert np.isfinite(p.coefs(model, u)).all()
        for own, others in (1.0, 0.5), (0.0, 1.5):
            assert np.isfinite(np.column_stack(p.leave_one_out(0.1, own, others))).all()
        assert np.isfinite(p.bound(model)).all()


def test_a_stale_eta_does_not_overflow():
    p = Problem([[-1e4, 1e4, 0]])
    p.log_eta[:] = 0
    coefs = p.coefs("softmax")
    assert np.isfinite(coefs).all()
    assert coefs[0, 0] > 1e27
    assert np.isfinite(p.bound("softmax")).all()


@pytest.mark.parametrize("gamma", [-1e10, -800.0, -40.0, -29.0, 40.0, 1e10])
@pytest.mark.parametrize("model", MODELS)
def test_posteriors_of_any_scale(model, gamma):
    p = random_problem(4, 5)
    p.gamma[:] = gamma
    gradient = p.local_gradient(model, np.zeros(4))
    # without noise only the entropy moves gamma: by sigmoid(gamma) / log(1 + e^gamma)
    expected = 1.0 if gamma < 0 else 1 / gamma
    np.testing.assert_allclose(
        gradient[1], np.full(4, expected), rtol=1e-12, atol=np.spacing(abs(gamma))
    )
    assert np.isfinite(p.bound(model)).all()


def test_rows_go_to_their_own_local_variables():
    p = random_problem(10, 5)
    log_eta, mu, gamma = (np.arange(40.0) for _ in range(3))
    batch = np.array([31, 4, 17, 0, 39, 8, 9, 22, 23, 5], dtype=np.int32)
    kernel.local_softmax(p.psi, p.importance, batch, log_eta, 0.5, 1)
    kernel.local_noise(p.psi, p.importance, batch, np.zeros(10), mu, gamma, 0.5, 0, 1)
    others = np.setdiff1d(np.arange(40), batch)
    for values in log_eta, mu, gamma:
        np.testing.assert_array_equal(values[others], others)
        assert (values[batch] != batch).all()


@pytest.mark.parametrize("model", BOUNDS)
def test_threads_change_nothing(model):
    p = random_problem(200, 30)
    u = np.random.default_rng(0).normal(size=200)
    np.testing.assert_array_equal(p.coefs(model, u, n_threads=3), p.coefs(model, u))
    np.testing.assert_array_equal(p.bound(model, n_threads=3), p.bound(model))
    for some, other in zip(
        p.leave_one_out(0.3, 1.0, 0.9, 3), p.leave_one_out(0.3, 1.0, 0.9), strict=True
    ):
        np.testing.assert_array_equal(some, other)
    results = []
    for n_threads in 1, 3:
        log_eta, mu, gamma = p.log_eta.copy(), p.mu.copy(), p.gamma.copy()
        rows = p.psi, p.importance, p.batch
        kernel.local_softmax(*rows, log_eta, 0.2, n_threads)
        kernel.local_noise(*rows, u, mu, gamma, 0.2, 1, n_threads)
        results.append(np.stack([log_eta, mu, gamma]))
    np.testing.assert_array_equal(*results)
