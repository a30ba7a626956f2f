"""The weights feature by feature, and what a row adds to the scores of all classes.

For most features a list names the classes that use it; a feature that many classes use has its
weights stored for all classes, in blocks of BLOCK classes. A row's scores gather in a float32
accumulator of one place a class. Lists are added to a tile of classes at a time, whose scores stay
in the first cache meanwhile, and full weights last of all.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._rows cimport Row


def block_of_classes():
    """The number of classes in a block of `Postings`."""
    return BLOCK


cdef class Postings:
    """A read-only view of the weights, feature by feature (`topk/_inverted_index.py`)."""

    def __init__(
        self,
        const int64_t[::1] indptr, const int32_t[::1] classes, const float[::1] weights,
        const int32_t[::1] full_column, const float[:, :] full_weights,
        const float[:, ::1] full_maxima, const float[::1] intercept,
        const int32_t[::1] by_intercept,
    ):
        if full_weights.shape[0] and full_weights.strides[1] != sizeof(float):
            raise ValueError("the weights of a feature must lie next to one another")
        if full_maxima.shape[0] and (
            full_maxima.shape[0] != full_weights.shape[0]
            or full_maxima.shape[1] * 4 != intercept.shape[0]
        ):
            raise ValueError("maxima must be those of all blocks and features")
        self.indptr = indptr
        self.classes = classes
        self.weights = weights
        self.full_column = full_column
        self.full_weights = full_weights
        self.full_maxima = full_maxima
        self.intercept = intercept
        self.by_intercept = by_intercept

    cdef Index pointers(self) noexcept:
        cdef Index index
        index.indptr = &self.indptr[0]
        index.classes = &self.classes[0] if self.classes.shape[0] else NULL
        index.weights = &self.weights[0] if self.weights.shape[0] else NULL
        index.full_column = &self.full_column[0] if self.full_column.shape[0] else NULL
        index.full_weights = &self.full_weights[0, 0] if self.full_weights.shape[0] else NULL
        index.full_maxima = &self.full_maxima[0, 0] if self.full_maxima.shape[0] else NULL
        index.intercept = &self.intercept[0]
        index.by_intercept = &self.by_intercept[0]
        index.stride = self.full_weights.strides[0] // <int64_t>sizeof(float)
        index.n_classes = <int32_t>self.by_intercept.shape[0]
        index.n_columns = <int32_t>min(self.full_weights.shape[1], self.intercept.shape[0])
        index.n_blocks = <int32_t>(self.intercept.shape[0] // BLOCK)
        return index


cdef int64_t count_postings(Row row, Index index) noexcept nogil:
    """How many classes the lists of the row mention; -1 if a feature has no list."""
    cdef int64_t e, total = 0
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        if index.full_column[row.features[e]] >= 0:
            return -1
        total += index.indptr[row.features[e] + 1] - index.indptr[row.features[e]]
    return total


cdef bint take_apart(Row row, Index index, Lists* lists, Batch* batch) noexcept nogil:
    """The lists and the full weights of a row's features; whether there is room for all of them."""
    cdef int64_t e
    cdef int32_t feature, n = 0
    lists.n = 0
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        feature = row.features[e]
        if index.full_column[feature] >= 0:
            if n == BATCH:
                return False
            batch.column[n] = index.full_column[feature]
            batch.value[n] = row.values[e]
            n += 1
        elif index.indptr[feature] < index.indptr[feature + 1]:
            if lists.n == BATCH:
                return False
            lists.at[lists.n] = index.indptr[feature]
            lists.stop[lists.n] = index.indptr[feature + 1]
            lists.value[lists.n] = row.values[e]
            lists.n += 1
    batch.column[n] = -1
    return True


cdef dispatched accumulate(Row row, Index index, float* scores, Batch* batch) noexcept nogil:
    """scores += W x, but for the features in the batch, which `finish_block` has still to add."""
    cdef int64_t e
    cdef int32_t feature, block, n = 0
    cdef float totals[BLOCK]
    for e in range(row.n):
        if row.values[e] == 0:
            continue
        feature = row.features[e]
        if index.full_column[feature] < 0:
            add_list(row.values[e], index.indptr[feature], index.indptr[feature + 1], index, scores)
            continue
        if n == BATCH:
            batch.column[n] = -1
            for block in range(index.n_blocks):
                finish_block(
                    batch.column, batch.value, index, block, scores + block * BLOCK, totals
                )
                memcpy(scores + block * BLOCK, totals, BLOCK * sizeof(float))
            n = 0
        batch.column[n] = index.full_column[feature]
        batch.value[n] = row.values[e]
        n += 1
    batch.column[n] = -1


cdef dispatched prepare(
    Row row, Index index, float* scores, Lists* lists, Batch* batch
) noexcept nogil:
    """OUT the lists and full weights that are to be added tile by tile; of long rows all lists are.
    """
    cdef int64_t i
    # Lists lie anywhere in the index. Not a function of its own: GCC drops calls without effects.
    if take_apart(row, index, lists, batch):
        for i in range(lists.n):
            prefetch(index.classes + lists.at[i])
            prefetch(index.classes + lists.at[i] + LINE)
            prefetch(index.weights + lists.at[i])
            prefetch(index.weights + lists.at[i] + LINE)
    else:
        accumulate(row, index, scores, batch)
        lists.n = 0
