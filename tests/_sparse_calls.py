"""Every public function that takes a sparse matrix, called with one."""

from functools import cache

import numpy as np
from scipy import sparse

from sklearn_xc import (
    AugmentReduceClassifier,
    LDGSClassifier,
    LDGSWordEmbedding,
    PPDSparseClassifier,
    TopKCalibratedClassifier,
    datasets,
    explain,
    metrics,
    mips,
    model_selection,
)
from sklearn_xc.inspection import label_report

RNG = np.random.default_rng(0)
ROWS = np.where(RNG.random((30, 12)) < 0.4, RNG.random((30, 12)), 0)
ROWS[:, 0] = 1
GOOD = sparse.csr_array(ROWS)
CLASSES = np.arange(30) % 3
LABELS = sparse.csr_array(np.eye(12, dtype=int)[np.arange(30) % 12])
CALLS = {
    "fit, X": lambda broken: PPDSparseClassifier().fit(broken, CLASSES),
    "fit, y": lambda broken: PPDSparseClassifier().fit(GOOD, broken),
    "partial_fit, X": lambda broken: AugmentReduceClassifier().partial_fit(
        broken, CLASSES, classes=[0, 1, 2]
    ),
    "fit of LDGS": lambda broken: LDGSClassifier().fit(broken, CLASSES),
    "predict": lambda broken: fitted().predict(broken),
    "predict_topk": lambda broken: fitted().predict_topk(broken),
    "decision_function": lambda broken: fitted().decision_function(broken),
    "method explain": lambda broken: fitted().explain(broken),
    "explain": lambda broken: explain(fitted(), broken),
    "explain, labels": lambda broken: fitted(True).explain(GOOD, broken),
    "add_labels": lambda broken: fitted(True).add_labels(GOOD, broken),
    "label_report": lambda broken: label_report(fitted(True), GOOD, broken),
    "wrapper, X": lambda broken: TopKCalibratedClassifier(cv=2).fit(broken, CLASSES),
    "wrapper, y": lambda broken: TopKCalibratedClassifier(cv=2).fit(GOOD, broken),
    "build": lambda broken: mips.HNSWIndex().build(broken),
    "build, queries": lambda broken: mips.HNSWIndex().build(GOOD, broken),
    "query": lambda broken: mips.ExactIndex().build(GOOD).query(broken, 2),
    "update": lambda broken: mips.ExactIndex().build(GOOD).update(np.arange(30), broken),
    "sketch": lambda broken: mips.LinearSketch(4).fit(12).transform(broken),
    "precision, y_true": lambda broken: metrics.precision_at_k(broken, LABELS),
    "precision, y_pred": lambda broken: metrics.precision_at_k(LABELS, broken),
    "f1": lambda broken: metrics.macro_f1(LABELS, broken),
    "propensities": lambda broken: metrics.propensities(broken),
    "reliability": lambda broken: metrics.reliability_curve(LABELS, broken, k=2),
    "rare labels": lambda broken: list(model_selection.RareLabelKFold(2).split(ROWS, broken)),
    "stratified": lambda broken: list(
        model_selection.IterativeStratifiedKFold(2).split(ROWS, broken)
    ),
    "train_test_split": lambda broken: model_selection.train_test_split(broken, test_size=0.5),
    "cross_validate": lambda broken: model_selection.cross_validate(
        PPDSparseClassifier(), broken, CLASSES, cv=2
    ),
    "cross_val_topk, X": lambda broken: model_selection.cross_val_topk(
        PPDSparseClassifier(), broken, CLASSES, cv=2
    ),
    "cross_val_topk, y": lambda broken: model_selection.cross_val_topk(
        PPDSparseClassifier(), GOOD, broken, cv=2
    ),
    "first_label": datasets.first_label,
    "repeat, X": lambda broken: datasets.repeat_per_label(broken, LABELS),
    "repeat, Y": lambda broken: datasets.repeat_per_label(GOOD, broken),
    "dump, X": lambda broken: datasets.dump_xc("/dev/null", broken, LABELS),
    "dump, Y": lambda broken: datasets.dump_xc("/dev/null", GOOD, broken),
    "words": lambda broken: LDGSWordEmbedding(vocabulary=[f"w{i}" for i in range(30)]).fit(broken),
}


@cache
def fitted(multilabel=False):
    return PPDSparseClassifier(random_state=0).fit(GOOD, LABELS if multilabel else CLASSES)
