"""A loss that compares classes: the dual of the pairs of a sample and a class, and their search.

The loss is that of equation 2 of the paper, smoothed: over the classes k other than its own y a
sample has max sum_k a_k (1 + z_k - z_y) - sum_k a_k^2 / (2 C_i), with a_k >= 0, sum_k a_k <= C_i.
These a_k are its dual variables: v of its own class has sum_k a_k x_i, v of class k has -a_k x_i,
and w = S(v) / l2 as for classes that are solved apart.

The pairs of sample i are ``starts[i], ..., starts[i + 1] - 1``; the first of them is its own class.
A class keeps a number v for each feature of any sample that it is in a pair with, and nothing of
others; ``places`` has the places of a sample's features there, pair by pair.
"""

cimport cython
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.ppdsparse._types cimport soft_threshold


cdef inline float root_of(
    const float *u, int64_t m, double slope, double offset, double share, double low
) noexcept nogil:
    """Find the t at which slope * sum max(0, u - t) - offset = share * t, from a t below it.

    Newton's method: the left side less the right one is convex and falls.
    """
    # From the left every step ends at or before the root, so each one leaves fewer u above t: the
    # same number twice says that the last line was the right piece, after m + 1 steps at most.
    cdef int64_t j, n, before = m + 1
    cdef double total, t = low
    while True:
        n, total = 0, 0
        for j in range(m):
            if u[j] > t:
                n += 1
                total += u[j]
        if n == before:
            return <float>t
        before = n
        # No piece is left whose slope could be divided by.
        if n == 0 and share == 0:
            return <float>t
        t = (slope * total - offset) / (share + slope * n)


cdef inline float threshold_of(
    const float *u, int64_t m, double slope, double offset, double most
) noexcept nogil:
    """Find the t with which max(0, u - t) maximises the dual over one sample.

    It is slope * sum max(0, u - t) - offset, or larger where the sum would exceed `most`.
    """
    cdef int64_t j
    cdef double total = 0
    # First without the limit on the sum, from where all u are above t.
    cdef float t = root_of(u, m, slope, offset, 1, -1e30)
    for j in range(m):
        if u[j] > t:
            total += u[j] - t
    # sum max(0, u - t) = most has its root above this t, as the sum falls with t.
    return root_of(u, m, 1, most, 0, t) if total > most else t


cdef tuple pairs_by_class(
    const int64_t[::1] starts, const int32_t[::1] classes, Py_ssize_t n_classes
):
    """List the pairs of each class, one class after the other, and their samples."""
    # A counting sort, in two passes over the pairs.
    firsts = np.append(0, np.cumsum(np.bincount(classes, minlength=n_classes)))
    cdef int64_t[::1] next_of = firsts.astype(np.int64)
    cdef int64_t[::1] pairs = np.empty(classes.shape[0], dtype=np.int64)
    cdef int32_t[::1] samples = np.empty(classes.shape[0], dtype=np.int32)
    cdef int64_t i, pair, to
    with nogil:
        for i in range(starts.shape[0] - 1):
            for pair in range(starts[i], starts[i + 1]):
                to = next_of[classes[pair]]
                pairs[to], samples[to] = pair, <int32_t>i
                next_of[classes[pair]] = to + 1
    return pairs.base, samples.base


