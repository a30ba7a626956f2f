"""make_topk_scorer in searches, with folds that lack classes, pickled and cloned."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.fixes import parse_version

from sklearn_xc import PPDSparseClassifier, metrics

PLAIN = ["precision_at_k", "recall_at_k", "ndcg_at_k", "top_k_accuracy"]
PLAIN += ["mrr_at_k", "map_at_k", "f1_at_k"]
SCORED = ["psprecision_at_k", "psndcg_at_k"]
LABELS = {
    "str": np.array(["b", "a", "c", "d", "e", "f", "g", "h"]),
    "int": np.array([7, -3, 10**12, 0, 5, 1, 2, 3]),
    "float": np.array([0.5, -1.0, 2.0, 3.0, 4.0, 1e300, 7.0, 8.0]),
}


class Centroids(ClassifierMixin, BaseEstimator):
    """A stand-in with predict_topk: scores are inner products with sums of the class's rows."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y, sample_weight=None):
        if np.ndim(y) == 1 and not sp.issparse(y):
            self.classes_, column = np.unique(y, return_inverse=True)
            indicator = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), column)))
        else:
            indicator = sp.csr_array(y)
            self.classes_ = np.asarray(getattr(y, "columns", np.arange(indicator.shape[1])))
        self.coef_ = (indicator.T @ X) ** self.power
        self.n_features_in_ = X.shape[1]
        return self

    def predict_topk(self, X, k=None):
        scores = X @ self.coef_.T
        if k is not None and k > scores.shape[1]:
            raise ValueError(f"k={k} is larger than the number of classes")
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.classes_[order], np.take_along_axis(scores, order, axis=1)

    def predict(self, X):
        return self.predict_topk(X, 1)[0][:, 0]


def blobs(seed=0, n=60, n_columns=8):
    """Rows near one of n_columns corners, and the number of the corner."""
    rng = np.random.default_rng(seed)
    column = rng.permutation(np.arange(n) % n_columns)
    return np.eye(n_columns)[column] + 0.4 * rng.random((n, n_columns)), column


@pytest.mark.parametrize("name", PLAIN + SCORED)
@pytest.mark.parametrize("container", [sp.csr_array, np.asarray, pd.DataFrame])
def test_scorer_in_a_search_with_indicators(name, container):
    X, column = blobs()
    y = np.eye(8, dtype=int)[column]
    y[:, 3] = 0  # a label without positives
    y[0] = 0  # a row without labels
    y = container(y)
    p = metrics.propensities(y) if name in SCORED else None
    scorer = metrics.make_topk_scorer(name, k=3, propensities=p)
    pipeline = make_pipeline(MaxAbsScaler(), Centroids())
    grid = {"centroids__power": [0.0, 1.0]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=KFold(3), error_score="raise")
    search.fit(X, y)
    best = search.cv_results_["mean_test_score"]
    assert 0 <= best[0] < best[1] <= 1
    # The scorer is the metric of the search's own predictions.
    *_, model = best_pipeline = search.best_estimator_
    labels, _ = model.predict_topk(best_pipeline[:-1].transform(X), 3)
    options = {} if p is None else {"propensities": p}
    assert scorer(search, X, y) == getattr(metrics, name)(y, labels, 3, **options)


@pytest.mark.parametrize("name", PLAIN + SCORED)
@pytest.mark.parametrize("names", LABELS)
def test_scorer_when_folds_lack_classes(name, names):
    X, column = blobs(n=24)
    order = np.argsort(column, kind="stable")  # every fold lacks its classes in training
    X, y = X[order], LABELS[names][column[order]]
    classes = np.unique(y) if name in SCORED else None
    p = metrics.propensities(y) if name in SCORED else None
    scorer = metrics.make_topk_scorer(name, k=7, propensities=p, classes=classes)
    model = Centroids()
    for train, test in KFold(4).split(X):
        model.fit(X[train], y[train])
        assert len(model.classes_) == 6  # less than k
        assert scorer(model, X[test], y[test]) == 0.0
        seen = scorer(model, X[train], y[train])
        best = {"precision_at_k": 1 / 7, "f1_at_k": 2 / 8}.get(name, 1.0)
        assert seen == pytest.approx(best, abs=0.3)
        assert seen > 0.1


