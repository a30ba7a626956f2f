"""TopKNeighborsClassifier against brute force, and what it refuses."""

import numpy as np
import pytest
from _nearest_rows import best, nearest, scores
from _neighbors_data import FIXED, FORMS, Q, T, X, Y, in_each_form, indicator, sparse_rows
from scipy import sparse

from sklearn_xc import TopKNeighborsClassifier

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)


# ------------------------------------------------------------------------------- exactness


@in_each_form
@pytest.mark.parametrize("k", [1, 5, 150])
def test_neighbours_are_those_of_brute_force(form, k):
    model = TopKNeighborsClassifier(**FIXED).fit(form(X), Y)
    similarities, ids = model.kneighbors(form(Q), k)
    expected = nearest(form(X), form(Q), k)
    np.testing.assert_allclose(similarities, expected[0], atol=1e-6)
    assert all(len(set(row)) == k for row in ids.tolist())


def test_ties_go_to_the_smaller_row():
    rows = np.repeat(np.eye(3), 4, axis=0)[[3, 0, 7, 1, 4, 8, 2, 5, 9, 6, 10, 11]]
    for form in FORMS.values():
        model = TopKNeighborsClassifier(**FIXED).fit(form(rows), np.arange(12) % 3)
        similarities, ids = model.kneighbors(form(np.eye(3)), 5)
        expected = nearest(form(rows), form(np.eye(3)), 5)
        np.testing.assert_array_equal(ids, expected[1])
        np.testing.assert_allclose(similarities, expected[0], atol=1e-6)


@in_each_form
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_scores_are_those_of_brute_force(form, k):
    texts = form(T)
    model = TopKNeighborsClassifier(**FIXED | {"n_neighbors": k})
    model.fit(form(X), Y, label_features=texts)
    expected = scores(form(X), Y, form(Q), min(k, 150), 2.0, 0.25, 1.5, [texts])
    if k in (1, 7):  # where the k-th and the next are alike, either may be taken
        near = nearest(form(X), form(Q), k + 1)[0]
        clear = near[:, k - 1] > near[:, k] + 1e-6
    else:
        clear = np.ones(40, dtype=bool)
    assert clear.sum() >= 5
    np.testing.assert_allclose(model.decision_function(form(Q))[clear], expected[clear], atol=1e-5)


def test_sample_weights_count_as_so_many_rows():
    weight = RNG.integers(0, 3, size=150)
    repeated = np.repeat(np.arange(150), weight)
    parameters = FIXED | {"n_neighbors": 10_000}
    weighted = TopKNeighborsClassifier(**parameters).fit(X, Y, weight).decision_function(Q)
    plain = TopKNeighborsClassifier(**parameters).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(weighted, plain.decision_function(Q), atol=1e-5)
    expected = scores(X, Y, Q, 150, 2.0, 0.25, weight=weight)
    np.testing.assert_allclose(weighted, expected, atol=1e-5)


def test_grades_of_labels_count():
    graded = Y.multiply(RNG.uniform(0.1, 1, Y.shape)).tocsr()
    model = TopKNeighborsClassifier(**FIXED | {"n_neighbors": 200}, graded=True).fit(X, graded)
    expected = scores(X, graded, Q, 150, 2.0, 0.25)
    np.testing.assert_allclose(model.decision_function(Q), expected, atol=1e-5)
    with pytest.raises(ValueError, match="must be an indicator of 0 and 1"):
        TopKNeighborsClassifier(**FIXED).fit(X, graded)


def test_the_best_of_several_texts_counts():
    texts = [sparse.csr_array(T), sparse.csr_array(T[::-1]), sparse_rows(12, seed=3)]
    model = TopKNeighborsClassifier(**FIXED | {"n_neighbors": 200})
    model.fit(sparse.csr_array(X), Y, label_features=texts)
    expected = scores(X, Y, Q, 150, 2.0, 0.25, 1.5, texts)
    np.testing.assert_allclose(model.decision_function(Q), expected, atol=1e-5)


def test_wide_rows_and_many_of_them_are_exact():
    """More rows than a block of the kernel, and dense ones by matrix products."""
    rng = np.random.default_rng(0)
    many = sparse.random_array((20_000, 300), density=0.02, rng=rng, format="csr")
    model = TopKNeighborsClassifier(**FIXED).fit(many, np.arange(20_000) % 5)
    queries = many[:50]
    similarities, ids = model.kneighbors(queries, 20)
    expected = nearest(many, queries, 20)
    np.testing.assert_allclose(similarities, expected[0], atol=1e-6)
    assert (ids == expected[1]).mean() > 0.99
    dense = rng.normal(size=(9000, 60)).astype(np.float32)
    dense[5000:8000] = dense[:1]  # three thousand rows alike
    model = TopKNeighborsClassifier(**FIXED).fit(dense, np.arange(9000) % 5)
    similarities, ids = model.kneighbors(dense[:50], 20)
    np.testing.assert_allclose(similarities, nearest(dense, dense[:50], 20)[0], atol=1e-5)
    np.testing.assert_array_equal(ids[0], [0, *range(5000, 5019)])


