"""Functions inside of what `stacking/test_stack.py` tests from outside."""

import numpy as np
import pytest
from _stacked_samples import CODES, FAST, X, Y, fitted
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier, TopKNeighborsClassifier, TopKStackingClassifier
from sklearn_xc.stacking import _classifier, _learn
from sklearn_xc.stacking._held_out import hold_out


def test_parts_that_gain_together_stay(monkeypatch):
    """Each of two may look idle where the other is there, and on few rows."""
    monkeypatch.setattr(_learn, "_without_idle_parts", lambda judge, alone: [1])
    assert [name for name, _ in fitted().estimators_] == ["ovr", "near"]


def test_settings_are_chosen_once_on_all_samples(monkeypatch):
    """Parts on fewer samples take penalties and powers of those that answer."""
    seen = []

    def recorded(estimator, data, texts_alone=False):
        seen.append(real(estimator, data, texts_alone))
        return seen[-1]

    real = _classifier.fit_part
    monkeypatch.setattr(_classifier, "fit_part", recorded)
    parts = [
        ("ovr", make_pipeline(MaxAbsScaler(), PPDSparseClassifier("2*auto", 0.5, random_state=0))),
        ("near", TopKNeighborsClassifier(random_state=0)),
    ]
    TopKStackingClassifier(parts, random_state=0).fit(X, Y)
    whole, near, copy, near_copy = seen
    alone = clone(parts[0][1]).fit(X, Y)
    np.testing.assert_array_equal(whole[-1].coef_.toarray(), alone[-1].coef_.toarray())
    assert copy[-1].l1 == f"{2 * whole[-1].penalty_factors_[0]!r}*rows"
    assert copy[-1].l2 == 0.5
    assert copy[-1].penalty_factors_ == (1.0, 1.0)
    assert isinstance(near_copy.power, float)
    assert near_copy.power == near.power_


@pytest.mark.parametrize("one_a_row", [False, True])
@pytest.mark.parametrize(("n", "share", "n_folds"), [(8, 0.2, 5), (100, 0.2, 5), (100, 0.5, 2)])
def test_few_samples_are_held_out_in_turn(n, share, n_folds, one_a_row):
    truth = sparse.csr_array((np.ones(n), (np.arange(n), CODES[:n])), shape=(n, 40))
    folds = hold_out(truth, None, share, 0.0, one_a_row, np.random.RandomState(0), once=False)
    held_out = np.concatenate([fold.test for fold in folds])
    assert len(set(held_out)) == len(held_out)
    # Two samples of different classes are in each training part.
    assert len(held_out) >= min(n, n_folds * round(share * n)) - 2 * one_a_row
    assert len(folds) <= n_folds
    for fold in folds:
        np.testing.assert_array_equal(np.union1d(fold.train, fold.test), np.arange(n))
        assert not np.intersect1d(fold.train, fold.test).size
        assert not one_a_row or len(set(CODES[fold.train])) > 1


@pytest.mark.parametrize(
    ("n", "refit", "n_copies"), [(490, True, 5), (500, True, 1), (90, False, 1)]
)
def test_copies_of_a_part_are_many_where_samples_are_few(monkeypatch, n, refit, n_copies):
    """With `refit` a part is fitted once more, on all samples."""
    seen = []

    def recorded(estimator, data, texts_alone=False):
        seen.append(len(data.truth.indptr) - 1)
        return real(estimator, data, texts_alone)

    real = _classifier.fit_part
    monkeypatch.setattr(_classifier, "fit_part", recorded)
    some = np.resize(np.arange(700), n)
    model = TopKStackingClassifier(FAST[:1], random_state=0, refit=refit).fit(X[some], Y[some])
    assert seen.count(n) == refit
    assert len(seen) == n_copies + refit
    assert len(model.estimators_) == 1


def test_all_shares_teach_the_second_stage(monkeypatch):
    """Labels, hidden ones and weights stand with the pairs of their samples."""
    problems = []
    real = _classifier.learn
    monkeypatch.setattr(
        _classifier,
        "learn",
        lambda problem, *rest: problems.append(problem) or real(problem, *rest),
    )
    weight = np.arange(1.0, 61)
    model = TopKStackingClassifier(FAST, random_state=0, hidden_labels=0.5)
    model.fit(X[:60], Y[:60], weight, label_features=sparse.csr_matrix(Y.T @ X))
    (problem,) = problems
    order = problem.weight.astype(int) - 1
    np.testing.assert_array_equal(np.sort(order), np.arange(60))
    truth, candidates = Y[:60].toarray()[order] > 0, problem.candidates
    np.testing.assert_array_equal(truth[candidates.row, candidates.places], problem.hits)
    np.testing.assert_array_equal(truth.sum(axis=1), problem.n_true)
    of_hidden = np.bincount(candidates.row[problem.hits & problem.hidden], minlength=60)
    assert (of_hidden <= problem.n_hidden).all()
    assert problem.n_hidden.sum() > 0
    assert candidates.scores.shape == (2, len(problem.hits))
    assert len(problem.of_labels) == len(problem.hits)