@cython.final
cdef class ClassComparison:
    """Pairs of samples and classes, their dual variables, and v of each class.

    Parameters
    ----------
    indptr, indices, data : CSR rows of X
    squares : ndarray of float32 (n_samples,)
        Squared lengths, with the constant feature where there is one.
    costs : ndarray of float32 (n_samples,)
        Factors on the losses, above zero.
    starts : ndarray of int64 (n_samples + 1,)
    classes : ndarray of int32 (n_pairs,)
    alpha : ndarray of float32 (n_pairs,)
        Changed in place; that of the own class is the sum of the others.
    sizes : tuple (n_classes, n_features)
    l1, l2 : float
    intercept : bool
    """

    cdef const int64_t[::1] indptr, starts
    cdef const int32_t[::1] indices, classes
    cdef const float[::1] data, squares, costs
    cdef float[::1] alpha, v, v_constant, wanted
    cdef int64_t[::1] firsts, place_starts
    cdef int32_t[::1] places, features
    cdef float l1, l2
    cdef bint intercept

    def __init__(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        const float[::1] squares, const float[::1] costs, const int64_t[::1] starts,
        const int32_t[::1] classes, float[::1] alpha, tuple sizes, float l1, float l2,
        bint intercept,
    ):
        self.indptr, self.indices, self.data = indptr, indices, data
        self.squares, self.costs = squares, costs
        self.starts, self.classes, self.alpha = starts, classes, alpha
        self.l1, self.l2, self.intercept = l1, l2, intercept
        n_pairs = np.diff(starts)
        most = int(n_pairs.max())
        self.wanted = np.empty(most, dtype=np.float32)
        # Each pair of a sample has one place for each of its features.
        self.place_starts = np.append(0, np.cumsum(n_pairs * np.diff(indptr)))
        self.places = np.empty(self.place_starts[starts.shape[0] - 1], dtype=np.int32)
        self._lay_out(*sizes)
        self._sum_up()

    def _lay_out(self, Py_ssize_t n_classes, Py_ssize_t n_features):
        """Give each feature of each class its place."""
        pairs, samples = pairs_by_class(self.starts, self.classes, n_classes)
        cdef const int64_t[::1] by_class = pairs
        cdef const int32_t[::1] sample_of = samples
        cdef int64_t[::1] firsts = np.zeros(n_classes + 1, dtype=np.int64)
        cdef int32_t[::1] place = np.empty(n_features, dtype=np.int32)
        cdef int32_t[::1] seen_by = np.full(n_features, -1, dtype=np.int32)
        cdef int32_t[::1] features = np.empty(self.places.shape[0], dtype=np.int32)
        cdef int64_t number, pair, sample, e, to, n = 0
        cdef int32_t k, f, last = -1
        with nogil:
            for number in range(by_class.shape[0]):
                pair, sample = by_class[number], sample_of[number]
                k = self.classes[pair]
                # Classes without a pair begin where the next one does.
                while last < k:
                    last += 1
                    firsts[last] = n
                to = self.place_starts[sample] + (pair - self.starts[sample]) * (
                    self.indptr[sample + 1] - self.indptr[sample]
                )
                for e in range(self.indptr[sample], self.indptr[sample + 1]):
                    f = self.indices[e]
                    # The first sample of the class with this feature: `place` is of class k from
                    # here on.
                    if seen_by[f] != k:
                        seen_by[f] = k
                        place[f] = <int32_t>(n - firsts[k])
                        features[n] = f
                        n += 1
                    self.places[to] = place[f]
                    to += 1
            for k in range(last + 1, <int32_t>n_classes + 1):
                firsts[k] = n
        self.firsts, self.features = firsts, features.base[:n].copy()
        self.v = np.zeros(n, dtype=np.float32)
        self.v_constant = np.zeros(n_classes, dtype=np.float32)

    def _sum_up(self):
        """Sum v of the dual variables."""
        cdef int64_t i, pair
        with nogil:
            for i in range(self.squares.shape[0]):
                for pair in range(self.starts[i], self.starts[i + 1]):
                    # `alpha` of an own class is the sum of the others, so that `move` has it by the
                    # same rule.
                    if self.alpha[pair] != 0:
                        self.move(i, pair, self.alpha[pair])

    cdef void move(self, int64_t i, int64_t pair, float by) noexcept nogil:
        """Add to v of a pair's class, or take from it where the class is not the sample's own."""
        cdef int64_t n = self.indptr[i + 1] - self.indptr[i]
        cdef int64_t at = self.place_starts[i] + (pair - self.starts[i]) * n
        cdef int64_t first = self.firsts[self.classes[pair]], e
        # v_y grows by a_k x_i, v_k falls by it.
        cdef float signed_by = by if pair == self.starts[i] else -by
        for e in range(n):
            self.v[first + self.places[at + e]] += signed_by * self.data[self.indptr[i] + e]
        if self.intercept:
            self.v_constant[self.classes[pair]] += signed_by

    cdef float product(self, int64_t i, int64_t pair) noexcept nogil:
        """Return the score of a pair's class, times l2."""
        cdef int64_t n = self.indptr[i + 1] - self.indptr[i]
        cdef int64_t at = self.place_starts[i] + (pair - self.starts[i]) * n
        cdef int64_t first = self.firsts[self.classes[pair]], e
        cdef float total = self.v_constant[self.classes[pair]]
        for e in range(n):
            # <S(v), x_i>; the constant feature passes the threshold by (below equation 10).
            total += self.data[self.indptr[i] + e] * soft_threshold(
                self.v[first + self.places[at + e]], self.l1
            )
        return total

    cdef void step(self, int64_t i) noexcept nogil:
        """Make the dual variables of a sample the best ones, as if no threshold were passed."""
        cdef int64_t own = self.starts[i], m = self.starts[i + 1] - self.starts[i] - 1, j
        # Where no threshold is passed, a step d of a_k lowers z_k by d ||x_i||^2 / l2, and raises
        # z_y as much, by all steps together.
        cdef float curvature = self.squares[i] / self.l2, cost = self.costs[i]
        cdef float inverse = 1 / (curvature + 1 / cost)
        cdef float score = self.product(i, own), total = 0, limit, by, moved = 0
        for j in range(m):
            # The best a_k apart from what the sum over k takes: max(0, wanted - limit) with one
            # limit for all k, the sum's part in z_y, and a price where it reaches C_i.
            self.wanted[j] = inverse * (
                1 + (self.product(i, own + 1 + j) - score) / self.l2
                + curvature * self.alpha[own + 1 + j]
            )
            total += self.alpha[own + 1 + j]
        limit = threshold_of(
            &self.wanted[0], m, curvature * inverse, curvature * inverse * total, cost
        )
        for j in range(m):
            by = self.wanted[j] - limit
            by = (by if by > 0 else 0) - self.alpha[own + 1 + j]
            if by != 0:
                self.move(i, own + 1 + j, by)
                self.alpha[own + 1 + j] += by
                moved += by
        # v of the own class once, by the sum of all steps.
        if moved != 0:
            self.move(i, own, moved)
            self.alpha[own] += moved

    def descend(self, const int32_t[::1] order, const int32_t[::1] stop):
        """Step each sample of an order once.

        Parameters
        ----------
        order : ndarray of int32
        stop : ndarray of int32 (1,)
            Another thread makes it 1 to end the descent.
        """
        cdef Py_ssize_t number
        cdef int64_t i
        cdef double operations = 0
        with nogil:
            for number in range(order.shape[0]):
                i = order[number]
                # A sample that is in a pair with its own class alone has nothing to step.
                if self.starts[i + 1] - self.starts[i] > 1:
                    self.step(i)
                    operations += self.place_starts[i + 1] - self.place_starts[i] + 1
                    interrupted(stop, &operations)

    def weights(self):
        """Return W as CSR arrays, features of a class in no order, and the intercepts.

        Returns
        -------
        indptr, indices, data : ndarray of int64, int32, float32
            Some of the data are zero.
        intercept : ndarray of float32 (n_classes,)
        """
        v = np.asarray(self.v)
        # S(v) / l2, in the arrays of v: a class's places are its features.
        data = np.sign(v) * np.maximum(np.abs(v) - np.float32(self.l1), 0) / np.float32(self.l2)
        intercept = np.asarray(self.v_constant) / np.float32(self.l2)
        return self.firsts.base, self.features.base, data, intercept


