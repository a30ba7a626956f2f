"""cross_validate, cross_val_score and cross_val_topk: sparse y, several metrics, parameters."""

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import make_scorer, zero_one_loss
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit
from sklearn.model_selection import cross_validate as scikit_learns
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import sklearn_xc
from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer, precision_at_k
from sklearn_xc.model_selection import (
    RareLabelKFold,
    cross_val_score,
    cross_val_topk,
    cross_validate,
)


@pytest.fixture(scope="module")
def data():
    return make_xc_classification(
        n_samples=120, n_features=200, n_classes=15, n_labels=2, random_state=0
    )


@pytest.fixture(scope="module")
def classes():
    X, y = make_xc_classification(n_samples=120, n_features=200, n_classes=6, random_state=0)
    return X, np.array([f"class {label}" for label in y])


MODEL = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)
P = {f"p{k}": make_topk_scorer("precision_at_k", k) for k in (3, 1)}

# ------------------------------------------------------------------------------- cross_validate


@pytest.mark.parametrize(
    "scoring", [None, "accuracy", ["accuracy", "f1_macro"], "callable", "dict"]
)
@pytest.mark.parametrize("return_train_score", [False, True])
def test_keys_and_scores_are_scikit_learns_where_it_takes_y(classes, scoring, return_train_score):
    X, y = classes
    if scoring == "callable":

        def scoring(estimator, X, y):
            return {"right": estimator.score(X, y), "n": len(y)}
    elif scoring == "dict":
        scoring = {"loss": make_scorer(zero_one_loss, greater_is_better=False), "acc": "accuracy"}
    options = {
        "scoring": scoring,
        "cv": KFold(3),
        "return_train_score": return_train_score,
        "return_estimator": True,
        "return_indices": True,
    }
    ours, theirs = cross_validate(MODEL, X, y, **options), scikit_learns(MODEL, X, y, **options)
    assert set(ours) == set(theirs)
    for name in set(ours) - {"fit_time", "score_time", "estimator", "indices"}:
        np.testing.assert_array_equal(ours[name], theirs[name])
    assert (ours["fit_time"] > 0).all()
    assert (ours["score_time"] > 0).all()
    for part in ("train", "test"):
        for one, other in zip(ours["indices"][part], theirs["indices"][part], strict=True):
            np.testing.assert_array_equal(one, other)
    first = ours["indices"]["train"][0]
    np.testing.assert_array_equal(
        ours["estimator"][0].predict(X), MODEL.fit(X[first], y[first]).predict(X)
    )


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.coo_array, np.asarray])
def test_sparse_y_and_several_topk_metrics_in_one_pass(data, container, monkeypatch):
    X, Y = data
    Y = container(Y.toarray())
    calls = []
    predict_topk = PPDSparseClassifier.predict_topk
    monkeypatch.setattr(
        PPDSparseClassifier,
        "predict_topk",
        lambda self, X, k=None: calls.append(k) or predict_topk(self, X, k),
    )
    cv = RareLabelKFold(3)
    results = cross_validate(MODEL, X, Y, scoring=P, cv=cv)
    assert calls == [3, 3, 3]
    monkeypatch.undo()
    for number, (train, test) in enumerate(cv.split(X, Y)):
        model = MODEL.fit(X[train], data[1][train])
        for k in (1, 3):
            labels, _ = model.predict_topk(X[test], k)
            expected = precision_at_k(data[1][test], labels, k)
            assert results[f"test_p{k}"][number] == expected


def test_predictions_are_not_shared_between_estimators_and_data(data):
    X, Y = data
    alone = {
        k: cross_validate(MODEL, X, Y, scoring={k: P[k]}, cv=3, return_train_score=True) for k in P
    }
    both = cross_validate(MODEL, X, Y, scoring=P, cv=3, return_train_score=True)
    for k in P:
        for part in ("test", "train"):
            np.testing.assert_array_equal(both[f"{part}_{k}"], alone[k][f"{part}_{k}"])


def test_topk_scorers_in_a_list_get_their_own_names(data):
    results = cross_validate(MODEL, *data, scoring=list(P.values()), cv=2)
    assert "test_make_topk_scorer('precision_at_k', k=3)" in results
    with pytest.raises(ValueError, match="names a metric twice"):
        cross_validate(MODEL, *data, scoring=[P["p1"], P["p1"]])


def test_cross_val_score_is_the_only_score(data):
    scores = cross_val_score(MODEL, *data, scoring=P["p3"], cv=4)
    np.testing.assert_array_equal(
        scores, cross_validate(MODEL, *data, scoring={"s": P["p3"]}, cv=4)["test_s"]
    )
    for several in (P, ["accuracy"]):
        with pytest.raises(ValueError, match="scoring must be one metric"):
            cross_val_score(MODEL, *data, scoring=several)


