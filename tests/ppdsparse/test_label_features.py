"""Texts of labels in PPDSparse: penalties, warm starts, checkpoints, new labels, calibration."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier, load
from sklearn_xc.datasets import make_xc_classification

N_LABELS = 30
X, _ = make_xc_classification(400, 200, N_LABELS, random_state=0)
X = sparse.csr_array(X)
RNG = np.random.default_rng(0)
WAY = RNG.normal(size=(200, N_LABELS))
SCORES = X @ WAY
Y = sparse.csr_array((np.sort(SCORES, axis=1)[:, [-2]] <= SCORES).astype(np.uint8))
TEXTS = sparse.csr_array(np.where(WAY > 2, WAY, 0).T.astype(np.float32))
GIVEN = {"l1": 0.01, "l2": 1.0, "random_state": 0, "label_feature_weight": 1.0}


def weights_of(model):
    return np.column_stack([model.coef_.toarray(), model.intercept_])


def test_penalties_go_by_the_samples():
    plain = PPDSparseClassifier("rows", "rows", random_state=0).fit(X, Y)
    model = clone(plain).fit(X, Y, label_features=100 * TEXTS)
    assert (model.l1_, model.l2_) == (plain.l1_, plain.l2_)


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


def test_duality_gaps_hold_with_texts():
    model = PPDSparseClassifier(**GIVEN, tol=1e-3).fit(X, Y, label_features=TEXTS)
    assert (model.dual_gap_ <= 1e-3).all()


def test_a_checkpoint_is_of_its_texts(tmp_path):
    folder = tmp_path / "blocks"
    model = PPDSparseClassifier(**GIVEN, checkpoint=folder, keep_checkpoint=True)
    model.fit(X, Y, label_features=TEXTS)
    again = clone(model).fit(X, Y, label_features=TEXTS)
    np.testing.assert_array_equal(weights_of(again), weights_of(model))
    for others in (None, 2 * TEXTS, TEXTS[::-1]):
        with pytest.raises(ValueError, match="label_features"):
            clone(model).fit(X, Y, label_features=others)
    with pytest.raises(ValueError, match="label_feature_weight"):
        clone(model).set_params(label_feature_weight=2.0).fit(X, Y, label_features=TEXTS)


def test_scratch_gives_the_same_model(tmp_path):
    model = PPDSparseClassifier(random_state=0).fit(X, Y, label_features=TEXTS)
    on_disk = PPDSparseClassifier(random_state=0, scratch=tmp_path)
    on_disk.fit(X, Y, label_features=TEXTS)
    np.testing.assert_array_equal(weights_of(on_disk), weights_of(model))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_model_for_any_n_jobs(n_jobs):
    model = PPDSparseClassifier(random_state=0).fit(X, Y, label_features=TEXTS)
    other = PPDSparseClassifier(random_state=0, n_jobs=n_jobs).fit(X, Y, label_features=TEXTS)
    np.testing.assert_array_equal(weights_of(other), weights_of(model))


def test_grades_are_of_samples_and_texts_count_whole():
    graded = Y.astype(np.float32) * 0.5
    model = PPDSparseClassifier(**GIVEN, graded=True).fit(X, graded, label_features=TEXTS)
    there = np.flatnonzero(np.diff(TEXTS.indptr))
    rows = sparse.vstack([X, TEXTS[there]], format="csr")
    whole = sparse.eye_array(N_LABELS, format="csr", dtype=np.float32)[there]
    reference = PPDSparseClassifier(**GIVEN, graded=True)
    reference.fit(rows, sparse.vstack([graded, whole], format="csr"))
    np.testing.assert_array_equal(weights_of(model), weights_of(reference))


def test_calibration_holds_out_samples_and_sees_all_texts():
    model = PPDSparseClassifier(**GIVEN, calibration="sigmoid", calibration_cv=3)
    model.fit(X, Y, label_features=TEXTS)
    assert model.predict_proba(X[:3]).shape == (3, N_LABELS)
    names = np.array([f"label {i:02}" for i in range(N_LABELS + 1)])
    y = names[SCORES.argmax(axis=1)]  # the last class has no row, and others hardly any
    texts = sparse.vstack([TEXTS, TEXTS[:1]], format="csr")
    model.fit(X, y, label_features=texts, classes=names)
    p = model.predict_proba(X[:3])
    assert p.shape == (3, N_LABELS + 1)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_labels_that_are_added_have_texts():
    n_old, exact = 20, {**GIVEN, "tol": 1e-6, "pruning": 0.0}
    model = PPDSparseClassifier(**exact).fit(X, Y[:, :n_old])
    empty = Y[:, n_old:].toarray()
    empty[:, -1] = 0
    model.add_labels(X, empty, label_features=TEXTS[n_old:])
    there = n_old + np.flatnonzero(np.diff(TEXTS[n_old:].indptr))
    rows = sparse.vstack([X, TEXTS[there]], format="csr")
    of_texts = np.eye(N_LABELS, dtype=np.uint8)[there][:, n_old:]
    reference = PPDSparseClassifier(**exact).fit(rows, np.vstack([empty, of_texts]))
    found = model.decision_function(rows)[:, n_old:]
    np.testing.assert_allclose(found, reference.decision_function(rows), atol=0.01)
    assert model.label_report_.support[-1] == 0
    before = vars(model).copy()
    with pytest.raises(ValueError, match="2 rows, one for each label, but the new labels are 3"):
        model.add_labels(X, empty[:, :3], label_features=TEXTS[:2])
    assert vars(model).keys() == before.keys()
    assert len(model.classes_) == N_LABELS


def test_new_classes_have_texts():
    y = SCORES.argmax(axis=1)
    old = y < 20
    model = PPDSparseClassifier(**GIVEN).fit(X[old], y[old])
    new = np.setdiff1d(y, y[old])
    model.add_labels(X, y, label_features=TEXTS[new])
    assert model.classes_.tolist() == np.unique(y).tolist()


def test_a_file_holds_the_model(tmp_path):
    model = PPDSparseClassifier(**GIVEN, warm_start=True).fit(X, Y, label_features=TEXTS)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(
        weights_of(loaded.fit(X, Y, label_features=TEXTS)),
        weights_of(model.fit(X, Y, label_features=TEXTS)),
    )


def test_names_and_synonyms_find_a_label_without_rows():
    passages = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    words = TfidfVectorizer().fit([*passages, "inverse of a matrix", "reciprocal"])
    model = PPDSparseClassifier(random_state=0).fit(
        words.transform(passages),
        ["sort", "sort", "sum", "sum"],
        label_features=[
            words.transform(["sort", "sum", "inverse of a matrix"]),
            words.transform(["", "", "reciprocal"]),
        ],
        classes=["sort", "sum", "inv"],
    )
    question = words.transform(["a matrix", "reciprocal"])
    assert model.predict(question).tolist() == ["inv", "inv"]
