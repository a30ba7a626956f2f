"""sklearn_xc.metrics against plain definitions and against scikit-learn."""

import tracemalloc
from math import log2

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.metrics
from _ranked_problems import CLASS_NAMES, TRUE_FORMS, problems
from hypothesis import given
from hypothesis import strategies as st

from sklearn_xc import metrics

PLAIN = ["precision_at_k", "recall_at_k", "ndcg_at_k", "top_k_accuracy"]
PLAIN += ["mrr_at_k", "map_at_k", "f1_at_k"]
SCORED = ["psprecision_at_k", "psndcg_at_k"]


# Plain definitions. `top` and `true` are lists over the rows of lists / sets of columns.


def mean(values, weights):
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def plain_precision(top, true, k, weights):
    return mean(
        [len(true_i & set(top_i)) / k for top_i, true_i in zip(top, true, strict=True)], weights
    )


def plain_recall(top, true, k, weights):
    rows = [i for i in range(len(true)) if true[i] and weights[i] > 0]
    if not rows:
        return 0.0
    found = [len(true[i] & set(top[i])) / len(true[i]) for i in rows]
    return mean(found, [weights[i] for i in rows])


def plain_ndcg(top, true, k, weights):
    def row(top_i, true_i):
        if not true_i:
            return 0.0
        dcg = sum(1 / log2(r + 2) for r, label in enumerate(top_i) if label in true_i)
        return dcg / sum(1 / log2(r + 2) for r in range(min(k, len(true_i))))

    return mean([row(*pair) for pair in zip(top, true, strict=True)], weights)


def plain_mrr(top, true, k, weights):
    def row(top_i, true_i):
        return next((1 / (r + 1) for r, label in enumerate(top_i) if label in true_i), 0.0)

    return mean([row(*pair) for pair in zip(top, true, strict=True)], weights)


def plain_map(top, true, k, weights):
    def row(top_i, true_i):
        if not true_i:
            return 0.0
        gains = [
            len(true_i & set(top_i[: r + 1])) / (r + 1)
            for r, label in enumerate(top_i)
            if label in true_i
        ]
        return sum(gains) / min(k, len(true_i))

    return mean([row(*pair) for pair in zip(top, true, strict=True)], weights)


def plain_f1(top, true, k, weights):
    rows = zip(top, true, strict=True)
    return mean([2 * len(t & set(p)) / (k + len(t)) for p, t in rows], weights)


def plain_top_k_accuracy(top, true, k, weights):
    return mean(
        [float(bool(true_i & set(top_i))) for top_i, true_i in zip(top, true, strict=True)], weights
    )


def plain_propensity_scored(top, true, k, weights, p, discount):
    attained = attainable = 0.0
    for top_i, true_i, w in zip(top, true, weights, strict=True):
        for r, label in enumerate(top_i):
            if label in true_i:
                attained += w * discount(r) / p[label]
        for r, label in enumerate(sorted(true_i, key=lambda label: p[label])[:k]):
            attainable += w * discount(r) / p[label]
    return attained / attainable if attainable else 0.0


def plain_psprecision(top, true, k, weights, p):
    return plain_propensity_scored(top, true, k, weights, p, lambda r: 1.0)


def plain_psndcg(top, true, k, weights, p):
    return plain_propensity_scored(top, true, k, weights, p, lambda r: 1 / log2(r + 2))


DEFINITIONS = {
    "precision_at_k": plain_precision,
    "recall_at_k": plain_recall,
    "ndcg_at_k": plain_ndcg,
    "top_k_accuracy": plain_top_k_accuracy,
    "mrr_at_k": plain_mrr,
    "map_at_k": plain_map,
    "f1_at_k": plain_f1,
    "psprecision_at_k": plain_psprecision,
    "psndcg_at_k": plain_psndcg,
}


def plain_top(scores, stored, k):
    """The k best stored columns of every row, ties to the smaller column."""
    n, n_columns = scores.shape
    candidates = [[c for c in range(n_columns) if stored[i, c]] for i in range(n)]
    return [sorted(row, key=lambda c: (-scores[i, c], c))[:k] for i, row in enumerate(candidates)]


def sparse_scores(scores, stored):
    """CSR with exactly the stored entries, zeros too, in an order that is not canonical."""
    row, column = np.nonzero(stored)
    order = np.argsort(-column, kind="stable")
    order = order[np.argsort(row[order], kind="stable")]
    indptr = np.concatenate([[0], stored.sum(axis=1).cumsum()])
    return sp.csr_array((scores[row, column][order], column[order], indptr), shape=scores.shape)


