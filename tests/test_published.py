"""`PUBLISHED` of the estimators: the settings of the papers are parameters that fit."""

import pytest
from sklearn.preprocessing import normalize

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
)
from sklearn_xc.datasets import make_xc_classification

ESTIMATORS = [
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
]
SETTINGS = [(cls, name) for cls in ESTIMATORS for name in cls.PUBLISHED]


@pytest.fixture(scope="module")
def rows():
    X, y = make_xc_classification(n_samples=300, n_features=60, n_classes=20, random_state=0)
    return normalize(X), y


@pytest.mark.parametrize(("cls", "name"), SETTINGS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*recall:RuntimeWarning")
def test_settings_of_the_paper_fit_and_learn(cls, name, rows):
    X, y = rows
    settings = cls.PUBLISHED[name]
    assert settings.keys() <= cls().get_params().keys()
    passes = {} if cls is PPDSparseClassifier else {"max_iter": 5}
    if "learning_rate" in settings and cls is ImplicitSoftmaxRegressor:
        passes["learning_rate"] = 0.1  # the search has tests of its own
    model = cls(**settings | passes, random_state=0).fit(X, y)
    assert model.score(X, y) > 2 / 20


def test_each_model_takes_the_sizes_of_each_data_set(rows):
    X, y = rows
    for sizes in AugmentReduceClassifier.PUBLISHED_SIZES.values():
        settings = AugmentReduceClassifier.PUBLISHED["probit"] | sizes | {"max_iter": 1}
        assert AugmentReduceClassifier(**settings, random_state=0).fit(X, y).n_iter_ == 1


def test_settings_are_those_of_the_papers():
    ppdsparse = PPDSparseClassifier.PUBLISHED["squared_hinge"]
    assert (ppdsparse["l1"], ppdsparse["l2"], ppdsparse["loss"]) == (0.01, 1.0, "squared_hinge")
    for settings in AugmentReduceClassifier.PUBLISHED.values():
        assert (settings["learning_rate"], settings["init_scale"]) == (0.02, 0.1)
        assert (settings["alpha"], settings["local_steps"]) == (0.0, "published")
    bibtex = AugmentReduceClassifier.PUBLISHED_SIZES["bibtex"]
    assert bibtex == {"batch_size": 488, "n_sampled_classes": 20, "max_iter": 500}
    for name, settings in ImplicitSoftmaxRegressor.PUBLISHED.items():
        assert (settings["decay"], settings["max_iter"], settings["alpha"]) == (0.9, 50, 0.0)
        assert not settings["fit_intercept"]
        biased = name in ("one_vs_each", "nce", "importance")
        sizes = settings["batch_size"], settings["n_sampled_classes"]
        assert sizes == ((100, 5) if biased else (1, 1))
    for name, settings in LDGSClassifier.PUBLISHED.items():
        assert (settings["batch_size"], settings["solver"]) == (10, "sgd")
        assert settings["mu"] == (5.0 if name.endswith("multilabel") else 1.0)
        assert settings["n_chunks"] == (4 if name.endswith("multilabel") else 8)
