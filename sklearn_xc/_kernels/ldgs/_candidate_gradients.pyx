"""Gradients of a loss on the classes that searches have retrieved: Algorithms 1 and 2 of LDGS.

The scores of a sample are z = W h, of weights W (n_classes, n_columns) and its embedding h. Few
entries of the gradient of L(z, P) in z are large: those of the positives P and of the negatives
with the highest scores (section 2.1). Losses and gradients are therefore taken on a set of classes:

* without message passes, L of the exact scores of the set. Classes outside count as scored 0
  (Algorithm 1 as printed), or not at all;
* with T passes, Algorithm 2. The columns are cut into B chunks, z = sum_j z_j, and chunk j knows
  the scores z~_j of the positives and of what its own index retrieved; other scores are 0 there.
  Passes approach ``min (1 / B) sum_j L(B (z~_j + lambda_j))`` subject to ``sum_j lambda_j = 0``,
  which is L(z~) (eq. 12, theorem 1).

Invariant of a set: places [0, n_positive) are the positives, [n_positive, n_known) what was
retrieved, [n_known, n) the classes drawn as negatives, each class once. Samples are independent of
one another, so that results do not depend on the number of threads.

Scores come from the weights themselves. For losses with few gradients most classes need not be
scored exactly: where rows rounded to bytes are at hand (`_int8_rows`), negatives that by a bound of
their scores have no gradient leave the set.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, exp, fabs, log, rintf
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

import numpy as np

from sklearn_xc._kernels.ldgs._int8_rows cimport (
    LARGEST, LINE, Query, byte_product, fetch_byte_row, round_query, scale_of,
)
from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.ldgs._losses cimport CROSS_ENTROPY, MARGIN, Loss, loss_gradient
from sklearn_xc._kernels.common._math cimport fast_exp
from sklearn_xc._kernels.common._vector_ops cimport (
    LANES, divides, dot, largest_magnitude, prefetch_floats_far,
)

cdef enum:
    AHEAD = 6  # rows of weights to prefetch
    ROUNDED_AHEAD = 16  # the same of rows of bytes

cdef float SLACK = 1e-5  # of a threshold, for what float32 rounds


# ------------------------------------------------------------------------------- rounded rows


def bytes_of_row(n_columns):
    """The size of a row of this many columns and its scale, in whole cache lines."""
    return -(-(n_columns + sizeof(float)) // LINE) * LINE


cdef dispatched round_row(
    const float* row, int64_t n_columns, int8_t* values, int64_t n_bytes
) noexcept nogil:
    """OUT values (n_bytes,); of a row of tiny values zeros, with a scale that bounds the error."""
    cdef int64_t c
    cdef float most = largest_magnitude(row, n_columns)
    cdef float scale = most / LARGEST
    # Bytes between the columns and the scale stay 0: products over whole cache lines may read them.
    memset(values, 0, n_bytes)
    if divides(scale):
        for c in range(n_columns):
            values[c] = <int8_t><int32_t>rintf(row[c] / scale)
    # Too small to divide by: all bytes are 0, and each value is within the scale's half of that, as
    # `error` of a query supposes. An infinite or NaN scale stays, and its scores are NaN.
    elif scale < 1:
        scale = 2 * most
    memcpy(values + n_bytes - sizeof(scale), &scale, sizeof(scale))


def round_rows(const float[:, ::1] W, const int32_t[::1] ids, int8_t[:, ::1] values, int n_threads):
    """Round some rows.

    Parameters
    ----------
    W : IN (n_rows, n_columns)
    ids : IN, distinct rows
    values : IN/OUT (n_rows, bytes_of_row(n_columns)), of which those of `ids` are written
    n_threads : IN
    """
    cdef int64_t e
    # &W[ids[e], 0] would lie outside.
    if W.shape[1] == 0:
        return
    for e in prange(
        ids.shape[0], nogil=True, schedule="dynamic", chunksize=256, num_threads=n_threads
    ):
        round_row(&W[ids[e], 0], W.shape[1], &values[ids[e], 0], values.shape[1])


# -------------------------------------------------------------------------------------- scores


cdef inline const float* row_at(
    Model model, const int32_t* ids, int64_t p, int64_t n
) noexcept nogil:
    """Row ids[p] of the weights, of n in turn; one further on is prefetched."""
    # The rows lie anywhere in a table larger than the caches: a miss costs more than the product.
    if p + AHEAD < n:
        prefetch_floats_far(model.W + ids[p + AHEAD] * model.n_columns, model.n_columns)
    return model.W + ids[p] * model.n_columns


cdef dispatched score_rows(
    Model model, const float* h, const int32_t* ids, int64_t first, int64_t n, int64_t chunk,
    float* total, float* lowest
) noexcept nogil:
    """OUT the scores of rows ids[first] to ids[n - 1]; IN/OUT the lowest seen of one chunk."""
    cdef int64_t p, column = model.bounds[chunk], width = model.bounds[chunk + 1] - column
    cdef const float* w
    cdef float score
    for p in range(first, n):
        w = row_at(model, ids, p, n)
        total[p] = dot(h, w, model.n_columns)
        # Only collect_enough asks, of one chunk: the product over its columns is taken twice then.
        if lowest != NULL:
            score = dot(h + column, w + column, width)
            lowest[0] = min(lowest[0], score)


cdef dispatched score_chunk(
    Model model, const float* h, int64_t k, int64_t chunk, float* score
) noexcept nogil:
    cdef int64_t column = model.bounds[chunk]
    score[0] = dot(
        h + column, model.W + k * model.n_columns + column, model.bounds[chunk + 1] - column
    )


cdef dispatched score_parts_of(
    Model model, const float* h, const int32_t* ids, int64_t first, int64_t n, int64_t capacity,
    float* part, float* total
) noexcept nogil:
    """OUT the scores of each chunk, and their sums."""
    cdef int64_t p, j, column
    cdef const float* w
    cdef float score
    # The sum of the chunks, not one product as in score_rows: Algorithm 2 compares the two.
    for p in range(first, n):
        w = row_at(model, ids, p, n)
        total[p] = 0
        for j in range(model.n_chunks):
            column = model.bounds[j]
            score = dot(h + column, w + column, model.bounds[j + 1] - column)
            part[j * capacity + p] = score
            total[p] += score


cdef dispatched score_rounded(
    Model model, Query query, const int32_t* ids, int64_t first, int64_t n, float* total,
    float* errors
) noexcept nogil:
    """OUT the scores of rounded rows, and how far each can be off."""
    cdef int64_t p
    cdef const int8_t* row
    cdef float scale
    for p in range(first, n):
        if p + ROUNDED_AHEAD < n:
            fetch_byte_row(model.rounded + ids[p + ROUNDED_AHEAD] * model.n_bytes, model.n_bytes)
        row = model.rounded + ids[p] * model.n_bytes
        # The scale stands behind the values, in the cache line that is read last anyway.
        scale = scale_of(row, model.n_bytes)
        total[p] = scale * query.scale * byte_product(query.values, row, model.n_bytes)
        errors[p] = scale * query.error


cdef void score_parts(Model model, const float* h, Set* found, Scores s) noexcept nogil:
    """OUT the scores of all chunks of the set."""
    score_parts_of(model, h, found.ids, 0, found.n, found.capacity, s.part, s.total)


# ------------------------------------------------------------------------------------- members


# A bit for each class: 1 while it is not in the set. Bits of a million classes are 125 kB, which
# the cache of a core holds; places would be 4 MB.
cdef inline bint is_new(int32_t k, const uint32_t* unseen) noexcept nogil:
    return unseen[k >> 5] >> (k & 31) & 1


cdef inline void add(Set* found, int32_t k, uint32_t* unseen) noexcept nogil:
    if k >= 0 and is_new(k, unseen):
        # k < 0 is padding, where an index has fewer rows than were requested.
        unseen[k >> 5] ^= <uint32_t>1 << (k & 31)
        found.ids[found.n] = k
        found.n += 1


# Only bits of the set are touched: a walk over all would cost as much as there are classes.
cdef inline void forget(Set* found, uint32_t* unseen) noexcept nogil:
    cdef int64_t p
    for p in range(found.n):
        unseen[found.ids[p] >> 5] |= <uint32_t>1 << (found.ids[p] & 31)


cdef void add_positives(Sample* sample, Set* found, uint32_t* unseen) noexcept nogil:
    cdef int64_t p
    for p in range(sample.n_positive):
        add(found, sample.positives[p], unseen)
    found.n_positive = found.n


cdef void add_retrieved(Retrieved retrieved, Set* found, uint32_t* unseen) noexcept nogil:
    cdef int64_t j, q
    # Chunks name the same classes often, positives too: `add` keeps the first of each.
    for j in range(retrieved.n_chunks):
        for q in range(retrieved.used):
            add(found, retrieved.ids[j * retrieved.n + q], unseen)


# ------------------------------------------------------------------------ asking for more again


cdef dispatched sum_of_exponentials(
    const float* z, int64_t n, float* top, double* total
) noexcept nogil:
    """OUT the maximum, and the sum of exp(z - maximum)."""
    cdef float highest[LANES]
    cdef float part[LANES]
    cdef int64_t e
    cdef int32_t c
    # One maximum and one sum a lane, so that compilers make vectors of the loops.
    for c in range(LANES):
        highest[c] = <float>-INFINITY
        part[c] = 0
    for e in range(n // LANES):
        for c in range(LANES):
            highest[c] = max(highest[c], z[e * LANES + c])
    for e in range(n - n % LANES, n):
        highest[0] = max(highest[0], z[e])
    top[0] = highest[0]
    for c in range(LANES):
        top[0] = max(top[0], highest[c])
    for e in range(n // LANES):
        for c in range(LANES):
            part[c] += fast_exp(z[e * LANES + c] - top[0])
    for e in range(n - n % LANES, n):
        part[0] += fast_exp(z[e] - top[0])
    total[0] = 0
    for c in range(LANES):
        total[0] += part[c]


cdef double largest_left_out(
    const float* weight, double highest, Set* found, Scores s
) noexcept nogil:
    """The largest gradient of cross-entropy that a class of this score outside the set can have."""
    cdef float top
    cdef double total, of_positives = 0
    cdef int64_t p
    if found.n == 0:
        return 0
    sum_of_exponentials(s.total, found.n, &top, &total)
    # The gradient at a negative j is |P| exp(z_j) / Z, with Z the sum of exp over all classes. The
    # sum over the set is a lower bound of Z (section 4, "MIPS queries"), so this is an upper bound;
    # it cannot exceed |P|.
    for p in range(found.n_positive):
        of_positives += weight[p] if weight != NULL else 1
    return of_positives * exp(min(highest - top - log(total), 0.0))


cdef void score_retrieved(
    Model model, const float* h, Retrieved retrieved, int64_t begin, float* lowest, Set* found,
    Scores s, uint32_t* unseen
) noexcept nogil:
    """Add the places from `begin` on of all lines to the set, and score what is new.

    IN/OUT `lowest` (n_chunks,), the lowest score retrieved in each chunk.
    """
    cdef int64_t j, q, before
    cdef int32_t k
    cdef float score
    for j in range(retrieved.n_chunks):
        # A class that is new is scored whole below, with its part in this chunk; one that another
        # chunk named before needs its part in this chunk only.
        before = found.n
        for q in range(begin, retrieved.used):
            k = retrieved.ids[j * retrieved.n + q]
            if k < 0:
                continue
            if is_new(k, unseen):
                add(found, k, unseen)
            else:
                score_chunk(model, h, k, j, &score)
                lowest[j] = min(lowest[j], score)
        score_rows(model, h, found.ids, before, found.n, j, s.total, lowest + j)


cdef void collect_enough(
    Model model, Sample* sample, double enough, Set* found, Scores s, uint32_t* unseen,
    double* left_out
) noexcept nogil:
    """Add more of each line, and score it, as long as `left_out` exceeds `enough`."""
    cdef int64_t j, begin = 0
    cdef double highest
    cdef float* lowest = s.message
    cdef Retrieved* retrieved = &sample.retrieved
    for j in range(retrieved.n_chunks):
        lowest[j] = <float>INFINITY
    # The positives, which stand in the set alone.
    score_rows(model, sample.h, found.ids, 0, found.n, 0, s.total, NULL)
    while True:
        score_retrieved(model, sample.h, retrieved[0], begin, lowest, found, s, unseen)
        # If searches are exact, a class outside the set scores in chunk j at most the lowest score
        # retrieved there; its whole score is at most the sum over the chunks.
        highest = 0
        for j in range(retrieved.n_chunks):
            highest += lowest[j]
        left_out[0] = largest_left_out(sample.weight, highest, found, s)
        if retrieved.used == retrieved.n or left_out[0] <= enough:
            return
        # Doubling: what the last round scores is at most twice what would have been enough.
        begin = retrieved.used
        retrieved.used = min(2 * retrieved.used, retrieved.n)


# --------------------------------------------------------------- candidates with a gradient


cdef float threshold_of(Loss loss, const float* errors, Set* found, Scores s) noexcept nogil:
    """Lowest score at which a negative has a gradient; NaN if a positive's score is."""
    cdef float threshold = <float>INFINITY, highest = <float>-INFINITY
    cdef int64_t p
    for p in range(found.n_positive):
        if not s.total[p] >= threshold:
            threshold = s.total[p]
    # Margin and triplets are of z_j - z_k + 1 (eqs. 3, 7 and 10): a negative more than 1 below all
    # positives violates nothing.
    threshold -= 1
    if loss.kind == MARGIN:
        # The projection of (z + 1_N) / mu on the simplex (eq. 11) drops what lies more than mu
        # below the highest negative. Of rounded scores the lowest values that they can have are
        # taken, classes that count as scored 0 among them.
        if loss.rest > 0:
            highest = 0
        for p in range(found.n_positive, found.n):
            highest = max(highest, s.total[p] - errors[p])
        if highest - loss.mu > threshold:
            threshold = <float>(highest - loss.mu)
    # The bounds are of real numbers, exact scores are sums in float32.
    return threshold - SLACK * (1 + fabs(threshold))


