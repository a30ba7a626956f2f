"""LDGSClassifier: gradients through both layers, all options, bad input."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

from sklearn_xc import LDGSClassifier, PPDSparseClassifier, predict_topk

pytestmark = pytest.mark.kernel


# ------------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
def test_scores_are_what_they_are_said_to_be(digits, similarity):
    X, y = digits
    for wanted in (2, 10):
        some = y < wanted
        model = LDGSClassifier(
            similarity=similarity, hidden_dim=6, max_iter=2, gradient="exact", random_state=0
        ).fit(X[some], y[some])
        E, W, b = model.transform(X[:20]), model.coef_, model.intercept_
        np.testing.assert_allclose(E, X[:20] @ model.input_embeddings_, atol=1e-5)
        if similarity == "linear":
            expected = E @ W.T + b
        else:
            expected = -((E[:, None] - W[None]) ** 2).sum(axis=2) + b
            if wanted == 2:
                expected = expected[:, 1:] - expected[:, :1]
        scores = model.decision_function(X[:20]).reshape(20, -1)
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        p = model.predict_proba(X[:20])
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[:20]))


@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
def test_labels_are_predicted_by_their_sign(labels, similarity):
    X, Y = labels
    model = LDGSClassifier(similarity=similarity, hidden_dim=30, max_iter=20, random_state=0).fit(
        X, Y
    )
    found = model.predict(X)
    assert sparse.issparse(found)
    assert found.dtype == Y.dtype
    scores = model.decision_function(X)

    def f1(threshold):
        chosen = scores > threshold
        return 2 * (chosen & (Y.toarray() > 0)).sum() / (chosen.sum() + Y.sum())

    assert f1(0) > 0.5
    assert f1(0) >= max(f1(shift) for shift in np.linspace(-1, 1, 21)) - 1e-9
    np.testing.assert_array_equal(found.toarray() > 0, model.decision_function(X) > 0)


@pytest.mark.parametrize("index", ["spherical", "hnsw", "exact"])
@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
def test_an_index_finds_the_best_with_its_measured_recall(labels, index, similarity):
    X, Y = labels
    model = LDGSClassifier(
        similarity=similarity, index=index, hidden_dim=8, max_iter=2, random_state=0
    ).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of 40 classes it may find too few
        found, scores = model.predict_topk(X, 3, search="index")
    best, expected = model.predict_topk(X, 3)
    assert model.search_recall_ >= 0.9
    assert (found == best).mean() > 0.9
    same = found == best
    np.testing.assert_allclose(scores[same], expected[same], atol=1e-4)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_topk(X, 3)[0], best)


def test_probabilities_are_refused_where_there_are_none(digits, labels):
    X, y = digits
    with pytest.raises(AttributeError, match="predict_proba") as error:
        LDGSClassifier("margin", max_iter=1).fit(X, y).predict_proba(X)
    assert "cross_entropy" in str(error.value)
    with pytest.raises(AttributeError, match="predict_proba") as error:
        LDGSClassifier(max_iter=1).fit(*labels).predict_proba(labels[0])
    assert "TopKCalibratedClassifier" in str(error.value)


def test_it_is_a_transformer_in_a_pipeline(labels):
    X, Y = labels
    first = LDGSClassifier(hidden_dim=6, max_iter=2, random_state=0)
    model = make_pipeline(first, PPDSparseClassifier()).fit(X, Y)
    assert model[1].n_features_in_ == 6
    assert predict_topk(model, X, 2)[0].shape == (400, 2)
    assert model[0].get_feature_names_out().tolist()[-1] == "ldgsclassifier5"


# ------------------------------------------------------------------------- further training


def test_warm_start_goes_on(digits):
    X, y = digits
    for some in (y < 2, y < 10):
        model = LDGSClassifier(
            hidden_dim=6, max_iter=2, warm_start=True, decay=1.0, random_state=0
        ).fit(X[some], y[some])
        first = model.loss_curve_[0]
        assert model.fit(X[some], y[some]).loss_curve_[0] < first / 2
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="hidden_dim"):
        model.set_params(hidden_dim=7).fit(X, y)
    assert model.coef_.shape == (10, 6)  # as it was


@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
def test_partial_fit_learns_part_by_part(digits, labels, similarity):
    X, y = digits
    model = LDGSClassifier(similarity=similarity, hidden_dim=8, random_state=0)
    with pytest.raises(ValueError, match="classes must be given"):
        model.partial_fit(X, y)
    for start in 4 * list(range(0, 500, 100)):
        part = slice(start, start + 100)
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    assert model.score(X[500:], y[500:]) > 0.7
    assert model.n_iter_ == 20
    X, Y = labels
    model = LDGSClassifier(similarity=similarity, hidden_dim=8, random_state=0)
    for _ in range(3):
        model.partial_fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    assert model.n_iter_ == 6
    with pytest.raises(ValueError, match="y 39 columns"):
        model.partial_fit(X, Y[:, 1:])
    with pytest.raises(ValueError, match="one class a sample"):
        model.partial_fit(X, np.zeros(400, dtype=int))


def test_warm_up_counts_the_passes_of_all_calls(digits):
    X, y = digits
    model = LDGSClassifier(
        gradient="decomposed", hidden_dim=8, warmup=2.5, query_size=2, random_state=0
    )
    searching = []
    for _ in range(4):
        model.partial_fit(X, y, classes=np.arange(10))
        searching.append(model._state.searching)
    assert searching == [False, False, True, True]


def test_early_stopping_keeps_samples_apart(digits, labels):
    X, y = digits
    model = LDGSClassifier(
        early_stopping=True, n_iter_no_change=1, max_iter=50, hidden_dim=8, random_state=0
    )
    assert model.fit(X, y).n_iter_ < 50
    assert len(model.validation_scores_) == model.n_iter_
    with pytest.warns(ConvergenceWarning, match="after 2: use a larger max_iter"):
        model.set_params(max_iter=2).fit(*labels)
    assert len(model.validation_scores_) == 2


# --------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "hinge"),
        ("similarity", "cosine"),
        ("gradient", "none"),
        ("n_chunks", 0),
        ("n_message_passes", -1),
        ("query_size", 0),
        ("index", "lsh"),
        ("search_params", 3),
        ("tau", -1.0),
        ("unretrieved", "one"),
        ("mu", 0.0),
        ("hidden_dim", 0),
        ("warmup", -1),
        ("batch_size", 0),
        ("solver", "adam"),
        ("learning_rate", 0.0),
        ("decay", -0.5),
        ("max_iter", 0),
        ("alpha", -1.0),
        ("validation_fraction", 1.0),
    ],
)
def test_bad_parameters_are_named(digits, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        LDGSClassifier(**{name: value}).fit(*digits)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_centroids": 0}, "'n_centroids' parameter of search_params of LDGSClassifier"),
        ({"n_probes": 0}, "'n_probes' parameter of search_params of LDGSClassifier"),
        ({"n_bits": 64}, "holds 'n_bits'; LDGSClassifier knows 'n_centroids', 'n_probes'"),
    ],
)
def test_bad_search_params_are_named(digits, params, message):
    with pytest.raises(ValueError, match=message):
        LDGSClassifier(search_params=params).fit(*digits)


def test_nothing_half_fitted_stays_behind(digits):
    X, y = digits
    model = LDGSClassifier(solver="sgd", learning_rate=1e12, hidden_dim=4, gradient="exact")
    with pytest.raises(ValueError, match="learning_rate"), np.errstate(all="ignore"):
        model.fit(1e6 * X, y)
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_one_label_cannot_be_ranked(labels):
    with pytest.raises(ValueError, match="at least two"):
        LDGSClassifier().fit(labels[0], labels[1][:, :1])


def test_too_large_weights_are_refused(digits, monkeypatch):
    monkeypatch.setenv("SKLEARN_XC_MEMORY_LIMIT", "10000")
    with pytest.raises(MemoryError, match="hidden_dim"):
        LDGSClassifier(hidden_dim=64).fit(*digits)


def test_empty_rows_and_empty_classes(labels):
    X, Y = labels
    X, Y = X.tolil(), Y.tolil()
    X[0] = 0
    Y[1] = 0
    Y[:, 3] = 0
    model = LDGSClassifier(hidden_dim=5, max_iter=2, random_state=0).fit(X.tocsr(), Y.tocsr())
    assert np.isfinite(model.decision_function(X.tocsr())).all()


def test_weights_of_zero_are_not_visited(digits):
    X, y = digits
    weight = np.ones(600)
    weight[300:] = 0
    options = {"hidden_dim": 5, "max_iter": 2, "random_state": 0, "gradient": "exact"}
    spoilt = X.copy()
    spoilt[300:] = 1e6
    some = LDGSClassifier(**options).fit(spoilt, y, weight)
    other = LDGSClassifier(**options).fit(X, y, weight)
    np.testing.assert_array_equal(some.coef_, other.coef_)


def test_read_only_and_int64_arrays(labels, tmp_path):
    X, Y = labels
    expected = LDGSClassifier(hidden_dim=5, max_iter=1, random_state=0).fit(X, Y).coef_
    X = sparse.csr_matrix(X.astype(np.float64))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    found = LDGSClassifier(hidden_dim=5, max_iter=1, random_state=0).fit(X, Y).coef_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("similarity", ["linear", "sqeuclidean"])
def test_embeddings_in_another_form(similarity, n_classes):
    """After `sparsify` scores, searches, explanations are the same, and training goes on."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 9)).astype(np.float32), np.arange(60) % n_classes
    options = {"similarity": similarity, "hidden_dim": 4, "max_iter": 2, "index": "exact"}
    options["random_state"] = 0
    plain, model = (LDGSClassifier(**options).fit(X, y) for _ in range(2))
    model.sparsify()
    assert sparse.issparse(model.coef_)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    for one, other in zip(model.explain(X[:5], k=3), plain.explain(X[:5], k=3), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-5)
    found = model.predict_topk(X, 2, search="index")[0]
    np.testing.assert_array_equal(found, plain.predict_topk(X, 2)[0])
    for estimator in (model, plain):
        estimator.partial_fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)


def test_early_stopping_does_not_warn_where_nothing_is_left_to_gain():
    """The precision is 1 from the first pass on; fewer passes than n_iter_no_change follow."""
    y = np.repeat(np.arange(4), 50)
    X = np.eye(4, dtype=np.float32)[y]
    model = LDGSClassifier(early_stopping=True, max_iter=3, n_iter_no_change=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.validation_scores_.tolist() == [1.0] * 3