@pytest.mark.parametrize("form", ["labels", "csr", "frame"])
def test_scorer_of_an_estimator_of_ours(form):
    X, column = blobs(n=80)
    names = LABELS["str"]
    y = {
        "labels": names[column],
        "csr": sp.csr_matrix(np.eye(8)[column]),
        "frame": pd.DataFrame(np.eye(8, dtype=int)[column], columns=names),
    }[form]
    pipeline = make_pipeline(MaxAbsScaler(), PPDSparseClassifier(random_state=0))
    scorer = metrics.make_topk_scorer("top_k_accuracy", k=1)
    search = GridSearchCV(pipeline, {}, scoring=scorer, cv=KFold(2), error_score="raise")
    search.fit(sp.csr_matrix(X), y)
    assert search.best_score_ > 0.9
    assert search.score(sp.csr_matrix(X), y) == scorer(search, X, y) > 0.9


def test_scorer_cuts_k_but_not_the_denominator():
    X, column = blobs(n=20, n_columns=4)
    model = Centroids().fit(X, column)
    assert metrics.make_topk_scorer("precision_at_k", k=10)(model, X, column) == 1 / 10
    assert metrics.make_topk_scorer("recall_at_k", k=10)(model, X, column) == 1.0
    y = np.eye(4, dtype=int)[column]
    model.fit(X, y)
    assert metrics.make_topk_scorer("precision_at_k", k=10)(model, X, y) == 1 / 10


def test_scorer_with_sample_weight():
    X, column = blobs()
    model = Centroids(power=0.0).fit(X, column)
    weights = np.arange(len(X)) % 4
    scorer = metrics.make_topk_scorer("ndcg_at_k", k=2)
    repeated = scorer(model, np.repeat(X, weights, axis=0), np.repeat(column, weights))
    assert scorer(model, X, column, sample_weight=weights) == pytest.approx(repeated)


def test_several_scorers_at_once():
    X, column = blobs()
    scoring = {f"p@{k}": metrics.make_topk_scorer("precision_at_k", k=k) for k in (1, 3)}
    search = GridSearchCV(Centroids(), {"power": [1.0]}, scoring=scoring, refit="p@1", cv=KFold(3))
    results = search.fit(X, column).cv_results_
    assert results["mean_test_p@1"][0] >= results["mean_test_p@3"][0] > 0


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_search_hands_sample_weight_to_the_scorer(routing, several):
    X, column = blobs()
    weights = 1.0 * (column < 4)
    with sklearn.config_context(enable_metadata_routing=routing):
        scorer = metrics.make_topk_scorer("top_k_accuracy", k=1)
        model = Centroids(power=0.0)  # always predicts the first class
        if routing:
            scorer = clone(scorer.set_score_request(sample_weight=True))
            model.set_fit_request(sample_weight=False)
        scoring = {"top": scorer, "again": scorer} if several else scorer
        search = GridSearchCV(model, {"power": [0.0]}, scoring=scoring, cv=KFold(2), refit=False)
        search.fit(X, column, sample_weight=weights)
    if not routing and parse_version(sklearn.__version__) < parse_version("1.7"):
        weights = np.ones(len(X))  # without routing, older searches hand weights to fit alone
    folds = [test for _, test in KFold(2).split(X)]
    plain = np.mean([np.average(column[fold] == 0, weights=weights[fold]) for fold in folds])
    name = "mean_test_top" if several else "mean_test_score"
    assert search.cv_results_[name][0] == pytest.approx(plain)


def test_scorer_is_pickled_cloned_and_shown():
    X, column = blobs()
    p = metrics.propensities(column)
    scorer = metrics.make_topk_scorer("psndcg_at_k", k=2, propensities=p, classes=np.arange(8))
    assert repr(scorer) == (
        "make_topk_scorer('psndcg_at_k', k=2, propensities=<8 values>, classes=<8 values>)"
    )
    assert repr(metrics.make_topk_scorer()) == "make_topk_scorer('ndcg_at_k', k=5)"
    model = Centroids().fit(X, column)
    search = clone(GridSearchCV(Centroids(), {"power": [1.0]}, scoring=scorer))
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer), search.scoring):
        assert copy is not scorer
        assert repr(copy) == repr(scorer)
        assert copy(model, X, column) == scorer(model, X, column)


def test_a_metric_without_a_name_can_be_shown():
    scorer = metrics.make_topk_scorer(partial(metrics.precision_at_k), k=3)
    assert repr(scorer).startswith("make_topk_scorer(functools.partial(")