def renewed_pairs(
    const int64_t[::1] starts, const int32_t[::1] classes, const float[::1] alpha,
    const int32_t[::1] found,
):
    """Return the pairs of each sample whose dual variable is not zero, and those that were found.

    Parameters
    ----------
    starts, classes, alpha
        As of :class:`ClassComparison`.
    found : ndarray of int32 (n_samples * n_found + n_pairs,)
        What `search_classes` has found.

    Returns
    -------
    starts, classes, alpha : ndarray
    """
    cdef Py_ssize_t n_samples = starts.shape[0] - 1, i
    cdef int64_t pair, at, n = 0
    # `found` has n_found places a sample and one for each pair that it had.
    cdef int64_t n_found = (found.shape[0] - alpha.shape[0]) // n_samples
    most = alpha.shape[0] + np.count_nonzero(np.asarray(found) >= 0)
    cdef int64_t[::1] new_starts = np.zeros(n_samples + 1, dtype=np.int64)
    cdef int32_t[::1] new_classes = np.empty(most, dtype=np.int32)
    cdef float[::1] new_alpha = np.empty(most, dtype=np.float32)
    with nogil:
        for i in range(n_samples):
            for pair in range(starts[i], starts[i + 1]):
                # The own class stays first, whatever its dual variable.
                if pair == starts[i] or alpha[pair] > 0:
                    new_classes[n], new_alpha[n] = classes[pair], alpha[pair]
                    n += 1
            for at in range(i * n_found + starts[i], (i + 1) * n_found + starts[i + 1]):
                if found[at] < 0:
                    break
                new_classes[n], new_alpha[n] = found[at], 0
                n += 1
            new_starts[i + 1] = n
    return new_starts.base, new_classes.base[:n].copy(), new_alpha.base[:n].copy()


