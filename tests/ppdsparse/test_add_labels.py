"""Labels that join a fitted one-vs-rest model, models of disjoint labels as one, paths."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    MemoirSVC,
    PPDSparseClassifier,
    merge,
)
from sklearn_xc.datasets import make_xc_classification

MODEL = PPDSparseClassifier(random_state=0)
CONTAINERS = [np.asarray, sparse.csr_array, sparse.csc_matrix]


@pytest.fixture(scope="module")
def multilabel():
    X, Y = make_xc_classification(300, 400, 30, n_labels=2, random_state=0)
    return X, sparse.csr_array(Y)


@pytest.fixture(scope="module")
def multiclass():
    X, y = make_xc_classification(300, 400, 8, random_state=0)
    return X, np.array(["fox", "ape", "doe", "gnu", "cat", "elk", "bat", "hen"])[y]


def container_of(container, Y):
    return container(Y.toarray()) if container is np.asarray else container(Y)


def assert_equal_models(found, expected):
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_allclose(found.coef_.toarray(), expected.coef_.toarray(), atol=1e-5)
    for name in ("intercept_", "dual_gap_", "n_active_"):
        values, others = getattr(found, name), getattr(expected, name)
        assert values.dtype == others.dtype
        np.testing.assert_allclose(values, others, atol=1e-5)


# ------------------------------------------------------------------------------- add_labels


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("options", [{}, {"loss": "hinge"}, {"warm_start": True}])
def test_added_labels_are_those_of_a_fit_on_all(container, options, multilabel):
    X, Y = multilabel
    whole = clone(MODEL).set_params(**options).fit(X, container_of(container, Y))
    model = clone(MODEL).set_params(**options).fit(X, container_of(container, Y[:, :19]))
    before = model.coef_
    assert model.add_labels(X, container_of(container, Y[:, 19:20])) is model
    model.add_labels(X, container_of(container, Y[:, 20:]))
    assert_equal_models(model, whole)
    np.testing.assert_array_equal(model.coef_[:19].toarray(), before.toarray())
    predicted = model.predict(X)
    assert type(predicted) is type(whole.predict(X))
    assert predicted.shape == Y.shape
    assert model.n_iter_ <= whole.n_iter_
    if "warm_start" in options:
        assert abs(model.dual_coef_ - whole.dual_coef_).max() < 1e-5
        assert model.fit(X, Y).coef_.shape[0] == 30


def test_added_labels_may_come_with_other_rows(multilabel):
    X, Y = multilabel
    model = clone(MODEL).set_params(warm_start=True).fit(X, Y[:, :20])
    model.add_labels(X[100:250], Y[100:250, 20:], sample_weight=np.full(150, 2.0))
    weighted = clone(MODEL).fit(X[100:250], Y[100:250], sample_weight=np.full(150, 2.0))
    np.testing.assert_allclose(model.coef_[20:].toarray(), weighted.coef_[20:].toarray(), atol=1e-5)
    assert not hasattr(model, "dual_coef_")
    assert model.fit(X[:50], Y[:50]).dual_coef_.shape == (30, 50)  # from nothing


def test_a_label_without_positives_gets_the_lowest_score(multilabel):
    X, Y = multilabel
    new = sparse.csr_array(sparse.hstack([Y[:, :1], sparse.csr_array((300, 1))]))
    model = clone(MODEL).fit(X, Y).add_labels(X, new)
    assert model.intercept_[-1] == np.float32(-1e18)
    assert model.coef_[[-1]].nnz == 0
    assert model.predict_topk(X[:3], 32)[0][0, -1] == 31


def test_names_of_columns(multilabel):
    pandas = pytest.importorskip("pandas")
    X, Y = multilabel
    names = [f"label {k}" for k in range(30)]
    frame = pandas.DataFrame(Y.toarray(), columns=names)
    whole = clone(MODEL).fit(X, frame)
    model = clone(MODEL).fit(X, frame[names[:20]]).add_labels(X, frame[names[20:25]])
    model.add_labels(X, Y[:, 25:], names=names[25:])
    assert_equal_models(model, whole)
    coef = model.coef_
    for arguments, message in (
        ((X, frame[names[:1]]), "'label 0' is there twice"),
        ((X, Y[:, :2]), "the first has names, Y_new has numbers only"),
        ((X, Y[:, :2], None, ["x", "x"]), "names names two labels 'x'"),
        ((X, Y[:, :2], None, ["x"]), r"one for each of the 2 columns, got shape \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.add_labels(*arguments)
        assert model.coef_ is coef
    with pytest.raises(ValueError, match="the first has numbers only, Y_new has names"):
        clone(MODEL).fit(X, Y).add_labels(X, Y[:, :1], names=["x"])


def test_new_classes_take_their_sorted_places(multiclass):
    X, y = multiclass
    old = np.isin(y, ["ape", "cat", "fox", "hen"])
    whole = clone(MODEL).fit(X, y)
    model = clone(MODEL).fit(X[old], y[old])
    before = model.decision_function(X)
    model.add_labels(X, y)
    np.testing.assert_array_equal(model.classes_, whole.classes_)
    new = ~np.isin(model.classes_, ["ape", "cat", "fox", "hen"])
    np.testing.assert_allclose(
        model.decision_function(X)[:, new], whole.decision_function(X)[:, new], atol=1e-4
    )
    np.testing.assert_allclose(model.decision_function(X)[:, ~new], before, atol=1e-5)
    assert model.score(X, y) > 0.9


def test_two_classes_become_two_columns_beside_the_new(multiclass):
    X, y = multiclass
    old = np.isin(y, ["ape", "fox"])
    model = clone(MODEL).set_params(warm_start=True).fit(X[old], y[old])
    f = model.decision_function(X)
    few = np.isin(y, ["ape", "fox", "elephant", "doe"])
    longer = y.astype("<U8")
    longer[longer == "doe"] = "elephant"
    model.add_labels(X[few], longer[few])
    assert model.classes_.tolist() == ["ape", "elephant", "fox"]
    np.testing.assert_allclose(
        model.decision_function(X)[:, [0, 2]], np.column_stack([-f, f]), atol=1e-5
    )
    assert model.predict(X[few]).dtype == "<U8"
    assert model.dual_gap_.shape == model.n_active_.shape == (3,)


def test_class_weights_of_new_labels(multilabel):
    X, Y = multilabel
    weight = {3: 2.0, 21: 5.0}
    whole = clone(MODEL).set_params(class_weight=weight).fit(X, Y)
    model = clone(MODEL).set_params(class_weight={3: 2.0}).fit(X, Y[:, :20])
    assert_equal_models(model.set_params(class_weight=weight).add_labels(X, Y[:, 20:]), whole)
    model = clone(MODEL).fit(X, Y[:, :20]).set_params(class_weight="balanced")
    model.add_labels(X, Y[:, 20:])
    counts = Y[:, 20:].sum(axis=0)
    by_hand = {20 + k: counts.mean() / n for k, n in enumerate(counts.tolist()) if n}
    expected = clone(MODEL).set_params(class_weight=by_hand).fit(X, Y)
    np.testing.assert_allclose(model.coef_[20:].toarray(), expected.coef_[20:].toarray(), atol=1e-5)


def test_labels_join_a_dense_model_and_stay_dense(multilabel):
    X, Y = multilabel
    model = clone(MODEL).fit(X, Y[:, :20]).densify().add_labels(X, Y[:, 20:])
    assert isinstance(model.coef_, np.ndarray)
    np.testing.assert_allclose(model.coef_, clone(MODEL).fit(X, Y).coef_.toarray(), atol=1e-5)


def test_what_add_labels_refuses(multilabel, multiclass):
    X, Y = multilabel
    _, y = multiclass
    by_labels, by_class = clone(MODEL).fit(X, Y[:, :20]), clone(MODEL).fit(X, y)
    new = Y[:, 20:]
    broken = X.copy()
    broken.data[0] = np.nan
    for model, arguments, message in (
        (by_labels, (X, y), "fit's y was an indicator"),
        (by_labels, (X, Y[:, 20].toarray().ravel()), r"reshape it to \(-1, 1\)"),
        (by_labels, (X, new * 2), "indicator of 0 and 1"),
        (by_labels, (X, new[:5]), "inconsistent numbers of samples"),
        (by_labels, (X[:, :7], new), "400 features"),
        (by_labels, (broken, new), "NaN"),
        (by_labels, (X, new, np.full(300, -1.0)), "sample_weight must not be negative"),
        (by_labels, (X, sparse.csr_array((300, 2))), "no class of y has a positive sample"),
        (by_labels, (X, sparse.csr_array((300, 0))), "y has no columns"),
        (by_class, (X, Y), "fit's y held one class a sample"),
        (by_class, (X, y), "no class that the model does not have already"),
        (by_class, (X, np.arange(300)), "but the classes of this model are strings"),
        (by_class, (X, np.append(y[1:], "new"), None, ["new"]), "names are for the columns"),
        (by_class, (X, np.append(y[1:].astype(object), None)), "NaN or None"),
    ):
        state = vars(model).copy()
        with pytest.raises(ValueError, match=message):
            model.add_labels(*arguments)
        assert vars(model).keys() == state.keys()
        assert all(vars(model)[name] is value for name, value in state.items())
    with pytest.raises(NotFittedError):
        clone(MODEL).add_labels(X, new)
    with pytest.raises(ValueError, match="'l1' parameter"):
        by_labels.set_params(l1=-1).add_labels(X, new)
    by_labels.set_params(l1=0.1, tol=1e-9, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="of 10 classes below tol=1e-09"):
        by_labels.add_labels(X, new)


# ------------------------------------------------------------------------------------ merge


@pytest.mark.parametrize("container", CONTAINERS)
def test_merged_scores_are_those_of_the_parts(container, multilabel):
    X, Y = multilabel
    parts = [
        clone(MODEL).fit(X, container_of(container, Y[:, some]))
        for some in (np.arange(9), np.arange(9, 10), np.arange(10, 30))
        if container is not np.asarray or len(some) > 1
    ]
    parts[-1].densify()
    whole = merge(parts)
    apart = np.hstack([np.reshape(part.decision_function(X), (300, -1)) for part in parts])
    np.testing.assert_allclose(whole.decision_function(X), apart, atol=1e-5)
    assert whole.classes_.tolist() == list(range(apart.shape[1]))
    assert type(whole.predict(X)) is type(parts[0].predict(X))
    assert whole.dual_gap_.shape == whole.n_active_.shape == whole.intercept_.shape
    assert whole.n_iter_ == max(part.n_iter_ for part in parts)
    assert whole.get_params() == parts[0].get_params()
    assert not parts[0].coef_.data.flags.writeable
    whole.add_labels(X, Y[:, :2])
    whole.set_params(warm_start=True).fit(X, Y)


def test_merged_classes_are_sorted(multiclass):
    X, y = multiclass
    groups = ["elk", "ape"], ["gnu", "cat", "doe"], ["bat", "hen", "fox"]
    parts = [clone(MODEL).fit(X[np.isin(y, g)], y[np.isin(y, g)]) for g in groups]
    parts.append(clone(MODEL).fit(X[:60], np.repeat(["hippopotamus", "a", "kea"], 20)))
    whole = merge(parts)
    assert whole.classes_.tolist() == sorted([*np.unique(y), "a", "hippopotamus", "kea"])
    scores = whole.decision_function(X)
    for part in parts:
        f = part.decision_function(X)
        f = np.column_stack([-f, f]) if f.ndim == 1 else f
        places = np.searchsorted(whole.classes_, part.classes_)
        np.testing.assert_allclose(scores[:, places], f, atol=1e-5)
    assert set(whole.predict(X)) <= set(whole.classes_)


def test_a_model_alone_is_copied(multiclass):
    X, y = multiclass
    for few in (np.isin(y, ["ape", "cat"]), slice(None)):
        model = clone(MODEL).fit(X[few], y[few])
        copy = merge([model])
        assert copy is not model
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_merged_names(multilabel):
    pandas = pytest.importorskip("pandas")
    X, Y = multilabel
    frame = pandas.DataFrame(Y.toarray(), columns=[f"label {k}" for k in range(30)])
    rows = pandas.DataFrame(X.toarray(), columns=[f"x{j}" for j in range(400)])
    parts = [clone(MODEL).fit(rows, frame.iloc[:, some]) for some in (range(9), range(9, 30))]
    whole = merge(parts)
    assert whole.classes_.tolist() == list(frame.columns)
    assert whole.feature_names_in_.tolist() == list(rows.columns)
    whole.predict_topk(rows, 3)
    plain = clone(MODEL).fit(X, frame)
    other = clone(MODEL).fit(rows.rename(columns={"x3": "y3"}), frame)
    for bad, message in (
        ([parts[0], parts[0]], "'label 0' is there twice"),
        ([parts[0], clone(MODEL).fit(rows, Y)], "the first has names, a later one has numbers"),
        ([parts[0], plain], "feature names differ"),
        ([parts[0], other], "feature names differ"),
    ):
        with pytest.raises(ValueError, match=message):
            merge(bad)


def test_what_merge_refuses(multilabel, multiclass, monkeypatch):
    X, Y = multilabel
    _, y = multiclass
    by_labels, by_class = clone(MODEL).fit(X, Y), clone(MODEL).fit(X, y)
    softmax = [AugmentReduceClassifier(max_iter=1), ImplicitSoftmaxRegressor(max_iter=1)]
    for models, error, message in (
        ([], ValueError, "at least one model"),
        ([by_labels, by_class], ValueError, "one class a sample and models with several"),
        ([by_class, by_class], ValueError, "classes in common"),
        ([by_class, clone(MODEL).fit(X, np.arange(300) % 3)], ValueError, "are strings"),
        ([by_class, clone(MODEL).fit(X[:, :9], Y)], ValueError, "of 400 and 9 features"),
        ([by_class, clone(MODEL)], NotFittedError, "not fitted"),
        ([by_class, LogisticRegression()], TypeError, "not LogisticRegression"),
        ([by_class, None], TypeError, "not NoneType"),
        ([softmax[0]], TypeError, "normalised over the classes of one model"),
        ([by_class, softmax[1]], TypeError, "normalised over the classes of one model"),
        ([MemoirSVC()], TypeError, "margins are trained between the classes of one model"),
    ):
        with pytest.raises(error, match=message):
            merge(models)
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "100")
    with pytest.raises(MemoryError, match="merge: "):
        merge([by_labels, by_labels])


# ------------------------------------------------------------------------------------ paths


def test_a_path_of_ten_penalties_costs_less_than_four_fits():
    """Counted in rows of X that are read; weak to strong, which keeps active sets small."""
    X, Y = make_xc_classification(1000, 1000, 20, n_labels=2, random_state=1)
    path = np.geomspace(0.01, 0.2, 10)
    alike = clone(MODEL).set_params(l2="rows")  # not by a pilot, which differs along the path
    cold = [clone(alike).set_params(l1=l1).fit(X, Y)._n_visits for l1 in path[::3]]
    model = clone(alike).set_params(warm_start=True)
    warm = []
    for l1 in path:
        warm.append(model.set_params(l1=l1).fit(X, Y)._n_visits)
        assert (model.dual_gap_ <= model.tol).all()
    assert warm[0] == cold[0]
    assert sum(warm) < 4 * np.mean(cold)


def test_partial_fit_says_what_there_is_instead():
    assert not hasattr(PPDSparseClassifier(), "partial_fit")
    with pytest.raises(AttributeError, match=r"has no partial_fit: .* add_labels"):
        PPDSparseClassifier().partial_fit  # noqa: B018
