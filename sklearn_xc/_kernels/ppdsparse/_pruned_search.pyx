"""The search for the violators of one class that reads only columns which can hold any.

Take an intercept b' = -1 - T below that of the descent.  At (w, b') a negative has a loss only if
<w, x_i> > T > 0, so only features that can lift a score matter: those of positive weight, and those
of negative weight where x is negative.  A set S of them lifts a row by at most

    U(S) = min(sum_S max_i w_j x_ij, ||w_S|| max_i ||x_i||),

so a row whose lifting products over the other, essential features sum up to T - U(S) or less is no
violator (the bound of MaxScore, as in text retrieval).  The few rows above are scored exactly.  The
primal at (w, b') is then known exactly, and the duality gap is a true one, without a term for the
rows that were never looked at.

The class is that of the first lane, with rows copied and features numbered as they come
(`compact`), so that the passes of its descent stay in the caches however many features X has.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, prefetch
from sklearn_xc._kernels.common._rows cimport Row, Rows, prefetch_row, row_at
from sklearn_xc._kernels.ppdsparse._active_set cimport Member, Workspace, primal_value
from sklearn_xc._kernels.ppdsparse._losses cimport value
from sklearn_xc._kernels.ppdsparse._problem cimport Columns, Problem, weight_of
from sklearn_xc._kernels.ppdsparse._sorting cimport sort_by_key
from sklearn_xc._kernels.ppdsparse._types cimport Lane, Settings, padded, soft_threshold
from sklearn_xc._kernels.ppdsparse._violator_search cimport best_of

cdef enum:
    HITS_AHEAD = 8  # hits whose rows are prefetched
    AT_A_LOOK = 4  # entries of a column that are added with one look whether they end the stretch
    # Rows whose sums (64 KiB) stay in the second-level cache while columns are added up. The hits
    # among them are scored in this order, so that rows which follow one another lie near.
    ROWS_AT_ONCE = 16384
    TOGETHER = 16  # sums that are compared with the limit before one is looked at
    GROUPS = 1024  # of this many in a stretch of ROWS_AT_ONCE
    # A search through more entries than a fourth of the rows reads the sums of all rows in a line,
    # instead of those of its entries once more.
    ENTRIES_PER_ROW = 4
    ENTRIES_AT_ONCE = 256  # entries of a row that are looked through at once
    # Cost of a row that is scored beyond its entries, in entries: it is read from anywhere in
    # X, and that comes from a cache or from memory.
    SCORED = 12
    SCORED_FROM_MEMORY = 30
    IN_CACHES = 1 << 21  # entries of X, 16 MB

cdef double ROUNDING = 6e-8  # relative error of a float32 operation, 2^-24

cdef class ColumnScratch:
    """Scratch memory of one thread for searches of columns: O(N + D)."""

    def __init__(self, Problem problem):
        n, d = problem.X.n_rows, problem.X.n_columns
        # These four are as empty between two classes as here (`forget_rows`, `withdraw_weights`).
        self.place = np.full(d, -1, dtype=np.int32)
        self.weights = np.zeros(d, dtype=np.float32)
        self.has_weight = np.zeros(d // 64 + 1, dtype=np.uint64)
        self.sums = np.zeros(min(n, ROWS_AT_ONCE), dtype=np.float32)
        # max_i ||x_i|| of the bound U(S), with room for the rounding of the norms.
        self.largest_norm = (1 + 1e-6) * np.sqrt(np.max(problem.squared_norms, initial=0))


cdef int copy_rows(
    Workspace work, ColumnScratch scratch, Problem problem, Py_ssize_t first
) except -1 nogil:
    """Copy the rows of the members from `first` on side by side, and number their features."""
    cdef Lane *lane = &work.lanes[0]
    cdef Py_ssize_t a, q, n_members = work.members[0].size(), at = work.places.size(), size = at
    cdef Py_ssize_t n_touched = lane.n_touched
    cdef Member *members = work.members[0].data()
    cdef Rows X = problem.X.rows
    cdef Row row
    for a in range(first, n_members):
        members[a].length = <int32_t>padded(row_at(X, members[a].row).n)
        size += members[a].length
    work.places.resize(size)
    work.values.resize(size)
    for a in range(first, n_members):
        if a + HITS_AHEAD < n_members:
            prefetch_row(X, members[a + HITS_AHEAD].row)
        row = row_at(X, members[a].row)
        members[a].start = at
        # Its features get their numbers here; a descent has no others to note.
        members[a].seen = True
        n_touched = copy_row(
            row, &scratch.place[0], &work.touched[0, 0], n_touched, work.places.data() + at,
            work.values.data() + at,
        )
        at += members[a].length
        scratch.n_entries += row.n
    # v of new features; that of the others is from before.
    for q in range(lane.n_touched, n_touched):
        work.saved[0, q] = 0
    lane.n_touched = n_touched
    return 0


cdef inline Py_ssize_t copy_row(
    Row row,
    int32_t *place_of,  # IN / OUT: the number of each feature, or -1
    int32_t *touched,  # OUT: the feature of each number
    Py_ssize_t n_touched,
    int32_t *places,
    float *values,
) noexcept nogil:
    """Copy a row, filled up to whole vectors; returns how many features have a number then."""
    cdef Py_ssize_t e
    cdef int32_t j, place
    for e in range(row.n):
        j = row.features[e]
        place = place_of[j]
        # No branch, since about every second feature is new.
        place = place if place >= 0 else <int32_t>n_touched
        place_of[j] = place
        # One place more than features, for the write that does not count.
        touched[n_touched] = j
        n_touched += place == n_touched
        places[e] = place
        values[e] = row.values[e]
    for e in range(row.n, padded(row.n)):
        places[e] = places[0]
        values[e] = 0
    return n_touched


cdef void forget_rows(Workspace work, ColumnScratch scratch) noexcept nogil:
    """Take back the numbers of features, with work in proportion to those that are touched."""
    cdef Py_ssize_t q
    for q in range(work.lanes[0].n_touched):
        scratch.place[work.touched[0, q]] = -1
    work.lanes[0].n_touched = 0
    scratch.n_entries = scratch.cost_of_searches = 0


cdef int publish_weights(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem
) except -1 nogil:
    """Write w = S(v) / l2 where a search reads it, and list the features that can lift a row."""
    cdef Py_ssize_t q, n = work.lanes[0].n_touched, n_weights = 0
    cdef int32_t j
    cdef float w
    cdef const float *v = &work.saved[0, 0]
    cdef float *by_number = &work.packed[0]
    scratch.weighted.resize(n)
    cdef int32_t *weighted = scratch.weighted.data()
    for q in range(n):
        w = soft_threshold(v[q], settings.l1) / settings.l2
        # By number for the members, whose copies have numbers, and by feature for rows of X.
        by_number[q] = w
        weighted[n_weights] = <int32_t>q  # no branch, as in `hits_among_entries`
        n_weights += w != 0
    scratch.weighted.resize(n_weights)
    scratch.lifting.clear()
    for q in range(n_weights):
        j = work.touched[0, weighted[q]]
        w = by_number[weighted[q]]
        weighted[q] = j
        scratch.weights[j] = w
        # D bits stay in the first cache, where a row's features are looked up.
        scratch.has_weight[j >> 6] |= <uint64_t>1 << (j & 63)
        add_lifting(scratch, problem, j, w)
    return 0


cdef int add_lifting(ColumnScratch scratch, Problem problem, int32_t j, float w) except -1 nogil:
    """Add the parts of a feature's column, if they can lift a row.

    A part is left out for its length, the longer by what it can lift the sooner.  The large entries
    come after all others, which are at least nine times as many and lift less.
    """
    cdef Columns columns = problem.X.columns
    cdef double most = <double>w * (problem.highest[j] if w > 0 else problem.lowest[j])
    cdef Lifting one
    # max_i w_j x_ij is not above zero: the feature lifts no row.
    if most <= 0:
        return 0
    one.feature = j
    one.weight = w
    one.most = most
    one.square = <double>w * w
    one.first = columns.middle[j]
    one.end = columns.indptr[j + 1]
    if one.first < one.end:
        one.most = min(most, fabs(w) * <double>columns.rest[j])
        # Entries saved by what they cost of the slack, negative: the largest saving comes first.
        one.key = (one.first - one.end) / one.most
        scratch.lifting.push_back(one)
        # U of a whole column is that of its smaller entries, then what the large ones add: left out
        # in this order, their sum is `most`, and w_j^2 counts once.
        one.most = most - one.most
        one.square = 0
    one.end = one.first
    one.first = columns.indptr[j]
    # By `most` of the whole column, which brings it behind the smaller entries.
    one.key = (one.first - one.end) / most
    scratch.lifting.push_back(one)
    return 0


cdef void withdraw_weights(ColumnScratch scratch) noexcept nogil:
    cdef Py_ssize_t q
    for q in range(<Py_ssize_t>scratch.weighted.size()):
        scratch.weights[scratch.weighted[q]] = 0
        # Clears bits of other weights too, which all go.
        scratch.has_weight[scratch.weighted[q] >> 6] = 0


cdef int sort_features(ColumnScratch scratch) except -1 nogil:
    """Sort the parts of columns, of smallest key first."""
    cdef Py_ssize_t q, n = scratch.lifting.size()
    cdef Keyed *keyed
    scratch.keyed.resize(n)  # far smaller than what they stand for
    # Sorting moves a record often; these are moved once, in the end.
    scratch.unsorted.swap(scratch.lifting)
    scratch.lifting.resize(n)
    keyed = scratch.keyed.data()
    for q in range(n):
        keyed[q].key = scratch.unsorted[q].key
        keyed[q].feature = scratch.unsorted[q].feature
        keyed[q].place = <int32_t>q
    sort_by_key(keyed, n)
    for q in range(n):
        scratch.lifting[q] = scratch.unsorted[keyed[q].place]
    return 0


cdef Py_ssize_t split(ColumnScratch scratch, double slack, double *bound) except -1 nogil:
    """Put parts of columns that are long for what they lift in front, up to U(S) <= slack.

    Returns
    -------
    first : number of these non-essential parts; U of them is in `bound`
    """
    cdef Py_ssize_t first
    cdef double squares = 0, total = 0, highest
    cdef Lifting *one
    sort_features(scratch)
    bound[0] = 0
    for first in range(<Py_ssize_t>scratch.lifting.size()):
        one = &scratch.lifting[first]
        squares += one.square
        total += one.most
        # U(S) in float64; parts stay in front only as long as it is within the slack.
        highest = min(sqrt(squares) * scratch.largest_norm, total)
        if highest > slack:
            return first
        bound[0] = highest
    return scratch.lifting.size()


cdef double cost_from(ColumnScratch scratch, Py_ssize_t first) noexcept nogil:
    """Count the entries of the parts of columns from `first` on."""
    cdef Py_ssize_t q
    cdef double cost = 0
    for q in range(first, <Py_ssize_t>scratch.lifting.size()):
        cost += scratch.lifting[q].end - scratch.lifting[q].first
    return cost


cdef void accumulate(
    Workspace work, ColumnScratch scratch, Problem problem, Py_ssize_t first, double limit
) noexcept nogil:
    """Find rows outside the active set whose lifting products from `first` on exceed `limit`.

    No such row is missed, whatever the rounding; their sums are in `candidate_scores`.
    """
    cdef Columns columns = problem.X.columns
    cdef Py_ssize_t q, n = scratch.lifting.size(), chunk, low, high
    cdef int64_t n_entries
    # A sum of n products that are not negative is off by at most so much of itself: a row just
    # above the limit is found although its sum was rounded below it.
    cdef float least = <float>(limit * (1 - ROUNDING * (n - first + 4)))
    work.lanes[0].n_candidates = 0
    for q in range(first, n):
        scratch.lifting[q].at = scratch.lifting[q].first
    for chunk in range((problem.X.n_rows + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE):
        low = chunk * ROWS_AT_ONCE
        high = min(low + ROWS_AT_ONCE, problem.X.n_rows)
        n_entries = add_up(scratch, columns, first, low, high)
        # Which of the two is decided for each stretch, by the entries that it had.
        if n_entries * ENTRIES_PER_ROW > high - low:
            hits_among_all(work, scratch, low, high - low, least)
            memset(&scratch.sums[0], 0, (high - low) * sizeof(float))
        else:
            hits_among_entries(work, scratch, columns, first, low, least)
        scratch.n_entries += n_entries
        scratch.cost_of_searches += n_entries


cdef inline float lift_of(float product) noexcept nogil:
    cdef float zero = 0
    return product if product > zero else zero


cdef int64_t add_up(
    ColumnScratch scratch, Columns columns, Py_ssize_t first, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """Add lifting products of the rows [low, high) to `sums`; returns the entries read."""
    cdef Py_ssize_t q, n = scratch.lifting.size()
    cdef int64_t at, end, n_entries = 0
    cdef int e
    cdef float w
    cdef Lifting *one
    cdef float *sums = &scratch.sums[0]
    cdef const int32_t *rows = columns.rows
    cdef const float *values = columns.values
    for q in range(first, n):
        one = &scratch.lifting[q]
        if q + 1 < n:
            at = scratch.lifting[q + 1].at
            # Columns lie anywhere in memory, which no processor foresees.
            prefetch(rows + at)
            prefetch(values + at)
        w = one.weight
        at = one.begin = one.at
        end = one.end
        # Rows ascend, so the last of four tells of all.
        while at + AT_A_LOOK <= end and rows[at + AT_A_LOOK - 1] < high:
            for e in range(AT_A_LOOK):
                # Products below zero cannot lift: without them a sum is no lower than the true one.
                sums[rows[at + e] - low] += lift_of(w * values[at + e])
            at += AT_A_LOOK
        while at < end and rows[at] < high:
            sums[rows[at] - low] += lift_of(w * values[at])
            at += 1
        one.at = at
        n_entries += at - one.begin
    return n_entries


cdef void hits_among_entries(
    Workspace work, ColumnScratch scratch, Columns columns, Py_ssize_t first, Py_ssize_t low,
    float least,
) noexcept nogil:
    """Visit the rows of the entries once more; the first visit takes the sum and clears it."""
    cdef Py_ssize_t q, n = work.lanes[0].n_candidates
    cdef int64_t e
    cdef int32_t i
    cdef float s
    cdef float *sums = &scratch.sums[0]
    cdef int32_t *hits = &work.candidates[0, 0]
    cdef float *scores = &work.candidate_scores[0, 0]
    cdef const uint16_t *member = &work.member[0]
    for q in range(first, <Py_ssize_t>scratch.lifting.size()):
        for e in range(scratch.lifting[q].begin, scratch.lifting[q].at):
            i = columns.rows[e]
            s = sums[i - low]
            sums[i - low] = 0
            # written in any case, counted if it is one: a branch would often be guessed wrongly
            hits[n] = i
            scores[n] = s
            n += (s > least) & (member[i] == 0)
    work.lanes[0].n_candidates = n


cdef void hits_among_all(
    Workspace work, ColumnScratch scratch, Py_ssize_t low, Py_ssize_t n_rows, float least
) noexcept nogil:
    cdef Py_ssize_t at, i, n = work.lanes[0].n_candidates
    cdef uint8_t any_hit[GROUPS]
    cdef const float *sums = &scratch.sums[0]
    cdef int32_t *hits = &work.candidates[0, 0]
    cdef float *scores = &work.candidate_scores[0, 0]
    cdef const uint16_t *member = &work.member[low]
    # Most groups have no hit, which vectors find out without a branch a row.
    compare_sums(sums, n_rows, least, any_hit)
    for at in range((n_rows + TOGETHER - 1) // TOGETHER):
        if not any_hit[at]:
            continue
        for i in range(at * TOGETHER, min(at * TOGETHER + TOGETHER, n_rows)):
            # as above
            hits[n] = <int32_t>(low + i)
            scores[n] = sums[i]
            n += (sums[i] > least) & (member[i] == 0)
    work.lanes[0].n_candidates = n


cdef dispatched compare_sums(
    const float *sums, Py_ssize_t n, float least, uint8_t *any_hit
) noexcept nogil:
    """Note whether any of TOGETHER sums is above the limit; the last group may be shorter."""
    cdef Py_ssize_t at, i
    cdef int found
    for at in range(n // TOGETHER):
        found = 0
        for i in range(TOGETHER):
            found |= sums[at * TOGETHER + i] > least
        any_hit[at] = found
    # Shorter: looked at one by one.
    if n % TOGETHER:
        any_hit[n // TOGETHER] = 1


cdef inline double score_of(
    Row row, const float *weights, const uint64_t *has_weight
) noexcept nogil:
    """Return the exact score, of which only the entries with a weight are read: mostly a few."""
    cdef int32_t found[ENTRIES_AT_ONCE]
    cdef int64_t e, f, n, start = 0
    cdef uint32_t j
    cdef double z = 0
    while start < row.n:
        n = 0
        for e in range(start, min(start + ENTRIES_AT_ONCE, row.n)):
            j = <uint32_t>row.features[e]
            found[n] = <int32_t>(e - start)  # no branch, as in `hits_among_entries`
            n += (has_weight[j >> 6] >> (j & 63)) & 1
        for f in range(n):
            e = start + found[f]
            # In float64, so that the objective is certain to far less than a gap.
            z += <double>weights[row.features[e]] * row.values[e]
        start += ENTRIES_AT_ONCE
    return z


cdef void score_hits(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem,
    double threshold,
) noexcept nogil:
    """Score the hits exactly; the ones above the threshold stay, and their losses are summed."""
    cdef Py_ssize_t h, n = work.lanes[0].n_candidates, kept = 0
    cdef Py_ssize_t scored = SCORED if problem.X.n_entries <= IN_CACHES else SCORED_FROM_MEMORY
    cdef double z
    cdef Rows X = problem.X.rows
    cdef Row row
    cdef Lane *lane = &work.lanes[0]
    cdef int32_t *hits = &work.candidates[0, 0]
    cdef float *scores = &work.candidate_scores[0, 0]
    lane.loss = 0
    scratch.cost_of_searches += n * scored
    for h in range(n):
        if h + 2 * HITS_AHEAD < n:  # where the row begins, which its own prefetch reads
            prefetch(X.indptr + hits[h + 2 * HITS_AHEAD])
        # Hits lie anywhere in X; without prefetching each would wait for memory.
        if h + HITS_AHEAD < n:
            prefetch_row(X, hits[h + HITS_AHEAD])
        row = row_at(X, hits[h])
        z = score_of(row, &scratch.weights[0], &scratch.has_weight[0])
        scratch.n_entries += row.n
        scratch.cost_of_searches += row.n
        if z > threshold:
            # 1 + z + b' = z - T is what a negative lacks at the intercept b' = -1 - T.
            lane.loss += weight_of(problem, hits[h]) * value(&settings.loss, z - threshold)
            hits[kept] = hits[h]
            scores[kept] = <float>z
            kept += 1
    # Positives are members always, so all hits are negatives.
    lane.loss *= lane.negative_weight
    work.lanes[0].n_candidates = kept


cdef double loss_of_members(
    Workspace work, ColumnScratch scratch, const Settings *settings, double intercept
) noexcept nogil:
    """Return the losses of the active set at the weights of the search and an intercept."""
    cdef Py_ssize_t a, e
    cdef double z, margin, loss = 0
    cdef const int32_t *places = work.places.data()
    cdef const float *values = work.values.data()
    cdef const float *weights = &work.packed[0]  # by number
    cdef const Member *member
    for a in range(<Py_ssize_t>work.members[0].size()):
        member = &work.members[0][a]
        # Members at the same point (w, b'), of both signs.
        z = intercept
        for e in range(member.start, member.start + member.length):
            z += <double>weights[places[e]] * values[e]
        margin = max(<double>0, 1 - member.y * z)
        loss += member.weight * value(&settings.loss, margin)
    scratch.n_entries += work.places.size()
    return loss


cdef void certified_search(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem,
    Py_ssize_t first, double threshold, double bound,
) noexcept nogil:
    """Find all violators at the intercept -1 - threshold, and the primal there."""
    cdef Lane *lane = &work.lanes[0]
    cdef double intercept = -1 - threshold
    # A row that is not found has lifting products of T - U(S) at most, and so <w, x_i> <= T.
    accumulate(work, scratch, problem, first, threshold - bound)
    score_hits(work, scratch, settings, problem, threshold)
    lane.loss += loss_of_members(work, scratch, settings, intercept)
    # At most so many rows have a loss, which bounds the curvature in b (`choose_threshold`).
    scratch.n_violators = lane.n_candidates + work.members[0].size()
    lane.primal = primal_value(work, 0, intercept, lane.loss, settings)


cdef void quick_search(
    Workspace work, ColumnScratch scratch, const Settings *settings, Problem problem,
    Py_ssize_t first, double threshold, Py_ssize_t keep,
) noexcept nogil:
    """Find violators among rows that the features from `first` on lift most, not all."""
    # Half the threshold by the essential features alone: a guess, no bound.
    accumulate(work, scratch, problem, first, 0.5 * threshold)
    # Before exact scores, which cost more than the sums.
    keep_best(work, keep)
    score_hits(work, scratch, settings, problem, threshold)


cdef void keep_best(Workspace work, Py_ssize_t keep) noexcept nogil:
    """Keep the hits of highest score; ties go to the earlier."""
    work.lanes[0].n_candidates = best_of(
        &work.candidates[0, 0], &work.candidate_scores[0, 0], work.lanes[0].n_candidates, keep
    )
