"""Text in, names out: forms of labels and texts, vocabulary and idf, files, growth, bad input."""

import io

import numpy as np
import pandas as pd
import pytest
from _label_texts import CLASSES, NEW, PLAIN, ROWS, TEXTS, fitted
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sklearn_xc
from sklearn_xc import (
    LabelTextClassifier,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
    load,
)
from sklearn_xc.model_selection import cross_val_topk

LISTS = [["sort", "array"], ["sort"], ["sum", "array"], ["sum"]] * 3


@pytest.mark.parametrize("y", [CLASSES, LISTS], ids=["classes", "lists"])
@pytest.mark.parametrize(
    "classifier",
    [None, TopKNeighborsClassifier(random_state=0), LDGSClassifier(random_state=0), MemoirSVC()],
)
def test_labels_without_rows_are_found_by_their_names(y, classifier):
    if isinstance(classifier, MemoirSVC) and y is LISTS:
        pytest.skip("one class a row")
    if isinstance(classifier, LDGSClassifier) and y is LISTS:
        classifier.set_params(max_iter=200)
    model = fitted(y, classifier=classifier)
    there = {"inv", "sort", "sum", *(["array"] if y is LISTS else [])}
    assert model.classes_.tolist() == sorted(there)
    names, scores = model.predict_topk(NEW, k=2)
    assert names[:, 0].tolist() == ["inv", "sum"]
    assert scores.shape == (2, 2)
    assert model.predict_topk(NEW, k=1, exclude=["inv"])[0][0, 0] != "inv"
    assert sklearn_xc.predict_topk(model, NEW, k=1)[0].ravel().tolist() == ["inv", "sum"]
    answer = sklearn_xc.topk_predictor(model, 1)
    assert answer(NEW[:1])[0].tolist() == [["inv"]]
    assert (answer.k, answer.scores, answer.classes_.tolist()) == (1, "decision", sorted(there))
    assert "k=1" in repr(answer)
    if hasattr(model, "predict_proba"):
        answer = sklearn_xc.topk_predictor(model, 2, scores="proba")
        for found, wanted in zip(
            answer(NEW), model.predict_topk(NEW, 2, scores="proba"), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)


def test_it_is_the_classifier_on_what_the_vectorizer_makes():
    model = fitted()
    words = model.vectorizer_
    labels = ["inv", "sort", "sum"]
    matrices = [
        words.transform(["inverse of a matrix", "sort", "sum"]),
        words.transform(["", "", "total"]),
    ]
    direct = PPDSparseClassifier(random_state=0)
    direct.fit(words.transform(ROWS), CLASSES, label_features=matrices, classes=labels)
    np.testing.assert_array_equal(model.classifier_.coef_.toarray(), direct.coef_.toarray())
    np.testing.assert_array_equal(
        model.decision_function(NEW), direct.decision_function(words.transform(NEW))
    )


def test_predictions_have_the_form_of_y():
    assert fitted(LISTS).predict(ROWS[:4]) == [sorted(row) for row in LISTS[:4]]
    assert fitted(LISTS).score(ROWS, LISTS) == 1
    assert fitted().predict(NEW).tolist() == ["inv", "sum"]
    assert fitted().score(ROWS, CLASSES) == 1
    sets = [set(row) for row in LISTS]
    assert fitted(sets).predict(ROWS[:4]) == fitted(LISTS).predict(ROWS[:4])
    indicator = np.array([["sort" in row, "sum" in row, False] for row in LISTS]).astype(int)
    texts = {0: "sort", 2: "inverse of a matrix"}
    model = fitted(indicator, texts)
    assert model.predict(NEW).tolist() == [[0, 0, 1], [0, 0, 0]]
    assert model.predict_topk(NEW[:1], k=1)[0].tolist() == [[2]]
    named = PPDSparseClassifier(random_state=0, label_names=["sort", "sum", "inv"])
    model = fitted(sparse.csr_array(indicator), TEXTS, named)
    assert model.predict_topk(NEW[:1], k=1)[0].tolist() == [["inv"]]


