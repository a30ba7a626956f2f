"""Softmax over all classes: mini-batch steps on feature-major weights.

The loss of sample i, of class y, is log sum_k exp(psi_k) - psi_y with psi_k = <w_k, x> + b_k. Its
gradient by psi_k is p_k - [k = y], so that a step on the sum over a mini-batch is

    w_kj <- (w_kj - rate * sum_i s_i (p_ik - [k = y_i]) x_ij) / (1 + rate * ridge_j n_j)

for each feature j, which n_j samples of the mini-batch have: the ridge is an implicit step.
Invariant: places beyond the classes have intercepts of -1e30, hence probabilities of 0 and weights
that no step changes.

A mini-batch keeps its scores, one row of `n_places` (the classes, rounded up) a sample. The classes
are cut into tiles; a thread scores a tile for all samples of the mini-batch and takes the
exponentials at once (see `_tiles`). When all tiles are done the normalisers are known, and the same
tiles are stepped feature by feature: the gradient of a feature over a tile is a sum over the
samples that have it, so that weights are read and written once for each mini-batch. Of many classes
`_rounded_step` steps few, which spares most of that; a thread then scores a sample in all tiles and
keeps no more than these few. Tiles depend on the number of classes alone, and no
sum runs across threads: the result is the same for any number of them.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport pow
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.string cimport memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.common._math cimport average_of_squares, one_and_root
from sklearn_xc._kernels.common._pace cimport Pace
from sklearn_xc._kernels.softmax._mini_batch cimport NOWHERE, Batch, Samples, gather_columns
from sklearn_xc._kernels.softmax._noise_row cimport noise_row
from sklearn_xc._kernels.softmax._rounded_step cimport round_row, rounded_step, shrink_scales
from sklearn_xc._kernels.softmax._tiles cimport (
    FOUR, TILE, Scratch, Step, Weights, factor_of, first_tile, list_streams, normalise_row,
    score_tile, tile_of, weight_of,
)

cdef enum:
    WORTH_THREADS = 500_000  # weights a mini-batch, so that waiting for threads does not show
    CACHE_LINE = 16  # floats

cdef struct Sum:
    float* out
    int32_t size
    # Four streams at a time are added to `out`, so that it is read and written a quarter as often.
    const float* stream[4]  # waiting to be added ...
    float factor[4]  # ... times these
    int32_t n


# ----------------------------------------------------------------- samples, weights, scratch memory


cdef class Buffers:
    """The memory of a mini-batch, reused by the next one."""

    cdef float[::1] scores, spare, kept, own, mass, value, factors
    cdef double[::1] highest, total, log_normaliser
    cdef int32_t[::1] features, row_of, place_of, classes, counts
    cdef int64_t[::1] starts, streams, ends

    def __init__(
        self, n_rows, n_places, n_tiles, n_features, n_entries, n_threads, rounded, noise
    ):
        # Bounds that make every place safe: a mini-batch has at most n_entries entries and as many
        # distinct features, and each sample at most FOUR - 1 streams that fill up its last four.
        n_distinct = min(n_features, n_entries)
        # A rounded step keeps the scores of a sample only until they are rounded, a plain one those
        # of all samples until the normalisers are known.
        n_scored = n_threads if rounded else n_rows
        self.scores = np.empty(n_scored * n_places + CACHE_LINE, dtype=np.float32)
        self.spare = np.empty(n_threads * n_places if noise else 1, dtype=np.float32)
        self.own, self.mass = np.empty((2, n_rows), dtype=np.float32)
        self.highest, self.total = np.empty((2, n_tiles * n_rows))
        self.log_normaliser = np.empty(n_rows)
        # A class is taken once at most: n_places are enough for a sample.
        self.classes = np.empty(n_rows * n_places if rounded else 1, dtype=np.int32)
        self.kept = np.empty(n_rows * n_places if rounded else 1, dtype=np.float32)
        self.counts = np.empty(n_rows, dtype=np.int32)
        n_streams = n_entries + (FOUR - 1) * n_rows + 1
        self.streams = np.empty(n_streams, dtype=np.int64)  # pointers
        self.factors = np.empty(n_streams, dtype=np.float32)
        self.ends = np.empty(n_rows, dtype=np.int64)
        # One more than there are: an array without numbers has no address.
        self.features = np.empty(n_distinct + 1, dtype=np.int32)
        self.starts = np.empty(n_distinct + 2, dtype=np.int64)
        self.row_of = np.empty(n_entries + 1, dtype=np.int32)
        self.value = np.empty(n_entries + 1, dtype=np.float32)
        self.place_of = np.full(n_features + 1, NOWHERE, dtype=np.int32)

    cdef void point(self, Batch* batch, Scratch* scratch) noexcept:
        # Rows of scores begin at cache lines, as n_places is a multiple of one; CACHE_LINE floats
        # more than needed leave room for the shift.
        cdef uintptr_t address = <uintptr_t>&self.scores[0]
        address = (address + 4 * CACHE_LINE - 1) // (4 * CACHE_LINE) * (4 * CACHE_LINE)
        scratch.scores = <float*>address
        scratch.spare = &self.spare[0]
        scratch.own = &self.own[0]
        scratch.mass = &self.mass[0]
        scratch.classes = &self.classes[0]
        scratch.kept = &self.kept[0]
        scratch.counts = &self.counts[0]
        scratch.streams = <const float**>&self.streams[0]
        scratch.factors = &self.factors[0]
        scratch.ends = &self.ends[0]
        scratch.highest = &self.highest[0]
        scratch.total = &self.total[0]
        scratch.log_normaliser = &self.log_normaliser[0]
        batch.features = &self.features[0]
        batch.starts = &self.starts[0]
        batch.row_of = &self.row_of[0]
        batch.value = &self.value[0]
        batch.place_of = &self.place_of[0]


cdef class FullSamples:
    """Samples of an epoch, read only.

    Parameters
    ----------
    indptr, indices, data, dense : the samples (see `_rows.Rows`)
    y : (n_samples,), class of each sample
    weight : (n_samples,), or of size 0 for weights of 1
    """

    cdef Samples pointers
    cdef object arrays  # that the pointers point into

    def __init__(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        bint dense, const int32_t[::1] y, const float[::1] weight,
    ):
        self.arrays = indptr, indices, data, y, weight
        self.pointers.indptr = &indptr[0]
        self.pointers.features = &indices[0] if indices.shape[0] else NULL
        self.pointers.values = &data[0] if data.shape[0] else NULL
        self.pointers.dense = dense
        self.pointers.y = &y[0]
        self.pointers.weight = &weight[0] if weight.shape[0] else NULL

    cdef int64_t longest_batch(self, const int32_t[::1] order, const int64_t[::1] cuts) noexcept:
        """Entries of the mini-batch that has most."""
        # Zeros that are stored count too: an upper bound is enough.
        cdef int64_t position, i, n_entries, most = 0
        for position in range(cuts.shape[0] - 1):
            n_entries = 0
            for i in range(cuts[position], cuts[position + 1]):
                n_entries += self.pointers.indptr[order[i] + 1] - self.pointers.indptr[order[i]]
            most = max(most, n_entries)
        return most


cdef class FullWeights:
    """Weights and averages that an epoch changes.

    Parameters
    ----------
    W, b : (n_features, n_places) and (n_places,); b is very low beyond the classes
    ridge : (n_features,), what one sample contributes to the penalty's factor
    averages, touched : (n_features + 1, n_places) and (n_features + 1,), or of size 0 for plain
        steps, on the sum of the mini-batch's gradients. With them, steps are those of the adaptive
        schedule on the gradient scaled to all samples.
    scales : (n_features,), factors of the rows of W; or of size 0. With them, steps are plain ones
        on rounded probabilities (see `_rounded_step`).
    intercept : the constant feature of the intercepts; 0 without
    noise : 0 for the softmax, 1 for the probit and 2 for the logistic model, with plain steps
    mu, beta : (n_samples,), of the noise of each sample; of size 0 for the softmax
    """

    cdef Weights pointers
    cdef object arrays  # that the pointers point into

    def __init__(
        self, float[:, ::1] W, float[::1] b, const float[::1] ridge, float[:, ::1] averages,
        int64_t[::1] touched, float[::1] scales, double intercept, int noise, double[::1] mu,
        double[::1] beta,
    ):
        self.arrays = W, b, ridge, averages, touched, scales, mu, beta
        self.pointers.n_features, self.pointers.n_places = W.shape[0], W.shape[1]
        self.pointers.W = &W[0, 0] if W.shape[0] else NULL
        self.pointers.b = &b[0]
        self.pointers.averages = &averages[0, 0] if averages.shape[0] else NULL
        self.pointers.touched = &touched[0] if touched.shape[0] else NULL
        self.pointers.scales = &scales[0] if scales.shape[0] else NULL
        self.pointers.ridge = &ridge[0] if W.shape[0] else NULL
        # An intercept is the weight of a constant feature, times that feature: its step is the
        # square of the feature times the gradient.
        self.pointers.intercept = <float>(intercept * intercept)
        self.pointers.noise = noise
        self.pointers.mu = &mu[0] if mu.shape[0] else NULL
        self.pointers.beta = &beta[0] if beta.shape[0] else NULL


# ------------------------------------------------------------------------- steps of all classes


cdef dispatched add_four(
    float* out, int32_t n,
    const float* a, float s, const float* b, float t,
    const float* c, float u, const float* d, float v,
) noexcept nogil:
    """out += s a + t b + u c + v d: four streams at a time spare reading and writing `out`."""
    cdef int32_t i
    for i in range(n):
        out[i] = out[i] + s * a[i] + t * b[i] + u * c[i] + v * d[i]


cdef inline void add_stream(Sum* sum, const float* values, float factor) noexcept nogil:
    """Have `factor * values` added to the sum; done four at a time."""
    sum.stream[sum.n] = values
    sum.factor[sum.n] = factor
    sum.n += 1
    if sum.n == 4:
        finish_sum(sum)


cdef inline void finish_sum(Sum* sum) noexcept nogil:
    """Add what still waits."""
    if sum.n == 0:
        return
    # Zero times a stream that is there, since zero times one that is not could be no number.
    while sum.n < 4:
        sum.stream[sum.n] = sum.stream[0]
        sum.factor[sum.n] = 0
        sum.n += 1
    add_four(
        sum.out, sum.size,
        sum.stream[0], sum.factor[0], sum.stream[1], sum.factor[1],
        sum.stream[2], sum.factor[2], sum.stream[3], sum.factor[3],
    )
    sum.n = 0


cdef dispatched plain_step(
    float* w, const float* g, int32_t n, float rate, float shrink
) noexcept nogil:
    cdef int32_t c
    for c in range(n):
        # The ridge as an implicit step: it shrinks, and never overshoots, at any rate.
        w[c] = shrink * (w[c] - rate * g[c])


cdef dispatched step_one(
    float* w, int32_t n, const float* p, float factor, float shrink
) noexcept nogil:
    """As `plain_step` for the gradient factor * p, which is not written down for it."""
    cdef int32_t c
    for c in range(n):
        w[c] = shrink * (w[c] - factor * p[c])


cdef dispatched adaptive_step(
    float* w, float* average, const float* g, int32_t n,
    float rate, float gain, float ridge, float keep,
) noexcept nogil:
    """The step size of Kucukelbir et al. (2017): rate / (1 + sqrt(running average of g^2))."""
    cdef int32_t c
    cdef float gradient
    for c in range(n):
        gradient = gain * (g[c] + ridge * w[c])
        average[c] = average_of_squares(average[c], keep, gradient)
        w[c] -= rate * gradient / one_and_root(average[c])


cdef void step_feature(
    const Weights* weights, Step step, int64_t feature, float ridge,
    int64_t start, int32_t size, float* gradient,
) noexcept nogil:
    cdef float* w
    cdef double keep
    # Row n_features of the averages is of the intercepts, which lie in an array of their own.
    if feature == weights.n_features:
        w = weights.b + start
    else:
        w = weights.W + feature * weights.n_places + start
    if weights.averages == NULL:
        plain_step(w, gradient, size, step.rate, 1 / (1 + step.rate * ridge))
    else:
        # Steps that left the feature alone had g = 0: s has decayed by 0.9 in each.
        keep = pow(0.9, step.number - weights.touched[feature])
        adaptive_step(
            w, weights.averages + feature * weights.n_places + start, gradient, size,
            step.rate, step.gain, ridge, <float>keep,
        )


cdef inline void step_single(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int32_t t, int32_t u, int64_t start, int32_t size
) noexcept nogil:
    """The plain step of a feature that one sample of the mini-batch has: most features, mostly."""
    cdef bint intercept = u == batch.n_features
    cdef int64_t at = batch.starts[u]
    cdef int32_t i = 0 if intercept else batch.row_of[at]
    cdef int32_t y = samples.y[batch.rows[i]]
    cdef float own = weights.intercept if intercept else batch.value[at]
    cdef float shrink = 1
    cdef float* w
    own = own * weight_of(samples, batch, scratch, i)
    if intercept:
        w = weights.b + start
    else:
        w = weights.W + batch.features[u] * weights.n_places + start
        shrink = 1 / (1 + step.rate * weights.ridge[batch.features[u]])
    # Exponentials become probabilities by the factor of their tile.
    step_one(
        w, size, scratch.scores + i * weights.n_places + start,
        step.rate * own * factor_of(batch, scratch, t, i), shrink,
    )
    # The gradient in psi_y is p_y - 1, of which the loop above has done p_y.
    if start <= y < start + size:
        w[y - start] += shrink * step.rate * own


cdef void step_tile(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int32_t t
) noexcept nogil:
    """One step of all weights of the mini-batch's features, for the classes of a tile."""
    cdef int64_t start = <int64_t>t * scratch.tile
    cdef int32_t size = <int32_t>min(scratch.tile, weights.n_places - start)
    # A tile of the gradient stays in the first cache while samples are added.
    cdef float gradient[TILE]
    cdef Sum sum
    cdef int64_t at, first, last
    cdef int32_t i, u, y, row
    cdef float value, own
    sum.out = gradient
    sum.size = size
    sum.n = 0
    for u in range(batch.n_features + (weights.intercept > 0)):
        # Intercepts come last: the weights of a constant feature, times the feature.
        first = 0 if u == batch.n_features else batch.starts[u]
        last = batch.n_rows if u == batch.n_features else batch.starts[u + 1]
        # Most features of sparse samples occur once in a mini-batch: their gradient is a multiple
        # of the probabilities and need not be written down.
        if weights.averages == NULL and last - first == 1:
            step_single(samples, batch, weights, scratch, step, t, u, start, size)
            continue
        # The sum over the samples of x_ij s_i (p_ik - [k = y_i]).
        memset(gradient, 0, size * sizeof(float))
        for at in range(first, last):
            i = <int32_t>at if u == batch.n_features else batch.row_of[at]
            value = weights.intercept if u == batch.n_features else batch.value[at]
            row = batch.rows[i]
            own = value * weight_of(samples, batch, scratch, i)
            y = samples.y[row]
            if start <= y < start + size:
                gradient[y - start] -= own
            add_stream(
                &sum,
                scratch.scores + i * weights.n_places + start,
                own * factor_of(batch, scratch, t, i),
            )
        finish_sum(&sum)
        if u == batch.n_features:
            # Intercepts are free of the ridge.
            step_feature(weights, step, weights.n_features, 0, start, size, gradient)
        else:
            step_feature(
                weights, step, batch.features[u],
                (last - first) * weights.ridge[batch.features[u]], start, size, gradient,
            )