cdef void score_possible(
    Model model, const float* h, Loss loss, Set* found, Scores s
) noexcept nogil:
    """Keep of the set the positives and what can have a gradient; OUT the scores of those."""
    cdef float* errors = s.part
    cdef int64_t p, n = found.n_positive
    cdef float threshold
    cdef Query query
    score_rows(model, h, found.ids, 0, found.n_positive, 0, s.total, NULL)
    query.values = s.query
    round_query(h, model.n_columns, model.n_bytes, &query)
    score_rounded(model, query, found.ids, found.n_positive, found.n, s.total, errors)
    threshold = threshold_of(loss, errors, found, s)
    for p in range(found.n_positive, found.n):
        found.ids[n] = found.ids[p]
        # No branch: whether a class stays is hard to predict. In place, since n <= p.
        n += not s.total[p] + errors[p] <= threshold  # NaN stays
    found.n = n
    # What stays is scored exactly: rounding never reaches a gradient.
    score_rows(model, h, found.ids, found.n_positive, n, 0, s.total, NULL)


cdef void collect(
    Model model, Sample* sample, Loss* loss, double enough, Set* found, Scores s,
    uint32_t* unseen, double* left_out
) noexcept nogil:
    """OUT the set of a sample and its scores, and, unless NULL, `left_out`.

    IN `loss`, whose `rest` is minus 1 where classes outside the set count as scored 0, and then
    OUT how many these are. IN/OUT `unseen`, a bit for each class, all set before and after.
    """
    cdef int64_t p, first = 0
    add_positives(sample, found, unseen)
    if left_out == NULL:
        # Scored below, with the classes drawn, in one go.
        add_retrieved(sample.retrieved, found, unseen)
    else:
        collect_enough(model, sample, enough, found, s, unseen, left_out)
        first = found.n
    found.n_known = found.n
    for p in range(sample.n_drawn):
        add(found, sample.drawn[p], unseen)
    forget(found, unseen)
    # Before score_possible takes classes out, which were looked at as well.
    found.n_scored = found.n
    if loss.rest < 0:
        # Algorithm 1 as printed: z~_k = 0 for all others. score_possible takes out classes without
        # a gradient only, so the count stays right.
        loss.rest = model.n_classes - found.n
    if model.rounded != NULL:
        score_possible(model, sample.h, loss[0], found, s)
    else:
        score_rows(model, sample.h, found.ids, first, found.n, 0, s.total, NULL)


