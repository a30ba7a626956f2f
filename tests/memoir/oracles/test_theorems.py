"""The paper's theorems as laws, in the corrected forms of the guide's page on MEMOIR."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import optimize
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from sklearn_xc import MemoirSVC
from sklearn_xc.memoir._growing_weights import GrowingWeights
from sklearn_xc.memoir._train import MarginSettings, MemoirProblem, MemoirSteps
from sklearn_xc.memoir._violator_search import AllClasses
from sklearn_xc.utils._matrix import as_rows, normalise

RNG = np.random.default_rng(0)
NO_WEIGHTS = np.empty(0, dtype=np.float32)


class Inexact(AllClasses):
    """Retrieves one class: within epsilon of the best, or with probability delta any."""

    samples_at_once = 1

    def __init__(self, X, y, weights, epsilon, delta):
        self.X, self.y, self.weights, self.epsilon, self.delta = X, y, weights, epsilon, delta
        self.rng = np.random.default_rng(1)

    def candidates(self, samples):
        (i,) = samples
        W = self.weights.values().toarray()[:, :-1] * self.weights.state[0]
        scores = W @ self.X[i]
        scores[self.y[i]] = -np.inf
        near = np.flatnonzero(scores >= scores.max() - self.epsilon)
        if self.rng.random() < self.delta:
            near = np.delete(np.arange(len(scores)), self.y[i])
        return np.array([[self.rng.choice(near)]], dtype=np.int32)


def losses_of(W, X, y, rho=1.0):
    scores = X @ W.T
    rows = np.arange(len(y))
    own = scores[rows, y].copy()
    scores[rows, y] = -np.inf
    return np.maximum(0, 1 - (own - scores.max(axis=1)) / rho)


def trained(X, y, settings, n_passes, epsilon=None, delta=0.0, iterates=None):
    """The average of the iterates after passes of steps of one sample each.

    A list `iterates` gets the weights after each step.
    """
    X = normalise(X.astype(np.float32))
    n_classes = y.max() + 1
    weights = GrowingWeights(n_classes, X.shape[1], averaged=True)
    search = AllClasses() if epsilon is None else Inexact(X, y, weights, epsilon, delta)
    problem = MemoirProblem(as_rows(X), y.astype(np.int32), NO_WEIGHTS, n_classes, 1.0)
    steps = MemoirSteps(problem, weights, settings, 0)
    steps.search = search
    if iterates is not None:
        step = steps.batch

        def watched(samples, t):
            loss = step(samples, t)
            iterates.append(weights.values().toarray()[:, :-1] * weights.state[0])
            return loss

        steps.batch = watched
    for number in range(n_passes):
        steps.epoch(number, number * len(y))
    return weights.save().model(n_classes, True)[0].toarray()


def settings_of(**changes):
    return MarginSettings(
        **{
            "penalty": "l2",
            "alpha": 0.05,
            "rho": 1.0,
            "batch_size": 1.0,
            "reduction": "mean",
            "eta0": 20.0,
            "eta_step": 1.0,
            "sampling": "uniform",
            "average": True,
            "bias": 0.0,
            **changes,
        }
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_theorem_1_the_empirical_loss_of_inexact_margins(rho, epsilon):
    """Each loss of an exact margin is at most 1 + epsilon times that of an inexact one, by rho
    (1 + epsilon): the factor that the paper lacks. The bound on test errors then says something."""
    n, n_classes = 40_000, 3
    y = RNG.integers(n_classes, size=n)
    X = normalize(np.eye(n_classes)[y] + 0.15 * RNG.normal(size=(n, n_classes)))
    W = np.eye(n_classes) - 1 / n_classes
    scores = X @ W.T
    rows = np.arange(n)
    own = scores[rows, y].copy()
    scores[rows, y] = -np.inf
    best = scores.max(axis=1)
    near = np.where(scores >= best[:, None] - epsilon * rho, scores, np.inf).min(axis=1)
    exact, inexact = own - best, own - near
    assert (exact <= inexact).all()
    assert (inexact - exact <= epsilon * rho + 1e-12).all()
    loss = np.maximum(0, 1 - exact / rho)
    wider = np.maximum(0, 1 - inexact / (rho * (1 + epsilon)))
    assert (loss <= (1 + epsilon) * wider + 1e-12).all()
    if epsilon == 0.5:
        assert (loss > wider + 1e-3).any()  # without the factor it does not hold
    half, delta = slice(0, n // 2), 0.05
    capacity = 4 * n_classes / rho * np.linalg.norm(W) / np.sqrt(n // 2)
    bound = (1 + epsilon) * wider[half].mean() + capacity
    bound += 3 * np.sqrt(np.log(4 / delta) / n)
    assert (exact[n // 2 :] <= 0).mean() <= bound


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    rest_in_full([(0.05, 0.0), (0.3, 0.0), (0.05, 0.1), (0.3, 0.3)], (0.05, 0.1)),
)
def test_theorem_2_with_inexact_margins(epsilon, delta):
    """The mean error of a margin is added, by the argument of the guide."""
    X, y = load_digits(return_X_y=True)
    X, y = normalize(X[:300]), y[:300]
    alpha, n_passes = 0.05, 4
    W = trained(X, y, settings_of(alpha=alpha, eta0=1 / alpha), n_passes, epsilon, delta)
    optimum = (
        MemoirSVC(alpha=alpha, fit_intercept=False, max_iter=400, batch_size=10, random_state=0)
        .fit(X, y)
        .coef_.toarray()
    )

    def objective(V):
        return alpha / 2 * (V**2).sum() + losses_of(V, X, y).mean()

    n, confidence = n_passes * len(y), 0.05
    c = np.sqrt(alpha) + 2 + epsilon
    psi = (1 - delta) * epsilon * np.sqrt(alpha) + delta + np.sqrt(np.log(1 / confidence) / n)
    psi = min(1, psi) / np.sqrt(alpha)
    excess = objective(W) - objective(optimum)
    assert -1e-3 <= excess <= c**2 * (1 + np.log(n)) / (2 * alpha * n) + psi
    exact = trained(X, y, settings_of(alpha=alpha, eta0=1 / alpha), n_passes)
    # What is seen is far better than the bound: the error of the margins itself.
    assert objective(W) <= objective(exact) + epsilon + 2 * delta + 0.02


@pytest.mark.parametrize("eta_step", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("epsilon", [None, 0.1])
def test_theorem_3_with_the_largest_distance_of_an_iterate(epsilon, eta_step):
    """With 1 / n in the second term, and for R the distance of the optimum, of all iterates where
    rates fall: of the first alone only where they do not."""
    n_samples, n_features, n_classes, alpha = 40, 6, 3, 0.02
    y = np.arange(n_samples) % n_classes
    centres = RNG.normal(size=(n_classes, n_features))
    X = normalize(centres[y] + 0.5 * RNG.normal(size=(n_samples, n_features)))

    def objective(V):
        V = V.reshape(n_classes, n_features)
        return alpha * np.abs(V).sum() + losses_of(V, X, y).mean()

    eta, n_passes, iterates = 0.05 if eta_step == 0 else 1.0, 60, []
    settings = settings_of(penalty="l1", alpha=alpha, eta0=eta, eta_step=eta_step)
    W = trained(X, y, settings, n_passes, epsilon, iterates=iterates)
    start = W.ravel()
    best = optimize.minimize(objective, start, method="Powell", options={"maxiter": 20}).x
    n = n_passes * n_samples
    rates = eta / (1 + eta_step * np.arange(n))
    R = np.linalg.norm(best)
    if eta_step:
        R = max(R, max(np.linalg.norm(V.ravel() - best) for V in iterates))
    # The classes of a step are two at most, or all: their share of the penalty makes up for it.
    G = np.sqrt(2) + alpha * n_classes / 2 * np.sqrt(2 * n_features)
    error = 0 if epsilon is None else epsilon
    bound = objective(best) + R**2 / (2 * n * rates[-1]) + G**2 / 2 * rates.mean() + error
    assert objective(W) <= bound
    assert objective(best) <= objective(W) + 1e-9