PREDICTION_FORMS = {
    "dense float64": lambda scores, stored: scores,
    "dense float32": lambda scores, stored: scores.astype(np.float32),
    "dense list": lambda scores, stored: scores.tolist(),
    "csr": sparse_scores,
    "coo": lambda scores, stored: sparse_scores(scores, stored).tocoo(),
    "csc integers": lambda scores, stored: sparse_scores((2 * scores).astype(int), stored).tocsc(),
    "top-k": lambda scores, stored: np.argsort(-scores, axis=1, kind="stable"),
    "top-k int16": lambda scores, stored: np.argsort(-scores, 1, "stable").astype(np.int16),
}


def call(name, problem, y_true, y_pred, **options):
    if name in SCORED:
        options.setdefault("propensities", problem["propensities"])
    options.setdefault("sample_weight", problem["sample_weight"])
    return getattr(metrics, name)(y_true, y_pred, problem["k"], **options)


def expected(name, problem, top):
    true = [set(np.flatnonzero(row).tolist()) for row in problem["true"]]
    weights = problem["sample_weight"]
    weights = [1.0] * len(true) if weights is None else weights.tolist()
    scored = (problem["propensities"],) if name in SCORED else ()
    return DEFINITIONS[name](top, true, problem["k"], weights, *scored)


# Values


