"""Scores of labels from the nearest rows of a query and the texts of labels that are like it.

``S_l = f_l ** -q (sum over neighbours j with label l of g_jl c_j s_j ** p + w t_l ** p)`` with the
similarity s_j and the weight c_j of a row, the grade g_jl of its label, and the similarity t_l of
the label's best text; similarities of zero and below give nothing. The factors ``f_l ** -q`` come
from the caller. Sums gather in float64, in the order of the neighbours.

Row numbers, labels and bounds may come from a mapped file that nobody has checked: each is compared
with the size of what it points into.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, pow, sqrt
from libc.stdint cimport INT32_MAX, int32_t, int64_t

from sklearn_xc._kernels.common._heap cimport better, sift, sort_heap

# Queries differ in neighbours and labels, so threads take small chunks as they come.
cdef enum:
    CHUNK = 16  # queries that a thread takes at a time

# One query of `Found`: its neighbours, the labels whose texts are like it, and factors of labels.
cdef struct Query:
    const int32_t* ids
    const float* similarities
    int64_t n
    const int32_t* text_labels
    const float* text_similarities
    int64_t n_texts
    const int32_t* changed_labels
    const float* changes
    int64_t n_changed


cdef class Voters:
    """Labels of training rows and the settings of the sum, read only.

    Parameters
    ----------
    starts : (n_rows + 1,), where the labels of each row begin
    labels : (n_entries,)
    grades : (n_entries,), or empty where all are 1
    weights : (n_rows,), or empty where all are 1
    factors : (n_labels,), f_l ** -q
    n_neighbors : int, how many of the rows that are named count
    power, text_weight : p and w
    """

    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels
    cdef const float[::1] grades
    cdef const float[::1] weights
    cdef const double[::1] factors
    cdef int64_t n_neighbors
    cdef double power
    cdef double text_weight

    def __init__(
        self, const int64_t[::1] starts, const int32_t[::1] labels, const float[::1] grades,
        const float[::1] weights, const double[::1] factors, int64_t n_neighbors, double power,
        double text_weight,
    ):
        # Lengths are checked once; contents, which a mapped file may hold anything of, at each use.
        if grades.shape[0] not in (0, labels.shape[0]):
            raise ValueError("grades must be one for each label of a row")
        if weights.shape[0] not in (0, starts.shape[0] - 1):
            raise ValueError("weights must be one for each row")
        self.starts = starts
        self.labels = labels
        self.grades = grades
        self.weights = weights
        self.factors = factors
        self.n_neighbors = n_neighbors
        self.power = power
        self.text_weight = text_weight


cdef class Found:
    """What was found for each query, read only.

    Parameters
    ----------
    ids, similarities : (n_queries, k), the nearest rows, best first; -1 for none
    texts : tuple of starts (n_queries + 1,), labels and similarities: of each query the labels
        whose texts are like it, each once
    changes : tuple of the same form: labels whose scores of a query are multiplied by a number
    """

    cdef const int32_t[:, ::1] ids
    cdef const float[:, ::1] similarities
    cdef const int64_t[::1] text_starts
    cdef const int32_t[::1] text_labels
    cdef const float[::1] text_similarities
    cdef const int64_t[::1] change_starts
    cdef const int32_t[::1] changed_labels
    cdef const float[::1] changes

    def __init__(
        self, const int32_t[:, ::1] ids, const float[:, ::1] similarities, texts, changes
    ):
        self.ids = ids
        self.similarities = similarities
        self.text_starts, self.text_labels, self.text_similarities = texts
        self.change_starts, self.changed_labels, self.changes = changes
        n = ids.shape[0] + 1
        if self.text_starts.shape[0] != n or self.change_starts.shape[0] != n:
            raise ValueError("texts and changes must be given for each query")

    cdef Query at(self, Py_ssize_t i) noexcept nogil:
        # An empty memoryview has no element to take the address of.
        cdef Query query
        cdef int64_t first = self.text_starts[i]
        query.n = self.ids.shape[1]
        query.ids = &self.ids[i, 0] if query.n else NULL
        query.similarities = &self.similarities[i, 0] if query.n else NULL
        query.n_texts = self.text_starts[i + 1] - first
        query.text_labels = &self.text_labels[first] if query.n_texts else NULL
        query.text_similarities = &self.text_similarities[first] if query.n_texts else NULL
        first = self.change_starts[i]
        query.n_changed = self.change_starts[i + 1] - first
        query.changed_labels = &self.changed_labels[first] if query.n_changed else NULL
        query.changes = &self.changes[first] if query.n_changed else NULL
        return query


cdef inline double power_of(double s, double p) noexcept nogil:
    """s ** p; the powers that leave-one-out tries take no logarithm."""
    # A trial computes it for some hundred thousand neighbours, about a hundred times in a fit.
    if p == 1:
        return s
    if p == 1.5:
        return s * sqrt(s)
    if p == 2:
        return s * s
    if p == 3:
        return s * s * s
    if p == 4:
        return (s * s) * (s * s)
    if p == 6:
        return (s * s * s) * (s * s * s)
    return pow(s, p)


cdef inline int64_t add(
    int32_t label, double vote, int64_t n_labels, double* sums, int32_t* touched, int64_t n
) noexcept nogil:
    """Add a vote, note the label if it is the first; returns the number of labels noted."""
    # Not "vote <= 0": NaN, which a mapped file may hold, is no vote either. Votes are above zero,
    # so that a sum of zero says that a label has none; n stays below n_labels.
    if label < 0 or label >= n_labels or not vote > 0:
        return n
    if sums[label] == 0:
        touched[n] = label
        n += 1
    sums[label] += vote
    return n


cdef int64_t vote(
    Voters voters, Query query, double* sums, int32_t* touched, double* total
) noexcept nogil:
    """Scores of all labels that have any, in `sums`; returns their number.

    ``total[0]`` is the sum of all votes of rows, whatever labels they have, and of the best text's;
    ``total[1]`` that of all scores.
    """
    cdef int64_t j, e, first, last, n_touched = 0
    cdef int64_t n_rows = voters.starts.shape[0] - 1, n_labels = voters.factors.shape[0]
    cdef double power, best = 0
    cdef int32_t row
    total[0], total[1] = 0, 0
    # Best neighbours first, entries in their order: the sum of a label does not depend on threads.
    # A search may have found more neighbours than count, as leave-one-out has.
    for j in range(min(query.n, voters.n_neighbors)):
        row = query.ids[j]
        if row < 0 or row >= n_rows or not query.similarities[j] > 0:
            continue
        power = power_of(query.similarities[j], voters.power)
        if voters.weights.shape[0]:
            power *= voters.weights[row]
        # A neighbour without labels votes too: for none, which lowers all shares.
        total[0] += power
        first, last = voters.starts[row], voters.starts[row + 1]
        if first < 0 or last > voters.labels.shape[0]:
            continue
        for e in range(first, last):
            n_touched = add(
                voters.labels[e], power * voters.grades[e] if voters.grades.shape[0] else power,
                n_labels, sums, touched, n_touched,
            )
    # Each label has a text of its own, of which only the best could be the answer: texts enter the
    # sum of all votes once, by the best of them.
    if voters.text_weight > 0:
        for e in range(query.n_texts):
            if query.text_similarities[e] > 0:
                power = voters.text_weight * power_of(
                    query.text_similarities[e], voters.power
                )
                best = max(best, power)
                n_touched = add(
                    query.text_labels[e], power, n_labels, sums, touched, n_touched
                )
    total[0] += best
    # f_l ** -q is of the label, not of the neighbour: one product a label that has votes.
    for e in range(n_touched):
        sums[touched[e]] *= voters.factors[touched[e]]
    for e in range(query.n_changed):
        if 0 <= query.changed_labels[e] < n_labels:
            sums[query.changed_labels[e]] *= query.changes[e]
    for e in range(n_touched):
        # Underflow of a high power: zero would mean that the label has no votes, and `select` would
        # meet it a second time among the labels without.
        if sums[touched[e]] == 0:
            sums[touched[e]] = DBL_MIN
        total[1] += sums[touched[e]]
    return n_touched


cdef void select(
    const double* sums, const int32_t* touched, int64_t n_touched, const float* base,
    const int32_t* order, int64_t n_ordered, float* top, int32_t* labels, int64_t k,
) noexcept nogil:
    """The k best labels by ``sums + base``: those with votes, then others by falling base."""
    cdef int64_t i
    cdef int32_t label
    cdef float score
    # The worst entry there is: what is left of it says that there are fewer than k labels.
    for i in range(k):
        top[i], labels[i] = -INFINITY, INT32_MAX
    for i in range(n_touched):
        label = touched[i]
        score = <float>sums[label] + base[label]
        if better(score, label, top[0], labels[0]):
            sift(top, labels, k, score, label)
    # By falling base: the first that is no better than the worst of the best ends the search. With
    # k labels in the heap that have votes it is the first label looked at.
    for i in range(n_ordered):
        label = order[i]
        if not better(base[label], label, top[0], labels[0]):
            break
        if sums[label] == 0:
            sift(top, labels, k, base[label], label)
    sort_heap(top, labels, k)


def topk(
    Voters voters, Found found, const float[::1] base, const int32_t[::1] order,
    float[:, ::1] scores, int32_t[:, ::1] labels, double[:, ::1] totals, double[:, ::1] sums,
    int32_t[:, ::1] touched, int n_threads,
):
    """The k best labels of each query, best first, ties to the smaller label.

    Parameters
    ----------
    voters, found : IN
    base : IN (n_labels,), what is added to each score; minus infinity hides a label
    order : IN (n_ordered,), labels that may be answered, by falling base, ties to the smaller
    scores, labels : OUT (n_queries, k); the label INT32_MAX where there are fewer
    totals : OUT (n_queries, 2), the sums of votes and of scores
    sums : IN/OUT (n_threads, n_labels), zero before and after
    touched : OUT (n_threads, n_labels)
    """
    cdef Py_ssize_t i, j, n_queries = scores.shape[0]
    cdef int64_t k = scores.shape[1], n
    cdef int mine
    if n_queries == 0 or k == 0:
        return
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            n = vote(voters, found.at(i), &sums[mine, 0], &touched[mine, 0], &totals[i, 0])
            select(
                &sums[mine, 0], &touched[mine, 0], n, &base[0],
                &order[0] if order.shape[0] else NULL, order.shape[0], &scores[i, 0],
                &labels[i, 0], k,
            )
            # Only what was touched is cleared: a query costs its own labels, not all of them.
            for j in range(n):
                sums[mine, touched[mine, j]] = 0


def scores_at(
    Voters voters, Found found, const float[::1] base, const int64_t[::1] starts,
    const int64_t[::1] places, float[::1] scores, double[:, ::1] totals, double[:, ::1] sums,
    int32_t[:, ::1] touched, int n_threads,
):
    """Scores of some labels of each query.

    Parameters
    ----------
    voters, found, base, totals, sums, touched : as of `topk`
    starts : IN (n_queries + 1,), where the labels of each query begin
    places : IN (n_scores,), the labels, in range
    scores : OUT (n_scores,)
    """
    cdef Py_ssize_t i, j, n_queries = totals.shape[0]
    cdef int64_t n
    cdef int mine
    if n_queries == 0:
        return
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            n = vote(voters, found.at(i), &sums[mine, 0], &touched[mine, 0], &totals[i, 0])
            # A label without votes has a sum of zero, and its base.
            for j in range(starts[i], starts[i + 1]):
                scores[j] = <float>sums[mine, places[j]] + base[places[j]]
            for j in range(n):
                sums[mine, touched[mine, j]] = 0


def all_scores(
    Voters voters, Found found, const float[::1] base, float[:, ::1] scores, double[:, ::1] totals,
    double[:, ::1] sums, int32_t[:, ::1] touched, int n_threads,
):
    """Scores of all labels, OUT (n_queries, n_labels); else as `scores_at`."""
    cdef Py_ssize_t i, j, n_queries = scores.shape[0]
    cdef int64_t n
    cdef int mine
    if n_queries == 0 or scores.shape[1] == 0:
        return
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            n = vote(voters, found.at(i), &sums[mine, 0], &touched[mine, 0], &totals[i, 0])
            for j in range(scores.shape[1]):
                scores[i, j] = <float>sums[mine, j] + base[j]
            for j in range(n):
                sums[mine, touched[mine, j]] = 0
