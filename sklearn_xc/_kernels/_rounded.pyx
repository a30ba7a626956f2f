"""Steps of the exact softmax that touch few classes: small probabilities are rounded at random.

The gradient of a sample's log-loss on the scores is p - onehot(y), and nearly all of its entries
are tiny. One below GRAIN is replaced by GRAIN with the probability p / GRAIN, else by 0. The mean
is the gradient itself, and 1 / GRAIN classes a sample are left, or fewer where some have much of
the probability, so that a step need not read and write the weights of all. The variance that this
adds for a class, p (GRAIN - p), is below GRAIN / (1 - GRAIN) of p (1 - p), which is that of
onehot(y) under the model.

Rounding is systematic: a lane adds up the probabilities of its classes from a random start below
GRAIN on, and gives one grain whenever the sum passes it. The ridge shrinks the weights of a feature
for all classes, which a factor of the row does.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from sklearn_xc._kernels._common cimport dispatched, random_unit, seed_for
from sklearn_xc._kernels._mini_batch cimport Batch, Samples
from sklearn_xc._kernels._tiles cimport LANES, Scratch, Step, Weights, factor_of, first_tile

cdef enum:
    QUAD = 4  # vectors of LANES that are looked at together, since few of them pass a grain
    GROUP = 64  # QUAD * LANES

cdef extern from "_simd.h" nogil:
    unsigned int mask_above "xc_mask_above" (const float *values, const float *thresholds)
    int lowest_bit "xc_lowest_bit" (unsigned int mask)

cdef float GRAIN = 1.0 / 32
cdef float SMALLEST_SCALE = 1e-6


cdef inline int32_t take(
    float* p, int32_t n_taken, int32_t first, float factor, float* left, const float* grain,
    int32_t start, int32_t* classes,
) noexcept nogil:
    """Move the classes of one vector that have passed a grain to the taken ones."""
    cdef unsigned int mask = mask_above(left, grain)
    cdef int32_t c
    cdef float value
    while mask:
        c = lowest_bit(mask)
        mask &= mask - 1
        value = max(GRAIN, factor * p[first + c])
        left[c] -= value
        p[n_taken] = value
        classes[n_taken] = start + first + c
        n_taken += 1
    return n_taken


cdef dispatched round_tile(
    float* p, int32_t n, float factor, float offset, int32_t start,
    int32_t* classes, int32_t* count,
) noexcept nogil:
    """The classes of a tile that keep a probability.

    p : IN/OUT, IN times `factor` the probabilities of n classes (a multiple of LANES), OUT what is
        left of those of `classes`, at the beginning
    offset : IN, in [0, 1), where the first lane starts
    start : IN, the first class
    """
    cdef float left[GROUP]
    cdef float grain[LANES]
    cdef float highest[LANES]
    cdef float above
    cdef float* values
    cdef int32_t i, j, c, n_taken = 0
    for c in range(GROUP):
        left[c] = offset + c * <float>0.6180339887  # starts far from each other
        left[c] = GRAIN * (left[c] - <int32_t>left[c])
    for c in range(LANES):
        grain[c] = GRAIN
    for i in range(n // GROUP):
        values = p + i * GROUP
        for c in range(GROUP):
            left[c] += factor * values[c]
        for c in range(LANES):
            above = max(left[c], left[LANES + c])
            highest[c] = max(above, max(left[2 * LANES + c], left[3 * LANES + c]))
        if mask_above(highest, grain):
            for j in range(QUAD):
                n_taken = take(
                    p, n_taken, i * GROUP + j * LANES, factor,
                    left + j * LANES, grain, start, classes,
                )
    for i in range(n // GROUP * QUAD, n // LANES):
        for c in range(LANES):
            left[c] += factor * p[i * LANES + c]
        n_taken = take(p, n_taken, i * LANES, factor, left, grain, start, classes)
    count[0] = n_taken


cdef inline float next_scale(
    const Batch* batch, const Weights* weights, Step step, int32_t u
) noexcept nogil:
    """The factor of a feature's weights after the step's share of the ridge."""
    cdef int64_t feature = batch.features[u]
    cdef float ridge = (batch.starts[u + 1] - batch.starts[u]) * weights.ridge[feature]
    return weights.scales[feature] / (1 + step.rate * ridge)


cdef void shrink_scales(const Batch* batch, const Weights* weights, Step step) noexcept nogil:
    """To be done after the step of all threads, which use both the old factors and the new."""
    cdef int32_t u
    cdef float scale
    for u in range(batch.n_features):
        scale = next_scale(batch, weights, step, u)
        weights.scales[batch.features[u]] = 1 if scale < SMALLEST_SCALE else scale


cdef inline float weight_of(Samples samples, const Batch* batch, int32_t i) noexcept nogil:
    return 1 if samples.weight == NULL else samples.weight[batch.rows[i]]


cdef void step_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float factor, float* w, int32_t first, int32_t last
) noexcept nogil:
    """w -= factor (rounded p - onehot(y)) of sample i, for the classes of some tiles."""
    cdef int32_t t, e
    cdef int32_t y = samples.y[batch.rows[i]]
    cdef int64_t at
    for t in range(first, last):
        at = i * weights.n_places + <int64_t>t * scratch.tile
        for e in range(scratch.counts[t * batch.n_rows + i]):
            w[scratch.classes[at + e]] -= factor * scratch.scores[at + e]
    if first <= y // scratch.tile < last:
        w[y] += factor


cdef void rounded_step(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int thread, int n_threads
) noexcept nogil:
    """One step of the weights of the mini-batch's features, for the classes of a thread's tiles."""
    cdef int32_t first = first_tile(scratch, thread, n_threads)
    cdef int32_t last = first_tile(scratch, thread + 1, n_threads)
    cdef int64_t lowest = <int64_t>first * scratch.tile
    cdef int64_t beyond = min(<int64_t>last * scratch.tile, weights.n_places)
    cdef int32_t t, i, u
    cdef int64_t start, at, c
    cdef uint64_t state, seed = seed_for(step.seed, step.number)
    cdef float own, scale
    cdef float* w
    for t in range(first, last):
        start = <int64_t>t * scratch.tile
        for i in range(batch.n_rows):
            state = seed_for(seed, <int64_t>t * batch.n_rows + i)
            at = i * weights.n_places + start
            round_tile(
                scratch.scores + at, <int32_t>min(scratch.tile, weights.n_places - start),
                factor_of(batch, scratch, t, i), <float>random_unit(&state), <int32_t>start,
                scratch.classes + at, &scratch.counts[t * batch.n_rows + i],
            )
    for u in range(batch.n_features):
        w = weights.W + batch.features[u] * weights.n_places
        for at in range(batch.starts[u], batch.starts[u + 1]):
            i = batch.row_of[at]
            own = step.rate * weight_of(samples, batch, i) * batch.value[at]
            own /= weights.scales[batch.features[u]]
            step_row(samples, batch, weights, scratch, i, own, w, first, last)
        scale = next_scale(batch, weights, step, u)
        if scale < SMALLEST_SCALE:
            for c in range(lowest, beyond):
                w[c] *= scale
    if weights.intercept > 0:
        for i in range(batch.n_rows):
            own = step.rate * weight_of(samples, batch, i) * weights.intercept
            step_row(samples, batch, weights, scratch, i, own, weights.b, first, last)
