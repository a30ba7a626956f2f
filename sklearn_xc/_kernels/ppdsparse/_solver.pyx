"""PPDSparse: the greedy active-set method (Algorithm 1) on blocks of classes.

Sixteen classes are in work at a time.  A round lets every one of them descend on its active set
(`_dual_descent`), then searches all samples for violators of any of them (`_violator_search`),
which gives the duality gap as well.  A class that is done leaves its lane to the next of the block.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels.ppdsparse._active_set cimport (
    Workspace, activate, clear_lane, draw_negatives, drop_idle_negatives, dual_value, load_v,
    primal_value, publish_weights, refresh_v, resume_class, start_class, store_v,
)
from sklearn_xc._kernels.common._common cimport interrupted
from sklearn_xc._kernels.ppdsparse._dual_descent cimport descend
from sklearn_xc._kernels.ppdsparse._matrix cimport Matrix
from sklearn_xc._kernels.ppdsparse._pruning cimport prune_weights
from sklearn_xc._kernels.ppdsparse._types cimport IDLE, LANES, Lane, Settings
from sklearn_xc._kernels.ppdsparse._violator_search cimport search, search_sample

cdef enum:
    PASSES = 5  # of descent between two searches
    FIRST_PASSES = 3
    # Where searches are approximate, one in four is exact: only that one sees every violator and
    # gives a true gap.
    EXACT_EVERY = 4

N_LANES = LANES  # for Python


cdef struct SparseOutput:  # grows as classes finish
    int32_t *indices
    float *data
    Py_ssize_t size
    Py_ssize_t capacity


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
    """What is kept of the classes that are done, in the order in which they were finished."""

    cdef int32_t[::1] labels, n_iter
    cdef int64_t[::1] n_weights, n_duals, n_active
    cdef float[::1] intercept
    cdef double[::1] gap, n_visits
    cdef SparseOutput weights, duals
    cdef Py_ssize_t n_done

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
    Results results,
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    bint keep_dual,
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
    results.intercept[n] = lane.bias / settings.l2
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


cdef void descend_lane(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    int n_passes,
    Matrix X,
    const float[::1] squared_norms,
    const float[::1] sample_weight,
    bint sparsify,
) noexcept nogil:
    """Algorithm 1, steps 3 and 4, and the weights for the next search."""
    load_v(work, c)
    descend(
        &work.lanes[c], c, settings, n_passes, X, squared_norms, sample_weight, work.active,
        work.alpha, work.touched, work.v, work.seen,
    )
    store_v(work, c)
    drop_idle_negatives(work, c)
    publish_weights(work, c, settings, sparsify)


cdef double relative_gap(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Matrix X,
    const float[::1] sample_weight,
) noexcept nogil:
    cdef double primal = primal_value(work, c, settings)
    work.lanes[c].primal = primal
    return (primal - dual_value(work, c, settings, X, sample_weight)) / max(primal, <double>1e-30)


cdef void admit_candidates(Workspace work, Py_ssize_t c) noexcept nogil:
    """Algorithm 1, step 2: the samples of largest negative gradient join the active set.

    Where none is left and the gap is still open, it is made of many small violations.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    for q in range(lane.n_candidates):
        activate(work, c, work.candidates[c, q], False, 0)
    if lane.n_candidates == 0:
        lane.precision *= <float>0.3