def test_workers_change_nothing(data):
    one = cross_validate(MODEL, *data, scoring=P, cv=2)
    with joblib.parallel_config("threading"):
        two = cross_validate(MODEL, *data, scoring=P, cv=2, n_jobs=2)
    for name in ("test_p1", "test_p3"):
        np.testing.assert_array_equal(one[name], two[name])


def test_groups_go_to_the_splitter(data):
    groups = np.arange(120) // 30
    results = cross_validate(
        MODEL, *data, scoring=P, cv=GroupKFold(4), groups=groups, return_indices=True
    )
    for test in results["indices"]["test"]:
        assert len(set(groups[test])) == 1


class Fragile(ClassifierMixin, BaseEstimator):
    """Fits unless it is trained on row 0; scores unless it is tested on row 1."""

    def __init__(self, always=False):
        self.always = always

    def fit(self, X, y, weight=None):
        if self.always or 0 in X:
            raise ValueError("row 0 is in training")
        self.weight_, self.classes_ = weight, np.unique(y)
        return self

    def score(self, X, y):
        if 1 in X:
            raise ValueError("row 1 is tested")
        return 0.5


def test_error_score():
    X, y = np.arange(12).reshape(-1, 1), np.arange(12) % 2
    cv = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(2, 6))]
    with pytest.warns(FitFailedWarning, match=r"1 fits failed out of a total of 2(.|\n)*row 0"):
        results = cross_validate(Fragile(), X, y, cv=cv, error_score=-1)
    assert results["test_score"].tolist() == [-1, 0.5]
    with pytest.raises(ValueError, match="row 0 is in training"):
        cross_validate(Fragile(), X, y, cv=cv, error_score="raise")
    with pytest.raises(ValueError, match=r"All the 5 fits failed(.|\n)*row 0"):
        cross_validate(Fragile(always=True), X, y)
    bad = [(np.arange(6, 12), np.arange(1, 6))]
    with pytest.warns(UserWarning, match=r"Scoring failed; score of this split will be nan"):
        assert np.isnan(cross_validate(Fragile(), X, y, cv=bad)["test_score"])
    scoring = {"odd": lambda model, X, y: "not a number", "fine": lambda model, X, y: 1}
    with pytest.warns(UserWarning, match="odd of this split will be 7"):
        results = cross_validate(Fragile(), X, y, cv=bad, scoring=scoring, error_score=7)
    assert (results["test_odd"], results["test_fine"]) == (7, 1)
    with pytest.raises(ValueError, match=r'error_score must be "raise" or a number'):
        cross_validate(Fragile(), X, y, error_score="stop")


def test_params_with_one_entry_a_row_are_split():
    X, y = np.arange(12).reshape(-1, 1), np.arange(12) % 2
    cv = [(np.arange(6, 12), np.arange(2, 6))]
    for weight in (np.arange(12), pd.Series(range(12)), list(range(12))):
        result = cross_validate(
            Fragile(), X, y, cv=cv, params={"weight": weight}, return_estimator=True
        )
        assert list(result["estimator"][0].weight_) == list(range(6, 12))
    result = cross_validate(Fragile(), X, y, cv=cv, params={"weight": 3}, return_estimator=True)
    assert result["estimator"][0].weight_ == 3


def test_metadata_routing_reaches_estimator_scorers_and_splitter(data):
    X, Y = data
    weight = np.random.default_rng(0).integers(1, 4, size=120)
    groups = np.arange(120) // 40
    by_hand = []
    for train, test in GroupKFold(3).split(X, groups=groups):
        model = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0).fit(
            X[train], Y[train], weight[train]
        )
        labels, _ = model.predict_topk(X[test], 3)
        by_hand.append(precision_at_k(Y[test], labels, 3, sample_weight=weight[test]))
    with sklearn.config_context(enable_metadata_routing=True):
        model = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0).set_fit_request(
            sample_weight=True
        )
        scorer = make_topk_scorer("precision_at_k", 3).set_score_request(sample_weight=True)
        params = {"sample_weight": weight, "groups": groups}
        for scoring, name in [(scorer, "score"), ({"p": scorer, "q": scorer}, "p")]:
            results = cross_validate(model, X, Y, scoring=scoring, cv=GroupKFold(3), params=params)
            np.testing.assert_allclose(results[f"test_{name}"], by_hand)
        with pytest.raises(TypeError, match=r"cross_validate.fit got unexpected .*colour"):
            cross_validate(model, X, Y, scoring=scorer, params={"colour": 1})


# ------------------------------------------------------------------------------- cross_val_topk