def test_tables_of_texts():
    pandas = pytest.importorskip("pandas")
    expected = fitted().decision_function(NEW)
    series = pandas.Series(TEXTS)
    np.testing.assert_array_equal(fitted(texts=series).decision_function(NEW), expected)
    frame = pandas.DataFrame(
        {"name": ["sort", "sum", "inverse of a matrix"], "also": [None, "total", np.nan]},
        index=["sort", "sum", "inv"],
    )
    model = fitted(texts=frame)
    np.testing.assert_array_equal(model.decision_function(NEW), expected)
    y = pandas.DataFrame({"sort": [1, 1, 0, 0] * 3, "sum": [0, 0, 1, 1] * 3, "inv": [0] * 12})
    model = LabelTextClassifier(PLAIN, label_texts=frame).fit(pandas.Series(ROWS), y)
    assert model.predict_topk(NEW, k=1)[0].ravel().tolist() == ["inv", "sum"]


# ------------------------------------------------------------------------------- vectorizers


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(),
        HashingVectorizer(n_features=256),
        TfidfVectorizer(use_idf=False),
        TfidfVectorizer(stop_words=["of", "a", "the"]),
    ],
)
def test_other_vectorizers(vectorizer):
    model = fitted(vectorizer=vectorizer)
    assert model.predict(NEW).tolist() == ["inv", "sum"]


def test_dense_rows():
    from sklearn.decomposition import TruncatedSVD

    dense = make_pipeline(TfidfVectorizer(), TruncatedSVD(8, random_state=0))
    model = fitted(vectorizer=dense, classifier=TopKNeighborsClassifier(random_state=0))
    assert model.predict_topk(NEW, k=1)[0].ravel().tolist() == ["inv", "sum"]


# --------------------------------------------------------------------------------- the default

WORDS = [f"w{i}" for i in range(60)]
TOPICS = {f"t{i:02}": f"{WORDS[i]} {WORDS[i + 20]}" for i in range(20)}


def many_rows(n=400):
    """Texts with one to three topics each, of which the first 18 occur."""
    rng = np.random.RandomState(0)
    y = [sorted({f"t{j:02}" for j in rng.randint(0, 18, rng.randint(1, 4))}) for _ in range(n)]
    words = [[rng.choice([*TOPICS[t].split(), f"v{t}"]) for t in row] for row in y]
    return [" ".join([*some, *rng.choice(WORDS[40:], 2)]) for some in words], y


@pytest.fixture(scope="module")
def stack():
    return LabelTextClassifier(label_texts=TOPICS).fit(*many_rows())


def test_the_default_is_a_stack_that_knows_its_labels_by_name(stack):
    assert isinstance(stack.classifier_, TopKStackingClassifier)
    names = [name for name, _ in stack.classifier_.estimators_]
    assert len(names) > 1, names
    assert stack.classifier_.label_names.tolist() == stack.classes_.tolist() == sorted(TOPICS)
    assert stack.predict_topk(["w18 w38"], 1)[0].tolist() == [["t18"]]  # no row has it
    assert stack.topk_predictor(1)(["w18 w38"])[0].tolist() == [["t18"]]
    assert stack.predict_proba(["w18 w38"]).shape == (1, 20)
    assert stack.predict_topk(["w18"], 1, labels=["t03", "t04"])[0][0, 0] in ("t03", "t04")


def test_labels_join_the_stack_by_their_texts(stack):
    model = load_of(stack).add_labels({"x": ["w41 w42", "w43"]})
    assert model.predict_topk(["w41 w42 w43"], 1)[0].tolist() == [["x"]]
    assert model.label_texts_ == {**stack.label_texts_, "x": ["w41 w42", "w43"]}
    assert "x" not in stack.classes_


# ---------------------------------------------------------------------- files, explanations


def load_of(model):
    file = io.BytesIO()
    model.save(file)
    return load(file.getvalue())


@pytest.mark.parametrize("y", [CLASSES, LISTS], ids=["classes", "lists"])
def test_a_file_holds_the_texts_of_labels(y, tmp_path):
    given = {"sort": ["sort", None, "\N{SNOWMAN}"], "sum": "sum", "inv": None}
    model = fitted(y, texts=given, classifier=TopKNeighborsClassifier(random_state=0))
    expected = {"sort": ["sort", "\N{SNOWMAN}"], "sum": ["sum"]}
    assert model.label_texts_ == expected
    loaded = load_of(model)
    assert loaded.label_texts is None
    assert loaded.label_texts_ == expected
    loaded.add_labels({"max": ["maximum", "max"]})
    loaded.partial_fit(ROWS, y, label_texts={"sum": ["sum", "total"]})
    found = load_of(loaded).label_texts_
    assert found == {**expected, "sum": ["sum", "total"], "max": ["maximum", "max"]}
    model.save(tmp_path / "model")
    assert load(tmp_path / "model", mmap_mode="r").label_texts_ == expected
    assert fitted(y, texts=None).label_texts_ == {}


