"""Gradients of a loss on the classes that searches have named: Algorithms 1 and 2 of LDGS.

The weights W (n_classes, n_columns) and the embeddings H (n_rows, n_columns) of samples are cut
into chunks of columns; chunk j of a sample was asked of an index of its own, which named the
classes ``retrieved[i, j]``. The set of a sample are its positives, then what was retrieved, then
what was drawn to stand for all others, each class once. Rows are independent of one another.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from sklearn_xc._kernels._byte_rows cimport Query, byte_product, fetch_byte_row, round_query, scale_of
from sklearn_xc._kernels._common cimport dispatched, prefetch_far
from sklearn_xc._kernels._dot cimport dot
from sklearn_xc._kernels._losses cimport CROSS_ENTROPY, MARGIN, Loss, loss_gradient
from sklearn_xc._kernels._math cimport fast_exp

cdef enum:
    LANES = 16
    AHEAD = 6  # rows of weights asked for before they are needed
    ROUNDED_AHEAD = 16

cdef float SLACK = 1e-5  # of a threshold, for what float32 rounds


cdef struct Model:
    const float* W
    const int8_t* rounded  # (n_classes, n_bytes): the rows of W in bytes, or NULL
    int64_t n_bytes
    int64_t n_columns
    const int32_t* bounds
    int64_t n_chunks

cdef struct Named:
    const int32_t* ids  # (n_chunks, n): what the searches named for a sample
    int64_t n_chunks
    int64_t n
    int64_t used  # of each line, its first so many

cdef struct Set:
    int32_t* ids
    int64_t n
    int64_t n_positive
    int64_t n_known  # the positives and what was retrieved; those drawn stand behind
    int64_t capacity

cdef struct Scores:
    float* part  # (n_chunks, capacity): of each chunk
    float* message  # (n_chunks, capacity): lambda
    float* total  # (capacity,)
    float* z  # (capacity,)
    float* gradient  # (capacity,)
    int16_t* query  # (n_bytes,)
    double* scratch


cdef inline void fetch(const float* row, int64_t n_columns) noexcept nogil:
    cdef int64_t c
    for c in range(0, n_columns, 16):
        prefetch_far(row + c)


cdef inline const float* row_at(
    Model model, const int32_t* ids, int64_t p, int64_t n
) noexcept nogil:
    """Row ids[p] of the weights, of n in turn; one further on is asked for ahead."""
    if p + AHEAD < n:
        fetch(model.W + ids[p + AHEAD] * model.n_columns, model.n_columns)
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


cdef dispatched score_parts(
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


cdef inline Named named_classes(
    const int32_t* ids, int64_t row, int64_t n_chunks, int64_t n_of_row, int64_t n_first
) noexcept nogil:
    cdef Named named
    named.ids = ids + row * n_of_row if n_of_row else NULL
    named.n_chunks, named.n = n_chunks, n_of_row // n_chunks
    named.used = min(n_first, named.n)
    return named


cdef inline Set empty_set(int32_t* ids, int64_t capacity) noexcept nogil:
    cdef Set found
    found.ids, found.capacity = ids, capacity
    found.n = found.n_positive = found.n_known = 0
    return found


cdef inline Scores scores_in(
    float* memory, double* memory64, int64_t n_chunks, int64_t capacity
) noexcept nogil:
    cdef Scores s
    s.part = memory
    s.message = s.part + n_chunks * capacity
    s.total = s.message + n_chunks * capacity
    s.z = s.total + capacity
    s.gradient = s.z + capacity
    s.query = <int16_t*>(s.gradient + capacity)
    s.scratch = memory64
    return s


cdef inline bint is_new(int32_t k, const uint32_t* unseen) noexcept nogil:
    return unseen[k >> 5] >> (k & 31) & 1


cdef inline void add(Set* found, int32_t k, uint32_t* unseen) noexcept nogil:
    if k >= 0 and is_new(k, unseen):
        unseen[k >> 5] ^= <uint32_t>1 << (k & 31)
        found.ids[found.n] = k
        found.n += 1


cdef inline void forget(const Set* found, uint32_t* unseen) noexcept nogil:
    cdef int64_t p
    for p in range(found.n):
        unseen[found.ids[p] >> 5] |= <uint32_t>1 << (found.ids[p] & 31)


cdef void weigh_drawn(
    Set* found, Scores s, int64_t n_chunks, bint has_parts, int64_t n_classes
) noexcept nogil:
    """Add to the scores of classes drawn the logarithm of how many each stands for.

    Their sum of exp is then an estimate, without bias, of that over all classes outside the set.
    """
    cdef int64_t j, p, n_drawn = found.n - found.n_known
    cdef float shift
    if n_drawn == 0:
        return
    shift = <float>log(<double>(n_classes - found.n_known) / n_drawn)
    for p in range(found.n_known, found.n):
        s.total[p] += shift
        for j in range(n_chunks if has_parts else 0):
            s.part[j * found.capacity + p] += shift / n_chunks


cdef void forget_elsewhere(Named named, Set* found, Scores s, int32_t* place) noexcept nogil:
    """Step 2 of Algorithm 2: in each chunk, negatives that were not retrieved there score 0."""
    cdef int64_t j, q, p
    cdef int32_t k
    cdef float* part
    for p in range(found.n):
        place[found.ids[p]] = <int32_t>p
    for j in range(named.n_chunks):
        part = s.part + j * found.capacity
        for p in range(found.n):
            s.z[p] = part[p]
        for p in range(found.n_positive, found.n_known):
            part[p] = 0
        for q in range(named.used):
            k = named.ids[j * named.n + q]
            if k >= 0:
                part[place[k]] = s.z[place[k]]
    for p in range(found.n):
        place[found.ids[p]] = -1
        s.total[p] = 0
        for j in range(named.n_chunks):
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
    for p in range(n_chunks * found.capacity):
        s.message[p] = 0
    for t in range(1, n_passes + 1):
        for p in range(found.n):
            out[p] = 0
        for j in range(n_chunks):
            chunk_gradient(loss, weight, j, n_chunks, found, s)
            for p in range(found.n):
                if fabs(s.gradient[p]) > tau:
                    out[p] = 1  # it is in the set A
        eta = <float>(2.0 / (t + 2))
        for j in range(n_chunks):
            for p in range(found.n):
                best = s.total[p] / n_chunks - s.part[j * found.capacity + p]
                if out[p] != 0:
                    s.message[j * found.capacity + p] += eta * (
                        best - s.message[j * found.capacity + p]
                    )
    for p in range(found.n):
        out[p] = 0
    for j in range(n_chunks):
        value += chunk_gradient(loss, weight, j, n_chunks, found, s)
        for p in range(found.n):
            out[p] += s.gradient[p] / n_chunks
    return value / n_chunks


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


cdef void score_named(
    Model model, const float* h, Named named, int64_t begin, float* lowest, Set* found, Scores s,
    uint32_t* unseen
) noexcept nogil:
    """OUT the set with the places from `begin` on of all lines, and the scores of all that is new.

    IN/OUT `lowest` (n_chunks,), the lowest score named in each chunk, or NULL.
    """
    cdef int64_t j, q, before
    cdef int32_t k
    cdef float score
    for j in range(named.n_chunks):
        before = found.n
        for q in range(begin, named.used):
            k = named.ids[j * named.n + q]
            if k < 0:
                continue
            if is_new(k, unseen):
                add(found, k, unseen)
            elif lowest != NULL:
                score_chunk(model, h, k, j, &score)
                lowest[j] = min(lowest[j], score)
        score_rows(
            model, h, found.ids, before, found.n, j, s.total,
            lowest + j if lowest != NULL else NULL,
        )


cdef void add_named(
    Named named, const int32_t* positives, int64_t n_positive, Set* found, uint32_t* unseen
) noexcept nogil:
    """OUT the set, positives first, without scores."""
    cdef int64_t p, j, q
    for p in range(n_positive):
        add(found, positives[p], unseen)
    found.n_positive = found.n
    for j in range(named.n_chunks):
        for q in range(named.used):
            add(found, named.ids[j * named.n + q], unseen)


cdef void collect(
    Model model, const float* h, Named* named, const int32_t* positives, int64_t n_positive,
    const float* weight, double enough, Set* found, Scores s, uint32_t* unseen, double* left_out
) noexcept nogil:
    """OUT the set and its scores: more of each line as long as `left_out` exceeds `enough`.

    `named.used` of each line are taken at first, then twice as many; without `left_out` (NULL)
    no more than that.
    """
    cdef int64_t p, j, begin = 0
    cdef double highest
    cdef float* lowest = s.message if left_out != NULL else NULL
    for j in range(named.n_chunks):
        s.message[j] = <float>INFINITY
    for p in range(n_positive):
        add(found, positives[p], unseen)
    found.n_positive = found.n
    score_rows(model, h, found.ids, 0, found.n, 0, s.total, NULL)
    while True:
        score_named(model, h, named[0], begin, lowest, found, s, unseen)
        if left_out == NULL:
            return
        # A class that nobody named scores at most the lowest score named, in each chunk.
        highest = 0
        for j in range(named.n_chunks):
            highest += lowest[j]
        left_out[0] = largest_left_out(weight, highest, found, s)
        if named.used == named.n or left_out[0] <= enough:
            return
        begin = named.used
        named.used = min(2 * named.used, named.n)


cdef float threshold_of(Loss loss, const float* errors, Set* found, Scores s) noexcept nogil:
    """What a negative must score to have a gradient; see `_losses`.

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


