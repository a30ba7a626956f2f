"""Functions inside of what `memoir/test_defaults.py` tests from outside."""

import numpy as np
from sklearn.datasets import load_digits

from sklearn_xc import MemoirSVC
from sklearn_xc.memoir._auto import batch_size_of
from sklearn_xc.training._minibatches import sorted_by_class


def test_parts_are_visited_in_their_order_unless_classes_stand_together():
    X, y = load_digits(return_X_y=True)
    assert not sorted_by_class(y.astype(np.int32))
    assert sorted_by_class(np.sort(y).astype(np.int32))
    assert not sorted_by_class(np.zeros(50, dtype=np.int32))
    assert not sorted_by_class(np.int32([3]))
    order = np.argsort(y, kind="stable")
    model = MemoirSVC(random_state=0).partial_fit(X[order], y[order], classes=np.arange(10))
    assert model.score(X, y) > 0.9


def test_batches_are_those_of_the_paper_where_their_size_is_the_penalty():
    X, y = load_digits(return_X_y=True)
    size = {}
    for reduction in "mean", "sum":
        model = MemoirSVC(reduction=reduction, max_iter=1, random_state=0).fit(X, y)
        size[reduction] = batch_size_of(model, model._state)
    assert size == {"mean": len(y) / 10, "sum": len(y) / round(len(y) / (100 * np.sqrt(10)))}
