"""The k best classes of the samples in a Dask array, lazily and block by block."""

import os
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from ..base._labels import NESTED
from ..persistence import load
from ..topk._predict import checked_names
from ..topk._predict import predict_topk as topk_of_rows
from ..topk._restriction import checked_weight, read_restriction
from ..utils._label_places import Named, named_labels
from ..utils._optional_import import optional_import
from ..utils._typing import LabelsLike, Matrix
from ..utils._unwrap import find_inner
from ..utils._validation import check_k


def predict_topk(
    estimator: Any,
    X: Any,
    k: int | None = None,
    scores: str = "decision",
    sparse_output: bool = False,
    *,
    labels: LabelsLike | None = None,
    exclude: LabelsLike | None = None,
    label_weight: ArrayLike | dict | None = None,
    names: LabelsLike | None = None,
) -> Any:
    """Find the k best classes of each sample of a Dask array, block by block when computed.

    Parameters
    ----------
    estimator : estimator, str or path-like
        Fitted, as for :func:`sklearn_xc.predict_topk`: also a Pipeline or a search. It is sent to
        each worker once. Or the path of a saved model, which each worker maps into its memory: the
        way for large models, where all workers see the file.
    X : dask.array.Array of shape (n_samples, n_features), or (n_samples,) for texts
        With dense or SciPy sparse blocks, and perhaps unknown numbers of samples. Columns in
        several blocks are brought together.
    k : int, default=None
        Number of classes; by default the smaller of 5 and the number of classes, or of those that
        `labels` and `exclude` leave.
    scores : {"decision", "proba"}, default="decision"
        What to return with the labels.
    sparse_output : bool, default=False
        Whether to return one array of sparse blocks with k entries a row instead of two arrays.
    labels, exclude : sequence of labels, one sequence of labels a sample, or sparse indicator, \
            default=None
        The only labels that an answer may hold, and those that it may not. If each sample has its
        own, they are in memory here, and cut where the blocks of X end, whose sizes must then be
        known.
    label_weight : array-like of shape (n_classes,), default=None
        What is added to the score of each class.
    names : array-like of shape (n_classes,), default=None
        What to call the classes; see :func:`sklearn_xc.predict_topk`.

    Returns
    -------
    labels : dask.array.Array of shape (n_samples, k)
    scores : dask.array.Array of float32, shape (n_samples, k)
        In the blocks of samples of X. ``dask.compute(labels, scores)`` computes both at once.
    matrix : dask.array.Array of float32, shape (n_samples, n_classes)
        Instead with `sparse_output`, its blocks csr_array.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError
        If X is no Dask array, or no estimator with ``predict_topk`` is found.
    ValueError
        If k or `scores` is out of its range, a restriction is not as described or leaves a sample
        fewer than k labels, or is by sample while X has blocks of unknown sizes.

    See Also
    --------
    sklearn_xc.predict_topk : The same of samples in memory.

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
            f"X must be a Dask array, got {type(X).__name__}; for samples in memory there is "
            "sklearn_xc.predict_topk"
        )
    # By path and time: a graph with the path alone would be taken for that of the file of before.
    if isinstance(estimator, (str, os.PathLike)):
        estimator = _Path(os.path.abspath(estimator), os.stat(estimator).st_mtime_ns)
    inner = find_inner(_opened(estimator), "predict_topk").estimator
    n_classes = len(inner.classes_)
    classes = inner.classes_ if names is None else checked_names(names, inner)
    _check_scores(inner, scores, label_weight)
    # All arguments are checked here: on a worker, an error would come when the graph is computed,
    # from another machine.
    only = _Restrictions(classes, X.chunks[0], labels, exclude, label_weight)
    k = only.check_k(k, sparse_output)
    # A score is a sum over all columns of a sample.
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    # One node of the graph: the model goes to each worker once, not with each block. `pure` names
    # nodes by their content, so that the two results share their blocks.
    model = delayed(estimator, pure=True)
    options = k, scores, sparse_output, names
    answer, sizes = delayed(_block, pure=True), X.chunks[0]
    shared = delayed(only.shared, pure=True)
    blocks = [
        answer(model, block, *options, shared, only.of_block(number))
        for number, block in enumerate(X.to_delayed().ravel())
    ]
    if sparse_output:
        meta = sparse.csr_array((0, n_classes), dtype=np.float32)
        return _array(da, blocks, sizes, n_classes, meta)
    best, values = np.empty((0, k), classes.dtype), np.empty((0, k), np.float32)
    return (
        _array(da, [block[0] for block in blocks], sizes, k, best),
        _array(da, [block[1] for block in blocks], sizes, k, values),
    )


def _array(
    da: ModuleType, blocks: list, sizes: tuple[float, ...], n_columns: int, meta: Matrix
) -> Any:
    """Return blocks of samples as one Dask array."""
    arrays = [
        da.from_delayed(block, (size, n_columns), dtype=meta.dtype, meta=meta)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


class _Restrictions:
    """Restrictions by `labels`, `exclude` and `label_weight`, of all samples and of a block.

    `classes` are named as the user calls them; `sizes` are the samples of each block, nan where
    that is not known.
    """

    def __init__(
        self,
        classes: np.ndarray,
        sizes: tuple[float, ...],
        labels: LabelsLike | None,
        exclude: LabelsLike | None,
        label_weight: ArrayLike | dict | None,
    ) -> None:
        self._known = not np.isnan(sizes).any()
        self._starts = np.append(0, np.cumsum(sizes)) if self._known else None
        self._n_classes = len(classes)
        # Any number, where all samples have the same restriction.
        n_rows = int(self._starts[-1]) if self._known else 1
        by_row, shared = {}, {}
        for name, given in (("labels", labels), ("exclude", exclude)):
            if given is None:
                continue
            named = self._named(given, classes, n_rows, name)
            # For all samples labels go to the workers by name; for each, as rows of an indicator,
            # which can be cut.
            if named.starts is None:
                shared[name] = classes[named.places]
            else:
                ones = np.ones(len(named.places), dtype=bool)
                parts = ones, named.places, named.starts
                by_row[name] = sparse.csr_array(parts, shape=(n_rows, len(classes)))
        if label_weight is not None:
            shared["label_weight"] = checked_weight(label_weight, classes)
        self._by_row, self.shared = by_row, shared  # arguments of `predict_topk`
        self._whole = read_restriction(classes, n_rows, **by_row, **shared)

    def _named(self, given: LabelsLike, classes: np.ndarray, n_rows: int, name: str) -> Named:
        """Return labels as places among the classes; refuse what could not be cut into blocks."""
        if not self._known and _is_by_row(given):
            raise ValueError(
                f"{name} is by sample, but X has blocks of unknown sizes, where it would be cut; "
                "call X.compute_chunk_sizes() before"
            )
        return named_labels(
            given, classes, n_rows, name, "left out" if name == "exclude" else "refused"
        )

    def check_k(self, k: int | None, ragged: bool) -> int:
        """Return the number of labels of an answer; `ragged` answers may have fewer."""
        if self._whole is None:
            return check_k(k, self._n_classes)
        return self._whole.check_k(k, ragged)

    def of_block(self, number: int) -> dict[str, sparse.csr_array]:
        """Return the arguments of `predict_topk` for the samples of a block."""
        if not self._by_row:
            return {}
        rows = slice(int(self._starts[number]), int(self._starts[number + 1]))
        return {name: pattern[rows] for name, pattern in self._by_row.items()}


def _is_by_row(labels: LabelsLike) -> bool:
    """Return whether labels are given for each sample."""
    if sparse.issparse(labels):
        return True
    return np.ndim(labels) != 0 and any(isinstance(one, NESTED) for one in labels)


def _check_scores(inner: BaseEstimator, scores: str, label_weight: ArrayLike | dict | None) -> None:
    """Raise ValueError for scores that the estimator does not have."""
    if scores not in ("decision", "proba"):
        raise ValueError(f"scores must be 'decision' or 'proba', got {scores!r}")
    if scores == "proba" and label_weight is not None:
        raise ValueError("label_weight is added to scores; it goes with scores='decision' only")
    if scores == "proba" and not hasattr(inner, "predict_proba"):
        raise ValueError(
            f"scores='proba': this {type(inner).__name__} has no predict_proba; see its parameter "
            "calibration, if it has one"
        )


class _Path(NamedTuple):
    """Path of a model, and when it was written: a file that is replaced is another model."""

    path: str
    written: int


def _opened(estimator: BaseEstimator | _Path) -> BaseEstimator:
    """Return the estimator; that of a path is mapped, once in each process."""
    return _mapped(estimator) if isinstance(estimator, _Path) else estimator


# Few: a mapping holds its file on the disk, also when another one has taken its name.
@lru_cache(maxsize=4)
def _mapped(path: _Path) -> BaseEstimator:
    """Return the model of a file, mapped."""
    return load(path.path, mmap_mode="r")


def _block(
    estimator: BaseEstimator | _Path,
    X: Any,
    k: int,
    scores: str,
    sparse_output: bool,
    names: LabelsLike | None,
    shared: dict[str, Any],
    by_row: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray] | sparse.csr_array:
    """Answer for a block, on a worker; a block without samples has answers without rows."""
    # Estimators refuse X without samples.
    if np.shape(X)[0] == 0:
        inner = find_inner(_opened(estimator), "predict_topk").estimator
        classes = inner.classes_ if names is None else np.asarray(names)
        if sparse_output:
            return sparse.csr_array((0, len(classes)), dtype=np.float32)
        return np.empty((0, k), classes.dtype), np.empty((0, k), np.float32)
    return topk_of_rows(
        _opened(estimator), X, k, scores, sparse_output, names=names, **shared, **by_row
    )
