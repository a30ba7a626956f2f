"""A mini-batch of samples, and its entries column by column."""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    NOWHERE = -1

# Row i of dense samples has its entries at values[indptr[i]:indptr[i + 1]] like a sparse one, and
# `features` are 0 to n_features - 1, which all of them share.
cdef struct Samples:
    const int64_t* indptr
    const int32_t* features
    const float* values
    bint dense
    const int32_t* y
    const float* weight  # NULL: all 1

cdef struct Batch:
    const int32_t* rows  # the samples of the mini-batch
    int32_t n_rows
    # Entries of feature u: row_of[starts[u]:starts[u + 1]] are places in `rows`, not samples.
    int32_t* features  # their distinct features ...
    int32_t n_features
    int64_t* starts  # ... and the places of each among the entries
    int32_t* row_of
    float* value
    int32_t* place_of  # feature -> its number among the distinct ones, or NOWHERE


cdef inline int64_t entry(Samples samples, int64_t row, int64_t e) noexcept nogil:
    return e if samples.dense else samples.indptr[row] + e


cdef inline void gather_columns(Samples samples, Batch* batch) noexcept nogil:
    """The entries of the mini-batch column by column; samples keep their order in a column."""
    cdef int64_t e, n, at
    cdef int32_t i, u, row, feature
    cdef float value
    # A counting sort of the entries by feature, in three passes. The first numbers the distinct
    # features in the order in which they occur, and counts their entries; starts[u + 1] is the
    # count of feature u.
    batch.n_features = 0
    for i in range(batch.n_rows):
        row = batch.rows[i]
        n = samples.indptr[row + 1] - samples.indptr[row]
        for e in range(n):
            # Zeros of dense samples, and stored ones, have no share of any gradient.
            if samples.values[samples.indptr[row] + e] == 0:
                continue
            feature = samples.features[entry(samples, row, e)]
            u = batch.place_of[feature]
            if u == NOWHERE:
                u = batch.n_features
                batch.n_features += 1
                batch.place_of[feature] = u
                batch.features[u] = feature
                batch.starts[u + 1] = 0
            batch.starts[u + 1] += 1
    # Counts become first places.
    batch.starts[0] = 0
    for u in range(batch.n_features):
        batch.starts[u + 1] += batch.starts[u]
    for i in range(batch.n_rows):
        row = batch.rows[i]
        n = samples.indptr[row + 1] - samples.indptr[row]
        for e in range(n):
            value = samples.values[samples.indptr[row] + e]
            if value == 0:
                continue
            # Each entry goes to the next place of its feature; samples keep their order, which
            # fixes that of the sums.
            u = batch.place_of[samples.features[entry(samples, row, e)]]
            at = batch.starts[u]
            batch.row_of[at] = i
            batch.value[at] = value
            batch.starts[u] = at + 1
    # Each start has moved to the start of the next feature.
    for u in range(batch.n_features, 0, -1):
        batch.starts[u] = batch.starts[u - 1]
    batch.starts[0] = 0
    for u in range(batch.n_features):
        # As it was, in the time of the mini-batch and not of all features.
        batch.place_of[batch.features[u]] = NOWHERE
