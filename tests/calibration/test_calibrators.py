"""Calibrated probabilities: the transforms, the estimators that have them, the wrapper."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import sklearn_xc
from sklearn_xc import (
    AugmentReduceClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
)
from sklearn_xc.metrics import expected_calibration_error

# ------------------------------------------------------------------------------ the estimators


@pytest.mark.parametrize("model", [PPDSparseClassifier(random_state=0), MemoirSVC(random_state=0)])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature", "top_label", "auto"])
def test_probabilities_of_classes(model, method, multiclass):
    X, y, X_test, y_test = multiclass
    cv = 3 if method == "sigmoid" else 0.25
    plain = clone(model).fit(X, y)
    model = clone(model).set_params(calibration=method, calibration_cv=cv).fit(X, y)
    np.testing.assert_array_equal(plain.coef_.toarray(), model.coef_.toarray())
    np.testing.assert_array_equal(plain.predict(X_test), model.predict(X_test))
    p = model.predict_proba(X_test)
    assert p.shape == (len(y_test), len(model.classes_))
    assert p.dtype == np.float64
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X_test)), p, rtol=1e-5)
    labels, top = model.predict_topk(X_test, k=15, scores="proba")
    np.testing.assert_array_equal(labels, model.predict_topk(X_test, k=15)[0])
    codes = np.searchsorted(model.classes_, labels)
    np.testing.assert_allclose(np.take_along_axis(p, codes, axis=1), top, rtol=1e-7)
    assert (np.diff(top, axis=1) <= 0).all()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_of_labels(method, multilabel):
    X, Y, X_test, Y_test = multilabel
    model = PPDSparseClassifier(random_state=0, calibration=method).fit(X, Y)
    p = model.predict_proba(X_test)
    assert (p > 0).all()
    assert (p < 1).all()
    labels, scores = model.predict_topk(X_test, k=5)
    raw = expected_calibration_error(Y_test, labels, expit(scores))
    top = model.predict_topk(X_test, k=5, scores="proba")[1]
    assert expected_calibration_error(Y_test, labels, top) < raw / 2
    plain = PPDSparseClassifier(random_state=0).fit(X, Y)
    assert (model.predict(X_test) != plain.predict(X_test)).nnz == 0
    stored = model.predict_topk(X_test, k=5, scores="proba", sparse_output=True)
    np.testing.assert_array_equal(np.diff(stored.indptr), 5)
    assert stored.has_sorted_indices
    np.testing.assert_array_equal(np.take_along_axis(stored.toarray(), labels, axis=1), top)


def test_probabilities_of_two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.7, "yes", "no")
    for method in ["sigmoid", "isotonic", "temperature", "top_label", "auto"]:
        model = PPDSparseClassifier(calibration=method, random_state=0).fit(X, y)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
        assert (np.diff(p[np.argsort(model.decision_function(X)), 1]) >= 0).all()
        labels, top = model.predict_topk(X, k=2, scores="proba")
        np.testing.assert_allclose(top[:, 0], p.max(axis=1), rtol=1e-7)
        np.testing.assert_array_equal(labels[:, 0], model.classes_[p.argmax(axis=1)])
        assert expected_calibration_error(y, labels, top, k=1) < 0.08


def test_without_calibration_there_are_no_probabilities(multiclass):
    X, y, X_test, _ = multiclass
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    for name in ["predict_proba", "predict_log_proba"]:
        assert not hasattr(model, name)
        assert hasattr(PPDSparseClassifier(calibration="sigmoid"), name)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as error:
        _ = model.predict_proba
    assert "only with calibration='auto'" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="scores='proba': PPDSparseClassifier has prob"):
        model.predict_topk(X_test, scores="proba")
    with pytest.raises(NotFittedError):
        model.set_params(calibration="sigmoid").predict_proba(X_test)
    model.fit(X, y).set_params(calibration=None).fit(X, y)
    assert not hasattr(model, "calibration_")


def test_no_dense_output_beyond_memory(multiclass, monkeypatch):
    X, y, X_test, _ = multiclass
    model = PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.2).fit(X, y)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryError, match=r"predict_proba: a dense output of shape \(200, "):
        model.predict_proba(X_test)
    assert model.predict_topk(X_test, k=2, scores="proba")[1].shape == (200, 2)


def test_refusals(multilabel, multiclass):
    X, Y, *_ = multilabel
    with pytest.raises(ValueError, match="'temperature' makes the probabilities of a sample sum"):
        PPDSparseClassifier(calibration="temperature").fit(X, Y)
    with pytest.raises(ValueError, match=r"'calibration' parameter of PPDSparse.* must be"):
        PPDSparseClassifier(calibration="platt").fit(X, Y)
    with pytest.raises(ValueError, match="'calibration_cv' parameter"):
        PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.9).fit(X, Y)
    model = PPDSparseClassifier(calibration="sigmoid", calibration_cv=[]).fit
    with pytest.raises(ValueError, match="cv holds out no sample"):
        model(X, Y)
    X, y, *_ = multiclass
    model = MemoirSVC(calibration="sigmoid")
    with pytest.raises(ValueError, match="use fit, or calibrate the model on other samples"):
        model.partial_fit(X, y, classes=np.unique(y))
    assert not hasattr(model, "coef_")


def test_a_model_that_has_grown_is_not_calibrated(multilabel):
    X, Y, X_test, _ = multilabel
    model = PPDSparseClassifier(calibration="sigmoid", calibration_cv=0.2).fit(X, Y[:, :20])
    calibration = model.calibration_
    model.fit(X, Y).calibration_ = calibration
    for ask in (model.predict_proba, lambda X: model.predict_topk(X, scores="proba")):
        with pytest.raises(ValueError, match="was fitted for 20 classes, but the model has 30 now"):
            ask(X_test)


def test_labels_without_a_positive_have_the_probability_of_the_rest(multilabel):
    X, Y, X_test, _ = multilabel
    few = Y[:, :6].toarray()
    few[:, [2, 4]] = 0
    model = PPDSparseClassifier(calibration="sigmoid", random_state=0).fit(X, few)
    p = model.predict_proba(X_test)
    assert 0 < p[:, [2, 4]].max() <= model.calibration_.rest_probability
    assert p[:, [0, 1]].mean() > 10 * p[:, [2, 4]].mean()


def test_same_result_for_any_n_jobs(multilabel):
    X, Y, X_test, _ = multilabel
    found = [
        PPDSparseClassifier(calibration="sigmoid", random_state=0, n_jobs=n_jobs)
        .fit(X, Y)
        .predict_topk(X_test, scores="proba")[1]
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*found)


# ---------------------------------------------------------------------------------- the wrapper


def test_wrapper_is_what_the_parameter_is(multilabel):
    X, Y, X_test, _ = multilabel
    weight = np.random.default_rng(0).integers(1, 3, size=X.shape[0])
    inside = PPDSparseClassifier(calibration="sigmoid", random_state=0).fit(X, Y, weight)
    outside = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0)).fit(X, Y, weight)
    np.testing.assert_array_equal(inside.predict_proba(X_test), outside.predict_proba(X_test))
    for options in [{}, {"scores": "proba"}]:
        some, others = (model.predict_topk(X_test, 4, **options) for model in (inside, outside))
        np.testing.assert_array_equal(some[0], others[0])
        np.testing.assert_array_equal(some[1], others[1])
    unweighted = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0)).fit(X, Y)
    assert unweighted.calibration_.transform != outside.calibration_.transform


def test_prediction_of_the_wrapper_follows_the_probabilities(multilabel):
    X, Y, X_test, _ = multilabel
    for y in (Y, sparse.csr_matrix(Y), Y.toarray()):
        model = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=0.2).fit(X, y)
        found = model.predict(X_test)
        assert type(found) is type(y)
        assert found.dtype == y.dtype
        dense = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(dense, model.predict_proba(X_test) > 0.5)


def test_frozen_estimator_is_calibrated_on_all_samples(multilabel):
    X, Y, X_test, Y_test = multilabel
    frozen = FrozenEstimator(PPDSparseClassifier(random_state=0).fit(X, Y))
    model = TopKCalibratedClassifier(frozen, cv=0.2).fit(X_test, Y_test)
    assert model.estimator_ is frozen
    labels, p = model.predict_topk(X_test, scores="proba")
    assert expected_calibration_error(Y_test, labels, p) < 0.06
    with pytest.raises(ValueError, match="y has 29 columns, but the estimator was fitted on 30"):
        TopKCalibratedClassifier(frozen).fit(X_test, Y_test[:, 1:])
    with pytest.raises(NotFittedError):
        TopKCalibratedClassifier(FrozenEstimator(PPDSparseClassifier())).fit(X, Y)


def test_labels_that_a_frozen_estimator_never_saw_are_misses(multiclass):
    X, y, X_test, y_test = multiclass
    frozen = FrozenEstimator(PPDSparseClassifier(random_state=0).fit(X, y))
    known = TopKCalibratedClassifier(frozen).fit(X_test, y_test)
    new = y_test.copy()
    new[::2] = 999
    unknown = TopKCalibratedClassifier(frozen).fit(X_test, new)
    assert unknown.predict_topk(X, scores="proba")[1].mean() < (
        known.predict_topk(X, scores="proba")[1].mean()
    )


def test_text_in_a_pipeline():
    passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"] * 5
    names = ["sort", "sort", "sum", "sum"] * 5 + ["inv", "inv"] * 5
    passages += ["invert a matrix", "inverse of a square matrix"] * 5
    model = TopKCalibratedClassifier(make_pipeline(TfidfVectorizer(), PPDSparseClassifier()), cv=2)
    model.fit(passages, names)
    labels, p = sklearn_xc.predict_topk(model, ["how to sort?"], k=3, scores="proba")
    assert labels[0, 0] == "sort"
    assert p.sum() == pytest.approx(1)
    assert model.predict(["the inverse of it"]).tolist() == ["inv"]
    weights = np.ones(len(names))
    with pytest.warns(UserWarning, match="fit of Pipeline takes no sample_weight"):
        model.fit(passages, names, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(passages, names, ppdsparseclassifier__sample_weight=weights)


def test_other_estimators_and_routing(multiclass):
    X, y, X_test, _ = multiclass
    model = TopKCalibratedClassifier(
        AugmentReduceClassifier(max_iter=2, random_state=0), method="temperature", cv=0.2
    )
    p = model.fit(X, y).predict_proba(X_test)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    weight = np.arange(len(y)) % 2 + 1
    default = TopKCalibratedClassifier(cv=0.2).fit(X, y, weight)
    with sklearn_config():
        routed = TopKCalibratedClassifier(
            PPDSparseClassifier(random_state=0).set_fit_request(sample_weight=True), cv=0.2
        ).fit(X, y, sample_weight=weight)
        again = TopKCalibratedClassifier(cv=0.2).fit(X, y, sample_weight=weight)
    for other in (routed, again):
        np.testing.assert_array_equal(default.predict_proba(X_test), other.predict_proba(X_test))


@pytest.mark.parametrize("name", ["PPDSparseClassifier", "MemoirSVC"])
def test_weights_of_a_calibrated_fit_need_no_request(name, multiclass):
    """The fit was given them itself: with routing copies get what they get without."""
    X, y, X_test, _ = multiclass
    weight = np.arange(len(y)) % 2 + 1
    model = getattr(sklearn_xc, name)(calibration="auto", calibration_cv=0.2, random_state=0)
    expected = model.fit(X, y, sample_weight=weight).predict_proba(X_test)
    with sklearn_config():
        for routed in clone(model), clone(model).set_fit_request(sample_weight=False):
            routed.fit(X, y, sample_weight=weight)
            np.testing.assert_array_equal(routed.predict_proba(X_test), expected)


def sklearn_config():
    import sklearn

    return sklearn.config_context(enable_metadata_routing=True)


@pytest.mark.parametrize("scores", ["logits", 1])
def test_kinds_of_scores_are_checked(scores, multiclass):
    X, y, X_test, _ = multiclass
    model = TopKCalibratedClassifier(cv=0.2).fit(X, y)
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba'"):
        model.predict_topk(X_test, scores=scores)


def test_failed_fit_leaves_nothing(multiclass):
    X, y, *_ = multiclass
    model = TopKCalibratedClassifier(cv=[])
    with pytest.raises(ValueError, match="cv holds out no sample"):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_the_error_itself_says_how_to_get_probabilities(multiclass):
    X, y, *_ = multiclass
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"'{name}': .*calibration='auto'.*Frozen"):
            getattr(model, name)
    with pytest.raises(AttributeError, match=r"'predict_proba': .*calibration='auto'"):
        TopKThresholdClassifier(model).predict_proba(X)
    assert PPDSparseClassifier.predict_proba.__doc__.startswith("Return calibrated")
    assert PPDSparseClassifier(calibration="sigmoid").predict_proba.__name__ == "predict_proba"


def test_a_calibration_is_shown_in_a_line(multiclass):
    X, y, *_ = multiclass
    for method in ("sigmoid", "isotonic", "temperature"):
        model = PPDSparseClassifier(calibration=method, calibration_cv=0.3, random_state=0)
        shown = repr(model.fit(X, y).calibration_)
        assert "\n" not in shown
        assert len(shown) < 250
        assert method.capitalize() in shown
