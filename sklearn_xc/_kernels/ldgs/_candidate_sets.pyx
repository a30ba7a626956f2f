"""The classes that a sample is scored on: its positives, those retrieved for it, those drawn.

Scores come from the weights themselves. Of losses with few gradients most classes need not be
scored so: where rows rounded to bytes are at hand (`_int8_rows`), those that by a bound of their
scores have no gradient leave the set.
"""

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t

from sklearn_xc._kernels.ldgs._int8_rows cimport (
    Query, byte_product, fetch_byte_row, round_query, scale_of,
)
from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.ldgs._losses cimport MARGIN, Loss
from sklearn_xc._kernels.common._math cimport fast_exp
from sklearn_xc._kernels.common._vector_ops cimport LANES, dot, prefetch_floats_far

cdef enum:
    AHEAD = 6  # rows of weights to prefetch
    ROUNDED_AHEAD = 16  # the same of rows of bytes

cdef float SLACK = 1e-5  # of a threshold, for what float32 rounds

# -------------------------------------------------------------------------------------- scores


cdef inline const float* row_at(
    Model model, const int32_t* ids, int64_t p, int64_t n
) noexcept nogil:
    """Row ids[p] of the weights, of n in turn; one further on is prefetched."""
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
        scale = scale_of(row, model.n_bytes)
        total[p] = scale * query.scale * byte_product(query.values, row, model.n_bytes)
        errors[p] = scale * query.error


cdef void score_parts(Model model, const float* h, Set* found, Scores s) noexcept nogil:
    """OUT the scores of all chunks of the set."""
    score_parts_of(model, h, found.ids, 0, found.n, found.capacity, s.part, s.total)


# ------------------------------------------------------------------------------------- members


cdef inline bint is_new(int32_t k, const uint32_t* unseen) noexcept nogil:
    return unseen[k >> 5] >> (k & 31) & 1


cdef inline void add(Set* found, int32_t k, uint32_t* unseen) noexcept nogil:
    if k >= 0 and is_new(k, unseen):
        unseen[k >> 5] ^= <uint32_t>1 << (k & 31)
        found.ids[found.n] = k
        found.n += 1


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
    """The largest gradient of cross-entropy at a class with this score, outside the set.

    The sum over the set is a lower bound of the partition function (section 4).
    """
    cdef float top
    cdef double total, of_positives = 0
    cdef int64_t p
    if found.n == 0:
        return 0
    sum_of_exponentials(s.total, found.n, &top, &total)
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
    """Add more of each line, and score it, as long as `left_out` exceeds `enough`.

    `used` of each line are taken at first, then twice as many.
    """
    cdef int64_t j, begin = 0
    cdef double highest
    cdef float* lowest = s.message
    cdef Retrieved* retrieved = &sample.retrieved
    for j in range(retrieved.n_chunks):
        lowest[j] = <float>INFINITY
    score_rows(model, sample.h, found.ids, 0, found.n, 0, s.total, NULL)
    while True:
        score_retrieved(model, sample.h, retrieved[0], begin, lowest, found, s, unseen)
        # A class that no search retrieved scores at most the lowest score retrieved, in each chunk.
        highest = 0
        for j in range(retrieved.n_chunks):
            highest += lowest[j]
        left_out[0] = largest_left_out(sample.weight, highest, found, s)
        if retrieved.used == retrieved.n or left_out[0] <= enough:
            return
        begin = retrieved.used
        retrieved.used = min(2 * retrieved.used, retrieved.n)


# --------------------------------------------------------------- candidates with a gradient


cdef float threshold_of(Loss loss, const float* errors, Set* found, Scores s) noexcept nogil:
    """Lowest score at which a negative has a gradient; see `_losses`.

    It has none unless it comes within 1 of a positive, and in the margin unless it comes within mu
    of the highest of all negatives. NaN if a positive's score is.
    """
    cdef float threshold = <float>INFINITY, highest = <float>-INFINITY
    cdef int64_t p
    for p in range(found.n_positive):
        if not s.total[p] >= threshold:
            threshold = s.total[p]
    threshold -= 1
    if loss.kind == MARGIN:
        if loss.rest > 0:
            highest = 0
        for p in range(found.n_positive, found.n):
            highest = max(highest, s.total[p] - errors[p])
        if highest - loss.mu > threshold:
            threshold = <float>(highest - loss.mu)
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
        n += not s.total[p] + errors[p] <= threshold  # NaN stays
    found.n = n
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
        add_retrieved(sample.retrieved, found, unseen)
    else:
        collect_enough(model, sample, enough, found, s, unseen, left_out)
        first = found.n
    found.n_known = found.n
    for p in range(sample.n_drawn):
        add(found, sample.drawn[p], unseen)
    forget(found, unseen)
    found.n_scored = found.n
    if loss.rest < 0:
        loss.rest = model.n_classes - found.n
    if model.rounded != NULL:
        score_possible(model, sample.h, loss[0], found, s)
    else:
        score_rows(model, sample.h, found.ids, first, found.n, 0, s.total, NULL)
