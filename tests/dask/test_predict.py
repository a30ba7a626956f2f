"""`sklearn_xc.dask.predict_topk`: lazily, block by block, the answers of rows in memory."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from sklearn_xc import LDGSClassifier, PPDSparseClassifier, predict_topk
from sklearn_xc.dask import predict_topk as predict_lazily
from sklearn_xc.datasets import make_xc_classification

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")

X, Y = make_xc_classification(1000, 100, 30, n_labels=2, random_state=0)


@pytest.fixture(scope="module")
def model():
    return PPDSparseClassifier(random_state=0, calibration="sigmoid").fit(X, Y)


def dense_blocks(chunks=(300, -1)):
    return da.from_array(X.toarray(), chunks=chunks)


def sparse_blocks():
    return dense_blocks().map_blocks(sparse.csr_array, dtype=np.float32)


def unknown_rows():
    rows = dense_blocks()
    rows._chunks = ((np.nan,) * 4, (100,))
    return rows


@pytest.mark.parametrize(
    "rows",
    [dense_blocks, sparse_blocks, unknown_rows, lambda: dense_blocks((250, 40))],
    ids=["dense", "sparse", "unknown", "columns"],
)
@pytest.mark.parametrize("scores", ["decision", "proba"])
def test_the_same_answers(model, rows, scores):
    found = predict_lazily(model, rows(), k=3, scores=scores)
    expected = predict_topk(model, X, k=3, scores=scores)
    for lazy, some, wanted in zip(found, dask.compute(*found), expected, strict=True):
        np.testing.assert_array_equal(some, wanted)
        assert lazy.dtype == wanted.dtype
        assert lazy.chunks[1] == (3,)
        assert lazy.numblocks == (4, 1)
    matrix = predict_lazily(model, rows(), scores=scores, sparse_output=True)
    assert matrix.shape[1] == 30
    expected = predict_topk(model, X, scores=scores, sparse_output=True)
    assert abs(matrix.compute() - expected).nnz == 0
    assert matrix.dtype == np.float32


def test_nothing_is_computed_before_it_is_asked_for(model):
    seen = []

    def note(block):
        seen.append(len(block))
        return block

    labels, scores = predict_lazily(model, dense_blocks().map_blocks(note, meta=np.empty((0, 0))))
    assert seen == []
    labels[310:320].compute(scheduler="sync")
    assert seen == [300]
    dask.compute(labels, scores, scheduler="sync")
    assert sorted(seen) == [100, 300, 300, 300, 300]


def test_pipelines_texts_and_classes_of_any_kind():
    texts = np.array(["sort a list", "sort an array", "sum of squares", "sum of a list"], object)
    names = ["sort", "sort", "sum", "sum"]
    pipeline = make_pipeline(TfidfVectorizer(), PPDSparseClassifier()).fit(texts, names)
    labels, _ = predict_lazily(pipeline, da.from_array(texts, chunks=3), k=1)
    assert labels.compute().ravel().tolist() == names
    scaled = make_pipeline(Normalizer(), LDGSClassifier(random_state=0)).fit(X, Y.argmax(axis=1).A1)
    labels, scores = predict_lazily(scaled, sparse_blocks(), k=2)
    np.testing.assert_array_equal(scores.compute(), predict_topk(scaled, X, 2)[1])


def test_a_model_by_its_path(model, tmp_path):
    path = tmp_path / "model.sxc"
    model.save(path)
    found = dask.compute(*predict_lazily(path, sparse_blocks(), k=4))
    for some, wanted in zip(found, predict_topk(model, X, 4), strict=True):
        np.testing.assert_array_equal(some, wanted)
    other = PPDSparseClassifier(random_state=0, l1=0.5).fit(X, Y)
    other.save(path)
    scores = predict_lazily(str(path), sparse_blocks(), k=4)[1].compute()
    np.testing.assert_array_equal(scores, predict_topk(other, X, 4)[1])
    with pytest.raises(FileNotFoundError):
        predict_lazily(tmp_path / "none.sxc", dense_blocks())


def test_bad_arguments(model, monkeypatch):
    rows = dense_blocks()
    with pytest.raises(TypeError, match="X must be a Dask array, got csr_matrix"):
        predict_lazily(model, X)
    with pytest.raises(ValueError, match=r"k must be an integer from 1 to .* 30; got k=31"):
        predict_lazily(model, rows, k=31)
    with pytest.raises(ValueError, match="scores must be 'decision' or 'proba', got 'both'"):
        predict_lazily(model, rows, scores="both")
    with pytest.raises(ValueError, match="scores='proba': this PPDSparseClassifier has no predict"):
        predict_lazily(PPDSparseClassifier().fit(X, Y), rows, scores="proba")
    with pytest.raises(TypeError, match="Normalizer has no method predict_topk"):
        predict_lazily(Normalizer(), rows)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r"sklearn_xc.dask needs dask, .*pip install \"dask\["):
        predict_lazily(model, rows)


WEIGHT = np.random.default_rng(0).normal(size=30).astype(np.float32)
OF_ROWS = sparse.random_array((1000, 30), density=0.6, rng=np.random.default_rng(0), format="csr")
RESTRICTIONS = {
    "labels": {"labels": [3, 5, 7, 11, 20]},
    "exclude": {"exclude": [0, 1, 2, 3]},
    "weight": {"label_weight": WEIGHT},
    "of rows": {"labels": OF_ROWS, "label_weight": WEIGHT},
    "lists": {"exclude": [[row % 30, (row + 7) % 30] for row in range(1000)]},
    "both": {"labels": OF_ROWS, "exclude": range(5)},
}


@pytest.mark.parametrize("restriction", RESTRICTIONS)
@pytest.mark.parametrize("rows", [dense_blocks, sparse_blocks], ids=["dense", "sparse"])
def test_restricted_answers(model, rows, restriction):
    options = {"k": 2, **RESTRICTIONS[restriction]}
    found = dask.compute(*predict_lazily(model, rows(), **options))
    for some, wanted in zip(found, predict_topk(model, X, **options), strict=True):
        np.testing.assert_array_equal(some, wanted)
    matrix = predict_lazily(model, rows(), sparse_output=True, **options).compute()
    assert abs(matrix - predict_topk(model, X, sparse_output=True, **options)).nnz == 0


def test_names_and_restrictions_by_name(model, tmp_path):
    names = np.array([f"label {k:02}" for k in range(30)])
    options = {"k": 2, "labels": names[5:15], "names": names}
    expected = predict_topk(model, X, **options)
    model.save(tmp_path / "model.sxc")
    for estimator in (model, tmp_path / "model.sxc"):
        found = predict_lazily(estimator, dense_blocks(), **options)
        assert found[0].dtype == names.dtype
        for some, wanted in zip(dask.compute(*found), expected, strict=True):
            np.testing.assert_array_equal(some, wanted)


def test_restrictions_that_are_refused(model):
    for options, message in (
        ({"labels": [99]}, "labels names 99, which is not in classes_"),
        ({"labels": [3, 4], "k": 5}, "k=5 labels are requested, but sample 0 may have 2 only"),
        ({"label_weight": [1.0]}, "label_weight must be 1-D"),
        ({"label_weight": WEIGHT, "scores": "proba"}, "scores='decision' only"),
        ({"exclude": [[1]] * 7}, "exclude has lists for 7 samples, but X has 1000 samples"),
        ({"names": ["a"]}, "names must be 1-D with a name for each"),
    ):
        with pytest.raises(ValueError, match=message):
            predict_lazily(model, dense_blocks(), **options)
    for given in (OF_ROWS, [[1]] * 1000):
        with pytest.raises(
            ValueError, match="labels is by sample, but X has blocks of unknown sizes"
        ):
            predict_lazily(model, unknown_rows(), labels=given)
    same = predict_lazily(model, unknown_rows(), k=2, labels=[3, 4, 5])
    np.testing.assert_array_equal(
        same[0].compute(), predict_topk(model, X, k=2, labels=[3, 4, 5])[0]
    )


@pytest.mark.parametrize("sparse_output", [False, True])
def test_blocks_without_rows(model, sparse_output):
    """A filter leaves some, of sizes that Dask does not know."""
    rows = da.from_array(np.eye(100)[np.arange(100) // 25], chunks=(25, 100))
    left = rows[rows[:, 0] > 0]
    found = predict_lazily(model, left, k=2, sparse_output=sparse_output)
    expected = predict_topk(model, np.eye(100)[np.zeros(25, int)], k=2, sparse_output=sparse_output)
    if sparse_output:
        assert abs(found.compute() - expected).nnz == 0
        return
    for some, wanted in zip(dask.compute(*found), expected, strict=True):
        np.testing.assert_array_equal(some, wanted)