# ----------------------------------------------------------------------------------- messages


cdef void weigh_drawn(
    Set* found, Scores s, int64_t n_chunks, bint has_parts, int64_t n_classes
) noexcept nogil:
    """Add to the scores of classes drawn the logarithm of their importance weight."""
    cdef int64_t j, p, n_drawn = found.n - found.n_known
    cdef float shift
    if n_drawn == 0:
        return
    # n_drawn distinct classes stand for all n_classes - n_known outside: each has the weight
    # (n_classes - n_known) / n_drawn, and exp(z + log weight) summed over the draws estimates the
    # partition function over the rest without bias.
    shift = <float>log(<double>(n_classes - found.n_known) / n_drawn)
    for p in range(found.n_known, found.n):
        s.total[p] += shift
        # In equal parts, so that the parts of the chunks still add up to the total.
        for j in range(n_chunks if has_parts else 0):
            s.part[j * found.capacity + p] += shift / n_chunks


cdef void forget_elsewhere(
    Retrieved retrieved, Set* found, Scores s, int32_t* place
) noexcept nogil:
    """Step 2 of Algorithm 2: negatives score 0 in the chunks that did not retrieve them."""
    cdef int64_t j, q, p
    cdef int32_t k
    cdef float* part
    for p in range(found.n):
        # From here on the memory of the bits, all set again, holds places: both are -1 when unused.
        place[found.ids[p]] = <int32_t>p
    for j in range(retrieved.n_chunks):
        part = s.part + j * found.capacity
        for p in range(found.n):
            s.z[p] = part[p]
        # Positives keep their scores in all chunks (k in S_j or P), and so do classes drawn, which
        # no index named.
        for p in range(found.n_positive, found.n_known):
            part[p] = 0
        for q in range(retrieved.used):
            k = retrieved.ids[j * retrieved.n + q]
            if k >= 0:
                part[place[k]] = s.z[place[k]]
    for p in range(found.n):
        place[found.ids[p]] = -1
        # z~ = sum_j z~_j, which lambda* needs (step 5).
        s.total[p] = 0
        for j in range(retrieved.n_chunks):
            s.total[p] += s.part[j * found.capacity + p]


