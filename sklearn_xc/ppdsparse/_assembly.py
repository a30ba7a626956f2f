"""Sparse weights of many classes, put together from the blocks that were solved."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from .._kernels.common._sparse_rows import copy_rows
from ..utils._csr import FEWEST, narrow_pointers
from ..utils._parallel import in_threads

# Features or samples (int32, ascending in each class) and their values (float32), class by class.
Entries: TypeAlias = tuple[np.ndarray, np.ndarray]


class SolvedPart(NamedTuple):
    """Result of `solve_classes` for a block of classes, in the order in which it finished them.

    Entries have the caller's numbers of features and samples; None where they were left on disk.
    """

    labels: np.ndarray
    n_weights: np.ndarray  # how many of the entries of `weights` each class has
    intercept: np.ndarray
    n_iter: np.ndarray
    gap: np.ndarray
    n_active: np.ndarray
    weights: Entries | None
    n_duals: np.ndarray
    duals: Entries | None
    n_visits: np.ndarray


def grown_duals(
    dual: sparse.csr_array, shape: tuple[int, int], n_texts_before: int, n_texts: int
) -> sparse.csr_array:
    """Return dual variables of an earlier fit for Y of this shape, zero for samples that are new.

    Raises ValueError where Y has fewer samples or other columns.
    """
    n_columns, n_before = dual.shape[0], dual.shape[1] - n_texts_before
    if n_columns != shape[1] or n_before > shape[0]:
        raise ValueError(
            f"warm_start: the earlier fit had {n_before} samples and {n_columns} columns of "
            f"labels, X and y have {shape[0]} and {shape[1]}; give the same data, perhaps with "
            "more samples after these, or fit a new estimator"
        )
    # Duals of texts stand after those of the samples, and so have to move with new samples; of
    # other texts than before they begin at zero.
    shape = n_columns, shape[0] + n_texts
    if not n_texts_before:
        return sparse.csr_array((dual.data, dual.indices, dual.indptr), shape=shape)
    of_texts = dual[:, n_before:] if n_texts == n_texts_before else None
    parts = [dual[:, :n_before], sparse.csr_array((n_columns, shape[1] - n_texts - n_before))]
    parts += [sparse.csr_array((n_columns, n_texts)) if of_texts is None else of_texts]
    return sparse.hstack(parts, format="csr", dtype=np.float32)


def weights_of_classes(
    labels: Sequence[np.ndarray],
    counts: Sequence[np.ndarray],
    entries: Iterable[Entries],
    shape: tuple[int, int],
    empty: Callable[..., np.ndarray] = np.empty,
    n_threads: int = 1,
) -> sparse.csr_array:
    """Return CSR weights from the results of all blocks, of which one is needed at a time.

    `labels` has the classes of each block in the order in which they were finished, `counts` the
    number of weights of each of them; `empty` makes the two large arrays. Indices are sorted.
    """
    # Lengths of all rows first, so that every block knows its places and no row is ever moved.
    # Classes that were not solved have no weights.
    lengths = np.zeros(shape[0], dtype=np.int64)
    lengths[np.concatenate(labels)] = np.concatenate(counts)
    indptr = np.append(0, np.cumsum(lengths))
    indices, data = empty(indptr[-1], np.int32), empty(indptr[-1], np.float32)

    def copy(of_block: tuple[np.ndarray, np.ndarray, Entries]) -> None:
        which, n, (features, values) = of_block
        copy_rows(n, features, values, indptr[which], indices, data)

    blocks = zip(labels, counts, entries, strict=True)
    # Few entries are copied before a thread has begun.
    n_threads = min(n_threads, max(1, len(data) // FEWEST))
    list(in_threads(copy, blocks, n_threads=n_threads, n_ahead=n_threads))
    return sparse.csr_array((data, indices, narrow_pointers(indptr)), shape=shape)
