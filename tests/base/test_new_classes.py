"""partial_fit with classes never seen before, and the union of labels below it."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, MemoirSVC

# With its parameter of the size of steps: as small as this, a call only makes room.
MODELS = [
    (AugmentReduceClassifier(init_scale=0.1, random_state=0), "learning_rate"),
    (AugmentReduceClassifier(bound="exact", init_scale=0.1, random_state=0), "learning_rate"),
    (AugmentReduceClassifier(model="probit", init_scale=0.1, random_state=0), "learning_rate"),
    (ImplicitSoftmaxRegressor(random_state=0, learning_rate=1.0), "learning_rate"),
    (ImplicitSoftmaxRegressor("umax", random_state=0, learning_rate=0.1), "learning_rate"),
    (
        ImplicitSoftmaxRegressor("nce", batch_size=32, random_state=0, learning_rate=0.1),
        "learning_rate",
    ),
    (ImplicitSoftmaxRegressor("exact", random_state=0, learning_rate=0.1), "learning_rate"),
    (MemoirSVC(random_state=0), "eta0"),
    (MemoirSVC(random_state=0, average=False), "eta0"),
    (MemoirSVC("l1", random_state=0), "eta0"),
]
STILL = 1e-12
# Without intercepts, rows of zeros leave the weights of these at exactly zero.
FROM_ZERO = [clone(model).set_params(fit_intercept=False) for model, _ in MODELS[3:7]]
FROM_ZERO += [
    MemoirSVC(
        penalty,
        fit_intercept=False,
        alpha=alpha,
        eta0=1.0,
        eta_step=0.1,
        batch_size=50,
        average=average,
        random_state=0,
    )
    for penalty, alpha, average in (("l2", 0.01, True), ("l2", 0.01, False), ("l1", 1e-4, True))
]
NAMES = np.array(["kea", "ant", "orangutan", "bee", "zorilla", "cat", "emu", "owl", "pig", "yak"])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900] / 16, y[:900]


def start(model, X, names, kept):
    few = np.flatnonzero(np.isin(names, kept))
    few = few[: len(few) // 32 * 32]  # mini-batches that are full: no step is taken back
    model.partial_fit(X[few], names[few], classes=kept)
    return model.partial_fit(X[few], names[few])  # again, which ends the beginning


@pytest.mark.parametrize(("model", "parameter"), MODELS)
@pytest.mark.parametrize("n_kept", [2, 4])
def test_growing_moves_the_weights_of_each_class_with_it(model, parameter, n_kept, digits):
    X, names = digits[0], NAMES[digits[1]]
    kept = np.sort(np.unique(names)[[1, 3, 4, 8][:n_kept]])  # new ones come before and between
    model = start(clone(model), X, names, kept)
    before = model.decision_function(X)
    if n_kept == 2:
        before = np.column_stack([-before, before]) / 2
    model.set_params(**{parameter: STILL})
    if isinstance(model, MemoirSVC):
        model.eta0_ = STILL  # the rate of the first call stays
        before = last_values(model, X)
    model.partial_fit(X, names)
    assert model.classes_.tolist() == sorted(NAMES)
    assert model.coef_.shape == (10, 64)
    after = model.decision_function(X)
    if isinstance(model, MemoirSVC):
        after = last_values(model, X)
    places = np.searchsorted(model.classes_, kept)
    np.testing.assert_allclose(after[:, places], before, atol=1e-4)
    others = np.delete(after, places, axis=1)
    if isinstance(model, AugmentReduceClassifier):
        assert np.std(others) > 0.01  # random weights, of a standard deviation of 0.1
        assert np.abs(np.delete(model.coef_, places, axis=0)).max() < 0.6
    else:
        expected = -np.log(10) if getattr(model, "solver", "") == "nce" else 0
        np.testing.assert_allclose(others, expected, atol=1e-6)


def last_values(model, X):
    """Scores of V in W = scale V: an average goes on changing, and the l2 penalty shrinks W."""
    saved, n_classes = model._state.saved, len(model.classes_)
    arrays = saved.values, saved.classes, saved.indptr
    V = sparse.csc_array(arrays, shape=(n_classes, 65)).toarray()
    return X @ V[:, :-1].T + model._state.bias * V[:, -1]


@pytest.mark.parametrize("model", FROM_ZERO)
@pytest.mark.parametrize("n_kept", [2, 4])
def test_growing_before_the_first_step_is_naming_all_classes_at_first(model, n_kept, digits):
    X, names = digits[0], NAMES[digits[1]]
    few = np.isin(names, NAMES[:n_kept])
    grown, declared = clone(model), clone(model)
    grown.partial_fit(0 * X[few], names[few], classes=np.unique(NAMES[:n_kept]))
    declared.partial_fit(0 * X[few], names[few], classes=NAMES)
    assert not abs(grown.coef_).max()
    for one in (grown, declared):
        one.partial_fit(X, names)
        one.partial_fit(X, names)
    assert abs(grown.coef_).max() > 0.01
    assert abs(grown.coef_ - declared.coef_).max() == 0


@pytest.mark.parametrize(("model", "parameter"), MODELS[::3])
def test_a_grown_model_learns_as_well_as_one_that_knew(model, parameter, digits):
    X, names = digits[0][:900], NAMES[digits[1][:900]]
    grown, declared = clone(model), clone(model)
    kept = np.unique(NAMES[:5])
    start(grown, X, names, kept)
    few = np.isin(names, kept)
    declared.partial_fit(X[few], names[few], classes=NAMES)
    for _ in range(8):
        for one in (grown, declared):
            one.partial_fit(X, names)
    assert grown.score(X, names) > declared.score(X, names) - 0.05
    assert grown.score(X, names) > 0.75


@pytest.mark.parametrize(("model", "parameter"), MODELS[::3])
def test_growing_does_not_depend_on_threads_or_pickling(model, parameter, digits):
    X, names = digits[0][:200], NAMES[digits[1][:200]]
    found = []
    for n_jobs in (1, 2):
        one = start(clone(model).set_params(n_jobs=n_jobs), X, names, np.unique(NAMES[:3]))
        one = pickle.loads(pickle.dumps(one)) if n_jobs == 2 else one
        found.append(one.partial_fit(X, names).decision_function(X))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("model", "parameter"), MODELS[::3])
def test_labels_of_all_lengths_are_kept_whole(model, parameter, digits):
    X = digits[0]
    model = clone(model)
    model.partial_fit(X[:4], np.array(["cat", "owl"] * 2), classes=["cat", "owl"])
    assert model.classes_.dtype == "<U3"
    model.partial_fit(X[:4], ["dolphin", "cat", "cat", "antelope"])
    assert model.classes_.tolist() == ["antelope", "cat", "dolphin", "owl"]
    model.partial_fit(X[:2], np.array(["hippopotamus", "owl"], dtype=object))
    assert model.classes_.tolist() == ["antelope", "cat", "dolphin", "hippopotamus", "owl"]
    assert model.predict(X).dtype == model.classes_.dtype == "<U12"
    model.partial_fit(X[:1], ["cat"], classes=[*model.classes_, "yak"])
    assert model.classes_[-1] == "yak"
    assert model.predict_topk(X[:3], 6)[0].shape == (3, 6)


@pytest.mark.parametrize(("model", "parameter"), MODELS[::3])
def test_a_call_that_fails_changes_nothing(model, parameter, digits, monkeypatch):
    X, y = digits
    model = clone(model).partial_fit(X[:50], y[:50] % 3, classes=[0, 1, 2])
    state = vars(model).copy()
    scores = model.decision_function(X)
    new = y[:50] % 5
    broken = X[:50].copy()
    broken[0, 0] = np.inf
    for arguments, message in (
        ((X[:50], new.astype(str)), "strings such as '0', but the classes of this model are numb"),
        ((X[:50], new + 0.5), "Unknown label type: continuous"),
        ((broken, new), "infinity"),
        ((X[:50, :7], new), "64 features"),
        ((X[:50], new, [0, 1, 2, 3]), "y holds 4, which is not in classes"),
        ((X[:50], new, [1, 2, 3, 4]), "classes leaves out 0"),
        ((X[:50], new, ["a", "b"]), "strings such as 'a'"),
        ((X[:50], new, None, np.ones(3)), "sample_weight must be a 1d array of length 50"),
        ((X[:50], np.eye(5)[new]), "one class a sample"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*arguments)
        assert vars(model).keys() == state.keys()
        assert all(vars(model)[name] is value for name, value in state.items())
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryError, match="64 features"):
        model.partial_fit(X[:50], new)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert len(model.partial_fit(X[:50], new).classes_) == 5


def test_growing_after_a_fit_and_a_warm_start_after_growing(digits):
    X, y = digits
    for model, _ in MODELS[:1] + MODELS[3:4] + MODELS[7:8]:
        model = clone(model).set_params(max_iter=2).fit(X[y < 4], y[y < 4])
        model.partial_fit(X, y)
        assert model.classes_.tolist() == list(range(10))
        model.set_params(warm_start=True, max_iter=5).fit(X, y)
        assert model.score(X, y) > 0.7
