"""Texts of labels as an argument of fit: the same as further rows, and as no samples."""

import numpy as np
import pytest
from _full import in_full
from _label_features import (
    DENSE,
    FORMS,
    INDICATOR,
    LABEL_OF,
    N_FEATURES,
    N_LABELS,
    N_SAMPLES,
    NAMES,
    QUESTION,
    RNG,
    TEXTS,
    WITHOUT_ROWS,
    WORDS,
    Y_1D,
    below,
    weights_of,
)
from scipy import sparse
from sklearn import clone, config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    PPDSparseClassifierCV,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
)
from sklearn_xc.model_selection import cross_val_topk

PENALTIES = {"l1": 0.01, "l2": 1.0}
# Parameters by which nothing is chosen by the samples, so that texts and rows are alike, and fewer
# passes than few samples get (time).
ESTIMATORS = {
    "PPDSparseClassifier": PPDSparseClassifier(**PENALTIES, random_state=0),
    "PPDSparseClassifierCV": PPDSparseClassifierCV(l1s=[0.01], l2s=[1.0], random_state=0),
    "MemoirSVC": MemoirSVC(max_iter=50, random_state=0),
    "LDGSClassifier": LDGSClassifier(max_iter=100, random_state=0),
    "ImplicitSoftmaxRegressor": ImplicitSoftmaxRegressor(
        learning_rate=0.5, max_iter=50, random_state=0
    ),
    "AugmentReduceClassifier": AugmentReduceClassifier(max_iter=100, random_state=0),
}
SEVERAL = ["PPDSparseClassifier", "PPDSparseClassifierCV", "LDGSClassifier"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weight", [in_full(None), RNG.uniform(0.5, 2, N_SAMPLES)])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_texts_are_further_rows(name, form, weight):
    X, T = FORMS[form]
    model = clone(ESTIMATORS[name]).set_params(label_feature_weight=2.0)
    model.fit(X, Y_1D, sample_weight=weight, label_features=T, classes=NAMES)
    rows, y, weights = below(X, Y_1D, weight, T, NAMES, 2.0)
    reference = clone(ESTIMATORS[name])
    if name == "PPDSparseClassifierCV":  # which would hold texts out
        reference = PPDSparseClassifier(**PENALTIES, random_state=0)
    reference.fit(rows, y, sample_weight=weights)
    np.testing.assert_array_equal(model.classes_, reference.classes_)
    np.testing.assert_array_equal(weights_of(model), weights_of(reference))


@pytest.mark.parametrize("name", SEVERAL)
def test_texts_are_further_rows_of_an_indicator(name):
    X, T = FORMS["sparse"]
    model = clone(ESTIMATORS[name]).fit(X, INDICATOR, label_features=T)
    rows, Y, weights = below(X, INDICATOR, None, T, NAMES, model.label_feature_weight)
    reference = clone(ESTIMATORS[name])
    if name == "PPDSparseClassifierCV":
        reference = PPDSparseClassifier(**PENALTIES, random_state=0)
    found, expected = weights_of(model), weights_of(reference.fit(rows, Y, sample_weight=weights))
    if name == "LDGSClassifier":  # whose threshold the samples choose
        found, expected = found[:, :-1], expected[:, :-1]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_labels_without_rows_are_found(name):
    X, T = FORMS["sparse"]
    model = clone(ESTIMATORS[name]).fit(X, Y_1D, label_features=T, classes=NAMES)
    best, scores = model.predict_topk(QUESTION, k=1)
    assert best.ravel().tolist() == NAMES[WITHOUT_ROWS].tolist()
    assert (scores > -1e6).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_counts_are_of_samples(name):
    X, T = FORMS["sparse"]
    model = clone(ESTIMATORS[name]).fit(X, Y_1D, label_features=T, classes=NAMES)
    counts = np.bincount(LABEL_OF, minlength=N_LABELS)
    np.testing.assert_array_equal(model.label_report_.support, counts)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_of_the_texts_go_by_classes(name):
    X, T = FORMS["sparse"]
    model = clone(ESTIMATORS[name]).fit(X, Y_1D, label_features=T, classes=NAMES)
    order = np.random.default_rng(1).permutation(N_LABELS)
    other = clone(model).fit(X, Y_1D, label_features=T[order], classes=NAMES[order].tolist())
    np.testing.assert_allclose(
        other.decision_function(X[:20]), model.decision_function(X[:20]), rtol=0.2, atol=0.2
    )
    best = other.predict_topk(QUESTION, k=1)[0].ravel()
    assert best.tolist() == NAMES[WITHOUT_ROWS].tolist()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_several_texts_a_label_and_weight_zero(name):
    X, T = FORMS["sparse"]
    split = [sparse.csr_array(TEXTS * (np.arange(N_FEATURES) % 2 == i)) for i in range(2)]
    model = clone(ESTIMATORS[name]).fit(X, Y_1D, label_features=split, classes=NAMES)
    joined = sparse.vstack(split)
    rows, y, weights = below(X, Y_1D, None, joined, np.tile(NAMES, 2), model.label_feature_weight)
    if name != "PPDSparseClassifierCV":
        reference = clone(ESTIMATORS[name]).fit(rows, y, sample_weight=weights)
        np.testing.assert_array_equal(weights_of(model), weights_of(reference))
    known = np.unique(Y_1D)
    T = T[np.searchsorted(NAMES, known)]
    without = clone(model).set_params(label_feature_weight=0).fit(X, Y_1D, label_features=T)
    plain = clone(ESTIMATORS[name]).fit(X, Y_1D)
    np.testing.assert_array_equal(weights_of(without), weights_of(plain))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_two_classes_of_which_one_has_no_row(name):
    X, T = FORMS["sparse"]
    some = LABEL_OF == 0
    y, names = Y_1D[some], NAMES[[0, 3]]
    model = clone(ESTIMATORS[name])
    if name == "PPDSparseClassifierCV":  # whose parts have to have both
        some = (LABEL_OF == 0) | (LABEL_OF == 1)
        y, names = Y_1D[some], NAMES[[0, 1]]
    model.fit(X[some], y, label_features=T[np.searchsorted(NAMES, names)], classes=names)
    assert model.classes_.tolist() == names.tolist()
    question = sparse.csr_array(WORDS[np.searchsorted(NAMES, names)].astype(np.float32))
    assert model.predict(question)[1] == names[1]


BAD = {
    "another number of columns": ({"label_features": TEXTS[:, :-1]}, "59 columns, but X has 60"),
    "another number of rows": ({"label_features": TEXTS[:-1]}, "11 rows, one for each label"),
    "one dimension": ({"label_features": TEXTS[0]}, "two dimensions"),
    "an empty sequence": ({"label_features": []}, "empty sequence"),
    "unlike parts": ({"label_features": [TEXTS, TEXTS[:-1]]}, r"label_features\[1\] has 11 rows"),
    "NaN": ({"label_features": np.where(TEXTS > 0, np.nan, 0)}, "NaN or infinity"),
    "texts": ({"label_features": NAMES.reshape(-1, 1)}, "label_features"),
    "a name twice": ({"classes": [*NAMES[:-1], NAMES[0]]}, "two labels 'label 00'"),
    "a class that is not there": ({"classes": [*NAMES[1:], "x"]}, "'label 00', which is not in"),
    "numbers for names": ({"classes": np.arange(N_LABELS)}, "convert the labels"),
    "one class": ({"classes": NAMES[:1]}, "at least two classes"),
    "a missing name": ({"classes": [*NAMES[:-1].tolist(), None]}, "None"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_input_has_one_clear_error_and_leaves_nothing(name, case):
    X, T = FORMS["sparse"]
    given, message = BAD[case]
    model = clone(ESTIMATORS[name])
    before = vars(model).copy()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y_1D, **{"label_features": T, "classes": NAMES, **given})
    assert vars(model) == before


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("weight", [-1, np.nan, np.inf, "2", None])
def test_the_weight_of_texts_is_checked(name, weight):
    X, _ = FORMS["sparse"]
    model = clone(ESTIMATORS[name]).set_params(label_feature_weight=weight)
    with pytest.raises(ValueError, match="label_feature_weight"):
        model.fit(X, Y_1D)


@pytest.mark.parametrize("name", SEVERAL)
def test_classes_are_not_for_an_indicator(name):
    X, T = FORMS["sparse"]
    with pytest.raises(ValueError, match="classes is for y of one class a sample"):
        clone(ESTIMATORS[name]).fit(X, INDICATOR, label_features=T, classes=NAMES)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_class_in_all_rows_and_texts_is_refused(name):
    X, _ = FORMS["sparse"]
    some, nothing = LABEL_OF == 0, sparse.csr_array((2, N_FEATURES), dtype=np.float32)
    with pytest.raises(ValueError, match="y holds 1 class, 'label 00'"):
        clone(ESTIMATORS[name]).fit(
            X[some], Y_1D[some], label_features=nothing, classes=NAMES[[0, 3]]
        )


# ------------------------------------------------------------------------- through other hands


@pytest.mark.parametrize("name", ESTIMATORS)
def test_metadata_routing_brings_texts_through_pipelines_and_searches(name):
    X, T = FORMS["sparse"]
    model = clone(ESTIMATORS[name])
    given = {"label_features": T, "classes": NAMES}
    direct = clone(model).fit(X, Y_1D, **given)
    with config_context(enable_metadata_routing=True):
        asks = clone(model).set_fit_request(label_features=True, classes=True)
        pipe = make_pipeline(FunctionTransformer(), asks).fit(X, Y_1D, **given)
        np.testing.assert_array_equal(weights_of(pipe[-1]), weights_of(direct))
        grid = {"label_feature_weight": [0.0, 1.0]}
        search = GridSearchCV(asks, grid, cv=3).fit(X, Y_1D, **given)
        assert search.best_estimator_.predict(QUESTION).shape == (2,)
    pipe = make_pipeline(FunctionTransformer(), model)
    step = pipe.steps[-1][0]
    pipe.fit(X, Y_1D, **{f"{step}__{key}": value for key, value in given.items()})
    np.testing.assert_array_equal(weights_of(pipe[-1]), weights_of(direct))


def test_a_pipeline_transforms_texts_on_the_way():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import Pipeline

    texts = [" ".join(f"word{j}" for j in np.flatnonzero(row)) for row in DENSE]
    names = [" ".join(f"word{j}" for j in np.flatnonzero(row)) for row in TEXTS]
    with config_context(enable_metadata_routing=True):
        asks = PPDSparseClassifier(**PENALTIES, random_state=0)
        asks.set_fit_request(label_features=True, classes=True)
        steps = [("words", CountVectorizer()), ("labels", asks)]
        pipe = Pipeline(steps, transform_input=["label_features"])
        pipe.fit(texts, Y_1D, label_features=names, classes=NAMES)
    question = [" ".join(f"word{j}" for j in np.flatnonzero(WORDS[i])) for i in WITHOUT_ROWS]
    assert pipe.predict(question).tolist() == NAMES[WITHOUT_ROWS].tolist()


WRAPPED = [(TopKCalibratedClassifier, True), (TopKCalibratedClassifier, False)]
WRAPPED += [(TopKThresholdClassifier, True)]


@pytest.mark.parametrize(("wrapper", "several"), WRAPPED)
def test_wrappers_hand_texts_on(wrapper, several):
    X, T = FORMS["sparse"]
    inner = PPDSparseClassifier(**PENALTIES, random_state=0)
    given = {"label_features": T} if several else {"label_features": T, "classes": NAMES}
    y = INDICATOR if several else Y_1D
    model = wrapper(inner, cv=3).fit(X, y, **given)
    np.testing.assert_array_equal(
        weights_of(model.estimator_), weights_of(clone(inner).fit(X, y, **given))
    )
    assert len(model.classes_) == N_LABELS
    best = np.asarray(model.predict_topk(QUESTION, k=1)[0]).ravel()
    expected = np.array(WITHOUT_ROWS) if several else NAMES[WITHOUT_ROWS]
    assert best.tolist() == expected.tolist()
    with config_context(enable_metadata_routing=True):
        asks = clone(inner).set_fit_request(label_features=True, classes=True)
        routed = wrapper(asks, cv=3).fit(X, y, **given)
    np.testing.assert_array_equal(weights_of(routed.estimator_), weights_of(model.estimator_))


def test_cross_validation_keeps_texts_whole():
    """With as many labels as samples an argument would be cut into folds."""
    X, T = FORMS["sparse"]
    some = np.flatnonzero(LABEL_OF < 3)[:N_LABELS]
    inner = PPDSparseClassifier(**PENALTIES, random_state=0)
    params = {"label_features": T, "classes": NAMES}
    found = cross_val_topk(inner, X[some], Y_1D[some], k=2, cv=2, params=params)
    assert found.classes.tolist() == NAMES.tolist()
    assert found.tested.any()
    given = TopKCalibratedClassifier(inner, cv=2).fit(X[some], Y_1D[some], **params)
    assert given.predict_proba(X[:2]).shape == (2, N_LABELS)


def test_a_search_keeps_texts_in_a_list_whole():
    """An argument with as many rows as X would be cut into folds by scikit-learn."""
    X, T = FORMS["sparse"]
    some = np.flatnonzero(LABEL_OF < 3)[:N_LABELS]
    search = GridSearchCV(
        PPDSparseClassifier(**PENALTIES, random_state=0), {"label_feature_weight": [1, 3]}, cv=2
    )
    search.fit(X[some], INDICATOR[some], label_features=[T])
    assert search.best_estimator_.predict_topk(QUESTION, k=1)[0].ravel().tolist() == WITHOUT_ROWS
