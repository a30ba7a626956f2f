"""The steps of MEMOIR against dense NumPy: lists, lazy scaling, averages, truncation, searches."""

import numpy as np
import pytest
from scipy import optimize, sparse

from sklearn_xc._kernels.memoir import _steps as kernel
from sklearn_xc._kernels.memoir._growing_weights import WeightLists
from sklearn_xc.memoir import _growing_weights
from sklearn_xc.memoir._growing_weights import LARGEST_CUT, GrowingWeights
from sklearn_xc.memoir._train import MarginSettings, MemoirProblem, MemoirSteps
from sklearn_xc.memoir._violator_search import AllClasses
from sklearn_xc.utils._matrix import as_rows, normalise

pytestmark = pytest.mark.kernel

NONE = np.empty(0, dtype=np.float32)


def problem(n_samples=60, n_features=12, n_classes=7, density=0.4, seed=0, dense=False, bias=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < density)
    X[3] = X[2] / 2 if bias else 0  # with a bias alone, classes would tie
    y = rng.integers(n_classes, size=n_samples).astype(np.int32)
    X = X.astype(np.float32)
    return X, as_rows(normalise(X if dense else sparse.csr_array(X))), y


def settings(**changes):
    return MarginSettings(
        **{
            "penalty": "l2",
            "alpha": 0.05,
            "rho": 0.7,
            "batch_size": 13,
            "reduction": "mean",
            "eta0": 2.0,
            "eta_step": 0.1,
            "sampling": "uniform",
            "average": True,
            "bias": 0.0,
            **changes,
        }
    )


def make_steps(rows, y, n_classes, chosen, weight=NONE, seed=3):
    weights = GrowingWeights(n_classes, rows.shape[1], chosen.average)
    mean = weight.mean(dtype=np.float64) if weight.size else 1.0
    data = MemoirProblem(rows, y, weight, n_classes, mean)
    return MemoirSteps(data, weights, chosen, seed), weights


def matrix_of(weights, average=False):
    """The weights, those of the constant feature last."""
    coef, constant = weights.save().model(weights.shape[0], average)
    return np.hstack([coef.toarray(), constant[:, None]])


def admissible(W, rows, threshold, longest):
    """W with these rows nearer to zero by the threshold, or the largest that cuts little enough."""

    def cut_by(t):
        cut = W.copy()
        cut[rows] = np.sign(W[rows]) * np.maximum(np.abs(W[rows]) - t, 0)
        return cut, np.linalg.norm(cut - W)

    longest *= LARGEST_CUT
    if cut_by(threshold)[1] > longest:
        threshold = optimize.brentq(lambda t: cut_by(t)[1] - longest, 0, threshold)
        return cut_by(threshold)[0], True
    return cut_by(threshold)[0], False


