"""Draws of classes for the samples of a mini-batch.

A sample's draw depends on the seed, the step and its place in the mini-batch, never on threads.
"""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from sklearn_xc._kernels.common._common cimport random_below, random_unit, seed_for


cdef void draw_distinct_row(
    int32_t* classes, int32_t n_sampled, int32_t n_classes, uint64_t* drawn, uint64_t state
) noexcept nogil:
    """Floyd's method among the n_classes - 1 others, numbered without the own class.

    `drawn` has a bit for each class, all zero before and after.
    """
    cdef int32_t j, c, last
    for j in range(1, n_sampled + 1):
        last = n_classes - 2 - n_sampled + j
        c = <int32_t>random_below(&state, last + 1)
        if drawn[c // 64] >> (c % 64) & 1:
            c = last
        classes[j] = c
        drawn[c // 64] |= <uint64_t>1 << (c % 64)
    for j in range(1, n_sampled + 1):
        drawn[classes[j] // 64] = 0
        classes[j] += classes[j] >= classes[0]


def draw_distinct(
    int32_t[:, ::1] classes, int32_t n_classes, uint64_t seed, int64_t step, int n_threads
):
    """OUT classes[:, 1:]: distinct classes other than classes[:, 0], uniformly."""
    cdef Py_ssize_t i
    cdef int32_t n_sampled = <int32_t>classes.shape[1] - 1
    cdef uint64_t stream = seed_for(seed, step)
    cdef uint64_t[:, ::1] drawn = np.zeros((n_threads, n_classes // 64 + 1), dtype=np.uint64)
    for i in prange(classes.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        draw_distinct_row(
            &classes[i, 0], n_sampled, n_classes, &drawn[threadid(), 0], seed_for(stream, i)
        )


cdef void draw_alias_row(
    int32_t* classes, int32_t n_sampled, const double[::1] threshold, const int32_t[::1] alias,
    uint64_t state,
) noexcept nogil:
    cdef int32_t j, c
    for j in range(1, n_sampled + 1):
        c = classes[0]
        while c == classes[0]:
            c = <int32_t>random_below(&state, <int32_t>threshold.shape[0])
            if random_unit(&state) >= threshold[c]:
                c = alias[c]
        classes[j] = c


def draw_alias(
    int32_t[:, ::1] classes, const double[::1] threshold, const int32_t[::1] alias,
    uint64_t seed, int64_t step, int n_threads,
):
    """OUT classes[:, 1:]: others than classes[:, 0], with replacement (see `alias_table`)."""
    cdef Py_ssize_t i
    cdef int32_t n_sampled = <int32_t>classes.shape[1] - 1
    cdef uint64_t stream = seed_for(seed, step)
    for i in prange(classes.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        draw_alias_row(&classes[i, 0], n_sampled, threshold, alias, seed_for(stream, i))


def fill_alias_table(double[::1] threshold, int32_t[::1] alias):
    """Level Walker's table: places below 1 are filled up by places above, whose rest goes on.

    Parameters
    ----------
    threshold : (n,), IN: the probabilities times n; OUT: below which a place is kept
    alias : (n,), IN: 0 to n - 1; OUT: what is taken else
    """
    cdef Py_ssize_t n = threshold.shape[0], i
    cdef Py_ssize_t n_small = 0, n_large = 0
    cdef int32_t low, high
    cdef int32_t[::1] small = np.empty(n, dtype=np.int32), large = np.empty(n, dtype=np.int32)
    with nogil:
        for i in range(n):
            if threshold[i] < 1:
                small[n_small] = <int32_t>i
                n_small += 1
            else:
                large[n_large] = <int32_t>i
                n_large += 1
        while n_small and n_large:
            n_small -= 1
            low, high = small[n_small], large[n_large - 1]
            alias[low] = high
            threshold[high] -= 1 - threshold[low]
            if threshold[high] < 1:
                n_large -= 1
                small[n_small] = high
                n_small += 1
        for i in range(n_small):
            threshold[small[i]] = 1
        for i in range(n_large):
            threshold[large[i]] = 1