# ------------------------------------------------------------------------------- predictions


@in_each_form
def test_the_best_labels_are_those_of_all_scores(form):
    model = TopKNeighborsClassifier(**FIXED).fit(form(X), Y, label_features=form(T))
    everything = model.decision_function(form(Q))
    for k in (1, 4, 12):
        labels, values = model.predict_topk(form(Q), k)
        np.testing.assert_array_equal(labels, best(everything.astype(float), k))
        np.testing.assert_array_equal(values, np.take_along_axis(everything, labels, axis=1))


@pytest.mark.parametrize(
    "only",
    [
        {"labels": [3, 1, 7, 9]},
        {"exclude": [0, 5]},
        {"labels": indicator(40, seed=5)},
        {"exclude": indicator(40, seed=6)},
        {"labels": [1, 2, 3, 4, 5], "exclude": [3]},
        {"label_weight": np.linspace(-1, 1, 12)},
        {"labels": [2, 4, 6], "label_weight": np.linspace(1, -1, 12)},
    ],
    ids=["labels", "exclude", "of each row", "but of each row", "both", "weight", "both of them"],
)
def test_restrictions_are_those_of_brute_force(only):
    model = TopKNeighborsClassifier(**FIXED).fit(X, Y, label_features=T)
    expected = model.decision_function(Q) + np.float32(only.get("label_weight", 0))
    for name, hidden in (("labels", True), ("exclude", False)):
        if name in only:
            given = np.zeros((40, 12), dtype=bool)
            if sparse.issparse(only[name]):
                given = only[name].toarray().astype(bool)
            else:
                given[:, only[name]] = True
            expected[given != hidden] = -np.inf
    found = model.predict_topk(Q, 3, sparse_output=True, **only)
    for i in range(40):
        columns = best(expected[i : i + 1].astype(float), 3)[0].tolist()
        columns = [c for c in columns if expected[i, c] > -np.inf]
        row = found[[i]].tocoo()
        assert sorted(row.col.tolist()) == sorted(columns)
        np.testing.assert_allclose(row.data, expected[i, row.col], atol=1e-6)


def test_a_predictor_answers_as_the_model():
    model = TopKNeighborsClassifier(**FIXED).fit(X, Y, label_features=T)
    for only in ({}, {"labels": [3, 1, 7]}, {"exclude": [0]}, {"label_weight": np.arange(12.0)}):
        predictor = model.topk_predictor(2, **only)
        for some, others in zip(predictor(Q), model.predict_topk(Q, 2, **only), strict=True):
            np.testing.assert_array_equal(some, others)


def test_two_classes_have_one_score():
    y = np.array(["no", "yes"])[np.arange(150) % 2]
    model = TopKNeighborsClassifier(**FIXED | {"n_neighbors": 200}).fit(X, y)
    both = scores(X, np.eye(2)[np.arange(150) % 2], Q, 150, 2.0, 0.25)
    decision, total = model.decision_function(Q), both.sum(axis=1, keepdims=True)
    total = np.where(total > 0, total, 1)
    np.testing.assert_allclose(decision, (both[:, 1] - both[:, 0]) / total[:, 0], atol=1e-5)
    np.testing.assert_array_equal(model.predict(Q), np.where(decision > 0, "yes", "no"))
    labels, values = model.predict_topk(Q, 2)
    np.testing.assert_allclose(values[:, 0], np.abs(decision))
    np.testing.assert_array_equal(labels[:, 0], model.predict(Q))
    shares = model.predict_proba(Q)
    expected = np.where(both.sum(axis=1, keepdims=True) > 0, both / total, 0.5)
    np.testing.assert_allclose(shares, expected, atol=1e-5)


def test_shares_of_one_class_a_row_add_up():
    y = np.arange(150) % 7
    model = TopKNeighborsClassifier(**FIXED).fit(X, y)
    shares, values = model.predict_proba(Q), model.decision_function(Q)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(Q), model.classes_[values.argmax(axis=1)])
    labels, of_best = model.predict_topk(Q, 2, scores="proba")
    np.testing.assert_allclose(of_best, np.take_along_axis(shares, labels, axis=1), rtol=1e-6)
    assert (shares[model.kneighbors(Q, 1)[0][:, 0] <= 0] == 1 / 7).all()


