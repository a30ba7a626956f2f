"""Scores of a mini-batch over all classes, and their exponentials.

The classes are cut into tiles, in which a sample's scores stay in the first cache while the weights
of its features are added. A tile is scored for all samples of the mini-batch at a time, where all
exponentials are wanted at the end, or a sample tile by tile, where they need not be kept. Tiles
depend on the number of classes alone.
"""

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport exp_below
from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples, entry

cdef enum:
    BLOCK = 32
    SMALLEST_TILE = 64
    TILES = 8  # for threads to share, where classes suffice


cdef int32_t tile_of(int64_t n_places) noexcept:
    """The number of classes in a tile, a multiple of BLOCK.

    The number of tiles is a multiple of TILES, and they are equal but for the last, so that threads
    have the same to do.
    """
    # The smallest multiple of TILES with tiles of at most TILE classes.
    cdef int64_t n_tiles = TILES * ((n_places + TILES * TILE - 1) // (TILES * TILE))
    # Rounded up to BLOCK, a multiple of LANES, so that loops have whole vectors; few classes make
    # fewer tiles than TILES.
    cdef int64_t tile = (n_places + n_tiles * BLOCK - 1) // (n_tiles * BLOCK) * BLOCK
    return <int32_t>max(tile, <int64_t>SMALLEST_TILE)


cdef void list_streams(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch
) noexcept nogil:
    """The rows of W that the scores of each sample add up, and what they are multiplied by.

    They are added four at a time, which spares reading and writing the sum; zero times a row fills
    up the last four.
    """
    cdef int64_t e, row, feature, at = 0
    cdef int32_t i
    cdef float value
    for i in range(batch.n_rows):
        row = batch.rows[i]
        for e in range(samples.indptr[row + 1] - samples.indptr[row]):
            value = samples.values[samples.indptr[row] + e]
            if value == 0:
                continue
            feature = samples.features[entry(samples, row, e)]
            # Weights are scales[j] W[j]; the factor goes to the value.
            if weights.scales != NULL:
                value *= weights.scales[feature]
            scratch.streams[at] = weights.W + feature * weights.n_places
            scratch.factors[at] = value
            at += 1
        while at % FOUR:
            # The loop is not entered for a sample without entries, so that there is one before.
            scratch.streams[at] = scratch.streams[at - 1]
            scratch.factors[at] = 0
            at += 1
        scratch.ends[i] = at


cdef dispatched add_four(
    float* out, const float* base, int32_t n,
    const float** streams, const float* factors, int64_t start
) noexcept nogil:
    """out = base + four streams times their factors, from `start` on; n is a multiple of LANES."""
    cdef const float* a = streams[0] + start
    cdef const float* b = streams[1] + start
    cdef const float* c = streams[2] + start
    cdef const float* d = streams[3] + start
    cdef float s = factors[0], t = factors[1], u = factors[2], v = factors[3]
    cdef float sums[LANES]
    cdef int32_t _i, j
    for _i in range(n // LANES):
        # Written down apart from `out`, which the compiler would have to tell from the streams.
        for j in range(LANES):
            sums[j] = base[j] + s * a[j] + t * b[j] + u * c[j] + v * d[j]
        for j in range(LANES):
            out[j] = sums[j]
        a += LANES
        b += LANES
        c += LANES
        d += LANES
        base += LANES
        out += LANES


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
    # The highest score is subtracted first: no exponential is above 1, whatever the scores. LANES
    # lanes, in the same order on every machine.
    for i in range(n // LANES):
        values = scores + i * LANES
        for c in range(LANES):
            most[c] = values[c] if values[c] > most[c] else most[c]
    for c in range(LANES):
        top = max(top, most[c])
    for i in range(n // LANES):
        values = scores + i * LANES
        for c in range(LANES):
            # Places beyond the classes have -1e30 and give 0. A tile that holds no others gives 1
            # for each, but its `highest` is -1e30, and so its factor 0.
            values[c] = exp_below(values[c] - top)
            part[c] += values[c]
    for c in range(LANES):
        s += part[c]
    highest[0] = top
    total[0] = s


cdef inline int64_t beginning(const Scratch* scratch, int32_t i) noexcept nogil:
    """Where the streams of sample i begin."""
    return 0 if i == 0 else scratch.ends[i - 1]


cdef inline int32_t plain_part(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t t, int32_t i, float* out
) noexcept nogil:
    """Scores of sample i in tile t; returns how many."""
    cdef int64_t start = <int64_t>t * scratch.tile
    cdef int32_t size = <int32_t>min(scratch.tile, weights.n_places - start)
    cdef const float* base = weights.b + start
    cdef int64_t at = beginning(scratch, i)
    cdef int32_t y = samples.y[batch.rows[i]]
    # A sample without entries has the intercepts as its scores.
    if at == scratch.ends[i]:
        memcpy(out, base, size * sizeof(float))
    while at < scratch.ends[i]:
        add_four(out, base, size, scratch.streams + at, scratch.factors + at, start)
        # The intercepts come first, then the sums so far.
        base = out
        at += FOUR
    if start <= y < start + size:
        scratch.own[i] = out[y - start]
    return size


cdef inline void score_part(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t t, int32_t i, float* out
) noexcept nogil:
    """Exponentials of the scores of sample i in tile t."""
    cdef int32_t size = plain_part(samples, batch, weights, scratch, t, i, out)
    exponentials(
        out, size, &scratch.highest[t * batch.n_rows + i], &scratch.total[t * batch.n_rows + i]
    )


cdef void score_tile(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch, int32_t t
) noexcept nogil:
    """Exponentials of the scores of all samples of the mini-batch in a tile."""
    cdef int32_t i
    for i in range(batch.n_rows):
        score_part(
            samples, batch, weights, scratch, t, i,
            scratch.scores + i * weights.n_places + <int64_t>t * scratch.tile,
        )


cdef void score_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float* out
) noexcept nogil:
    """Exponentials of the scores of a sample in all tiles."""
    cdef int32_t t
    for t in range(scratch.n_tiles):
        score_part(samples, batch, weights, scratch, t, i, out + <int64_t>t * scratch.tile)


cdef void plain_scores(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float* out
) noexcept nogil:
    """The scores of a sample in all tiles."""
    cdef int32_t t
    for t in range(scratch.n_tiles):
        plain_part(samples, batch, weights, scratch, t, i, out + <int64_t>t * scratch.tile)


cdef void normalise_row(
    const Batch* batch, const Scratch* scratch, int32_t i
) noexcept nogil:
    """The logarithm of a sample's normaliser, from those of its tiles."""
    cdef int32_t t
    cdef double highest = -INFINITY, total = 0
    # log sum over tiles of total_t e^highest_t, with the highest of all taken out.
    for t in range(scratch.n_tiles):
        highest = max(highest, scratch.highest[t * batch.n_rows + i])
    for t in range(scratch.n_tiles):
        total += scratch.total[t * batch.n_rows + i] * exp(
            scratch.highest[t * batch.n_rows + i] - highest
        )
    scratch.log_normaliser[i] = highest + log(total)
    scratch.mass[i] = 1


cdef float factor_of(
    const Batch* batch, const Scratch* scratch, int32_t t, int32_t i
) noexcept nogil:
    """Factor that turns the exponentials of a sample in a tile into probabilities."""
    # e^(score - highest_t) times this is e^(score - log_normaliser).
    return <float>exp(scratch.highest[t * batch.n_rows + i] - scratch.log_normaliser[i])
