"""Errors of estimators of one class a sample on a y of another kind, in any container."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from _full import rest_in_full

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)
from sklearn_xc.datasets import first_label

ONE_CLASS = [AugmentReduceClassifier, ImplicitSoftmaxRegressor, MemoirSVC]
SHORT = {"max_iter": 2}

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = (X[:, :1] > 0).astype(int)
# As many ones as rows, but not one in each: the class numbers would pair with the wrong rows.
Y = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]] * 15)

INDICATORS = {
    "array": Y,
    "list of lists": Y.tolist(),
    "tuple of lists": tuple(Y.tolist()),
    "list of arrays": list(Y),
    "DataFrame": pd.DataFrame(Y, columns=list("abc")),
    "sparse array": sp.csr_array(Y),
    "sparse matrix": sp.coo_matrix(Y),
    "sparse, one column": sp.csr_array(y),
    "sparse, one column, CSC": sp.csc_matrix(y),
}


@pytest.mark.parametrize("container", INDICATORS)
@pytest.mark.parametrize("Estimator", ONE_CLASS)
def test_an_indicator_in_any_container_is_refused(Estimator, container):
    indicator = INDICATORS[container]
    with pytest.raises(ValueError, match="takes one class a sample") as error:
        Estimator().fit(X, indicator)
    assert Estimator.__name__ in str(error.value)
    model = Estimator()
    with pytest.raises(ValueError, match="takes one class a sample"):
        model.partial_fit(X, indicator, classes=[0, 1, 2])
    assert not hasattr(model, "classes_")
    model = Estimator(**SHORT).fit(X, np.arange(60) % 3)
    before = model.predict(X)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="takes one class a sample"):
            method(X, indicator)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("Estimator", ONE_CLASS)
def test_a_column_is_read_as_labels(Estimator):
    straight = Estimator(**SHORT, random_state=0).fit(X, y.ravel())
    for column in (y, pd.DataFrame(y)):
        with pytest.warns(match="column-vector"):
            model = Estimator(**SHORT, random_state=0).fit(X, column)
        np.testing.assert_array_equal(model.predict(X), straight.predict(X))
        with pytest.warns(match="column-vector"):
            model = Estimator(random_state=0).partial_fit(X, column, classes=[0, 1])
        assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("Estimator", rest_in_full(ONE_CLASS, MemoirSVC))
def test_a_sparse_column_does_not_touch_foreign_memory(Estimator):
    """In a process of its own: where the heap is written to, pytest would go down with it."""
    code = f"""
import numpy as np, scipy.sparse as sp
from sklearn_xc import {Estimator.__name__} as E
for n in 60, 500, 3000:
    X = np.random.default_rng(0).normal(size=(n, 5))
    try:
        E().fit(X, sp.csr_array((X[:, :1] > 0).astype(int)))
    except ValueError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("takes one class a sample") == 3


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_labels_of_ldgs_in_any_container(method):
    def fitted(labels):
        model = LDGSClassifier(max_iter=2, hidden_dim=4, random_state=0)
        return getattr(model, method)(X, labels).decision_function(X)

    wanted = fitted(Y)
    for container, indicator in INDICATORS.items():
        if "one column" in container:
            with pytest.raises(ValueError, match="y has one column"):
                fitted(indicator)
        else:
            np.testing.assert_array_equal(fitted(indicator), wanted, err_msg=container)


@pytest.mark.parametrize("Estimator", [*ONE_CLASS, LDGSClassifier, PPDSparseClassifier])
def test_what_first_label_returns_is_not_a_y(Estimator):
    with pytest.raises(ValueError, match=r"tuple of 2 arrays.*labels, has_label = first_label"):
        Estimator().fit(X, first_label(Y))
    # two samples and bits: without the check an indicator of two labels
    with pytest.raises(ValueError, match="tuple of 2 arrays"):
        Estimator().fit(X[:2], first_label([[1, 0], [0, 1]]))
