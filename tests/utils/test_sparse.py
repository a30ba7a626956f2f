"""Sparse input of every format: its structure is checked before anything converts it."""

from functools import cache

import numpy as np
import pytest
from _malformed import FORMATS, malformed
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
from sklearn_xc.utils._sparse import checked, checked_csr, in_checked_csr

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)
ROWS = np.where(RNG.random((30, 12)) < 0.4, RNG.random((30, 12)), 0)
ROWS[:, 0] = 1


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sound_matrices_stay_what_they_are(form, kind):
    matrix = getattr(sparse, f"{form}_{kind}")(ROWS)
    found = checked(matrix, "X")
    assert isinstance(found, sparse.sparray) == (kind == "array")
    np.testing.assert_array_equal(found.toarray(), ROWS)
    csr = checked_csr(matrix, "X")
    assert csr.format == "csr"
    np.testing.assert_array_equal(csr.toarray(), ROWS)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(12))
def test_malformed_matrices_are_refused(form, seed):
    broken = malformed(sparse.csr_array(ROWS), form, np.random.default_rng(seed))
    with pytest.raises(ValueError, match="W is not a valid sparse matrix"):
        checked(broken, "W")


def test_blocks_that_do_not_fill_the_shape():
    blocks = sparse.bsr_array(ROWS, blocksize=(2, 2))
    blocks._shape = (31, 12)
    with pytest.raises(ValueError, match=r"X is not a valid sparse matrix"):
        checked(blocks, "X")


def test_one_dimension():
    with pytest.raises(ValueError, match="X must have two dimensions if it is sparse"):
        checked(sparse.coo_array(ROWS[0]), "X")


def test_dense_and_csr_are_left_to_later_checks():
    csr = sparse.csr_array(ROWS)
    assert in_checked_csr(csr, "X") is csr
    assert in_checked_csr(ROWS, "X") is ROWS


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


@pytest.mark.parametrize("name", CALLS)
def test_every_public_function_refuses_them(name):
    """In this process: a crash of one would end the run."""
    for form in FORMATS:
        for seed in range(7):
            broken = malformed(GOOD, form, np.random.default_rng(seed))
            with pytest.raises(ValueError, match="is not a valid sparse matrix"):
                CALLS[name](broken)


@pytest.mark.parametrize("estimator", ["ppd", "ldgs"])
def test_weights_put_in_place_by_hand(estimator):
    y = np.arange(30) % 4
    model = {"ppd": PPDSparseClassifier, "ldgs": LDGSClassifier}[estimator](random_state=0)
    model.fit(ROWS, y)
    for form in "csr", "csc", "coo":
        model.coef_ = malformed(sparse.csr_array(np.asarray(ROWS[:4])), form, RNG)
        for method in "predict", "decision_function", "predict_topk", "explain":
            with pytest.raises(ValueError, match="coef_ is not a valid sparse matrix"):
                getattr(model, method)(ROWS)
        with pytest.raises(ValueError, match="coef_ is not a valid sparse matrix"):
            model.prune(0.1)
        with pytest.raises(ValueError, match="coef_ is not a valid sparse matrix"):
            model.save("/nowhere/model")
        if estimator == "ldgs":
            with pytest.raises(ValueError, match="coef_ is not a valid sparse matrix"):
                model.partial_fit(ROWS, y)
