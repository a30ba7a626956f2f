"""Out-of-fold scores of the given labels, against all scores of the folds' models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline

from sklearn_xc import AugmentReduceClassifier, PPDSparseClassifier, TopKCalibratedClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.model_selection import RareLabelKFold, cross_val_label_scores

X, y = make_xc_classification(200, 100, 12, random_state=0)
_, Y = make_xc_classification(200, 100, 12, n_labels=2, random_state=0)
PLAIN = PPDSparseClassifier(l1=0.01, l2=1.0, random_state=0)
MODELS = {
    "decision": PLAIN,
    "proba": AugmentReduceClassifier(max_iter=2, random_state=0),
    "wrapper": TopKCalibratedClassifier(PLAIN, cv=2, k=3),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 12])
@pytest.mark.filterwarnings("ignore:the log-likelihood ended")
def test_one_class_a_row(name, n_classes):
    labels = np.array([f"class {code % n_classes:02d}" for code in y])
    labels[5] = "the only one" if n_classes > 2 else labels[5]
    scores = "decision" if name == "decision" else "proba"
    cv = KFold(3, shuffle=True, random_state=0)
    given = cross_val_label_scores(MODELS[name], X, labels, cv=cv, scores=scores, n_jobs=2)
    assert given.dtype == np.float32
    for train, test in cv.split(X):
        model = clone(MODELS[name]).fit(X[train], labels[train])
        whole = model.predict_topk(X[test], len(model.classes_), scores)
        for row, found, values in zip(test, *whole, strict=True):
            expected = values[found == labels[row]]
            np.testing.assert_allclose(given[row], expected[0] if len(expected) else np.nan, 1e-5)
    assert np.isnan(given).sum() == (n_classes > 2)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_several_labels_a_row(container):
    dense = Y.toarray()
    given = cross_val_label_scores(PLAIN, X, container(dense), cv=3)
    assert isinstance(given, sparse.csr_array)
    tested = np.zeros(200, dtype=bool)
    for train, test in RareLabelKFold(3).split(X, dense):
        tested[test] = True
        expected = clone(PLAIN).fit(X[train], dense[train]).decision_function(X[test])
        found = given[test].toarray()
        np.testing.assert_allclose(found, np.where(dense[test] > 0, expected, 0), rtol=1e-5)
    np.testing.assert_array_equal(given.toarray() != 0, (dense > 0) & tested[:, None])


def test_texts_and_rows_that_are_never_tested():
    texts = [f"w{code} v{code % 5}" for code in y]
    model = make_pipeline(TfidfVectorizer(), PLAIN)
    part = [(np.arange(100, 200), np.arange(100))]
    given = cross_val_label_scores(model, texts, y, cv=part)
    np.testing.assert_array_equal(np.isnan(given), ~np.isin(y, y[100:]) | (np.arange(200) >= 100))


def test_refusals():
    with pytest.raises(ValueError, match="cross_val_label_scores needs one prediction a sample"):
        cross_val_label_scores(PLAIN, X, y, cv=ShuffleSplit(3, random_state=0))
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba', got 'log'"):
        cross_val_label_scores(PLAIN, X, y, scores="log")
    with pytest.raises(ValueError, match="has probabilities only with calibration"):
        cross_val_label_scores(PLAIN, X, y, scores="proba")
