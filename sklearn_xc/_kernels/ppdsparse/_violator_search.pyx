"""The search for violating samples, sixteen classes at a time (PPDSparse, Algorithm 1, steps 1-2).

The scores of a chunk of rows are computed either row by row (all entries of X are read; of dense
rows this is a matrix product) or by walking the columns of the features on which any of the classes
has a weight (equation 14); then one scan sums the losses for the duality gap and collects the
samples of largest negative gradient.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.common._vector_ops cimport lowest_bit, mask_above
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace, primal_value
from sklearn_xc._kernels.ppdsparse._losses cimport (
    LINE, PARABOLA, PARABOLA_AND_LINE, Loss, Shape, of_negative, shape_of, unit_of, value,
)
from sklearn_xc._kernels.ppdsparse._problem cimport Columns, Matrix, Problem
from sklearn_xc._kernels.ppdsparse._types cimport CHUNK, IDLE, LANES, Lane, Settings

# The rows of highest score among those that a search has found.

cdef enum:
    BINS = 256  # of scores, whose numbers are bytes
    TOGETHER = 16  # scores that are compared at once
    AT_ONCE = 4096  # scores whose bins are kept for a moment


cdef dispatched range_of(const float *scores, Py_ssize_t n, float *low, float *high) noexcept nogil:
    """Write the lowest and the highest of at least one score."""
    cdef Py_ssize_t q, c
    cdef float lows[TOGETHER]
    cdef float highs[TOGETHER]
    for c in range(TOGETHER):
        lows[c] = highs[c] = scores[0]
    # Sixteen lowest and highest side by side, which a compiler keeps in registers.
    for q in range(n // TOGETHER):
        for c in range(TOGETHER):
            lows[c] = min(lows[c], scores[q * TOGETHER + c])
            highs[c] = max(highs[c], scores[q * TOGETHER + c])
    for q in range(n // TOGETHER * TOGETHER, n):
        lows[0] = min(lows[0], scores[q])
        highs[0] = max(highs[0], scores[q])
    for c in range(1, TOGETHER):
        lows[0] = min(lows[0], lows[c])
        highs[0] = max(highs[0], highs[c])
    low[0] = lows[0]
    high[0] = highs[0]


cdef dispatched bins_of(
    const float *scores, Py_ssize_t n, float low, float scale, uint8_t *bins
) noexcept nogil:
    """Find the bins of the histogram; safe where scores are not finite."""
    cdef Py_ssize_t q
    cdef float x
    for q in range(n):
        x = (scores[q] - low) * scale
        # NaN compares false and becomes 0: every bin is one of BINS.
        x = x if x > 0 else 0
        x = x if x < BINS - 1 else BINS - 1
        bins[q] = <uint8_t><int32_t>x


cdef Py_ssize_t best_of(
    int32_t *rows, float *scores, Py_ssize_t n, Py_ssize_t keep
) noexcept nogil:
    """Move the `keep` rows of highest score to the front, in their order; returns how many."""
    cdef Py_ssize_t q, part, start, some, kept = 0, above = 0, among
    cdef Py_ssize_t n_parts = (n + AT_ONCE - 1) // AT_ONCE
    cdef Py_ssize_t counts[BINS]
    cdef uint8_t bins[AT_ONCE]
    cdef int cut
    cdef float low = 0, high = 0, scale
    if n <= keep:
        return n
    # They are the best up to a bin of the scores, where the earlier ones are taken: a histogram
    # decides, which is read straight on, where a selection would guess branches.
    range_of(scores, n, &low, &high)
    scale = BINS / (high - low) if high > low else 0
    for q in range(BINS):
        counts[q] = 0
    for part in range(n_parts):
        start = part * AT_ONCE
        some = min(<Py_ssize_t>AT_ONCE, n - start)
        bins_of(scores + start, some, low, scale, bins)
        for q in range(some):
            counts[bins[q]] += 1
    cut = BINS - 1
    # Ends at 0 at the latest, since the counts sum up to n > keep.
    while above + counts[cut] < keep:
        above += counts[cut]
        cut -= 1
    among = keep - above  # of the last bin
    for part in range(n_parts):
        start = part * AT_ONCE
        some = min(<Py_ssize_t>AT_ONCE, n - start)
        if n_parts > 1:  # else they are there
            bins_of(scores + start, some, low, scale, bins)
        for q in range(some):
            # Written in any case, counted if it stays; kept <= start + q, so no row is lost.
            rows[kept] = rows[start + q]
            scores[kept] = scores[start + q]
            kept += (bins[q] > cut) | ((bins[q] == cut) & (among > 0))
            among -= bins[q] == cut
    return kept


cdef enum:
    SUMMED = 64  # rows whose losses are summed in float32 before they go to a double
    LEAST_SELECTED = 100  # candidates a search
    QUAD = 4  # rows that are compared with the thresholds at once, since most have no violator

# The cost model of the search, in units of one entry of X read row by row: an entry reached
# through a column, and going back to a column in the next chunk of rows.
cdef double COLUMN_ENTRY = 4.0
cdef double COLUMN_VISIT = 5.0

cdef float FAR = -1e30  # a score that is neither a loss nor a violation


cdef dispatched scores_by_rows(
    Py_ssize_t low,
    Py_ssize_t high,
    const float *bias,
    Rows X,
    const float[:, ::1] weights,
    const int32_t[::1] slot,
    float[:, ::1] scores,  # OUT (CHUNK, LANES)
) noexcept nogil:
    cdef Py_ssize_t i, e, c
    cdef float z[LANES]
    cdef Row row
    for i in range(low, high):
        for c in range(LANES):
            z[c] = bias[c]
        row = row_at(X, i)
        # An entry is read once for sixteen classes, whose weights lie side by side.
        for e in range(row.n):
            for c in range(LANES):
                z[c] += row.values[e] * weights[slot[row.features[e]], c]
        for c in range(LANES):
            scores[i - low, c] = z[c]


cdef dispatched scores_by_columns(
    Py_ssize_t low,
    Py_ssize_t high,
    const float *bias,
    Columns columns,
    const float[:, ::1] weights,
    const int32_t[::1] support,
    Py_ssize_t n_support,
    int64_t[:, ::1] cursor,  # IN / OUT: where both parts of each support feature's column go on
    float[:, ::1] scores,  # OUT (CHUNK, LANES)
) noexcept nogil:
    cdef Py_ssize_t i, u, c, part, at
    cdef int32_t j
    cdef int64_t[2] end
    cdef float w[LANES]
    for i in range(high - low):
        for c in range(LANES):
            scores[i, c] = bias[c]
    # Equation 14 with w sparse: only columns with a weight in some lane are read, each from where
    # the chunk before has left it.
    for u in range(n_support):
        j = support[u]
        end[0] = columns.middle[j]
        end[1] = columns.indptr[j + 1]
        for c in range(LANES):
            w[c] = weights[u + 1, c]
        # Large entries, then the others; rows ascend in each part.
        for part in range(2):
            at = cursor[u, part]
            while at < end[part] and columns.rows[at] < high:
                i = columns.rows[at] - low
                for c in range(LANES):
                    scores[i, c] += columns.values[at] * w[c]
                at += 1
            cursor[u, part] = at


cdef dispatched sum_losses(
    Py_ssize_t low,
    Py_ssize_t n,
    const Loss *loss,
    const float *threshold,
    const float[::1] sample_weight,
    const float[:, ::1] scores,
    double *sums,  # OUT (LANES,), in units of `unit_of`
    uint8_t *hit,  # OUT: for each QUAD of rows whether any lane is above its threshold
) noexcept nogil:
    """Sum losses of the rows taken as negatives, in the lanes of a vector."""
    cdef Py_ssize_t i, c, group, quad, end
    cdef float part[LANES]
    cdef float highest[LANES]
    cdef float corner = loss.ceiling * loss.inverse
    cdef Shape shape = shape_of(loss)
    for c in range(LANES):
        sums[c] = 0
    for group in range((n + SUMMED - 1) // SUMMED):
        for c in range(LANES):
            part[c] = 0
        for quad in range(group * (SUMMED // QUAD), (group + 1) * (SUMMED // QUAD)):
            end = min(quad * QUAD + QUAD, n)
            for c in range(LANES):
                highest[c] = FAR
            for i in range(quad * QUAD, end):
                # A loop for each shape: a choice within would be made for every score.
                if shape == LINE:
                    for c in range(LANES):
                        highest[c] = max(highest[c], scores[i, c])
                        part[c] += of_negative(
                            LINE, corner, sample_weight[low + i], scores[i, c]
                        )
                elif shape == PARABOLA:
                    for c in range(LANES):
                        highest[c] = max(highest[c], scores[i, c])
                        part[c] += of_negative(
                            PARABOLA, corner, sample_weight[low + i], scores[i, c]
                        )
                else:
                    for c in range(LANES):
                        highest[c] = max(highest[c], scores[i, c])
                        part[c] += of_negative(
                            PARABOLA_AND_LINE, corner, sample_weight[low + i], scores[i, c]
                        )
            # Most quads have no violator, and the scan for candidates passes them by.
            hit[quad] = mask_above(highest, threshold) != 0
        for c in range(LANES):
            # Only few float32 are added before they go to float64.
            sums[c] += part[c]


cdef void keep_best(
    Lane *lane, Py_ssize_t c, int32_t[:, ::1] candidates, float[:, ::1] scores
) noexcept nogil:
    """Keep the best kappa of the candidates that there are."""
    lane.n_candidates = best_of(
        &candidates[c, 0], &scores[c, 0], lane.n_candidates, lane.n_select
    )


cdef void add_candidate(
    Lane *lane, Py_ssize_t c, int32_t i, float score, int32_t[:, ::1] candidates,
    float[:, ::1] scores,
) noexcept nogil:
    """Collect up to 2 kappa, keep the best kappa, raise the class's own threshold, go on."""
    cdef Py_ssize_t q
    # A row comes once, so a list never has more entries than the array has places.
    cdef Py_ssize_t capacity = min(2 * lane.n_select, candidates.shape[1])
    candidates[c, lane.n_candidates] = i
    scores[c, lane.n_candidates] = score
    lane.n_candidates += 1
    if lane.n_candidates < capacity:
        return
    if lane.n_select < capacity:
        keep_best(lane, c, candidates, scores)
        # The lowest of the best kappa: what is below can be none of them (Algorithm 1, step 2).
        lane.threshold = scores[c, 0]
        for q in range(1, lane.n_select):
            lane.threshold = min(lane.threshold, scores[c, q])


