"""Answers for single rows by an object that is made once: those of predict_topk."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sklearn_xc import (
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
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
        ({"exclude": sparse.eye_array(12)}, "exclude of a predictor are for all rows"),
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
