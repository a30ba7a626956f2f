"""Input at the ends of what float32 and one thread can do: one clear error, or the right answer."""

import os
import threading

import numpy as np
import pandas as pd
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.base import clone

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKThresholdClassifier,
    load,
)

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(5, 20))
Y = np.arange(200) % 5
X = CENTRES[Y] + 0.3 * RNG.normal(size=(200, 20))
ESTIMATORS = [
    PPDSparseClassifier(random_state=0),
    MemoirSVC(max_iter=20, random_state=0),
    LDGSClassifier(max_iter=100, random_state=0),
    AugmentReduceClassifier(max_iter=200, random_state=0),
    ImplicitSoftmaxRegressor(learning_rate=1.0, random_state=0),
]
ids = [type(estimator).__name__ for estimator in ESTIMATORS]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
@pytest.mark.parametrize(
    "weight",
    rest_in_full(
        [1e-50, 1e-44, 1e-30, 1e-8, 1e8, 1e15, 1e30, 1e37, 1e300], 1e-50, 1e-44, 1e37, 1e300
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_weights_of_any_size(estimator, weight):
    """Either the model is trained, or an error or a warning says that it is not."""
    model = clone(estimator)
    weights = np.full(len(Y), weight)
    if type(estimator) is PPDSparseClassifier and weight < 1 and weight > 1e-45:
        with pytest.warns(UserWarning, match="every weight is zero: the penalties"):
            model.fit(X, Y, sample_weight=weights)
        return
    try:
        model.fit(X, Y, sample_weight=weights)
    except ValueError as error:
        assert "sample_weight" in str(error)  # noqa: PT017
        assert not 1e-8 <= weight <= 1e15
        assert not hasattr(model, "classes_")
        return
    # alpha of MemoirSVC is 1 / (C * total weight), as in LinearSVC: light samples, small weights
    assert model.score(X, Y) > (0.7 if type(model) is MemoirSVC and weight < 1 else 0.9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_dates_are_no_numbers(estimator):
    dates = np.arange(40).reshape(20, 2).astype("datetime64[s]")
    with pytest.raises((ValueError, TypeError), match=r"datetime64|real numbers"):
        clone(estimator).fit(dates, np.arange(20) % 3)
    model = clone(estimator).fit(X[:, :2], Y)
    with pytest.raises((ValueError, TypeError), match=r"datetime64|real numbers"):
        model.predict(dates)


@pytest.mark.parametrize("estimator", [ESTIMATORS[0], ESTIMATORS[2]], ids=[ids[0], ids[2]])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scores_beyond_float32_are_refused_by_every_method(estimator, container):
    labels = sparse.csr_array(np.eye(5, dtype=int)[Y])
    model = clone(estimator).fit(container(X), labels)
    model.coef_ = np.full((5, 20), 3e38, dtype=np.float32)
    model.intercept_ = np.zeros(5, dtype=np.float32)
    wide = container(np.full((2, 20), 10.0))
    for method in "predict", "decision_function", "predict_topk":
        with pytest.raises(ValueError, match="not finite in float32"):
            getattr(model, method)(wide)
    few = container(np.eye(20)[:2] * 1e3)
    model.coef_ = sparse.csr_array(np.where(np.eye(5, 20) > 0, -3e38, 0).astype(np.float32))
    if estimator is ESTIMATORS[0]:
        with pytest.raises(ValueError, match="not finite in float32"):
            model.predict(few)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
def test_one_thread_at_a_time_trains_an_estimator(estimator):
    model = clone(estimator)
    inside, go_on = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: model.fit(X, Y, sample_weight=_Lazy(inside, go_on)))
    other.start()
    assert inside.wait(30)
    try:
        with pytest.raises(RuntimeError, match=f"is training this {type(model).__name__}"):
            model.fit(X, Y)
    finally:
        go_on.set()
        other.join()
    assert model.score(X, Y) > 0.9  # of the first
    model.fit(X, Y, sample_weight=np.ones(len(Y)))


class _Lazy:
    """Weights that are ready when they are told to be."""

    def __init__(self, inside, go_on):
        self._inside, self._go_on = inside, go_on

    def __array__(self, dtype=None, copy=None):
        self._inside.set()
        self._go_on.wait(30)
        return np.ones(len(Y))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_trains_what_a_thread_of_the_parent_was_training():
    model = PPDSparseClassifier(random_state=0)
    inside, go_on = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: model.fit(X, Y, sample_weight=_Lazy(inside, go_on)))
    other.start()
    assert inside.wait(30)
    pid = os.fork()
    if pid == 0:
        model.fit(X, Y)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    go_on.set()
    other.join()


def test_a_model_keeps_the_similarity_that_it_was_fitted_with(tmp_path):
    model = LDGSClassifier(hidden_dim=4, max_iter=3, index="exact", random_state=0).fit(X, Y)
    before = model.decision_function(X)
    model.predict_topk(X, 3, search="index")
    model.set_params(similarity="sqeuclidean")
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").decision_function(X), before)
    with pytest.raises(ValueError, match="similarity='sqeuclidean' is not that of the fit before"):
        model.partial_fit(X, Y)
    assert model.fit(X, Y).decision_function(X).max() <= 0  # minus squared distances


def test_thresholds_without_a_held_out_positive():
    X = np.array([[-1.2, 0.8], [-0.8, -0.9], [-0.2, 1.3]])
    Y = np.array([[0, 0], [1, 1], [0, 0]])
    for seed in range(4):
        model = TopKThresholdClassifier(
            PPDSparseClassifier(random_state=seed), scope="per_label", cv=0.3
        )
        assert model.fit(X, Y).predict(X).shape == (3, 2)
        assert np.isfinite(model.best_score_)


@pytest.mark.kernel
@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=ids[1:])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_does_not_go_on_from_weights_of_other_shapes(estimator):
    for columns in (slice(None), slice(2)):
        model = clone(estimator).fit(X, Y)
        model.coef_ = model.coef_[:3, columns]
        with pytest.raises(ValueError, match="weights of shape"):
            model.partial_fit(X, Y)
        with pytest.raises(ValueError, match="weights of shape"):
            model.set_params(warm_start=True).fit(X, Y)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=ids[1:])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_needs_the_columns_in_their_order(estimator):
    frame = pd.DataFrame(X, columns=[f"word {i}" for i in range(20)])
    model = clone(estimator).set_params(warm_start=True).fit(frame, Y)
    with pytest.raises(ValueError, match="features of the fit before, in their order"):
        model.fit(frame.iloc[:, ::-1], Y)
    assert list(model.feature_names_in_) == list(frame.columns)
    model.fit(frame, Y)
    model.fit(X, Y)  # columns without names go by their places


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stored_zeros_change_no_bit(estimator):
    plain = sparse.csr_array(np.where(X > 0.5, X, 0).astype(np.float32))
    stored = sparse.csr_array(np.ones_like(X, dtype=np.float32))
    stored.data[:] = plain.toarray().ravel()
    tiny = stored.astype(np.float64)
    tiny.data[tiny.data == 0] = 1e-60  # zero in float32
    n_stored = stored.nnz
    model = clone(estimator).fit(plain, Y)
    for given in stored, tiny:
        again = clone(estimator).fit(given, Y)
        np.testing.assert_array_equal(
            again.decision_function(given), model.decision_function(plain)
        )
    assert stored.nnz == n_stored  # the caller's matrix is left alone


@pytest.mark.kernel
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=ids)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classes_set_by_hand_to_other_numbers(estimator):
    model = clone(estimator).fit(X, Y)
    model.classes_ = model.classes_[:0]
    with pytest.raises(ValueError, match="classes"):
        model.predict_topk(X)
    model.classes_ = np.arange(20)
    with pytest.raises(ValueError, match="classes"):
        model.predict_topk(X, 12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_coordinates_of_other_features_are_refused():
    model = MemoirSVC(max_iter=20, random_state=0).fit(X, Y)
    model._state.coordinates.scale = np.ones(2)
    with pytest.raises(ValueError, match="coordinates of the samples do not fit the features"):
        model.partial_fit(X, Y)
