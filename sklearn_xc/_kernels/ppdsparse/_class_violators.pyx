"""The classes of largest score of each sample, and the loss that compares classes."""

from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.ppdsparse._simplex cimport threshold_of


cdef enum:
    TOGETHER = 64  # scores that are compared with the margin at once


cdef void add_scores(
    const int32_t *features,
    const float *values,
    int64_t n,
    const int64_t *firsts,
    const int32_t *classes,
    const float *weights,
    float *scores,
) noexcept nogil:
    """Add the products of a row with the weights of all classes."""
    cdef int64_t e, entry
    cdef float x
    for e in range(n):
        x = values[e]
        for entry in range(firsts[features[e]], firsts[features[e] + 1]):
            scores[classes[entry]] += x * weights[entry]


cdef inline Py_ssize_t end_of(Py_ssize_t block, Py_ssize_t n) noexcept nogil:
    return (block + 1) * TOGETHER if (block + 1) * TOGETHER < n else n


cdef dispatched count_above(
    const float *scores, Py_ssize_t n, float lowest, int32_t *counts
) noexcept nogil:
    """How many of each TOGETHER scores are above a number."""
    cdef Py_ssize_t block, k
    cdef int32_t count
    for block in range((n - 1) // TOGETHER + 1):
        count = 0
        for k in range(block * TOGETHER, end_of(block, n)):
            count += scores[k] > lowest
        counts[block] = count


cdef Py_ssize_t collect(
    float *scores, Py_ssize_t n_classes, int32_t own, float lowest, int32_t *counts, int32_t *which
) noexcept nogil:
    """Which classes but the own one are above a number; their scores come first."""
    cdef Py_ssize_t block, k, n = 0
    scores[own] = lowest
    count_above(scores, n_classes, lowest, counts)
    for block in range((n_classes - 1) // TOGETHER + 1):
        if counts[block] == 0:
            continue
        for k in range(block * TOGETHER, end_of(block, n_classes)):
            if scores[k] > lowest:
                scores[n], which[n] = scores[k], <int32_t>k
                n += 1
    return n


cdef void select(
    const float *scores,
    const int32_t *which,
    Py_ssize_t n,
    const uint8_t *known,
    float limit,
    int32_t *found,
    Py_ssize_t most,
    float *best,
) noexcept nogil:
    """The largest scores of new classes above a limit, of equal ones the first; -1 ends them."""
    cdef Py_ssize_t i, at, n_best = 0
    for i in range(n):
        if known[which[i]] or scores[i] <= limit:
            continue
        if n_best == most:
            if scores[i] <= best[most - 1]:
                continue
        else:
            n_best += 1
        at = n_best - 1
        while at > 0 and best[at - 1] < scores[i]:
            best[at], found[at] = best[at - 1], found[at - 1]
            at -= 1
        best[at], found[at] = scores[i], which[i]
    for at in range(n_best, most):
        found[at] = -1


cdef inline void mark(
    const int32_t[::1] classes, int64_t first, int64_t end, uint8_t *known, uint8_t as_what
) noexcept nogil:
    cdef int64_t pair
    for pair in range(first, end):
        known[classes[pair]] = as_what


cdef double loss_of(
    float *scores, Py_ssize_t n, float lowest, double cost, float *limit_to
) noexcept nogil:
    """The loss of one sample; its scores become violations times the cost.

    Classes whose violation is above `limit_to` have a part in the loss.
    """
    cdef Py_ssize_t j
    cdef double loss = 0, a
    cdef float limit
    for j in range(n):
        scores[j] = <float>(cost * (scores[j] - lowest))
    limit = threshold_of(scores, n, 0, 0, cost)
    limit_to[0] = limit
    for j in range(n):
        a = scores[j] - limit
        if a > 0:
            loss += a * (scores[j] - a / 2) / cost
    return loss


def search_classes(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const int64_t[::1] firsts,
    const int32_t[::1] of_lists,
    const float[::1] weights,
    const float[::1] intercept,
    const int64_t[::1] starts,
    const int32_t[::1] classes,
    int32_t[::1] found,
    double[::1] losses,
    int n_threads,
):
    """Score all classes of some samples; the result does not depend on the number of threads.

    Parameters
    ----------
    indptr, indices, data : CSR rows of these samples
    firsts, of_lists, weights : the weights of all classes feature by feature
    intercept : (n_classes,)
    starts, classes
        The pairs of these samples, as of `ClassComparison`.
    found : (n_samples * n_found + n_pairs,)
        Becomes the classes with a part in the loss that are in no pair with a sample, of largest
        score first, -1 at the end. A sample has n_found places, and as many as it has pairs.
    losses : (n_samples,), holds the costs, which the losses replace
    n_threads : int
    """
    cdef Py_ssize_t i, n, n_classes = intercept.shape[0], n_samples = losses.shape[0]
    cdef Py_ssize_t most = (found.shape[0] - (starts[n_samples] - starts[0])) // max(n_samples, 1)
    cdef float[:, ::1] scores = np.empty((n_threads, n_classes), dtype=np.float32)
    cdef int32_t[:, ::1] which = np.empty((n_threads, n_classes), dtype=np.int32)
    cdef uint8_t[:, ::1] known = np.zeros((n_threads, n_classes), dtype=np.uint8)
    cdef int32_t[:, ::1] counts = np.empty(
        (n_threads, (n_classes - 1) // TOGETHER + 1), dtype=np.int32
    )
    cdef float[:, ::1] best = np.empty((n_threads, n_classes), dtype=np.float32)
    cdef const int32_t *features = &indices[0] if indices.shape[0] else NULL
    cdef const float *values = &data[0] if data.shape[0] else NULL
    cdef const int32_t *in_lists = &of_lists[0] if of_lists.shape[0] else NULL
    cdef const float *of_entries = &weights[0] if weights.shape[0] else NULL
    cdef float *mine
    cdef uint8_t *is_known
    cdef float lowest, limit
    cdef int32_t own, thread
    for i in prange(n_samples, nogil=True, schedule="dynamic", chunksize=16,
                    num_threads=n_threads):
        thread = threadid()
        mine, is_known = &scores[thread, 0], &known[thread, 0]
        memcpy(mine, &intercept[0], n_classes * sizeof(float))
        add_scores(
            features + indptr[i], values + indptr[i], indptr[i + 1] - indptr[i],
            &firsts[0], in_lists, of_entries, mine,
        )
        own = classes[starts[i]]
        lowest = mine[own] - 1
        n = collect(mine, n_classes, own, lowest, &counts[thread, 0], &which[thread, 0])
        losses[i] = loss_of(mine, n, lowest, losses[i], &best[thread, 0])
        limit = best[thread, 0]
        mark(classes, starts[i], starts[i + 1], is_known, 1)
        select(
            mine, &which[thread, 0], n, is_known, limit, &found[i * most + starts[i] - starts[0]],
            most + starts[i + 1] - starts[i], &best[thread, 0],
        )
        mark(classes, starts[i], starts[i + 1], is_known, 0)
