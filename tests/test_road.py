"""The road of X: from `fit` or `predict_topk` to the kernels through few files."""

import numpy as np
import pytest
from _road import n_returns, road_of, road_of_call

import sklearn_xc
from sklearn_xc.datasets import make_xc_classification

N_SAMPLES, N_CLASSES = 311, 20
X, Y = make_xc_classification(N_SAMPLES, 500, N_CLASSES, random_state=0)
RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(N_SAMPLES, 23))
CODES = np.arange(N_SAMPLES) % N_CLASSES
WEIGHT = RNG.uniform(0.5, 2, N_SAMPLES)
DATA = {
    "sparse": (X, CODES, None),
    "dense": (DENSE, CODES, None),
    "weights": (X, CODES, WEIGHT),
    "zero weights": (DENSE, CODES, WEIGHT * (np.arange(N_SAMPLES) % 3 > 0)),
    "labels": (X, Y, None),
    "labels of dense rows": (DENSE, Y, None),
}
MOST_FILES = 6
MOST_STOPS_OF_PREDICTION = 5
PILOT = 1  # a file more of PPDSparse, which chooses penalties before its solver runs
# Of the softmax models a copy of some rows takes a road of its own where the ridge is searched.
GIVEN = {
    "LDGSClassifier": {"alpha": 1e-4},
    "ImplicitSoftmaxRegressor": {"alpha": 0.01, "learning_rate": 0.1},
}
SEARCH = {"ldgs/_ridge", "softmax/_pilot", "softmax/_full_softmax"}
ESTIMATORS = {
    "PPDSparseClassifier": "ppdsparse/_classifier",
    "MemoirSVC": "memoir/_classifier",
    "LDGSClassifier": "ldgs/_classifier",
    "AugmentReduceClassifier": "augment_reduce/_classifier",
    "ImplicitSoftmaxRegressor": "implicit_softmax/_regressor",
}


def fitted_road(name, data, automatic=False):
    X, y, weight = DATA[data]
    estimator = getattr(sklearn_xc, name)(n_jobs=1, random_state=0)
    if not automatic:
        estimator.set_params(**GIVEN.get(name, {}))
    if name != "PPDSparseClassifier":  # whose rounds are those of the kernel
        estimator.set_params(max_iter=2)
    if y is Y and not estimator._multilabel:
        pytest.skip("one class a sample")
    return road_of(estimator, X, y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_pass_few_files_and_none_twice(name, data):
    road = fitted_road(name, data)
    assert n_returns(road) == 0, road
    assert len(road) <= MOST_FILES + PILOT * (name == "PPDSparseClassifier"), road


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", GIVEN)
def test_a_search_for_the_ridge_adds_its_own_files_only(name):
    found = set(fitted_road(name, "dense", automatic=True))
    assert found - set(fitted_road(name, "dense")) <= SEARCH


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_it_begins_at_fit_and_x_becomes_float32_at_one_place(name):
    road = fitted_road(name, "dense")
    beginning = [ESTIMATORS[name], "utils/_callbacks", "base/_validation", "utils/_matrix"]
    assert road[: len(beginning)] == beginning
    assert all(place.split("/")[0] in (beginning[0].split("/")[0], "softmax") for place in road[4:])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_to_predict_go_straight_to_the_index(name):
    model = getattr(sklearn_xc, name)(n_jobs=1, random_state=0, **GIVEN.get(name, {}))
    if name != "PPDSparseClassifier":
        model.set_params(max_iter=2)
    model.fit(X, CODES)
    road = road_of_call(lambda: model.predict_topk(X), N_SAMPLES)
    assert n_returns(road) == 0, road
    assert len(road) <= MOST_STOPS_OF_PREDICTION, road


def test_a_file_that_is_gone_back_to_is_seen():
    class There:
        """Asks for predictions in its fit, as one that looks at its rows in many places."""

        def fit(self, X, y):
            model = sklearn_xc.PPDSparseClassifier(random_state=0).fit(X, y)
            model.predict(X)
            return self

    road = road_of(There(), X, CODES)
    assert n_returns(road) > 0
    assert len(road) > MOST_FILES
