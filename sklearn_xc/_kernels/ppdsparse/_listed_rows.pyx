"""The objective of a class after a search that has listed the rows that may have one.

The objective wanted is that at the best intercept at or below that of the search.
Rounded scores tell about where it is.  Rows that cannot have a loss there leave the list, once by
the scores of the search and once by finer ones, whose weights are rounded to 16 bits; what is left
is gone through in float32.
"""

from libc.math cimport copysignf, fabsf, rintf, sqrt
from libc.stdint cimport int16_t, int32_t, uint8_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._vector_ops cimport (
    divides, inner_product, largest_magnitude, prefetch_floats,
)
from sklearn_xc._kernels.ppdsparse._active_set cimport Member, Workspace, primal_value
from sklearn_xc._kernels.ppdsparse._losses cimport Loss, slope, value
from sklearn_xc._kernels.ppdsparse._problem cimport (
    FOUR, ZERO, BytePointers, ByteWeights, Problem, bound_errors,
)
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings, soft_threshold

# A class ends without another search by the lowest objective that one has found, kept with where.
#
# A search of all rows gives the primal objective P of the weights that it was made with, a descent
# raises the dual objective D.  Each P is at least the optimum, each D at most: the lowest P of all
# searches and the latest D make a true gap, which is that of the weights of an earlier search.
#
# The intercept may be chosen when the search is over.  Rows that have a loss at a lower intercept
# have one at the intercept of the search too, and so are listed.  Early in a fit thousands of rows
# violate the margin by little, and most of P is theirs; a lower intercept frees them at a small
# price for the positives.

cdef enum:
    TOGETHER = 16  # rows in a vector
    HALVINGS = 16
    DOUBLINGS = 8

cdef float FIRST_DROP = 0.25  # of the intercept


cdef inline float slope_of(
    float margin, float cost, float drop, float ceiling, float steep
) noexcept nogil:
    # 1 + z of a negative falls with the intercept, 1 - z of a positive rises.
    margin += copysignf(drop, cost)
    return cost * slope(margin if margin > 0 else 0, ceiling, steep)


