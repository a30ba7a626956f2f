"""Accuracy on the shared data sets, as published or fixed splits, with default parameters."""

from types import SimpleNamespace

import numpy as np
import pytest
from _ppdsparse_problem import objectives
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import first_label, load_xc
from sklearn_xc.metrics import precision_at_k, top_k_accuracy

pytestmark = pytest.mark.kernel


@pytest.fixture
def load(data_folder):
    def load(name):
        """TF-IDF rows of unit length and labels: X, Y, X_test, Y_test."""
        X, Y = load_xc(data_folder / name / "train.txt.xz")
        X_test, Y_test = load_xc(data_folder / name / "test.txt.xz")
        tfidf = TfidfTransformer().fit(X)
        return tfidf.transform(X), Y, tfidf.transform(X_test), Y_test

    return load


# At least so many per cent at k = 1, 3, 5: the bar of the paper's data set, and for the others what
# the one-vs-all of PECOS reaches (doc/development/measurements/peers.md), less 0.3.
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("bibtex", (64.4, 39.0, 28.3)),
        pytest.param("cooking_fasttext", (71.4, 44.7, 30.1), marks=pytest.mark.full),
        pytest.param("delicious", (66.3, 60.0, 55.3), marks=pytest.mark.full),
        pytest.param("yso_finna_en_small", (20.3, 12.0, 8.6), marks=pytest.mark.full),
    ],
)
def test_precision(load, name, least):
    X, Y, X_test, Y_test = load(name)
    model = PPDSparseClassifier(n_jobs=2, random_state=0).fit(X, Y)
    assert (model.dual_gap_ <= model.tol).all()
    labels, _ = model.predict_topk(X_test, k=5)
    reached = [100 * precision_at_k(Y_test, labels, k=k) for k in (1, 3, 5)]
    assert (np.array(reached) >= least).all(), reached


@pytest.mark.parametrize(
    "name",
    [
        "bibtex",
        pytest.param("cooking_fasttext", marks=pytest.mark.full),
        pytest.param("yso_finna_en_small", marks=pytest.mark.full),
    ],
)
def test_the_gap_of_every_class_is_true(load, name):
    X, Y, _, _ = load(name)
    model = PPDSparseClassifier(0.1, 1.0, pruning=0, warm_start=True, n_jobs=2, random_state=0)
    model.fit(X, Y)
    X, Y = sparse.csr_array(X.astype(np.float32)), sparse.csc_array(Y)
    trained = np.flatnonzero(np.diff(Y.indptr))  # a class without a positive is not
    for some in np.array_split(trained, len(trained) // 400 + 1):
        parts = {name: getattr(model, name)[some] for name in ("coef_", "intercept_", "dual_coef_")}
        part = SimpleNamespace(l1_=0.1, l2_=1.0, **parts)
        primal, dual = objectives(part, X, Y[:, some].toarray())
        gap = (primal - dual) / primal
        np.testing.assert_allclose(model.dual_gap_[some], gap, rtol=0, atol=1e-6)


def test_rows_without_features_or_labels(load):
    X, Y, _, _ = load("bibtex")
    X, Y = X[:600].tolil(), Y[:600].tolil()
    X[:5], Y[5:10] = 0, 0
    model = PPDSparseClassifier(random_state=0).fit(X.tocsr(), Y.tocsr())
    labels, scores = model.predict_topk(sparse.csr_matrix((2, X.shape[1])), k=3)
    assert (labels[0] == labels[1]).all()
    np.testing.assert_array_equal(scores[0], np.sort(model.intercept_)[::-1][:3])


@pytest.mark.full
def test_multiclass_with_twenty_thousand_classes(load):
    X, Y, X_test, Y_test = load("oewn_hypernym")
    (y, kept), (y_test, kept_test) = first_label(Y), first_label(Y_test)
    found = []
    for tol, seed in [(0.001, 0), (0.03, 0), (0.03, 1), (0.03, 2)]:  # nearly the optimum; default
        model = PPDSparseClassifier(tol=tol, n_jobs=2, random_state=seed).fit(X[kept], y[kept])
        labels, _ = model.predict_topk(X_test[kept_test], k=5)
        found.append([top_k_accuracy(y_test[kept_test], labels, k=k) for k in (1, 5)])
    assert (np.array(found[0]) > (0.341, 0.54)).all()
    # of twelve seeds the best label has 0.3400 in the mean, and a standard deviation of 0.0005
    assert (np.mean(found[1:], axis=0) > (0.339, 0.535)).all()
