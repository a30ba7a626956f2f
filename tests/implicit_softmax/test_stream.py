"""`partial_fit` of ImplicitSoftmaxRegressor means `fit`: a stream of parts adds up to one fit."""

import pickle

import numpy as np
import pytest
from _full import rest_in_full
from _streamed_digits import SOLVERS, digits
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler, normalize

import sklearn_xc
from sklearn_xc import ImplicitSoftmaxRegressor

PARTS = 1, 10, 100

NOISY = "implicit", "umax"  # at constant rates by more than the bars


def wine():
    X, y = load_wine(return_X_y=True)
    X = normalize(StandardScaler().fit_transform(X)).astype(np.float32)
    order = np.random.default_rng(1).permutation(4 * len(y))
    X, y = np.tile(X, (4, 1))[order], np.tile(y, 4)[order]
    return X + np.random.default_rng(0).normal(scale=0.01, size=X.shape).astype(np.float32), y


def words():
    """Sparse rows with rare features, whose ridge is the hardest to share."""
    rng = np.random.default_rng(0)
    n, d, n_classes = 1000, 300, 12
    y = rng.integers(n_classes, size=n)
    topics = rng.dirichlet(np.full(d, 0.05), size=n_classes)
    counts = np.stack([rng.multinomial(12, topics[k]) for k in y])
    return sparse.csr_array(normalize(counts.astype(np.float32))), y


DATA = {"digits": digits, "wine": wine, "words": words}


@pytest.fixture(
    scope="module",
    params=["words", *rest_in_full(("digits", "wine"))],
)
def data(request):
    return DATA[request.param]()


def streamed(model, X, y, n_parts, n_passes=6, between=lambda model: model):
    """All rows in the same order, in parts, a few times."""
    for _ in range(n_passes):
        for part in np.array_split(np.arange(len(y)), n_parts):
            model.partial_fit(X[part], y[part], classes=np.unique(y))
            model = between(model)
    return model


def objective(model, X, y, alpha):
    square = (np.asarray(model.coef_, dtype=float) ** 2).sum()
    return -model.log_likelihood(X, y) + alpha / 2 * square / len(y)


@pytest.mark.parametrize("name", rest_in_full(SOLVERS, "implicit"))
def test_parts_add_up_to_one_fit(name, data):
    X, y = data
    alpha = 1.0
    make = ImplicitSoftmaxRegressor(
        alpha=alpha,
        shuffle=False,
        random_state=0,
        max_iter=6,
        decay=0.5 if name in NOISY else 1.0,
        **SOLVERS[name],
    )
    models = [streamed(clone(make), X, y, n_parts) for n_parts in PARTS]
    whole = clone(make).fit(X, y)
    reached = [objective(model, X, y, alpha) for model in (whole, *models)]
    scores = [model.score(X, y) for model in (whole, *models)]
    np.testing.assert_allclose(reached, reached[0], rtol=0.02)
    np.testing.assert_allclose(scores, scores[0], atol=0.005)


