"""Sparse entries of solved classes under the caller's numbers, in ascending order."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector


def name_entries(
    const int64_t[::1] counts, int32_t[::1] positions, float[::1] values, const int32_t[::1] names
):
    """Put names in the place of positions and sort the entries of each class by them.

    Done where a block of classes is solved, so that threads share the work.

    Parameters
    ----------
    counts : (n_classes,), how many of the entries each class has
    positions : (n_entries,), no position twice in a class; changed in place
    values : (n_entries,), changed in place
    names : the number that each position stands for
    """
    cdef Py_ssize_t k, e, begin = 0, n
    cdef uint32_t bits
    cdef vector[uint64_t] keys  # the name, and the bits of the value with it
    with nogil:
        for k in range(counts.shape[0]):
            n = counts[k]
            keys.resize(n)
            for e in range(n):
                memcpy(&bits, &values[begin + e], sizeof(float))
                keys[e] = (<uint64_t>names[positions[begin + e]] << 32) | bits
            sort(keys.begin(), keys.end())
            for e in range(n):
                bits = <uint32_t>keys[e]
                positions[begin + e] = <int32_t>(keys[e] >> 32)
                memcpy(&values[begin + e], &bits, sizeof(float))
            begin += n
