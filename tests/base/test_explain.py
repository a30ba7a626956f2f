"""Explanations: the parts of a score, which labels they are asked for, the names of features."""

import lzma

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, normalize

from sklearn_xc import (
    AugmentReduceClassifier,
    ImplicitSoftmaxRegressor,
    MemoirSVC,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKThresholdClassifier,
    explain,
)
from sklearn_xc.datasets import load_xc

ESTIMATORS = [
    PPDSparseClassifier(l1=0.01, random_state=0),
    MemoirSVC(max_iter=3, random_state=0),
    AugmentReduceClassifier(max_iter=3, random_state=0),
    ImplicitSoftmaxRegressor(max_iter=3, learning_rate=0.1, random_state=0),
]
RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 12)) * (RNG.random((60, 12)) < 0.5)).astype(np.float32)
X[7] = 0
MULTICLASS = np.array(["ant", "bee", "cow", "dog", "eel"])[np.arange(60) % 5]
BINARY = np.array(["no", "yes"])[np.arange(60) % 2]
MULTILABEL = sparse.csr_array((RNG.random((60, 6)) < 0.4).astype(np.int64))


def plain(estimator, i, place):
    """w_kj * x_j of all features, and the intercept."""
    coef, intercept = estimator.coef_, estimator.intercept_
    coef = coef.toarray() if sparse.issparse(coef) else coef
    if len(estimator.classes_) == 2:
        sign = 2 * place - 1
        return sign * coef[0].astype(float) * X[i], sign * intercept[0]
    return coef[place].astype(float) * X[i], intercept[place]


def all_scores(estimator):
    scores = estimator.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack([-scores, scores])


