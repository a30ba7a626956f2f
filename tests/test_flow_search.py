"""Searches of parameters: GridSearchCV on sparse y, HalvingGridSearchCV on classes."""

import inspect

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sklearn_xc
from sklearn_xc import MemoirSVC, PPDSparseClassifier, predict_topk
from sklearn_xc.metrics import make_topk_scorer
from sklearn_xc.model_selection import IterativeStratifiedKFold, RareLabelKFold, cross_val_score

SPLITTERS = [RareLabelKFold(2), IterativeStratifiedKFold(2, shuffle=True, random_state=0)]


@pytest.mark.parametrize("cv", SPLITTERS)
def test_search_with_sparse_labels_and_several_metrics(bibtex, cv):
    metrics = {"p1": ("precision_at_k", 1), "ndcg": ("ndcg_at_k", 5)}
    scoring = {name: make_topk_scorer(*metric) for name, metric in metrics.items()}
    model = make_pipeline(MaxAbsScaler(), PPDSparseClassifier(random_state=0))
    grid = {"ppdsparseclassifier__l1": [0.1, 2.0]}
    found = GridSearchCV(model, grid, scoring=scoring, refit="ndcg", cv=cv)
    found.fit(bibtex.X, bibtex.Y)
    assert found.best_params_ == {"ppdsparseclassifier__l1": 0.1}
    for name in scoring:
        scores = [found.cv_results_[f"split{i}_test_{name}"][found.best_index_] for i in range(2)]
        best = model.set_params(**found.best_params_)
        expected = cross_val_score(best, bibtex.X, bibtex.Y, scoring=scoring[name], cv=cv)
        np.testing.assert_allclose(scores, expected)
    labels, _ = predict_topk(found, bibtex.X[:5], 3)
    assert labels.shape == (5, 3)
    assert found.predict(bibtex.X[:5]).format == "csr"


def test_halving_search(bibtex):
    search = HalvingGridSearchCV(
        MemoirSVC(max_iter=2, random_state=0),
        {"rho": [0.5, 1.0, 2.0, 1e6]},
        scoring=make_topk_scorer("top_k_accuracy", 1),
        cv=RareLabelKFold(2, pin_singletons=False),
        min_resources=100,
        random_state=0,
    ).fit(bibtex.X, bibtex.y)
    assert search.n_resources_ == [100, 300]
    assert search.best_params_["rho"] < 1e6
    assert search.score(bibtex.X, bibtex.y) > 0.6


def test_halving_search_grows_epochs(bibtex):
    search = HalvingGridSearchCV(
        MemoirSVC(random_state=0),
        {"rho": [0.5, 1.0]},
        resource="max_iter",
        max_resources=4,
        min_resources=1,
        factor=2,
        cv=2,
    ).fit(bibtex.X, bibtex.y)
    assert search.n_resources_[0] < search.n_resources_[-1] <= 4


def test_what_halving_search_refuses(bibtex):
    search = HalvingGridSearchCV(PPDSparseClassifier(), {"l1": [0.1, 0.2]}, cv=2)
    with pytest.raises(TypeError, match="Sparse data was passed for y"):
        search.fit(bibtex.X, bibtex.Y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        search.fit(bibtex.X, bibtex.Y.toarray())


@pytest.mark.parametrize(
    "estimator",
    [
        member
        for member in (getattr(sklearn_xc, name) for name in sklearn_xc.__all__)
        if inspect.isclass(member)
        and hasattr(member, "partial_fit")
        and "max_iter" in inspect.signature(member).parameters
    ],
)
def test_epochs_are_searched(bibtex, estimator):
    search = GridSearchCV(estimator(random_state=0), {"max_iter": [1, 4]}, cv=RareLabelKFold(2))
    search.fit(bibtex.X, bibtex.y)
    assert search.best_score_ > 0.3
    assert search.best_estimator_.n_iter_ == search.best_params_["max_iter"]