cdef double chunk_gradient(
    Loss loss, const float* weight, int64_t j, int64_t n_chunks, Set* found, Scores s
) noexcept nogil:
    """L(B (z_j + lambda_j)); OUT s.gradient."""
    cdef int64_t p, first = j * found.capacity
    for p in range(found.n):
        s.z[p] = n_chunks * (s.part[first + p] + s.message[first + p])
    return loss_gradient(loss, s.z, weight, found.n_positive, found.n, s.gradient, s.scratch)


cdef double pass_messages(
    Loss loss, const float* weight, int64_t n_chunks, int64_t n_passes, double tau, Set* found,
    Scores s, float* out
) noexcept nogil:
    """Steps 3 to 9 of Algorithm 2; the decomposed loss (12), OUT its gradient."""
    cdef int64_t t, j, p
    cdef double value = 0
    cdef float eta, best
    # lambda = 0 adds up to zero over the chunks, and each step keeps it so: lambda* does.
    for p in range(n_chunks * found.capacity):
        s.message[p] = 0
    for t in range(1, n_passes + 1):
        # Step 4: A, the classes whose gradient in some chunk exceeds tau_2; `out` marks them.
        for p in range(found.n):
            out[p] = 0
        for j in range(n_chunks):
            chunk_gradient(loss, weight, j, n_chunks, found, s)
            for p in range(found.n):
                if fabs(s.gradient[p]) > tau:
                    out[p] = 1  # it is in the set A
        # Steps 5 to 7, the step of Frank and Wolfe with eta = 2 / (t + 2). After T of them lambda
        # has come to (1 - 2 / ((T + 1) (T + 2))) lambda*.
        eta = <float>(2.0 / (t + 2))
        for j in range(n_chunks):
            for p in range(found.n):
                # lambda*_j = z~ / B - z~_j, at which all chunks see B z~ / B = z~: the bound of eq.
                # 12 is tight.
                best = s.total[p] / n_chunks - s.part[j * found.capacity + p]
                if out[p] != 0:
                    s.message[j * found.capacity + p] += eta * (
                        best - s.message[j * found.capacity + p]
                    )
    # Step 9: the mean of the gradients of the chunks, and the objective of (12).
    for p in range(found.n):
        out[p] = 0
    for j in range(n_chunks):
        value += chunk_gradient(loss, weight, j, n_chunks, found, s)
        for p in range(found.n):
            out[p] += s.gradient[p] / n_chunks
    return value / n_chunks