# ------------------------------------------------------------------------------- all mini-batches


cdef void score_tiles(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int thread, int n_threads
) noexcept nogil:
    # A thread has the same tiles here and in `step_tiles`, so that their weights are in its caches.
    cdef int32_t t
    for t in range(
        first_tile(scratch, thread, n_threads), first_tile(scratch, thread + 1, n_threads)
    ):
        score_tile(samples, batch, weights, scratch, t)


cdef void step_tiles(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int thread, int n_threads
) noexcept nogil:
    """The tiles that the thread has scored, last one first: it is still in the caches."""
    cdef int32_t t
    for t in range(
        first_tile(scratch, thread + 1, n_threads) - 1,
        first_tile(scratch, thread, n_threads) - 1, -1
    ):
        step_tile(samples, batch, weights, scratch, step, t)


cdef double batch_step(
    Samples samples, Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int n_threads
) noexcept nogil:
    """One mini-batch; the sum of its samples' log-losses before the step (with noise, of H)."""
    cdef int32_t i, u
    cdef int thread
    cdef double loss, sum_of_losses = 0
    gather_columns(samples, batch)
    list_streams(samples, batch, weights, scratch)
    if weights.scales == NULL:
        if weights.noise:
            # With noise a sample needs all of its scores at once, and some need more Newton steps
            # than others.
            for i in prange(batch.n_rows, schedule="dynamic", chunksize=1, num_threads=n_threads):
                noise_row(
                    samples, batch, weights, scratch, i, scratch.scores + i * weights.n_places
                )
        else:
            # Two loops with a barrier between them: the normaliser of a sample is a sum over all
            # tiles.
            for thread in prange(n_threads, schedule="static", chunksize=1, num_threads=n_threads):
                score_tiles(samples, batch, weights, scratch, thread, n_threads)
            for i in range(batch.n_rows):
                normalise_row(batch, scratch, i)
        for thread in prange(n_threads, schedule="static", chunksize=1, num_threads=n_threads):
            step_tiles(samples, batch, weights, scratch, step, thread, n_threads)
    else:
        for i in prange(batch.n_rows, schedule="dynamic", chunksize=1, num_threads=n_threads):
            round_row(
                samples, batch, weights, scratch, step, i,
                scratch.scores + threadid() * weights.n_places,
            )
        for thread in prange(n_threads, schedule="static", chunksize=1, num_threads=n_threads):
            rounded_step(samples, batch, weights, scratch, step, thread, n_threads)
        # After the step, which uses both the factors of before and those after.
        shrink_scales(batch, weights, step)
    for i in range(batch.n_rows):
        # -log p_y, each before the step. Added up in the order of the samples, not by threads.
        loss = scratch.log_normaliser[i] - scratch.own[i]
        if samples.weight != NULL:
            loss = loss * samples.weight[batch.rows[i]]
        sum_of_losses += loss
    if weights.averages != NULL:
        for u in range(batch.n_features):
            weights.touched[batch.features[u]] = step.number
        weights.touched[weights.n_features] = step.number
    return sum_of_losses


