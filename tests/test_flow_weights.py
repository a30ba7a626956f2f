"""sample_weight on its way through pipelines and searches, by metadata routing and without."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sklearn_xc
from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    MemoirSVC,
    PPDSparseClassifier,
)
from sklearn_xc.metrics import make_topk_scorer
from sklearn_xc.model_selection import RareLabelKFold

ESTIMATORS = [
    AugmentReduceClassifier(max_iter=3, random_state=0),
    ImplicitSoftmaxRegressor(max_iter=3, random_state=0),
    MemoirSVC(max_iter=3, random_state=0),
    PPDSparseClassifier(random_state=0),
]
by_name = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).integers(0, 3, size=300).astype(float)


@by_name
def test_pipeline(bibtex, weight, estimator):
    name = type(estimator).__name__.lower()
    alone = clone(estimator).fit(MaxAbsScaler().fit_transform(bibtex.X), bibtex.y, weight)
    prefixed = make_pipeline(MaxAbsScaler(), clone(estimator))
    prefixed.fit(bibtex.X, bibtex.y, **{f"{name}__sample_weight": weight})
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(estimator).set_fit_request(sample_weight=True)
        routed = make_pipeline(MaxAbsScaler(), asking)
        routed.fit(bibtex.X, bibtex.y, sample_weight=weight)
        silent = make_pipeline(MaxAbsScaler(), clone(estimator))
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            silent.fit(bibtex.X, bibtex.y, sample_weight=weight)
        ignoring = clone(estimator).set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match="not routed to any object"):
            make_pipeline(MaxAbsScaler(), ignoring).fit(bibtex.X, bibtex.y, sample_weight=weight)
    expected = alone.decision_function(MaxAbsScaler().fit_transform(bibtex.X))
    for model in (prefixed, routed):
        np.testing.assert_array_equal(model.decision_function(bibtex.X), expected)


def test_search_with_weights_in_fit_and_score(bibtex, weight):
    weight = weight + 1
    cv = RareLabelKFold(2)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_topk_scorer("precision_at_k", 1).set_score_request(sample_weight=True)
        model = PPDSparseClassifier(random_state=0).set_fit_request(sample_weight=True)
        search = GridSearchCV(model, {"l1": [0.1]}, scoring=scorer, cv=cv, refit=False)
        search.fit(bibtex.X, bibtex.Y, sample_weight=weight)
    for number, (train, test) in enumerate(cv.split(bibtex.X, bibtex.Y)):
        model = PPDSparseClassifier(l1=0.1, random_state=0)
        model.fit(bibtex.X[train], bibtex.Y[train], weight[train])
        labels, _ = sklearn_xc.predict_topk(model, bibtex.X[test], 1)
        hits = bibtex.Y[test].toarray()[np.arange(len(test)), labels.ravel()]
        expected = np.average(hits, weights=weight[test])
        assert search.cv_results_[f"split{number}_test_score"][0] == pytest.approx(expected)