# The classes of largest score of each sample, and the loss that compares classes.

cdef enum:
    SCORES_TOGETHER = 64  # scores that are compared with the margin at once


cdef void add_scores(
    const int32_t *features, const float *values, int64_t n, const int64_t *firsts,
    const int32_t *classes, const float *weights, float *scores,
) noexcept nogil:
    """Add the products of a row with the weights of all classes."""
    cdef int64_t e, entry
    cdef float x
    for e in range(n):
        x = values[e]
        # Equation 14 the other way round: the list of a feature names the classes that use it.
        for entry in range(firsts[features[e]], firsts[features[e] + 1]):
            scores[classes[entry]] += x * weights[entry]


cdef inline Py_ssize_t end_of(Py_ssize_t block, Py_ssize_t n) noexcept nogil:
    return (block + 1) * SCORES_TOGETHER if (block + 1) * SCORES_TOGETHER < n else n


cdef dispatched count_above(
    const float *scores, Py_ssize_t n, float lowest, int32_t *counts
) noexcept nogil:
    """Count how many of each SCORES_TOGETHER scores are above a number."""
    cdef Py_ssize_t block, k
    cdef int32_t count
    for block in range((n - 1) // SCORES_TOGETHER + 1):
        count = 0
        for k in range(block * SCORES_TOGETHER, end_of(block, n)):
            count += scores[k] > lowest
        counts[block] = count


cdef Py_ssize_t collect(
    float *scores, Py_ssize_t n_classes, int32_t own, float lowest, int32_t *counts, int32_t *which
) noexcept nogil:
    """List the classes but the own one above a number; their scores come first."""
    cdef Py_ssize_t block, k, n = 0
    # Not above itself, so the own class is not listed.
    scores[own] = lowest
    count_above(scores, n_classes, lowest, counts)
    for block in range((n_classes - 1) // SCORES_TOGETHER + 1):
        if counts[block] == 0:
            continue
        for k in range(block * SCORES_TOGETHER, end_of(block, n_classes)):
            if scores[k] > lowest:
                # n <= k: a score moves to the front over one that was read.
                scores[n], which[n] = scores[k], <int32_t>k
                n += 1
    return n


cdef void select(
    const float *scores, const int32_t *which, Py_ssize_t n, const uint8_t *known, float limit,
    int32_t *found, Py_ssize_t most, float *best,
) noexcept nogil:
    """Select the largest scores of new classes above a limit, of equals the first; -1 ends."""
    cdef Py_ssize_t i, at, n_best = 0
    for i in range(n):
        if known[which[i]] or scores[i] <= limit:
            continue
        # An insertion into a short list; ties stay in the order of classes.
        if n_best == most:
            if scores[i] <= best[most - 1]:
                continue
        else:
            n_best += 1
        at = n_best - 1
        while at > 0 and best[at - 1] < scores[i]:
            best[at], found[at] = best[at - 1], found[at - 1]
            at -= 1
        best[at], found[at] = scores[i], which[i]
    for at in range(n_best, most):
        found[at] = -1


cdef inline void mark(
    const int32_t[::1] classes, int64_t first, int64_t end, uint8_t *known, uint8_t as_what
) noexcept nogil:
    cdef int64_t pair
    for pair in range(first, end):
        known[classes[pair]] = as_what


cdef double loss_of(
    float *scores, Py_ssize_t n, float lowest, double cost, float *limit_to
) noexcept nogil:
    """Return the loss of one sample; its scores become violations times the cost.

    Classes whose violation is above `limit_to` have a part in the loss.
    """
    cdef Py_ssize_t j
    cdef double loss = 0, a
    cdef float limit
    for j in range(n):
        scores[j] = <float>(cost * (scores[j] - lowest))
    # With slope 0 and offset 0 there is no curvature but the loss's own: a_k = max(0, C_i m_k -
    # limit), of sum C_i at most.
    limit = threshold_of(scores, n, 0, 0, cost)
    limit_to[0] = limit
    for j in range(n):
        a = scores[j] - limit
        if a > 0:
            # a_k m_k - a_k^2 / (2 C_i), for m_k = scores / C_i.
            loss += a * (scores[j] - a / 2) / cost
    return loss


def search_classes(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    const int64_t[::1] firsts, const int32_t[::1] of_lists, const float[::1] weights,
    const float[::1] intercept, const int64_t[::1] starts, const int32_t[::1] classes,
    int32_t[::1] found, double[::1] losses, int n_threads,
):
    """Score all classes of some samples; the result does not depend on the number of threads.

    Parameters
    ----------
    indptr, indices, data : CSR rows of these samples
    firsts, of_lists, weights : the weights of all classes feature by feature
    intercept : (n_classes,)
    starts, classes
        The pairs of these samples, as of `ClassComparison`.
    found : (n_samples * n_found + n_pairs,)
        Becomes the classes with a part in the loss that are in no pair with a sample, of largest
        score first, -1 at the end. A sample has n_found places, and as many as it has pairs.
    losses : (n_samples,), holds the costs, which the losses replace
    n_threads : int
    """
    cdef Py_ssize_t i, n, n_classes = intercept.shape[0], n_samples = losses.shape[0]
    # n_found of all samples: the array has starts[-1] - starts[0] places beside.
    cdef Py_ssize_t most = (found.shape[0] - (starts[n_samples] - starts[0])) // max(n_samples, 1)
    cdef float[:, ::1] scores = np.empty((n_threads, n_classes), dtype=np.float32)
    cdef int32_t[:, ::1] which = np.empty((n_threads, n_classes), dtype=np.int32)
    cdef uint8_t[:, ::1] known = np.zeros((n_threads, n_classes), dtype=np.uint8)
    cdef int32_t[:, ::1] counts = np.empty(
        (n_threads, (n_classes - 1) // SCORES_TOGETHER + 1), dtype=np.int32
    )
    cdef float[:, ::1] best = np.empty((n_threads, n_classes), dtype=np.float32)
    cdef const int32_t *features = &indices[0] if indices.shape[0] else NULL
    cdef const float *values = &data[0] if data.shape[0] else NULL
    cdef const int32_t *in_lists = &of_lists[0] if of_lists.shape[0] else NULL
    cdef const float *of_entries = &weights[0] if weights.shape[0] else NULL
    cdef float *mine
    cdef uint8_t *is_known
    cdef float lowest, limit
    cdef int32_t own, thread
    # Samples share nothing but the weights; each thread has scratch memory of its own.
    for i in prange(n_samples, nogil=True, schedule="dynamic", chunksize=16,
                    num_threads=n_threads):
        thread = threadid()
        mine, is_known = &scores[thread, 0], &known[thread, 0]
        memcpy(mine, &intercept[0], n_classes * sizeof(float))
        add_scores(
            features + indptr[i], values + indptr[i], indptr[i + 1] - indptr[i],
            &firsts[0], in_lists, of_entries, mine,
        )
        own = classes[starts[i]]
        # Classes within the margin of 1 below the own score.
        lowest = mine[own] - 1
        n = collect(mine, n_classes, own, lowest, &counts[thread, 0], &which[thread, 0])
        # Afterwards the first n of `mine` are C_i m_k.
        losses[i] = loss_of(mine, n, lowest, losses[i], &best[thread, 0])
        limit = best[thread, 0]
        mark(classes, starts[i], starts[i + 1], is_known, 1)
        select(
            mine, &which[thread, 0], n, is_known, limit, &found[i * most + starts[i] - starts[0]],
            most + starts[i + 1] - starts[i], &best[thread, 0],
        )
        # Back to zeros for the next sample of this thread.
        mark(classes, starts[i], starts[i + 1], is_known, 0)