def epoch(
    FullSamples data, const int32_t[::1] order, const int64_t[::1] cuts,
    const double[::1] rates, int64_t first_step, double n_samples, FullWeights changed,
    uint64_t seed, const int32_t[::1] stop, Pace pace,
):
    """Steps over the mini-batches of `order`.

    Parameters
    ----------
    data : IN
    order : IN, samples in the order in which they are visited
    cuts : IN (n_batches + 1,), the place in `order` of each mini-batch's first sample, and the end
    rates : IN (n_batches,), the rate of each mini-batch
    first_step : IN, number of the first mini-batch, from 1 on; for averages
    n_samples : IN, number of samples that a mini-batch represents; for averages
    changed : IN/OUT
    seed : IN, of the rounding
    stop : IN, one number; other than zero when another thread was interrupted
    pace : IN/OUT, chooses the threads of each mini-batch

    Returns
    -------
    loss : float
        Sum of the samples' log-losses, each before its mini-batch's step; of probit and logistic
        models of their hazards, which is finite where all is.
    """
    cdef Samples samples = data.pointers
    cdef Weights weights = changed.pointers
    cdef Batch batch
    cdef Scratch scratch
    cdef Step step
    cdef int64_t most_entries = data.longest_batch(order, cuts), n_places = weights.n_places
    cdef int64_t position, most_rows = 0, n_batches = rates.shape[0]
    cdef double loss = 0, operations = 0, n_operations
    cdef int n_threads = pace.n_threads
    cdef Buffers buffers
    scratch.tile = tile_of(n_places)
    scratch.n_tiles = <int32_t>((n_places + scratch.tile - 1) // scratch.tile)
    # Memory for the largest mini-batch serves all: nothing is allocated while the lock is released.
    for position in range(n_batches):
        most_rows = max(most_rows, cuts[position + 1] - cuts[position])
    # Waiting for other threads would take longer than such a mini-batch.
    if most_entries * n_places < WORTH_THREADS:
        n_threads = 1
        pace = Pace(1)
    buffers = Buffers(
        most_rows, n_places, scratch.n_tiles, weights.n_features, most_entries, n_threads,
        weights.scales != NULL, weights.noise != 0,
    )
    buffers.point(&batch, &scratch)
    with nogil:
        for position in range(n_batches):
            batch.rows = &order[cuts[position]]
            batch.n_rows = <int32_t>(cuts[position + 1] - cuts[position])
            step.rate = <float>rates[position]
            # N / |B| of the adaptive steps: a mini-batch stands for all samples.
            step.gain = <float>(n_samples / batch.n_rows)
            step.number = first_step + position
            step.seed = seed
            n_threads = pace.begin()
            loss += batch_step(samples, &batch, &weights, &scratch, step, n_threads)
            n_operations = 3 * <double>(batch.starts[batch.n_features] + batch.n_rows) * n_places
            pace.end(n_operations)
            operations += n_operations
            interrupted(stop, &operations)
    return loss
