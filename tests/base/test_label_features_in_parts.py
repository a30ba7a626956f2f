"""Texts of labels in partial_fit, early stopping, warm starts, class weights, calibration."""

import numpy as np
import pytest
from _label_features import (
    FORMS,
    INDICATOR,
    LABEL_OF,
    N_LABELS,
    NAMES,
    QUESTION,
    TEXTS,
    WITHOUT_ROWS,
    Y_1D,
    below,
    weights_of,
)
from scipy import sparse
from sklearn import clone

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
)

X, T = FORMS["sparse"]
GIVEN = {"label_features": T, "classes": NAMES}
STEPPED = {
    "MemoirSVC": MemoirSVC(random_state=0),
    "LDGSClassifier": LDGSClassifier(max_iter=100, random_state=0),
    "ImplicitSoftmaxRegressor": ImplicitSoftmaxRegressor(learning_rate=0.5, random_state=0),
    "AugmentReduceClassifier": AugmentReduceClassifier(max_iter=100, random_state=0),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", STEPPED)
def test_parts_take_texts_as_further_rows(name, form):
    X, T = FORMS[form]
    model = clone(STEPPED[name]).set_params(label_feature_weight=2.0)
    reference = clone(STEPPED[name])
    half = len(Y_1D) // 2
    for number, some in enumerate((slice(0, half), slice(half, None))):
        texts = T if number == 0 else 0.5 * T
        model.partial_fit(X[some], Y_1D[some], classes=NAMES, label_features=texts)
        rows, y, weights = below(X[some], Y_1D[some], None, texts, NAMES, 2.0)
        reference.partial_fit(rows, y, classes=NAMES, sample_weight=weights)
    np.testing.assert_array_equal(weights_of(model), weights_of(reference))
    counts = np.bincount(LABEL_OF, minlength=N_LABELS)
    np.testing.assert_array_equal(model.label_report_.support, counts)


@pytest.mark.parametrize("name", STEPPED)
def test_a_part_brings_texts_of_new_classes(name):
    known = np.setdiff1d(NAMES, NAMES[WITHOUT_ROWS])
    model = clone(STEPPED[name]).partial_fit(X, Y_1D, classes=known)
    model.partial_fit(X, Y_1D, **GIVEN)
    assert model.classes_.tolist() == NAMES.tolist()
    with pytest.raises(ValueError, match="11 rows, one for each label, but classes names 12"):
        model.partial_fit(X, Y_1D, label_features=T[:-1], classes=NAMES)
    with pytest.raises(ValueError, match="11 rows, one for each label, but there are 12"):
        model.partial_fit(X, Y_1D, label_features=T[:-1])
    with pytest.raises(ValueError, match="classes is a set, which has no order"):
        model.partial_fit(X, Y_1D, label_features=T, classes=set(NAMES.tolist()))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["MemoirSVC", "LDGSClassifier", "AugmentReduceClassifier"])
def test_early_stopping_judges_by_samples(name):
    model = clone(STEPPED[name]).set_params(early_stopping=True, validation_fraction=0.2)
    plain = clone(model).fit(X, Y_1D, classes=NAMES).label_report_.n_true
    report = clone(model).fit(X, Y_1D, **GIVEN).label_report_
    np.testing.assert_array_equal(report.n_true, plain)
    assert plain.sum() == 0.2 * len(Y_1D)
    np.testing.assert_array_equal(report.support, np.bincount(LABEL_OF, minlength=N_LABELS))


@pytest.mark.parametrize("name", STEPPED)
def test_a_warm_start_goes_on_with_texts(name):
    model = clone(STEPPED[name]).set_params(warm_start=True).fit(X, Y_1D, **GIVEN)
    first = weights_of(model).copy()
    model.fit(X, Y_1D, **GIVEN)
    assert (weights_of(model) != first).any()
    best = model.predict_topk(QUESTION, k=1)[0].ravel()
    assert best.tolist() == NAMES[WITHOUT_ROWS].tolist()


def test_calibration_of_memoir_sees_all_texts_in_each_fold():
    model = MemoirSVC(random_state=0, calibration="sigmoid", calibration_cv=3)
    model.fit(X, Y_1D, **GIVEN)
    p = model.predict_proba(QUESTION)
    assert p.shape == (2, N_LABELS)
    assert NAMES[p.argmax(axis=1)].tolist() == NAMES[WITHOUT_ROWS].tolist()


@pytest.mark.parametrize("name", STEPPED)
def test_the_same_model_for_any_n_jobs(name):
    models = [clone(STEPPED[name]).set_params(n_jobs=n).fit(X, Y_1D, **GIVEN) for n in (1, 2)]
    np.testing.assert_array_equal(*map(weights_of, models))


def test_texts_of_a_dense_matrix_beside_sparse_rows():
    model = MemoirSVC(random_state=0).fit(X, Y_1D, label_features=TEXTS, classes=NAMES)
    other = MemoirSVC(random_state=0).fit(
        X, Y_1D, label_features=sparse.csr_array(TEXTS), classes=NAMES
    )
    np.testing.assert_array_equal(weights_of(model), weights_of(other))


def test_parts_of_an_indicator_take_texts():
    model = LDGSClassifier(random_state=0, label_feature_weight=2.0)
    reference = LDGSClassifier(random_state=0)
    for _ in range(2):
        model.partial_fit(X, INDICATOR, label_features=T)
        rows, Y, weights = below(X, INDICATOR, None, T, NAMES, 2.0)
        reference.partial_fit(rows, Y, sample_weight=weights)
    np.testing.assert_array_equal(weights_of(model), weights_of(reference))
    np.testing.assert_array_equal(model.label_report_.support, 2 * INDICATOR.sum(axis=0))
    with pytest.raises(ValueError, match="11 rows, one for each label, but there are 12"):
        model.partial_fit(X, INDICATOR, label_features=T[:-1])


def test_the_threshold_of_ldgs_is_of_samples():
    heavy = LDGSClassifier(random_state=0, label_feature_weight=1e-6)
    plain = LDGSClassifier(random_state=0).fit(X, INDICATOR)
    model = heavy.fit(X, INDICATOR, label_features=T)
    mean = [m.predict(X).sum(axis=1).mean() for m in (plain, model)]
    assert mean[1] == pytest.approx(mean[0], rel=0.1)
    grades = INDICATOR * np.float32(0.5)
    graded = LDGSClassifier(random_state=0, graded=True).fit(X, grades, label_features=T)
    assert graded.predict_topk(QUESTION, k=1)[0].ravel().tolist() == WITHOUT_ROWS
