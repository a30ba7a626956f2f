"""The search for violating samples over dense rows that are rounded to bytes.

A row whose score, with the most that rounding can have taken away, stays below -1 is no violator
and has no loss.  Of the others a lane keeps a list, which it goes through in float32: with the
active set these are all rows that have a loss, and the objective is as true as that of a search
that reads all of X.  A lane whose list gets too long, as at first, when nearly every row violates
something, goes on with the rows of highest rounded score: that finds violators and certifies
nothing.
"""

from libc.math cimport fabs, fabsf, rintf, sqrt
from libc.stdint cimport int8_t, int32_t, uint16_t, uint32_t

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.common._vector_ops cimport inner_product, prefetch_floats
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace, grade_of
from sklearn_xc._kernels.ppdsparse._byte_rows cimport (
    FOUR, LARGEST, WIDEST, ByteHits, ByteRows, ByteWeights, byte_search, divides,
)
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport IDLE, LANES, Lane, Settings, soft_threshold
from sklearn_xc._kernels.ppdsparse._violator_search cimport (
    add_candidate, finish_search, keep_best, prepare_search,
)

cdef enum:
    STRETCH = 512  # rows between which thresholds rise; a search for new classes reads
    ONE_IN = 8  # one stretch in eight
    FIRST_ONE_IN = 2  # and the first of new classes, where all are new
    MANY_ROWS = 1 << 16  # from which on; of fewer rows classes would need another round
    # The longest list at first: so many times as many rows as are selected, or a part of all rows,
    # whose scores in float32 cost about as much as the search itself.
    TIMES_SELECTED = 4
    PART = 64
    PATIENT = 3  # rounds, from which on it doubles, so that every class is certified in the end
    AHEAD = 4  # rows that are fetched into the cache before their turn

cdef extern from "_simd.h" nogil:
    int lowest_bit "xc_lowest_bit" (unsigned int mask)

# What float32 arithmetic of a score may add to it, with room to spare, for each unit of its terms.
cdef double ROUNDING = 1e-6

cdef float NEVER = 1e30  # a threshold


cdef struct Sizes:  # of the weights of sixteen classes, |w|^2, and of what rounding takes from them
    double squares[LANES]
    double lost[LANES]


cdef dispatched largest_weights(
    const float *weights, Py_ssize_t d, float *largest  # OUT (LANES,)
) noexcept nogil:
    cdef Py_ssize_t j, c
    for c in range(LANES):
        largest[c] = 0
    for j in range(d):
        for c in range(LANES):
            largest[c] = max(largest[c], fabsf(weights[j * LANES + c]))


