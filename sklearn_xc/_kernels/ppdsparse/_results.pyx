"""Results of the classes that are solved."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings


cdef int append(SparseOutput *out, int32_t index, float value) except -1 nogil:
    cdef void *grown
    cdef Py_ssize_t capacity
    if out.size == out.capacity:
        capacity = max(1024, 2 * out.capacity)
        grown = realloc(out.indices, capacity * sizeof(int32_t))
        if grown == NULL:
            raise MemoryError(f"no memory for {capacity} weights of a block of classes")
        out.indices = <int32_t *>grown
        grown = realloc(out.data, capacity * sizeof(float))
        if grown == NULL:
            raise MemoryError(f"no memory for {capacity} weights of a block of classes")
        out.data = <float *>grown
        out.capacity = capacity
    out.indices[out.size] = index
    out.data[out.size] = value
    out.size += 1
    return 0


cdef tuple as_arrays(SparseOutput *out):
    indices = np.empty(out.size, dtype=np.int32)
    data = np.empty(out.size, dtype=np.float32)
    cdef int32_t[::1] to_indices = indices
    cdef float[::1] to_data = data
    if out.size:
        memcpy(&to_indices[0], out.indices, out.size * sizeof(int32_t))
        memcpy(&to_data[0], out.data, out.size * sizeof(float))
    return indices, data


cdef class Results:
    """Weights and reports of the solved classes, in the order in which they were finished."""

    def __init__(self, Py_ssize_t n):
        self.labels = np.empty(n, dtype=np.int32)
        self.n_iter = np.zeros(n, dtype=np.int32)
        self.n_weights = np.zeros(n, dtype=np.int64)
        self.n_duals = np.zeros(n, dtype=np.int64)
        self.n_active = np.zeros(n, dtype=np.int64)
        self.intercept = np.zeros(n, dtype=np.float32)
        self.gap = np.zeros(n)
        self.n_visits = np.zeros(n)

    def __dealloc__(self):
        free(self.weights.indices)
        free(self.weights.data)
        free(self.duals.indices)
        free(self.duals.data)

    def as_tuple(self):
        return (
            np.asarray(self.labels), np.asarray(self.n_weights), np.asarray(self.intercept),
            np.asarray(self.n_iter), np.asarray(self.gap), np.asarray(self.n_active),
            as_arrays(&self.weights), np.asarray(self.n_duals), as_arrays(&self.duals),
            np.asarray(self.n_visits),
        )


cdef int keep_class(
    Results results, Workspace work, Py_ssize_t c, const Settings *settings, bint keep_dual
) except -1 nogil:
    """Store a class that is done, with the weights that its pruning has left in `packed`."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t n = results.n_done, q, before = results.weights.size
    cdef bint done = lane.gap <= settings.tol
    cdef int32_t entry
    results.labels[n] = lane.label
    results.n_iter[n] = lane.n_iter
    results.gap[n] = lane.gap
    results.n_visits[n] = lane.n_visits
    results.n_active[n] = lane.n_active
    results.intercept[n] = lane.intercept
    for q in range(lane.n_touched):
        if work.packed[q] != 0:
            append(&results.weights, work.touched[c, q], work.packed[q])
    results.n_weights[n] = results.weights.size - before
    if keep_dual:
        before = results.duals.size
        for q in range(lane.n_active):
            entry = work.active[c, q]
            if work.alpha[c, q] > 0:
                append(&results.duals, entry if entry >= 0 else ~entry, work.alpha[c, q])
        if not done:  # the violators just found are where the next fit goes on
            for q in range(lane.n_candidates):
                append(&results.duals, work.candidates[c, q], 0)
        results.n_duals[n] = results.duals.size - before
    results.n_done += 1
    return 0