def by_hand(model, X, y, cv, k):
    """Out-of-fold predictions with labels."""
    found = {}
    for train, test in cv.split(X, y):
        labels, scores = sklearn_xc.predict_topk(model.fit(X[train], y[train]), X[test], k)
        found |= dict(zip(test, zip(labels, scores, strict=True), strict=True))
    return found


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_topk_of_an_indicator(data, n_jobs):
    X, Y = data
    cv = RareLabelKFold(3)
    with joblib.parallel_config("threading"):
        codes, scores, names = cross_val_topk(MODEL, X, Y, k=4, cv=cv, n_jobs=n_jobs)
    assert (codes.shape, codes.dtype, scores.dtype) == ((120, 4), np.int32, np.float32)
    np.testing.assert_array_equal(names, np.arange(15))
    expected = by_hand(MODEL, X, Y, cv, 4)
    for row in range(120):
        if row in expected:
            np.testing.assert_array_equal(codes[row], expected[row][0])
            np.testing.assert_array_equal(scores[row], expected[row][1])
        else:
            assert (codes[row] == 15).all()
            assert np.isnan(scores[row]).all()


@pytest.mark.parametrize(
    "container",
    [
        sparse.coo_matrix,
        np.asarray,
        lambda Y: pd.DataFrame(Y, columns=[f"z{-j}" for j in range(Y.shape[1])]),
    ],
    ids=["coo", "dense", "names that are not sorted"],
)
def test_topk_in_other_containers(data, container):
    X, Y = data
    codes, scores, names = cross_val_topk(MODEL, X, container(Y.toarray()), k=2)
    expected = cross_val_topk(MODEL, X, Y, k=2)
    np.testing.assert_array_equal(codes, expected.codes)
    np.testing.assert_array_equal(scores, expected.scores)
    assert len(names) == 15


def test_topk_of_classes_in_a_pipeline(classes):
    X, y = classes
    model = make_pipeline(MaxAbsScaler(), MODEL)
    codes, _, names = cross_val_topk(model, X, y, k=2, cv=KFold(3))
    expected = by_hand(model, X, y, KFold(3), 2)
    for row in range(120):
        np.testing.assert_array_equal(names[codes[row]], expected[row][0])


def test_topk_where_folds_lack_classes():
    """Sorted by class, KFold trains on two of three classes: their codes are those of all."""
    y = np.repeat(["a", "b", "c"], 10)
    X = np.eye(3)[np.repeat([0, 1, 2], 10)]
    codes, scores, names = cross_val_topk(MODEL, X, y, k=3, cv=KFold(3))
    assert names.tolist() == ["a", "b", "c"]
    for fold, present in enumerate([{1, 2}, {0, 2}, {0, 1}]):
        rows = slice(10 * fold, 10 * fold + 10)
        assert all(set(row) == present for row in codes[rows, :2].tolist())
        assert (codes[rows, 2] == 3).all()
        assert np.isnan(scores[rows, 2]).all()
        assert np.isfinite(scores[rows, :2]).all()


def test_topk_of_two_classes(classes):
    X, y = classes
    codes, scores, names = cross_val_topk(MODEL, X, y == "class 0")
    assert names.tolist() == [False, True]
    np.testing.assert_array_equal(np.sort(codes, axis=1), np.tile([0, 1], (120, 1)))
    np.testing.assert_array_equal(scores[:, 0], -scores[:, 1])


def test_topk_with_params(data):
    X, Y = data
    weight = np.random.default_rng(1).integers(1, 5, size=120)
    weighted = cross_val_topk(MODEL, X, Y, params={"sample_weight": weight})
    assert not np.array_equal(weighted.scores, cross_val_topk(MODEL, X, Y).scores)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0).set_fit_request(
            sample_weight="w"
        )
        routed = cross_val_topk(model, X, Y, params={"w": weight})
    np.testing.assert_array_equal(routed.scores, weighted.scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer from 1 to the number of classes, 15; got k=0"),
        ({"k": 16}, "from 1 to the number of classes, 15"),
        ({"cv": RepeatedKFold(n_splits=2, n_repeats=2)}, "cv tests 120 samples more than once"),
    ],
)
def test_topk_refuses(data, options, message):
    with pytest.raises(ValueError, match=message):
        cross_val_topk(MODEL, *data, **options)


def test_topk_needs_an_estimator_with_topk(classes):
    with pytest.raises(TypeError, match="GaussianNB has no method predict_topk"):
        cross_val_topk(GaussianNB(), classes[0].toarray(), classes[1], cv=2)


def test_topk_of_a_single_held_out_part(data):
    codes, _, _ = cross_val_topk(MODEL, *data, cv=ShuffleSplit(1, test_size=30, random_state=0))
    assert (codes[:, 0] < 15).sum() == 30


def test_name_of_a_metric_of_ours_names_its_scorer():
    X, y = np.eye(6), [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"give make_topk_scorer\('ndcg_at_k', k=5\)"):
        cross_val_score(PPDSparseClassifier(), X, y, cv=2, scoring="ndcg_at_k")