@pytest.mark.parametrize("y", [CLASSES, LISTS], ids=["classes", "lists"])
def test_one_file_holds_the_whole(y):
    model, file = fitted(y), io.BytesIO()
    assert sklearn_xc.save_problems(model) == []
    model.save(file)
    loaded = load(file.getvalue())
    for ours, other in zip(model.predict_topk(NEW, 3), loaded.predict_topk(NEW, 3), strict=True):
        np.testing.assert_array_equal(ours, other)
    assert type(loaded.vectorizer_) is TfidfVectorizer
    assert loaded.predict(NEW) == model.predict(NEW) if y is LISTS else True


def test_a_file_may_stay_on_disk(tmp_path):
    model = fitted(LISTS)
    model.save(tmp_path / "model")
    mapped = load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict_topk(NEW, 2)[1], model.predict_topk(NEW, 2)[1])
    assert mapped.topk_predictor(1)(NEW[:1])[0].tolist() == [["inv"]]
    assert mapped.explain(["inverse"])[0].label == "inv"


def test_a_file_of_other_parts_is_refused():
    model = fitted()
    model._form = 3
    with pytest.raises((TypeError, ValueError), match="_form"):
        model.save(io.BytesIO())


@pytest.mark.parametrize(
    "classifier",
    [None, PLAIN, TopKNeighborsClassifier(random_state=0)],
)
def test_explanations_are_by_words(classifier):
    model = fitted(classifier=classifier)
    found = model.explain(["inverse"], labels="inv", k=2)[0]
    assert found.label == "inv"
    if classifier is None:
        assert found.feature_names[0] in dict(model.classifier_.estimators_)
        assert found.parts["one_vs_rest"].feature_names[0] == "inverse"
    elif isinstance(classifier, PPDSparseClassifier):
        assert found.feature_names[0] == "inverse"
        assert sklearn_xc.explain(model, ["inverse"])[0].feature_names[0] == "inverse"


# ------------------------------------------------------------------------------- growth


def test_parts_bring_rows_classes_and_texts():
    memory = LabelTextClassifier(TopKNeighborsClassifier(random_state=0), label_texts=TEXTS)
    memory.partial_fit(ROWS, CLASSES)
    assert memory.predict(NEW).tolist() == ["inv", "sum"]
    memory.partial_fit(["list of words"], ["join"], label_texts={"max": "total maximum"})
    assert memory.classes_.tolist() == ["inv", "join", "max", "sort", "sum"]
    assert memory.predict_topk(["total maximum"], k=1)[0].tolist() == [["max"]]
    with pytest.raises(ValueError, match="y was in the form of classes before, and now of lists"):
        memory.partial_fit(ROWS, LISTS)


@pytest.mark.parametrize(
    "classifier", [MemoirSVC(random_state=0), LDGSClassifier(random_state=0, max_iter=20)]
)
def test_parts_of_classifiers_that_are_trained(classifier):
    model = LabelTextClassifier(classifier, label_texts=TEXTS)
    for _ in range(30):
        model.partial_fit(ROWS, CLASSES, label_texts=TEXTS)
    assert model.predict(NEW).tolist() == ["inv", "sum"]


def test_lists_of_later_calls_may_name_new_labels_where_rows_can_join():
    model = fitted(LISTS, classifier=TopKNeighborsClassifier(random_state=0))
    model.partial_fit(["list squares"] * 9, [["heap"]] * 9)
    assert model.classes_.tolist() == ["array", "inv", "sort", "sum", "heap"]
    assert model.predict_topk(["list squares"], k=1)[0].tolist() == [["heap"]]
    model = LabelTextClassifier(LDGSClassifier(random_state=0)).partial_fit(ROWS, LISTS)
    with pytest.raises(ValueError, match="holds 'heap', which is no label of the model"):
        model.partial_fit(["a heap of lists"], [["heap"]])
    assert model.classes_.tolist() == ["array", "sort", "sum"]


