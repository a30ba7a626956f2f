"""The inverted index that an estimator keeps: built once, for the weights that are there."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from _least_squares import MULTICLASS, LeastSquares, X
from sklearn.base import clone

pytestmark = pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP")


def test_prediction_changes_no_attribute():
    model = LeastSquares().fit(X, MULTICLASS)
    for fitted in (model, pickle.loads(pickle.dumps(model))):
        before = vars(fitted).copy()
        fitted.predict(X)
        fitted.predict_topk(X)
        fitted.decision_function(X)
        assert vars(fitted) == before


def test_an_index_is_built_once(monkeypatch):
    model = LeastSquares().fit(X, MULTICLASS)
    index = model._model()
    model.predict(X)
    assert model._model() is index


def test_fitted_weights_cannot_be_edited_in_place():
    model = LeastSquares().fit(X, MULTICLASS)
    for fitted in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for array in (fitted.coef_.data, fitted.coef_.indices, fitted.intercept_):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_weights_that_the_user_puts_in_place_count():
    model = LeastSquares().fit(X, MULTICLASS)
    expected = model.decision_function(X)
    model.coef_ = model.coef_ * 2
    model.intercept_ = model.intercept_ * 2
    np.testing.assert_array_equal(model.decision_function(X), expected * 2)
    model.intercept_ += 1  # in place, between two calls
    np.testing.assert_allclose(model.decision_function(X), expected * 2 + 1, atol=1e-6)
    model.coef_ = model.coef_.toarray()
    np.testing.assert_allclose(model.decision_function(X), expected * 2 + 1, atol=1e-6)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(loaded.decision_function(X), expected * 2 + 1, atol=1e-6)


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "dok", "lil"])
def test_weights_in_place_may_be_of_any_sparse_format(form):
    model = LeastSquares().fit(X, MULTICLASS)
    expected = model.decision_function(X)
    model.coef_ = model.coef_.asformat(form)
    for given in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(given.decision_function(X), expected)
    model.coef_ = (2 * model.coef_).asformat(form)
    model.intercept_ = 2 * model.intercept_
    np.testing.assert_array_equal(model.decision_function(X), 2 * expected)
    assert model.prune(0).coef_.format == "csr"


def test_weights_of_the_wrong_shape_are_refused():
    model = LeastSquares().fit(X, MULTICLASS)
    coef = model.coef_
    model.coef_ = coef[:5]
    with pytest.raises(ValueError, match="coef_ has 5 rows, but fit's y needs 7"):
        model.predict(X)
    model.coef_ = coef[:, :5]
    with pytest.raises(ValueError, match="X has 6 features, but coef_ has 5"):
        model.predict(X)


def test_pickles_leave_the_index_out(tmp_path):
    model = LeastSquares().fit(X, MULTICLASS)
    assert "_index_cache" not in model.__getstate__()
    joblib.dump(model, tmp_path / "model")
    for loaded in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
        joblib.load(tmp_path / "model", mmap_mode="r"),
        copy.deepcopy(model),
    ):
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert not hasattr(clone(model), "coef_")
    pickle.loads(pickle.dumps(LeastSquares())).fit(X, MULTICLASS)
