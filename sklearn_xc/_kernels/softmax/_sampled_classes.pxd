"""The samples of a mini-batch and their classes, as the kernels that step weights see them."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, prefetch_far
from sklearn_xc._kernels.common._vector_ops cimport add_multiple

cdef enum:
    LINE = 16  # floats in a cache line


cdef struct Row:
    const int32_t* features
    const float* values
    int64_t n
    bint dense


cdef inline Row row_at(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    int64_t i,
) noexcept nogil:
    cdef Row row
    row.n = indptr[i + 1] - indptr[i]
    row.dense = dense
    row.values = NULL
    row.features = NULL
    # An empty array has no address.
    if row.n:
        row.values = &data[indptr[i]]
        # Dense rows share the features 0 ... n - 1.
        row.features = &indices[0 if dense else indptr[i]]
    return row


cdef inline int64_t lines_of_part(int64_t n, int64_t n_parts) noexcept nogil:
    """Cache lines of each of this many parts of an array of n numbers."""
    return n // (LINE * n_parts) + 1


cdef inline void fetch_part(
    const float* values, int64_t n, int64_t part, int64_t n_lines
) noexcept nogil:
    """Prefetch a part of an array into the outer caches: the first one is full."""
    cdef int64_t line
    for line in range(part * n_lines, min((part + 1) * n_lines, (n + LINE - 1) // LINE)):
        prefetch_far(values + line * LINE)


cdef inline void fetch_row(Row row) noexcept nogil:
    """Prefetch a row into the first cache: that of the next sample of a class."""
    cdef int64_t e
    for e in range(0, row.n, 16):
        prefetch(row.values + e)
        if not row.dense:
            prefetch(row.features + e)


cdef class MiniBatch:
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const float[::1] data
    cdef bint dense
    cdef const int32_t[::1] batch
    cdef const int32_t[:, ::1] classes
    # The pairs of group g are order[starts[g]:starts[g + 1]]; pair p is of sample p // n_seen.
    cdef int64_t n_groups, n_classes
    cdef int32_t[::1] order, spare, starts

    cdef void take(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        bint dense, const int32_t[::1] batch, const int32_t[:, ::1] classes, int32_t n_classes,
    ) except *
    cdef void group(self) noexcept nogil
    cdef int64_t groups_for(
        self, Py_ssize_t n_classes, Py_ssize_t n_rows, Py_ssize_t n_seen
    ) except -1


cdef inline int32_t class_of(MiniBatch samples, int64_t g) noexcept nogil:
    """The class of group g."""
    return (&samples.classes[0, 0])[samples.order[samples.starts[g]]]


cdef inline Row sample_at(MiniBatch samples, int64_t i) noexcept nogil:
    return row_at(
        samples.indptr, samples.indices, samples.data, samples.dense, samples.batch[i]
    )


cdef void score_group(
    MiniBatch samples, int64_t g, const float* w, const float* following, int64_t n_features,
    float b, float* out
) noexcept nogil


cdef void score_groups(
    MiniBatch samples, const unsigned char* is_scored, const float* first, int64_t n_features,
    const float* b, float* out, int n_threads
) noexcept nogil


cdef inline void add_row(Row row, float factor, float* w) noexcept nogil:
    """w += factor x."""
    cdef int64_t e
    cdef float first, second, third, fourth
    if row.dense:
        add_multiple(w, row.values, factor, row.n)
    else:
        # Four at a time: the loop itself would take as long as the sums. Products come first, as
        # the compiler cannot know that w does not hold the values.
        for e in range(0, row.n - 3, 4):
            first, second = factor * row.values[e], factor * row.values[e + 1]
            third, fourth = factor * row.values[e + 2], factor * row.values[e + 3]
            w[row.features[e]] += first
            w[row.features[e + 1]] += second
            w[row.features[e + 2]] += third
            w[row.features[e + 3]] += fourth
        for e in range(row.n - row.n % 4, row.n):
            w[row.features[e]] += factor * row.values[e]


cdef inline float as_coef(double value) noexcept nogil:
    """The coefficient, cut at a size that is finite when it is multiplied with a feature."""
    return <float>min(max(value, <double>-1e36), <double>1e36)


cdef dispatched finish_coefs(float* coefs, Py_ssize_t n, double weight) noexcept nogil
