"""Mini-batch steps on sampled classes: draw them, score them, step their weights.

Weights are class-major (n_classes, n_features). A mini-batch has `n_rows` samples; `classes`
(n_rows, n_sampled + 1) names the classes that a sample sees, its own first, and `importance`
(n_rows, n_sampled) what makes a sum over the classes drawn an unbiased estimate of the sum over all
other classes. Scores and coefficients have the shape of `classes`. A step has three phases:

    psi_ij = <w_k, x_i> + b_k                  scores, k = classes[i, j]
    c_ij                                       coefficients: derivatives of a bound by psi_ij
    w_k += rate * sum of c_ij x_i              over the pairs (i, j) of class k

The second phase is the bound's: one-vs-each here, others in the kernels of the methods.

The pairs of sample and class are grouped by class (`MiniBatch`): a class belongs to one thread, and
its samples keep their order, so that results do not depend on the number of threads. A sample's
draw depends on the seed, the step and its place in the mini-batch, never on threads.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport fabsf
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from sklearn_xc._kernels.common._common cimport (
    dispatched, gathered, random_below, random_unit, seed_for,
)
from sklearn_xc._kernels.common._lazy_scale cimport is_tiny, multiply_weights
from sklearn_xc._kernels.common._math cimport fast_exp
from sklearn_xc._kernels.common._vector_ops cimport inner_product, weight_of

cdef enum:
    # Digits of 11 bits: the histogram fits into the first cache, and up to 2048 classes need one
    # pass, 4 million two.
    RADIX = 2048
    RADIX_BITS = 11


# --------------------------------------------------------------------------------- draws of classes


cdef void draw_distinct_row(
    int32_t* classes, int32_t n_sampled, int32_t n_classes, uint64_t* drawn, uint64_t state
) noexcept nogil:
    """Floyd's method among the n_classes - 1 others, numbered without the own class.

    `drawn` has a bit for each class, all zero before and after.
    """
    cdef int32_t j, c, last
    # For last = m - s, ..., m - 1 of m = n_classes - 1 others: draw from 0 ... last; where it was
    # drawn before, take `last`, which never was. Every set of s others is equally likely (Floyd).
    for j in range(1, n_sampled + 1):
        last = n_classes - 2 - n_sampled + j
        c = <int32_t>random_below(&state, last + 1)
        if drawn[c // 64] >> (c % 64) & 1:
            c = last
        classes[j] = c
        drawn[c // 64] |= <uint64_t>1 << (c % 64)
    for j in range(1, n_sampled + 1):
        # Back to zero in the time of the draw, not of all classes. Numbers from the own class on
        # then move up by one.
        drawn[classes[j] // 64] = 0
        classes[j] += classes[j] >= classes[0]


def draw_distinct(
    int32_t[:, ::1] classes, int32_t n_classes, uint64_t seed, int64_t step, int n_threads
):
    """OUT classes[:, 1:]: distinct classes other than classes[:, 0], uniformly."""
    cdef Py_ssize_t i
    cdef int32_t n_sampled = <int32_t>classes.shape[1] - 1
    cdef uint64_t stream = seed_for(seed, step)
    # A bit a class and thread.
    cdef uint64_t[:, ::1] drawn = np.zeros((n_threads, n_classes // 64 + 1), dtype=np.uint64)
    for i in prange(classes.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        draw_distinct_row(
            &classes[i, 0], n_sampled, n_classes, &drawn[threadid(), 0], seed_for(stream, i)
        )


cdef void draw_alias_row(
    int32_t* classes, int32_t n_sampled, const double[::1] threshold, const int32_t[::1] alias,
    uint64_t state,
) noexcept nogil:
    cdef int32_t j, c
    for j in range(1, n_sampled + 1):
        c = classes[0]
        # The own class is rejected: the others are drawn with q_k / (1 - q_y). Half of the
        # probability is uniform, so that other classes always have some.
        while c == classes[0]:
            c = <int32_t>random_below(&state, <int32_t>threshold.shape[0])
            if random_unit(&state) >= threshold[c]:
                c = alias[c]
        classes[j] = c


def draw_alias(
    int32_t[:, ::1] classes, const double[::1] threshold, const int32_t[::1] alias,
    uint64_t seed, int64_t step, int n_threads,
):
    """OUT classes[:, 1:]: others than classes[:, 0], with replacement (see `alias_table`)."""
    cdef Py_ssize_t i
    cdef int32_t n_sampled = <int32_t>classes.shape[1] - 1
    cdef uint64_t stream = seed_for(seed, step)
    for i in prange(classes.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        draw_alias_row(&classes[i, 0], n_sampled, threshold, alias, seed_for(stream, i))


def fill_alias_table(double[::1] threshold, int32_t[::1] alias):
    """Level Walker's table: places below 1 are filled up by places above, whose rest goes on.

    Parameters
    ----------
    threshold : (n,), IN: the probabilities times n; OUT: below which a place is kept
    alias : (n,), IN: 0 to n - 1; OUT: what is taken else
    """
    cdef Py_ssize_t n = threshold.shape[0], i
    cdef Py_ssize_t n_small = 0, n_large = 0
    cdef int32_t low, high
    cdef int32_t[::1] small = np.empty(n, dtype=np.int32), large = np.empty(n, dtype=np.int32)
    with nogil:
        for i in range(n):
            if threshold[i] < 1:
                small[n_small] = <int32_t>i
                n_small += 1
            else:
                large[n_large] = <int32_t>i
                n_large += 1
        # A place below 1 is filled up by one above: threshold[low] of itself, the rest of `high`,
        # which keeps what it has beyond. One place is settled in each round.
        while n_small and n_large:
            n_small -= 1
            low, high = small[n_small], large[n_large - 1]
            alias[low] = high
            threshold[high] -= 1 - threshold[low]
            if threshold[high] < 1:
                n_large -= 1
                small[n_small] = high
                n_small += 1
        # What is left over is 1 but for rounding.
        for i in range(n_small):
            threshold[small[i]] = 1
        for i in range(n_large):
            threshold[large[i]] = 1


# ------------------------------------------------------------------------------ mini-batches


def pack(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const int32_t[::1] batch, int n_threads,
):
    """The sparse rows of a mini-batch side by side: indptr, indices and data of copies.

    Each of them is read once for every class that its sample sees.
    """
    cdef Py_ssize_t i
    cdef int64_t n, start
    cdef int64_t[::1] starts = np.zeros(batch.shape[0] + 1, dtype=np.int64)
    # Serial: a sum, and cheap compared with the copies.
    for i in range(batch.shape[0]):
        starts[i + 1] = starts[i] + indptr[batch[i] + 1] - indptr[batch[i]]
    cdef int32_t[::1] features = np.empty(starts[batch.shape[0]], dtype=np.int32)
    cdef float[::1] values = np.empty(starts[batch.shape[0]], dtype=np.float32)
    for i in prange(batch.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        start = indptr[batch[i]]
        n = starts[i + 1] - starts[i]
        if n:
            memcpy(&features[starts[i]], &indices[start], n * sizeof(int32_t))
            memcpy(&values[starts[i]], &data[start], n * sizeof(float))
    return starts.base, features.base, values.base


# ----------------------------------------------------------------------------------- scores


cdef gathered dot_sparse(
    const int32_t* features, const float* values, int64_t n, const float* w
) noexcept nogil:
    cdef float a = 0, b = 0, c = 0, d = 0
    cdef int64_t e
    # Four sums at a time: one alone would wait for itself.
    for e in range(0, n - 3, 4):
        a += values[e] * w[features[e]]
        b += values[e + 1] * w[features[e + 1]]
        c += values[e + 2] * w[features[e + 2]]
        d += values[e + 3] * w[features[e + 3]]
    for e in range(n - n % 4, n):
        a += values[e] * w[features[e]]
    return (a + b) + (c + d)


cdef inline float dot(Row row, const float* w) noexcept nogil:
    cdef float total
    if row.dense:
        inner_product(row.values, w, row.n, &total)
        return total
    return dot_sparse(row.features, row.values, row.n, w)


def scores(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    const int32_t[::1] batch, const int32_t[:, ::1] classes,
    const float[:, ::1] W, const float[::1] scale, const float[::1] b,
    float[:, ::1] out, int n_threads,
):
    """OUT out[i, j] = scale_k <w_k, x> + b_k of sample batch[i] and class k = classes[i, j].

    IN W (n_classes, n_features), scale (n_classes,) or of size 0 for 1, b (n_classes,).
    """
    cdef Py_ssize_t i, j
    cdef int32_t k
    cdef Row row
    cdef int64_t n_features = W.shape[1]
    cdef const float* first = &W[0, 0] if W.shape[1] else NULL
    cdef bint scaled = scale.shape[0] > 0
    for i in prange(batch.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        row = row_at(indptr, indices, data, dense, batch[i])
        for j in range(classes.shape[1]):
            k = classes[i, j]
            out[i, j] = dot(row, first + k * n_features)
            if scaled:
                out[i, j] = out[i, j] * scale[k]
            out[i, j] = out[i, j] + b[k]


# -------------------------------------------------------------------------- grouping by class


cdef int64_t starts_from(int64_t* histogram, int32_t* starts) noexcept nogil:
    """Turn the numbers of each digit into first places; in `starts` of the digits that occur.

    Returns how many occur.
    """
    cdef int64_t digit, count, total = 0, n_groups = 0
    for digit in range(RADIX):
        count = histogram[digit]
        histogram[digit] = total
        # Written for every digit, and kept only where the digit occurs: n_groups moves on then. At
        # most RADIX + 1 places are touched.
        starts[n_groups] = <int32_t>total
        n_groups += count > 0
        total += count
    starts[n_groups] = <int32_t>total
    return n_groups


cdef int64_t sort_by_class(
    const int32_t* classes, int64_t n_pairs, int64_t n_classes,
    int32_t* order, int32_t* spare, int32_t* starts
) noexcept nogil:
    """Sort the pairs by class, keeping their order in a class; the number of groups.

    `order` names the pairs; group g is order[starts[g]:starts[g + 1]]. A radix sort: `starts` has
    room for all digits and one more.
    """
    cdef int64_t histogram[RADIX]
    cdef int64_t p, digit, n_groups
    cdef int32_t pair, shift = 0, last = 0
    cdef const int32_t* source = NULL  # at first the pairs one after the other
    cdef int32_t* target = order
    # One pass a digit of the largest class. `target` is chosen so that the last pass writes to
    # `order`.
    while last + RADIX_BITS < 31 and (n_classes - 1) >> (last + RADIX_BITS) > 0:
        last += RADIX_BITS
        target = spare if target == order else order
    while True:
        # Least significant digit first; each pass keeps the order of equal digits, so that pairs of
        # a class stay in the order of the samples.
        memset(histogram, 0, sizeof(histogram))
        for p in range(n_pairs):
            histogram[(classes[p] >> shift) & (RADIX - 1)] += 1
        n_groups = starts_from(histogram, starts)
        for p in range(n_pairs):
            pair = <int32_t>p if source == NULL else source[p]
            digit = (classes[pair] >> shift) & (RADIX - 1)
            target[histogram[digit]] = pair
            histogram[digit] += 1
        if shift == last:
            break
        source, target = target, spare if target == order else order
        shift += RADIX_BITS
    # After one pass the digits are the classes, and `starts` their groups.
    if last == 0:
        return n_groups
    n_groups = 0
    for p in range(n_pairs):
        if p == 0 or classes[order[p]] != classes[order[p - 1]]:
            starts[n_groups] = <int32_t>p
            n_groups += 1
    starts[n_groups] = <int32_t>n_pairs
    return n_groups


cdef class MiniBatch:
    """Samples, the classes that each of them sees, and the pairs of both grouped by class.

    Parameters
    ----------
    indptr, indices, data, dense : IN, the samples (see `_rows.Rows`)
    batch : IN (n_rows,), the places of the samples in these
    classes : IN (n_rows, n_seen), the own class of a sample first
    n_classes : int
    """

    def __init__(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        bint dense, const int32_t[::1] batch, const int32_t[:, ::1] classes, int32_t n_classes,
    ):
        self.take(indptr, indices, data, dense, batch, classes, n_classes)
        self.group()

    cdef void take(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        bint dense, const int32_t[::1] batch, const int32_t[:, ::1] classes, int32_t n_classes,
    ) except *:
        cdef int64_t n_pairs = classes.shape[0] * classes.shape[1]
        if classes.shape[0] != batch.shape[0]:
            raise ValueError(f"{batch.shape[0]} samples, but classes of {classes.shape[0]}")
        self.indptr, self.indices, self.data, self.dense = indptr, indices, data, dense
        self.batch, self.classes, self.n_classes = batch, classes, n_classes
        self.order = np.empty(n_pairs, dtype=np.int32)
        self.spare = np.empty(n_pairs, dtype=np.int32)
        # Groups are at most as many as pairs; `starts_from` needs a place a digit, too.
        self.starts = np.empty(max(n_pairs, RADIX) + 1, dtype=np.int32)
        self.n_groups = 0

    cdef void group(self) noexcept nogil:
        cdef int64_t n_pairs = self.order.shape[0]
        if n_pairs:
            self.n_groups = sort_by_class(
                &self.classes[0, 0], n_pairs, self.n_classes,
                &self.order[0], &self.spare[0], &self.starts[0],
            )

    cdef int64_t groups_for(
        self, Py_ssize_t n_classes, Py_ssize_t n_rows, Py_ssize_t n_seen
    ) except -1:
        """The number of groups, for weights of this many classes and this many numbers of pairs."""
        # Kernels go by pointers from here on: shapes that differ would be read out of bounds.
        if n_classes != self.n_classes:
            raise ValueError(f"weights of {n_classes} classes, {self.n_classes} were grouped")
        if n_rows != self.classes.shape[0] or n_seen != self.classes.shape[1]:
            raise ValueError(
                f"an array ({n_rows}, {n_seen}) for pairs of {self.classes.shape[0]} samples and "
                f"{self.classes.shape[1]} classes each"
            )
        return self.n_groups


def two_mini_batches(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    const int32_t[::1] batch, const int32_t[:, ::1] classes, const int32_t[:, ::1] others,
    int32_t n_classes, int n_threads,
):
    """As two of MiniBatch of the same samples with different classes, grouped at the same time."""
    cdef MiniBatch first = MiniBatch.__new__(MiniBatch), second = MiniBatch.__new__(MiniBatch)
    cdef int i
    first.take(indptr, indices, data, dense, batch, classes, n_classes)
    second.take(indptr, indices, data, dense, batch, others, n_classes)
    for i in prange(2, nogil=True, schedule="static", chunksize=1, num_threads=min(n_threads, 2)):
        if i == 0:
            first.group()
        else:
            second.group()
    return first, second


def scores_by_class(
    MiniBatch samples, const float[:, ::1] W, const float[::1] b, float[:, ::1] out, int n_threads
):
    """As `scores` with all scales 1, class by class: the weights of a class are read once.

    While a class is scored, the weights of the next one are on their way to the caches.
    """
    cdef int64_t n_features = W.shape[1]
    if samples.groups_for(W.shape[0], out.shape[0], out.shape[1]):
        score_groups(
            samples, NULL, &W[0, 0] if n_features else NULL, n_features, &b[0], &out[0, 0],
            n_threads,
        )


cdef void score_groups(
    MiniBatch samples, const unsigned char* is_scored, const float* first, int64_t n_features,
    const float* b, float* out, int n_threads
) noexcept nogil:
    """Scores of all groups, or of those that are not scored, from the first class's weights on."""
    cdef int64_t g, k, following
    for g in prange(samples.n_groups, schedule="dynamic", chunksize=8, num_threads=n_threads):
        # Those that were scored while their weights were in the caches.
        if is_scored != NULL and is_scored[g]:
            continue
        k = class_of(samples, g)
        # The weights of the next group are fetched while this one is computed; the last one fetches
        # its own.
        following = class_of(samples, min(g + 1, samples.n_groups - 1))
        score_group(
            samples, g, first + k * n_features, first + following * n_features, n_features, b[k],
            out,
        )


