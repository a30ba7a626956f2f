"""PPDSparseClassifier: problems and containers, attributes, options, scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from _margin_losses import LOSSES
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier, predict_topk
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer, precision_at_k

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:sklearn-xc was built without OpenMP"),
]

NAMES = np.array(["ant", "bee", "cow", "dog", "eel"])


@pytest.fixture(scope="module")
def separable():
    """Five classes around their own centres, 40 samples of 8 features."""
    rng = np.random.default_rng(0)
    codes = np.arange(40) % 5
    X = rng.normal(size=(5, 8))[codes] * 2 + 0.2 * rng.normal(size=(40, 8))
    return X.astype(np.float32), codes


@pytest.fixture(scope="module")
def multilabel():
    return make_xc_classification(400, 300, 40, n_labels=2, n_tokens=12, random_state=0)


def assert_same_model(some, other):
    for part in "indptr", "indices", "data":
        np.testing.assert_array_equal(getattr(some.coef_, part), getattr(other.coef_, part))
    np.testing.assert_array_equal(some.intercept_, other.intercept_)
    np.testing.assert_array_equal(some.dual_gap_, other.dual_gap_)
    np.testing.assert_array_equal(some.n_active_, other.n_active_)


# ---------------------------------------------------------------------------- kinds of problem


@pytest.mark.parametrize(
    "labels",
    [
        NAMES,
        NAMES.astype(object),
        np.array([3, -1, 10, 7, 0]),
        np.array([2.0, 1.0, 5.0, 4.0, 3.0]),
        np.array([5, 4, 3, 2, 1], dtype=np.uint8),
    ],
    ids=["str", "object", "int", "float", "uint8"],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_multiclass(separable, labels, container):
    X, codes = separable
    y = labels[codes]
    model = PPDSparseClassifier().fit(container(X), y)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    np.testing.assert_array_equal(model.predict(container(X)), y)
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) == 1
    assert model.coef_.shape == (5, 8)
    assert model.decision_function(X).shape == (40, 5)
    best, scores = model.predict_topk(X, 3)
    np.testing.assert_array_equal(best[:, 0], y)
    assert (np.diff(scores, axis=1) <= 0).all()


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1]])
def test_binary(separable, labels):
    X, codes = separable
    y = np.array(labels)[(codes == 2).astype(int)]
    model = PPDSparseClassifier().fit(X, y)
    assert model.coef_.shape == (1, 8)
    for name in "intercept_", "dual_gap_", "n_active_":
        assert getattr(model, name).shape == (1,)
    scores = model.decision_function(X)
    assert scores.shape == (40,)
    np.testing.assert_array_equal(scores > 0, codes == 2)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, y)
    assert predicted.dtype == y.dtype
    best, top = model.predict_topk(X)
    np.testing.assert_array_equal(best[:, 0], y)
    np.testing.assert_allclose(top[:, 0], np.abs(scores), rtol=1e-6)


@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array]
)
@pytest.mark.parametrize("dtype", ["?", "i8", "f4"])
def test_multilabel_answers_in_kind(multilabel, container, dtype):
    X, Y = multilabel
    y = container(Y.toarray().astype(dtype))
    model = PPDSparseClassifier().fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert predicted.dtype == dtype
    assert sparse.issparse(predicted) == sparse.issparse(y)
    if sparse.issparse(y):
        assert predicted.format == "csr"
        assert isinstance(predicted, sparse.sparray) == isinstance(y, sparse.sparray)
        predicted = predicted.toarray()
    np.testing.assert_array_equal(predicted > 0, model.decision_function(X) > 0)
    assert precision_at_k(Y, model.predict_topk(X, 1)[0], k=1) > 0.9
    assert model.predict_topk(X)[0].dtype.kind == "i"


def test_column_names_come_back(multilabel):
    X, Y = multilabel
    y = pd.DataFrame(Y.toarray(), columns=[f"tag {k}" for k in range(Y.shape[1])])
    model = PPDSparseClassifier(random_state=0).fit(X, y)
    numbered = PPDSparseClassifier(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.classes_, y.columns)
    best, _ = model.predict_topk(X, 3)
    np.testing.assert_array_equal(best, np.asarray(y.columns)[numbered.predict_topk(X, 3)[0]])


def test_one_label_is_no_binary_problem(separable):
    X, codes = separable
    model = PPDSparseClassifier().fit(X, sparse.csr_array((codes == 1)[:, None].astype(int)))
    assert model.decision_function(X).shape == (40, 1)
    np.testing.assert_array_equal(model.predict(X).toarray().ravel(), codes == 1)


def test_classes_without_positives_come_last(separable):
    X, codes = separable
    Y = np.zeros((40, 8), dtype=int)
    Y[np.arange(40), codes + 1] = 1  # columns 0, 6 and 7 stay empty
    model = PPDSparseClassifier().fit(X, Y)
    empty = [0, 6, 7]
    assert (np.diff(model.coef_.indptr)[empty] == 0).all()
    np.testing.assert_array_equal(model.intercept_[empty], np.float32(-1e18))
    np.testing.assert_array_equal(model.n_active_[empty], 0)
    np.testing.assert_array_equal(model.dual_gap_[empty], 0)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert scores[:, empty].max() < scores[:, 1:6].min()
    best, top = model.predict_topk(X, 8)
    np.testing.assert_array_equal(best[:, 5:], [empty] * 40)
    assert np.isfinite(top).all()
    assert not model.predict(X)[:, empty].any()


def test_a_class_of_all_samples_is_always_predicted(separable):
    X, codes = separable
    Y = np.c_[codes == 0, np.ones(40)].astype(int)
    model = PPDSparseClassifier().fit(X, Y)
    assert (model.predict(X)[:, 1] == 1).all()
    assert (model.predict(np.zeros((2, 8)))[:, 1] == 1).all()


def test_a_class_of_weight_zero_has_no_positives(separable):
    X, codes = separable
    model = PPDSparseClassifier().fit(X, codes, (codes != 3).astype(float))
    assert model.intercept_[3] == np.float32(-1e18)
    assert 3 not in model.predict(X)
    np.testing.assert_array_equal(model.classes_, np.arange(5))


def test_rows_without_features(separable):
    X, codes = separable
    X = X.copy()
    X[[0, 20, 39]] = 0
    dense = PPDSparseClassifier(tol=1e-4).fit(X, codes)
    model = PPDSparseClassifier(tol=1e-4).fit(sparse.csr_array(X), codes)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=0.03
    )
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array((2, 8))), [model.intercept_] * 2
    )


# --------------------------------------------------------------------------- fitted attributes


def test_fitted_attributes(multilabel):
    X, Y = multilabel
    model = PPDSparseClassifier(random_state=0)
    assert model.fit(X, Y) is model
    assert sparse.issparse(model.coef_)
    assert model.coef_.format == "csr"
    assert model.coef_.shape == (40, 300)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.coef_.has_sorted_indices
    assert model.coef_.data.all()
    assert model.intercept_.shape == model.dual_gap_.shape == model.n_active_.shape == (40,)
    assert isinstance(model.n_iter_, int)
    assert 1 <= model.n_iter_ <= model.max_iter
    assert model.n_features_in_ == 300
    occurs = Y.sum(axis=0) > 0
    assert (model.dual_gap_ <= model.tol).all()
    assert (model.n_active_ >= Y.sum(axis=0)).all()  # positives never leave
    assert (model.n_active_[np.asarray(occurs).ravel()] < X.shape[0]).all()
    assert not hasattr(model, "dual_coef_")


def test_fitting_again_changes_nothing(multilabel):
    X, Y = multilabel
    model = PPDSparseClassifier(random_state=3).fit(X, Y)
    assert_same_model(clone(model).fit(X, Y), model)
    before = pickle.loads(pickle.dumps(model))
    assert_same_model(model.fit(X, Y), before)


def test_random_state(multilabel):
    X, Y = multilabel
    first, second = (PPDSparseClassifier(random_state=seed).fit(X, Y) for seed in (0, 1))
    assert (first.coef_ != second.coef_).nnz > 0
    model = PPDSparseClassifier(random_state=np.random.RandomState(0))
    twin = clone(model)
    assert_same_model(model.fit(X, Y), twin.fit(X, Y))
    assert (model.fit(X, Y).coef_ != twin.coef_).nnz > 0  # the generator has moved on


def test_pickle_clone_and_repr(multilabel):
    X, Y = multilabel
    model = PPDSparseClassifier(l1=0.2, loss="hinge", random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert_same_model(again, model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "coef_")
    assert repr(model) == "PPDSparseClassifier(l1=0.2, loss='hinge', random_state=0)"
    assert "PPDSparseClassifier" in model._repr_html_()
    assert "Fitted" in model._repr_html_()


def test_feature_names(separable):
    X, codes = separable
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = PPDSparseClassifier().fit(frame, codes)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcdefgh"))
    np.testing.assert_array_equal(model.predict(frame), codes)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("hgfedcba")])


# --------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "options",
    [
        {"n_select": 1},
        {"n_select": 10**12, "max_iter": 10**12},
        {"sparsification": "random"},
        {"feature_threshold": 0.2},
        {"fit_intercept": False},
        {"l1": 0},
        {"n_jobs": 2},
    ],
    ids=str,
)
def test_options_lead_to_the_same_accuracy(multilabel, loss, options):
    X, Y = multilabel
    plain = PPDSparseClassifier(loss=loss, random_state=0).fit(X, Y)
    model = clone(plain).set_params(**options).fit(X, Y)
    assert (model.dual_gap_ <= model.tol).all()
    expected = precision_at_k(Y, plain.predict_topk(X)[0], k=3)
    assert precision_at_k(Y, model.predict_topk(X)[0], k=3) >= expected - 0.02


def test_l1_makes_weights_sparse(multilabel):
    X, Y = multilabel
    counts = [PPDSparseClassifier(l1=l1).fit(X, Y).coef_.nnz for l1 in (0, 0.05, 0.3, 1)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] / 4
    assert PPDSparseClassifier(l1=1e6).fit(X, Y).coef_.nnz == 0


def test_class_weight_moves_the_decision(separable):
    X, _ = separable
    rng = np.random.default_rng(0)
    y = (X[:, 0] + rng.normal(size=40) * 2 > 1.5).astype(int)
    plain, heavy, light, balanced = (
        PPDSparseClassifier(l2=5.0, tol=1e-4, max_iter=1000, class_weight=weight).fit(X, y)
        for weight in (None, {1: 20}, {1: 0.05}, "balanced")
    )
    means = [model.decision_function(X).mean() for model in (light, plain, heavy)]
    assert means == sorted(means)
    assert light.predict(X).sum() < plain.predict(X).sum() < heavy.predict(X).sum()
    assert y.mean() < 0.5  # so that balancing favours class 1
    assert balanced.decision_function(X).mean() > plain.decision_function(X).mean()


def test_class_weights_name_the_classes(separable):
    X, codes = separable
    y = NAMES[codes]
    plain = PPDSparseClassifier(tol=1e-5, random_state=0).fit(X, y)
    model = clone(plain).set_params(class_weight={"cow": 5.0, "eel": 1.0}).fit(X, y)
    different = (model.coef_ != plain.coef_).toarray().any(axis=1)
    np.testing.assert_array_equal(different, NAMES == "cow")
    # the weight of a class's positives in multiclass, which equals repeating them in its problem
    balanced = clone(plain).set_params(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.coef_.toarray(), plain.coef_.toarray(), atol=1e-2)


def test_class_weights_by_column_name(multilabel):
    X, Y = multilabel
    y = pd.DataFrame(Y.toarray(), columns=[f"tag {k}" for k in range(Y.shape[1])])
    plain = PPDSparseClassifier(random_state=0).fit(X, y)
    model = clone(plain).set_params(class_weight={"tag 1": 5.0}).fit(X, y)
    assert (model.coef_ != plain.coef_).toarray().any(axis=1)[1]
    assert model.intercept_[0] == plain.intercept_[0]


def test_nothing_is_printed(multilabel, capfd):
    PPDSparseClassifier().fit(*multilabel)
    assert capfd.readouterr() == ("", "")


def test_convergence_warning_tells_what_to_do(multilabel):
    X, Y = multilabel
    with pytest.warns(ConvergenceWarning) as caught:
        model = PPDSparseClassifier(tol=1e-7, max_iter=2).fit(X, Y)
    late = int((model.dual_gap_ > 1e-7).sum())
    assert late > 0
    assert len(caught) == 1
    assert str(caught[0].message) == (
        f"max_iter=2 rounds did not bring the duality gap of {late} of 40 classes below tol=1e-07 "
        f"(largest: {model.dual_gap_.max():.3g}); raise max_iter or tol, or scale the features"
    )
    assert caught[0].filename == __file__  # points at the call of fit
    assert model.n_iter_ == 2
    assert model.predict_topk(X)[0].shape == (400, 5)


def test_smaller_tolerance_smaller_gap(multilabel):
    X, Y = multilabel
    for tol in 1.0, 0.1, 0.01, 1e-3:
        assert PPDSparseClassifier(tol=tol).fit(X, Y).dual_gap_.max() <= tol


# ------------------------------------------------------------------------------------ warm start


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_goes_on(multilabel, loss):
    X, Y = multilabel
    cold = PPDSparseClassifier(0.1, 1.0, loss=loss, tol=1e-4, max_iter=1000, random_state=0)
    cold.fit(X, Y)
    model = clone(cold).set_params(tol=0.01, warm_start=True).fit(X, Y)
    assert model.dual_coef_.shape == (40, 400)
    assert (model.dual_coef_.data > 0).all()
    model.set_params(tol=1e-4, max_iter=1000).fit(X, Y)
    assert (model.dual_gap_ <= 1e-4).all()
    # the rounds of the slowest class are too few to tell; the rows that all have read are not
    assert model._n_visits < cold._n_visits
    assert model.fit(X, Y).n_iter_ <= cold.n_iter_ // 2
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=0.1)


def test_warm_start_takes_new_penalties_weights_and_labels(multilabel):
    X, Y = multilabel
    model = PPDSparseClassifier(tol=1e-3, warm_start=True, random_state=0).fit(X, Y)
    weight = (np.arange(400) % 2).astype(float)
    changed = [
        (model.set_params(l1=0.2, l2=2.0), Y, None),
        (model.set_params(loss="hinge"), Y, None),
        (model, sparse.csr_matrix(Y[::-1]), None),
        (model, Y, weight),
    ]
    for model, y, sample_weight in changed:
        model.fit(X, y, sample_weight)
        assert (model.dual_gap_ <= 1e-3).all()
        assert (model.dual_gap_ >= -1e-6).all()
    assert not model.dual_coef_.toarray()[:, weight == 0].any()


def test_duals_are_kept_for_warm_starts_only(multilabel):
    X, Y = multilabel
    model = PPDSparseClassifier(warm_start=True).fit(X, Y)
    assert hasattr(model, "dual_coef_")
    assert not hasattr(model.set_params(warm_start=False).fit(X, Y), "dual_coef_")


# --------------------------------------------------------------------- in scikit-learn's company


def test_grid_search_in_a_pipeline_with_sparse_labels(multilabel):
    X, Y = multilabel
    pipeline = Pipeline([("scale", MaxAbsScaler()), ("model", PPDSparseClassifier())])
    search = GridSearchCV(
        pipeline,
        {"model__l1": [0.01, 5.0]},
        scoring=make_topk_scorer("ndcg_at_k", k=3),
        cv=KFold(3),
        error_score="raise",
    ).fit(X, Y)
    assert search.best_params_ == {"model__l1": 0.01}
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] > scores[1]
    labels, values = predict_topk(search, X, 2)
    assert labels.shape == values.shape == (400, 2)
    assert sparse.issparse(search.predict(X))


def test_learns_what_there_is_to_learn():
    X, y = make_xc_classification(3000, 2000, 100, random_state=0)
    model = PPDSparseClassifier().fit(X[:2500], y[:2500])
    labels, _ = model.predict_topk(X[2500:])
    assert precision_at_k(y[2500:], labels, k=1) > 0.8
