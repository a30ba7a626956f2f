"""The classes that a sample is scored on, and their scores; see `_candidate_gradients.pyx`."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

cdef struct Model:
    const float* W
    int64_t n_classes
    const int8_t* rounded  # (n_classes, n_bytes): the rows of W in bytes, or NULL
    int64_t n_bytes
    int64_t n_columns
    const int32_t* bounds
    int64_t n_chunks

cdef struct Retrieved:
    const int32_t* ids  # (n_chunks, n): what the searches retrieved for a sample
    int64_t n_chunks
    int64_t n
    int64_t used  # of each line, its first this many

cdef struct Sample:
    const float* h  # (n_columns,)
    const int32_t* positives
    int64_t n_positive
    const float* weight  # (n_positive,), or NULL for ones
    Retrieved retrieved
    const int32_t* drawn
    int64_t n_drawn

cdef struct Set:
    # Places [0, n_positive) are positives, [n_positive, n_known) was retrieved, [n_known, n) was
    # drawn. The caller has room for all of them: n <= capacity.
    int32_t* ids
    int64_t n
    int64_t n_positive
    int64_t n_scored  # those that were, before some left
    int64_t n_known  # the positives and what was retrieved; those drawn stand behind
    int64_t capacity

cdef struct Scores:
    # Lines are `capacity` apart, also where the set is smaller.
    float* part  # (n_chunks, capacity): of each chunk
    float* message  # (n_chunks, capacity): lambda
    float* total  # (capacity,)
    float* z  # (capacity,)
    float* gradient  # (capacity,)
    int16_t* query  # (n_bytes,)
    double* scratch


cdef inline Retrieved retrieved_classes(
    const int32_t* ids, int64_t row, int64_t n_chunks, int64_t n_of_row, int64_t n_first
) noexcept nogil:
    cdef Retrieved retrieved
    # NULL where nothing is retrieved: the array has no first element then.
    retrieved.ids = ids + row * n_of_row if n_of_row else NULL
    retrieved.n_chunks, retrieved.n = n_chunks, n_of_row // n_chunks
    retrieved.used = min(n_first, retrieved.n)
    return retrieved


cdef inline Set empty_set(int32_t* ids, int64_t capacity) noexcept nogil:
    cdef Set found
    found.ids, found.capacity = ids, capacity
    found.n = found.n_positive = found.n_known = found.n_scored = 0
    return found


cdef inline Scores scores_in(
    float* memory, double* memory64, int64_t n_chunks, int64_t capacity
) noexcept nogil:
    cdef Scores s
    # (2 n_chunks + 3) capacity floats, then n_bytes of the query as int16: what `Scratch` asks for.
    s.part = memory
    s.message = s.part + n_chunks * capacity
    s.total = s.message + n_chunks * capacity
    s.z = s.total + capacity
    s.gradient = s.z + capacity
    s.query = <int16_t*>(s.gradient + capacity)
    s.scratch = memory64
    return s
