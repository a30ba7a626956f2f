"""Scores of the classes that each row may have, and of no others.

The cost follows the candidates: for each of them its weights and the row's features are read. The
sums are those of `_inverted_index` to the last bit, since they are made in the same order: first
the features that have the class in a list, then those with a stored weight for it.
"""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport gathered
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at

cdef struct Weights:
    bint is_sparse
    const int32_t* features  # class by class
    const float* values
    const int32_t* full_stop
    const int64_t* full_start
    const float* full_weights
    const float* intercept
    int32_t n_classes


cdef class ClassWeights:
    """A read-only view of the weights, class by class (`topk/_candidates.py`).

    Of sparse weights `features` and `values` are the arrays of their CSR. Dense ones are read where
    the index has them: `full_weights` has those of each feature.
    """

    cdef bint is_sparse
    cdef const int32_t[::1] features
    cdef const float[::1] values
    cdef const int32_t[::1] full_stop
    cdef const int64_t[::1] full_start
    cdef const float[:, :] full_weights
    cdef const float[::1] intercept
    cdef int32_t n_classes

    def __init__(
        self, bint is_sparse,
        const int32_t[::1] features, const float[::1] values, const int32_t[::1] full_stop,
        const int64_t[::1] full_start, const float[:, :] full_weights, const float[::1] intercept,
        int32_t n_classes,
    ):
        # The kernel steps through a feature's weights by one float.
        if full_weights.shape[0] and full_weights.strides[1] != sizeof(float):
            raise ValueError("the weights of a feature must lie next to one another")
        self.is_sparse = is_sparse
        self.features = features
        self.values = values
        self.full_stop = full_stop
        self.full_start = full_start
        self.full_weights = full_weights
        self.intercept = intercept
        self.n_classes = n_classes

    cdef Weights pointers(self) noexcept:
        cdef Weights weights
        weights.is_sparse = self.is_sparse
        weights.features = &self.features[0] if self.features.shape[0] else NULL
        weights.values = &self.values[0] if self.values.shape[0] else NULL
        weights.full_stop = &self.full_stop[0] if self.full_stop.shape[0] else NULL
        weights.full_start = &self.full_start[0] if self.full_start.shape[0] else NULL
        weights.full_weights = NULL
        if self.full_weights.shape[0] and self.full_weights.shape[1]:
            weights.full_weights = &self.full_weights[0, 0]
        weights.intercept = &self.intercept[0]
        weights.n_classes = self.n_classes
        return weights


cdef struct Entries:  # of a row, in the order of additions
    int64_t n_lists  # that may be in lists
    int64_t n  # and behind them those that may have stored weights: both, for some classes
    int32_t* features
    int32_t* stops
    float* values


cdef inline void append_entry(
    Entries* entries, int32_t feature, int32_t stop, float value
) noexcept nogil:
    entries.features[entries.n] = feature
    entries.stops[entries.n] = stop
    entries.values[entries.n] = value
    entries.n += 1


cdef void order_row(Weights weights, Row row, Entries* entries) noexcept nogil:
    cdef int64_t e
    cdef int32_t stop
    entries.n = 0
    for e in range(row.n):
        # Once for lists, once for stored weights: a feature may have both, of different classes.
        stop = weights.full_stop[row.features[e]]
        if row.values[e] != 0 and stop < weights.n_classes:
            append_entry(entries, row.features[e], stop, row.values[e])
    # Lists first: the order of additions of `_inverted_index`, and so its bits.
    entries.n_lists = entries.n
    for e in range(row.n):
        stop = weights.full_stop[row.features[e]]
        if row.values[e] != 0 and stop > 0:
            append_entry(entries, row.features[e], stop, row.values[e])


cdef gathered sparse_score(
    Weights weights, int64_t start, int64_t stop, int32_t rank, const Entries* entries,
    float* spread, float total,
) noexcept nogil:
    """Return total + w x, w being the weights from `start` to `stop`; `spread` stays zeros."""
    cdef int64_t e, p
    for p in range(start, stop):
        # w by feature, so that the row's entries find their weights without a search.
        spread[weights.features[p]] = weights.values[p]
    for e in range(entries.n_lists):
        # From `full_stop` on a class is in the list of the feature, before it in the stored
        # weights: each entry is added once.
        if rank >= entries.stops[e]:
            total += entries.values[e] * spread[entries.features[e]]
    for e in range(entries.n_lists, entries.n):
        if rank < entries.stops[e]:
            total += entries.values[e] * spread[entries.features[e]]
    for p in range(start, stop):
        # Zeros again, with work by the weights and not by the features.
        spread[weights.features[p]] = 0
    return total


cdef gathered dense_score(Weights weights, int64_t rank, Row row, float total) noexcept nogil:
    """Return total + w x, with the weights of all features at this place."""
    cdef int64_t e
    for e in range(row.n):
        # Zeros of the row add nothing, to the last bit, and are not looked for.
        total += row.values[e] * weights.full_weights[weights.full_start[row.features[e]] + rank]
    return total


cdef void score_row(
    Weights weights, Row row, int32_t* features, int32_t* stops, float* values, float* spread,
    int64_t first, int64_t last, const int64_t* candidates, float* scores,
) noexcept nogil:
    cdef Entries entries
    cdef const int64_t* candidate
    cdef int64_t p
    entries.features, entries.stops, entries.values = features, stops, values
    if weights.is_sparse:
        # Once for all candidates of the row.
        order_row(weights, row, &entries)
    for p in range(first, last):
        # Rank, first and end of the weights, three numbers a candidate.
        candidate = candidates + 3 * p
        # A sum begins with the intercept, as the accumulator of the other kernels does.
        scores[p] = weights.intercept[candidate[0]]
        if weights.is_sparse:
            scores[p] = sparse_score(
                weights, candidate[1], candidate[2], <int32_t>candidate[0], &entries, spread,
                scores[p],
            )
        else:
            scores[p] = dense_score(weights, candidate[0], row, scores[p])


def candidate_scores(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    ClassWeights class_weights, const int64_t[::1] starts, const int64_t[:, ::1] candidates,
    int32_t[:, :, ::1] entries, float[:, ::1] values, float[:, ::1] spread, float[::1] scores,
    int n_threads,
):
    """Score the candidates of each row.

    Parameters
    ----------
    indptr, indices, data, dense : IN, the rows (see `utils/_rows.Rows`)
    class_weights : IN
    starts : IN (n_rows + 1,), where the candidates of each row begin
    candidates : IN (n_candidates, 3): the rank of the class, and where its sparse weights begin and
        end
    entries : OUT scratch (n_threads, 2, twice the most entries of a row)
    values : OUT scratch (n_threads, twice the most entries of a row)
    spread : IN/OUT scratch (n_threads, n_features) of zeros, which it is in the end
    scores : OUT (n_candidates,)
    """
    cdef Weights weights = class_weights.pointers()
    cdef Rows rows = pointers_to_rows(indptr, indices, data, dense)
    cdef Py_ssize_t i, t, n_rows = indptr.shape[0] - 1
    # No candidate, and so nothing to point to.
    if scores.shape[0] == 0:
        return
    # Dynamic: rows have few candidates or many.
    for i in prange(n_rows, schedule="dynamic", num_threads=n_threads, nogil=True):
        t = threadid()
        score_row(
            weights, row_at(rows, i), &entries[t, 0, 0], &entries[t, 1, 0], &values[t, 0],
            &spread[t, 0], starts[i], starts[i + 1], &candidates[0, 0], &scores[0],
        )
