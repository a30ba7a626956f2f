"""Penalties that are chosen by the labels of held-out samples."""

import numpy as np
import pytest
from _near_copies import near_copies
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.datasets import load_docstrings, make_xc_classification

X, Y = make_xc_classification(1500, 400, 60, n_labels=2, random_state=0)
X = sparse.csr_array(X, dtype=np.float32)
Y = sparse.csr_array(Y)
AUTO = PPDSparseClassifier(random_state=0)


# ---------------------------------------------------------------------------------------- choices


def test_clean_labels_get_weaker_penalties_than_labels_of_chance():
    """In the mean: with 960 samples the best of two pairs is partly luck."""

    def factors(chance):
        fits = (clone(AUTO).fit(*near_copies(80, 12, chance, seed)) for seed in range(6))
        return np.array([model.penalty_factors_[1] for model in fits])

    clean, chance = factors(0.0), factors(0.8)
    assert (clean <= 1).all()
    assert np.log(chance / clean).mean() >= np.log(1.5)


def test_docstrings_are_told_apart_better_than_by_penalties_of_the_rows():
    docs = load_docstrings(["stdlib"])
    words = TfidfVectorizer(sublinear_tf=True).fit(docs.data_train)
    fitted = [
        PPDSparseClassifier(unit, unit, random_state=0).fit(
            words.transform(docs.data_train), docs.target_train
        )
        for unit in ("rows", "auto")
    ]
    rows, auto = (m.score(words.transform(docs.data_test), docs.target_test) for m in fitted)
    assert auto >= rows


# ------------------------------------------------------------------------------- when and when not


def test_only_penalties_that_are_left_open_are_chosen():
    assert PPDSparseClassifier(0.1, 1.0).fit(X, Y).penalty_factors_ == (1, 1)
    assert PPDSparseClassifier("2*rows", "rows").fit(X, Y).penalty_factors_ == (1, 1)
    chance = near_copies(80, 8, 0.8)
    model = PPDSparseClassifier("rows", "auto", random_state=0).fit(*chance)
    assert model.penalty_factors_[0] == 1
    assert model.penalty_factors_[1] != 1
    twice = PPDSparseClassifier("rows", "2*auto", random_state=0).fit(*chance)
    assert twice.penalty_factors_ == pytest.approx(model.penalty_factors_, rel=1e-3)
    assert twice.l2_ == pytest.approx(2 * model.l2_, rel=1e-3)


def test_few_samples_take_the_penalties_of_the_rows():
    model = clone(AUTO).fit(X[:200], Y[:200])
    rows = PPDSparseClassifier("rows", "rows", random_state=0).fit(X[:200], Y[:200])
    assert model.penalty_factors_ == (1, 1)
    assert (model.coef_ != rows.coef_).nnz == 0


def test_two_classes():
    y = np.asarray(Y[:, :10].sum(axis=1) > 0)
    model = clone(AUTO).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.penalty_factors_ == clone(AUTO).fit(X, y.astype(int)).penalty_factors_


# ------------------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_change_no_choice(n_jobs):
    one, many = (clone(AUTO).set_params(n_jobs=n).fit(X, Y) for n in (1, n_jobs))
    assert one.penalty_factors_ == many.penalty_factors_
    assert (one.coef_ != many.coef_).nnz == 0


def test_samples_of_weight_zero_are_not_there():
    weight = np.ones(1600)
    weight[1500:] = 0
    more = sparse.vstack([X, 3 * X[:100]]), sparse.vstack([Y, Y[::-1][:100]])
    with_zero = clone(AUTO).fit(*more, weight).penalty_factors_
    assert with_zero == pytest.approx(clone(AUTO).fit(X, Y).penalty_factors_, rel=1e-3)


def test_new_labels_get_the_penalties_of_the_old():
    model = clone(AUTO).fit(X, Y[:, :40])
    times = [f"{factor}*rows" for factor in model.penalty_factors_]
    whole = PPDSparseClassifier(*times, random_state=0, tol=1e-4, pruning=0).fit(X, Y)
    grown = clone(whole).fit(X, Y[:, :40])
    grown.penalty_factors_ = (1.0, 1.0)
    model.set_params(tol=1e-4, pruning=0).add_labels(X, Y[:, 40:])
    np.testing.assert_allclose(
        model.decision_function(X)[:, 40:], whole.decision_function(X)[:, 40:], atol=2e-3
    )