def reference(X, y, weight, n_classes, s, batches):
    """Algorithms 1 and 2 on dense weights, every scaling made at once; last and mean iterate.

    A mean over samples by their weights: all but the first of a batch find an iterate inside it.
    """
    X = np.hstack([X, np.full((len(X), 1), s.bias)])
    W = np.zeros((n_classes, X.shape[1]))
    total, n_limited, loss, n_before, longest = np.zeros_like(W), 0, [], 0, 0.0
    total_weight = 0.0
    for batch in batches:
        eta = s.eta0 / (1 + s.eta_step * n_before / s.batch_size)
        share = len(batch) / s.batch_size
        n_before += len(batch)
        if s.penalty == "l2":
            W *= max(1 - s.alpha * eta * share, 0)
        touched, losses = set(), 0.0
        for place, i in enumerate(batch):
            total += weight[i] * W if place else 0
            scores = W @ X[i]
            others = np.where(np.arange(n_classes) == y[i], -np.inf, scores)
            r = int(others.argmax())
            touched |= {int(y[i]), r}
            if scores[y[i]] - scores[r] < s.rho:
                losses += weight[i] * (1 - (scores[y[i]] - scores[r]) / s.rho)
                step = weight[i] / weight.mean() * eta / s.rho
                step /= s.batch_size if s.reduction == "mean" else 1
                W[y[i]] += step * X[i]
                W[r] -= step * X[i]
        loss.append(losses)
        if s.penalty == "l2":
            W *= min(1, 1 / max(np.sqrt(s.alpha) * np.linalg.norm(W), 1e-12))
        else:
            rows = sorted(touched)
            longest = max(longest, np.linalg.norm(W))
            threshold = n_classes / len(rows) * s.alpha * eta * share
            W, limited = admissible(W, rows, threshold, longest)
            n_limited += limited
        total += weight[batch[0]] * W
        total_weight += weight[batch].sum()
    return W, total / total_weight, np.array(loss), n_limited


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n_classes", [2, 7, 40])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"batch_size": 1, "average": False},
        {"reduction": "sum", "eta0": 0.3},
        {"alpha": 1.0, "eta0": 1.0, "eta_step": 1.0, "batch_size": 1},  # scale 0 at first
        {"alpha": 3.0, "eta0": 0.3, "eta_step": 0.0},  # folds often, projects always
        {"alpha": 0.0},
        {"bias": 1.5},
        {"bias": 0.5, "penalty": "l1", "alpha": 1e-3},
        {"penalty": "l1", "alpha": 1e-3},
        {"penalty": "l1", "alpha": 0.02, "average": False, "batch_size": 5},
        {"penalty": "l1", "alpha": 10.0},  # every truncation would be too large, and is limited
    ],
)
def test_steps_are_those_of_numpy(changes, weighted, n_classes, dense, monkeypatch):
    monkeypatch.setattr(AllClasses, "samples_at_once", 4)
    monkeypatch.setattr(_growing_weights, "CUT_TOLERANCE", 1e-5)
    X, rows, y = problem(n_classes=n_classes, dense=dense, bias=changes.get("bias", 0))
    chosen = settings(**changes)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(y)).astype(np.float32)
    steps, weights = make_steps(rows, y, n_classes, chosen, weight if weighted else NONE)
    batches = []
    for epoch in range(4):
        n = max(1, round(len(y) / chosen.batch_size))
        batches += np.array_split(steps.order(epoch), n)
    weight = weight.astype(float) if weighted else np.ones(len(y))
    W, mean, losses, n_limited = reference(X.astype(float), y, weight, n_classes, chosen, batches)
    found, first = [], 0
    for epoch in range(4):
        found.append(steps.epoch(epoch, first) * weight.sum())
        first += len(y)
    tolerance = {"rtol": 1e-3, "atol": 1e-3 * max(np.abs(W).max(), 1e-3)}
    np.testing.assert_allclose(matrix_of(weights), W, **tolerance)
    if chosen.average:
        np.testing.assert_allclose(matrix_of(weights, True), mean, **tolerance)
    np.testing.assert_allclose(found, losses.reshape(4, -1).sum(axis=1), rtol=2e-3)
    square = weights.state[0] ** 2 * weights.state[2]
    np.testing.assert_allclose(square, (W**2).sum(), rtol=1e-3, atol=1e-9)
    assert steps.n_scored == 4 * len(y) * n_classes
    assert (n_limited > 0) if chosen.alpha == 10.0 else (n_limited < len(batches) / 2)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("dense", [False, True])
def test_candidates_are_scored_with_the_weights_of_the_moment(dense, penalty, by_class):
    """With all classes as candidates, in any order, the steps are those of exact search."""
    _, rows, y = problem(dense=dense, bias=0.5)
    rng = np.random.default_rng(0)
    chosen = settings(penalty=penalty, bias=0.5, alpha=0.3 if penalty == "l2" else 0.001)

    class Shuffled(AllClasses):
        shared = np.int32([2, 5])  # beside those of each sample

        def candidates(self, samples):
            ids = np.tile(np.int32([-1, 0, 1, 3, 4, 6]), (len(samples), 1))
            return rng.permuted(ids, axis=1)

    exact, expected = make_steps(rows, y, 7, chosen)
    named, weights = make_steps(rows, y, 7, chosen)
    if by_class:
        weights.lists.keep_rows()
    named.search = Shuffled()
    for epoch in range(3):
        exact.epoch(epoch, epoch * 60)
        named.epoch(epoch, epoch * 60)
    weights.fold()
    np.testing.assert_allclose(matrix_of(weights), matrix_of(expected), rtol=1e-4, atol=1e-5)
    assert named.n_scored == exact.n_scored
    if by_class:
        np.testing.assert_allclose(weights.lists.rows, matrix_of(weights), rtol=1e-6, atol=1e-9)


