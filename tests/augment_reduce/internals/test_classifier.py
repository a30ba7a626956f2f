"""Functions inside of what `augment_reduce/test_classifier.py` tests from outside."""

import copy

import numpy as np
import pytest
from _augment_reduce_models import MODELS, assert_same_model, make
from sklearn.utils import check_random_state

from sklearn_xc.augment_reduce import _train as module
from sklearn_xc.softmax import _full_softmax as exact_module
from sklearn_xc.utils._random import stream

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


# ---------------------------------------------------------------------------- going on training


@pytest.mark.parametrize("name", MODELS)
def test_warm_start_goes_on_with_weights_and_schedule(name, small, monkeypatch):
    X, y = small
    seen = []

    def recorded(t, learning_rate, real=module.step_size):
        seen.extend(np.atleast_1d(t).tolist())
        return real(t, learning_rate)

    monkeypatch.setattr(module, "step_size", recorded)
    model = make(name, warm_start=True).fit(X, y)
    assert (model.n_iter_, model.n_steps_) == (4, 48)
    before = model.coef_.copy()
    model.set_params(max_iter=2).fit(X, y)
    assert (model.n_iter_, model.n_steps_) == (2, 72)
    assert len(model.loss_curve_) == 2
    assert seen == list(range(1, 73))
    assert np.abs(model.coef_ - before).max() > 1e-3
    before = model.coef_.copy()
    model.set_params(learning_rate=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, before, atol=1e-6)
    model.set_params(warm_start=False, learning_rate=0.02, max_iter=4).fit(X, y)
    assert model.n_steps_ == 48
    assert_same_model(model, make(name).fit(X, y))


# Noise of the others is drawn for the place of a sample in its part.
@pytest.mark.parametrize("name", ["softmax", "one_vs_each", "exact"])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_partial_fit_is_a_warm_started_pass(name, n_classes, small):
    """To the last bit, on rows in the order of the pass that fill mini-batches."""
    X, y = small[0][small[1] < n_classes], small[1][small[1] < n_classes]
    X, y = X[: len(y) // 50 * 50], y[: len(y) // 50 * 50]
    whole = make(name, warm_start=True, max_iter=1).fit(X, y)
    parts = copy.deepcopy(whole)
    for _ in range(3):
        seed = check_random_state(0).randint(2**31)
        order = stream(seed, "passes", whole.n_steps_).permutation(len(y))
        whole.fit(X, y)
        parts.partial_fit(X[order], y[order])
        assert_same_model(whole, parts)
        assert (parts.n_steps_, parts.n_iter_) == (whole.n_steps_, 1)
    assert parts.n_steps_ == 4 * len(y) // 50


# --------------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(name, small, monkeypatch):
    X, y = small
    model = make(name).fit(X, y)
    before, weights = vars(model).copy(), model.coef_.copy()
    calls = []
    kernel, step = (exact_module.kernel, "epoch") if name == "exact" else (module.kernel, "ascend")

    real = getattr(kernel, step)

    def interrupted(*arguments):
        calls.append(step)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(kernel, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y % 5)
    assert vars(model) == before
    np.testing.assert_array_equal(model.coef_, weights)
    calls.clear()
    model.set_params(warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, weights)
    unfitted = make(name)
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, y)
    assert vars(unfitted) == vars(make(name))
