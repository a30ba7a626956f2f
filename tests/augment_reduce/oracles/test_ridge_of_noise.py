"""A probit of many classes has a ridge that goes by how much rows are alike."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import AugmentReduceClassifier
from sklearn_xc.augment_reduce import _exact_steps
from sklearn_xc.augment_reduce._auto import PassSettings
from sklearn_xc.augment_reduce._exact_steps import likeness, plain_settings
from sklearn_xc.augment_reduce._noise_models import slope_of_noise
from sklearn_xc.softmax._full_softmax import RATE, RIDGE
from sklearn_xc.utils._matrix import as_rows, normalise

N_CLASSES = 2000


def samples_of(X):
    return SimpleNamespace(rows=as_rows(normalise(X)), training=np.arange(X.shape[0]))


@pytest.mark.parametrize("to_matrix", [np.asarray, sparse.csr_array])
def test_likeness_is_the_mean_square_of_inner_products_of_pairs(to_matrix):
    X = np.random.default_rng(0).normal(1, size=(40, 3)).astype(np.float32)
    training = np.arange(5, 35)
    about_mean = X[training] - X[training].mean(axis=0)
    inner = about_mean @ about_mean.T
    pairs = inner[~np.eye(30, dtype=bool)]
    found = likeness(as_rows(normalise(to_matrix(X))), training)
    assert found == pytest.approx(np.mean(pairs**2), rel=1e-5)


def settings_of(model, scale, samples, **params):
    given = PassSettings(**dict.fromkeys(field.name for field in fields(PassSettings)))
    model = AugmentReduceClassifier(model, **params)
    model.classes_ = np.arange(N_CLASSES)
    return plain_settings(model, scale, samples, given, 0)


def alpha_of(*args, **params):
    return settings_of(*args, **params).alpha


def test_words_of_few_rows_take_the_ridge_of_the_softmax_and_few_directions_more(monkeypatch):
    monkeypatch.setattr(_exact_steps, "steps_of_softmax", lambda *_: (RIDGE, RATE))
    slope = slope_of_noise("probit", N_CLASSES)
    own = samples_of(sparse.csr_array(sparse.eye_array(600)))
    directions = np.random.default_rng(0).normal(size=(600, 120))
    shared = samples_of(directions / np.linalg.norm(directions, axis=1, keepdims=True))
    one = np.ones(600)
    assert alpha_of("probit", one, own) == pytest.approx(RIDGE, rel=1e-3)
    assert alpha_of("softmax", one, shared) == RIDGE
    assert alpha_of("probit", one[:120], shared) == pytest.approx(RIDGE * slope**1.25)
    np.testing.assert_allclose(alpha_of("probit", 2 * one, own, alpha=2.0), 0.5 * one)


@pytest.mark.parametrize(("ridge", "power"), [(RIDGE, 2), (RIDGE / 3, 2), (RIDGE / 30, 1)])
def test_a_weak_ridge_takes_a_longer_step(monkeypatch, ridge, power):
    monkeypatch.setattr(_exact_steps, "steps_of_softmax", lambda *_: (ridge, RATE))
    own, one = samples_of(sparse.csr_array(sparse.eye_array(600))), np.ones(600)
    slope = slope_of_noise("probit", N_CLASSES)
    found = settings_of("probit", one, own).learning_rate
    assert found == pytest.approx(RATE / slope**power)
    assert settings_of("softmax", one, own).learning_rate == RATE
    given = settings_of("probit", one, own, alpha=ridge).learning_rate
    assert given == pytest.approx(RATE / slope**2)
