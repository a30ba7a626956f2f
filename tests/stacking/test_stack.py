"""TopKStackingClassifier: laws of its answers, its parts, its files."""

import tempfile

import numpy as np
import pytest
from _stacked_samples import CODES, FAST, NAMES, Y_Q, Q, T, X, Y, fitted
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import (
    LDGSClassifier,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    TopKThresholdClassifier,
    load,
)
from sklearn_xc.metrics import ndcg_at_k

MODELS = {
    "linear": {"final": "linear"},
    "boosting": {"final": "boosting"},
    "classes": {"kind": "classes"},
    "without texts": {"texts": False},
    "not refitted": {"refit": False},
    "by a classifier": {"final": LogisticRegression(max_iter=5000)},
}


@pytest.fixture(scope="module")
def models():
    return {name: fitted(**given) for name, given in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_answers_agree(models, name):
    model = models[name]
    labels, scores = model.predict_topk(Q, 7)
    places = np.searchsorted(model.classes_, labels)
    decision, p = model.decision_function(Q), model.predict_proba(Q)
    np.testing.assert_array_equal(np.take_along_axis(decision, places, axis=1), scores)
    assert (decision.max(axis=1) == scores[:, 0]).all()
    assert (np.diff(scores, axis=1) <= 0).all()
    again, q = model.predict_topk(Q, 7, scores="proba")
    np.testing.assert_allclose(np.take_along_axis(p, places, axis=1), q, rtol=1e-6)
    assert (again == labels).mean() > 0.99  # ties after rounding
    assert ((p > 0) & (p < 1)).all()
    if name == "classes":
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(Q), labels[:, 0])
    else:
        np.testing.assert_array_equal(model.predict(Q).toarray() > 0, decision > 0)


@pytest.mark.parametrize("name", MODELS)
def test_it_is_not_below_its_best_part(models, name):
    scores = models[name].validation_scores_
    assert scores["stack"] >= max(scores.values())


def test_the_stack_is_ahead_on_new_rows(models):
    model = models["linear"]
    parts = [ndcg_at_k(Y_Q, part.predict_topk(Q, 5)[0], 5) for _, part in model.estimators_]
    assert ndcg_at_k(Y_Q, model.predict_topk(Q, 5)[0], 5) > max(parts) - 0.003


def test_few_samples_suffice_not_to_be_below_the_best_part():
    """By one share of 20 held-out samples the stack was 4 points below."""
    A, y = make_classification(2000, 10, n_informative=4, random_state=0)
    gaps = []
    for seed in range(12):
        rows = np.random.RandomState(seed).permutation(len(y))
        some, new = rows[:100], rows[100:600]
        models = [TopKStackingClassifier(FAST, random_state=0), *(part for _, part in FAST)]
        stack, *parts = (clone(m).fit(A[some], y[some]).score(A[new], y[new]) for m in models)
        gaps.append(stack - np.array(parts))
    assert np.mean(gaps, axis=0).min() > -0.003


def test_a_dozen_samples_teach_nothing_and_all_parts_are_averaged():
    """A regression on 13 held-out samples was 2.4 points below both of its parts."""
    A, y = make_classification(2000, 20, n_informative=6, n_classes=5, random_state=0)
    gaps = []
    for seed in range(12):
        rows = np.random.RandomState(seed).permutation(len(y))
        some, new = rows[:15], rows[100:400]
        models = [TopKStackingClassifier(FAST, random_state=0), *(part for _, part in FAST)]
        stack, *parts = (clone(m).fit(A[some], y[some]) for m in models)
        assert len(stack.estimators_) == 2
        scores = [m.score(A[new], y[new]) for m in (stack, *parts)]
        gaps.append(scores[0] - np.array(scores[1:]))
    assert np.mean(gaps, axis=0).min() > -0.015


