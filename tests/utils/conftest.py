"""Fixtures of the tests of shared tools."""

import pytest

from sklearn_xc.datasets import make_xc_classification


@pytest.fixture(scope="module")
def labels():
    return make_xc_classification(
        n_samples=200, n_features=100, n_classes=8, n_labels=2.0, random_state=0
    )
