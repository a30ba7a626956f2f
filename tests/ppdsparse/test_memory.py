"""The memory that the user guide states, against what training allocates."""

import numpy as np
import pytest
from _full import rest_in_full
from _memory import with_peak

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification

pytestmark = pytest.mark.kernel


SIZES = [(20_000, 5000, 200), (3000, 60_000, 400)]


@pytest.mark.parametrize(("n_samples", "n_features", "n_classes"), SIZES)
def test_training_stays_within_the_formula(n_samples, n_features, n_classes):
    X, y = make_xc_classification(n_samples, n_features, n_classes, random_state=0)
    model = PPDSparseClassifier("rows", "rows", random_state=0)
    _, peak = with_peak(lambda: model.fit(X, y))
    n_weights = model.coef_.nnz
    # Lists are reserved at their full length, 8 D + 16 N bytes for each of sixteen classes, though
    # memory is taken only as they grow; tracemalloc counts what is reserved.
    workspace = (117 + 16 * 8) * n_features + (2 + 16 * 16) * n_samples
    formula = 16 * X.nnz + 24 * n_weights + workspace
    small = 64 * (n_samples + n_features + n_classes) + 2**20
    assert peak <= formula + small
    assert peak >= 0.4 * formula  # it would say nothing if it were far too large
    assert formula < 4 * n_samples * n_classes + 4 * n_features * n_classes + workspace
    assert np.isfinite(model.coef_.data).all()


@pytest.mark.parametrize(("n_samples", "n_features", "n_classes"), rest_in_full(SIZES, SIZES[0]))
def test_penalties_that_are_chosen_take_little_more(n_samples, n_features, n_classes):
    X, y = make_xc_classification(n_samples, n_features, n_classes, random_state=0)
    rows = PPDSparseClassifier("rows", "rows", random_state=0)
    _, given = with_peak(lambda: rows.fit(X, y))
    _, chosen = with_peak(lambda: PPDSparseClassifier(random_state=0).fit(X, y))
    assert chosen <= 1.2 * given