def test_the_inexact_margin_is_never_below_the_exact_one():
    X, rows, y = problem(n_classes=40)
    steps, weights = make_steps(rows, y, 40, settings(penalty="l1", alpha=0.0))
    steps.epoch(0, 0)
    scores = X @ matrix_of(weights)[:, :-1].T
    samples = np.arange(len(y), dtype=np.int32)
    candidates = np.random.default_rng(0).integers(40, size=(len(y), 5)).astype(np.int32)
    found = {}
    for name, ids in ("exact", np.empty((len(y), 0), np.int32)), ("inexact", candidates):
        violators = np.empty(len(y), dtype=np.int32)
        run(rows, samples, y, ids, weights, violators, rate=0.0)
        found[name] = scores[samples, y] - scores[samples, violators]
        if name == "inexact":
            for i in samples:
                allowed = [k for k in candidates[i] if k != y[i]]
                assert scores[i, violators[i]] == pytest.approx(scores[i, allowed].max(), abs=1e-5)
    others = np.where(np.arange(40) == y[:, None], -np.inf, scores)
    np.testing.assert_allclose(found["exact"], scores[samples, y] - others.max(axis=1), atol=1e-5)
    assert (found["inexact"] >= found["exact"] - 1e-5).all()


def run(rows, samples, y, candidates, weights, violators, rate):
    data = kernel.Samples(
        rows.indptr, rows.indices, rows.data, rows.dense, y, NONE, np.ones(len(y)), 0.0
    )
    return kernel.run_batch(
        data,
        samples,
        candidates,
        np.empty(0, np.int32),
        weights.lists,
        weights.state,
        weights.scores,
        rate,
        1.0,
        violators,
        False,
        np.zeros(1, dtype=np.int32),
    )


def test_without_any_candidate_all_classes_are_scored():
    _, rows, y = problem()
    steps, weights = make_steps(rows, y, 7, settings())
    steps.epoch(0, 0)
    samples = np.arange(len(y), dtype=np.int32)
    alone = np.stack([y, np.full(len(y), -1, dtype=np.int32)], axis=1)
    some, other = (np.empty(len(y), dtype=np.int32) for _ in range(2))
    run(rows, samples, y, alone, weights, some, rate=0.0)
    run(rows, samples, y, np.empty((len(y), 0), np.int32), weights, other, rate=0.0)
    np.testing.assert_array_equal(some, other)


def test_a_margin_that_is_not_finite_ends_the_run():
    X = sparse.csr_array(np.float32([[1e30, 0], [0, 1e30]]))
    steps, _ = make_steps(as_rows(X), np.int32([0, 1]), 2, settings(eta0=1e12, average=False))
    steps.epoch(0, 0)
    with pytest.raises(FloatingPointError, match="batch"):
        steps.epoch(1, 1)


@pytest.mark.parametrize("averaged", [False, True])
def test_lists_keep_what_is_put_into_them(averaged):
    rng = np.random.default_rng(0)
    V = rng.normal(size=(30, 200)) * (rng.random((30, 200)) < rng.random((30, 1)))
    csr = sparse.csr_array(V.astype(np.float32))
    arrays = csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data
    lists = WeightLists(30, 200, averaged)
    lists.load(*arrays, arrays[2] / 2 if averaged else NONE)
    found = lists.dump()
    for a, b in zip(found, (*arrays, arrays[2] / 2 if averaged else NONE), strict=True):
        np.testing.assert_array_equal(a, b)
    sizes = lists.sizes()
    counts = np.diff(csr.indptr)
    np.testing.assert_array_equal(sizes, np.where(counts > 200 // 3, 200, counts))
    assert lists.nbytes() >= csr.nnz * (8 if averaged else 4)


def test_a_balanced_pass_draws_classes_equally_often():
    _, rows, _ = problem(n_samples=4000)
    y = np.repeat(np.int32([0, 1, 2]), [3500, 400, 100])
    weight = np.ones(4000, dtype=np.float32)
    weight[::2] = 0
    steps, _ = make_steps(rows, y, 5, settings(sampling="balanced"), weight)
    order = steps.order(0)
    assert len(order) == 2000
    assert (weight[order] > 0).all()
    counts = np.bincount(y[order], minlength=5)
    np.testing.assert_allclose(counts[:3] / 2000, 1 / 3, atol=0.04)
    assert counts[3:].sum() == 0
    assert len(np.unique(order[y[order] == 2])) > 40
