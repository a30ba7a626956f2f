"""Errors of sklearn_xc.metrics on bad input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sklearn_xc import metrics

SCORED = ["psprecision_at_k", "psndcg_at_k"]
TRUE = np.array([[1, 0, 1], [0, 1, 0]])
SCORES = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
TOP = np.array([[0, 1], [2, 1]])
SPARSE_NAN = sp.csr_array(np.array([[0.1, np.nan, 0.3], [0.3, 0.2, 0.1]]))

BAD_CALLS = [
    ((TRUE, TOP, 0), {}, r"k must be an integer of at least 1, got 0"),
    ((TRUE, TOP, 2.0), {}, r"k must be an integer of at least 1, got 2\.0"),
    ((TRUE, TOP, True), {}, r"k must be an integer of at least 1, got True"),
    ((TRUE, TOP, "2"), {}, r"k must be an integer of at least 1, got '2'"),
    ((TRUE, TOP, 3), {}, r"k=3 is larger than the number of columns of y_pred, 2"),
    ((TRUE, SCORES, 4), {}, r"k=4 is larger than the number of columns of y_pred, 3"),
    ((TRUE, sp.csr_array(SCORES), 4), {}, r"k=4 is larger .* columns of y_pred, 3"),
    ((TRUE, np.where(SCORES > 0.2, np.nan, SCORES), 1), {}, r"y_pred has scores that are NaN"),
    ((TRUE, SPARSE_NAN, 1), {}, r"y_pred has scores that are NaN"),
    ((TRUE, SCORES[:1], 1), {}, r"y_true has 2 samples and y_pred 1"),
    ((TRUE, TOP[0], 1), {}, r"y_pred must be 2-D.*got shape \(2,\)"),
    ((TRUE, (TOP, SCORES[:, :2]), 1), {}, r"y_pred must be 2-D.*got shape \(2, 2, 2\)"),
    ((TRUE, [[0], [0, 1]], 1), {}, r"y_pred has lists of different lengths.*predict_topk"),
    ((TRUE, SCORES[:, :2], 1), {}, r"y_true has 3 columns and the scores in y_pred have 2"),
    ((TRUE, TOP > 0, 1), {}, r"y_pred is of dtype bool; it must hold top-k labels or real scores"),
    ((TRUE, SCORES * 1j, 1), {}, r"y_pred is of dtype complex128"),
    ((TRUE, [[0, 1], [2, 3]], 1), {}, r"y_pred\[1, 1\] is .*3.*, not a column number .* 0 to 2"),
    ((TRUE, [[0, -1], [2, 1]], 1), {}, r"y_pred\[0, 1\] is .*-1.*, not a column number"),
    ((TRUE, [[0, 1], [2, 2]], 1), {}, r"row 1 of y_pred holds the label .*2.* more than once"),
    ((TRUE, [["a"], ["b"]], 1), {}, r"labels of dtype <U1, but nothing names the columns"),
    ((TRUE, [["a"], ["z"]], 1), {"classes": list("abc")}, r"'z'.*, not one of the classes"),
    ((TRUE, SCORES, 1), {"classes": list("ab")}, r"got 2 names for 3 columns"),
    ((TRUE, TOP, 1), {"classes": [0, 1]}, r"got 2 names for 3 columns"),
    ((TRUE, SCORES, 1), {"classes": list("aba")}, r"classes must be distinct, got 3 with 2"),
    ((TRUE, SCORES, 1), {"classes": TRUE}, r"classes must be 1-D and not empty"),
    ((2 * TRUE, SCORES, 1), {}, r"y_true is 2-D and must be an indicator .*found 2 in column 0"),
    ((sp.csr_array(2 * TRUE), SCORES, 1), {}, r"must be an indicator .*found 2 in column 0"),
    ((np.where(TRUE, np.nan, 0), SCORES, 1), {}, r"must be an indicator .*found nan in column 0"),
    ((TRUE.astype(str), SCORES, 1), {}, r"y_true is 2-D and of dtype <U21; .* indicator"),
    ((TRUE[None], SCORES, 1), {}, r"y_true must be 1-D labels or a 2-D indicator, got shape"),
    ((TRUE[:0], SCORES[:0], 1), {}, r"y_true has no samples"),
    ((["a", "b"], SCORES, 1), {}, r"classes must name the columns of y_pred"),
    (([["a"], ["b", "c"]], sp.csr_array(TRUE), 1), {}, r"indicator of predict: .*predict_topk"),
    ((["a", None], SCORES, 1), {"classes": list("abc")}, r"y_true has labels that are missing"),
    (([1.0, np.nan], TOP, 1), {}, r"y_true has labels that are missing"),
    ((TRUE, TOP, 1), {"sample_weight": [1, 2, 3]}, r"sample_weight must have shape \(2,\), got"),
    ((TRUE, TOP, 1), {"sample_weight": [1, -1]}, r"sample_weight must be finite, not negative"),
    ((TRUE, TOP, 1), {"sample_weight": [0, 0]}, r"sample_weight must be .* not zero throughout"),
    ((TRUE, TOP, 1), {"sample_weight": [1, np.inf]}, r"sample_weight must be finite"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), BAD_CALLS)
@pytest.mark.parametrize("name", ["precision_at_k", "psndcg_at_k"])
def test_bad_input(name, arguments, options, message):
    if name in SCORED:
        options = {"propensities": [0.5, 0.5, 0.5], **options}
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(*arguments, **options)


def test_lists_of_labels_that_are_none_are_refused():
    with pytest.raises(ValueError, match="mixes labels and lists of labels"):
        metrics.precision_at_k([[0, 1], 2], TOP, 1)
    with pytest.raises(ValueError, match="labels that are missing"):
        metrics.precision_at_k([[0, 1], [None]], TOP, 1)
    with pytest.raises(ValueError, match="lists in lists of labels"):
        metrics.precision_at_k([[[0, 1]], [[1, 2]]], TOP, 1)
    frame = pd.DataFrame(TRUE, columns=list("abc"))
    with pytest.raises(ValueError, match="none of the columns of y_true, such as 'a'"):
        metrics.precision_at_k(frame, TOP, 1, classes=list("xyz"))


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize(
    ("propensities", "message"),
    [
        ([0.5, 0.5], r"propensities must be of shape \(3,\), one for each class; got shape \(2,\)"),
        ([[0.5, 0.5, 0.5]], r"propensities must be of shape \(3,\)"),
        ([0.5, 0.0, 0.5], r"propensities must lie in \(0, 1\], got 0.0 at 1"),
        ([0.5, 0.5, 1.1], r"propensities must lie in \(0, 1\], got 1.1 at 2"),
        ([np.nan, 0.5, 0.5], r"propensities must lie in \(0, 1\], got nan at 0"),
    ],
)
def test_bad_propensities(name, propensities, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(TRUE, SCORES, 2, propensities=propensities)


@pytest.mark.parametrize("name", SCORED)
def test_propensities_of_unknown_labels(name):
    metric, top = getattr(metrics, name), [["a"], ["b"]]
    with pytest.raises(ValueError, match="propensities of 1-D labels need classes"):
        metric(["a", "b"], top, 1, propensities=[0.1, 0.2])
    with pytest.raises(ValueError, match=r"y_true\[1\] is not in classes, so that its propensity"):
        metric(["a", "c"], top, 1, propensities=[0.1, 0.2], classes=["a", "b"])


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (TRUE, {}, r"y must have at least 3 samples to estimate propensities, got 2"),
        (["a"] * 4, {"preset": "eurlex"}, r"preset must be one of .*'amazon'.*, got 'eurlex'"),
        (["a"] * 4, {"A": 0}, r"A must be a finite number greater than 0, got 0"),
        (["a"] * 4, {"B": np.inf}, r"B must be a finite number greater than 0, got inf"),
        (["a"] * 4, {"B": "1"}, r"B must be a finite number greater than 0, got '1'"),
        (["a", "b", "c"], {"classes": ["a", "c"]}, r"y has the label .*'b'.*, which is not in"),
        (np.eye(3), {"classes": ["a", "c"]}, r"got 2 names for 3 columns"),
        ([[0], [0, 1], [1]], {}, r"y has rows of different lengths"),
    ],
)
def test_bad_training_labels(y, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.propensities(y, **options)


@pytest.mark.parametrize("metric", [metrics.macro_f1, metrics.micro_f1])
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((TRUE, TRUE[:1]), {}, r"of the same shape; got \(2, 3\) and \(1, 3\)"),
        ((TRUE, [0, 1]), {}, r"must both be 1-D labels, both indicators or both lists"),
        ((TRUE, SCORES), {}, r"y_pred is 2-D and must be an indicator of zeros and ones"),
        (([], []), {}, r"y_true has no samples"),
        ((TRUE, TRUE), {"zero_division": 0.5}, r"zero_division must be 0.0, 1.0 or nan, got 0.5"),
        ((TRUE, TRUE), {"zero_division": "warn"}, r"zero_division must be .* got 'warn'"),
        ((TRUE, TRUE), {"sample_weight": [1.0]}, r"sample_weight must have shape \(2,\)"),
    ],
)
def test_bad_sets_of_labels(metric, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        metric(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "precision"}, r"metric must be one of \['precision_at_k', .*, got 'precision'"),
        ({"metric": metrics.macro_f1}, r"metric must be one of \['precision_at_k'"),
        ({"k": 0}, r"k must be an integer of at least 1, got 0"),
        ({"k": 1.5}, r"k must be an integer of at least 1, got 1\.5"),
        ({"metric": "psndcg_at_k"}, r"metric 'psndcg_at_k' needs propensities"),
        ({"propensities": [0.5]}, r"metric 'ndcg_at_k' does not take propensities"),
        ({"metric": "psndcg_at_k", "propensities": [0.5, 2]}, r"propensities must lie in \(0, 1\]"),
        (
            {"metric": "psprecision_at_k", "propensities": [0.5], "classes": ["a", "b"]},
            r"propensities must be of shape \(2,\)",
        ),
    ],
)
def test_bad_scorers(options, message):
    with pytest.raises(ValueError, match=message):
        metrics.make_topk_scorer(**options)


@pytest.mark.parametrize("y_true", [["a", "b"], [["a"], ["b", "c"]], np.array(["a", "b"])])
def test_names_against_numbers_are_refused(y_true):
    numbers = np.array([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"y_true holds texts, such as 'a', and y_pred numbers"):
        metrics.precision_at_k(y_true, numbers, k=1, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"binarizer\.classes_\[y_pred\]"):
        metrics.precision_at_k(y_true, numbers, k=1)
