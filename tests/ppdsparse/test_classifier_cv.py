"""Penalties that are chosen on held-out rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier, PPDSparseClassifierCV, load, predict_topk
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.metrics import make_topk_scorer

X, Y = make_xc_classification(300, 200, 20, n_labels=2, random_state=0)
PLAIN = PPDSparseClassifier(random_state=0)


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


@pytest.mark.parametrize("refit", [True, False])
def test_the_best_pair_goes_by_the_names_of_searches(refit, tmp_path):
    l1s, l2s = ["0.3*rows", 0.1], [1.0, "rows"]
    model = PPDSparseClassifierCV(l1s, l2s, cv=3, search="grid", refit=refit, random_state=0)
    model.fit(X, Y)
    i, j = model.best_index_
    assert model.best_params_ == {"l1": l1s[i], "l2": l2s[j]}
    assert model.best_score_ == np.nanmax(model.scores_.mean(axis=-1))
    if refit:
        again = PPDSparseClassifier(random_state=0).set_params(**model.best_params_).fit(X, Y)
        np.testing.assert_array_equal(again.coef_.data, model.coef_.data)
        model.save(tmp_path / "model.sxc")
        found = load(tmp_path / "model.sxc")
        assert (found.best_params_, found.best_score_) == (model.best_params_, model.best_score_)


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
