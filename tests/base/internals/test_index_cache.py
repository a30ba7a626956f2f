"""Functions inside of what `base/test_index_cache.py` tests from outside."""

import pickle
import threading

import numpy as np
import pytest
from _least_squares import MULTICLASS, LeastSquares, X

from sklearn_xc.base import _linear_model

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


def test_concurrent_prediction_builds_one_index(monkeypatch):
    model = pickle.loads(pickle.dumps(LeastSquares(n_jobs=2).fit(X, MULTICLASS)))
    built, results = [], []

    def counted(*arguments, **options):
        built.append(1)
        return _base_index(*arguments, **options)

    _base_index = _linear_model.InvertedIndex
    monkeypatch.setattr(_linear_model, "InvertedIndex", counted)
    workers = [
        threading.Thread(target=lambda: results.append(model.predict_topk(X))) for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(built) == 1
    assert len(results) == 8
    for labels, scores in results:
        np.testing.assert_array_equal(labels, results[0][0])
        np.testing.assert_array_equal(scores, results[0][1])