@pytest.mark.full
def test_the_ridge_does_not_grow_with_the_number_of_parts():
    """If each part took off the whole ridge, lengths would fall to a half and to a fifth."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    order = np.random.default_rng(0).permutation(len(y))
    options = {"solver": "exact", "learning_rate": 0.1, "alpha": 1.0, "random_state": 0}
    lengths = []
    for n_parts in PARTS:
        model = streamed(ImplicitSoftmaxRegressor(**options), X[order], y[order], n_parts, 5)
        lengths.append(np.linalg.norm(model.coef_))
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.04)


@pytest.mark.parametrize("name", SOLVERS)
def test_whole_passes_are_the_epochs_of_a_fit(name):
    """The same order, draws, rates and auxiliary variables: the same weights, but for rounding."""
    X, y = digits()
    options = SOLVERS[name] | {"random_state": 0, "alpha": 0.0, "decay": 0.9, "shuffle": False}
    whole = ImplicitSoftmaxRegressor(max_iter=4, **options).fit(X[:400], y[:400])
    model = streamed(ImplicitSoftmaxRegressor(**options), X[:400], y[:400], 1, 4)
    assert model.n_iter_ == whole.n_iter_ == 4
    close = {"rtol": 1e-3, "atol": 2e-4 * np.abs(whole.coef_).max()}
    np.testing.assert_allclose(model.coef_, whole.coef_, **close)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["implicit", "exact"])
def test_what_a_stream_keeps_survives_on_the_way(name, tmp_path):
    X, y = words()
    options = SOLVERS[name] | {"alpha": 1.0, "random_state": 0}

    def saved(model):
        model.save(tmp_path / "model")
        return sklearn_xc.load(tmp_path / "model")

    models = [
        streamed(ImplicitSoftmaxRegressor(**options), X, y, 4, 3, between)
        for between in (lambda m: m, lambda m: pickle.loads(pickle.dumps(m)), saved)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(other.coef_, models[0].coef_)
        np.testing.assert_array_equal(other._stream.u, models[0]._stream.u)
    assert models[0]._stream.seen.n_rows == pytest.approx(len(y), rel=0.02)


@pytest.mark.parametrize("name", ["implicit", "exact"])
def test_classes_that_join_share_the_stream(name):
    """Parts in which classes come one after another, then all in many passes: as one fit."""
    X, y = digits()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    options = SOLVERS[name] | {"alpha": 1.0, "decay": 1.0, "random_state": 0}
    model = ImplicitSoftmaxRegressor(**options).partial_fit(X[:200], y[:200], classes=[0, 1, 2])
    keys = model._stream.keys
    for part in np.array_split(np.arange(200, len(y)), 7):
        model.partial_fit(X[part], y[part])
    assert np.isin(keys, model._stream.keys).all()
    for _ in range(40):
        model.partial_fit(X, y)
    whole = ImplicitSoftmaxRegressor(max_iter=48, **options).fit(X, y)
    found, wanted = (objective(m, X, y, 1.0) for m in (model, whole))
    assert found == pytest.approx(wanted, rel=0.02)


def test_a_warm_start_keeps_the_auxiliary_variables(data):
    X, y = data
    options = SOLVERS["implicit"] | {"random_state": 0, "alpha": 0.0}
    model = ImplicitSoftmaxRegressor(max_iter=5, warm_start=True, **options).fit(X, y)
    before = model._stream
    model.set_params(learning_rate=1e-12, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model._stream.u, before.u, atol=1e-6)
    assert np.abs(before.u - np.log(len(np.unique(y)))).max() > 0.1


@pytest.mark.parametrize("name", ["implicit", "exact"])
def test_columns_of_very_different_units_in_parts_and_files(name, tmp_path):
    """The ridge is then a number for each column."""
    X, y = load_wine(return_X_y=True)
    model = ImplicitSoftmaxRegressor(**SOLVERS[name], random_state=0)
    for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 2) * 5:
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.alpha_.shape == (13,)
    model.save(tmp_path / "model")
    loaded = sklearn_xc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.alpha_, model.alpha_)
    scores = loaded.partial_fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.partial_fit(X, y).decision_function(X), scores)


def test_parts_and_samples_of_weight_zero(data):
    """They are nowhere: not in the count of samples, not in coordinates, not in the ridge."""
    X, y = data
    weight = np.tile([0.0, 2.0], len(y) // 2 + 1)[: len(y)]
    left = weight > 0
    for name in ("implicit", "exact", "importance"):
        options = SOLVERS[name] | {"random_state": 0, "alpha": 1.0, "shuffle": False}
        models = []
        for rows, labels, weights in ((X, y, weight), (X[left], y[left], weight[left])):
            model = ImplicitSoftmaxRegressor(**options)
            for part in np.array_split(np.arange(len(labels)), 2) * 2:
                kept = part[weights[part] > 0] if labels is not y else part
                model.partial_fit(
                    rows[kept], labels[kept], classes=np.unique(y), sample_weight=weights[kept]
                )
            models.append(model)
        assert models[0]._stream.seen.n_rows == models[1]._stream.seen.n_rows
        assert models[0].learning_rate_ == models[1].learning_rate_


@pytest.mark.parametrize("dtype", [object, "U5"])
def test_a_label_may_hold_half_of_a_character(dtype):
    """A lone surrogate is no character, and cannot be encoded as UTF-8 without care."""
    X, y = words()
    plain, odd = np.array(["a", "b", "c"], dtype), np.array(["a", "b\ud800", "c"], dtype)
    models = [ImplicitSoftmaxRegressor(**SOLVERS["umax"], random_state=0) for _ in range(2)]
    for model, names in zip(models, (plain, odd), strict=True):
        model.fit(X, names[y % 3]).partial_fit(X[:10], names[y[:10] % 3])
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[1].classes_.tolist() == odd.tolist()
