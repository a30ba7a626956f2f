"""predict_topk among some labels: the same answers as filtering all scores."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    LDGSClassifier,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
    load,
    predict_topk,
    topk_predictor,
)
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.utils import _label_places

K = 40
MODELS = {
    "ppdsparse": PPDSparseClassifier(random_state=0),
    "ppdsparse calibrated": PPDSparseClassifier(random_state=0, calibration="sigmoid"),
    "memoir": MemoirSVC(random_state=0, max_iter=3),
    "ldgs": LDGSClassifier(random_state=0, max_iter=2),
    "ldgs distances": LDGSClassifier(
        random_state=0, max_iter=2, similarity="sqeuclidean", hidden_dim=8
    ),
    "augment-reduce": AugmentReduceClassifier(random_state=0, max_iter=3),
    "implicit": ImplicitSoftmaxRegressor(random_state=0, max_iter=3),
    "wrapped": TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=2),
    "threshold": TopKThresholdClassifier(PPDSparseClassifier(random_state=0), cv=2),
}


@pytest.fixture(scope="module")
def data():
    X, Y = make_xc_classification(400, 300, K, n_labels=1, n_tokens=40, random_state=0)
    of_row = Y.toarray().argmax(axis=1)
    of_row[:K] = np.arange(K)
    y = np.array([f"label {c:02d}" for c in of_row])
    X = make_pipeline(MaxAbsScaler()).fit_transform(X)
    return X[:300], y[:300], X[300:330]


@pytest.fixture(scope="module")
def fitted(data):
    X, y, _ = data
    found = {}

    def get(name):
        if name not in found:
            target = sparse.csr_array(y[:, None] == np.unique(y)) if name == "threshold" else y
            found[name] = MODELS[name].fit(X, target)
        return found[name]

    return get


def filtered(scores, allowed, k):
    """The reference: all scores, without those of other labels."""
    scores = np.where(allowed, scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def mask_of(places, shape):
    mask = np.zeros(shape, dtype=bool)
    mask[:, places] = True
    return mask


def full(model, X, response):
    """All scores as predict_topk gives them."""
    n = len(model.classes_)
    matrix = model.predict_topk(X, n, response, sparse_output=True)
    return matrix.toarray()


@pytest.mark.parametrize("kind", ["list", "rows", "mask", "exclude", "exclude rows", "both"])
@pytest.mark.parametrize("name", MODELS)
def test_same_answers_as_filtering_the_scores(fitted, data, name, kind):
    model, X = fitted(name), data[2]
    classes, shape = model.classes_, (X.shape[0], len(model.classes_))
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(shape[1], 12, replace=False))
    of_rows = rng.random(shape) < 0.3
    of_rows[:, 3:9] = True
    options, allowed = {
        "list": ({"labels": classes[some]}, mask_of(some, shape)),
        "rows": ({"labels": [classes[row].tolist() for row in of_rows]}, of_rows),
        "mask": ({"labels": sparse.csr_array(of_rows)}, of_rows),
        "exclude": ({"exclude": classes[some].tolist()}, ~mask_of(some, shape)),
        "exclude rows": ({"exclude": sparse.csc_array(~of_rows)}, of_rows),
        "both": (
            {"labels": classes[3:20], "exclude": sparse.csr_array(~of_rows)},
            of_rows & mask_of(np.arange(3, 20), shape),
        ),
    }[kind]
    order, values = filtered(full(model, X, "decision"), allowed, 5)
    labels, scores = model.predict_topk(X, **options)
    assert labels.shape == (X.shape[0], 5)
    assert (labels == classes[order]).all()
    assert (scores == values).all()  # to the last bit
    through, _ = predict_topk(make_pipeline(FrozenEstimator(model)), X, 5, **options)
    assert (through == labels).all()
    if hasattr(model, "predict_proba"):
        labels, p = model.predict_topk(X, 3, "proba", **options)
        everything = full(model, X, "proba")
        order, best = filtered(everything, allowed, 3)
        np.testing.assert_array_equal(p, best)
        codes = np.searchsorted(classes, labels)
        np.testing.assert_array_equal(np.take_along_axis(everything, codes, axis=1), best)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_added_to_the_scores(fitted, data, name):
    model, X = fitted(name), data[2]
    n = len(model.classes_)
    weight = np.random.default_rng(1).normal(size=n).astype(np.float32)
    scores = full(model, X, "decision") + weight
    labels, values = model.predict_topk(X, n, label_weight=weight)
    codes = np.searchsorted(model.classes_, labels)
    np.testing.assert_allclose(
        values, np.take_along_axis(scores, codes, axis=1), rtol=1e-5, atol=1e-5
    )
    assert (np.diff(values) <= 0).all()
    some = model.classes_[:7]
    labels, few = model.predict_topk(X, 7, labels=some, label_weight=weight)
    codes = np.searchsorted(model.classes_, labels)
    np.testing.assert_allclose(few, np.take_along_axis(scores, codes, axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", ["ppdsparse", "memoir"])
def test_a_loaded_model_answers_alike(fitted, data, name, mapped, tmp_path, monkeypatch):
    from sklearn_xc.persistence import _file

    monkeypatch.setattr(_file, "SMALL", 0)  # map the small arrays as well
    model, X = fitted(name), data[2]
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r" if mapped else None)
    mask = sparse.random_array((X.shape[0], K), density=0.4, format="csr", rng=0) != 0
    for options in (
        {"labels": model.classes_[5:15]},
        {"exclude": model.classes_[5:15]},
        {"labels": mask, "sparse_output": True},
    ):
        asked, answered = model.predict_topk(X, 5, **options), loaded.predict_topk(X, 5, **options)
        if "sparse_output" in options:
            assert (asked != answered).nnz == 0
        else:
            assert (asked[0] == answered[0]).all()
            assert (asked[1] == answered[1]).all()
    if mapped:
        assert "coef_" not in vars(loaded)  # nothing was made class by class


def test_two_classes(data):
    X, y, rows = data
    model = PPDSparseClassifier(random_state=0).fit(X, y > "label 10")
    labels, scores = model.predict_topk(rows, labels=[True])
    np.testing.assert_array_equal(labels, True)
    np.testing.assert_array_equal(scores.ravel(), model.decision_function(rows))
    labels, _ = model.predict_topk(rows, 1, label_weight=[1e6, 0])
    np.testing.assert_array_equal(labels, False)


def test_rows_with_fewer_labels_than_k(fitted, data):
    model, X = fitted("ppdsparse"), data[2][:3]
    of_rows = [model.classes_[:1].tolist(), model.classes_[:4].tolist(), []]
    matrix = model.predict_topk(X, 3, labels=of_rows, sparse_output=True)
    assert np.diff(matrix.indptr).tolist() == [1, 3, 0]
    matrix = model.predict_topk(X, 3, exclude=model.classes_[2:], sparse_output=True)
    assert np.diff(matrix.indptr).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="no label for sample 2; sparse_output=True"):
        model.predict_topk(X, labels=of_rows)
    with pytest.raises(ValueError, match="k=3 labels are requested, but sample 0 may have 1 only"):
        model.predict_topk(X[:2], 3, labels=of_rows[:2])
    assert model.predict_topk(X[:2], labels=of_rows[:2])[0].shape == (2, 1)  # as many as all have


def test_more_features_than_a_batch_keep_the_order_of_additions():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 700)).astype(np.float32), np.arange(60) % 6
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    coef = rng.normal(size=(6, 700)).astype(np.float32)
    coef[1:, ::2] = 0
    model.coef_ = sparse.csr_array(coef)
    n_full = int((model._model().full_stop > 0).sum())
    assert n_full == 350  # lists, and weights for all classes, more than one batch of them
    mask = sparse.csr_array(rng.random((60, 6)) < 0.7)
    found = model.predict_topk(X, 6, labels=mask, sparse_output=True)
    np.testing.assert_array_equal(found.data, model.decision_function(X)[mask.toarray()])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": []}, "labels is empty"),
        ({"labels": ["nobody"]}, "labels names 'nobody', which is not in classes_"),
        ({"exclude": np.zeros((30, K), int)}, "exclude names 0 for sample 0, .* a sparse matrix"),
        ({"exclude": [3]}, "exclude names 3, which is not in classes_"),
        ({"label_weight": {"label 01": 1}}, "label_weight is a dict, .* does not name 'label 0"),
        ({"labels": ["label 01", "label 01"]}, "labels names 'label 01' twice"),
        ({"labels": [["label 01"]]}, "labels has lists for 1 samples, but X has 30 samples"),
        ({"labels": sparse.eye_array(3)}, r"must have the shape \(30, "),
        ({"label_weight": [1, 2]}, "label_weight must be 1-D with a number for each of the"),
        ({"label_weight": np.full(K, np.nan)}, "label_weight holds NaN"),
        ({"label_weight": ["a"] * K}, "label_weight must be numbers"),
        ({"label_weight": np.zeros(K), "scores": "proba"}, "no probabilities"),
        ({"labels": ["label 01"], "k": 2}, "k=2 labels are requested, but sample 0 may have 1"),
    ],
)
def test_bad_arguments(fitted, data, options, message):
    with pytest.raises(ValueError, match=message):
        fitted("ppdsparse").predict_topk(data[2], **options)


def test_an_index_of_all_labels_refuses_some(fitted, data):
    with pytest.raises(ValueError, match="labels needs search='exact'"):
        fitted("ldgs").predict_topk(data[2], search="index", labels=["label 01"])


def test_names_of_a_binarizer(data):
    X, y, rows = data
    names = np.unique(y)
    model = PPDSparseClassifier(random_state=0).fit(X, sparse.csr_array(y[:, None] == names))
    numbers, scores = model.predict_topk(rows, 3, labels=[4, 7, 9])
    labels, same = predict_topk(model, rows, 3, labels=names[[4, 7, 9]], names=names)
    assert (labels == names[numbers]).all()
    assert (scores == same).all()
    of_rows = [[names[i % 5], names[20]] for i in range(rows.shape[0])]
    labels, _ = predict_topk(model, rows, 2, labels=of_rows, names=names)
    assert [sorted(found) for found in labels.tolist()] == [sorted(some) for some in of_rows]
    with pytest.raises(ValueError, match="names must be 1-D with a name for each of"):
        predict_topk(model, rows, names=names[1:])
    with pytest.raises(ValueError, match="labels of its own"):
        predict_topk(PPDSparseClassifier().fit(X, y), rows, names=names)


# ------------------------------------------------------------------- names, known or not


def test_an_excluded_label_that_no_model_knows_changes_nothing(fitted, data):
    """What somebody has bought may be off sale."""
    model, rows = fitted("ppdsparse"), data[2]
    plain = model.predict_topk(rows, 3, exclude=["label 01"])
    for exclude in (["nobody", "label 01"], [["label 01", "nobody"]] * rows.shape[0]):
        for found, expected in zip(
            model.predict_topk(rows, 3, exclude=exclude), plain, strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    each = [["nobody"] if i % 2 else ["label 01", "no one"] for i in range(rows.shape[0])]
    known = [[] if i % 2 else ["label 01"] for i in range(rows.shape[0])]
    np.testing.assert_array_equal(
        model.predict_topk(rows, 3, exclude=each)[0], model.predict_topk(rows, 3, exclude=known)[0]
    )
    each = [["nobody"] if i % 2 else ["label 01", "no one", "label 01"] for i in range(len(known))]
    np.testing.assert_array_equal(
        model.predict_topk(rows, 3, exclude=each)[0], model.predict_topk(rows, 3, exclude=known)[0]
    )
    one = topk_predictor(model, 3, exclude=["label 01", "nobody"])(rows[:1])[0]
    np.testing.assert_array_equal(one, plain[0][:1])


def test_weights_go_by_name(fitted, data):
    model, rows = fitted("ppdsparse"), data[2]
    weight = dict(zip(model.classes_.tolist(), np.linspace(3, -3, K).tolist(), strict=True))
    expected = model.predict_topk(rows, 3, label_weight=list(weight.values()))[0]
    turned = pd.Series(weight)[::-1]
    for given in (weight, turned, turned.to_dict() | {"nobody": 7.0}):
        np.testing.assert_array_equal(model.predict_topk(rows, 3, label_weight=given)[0], expected)
        one = topk_predictor(model, 3, label_weight=given)(rows[:1])[0]
        np.testing.assert_array_equal(one, expected[:1])
    with pytest.raises(ValueError, match=r"label_weight is a Series, .* does not name 'label 00'"):
        model.predict_topk(rows, 3, label_weight=pd.Series(list(weight.values())))
    names = [f"name {i}" for i in range(K)]
    numbered = PPDSparseClassifier(random_state=0).fit(
        data[0], sparse.csr_array(data[1][:, None] == np.unique(data[1]))
    )
    by_name = pd.Series(np.linspace(3, -3, K), names)[::-1]
    np.testing.assert_array_equal(
        predict_topk(numbered, rows, 3, names=names, label_weight=by_name)[1],
        predict_topk(numbered, rows, 3, names=names, label_weight=by_name.to_numpy()[::-1])[1],
    )


@pytest.mark.parametrize("label", ["a" * 1_000_000, "label 01\0"])
def test_a_long_label_takes_its_own_memory(label, fitted, data):
    """NumPy would make the classes as wide as the longest label, and drop a NUL at the end."""
    model = fitted("ppdsparse")
    tracemalloc.start()
    for call in (model.predict_topk, model.explain):
        with pytest.raises(ValueError, match=r"labels names '(aaa|label 01)") as caught:
            call(data[2][:1], labels=[label])
        assert len(str(caught.value)) < 300
    np.testing.assert_array_equal(
        model.predict_topk(data[2], 2, exclude=[label])[0], model.predict_topk(data[2], 2)[0]
    )
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**24  # 120 classes as wide as the label would take 480 MB


def test_many_labels_of_wide_classes_are_looked_up_in_parts(monkeypatch):
    classes = np.array([f"c{i:02}" + "x" * 100 for i in range(50)])
    monkeypatch.setattr(_label_places, "LABELS_AT_ONCE", 5 * classes.dtype.itemsize)
    labels = classes[::-1].tolist()
    found = _label_places.named_labels(labels, classes, 1)
    np.testing.assert_array_equal(found.places, np.arange(50)[::-1])
    with pytest.raises(ValueError, match="which is not in classes_"):
        _label_places.named_labels([*labels, "c00"], classes, 1)


@pytest.mark.parametrize("argument", ["labels", "exclude"])
def test_a_matrix_of_all_items_is_led_to_the_columns_of_the_model(argument):
    """Columns that number items, as a recommender has them, of which some were never a target."""
    rng = np.random.default_rng(0)
    seen = sparse.csr_array((rng.random((60, 9)) < 0.3).astype(np.float32))
    y = 2 * rng.integers(0, 4, 60)  # items 0, 2, 4, 6 of 9
    model = PPDSparseClassifier(random_state=0).fit(seen, y)
    wanted = r"must have the shape \(60, 4\); got \(60, 9\)"
    hint = rf"; if its columns are numbers of items, .* {argument}=seen\[:, model.classes_\]"
    with pytest.raises(
        ValueError, match=f"{argument} is sparse.* a column for each .*{wanted}{hint}"
    ):
        model.predict_topk(seen, **{argument: seen})
    found = model.predict_topk(seen, exclude=seen[:, model.classes_], sparse_output=True)
    assert not found.multiply(seen[:, model.classes_]).nnz
    for other, X, classes in [
        (seen[:50], seen, y),  # too few samples
        (seen[:, :3], seen, y),
        (seen, seen, y.astype(str)),
        (seen, seen, y + 3),  # item 9 has no column
    ]:
        with pytest.raises(ValueError, match="must have the shape") as caught:
            PPDSparseClassifier(random_state=0).fit(X, classes).predict_topk(X, exclude=other)
        assert "model.classes_" not in str(caught.value)
        told = "lists of labels, one for each sample" in str(caught.value)
        assert told == (other is seen and classes.dtype.kind == "U")


def test_a_history_may_repeat_items_and_a_dense_indicator_is_refused():
    X = np.eye(4, dtype=np.float32)
    model = PPDSparseClassifier(random_state=0).fit(X, [0, 1, 2, 3])
    found = model.predict_topk(X, 1, exclude=[[2, 0, 2], [1, 1], [0], []])[0].ravel()
    once = model.predict_topk(X, 1, exclude=[[2, 0], [1], [0], []])[0].ravel()
    np.testing.assert_array_equal(found, once)
    for given in (X.astype(int), [["a"], ["a"]] * 2):
        with pytest.raises(ValueError, match=r"twice|which is not in classes_"):
            model.predict_topk(X, 1, exclude=given)
    with pytest.raises(ValueError, match="labels names 2 twice for sample 0"):
        model.predict_topk(X, 1, labels=[[2, 2]] * 4)