@pytest.mark.parametrize("container", [sparse.csr_array, lambda Y: Y.toarray()])
def test_labels_with_half_of_the_votes_are_predicted(container):
    model = TopKNeighborsClassifier(**FIXED).fit(X, container(Y), label_features=T)
    shares = model.predict_proba(Q)
    assert shares.min() >= 0
    assert shares.max() <= 1
    plain = TopKNeighborsClassifier(**FIXED | {"frequency_power": 0}).fit(X, Y, label_features=T)
    values, best_text = plain.decision_function(Q), scores(X, 0 * Y, Q, 7, 2.0, 0, 1.5, [T])
    votes = np.maximum(plain.kneighbors(Q)[0], 0) ** 2
    total = votes.sum(axis=1) + best_text.max(axis=1)
    np.testing.assert_allclose(shares, values / np.where(total > 0, total, 1)[:, None], atol=1e-5)
    predicted = model.predict(Q)
    assert sparse.issparse(predicted) == (container is sparse.csr_array)
    predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
    np.testing.assert_array_equal(predicted, shares >= 0.5)


@in_each_form
def test_the_same_for_any_number_of_threads(form):
    one = TopKNeighborsClassifier(n_jobs=1, random_state=0).fit(form(X), Y, label_features=form(T))
    two = TopKNeighborsClassifier(n_jobs=2, random_state=0).fit(form(X), Y, label_features=form(T))
    assert one._settings() == two._settings()
    np.testing.assert_array_equal(one.decision_function(form(Q)), two.decision_function(form(Q)))
    for some, others in zip(
        one.predict_topk(form(Q), 4), two.predict_topk(form(Q), 4), strict=True
    ):
        np.testing.assert_array_equal(some, others)


def test_rows_in_another_form_are_taken():
    model = TopKNeighborsClassifier(**FIXED).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(
        model.decision_function(Q), model.decision_function(sparse.csr_array(Q))
    )
    dense = TopKNeighborsClassifier(**FIXED).fit(X, Y)
    np.testing.assert_array_equal(
        dense.decision_function(Q), dense.decision_function(sparse.csr_array(Q))
    )


def test_length_of_a_row_does_not_count():
    model = TopKNeighborsClassifier(**FIXED).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(
        model.decision_function(100 * Q), model.decision_function(Q), atol=1e-6
    )


@pytest.mark.parametrize("signs", [(1,), (1, -1)], ids=["positive", "signed"])
def test_features_that_most_rows_have_are_looked_up(signs):
    """Text-like rows: frequent features weigh little, and are columns of the lists."""
    rng = np.random.default_rng(0)
    frequent = np.geomspace(0.6, 0.15, 6)
    shares = np.concatenate([frequent, np.full(400, 0.01)])
    weights = np.concatenate([np.full(6, 0.2), np.ones(400)])
    rows = rng.uniform(0.5, 1, size=(20_600, 406)) * (rng.random((20_600, 406)) < shares) * weights
    rows *= rng.choice(signs, size=rows.shape)
    many = sparse.csr_array(rows[:20_500].astype(np.float32))
    queries = sparse.csr_array(rows[20_500:].astype(np.float32))
    y = np.arange(20_500) % 5
    model = TopKNeighborsClassifier(**FIXED).fit(many, y)
    (part,) = model._row_parts.parts
    assert len(part.columns) >= 3
    assert part.signed == (len(signs) > 1)
    parts = TopKNeighborsClassifier(**FIXED)
    for start in range(0, 20_500, 3000):
        some = slice(start, start + 3000)
        parts.partial_fit(many[some], y[some], classes=range(5))
    for k in (1, 20, 300):
        similarities, ids = model.kneighbors(queries, k)
        expected = nearest(many, queries, k)
        np.testing.assert_allclose(similarities, expected[0], atol=2e-6)
        assert (ids == expected[1]).mean() > 0.99
        for some, others in zip(parts.kneighbors(queries, k), (similarities, ids), strict=True):
            np.testing.assert_array_equal(some, others)


@pytest.mark.parametrize(("dense", "index"), [(False, "exact"), (True, "exact"), (True, "hnsw")])
def test_many_samples_have_the_answers_of_a_few(dense, index):
    # Queries are read in blocks of 1,024, which share the entries of all.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 12)).astype(np.float32)
    X = X if dense else sparse.csr_array(np.where(X > 1, X, 0))
    model = TopKNeighborsClassifier(index=index, random_state=0).fit(X, np.arange(2500) % 90)
    for ask in (model.predict_topk, model.kneighbors):
        first, second = ask(X, 5)
        for some in (slice(0, 40), slice(1000, 1050), slice(2460, 2500)):
            np.testing.assert_array_equal(first[some], ask(X[some], 5)[0])
            np.testing.assert_array_equal(second[some], ask(X[some], 5)[1])