def solve_classes(
    Settings settings,
    Matrix X,
    Matrix coarse,
    const float[::1] squared_norms,
    const float[::1] sample_weight,
    const float[:, ::1] class_weight,
    const float[::1] feature_maxima,
    const float[::1] feature_norms,
    const int64_t[::1] positive_indptr,
    const int32_t[::1] positive_rows,
    const int32_t[::1] labels,
    tuple dual,
    bint keep_dual,
    const int32_t[::1] stop,
):
    """Fit the classes `labels`, one after the other in sixteen lanes.

    Parameters
    ----------
    settings : dict with the members of `Settings`
    X : Matrix, the samples
    coarse : Matrix, the samples that searches read which need not be exact (X itself, or X
        without its small entries)
    squared_norms : (n_samples,), ||x_i||^2, the constant feature counted
    sample_weight : (n_samples,)
    class_weight : (n_classes, 2), weight of the loss of a class's negatives and positives
    feature_maxima : (n_features,), largest |x_ij| of each feature, for the pruning
    feature_norms : (n_features,), root of the sum of sample_weight_i x_ij^2, for the same
    positive_indptr, positive_rows : the positives of each class, sorted
    labels : the classes to fit; each has a positive of weight above zero
    dual : () or CSR arrays (indptr, rows, data) of earlier dual variables of all classes
    keep_dual : whether to return the dual variables
    stop : (1,), not 0 asks all threads to give up

    Returns
    -------
    tuple of arrays: in the order in which the classes were finished their numbers, and for each
    its number of weights, intercept, rounds, relative gap, size of the active set; the features
    and values of the weights; with `keep_dual` the number, samples and values of its dual
    variables; the rows of X read for it, in which a search counts for a sixteenth.
    """
    cdef Py_ssize_t n_labels = labels.shape[0]
    cdef Workspace work = Workspace(
        X.n_rows, X.n_columns, np.sum(sample_weight, dtype=np.float64)
    )
    cdef Results results = Results(n_labels)
    cdef const int64_t[::1] dual_indptr
    cdef const int32_t[::1] dual_rows
    cdef const float[::1] dual_data
    cdef bint resume = len(dual) > 0
    if resume:
        dual_indptr, dual_rows, dual_data = dual
    cdef bint approximate = settings.sparsify or coarse is not X
    cdef bint exact, certain, any_new, close = False
    cdef Py_ssize_t c, n_started = 0, n_rounds = 0
    cdef double operations = 0, entries_per_row = X.data.shape[0] / max(1, X.n_rows)
    cdef Lane *lane
    with nogil:
        while results.n_done < n_labels:
            n_rounds += 1
            exact = not approximate or close or n_rounds % EXACT_EVERY == 0
            any_new = False
            for c in range(LANES):
                lane = &work.lanes[c]
                if lane.label == IDLE and n_started < n_labels:
                    start_class(
                        work, c, labels[n_started], &settings, class_weight, sample_weight,
                        positive_indptr, positive_rows,
                    )
                    if resume:
                        resume_class(
                            work, c, &settings, X, dual_indptr, dual_rows, dual_data,
                            sample_weight,
                        )
                    n_started += 1
                    if lane.fresh:
                        draw_negatives(work, c, sample_weight)
                        descend_lane(
                            work, c, &settings, FIRST_PASSES, X, squared_norms, sample_weight,
                            False,
                        )
                        any_new = True
                if lane.label != IDLE and lane.n_iter + 1 == settings.max_iter:
                    exact = True  # the gap that is reported must be true
            if any_new:
                search_sample(
                    work, &settings, coarse, sample_weight, positive_indptr, positive_rows, stop,
                    &operations,
                )
                for c in range(LANES):
                    lane = &work.lanes[c]
                    if lane.label != IDLE and lane.n_iter == 0 and lane.fresh:
                        admit_candidates(work, c)

            for c in range(LANES):
                lane = &work.lanes[c]
                if lane.label == IDLE:
                    continue
                operations += PASSES * lane.n_active * (10 + entries_per_row)
                descend_lane(
                    work, c, &settings, PASSES, X, squared_norms, sample_weight,
                    settings.sparsify and not exact,
                )
                lane.n_iter += 1
                interrupted(stop, &operations)
            if exact:
                search(
                    work, &settings, X, sample_weight, positive_indptr, positive_rows, stop,
                    &operations,
                )
            else:
                search(
                    work, &settings, coarse, sample_weight, positive_indptr, positive_rows, stop,
                    &operations,
                )
            close = False
            for c in range(LANES):
                lane = &work.lanes[c]
                if lane.label == IDLE:
                    continue
                lane.gap = relative_gap(work, c, &settings, X, sample_weight)
                # of a lane that was not sparsified, a search over all entries is exact
                certain = (exact or coarse is X) and not lane.sparsified
                if certain and (lane.gap <= settings.tol or lane.n_iter == settings.max_iter):
                    prune_weights(
                        work, c, &settings, X, sample_weight, feature_maxima, feature_norms
                    )
                    keep_class(results, work, c, &settings, keep_dual)
                    clear_lane(work, c)
                else:
                    close = close or lane.gap <= settings.tol
                    refresh_v(work, c, &settings)
                    admit_candidates(work, c)
    return results.as_tuple()
