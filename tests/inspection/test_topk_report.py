"""The report on the best labels: the measures of the metrics, and of a file's labels alike."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_xc import PPDSparseClassifier
from sklearn_xc.inspection import topk_report
from sklearn_xc.metrics import ndcg_at_k, precision_at_k, propensities, psprecision_at_k

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 12))
Y = sparse.csr_array((X @ RNG.normal(size=(12, 8)) > 2.5).astype(int))
MODEL = make_pipeline(MaxAbsScaler(), PPDSparseClassifier(random_state=0)).fit(X[:200], Y[:200])


def test_measures_are_those_of_the_metrics():
    report = topk_report(MODEL, X[200:], Y[200:], n_train=200)
    best = MODEL[-1].predict_topk(MODEL[:-1].transform(X[200:]), 5)[0]
    assert (report["samples"], report["labels"]) == (100, 8)
    assert report["P@1"] == pytest.approx(precision_at_k(Y[200:], best, 1))
    assert report["nDCG@5"] == pytest.approx(ndcg_at_k(Y[200:], best, 5))
    weighted = psprecision_at_k(Y[200:], best, 3, propensities=propensities(Y[:200]))
    assert report["PSP@3"] == pytest.approx(weighted)
    lines = report["by frequency"]
    n_true = [Y[200:].tocsc()[:, [k]].sum() for k in range(8)]
    support = np.asarray(Y[:200].sum(axis=0)).ravel()
    hits = [0.0] * len(lines)
    total = [0.0] * len(lines)
    hit = [(best[Y[200:].toarray()[:, k] > 0] == k).any(axis=1).sum() for k in range(8)]
    for i, line in enumerate(lines):
        low, high = line["training samples"]
        inside = [k for k in range(8) if low <= support[k] <= high]
        assert line["labels"] == len(inside)
        hits[i], total[i] = sum(hit[k] for k in inside), sum(n_true[k] for k in inside)
        assert line["recall"] == (pytest.approx(hits[i] / total[i]) if total[i] else None)
    assert sum(total) == Y[200:].sum()
    assert sum(hits) / sum(total) <= 1


def test_an_indicator_and_lists_of_its_columns_agree():
    dense = Y[200:].toarray()
    lists = [np.flatnonzero(row).tolist() for row in dense]
    kept = [i for i, labels in enumerate(lists) if labels]
    reports = [
        topk_report(MODEL, X[200:][kept], y, threshold=0.3)
        for y in (Y[200:][kept], dense[kept], [lists[i] for i in kept])
    ]
    assert reports[0] == reports[1] == reports[2]
    assert "micro-F1" in reports[0]
    assert str(reports[0]).startswith(f"{len(kept)} samples, 8 labels known\nmeasure ")


def test_labels_that_the_model_does_not_know_are_not_found():
    names = np.array(["ash", "fir", "oak"])[np.arange(30) % 3]
    model = PPDSparseClassifier(random_state=0).fit(np.eye(3)[np.arange(30) % 3], names)
    report = topk_report(model, np.eye(3), ["ash", "fir", "elm"])
    assert report["P@1"] == pytest.approx(2 / 3)
    assert report["by frequency"][-1] == {"training samples": [0, 0], "labels": 1, "recall": 0.0}


def test_columns_of_other_labels_are_refused():
    with pytest.raises(ValueError, match="y_true has 5 columns, and the model 8 classes"):
        topk_report(MODEL, X[200:], Y[200:, :5])
    with pytest.raises(ValueError, match="0 sample"):
        topk_report(MODEL[-1], X[:0], np.empty(0, dtype=int))


def test_the_columns_of_a_table_go_by_their_names():
    names, codes = np.array(["ash", "fir", "oak"]), np.arange(30) % 3
    table = pd.DataFrame(np.eye(3, dtype=int)[codes], columns=names)
    model = PPDSparseClassifier(random_state=0).fit(np.eye(3)[codes], table)
    turned = table[["oak", "ash", "fir"]]
    assert topk_report(model, np.eye(3)[codes], turned)["P@1"] == 1
    some = topk_report(model, np.eye(3)[codes], turned.rename(columns={"oak": "elm"}))
    assert some["P@1"] == pytest.approx(2 / 3)
    assert topk_report(model, np.eye(3)[codes], table[["ash"]])["P@1"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("names", [[0, 1], [1, 0, 2]])
def test_labels_0_and_1_are_no_indicator(names):
    y = np.array(names)[np.arange(30) % len(names)]
    rows = np.eye(3)[y]
    model = PPDSparseClassifier(random_state=0).fit(rows, y)
    report = topk_report(model, rows[y < 2], y[y < 2])
    assert (report["P@1"], report["samples"]) == (1, np.count_nonzero(y < 2))
    several = PPDSparseClassifier(random_state=0).fit(rows, np.eye(3, dtype=int)[y] | [1, 1, 0])
    assert topk_report(several, rows[:2], np.array([[1, 1, 0], [1, 1, 0]]))["P@1"] == 1


@pytest.mark.parametrize("dtype", [bool, float])
def test_labels_that_are_truths_or_floats_are_measured(dtype):
    y = (np.arange(30) % 2).astype(dtype)
    model = PPDSparseClassifier(random_state=0).fit(np.eye(2)[np.arange(30) % 2], y)
    assert topk_report(model, np.eye(2)[np.arange(30) % 2], y)["P@1"] == 1


def test_labels_with_grades_are_true():
    model = PPDSparseClassifier(graded=True, random_state=0).fit(X[:200], Y[:200] * 0.5)
    found = topk_report(model, X[200:], Y[200:] * 0.5)
    assert found == topk_report(model, X[200:], Y[200:])