@pytest.mark.parametrize("y", [CLASSES, LISTS], ids=["classes", "lists"])
def test_labels_are_added_by_texts(y):
    model = fitted(y, classifier=TopKNeighborsClassifier(random_state=0))
    n = len(model.classes_)
    model.add_labels({"squares": "squares", "lists": ["list"]})
    assert len(model.classes_) == n + 2
    assert "squares" in model.predict_topk(["squares"], k=2)[0]
    with pytest.raises(ValueError, match="'squares', which the model has already"):
        model.add_labels({"squares": "squares"})
    with pytest.raises(ValueError, match="takes texts alone"):
        model.add_labels({"other": "x"}, ROWS, y)
    with pytest.raises(ValueError, match="names no label"):
        model.add_labels({})


def test_labels_are_added_by_texts_and_rows():
    model = fitted(LISTS)
    with pytest.raises(ValueError, match="needs samples as well as texts"):
        model.add_labels({"squares": "squares"})
    model.add_labels({"squares": "squares"}, ROWS, LISTS)
    assert model.predict_topk(["squares"], k=1)[0].tolist() == [["squares"]]
    model = fitted()
    with pytest.raises(ValueError, match="'squares', which no sample in y has"):
        model.add_labels({"squares": "squares"}, ROWS, CLASSES)
    y = ["squares" if "squares" in row else label for row, label in zip(ROWS, CLASSES, strict=True)]
    model.add_labels({"squares": "squares"}, ROWS, y)
    assert model.predict(["squares"]).tolist() == ["squares"]


def test_methods_are_there_where_the_classifier_has_them():
    with pytest.raises(AttributeError, match="TopKStackingClassifier has no partial_fit"):
        LabelTextClassifier().partial_fit(ROWS, CLASSES)
    assert not hasattr(LabelTextClassifier(MemoirSVC()), "add_labels")
    calibrated = PPDSparseClassifier(random_state=0, calibration="sigmoid", calibration_cv=2)
    assert fitted(classifier=calibrated).predict_proba(NEW).shape == (2, 3)


# --------------------------------------------------------------------- through other hands


def test_searches_and_folds():
    search = GridSearchCV(
        LabelTextClassifier(PLAIN, TfidfVectorizer(), label_texts=TEXTS),
        {"vectorizer__ngram_range": [(1, 1), (1, 2)], "classifier__label_feature_weight": [1, 3]},
        cv=2,
    ).fit(ROWS, CLASSES)
    assert search.predict(NEW).tolist() == ["inv", "sum"]
    found = cross_val_topk(LabelTextClassifier(PLAIN, label_texts=TEXTS), ROWS, CLASSES, k=2, cv=2)
    assert found.classes.tolist() == ["inv", "sort", "sum"]
    assert found.tested.all()


def test_wrappers():
    model = LabelTextClassifier(PLAIN, label_texts=TEXTS)
    p = TopKCalibratedClassifier(model, cv=2).fit(ROWS, CLASSES).predict_proba(NEW)
    assert p.shape == (2, 3)
    assert p.argmax(axis=1).tolist() == [0, 2]
    indicator = np.array([["sort" in row, "sum" in row] for row in LISTS]).astype(int)
    several = LabelTextClassifier(PLAIN, label_texts={0: "sort", 1: "total"})
    found = TopKThresholdClassifier(several, cv=2).fit(ROWS, indicator)
    assert found.predict(["sort"]).tolist() == [[1, 0]]
    for y in (LISTS, pd.Series(LISTS)):
        with pytest.raises(ValueError, match=r"y holds a list of labels .*MultiLabelBinarizer"):
            TopKThresholdClassifier(several, cv=2).fit(ROWS, y)


# ------------------------------------------------------------------------------- bad input

