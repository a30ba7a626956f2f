"""Texts of labels in PPDSparse: penalties, warm starts, checkpoints, new labels, calibration."""

import numpy as np
import pytest
from _texts_of_labels import GIVEN, N_LABELS, SCORES, TEXTS, X, Y, weights_of
from scipy import sparse
from sklearn import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier, load


def test_penalties_go_by_the_samples():
    plain = PPDSparseClassifier("rows", "rows", random_state=0).fit(X, Y)
    model = clone(plain).fit(X, Y, label_features=100 * TEXTS)
    assert (model.l1_, model.l2_) == (plain.l1_, plain.l2_)


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
