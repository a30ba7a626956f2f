"""Functions inside of what `inspection/test_label_report.py` tests from outside."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.base._label_counts import summed_support
from sklearn_xc.topk._weight_store import weights_per_class

RNG = np.random.default_rng(0)


def test_support_of_classes_that_come_later():
    classes, codes = np.array(["ant", "bee", "cow"]), np.array([1, 1, 2])
    before = np.array(["ant", "cow"]), np.array([7, 5])
    assert summed_support(classes, codes, None).tolist() == [0, 2, 1]
    assert summed_support(classes, codes, None, before).tolist() == [7, 2, 6]
    assert summed_support(classes, codes, np.array([0, 1, 1]), before).tolist() == [7, 1, 6]
    assert summed_support(classes, codes, None, (before[0], None)) is None


@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_weights_per_class(form, monkeypatch):
    monkeypatch.setattr("sklearn_xc.topk._weight_store.ENTRIES_AT_ONCE", 7)
    W = RNG.integers(0, 3, size=(5, 11)).astype(np.float32)
    expected = (W != 0).sum(axis=1).tolist()
    assert weights_per_class(form(W), 5).tolist() == expected
    if sparse.issparse(form(W)):
        stored = form(W)
        stored.data[:] = 0
        assert weights_per_class(stored, 5).tolist() == [0] * 5
    assert weights_per_class(form(W[:1]), 2).tolist() == expected[:1] * 2