@pytest.mark.parametrize("name", DEFINITIONS)
@given(
    problem=problems(),
    true_form=st.sampled_from(sorted(TRUE_FORMS)),
    form=st.sampled_from(sorted(PREDICTION_FORMS)),
)
def test_plain_definition(name, problem, true_form, form):
    is_sparse = form in ("csr", "coo", "csc integers")
    stored = problem["stored"] if is_sparse else np.ones_like(problem["stored"])
    top = plain_top(problem["scores"], stored, problem["k"])
    y_true = TRUE_FORMS[true_form](problem["true"])
    y_pred = PREDICTION_FORMS[form](problem["scores"], stored)
    value = call(name, problem, y_true, y_pred)
    assert isinstance(value, float)
    assert 0 <= value <= 1
    assert value == pytest.approx(expected(name, problem, top), abs=1e-12)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(
    problem=problems(),
    names=st.sampled_from(sorted(CLASS_NAMES)),
    unseen=st.booleans(),
    form=st.sampled_from(["dense", "csr", "top-k", "top-k without classes"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_class_labels(name, problem, names, unseen, form, seed):
    n, n_columns = problem["scores"].shape
    n_columns = min(n_columns, len(CLASS_NAMES[names]))
    rng = np.random.default_rng(seed)
    problem["k"] = min(problem["k"], n_columns)
    problem["propensities"] = problem["propensities"][:n_columns]
    scores = problem["scores"][:, :n_columns]
    stored = problem["stored"][:, :n_columns] if form == "csr" else np.full((n, n_columns), True)
    classes = CLASS_NAMES[names][:n_columns]
    column = rng.integers(0, n_columns, n)
    y_true = classes[column]
    problem["true"] = column[:, None] == np.arange(n_columns)
    # For the propensity-scored metrics the classes have to cover all true labels.
    if unseen and n_columns > 1 and name in PLAIN and "without" not in form:
        keep = slice(0, n_columns - 1)
        classes, scores, stored = classes[keep], scores[:, keep], stored[:, keep]
        problem["k"] = min(problem["k"], n_columns - 1)
    if form.startswith("top-k"):
        y_pred = classes[np.argsort(-scores, axis=1, kind="stable")]
        y_pred = y_pred.astype(object) if names == "float" else y_pred
        if names == "bool":
            y_pred = y_pred.astype(int)
    else:
        y_pred = sparse_scores(scores, stored) if form == "csr" else scores
    if form == "top-k without classes" and name in PLAIN:
        classes = None
    value = call(name, problem, y_true, y_pred, classes=classes)
    top = plain_top(scores, stored, problem["k"])
    assert value == pytest.approx(expected(name, problem, top), abs=1e-12)


def test_labels_of_an_indicator_by_name():
    y_true = pd.DataFrame([[1, 0, 1], [0, 1, 0]], columns=["red", "green", "blue"])
    top = np.array([["blue", "red"], ["red", "green"]], dtype=object)
    assert metrics.precision_at_k(y_true, top, k=2) == 0.75
    assert metrics.precision_at_k(y_true, top, k=1) == 0.5
    assert metrics.precision_at_k(y_true.to_numpy(), top, k=1, classes=y_true.columns) == 0.5
    # Column numbers still do if classes says so.
    assert metrics.precision_at_k(y_true, [[2], [0]], k=1, classes=[0, 1, 2]) == 0.5


def test_numbers_are_not_their_names():
    with pytest.raises(ValueError, match="y_true holds texts"):
        metrics.top_k_accuracy(["1", "2"], [[1], [2]], k=1)
    assert metrics.top_k_accuracy([1.0, 2.0], [[1], [2]], k=1) == 1.0


def test_rows_without_labels():
    y_true = sp.csr_array([[1, 0], [0, 0]])
    top = [[0], [1]]
    assert metrics.precision_at_k(y_true, top, k=1) == 0.5
    assert metrics.ndcg_at_k(y_true, top, k=1) == 0.5
    assert metrics.top_k_accuracy(y_true, top, k=1) == 0.5
    assert metrics.recall_at_k(y_true, top, k=1) == 1.0
    for name in SCORED:
        metric = getattr(metrics, name)
        assert metric(y_true, top, k=1, propensities=[0.1, 0.2]) == 1.0
        assert metric(sp.csr_array((2, 2)), top, k=1, propensities=[0.1, 0.2]) == 0.0
    assert metrics.recall_at_k(sp.csr_array((2, 2)), top, k=1) == 0.0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_infinite_scores_are_ordered(dtype):
    scores = np.array([[-np.inf, 0, np.inf]], dtype=dtype)
    assert metrics.ndcg_at_k([[1, 1, 1]], scores, k=3) == 1.0
    assert metrics.precision_at_k([[0, 0, 1]], scores, k=1) == 1.0
    if dtype != np.float16:  # SciPy has no sparse float16
        row = sp.csr_array((scores[0], [0, 2, 4], [0, 3]), shape=(1, 5))
        assert metrics.precision_at_k([[1, 0, 1, 0, 1]], row, k=5) == 3 / 5


def test_scores_in_many_blocks_of_uneven_rows():
    rng = np.random.default_rng(0)
    n, n_columns, k = 600, 4000, 4
    lengths = rng.permutation(np.r_[np.zeros(50, int), rng.integers(1, 40, n - 53), 4000, 4000, 3])
    row = np.repeat(np.arange(n), lengths)
    column = np.concatenate([rng.choice(n_columns, m, replace=False) for m in lengths])
    scores = sp.csr_array((rng.integers(1, 9, len(row)) / 2.0, (row, column)), (n, n_columns))
    y_true = sp.random_array((n, n_columns), density=2e-3, rng=1, format="csr").astype(bool)
    dense, true = scores.toarray(), y_true.toarray()
    dense[dense == 0] = -np.inf
    top = np.argsort(-dense, axis=1, kind="stable")[:, :k]
    retrieved = np.take_along_axis(dense, top, axis=1) > -np.inf
    hits = np.take_along_axis(true, top, axis=1) & retrieved
    assert metrics.precision_at_k(y_true, scores, k) == pytest.approx(hits.mean())
    # All scores but the stored ones are -inf: still ranked, as the input is dense.
    everything = np.take_along_axis(true, top, axis=1)
    assert metrics.precision_at_k(y_true, dense, k) == pytest.approx(everything.mean())


# Laws


@pytest.mark.parametrize("name", DEFINITIONS)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_order_of_rows_and_columns_does_not_matter(name, problem, seed):
    rng = np.random.default_rng(seed)
    n, n_columns = problem["scores"].shape
    scores = rng.permuted(np.tile(np.arange(n_columns) / 2, (n, 1)), axis=1)  # no ties
    value = call(name, problem, problem["true"], scores)
    rows, columns = rng.permutation(n), rng.permutation(n_columns)
    if problem["sample_weight"] is not None:
        problem["sample_weight"] = problem["sample_weight"][rows]
    problem["propensities"] = problem["propensities"][columns]
    moved = call(name, problem, problem["true"][rows][:, columns], scores[rows][:, columns])
    assert moved == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(problem=problems())
def test_weights_are_repetitions(name, problem):
    n = len(problem["true"])
    weights = np.arange(n) % 3 + (np.arange(n) == 0)
    weighted = call(name, problem, problem["true"], problem["scores"], sample_weight=weights)
    true, scores = (np.repeat(problem[part], weights, axis=0) for part in ("true", "scores"))
    repeated = call(name, problem, true, scores, sample_weight=None)
    assert weighted == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(problem=problems())
def test_best_ranking(name, problem):
    problem["true"][:, 0] |= ~problem["true"].any(axis=1)  # every row has a label
    k, n_true = problem["k"], problem["true"].sum(axis=1)
    value = call(name, problem, problem["true"], problem["true"] / problem["propensities"])
    weights = problem["sample_weight"]
    attainable = {
        "precision_at_k": np.average(np.minimum(k, n_true) / k, weights=weights),
        "recall_at_k": np.average(np.minimum(k, n_true) / n_true, weights=weights),
        "f1_at_k": np.average(2 * np.minimum(k, n_true) / (k + n_true), weights=weights),
    }
    assert value == pytest.approx(attainable.get(name, 1.0), abs=1e-12)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(problem=problems())
def test_a_hit_more_never_hurts(name, problem):
    problem["sample_weight"] = None
    row, column = np.unravel_index(problem["true"].argmax(), problem["true"].shape)
    problem["propensities"][column] = 0.001  # whatever it displaces is worth less
    value = call(name, problem, problem["true"], problem["scores"])
    problem["scores"][row, column] += 10 * problem["true"][row, column]
    better = call(name, problem, problem["true"], problem["scores"])
    assert better >= value - 1e-12


@given(problem=problems())
def test_equal_propensities_change_nothing(problem):
    even = np.full(problem["true"].shape[1], 0.3)
    y_true, scores, k = problem["true"], problem["scores"], problem["k"]
    attainable = np.minimum(y_true.sum(axis=1), k).sum() / (len(y_true) * k)
    precision = metrics.precision_at_k(y_true, scores, k)
    ps = metrics.psprecision_at_k(y_true, scores, k, propensities=even)
    assert ps * attainable == pytest.approx(precision, abs=1e-12)


def test_input_is_left_as_it_is():
    y_true = sp.csr_array(([1, 0, 1], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    y_pred = sp.csr_array(([1.0, 2.0, 3.0], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    for matrix in (y_true, y_pred):
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
    assert metrics.precision_at_k(y_true, y_pred, k=1) == 0.5
    assert y_true.indices.tolist() == y_pred.indices.tolist() == [2, 0, 1]


def test_nothing_dense_is_built():
    n, n_columns = 20_000, 25_000
    y_true = sp.random_array((n, n_columns), density=1e-4, rng=0, format="csr").astype(bool)
    scores = sp.random_array((n, n_columns), density=4e-4, rng=1, format="csr")
    p = np.linspace(0.1, 1, n_columns)
    tracemalloc.start()
    try:
        for name in PLAIN:
            getattr(metrics, name)(y_true, scores)
        for name in SCORED:
            getattr(metrics, name)(y_true, scores, propensities=p)
        metrics.macro_f1(y_true, y_true)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64e6  # one byte for each of the n * n_columns pairs would be 500 MB


# Against scikit-learn


# scikit-learn takes an indicator of one column for binary labels: two columns or more.


@given(problem=problems(min_columns=2))
def test_ndcg_of_scikit_learn(problem):
    scores = problem["scores"] + np.arange(problem["scores"].shape[1]) / 100  # no ties
    for weights in (None, problem["sample_weight"]):
        options = {"k": problem["k"], "sample_weight": weights}
        theirs = sklearn.metrics.ndcg_score(problem["true"].astype(float), scores, **options)
        ours = metrics.ndcg_at_k(problem["true"], scores, **options)
        assert ours == pytest.approx(theirs, abs=1e-12)


@given(problem=problems(min_columns=2))
def test_precision_and_recall_of_scikit_learn(problem):
    y_true, k = problem["true"].astype(int), problem["k"]
    top = np.argsort(-problem["scores"], axis=1, kind="stable")[:, :k]
    retrieved = np.zeros_like(y_true)
    np.put_along_axis(retrieved, top, 1, axis=1)
    options = {"average": "samples", "zero_division": 0.0}
    theirs = sklearn.metrics.precision_score(y_true, retrieved, **options)
    assert metrics.precision_at_k(y_true, top, k) == pytest.approx(theirs, abs=1e-12)
    labelled = y_true.any(axis=1)
    if labelled.any():
        theirs = sklearn.metrics.recall_score(y_true[labelled], retrieved[labelled], **options)
        assert metrics.recall_at_k(y_true, top, k) == pytest.approx(theirs, abs=1e-12)


def test_top_k_accuracy_of_scikit_learn():
    rng = np.random.default_rng(0)
    y_true, scores = rng.integers(0, 12, 200), rng.random((200, 12))
    weights = rng.random(200)
    for k in (1, 3, 11):
        options = {"k": k, "sample_weight": weights}
        theirs = sklearn.metrics.top_k_accuracy_score(
            y_true, scores, labels=np.arange(12), **options
        )
        ours = metrics.top_k_accuracy(y_true, scores, classes=np.arange(12), **options)
        assert ours == pytest.approx(theirs, abs=1e-12)