cdef void score_group(
    MiniBatch samples, int64_t g, const float* w, const float* following, int64_t n_features,
    float b, float* out
) noexcept nogil:
    """Scores of the samples that see a class; `following` are weights to be fetched, or NULL."""
    cdef int64_t at, n_pairs = samples.starts[g + 1] - samples.starts[g]
    cdef int64_t n_lines = lines_of_part(n_features, n_pairs)
    cdef int32_t width = <int32_t>samples.classes.shape[1]
    cdef const int32_t* order = &samples.order[samples.starts[g]]
    cdef Row row, next_row = sample_at(samples, order[0] // width)
    for at in range(n_pairs):
        row = next_row
        if at + 1 < n_pairs:
            next_row = sample_at(samples, order[at + 1] // width)
            fetch_row(next_row)
        # Each pair fetches a part of the next class's weights, but not where all pairs together
        # read only a few of them: less than a number of each cache line on average.
        if following != NULL and LINE * n_pairs * row.n > n_features:
            fetch_part(following, n_features, at, n_lines)
        out[order[at]] = b + dot(row, w)


# -------------------------------------------------------------------------------- plain steps


def ascend(
    MiniBatch samples, const float[:, ::1] coefs, double rate, const float[::1] shrink,
    float[:, ::1] W, float[::1] scale, float[::1] b, double intercept, int n_threads,
):
    """w_k += rate * sum of coefs[i, j] x_i over the pairs of class k, where w_k = scale_k W_k.

    Before that, scale_k of each class in the mini-batch is multiplied by shrink_k (no shrink and
    scale for arrays of size 0). A scale that has become tiny is folded into the weights.

    Parameters
    ----------
    coefs : IN (n_rows, n_seen)
    W, scale, b : IN/OUT (n_classes, n_features), (n_classes,), (n_classes,)
    intercept : IN, the constant feature of the intercepts; 0 without
    """
    cdef Py_ssize_t g, at
    cdef int64_t n_groups = samples.groups_for(W.shape[0], coefs.shape[0], coefs.shape[1])
    cdef int64_t width = samples.classes.shape[1], n_features = W.shape[1]
    cdef const float* coef = &coefs[0, 0]
    cdef float* first = &W[0, 0] if W.shape[1] else NULL
    cdef float* w
    cdef int32_t k, pair
    cdef double factor
    cdef bint scaled = scale.shape[0] > 0
    for g in prange(n_groups, nogil=True, schedule="dynamic", chunksize=8, num_threads=n_threads):
        k = class_of(samples, g)
        w = first + k * n_features
        factor = rate
        if scaled:
            if shrink.shape[0] > 0:
                # Lazy ridge: w_k = scale_k W_k shrinks by one product.
                scale[k] *= shrink[k]
            # Beyond it float32 weights would come to their end.
            if is_tiny(scale[k]):
                multiply_weights(w, n_features, 1, scale[k])
                scale[k] = 1
            # A step of w_k by f is one of W_k by f / scale_k.
            factor = rate / scale[k]
        for at in range(samples.starts[g], samples.starts[g + 1]):
            pair = samples.order[at]
            if coef[pair] == 0:
                continue
            add_row(sample_at(samples, pair // width), <float>(factor * coef[pair]), w)
            # The constant feature twice: once in the gradient, once in b_k = feature * weight.
            b[k] += <float>(rate * intercept * intercept * coef[pair])


# -------------------------------------------------------------------------------------- one-vs-each


cdef dispatched finish_coefs(float* coefs, Py_ssize_t n, double weight) noexcept nogil:
    """From probabilities: minus those of the classes drawn, and their sum for the own class."""
    cdef double total = 0
    cdef Py_ssize_t j
    for j in range(1, n + 1):
        total += coefs[j]
    for j in range(1, n + 1):
        coefs[j] = as_coef(-weight * coefs[j])
    coefs[0] = as_coef(weight * total)


cdef dispatched sigmoid_terms(
    const float* psi, const float* importance, Py_ssize_t n, float own, float* out
) noexcept nogil:
    """out = importance * sigmoid(psi - own)."""
    cdef Py_ssize_t j
    cdef float z, power
    for j in range(n):
        # e^-|z| is at most 1: no overflow for any z.
        z = psi[j] - own
        power = fast_exp(-fabsf(z))
        out[j] = importance[j] * (<float>1 if z > 0 else power) / (<float>1 + power)


def global_one_vs_each(
    const float[:, ::1] psi, const float[:, ::1] importance, const int32_t[::1] batch,
    const float[::1] sample_weight, float[:, ::1] coefs, int n_threads,
):
    """Gradient of eq. 10. OUT coefs."""
    cdef Py_ssize_t i
    for i in prange(psi.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        sigmoid_terms(
            &psi[i, 1], &importance[i, 0], importance.shape[1], psi[i, 0], &coefs[i, 1]
        )
        finish_coefs(&coefs[i, 0], importance.shape[1], weight_of(sample_weight, batch[i]))