cdef void score_contenders(
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


cdef void neglect(float* gradient, int64_t n, double tau) noexcept nogil:
    """Zero in place of the smallest of some gradients, at least 0, that add up to less than tau.

    The bits of a float begin with its exponent: those with the same go together.
    """
    cdef double sums[256]
    cdef double total = 0
    cdef int32_t bits, least = 0
    cdef int64_t p
    cdef float smallest
    for p in range(256):
        sums[p] = 0
    for p in range(n):
        memcpy(&bits, &gradient[p], sizeof(bits))
        sums[(bits >> 23) & 255] += gradient[p]
    while least < 255 and total + sums[least] < tau:
        total += sums[least]
        least += 1
    bits = least << 23
    memcpy(&smallest, &bits, sizeof(bits))
    for p in range(n):
        gradient[p] = gradient[p] if gradient[p] >= smallest else 0


cdef double one_row(
    Model model, const float* h, Named named, const int32_t* drawn, int64_t n_drawn,
    const int32_t* positives, int64_t n_positive, const float* weight, Loss loss,
    bint zero_rest, int64_t n_classes, int64_t n_passes, double tau, Set* found, Scores s,
    int32_t* place, float* gradient, int64_t* n_scored, double* left_out
) noexcept nogil:
    """The loss of a sample; OUT its set, gradient, `n_scored` and, unless NULL, `left_out`."""
    cdef int64_t p
    cdef double value
    # Bits take less of a cache than places, which are needed once all are known.
    cdef uint32_t* unseen = <uint32_t*>place
    if model.rounded != NULL:
        add_named(named, positives, n_positive, found, unseen)
    else:
        collect(model, h, &named, positives, n_positive, weight, tau, found, s, unseen, left_out)
    found.n_known = found.n
    for p in range(n_drawn):
        add(found, drawn[p], unseen)
    forget(found, unseen)
    n_scored[0] = found.n
    loss.rest = n_classes - found.n if zero_rest else 0
    if model.rounded != NULL:
        score_contenders(model, h, loss, found, s)
    else:
        score_rows(model, h, found.ids, found.n_known, found.n, 0, s.total, NULL)
    if n_passes:
        score_parts(model, h, found.ids, 0, found.n, found.capacity, s.part, s.total)
    if loss.kind == CROSS_ENTROPY:
        weigh_drawn(found, s, model.n_chunks, n_passes > 0, n_classes)
    if n_passes:
        forget_elsewhere(named, found, s, place)
        value = pass_messages(loss, weight, model.n_chunks, n_passes, tau, found, s, gradient)
    else:
        value = loss_gradient(loss, s.total, weight, found.n_positive, found.n, gradient, s.scratch)
        if loss.kind == CROSS_ENTROPY and tau > 0:
            neglect(gradient + found.n_positive, found.n - found.n_positive, tau)
    return value


def gradients(
    const float[:, ::1] W, const float[:, ::1] H, const int32_t[::1] bounds,
    const int32_t[:, :, ::1] retrieved, const int32_t[:, ::1] drawn,
    const int64_t[::1] positive_indptr, const int32_t[::1] positive_ids,
    const float[::1] positive_weight,
    int kind, double mu, bint zero_rest, int64_t n_passes, double tau, int64_t n_first,
    const int8_t[:, ::1] rounded,
    int32_t[:, ::1] ids, float[:, ::1] gradient, int64_t[::1] counts, int64_t[::1] n_scored,
    double[::1] losses, double[::1] left_out,
    int32_t[:, ::1] places, float[:, ::1] scratch, double[:, ::1] scratch64, int n_threads,
):
    """Losses and gradients of samples on the classes named for them.

    Parameters
    ----------
    W, H : IN (n_classes, n_columns) and (n_rows, n_columns)
    bounds : IN (n_chunks + 1,), from 0 to n_columns: chunk j has columns bounds[j] to
        bounds[j + 1] - 1
    retrieved : IN (n_rows, n_chunks, n), classes, distinct in a line but for -1, which is nobody
    drawn : IN (n_rows, n_drawn), classes that stand for those neither positive nor retrieved; those
        that are, and repetitions, do not count. In cross-entropy each has the weight of as many
    positive_indptr, positive_ids : IN, the positives of each row
    positive_weight : IN, as many, or of size 0 for ones; for cross-entropy
    kind, mu : IN, the loss, one of `_losses.KINDS`, and its smoothing
    zero_rest : IN, whether classes outside the set count as scored 0 (Algorithm 1 as printed), or
        not at all
    n_passes : IN, T of Algorithm 2, or 0 to score the set exactly
    tau : IN, tau_2 of Algorithm 2, and what is small enough for `left_out`; in cross-entropy
        without passes, gradients of negatives that together are smaller are put to 0
    n_first : IN, at least 1 unless n is 0: so many of each line are used at first, then twice as
        many, as long as `left_out` is larger than tau; without `left_out`, no more
    rounded : IN (n_classes, n_bytes), the rows of W from `_byte_rows.round_rows`, or with no rows:
        by them negatives that cannot have a gradient leave the set; not for cross-entropy, nor with
        passes
    ids : OUT (n_rows, capacity), the classes of the set, positives first; capacity is at least
        n_chunks * n + n_drawn plus the largest number of positives
    gradient : OUT (n_rows, capacity), of the loss in the scores of these
    counts : OUT (n_rows,), how many there are
    n_scored : OUT (n_rows,), how many there were before some left
    losses : OUT (n_rows,)
    left_out : OUT (n_rows,), or of size 0: the largest gradient that a class outside the set can
        have if the searches were exact; cross-entropy only
    places : SCRATCH (n_threads, n_classes), -1 everywhere before and after
    scratch, scratch64 : SCRATCH (n_threads, (2 n_chunks + 3) * capacity + n_bytes / 2)
        and (n_threads, 3 * capacity + 4)
    """
    cdef int64_t i, at, n = retrieved.shape[1] * retrieved.shape[2], capacity = ids.shape[1]
    cdef int64_t n_rows = H.shape[0], n_classes = W.shape[0], n_drawn = drawn.shape[1]
    cdef int thread = 0
    cdef Model model
    cdef Named named
    cdef Set found
    cdef Scores s
    cdef Loss loss
    if n_rows == 0:
        return
    model.W, model.n_columns = &W[0, 0], W.shape[1]
    model.rounded = &rounded[0, 0] if rounded.shape[0] else NULL
    model.n_bytes = rounded.shape[1]
    model.bounds, model.n_chunks = &bounds[0], retrieved.shape[1]
    loss.kind, loss.mu, loss.rest = kind, mu, 0
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for i in prange(n_rows, schedule="dynamic"):
            at = positive_indptr[i]
            named = named_classes(
                &retrieved[0, 0, 0] if n else NULL, i, retrieved.shape[1], n, n_first
            )
            found = empty_set(&ids[i, 0], capacity)
            s = scores_in(&scratch[thread, 0], &scratch64[thread, 0], model.n_chunks, capacity)
            losses[i] = one_row(
                model, &H[i, 0], named,
                &drawn[i, 0] if n_drawn else NULL, n_drawn,
                &positive_ids[0] + at if positive_ids.shape[0] else NULL,
                positive_indptr[i + 1] - at,
                &positive_weight[0] + at if positive_weight.shape[0] else NULL,
                loss, zero_rest, n_classes, n_passes, tau, &found, s, &places[thread, 0],
                &gradient[i, 0], &n_scored[i], &left_out[i] if left_out.shape[0] else NULL,
            )
            counts[i] = found.n
