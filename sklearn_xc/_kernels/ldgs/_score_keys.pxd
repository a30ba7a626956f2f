"""Numbers that sort as scores do, ties to the smaller id, and the selection of the largest."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t key_of(float score, int32_t id) noexcept nogil:
    """A number in the order of scores, ties to the smaller id, from which the id follows."""
    cdef int32_t signed_bits
    cdef uint32_t bits
    memcpy(&signed_bits, &score, sizeof(float))
    # The bits of positive floats are in the order of their values, those of negative ones in the
    # opposite order: the first get the upper bit, of the others all bits are turned.
    bits = <uint32_t>signed_bits ^ (<uint32_t>(signed_bits >> 31) | <uint32_t>0x80000000)
    # ~id falls with the id, so that of equal scores the smaller id is the larger key.
    return (<uint64_t>bits << 32) | <uint32_t>~id


cdef inline int32_t id_of(uint64_t key) noexcept nogil:
    return <int32_t>~<uint32_t>key


cdef inline int64_t middle_of_three(
    const uint64_t* keys, int64_t a, int64_t b, int64_t c
) noexcept nogil:
    """Where the middle one of three keys is."""
    if keys[a] > keys[b]:
        a, b = b, a
    if keys[b] > keys[c]:
        b = c if keys[c] > keys[a] else a
    return b


cdef inline void select(uint64_t* keys, int64_t n, int64_t k) noexcept nogil:
    """IN/OUT distinct keys: the k largest first, in any order (Hoare's selection)."""
    cdef int64_t low = 0, high = n, e, split
    cdef uint64_t pivot, key
    # Keys before `low` are larger, those from `high` on smaller than all between.
    while low < k < high:
        # The middle of three, so that sorted keys do not make the walk quadratic.
        e = middle_of_three(keys, low, (low + high) // 2, high - 1)
        pivot = keys[e]
        keys[e] = keys[high - 1]
        split = low
        for e in range(low, high - 1):  # no branch depends on the scores
            key = keys[e]
            keys[e] = keys[split]
            keys[split] = key
            split += key > pivot
        keys[high - 1] = keys[split]
        keys[split] = pivot
        if split >= k:
            high = split
        else:
            low = split + 1