cdef void zero_smallest(float* gradient, int64_t n, double tau) noexcept nogil:
    """Zero in place of the smallest of some gradients, at least 0, that add up to less than tau."""
    cdef double sums[256]
    cdef double total = 0
    cdef int32_t bits, least = 0
    cdef int64_t p
    cdef float smallest
    for p in range(256):
        sums[p] = 0
    # Sums by exponent, the upper bits of a float: one walk in place of a sort. Gradients of the
    # same power of two stay or go together.
    for p in range(n):
        memcpy(&bits, &gradient[p], sizeof(bits))
        sums[(bits >> 23) & 255] += gradient[p]
    while least < 255 and total + sums[least] < tau:
        total += sums[least]
        least += 1
    # The least float of that exponent: what is smaller lies in the groups that go.
    bits = least << 23
    memcpy(&smallest, &bits, sizeof(bits))
    for p in range(n):
        gradient[p] = gradient[p] if gradient[p] >= smallest else 0


cdef double one_row(
    Model model, Sample sample, Loss loss, int64_t n_passes, double tau, Set* found, Scores s,
    int32_t* place, float* gradient, double* left_out
) noexcept nogil:
    """The loss of a sample; OUT its set, gradient and, unless NULL, `left_out`."""
    cdef double value
    # Bits take less of a cache than places, which are of use once all are known.
    collect(model, &sample, &loss, tau, found, s, <uint32_t*>place, left_out)
    # Of each chunk by itself, which the set needs once it is complete.
    if n_passes:
        score_parts(model, sample.h, found, s)
    if loss.kind == CROSS_ENTROPY:
        weigh_drawn(found, s, model.n_chunks, n_passes > 0, model.n_classes)
    if n_passes:
        forget_elsewhere(sample.retrieved, found, s, place)
        return pass_messages(
            loss, sample.weight, model.n_chunks, n_passes, tau, found, s, gradient
        )
    value = loss_gradient(
        loss, s.total, sample.weight, found.n_positive, found.n, gradient, s.scratch
    )
    # Behind the positives, whose gradients have the other sign.
    if loss.kind == CROSS_ENTROPY and tau > 0:
        zero_smallest(gradient + found.n_positive, found.n - found.n_positive, tau)
    return value


