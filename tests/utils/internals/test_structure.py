"""Sparse input of every format: its structure is checked before anything converts it."""

import numpy as np
import pytest
from _malformed import FORMATS, malformed
from _sparse_calls import CALLS, GOOD, ROWS
from scipy import sparse

from sklearn_xc import LDGSClassifier, PPDSparseClassifier
from sklearn_xc.utils._matrix import checked, checked_csr, in_checked_csr

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(0)


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
