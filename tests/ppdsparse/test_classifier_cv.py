"""Penalties that are chosen on held-out rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier, PPDSparseClassifierCV, load, predict_topk
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer

X, Y = make_xc_classification(300, 200, 20, n_labels=2, random_state=0)
PLAIN = PPDSparseClassifier(random_state=0)


def test_scores_are_those_of_plain_fits():
    rows = np.arange(300)
    train, test = train_test_split(rows, test_size=0.3, random_state=0)
    model = PPDSparseClassifierCV([0.3, 0.03], [1.0, 2.0], cv=[(train, test)], tol=1e-4)
    model.set_params(random_state=0, scoring=make_topk_scorer("ndcg_at_k", 5), search="grid")
    from sklearn_xc.ppdsparse import _classifier_cv

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_classifier_cv, "TOL", 1e-4)
        model.fit(X, Y)
    for i, l1 in enumerate(model.l1s):
        for j, l2 in enumerate(model.l2s):
            cold = PPDSparseClassifier(l1, l2, random_state=0, tol=1e-4, pruning=0.0)
            expected = model.scoring(cold.fit(X[train], Y[train]), X[test], Y[test])
            assert model.scores_[i, j, 0] == pytest.approx(expected, abs=2e-3)
    assert model.scores_.shape == (2, 2, 1)
    assert model.scores_[(*model.best_index_, 0)] == model.scores_.max()


def test_the_best_pair_is_fitted_on_all_rows(tmp_path):
    model = PPDSparseClassifierCV(cv=3, random_state=0).fit(X, Y)
    assert model.scores_.shape == (3, 5, 3)
    i, j = model.best_index_
    from sklearn_xc.ppdsparse._classifier_cv import L1S, L2S

    plain = PPDSparseClassifier(L1S[i], L2S[j], random_state=0).fit(X, Y)
    assert (model.l1_, model.l2_) == (plain.l1_, plain.l2_)
    assert (model.coef_ != plain.coef_).nnz == 0
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model", "r")
    np.testing.assert_array_equal(loaded.predict_topk(X)[1], plain.predict_topk(X)[1])
    np.testing.assert_array_equal(loaded.scores_, model.scores_)


@pytest.mark.parametrize("cv", [0.4, 3])
def test_lines_find_what_the_grid_has(cv):
    lines, grid = (
        PPDSparseClassifierCV(search=search, cv=cv, random_state=0, n_jobs=1).fit(X, Y)
        for search in ("lines", "grid")
    )
    tried = ~np.isnan(lines.scores_)
    assert 4 <= tried.all(axis=-1).sum() == tried.any(axis=-1).sum() <= 7
    assert not np.isnan(grid.scores_).any()
    np.testing.assert_allclose(lines.scores_[tried], grid.scores_[tried], atol=0.03)
    mean = lines.scores_.mean(axis=-1)
    assert mean[lines.best_index_] == np.nanmax(mean)


CLIMBS = {
    (3.2, 0.1): [(2, 1), (3, 1), (4, 1), (3, 2), (3, 0), (4, 0), (2, 0)],
    (0.8, 0.1): [(2, 1), (3, 1), (1, 1), (0, 1), (1, 2), (1, 0), (2, 0), (0, 0)],
    (1.9, 3.1): [(2, 1), (3, 1), (1, 1), (2, 2), (2, 3), (3, 3), (1, 3)],
    (2.1, 1.2): [(2, 1), (3, 1), (1, 1), (2, 2), (2, 0)],
}


@pytest.mark.parametrize("peak", CLIMBS)
def test_lines_go_beside_the_best(peak):
    """Of a known surface: up along l1 at the middle l2, along l2, beside where l2 has moved."""
    from sklearn_xc.ppdsparse import _penalty_search

    surface = -np.add.outer((np.arange(5) - peak[0]) ** 2, (np.arange(4) - peak[1]) ** 2)
    tried = []

    class Part:
        def score(self, i, j):
            tried.append((i, j))
            return surface[i, j]

        def keep(self):
            pass

        go_back = keep

    class Silent:
        def begin(self):
            pass

        def end(self, score):
            pass

    pairs = _penalty_search.PairScores(range(5), range(4), [Part()], Silent())
    _penalty_search.try_lines(pairs, [4, 3, 2, 1, 0], [0, 1, 2, 3])
    assert tried == CLIMBS[peak]
    assert pairs.best() == tuple(np.round(peak))
    assert len(tried) <= _penalty_search.n_pairs("lines", 5, 4) == 8


def test_multiples_follow_the_unit_of_the_rows():
    found = [
        PPDSparseClassifierCV(l1s=["0.3*rows", "rows"], l2s=["rows"], random_state=0).fit(
            X * np.float32(unit), Y
        )
        for unit in (1, 64)
    ]
    np.testing.assert_array_equal(found[0].scores_, found[1].scores_)
    assert found[1].l1_ == pytest.approx(64 * found[0].l1_, rel=1e-4)
    twice = PPDSparseClassifier("2*auto", "0.5*auto", random_state=0).fit(X, Y)
    auto = clone(PLAIN).fit(X, Y)
    assert (twice.l1_, twice.l2_) == pytest.approx((2 * auto.l1_, 0.5 * auto.l2_), rel=1e-6)


@pytest.mark.parametrize("kind", ["classes", "two classes", "weights", "dense", "names"])
def test_all_kinds_of_data(kind):
    y, options, rows = np.arange(300) % 5, {}, X
    if kind == "two classes":
        y = y > 2
    if kind == "weights":
        options["sample_weight"] = np.arange(300) % 3
    if kind == "dense":
        rows = X.toarray()
    model = PPDSparseClassifierCV([0.1], ["rows"], random_state=0)
    if kind == "names":
        y = sparse.csr_array(y[:, None] == np.arange(5))
        model.set_params(label_names=list("abcde"))
    model.fit(rows, y, **options)
    plain = PPDSparseClassifier(0.1, "rows", random_state=0).fit(rows, y, **options)
    np.testing.assert_array_equal(model.predict_topk(rows)[1], plain.predict_topk(rows)[1])
    if kind == "names":
        assert set(model.predict_topk(rows)[0].ravel()) == set("abcde")


def test_n_jobs_changes_nothing():
    one, two = (PPDSparseClassifierCV(n_jobs=n, random_state=0).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert (one.coef_ != two.coef_).nnz == 0


def test_in_a_pipeline_with_a_splitter():
    cv = KFold(2, shuffle=True, random_state=0)
    model = make_pipeline(MaxAbsScaler(), PPDSparseClassifierCV([0.1], [1.0], cv=cv))
    assert predict_topk(model.fit(X, Y), X, 3)[0].shape == (300, 3)


def test_without_a_last_fit():
    model = PPDSparseClassifierCV([0.1, 0.2], [1.0], refit=False, random_state=0).fit(X, Y)
    assert (model.l1_ in (0.1, 0.2)) and model.l2_ == 1.0  # noqa: PT018
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_verbose_tells_of_each_fit(capsys):
    PPDSparseClassifierCV([0.1, 0.2], [1.0], verbose=1, random_state=0).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("PPDSparseClassifierCV: fit 1 of 3, score 0.")


@pytest.mark.skipif(not hasattr(PPDSparseClassifierCV, "set_callbacks"), reason="scikit-learn 1.9")
def test_callbacks_are_told_of_each_fit():
    told = []

    class Recorder:
        def setup(self, estimator, context):
            told.append("setup")

        def teardown(self, estimator, context):
            told.append("teardown")

        def on_fit_task_begin(self, estimator, context, **data):
            told.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, **data):
            told.append(f"end {context.task_name}")

    model = PPDSparseClassifierCV([0.1, 0.2], [1.0], random_state=0)
    model.set_callbacks(Recorder()).fit(X, Y)
    assert told == [
        "setup",
        "begin fit",
        *["begin fit", "end fit"] * 3,
        "end fit",
        "teardown",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1s": []}, "l1s is empty"),
        ({"l1s": "all"}, "l1s must be 'auto' or a sequence of penalties, got 'all'"),
        ({"l2s": ["often*rows"]}, "l2s must be a number, 'auto', 'rows', or a multiple"),
        ({"l1s": [-1]}, "l1s holds -1.0; penalties are numbers from 0 to 1e12, 'rows' or"),
        ({"l1s": ["auto"]}, "l1s holds 'auto'; penalties are numbers from 0 to 1e12, 'rows' or"),
        ({"scoring": 3}, "scoring"),
        ({"search": "random"}, "search"),
        ({"tol": 0}, "tol"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        PPDSparseClassifierCV(**options).fit(X, Y)
    with pytest.raises(NotFittedError):
        PPDSparseClassifierCV(**options).predict(X)


@pytest.mark.parametrize("penalty", ["2", "rows*2", "-1*rows", "0*auto", "1e9*rows", "Auto", None])
def test_bad_multiples(penalty):
    with pytest.raises(ValueError, match="l1 must be a number, 'auto', 'rows', or a multiple of"):
        PPDSparseClassifier(penalty).fit(X, Y)


def test_several_labels_are_scored_by_ndcg_one_by_accuracy():
    split = next(iter(KFold(2, shuffle=True, random_state=0).split(np.arange(300))))
    one = np.arange(300) % 5
    for y, scorer in [(Y, ("ndcg_at_k", 5)), (one, ("precision_at_k", 1))]:
        model = PPDSparseClassifierCV([0.1, 0.2], [1.0], cv=[split], random_state=0)
        scores = clone(model).fit(X, y).scores_
        named = model.set_params(scoring=make_topk_scorer(*scorer)).fit(X, y).scores_
        np.testing.assert_array_equal(scores, named)
