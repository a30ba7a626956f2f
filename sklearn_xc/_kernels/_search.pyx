"""The search for violating samples, sixteen classes at a time (PPDSparse, Algorithm 1, steps 1-2).

The scores of a chunk of rows are computed either row by row (all entries of X are read) or by
walking the columns of the features on which any of the classes has a weight (equation 14); then
one scan sums the losses for the duality gap and collects the samples of largest negative gradient.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t

from sklearn_xc._kernels._common cimport dispatched
from sklearn_xc._kernels._matrix cimport Matrix
from sklearn_xc._kernels._ppdsparse cimport IDLE, LANES, Lane, Settings

cdef enum:
    GROUP = 64  # rows whose losses are summed in float32 before they go to a double

cdef float FAR = -1e30  # a score that is neither a loss nor a violation


cdef dispatched scores_by_rows(
    Py_ssize_t low,
    Py_ssize_t high,
    const float *bias,
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    bint dense,
    const float[:, ::1] weights,
    float[:, ::1] scores,  # OUT (CHUNK, LANES)
) noexcept nogil:
    cdef Py_ssize_t i, e, c, start, first
    cdef float z[LANES]
    for i in range(low, high):
        for c in range(LANES):
            z[c] = bias[c]
        start = indptr[i]
        first = 0 if dense else start
        for e in range(indptr[i + 1] - start):
            for c in range(LANES):
                z[c] += data[start + e] * weights[indices[first + e], c]
        for c in range(LANES):
            scores[i - low, c] = z[c]


cdef dispatched scores_by_columns(
    Py_ssize_t low,
    Py_ssize_t high,
    const float *bias,
    const int64_t[::1] column_indptr,
    const int32_t[::1] column_rows,
    const float[::1] column_data,
    const float[:, ::1] weights,
    const int32_t[::1] support,
    Py_ssize_t n_support,
    int64_t[::1] cursor,  # IN / OUT: where each support feature's column goes on
    float[:, ::1] scores,  # OUT (CHUNK, LANES)
) noexcept nogil:
    cdef Py_ssize_t i, u, c, at, end
    cdef int32_t j
    cdef float w[LANES]
    for i in range(high - low):
        for c in range(LANES):
            scores[i, c] = bias[c]
    for u in range(n_support):
        j = support[u]
        at = cursor[u]
        end = column_indptr[j + 1]
        if at == end or column_rows[at] >= high:
            continue
        for c in range(LANES):
            w[c] = weights[j, c]
        while at < end and column_rows[at] < high:
            i = column_rows[at] - low
            for c in range(LANES):
                scores[i, c] += column_data[at] * w[c]
            at += 1
        cursor[u] = at


cdef dispatched sum_losses(
    Py_ssize_t low,
    Py_ssize_t n,
    bint hinge,
    const float *threshold,
    const float[::1] sample_weight,
    const float[:, ::1] scores,
    double *loss,  # OUT (LANES,)
    uint16_t *hit,  # OUT (n,): whether any lane of this row is above its threshold
) noexcept nogil:
    """Losses of the rows taken as negatives, in the lanes of a vector."""
    cdef Py_ssize_t i, c, group
    cdef float part[LANES]
    cdef float margin[LANES]
    cdef int above
    for c in range(LANES):
        loss[c] = 0
    for group in range((n + GROUP - 1) // GROUP):
        for c in range(LANES):
            part[c] = 0
        for i in range(group * GROUP, min(group * GROUP + GROUP, n)):
            for c in range(LANES):
                margin[c] = max(<float>1 + scores[i, c], <float>0)
            if hinge:
                for c in range(LANES):
                    part[c] += sample_weight[low + i] * margin[c]
            else:
                for c in range(LANES):
                    part[c] += sample_weight[low + i] * margin[c] * margin[c]
            hit[i] = any_above(&scores[i, 0], threshold)
        for c in range(LANES):
            loss[c] += part[c]


cdef extern from "_simd.h" nogil:
    bint any_above "xc_any_above" (const float *values, const float *thresholds)


cdef void keep_best(
    Py_ssize_t c,
    Py_ssize_t n,
    Py_ssize_t keep,
    int32_t[:, ::1] candidates,
    float[:, ::1] scores,
) noexcept nogil:
    """Move the `keep` largest scores, and their candidates, to the front (quickselect)."""
    cdef Py_ssize_t low = 0, high = n - 1, left, right
    cdef float pivot, score
    cdef int32_t candidate
    while low < high:
        pivot = scores[c, (low + high) // 2]
        left, right = low, high
        while left <= right:
            while scores[c, left] > pivot:
                left += 1
            while scores[c, right] < pivot:
                right -= 1
            if left <= right:
                score, candidate = scores[c, left], candidates[c, left]
                scores[c, left], candidates[c, left] = scores[c, right], candidates[c, right]
                scores[c, right], candidates[c, right] = score, candidate
                left += 1
                right -= 1
        if keep - 1 <= right:
            high = right
        elif keep - 1 >= left:
            low = left
        else:
            return


cdef void add_candidate(
    Lane *lane,
    Py_ssize_t c,
    int32_t i,
    float score,
    int32_t[:, ::1] candidates,
    float[:, ::1] scores,
) noexcept nogil:
    """Collect up to 2 kappa, keep the best kappa, raise the class's own threshold, go on."""
    cdef Py_ssize_t q
    cdef Py_ssize_t room = min(2 * lane.n_select, candidates.shape[1])
    candidates[c, lane.n_candidates] = i
    scores[c, lane.n_candidates] = score
    lane.n_candidates += 1
    if lane.n_candidates < room:
        return
    if lane.n_select < room:
        keep_best(c, room, lane.n_select, candidates, scores)
        lane.n_candidates = lane.n_select
        lane.threshold = scores[c, 0]
        for q in range(1, lane.n_select):
            lane.threshold = min(lane.threshold, scores[c, q])