cdef dispatched slope_of_losses(
    const float *margins, const float *costs, Py_ssize_t n, float drop, const Loss *loss,
    double *total,
) noexcept nogil:
    """Write the derivative of the losses by the drop of the intercept.

    Costs of negatives are given below zero: their margins 1 + z fall with the intercept, the
    margins 1 - z of positives rise.
    """
    cdef Py_ssize_t e, k
    cdef float part[TOGETHER]
    cdef float ceiling = loss.ceiling, steep = loss.steepness
    total[0] = 0
    # Sums side by side, one a place of a vector: no addition waits for the one before.
    for k in range(TOGETHER):
        part[k] = 0
    for e in range(n // TOGETHER):
        for k in range(TOGETHER):
            part[k] += slope_of(
                margins[e * TOGETHER + k], costs[e * TOGETHER + k], drop, ceiling, steep
            )
    for e in range(n // TOGETHER * TOGETHER, n):
        total[0] += slope_of(margins[e], costs[e], drop, ceiling, steep)
    for k in range(TOGETHER):
        total[0] += part[k]


cdef double losses(
    const float *margins, const float *costs, Py_ssize_t n, float drop, const Loss *loss
) noexcept nogil:
    cdef Py_ssize_t e
    cdef double margin, total = 0
    for e in range(n):
        margin = max(<double>0, <double>margins[e] + copysignf(drop, costs[e]))
        total += fabsf(costs[e]) * value(loss, margin)
    return total


cdef inline double slope_at(
    Workspace work, Py_ssize_t n, double intercept, float drop, const Settings *settings
) noexcept nogil:
    """Return the derivative of the objective by the drop of the intercept."""
    cdef double of_losses
    slope_of_losses(&work.margins[0], &work.costs[0], n, drop, &settings.loss, &of_losses)
    # d/d drop of the losses and of l2 (b - drop)^2 / 2.
    return of_losses - settings.l2 * (intercept - drop)


cdef float best_drop(
    Workspace work, Py_ssize_t c, Py_ssize_t n, float least, const Settings *settings
) noexcept nogil:
    """Find by how much the intercept of the search is to drop, `least` or more.

    The first n of `margins` and `costs` are of all rows that have a loss at the least, negatives
    with costs below zero.
    """
    cdef double intercept = work.lanes[c].intercept
    cdef float low = least, high = least + FIRST_DROP, middle
    cdef int _
    if not settings.intercept or slope_at(work, n, intercept, least, settings) >= 0:
        return least
    # The objective is convex in the drop: doubling finds where it rises again, halving comes near
    # its lowest point. `low` stays where it still falls.
    for _ in range(DOUBLINGS):
        if slope_at(work, n, intercept, high, settings) >= 0:
            break
        low = high
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if slope_at(work, n, intercept, middle, settings) < 0:
            low = middle
        else:
            high = middle
    return low


cdef double primal_with(
    Workspace work, Py_ssize_t c, Py_ssize_t n, float drop, const Settings *settings
) noexcept nogil:
    """Return the objective of the weights of the search after a drop of its intercept."""
    return primal_value(
        work, c, work.lanes[c].intercept - drop,
        losses(&work.margins[0], &work.costs[0], n, drop, &settings.loss), settings,
    )


cdef void keep_lowest(Workspace work, Py_ssize_t c) noexcept nogil:
    """Keep the weights of a search of all rows, unless an earlier one had a lower objective."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    # P of an earlier search and D of the latest descent make a gap too: P >= optimum >= D.
    if lane.kept and lane.lowest_primal <= lane.primal:
        return
    lane.kept = True
    lane.lowest_primal = lane.primal
    lane.lowest_intercept = lane.intercept
    for q in range(work.lowest_v.shape[1]):
        # v is zero at the features that no member has had.
        work.lowest_v[c, q] = work.saved[c, q] if q < lane.n_touched else 0


cdef void return_to_lowest(Workspace work, Py_ssize_t c) noexcept nogil:
    """Give the class the objective and the intercept of the weights that are kept."""
    cdef Lane *lane = &work.lanes[c]
    lane.primal = lane.lowest_primal
    lane.intercept = lane.lowest_intercept


cdef extern from "ppdsparse/_byte_scores.h" nogil:
    int32_t fine_sum "xc_fine_sum" (const uint8_t *x, const int16_t *w, long long n)

cdef enum:
    # Times the tolerance: most of the gap is the dual's, and a descent takes most of that
    TIMES_TOL = 2
    REACH = 32  # part of all rows whose scores one by one cost much beside the search
    PATIENT = 3  # rounds, from which on lists may be longer and longer
    LISTED_AHEAD = 4  # rows that are fetched into the cache before their turn
    LARGEST_FINE = 32767
    LARGEST_SUM = 0x7fffffff


cdef double ROUGH = 0.02  # a gap that rounded scores do tell from none


cdef struct Fine:  # the weights of a class in 16 bits, with the bounds of ByteWeights
    float scale
    int32_t start
    float of_error
    float of_length


cdef Py_ssize_t longest_list(
    const Lane *lane, const Settings *settings, Py_ssize_t most, Py_ssize_t n
) noexcept nogil:
    """Return so many rows, or more in late rounds; all in the last, whose gap is reported."""
    if lane.n_iter >= settings.max_iter or lane.n_iter >= PATIENT + 30:
        return n
    if lane.n_iter > PATIENT:
        # At most 30 doublings of less than 2^31 rows: no overflow of 64 bits.
        most <<= lane.n_iter - PATIENT
    return min(most, n)


cdef void load_weights(Workspace work, Py_ssize_t c, const Settings *settings) noexcept nogil:
    """Write the weights of one lane, feature by feature, into `lane_weights`."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    for q in range(work.lane_weights.shape[0]):
        work.lane_weights[q] = 0
    for q in range(lane.n_touched):
        work.lane_weights[work.touched[c, q]] = (
            soft_threshold(work.saved[c, q], settings.l1) / settings.l2
        )


cdef void load_fine(Workspace work, Py_ssize_t width, Fine *fine) noexcept nogil:
    """Round `lane_weights` to 16 bits, or fewer where sums of so many features need over 32."""
    cdef Py_ssize_t j, d = work.lane_weights.shape[0]
    # Sums of width products of a byte, below 256, and a weight, at most `most`: within 31 bits.
    cdef float inverse, q, most = min(LARGEST_FINE, LARGEST_SUM // (256 * width))
    cdef double left, squares = 0, lost = 0
    fine.scale = largest_magnitude(&work.lane_weights[0], d) / most
    if not divides(fine.scale):
        fine.scale = 0
    inverse = 1 / fine.scale if fine.scale > 0 else 0
    fine.start = 0
    for j in range(d):
        q = rintf(work.lane_weights[j] * inverse)
        left = <double>work.lane_weights[j] - <double>fine.scale * q
        squares += <double>work.lane_weights[j] * work.lane_weights[j]
        lost += left * left
        work.fine_weights[j] = <int16_t><int32_t>q
        # Bytes are 128 + p: sum (128 + p) q - 128 sum q is the product wanted.
        fine.start -= ZERO * <int32_t>q
    # The bytes there are 128 (`round_rows`), which a weight of zero takes out.
    for j in range(d, width):
        work.fine_weights[j] = 0
    bound_errors(sqrt(squares), sqrt(lost), &fine.of_error, &fine.of_length)


cdef inline float score_of(
    Workspace work, Problem problem, Py_ssize_t i, float bias
) noexcept nogil:
    cdef Py_ssize_t d = problem.X.n_columns
    cdef float z
    inner_product(problem.X.rows.values + i * d, &work.lane_weights[0], d, &z)
    return bias + z


cdef inline void prefetch_values(Problem problem, Py_ssize_t i) noexcept nogil:
    prefetch_floats(problem.X.rows.values + i * problem.X.n_columns, problem.X.n_columns)


cdef Py_ssize_t score_active(Workspace work, Py_ssize_t c, Problem problem) noexcept nogil:
    """Write margins and costs of the active set; returns how many."""
    cdef Py_ssize_t a, n = work.members[c].size()
    cdef const Member *members = work.members[c].data()
    cdef float z
    for a in range(n):
        if a + LISTED_AHEAD < n:
            prefetch_values(problem, members[a + LISTED_AHEAD].row)
        z = score_of(work, problem, members[a].row, work.lanes[c].intercept)
        work.margins[a] = 1 - members[a].y * z
        work.costs[a] = members[a].y * members[a].weight
    return n


cdef inline void add_margin(
    Workspace work, Py_ssize_t c, Problem problem, Py_ssize_t n, int32_t i, float score
) noexcept nogil:
    work.margins[n] = 1 + score
    work.costs[n] = -work.lanes[c].negative_weight * problem.sample_weight[i]


cdef void refine_list(
    Workspace work, Py_ssize_t c, const Fine *fine, const BytePointers *rows
) noexcept nogil:
    """Find the highest that scores of listed rows may be, by weights of 16 bits."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    cdef int32_t i, total
    for q in range(lane.n_candidates):
        if q + LISTED_AHEAD < lane.n_candidates:
            prefetch_floats(
                <const float *>(rows.values + work.candidates[c, q + LISTED_AHEAD] * rows.width),
                rows.width // FOUR,
            )
        i = work.candidates[c, q]
        # A score, and the most that rounding of row and weights can have taken from it.
        total = fine.start + fine_sum(
            rows.values + i * rows.width, &work.fine_weights[0], rows.width
        )
        work.candidate_scores[c, q] = lane.intercept + <float>total * rows.scale[i] * fine.scale
        work.candidate_scores[c, q] += error_of(fine.of_error, fine.of_length, rows, i)


cdef float shorten_by_drop(
    Workspace work,
    Py_ssize_t c,
    Py_ssize_t n,
    const Settings *settings,
    Problem problem,
    float of_error,
    float of_length,
    float lowest,  # a row may have a loss if its highest score is above it
    float least,  # drop, since other rows with a loss are listed only from there on
) noexcept nogil:
    """Find how far the intercept is to drop by rounded scores; rows without a loss there leave.

    The objective there is that of rounded scores too.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q, kept = 0
    cdef int32_t i
    cdef float drop
    for q in range(lane.n_candidates):
        i = work.candidates[c, q]
        add_margin(
            work, c, problem, n + q, i,
            # From the highest that a score may be back to the rounded one, which is nearer.
            work.candidate_scores[c, q]
            - error_of(of_error, of_length, &problem.X.rounded.pointers, i),
        )
    n += lane.n_candidates
    # The active set is first in the lists, with margins in float32.
    drop = best_drop(work, c, n, least, settings)
    lane.primal = primal_with(work, c, n, drop, settings)
    for q in range(lane.n_candidates):
        # The highest score that a row may have falls by the drop as well: at -1 or below the row
        # has no loss and does not come back.
        if work.candidate_scores[c, q] > lowest + drop:
            work.candidates[c, kept] = work.candidates[c, q]
            work.candidate_scores[c, kept] = work.candidate_scores[c, q]
            kept += 1
    lane.n_candidates = kept
    return drop


cdef inline bint far_from_end(const Lane *lane, const Settings *settings) noexcept nogil:
    """Return whether the next descent is not likely to close the gap, judged by rounded scores."""
    return (
        lane.primal - lane.dual > max(TIMES_TOL * settings.tol, ROUGH) * lane.primal
        and lane.n_iter < settings.max_iter
    )


cdef void find_primal(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    const ByteWeights *rounded,
    float lowest,  # the threshold at the beginning of the search
) noexcept nogil:
    """Find the objective by the rows of the active set and of the list; violators stay listed.

    Where the class is far from its end, it is left alone and the lane not `whole`.
    """
    cdef Lane *lane = &work.lanes[c]
    cdef float drop, z
    cdef Py_ssize_t q, n, kept = 0
    cdef int32_t i
    cdef Fine fine
    # First by the scores in bytes that the search has left.
    load_weights(work, c, settings)
    n = score_active(work, c, problem)
    drop = shorten_by_drop(
        work, c, n, settings, problem, rounded.of_error[c], rounded.of_length[c], lowest,
        rounded.threshold[c] - lowest,
    )
    # A list this long costs much beside the search, for an objective that decides nothing yet.
    if lane.n_candidates > problem.X.n_rows // REACH and far_from_end(lane, settings):
        lane.whole = False
        return
    # Then by weights in 16 bits. `n` is still that of the active set: margins of the list are
    # overwritten by better ones.
    load_fine(work, problem.X.rounded.pointers.width, &fine)
    refine_list(work, c, &fine, &problem.X.rounded.pointers)
    drop = shorten_by_drop(
        work, c, n, settings, problem, fine.of_error, fine.of_length, lowest, drop
    )
    for q in range(lane.n_candidates):
        if q + LISTED_AHEAD < lane.n_candidates:
            prefetch_values(problem, work.candidates[c, q + LISTED_AHEAD])
        i = work.candidates[c, q]
        # In float32, with the intercept of the search: the drop changes margins by itself.
        z = score_of(work, problem, i, lane.intercept)
        add_margin(work, c, problem, n, i, z)
        n += 1
        if z > -1 + lane.precision:
            work.candidates[c, kept] = i
            work.candidate_scores[c, kept] = z
            kept += 1
    lane.n_candidates = kept
    # Rows that left have no loss from this drop on, but may have one below it.
    drop = best_drop(work, c, n, drop, settings)
    lane.primal = primal_with(work, c, n, drop, settings)
    lane.intercept -= drop
