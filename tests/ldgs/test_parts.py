"""partial_fit of LDGSClassifier means fit: parts of any size, weights, steps of all calls."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import normalize

from sklearn_xc import LDGSClassifier
from sklearn_xc.datasets import make_xc_classification


def sparse_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=1200)
    topics = rng.random((12, 300)) ** 12
    words = sparse.random_array((1200, 300), density=0.03, rng=rng, format="csr")
    own = rng.poisson(topics[y] * 20 / topics.sum(axis=1)[y][:, None])
    X = normalize(sparse.csr_array(words + own))
    return X, y


def data(name):
    if name == "sparse":
        return sparse_rows()
    if name == "wine":
        return load_wine(return_X_y=True)
    if name == "many":
        return make_xc_classification(1500, 200, 20, random_state=0)
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:900]
    return normalize(X)[chosen], y[chosen]


def objective(model, X, y, alpha):
    places = np.searchsorted(model.classes_, y)
    z = model.decision_function(X).astype(float)
    loss = (logsumexp(z, axis=1) - z[np.arange(len(y)), places]).mean()
    square = (model.coef_.astype(float) ** 2).sum()
    if model.input_embeddings_ is not None:
        square += (model.input_embeddings_.astype(float) ** 2).sum()
    return loss + alpha / 2 * square


def in_parts(X, y, n_parts, rounds, **options):
    model = LDGSClassifier(random_state=0, **options)
    for number in range(rounds):
        order = np.random.default_rng(number).permutation(len(y))
        for part in np.array_split(order, n_parts):
            model.partial_fit(X[part], y[part], classes=np.unique(y))
    return model


EXACT = [("digits", 0.001), ("sparse", 0.001), ("wine", 0.01), ("many", 0.001)]


@pytest.mark.full
@pytest.mark.parametrize(("name", "alpha"), EXACT)
def test_many_parts_are_as_good_as_one(name, alpha):
    X, y = data(name)
    found = [in_parts(X, y, n_parts, 12, alpha=alpha) for n_parts in (1, 10, 100)]
    reached = [objective(model, X, y, alpha) for model in found]
    assert max(reached) - min(reached) < 0.02 * reached[0]
    right = [model.score(X, y) for model in found]
    assert max(right) - min(right) <= 0.005


CASES = [
    ("digits", {"gradient": "sampled", "alpha": 0.01, "query_size": 5}, 12),
    ("digits", {"gradient": "decomposed", "alpha": 0.01, "hidden_dim": 12}, 20),
    ("sparse", {"gradient": "decomposed", "hidden_dim": 20, "alpha": 0.001}, 12),
]


@pytest.mark.full
@pytest.mark.parametrize(("name", "options", "rounds"), CASES)
def test_many_parts_are_as_good_as_one_where_classes_are_drawn(name, options, rounds):
    X, y = data(name)
    alpha = options["alpha"]
    found = [in_parts(X, y, n_parts, rounds, **options) for n_parts in (1, 10, 100)]
    reached = [objective(model, X, y, alpha) for model in found]
    assert max(reached) - min(reached) < 0.02 * reached[0]
    if name != "digits":
        right = [model.score(X, y) for model in found]
        assert max(right) - min(right) <= 0.005


def test_a_part_in_the_order_of_its_labels_is_shuffled():
    X, y = data("digits")
    in_order = np.argsort(y, kind="stable")

    def score(rows):
        models = [LDGSClassifier(random_state=seed) for seed in range(3)]
        scores = [m.partial_fit(X[rows], y[rows], np.arange(10)).score(X, y) for m in models]
        return np.mean(scores)

    assert score(in_order) > score(np.arange(len(y))) - 0.05


def test_parts_approach_what_fit_gives():
    X, y = data("sparse")
    whole = LDGSClassifier(alpha=0.001, max_iter=20, random_state=0).fit(X, y)
    parts = in_parts(X, y, 10, 20, alpha=0.001)
    assert objective(parts, X, y, 0.001) < 1.02 * objective(whole, X, y, 0.001)


def test_weights_are_relative_to_all_rows_seen():
    X, y = data("digits")

    def second_call(weight):
        model = LDGSClassifier(random_state=0, alpha=0.0, learning_rate=0.5, max_iter=10)
        model.partial_fit(X[:800], y[:800], classes=np.arange(10))
        before = model.coef_.copy()
        model.partial_fit(X[800:], y[800:], sample_weight=np.full(len(y) - 800, weight))
        return np.abs(model.coef_ - before).max()

    assert second_call(1e-6) < 1e-3 * second_call(1.0)


def test_a_row_alone_counts_by_its_weight():
    X, y = data("digits")
    moves = []
    for weight in (0.1, 1.0):
        model = LDGSClassifier(random_state=0, solver="sgd", learning_rate=0.01, alpha=0.0)
        model.partial_fit(X[:800], y[:800], classes=np.arange(10))
        before = model.coef_.copy()
        model.partial_fit(X[800:801], y[800:801], sample_weight=[weight])
        moves.append(np.abs(model.coef_ - before).max())
    assert moves[0] == pytest.approx(0.1 * moves[1], rel=0.01)


def test_labels_that_come_later_become_classes_and_training_goes_on():
    X, y = data("digits")
    model = LDGSClassifier(random_state=0)
    model.partial_fit(X[y < 8], y[y < 8], classes=np.arange(8))
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.classes_.tolist() == list(range(10))
    assert model.score(X, y) > 0.9


def test_a_pickled_model_goes_on_as_if_it_had_not_been():
    X, y = data("sparse")
    model = LDGSClassifier(random_state=0)
    model.partial_fit(X[:500], y[:500], classes=np.unique(y))
    twin = pickle.loads(pickle.dumps(model))
    for estimator in (model, twin):
        estimator.partial_fit(X[500:], y[500:])
    np.testing.assert_array_equal(model.coef_, twin.coef_)


@pytest.mark.full
@pytest.mark.parametrize("loss", ["cross_entropy", "margin"])
def test_many_parts_predict_as_many_labels_as_one(loss):
    """The threshold is that of the last two thousand rows, not of the last part."""
    X, Y = make_xc_classification(1500, 800, 50, n_labels=3, random_state=0)
    n_labels, f1 = [], []
    for n_parts in (1, 100):
        model = LDGSClassifier(loss=loss, random_state=0)
        for _ in range(6):
            for part in np.array_split(np.arange(1500), n_parts):
                model.partial_fit(X[part], Y[part])
        found = model.predict(X)
        n_labels.append(found.sum())
        f1.append(2 * found.multiply(Y).sum() / (found.sum() + Y.sum()))
    np.testing.assert_allclose(n_labels[1:], n_labels[0], rtol=0.02)
    np.testing.assert_allclose(f1[1:], f1[0], atol=0.005)


def test_columns_of_a_later_table_go_by_their_names():
    pandas = pytest.importorskip("pandas")
    X, Y = make_xc_classification(200, 60, 8, n_labels=2, random_state=0)
    table = pandas.DataFrame(Y.toarray(), columns=list("abcdefgh"))
    models = [LDGSClassifier(random_state=0).partial_fit(X, table) for _ in range(2)]
    models[0].partial_fit(X, table)
    models[1].partial_fit(X, table[list("hgfedcba")])
    np.testing.assert_array_equal(*(model.decision_function(X) for model in models))
    with pytest.raises(ValueError, match="y has"):
        models[0].partial_fit(X, table.rename(columns={"a": "z"}))
