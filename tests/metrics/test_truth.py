"""True labels that no model knows, tables with other columns, rows that were never tested."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, make_scorer
from sklearn.preprocessing import MultiLabelBinarizer

from sklearn_xc import LabelTextClassifier, PPDSparseClassifier, predict_topk
from sklearn_xc.inspection import label_report
from sklearn_xc.metrics import (
    example_f1,
    expected_calibration_error,
    f1_at_k,
    macro_f1,
    make_topk_scorer,
    micro_f1,
    mrr_at_k,
    ndcg_at_k,
    precision_at_k,
    psprecision_at_k,
    recall_at_k,
    top_k_accuracy,
)
from sklearn_xc.model_selection import cross_val_topk

X = np.eye(4).repeat(10, axis=0)
TRAIN = [[word] for word in np.repeat(list("abcd"), 10)]
TEST = [["a", "new"], ["b", "new"], ["c"], ["d"]]


@pytest.fixture(scope="module")
def model():
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = binarizer.fit_transform(TRAIN)
    return PPDSparseClassifier(label_names=binarizer.classes_, random_state=0).fit(X, Y)


def forms():
    names = ["new", "d", "c", "b", "a"]  # more columns than the model has, in another order
    frame = pd.DataFrame([[name in row for name in names] for row in TEST], columns=names)
    series = pd.Series(TEST)
    objects = np.empty(4, dtype=object)
    objects[:] = TEST
    return [
        TEST,
        [tuple(row) for row in TEST],
        [set(row) for row in TEST],
        series,
        objects,
        frame,
        frame.astype(int),
        frame.astype(float),
    ]


@pytest.mark.parametrize("y", forms(), ids=lambda y: type(y).__name__)
def test_labels_unseen_in_training_count(model, y):
    best, _ = predict_topk(model, np.eye(4), k=1)
    for classes in (model, model.classes_):
        assert recall_at_k(y, best, k=1, classes=classes) == 0.75
        assert ndcg_at_k(y, best, k=1, classes=classes) == 1
    scores = model.decision_function(np.eye(4))
    assert recall_at_k(y, scores, k=1, classes=model) == 0.75
    two, _ = predict_topk(model, np.eye(4), k=2)
    assert f1_at_k(y, two, k=2, classes=model) == pytest.approx((0.5 + 0.5 + 2 / 3 + 2 / 3) / 4)


def test_lists_need_no_classes_beside_labels(model):
    best, _ = predict_topk(model, np.eye(4), k=1)
    assert recall_at_k(TEST, best, k=1) == 0.75
    assert recall_at_k([*TEST[:3], []], best, k=1) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="not in classes"):
        psprecision_at_k(TEST, best, k=1, propensities=np.ones(4) / 2, classes=model)


def test_lists_of_zeros_and_ones_are_an_indicator():
    assert precision_at_k([[1, 0], [0, 1]], [[0], [1]], k=1) == 1
    assert precision_at_k([[3, 5], [5, 7]], [[3], [7]], k=1) == 1  # lists of labels
    with pytest.raises(ValueError, match="got 3 names for 2 columns"):
        precision_at_k([[1, 0], [0, 1]], [[0], [1]], k=1, classes=[0, 1, 2])


def test_grades_are_true_labels():
    graded, plain = np.array([[0.5, 0, 0], [0, 0.1, 1]]), np.array([[1, 0, 0], [0, 1, 1]])
    top = [[0, 1], [2, 0]]
    for metric in (precision_at_k, recall_at_k, ndcg_at_k, mrr_at_k):
        assert metric(graded, top, k=2) == metric(plain, top, k=2)
    assert macro_f1(graded, plain) == 1
    rows = np.eye(3)
    fitted = PPDSparseClassifier(random_state=0, graded=True).fit(rows, np.eye(3) / 2)
    report = label_report(fitted, rows, np.eye(3) / 2)
    assert report.n_true.tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("ignore:.*equal a training sample")
def test_rows_that_were_never_tested_do_not_count():
    code = np.r_[np.repeat(np.arange(20), 10), np.arange(20, 40)]
    y = np.array([f"class {c:02d}" for c in code])
    rows = np.eye(40)[code]
    found = cross_val_topk(PPDSparseClassifier(random_state=0), rows, y, k=1)
    codes, _, classes = found
    with pytest.raises(IndexError):
        classes[codes]  # which was "class 39" for 20 rows
    assert found.tested.tolist() == [True] * 200 + [False] * 20
    assert found.labels.shape == (200, 1)
    assert top_k_accuracy(y, found, k=1) == 1
    assert top_k_accuracy(y[found.tested], found.labels, k=1) == 1
    indicator = y[:, None] == classes
    weight = np.where(np.arange(220) < 200, 1.0, 5.0)
    for truth in (indicator, pd.DataFrame(indicator, columns=classes), [[label] for label in y]):
        assert precision_at_k(truth, found, k=1, sample_weight=weight) == 1
    with pytest.raises(ValueError, match="has classes of its own"):
        top_k_accuracy(y, found, k=1, classes=classes[::-1])
    with pytest.raises(ValueError, match="y_true has 3 samples and y_pred 220"):
        top_k_accuracy(y[:3], found, k=1)


def test_folds_with_fewer_classes_have_empty_places():
    y = np.repeat(["a", "b", "c"], 10)
    rows = np.eye(3)[np.repeat([0, 1, 2], 10)]
    cut = [(np.flatnonzero(y != one), np.flatnonzero(y == one)) for one in "abc"]
    found = cross_val_topk(PPDSparseClassifier(random_state=0), rows, y, k=3, cv=cut)
    with pytest.raises(ValueError, match="fewer than k=3 classes"):
        found.labels  # noqa: B018
    assert recall_at_k(y, found, k=3) == 0


@pytest.mark.filterwarnings("ignore:.*equal a training sample")
def test_probabilities_out_of_fold():
    model = PPDSparseClassifier(random_state=0, calibration="sigmoid", calibration_cv=2)
    y = np.repeat(list("abcd"), 10)
    _, scores, _ = cross_val_topk(model, X, y, k=2, cv=2, scores="proba")
    assert ((scores >= 0) & (scores <= 1)).all()
    with pytest.raises(ValueError, match="scores must be"):
        cross_val_topk(model, X, y, scores="odds")


def test_numbers_as_names_are_no_column_numbers():
    """Names 1 to 20 of columns 0 to 19 were taken for the columns beside them: 0.0 for 1.0."""
    code = np.arange(200) % 20
    rows, Y = np.eye(20)[code], np.eye(20, dtype=int)[code]
    model = PPDSparseClassifier(label_names=np.arange(1, 21), random_state=0).fit(rows, Y)
    best, _ = model.predict_topk(rows, k=1)
    with pytest.raises(ValueError, match="nothing names the columns of y_true"):
        precision_at_k(Y, best, k=1)
    assert precision_at_k(Y, best, k=1, classes=model) == 1
    numbered = PPDSparseClassifier(random_state=0).fit(rows, Y)
    assert precision_at_k(Y, numbered.predict_topk(rows, k=1)[0], k=1) == 1


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 7)])
def test_example_f1_is_that_of_scikit_learn(weight):
    rng = np.random.default_rng(0)
    some, other = rng.random((2, 6, 5)) < 0.4
    some[0] = other[0] = False
    expected = f1_score(some, other, average="samples", sample_weight=weight, zero_division=0)
    assert example_f1(some, other, sample_weight=weight) == pytest.approx(expected)
    left = f1_score(
        some[1:],
        other[1:],
        average="samples",
        zero_division=0,
        sample_weight=None if weight is None else weight[1:],
    )
    found = example_f1(some, other, sample_weight=weight, zero_division=np.nan)
    assert found == pytest.approx(left)


def test_functions_as_metrics_of_scorers(model):
    Y = np.eye(4, dtype=int)
    assert make_topk_scorer(mrr_at_k, 2)(model, np.eye(4), Y) == 1
    assert make_topk_scorer(precision_at_k, 2).metric == "precision_at_k"

    def misses(y_true, y_pred, *, k, classes, sample_weight=None):
        return -1 + precision_at_k(y_true, y_pred, k, classes=classes, sample_weight=sample_weight)

    scorer = make_topk_scorer(misses, 1)
    assert "misses" in repr(scorer)
    assert scorer(model, np.eye(4), Y) == 0
    assert scorer(model, np.eye(4), Y, np.ones(4)) == 0


def test_f1_goes_by_the_names_of_classes_and_counts_labels_of_none():
    names = ["a", "b", "c"]
    truth = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    predicted = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    table = pd.DataFrame(truth, columns=names)
    lists = [["a", "c"], ["b"], []]
    unseen = [["a", "c"], ["b"], ["z", "y"]]
    for metric in (macro_f1, micro_f1, example_f1):
        expected = metric(truth, predicted)
        assert metric(table[["c", "a", "b"]], predicted, classes=names) == expected
        assert metric(lists, csr_array(predicted), classes=names) == expected
        widened = table.assign(z=[0, 0, 1], y=[0, 0, 1])
        assert metric(unseen, predicted, classes=names) == metric(widened, predicted, classes=names)
    # 2 pairs are right, of 3 predicted and 3 + 2 true ones
    assert micro_f1(unseen, predicted, classes=names) == pytest.approx(2 * 2 / 8)
    assert macro_f1(unseen, predicted, classes=names) == pytest.approx((1 + 1 + 0 + 0) / 4)
    labels, others = ["a", "b", "z"], ["a", "c", "c"]
    assert micro_f1(labels, others, classes=names) == pytest.approx(1 / 3)


def test_calibration_error_goes_by_the_names_of_classes():
    rng = np.random.default_rng(0)
    truth = pd.DataFrame((rng.random((50, 3)) < 0.3).astype(int), columns=["a", "b", "c"])
    proba = rng.random((50, 3))
    error = expected_calibration_error(truth, proba)
    other = truth[["c", "a", "b"]]
    assert expected_calibration_error(other, proba, classes=["a", "b", "c"]) == error


def test_scorers_take_lists_of_labels(model):
    scorer = make_topk_scorer("recall_at_k", k=1)
    assert scorer(model, np.eye(4), TEST) == 0.75


NAMES = ["ant", "bee", "cow", "dog"]
TRUE_LISTS = [["ant", "bee"], ["cow"], ["bee", "dog"], []]
PREDICTED_LISTS = [["bee", "ant"], [], ["bee"], ["cow"]]


def indicator(lists):
    return np.array([[name in labels for name in NAMES] for labels in lists]).astype(int)


@pytest.mark.parametrize("metric", [example_f1, micro_f1, macro_f1])
def test_predictions_may_be_lists_of_labels(metric):
    """As `LabelTextClassifier.predict` gives them, beside every form of truth."""
    expected = metric(indicator(TRUE_LISTS), indicator(PREDICTED_LISTS))
    assert metric(TRUE_LISTS, PREDICTED_LISTS) == expected
    for truth in (TRUE_LISTS, indicator(TRUE_LISTS)):
        for predicted in (PREDICTED_LISTS, indicator(PREDICTED_LISTS)):
            assert metric(truth, predicted, classes=NAMES) == expected
    one_each = ["bee", "cow", "bee", "cow"]
    as_lists = [[label] for label in one_each]
    assert metric(TRUE_LISTS, one_each) == metric(TRUE_LISTS, as_lists)
    assert metric(one_each, PREDICTED_LISTS) == metric(as_lists, PREDICTED_LISTS)
    assert metric(TRUE_LISTS, [[]] * 4) == metric(indicator(TRUE_LISTS), np.zeros((4, 4), int))


def test_numbers_in_lists_beside_lists_are_labels():
    assert example_f1([[0, 1], [2]], [[0], [1]]) == pytest.approx((2 / 3 + 0) / 2)
    assert example_f1([[0], [1]], [[0, 1], [1]]) == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("truth", "predicted", "options", "message"),
    [
        (TRUE_LISTS, PREDICTED_LISTS, {"classes": NAMES[:2]}, "y_pred holds the label 'cow', whic"),
        (["ant"] * 4, ["emu"] * 4, {"classes": NAMES}, "y_pred holds the label 'emu'"),
        (indicator(TRUE_LISTS), PREDICTED_LISTS, {}, "y_true is an indicator, .* give classes"),
        (TRUE_LISTS, indicator(PREDICTED_LISTS), {}, "y_pred is an indicator, .* give classes"),
        (TRUE_LISTS, PREDICTED_LISTS[:3], {}, r"same shape; got \(4, 4\) and \(3, 4\)"),
        (TRUE_LISTS, [["ant"], "bee", "cow", "dog"], {}, "y_pred mixes labels and lists of labels"),
        (TRUE_LISTS, [["ant"], [None], [], []], {}, "y_pred has labels that are missing"),
    ],
)
def test_lists_that_do_not_go_together(truth, predicted, options, message):
    with pytest.raises(ValueError, match=message):
        example_f1(truth, predicted, **options)


def test_sets_are_no_rankings():
    with pytest.raises(ValueError, match=r"different lengths, .*predict_topk.* example_f1"):
        f1_at_k(TRUE_LISTS, PREDICTED_LISTS, k=1)


def test_scores_of_a_model_that_predicts_lists():
    texts = ["ant hill", "bee hive", "ant bee", "cow milk", "dog bark"] * 8
    y = [["ant"], ["bee"], ["ant", "bee"], ["cow"], ["dog", "cow"]] * 8
    model = LabelTextClassifier(PPDSparseClassifier(random_state=0)).fit(texts, y)
    assert example_f1(y, model.predict(texts)) > 0.8
    assert make_scorer(example_f1)(model, texts, y) == example_f1(y, model.predict(texts))
    assert make_topk_scorer("f1_at_k", k=1)(model, texts, y) > 0.7
