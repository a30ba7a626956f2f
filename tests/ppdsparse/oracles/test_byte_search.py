"""Searches over dense rows rounded to bytes, held against NumPy and searches in float32."""

from types import SimpleNamespace

import numpy as np
import pytest
from _full import rest_in_full
from _margin_losses import LOSSES
from _ppdsparse_problem import dual_value, make, primal, solve

from sklearn_xc import PPDSparseClassifier
from sklearn_xc._kernels.ppdsparse._byte_search import rows_in_reach
from sklearn_xc._kernels.ppdsparse._problem import GROUP, ByteRows, Matrix, round_rows
from sklearn_xc.ppdsparse import _solver
from sklearn_xc.ppdsparse._solver import rounded_rows
from sklearn_xc.utils._matrix import as_rows

pytestmark = pytest.mark.kernel
PLAIN, AVX2, VNNI = range(3)


def rounded(X):
    values = np.empty((len(X), -(-X.shape[1] // GROUP) * GROUP), dtype=np.uint8)
    return values, *round_rows(np.ascontiguousarray(X, dtype=np.float32), values)


def awkward_rows(n, d, seed=0):
    """Rows of very different lengths, one of zeros, one of a single large entry, one tiny."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 2, size=(n, 1))).astype(np.float32)
    X[0], X[1], X[2] = 0, 1e-3, 1e-36
    X[1, d // 2] = 50
    return X


@pytest.mark.parametrize("d", [1, 3, 4, 17, 64])
def test_a_rounded_row_is_within_its_error(d):
    X = awkward_rows(50, d)
    values, scale, error, length = rounded(X)
    back = scale[:, None].astype(float) * (values[:, :d].astype(float) - 128)
    assert (values[:, d:] == 128).all()
    assert (np.linalg.norm(X - back, axis=1) <= error).all()
    assert (np.linalg.norm(back, axis=1) <= length).all()
    assert (error[3:] <= length[3:] * np.sqrt(d) / 127).all()
    np.testing.assert_array_equal(values[0], 128)


@pytest.mark.parametrize("d", [1, 5, 16, 67, 256])
@pytest.mark.parametrize("n", [1, 7, 8, 100])
def test_every_row_above_minus_one_is_in_reach(n, d):
    rng = np.random.default_rng(d)
    X = awkward_rows(n + 3, d)[3:]
    weights = (rng.normal(size=(d, 16)) * 10.0 ** rng.uniform(-2, 1, size=16)).astype(np.float32)
    weights[:, 3] = 0
    bias = np.linspace(-1.5, -0.9, 16).astype(np.float32)
    member = rng.integers(2**16, size=n).astype(np.uint16)
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    rows, masks, scores = rows_in_reach(ByteRows(*rounded(X)), weights, bias, member)
    found = np.zeros((n, 16), dtype=bool)
    found[rows] = masks[:, None] >> np.arange(16) & 1
    exact = X.astype(float) @ weights + bias.astype(float)
    known = (member[:, None] >> np.arange(16) & 1).astype(bool)
    assert not (found & known).any()
    assert found[(exact > -1) & ~known].all()
    near = 0.03 * np.linalg.norm(weights, axis=0) * np.sqrt(np.maximum(1, d / 16))
    assert not found[exact < -1.001 - near].any()
    assert (np.abs(scores - exact[rows]) <= near + 1e-5).all()


@pytest.mark.parametrize("d", [1, 5, 64, 255, 1024])
def test_all_instructions_give_the_same_bits(d):
    rng = np.random.default_rng(d)
    X, weights = rng.normal(size=(101, d)), rng.normal(size=(d, 16)).astype(np.float32)
    X[5:7] = np.sign(X[5:7])  # sums of the largest products
    weights[:, 2] = np.sign(X[5])
    X[7], X[8] = 1, -1
    # Those of all of a block, of either half that is added in 16 bits, and of one feature.
    j = np.arange(d)
    weights[:, 3], weights[:, 4], weights[:, 5] = 0.1, j % 4 < 2, -1.0 * (j % 4 >= 2)
    weights[:, 6] = j % GROUP == 0
    rows, bias = ByteRows(*rounded(X)), np.full(16, -1, dtype=np.float32)
    member = np.zeros(len(X), dtype=np.uint16)
    expected = rows_in_reach(rows, weights, bias, member, PLAIN)
    assert len(expected[0]) > 50
    for widest in AVX2, VNNI:
        for one, other in zip(
            rows_in_reach(rows, weights, bias, member, widest), expected, strict=True
        ):
            np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------ fits


def solve_by_bytes(X, Y, sample_weight=None, **settings):
    """As `solve`, over rows that are rounded whatever their number."""
    rows = as_rows(X)
    parts = rows.indptr, rows.indices, rows.data, True, X.shape[1], None, None, None
    matrix = Matrix(*parts, rounded=ByteRows(*rounded(X)))
    return solve(X, Y, sample_weight=sample_weight, matrix=matrix, **settings)


@pytest.mark.parametrize(
    ("n", "n_select", "loss"),
    rest_in_full(
        [(*size, loss) for size in [(300, 0), (1500, 0), (1500, 10)] for loss in LOSSES],
        *((300, 0, loss) for loss in LOSSES),
        (1500, 10, "hinge"),
        (1500, 10, "squared_hinge"),
    ),
)
def test_the_same_optimum_as_by_floats(n, n_select, loss):
    X, Y = make(n, 12, 19, density=1.0)
    settings = {"loss": loss, "tol": 1e-3 if loss == "hinge" else 1e-5, "n_select": n_select}
    result = solve_by_bytes(X, Y, **settings)
    p = primal(X, Y, result, loss=loss)
    np.testing.assert_allclose(
        result["gap"], (p - dual_value(X, Y, result, loss=loss)) / p, atol=2e-6
    )
    assert (result["gap"] <= settings["tol"]).all()
    floats = primal(X, Y, solve(X, Y, **settings), loss=loss)
    np.testing.assert_allclose(p, floats, rtol=2 * settings["tol"])


@pytest.mark.parametrize("loss", rest_in_full(LOSSES, "squared_hinge"))
def test_without_an_intercept_nothing_is_lowered(loss):
    X, Y = make(600, 12, 19, density=1.0)
    settings = {"loss": loss, "tol": 0.02, "intercept": False, "n_select": 2}
    result = solve_by_bytes(X, Y, **settings)
    assert (result["intercept"] == 0).all()
    p = primal(X, Y, result, loss=loss)
    dual = p * (1 - result["gap"])
    np.testing.assert_array_less(dual, primal(X, Y, solve(X, Y, **settings), loss=loss))
    assert (result["gap"] <= 0.02).all()


def weights_by_duals(X, Y, result, l1=0.05, l2=0.5):
    v = (result["dual"] * np.where(Y.T > 0, 1, -1)) @ X
    return np.sign(v) * np.maximum(np.abs(v) - l1, 0) / l2


def test_a_class_may_end_with_the_weights_of_an_earlier_search():
    X, Y = make(3000, 30, 40, density=1.0)
    result = solve_by_bytes(X, Y, tol=0.03)
    p = primal(X, Y, result)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)
    moved = np.abs(result["coef"] - weights_by_duals(X, Y, result)).max(axis=1)
    assert (moved > 0.01).sum() > 5  # duals of a descent that no search has followed
    lowered = result["intercept"] - (result["dual"] * np.where(Y.T > 0, 1, -1)).sum(axis=1) / 0.5
    assert (lowered < -1e-3).sum() > 5


@pytest.mark.parametrize("loss", rest_in_full(LOSSES, "squared_hinge"))
def test_pruned_weights_of_an_earlier_search_have_a_gap_above_the_true_one(loss):
    X, Y = make(3000, 30, 40, density=1.0)
    settings = {"tol": 0.1 if loss == "hinge" else 0.03, "loss": loss}
    whole, pruned = (solve_by_bytes(X, Y, prune=prune, **settings) for prune in (0, 0.05))
    assert (pruned["coef"] == 0).sum() > (whole["coef"] == 0).sum()
    p = primal(X, Y, pruned, loss=loss)
    gap = (p - dual_value(X, Y, pruned, loss=loss)) / p
    assert (pruned["gap"] >= gap - 2e-6).all()
    assert (pruned["gap"] <= settings["tol"]).all()


def test_weights_of_many_features_have_fewer_than_16_bits():
    X, Y = make(90, 3, 9000, density=1.0)
    X = np.sign(X) * np.float32(0.02)  # the largest bytes
    result = solve_by_bytes(X, Y, tol=1e-4)
    p = primal(X, Y, result)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)


@pytest.mark.parametrize("tol", rest_in_full([0.03, 1e-3, 1e-6], 1e-3))
def test_small_gaps_are_reached_where_most_rows_are_in_reach(tol):
    X, Y = make(3000, 20, 400, density=1.0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    result = solve_by_bytes(X, Y, tol=tol, max_iter=200)
    p = primal(X, Y, result)
    np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)
    assert (result["gap"] <= tol).all()
    assert result["n_iter"].max() < 40


def test_max_iter_ends_with_a_true_gap():
    X, Y = make(2000, 20, 20, density=1.0)
    for max_iter in 1, 2, 3, 5:
        result = solve_by_bytes(X, Y, tol=1e-12, max_iter=max_iter)
        p = primal(X, Y, result)
        assert (result["n_iter"] == max_iter).all()
        np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)


def test_rows_of_weight_zero_are_not_there():
    X, Y = make(900, 12, 18, density=1.0)
    there = np.arange(900) % 3 > 0
    Y[:, Y[there].sum(axis=0) == 0] = there[:, None]
    weight = np.where(there, 1.0, 0.0)
    result = solve_by_bytes(X, Y, weight)
    p = primal(X, Y, result, weight=weight)
    fewer = solve_by_bytes(np.ascontiguousarray(X[there]), Y[there])
    np.testing.assert_allclose(p, primal(X[there], Y[there], fewer), rtol=1e-4)
    assert (result["dual"][:, ~there] == 0).all()


# ------------------------------------------------------------------------------- the estimator


def clusters(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def test_rows_are_rounded_where_it_pays():
    X, _ = clusters(_solver.FEWEST_ROWS, 20, 4)
    assert rounded_rows(as_rows(X), _solver.FEWEST_CLASSES).arrays()["values"].shape == (
        len(X),
        2 * GROUP,
    )
    assert rounded_rows(as_rows(X), _solver.FEWEST_CLASSES - 1) is None
    assert rounded_rows(as_rows(X[1:]), 1000) is None
    assert rounded_rows(as_rows(np.ascontiguousarray(X[:, :15])), 1000) is None
    assert rounded_rows(as_rows(X).as_sparse(), 1000) is None
    too_wide = (_solver.FEWEST_ROWS, _solver.MOST_FEATURES + 1)
    assert rounded_rows(SimpleNamespace(shape=too_wide, dense=True), 1000) is None
    wide = np.full((_solver.FEWEST_ROWS, 2000), 0.35, dtype=np.float32)
    assert rounded_rows(as_rows(wide), 1000) is not None
    wide[:, 0] = 100  # beside it the others are nothing
    assert rounded_rows(as_rows(wide), 1000) is None


@pytest.mark.parametrize("widest", [PLAIN, AVX2, VNNI])
def test_sums_of_the_widest_rows_do_not_overflow(widest):
    d = _solver.MOST_FEATURES
    X = np.outer([1, -1, 1], np.ones(d)).astype(np.float32)
    weights = np.full((d, 16), 0.5, dtype=np.float32)
    found, _, scores = rows_in_reach(
        ByteRows(*rounded(X)),
        weights,
        np.zeros(16, dtype=np.float32),
        np.zeros(3, np.uint16),
        widest,
    )
    assert found.tolist() == [0, 2]
    # Eight such weights are 124 units of theirs, each of them 16 when rounded.
    np.testing.assert_allclose(scores, d / 2 * 16 * 8 / 124, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"loss": "hinge", "tol": 0.1}, {"l1": 0.05, "l2": 1.0}])
def test_fits_certify_the_same_optimum_in_any_number_of_jobs(options, monkeypatch):
    X, y = clusters(5000, 24, 40)
    monkeypatch.setattr(_solver, "FEWEST_ROWS", len(X))
    model = PPDSparseClassifier(random_state=0, pruning=0, warm_start=True, **options).fit(X, y)
    assert (model.dual_gap_ <= model.tol).all()
    two = PPDSparseClassifier(random_state=0, pruning=0, n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(two.coef_.toarray(), model.coef_.toarray())
    np.testing.assert_array_equal(two.dual_gap_, model.dual_gap_)
    model.fit(X, y)  # from the optimum
    assert (model.dual_gap_ <= model.tol).all()
    assert model.n_iter_ <= two.n_iter_
    assert model._n_visits < two._n_visits
    monkeypatch.setattr(_solver, "rounded_rows", lambda *args: None)
    floats = PPDSparseClassifier(random_state=0, pruning=0, **options).fit(X, y)
    agree = np.mean(floats.predict(X) == two.predict(X))
    assert agree > 0.98


def test_many_rows_are_sampled_first():
    X, y = clusters(70_000, 16, 32)
    Y = np.eye(32, dtype=np.uint8)[y]
    for max_iter in 1, 100:
        result = solve_by_bytes(X, Y, tol=0.01, max_iter=max_iter)
        p = primal(X, Y, result)
        np.testing.assert_allclose(result["gap"], (p - dual_value(X, Y, result)) / p, atol=2e-6)
    assert (result["gap"] <= 0.01).all()
    floats = primal(X, Y, solve(X, Y, tol=0.01))
    np.testing.assert_allclose(p, floats, rtol=0.01)
