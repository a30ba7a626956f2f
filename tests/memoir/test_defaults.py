"""MemoirSVC on weighted samples, in parts, and without arguments on small and uneven data."""

import warnings

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize, scale
from sklearn.svm import LinearSVC

from sklearn_xc import MemoirSVC, load
from sklearn_xc.datasets import make_xc_classification

RNG = np.random.default_rng(0)
FEW = RNG.normal(size=(60, 4)).astype(np.float32)
OF_FEW = np.arange(60) % 3


def same_model(one, other, atol=0.0):
    np.testing.assert_allclose(one.coef_.toarray(), other.coef_.toarray(), rtol=0, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=0, atol=atol)


def objective(model, X, y, alpha, bias):
    scores = X @ model.coef_.T
    scores = (scores.toarray() if sparse.issparse(scores) else scores) + model.intercept_
    square = (model.coef_.data.astype(float) ** 2).sum() + ((model.intercept_ / bias) ** 2).sum()
    rows = np.arange(len(y))
    own = scores[rows, y].copy()
    scores[rows, y] = -np.inf
    return alpha / 2 * square + np.maximum(0, 1 - own + scores.max(axis=1)).mean()


# ------------------------------------------------------------------------------------- weights


def test_alpha_follows_the_weight_of_the_samples():
    alpha = MemoirSVC().fit(FEW, OF_FEW).alpha_
    two = np.full(60, 2.0)
    assert MemoirSVC().fit(FEW, OF_FEW, sample_weight=two).alpha_ == pytest.approx(alpha / 2)
    twice = MemoirSVC().fit(np.tile(FEW, (2, 1)), np.tile(OF_FEW, 2))
    assert twice.alpha_ == pytest.approx(alpha / 2)


@pytest.mark.parametrize("search", ["exact", "lsh"])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_samples_of_weight_zero_are_nowhere(early_stopping, search):
    X = RNG.normal(size=(400, 6)).astype(np.float32)
    y = np.arange(400) % 40
    X[np.arange(400), y % 6] += 3
    more, of_more = 100 * RNG.normal(size=(50, 6)), RNG.integers(40, size=50)
    places = np.sort(RNG.integers(400, size=50))
    weight = RNG.choice([0.5, 1.0, 2.0], size=400)
    options = {"early_stopping": early_stopping, "search": search, "random_state": 0}
    options |= {
        "max_iter": 40 if early_stopping else 3,
        "n_iter_no_change": 1,
        "search_params": {"min_recall": 0.0},
        "class_weight": "balanced",
    }
    wanted = MemoirSVC(**options).fit(X, y, sample_weight=weight)
    X, y = np.insert(X, places, more, axis=0), np.insert(y, places, of_more)
    weight = np.insert(weight, places, 0)
    found = MemoirSVC(**options).fit(X, y, sample_weight=weight)
    same_model(found, wanted)
    assert (found.alpha_, found.n_iter_) == (wanted.alpha_, wanted.n_iter_)
    parts = MemoirSVC(random_state=0).partial_fit(X, y, np.arange(40), sample_weight=weight)
    kept = weight > 0
    same_model(
        parts,
        MemoirSVC(random_state=0).partial_fit(
            X[kept], y[kept], np.arange(40), sample_weight=weight[kept]
        ),
    )


@pytest.mark.full
def test_converged_fits_agree_on_weights_and_repetitions():
    """The claim of scikit-learn's check that is expected to fail, at the default penalty."""
    counts = RNG.integers(0, 4, size=60)
    X, y = FEW + 1.5 * np.eye(4)[OF_FEW], OF_FEW
    repeated = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    found = []
    for rows, labels, weight in (*repeated, None), (X, y, counts):
        model = MemoirSVC(warm_start=True, max_iter=1500, random_state=0)
        model.fit(rows, labels, sample_weight=weight)
        first = model.eta0_
        for part in 0.03, 0.003, 0.0003:  # the average begins anew with each rate
            model.set_params(eta0=part * first).fit(rows, labels, sample_weight=weight)
        found.append(model)
    assert found[0].alpha_ == pytest.approx(found[1].alpha_)
    assert found[0]._state.bias == pytest.approx(found[1]._state.bias)
    reached = [objective(m, *repeated, found[0].alpha_, found[0]._state.bias) for m in found]
    assert reached[0] == pytest.approx(reached[1], rel=1e-4)
    options = {"C": 1 / (counts.sum() * found[0].alpha_), "intercept_scaling": found[0]._state.bias}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        exact = LinearSVC(multi_class="crammer_singer", max_iter=10**6, tol=1e-8, **options)
        exact.fit(X, y, sample_weight=counts)
    exact.coef_ = sparse.csr_array(exact.coef_)
    assert reached[0] == pytest.approx(
        objective(exact, *repeated, found[0].alpha_, found[0]._state.bias), rel=1e-4
    )


