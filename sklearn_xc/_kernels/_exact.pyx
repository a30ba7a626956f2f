"""Softmax over all classes: mini-batch steps on feature-major weights.

A mini-batch keeps its scores, one row of `n_places` (the classes, rounded up) a sample. The classes
are cut into tiles; a thread scores a tile for all samples of the mini-batch, streaming the weights
of their features, and takes the exponentials at once. When all tiles are done the normalisers are
known, and the same tiles are stepped feature by feature: the gradient of a feature over a tile is a
sum over the samples that have it, so that weights are read and written once for each mini-batch.
Tiles depend on the number of classes alone, and no sum runs across threads: the result is the same
for any number of them.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, log, pow
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.string cimport memcpy, memset

import numpy as np

from sklearn_xc._kernels._common cimport dispatched, interrupted
from sklearn_xc._kernels._math cimport fast_exp, one_and_root
from sklearn_xc._kernels._mini_batch cimport NOWHERE, Batch, Samples, entry, gather_columns

cdef enum:
    LANES = 16
    TILE = 2048  # classes of the largest tile
    SMALLEST_TILE = 64
    TILES = 8  # so many tiles at least, for threads to share, where classes suffice
    CACHE_LINE = 16  # floats
    WORTH_THREADS = 500_000  # weights a mini-batch, so that waiting for threads does not show

cdef struct Weights:
    float* W  # (n_features, n_places)
    float* b
    float* averages  # (n_features + 1, n_places), of squared gradients; NULL: plain steps
    int64_t* touched  # (n_features + 1,): the step that last touched a row of them
    const float* ridge  # of a feature, the share of the penalty that each of its samples carries
    int64_t n_features
    int64_t n_places
    float intercept  # squared: the constant feature that stands for intercepts; 0: none

cdef struct Scratch:
    float* scores  # (n_rows, n_places)
    double* highest  # (n_tiles, n_rows): highest score in the tile
    double* total  # (n_tiles, n_rows): sum of exp(score - highest)
    float* own  # (n_rows,): score of the sample's own class
    double* log_normaliser  # (n_rows,)
    int32_t tile
    int32_t n_tiles

cdef struct Sum:
    float* out
    int32_t size
    const float* stream[4]  # waiting to be added ...
    float factor[4]  # ... times these
    int32_t n

cdef struct Step:
    float rate
    float gain  # of the gradient, where steps are scaled by its average square
    int64_t number


cdef int32_t tile_of(int64_t n_places) noexcept:
    """The number of classes in a tile, a multiple of LANES."""
    cdef int64_t tile = n_places // TILES // SMALLEST_TILE * SMALLEST_TILE
    return <int32_t>min(max(tile, <int64_t>SMALLEST_TILE), <int64_t>TILE)


cdef class Buffers:
    """The memory of a mini-batch, reused by the next one."""

    cdef float[::1] scores, own, value
    cdef double[::1] highest, total, log_normaliser
    cdef int32_t[::1] features, row_of, place_of
    cdef int64_t[::1] starts

    def __init__(self, n_rows, n_places, n_tiles, n_features, n_entries):
        n_distinct = min(n_features, n_entries)
        self.scores = np.empty(n_rows * n_places + CACHE_LINE, dtype=np.float32)
        self.own = np.empty(n_rows, dtype=np.float32)
        self.highest, self.total = np.empty((2, n_tiles * n_rows))
        self.log_normaliser = np.empty(n_rows)
        self.features = np.empty(n_distinct + 1, dtype=np.int32)
        self.starts = np.empty(n_distinct + 2, dtype=np.int64)
        self.row_of = np.empty(n_entries + 1, dtype=np.int32)
        self.value = np.empty(n_entries + 1, dtype=np.float32)
        self.place_of = np.full(n_features + 1, NOWHERE, dtype=np.int32)

    cdef void point(self, Batch* batch, Scratch* scratch) noexcept:
        cdef uintptr_t address = <uintptr_t>&self.scores[0]
        address = (address + 4 * CACHE_LINE - 1) // (4 * CACHE_LINE) * (4 * CACHE_LINE)
        scratch.scores = <float*>address
        scratch.own = &self.own[0]
        scratch.highest = &self.highest[0]
        scratch.total = &self.total[0]
        scratch.log_normaliser = &self.log_normaliser[0]
        batch.features = &self.features[0]
        batch.starts = &self.starts[0]
        batch.row_of = &self.row_of[0]
        batch.value = &self.value[0]
        batch.place_of = &self.place_of[0]


# --------------------------------------------------------------------------------- one tile


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


cdef dispatched exponentials(
    float* scores, int32_t n, double* highest, double* total
) noexcept nogil:
    """scores = exp(scores - highest); `total` is their sum. n is a multiple of LANES."""
    cdef float most[LANES]
    cdef float part[LANES]
    cdef float* values
    cdef float top = -INFINITY
    cdef double s = 0
    cdef int32_t i, c
    for c in range(LANES):
        most[c] = -INFINITY
        part[c] = 0
    for i in range(n // LANES):
        values = scores + i * LANES
        for c in range(LANES):
            most[c] = values[c] if values[c] > most[c] else most[c]
    for c in range(LANES):
        top = max(top, most[c])
    for i in range(n // LANES):
        values = scores + i * LANES
        for c in range(LANES):
            values[c] = fast_exp(values[c] - top)
            part[c] += values[c]
    for c in range(LANES):
        s += part[c]
    highest[0] = top
    total[0] = s


cdef void score_tile(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch, int32_t t
) noexcept nogil:
    cdef int64_t start = <int64_t>t * scratch.tile
    cdef int32_t size = <int32_t>min(scratch.tile, weights.n_places - start)
    cdef Sum sum
    cdef float* out
    cdef int64_t e, n, row
    cdef int32_t i, y
    cdef float value
    sum.size = size
    sum.n = 0
    for i in range(batch.n_rows):
        row = batch.rows[i]
        out = scratch.scores + i * weights.n_places + start
        memcpy(out, weights.b + start, size * sizeof(float))
        sum.out = out
        n = samples.indptr[row + 1] - samples.indptr[row]
        for e in range(n):
            value = samples.values[samples.indptr[row] + e]
            if value == 0:
                continue
            add_stream(
                &sum,
                weights.W + samples.features[entry(samples, row, e)] * weights.n_places + start,
                value,
            )
        finish_sum(&sum)
        y = samples.y[row]
        if start <= y < start + size:
            scratch.own[i] = out[y - start]
        exponentials(
            out, size,
            &scratch.highest[t * batch.n_rows + i], &scratch.total[t * batch.n_rows + i],
        )


cdef dispatched plain_step(
    float* w, const float* g, int32_t n, float rate, float shrink
) noexcept nogil:
    cdef int32_t c
    for c in range(n):
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
        average[c] = <float>0.1 * gradient * gradient + keep * average[c]
        w[c] -= rate * gradient / one_and_root(average[c])


cdef void step_feature(
    const Weights* weights, Step step, int64_t feature, float ridge,
    int64_t start, int32_t size, float* gradient,
) noexcept nogil:
    cdef float* w
    cdef double keep
    if feature == weights.n_features:
        w = weights.b + start
    else:
        w = weights.W + feature * weights.n_places + start
    if weights.averages == NULL:
        plain_step(w, gradient, size, step.rate, 1 / (1 + step.rate * ridge))
    else:
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
    if samples.weight != NULL:
        own = own * samples.weight[batch.rows[i]]
    if intercept:
        w = weights.b + start
    else:
        w = weights.W + batch.features[u] * weights.n_places + start
        shrink = 1 / (1 + step.rate * weights.ridge[batch.features[u]])
    step_one(
        w, size, scratch.scores + i * weights.n_places + start,
        step.rate * own * <float>exp(
            scratch.highest[t * batch.n_rows + i] - scratch.log_normaliser[i]
        ),
        shrink,
    )
    if start <= y < start + size:
        w[y - start] += shrink * step.rate * own


cdef void step_tile(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int32_t t
) noexcept nogil:
    """One step of all weights of the mini-batch's features, for the classes of a tile."""
    cdef int64_t start = <int64_t>t * scratch.tile
    cdef int32_t size = <int32_t>min(scratch.tile, weights.n_places - start)
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
        if weights.averages == NULL and last - first == 1:
            step_single(samples, batch, weights, scratch, step, t, u, start, size)
            continue
        memset(gradient, 0, size * sizeof(float))
        for at in range(first, last):
            i = <int32_t>at if u == batch.n_features else batch.row_of[at]
            value = weights.intercept if u == batch.n_features else batch.value[at]
            row = batch.rows[i]
            own = value if samples.weight == NULL else value * samples.weight[row]
            y = samples.y[row]
            if start <= y < start + size:
                gradient[y - start] -= own
            add_stream(
                &sum,
                scratch.scores + i * weights.n_places + start,
                own * <float>exp(
                    scratch.highest[t * batch.n_rows + i] - scratch.log_normaliser[i]
                ),
            )
        finish_sum(&sum)
        if u == batch.n_features:
            step_feature(weights, step, weights.n_features, 0, start, size, gradient)
        else:
            step_feature(
                weights, step, batch.features[u],
                (last - first) * weights.ridge[batch.features[u]], start, size, gradient,
            )


