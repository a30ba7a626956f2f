"""partial_fit of AugmentReduceClassifier means fit: parts, averages, copies, new classes."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from sklearn_xc import AugmentReduceClassifier, load

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")

KINDS = {
    "softmax": {"bound": "augment_reduce", "n_sampled_classes": 5},
    "one_vs_each": {"bound": "one_vs_each", "n_sampled_classes": 5},
    "exact": {"bound": "exact"},
    "probit": {"model": "probit", "n_sampled_classes": 5},
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_published_steps_in_parts_come_as_far_as_those_of_a_fit(kind, digits):
    """The gradient of a part counts for all rows, and its averages go on from call to call."""
    X, y = digits
    options = {"batch_size": 18, "learning_rate": 0.02, "alpha": 0.0, "random_state": 0}
    whole = AugmentReduceClassifier(**KINDS[kind], **options, max_iter=8).fit(X, y)
    parts = AugmentReduceClassifier(**KINDS[kind], **options)
    rng = np.random.default_rng(0)
    for _ in range(8):
        for part in np.array_split(rng.permutation(len(y)), 100):
            parts.partial_fit(X[part], y[part], classes=np.arange(10))
    assert whole.n_steps_ == 800
    assert parts.n_steps_ == 8 * len(y) // 18  # mini-batches that are full
    # For the probit they come farther: variables begin at what the first draw suggests.
    assert parts.log_likelihood(X, y) > 1.1 * whole.log_likelihood(X, y)
    assert parts.score(X, y) > whole.score(X, y) - 0.005


@pytest.mark.full
def test_the_ridge_of_parts_is_that_of_a_pass(digits):
    """Ten times the parts do not shrink weights ten times as much."""
    X, y = digits
    norms = []
    for n_parts in (1, 10, 100):
        model = AugmentReduceClassifier(bound="exact", batch_size=18, alpha=10.0, random_state=0)
        for _ in range(6):
            for part in np.array_split(np.arange(len(y)), n_parts):
                model.partial_fit(X[part], y[part], classes=np.arange(10))
        norms.append(np.linalg.norm(model.coef_))
    assert max(norms) < 1.05 * min(norms)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_stream_knows_survives_copies_and_files(kind, digits, tmp_path):
    X, y = digits[0][:300], digits[1][:300]
    model = AugmentReduceClassifier(**KINDS[kind], batch_size=20, random_state=0)
    for part in np.array_split(np.arange(200), 4):
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    model.save(tmp_path / "model")
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), load(tmp_path / "model")]
    model.partial_fit(X[200:], y[200:])
    for other in others:
        other.partial_fit(X[200:], y[200:])
        np.testing.assert_array_equal(other.coef_, model.coef_)
        assert other._state.seen.n_rows == model._state.seen.n_rows == pytest.approx(300, rel=0.03)
    fresh = clone(model).partial_fit(X[200:], y[200:], classes=np.arange(10))
    assert np.abs(fresh.coef_ - model.coef_).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_averages_move_with_their_classes(kind, digits):
    X, y = digits[0][:400], digits[1][:400] * 2
    few = y < 10
    model = AugmentReduceClassifier(**KINDS[kind], batch_size=20, random_state=0)
    model.partial_fit(X[few], y[few], classes=[0, 2, 4, 6, 8])
    before = model._state.averages
    model.set_params(learning_rate=1e-12)
    model.partial_fit(X[few][:1], y[few][:1], classes=np.arange(0, 20))
    kept = model._state.averages[0][[0, 2, 4, 6, 8]]
    decayed = kept[before[0] > 1e-3] / before[0][before[0] > 1e-3]
    assert np.median(decayed) == pytest.approx(0.9, rel=0.2)  # of one step more
    assert kept.shape == before[0].shape
    assert model._state.averages[0].shape == model.coef_.shape
    model.set_params(learning_rate="auto")
    for _ in range(10):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_plain_fit_keeps_no_averages(digits):
    X, y = digits
    model = AugmentReduceClassifier(max_iter=2, random_state=0).fit(X, y)
    assert model._state.averages is None
    model.partial_fit(X, y)
    assert model._state.averages[0].shape == model.coef_.shape