@pytest.mark.parametrize("kind", ["labels", "classes"])
def test_few_samples_give_the_same_with_any_number_of_threads(kind):
    y = Y[:60] if kind == "labels" else CODES[:60]
    given = {"label_features": T} | ({} if kind == "labels" else {"classes": np.arange(40)})
    models = [TopKStackingClassifier(random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2)]
    one, two = (m.fit(X[:60], y, **given).predict_topk(Q, 5) for m in models)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("name", ["linear", "boosting", "classes"])
def test_restrictions_reach_every_part(models, name):
    model = models[name]
    some, decision = model.classes_[[3, 8, 20]], model.decision_function(Q)
    labels, scores = model.predict_topk(Q, 3, labels=some)
    assert set(labels.ravel()) == set(some)
    places = np.searchsorted(model.classes_, labels)
    known = np.take_along_axis(decision, places, axis=1)
    looked_at = known > decision.min(axis=1, keepdims=True)  # others are scored here only
    np.testing.assert_array_equal(scores[looked_at], known[looked_at])
    labels, _ = model.predict_topk(Q, 5, exclude=some)
    assert not np.isin(labels, some).any()
    weight = np.zeros(len(model.classes_))
    weight[17] = 100
    labels, scores = model.predict_topk(Q, 1, label_weight=weight)
    assert (labels == model.classes_[17]).all()
    assert (scores > 50).all()
    matrix = model.predict_topk(Q, 2, sparse_output=True, labels=[some[:1]] * Q.shape[0])
    assert matrix.nnz == Q.shape[0]


@pytest.mark.parametrize("name", [*MODELS][:-1])
def test_files(models, name, tmp_path):
    model = models[name]
    labels, scores = model.predict_topk(Q, 5)
    model.save(tmp_path / "model.sxc")
    for mode in (None, "r"):
        other = load(tmp_path / "model.sxc", mmap_mode=mode)
        found = other.predict_topk(Q, 5)
        np.testing.assert_array_equal(found[0], labels)
        np.testing.assert_array_equal(found[1], scores)
        assert other.validation_scores_ == model.validation_scores_


def test_a_second_stage_of_others_is_refused_by_files(models, tmp_path):
    with pytest.raises(TypeError, match="LogisticRegression"):
        models["by a classifier"].save(tmp_path / "model.sxc")


