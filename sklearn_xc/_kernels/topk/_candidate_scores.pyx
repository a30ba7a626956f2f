"""Scores of the classes that each row may have, and of no others.

The cost follows the candidates: for each of them its weights and the row's features are read. The
sums are those of `_inverted_index` to the last bit, since they are made in the same order: features
that have lists as they come, those with weights for all classes by batches of BATCH, at the end.
"""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport gathered
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.topk._inverted_index cimport BATCH

cdef struct Weights:
    bint is_sparse
    const int32_t* features  # class by class
    const float* values
    const int32_t* full_column
    const float* full_weights
    const float* intercept
    int64_t stride


cdef class ClassWeights:
    """A read-only view of the weights, class by class (`topk/_candidates.py`).

    Of sparse weights `features` and `values` are the arrays of their CSR. Dense ones are read where
    the index has them: `full_weights` has a row for each feature.
    """

    cdef bint is_sparse
    cdef const int32_t[::1] features
    cdef const float[::1] values
    cdef const int32_t[::1] full_column
    cdef const float[:, :] full_weights
    cdef const float[::1] intercept

    def __init__(
        self, bint is_sparse,
        const int32_t[::1] features, const float[::1] values, const int32_t[::1] full_column,
        const float[:, :] full_weights, const float[::1] intercept,
    ):
        if full_weights.shape[0] and full_weights.strides[1] != sizeof(float):
            raise ValueError("the weights of a feature must lie next to one another")
        self.is_sparse = is_sparse
        self.features = features
        self.values = values
        self.full_column = full_column
        self.full_weights = full_weights
        self.intercept = intercept

    cdef Weights pointers(self) noexcept:
        cdef Weights weights
        weights.is_sparse = self.is_sparse
        weights.features = &self.features[0] if self.features.shape[0] else NULL
        weights.values = &self.values[0] if self.values.shape[0] else NULL
        weights.full_column = &self.full_column[0] if self.full_column.shape[0] else NULL
        weights.full_weights = &self.full_weights[0, 0] if self.full_weights.shape[0] else NULL
        weights.intercept = &self.intercept[0]
        weights.stride = self.full_weights.strides[0] // <int64_t>sizeof(float)
        return weights


cdef int64_t order_row(
    Row row, const int32_t* full_column, int32_t* features, float* values
) noexcept nogil:
    """OUT the non-zero entries of a row in the order of additions; how many there are."""
    cdef int32_t waiting[BATCH]
    cdef float of_waiting[BATCH]
    cdef int64_t e, w, n = 0, n_waiting = 0
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        if full_column[row.features[e]] < 0:
            features[n] = row.features[e]
            values[n] = row.values[e]
            n += 1
            continue
        if n_waiting == BATCH:
            for w in range(BATCH):
                features[n + w] = waiting[w]
                values[n + w] = of_waiting[w]
            n += BATCH
            n_waiting = 0
        waiting[n_waiting] = row.features[e]
        of_waiting[n_waiting] = row.values[e]
        n_waiting += 1
    for w in range(n_waiting):
        features[n + w] = waiting[w]
        values[n + w] = of_waiting[w]
    return n + n_waiting


cdef gathered sparse_score(
    Weights weights, int64_t start, int64_t stop, const int32_t* features, const float* values,
    int64_t n, float* spread, float total,
) noexcept nogil:
    """total + w x, with the weights from `start` to `stop`; `spread` is zeros before and after."""
    cdef int64_t e, p
    for p in range(start, stop):
        spread[weights.features[p]] = weights.values[p]
    for e in range(n):
        total += values[e] * spread[features[e]]
    for p in range(start, stop):
        spread[weights.features[p]] = 0
    return total


cdef gathered dense_score(
    Weights weights, int64_t place, const int32_t* features, const float* values, int64_t n,
    float total,
) noexcept nogil:
    """total + w x, with the weights of all features at this place."""
    cdef const float* of_class = weights.full_weights + place
    cdef int64_t e
    for e in range(n):
        total += values[e] * of_class[weights.full_column[features[e]] * weights.stride]
    return total


def candidate_scores(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    ClassWeights class_weights, const int64_t[::1] starts, const int64_t[:, ::1] candidates,
    int32_t[:, ::1] features, float[:, ::1] values, float[:, ::1] spread, float[::1] scores,
    int n_threads,
):
    """Scores of the candidates of each row.

    Parameters
    ----------
    indptr, indices, data, dense : IN, the rows (see `utils/_matrix.Rows`)
    class_weights : IN
    starts : IN (n_rows + 1,), where the candidates of each row begin
    candidates : IN (n_candidates, 3): the class, and where its sparse weights begin and end
    features, values : OUT scratch (n_threads, most entries of a row)
    spread : IN/OUT scratch (n_threads, n_features) of zeros, which it is in the end
    scores : OUT (n_candidates,)
    """
    cdef Weights weights = class_weights.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef int64_t n, p
    cdef Py_ssize_t i, t, n_rows = indptr.shape[0] - 1
    for i in prange(n_rows, schedule="dynamic", num_threads=n_threads, nogil=True):
        t = threadid()
        n = order_row(row_at(rows, i), weights.full_column, &features[t, 0], &values[t, 0])
        for p in range(starts[i], starts[i + 1]):
            scores[p] = weights.intercept[candidates[p, 0]]
            if weights.is_sparse:
                scores[p] = sparse_score(
                    weights, candidates[p, 1], candidates[p, 2], &features[t, 0], &values[t, 0],
                    n, &spread[t, 0], scores[p],
                )
            else:
                scores[p] = dense_score(
                    weights, candidates[p, 0], &features[t, 0], &values[t, 0], n, scores[p]
                )
