"""The variables of probit and logistic start at those of equal utilities, not at scale 1."""

from types import SimpleNamespace

import numpy as np
import pytest
from _full import rest_in_full

from sklearn_xc.augment_reduce._bounds import bound_for
from sklearn_xc.softmax._class_sampling import ClassSampler

# The best bound of equal utilities over all means and scales, by a grid of both.
BEST = {
    ("probit", 146): -5.02,
    ("probit", 1623): -7.44,
    ("logistic", 1623): -7.54,
    ("probit", 20_000): -9.96,
    ("logistic", 20_000): -10.05,
}


@pytest.mark.parametrize(
    ("model", "n_classes"), rest_in_full(list(BEST), ("probit", 1623), ("logistic", 1623))
)
def test_the_first_bound_of_equal_utilities_is_about_the_best(model, n_classes):
    """At the usual largest noise and scale 1 it is -24.9 (probit), -12.8 (logistic) of 1623."""
    settings = SimpleNamespace(
        model=model,
        bound="augment_reduce",
        local_steps="auto",
        n_steps=0,
        shuffled=True,
        n_threads=1,
    )
    y = np.arange(64, dtype=np.int32)
    sampler = ClassSampler("uniform", np.ones(n_classes), 20)
    bound = bound_for(settings, y, np.zeros(n_classes, dtype=np.float32), sampler)
    found = bound.value(np.zeros((64, n_classes), dtype=np.float32), y).mean()
    assert BEST[model, n_classes] - 1 < found < BEST[model, n_classes] + 0.01
