"""The threshold that a constraint on a sum of dual variables comes to."""

from libc.stdint cimport int64_t


cdef inline float root_of(
    const float *u, int64_t m, double slope, double offset, double share, double low
) noexcept nogil:
    """The t at which slope * sum max(0, u - t) - offset = share * t, from a t that is below it.

    Newton's method: the left side less the right one is convex and falls.
    """
    cdef int64_t j, n, before = m + 1
    cdef double total, t = low
    while True:
        n, total = 0, 0
        for j in range(m):
            if u[j] > t:
                n += 1
                total += u[j]
        if n == before:
            return <float>t
        before = n
        if n == 0 and share == 0:
            return <float>t
        t = (slope * total - offset) / (share + slope * n)


cdef inline float threshold_of(
    const float *u, int64_t m, double slope, double offset, double most
) noexcept nogil:
    """The t with which max(0, u - t) maximises the dual over one sample.

    It is slope * sum max(0, u - t) - offset, or larger where the sum would exceed `most`.
    """
    cdef int64_t j
    cdef double total = 0
    cdef float t = root_of(u, m, slope, offset, 1, -1e30)
    for j in range(m):
        if u[j] > t:
            total += u[j] - t
    return root_of(u, m, 1, most, 0, t) if total > most else t
