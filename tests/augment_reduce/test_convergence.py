"""What a fit watches: the bound, scores of samples kept apart, automatic rates."""

import numpy as np
import pytest
from _augment_reduce_models import MODELS, make
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


# ---------------------------------------------------------------------------------- the curve


@pytest.mark.parametrize("name", MODELS)
def test_the_bound_rises_and_stays_below_the_log_likelihood(name, digits):
    """Of two hundred samples all are watched, so that both are means over the same ones."""
    X, y = digits[0][:200], digits[1][:200]
    model = make(name, max_iter=30, batch_size=20).fit(X, y)
    curve = -model.loss_curve_
    assert curve.dtype == np.float64
    assert curve.shape == (30,)
    assert (curve < 0).all()
    assert curve[-1] > curve[0] + 0.3
    assert (np.diff(curve) < 0).mean() < 0.3
    log_likelihood = model.log_likelihood(X, y)
    if name == "exact":
        assert curve[-1] == pytest.approx(log_likelihood, abs=1e-5)
    else:
        assert curve[-1] < log_likelihood
        early = make(name, max_iter=1, batch_size=20).fit(X, y)
        assert -early.loss_curve_[0] < early.log_likelihood(X, y)


@pytest.mark.parametrize("name", ["softmax", "exact"])
def test_early_stopping_ends_where_nothing_is_left_to_learn(name):
    """Labels at random: what is learnt beyond their frequencies does not help on held-out ones."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 30)), rng.integers(0, 8, size=400)
    model = make(name, early_stopping=True, max_iter=300, validation_fraction=0.25)
    model.fit(X, y)
    assert model.n_iter_no_change < model.n_iter_ < 300
    assert len(model.validation_scores_) == len(model.loss_curve_) == model.n_iter_
    best = model.validation_scores_.argmax()
    assert best == model.n_iter_ - 1 - model.n_iter_no_change


def test_early_stopping_warns_where_max_iter_ends_first(small):
    with pytest.warns(ConvergenceWarning, match="samples kept apart still rose .* max_iter ended"):
        make("exact", early_stopping=True, max_iter=3).fit(*small)
    y = np.random.default_rng(0).integers(0, 8, size=len(small[1]))  # nothing to learn
    model = make("exact", early_stopping=True, n_iter_no_change=2, max_iter=300).fit(small[0], y)
    scores = model.validation_scores_
    assert len(scores) < 300
    assert scores[-2:].max() <= scores[:-2].max()
    assert not hasattr(model.set_params(early_stopping=False).fit(*small), "validation_scores_")


# ------------------------------------------------------------------- the rate, and held-out samples


def test_the_automatic_rate_is_the_published_one_on_rows_like_the_papers(small):
    ones = np.tile(np.arange(100) < 68, (6, 1)).astype(float)
    ones[0, 68] = 1  # so that they are sparse, and no column is constant
    ones[1:, 0] = 0
    X = sparse.csr_array(ones)
    published = 0.02 * 69 / (1 + ones.sum() / 6)
    for name, times in {"probit": 1, "one_vs_each": 1, "softmax": 1, "logistic": 4}.items():
        model = make(name, learning_rate="auto", max_iter=1).fit(X, np.arange(6) % 3)
        assert model.learning_rate_ == pytest.approx(times * published)
    model = make("exact", learning_rate="auto", max_iter="auto").fit(0 * small[0], small[1])
    assert model.learning_rate_ == pytest.approx(4 * 0.02 * 69)  # rows of the intercept alone
    model = make("exact", learning_rate="auto", max_iter="auto").fit(X, np.arange(6) % 3)
    assert model.learning_rate_ == pytest.approx(4 * published)  # falls to zero
    model = make("exact", learning_rate="auto").partial_fit(X, np.arange(6) % 3, [0, 1, 2])
    assert model.learning_rate_ == pytest.approx(published)  # no end is known


def test_the_automatic_rate_is_kept_over_parts(small):
    X, y = small
    model = make("softmax", learning_rate="auto").partial_fit(X, y, classes=np.arange(10))
    rate = model.learning_rate_
    assert model.partial_fit(5 * X, y).learning_rate_ == rate


@pytest.mark.parametrize("bound", ["augment_reduce", "exact"])
def test_early_stopping_watches_training_samples_where_none_can_be_held_out(bound, small):
    """One pass has nothing to stop early, and few samples have none to spare."""
    X, y = small
    parts = AugmentReduceClassifier(bound=bound, early_stopping=True, random_state=0)
    assert np.isfinite(parts.partial_fit(X, y, classes=np.arange(10)).loss_curve_).all()
    one = AugmentReduceClassifier(bound=bound, early_stopping=True, max_iter=1, random_state=0)
    assert np.isfinite(one.fit(X, y).loss_curve_).all()
    few = AugmentReduceClassifier(bound=bound, early_stopping=True, max_iter=3, random_state=0)
    assert np.isfinite(few.fit(X[:8], y[:8]).loss_curve_).all()


@pytest.mark.full
def test_many_classes_are_learnt_without_arguments():
    """Rows in clusters, their columns of falling size, as those of a sentence encoder."""
    rng, n_classes, n_columns = np.random.default_rng(0), 1200, 48
    size = 1 / np.sqrt(1 + np.arange(n_columns))
    size /= np.linalg.norm(size)
    centres = rng.normal(size=(n_classes, n_columns)) * size
    X = np.repeat(centres, 6, axis=0) + 1.6 * rng.normal(size=(6 * n_classes, n_columns)) * size
    y, in_test = np.repeat(np.arange(n_classes), 6), np.arange(len(X)) % 6 == 0
    ours, other = (
        model(random_state=0).fit(X[~in_test], y[~in_test])
        for model in (AugmentReduceClassifier, ImplicitSoftmaxRegressor)
    )
    assert ours.bound_ == "augment_reduce"
    assert ours.learning_rate_ == pytest.approx(4 * 0.02 * 69 / (1 + n_columns))
    scores = [model.score(X[in_test], y[in_test]) for model in (ours, other)]
    assert scores[0] > scores[1] - 2 * np.sqrt(scores[1] / n_classes)
