"""Functions inside of what `augment_reduce/test_convergence.py` tests from outside."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from _augment_reduce_models import MODELS, assert_same_model, make
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_xc.augment_reduce import _train as estimator_module
from sklearn_xc.augment_reduce import _train as module
from sklearn_xc.augment_reduce._train import AllClassesSteps

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


# ---------------------------------------------------------------------------------- the curve


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # too few passes
@pytest.mark.parametrize("name", MODELS)
def test_validation_scores_are_held_out_log_likelihoods(name, small, monkeypatch):
    X, y = small
    masks = []

    def kept(*arguments, real=estimator_module.held_out_samples):
        masks.append(real(*arguments))
        return masks[-1]

    monkeypatch.setattr(estimator_module, "held_out_samples", kept)
    model = make(name, early_stopping=True, validation_fraction=0.2).fit(X, y)
    (held_out,) = masks
    assert held_out.sum() == 120
    expected = model.log_likelihood(X[held_out], y[held_out])
    assert model.validation_scores_[-1] == pytest.approx(expected, abs=1e-4)
    changed = X.copy()
    changed[held_out] = 0
    with warnings.catch_warnings():  # of samples that now say nothing, it may end below its start
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = clone(model).fit(changed, y)
    assert_same_model(model, other)  # they are not trained on


def test_every_class_keeps_a_sample_for_training():
    codes = np.r_[np.zeros(50, int), np.arange(1, 41)]
    for fraction in (0.1, 0.9):
        for seed in range(5):
            held_out = estimator_module.held_out_samples(
                codes, fraction, np.random.RandomState(seed)
            )
            assert np.unique(codes[~held_out]).tolist() == list(range(41))
            assert held_out.sum() == min(int(fraction * 90), 49)


def test_tol_is_a_share_of_the_bound_over_five_passes(small):
    watch = module._Watch(0.01, 5)
    for value in [-10, -8, -6, -5, -4.5, -4, -3.99, -3.99, -3.98, -3.98]:
        watch.add(value)
        assert not watch.done()
    watch.add(-3.97)  # not 0.04 above the -4 of five passes before
    assert watch.done()
    assert make("softmax", tol=1.0, max_iter=50).fit(*small).n_iter_ == 5 + 1
    assert make("softmax", tol=None, max_iter=12).fit(*small).n_iter_ == 12
    loose, tight = (make("exact", tol=t, max_iter=100).fit(*small).n_iter_ for t in (0.2, 0.05))
    assert 5 < loose < tight < 100


# ------------------------------------------------------------------- the rate, and held-out samples


def test_automatic_rates_of_all_classes_fall_to_zero():
    seen = []

    class Recorder:
        def epoch(self, order, batch_size, rates):
            seen.extend(rates)

    steps = object.__new__(AllClassesSteps)
    steps.n_steps, steps._training, steps._steps = 0, np.arange(40), Recorder()
    steps.settings = SimpleNamespace(
        batch_size=10, learning_rate=1.0, falls_to_zero=True, max_iter=3, shuffled=True
    )
    for number in (1, 2, 3):
        steps.epoch(np.random.default_rng(0), number)
    t = np.arange(1, 13)
    np.testing.assert_allclose(seen, t**-0.5 * (1 - (t - 1) / 12))
