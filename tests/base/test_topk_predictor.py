"""Answers for single rows by an object that is made once: those of predict_topk."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import (
    AugmentReduceClassifier,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKAbstainClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    load,
    predict_topk,
    save,
    topk_predictor,
)
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(200, 100, 12, n_labels=1, random_state=0)
y = np.arange(200) % 12
MODELS = {
    "ppdsparse": PPDSparseClassifier(random_state=0),
    "memoir": MemoirSVC(random_state=0, max_iter=2),
    "distances": LDGSClassifier(similarity="sqeuclidean", hidden_dim=4, max_iter=2, random_state=0),
    "wrapper": TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=2),
}
OPTIONS = {
    "all": {},
    "labels": {"labels": [2, 5, 7, 8]},
    "exclude": {"exclude": [2, 5, 7, 8]},
    "both": {"labels": [2, 5, 7, 8], "exclude": [5]},
    "weights": {"label_weight": np.linspace(-1, 1, 12), "labels": range(10)},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_same_answers(name, options):
    model = MODELS[name].fit(X, y)
    answer = topk_predictor(model, 3, **options)
    labels, scores = model.predict_topk(X, 3, **options)
    for rows in (X, sparse.csc_matrix(X), X.toarray(), X.toarray().tolist()):
        found, values = answer(rows)
        np.testing.assert_array_equal(found, labels)
        np.testing.assert_allclose(values, scores, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(answer(X[5:6])[0], labels[5:6])


PROBABILITIES = {
    "sigmoid": PPDSparseClassifier(calibration="sigmoid", calibration_cv=2, random_state=0),
    "top_label": MemoirSVC(calibration="auto", calibration_cv=2, random_state=0, max_iter=2),
    "softmax": AugmentReduceClassifier(max_iter=2, random_state=0),
    "embedded": LDGSClassifier(hidden_dim=4, max_iter=2, random_state=0),
    "neighbors": TopKNeighborsClassifier(),
    "wrapper": TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=2, k=4),
    "abstain": TopKAbstainClassifier(AugmentReduceClassifier(max_iter=2, random_state=0), cv=2),
}


@pytest.mark.filterwarnings("ignore:no threshold makes", "ignore:the log-likelihood ended")
@pytest.mark.parametrize("n_classes", [2, 12])
@pytest.mark.parametrize("name", PROBABILITIES)
def test_probabilities(name, n_classes, tmp_path):
    model = clone(PROBABILITIES[name]).fit(X, y % n_classes)
    options = [{}, {"k": 1}, {"k": 1, "exclude": [1]}, {"labels": [0, 1]}]
    options += [{"k": 2, "labels": [2, 5, 7, 8], "exclude": [5]}] if n_classes > 2 else []
    model.save(tmp_path / "model")
    for given in options:
        labels, p = model.predict_topk(X, scores="proba", **given)
        for one in (model, load(tmp_path / "model", "r")):
            answer = topk_predictor(one, scores="proba", **given)
            found, values = answer(X)
            np.testing.assert_array_equal(found, labels)
            np.testing.assert_allclose(values, p, rtol=1e-6)
            assert values.dtype == np.float32
            assert (answer.scores, answer.k) == ("proba", labels.shape[1])
            np.testing.assert_array_equal(answer.classes_, model.classes_)
        single = [answer(X[i : i + 1])[1][0] for i in range(5)]
        np.testing.assert_allclose(single, p[:5], rtol=1e-6)


def test_there_are_no_probabilities():
    plain = PPDSparseClassifier(random_state=0).fit(X, y)
    wrapped = TopKAbstainClassifier(FrozenEstimator(plain), target=0.01).fit(X, y)
    for model in (plain, wrapped):
        with pytest.raises(ValueError, match="scores='proba': "):
            topk_predictor(model, scores="proba")
    calibrated = clone(PROBABILITIES["sigmoid"]).fit(X, y)
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba', got 'logits'"):
        topk_predictor(calibrated, scores="logits")
    for model in (calibrated, TopKCalibratedClassifier(FrozenEstimator(plain)).fit(X, y)):
        with pytest.raises(ValueError, match="sums with it are no probabilities"):
            topk_predictor(model, scores="proba", label_weight=np.zeros(12))


def test_names_of_columns():
    model = PPDSparseClassifier(random_state=0).fit(X, np.eye(12, dtype=int)[y])
    names = np.array([f"class {i:02d}" for i in range(12)])
    options = {"exclude": ["class 05"], "label_weight": dict.fromkeys(names, 0.5)}
    labels, scores = predict_topk(model, X, 3, names=names, **options)
    answer = topk_predictor(model, 3, names=names, **options)
    np.testing.assert_array_equal(answer(X)[0], labels)
    np.testing.assert_allclose(answer(X)[1], scores, rtol=1e-6, atol=1e-6)
    assert answer.classes_ is names


def test_what_is_shown():
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    assert repr(topk_predictor(model, 3)) == (
        "TopkPredictor(PPDSparseClassifier, k=3, scores='decision', 12 classes)"
    )
    behind = topk_predictor(make_pipeline(MaxAbsScaler(), model).fit(X, y))
    assert repr(behind).endswith("12 classes, after MaxAbsScaler)")
    assert (behind.k, len(behind.classes_)) == (5, 12)
    calibrated = TopKCalibratedClassifier(FrozenEstimator(model)).fit(X, y)
    assert "k=2, scores='proba'" in repr(topk_predictor(calibrated, 2, "proba"))


def test_two_classes():
    model = PPDSparseClassifier(random_state=0).fit(X, y > 5)
    np.testing.assert_array_equal(model.topk_predictor()(X)[1], model.predict_topk(X)[1])
    np.testing.assert_array_equal(model.topk_predictor(1, exclude=[False])(X)[0], True)


def test_training_again_does_not_change_it():
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    answer = model.topk_predictor(2)
    before = answer(X)[1]
    model.fit(X[::-1], y)
    np.testing.assert_array_equal(answer(X)[1], before)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_threads_of_a_server_get_the_same_answers(mmap_mode, tmp_path):
    texts = [f"w{i % 7} w{i % 11} w{i % 13}" for i in range(200)]
    pipeline = make_pipeline(TfidfVectorizer(), PPDSparseClassifier(random_state=0)).fit(texts, y)
    save(pipeline, tmp_path / "model.sxc")
    answer = topk_predictor(load(tmp_path / "model.sxc", mmap_mode), 3)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: answer([text]), texts))
    labels, scores = predict_topk(pipeline, texts, 3)
    np.testing.assert_array_equal(np.vstack([f[0] for f in found]), labels)
    np.testing.assert_array_equal(np.vstack([f[1] for f in found]), scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 13}, "k must be an integer from 1 to the number of classes, 12"),
        ({"k": 3, "labels": [1, 2]}, "number of classes, 2; got k=3"),
        ({"labels": [1], "exclude": [1]}, "leave no label"),
        ({"labels": [99]}, "labels names 99, which is not in classes_"),
        ({"labels": [[1], [2]]}, "labels"),
        ({"exclude": sparse.eye_array(12)}, "exclude of a predictor are for all samples"),
        ({"label_weight": [1]}, "label_weight must be 1-D"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        MODELS["ppdsparse"].fit(X, y).topk_predictor(**options)
    with pytest.raises(NotFittedError):
        PPDSparseClassifier().topk_predictor()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:, 1:], r"X has the shape \(200, 99\)"),
        (np.ones(100), r"X has the shape \(100,\)"),
        (np.full((1, 100), np.nan), "NaN or infinity"),
        (np.full((1, 100), np.inf), "X holds inf"),
        (np.full((1, 100), "a"), "X must hold real numbers"),
        (np.full((1, 100), 1e300), "beyond the range of float32"),
    ],
)
def test_bad_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        MODELS["ppdsparse"].fit(X, y).topk_predictor()(rows)


def test_damaged_rows():
    rows = sparse.csr_array(X[:2])
    rows.indices[0] = 10**6
    with pytest.raises(ValueError, match="X"):
        MODELS["ppdsparse"].fit(X, y).topk_predictor()(rows)