BAD = {
    "one text": ({"X": "sort"}, ValueError, "X must be a sequence of texts"),
    "numbers": ({"X": [1.0] * 12}, ValueError, "X holds 1.0, which is no text, for sample 0$"),
    "missing rows": (
        {"X": [*ROWS[:10], None, float("nan")]},
        ValueError,
        "X holds None, .* sample 10; 2 of 12 texts are missing: drop these samples, or fill them",
    ),
    "a matrix": ({"X": np.eye(12)}, ValueError, r"got shape \(12, 12\)"),
    "fewer labels": ({"y": CLASSES[:-1]}, ValueError, "X has 12 texts, but y has labels for 11"),
    "no rows": ({"X": [], "y": []}, ValueError, "X has 0 texts"),
    "labels and lists of labels": (
        {"y": ["sort", ["sum"]] * 6},
        ValueError,
        "y holds the label 'sort' and a list of labels",
    ),
    "one row": ({"X": ROWS[:1], "y": [["sort"]]}, ValueError, r"X has 1 sample\(s\)"),
    "rows without labels": ({"y": [[]] * 12}, ValueError, "none of these has a label"),
    "numbers and texts": ({"y": [1, 2] * 6}, ValueError, "convert the labels"),
    "texts of a column that is not there": (
        {"y": np.eye(12, dtype=int)},
        ValueError,
        "'sort', which is no column of y",
    ),
    "a list": ({"label_texts": ["sort"]}, ValueError, "label_texts"),
    "a number": ({"label_texts": {"sort": 3}}, ValueError, "label_texts of 'sort' must be a text"),
    "a number in a list": ({"label_texts": {"sort": ["a", 3]}}, ValueError, "'sort' holds 3"),
    "a missing label": ({"label_texts": {None: "sort"}}, ValueError, "a label that is missing"),
    "a classifier of another kind": (
        {"classifier": LogisticRegression()},
        TypeError,
        "LogisticRegression takes no label_feat",
    ),
    "no vectorizer": ({"vectorizer": 3}, ValueError, "vectorizer"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_one_clear_error(case):
    given, error, message = BAD[case]
    data = {"X": ROWS, "y": CLASSES} | {k: v for k, v in given.items() if k in "Xy"}
    model = LabelTextClassifier(label_texts=TEXTS)
    model.set_params(**{k: v for k, v in given.items() if k not in "Xy"})
    before = vars(model).copy()
    with pytest.raises(error, match=message):
        model.fit(**data)
    assert vars(model) == before


def test_a_label_that_stands_twice_in_a_table():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="names the label 'sort' twice"):
        fitted(texts=pandas.Series(["sort", "order"], index=["sort", "sort"]))


def test_without_texts_any_classifier_will_do():
    model = fitted(texts=None, classifier=LogisticRegression())
    assert model.predict(["sort"]).tolist() == ["sort"]


def test_rows_that_are_no_texts_are_refused_in_predictions():
    with pytest.raises(ValueError, match="X must be a sequence of texts"):
        fitted().predict("sort")


@pytest.mark.parametrize("kind", [np.str_, str])
def test_labels_may_be_scalars_of_numpy(kind):
    """The elements of ``classes_`` and of an array of names are."""
    texts = {kind(label): text for label, text in TEXTS.items()}
    model = LabelTextClassifier(PLAIN, label_texts=texts).fit(ROWS, np.array(CLASSES))
    assert model.classes_.tolist() == sorted(set(map(str, [*TEXTS, *CLASSES])))


def test_equal_probabilities_keep_the_order_of_scores_under_a_restriction():
    classes = np.arange(160) % 8
    texts = [f"word{i % 5} label{c} label{(c + i % 3) % 8}" for i, c in enumerate(classes)]
    model = LabelTextClassifier(PPDSparseClassifier(calibration="isotonic", random_state=0))
    model.fit(texts, classes)
    best, p = model.predict_topk(texts, 5, "proba", labels=[7, 5, 3, 2, 1])
    assert (np.diff(p) == 0).any()
    np.testing.assert_array_equal(best, model.predict_topk(texts, 5, labels=[1, 2, 3, 5, 7])[0])
    empty = model.predict_topk(texts[:2], 1, "proba", True, labels=[[], []])
    assert empty.nnz == 0


def test_probabilities_that_are_missing_name_the_calibration():
    model = LabelTextClassifier(PPDSparseClassifier(random_state=0)).fit(
        ["red tea", "jam"], ["x", "y"]
    )
    with pytest.raises(ValueError, match="give the classifier calibration='auto'"):
        model.predict_topk(["tea"], k=1, scores="proba")