@pytest.mark.parametrize("size", [1e-40, 1e37])
def test_weights_of_any_size(size):
    X, y = np.eye(3)[OF_FEW], OF_FEW
    model = MemoirSVC(random_state=0).fit(X, y, sample_weight=np.full(60, size))
    assert np.isfinite(model.coef_.data).all()
    assert size < 1 or model.score(X, y) == 1
    assert np.isfinite(model.loss_curve_).all()
    assert model.loss_curve_.dtype == np.float64


# ----------------------------------------------------------------------------------- the penalty


def test_a_stronger_l1_penalty_never_leaves_more_weights():
    X, y = load_digits(return_X_y=True)
    X = normalize(X)
    options = {"average": False, "max_iter": 20, "random_state": 0}
    left = [
        MemoirSVC("l1", alpha=alpha, **options).fit(X, y).coef_.nnz
        for alpha in (0, 1e-4, 1e-3, 1e-2, 0.1, 1, 100)
    ]
    assert left == sorted(left, reverse=True), left
    assert left[-1] < left[0] / 10


# ------------------------------------------------------------------------------------ the search


def test_the_published_hashes_are_asked():
    centres = RNG.normal(size=(400, 64))
    y = np.arange(2000) % 400
    X = normalize(centres[y] + 0.8 * RNG.normal(size=(2000, 64)))
    model = MemoirSVC(**MemoirSVC.PUBLISHED["lsh"], max_iter=2, random_state=0).fit(X, y)
    assert model.search_ == "lsh"
    assert model.recall_ < 0.8
    assert model.n_scored_ < 300


@pytest.mark.parametrize("search", ["hnsw", "lsh"])
def test_an_index_is_not_asked_for_as_many_classes_as_it_would_look_at(search):
    X, y = load_digits(return_X_y=True)
    options = {"max_iter": 2, "random_state": 0}
    model = MemoirSVC(search=search, **options).fit(X, y)
    assert (model.search_, model.recall_, model.n_scored_) == ("exact", 1.0, 10)
    same_model(model, MemoirSVC(search="exact", **options).fit(X, y))


def test_the_published_graph_is_not_built_for_some_hundred_classes():
    X, y = make_xc_classification(500, 300, 150, random_state=0)
    model = MemoirSVC(**MemoirSVC.PUBLISHED["l2"], max_iter=2, random_state=0)
    assert model.fit(X, y).search_ == "exact"


# ----------------------------------------------------------------------------------- in parts


def texts():
    return make_xc_classification(1500, 800, 40, random_state=0)


def data_of(name):
    X, y = {
        "digits": lambda: load_digits(return_X_y=True),
        "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
        "texts": texts,
    }[name]()
    if name == "breast_cancer":
        X = scale(X)
    return train_test_split(X, y, test_size=0.4, random_state=0)


@pytest.mark.full
@pytest.mark.parametrize("name", ["digits", "breast_cancer", "texts"])
def test_parts_add_up_to_the_whole(name):
    """Ten passes over the same rows in the same order, in 1, 10 and 100 parts; and as a fit."""
    X, X_test, y, y_test = data_of(name)
    fitted = MemoirSVC(random_state=0, max_iter=10).fit(X, y)
    models = [fitted]
    for n_parts in (1, 10, 100):
        model = MemoirSVC(random_state=0)
        for _ in range(10):
            for part in np.array_split(np.arange(len(y)), n_parts):
                model.partial_fit(X[part], y[part], classes=fitted.classes_)
        assert model.alpha_ == pytest.approx(fitted.alpha_, rel=0.03)
        models.append(model)
    if len(fitted.classes_) > 2:
        reached = [objective(m, X, y, fitted.alpha_, fitted._state.bias) for m in models]
    else:
        reached = [np.maximum(0, 1 - (2 * y - 1) * m.decision_function(X)).mean() for m in models]
    right = [m.score(X_test, y_test) for m in models]
    np.testing.assert_allclose(reached[2:], reached[1], rtol=0.02)
    np.testing.assert_allclose(right[2:], right[1], atol=0.005)
    np.testing.assert_allclose(reached[1:], reached[0], rtol=0.1)
    np.testing.assert_allclose(right[1:], right[0], atol=0.02)


