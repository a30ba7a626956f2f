"""Boosted trees as plain arrays: the bits of scikit-learn's, and nothing beyond their arrays."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from sklearn_xc.stacking._boosting import LEAF, Trees, fit_trees, trees_of

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads of scikit-learn's trees wait for one another beside other tests: 68 s for one."""
    with threadpool_limits(limits=1, user_api="openmp"):
        yield


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(4000, 6))
    F[:, 3] = np.round(F[:, 3])  # ties with thresholds
    hits = F[:, 0] + F[:, 1] * F[:, 2] + rng.normal(size=4000) > 1
    model = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0)
    return F, hits, model.fit(F, hits)


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 4000])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_have_the_bits_of_scikit_learn(fitted, n_rows, n_threads):
    F, _, model = fitted
    found = trees_of(model).raw(F[:n_rows], n_threads)
    expected = model._raw_predict(F[:n_rows]).ravel() if n_rows else np.empty(0)
    np.testing.assert_array_equal(found, expected)


def test_probabilities_are_those_of_scikit_learn(fitted):
    F, _, model = fitted
    p = 1 / (1 + np.exp(-trees_of(model).log_odds(F)))
    np.testing.assert_allclose(p, model.predict_proba(F)[:, 1], rtol=1e-12)


def test_contributions_add_up(fitted):
    F, _, model = fitted
    trees = trees_of(model, shift=0.5)
    parts, before = trees.contributions(F[:20])
    np.testing.assert_allclose(parts.sum(axis=1) + before, trees.log_odds(F[:20]), atol=1e-10)


def test_a_tree_of_one_leaf():
    F, hits = np.zeros((30, 2)), np.arange(30) % 3 == 0
    model = HistGradientBoostingClassifier(max_iter=3, early_stopping=False).fit(F, hits)
    trees = trees_of(model)
    assert (trees.feature == LEAF).all()
    np.testing.assert_array_equal(trees.raw(F), model._raw_predict(F).ravel())


def test_wrong_pairs_that_were_left_out_are_made_up_for():
    """With 600,000 pairs a quarter of the wrong ones is kept; probabilities stay right."""
    rng = np.random.RandomState(0)
    F = rng.normal(size=(600_000, 1))
    hits = rng.random_sample(600_000) < 0.02
    trees = fit_trees(F, hits, None, rng)
    assert trees.shift == pytest.approx(np.log(0.25), abs=0.02)
    p = 1 / (1 + np.exp(-trees.log_odds(F)))
    assert p.mean() == pytest.approx(hits.mean(), rel=0.05)


WRONG = {
    "starts": lambda t: t.starts[:-1],
    "feature": lambda t: np.where(t.feature == LEAF, LEAF, 6).astype(np.int32),
    "left": lambda t: np.zeros_like(t.left),
    "right": lambda t: t.right + np.int32(10_000),
    "value": lambda t: t.value[:-1],
    "gain": lambda t: t.gain[:-1],
}


@pytest.mark.parametrize("name", WRONG)
def test_arrays_that_are_no_trees_are_refused(fitted, name):
    trees = trees_of(fitted[2])
    fields = dict(vars(trees))
    fields[name] = WRONG[name](trees)
    with pytest.raises(ValueError, match="tree"):
        Trees(**fields)._check_record()


def test_more_than_64_leaves_are_refused(fitted):
    F, hits, _ = fitted
    model = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=None, min_samples_leaf=1, max_depth=None, early_stopping=False
    )
    trees = trees_of(model.fit(F, hits))
    with pytest.raises(ValueError, match="64 leaves"):
        trees._check_record()
