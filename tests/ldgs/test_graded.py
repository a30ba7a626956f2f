"""Grades: the values of an indicator weigh the terms of its labels in sums over them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import LDGSClassifier, load
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer

WEIGHED = ["cross_entropy", "triplet"]


def data(n_samples=400, n_labels=2.5):
    X, Y = make_xc_classification(n_samples, 200, 12, n_labels=n_labels, random_state=0)
    graded = Y.astype(np.float64)
    graded.data[:] = np.random.default_rng(0).choice([0.2, 0.5, 1.0], Y.nnz)
    return X, Y, graded


FORMS = {
    "features": {},
    "layer": {"hidden_dim": 16, "gradient": "exact"},
    "decomposed": {"hidden_dim": 16, "gradient": "decomposed", "query_size": 3},
    "messages": {
        "hidden_dim": 16,
        "gradient": "decomposed",
        "query_size": 3,
        "n_message_passes": 2,
    },
    "sampled": {"hidden_dim": 16, "gradient": "sampled", "query_size": 4},
}


@pytest.mark.parametrize("loss", WEIGHED)
@pytest.mark.parametrize("form", FORMS)
def test_grades_of_one_change_no_bit(loss, form):
    X, Y, _ = data()
    options = {"loss": loss, "random_state": 0, "max_iter": 3, **FORMS[form]}
    plain = LDGSClassifier(**options).fit(X, Y)
    graded = LDGSClassifier(graded=True, **options).fit(X, Y.astype(float))
    np.testing.assert_array_equal(graded.coef_, plain.coef_)
    np.testing.assert_array_equal(graded.intercept_, plain.intercept_)


@pytest.mark.parametrize("loss", WEIGHED)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "messages"])
def test_a_grade_is_the_weight_of_a_sample_with_one_label(loss, form):
    X, _, _ = data()
    rng = np.random.default_rng(1)
    grades, labels = rng.choice([0.2, 0.5, 1.0], 400), rng.integers(12, size=400)
    y = sparse.csr_array((grades, (np.arange(400), labels)), shape=(400, 12))
    options = {
        "loss": loss,
        "random_state": 0,
        "max_iter": 3,
        "solver": "sgd",
        "alpha": 0.0,
        "tau": 0.0,
        **FORMS[form],
    }
    graded = LDGSClassifier(graded=True, learning_rate=0.5, **options).fit(X, y)
    # weights of samples are relative to their mean
    weighted = LDGSClassifier(learning_rate=0.5 * grades.mean(), **options)
    weighted.fit(X, (y > 0).astype(int), grades)
    np.testing.assert_allclose(graded.coef_, weighted.coef_, atol=2e-4)


def test_low_grades_rank_lower():
    X, _, _ = data()
    y = sparse.csr_array(np.tile([1.0, 1.0, 0.1, *[0.0] * 9], (400, 1)))
    model = LDGSClassifier(graded=True, random_state=0).fit(X, y)
    scores = model.decision_function(X).mean(axis=0)
    assert scores[:2].min() > scores[2] > scores[3:].max()


def test_parts_and_calls():
    X, Y, graded = data()
    whole = LDGSClassifier(graded=True, random_state=0)
    whole.partial_fit(X[:200], graded[:200]).partial_fit(X[200:], graded[200:].toarray())
    assert whole.label_report_.support.sum() == Y.nnz
    with pytest.raises(ValueError, match=r"graded=True: y of shape .* holds -1"):
        whole.partial_fit(X, -Y.astype(float))
    with pytest.raises(ValueError, match="graded=True is for an indicator"):
        LDGSClassifier(graded=True).partial_fit(X, [0, 1] * 200, classes=[0, 1])
    with pytest.raises(ValueError, match="graded=True is for an indicator"):
        LDGSClassifier(graded=True).fit(X, [0, 1] * 200)
    with pytest.raises(ValueError, match="loss='margin' is the largest over all pairs"):
        LDGSClassifier(graded=True, loss="margin").fit(X, graded)
    with pytest.raises(ValueError, match=r"indicator of 0 and 1.*graded=True"):
        LDGSClassifier().fit(X, graded)


def test_with_everything_else(tmp_path):
    X, Y, graded = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    model = LDGSClassifier(graded=True, early_stopping=True, random_state=0)
    model.fit(X, graded, weight).save(tmp_path / "model.sxc")
    loaded = load(tmp_path / "model.sxc")
    np.testing.assert_array_equal(loaded.predict_topk(X, 3)[0], model.predict_topk(X, 3)[0])
    scorer = make_topk_scorer("precision_at_k", 1)
    pipeline = make_pipeline(MaxAbsScaler(), LDGSClassifier(graded=True, random_state=0))
    grid = {"ldgsclassifier__max_iter": [2, 10]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3).fit(X, graded.toarray())
    assert scorer(search, X, graded) == scorer(search, X, Y)
    assert 0 <= pipeline.fit(X, graded).score(X, graded) <= 1