cdef inline Sample sample_of(
    const float* h, const int64_t[::1] indptr, const int32_t[::1] positives,
    const float[::1] weight, int64_t i, Retrieved retrieved, const int32_t* drawn, int64_t n_drawn
) noexcept nogil:
    cdef Sample sample
    sample.h, sample.retrieved, sample.drawn, sample.n_drawn = h, retrieved, drawn, n_drawn
    sample.n_positive = indptr[i + 1] - indptr[i]
    sample.positives = &positives[0] + indptr[i] if positives.shape[0] else NULL
    sample.weight = &weight[0] + indptr[i] if weight.shape[0] else NULL
    return sample


cdef struct Options:
    int kind  # the loss, one of `_losses.KINDS`
    double mu  # its smoothing
    # Whether classes outside the set count as scored 0 (Algorithm 1 as printed), or not at all.
    bint zero_rest
    int64_t n_passes  # T of Algorithm 2, or 0 to score the set exactly
    # tau_2 of Algorithm 2, and what is small enough for `left_out`; in cross-entropy without
    # passes, gradients of negatives that together are smaller are put to 0.
    double tau
    # At least 1 unless n is 0: this many of each line are used at first, then twice that, as long
    # as `left_out` is larger than tau; without `left_out`, no more.
    int64_t n_first