cdef void search_chunk(
    Lane *lanes,  # IN / OUT: loss, threshold and number of candidates of each lane
    const Settings *settings,
    Py_ssize_t low,
    Py_ssize_t high,
    bint by_columns,
    Matrix X,
    const float[::1] sample_weight,
    const int64_t[::1] positive_indptr,
    const int32_t[::1] positive_rows,
    const float[:, ::1] weights,
    const int32_t[::1] support,
    Py_ssize_t n_support,
    int64_t[::1] cursor,
    int64_t[::1] positive_cursor,  # IN / OUT (LANES,)
    const uint16_t[::1] member,  # (n_samples,): bit c says that lane c has the sample already
    float[:, ::1] scores,  # scratch (CHUNK, LANES)
    int32_t[:, ::1] candidates,  # OUT (LANES, n_samples)
    float[:, ::1] candidate_scores,  # OUT (LANES, n_samples)
) noexcept nogil:
    """Score the rows [low, high), add up the losses, collect the violators."""
    cdef Py_ssize_t i, c, at, end
    cdef float bias[LANES]
    cdef float threshold[LANES]
    cdef double loss[LANES]
    cdef double margin
    cdef uint16_t hit[CHUNK]
    cdef Lane *lane
    for c in range(LANES):
        bias[c] = lanes[c].bias / settings.l2 if lanes[c].label != IDLE else FAR
        threshold[c] = lanes[c].threshold
    if by_columns:
        scores_by_columns(
            low, high, bias, X.column_indptr, X.column_rows, X.column_data, weights, support,
            n_support, cursor, scores,
        )
    else:
        scores_by_rows(low, high, bias, X.indptr, X.indices, X.data, X.dense, weights, scores)

    for c in range(LANES):  # positives have their own loss and are no candidates
        lane = &lanes[c]
        if lane.label == IDLE:
            continue
        at = positive_cursor[c]
        end = positive_indptr[lane.label + 1]
        while at < end and positive_rows[at] < high:
            i = positive_rows[at]
            margin = max(<double>0, 1 - <double>scores[i - low, c])
            if not settings.hinge:
                margin *= 0.5 * margin
            lane.loss += lane.positive_weight * sample_weight[i] * margin
            scores[i - low, c] = FAR
            at += 1
        positive_cursor[c] = at

    sum_losses(low, high - low, settings.hinge, threshold, sample_weight, scores, loss, hit)
    for c in range(LANES):
        lanes[c].loss += lanes[c].negative_weight * loss[c] * (1 if settings.hinge else 0.5)

    for i in range(high - low):
        if not hit[i]:
            continue
        for c in range(LANES):
            lane = &lanes[c]
            if (
                scores[i, c] > lane.threshold
                and not (member[low + i] >> c) & 1
                and sample_weight[low + i] > 0
            ):
                add_candidate(
                    lane, c, <int32_t>(low + i), scores[i, c], candidates, candidate_scores
                )
