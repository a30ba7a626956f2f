"""Pruned searches of small classes: nothing is missed, and the gap is a true one."""

import numpy as np
import pytest
from _made_text import make_text
from _ppdsparse_problem import objectives
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import PPDSparseClassifier


def fit(X, Y, **options):
    options = {"l1": 0.0625, "l2": 0.5, "pruning": 0.0} | options
    weight = options.pop("sample_weight", None)
    model = PPDSparseClassifier(warm_start=True, random_state=0, **options)
    return model.fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("tol", [0.03, 1e-4])
def test_the_gap_is_the_true_one(signs, tol):
    X, Y = make_text(signs=signs)
    model = fit(X, Y, tol=tol)
    primal, dual = objectives(model, X, Y)
    assert (model.dual_gap_ <= tol).all()
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=0, atol=2e-7)


def test_long_rows_and_several_stretches_count_in_the_gap():
    X, Y = make_text(n=17_000)  # stretches have 16,384
    rng = np.random.default_rng(2)
    long = np.zeros((40, X.shape[1]))
    for row in long:  # parts of rows that are looked through at once have 256
        row[rng.choice(X.shape[1], 700, replace=False)] = rng.random(700) / 5
    at = rng.permutation(len(Y) + len(long))
    X = sparse.csr_array(sparse.vstack([X, long]), dtype="f4")[at]
    Y = np.vstack([Y, np.zeros((len(long), Y.shape[1]))])[at]
    model = fit(X, Y, tol=1e-3)
    scores = (X @ sparse.csr_array(model.coef_).T).toarray() + model.intercept_
    assert (scores[at >= len(at) - len(long)] > -1).any()
    primal, dual = objectives(model, X, Y)
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=0, atol=2e-7)


def test_weights_of_rows_and_classes_count_in_the_gap():
    X, Y = make_text()
    weight = np.random.default_rng(1).uniform(0.2, 3, size=len(Y)).astype("f4")
    weight[::7] = 0
    model = fit(X, Y, sample_weight=weight)
    primal, dual = objectives(model, X, Y, weight)
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=0, atol=2e-7)


@pytest.mark.parametrize("pruning", [0.0, 0.02])
def test_pruned_searches_and_lanes_find_the_same_optimum(pruning):
    X, Y = make_text()
    pruned = fit(X, Y, tol=1e-5, pruning=pruning, max_iter=1000)
    # a threshold that no entry is below changes nothing but the searches, which go in lanes
    lanes = fit(X, Y, tol=1e-5, pruning=pruning, max_iter=1000, feature_threshold=1e-30)
    scores = [X @ m.coef_.T + m.intercept_ for m in (pruned, lanes)]
    scores = [s.toarray() if sparse.issparse(s) else s for s in scores]
    np.testing.assert_allclose(*scores, atol=0.03 if pruning else 6e-3)


def test_pruned_searches_read_less():
    X, Y = make_text(n=20_000, d=20_000, k=1200)
    pruned, lanes = fit(X, Y), fit(X, Y, feature_threshold=1e-30)
    assert pruned._n_visits < 0.75 * lanes._n_visits  # lanes make fewer passes before a search


def test_a_block_goes_on_in_lanes_where_its_first_classes_save_nothing():
    X, Y = make_text(n=20_000, d=5000, k=400)  # rare features have longer columns
    pruned, lanes = fit(X, Y), fit(X, Y, feature_threshold=1e-30)
    as_in_lanes = (pruned.coef_ != lanes.coef_).sum(axis=1) == 0
    assert 0.2 < as_in_lanes.mean() < 0.8


@pytest.mark.filterwarnings("ignore:max_iter=2")
@pytest.mark.parametrize("seed", range(3))
def test_no_violator_is_missed(seed):
    """A row above the threshold that a search missed would have a loss that the primal lacks."""
    X, Y = make_text(n=8000, d=400, signs=True, seed=seed)
    model = fit(X, Y, tol=0.3, max_iter=2)
    primal, dual = objectives(model, X, Y)
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=0, atol=2e-7)


def test_last_round_gives_a_true_gap():
    X, Y = make_text()
    with pytest.warns(match="max_iter=1"):
        model = fit(X, Y, tol=1e-6, max_iter=1)
    primal, dual = objectives(model, X, Y)
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=0, atol=2e-7)


def test_same_bits_whatever_the_workers():
    X, Y = make_text()
    one, two = fit(X, Y), fit(X, Y, n_jobs=2)
    assert (one.coef_ != two.coef_).nnz == 0
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_values_beyond_what_float32_can_solve_end_with_a_warning():
    X, Y = make_text(n=7000)
    X.data *= np.float32(3e7)
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        fit(X, Y, l1=1.0, l2=1.0, tol=0.1, max_iter=5)


# ------------------------------------------------------------------------------- warm starts


def path_data():
    X, Y = make_text(8000, 3000)
    weight = np.random.default_rng(0).integers(0, 3, 8000).astype(float)
    return X, Y, weight


@pytest.mark.parametrize("weighted", [False, True])
def test_warm_starts_reach_the_optimum_of_cold_ones(weighted):
    X, Y, weight = path_data()
    weight = weight if weighted else None
    options = {"tol": 1e-5, "pruning": 0.0, "random_state": 0, "max_iter": 1000}
    model = PPDSparseClassifier(0.03, 1.0, warm_start=True, **options).fit(X, Y, weight)
    first = model._n_visits
    model.set_params(l1=0.1, l2=0.7).fit(X, Y, weight)
    cold = PPDSparseClassifier(0.1, 0.7, **options).fit(X, Y, weight)
    assert model.dual_gap_.max() <= 1e-5
    primal, dual = objectives(model, X, Y, 1.0 if weight is None else weight)
    np.testing.assert_allclose(model.dual_gap_, (primal - dual) / primal, rtol=0, atol=2e-7)
    assert abs(model.coef_ - cold.coef_).max() < 0.02
    np.testing.assert_allclose(model.intercept_, cold.intercept_, atol=0.02)
    assert model.fit(X, Y, weight)._n_visits < first / 5  # from its own optimum


def test_warm_starts_read_less_than_cold_ones():
    X, Y, _ = path_data()
    model = PPDSparseClassifier("0.3*auto", warm_start=True, random_state=0).fit(X, Y)
    model.set_params(l1="auto").fit(X, Y)
    cold = PPDSparseClassifier(random_state=0).fit(X, Y)
    assert model._n_visits < 0.8 * cold._n_visits
    assert model.dual_gap_.max() <= 0.03


def test_warm_starts_from_lanes_and_from_fits_cut_short():
    X, Y, _ = path_data()
    hinge = PPDSparseClassifier(0.1, 1.0, loss="hinge", warm_start=True, random_state=0).fit(X, Y)
    duals = hinge.dual_coef_
    model = PPDSparseClassifier(0.1, 1.0, warm_start=True, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    model.set_params(max_iter=100).fit(X, Y)
    assert model.dual_gap_.max() <= 0.03
    model.dual_coef_ = duals
    assert model.fit(X, Y).dual_gap_.max() <= 0.03
    model.dual_coef_ = 0 * duals  # nothing is known of any class
    assert model.fit(X, Y).dual_gap_.max() <= 0.03
