"""The k best of a stream of scored classes: a heap with the worst of them on top.

Invariant: entry i is not better than its children 2 i + 1 and 2 i + 2. A class that is not better
than entry 0 is none of the k best, and is left out by one comparison.
"""

from libc.stdint cimport int32_t, int64_t


cdef inline bint better(float s, int32_t c, float t, int32_t d) noexcept nogil:
    """The order of the results: higher score first, ties to the smaller class."""
    return s > t or (s == t and c < d)


cdef inline void sift(float* top, int32_t* labels, int64_t k, float s, int32_t c) noexcept nogil:
    """Put (s, c) in place of the worst of k and restore the heap."""
    cdef int64_t place = 0, child = 1
    while child < k:
        # the worse child, since what moves up must not be better than the other one
        if child + 1 < k and better(top[child], labels[child], top[child + 1], labels[child + 1]):
            child += 1
        if not better(s, c, top[child], labels[child]):
            break
        top[place] = top[child]
        labels[place] = labels[child]
        place = child
        child = 2 * place + 1
    top[place] = s
    labels[place] = c


cdef inline void sort_heap(float* top, int32_t* labels, int64_t k) noexcept nogil:
    """Put the k best in order, best first."""
    # The worst of the heap goes behind it, and the heap gets smaller by one.
    cdef int64_t last
    cdef float s
    cdef int32_t c
    for last in range(k - 1, 0, -1):
        s = top[last]
        c = labels[last]
        top[last] = top[0]
        labels[last] = labels[0]
        sift(top, labels, last, s, c)
