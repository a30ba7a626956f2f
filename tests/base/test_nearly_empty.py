"""A multilabel prediction that is nearly empty says so, once; others do not."""

import pickle
import warnings

import numpy as np
import pytest
from _rare_labels import fitted, rare_labels
from scipy import sparse

import sklearn_xc
from sklearn_xc import LDGSClassifier, PPDSparseClassifier


@pytest.mark.parametrize(
    ("kind", "limit"), [("plain", "score above zero"), ("calibrated", "probability above one half")]
)
def test_it_warns_once_for_each_fit(kind, limit, tmp_path):
    X, Y = rare_labels()
    model = fitted(X, Y, kind)
    match = rf"no label to \d+ of 600 samples, as none has a {limit} .* 100% .*TopKThresholdClass"
    with pytest.warns(UserWarning, match=match) as caught:
        found = model.predict(X)
    assert caught[0].filename == __file__
    assert (np.diff(found.indptr) == 0).mean() >= 0.9
    model.predict(X)  # warnings are errors in these tests
    model.save(tmp_path / "model.sxc")
    for other in (fitted(X, Y, kind), sklearn_xc.load(tmp_path / "model.sxc")):
        with pytest.warns(UserWarning, match="no label to"):
            other.predict(X)
    model.fit(X, Y)
    with pytest.warns(UserWarning, match="no label to"):
        pickle.loads(pickle.dumps(model)).predict(X)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_training_rows_that_are_as_empty_are_not_worth_a_warning(share):
    _, Y = rare_labels(share_with_labels=share)
    n_labels = np.diff(Y.indptr)
    model = fitted(*rare_labels())
    model._share_with_labels = float((n_labels > 0).mean())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model._warn_if_nearly_empty(n_labels, "score above zero")
    assert not caught


def test_rows_of_weight_zero_are_not_counted():
    X, Y = rare_labels()
    empty = sparse.csr_array((600, 30), dtype=int)
    both = sparse.vstack([X, X], format="csr"), sparse.vstack([Y, empty], format="csr")
    weight = np.repeat([1.0, 0.0], 600)
    assert fitted(X, Y)._share_with_labels == 1
    assert fitted(*both)._share_with_labels == 0.5
    assert fitted(*both, sample_weight=weight)._share_with_labels == 1
    assert fitted(*both, kind="calibrated", sample_weight=weight)._share_with_labels == 1


def test_labels_that_are_found_are_no_reason():
    X, Y = rare_labels()
    X = sparse.hstack([X, 3 * Y.astype(np.float32)], format="csr")
    assert (PPDSparseClassifier(random_state=0).fit(X, Y).predict(X) != Y).nnz == 0
    model = LDGSClassifier(max_iter=5, random_state=0).fit(X, Y)  # tunes its limit itself
    model.predict(X)


def test_classes_are_never_missing():
    X, Y = rare_labels()
    with warnings.catch_warnings(record=True) as caught:
        fitted(X, Y.indices % 5).predict(X)
    assert not caught
