"""Penalties that follow the rows, and rows that are brought to a form before a fit."""

import numpy as np
import pytest
from _full import rest_in_full
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from sklearn_xc import PPDSparseClassifier, merge
from sklearn_xc.datasets import make_xc_classification

X, Y = make_xc_classification(400, 300, 40, n_labels=3, random_state=0)
X = sparse.csr_array(X, dtype=np.float32)


# ------------------------------------------------------------------------------------- numbers


def test_text_rows_of_unit_length_have_about_the_numbers_of_old():
    text = sparse.csr_array(TfidfTransformer().fit_transform(X))
    model = PPDSparseClassifier().fit(text, Y)
    assert 0.05 < model.l1_ <= 0.1001
    assert 0.5 < model.l2_ <= 1.5
    given = PPDSparseClassifier(model.l1_, model.l2_, random_state=0).fit(text, Y)
    same = PPDSparseClassifier(random_state=0).fit(text, Y)
    np.testing.assert_allclose(same.coef_.toarray(), given.coef_.toarray(), atol=1e-5)


def test_rare_classes_of_long_rows_are_learnt():
    # with l1=0.1 no feature of a class of two rows would ever have a weight
    rng = np.random.default_rng(0)
    start = rng.random((100, 8000)) < 0.05
    rows = np.repeat(start, 3, axis=0) & (rng.random((300, 8000)) < 0.6)
    rows = normalize(rows.astype(float))
    y, train = np.repeat(np.arange(100), 3), np.arange(300) % 3 < 2
    rows = sparse.csr_array(rows)
    model = PPDSparseClassifier(random_state=0).fit(rows[train], y[train])
    assert model.score(rows[~train], y[~train]) > 0.95


@pytest.mark.parametrize("form", ["csr", "dense", "signed"])
@pytest.mark.parametrize("factor", [2.0**-20, 0.003, 1000.0, 2.0**30])
def test_the_scale_of_x_changes_no_prediction(form, factor):
    rows = X if form == "csr" else X.toarray()
    rows = np.random.default_rng(0).normal(size=(400, 20)) if form == "signed" else rows
    model = PPDSparseClassifier(random_state=0).fit(rows, Y)
    scaled = clone(model).fit(rows * factor, Y)
    scores = model.decision_function(rows)
    np.testing.assert_allclose(scaled.decision_function(rows * factor), scores, atol=2e-3)
    assert scaled.l1_ == pytest.approx(model.l1_ * factor, rel=1e-4)
    assert scaled.l2_ == pytest.approx(model.l2_ * factor**2, rel=1e-4)


def test_one_number_and_one_automatic():
    model = PPDSparseClassifier(l1=0.02).fit(5 * X, Y)
    assert model.l1_ == pytest.approx(0.02)
    assert model.l2_ == pytest.approx(PPDSparseClassifier().fit(5 * X, Y).l2_)
    model = PPDSparseClassifier(l2=3.0).fit(5 * X, Y)
    assert model.l2_ == 3
    assert model.l1_ == pytest.approx(PPDSparseClassifier().fit(5 * X, Y).l1_, rel=0.2)


def test_penalties_of_the_rows_do_not_depend_on_labels():
    model = PPDSparseClassifier("rows", "rows", tol=1e-6, max_iter=1000, pruning=0, random_state=0)
    whole = clone(model).fit(3 * X, Y)
    parts = [clone(model).fit(3 * X, Y[:, part]) for part in (slice(0, 15), slice(15, 40))]
    merged = merge(parts)
    assert (merged.l1_, merged.l2_) == (whole.l1_, whole.l2_)
    expected = whole.decision_function(3 * X)
    np.testing.assert_allclose(merged.decision_function(3 * X), expected, atol=2e-3)
    parts[0].add_labels(3 * X, Y[:, 15:])
    np.testing.assert_allclose(parts[0].decision_function(3 * X), expected, atol=2e-3)


@pytest.mark.parametrize("dense", [False, True])
def test_weights_are_numbers_of_rows(dense):
    # "auto" would find copies of the samples that it holds out
    rows = 20 * (X.toarray() if dense else X)
    repeats = np.random.default_rng(0).integers(0, 4, size=400)
    model = PPDSparseClassifier("rows", "rows", tol=1e-6, max_iter=1000, pruning=0, random_state=0)
    weighted = clone(model).fit(rows, Y, repeats)
    index = np.repeat(np.arange(400), repeats)
    repeated = clone(model).fit(rows[index], Y[index])
    assert weighted.l1_ == pytest.approx(repeated.l1_, rel=1e-5)
    assert weighted.l2_ == pytest.approx(repeated.l2_, rel=1e-4)
    np.testing.assert_allclose(
        weighted.decision_function(rows), repeated.decision_function(rows), atol=5e-3
    )


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_columns_in_any_units(load):
    rows, y = load(return_X_y=True)
    units = 10.0 ** np.random.default_rng(0).integers(-4, 5, size=rows.shape[1])
    model = PPDSparseClassifier(random_state=0).fit(rows, y)
    again = clone(model).fit(rows * units, y)
    np.testing.assert_array_equal(again.predict(rows * units), model.predict(rows))


def test_rows_all_alike_or_zero():
    for rows in (np.ones((30, 4)), np.zeros((30, 4)), sparse.csr_array((30, 4))):
        model = PPDSparseClassifier().fit(rows, np.arange(30) % 3)
        assert np.isfinite(model.decision_function(rows)).all()


# ---------------------------------------------------------------------------------- small data


@pytest.mark.parametrize(
    "load",
    rest_in_full([load_iris, load_wine, load_breast_cancer, load_digits], load_iris, load_wine),
)
@pytest.mark.parametrize("form", ["raw", "standardised"])
@pytest.mark.filterwarnings("ignore:lbfgs:sklearn.exceptions.ConvergenceWarning")
def test_small_data_without_arguments(load, form):
    hits = []
    for seed in range(3):
        *parts, y, y_test = train_test_split(
            *load(return_X_y=True), test_size=0.3, random_state=seed
        )
        if form == "standardised":
            scaler = StandardScaler().fit(parts[0])
            parts = [scaler.transform(part) for part in parts]
        models = PPDSparseClassifier(random_state=0), LogisticRegression()
        hits.append([m.fit(parts[0], y).predict(parts[1]) == y_test for m in models])
    ours, theirs = (np.concatenate(column).astype(float) for column in zip(*hits, strict=True))
    points = 0.03 if form == "raw" else 0.01
    # The standard error is that of one test part, since the three have rows in common.
    assert ours.mean() >= theirs.mean() - points - 2 * theirs.std() / len(y_test) ** 0.5