cdef class LabelEmbeddings:
    """W and how it is cut.

    Parameters
    ----------
    W : (n_classes, n_columns)
    bounds : (n_chunks + 1,), from 0 to n_columns: chunk j has columns bounds[j] to
        bounds[j + 1] - 1
    rounded : (n_classes, n_bytes), the rows of W from `_int8_rows.round_rows`, or with no rows:
        by them negatives that cannot have a gradient leave the set; not for cross-entropy, nor with
        passes
    """

    cdef const float[:, ::1] W
    cdef const int32_t[::1] bounds
    cdef const int8_t[:, ::1] rounded

    def __init__(self, W, bounds, rounded):
        self.W, self.bounds, self.rounded = W, bounds, rounded


cdef class Candidates:
    """The classes retrieved for each sample.

    Parameters
    ----------
    retrieved : (n_rows, n_chunks, n), classes, distinct in a line but for -1, which is padding
    drawn : (n_rows, n_drawn), classes drawn among those neither positive nor retrieved; those
        that are, and repetitions, do not count. In cross-entropy each has the weight of as many
    indptr, ids : the positives of each row
    weight : as many as ids, or of size 0 for ones; not for the margin loss
    """

    cdef const int32_t[:, :, ::1] retrieved
    cdef const int32_t[:, ::1] drawn
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] ids
    cdef const float[::1] weight

    def __init__(self, retrieved, drawn, indptr, ids, weight):
        self.retrieved, self.drawn = retrieved, drawn
        self.indptr, self.ids, self.weight = indptr, ids, weight


cdef class SetGradients:
    """Results.

    Parameters
    ----------
    ids : (n_rows, capacity), the classes of the set, positives first; capacity is at least
        n_chunks * n + n_drawn plus the largest number of positives
    values : (n_rows, capacity), the gradient of the loss in the scores of these
    counts : (n_rows,), how many there are
    n_scored : (n_rows,), how many there were before some left
    losses : (n_rows,)
    left_out : (n_rows,), or of size 0: the largest gradient that a class outside the set can have
        if the searches were exact; cross-entropy only
    """

    cdef int32_t[:, ::1] ids
    cdef float[:, ::1] values
    cdef int64_t[::1] counts, n_scored
    cdef double[::1] losses, left_out

    def __init__(self, ids, values, counts, n_scored, losses, left_out):
        self.ids, self.values, self.counts, self.n_scored = ids, values, counts, n_scored
        self.losses, self.left_out = losses, left_out


