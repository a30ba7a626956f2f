"""Propensities of labels by their frequency."""

from math import log

import numpy as np
import pytest
import scipy.sparse as sp
from _ranked_problems import TRUE_FORMS
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc import metrics

# Propensities


@pytest.mark.parametrize(
    ("preset", "A", "B"), [("default", 0.55, 1.5), ("wikipedia", 0.5, 0.4), ("amazon", 0.6, 2.6)]
)
def test_propensities_formula(preset, A, B):
    y = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    C = (log(4) - 1) * (B + 1) ** A
    plain = [1 / (1 + C * np.exp(-A * log(count + B))) for count in (3, 1, 0)]
    for form in TRUE_FORMS.values():
        assert metrics.propensities(form(y), preset) == pytest.approx(plain, rel=1e-14)
    assert metrics.propensities(y, A=A, B=B) == pytest.approx(plain, rel=1e-14)


def test_propensities_of_class_labels():
    y = np.array(["b", "a", "b", "c"])
    by_column = metrics.propensities(np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    assert metrics.propensities(y).tolist() == by_column.tolist()
    named = metrics.propensities(y, classes=["c", "never", "b", "a"])
    assert named[[3, 2, 0]].tolist() == by_column.tolist()
    assert 0 < named[1] < named.min(initial=1, where=[True, False, True, True])


@given(
    counts=st.lists(st.integers(0, 30), min_size=1, max_size=6),
    preset=st.sampled_from(["default", "wikipedia", "amazon"]),
)
def test_propensities_rise_with_frequency(counts, preset):
    y = np.arange(30)[:, None] < np.array(counts)
    p = metrics.propensities(sp.csr_array(y), preset)
    assert p.dtype == np.float64
    assert ((p > 0) & (p <= 1)).all()
    assert (np.diff(p[np.argsort(counts, kind="stable")]) >= 0).all()
