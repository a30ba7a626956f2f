"""The search for violating samples over dense rows that are rounded to bytes.

A row whose score, with the most that rounding can have taken away, stays below -1 is no violator
and has no loss.  Of the others a lane keeps a list, which it goes through in float32: with the
active set these are all rows that have a loss, and the objective is as true as that of a search
that reads all of X.

The objective is that at the best intercept at or below the one searched with (`_listed_rows`), for
which rounded scores tell what part of the list is to be gone through.  So a list that gets too long
loses its lower half, and the intercept has to drop as far.  The first searches of a class, when
nearly every row violates something, find violators only.
"""

from libc.math cimport fabs, fabsf, rintf, sqrt
from libc.stdint cimport int8_t, int32_t, uint16_t, uint32_t

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.common._vector_ops cimport divides, lowest_bit
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._listed_rows cimport error_of, find_primal, longest_list
from sklearn_xc._kernels.ppdsparse._problem cimport (
    BLOCK, FOUR, LARGEST_HALF, LARGEST_WEIGHT, ROUNDING, WIDEST, ByteHits, ByteRows, ByteWeights,
    Problem, bound_errors, byte_search,
)
from sklearn_xc._kernels.ppdsparse._types cimport IDLE, LANES, Lane, Settings
from sklearn_xc._kernels.ppdsparse._violator_search cimport (
    ONE_IN, STRETCH, add_candidate, finish_search, prepare_search,
)

cdef enum:
    EARLY_ONE_IN = 2  # of stretches, of MANY_ROWS where only new classes are searched for
    # The longest list: so many times as many rows as are selected, or a part of all rows.
    TIMES_SELECTED = 16
    PART = 64

cdef float NEVER = 1e30  # a threshold


cdef struct Sizes:  # of the weights of sixteen classes, |w|^2, and of what rounding takes from them
    double squares[LANES]
    double lost[LANES]


