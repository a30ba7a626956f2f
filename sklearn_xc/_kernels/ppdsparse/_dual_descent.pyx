"""Randomised dual coordinate descent on the active set of one class (PPDSparse, Algorithm 2).

Of one dual variable a, with g = y <w, x> - 1 + a inverse / C its gradient and H the curvature of
the dual in it, the best value is a - g / H, clipped to the box [0, most].  A
step moves v, of which w is a function, at the features of one row (equation 13).

Passes hold the intercept.  With a small l2 the dual all but asks for sum_i a_i y_i = 0: the
intercept is that sum over l2, so that a step of any one variable throws it far, and the next steps
undo this.  So a pass minimises P(w, b) + hold (b - anchor)^2 / 2 instead, in whose dual the
constant feature counts 1 / (l2 + hold), and its intercept is the anchor of the next one (a proximal
point method).  The curvature of P in b is the number of samples with a loss, far more than `hold`:
anchors converge in a few passes.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched, prefetch, random_below
from sklearn_xc._kernels.common._rows cimport Row, Rows, row_at
from sklearn_xc._kernels.ppdsparse._active_set cimport Member, Workspace
from sklearn_xc._kernels.ppdsparse._losses cimport is_smooth
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport (
    Lane, Settings, add_entries, padded, thresholded_dot,
)

cdef extern from "ppdsparse/_dense_step.h" nogil:
    # v += change * x; returns <S(v), following>, while `ahead` is fetched
    float dense_step "xc_dense_step" (
        float *v, const float *x, float change, float level,
        const float *following, const float *ahead, Py_ssize_t n
    )

cdef enum:
    MOST_VISITS = 8  # of a positive in a pass
    NEGATIVES = 4  # for each visit of a positive, at least
    COPIES_AHEAD = 3  # how many samples ahead sparse rows are fetched to be copied
    ROWS_AHEAD = 2  # and dense rows for their visits
    # Rows with more entries than this in all stay where they are: copies would not be in a cache.
    MOST_COPIED = 1 << 19


cdef struct Pass:  # what is at hand during a pass, in registers, and what it has met
    float bias  # l2 times the intercept
    float of_bias  # by how much of a step it moves; 0 without an intercept
    float inverse_l2
    float limit  # a negative at zero with a larger gradient is set aside
    float tiny  # smaller projected gradients are not worth a step
    Py_ssize_t n_kept  # of the order of visits; others sit at zero and wait to leave
    float worst  # largest projected gradient
    double squares  # sum of the squares of the projected gradients
    double sum  # of the steps, signed


cdef struct Descent:  # pointers to what a pass goes through
    Member *members
    int32_t *order
    Py_ssize_t n_left  # the first of `order`; others sit at zero and wait to leave
    const int32_t *places  # entries of the rows: where their features are in v, and values
    const float *values
    float *v
    float l1
    bint dense
    Py_ssize_t n_features
    int32_t *touched  # the features that v has, and whether it has them
    uint8_t *seen
    Py_ssize_t n_touched


cdef inline double held_intercept(const Lane *lane, const Settings *settings) noexcept nogil:
    """Return the b of smallest l2 b^2 / 2 + hold (b - anchor)^2 / 2 - b sum_i a_i y_i."""
    return (lane.bias + lane.hold * lane.anchor) / (settings.l2 + lane.hold)


cdef inline Pass begin_pass(
    const Lane *lane, float limit, const Settings *settings
) noexcept nogil:
    """Return a pass in which nothing has been visited."""
    cdef Pass at
    at.bias = at.of_bias = 0
    if settings.intercept:
        # In units of l2, as the product <S(v), x_i> is: together they are l2 times the score.
        at.bias = <float>(settings.l2 * held_intercept(lane, settings))
        # A step adds to s_0, of which the held intercept takes 1 / (l2 + hold).
        at.of_bias = <float>(settings.l2 / (settings.l2 + lane.hold))
    at.inverse_l2 = 1 / settings.l2
    at.limit = limit
    # A step costs as much as the product: it is made where it tells.
    at.tiny = <float>(0.1 * lane.precision)
    at.n_kept = 0
    at.worst = 0
    at.squares = at.sum = 0
    return at


cdef inline float step(
    Member *m, float product, int32_t *order, Py_ssize_t a, Pass *at
) noexcept nogil:
    """Step the a-th of `order`, with <S(v), x_i> its product; returns the change of alpha_i y_i."""
    # Visits wait for one another by way of v and the bias: what needs neither is ready before the
    # product is, from which two operations lead to the step. No branch asks what a visit finds,
    # because about every second one would be guessed wrongly.
    #
    # Steps 2 and 3 of Algorithm 2: g = y z / l2 + a inverse / C - 1, and target - z factor is
    # a - g / H.
    cdef float old = m.alpha, slope = m.y * at.inverse_l2, of_alpha = old * m.inverse_weight - 1
    cdef float target = old - of_alpha * m.inverse_curvature, factor = slope * m.inverse_curvature
    cdef float z = at.bias + product, g = z * slope + of_alpha, projected, new
    # At the lower end of the box, and the gradient keeps it there.
    cdef bint idle = (old == 0) & (g >= 0)
    # n_kept is a at the most: no visit to come is overwritten. A positive is never set aside.
    order[at.n_kept] = order[a]
    at.n_kept += not (idle & (g > at.limit) & (m.y < 0))
    # The part of the gradient that the box leaves, at both ends of it.
    projected = g if g >= 0 else -g
    projected = 0 if idle | ((old == m.most) & (g <= 0)) else projected
    at.worst = max(at.worst, projected)
    at.squares += <double>projected * projected
    # U of step 3 is `most`.
    new = min(max(target - z * factor, <float>0), m.most)
    new = new if projected > at.tiny else old
    m.alpha = new
    new = (new - old) * m.y
    at.bias += at.of_bias * new
    at.sum += new
    return new


cdef inline void touch(Descent *d, Member *m) noexcept nogil:
    """Note the features of a sample among those that v has."""
    cdef Py_ssize_t e, n_touched = d.n_touched
    cdef int32_t j
    cdef const int32_t *features = d.places + m.start
    cdef int32_t *touched = d.touched
    cdef uint8_t *seen = d.seen
    m.seen = True
    for e in range(m.length):  # without a branch, which would often be guessed wrongly
        j = features[e]
        # `touched` has one place more than features, for this write in vain.
        touched[n_touched] = j
        n_touched += not seen[j]
        seen[j] = 1
    d.n_touched = n_touched


cdef dispatched visit_sparse(Descent *d, Pass *met) noexcept nogil:
    """Visit samples one by one, reading and writing v at the features of each."""
    cdef Pass at = met[0]  # in registers
    cdef Py_ssize_t a
    cdef Member *m
    cdef Member *following
    cdef const int32_t *places
    cdef const float *x
    cdef float change
    for a in range(d.n_left):
        m = &d.members[d.order[a]]
        if a + 1 < d.n_left:  # a processor sees by itself how the rest of both follows
            following = &d.members[d.order[a + 1]]
            prefetch(d.places + following.start)
            prefetch(d.values + following.start)
        places = d.places + m.start
        x = d.values + m.start
        change = step(m, thresholded_dot(places, x, m.length, d.v, d.l1), d.order, a, &at)
        # w(alpha + step) of equation 13, at the features of the row only.
        if change != 0:
            if not m.seen:
                touch(d, m)
            add_entries(places, x, m.length, change, d.v)
    met[0] = at


cdef dispatched visit_dense(Descent *d, Pass *met) noexcept nogil:
    """Visit one sample or more; the loop that brings v the change by one has the next product."""
    cdef Pass at = met[0]
    cdef Py_ssize_t a, n_features = d.n_features, last = d.n_left - 1
    cdef Member *m
    cdef const float *x = d.values + d.members[d.order[0]].start
    cdef const float *following
    cdef const float *ahead
    cdef float product, change = 0
    for a in range(d.n_left):
        prefetch(&d.members[d.order[min(a + 2 * ROWS_AHEAD, last)]])
        ahead = d.values + d.members[d.order[min(a + ROWS_AHEAD, last)]].start
        m = &d.members[d.order[a]]
        following = d.values + m.start
        # One reading of v both adds the last step and takes the next product; alone, each would
        # read all of it. The first change is 0, the last is added behind the loop.
        product = dense_step(d.v, x, change, d.l1, following, ahead, n_features)
        change = step(m, product, d.order, a, &at)
        x = following
    dense_step(d.v, x, change, d.l1, x, x, n_features)
    met[0] = at


cdef double move_anchor(Lane *lane, const Settings *settings) noexcept nogil:
    """Move the anchor to the intercept of the last pass.

    Returns, as a square, what that intercept has against the dual variables.
    """
    cdef double pull
    if not settings.intercept:
        return 0
    pull = lane.anchor
    lane.anchor = held_intercept(lane, settings)
    # By `held_intercept`, s_0 - l2 b = hold (b - anchor).
    pull = lane.hold * (lane.anchor - pull)
    return pull * pull / settings.l2


cdef void shuffle(int32_t *order, Py_ssize_t n, uint64_t *rng) noexcept nogil:
    """Put numbers in a random order (Fisher and Yates)."""
    cdef Py_ssize_t a, b
    cdef int32_t swap
    for a in range(n - 1, 0, -1):
        b = random_below(rng, <unsigned int>(a + 1))
        swap = order[a]
        order[a] = order[b]
        order[b] = swap


cdef int order_visits(Workspace work, Py_ssize_t c) except -1 nogil:
    """List the active set, positives as often as a pass visits them.

    Few of them answer to many negatives.
    """
    cdef Py_ssize_t a, _, n = work.members[c].size(), n_positives = 0, n_visits = 0, times
    cdef const Member *members = work.members[c].data()
    for a in range(n):
        n_positives += members[a].y > 0
    # Otherwise the steps of very many negatives lie between two visits of a positive.
    times = n // (NEGATIVES * max(<Py_ssize_t>1, n_positives))
    times = max(<Py_ssize_t>1, min(<Py_ssize_t>MOST_VISITS, times))
    work.order.resize(n + n_positives * (times - 1))
    for a in range(n):
        for _ in range(times if members[a].y > 0 else 1):
            work.order[n_visits] = <int32_t>a
            n_visits += 1
    return 0


cdef void copy_row(Row row, int32_t *places, float *values) noexcept nogil:
    """Copy features and values, filled up to whole vectors."""
    cdef Py_ssize_t e
    if row.n == 0:  # it has no vector, and among others like it not even an array to write to
        return
    memcpy(places, row.features, row.n * sizeof(int32_t))
    memcpy(values, row.values, row.n * sizeof(float))
    # A place that is there and a value of zero: loops over vectors need no end of their own.
    for e in range(row.n, padded(row.n)):
        places[e] = places[0]
        values[e] = 0


cdef int lay_rows(Workspace work, Py_ssize_t c, Rows X, Descent *d) except -1 nogil:
    """Lay out the rows of the active set.

    They are copied side by side, since a descent visits them several times in a random order; dense
    rows, and those of a large active set, are left where they are in X.
    """
    cdef Py_ssize_t a, n = work.members[c].size(), size = 0, at = 0
    cdef bint copied
    cdef Row row
    cdef Member *m
    for a in range(n):
        size += padded(row_at(X, d.members[a].row).n)
    copied = not X.dense and size <= MOST_COPIED
    if copied and size > <Py_ssize_t>work.places.size():
        work.places.resize(size)
        work.values.resize(size)
    # Where rows stay, `length` is that of X, and the product ends entry by entry.
    d.places = X.features
    d.values = X.values
    if copied:
        d.places = work.places.data()
        d.values = work.values.data()
    for a in range(n):
        m = &d.members[a]
        m.seen = False
        row = row_at(X, m.row)
        m.start = X.indptr[m.row]
        m.length = <int32_t>row.n
        if not copied:
            continue
        if a + COPIES_AHEAD < n:
            prefetch(row_at(X, d.members[a + COPIES_AHEAD].row).features)
            prefetch(row_at(X, d.members[a + COPIES_AHEAD].row).values)
        m.start = at
        m.length = <int32_t>padded(row.n)
        copy_row(row, work.places.data() + at, work.values.data() + at)
        at += m.length
    return 0


cdef void load_v(Workspace work, Py_ssize_t c, Descent *d) noexcept nogil:
    """Spread v over all features; dense rows touch every one at once."""
    cdef Py_ssize_t q, j
    cdef int32_t *touched = &work.touched[c, 0]
    for q in range(d.n_touched):
        work.v[touched[q]] = work.saved[c, q]
        work.seen[touched[q]] = 1
    # So `saved` of a dense class has all features, and no visit looks for new ones.
    for j in range(d.n_features if d.dense else 0):
        if not work.seen[j]:
            work.seen[j] = 1
            touched[d.n_touched] = <int32_t>j
            d.n_touched += 1


cdef void store_v(Workspace work, Py_ssize_t c, Py_ssize_t n_touched) noexcept nogil:
    """Keep v of the touched features alone, and clear it for the next class."""
    cdef Py_ssize_t q
    cdef int32_t j
    work.lanes[c].n_touched = n_touched
    for q in range(n_touched):
        j = work.touched[c, q]
        work.saved[c, q] = work.v[j]
        # v and seen are zero again, with work by the touched features, not by all.
        work.v[j] = 0
        work.seen[j] = 0


cdef double total_of(const Descent *d, Py_ssize_t n) noexcept nogil:
    """Return the sum of the dual variables."""
    cdef Py_ssize_t a
    cdef double total = 0
    for a in range(n):
        total += d.members[a].alpha
    return total


cdef int descend(
    Workspace work,
    Py_ssize_t c,
    const Settings *settings,
    Problem problem,
    int n_passes,
    double share,  # of the tolerance that the gap of the active set may keep
) except -1 nogil:
    """Pass over the active set, each time in a fresh random order, until gradients are small."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t n = work.members[c].size()
    cdef float limit = <float>1e30
    cdef double pull
    cdef Descent d
    cdef Pass at
    cdef int _
    order_visits(work, c)
    d.members = work.members[c].data()
    d.order = work.order.data()
    d.n_left = work.order.size()
    d.l1 = settings.l1
    d.n_features = problem.X.n_columns
    d.n_touched = lane.n_touched
    d.touched = &work.touched[c, 0]
    d.seen = &work.seen[0]
    d.dense = problem.X.rows.dense
    if lane.compact:
        d.places = work.places.data()
        d.values = work.values.data()
        d.v = &work.saved[c, 0]
    else:
        lay_rows(work, c, problem.X.rows, &d)
        load_v(work, c, &d)
        d.v = &work.v[0]
    for _ in range(n_passes):
        lane.n_visits += d.n_left
        at = begin_pass(lane, limit, settings)
        # Step 1 of Algorithm 2 without replacement: a pass visits each member.
        shuffle(d.order, d.n_left, &lane.rng)
        if d.dense and d.n_left:
            visit_dense(&d, &at)
        else:
            visit_sparse(&d, &at)
        d.n_left = at.n_kept
        lane.bias += at.sum
        pull = move_anchor(lane, settings)
        if at.worst <= lane.precision and pull <= lane.precision * lane.precision:
            break
        # The dual is concave by `inverse` of the loss: the gap that members of the active set leave
        # is half the sum of their squared gradients over it (for C_i = 1) and of what the intercept
        # b has against them, (s_0 - l2 b)^2 / l2; the objective is at least half the sum of the
        # dual variables. Both halves cancel.
        if is_smooth(&settings.loss) and (
            at.squares * settings.loss.steepness + pull <= share * settings.tol * total_of(&d, n)
        ):
            break
        # Liblinear's shrinking takes the largest projected gradient of the pass before, which is
        # long above every other; a tenth of the margin is far inside as well.
        limit = min(at.worst, <float>0.1)
    if not lane.compact:
        store_v(work, c, d.n_touched)
    return 0