# ------------------------------------------------------------------------------- all mini-batches


cdef inline int32_t first_tile(const Scratch* scratch, int thread, int n_threads) noexcept nogil:
    return <int32_t>(<int64_t>scratch.n_tiles * thread // n_threads)


cdef void score_tiles(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int thread, int n_threads
) noexcept nogil:
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
    """One mini-batch; the sum of its samples' log-losses before the step."""
    cdef int32_t t, i, u
    cdef int thread
    cdef double highest, total, loss, sum_of_losses = 0
    gather_columns(samples, batch)
    for thread in prange(n_threads, schedule="static", chunksize=1, num_threads=n_threads):
        score_tiles(samples, batch, weights, scratch, thread, n_threads)
    for i in range(batch.n_rows):
        highest = -INFINITY
        total = 0
        for t in range(scratch.n_tiles):
            highest = max(highest, scratch.highest[t * batch.n_rows + i])
        for t in range(scratch.n_tiles):
            total += scratch.total[t * batch.n_rows + i] * exp(
                scratch.highest[t * batch.n_rows + i] - highest
            )
        scratch.log_normaliser[i] = highest + log(total)
        loss = scratch.log_normaliser[i] - scratch.own[i]
        if samples.weight != NULL:
            loss = loss * samples.weight[batch.rows[i]]
        sum_of_losses += loss
    for thread in prange(n_threads, schedule="static", chunksize=1, num_threads=n_threads):
        step_tiles(samples, batch, weights, scratch, step, thread, n_threads)
    if weights.averages != NULL:
        for u in range(batch.n_features):
            weights.touched[batch.features[u]] = step.number
        weights.touched[weights.n_features] = step.number
    return sum_of_losses


def epoch(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    const int32_t[::1] y, const float[::1] sample_weight,
    const int32_t[::1] order, int32_t batch_size, const double[::1] rates, int64_t first_step,
    double n_samples,
    float[:, ::1] W, float[::1] b, const float[::1] ridge,
    float[:, ::1] averages, int64_t[::1] touched,
    double intercept, const int32_t[::1] stop, int n_threads,
):
    """Steps over the mini-batches of `order`.

    Parameters
    ----------
    indptr, indices, data, dense : IN, the samples (see `_rows.Rows`)
    y : IN (n_samples,), class of each sample
    sample_weight : IN (n_samples,), or of size 0 for weights of 1
    order : IN, samples in the order in which they are visited
    batch_size : IN
    rates : IN, the rate of each mini-batch
    first_step : IN, number of the first mini-batch, from 1 on; for `averages`
    n_samples : IN, number of samples that the mini-batches stand for; for `averages`
    W, b : IN/OUT (n_features, n_places) and (n_places,); b is very low beyond the classes
    ridge : IN (n_features,), what one sample contributes to the penalty's factor
    averages, touched : IN/OUT (n_features + 1, n_places) and (n_features + 1,), or of size 0 for
        plain steps, on the sum of the mini-batch's gradients. With them, steps are those of the
        adaptive schedule on the gradient scaled to all samples.
    intercept : IN, the constant feature that stands for the intercepts; 0 without
    stop : IN, one number; other than zero when another thread was interrupted

    Returns
    -------
    loss : float
        Sum of the samples' log-losses, each before its mini-batch's step.
    """
    cdef Samples samples
    cdef Batch batch
    cdef Weights weights
    cdef Scratch scratch
    cdef Step step
    cdef int64_t i, n_entries, most_entries = 0, n_features = W.shape[0], n_places = W.shape[1]
    cdef int64_t position, n_batches = rates.shape[0]
    cdef double loss = 0, operations = 0
    cdef Buffers buffers
    samples.indptr = &indptr[0]
    samples.features = &indices[0] if indices.shape[0] else NULL
    samples.values = &data[0] if data.shape[0] else NULL
    samples.dense = dense
    samples.y = &y[0]
    samples.weight = &sample_weight[0] if sample_weight.shape[0] else NULL
    weights.W = &W[0, 0] if n_features else NULL
    weights.b = &b[0]
    weights.averages = &averages[0, 0] if averages.shape[0] else NULL
    weights.touched = &touched[0] if touched.shape[0] else NULL
    weights.ridge = &ridge[0] if n_features else NULL
    weights.n_features = n_features
    weights.n_places = n_places
    weights.intercept = <float>(intercept * intercept)
    scratch.tile = tile_of(n_places)
    scratch.n_tiles = <int32_t>((n_places + scratch.tile - 1) // scratch.tile)
    for position in range(0, order.shape[0], batch_size):
        n_entries = 0
        for i in range(position, min(position + batch_size, order.shape[0])):
            n_entries += indptr[order[i] + 1] - indptr[order[i]]
        most_entries = max(most_entries, n_entries)
    if most_entries * n_places < WORTH_THREADS:
        n_threads = 1
    buffers = Buffers(batch_size, n_places, scratch.n_tiles, n_features, most_entries)
    buffers.point(&batch, &scratch)
    with nogil:
        for position in range(n_batches):
            batch.rows = &order[position * batch_size]
            batch.n_rows = <int32_t>min(batch_size, order.shape[0] - position * batch_size)
            step.rate = <float>rates[position]
            step.gain = <float>(n_samples / batch.n_rows)
            step.number = first_step + position
            loss += batch_step(samples, &batch, &weights, &scratch, step, n_threads)
            operations += 3 * <double>(batch.starts[batch.n_features] + batch.n_rows) * n_places
            interrupted(stop, &operations)
    return loss
