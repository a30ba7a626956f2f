"""Functions inside of what `ppdsparse/test_label_features.py` tests from outside."""

import numpy as np
import pytest
from _texts_of_labels import GIVEN, N_LABELS, SCORES, TEXTS, X, Y, weights_of
from scipy import sparse

from sklearn_xc import PPDSparseClassifier


def test_the_pilot_holds_out_samples_only():
    from sklearn_xc.base._label_texts import Texts
    from sklearn_xc.ppdsparse._penalty_pilot import pilot_of
    from sklearn_xc.ppdsparse._problem import OneVsRestProblem
    from sklearn_xc.utils._matrix import as_rows, normalise

    many = sparse.vstack([X, X[::-1]], format="csr")  # no fewer than the pilot asks for
    Y_many = sparse.vstack([Y, Y[::-1]], format="csr")
    model = PPDSparseClassifier(**GIVEN).fit(X, Y)
    rows = as_rows(normalise(many))
    texts = Texts(as_rows(TEXTS), np.arange(N_LABELS, dtype=np.int32), 1.0)
    plain = pilot_of(OneVsRestProblem.of(model, rows, Y_many, None, np.empty))
    pilot = pilot_of(OneVsRestProblem.of(model, rows, Y_many, None, np.empty, texts=texts))
    held = [p.held_rows.matrix().toarray() for p in (plain, pilot)]
    np.testing.assert_array_equal(*held)
    np.testing.assert_array_equal(plain.truth, pilot.truth)
    n_classes = plain.truth.shape[1]
    assert pilot.problem.rows.shape[0] == plain.problem.rows.shape[0] + n_classes
    last = pilot.problem.Y[-n_classes:].toarray()
    np.testing.assert_array_equal(last, np.eye(n_classes))


@pytest.mark.parametrize("class_weight", ["balanced", "propensity"])
def test_weights_of_classes_count_samples(class_weight):
    from sklearn_xc.ppdsparse._problem import factors_of_classes

    ones = np.ones(Y.shape[0], dtype=np.float32)
    model = PPDSparseClassifier(**GIVEN, class_weight=class_weight).fit(X, Y, label_features=TEXTS)
    factors = factors_of_classes(model, Y, ones)[:, 1]
    by_hand = dict(enumerate(factors.tolist()))
    there = np.flatnonzero(np.diff(TEXTS.indptr))
    rows = sparse.vstack([X, TEXTS[there]], format="csr")
    Y_all = sparse.vstack([Y, sparse.eye_array(N_LABELS, format="csr")[there]], format="csr")
    reference = PPDSparseClassifier(**GIVEN, class_weight=by_hand)
    reference.fit(rows, Y_all.astype(np.uint8))
    np.testing.assert_allclose(weights_of(model), weights_of(reference), atol=1e-6)


def test_a_warm_start_keeps_samples_and_texts_apart():
    n_before = 300
    model = PPDSparseClassifier(**GIVEN, warm_start=True, tol=1e-4)
    model.fit(X[:n_before], Y[:n_before], label_features=TEXTS)
    n_texts = np.count_nonzero(np.diff(TEXTS.indptr))
    assert model.dual_coef_.shape == (N_LABELS, n_before + n_texts)
    of_texts = model.dual_coef_[:, n_before:].toarray()
    from sklearn_xc.ppdsparse._assembly import grown_duals

    grown = grown_duals(model.dual_coef_, (len(SCORES), N_LABELS), n_texts, n_texts)
    np.testing.assert_array_equal(grown[:, len(SCORES) :].toarray(), of_texts)
    assert grown[:, n_before : len(SCORES)].nnz == 0
    model.fit(X, Y, label_features=TEXTS)
    cold = PPDSparseClassifier(**GIVEN, tol=1e-4).fit(X, Y, label_features=TEXTS)
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=0.05)
    model.fit(X, Y)  # without texts
    assert model.dual_coef_.shape == (N_LABELS, len(SCORES))
    plain = PPDSparseClassifier(**GIVEN, tol=1e-4).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=0.05)
    with pytest.raises(ValueError, match="the earlier fit had 400 samples"):
        model.fit(X[:10], Y[:10], label_features=TEXTS)
