"""The k best classes of the rows of a Dask array, lazily and block by block."""

import os
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..persistence import load
from ..topk._predict import predict_topk as topk_of_rows
from ..utils._optional_import import optional_import
from ..utils._unwrap import find_inner
from ..utils._validation import check_k


def predict_topk(estimator, X, k=None, scores="decision", sparse_output=False):
    """The k best classes of each row of a Dask array, computed block by block when asked for.

    Parameters
    ----------
    estimator : estimator, str or path-like
        Fitted, as for :func:`sklearn_xc.predict_topk`: also a Pipeline or a search. It is sent to
        each worker once. Or the path of a saved model, which each worker maps into its memory: the
        way for large models, where all workers see the file.
    X : dask.array.Array of shape (n_samples, n_features), or (n_samples,) for texts
        With dense or SciPy sparse blocks, and perhaps unknown numbers of rows. Columns in several
        blocks are brought together.
    k : int, default=None
        Number of classes; by default the smaller of 5 and the number of classes.
    scores : {"decision", "proba"}, default="decision"
        What to return beside the labels.
    sparse_output : bool, default=False
        Whether to return one array of sparse blocks with k entries a row instead of two arrays.

    Returns
    -------
    labels : dask.array.Array of shape (n_samples, k)
    scores : dask.array.Array of float32, shape (n_samples, k)
        In the blocks of rows of X. ``dask.compute(labels, scores)`` computes both at once.
    matrix : dask.array.Array of float32, shape (n_samples, n_classes)
        In their place with `sparse_output`, its blocks csr_array.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError
        If X is no Dask array, or no estimator with ``predict_topk`` is found.
    ValueError
        If k or `scores` is out of its range.

    See Also
    --------
    sklearn_xc.predict_topk : The same of rows in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_xc import PPDSparseClassifier
    >>> from sklearn_xc.dask import predict_topk
    >>> from sklearn_xc.datasets import make_xc_classification
    >>> X, y = make_xc_classification(n_samples=300, n_features=50, n_classes=20, random_state=0)
    >>> model = PPDSparseClassifier().fit(X, y)
    >>> labels, scores = predict_topk(model, da.from_array(X.toarray(), chunks=(100, -1)), k=3)
    >>> labels.chunks
    ((100, 100, 100), (3,))
    >>> labels[:2].compute().shape
    (2, 3)
    """
    da = optional_import("dask.array", "sklearn_xc.dask")
    delayed = optional_import("dask.delayed", "sklearn_xc.dask").delayed
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a Dask array, got {type(X).__name__}; for rows in memory there is "
            "sklearn_xc.predict_topk"
        )
    if isinstance(estimator, (str, os.PathLike)):
        estimator = _Path(os.path.abspath(estimator), os.stat(estimator).st_mtime_ns)
    inner = find_inner(_opened(estimator), "predict_topk").estimator
    n_classes = len(inner.classes_)
    k = check_k(k, n_classes)
    _check_scores(inner, scores)
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    model = delayed(estimator, pure=True)
    options = k, scores, sparse_output
    answer = delayed(_block, pure=True)
    blocks = [answer(model, block, *options) for block in X.to_delayed().ravel()]
    sizes = X.chunks[0]
    if sparse_output:
        meta = sparse.csr_array((0, n_classes), dtype=np.float32)
        return _array(da, blocks, sizes, n_classes, meta)
    labels, values = np.empty((0, k), inner.classes_.dtype), np.empty((0, k), np.float32)
    return (
        _array(da, [block[0] for block in blocks], sizes, k, labels),
        _array(da, [block[1] for block in blocks], sizes, k, values),
    )


def _array(da, blocks, sizes, n_columns, meta):
    """Blocks of rows as one Dask array."""
    arrays = [
        da.from_delayed(block, (size, n_columns), dtype=meta.dtype, meta=meta)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _check_scores(inner, scores):
    if scores not in ("decision", "proba"):
        raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
    if scores == "proba" and not hasattr(inner, "predict_proba"):
        raise ValueError(
            f"scores='proba': this {type(inner).__name__} has no predict_proba; see its parameter "
            "calibration, if it has one"
        )


class _Path(NamedTuple):
    """Where a model lies, and when it was written: a file that is replaced is another model."""

    path: str
    written: int


def _opened(estimator):
    """The estimator; that of a path is mapped, once in each process."""
    return _mapped(estimator) if isinstance(estimator, _Path) else estimator


@lru_cache(maxsize=4)
def _mapped(path):
    return load(path.path, mmap_mode="r")


def _block(estimator, X, k, scores, sparse_output):
    """On a worker."""
    return topk_of_rows(_opened(estimator), X, k, scores, sparse_output)
