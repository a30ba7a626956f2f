"""Rows and labels that join, texts without rows, files, and explanations."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from _nearest_rows import scores
from _neighbors_data import FIXED, FORMS, Q, T, X, Y, in_each_form, sparse_rows
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sklearn_xc
from sklearn_xc import TopKNeighborsClassifier, load

EXACT = FIXED | {"n_neighbors": 20}


def assert_same(one, other, queries=Q):
    k = min(3, len(one.classes_))
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.decision_function(queries), other.decision_function(queries))
    for some, others in zip(one.kneighbors(queries), other.kneighbors(queries), strict=True):
        np.testing.assert_array_equal(some, others)
    for some, others in zip(
        one.predict_topk(queries, k), other.predict_topk(queries, k), strict=True
    ):
        np.testing.assert_array_equal(some, others)


# ------------------------------------------------------------------------------- partial_fit


@in_each_form
@pytest.mark.parametrize("cuts", [[150], [1, 2, 3, 150], [100, 101, 149, 150], range(5, 151, 5)])
def test_pieces_equal_one_fit(form, cuts):
    whole = TopKNeighborsClassifier(**EXACT).fit(form(X), Y, label_features=form(T))
    parts, start = TopKNeighborsClassifier(**EXACT), 0
    for stop in cuts:
        texts = {"label_features": form(T)} if start == 0 else {}
        parts.partial_fit(form(X[start:stop]), Y[start:stop], **texts)
        start = stop
    assert parts.n_samples_fit_ == 150
    assert_same(whole, parts)


def test_pieces_with_weights_and_grades_equal_one_fit():
    weight = np.linspace(0, 2, 150)
    graded = (0.5 * Y).tocsr()
    whole = TopKNeighborsClassifier(**EXACT, graded=True).fit(X, graded, weight)
    parts = TopKNeighborsClassifier(**EXACT, graded=True)
    for part in (slice(0, 40), slice(40, 41), slice(41, 150)):
        parts.partial_fit(X[part], graded[part], sample_weight=weight[part])
    assert_same(whole, parts)
    plain_first = TopKNeighborsClassifier(**EXACT).fit(X[:40], Y[:40])
    plain_first.partial_fit(X[40:], Y[40:], sample_weight=np.full(110, 2.0))
    both = TopKNeighborsClassifier(**EXACT).fit(X, Y, np.repeat([1.0, 2.0], [40, 110]))
    assert_same(both, plain_first)


def test_new_classes_are_known_at_once():
    y = np.array(["b", "d"])[np.arange(150) % 2].astype(object)
    y[100:] = np.array(["a", "c", "e"])[np.arange(50) % 3]
    model = TopKNeighborsClassifier(**EXACT).fit(X[:100], y[:100])
    assert model.decision_function(Q).ndim == 1
    model.partial_fit(X[100:], y[100:])
    assert model.classes_.tolist() == ["a", "b", "c", "d", "e"]
    assert_same(TopKNeighborsClassifier(**EXACT).fit(X, y), model)
    model.partial_fit(X[:1], ["b"], classes=["f", "e", "d", "c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c", "d", "e", "f"]


def test_columns_of_new_labels_are_appended():
    model = TopKNeighborsClassifier(**EXACT).fit(X[:100], Y[:100, :9])
    model.partial_fit(X[100:], Y[100:])
    expected = Y.copy().tolil()
    expected[:100, 9:] = 0
    assert_same(TopKNeighborsClassifier(**EXACT).fit(X, expected.tocsr()), model)


def test_copies_of_a_model_grow_apart():
    model = TopKNeighborsClassifier(**EXACT).fit(X[:50], Y[:50])
    model.partial_fit(X[50:60], Y[50:60])
    other = copy.copy(model)
    model.partial_fit(X[60:70], Y[60:70])
    other.partial_fit(X[70:80], Y[70:80])
    rows = [*range(60), *range(70, 80)]
    assert_same(TopKNeighborsClassifier(**EXACT).fit(X[rows], Y[rows]), other)
    assert_same(TopKNeighborsClassifier(**EXACT).fit(X[:70], Y[:70]), model)


def test_a_predictor_does_not_change_with_the_model():
    model = TopKNeighborsClassifier(**EXACT).fit(X[:50], Y[:50])
    predictor = model.topk_predictor(3)
    before = predictor(Q)[1]
    model.partial_fit(X[50:], Y[50:])
    np.testing.assert_array_equal(predictor(Q)[1], before)


def test_auto_before_a_fit_is_the_default():
    model = TopKNeighborsClassifier().partial_fit(X, Y)
    assert tuple(model._settings()) == (100, 3.0, 0.0, 1.0)
    fitted = TopKNeighborsClassifier(random_state=0).fit(X[:100], Y[:100])
    before = fitted._settings()
    assert fitted.partial_fit(X[100:], Y[100:])._settings() == before


def test_what_fails_leaves_the_model_as_it_was():
    model = TopKNeighborsClassifier(**EXACT).fit(X, Y, label_features=T)
    before = copy.deepcopy(model)
    for arguments, message in (
        ({"X": X[:3], "y": Y[:2]}, "inconsistent numbers of samples"),
        ({"X": X[:3, :5], "y": Y[:3]}, "X has 5 features"),
        ({"X": X[:3], "y": np.arange(3)}, "y of the calls before was an indicator"),
        ({"X": X[:3], "y": Y[:3, :4]}, "y has 4 columns, but the model has 12 labels"),
        ({"X": X[:3], "y": Y[:3], "label_features": T[:, :4]}, "label_features has 4 columns"),
        ({"X": X[:3], "y": Y[:3], "classes": list("abcdefghijkl")}, "must begin with the 12"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(**arguments)
        assert_same(before, model)
    with pytest.raises(ValueError, match="label_features has 4 columns, but X has 40 features"):
        model.add_labels(T[:1, :4])
    assert_same(before, model)


# ------------------------------------------------------------------------------- texts


@in_each_form
def test_texts_alone_are_a_matcher(form):
    model = TopKNeighborsClassifier(power=3.0).fit(None, None, label_features=form(T))
    expected = scores(X[:1], np.zeros((1, 12)), form(Q), 1, 3.0, 0, 1.0, [form(T)])
    np.testing.assert_allclose(model.decision_function(form(Q)), expected, atol=1e-6)
    assert model.n_samples_fit_ == 0
    assert model.predict(form(Q)).shape == (40, 12)
    names = [f"label {i}" for i in range(12)]
    named = TopKNeighborsClassifier(power=3.0, label_names=names)
    named.fit(None, label_features=form(T)).partial_fit(form(X), Y)
    whole = TopKNeighborsClassifier(
        n_neighbors=100, power=3.0, frequency_power=0, text_weight=1, label_names=names
    )
    assert_same(whole.fit(form(X), Y, label_features=form(T)), named, form(Q))


def test_a_matcher_of_classes_predicts_one():
    names = np.array(["c", "a", "b"])
    model = TopKNeighborsClassifier().fit(None, label_features=np.eye(3), classes=names)
    assert model.predict(np.eye(3)).tolist() == ["c", "a", "b"]
    assert model.partial_fit(np.eye(3)[:1], ["d"]).classes_.tolist() == ["a", "b", "c", "d"]


def test_classes_without_rows_are_found_by_their_texts():
    y = np.array(["b", "d"])[np.arange(150) % 2]
    texts = sparse_rows(3, seed=4) + np.eye(3, 40)
    model = TopKNeighborsClassifier(**EXACT)
    model.fit(X, y, label_features=texts, classes=["d", "a", "b"])
    Y3 = (y[:, None] == np.array(["a", "b", "d"])).astype(int)
    expected = scores(X, Y3, Q, 20, 2.0, 0.25, 1.5, [texts[[1, 2, 0]]])
    assert model.classes_.tolist() == ["a", "b", "d"]
    assert model.predict(texts[1:2]).tolist() == ["a"]
    np.testing.assert_allclose(model.decision_function(Q)[0], expected[0], atol=1e-5)


@in_each_form
def test_added_labels_are_those_of_a_fit(form):
    model = TopKNeighborsClassifier(**EXACT).fit(form(X), Y[:, :9], label_features=form(T[:9]))
    model.add_labels(form(T[9:]))
    empty = sparse.hstack([Y[:, :9], sparse.csr_array((150, 3), dtype=int)], format="csr")
    assert_same(TopKNeighborsClassifier(**EXACT).fit(form(X), empty, label_features=form(T)), model)


def test_a_stream_may_begin_with_one_class():
    y = np.array(["b", "d"])[np.arange(150) % 2]
    model = TopKNeighborsClassifier(**EXACT).partial_fit(X[:1], y[:1], classes=["d", "b"])
    model.partial_fit(X[1:], y[1:])
    assert_same(TopKNeighborsClassifier(**EXACT).fit(X, y), model)


def test_added_classes_take_their_place():
    y = np.array(["b", "d", "f"])[np.arange(150) % 3]
    model = TopKNeighborsClassifier(**EXACT).fit(X, y, label_features=T[:3])
    model.add_labels(T[3:5], names=["e", "a"])
    whole = TopKNeighborsClassifier(**EXACT)
    whole.fit(X, y, label_features=T[:5], classes=["b", "d", "f", "e", "a"])
    assert_same(whole, model)


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label_features": T[:5]}, "label_features has 5 rows, one for each label, but there are"),
        ({"label_features": T[:, :7]}, "label_features has 7 columns, but X has 40 features"),
        ({"label_features": T[0]}, "label_features must be a matrix of two dimensions"),
        ({"label_features": np.full((12, 40), np.nan)}, "label_features holds NaN or infinity"),
        (
            {"label_features": [T, T[:5]]},
            r"label_features\[1\] has 5 rows, but label_features\[0\]",
        ),
        ({"label_features": []}, "label_features is an empty sequence"),
        ({"classes": ["a", "b"]}, "classes is for y of one class a sample"),
        ({"y": np.arange(150) % 3, "classes": [0, 1]}, "y holds 2, which is not in classes"),
        ({"y": np.arange(150) % 3, "classes": [0, 1, 2, 2]}, "classes names two labels 2"),
        (
            {"y": np.arange(150) % 3, "classes": [0, 1, 2, 3], "label_features": T},
            "label_features has 12 rows, one for each label, but classes names 4",
        ),
        ({"X": None, "label_features": T}, "X is None, but y or sample_weight is given"),
        ({"X": None, "y": None}, "X is None: give the texts of the labels as label_features"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    arguments = {"X": X, "y": Y} | arguments
    model = TopKNeighborsClassifier(**EXACT)
    with pytest.raises(ValueError, match=message):
        model.fit(**arguments)
    assert not hasattr(model, "classes_")


def test_names_of_added_labels_are_checked():
    named = TopKNeighborsClassifier(**EXACT, label_names=[f"l{i}" for i in range(12)]).fit(X, Y)
    with pytest.raises(ValueError, match="names holds 'l3', which the model has already"):
        named.add_labels(T[:2], names=["l3", "l13"])
    with pytest.raises(ValueError, match="names names two labels 'x'"):
        named.add_labels(T[:2], names=["x", "x"])
    with pytest.raises(ValueError, match=r"indicator of shape \(150, .* go to partial_fit"):
        named.add_labels(X, Y)
    with pytest.raises(ValueError, match="names must be 1-D with a name for each of the 2 labels"):
        named.add_labels(T[:2], names="l3")
    with pytest.raises(ValueError, match="labels with names"):
        named.add_labels(T[:2])
    assert named.add_labels(T[:1], names=["l12"]).classes_[-1] == "l12"
    classes = TopKNeighborsClassifier(**EXACT).fit(X, np.arange(150) % 3)
    with pytest.raises(ValueError, match="names must be given"):
        classes.add_labels(T[:1])
    with pytest.raises(ValueError, match=r"names holds 0, .* go to partial_fit, or to fit"):
        classes.add_labels(X, np.arange(150) % 3)


def test_more_neighbours_than_rows_are_refused():
    model = TopKNeighborsClassifier(**EXACT).fit(X, Y)
    for n in (0, 151, True, 2.0):
        with pytest.raises(ValueError, match="n_neighbors must be an integer from 1 to the number"):
            model.kneighbors(Q, n)
    assert model.kneighbors(Q, return_similarity=False).shape == (40, 20)


def test_graphs_are_for_dense_rows():
    with pytest.raises(ValueError, match="index='hnsw' is for dense samples, but X is sparse"):
        TopKNeighborsClassifier(index="hnsw").fit(sparse.csr_array(X), Y)


# ------------------------------------------------------------------------------- graphs


def test_a_graph_finds_nearly_all_neighbours():
    pytest.importorskip("hnswlib")
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, 24))
    y = rng.integers(0, 50, size=6000)
    rows = centres[y] + 0.4 * rng.normal(size=(6000, 24))
    exact = TopKNeighborsClassifier(**FIXED).fit(rows, y)
    graph = TopKNeighborsClassifier(**FIXED, index="hnsw", random_state=0).fit(rows, y)
    assert (graph.kneighbors(rows[:200], 10)[1] == exact.kneighbors(rows[:200], 10)[1]).mean() > 0.9
    assert (graph.predict(rows[:200]) == exact.predict(rows[:200])).mean() > 0.97
    graph.partial_fit(rows[:100], y[:100])
    assert graph.n_samples_fit_ == 6100
    assert (graph.kneighbors(rows[:20], 2)[1] >= 6000).any(axis=1).all()
    again = pickle.loads(pickle.dumps(graph))
    np.testing.assert_array_equal(again.predict(rows[:50]), graph.predict(rows[:50]))


# ------------------------------------------------------------------------------- files


@pytest.mark.parametrize("mode", [None, "r"])
@pytest.mark.parametrize("form", FORMS)
def test_saved_and_loaded(tmp_path, form, mode):
    form = FORMS[form]
    weight = np.linspace(0.5, 2, 150)
    model = TopKNeighborsClassifier(**EXACT).fit(form(X), Y, weight, form(T))
    model.partial_fit(form(X[:9]), Y[:9])
    model.save(tmp_path / "model.sxc")
    loaded = load(tmp_path / "model.sxc", mmap_mode=mode)
    assert_same(model, loaded)
    model.partial_fit(form(X[9:12]), Y[9:12]).add_labels(form(T[:1]))
    loaded.partial_fit(form(X[9:12]), Y[9:12]).add_labels(form(T[:1]))
    assert_same(model, loaded)
    assert_same(model, pickle.loads(pickle.dumps(loaded)))
    assert_same(model, copy.deepcopy(loaded))
    loaded.save(tmp_path / "again.sxc")
    assert_same(model, load(tmp_path / "again.sxc"))


def test_a_matcher_is_saved(tmp_path):
    model = TopKNeighborsClassifier().fit(None, label_features=T)
    model.save(tmp_path / "model.sxc")
    loaded = load(tmp_path / "model.sxc", mmap_mode="r")
    np.testing.assert_array_equal(loaded.decision_function(Q), model.decision_function(Q))


def test_float16_is_for_weights(tmp_path):
    model = TopKNeighborsClassifier(**EXACT).fit(X, Y)
    with pytest.raises(ValueError, match="has none"):
        model.save(tmp_path / "model.sxc", dtype="float16")


# ------------------------------------------------------------------------------- explanations


@pytest.mark.parametrize("y", [Y, np.arange(150) % 7, np.arange(150) % 2], ids=["many", "7", "2"])
def test_parts_add_up_to_the_score(y):
    texts = T[: y.shape[1] if sparse.issparse(y) else y.max() + 1]
    weight = np.linspace(0.5, 2, 150)
    model = TopKNeighborsClassifier(**EXACT).fit(X, y, weight, texts)
    found = model.decision_function(Q)
    found = found if found.ndim == 2 else np.column_stack([-found, found])
    for k in (1, 3, None):
        for label in model.classes_[:2]:
            for item in model.explain(Q, [label], k):
                total = item.contributions.sum() + item.rest + item.intercept
                np.testing.assert_allclose(total, found[item.row, label], atol=1e-5)
                np.testing.assert_allclose(item.values * item.weights, item.contributions, 1e-5)


def test_neighbours_are_named():
    rows = np.eye(3)[[0, 0, 1, 2]] + 0.1
    model = TopKNeighborsClassifier(4, 2.0, 0.0, 1.0)
    model.fit(rows, ["x", "x", "y", "z"], label_features=np.eye(3))
    (item,) = model.explain(rows[:1], k=2, row_names=["one", "two", "three", "four"])
    assert item.label == "x"
    assert item.feature_names.tolist() == ["one", "two"]
    assert item.n_rest == 1
    assert "(1 more neighbour)" in repr(item)
    (item,) = model.explain(rows[:1], "x")
    assert item.feature_names.tolist() == ["row 0", "row 1", "(text of the label)"]
    with pytest.raises(ValueError, match="row_names must be 1-D with a name for each of the 4"):
        model.explain(rows[:1], row_names=["one"])


def test_a_pipeline_is_explained_by_rows():
    texts = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    model = make_pipeline(TfidfVectorizer(), TopKNeighborsClassifier(3, 1.0, 0.0, 0.0))
    model.fit(texts, ["sort", "sort", "sum", "sum"])
    (item,) = sklearn_xc.explain(model, ["sort it"])
    assert item.label == "sort"
    assert set(item.feature_names) == {"row 0", "row 1"}
    with pytest.raises(ValueError, match="explains by training samples"):
        sklearn_xc.explain(model, ["sort it"], feature_names=list("abcdefgh"))


def test_a_clone_is_not_fitted():
    model = TopKNeighborsClassifier(**EXACT).fit(X, Y)
    assert not clone(model).__sklearn_is_fitted__()


# ------------------------------------------------------------------------------- in others


def test_wrappers_take_it():
    nearest = TopKNeighborsClassifier(**EXACT)
    y = np.arange(150) % 5
    calibrated = sklearn_xc.TopKCalibratedClassifier(nearest, cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(Q).sum(axis=1), 1, atol=1e-5)
    tuned = sklearn_xc.TopKThresholdClassifier(nearest, cv=2).fit(X, Y)
    assert tuned.response_method_ == "predict_proba"
    assert tuned.predict(Q).shape == (40, 12)


def test_texts_reach_it_through_a_pipeline():
    texts = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
    model = make_pipeline(TfidfVectorizer(), TopKNeighborsClassifier(3, 1.0, 0.0, 1.0))
    names = model[0].fit(texts).transform(["sort", "sum"])
    model.fit(texts, ["sort", "sort", "sum", "sum"], topkneighborsclassifier__label_features=names)
    assert sklearn_xc.predict_topk(model, ["sum it"], k=1)[0].tolist() == [["sum"]]


def test_metadata_routing_passes_texts_on():
    with sklearn.config_context(enable_metadata_routing=True):
        nearest = TopKNeighborsClassifier(**EXACT).set_fit_request(label_features=True)
        search = GridSearchCV(nearest, {"power": [1.0, 2.0]}, cv=2)
        search.fit(X, Y, label_features=T)
    assert search.best_estimator_._texts is not None