cdef dispatched scales_of_weights(
    const float *weights, Py_ssize_t d, float *scale  # OUT (LANES,)
) noexcept nogil:
    """Find scales in which no weight as a byte, and no sum kept in 16 bits, gets too large."""
    cdef Py_ssize_t j, c, half
    cdef float above[2][LANES]
    cdef float below[2][LANES]
    cdef float w
    for c in range(LANES):
        scale[c] = above[0][c] = above[1][c] = below[0][c] = below[1][c] = 0
    for j in range(d):
        # Pairs of products are summed in 16 bits over a block of features, the first and the second
        # pair of each four apart.
        half = j % FOUR // 2
        for c in range(LANES):
            w = weights[j * LANES + c]
            scale[c] = max(scale[c], fabsf(w) / LARGEST_WEIGHT)
            above[half][c] += max(w, <float>0)
            below[half][c] += max(-w, <float>0)
        if (j + 1) % BLOCK and j + 1 < d:
            continue
        for half in range(2):
            for c in range(LANES):
                # Bytes of rows are not negative, so a sum is between those of the weights of one
                # sign.
                scale[c] = max(scale[c], max(above[half][c], below[half][c]) / LARGEST_HALF)
                above[half][c] = below[half][c] = 0


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
            # Takes the 128 of the bytes without sign out of the sum.
            start[c] -= 128 * <int32_t>q
            # Four features of a class side by side, as the instruction for products of bytes wants.
            values[(j // FOUR * LANES + c) * FOUR + j % FOUR] = <int8_t><int32_t>q
    for j in range(d, (d + BLOCK - 1) // BLOCK * BLOCK):
        for c in range(LANES):
            values[(j // FOUR * LANES + c) * FOUR + j % FOUR] = 0


cdef void set_weights(
    const float *weights,
    Py_ssize_t d,
    const float *bias,
    int8_t *values,  # OUT
    ByteWeights *rounded,  # OUT
) noexcept nogil:
    """Round the weights of all lanes to bytes; every row with a loss exceeds the thresholds."""
    cdef Py_ssize_t c
    cdef Sizes sizes
    # A scale of zero stands for weights too small to divide by, which are all lost then.
    scales_of_weights(weights, d, rounded.scale)
    for c in range(LANES):
        if not divides(rounded.scale[c]):
            rounded.scale[c] = 0
    round_weights(weights, d, rounded.scale, values, rounded.start, &sizes)
    rounded.values = values
    for c in range(LANES):
        rounded.bias[c] = bias[c]
        bound_errors(
            sqrt(sizes.squares[c]), sqrt(sizes.lost[c]), &rounded.of_error[c],
            &rounded.of_length[c],
        )
        # A little below -1, by what float32 may do to the sum of intercept and product.
        rounded.threshold[c] = <float>(-1 - ROUNDING * (1 + fabs(bias[c])))


cdef void shorten_list(Workspace work, Py_ssize_t c, ByteWeights *rounded) noexcept nogil:
    """Go on with the rows that may be above the mean of the list."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q, kept = 0
    cdef double total = 0
    # The mean halves the list without sorting it. `find_primal` lets the intercept drop as far, so
    # that what leaves has no loss there.
    for q in range(lane.n_candidates):
        total += work.candidate_scores[c, q]
    rounded.threshold[c] = max(rounded.threshold[c], <float>(total / lane.n_candidates))
    for q in range(lane.n_candidates):
        if work.candidate_scores[c, q] > rounded.threshold[c]:
            work.candidates[c, kept] = work.candidates[c, q]
            work.candidate_scores[c, kept] = work.candidate_scores[c, q]
            kept += 1
    lane.n_candidates = kept


cdef void take_hits(
    Workspace work, Problem problem, const Py_ssize_t *longest, ByteWeights *rounded,
    const ByteHits *hits,
) noexcept nogil:
    """Put the rows that a stretch has brought on the lists of their lanes.

    The lists of lanes that are to know their loss have the highest scores that rows may have.
    """
    cdef Py_ssize_t h
    cdef int32_t i
    cdef int c
    cdef uint32_t mask
    cdef float score
    cdef Lane *lane
    for h in range(hits.n):
        i = hits.rows[h]
        mask = hits.masks[h]
        while mask:
            c = lowest_bit(mask)
            # Clears the lowest bit.
            mask &= mask - 1
            lane = &work.lanes[c]
            score = hits.scores[h * LANES + c]
            if lane.whole:
                # The highest that the true score may be: no row with a loss is missed.
                score += error_of(
                    rounded.of_error[c], rounded.of_length[c], &problem.X.rounded.pointers, i
                )
                # `longest` is at most the number of rows, and a list has one place more.
                if lane.n_candidates == longest[c]:
                    shorten_list(work, c, rounded)
                if score > rounded.threshold[c]:
                    work.candidates[c, lane.n_candidates] = i
                    work.candidate_scores[c, lane.n_candidates] = score
                    lane.n_candidates += 1
            elif score > lane.threshold:
                add_candidate(lane, c, i, score, work.candidates, work.candidate_scores)
    # A threshold that has risen with a full list of violators spares the next stretch.
    for c in range(LANES):
        if work.lanes[c].searched and not work.lanes[c].whole:
            rounded.threshold[c] = work.lanes[c].threshold


cdef Py_ssize_t part_of_rows(
    Workspace work, const Settings *settings, Py_ssize_t n, bint warm_up
) noexcept nogil:
    """Return one stretch in how many a search reads."""
    cdef Py_ssize_t c
    cdef const Lane *lane
    if warm_up:
        return ONE_IN
    if n < MANY_ROWS:
        return 1
    for c in range(LANES):
        lane = &work.lanes[c]
        if lane.label == IDLE or lane.waits:
            continue
        # A class that needs its loss needs all rows, and the others get them with it.
        if not is_early(lane, settings):
            return 1
    return EARLY_ONE_IN


cdef int search_bytes(
    Workspace work, const Settings *settings, Problem problem, bint warm_up,
    const int32_t[::1] stop, double *operations,
) except -1 nogil:
    """Search all rows, or a part of them where it warms up or all classes are new.

    Lanes that are `whole` afterwards have the loss of all rows.
    """
    cdef Py_ssize_t c, stretch, low, n = problem.X.n_rows
    cdef Py_ssize_t step = STRETCH * part_of_rows(work, settings, n, warm_up)
    cdef Py_ssize_t first = 0
    cdef bint sampled = step > STRETCH
    cdef Py_ssize_t longest[LANES]
    cdef float bias[LANES]
    cdef float lowest[LANES]
    # One place more than rows, since a hit is written before it is known to be one.
    cdef int32_t rows[STRETCH + 1]
    cdef uint32_t masks[STRETCH + 1]
    cdef ByteWeights rounded
    cdef ByteHits hits
    cdef Lane *lane
    # Stretches from all over the rows, which stand in the order given where they are dense. The
    # next search of a new class reads others.
    prepare_search(work, settings, problem, n * STRETCH // step, warm_up)
    for c in range(LANES):
        bias[c] = work.lanes[c].intercept if work.lanes[c].searched else 0
    set_weights(
        &work.ordered[0, 0], work.ordered.shape[0], bias, &work.byte_weights[0], &rounded
    )
    for c in range(LANES):
        lane = &work.lanes[c]
        if not lane.searched:
            # No row exceeds it, so that an idle lane has no hits.
            rounded.threshold[c] = NEVER
            continue
        if sampled and not warm_up:
            first = STRETCH * (lane.n_iter - 1)
        if sampled or is_early(lane, settings):
            lane.whole = False
            # Violators only: rounded scores choose among them well enough.
            rounded.of_error[c] = rounded.of_length[c] = 0
            rounded.threshold[c] = lane.threshold
        longest[c] = longest_list(
            lane, settings, max(TIMES_SELECTED * lane.n_select, n // PART), n
        )
        lowest[c] = rounded.threshold[c]
    hits.rows = rows
    hits.masks = masks
    hits.scores = &work.scores[0, 0]
    for stretch in range((n - first + step - 1) // step):
        low = first + stretch * step
        # A stretch at a time: thresholds that rise with the lists hold for the next one.
        hits.n = 0
        byte_search(
            WIDEST, &problem.X.rounded.pointers, low, min(low + STRETCH, n), &work.member[0],
            &rounded, &hits,
        )
        take_hits(work, problem, longest, &rounded, &hits)
        operations[0] += STRETCH * work.ordered.shape[0]
        interrupted(stop, operations)
    for c in range(LANES):
        lane = &work.lanes[c]
        # A list that was cut stands for a lower intercept, and without one there is none.
        if not settings.intercept and rounded.threshold[c] > lowest[c]:
            lane.whole = False
        if lane.searched and lane.whole:
            # With the active set the list has every row with a loss from some drop of the intercept
            # on.
            find_primal(work, c, settings, problem, &rounded, lowest[c])
    finish_search(work)
    return 0


def rows_in_reach(
    ByteRows rows, const float[:, ::1] weights, const float[::1] bias, const uint16_t[::1] member,
    int widest=WIDEST,
):
    """Return what a search by bytes makes of rows, for tests and timing.

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
    cdef int8_t[::1] values = np.empty((d + BLOCK) * LANES, dtype=np.int8)
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