@pytest.mark.parametrize("final", ["linear", "boosting"])
def test_threads_change_nothing(models, final):
    other = fitted(final=final, n_jobs=2)
    for one, two in zip(models[final].predict_topk(Q, 5), other.predict_topk(Q, 5), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", MODELS)
def test_explanations_add_up(models, name):
    model = models[name]
    explained = model.explain(Q[:3], k=2)
    labels, _ = model.predict_topk(Q[:3], 1)
    assert [item.label for item in explained] == labels.ravel().tolist()
    for item in explained:
        total = item.contributions.sum() + item.rest + item.intercept
        assert total == pytest.approx(item.score, abs=1e-6)
        assert set(item.parts) <= {"ovr", "near"}
        assert item.parts
    repr(explained)
    few = model.explain(Q[:2], labels=[list(model.classes_[:2]), []])
    assert len(few) == 2


def test_importances(models):
    model = models["boosting"]
    assert len(model.feature_names_final_) == len(model.feature_importances_)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_labels_without_rows_are_found():
    """A tenth of the labels lose their rows; the second stage has met such labels."""
    hidden = np.arange(40) % 10 == 3
    kept = sparse.csr_matrix(Y @ sparse.diags_array((~hidden).astype(float)))
    model = TopKStackingClassifier(FAST, random_state=0).fit(X, kept, label_features=T)
    rows = np.flatnonzero(Y_Q[:, hidden].toarray().any(axis=1))
    labels, _ = model.predict_topk(Q[rows], 10)
    hit = np.take_along_axis(Y_Q[rows].toarray(), labels, axis=1) * hidden[labels]
    assert hit.sum() / Y_Q[rows][:, hidden].sum() > 0.5


@pytest.mark.parametrize("kind", ["labels", "classes"])
def test_labels_join_by_their_texts(models, kind, tmp_path):
    model = fitted(kind=kind)
    before, _ = model.predict_topk(Q, 5)
    names = None if kind == "labels" else ["a new one", "z new one"]
    assert model.add_labels(Q[:2], names) is model
    assert len(model.classes_) == 42
    new = [40, 41] if kind == "labels" else names
    labels, _ = model.predict_topk(Q[:2], 42)
    assert (labels == np.array(new)[:, None]).any(axis=1).all()
    ranks = np.argmax(labels == np.array(new)[:, None], axis=1)
    assert (ranks < 15).all()
    after, _ = model.predict_topk(Q[2:], 5)
    assert (after == before[2:]).mean() > 0.7
    model.save(tmp_path / "model.sxc")
    np.testing.assert_array_equal(load(tmp_path / "model.sxc").predict_topk(Q[2:], 5)[0], after)
    with pytest.raises(ValueError, match=r"already|names are"):
        model.add_labels(Q[:1], [model.classes_[0]])
    with pytest.raises(ValueError, match="samples with their labels go to partial_fit"):
        model.add_labels(X, Y if kind == "labels" else model.predict(X))
    assert len(model.classes_) == 42


@pytest.mark.parametrize("n_classes", [2, 5])
def test_probabilities_of_allowed_classes_are_among_all(n_classes):
    classes = np.arange(200) % n_classes
    rows = np.eye(n_classes)[classes] + 0.7 * np.random.default_rng(0).normal(size=(200, n_classes))
    model = TopKStackingClassifier(random_state=0).fit(rows, classes)
    p = model.predict_proba(rows)
    for only in ({"labels": [0, 1]}, {"labels": [1]}, {"exclude": [[c] for c in classes]}):
        best, found = model.predict_topk(rows, 1, "proba", **only)
        np.testing.assert_allclose(found, np.take_along_axis(p, best, 1), rtol=1e-6)


def test_columns_of_an_indicator_have_names(tmp_path):
    number = fitted()
    named = fitted(label_names=NAMES)
    numbers, scores = number.predict_topk(Q, 3)
    found = named.predict_topk(Q, 3)
    np.testing.assert_array_equal(found[0], NAMES[numbers])
    np.testing.assert_array_equal(found[1], scores)
    assert named.topk_predictor(2, exclude=["c03"])(Q[:1])[0].shape == (1, 2)
    answer = named.topk_predictor(2, "proba", exclude=["c03"])
    assert (answer.k, answer.scores, len(answer.classes_)) == (2, "proba", 40)
    wanted = named.predict_topk(Q[:3], 2, "proba", exclude=["c03"])
    for found, same in zip(answer(Q[:3]), wanted, strict=True):
        np.testing.assert_array_equal(found, same)
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba'"):
        named.topk_predictor(2, "probability")
    assert clone(named).fit(X, Y).classes_.tolist() == NAMES.tolist()
    named.add_labels(T[:2], ["new", "other"])
    assert named.classes_.tolist() == named.label_names.tolist() == [*NAMES, "new", "other"]
    named.save(tmp_path / "model")
    assert load(tmp_path / "model").classes_.tolist() == [*NAMES, "new", "other"]


def test_explanations_of_parts_have_the_names_of_features():
    words = np.array([f"word {i}" for i in range(X.shape[1])])
    model = fitted()
    found = model.explain(Q[:1], k=3, feature_names=words)[0].parts["ovr"]
    assert found.feature_names.tolist() == words[found.features].tolist()
    with pytest.raises(ValueError, match="feature_names must be 1-D with a name for each of the"):
        model.explain(Q[:1], feature_names=words[:3])


def test_texts_that_do_not_fit_leave_the_stack_as_it_is():
    model = fitted()
    before = dict(vars(model))
    for texts, message in (
        (T[:2, :5], "label_features has 5 columns, but X has 300 features"),
        (T[:2] * np.nan, "label_features holds NaN or infinity"),
        (np.ones(300), "two dimensions"),
        (T[:0], "label_features has no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.add_labels(texts)
        assert dict(vars(model)) == before


def test_labels_do_not_join_without_a_part_that_takes_them():
    model = TopKStackingClassifier(FAST[:1], random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="none of the parts"):
        model.add_labels(Q[:1])


def test_idle_parts_are_dropped():
    parts = [*FAST, ("noise", Constant())]
    model = TopKStackingClassifier(parts, random_state=0).fit(X, Y)
    assert "noise" not in dict(model.estimators_)
    assert set(model.validation_scores_) == {"ovr", "near", "noise", "stack"}


def test_one_part_answers_as_it_does_alone():
    model = TopKStackingClassifier([("noise", Constant()), FAST[0]], random_state=0)
    model.fit(X, Y)
    if model.final_ is None:
        ((_, part),) = model.estimators_
        np.testing.assert_array_equal(
            model.predict_topk(Q, 3)[0][:, 0], part.predict_topk(Q, 3)[0][:, 0]
        )
    assert model.predict_proba(Q).shape == (200, 40)


@pytest.mark.parametrize("wrapper", [TopKThresholdClassifier, TopKCalibratedClassifier])
def test_wrappers(wrapper, tmp_path):
    model = wrapper(TopKStackingClassifier(FAST, random_state=0), cv=0.25).fit(X, Y)
    predicted = model.predict(Q)
    assert predicted.nnz > 100
    model.save(tmp_path / "model.sxc")
    assert (load(tmp_path / "model.sxc").predict(Q) != predicted).nnz == 0


def test_weights_of_zero_are_no_rows():
    weight = (np.arange(700) % 3 > 0).astype(float)
    model = TopKStackingClassifier(FAST, random_state=0).fit(X, Y, weight)
    assert ndcg_at_k(Y_Q, model.predict_topk(Q, 5)[0], 5) > 0.7


# ------------------------------------------------------------------------ estimators of others


class Constant(ClassifierMixin, BaseEstimator):
    """Wrapper around another library, with `predict_topk` of two arguments and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.arange(y.shape[1])
        self.best_ = np.random.default_rng(0).permutation(y.shape[1])
        return self

    def predict_topk(self, X, k):
        scores = np.linspace(1, 0.5, len(self.classes_))[:k]
        n = X.shape[0]
        return np.tile(self.best_[:k], (n, 1)), np.tile(scores, (n, 1))


class Omikuji(ClassifierMixin, BaseEstimator):
    """Trees of labels of the library omikuji, read and written in a folder."""

    def fit(self, X, y):
        omikuji = pytest.importorskip("omikuji")
        self.classes_ = np.arange(y.shape[1])
        X, y = sparse.csr_matrix(X), sparse.csr_matrix(y)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(f"{X.shape[0]} {X.shape[1]} {y.shape[1]}\n")
            for i in range(X.shape[0]):
                labels = ",".join(map(str, y[[i]].indices))
                row = X[[i]]
                pairs = zip(row.indices, row.data, strict=True)
                file.write(labels + " " + " ".join(f"{j}:{v}" for j, v in pairs) + "\n")
            file.flush()
            self.model_ = omikuji.Model.train_on_data(file.name)
        return self

    def predict_topk(self, X, k):
        X = sparse.csr_matrix(X)
        labels, scores = np.zeros((X.shape[0], k), int), np.full((X.shape[0], k), -np.inf)
        for i in range(X.shape[0]):
            row = X[[i]]
            pairs = list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            found = self.model_.predict(pairs, top_k=k)
            rest = np.setdiff1d(np.arange(len(self.classes_)), [label for label, _ in found])
            labels[i] = [*[label for label, _ in found], *rest][:k]
            scores[i, : len(found)] = [score for _, score in found][:k]
        return labels, scores


def test_wrappers_of_other_libraries():
    pytest.importorskip("omikuji")
    model = TopKStackingClassifier([*FAST, ("trees", Omikuji())], random_state=0).fit(X, Y)
    assert "trees" in model.validation_scores_


def test_an_estimator_of_others_is_restricted_by_its_answers():
    model = TopKStackingClassifier([("constant", Constant())], random_state=0).fit(X, Y)
    labels, _ = model.predict_topk(Q, 2, labels=[5, 6])
    assert set(labels.ravel()) == {5, 6}
    assert model.predict_topk(Q, 40)[0].shape == (200, 40)


WORDS = np.array([f"w{i}" for i in range(X.shape[1])])
PASSAGES = [" ".join(WORDS[X[[i]].indices]) for i in range(700)]


def test_pipelines_with_vectorizers_of_their_own(tmp_path):
    parts = [
        ("words", make_pipeline(TfidfVectorizer(), clone(FAST[0][1]))),
        ("near", make_pipeline(TfidfVectorizer(sublinear_tf=True), TopKNeighborsClassifier())),
    ]
    model = TopKStackingClassifier(parts, random_state=0).fit(PASSAGES, NAMES[CODES])
    assert model.predict(PASSAGES[:3]).shape == (3,)
    assert model.score(PASSAGES, NAMES[CODES]) > 0.8
    model.save(tmp_path / "model.sxc")
    found = load(tmp_path / "model.sxc").predict(PASSAGES)
    np.testing.assert_array_equal(found, model.predict(PASSAGES))


def test_parameters_of_parts():
    model = TopKStackingClassifier(FAST).set_params(ovr__l2=3.0)
    assert model.get_params()["ovr__l2"] == 3.0
    model.set_params(ovr__l2=1.0)


# -------------------------------------------------------------------------------- what is wrong

BAD = {
    "twice": ({"estimators": [FAST[0], FAST[0]]}, {}, "'ovr' twice"),
    "no pairs": ({"estimators": [FAST[0][1]]}, {}, "list of pairs"),
    "none": ({"estimators": []}, {}, "at least one"),
    "reserved": ({"estimators": [("stack", FAST[0][1])]}, {}, "'stack'"),
    "no estimator": ({"estimators": [("a", 3)]}, {}, "no estimator"),
    "k": ({"k": 0}, {}, "'k' parameter"),
    "cv": ({"cv": 0.7}, {}, "'cv' parameter"),
    "cv 0": ({"cv": 0.0}, {}, "'cv' parameter"),
    "final": ({"final": "forest"}, {}, "'final' parameter"),
    "hidden": ({"hidden_labels": 1.0}, {}, "'hidden_labels' parameter"),
    "columns": ({}, {"label_features": T[:, :5]}, "5 columns"),
    "rows": ({}, {"label_features": T[:5]}, "5 rows"),
    "NaN": ({}, {"label_features": T * np.nan}, "NaN"),
    "classes": ({}, {"classes": np.arange(40)}, "classes is for y of one class"),
    "a vector": ({}, {"label_features": np.ones(300)}, r"two dimensions.* got shape \(300,\)"),
    "no matrix": ({}, {"label_features": []}, "label_features is an empty sequence"),
    "infinity": ({}, {"label_features": T * np.inf}, "NaN or infinity"),
    "dense columns": (
        {},
        {"X": X.toarray(), "label_features": T.toarray()[:, :5]},
        "label_features has 5 columns, but X has 300 features",
    ),
    "a class twice": ({}, {"y": CODES, "classes": [*range(40), 3]}, "classes names two labels 3"),
    "a set": ({}, {"y": CODES, "classes": set(range(40))}, "classes is a set"),
    "a class that is not named": ({}, {"y": CODES, "classes": range(39)}, "holds 39, which is not"),
    "one class": ({}, {"y": CODES * 0}, "y holds 1 class, 0"),
    "one row": ({}, {"X": X[:1], "y": Y[:1]}, r"X has 1 sample\(s\)"),
    "no labels": ({}, {"y": Y * 0}, "none of these has a label"),
    "fewer": ({}, {"y": Y[:5]}, "inconsistent numbers of samples"),
    "weight": ({}, {"sample_weight": -np.ones(700)}, "weight"),
    "a name twice": ({"label_names": ["a"] * 40}, {}, "label_names names two labels .a."),
    "fewer names": ({"label_names": ["a", "b"]}, {}, "label_names"),
    "names of classes": ({"label_names": NAMES}, {"y": CODES}, "label_names is for the columns"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    parameters, given, message = BAD[name]
    model = TopKStackingClassifier(**({"estimators": FAST} | parameters))
    with pytest.raises(ValueError, match=message):
        model.fit(**({"X": X, "y": Y} | given))
    assert set(vars(model)) == set(model.get_params(deep=False))


class OfOtherClasses(Constant):
    """A part that knows labels which y does not hold."""

    def fit(self, X, y):
        super().fit(X, y)
        self.classes_ = self.classes_ + 7
        return self


def test_texts_that_nobody_reads_are_refused():
    parts = [("words", make_pipeline(TfidfVectorizer(), PPDSparseClassifier()))]
    with pytest.raises(ValueError, match="none of the parts"):
        TopKStackingClassifier(parts).fit(PASSAGES, CODES, label_features=T)


def test_weights_that_a_part_does_not_take_are_told_of():
    parts = [*FAST, ("constant", Constant())]
    with pytest.warns(UserWarning, match=r"\['constant'\] takes no sample_weight"):
        TopKStackingClassifier(parts, random_state=0).fit(X, Y, np.ones(700))


def test_parts_of_other_classes_are_refused():
    model = TopKStackingClassifier([*FAST, ("other", OfOtherClasses())], random_state=0)
    with pytest.raises(ValueError, match=r"part 'other' was fitted on other classes: it knows 40"):
        model.fit(X, Y)
    assert not hasattr(model, "estimators_")


def test_a_part_without_answers_is_refused():
    model = TopKStackingClassifier([("plain", LogisticRegression())], random_state=0)
    with pytest.raises(TypeError, match="predict_topk"):
        model.fit(X, CODES)
    assert not hasattr(model, "classes_")


def test_a_failed_fit_leaves_the_model_of_before(models):
    model = fitted(final="linear")
    before = model.predict_topk(Q, 3)[0]
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, Y[:3])
    np.testing.assert_array_equal(model.predict_topk(Q, 3)[0], before)


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("kind", ["classes", "indicator"])
def test_labels_that_no_part_knows_come_last_and_once(kind, refit):
    """Pipelines take no `classes`: labels without samples are unknown to their models."""
    codes = np.arange(120) % 5
    rows = np.random.default_rng(0).normal(size=(120, 5)) / 4 + np.eye(5)[codes]
    steps = PPDSparseClassifier(random_state=0), LDGSClassifier(max_iter=5, random_state=0)
    parts = [(type(step).__name__, make_pipeline(MaxAbsScaler(), step)) for step in steps]
    stack = TopKStackingClassifier(parts, refit=refit, random_state=0)
    if kind == "classes":
        stack.fit(rows, codes, classes=range(7))
    else:
        stack.fit(rows, np.eye(7, dtype=int)[codes])
    for scores, answer in ("decision", stack.decision_function), ("proba", stack.predict_proba):
        labels, found = stack.predict_topk(rows, 7, scores=scores)
        np.testing.assert_array_equal(np.sort(labels, axis=1), np.tile(np.arange(7), (120, 1)))
        if kind == "classes":  # parts know all columns of an indicator
            expected = np.take_along_axis(answer(rows), labels, axis=1)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert stack.predict_topk(rows, 2, labels=[5, 6])[0].tolist() == [[5, 6]] * 120
    labels, _ = stack.predict_topk(rows, 3, labels=[0, 5, 6])
    np.testing.assert_array_equal(np.sort(labels, axis=1), np.tile([0, 5, 6], (120, 1)))
