"""Bad input to the indexes: one clear error that says what was given and what is allowed."""

import re

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc.mips import ExactIndex, HNSWIndex, LinearSketch, SimpleLSHIndex, SphericalIndex

ROWS = np.random.default_rng(0).normal(size=(40, 5))
NOT_FINITE = ROWS.copy()
NOT_FINITE[3, 2] = np.nan


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (
            ExactIndex(min_recall=1.5),
            "The 'min_recall' parameter of ExactIndex must be a float in ",
        ),
        (
            ExactIndex(n_jobs=1.5),
            "'n_jobs' parameter of ExactIndex must be an instance of 'int' or None.",
        ),
        (HNSWIndex(M=1), "'M' parameter of HNSWIndex must be an int in the range [2, 512]. Got 1"),
        (HNSWIndex(M=True), "must be an int in the range [2, 512]. Got True"),
        (HNSWIndex(ef_construction=0), "must be an int in the range [1, inf). Got 0"),
        (HNSWIndex(n_candidates=0), "must be an int in the range [1, inf) or None. Got 0"),
        (HNSWIndex(reduction="l2"), "'reduction' parameter of HNSWIndex must be a str among"),
        (HNSWIndex(rebuild_share=-1), "'rebuild_share' parameter of HNSWIndex must be a float in"),
        (SphericalIndex(n_clusters=0), "'n_clusters' parameter of SphericalIndex must be an"),
        (SphericalIndex(n_probes="few"), "must be an int in the range [1, inf) or None. Got 'few'"),
        (SphericalIndex(n_components=1), "'n_components' parameter of SphericalIndex must be"),
        (SimpleLSHIndex(n_bits=100), "n_bits of SimpleLSHIndex must be a multiple of 64; got 100"),
        (SimpleLSHIndex(n_bits=2048), "'n_bits' parameter of SimpleLSHIndex must be an int"),
        (
            SimpleLSHIndex(reduction="ip"),
            "parameter of SimpleLSHIndex must be a str among",
        ),
    ],
)
def test_parameters(index, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        index.build(ROWS)


@pytest.mark.parametrize("name", ["rows", "queries"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ROWS[0], "{} must be a matrix of two dimensions"),
        (ROWS[:, :0], "{}"),
        (NOT_FINITE, "{} must be finite in float32"),
        (sparse.csr_array(NOT_FINITE), "{} must be finite in float32"),
        (ROWS * 1e39, "{} must be finite in float32"),
        (ROWS.astype(complex), "{} must hold real numbers, got dtype complex128"),
        (ROWS.astype(str), "{} must hold real numbers, got dtype <U"),
        (ROWS[:0], "{} must have at least one row"),
    ],
)
def test_rows_and_queries(name, given, message):
    arguments = {"rows": ROWS, "queries": ROWS} | {name: given}
    with pytest.raises(ValueError, match=re.escape(message.format(name))):
        HNSWIndex(random_state=0).build(**arguments)


def test_sparse_matrix_with_a_feature_out_of_range():
    broken = sparse.csr_array(ROWS)
    broken.indices[0] = 99
    with pytest.raises(ValueError, match="rows is not a valid sparse matrix"):
        ExactIndex().build(broken)


@pytest.mark.parametrize("method", ["query", "candidates"])
@pytest.mark.parametrize(
    ("Q", "k", "message"),
    [
        (ROWS, 41, "must be an integer from 1 to the number of rows, 40; got 41"),
        (ROWS, 0, "must be an integer from 1 to the number of rows, 40; got 0"),
        (ROWS, 2.0, "must be an integer from 1 to the number of rows, 40; got 2.0"),
        (ROWS[:, :4], 2, "Q has 4 features, but the rows of the index have 5"),
        (NOT_FINITE, 2, "Q must be finite in float32"),
        (ROWS[0], 2, "Q must be a matrix of two dimensions"),
    ],
)
def test_queries(method, Q, k, message):
    index = ExactIndex().build(ROWS)
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(index, method)(Q, k)


@pytest.mark.parametrize(
    ("ids", "rows", "message"),
    [
        ([40], ROWS[:1], "ids must be from 0 to 39; got 40 to 40"),
        ([-1], ROWS[:1], "ids must be from 0 to 39; got -1 to -1"),
        ([1, 1], ROWS[:2], "ids must not name a row twice"),
        ([1.0], ROWS[:1], "ids must be a vector of row numbers; got shape (1,), dtype float64"),
        ([[1]], ROWS[:1], "ids must be a vector of row numbers; got shape (1, 1)"),
        ([1, 2], ROWS[:1], "rows has 1 rows, but ids names 2"),
        ([1], ROWS[:1, :3], "rows has 3 features, but the rows of the index have 5"),
        ([1], NOT_FINITE[3:4], "rows must be finite in float32"),
    ],
)
def test_updates(ids, rows, message):
    index = ExactIndex().build(ROWS)
    with pytest.raises(ValueError, match=re.escape(message)):
        index.update(ids, rows)
    np.testing.assert_allclose(index.query(ROWS, 1)[1], (ROWS @ ROWS.T).max(axis=1)[:, None], 1e-5)


def test_nothing_to_update():
    index = ExactIndex().build(ROWS)
    assert index.update([], np.empty((0, 5))) is index


@pytest.mark.parametrize("call", ["query", "candidates", "update"])
def test_before_build(call):
    with pytest.raises(ValueError, match="this HNSWIndex has no rows yet: call build first"):
        getattr(HNSWIndex(), call)(ROWS, 1)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("n", [3, 30])
def test_scores_beyond_float32(kind, n):
    index = ExactIndex().build(kind(ROWS * 1e25))
    with pytest.raises(ValueError, match="float32"):
        index.query(ROWS[:n] * 1e25, 2)


@pytest.mark.parametrize(
    ("sketch", "message"),
    [
        (LinearSketch(n_components=0), "'n_components' parameter of LinearSketch must be an"),
        (LinearSketch(n_components=2), "n_nonzeros must be at most n_components=2, got 4"),
    ],
)
def test_sketches(sketch, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        sketch.fit(10)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ([0, 12], "kept must be from 0 to 9; got 0 to 12"),
        ([3, 3], "kept must not name a row twice"),
        ([0.5], "kept must be a vector of row numbers"),
        ([0, 1, 2, 3, 4], "n_nonzeros must be at most n_components=8 less the 5 kept, got 4"),
    ],
)
def test_features_that_a_sketch_cannot_keep(kept, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        LinearSketch(n_components=8).fit(10, kept)


@pytest.mark.parametrize("n_features", [0, 2.5])
def test_sketches_of_no_features(n_features):
    with pytest.raises(ValueError, match="n_features must be an integer of at least 1"):
        LinearSketch().fit(n_features)