def test_a_part_counts_as_much_as_its_samples_weigh():
    X, y = load_digits(return_X_y=True)
    options = {"random_state": 0, "alpha": 1e-6, "eta_step": 0.0, "average": False}

    def after(weight):
        model = MemoirSVC(**options).partial_fit(X[:800], y[:800], classes=np.arange(10))
        before = model.coef_.toarray()
        model.partial_fit(X[800:830], y[800:830], sample_weight=np.full(30, weight))
        return np.abs(model.coef_.toarray() - before).max()

    assert after(1e-6) < 1e-4 * after(1.0)


def test_classes_are_balanced_by_the_samples_of_all_calls():
    X, y = load_digits(return_X_y=True)
    keep = (y > 0) | (np.arange(len(y)) % 7 == 0)
    X, y = X[keep][:700], y[keep][:700]
    model = MemoirSVC(class_weight="balanced", random_state=0)
    for part in np.array_split(np.arange(700), 20):
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    np.testing.assert_allclose(model._state.totals, np.bincount(y))
    model.partial_fit(X[:5], [77, 77, 1, 2, 77])
    assert model._state.totals[-1] == 3
    assert model._state.totals[:-1].sum() == 702


def test_partial_fit_goes_on_from_a_fit():
    X, y = load_digits(return_X_y=True)
    model = MemoirSVC(random_state=0).fit(X[:900], y[:900])
    alpha = model.alpha_
    model.partial_fit(X[900:], y[900:])
    assert model.alpha_ == pytest.approx(alpha * 900 / len(y), rel=0.05)
    assert model.score(X, y) > 0.95


def test_saved_models_go_on(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = MemoirSVC(random_state=0).fit(X, y)
    model.save(tmp_path / "model.sxc")
    read = load(tmp_path / "model.sxc")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    same_model(read.partial_fit(X[:40], y[:40]), model.partial_fit(X[:40], y[:40]))


# ------------------------------------------------------------------------------------- defaults


def test_small_data_gets_more_passes():
    X, y = load_iris(return_X_y=True)
    assert MemoirSVC(random_state=0).fit(X, y).n_iter_ == 125  # 1000 steps of 20 samples
    many = np.tile(X, (20, 1)), np.tile(y, 20)
    assert MemoirSVC(random_state=0).fit(*many).n_iter_ == 10
    assert MemoirSVC(max_iter=3, random_state=0).fit(X, y).n_iter_ == 3


@pytest.mark.parametrize("form", ["raw", "standardised"])
@pytest.mark.parametrize(
    "loader",
    rest_in_full(
        [load_iris, load_wine, load_breast_cancer, load_digits], load_iris, load_breast_cancer
    ),
)
def test_without_arguments_as_good_as_scikit_learn(loader, form):
    X, y = loader(return_X_y=True)
    X = scale(X) if form == "standardised" else X
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    right = MemoirSVC(random_state=0).fit(X, y).score(X_test, y_test)
    best = 0.0
    for reference in LogisticRegression(max_iter=5000), LinearSVC(random_state=0, max_iter=20_000):
        best = max(best, reference.fit(X, y).score(X_test, y_test))
    error = np.sqrt(best * (1 - best) / len(y_test))
    assert right >= best - 2 * error - (0.03 if form == "raw" else 0.01)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_features_changes_nothing(unit):
    X, y = load_digits(return_X_y=True)
    one = MemoirSVC(random_state=0).fit(X, y)
    other = MemoirSVC(random_state=0).fit(X * unit, y)
    assert (one.predict(X) == other.predict(X * unit)).mean() > 0.99


def test_uneven_columns_get_one_size_unless_scores_are_to_be_cosines():
    X, y = load_wine(return_X_y=True)
    model = MemoirSVC(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    inside = MemoirSVC(random_state=0).fit(scale(X), y)
    assert (model.predict(X) == inside.predict(scale(X))).mean() > 0.98
    for options in {"fit_intercept": False}, {"normalize_scores": True}:
        assert MemoirSVC(**options).fit(X, y)._state.coordinates.changes_nothing
