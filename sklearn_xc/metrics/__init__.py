"""Metrics of rankings of very many classes or labels, and scorers made of them.

The metrics look at the k best predictions of every sample (precision_at_k, recall_at_k, ndcg_at_k,
psprecision_at_k, psndcg_at_k, top_k_accuracy, mrr_at_k, map_at_k, f1_at_k), at their probabilities
(reliability_curve, expected_calibration_error, coverage_curve) or at predicted sets of labels
(macro_f1, micro_f1, example_f1).
All take sparse input as it is, and build nothing of size (n, K) that was not given.

True labels of the ranking metrics, ``y_true``:

* a 1-D array holds one class label a sample, of any dtype;
* a 2-D array, sparse matrix or DataFrame of shape (n, K) is an indicator of zeros and ones; values
  between them are grades, whose labels are true;
* a list (or Series, or object array) of lists, tuples or sets holds the labels of each sample.
  Labels that training has not met can only be given so, or as columns of a DataFrame: they count as
  true and are never found. ``MultiLabelBinarizer.transform`` drops them, which makes recall too
  high.

Predictions, ``y_pred``, are told apart by their type alone:

* a sparse matrix of shape (n, K) holds scores. Only stored entries are ranked, explicit zeros too;
  what is not stored is never retrieved;
* a dense array of floats of shape (n, K) holds scores;
* the result of ``cross_val_topk`` is taken as it is, without samples that were never tested;
* any other dense array, of shape (n, m) with m >= k, holds the labels predicted for each sample,
  best first and without repeats, as ``predict_topk`` returns them. Class labels that are floats
  must come as ``y_pred.astype(object)``, since floats are scores.

Equal scores are ranked by column, the smaller first.

Predicted sets of labels, for macro_f1, micro_f1 and example_f1, are what ``predict`` returns: class
labels, an indicator, or a list of labels for each sample. Such lists are in no order, so that the
other metrics refuse them where their lengths differ.

``classes`` names the K columns of scores and indicators; a model or a MultiLabelBinarizer stands
for its ``classes_``. For an indicator the default is the
column numbers 0..K-1, or the column names of a DataFrame. For 1-D true labels it must be given
with scores; with top-k labels it is not needed, and if given the predicted labels must be among
it. A true label that is not in ``classes``, such as one never seen in training, can not be
predicted: a miss.
"""

from ._at_k import (
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psprecision_at_k,
    recall_at_k,
    top_k_accuracy,
)
from ._coverage import coverage_curve
from ._f1 import example_f1, macro_f1, micro_f1
from ._found_at_k import f1_at_k, map_at_k, mrr_at_k
from ._propensities import propensities
from ._reliability import expected_calibration_error, reliability_curve
from ._scorer import make_topk_scorer

__all__ = [
    "coverage_curve",
    "example_f1",
    "expected_calibration_error",
    "f1_at_k",
    "macro_f1",
    "make_topk_scorer",
    "map_at_k",
    "micro_f1",
    "mrr_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psprecision_at_k",
    "recall_at_k",
    "reliability_curve",
    "top_k_accuracy",
]
