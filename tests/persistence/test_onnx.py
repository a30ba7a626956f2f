"""Linear models as graphs of ONNX answer as `predict_topk`, run by ONNX's own reference."""

import sys

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc import MemoirSVC, PPDSparseClassifier, TopKNeighborsClassifier
from sklearn_xc.datasets import make_xc_classification
from sklearn_xc.persistence._onnx import write_onnx


def samples(dense=False):
    X, Y = make_xc_classification(120, 300, 9, n_labels=2, random_state=0)
    return (X.toarray() if dense else X), Y


def answers(path, X, k):
    """Labels and scores of a graph."""
    reference = pytest.importorskip("onnx.reference")
    given = {"k": np.array([k])}
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        given |= {"indices": X.indices.astype(np.int64), "data": X.data.astype(np.float32)}
        given |= {"rows": rows.astype(np.int64), "n": np.array([X.shape[0]])}
    else:
        given["X"] = X.astype(np.float32)
    return reference.ReferenceEvaluator(str(path)).run(["labels", "scores"], given)


@pytest.mark.parametrize("rows", [slice(1), slice(7), slice(40, 120)])
def test_sparse_weights_answer_as_the_model(tmp_path, rows):
    pytest.importorskip("onnx")
    X, Y = samples()
    model = PPDSparseClassifier(l1=0.2, random_state=0).fit(X, Y)
    write_onnx(model, str(tmp_path / "m.onnx"))
    labels, scores = answers(tmp_path / "m.onnx", X[rows], 3)
    expected = model.predict_topk(X[rows], 3)
    assert labels.tolist() == expected[0].tolist()
    np.testing.assert_allclose(scores, expected[1], atol=1e-6)


def test_rows_and_features_without_entries_get_the_intercept(tmp_path):
    pytest.importorskip("onnx")
    X, Y = samples()
    X = sparse.csr_array(X)
    X.data[np.isin(X.indices, [0, 299])] = 0  # the first and last feature have no weights
    X.data[X.indptr[3] : X.indptr[4]] = 0
    model = PPDSparseClassifier(l1=0.2, random_state=0).fit(X, Y)
    write_onnx(model, str(tmp_path / "m.onnx"))
    whole = sparse.vstack([X[:5], sparse.csr_array((2, 300)), X[5:9]], format="csr")
    for rows in (whole, sparse.csr_array((1, 300))):
        labels, scores = answers(tmp_path / "m.onnx", rows, 9)
        expected = np.asarray(model.decision_function(rows))
        np.testing.assert_allclose(np.take_along_axis(expected, labels, 1), scores, atol=1e-6)
        np.testing.assert_allclose(scores, -np.sort(-expected), atol=1e-6)


def test_dense_weights_are_one_product(tmp_path):
    onnx = pytest.importorskip("onnx")
    X, Y = samples(dense=True)
    model = MemoirSVC(random_state=0).fit(X, np.asarray(Y.argmax(axis=1)).ravel())
    write_onnx(model, str(tmp_path / "m.onnx"))
    operators = [node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node]
    assert operators == ["Gemm", "TopK"]
    labels, scores = answers(tmp_path / "m.onnx", X, 2)
    expected = model.predict_topk(X, 2)
    assert model.classes_[labels].tolist() == expected[0].tolist()
    np.testing.assert_allclose(scores, expected[1], rtol=1e-5, atol=1e-5)


def test_the_graph_is_valid(tmp_path):
    onnx = pytest.importorskip("onnx")
    write_onnx(
        PPDSparseClassifier(l1=0.2, random_state=0).fit(*samples()), str(tmp_path / "m.onnx")
    )
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)


def test_models_of_other_kinds_are_refused(tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="TopKNeighborsClassifier with 9 labels has no weights"):
        write_onnx(TopKNeighborsClassifier().fit(*samples()), str(tmp_path / "m.onnx"))


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"writing ONNX needs onnx, .* `pip install onnx`"):
        write_onnx(None, "m.onnx")