cdef class Scratch:
    """Memory of each thread; `places` is -1 everywhere before and after a call."""

    cdef int32_t[:, ::1] places
    cdef float[:, ::1] floats
    cdef double[:, ::1] doubles

    def __init__(self, places, n_threads, n_chunks, capacity, n_bytes):
        self.places = places
        n_floats = (2 * n_chunks + 3) * capacity + n_bytes // 2
        self.floats = np.empty((n_threads, n_floats), dtype=np.float32)
        self.doubles = np.empty((n_threads, 5 * capacity + 4))


def gradients(
    LabelEmbeddings labels, const float[:, ::1] H, Candidates candidates, Options options,
    SetGradients out, Scratch memory, int n_threads,
):
    """Losses and gradients of samples on the classes retrieved for them.

    Parameters
    ----------
    labels : IN
    H : IN (n_rows, n_columns)
    candidates : IN
    options : IN, a dict with the members of `Options`
    out : OUT
    memory : SCRATCH
    """
    cdef const float[:, ::1] W = labels.W
    cdef const int8_t[:, ::1] rounded = labels.rounded
    cdef const int32_t[::1] bounds = labels.bounds, positive_ids = candidates.ids
    cdef const int32_t[:, :, ::1] retrieved = candidates.retrieved
    cdef const int32_t[:, ::1] drawn = candidates.drawn
    cdef const int64_t[::1] positive_indptr = candidates.indptr
    cdef const float[::1] positive_weight = candidates.weight
    cdef int32_t[:, ::1] ids = out.ids, places = memory.places
    cdef float[:, ::1] gradient = out.values, scratch = memory.floats
    cdef int64_t[::1] counts = out.counts, n_scored = out.n_scored
    cdef double[::1] losses = out.losses, left_out = out.left_out
    cdef double[:, ::1] scratch64 = memory.doubles
    cdef int64_t i, n = retrieved.shape[1] * retrieved.shape[2], capacity = ids.shape[1]
    cdef int64_t n_rows = H.shape[0], n_drawn = drawn.shape[1]
    cdef int thread = 0
    cdef Model model
    cdef Sample sample
    cdef Set found
    cdef Scores s
    cdef Loss loss
    if n_rows == 0:
        return
    model.W, model.n_classes, model.n_columns = &W[0, 0], W.shape[0], W.shape[1]
    model.rounded = &rounded[0, 0] if rounded.shape[0] else NULL
    model.n_bytes = rounded.shape[1]
    model.bounds, model.n_chunks = &bounds[0], retrieved.shape[1]
    # A negative rest: not counted yet. Each sample has a copy of `loss`.
    loss.kind, loss.mu, loss.rest = options.kind, options.mu, -1 if options.zero_rest else 0
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        # Sets differ in size, hence dynamic. Scratch is of the thread, results of the sample: no
        # two threads write to the same place.
        for i in prange(n_rows, schedule="dynamic"):
            sample = sample_of(
                &H[i, 0], positive_indptr, positive_ids, positive_weight, i,
                retrieved_classes(
                    &retrieved[0, 0, 0] if n else NULL, i, retrieved.shape[1], n, options.n_first
                ),
                &drawn[i, 0] if n_drawn else NULL, n_drawn,
            )
            found = empty_set(&ids[i, 0], capacity)
            s = scores_in(&scratch[thread, 0], &scratch64[thread, 0], model.n_chunks, capacity)
            losses[i] = one_row(
                model, sample, loss, options.n_passes, options.tau, &found, s, &places[thread, 0],
                &gradient[i, 0], &left_out[i] if left_out.shape[0] else NULL,
            )
            counts[i] = found.n
            n_scored[i] = found.n_scored
