"""Features of a row whose weights are stored for the first classes, waiting to be added together.

Each has its weights for some whole blocks of classes. Readers of the blocks, in their order, leave
out features that have ended, between two blocks, and keep the others in their order.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t

cdef enum:
    BATCH = 256  # features that wait, at most
    TOGETHER = 5  # of those read in one pass that have weights for more than half of the classes

cdef struct Batch:
    int64_t start[BATCH + 1]  # where the weights of a feature begin; ends with -1
    float value[BATCH]
    int32_t stop[BATCH]  # blocks of classes for which a feature has weights
    int32_t n
    int32_t first_stop  # the smallest of `stop`


cdef inline void begin(Batch* batch) noexcept nogil:
    batch.n = 0
    batch.first_stop = INT32_MAX


cdef inline void append_feature(
    Batch* batch, int64_t start, float value, int32_t stop
) noexcept nogil:
    batch.start[batch.n] = start
    batch.value[batch.n] = value
    batch.stop[batch.n] = stop
    batch.first_stop = min(batch.first_stop, stop)
    batch.n += 1


cdef inline void end(Batch* batch) noexcept nogil:
    # `start` has one place more than features: what reads a batch needs no number beside it.
    batch.start[batch.n] = -1


cdef inline void take_features(
    const Batch* source, int32_t first, int32_t stop, Batch* batch
) noexcept nogil:
    """Copy the features from first to stop into another batch or to the beginning of the same."""
    cdef int32_t f
    begin(batch)
    for f in range(first, stop):
        append_feature(batch, source.start[f], source.value[f], source.stop[f])
    end(batch)


cdef inline void drop_ended(Batch* batch, int32_t block) noexcept nogil:
    """Leave out the features that have no weights for this block and those behind it."""
    cdef int32_t f, n = batch.n
    # Most blocks end no feature.
    if block < batch.first_stop:
        return
    begin(batch)
    for f in range(n):
        if batch.stop[f] > block:
            # n <= f: a feature moves forward over one that was read.
            append_feature(batch, batch.start[f], batch.value[f], batch.stop[f])
    end(batch)


cdef inline int32_t read_together(
    const Batch* batch, int32_t first, int32_t n_blocks
) noexcept nogil:
    """Return where a pass ends that begins with a feature, by the streams fetched ahead."""
    cdef int32_t f, n_long = 0
    for f in range(first, batch.n):
        # Streams of memory that a processor fetches ahead by itself are few; short ones end soon.
        n_long += 2 * batch.stop[f] > n_blocks
        if n_long > TOGETHER:
            return f
    return batch.n