# --------------------------------------------------------------------------- the parts add up


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("y", [MULTICLASS, BINARY], ids=["multiclass", "binary"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_parts_are_products_and_add_up_to_the_score(estimator, y, container):
    estimator.fit(container(X), y)
    found = estimator.explain(container(X), labels=estimator.classes_, k=3)
    scores = all_scores(estimator)
    assert len(found) == scores.size
    for item in found:
        place = estimator.classes_.tolist().index(item.label)
        parts, intercept = plain(estimator, item.row, place)
        np.testing.assert_allclose(item.contributions, parts[item.features], rtol=1e-6)
        np.testing.assert_allclose(item.values * item.weights, item.contributions, rtol=1e-5)
        assert item.intercept == pytest.approx(intercept)
        assert item.contributions.sum() + item.rest + item.intercept == pytest.approx(item.score)
        assert item.score == pytest.approx(scores[item.row, place], rel=1e-5, abs=1e-5)
        sizes = np.sort(np.abs(parts[parts != 0]))[::-1]
        np.testing.assert_allclose(np.abs(item.contributions), sizes[:3], rtol=1e-6)
        assert len(item.features) + item.n_rest == len(sizes)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_multilabel_parts_add_up_to_the_score(container):
    model = PPDSparseClassifier(l1=0.01, random_state=0).fit(X, MULTILABEL)
    scores = model.decision_function(X)
    for item in model.explain(container(X), labels=range(6), k=None):
        assert item.n_rest == item.rest == 0
        assert item.contributions.sum() + item.intercept == pytest.approx(item.score, abs=1e-12)
        assert item.score == pytest.approx(scores[item.row, item.label], rel=1e-5, abs=1e-5)


def test_k_larger_than_the_non_zeros_and_ties():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    W = np.zeros((5, 12), dtype=np.float32)
    W[2, [1, 3, 5]] = 1, -1, 2
    model.coef_, model.intercept_ = sparse.csr_array(W), np.zeros(5, dtype=np.float32)
    (item,) = model.explain(np.ones((1, 12)), "cow", k=100)
    assert item.features.tolist() == [5, 1, 3]  # the tie goes to the smaller column
    assert (item.n_rest, item.rest, item.score) == (0, 0.0, 2.0)
    (item,) = model.explain(np.ones((1, 12)), "cow", k=1)
    assert (item.n_rest, item.rest, item.score) == (2, 0.0, 2.0)


def test_empty_row_has_the_intercept_only():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    for rows in X[7:8], sparse.csr_array(X[7:8]), sparse.csr_array((1, 12)):
        (item,) = model.explain(rows)
        assert item.label == model.predict(rows)[0]
        assert len(item.contributions) == item.n_rest == 0
        assert item.score == item.intercept


def test_one_label():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTILABEL[:, :1])
    (item,) = model.explain(X[:1], k=None)
    assert item.label == 0
    assert item.score == pytest.approx(model.decision_function(X[:1])[0, 0], abs=1e-6)


def test_label_without_positives_has_the_lowest_score():
    Y = sparse.hstack([MULTILABEL, sparse.csr_array((60, 1), dtype=np.int64)], format="csr")
    (item,) = PPDSparseClassifier(random_state=0).fit(X, Y).explain(X[:1], labels=6)
    assert item.score == item.intercept == pytest.approx(-1e18)
    assert "-1.000e+18" in repr(item)


def test_explicit_zeros_unsorted_and_int64_indices_of_X():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    data, indices = X[:2, ::-1].ravel(), np.tile(np.arange(12)[::-1], 2).astype(np.int64)
    rows = sparse.csr_array((data, indices, np.array([0, 12, 24])), shape=(2, 12))
    for one, other in zip(model.explain(X[:2]), model.explain(rows), strict=True):
        assert one.features.tolist() == other.features.tolist()
        assert one.contributions.tolist() == other.contributions.tolist()


def test_real_text(data_folder):
    X, Y = load_xc(data_folder / "bibtex/train.txt.xz")
    X = normalize(X)
    model = PPDSparseClassifier(random_state=0).fit(X[:2000], Y[:2000])
    rows = X[4000:4100]
    names = lzma.decompress((data_folder / "bibtex/features.txt.xz").read_bytes())
    words = names.decode().split("\n")[:1836]
    found = model.explain(rows, model.predict_topk(rows, 3)[0], k=None, feature_names=words)
    scores = model.decision_function(rows)
    assert len(found) == 300
    coef = model.coef_
    for item in found:
        assert item.score == pytest.approx(scores[item.row, item.label], abs=1e-5)
        both = set(coef[[item.label]].indices) & set(rows[item.row].indices)
        assert set(item.features) == both
        assert item.feature_names.tolist() == [words[j] for j in item.features]


# ------------------------------------------------------------------------------- which labels


def test_predicted_labels_are_explained():
    for y in MULTICLASS, BINARY:
        model = PPDSparseClassifier(random_state=0).fit(X, y)
        assert [item.label for item in model.explain(X)] == model.predict(X).tolist()
    model = PPDSparseClassifier(l1=0.01, random_state=0).fit(X, MULTILABEL)
    predicted, best = model.predict(X).toarray(), model.predict_topk(X, 1)[0][:, 0]
    assert not predicted.any(axis=1).all()  # so that a row without labels is among them
    found = model.explain(X)
    for i in range(60):
        of_row = found.of_row(i)
        expected = np.flatnonzero(predicted[i]).tolist() or [best[i]]
        assert sorted(item.label for item in of_row) == expected
        scores = [item.score for item in of_row]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("dog", [["dog"]] * 3),
        (np.str_("dog"), [["dog"]] * 3),
        (["dog", "ant"], [["ant", "dog"]] * 3),
        (pd.Series(["dog", "ant"]), [["ant", "dog"]] * 3),
        ({"dog", "ant"}, [["ant", "dog"]] * 3),
        (np.array([["dog"], ["ant"], ["bee"]]), [["dog"], ["ant"], ["bee"]]),
        ([["dog", "cow"], [], ("bee",)], [["cow", "dog"], [], ["bee"]]),
        ([], [[]] * 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels_asked_for(labels, expected):
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    found = model.explain(X[:3], labels)
    assert [sorted(item.label for item in found.of_row(i)) for i in range(3)] == expected


def test_labels_of_predict_topk_and_of_a_sparse_indicator():
    model = PPDSparseClassifier(random_state=0).fit(X, MULTILABEL)
    labels, scores = model.predict_topk(X, 2)
    found = model.explain(X, labels)
    assert [item.label for item in found] == labels.ravel().tolist()
    np.testing.assert_allclose([item.score for item in found], scores.ravel(), atol=1e-5)

    indicator = sparse.csr_matrix(MULTILABEL[:4].astype(np.float32))
    indicator.data[:3] = 0  # stored zeros name nothing
    before = indicator.copy()
    found = model.explain(X[:4], indicator, k=1)
    for i in range(4):
        named = sorted(item.label for item in found.of_row(i))
        assert named == np.flatnonzero(before.toarray()[i]).tolist()
    for one, other in zip(
        (indicator.data, indicator.indices), (before.data, before.indices), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("unicorn", "labels names 'unicorn', which is not in classes_"),
        (["ant", "unicorn"], "labels names 'unicorn', which is not in classes_"),
        ([["ant"], ["unicorn"]], "labels names 'unicorn' for sample 1, which is not in classes_"),
        ([["ant", "bee", "ant"], []], "labels names 'ant' twice for sample 0"),
        (["ant", "ant"], r"twice; for one label each sample, .* shape \(n_samples, 1\)"),
        ([["ant"], "bee"], "labels mixes labels and lists of labels"),
        ([["ant"]] * 3, "labels has lists for 3 samples, but X has 2 samples"),
        ([[["ant"]], []], "which is not in classes_"),
        (np.zeros((1, 1, 1)), r"at most 2 dimensions, got shape \(1, 1, 1\)"),
        (sparse.csr_array((2, 4)), r"must have the shape \(2, 5\); got \(2, 4\)"),
    ],
)
def test_bad_labels(labels, message):
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    with pytest.raises(ValueError, match=message):
        model.explain(X[:2], labels)


@pytest.mark.parametrize("k", [0, -1, 2.0, "3", True])
def test_bad_k(k):
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    with pytest.raises(ValueError, match=r"k must be an integer of at least 1, or None .* got"):
        model.explain(X[:2], k=k)


def test_bad_rows():
    with pytest.raises(NotFittedError):
        PPDSparseClassifier().explain(X)
    model = PPDSparseClassifier(random_state=0).fit(X, MULTICLASS)
    with pytest.raises(ValueError, match="X has 5 features, but PPDSparseClassifier is expecting"):
        model.explain(X[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        model.explain(np.full((1, 12), np.nan))


# ----------------------------------------------------------------------------- feature names

PASSAGES = ["sort an array", "sort a list", "sum of an array", "sum of squares"]
PASSAGES += ["invert a matrix", "inverse of a square matrix"]
NAMES = ["sort", "sort", "sum", "sum", "inv", "inv"]


def pipelines():
    model = PPDSparseClassifier(l1=0.01, random_state=0)
    grid = {"l2": [0.5, 1.0]}
    return [
        make_pipeline(CountVectorizer(), model),
        make_pipeline(CountVectorizer(), "passthrough", TfidfTransformer(), model),
        make_pipeline(CountVectorizer(), SelectKBest(chi2, k=6), model),
        make_pipeline(make_pipeline(CountVectorizer(), MaxAbsScaler()), make_pipeline(model)),
        make_pipeline(CountVectorizer(), GridSearchCV(model, grid, cv=KFold(2, shuffle=True))),
        GridSearchCV(
            make_pipeline(CountVectorizer(), model),
            {"ppdsparseclassifier__l2": [0.5, 1.0]},
            cv=KFold(2, shuffle=True),
            scoring="accuracy",
        ),
    ]


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("number", range(6))
def test_words_of_a_pipeline(number, freeze):
    fitted = pipelines()[number].fit(PASSAGES, NAMES)
    if freeze:
        fitted = FrozenEstimator(fitted)
    questions = ["sort this", "a matrix", "sum a list of squares"]
    found = explain(fitted, questions, k=None)
    assert [item.label for item in found] == list(fitted.predict(questions))
    scores = fitted.decision_function(questions)
    for item in found:
        assert set(item.feature_names) <= set(questions[item.row].split())
        assert item.score == pytest.approx(scores[item.row].max(), abs=1e-5)
    assert found[0].feature_names.tolist() == ["sort"]


def test_names_where_there_are_none():
    model = PPDSparseClassifier(random_state=0)
    hashing = make_pipeline(HashingVectorizer(n_features=32), model).fit(PASSAGES, NAMES)
    (item,) = explain(hashing, ["sort"], "sort")
    assert item.feature_names.tolist() == [f"x{item.features[0]}"]
    svd = make_pipeline(CountVectorizer(), TruncatedSVD(2, random_state=0), model)
    (item,) = explain(svd.fit(PASSAGES, NAMES), ["sort"], "sort")
    assert set(item.feature_names) <= {"truncatedsvd0", "truncatedsvd1"}


def test_names_of_a_data_frame_and_names_given():
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(12)])
    model = PPDSparseClassifier(l1=0.01, random_state=0).fit(frame, MULTICLASS)
    (item,) = model.explain(frame[:1], k=2)
    assert item.feature_names.tolist() == [f"column {j}" for j in item.features]
    names = [f"other {j}" for j in range(12)]
    (item,) = model.explain(frame[:1], k=2, feature_names=names)
    assert item.feature_names.tolist() == [names[j] for j in item.features]
    (item,) = explain(model, frame[:1], k=2, feature_names=names)
    assert item.feature_names.tolist() == [names[j] for j in item.features]
    with pytest.raises(ValueError, match=r"a name for each of the 12 features, got shape \(11,\)"):
        model.explain(frame[:1], feature_names=names[1:])


class Meta(ClassifierMixin, BaseEstimator):
    """A meta-estimator that keeps what it has fitted in ``estimator_``, as scikit-learn's do.

    It decides otherwise: for the class, or against all labels but the first.
    """

    def fit(self, X, y):
        self.estimator_ = PPDSparseClassifier(random_state=0).fit(X, y)
        return self

    def predict(self, X):
        classes = self.estimator_.classes_
        if self.estimator_.predict(X).ndim == 1:
            return np.full(X.shape[0], classes[-1])
        return np.arange(X.shape[0])[:, None] * np.eye(len(classes), dtype=int)[0] > 1


def test_the_function_follows_the_decisions_of_meta_estimators():
    pipeline = make_pipeline(CountVectorizer(), Meta()).fit(PASSAGES, NAMES)
    assert [item.label for item in explain(pipeline, ["sort", "invert"])] == ["sum", "sum"]
    (item,) = explain(pipeline, ["sort"], "sort")
    assert item.feature_names.tolist() == ["sort"]

    meta = Meta().fit(X, MULTILABEL.toarray())
    best = meta.estimator_.predict_topk(X[:4], 1)[0].ravel()
    assert [item.label for item in explain(meta, X[:4])] == [best[0], best[1], 0, 0]


def test_thresholds_and_calibration():
    tuned = TopKThresholdClassifier(PPDSparseClassifier(random_state=0), cv=0.3)
    tuned.fit(X, MULTILABEL)
    predicted = tuned.predict(X).toarray()
    for i in np.flatnonzero(predicted.any(axis=1)):
        found = explain(tuned, X[i : i + 1])
        assert sorted(item.label for item in found) == np.flatnonzero(predicted[i]).tolist()
    calibrated = TopKCalibratedClassifier(PPDSparseClassifier(random_state=0), cv=0.3)
    calibrated.fit(X, MULTICLASS)
    assert [item.label for item in explain(calibrated, X)] == calibrated.predict(X).tolist()


def test_the_function_refuses_other_estimators():
    with pytest.raises(TypeError, match=r"LogisticRegression \(inside Pipeline\) has no method ex"):
        explain(make_pipeline(LogisticRegression()), X)