cdef dispatched collect_candidates(
    Lane *lanes, Py_ssize_t low, Py_ssize_t n, const float *threshold, const uint8_t *hit,
    const uint16_t[::1] member, const float[:, ::1] scores, int32_t[:, ::1] candidates,
    float[:, ::1] candidate_scores,
) noexcept nogil:
    """Collect the violators among rows that are not in the active set of the class already."""
    cdef Py_ssize_t i
    cdef unsigned int mask
    cdef int c
    for i in range(n):
        if not hit[i // QUAD]:
            continue
        # A bit a lane: violates its threshold, and is not in its active set.
        mask = mask_above(&scores[i, 0], threshold) & ~<unsigned int>member[low + i]
        while mask:
            c = lowest_bit(mask)
            mask &= mask - 1
            if scores[i, c] > lanes[c].threshold:  # it may have risen since
                add_candidate(
                    &lanes[c], c, <int32_t>(low + i), scores[i, c], candidates, candidate_scores
                )


cdef void take_positives_out(
    Workspace work, const Settings *settings, Problem problem, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """Sum the loss of positives, which are no candidates."""
    cdef Py_ssize_t i, c, at, end
    cdef double loss
    cdef Lane *lane
    for c in range(LANES):
        lane = &work.lanes[c]
        if not lane.searched:
            continue
        at = work.positive_cursor[c]
        end = problem.positive_indptr[lane.label + 1]
        while at < end and problem.positive_rows[at] < low:  # between two stretches of a sample
            at += 1
        while at < end and problem.positive_rows[at] < high:
            i = problem.positive_rows[at]
            # y = 1; FAR then hides the positive from the sum over negatives and from candidates.
            loss = value(&settings.loss, max(<double>0, 1 - <double>work.scores[i - low, c]))
            if problem.graded:
                loss *= problem.positive_grades[at]
            lane.loss += lane.positive_weight * problem.sample_weight[i] * loss
            work.scores[i - low, c] = FAR
            at += 1
        work.positive_cursor[c] = at


cdef void search_chunk(
    Workspace work,  # IN / OUT: loss, threshold and candidates of each lane
    const Settings *settings,
    Problem problem,
    Matrix X,  # all entries of the samples, or the larger ones
    Py_ssize_t low,
    Py_ssize_t high,
    bint by_columns,
) noexcept nogil:
    """Score the rows [low, high), add up the losses, collect the violators."""
    cdef Py_ssize_t c
    cdef float bias[LANES]
    cdef float threshold[LANES]
    cdef double sums[LANES]
    cdef uint8_t hit[CHUNK]
    cdef Lane *lanes = work.lanes
    for c in range(LANES):
        # FAR: lanes that are not searched have no loss and no violators.
        bias[c] = lanes[c].intercept if lanes[c].searched else FAR
        threshold[c] = lanes[c].threshold
    if by_columns:
        scores_by_columns(
            low, high, bias, X.columns, work.weights, work.support, work.n_support, work.cursor,
            work.scores,
        )
    elif X.rows.dense:
        dense_scores(
            X.rows.values + low * X.n_columns, high - low, X.n_columns, &work.ordered[0, 0], bias,
            &work.scores[0, 0],
        )
    else:
        scores_by_rows(low, high, bias, X.rows, work.weights, work.slot, work.scores)
    # Before the sum of losses, which takes every row for a negative.
    take_positives_out(work, settings, problem, low, high)
    sum_losses(
        low, high - low, &settings.loss, threshold, problem.sample_weight, work.scores, sums, hit
    )
    for c in range(LANES):
        lanes[c].loss += lanes[c].negative_weight * sums[c] * unit_of(&settings.loss)
    collect_candidates(
        lanes, low, high - low, threshold, hit, work.member, work.scores, work.candidates,
        work.candidate_scores,
    )


cdef void order_weights(Workspace work) noexcept nogil:
    """Write for dense rows the weights of the sixteen classes, feature by feature."""
    cdef Py_ssize_t j
    for j in range(work.ordered.shape[0]):
        memcpy(&work.ordered[j, 0], &work.weights[work.slot[j], 0], LANES * sizeof(float))


cdef void prepare_search(
    Workspace work, const Settings *settings, Problem problem, Py_ssize_t n_rows, bint warm_up
) noexcept nogil:
    cdef Py_ssize_t c
    cdef Lane *lane
    order_weights(work)
    for c in range(LANES):
        lane = &work.lanes[c]
        lane.searched = lane.label != IDLE and (lane.fresh and lane.n_iter == 0 or not warm_up)
        lane.searched = lane.searched and not lane.waits
        lane.threshold = 1e30
        if not lane.searched:
            continue
        # A negative violates the margin above -1.
        lane.threshold = -1 + lane.precision
        lane.whole = True
        # The intercept that passes have held; with the weights it makes a primal point.
        lane.intercept = <float>lane.anchor
        # A row is read for all lanes at once.
        lane.n_visits += <double>n_rows / LANES
        lane.loss = 0
        lane.n_candidates = 0
        lane.n_select = settings.n_select
        if lane.n_select == 0:
            # kappa grows with the active set, so that rounds are few.
            lane.n_select = max(<Py_ssize_t>LEAST_SELECTED, <Py_ssize_t>work.members[c].size())
        work.positive_cursor[c] = problem.positive_indptr[lane.label]


cdef void finish_search(Workspace work) noexcept nogil:
    cdef Py_ssize_t c, u
    cdef Lane *lane
    for c in range(LANES):
        lane = &work.lanes[c]
        if lane.searched:
            keep_best(lane, c, work.candidates, work.candidate_scores)
    for u in range(work.n_support):
        # The weights of a row stay; another search opens the row anew.
        work.slot[work.support[u]] = 0
    work.n_support = 0


cdef int search(
    Workspace work, const Settings *settings, Problem problem, Matrix X, const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """Search all samples for the classes in work; picks the cheaper way by counting."""
    cdef Py_ssize_t c, chunk, u, n = X.n_rows, n_chunks = (n + CHUNK - 1) // CHUNK
    cdef double by_rows = X.n_entries, by_columns = 0
    if X.has_columns:
        # Both ways give the same scores up to rounding; the counts decide, never a clock.
        by_columns = COLUMN_VISIT * work.n_support * n_chunks
        for u in range(work.n_support):
            work.cursor[u, 0] = X.columns.indptr[work.support[u]]
            work.cursor[u, 1] = X.columns.middle[work.support[u]]
            by_columns += COLUMN_ENTRY * (
                X.columns.indptr[work.support[u] + 1] - work.cursor[u, 0]
            )
    prepare_search(work, settings, problem, n, False)
    for chunk in range(n_chunks):
        search_chunk(
            work, settings, problem, X, chunk * CHUNK, min(chunk * CHUNK + CHUNK, n),
            X.has_columns and by_columns < by_rows,
        )
        # Work since the last look for Ctrl-C, in units of entries.
        operations[0] += 16 * CHUNK + by_rows / n_chunks
        interrupted(stop, operations)
    for c in range(LANES):
        if work.lanes[c].searched:
            work.lanes[c].primal = primal_value(
                work, c, work.lanes[c].intercept, work.lanes[c].loss, settings
            )
    finish_search(work)
    return 0


cdef int search_sample(
    Workspace work, const Settings *settings, Problem problem, const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """Search every eighth stretch of rows, for classes that are new in their lanes.

    It finds most of what a first search over all rows would, at an eighth of the cost.
    """
    cdef Py_ssize_t stretch, n = problem.X.n_rows, step = STRETCH * ONE_IN
    prepare_search(work, settings, problem, n // ONE_IN, True)
    for stretch in range((n + step - 1) // step):
        search_chunk(
            work, settings, problem, problem.coarse, stretch * step,
            min(stretch * step + STRETCH, n), False,
        )
    operations[0] += problem.coarse.n_entries / <double>ONE_IN
    interrupted(stop, operations)
    finish_search(work)
    return 0
