"""PPDSparse: the greedy active-set method (Algorithm 1) on blocks of classes.

Sixteen classes are in work at a time.  A round lets every one of them descend on its active set
(`_descent`), then searches all samples for violators of any of them (`_search`), which gives the
duality gap as well.  A class that is done leaves its lane to the next of the block.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels._active_set cimport (
    Workspace, activate, clear_lane, drop_idle_negatives, dual_value, load_v, primal_value,
    publish_weights, resume_class, start_class, store_v,
)
from sklearn_xc._kernels._descent cimport descend
from sklearn_xc._kernels._matrix cimport Matrix
from sklearn_xc._kernels._search cimport CHUNK, keep_best, search_chunk

cdef enum:
    PASSES = 5  # of descent between two searches
    FIRST_PASSES = 3
    FEW = 100  # candidates a search, at least
    # The search for new classes reads one stretch of rows in eight.
    STRETCH = 512
    ONE_IN = 8
    # Counted operations between two looks for Ctrl-C, about a tenth of a second.
    PATIENCE = 50_000_000

globals()["LANES"] = LANES  # for Python

# Operations of the descent for an active sample, roughly, in the same unit.
cdef double DESCENT_COST = 200.0

# The cost model of the search, in units of one entry of X read row by row: an entry reached
# through a column, and going back to a column in the next chunk of rows.
cdef double COLUMN_ENTRY = 100
cdef double COLUMN_VISIT = 5.0


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


cdef int interrupted(const int32_t[::1] stop, double *operations) except -1 nogil:
    """Now and then: raise KeyboardInterrupt on Ctrl-C, in other threads when told to stop."""
    if operations[0] >= PATIENCE:
        operations[0] = 0
        with gil:
            PyErr_CheckSignals()
            if stop[0]:
                raise KeyboardInterrupt("the fit was interrupted")
    return 0


cdef void prepare_search(
    Workspace work, const Settings *settings, const int64_t[::1] positive_indptr, bint warm_up
) noexcept nogil:
    cdef Py_ssize_t c
    cdef Lane *lane
    for c in range(LANES):
        lane = &work.lanes[c]
        lane.searched = lane.label != IDLE and (lane.n_iter == 0 or not warm_up)
        lane.threshold = 1e30
        if not lane.searched:
            continue
        lane.threshold = -1 + lane.precision
        lane.loss = 0
        lane.n_candidates = 0
        lane.n_select = settings.n_select
        if lane.n_select == 0:
            lane.n_select = max(<Py_ssize_t>FEW, 2 * lane.n_active)
        work.positive_cursor[c] = positive_indptr[lane.label]


cdef void finish_search(Workspace work) noexcept nogil:
    cdef Py_ssize_t c, u
    cdef Lane *lane
    for c in range(LANES):
        lane = &work.lanes[c]
        if lane.searched and lane.n_candidates > lane.n_select:
            keep_best(c, lane.n_candidates, lane.n_select, work.candidates, work.candidate_scores)
            lane.n_candidates = lane.n_select
    for u in range(work.n_support):
        work.supported[work.support[u]] = 0
    work.n_support = 0


cdef int search(
    Workspace work,
    const Settings *settings,
    Matrix X,
    const float[::1] sample_weight,
    const int64_t[::1] positive_indptr,
    const int32_t[::1] positive_rows,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """One search over all samples for the classes in work; picks the cheaper way by counting."""
    cdef Py_ssize_t chunk, u, n = X.n_rows, n_chunks = (n + CHUNK - 1) // CHUNK
    cdef double by_rows = X.data.shape[0], by_columns = 0
    if X.has_columns:
        by_columns = COLUMN_VISIT * work.n_support * n_chunks
        for u in range(work.n_support):
            work.cursor[u] = X.column_indptr[work.support[u]]
            by_columns += COLUMN_ENTRY * (X.column_indptr[work.support[u] + 1] - work.cursor[u])
    prepare_search(work, settings, positive_indptr, False)
    for chunk in range(n_chunks):
        search_chunk(
            work.lanes, settings, chunk * CHUNK, min(chunk * CHUNK + CHUNK, n),
            X.has_columns and by_columns < by_rows, X, sample_weight, positive_indptr,
            positive_rows, work.weights, work.support, work.n_support, work.cursor,
            work.positive_cursor, work.member, work.scores, work.candidates,
            work.candidate_scores,
        )
        operations[0] += 16 * CHUNK + by_rows / n_chunks
        interrupted(stop, operations)
    finish_search(work)
    return 0


cdef int search_sample(
    Workspace work,
    const Settings *settings,
    Matrix X,
    const float[::1] sample_weight,
    const int64_t[::1] positive_indptr,
    const int32_t[::1] positive_rows,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """A search over every eighth stretch of rows, for classes that are new in their lanes.

    It finds most of what a first search over all rows would, at an eighth of the cost.
    """
    cdef Py_ssize_t stretch, n = X.n_rows, step = STRETCH * ONE_IN
    prepare_search(work, settings, positive_indptr, True)
    for stretch in range((n + step - 1) // step):
        search_chunk(
            work.lanes, settings, stretch * step, min(stretch * step + STRETCH, n), False, X,
            sample_weight, positive_indptr, positive_rows, work.weights, work.support, 0,
            work.cursor, work.positive_cursor, work.member, work.scores, work.candidates,
            work.candidate_scores,
        )
    operations[0] += X.data.shape[0] / ONE_IN
    interrupted(stop, operations)
    finish_search(work)
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


cdef Py_ssize_t append_weights(
    SparseOutput *out,
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    const float[::1] feature_maxima,
) except -1 nogil:
    """The weights that move some training score by more than `prune`; returns their number."""
    cdef Py_ssize_t q, before = out.size
    cdef int32_t j
    cdef float w
    for q in range(work.lanes[c].n_touched):
        j = work.touched[c, q]
        w = soft_threshold(work.saved[c, q], settings.l1) / settings.l2
        if fabs(w) * feature_maxima[j] > settings.prune:
            append(out, j, w)
    return out.size - before


cdef Py_ssize_t append_duals(SparseOutput *out, Workspace work, Py_ssize_t c) except -1 nogil:
    cdef Py_ssize_t a, before = out.size
    cdef int32_t entry
    for a in range(work.lanes[c].n_active):
        entry = work.active[c, a]
        if work.alpha[c, a] > 0:
            append(out, entry if entry >= 0 else ~entry, work.alpha[c, a])
    return out.size - before


def solve_classes(
    Settings settings,
    Matrix X,
    Matrix coarse,
    const float[::1] squared_norms,
    const float[::1] sample_weight,
    const float[:, ::1] class_weight,
    const float[::1] feature_maxima,
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
    variables.
    """
    cdef Py_ssize_t n_labels = labels.shape[0]
    cdef Workspace work = Workspace(X.n_rows, X.n_columns)
    cdef int32_t[::1] finished = np.empty(n_labels, dtype=np.int32)
    cdef int64_t[::1] n_weights = np.zeros(n_labels, dtype=np.int64)
    cdef int64_t[::1] n_dual = np.zeros(n_labels, dtype=np.int64)
    cdef float[::1] intercept = np.zeros(n_labels, dtype=np.float32)
    cdef int32_t[::1] n_iter = np.zeros(n_labels, dtype=np.int32)
    cdef double[::1] gap = np.zeros(n_labels)
    cdef int64_t[::1] n_active = np.zeros(n_labels, dtype=np.int64)
    cdef const int64_t[::1] dual_indptr
    cdef const int32_t[::1] dual_rows
    cdef const float[::1] dual_data
    cdef bint resume = len(dual) > 0
    if resume:
        dual_indptr, dual_rows, dual_data = dual
    cdef SparseOutput weights = [NULL, NULL, 0, 0]
    cdef SparseOutput duals = [NULL, NULL, 0, 0]
    cdef bint has_coarse = settings.sparsify or coarse is not X
    cdef bint exact, warm_up, close = False
    cdef Py_ssize_t c, n_started = 0, n_done = 0
    cdef double operations = 0
    cdef Lane *lane
    work.n_support = 0
    for c in range(LANES):
        work.lanes[c].label = IDLE
    try:
        with nogil:
            while n_done < n_labels:
                exact = close or not has_coarse
                warm_up = False
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
                        warm_up = True
                    if lane.label != IDLE and lane.n_iter + 1 == settings.max_iter:
                        exact = True  # the gap that is reported must be true

                if warm_up:
                    for c in range(LANES):
                        if work.lanes[c].label != IDLE and work.lanes[c].n_iter == 0:
                            descend_lane(
                                work, c, &settings, FIRST_PASSES, X, squared_norms,
                                sample_weight, False,
                            )
                    search_sample(
                        work, &settings, coarse, sample_weight, positive_indptr, positive_rows,
                        stop, &operations,
                    )
                    for c in range(LANES):
                        if work.lanes[c].label != IDLE and work.lanes[c].n_iter == 0:
                            admit_candidates(work, c)
                for c in range(LANES):
                    lane = &work.lanes[c]
                    if lane.label == IDLE:
                        continue
                    descend_lane(
                        work, c, &settings, PASSES, X, squared_norms, sample_weight,
                        settings.sparsify and not exact,
                    )
                    lane.n_iter += 1
                    operations += DESCENT_COST * lane.n_active
                    interrupted(stop, &operations)
                if exact:
                    search(
                        work, &settings, X, sample_weight, positive_indptr, positive_rows, stop,
                        &operations,
                    )
                else:
                    search(
                        work, &settings, coarse, sample_weight, positive_indptr, positive_rows,
                        stop, &operations,
                    )
                close = False
                for c in range(LANES):
                    lane = &work.lanes[c]
                    if lane.label == IDLE:
                        continue
                    lane.gap = relative_gap(work, c, &settings, X, sample_weight)
                    if not exact and lane.gap <= settings.tol:
                        close = True
                    if exact and (lane.gap <= settings.tol or lane.n_iter == settings.max_iter):
                        finished[n_done] = lane.label
                        n_iter[n_done] = lane.n_iter
                        gap[n_done] = lane.gap
                        n_active[n_done] = lane.n_active
                        intercept[n_done] = lane.bias / settings.l2
                        n_weights[n_done] = append_weights(
                            &weights, work, c, &settings, feature_maxima
                        )
                        if keep_dual:
                            n_dual[n_done] = append_duals(&duals, work, c)
                        clear_lane(work, c)
                        n_done += 1
                    else:
                        admit_candidates(work, c)
        return (
            np.asarray(finished), np.asarray(n_weights), np.asarray(intercept),
            np.asarray(n_iter), np.asarray(gap), np.asarray(n_active), as_arrays(&weights),
            np.asarray(n_dual), as_arrays(&duals),
        )
    finally:
        free(weights.indices)
        free(weights.data)
        free(duals.indices)
        free(duals.data)