cdef dispatched round_weights(
    const float *weights,
    Py_ssize_t d,
    const float *scale,
    int8_t *values,  # OUT, zero behind the last feature
    int32_t *start,  # OUT (LANES,)
    Sizes *sizes,  # OUT
) noexcept nogil:
    cdef Py_ssize_t j, c
    cdef float inverse[LANES]
    cdef float q
    cdef double left
    for c in range(LANES):
        inverse[c] = 1 / scale[c] if divides(scale[c]) else 0
        start[c] = 0
        sizes.squares[c] = sizes.lost[c] = 0
    for j in range(d):
        for c in range(LANES):
            q = rintf(weights[j * LANES + c] * inverse[c])
            left = <double>weights[j * LANES + c] - <double>scale[c] * q
            sizes.squares[c] += <double>weights[j * LANES + c] * weights[j * LANES + c]
            sizes.lost[c] += left * left
            start[c] -= 128 * <int32_t>q
            values[(j // FOUR * LANES + c) * FOUR + j % FOUR] = <int8_t><int32_t>q
    for j in range(d, (d + FOUR - 1) // FOUR * FOUR):
        for c in range(LANES):
            values[(j // FOUR * LANES + c) * FOUR + j % FOUR] = 0


cdef void set_weights(
    const float *weights,
    Py_ssize_t d,
    const float *bias,
    int8_t *values,  # OUT
    ByteWeights *rounded,  # OUT
) noexcept nogil:
    """The weights of all lanes as bytes, and thresholds that every row with a loss exceeds."""
    cdef Py_ssize_t c
    cdef Sizes sizes
    cdef double length, lost
    largest_weights(weights, d, rounded.scale)
    for c in range(LANES):
        rounded.scale[c] /= LARGEST
        if not divides(rounded.scale[c]):
            rounded.scale[c] = 0
    round_weights(weights, d, rounded.scale, values, rounded.start, &sizes)
    rounded.values = values
    for c in range(LANES):
        length = sqrt(sizes.squares[c])
        lost = sqrt(sizes.lost[c])
        rounded.bias[c] = bias[c]
        rounded.of_error[c] = <float>((1 + ROUNDING) * length)
        rounded.of_length[c] = <float>((1 + ROUNDING) * lost + ROUNDING * (length + lost))
        rounded.threshold[c] = <float>(-1 - ROUNDING * (1 + fabs(bias[c])))


cdef Py_ssize_t longest_list(
    const Lane *lane, const Settings *settings, Py_ssize_t n
) noexcept nogil:
    """How many rows a lane may list; all of them in the last round, whose gap is reported."""
    cdef Py_ssize_t most = max(TIMES_SELECTED * lane.n_select, n // PART)
    if lane.n_iter >= settings.max_iter or lane.n_iter >= PATIENT + 30:
        return n
    if lane.n_iter > PATIENT:
        most <<= lane.n_iter - PATIENT
    return min(most, n)


cdef void shorten_list(Workspace work, Py_ssize_t c, ByteWeights *rounded) noexcept nogil:
    """Go on with the rows of highest score, known up to rounding."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    lane.whole = False
    keep_best(lane, c, work.candidates, work.candidate_scores)
    lane.threshold = NEVER
    for q in range(lane.n_candidates):
        lane.threshold = min(lane.threshold, work.candidate_scores[c, q])
    lane.threshold = max(lane.threshold, -1 + lane.precision)
    rounded.of_error[c] = 0
    rounded.of_length[c] = 0


cdef void take_hits(
    Workspace work,
    Problem problem,
    const Py_ssize_t *longest,
    ByteWeights *rounded,
    const ByteHits *hits,
) noexcept nogil:
    """Put the rows that a stretch has brought on the lists of their lanes."""
    cdef Py_ssize_t h
    cdef int32_t i
    cdef int c
    cdef uint32_t mask
    cdef float score
    cdef Lane *lane
    for h in range(hits.n):
        i = hits.rows[h]
        mask = hits.masks[h]
        if problem.sample_weight[i] == 0:
            continue
        while mask:
            c = lowest_bit(mask)
            mask &= mask - 1
            lane = &work.lanes[c]
            score = hits.scores[h * LANES + c]
            if lane.whole and lane.n_candidates == longest[c]:
                shorten_list(work, c, rounded)
            if lane.whole:
                work.candidates[c, lane.n_candidates] = i
                work.candidate_scores[c, lane.n_candidates] = score
                lane.n_candidates += 1
            elif score > lane.threshold:
                add_candidate(lane, c, i, score, work.candidates, work.candidate_scores)
    for c in range(LANES):
        if work.lanes[c].searched and not work.lanes[c].whole:
            rounded.threshold[c] = work.lanes[c].threshold


cdef inline double loss_of(double margin, bint hinge) noexcept nogil:
    margin = max(<double>0, margin)
    return margin if hinge else 0.5 * margin * margin


cdef void load_weights(Workspace work, Py_ssize_t c, const Settings *settings) noexcept nogil:
    """The weights of one lane, feature by feature, into `shrunk`."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    for q in range(work.shrunk.shape[0]):
        work.shrunk[q] = 0
    for q in range(lane.n_touched):
        work.shrunk[work.touched[c, q]] = (
            soft_threshold(work.saved[c, q], settings.l1) / settings.l2
        )


cdef inline float score_of(
    Workspace work, Problem problem, Py_ssize_t i, float bias
) noexcept nogil:
    cdef float z
    inner_product(
        problem.X.rows.values + i * problem.X.n_columns, &work.shrunk[0], problem.X.n_columns, &z
    )
    return bias + z


cdef void sum_listed_losses(
    Workspace work, Py_ssize_t c, const Settings *settings, Problem problem
) noexcept nogil:
    """The loss of the rows of the active set and of the list, in float32; violators stay listed."""
    cdef Lane *lane = &work.lanes[c]
    cdef float bias = lane.bias / settings.l2, z
    cdef Py_ssize_t a, q, kept = 0, d = problem.X.n_columns
    cdef double weight, loss
    cdef int32_t i
    load_weights(work, c, settings)
    for a in range(lane.n_active):
        i = work.active[c, a]
        if i < 0:
            i = ~i
            weight = <double>lane.positive_weight * grade_of(work, c, a)
            loss = loss_of(1 - <double>score_of(work, problem, i, bias), settings.hinge)
        else:
            weight = lane.negative_weight
            loss = loss_of(1 + <double>score_of(work, problem, i, bias), settings.hinge)
        lane.loss += weight * problem.sample_weight[i] * loss
    for q in range(lane.n_candidates):
        if q + AHEAD < lane.n_candidates:
            prefetch_floats(problem.X.rows.values + work.candidates[c, q + AHEAD] * d, d)
        i = work.candidates[c, q]
        z = score_of(work, problem, i, bias)
        loss = loss_of(1 + <double>z, settings.hinge)
        lane.loss += lane.negative_weight * problem.sample_weight[i] * loss
        if z > -1 + lane.precision:
            work.candidates[c, kept] = i
            work.candidate_scores[c, kept] = z
            kept += 1
    lane.n_candidates = kept


cdef Py_ssize_t part_of_rows(
    Workspace work, const Settings *settings, Py_ssize_t n, bint warm_up
) noexcept nogil:
    """One stretch in how many a search reads: classes that all are new are far from their end."""
    cdef Py_ssize_t c
    cdef const Lane *lane
    if warm_up:
        return ONE_IN
    if n < MANY_ROWS:
        return 1
    for c in range(LANES):
        lane = &work.lanes[c]
        if lane.label != IDLE and not (lane.fresh and lane.n_iter == 1 < settings.max_iter):
            return 1
    return FIRST_ONE_IN


cdef int search_bytes(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint warm_up,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """A search of all rows, or to warm up of one stretch in eight for classes that are new.

    Lanes that are `whole` afterwards have the loss of all rows.
    """
    cdef Py_ssize_t c, stretch, low, n = problem.X.n_rows
    cdef Py_ssize_t step = STRETCH * part_of_rows(work, settings, n, warm_up)
    cdef bint sampled = step > STRETCH
    cdef Py_ssize_t longest[LANES]
    cdef float bias[LANES]
    cdef int32_t rows[STRETCH + 1]
    cdef uint32_t masks[STRETCH + 1]
    cdef ByteWeights rounded
    cdef ByteHits hits
    prepare_search(work, settings, problem, n * STRETCH // step, warm_up)
    for c in range(LANES):
        bias[c] = work.lanes[c].bias / settings.l2 if work.lanes[c].searched else 0
    set_weights(
        &work.ordered[0, 0], work.ordered.shape[0], bias, &work.byte_weights[0], &rounded
    )
    for c in range(LANES):
        if work.lanes[c].searched:
            longest[c] = longest_list(&work.lanes[c], settings, n)
            if sampled:
                longest[c] = min(longest[c], work.lanes[c].n_select)
        else:
            rounded.threshold[c] = NEVER
    hits.rows = rows
    hits.masks = masks
    hits.scores = &work.scores[0, 0]
    for stretch in range((n + step - 1) // step):
        low = stretch * step
        hits.n = 0
        byte_search(
            WIDEST, &problem.X.rounded.pointers, low, min(low + STRETCH, n), &work.member[0],
            &rounded, &hits,
        )
        take_hits(work, problem, longest, &rounded, &hits)
        operations[0] += STRETCH * work.ordered.shape[0]
        interrupted(stop, operations)
    for c in range(LANES):
        if sampled:
            work.lanes[c].whole = False
        elif work.lanes[c].searched and work.lanes[c].whole:
            sum_listed_losses(work, c, settings, problem)
    finish_search(work)
    return 0


def rows_in_reach(
    ByteRows rows,
    const float[:, ::1] weights,
    const float[::1] bias,
    const uint16_t[::1] member,
    int widest=WIDEST,
):
    """What a search by bytes makes of rows, for tests and timing.

    Parameters
    ----------
    rows : ByteRows of n rows
    weights : (d, 16)
    bias : (16,)
    member : (n,), a bit for each class that knows the row already
    widest : 0 for plain loops, 1 for those of AVX2, 2 for those of AVX512-VNNI, where there are any

    Returns
    -------
    rows : ndarray of int32 (n_found,)
        Those that may have a score above -1 in one of sixteen classes.
    masks : ndarray of uint32 (n_found,)
        For which classes, by bits.
    scores : ndarray of float32 (n_found, 16)
        Of the rounded rows and weights.
    """
    cdef Py_ssize_t d = weights.shape[0], n = member.shape[0]
    cdef int32_t[::1] found = np.empty(n + 1, dtype=np.int32)
    cdef uint32_t[::1] masks = np.empty(n + 1, dtype=np.uint32)
    cdef float[:, ::1] scores = np.empty((n + 1, LANES), dtype=np.float32)
    cdef int8_t[::1] values = np.empty((d + FOUR) * LANES, dtype=np.int8)
    cdef ByteWeights rounded
    cdef ByteHits hits
    hits.n = 0
    hits.rows = &found[0]
    hits.masks = &masks[0]
    hits.scores = &scores[0, 0]
    with nogil:
        set_weights(&weights[0, 0], d, &bias[0], &values[0], &rounded)
        byte_search(widest, &rows.pointers, 0, n, &member[0], &rounded, &hits)
    return np.asarray(found)[: hits.n], np.asarray(masks)[: hits.n], np.asarray(scores)[: hits.n]
