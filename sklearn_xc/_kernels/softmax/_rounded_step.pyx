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

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklearn_xc._kernels.common._common cimport dispatched, random_unit, seed_for
from sklearn_xc._kernels.common._lazy_scale cimport is_tiny, multiply_weights
from sklearn_xc._kernels.common._vector_ops cimport lowest_bit, mask_above
from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples
from sklearn_xc._kernels.softmax._noise_row cimport noise_row
from sklearn_xc._kernels.softmax._tiles cimport (
    LANES, Scratch, Step, Weights, factor_of, normalise_row, score_row, weight_of,
)

cdef enum:
    QUAD = 4  # vectors of LANES that are looked at together, since few of them pass a grain
    GROUP = 64  # QUAD * LANES

# About 1 / GRAIN classes a sample are stepped, each in a cache line of its own of every row of W:
# of 4096 classes 32 lines, where a row has 256.
cdef float GRAIN = 1.0 / 32


cdef inline int32_t take(
    const float* p, int32_t n_taken, int32_t first, float factor, float* left, const float* grain,
    int32_t start, int32_t* classes, float* kept,
) noexcept nogil:
    """Take the classes of one vector that have passed a grain."""
    # Few vectors have a class that passes a grain; bits name those that do.
    cdef unsigned int mask = mask_above(left, grain)
    cdef int32_t c
    cdef float value
    while mask:
        c = lowest_bit(mask)
        mask &= mask - 1
        # A probability above GRAIN is kept as it is; `left` goes on from what the sum has beyond
        # it, so that it stays below GRAIN and the mean is right.
        value = max(GRAIN, factor * p[first + c])
        left[c] -= value
        kept[n_taken] = value
        classes[n_taken] = start + first + c
        n_taken += 1
    return n_taken


cdef dispatched round_tile(
    const float* p, int32_t n, float factor, float offset, int32_t start,
    int32_t* classes, float* kept, int32_t* count,
) noexcept nogil:
    """The classes of a tile that keep a probability.

    p : IN, times `factor` the probabilities of n classes (a multiple of LANES)
    offset : IN, in [0, 1), where the first lane starts
    start : IN, the first class
    classes, kept : OUT, those that keep one, and what it is
    count : IN/OUT, added up
    """
    cdef float left[GROUP]
    cdef float grain[LANES]
    cdef float highest[LANES]
    cdef float above
    cdef const float* values
    cdef int32_t i, j, c, n_taken = 0
    for c in range(GROUP):
        # The golden section spreads the starts of lanes evenly. Each alone is uniform, as `offset`
        # is, which is all that the mean needs.
        left[c] = offset + c * <float>0.6180339887  # starts far from each other
        left[c] = GRAIN * (left[c] - <int32_t>left[c])
    for c in range(LANES):
        grain[c] = GRAIN
    # GROUP lanes: lane c adds up classes c, c + GROUP, ... of the tile.
    for i in range(n // GROUP):
        values = p + i * GROUP
        for c in range(GROUP):
            left[c] += factor * values[c]
        for c in range(LANES):
            # One look at four vectors: mostly no class of them passes.
            above = max(left[c], left[LANES + c])
            highest[c] = max(above, max(left[2 * LANES + c], left[3 * LANES + c]))
        if mask_above(highest, grain):
            for j in range(QUAD):
                n_taken = take(
                    p, n_taken, i * GROUP + j * LANES, factor,
                    left + j * LANES, grain, start, classes, kept,
                )
    # Vectors that do not fill a group go on in the first lanes.
    for i in range(n // GROUP * QUAD, n // LANES):
        for c in range(LANES):
            left[c] += factor * p[i * LANES + c]
        n_taken = take(p, n_taken, i * LANES, factor, left, grain, start, classes, kept)
    count[0] += n_taken


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
        # A tiny factor was multiplied into the weights by `rounded_step`.
        scale = next_scale(batch, weights, step, u)
        weights.scales[batch.features[u]] = 1 if is_tiny(scale) else scale


cdef void round_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int32_t i, float* p
) noexcept nogil:
    """Score a sample and round its probabilities; `p` (n_places,) is scratch memory."""
    cdef uint64_t state, seed = seed_for(step.seed, step.number)
    cdef int64_t start, first = i * weights.n_places
    cdef int32_t t
    if weights.noise:
        noise_row(samples, batch, weights, scratch, i, p)
    else:
        score_row(samples, batch, weights, scratch, i, p)
        normalise_row(batch, scratch, i)
    scratch.counts[i] = 0
    for t in range(scratch.n_tiles):
        start = <int64_t>t * scratch.tile
        # Of the seed, the step, the tile and the sample: the same for any number of threads.
        state = seed_for(seed, <int64_t>t * batch.n_rows + i)
        round_tile(
            p + start, <int32_t>min(scratch.tile, weights.n_places - start),
            factor_of(batch, scratch, t, i), <float>random_unit(&state), <int32_t>start,
            scratch.classes + first + scratch.counts[i], scratch.kept + first + scratch.counts[i],
            &scratch.counts[i],
        )


cdef void step_row(
    Samples samples, const Batch* batch, int64_t n_places, const Scratch* scratch, int32_t i,
    float factor, float* w
) noexcept nogil:
    """w -= factor (rounded p - onehot(y)) of sample i."""
    cdef int32_t e
    cdef const int32_t* classes = scratch.classes + i * n_places
    cdef const float* kept = scratch.kept + i * n_places
    # The own class may be among them: p_y is then rounded like the others, and 1 added.
    for e in range(scratch.counts[i]):
        w[classes[e]] -= factor * kept[e]
    w[samples.y[batch.rows[i]]] += factor


cdef void rounded_step(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int thread, int n_threads
) noexcept nogil:
    """One step of the weights of a thread's share of the mini-batch's features."""
    cdef int64_t first = <int64_t>batch.n_features * thread // n_threads
    cdef int64_t last = <int64_t>batch.n_features * (thread + 1) // n_threads
    cdef int64_t u, at
    cdef int32_t i
    cdef float own, scale
    cdef float* w
    for u in range(first, last):
        # A feature belongs to one thread, and its samples keep their order: no sum runs across
        # threads.
        w = weights.W + batch.features[u] * weights.n_places
        for at in range(batch.starts[u], batch.starts[u + 1]):
            i = batch.row_of[at]
            own = step.rate * weight_of(samples, batch, scratch, i) * batch.value[at]
            # The weights are scales[j] W[j]: a step of own on them is one of own / scale on W.
            own /= weights.scales[batch.features[u]]
            step_row(samples, batch, weights.n_places, scratch, i, own, w)
        scale = next_scale(batch, weights, step, <int32_t>u)
        if is_tiny(scale):
            multiply_weights(w, weights.n_places, 1, scale)
    # One thread for the intercepts, which all samples share.
    if weights.intercept > 0 and thread == 0:
        for i in range(batch.n_rows):
            own = step.rate * weight_of(samples, batch, scratch, i) * weights.intercept
            step_row(samples, batch, weights.n_places, scratch, i, own, weights.b)


def apply_scales(float[:, ::1] W, float[::1] scales, int n_threads):
    """Multiply the rows by their factors.

    Parameters
    ----------
    W : IN/OUT (n_rows, n_columns)
    scales : IN/OUT (n_rows,), 1 after; or of size 0 without
    """
    cdef int64_t u
    for u in prange(
        scales.shape[0], schedule="dynamic", chunksize=16, num_threads=n_threads, nogil=True
    ):
        if scales[u] != 1:
            multiply_weights(&W[u, 0], W.shape[1], 1, scales[u])
            scales[u] = 1
