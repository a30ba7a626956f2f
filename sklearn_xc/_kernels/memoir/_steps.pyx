"""Steps of a multiclass support vector machine with an inexact margin (Algorithms 1 and 2).

For each sample (x, y) in turn, with the weights W as the samples before have left them:

    r = argmax over k != y of <w_k, x>,     among all classes, or among candidates
    m = <w_y, x> - <w_r, x>,                the margin (eq. 1), inexact with candidates (eq. 2)
    if m < rho:  w_y += step x,  w_r -= step x,     step = s_i rate

which is a subgradient step on s_i max(0, 1 - m / rho), the loss of eq. 10, if `rate` has the factor
1 / rho. r is the most violating class; of classes with equal scores it is the smallest.

Weights are W = scale V, of which the lists hold V: scores below are those of V, and a step in V is
the one in W divided by the scale. Invariant: state[2] is ||V||^2, but for rounding.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.common._vector_ops cimport (
    add_multiple, dot, largest, prefetch_floats, weight_of,
)
from sklearn_xc._kernels.memoir._growing_weights cimport Feature, WeightLists, add_to, value_of

cdef enum:
    # Reading all scores costs as much as following the lists again for this many entries of them.
    CHEAPER_TO_READ = 8
    AHEAD = 2  # candidates whose weights are fetched before they are scored


cdef struct Sample:
    # The entries of a row, and after them one for the intercept, unless its value is 0.
    Row row
    float bias
    int64_t constant  # the feature of the intercept


cdef struct Found:
    # Scores by V; best is that of the most violating class.
    int32_t violator  # the most violating class
    float own
    float best


cdef class Samples:
    """Samples of a fit, read only.

    Parameters
    ----------
    indptr, indices, data, dense : IN
        The rows, see `utils/_rows.Rows`.
    y : IN
        The class of every sample.
    weight : IN
        Factor on the loss of every sample; of size 0 for 1.
    squares : IN
        ||x||^2 of every sample, with that of the bias.
    bias : float
        Value of the feature of the intercepts, the last of the lists; 0 for none.
    mean_weight : float, default=1
        Of all samples: the unit of an iterate's weight in the average, which is that of the sample
        that finds it.
    """

    cdef Rows rows
    cdef const int32_t[::1] y
    cdef const float[::1] weight
    cdef const double[::1] squares
    cdef float bias
    cdef double mean_weight
    cdef tuple arrays  # that `rows` points into

    def __init__(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
        bint dense, const int32_t[::1] y, const float[::1] weight, const double[::1] squares,
        float bias, double mean_weight=1,
    ):
        self.rows = pointers_to_rows(indptr, indices, data, dense)
        self.arrays = indptr, indices, data
        self.y, self.weight, self.squares, self.bias = y, weight, squares, bias
        self.mean_weight = mean_weight


def run_batch(
    Samples samples, const int32_t[::1] order, const int32_t[:, ::1] candidates,
    const int32_t[::1] shared, WeightLists lists, double[::1] state, float[::1] scores,
    double rate, double rho, int32_t[::1] violators, bint continued, const int32_t[::1] stop,
):
    """Visit samples in turn.

    Parameters
    ----------
    samples : IN
    order : IN
        The samples to visit.
    candidates : IN, (len(order), n)
        Classes to look for the most violating one in, -1 for none; all classes where n is 0.
    shared : IN
        More of them, for all samples alike, where n is not 0.
    lists : IN / OUT
    state : IN / OUT, (3,)
        scale, the weighted sum of the scales of all iterates so far, and ||V||^2.
    scores : scratch (n_places,)
        Zero for every class, minus infinity beyond; left so.
    rate : float
        Step along a sample of weight 1 that violates the margin.
    rho : float
    violators : OUT, (len(order),)
        The most violating class found for each sample.
    continued : bool
        Whether samples of the same batch came before. The weights that a sample finds are an
        iterate of the average, unless a batch begins with it: then they were one at the end of the
        batch before.
    stop : IN
        Other than zero to end the run.

    Returns
    -------
    loss : float
        Weighted sum of 1 - m / rho where it is positive, each before its step.
    n_scored : int
        Scores of classes computed.
    first_bad : int
        The place in `order` of the first sample whose margin is not finite, where the run ends;
        -1 for none.
    """
    cdef Sample sample
    cdef Found found
    cdef int64_t t, row, n_scored = 0
    cdef int32_t own
    cdef double operations = 0, loss = 0, margin, step, difference
    cdef double mean_weight = samples.mean_weight
    cdef int64_t n_own = candidates.shape[1], n_candidates = n_own + shared.shape[0]
    cdef int32_t[::1] names = np.empty(n_candidates, dtype=np.int32)
    cdef float[::1] of_candidates = np.empty(n_candidates, dtype=np.float32)
    cdef Rows rows = samples.rows
    cdef const int32_t[::1] y = samples.y
    cdef const float[::1] weight = samples.weight
    sample.bias, sample.constant = samples.bias, lists.n_features - 1
    # The first n_own places are for the candidates of a sample, the others the same for all.
    names[n_own:] = shared
    with nogil:
        for t in range(order.shape[0]):
            row = order[t]
            # W before the step of a sample is an iterate (Theorem 2), with the sample's weight.
            if lists.averaged and (t > 0 or continued):
                state[1] += state[0] * (weight_of(weight, row) / mean_weight)
            own = y[row]
            sample.row = row_at(rows, row)
            found.violator = -1
            if n_own:
                memcpy(&names[0], &candidates[t, 0], n_own * sizeof(int32_t))
                n_scored += best_candidate(
                    &sample, own, &names[0], n_candidates, lists, &of_candidates[0], &found,
                )
                operations += n_candidates * sample.row.n
            # No candidate at all, or none but -1 and the own class.
            if found.violator < 0:
                operations += best_of_all(&sample, own, lists, &scores[0], &found)
                n_scored += lists.n_classes
            violators[t] = found.violator
            # In double, for it multiplies a step that may be large.
            difference = <double>found.own - found.best
            margin = state[0] * difference
            # Before the step, so that weights which are not finite do not spread.
            if not isfinite(margin):
                with gil:
                    return loss, n_scored, t
            if margin < rho:
                loss += weight_of(weight, row) * (1 - margin / rho)
                step = weight_of(weight, row) * rate / state[0]
                # ||v_y + a x||^2 + ||v_r - a x||^2 less what they were:
                # 2 a (<v_y, x> - <v_r, x>) + 2 a^2 ||x||^2.
                state[2] += 2 * step * (difference + step * samples.squares[row])
                move(&sample, lists, own, found.violator, step, state[1])
                # A bisection in two lists a feature, counted as this many multiply-adds.
                operations += 64 * sample.row.n
            # Whatever a sample has, so that very short ones come to an end as well.
            operations += 1000
            interrupted(stop, &operations)
    return loss, n_scored, -1


cdef int move(
    const Sample* sample, WeightLists lists, int32_t own, int32_t violator, double step,
    double sum_of_scales,
) except -1 nogil:
    """Bring the sample's own class nearer to it and the most violating one away from it."""
    cdef int64_t e, j
    cdef float change
    for e in range(n_entries_of(sample)):
        change = <float>(step * value_at(sample, e))
        # Dense samples have zeros too: they must not put classes into lists.
        if change == 0:
            continue
        j = feature_at(sample, e)
        # U += A d for a change d of V, see `_growing_weights`.
        add_to(lists, j, own, change, <float>(sum_of_scales * change))
        add_to(lists, j, violator, -change, <float>(-sum_of_scales * change))
    return 0


cdef inline int64_t n_entries_of(const Sample* sample) noexcept nogil:
    return sample.row.n + (sample.bias != 0)


cdef inline float value_at(const Sample* sample, int64_t e) noexcept nogil:
    return sample.row.values[e] if e < sample.row.n else sample.bias


cdef inline int64_t feature_at(const Sample* sample, int64_t e) noexcept nogil:
    return sample.row.features[e] if e < sample.row.n else sample.constant


cdef int64_t best_candidate(
    const Sample* sample, int32_t own, const int32_t* candidates, int64_t n,
    WeightLists lists, float* scores, Found* found,
) noexcept nogil:
    """The candidate with the largest score, ties to the smaller class; how many were scored.

    The score of a candidate -1 is not looked at.
    """
    # One is the own class, which is scored in any case.
    cdef int64_t i, n_scored = 1
    found.best, found.own = -INFINITY, 0
    if lists.row_values != NULL and sample.row.dense:
        score_rows(sample, lists.row_values, lists.n_features, &own, 1, &found.own)
        score_rows(sample, lists.row_values, lists.n_features, candidates, n, scores)
    else:
        score_places(sample, own, candidates, n, lists, scores, found)
    for i in range(n):
        if candidates[i] < 0 or candidates[i] == own:
            continue
        n_scored += 1
        if scores[i] > found.best or (scores[i] == found.best and candidates[i] < found.violator):
            found.best, found.violator = scores[i], candidates[i]
    return n_scored


cdef dispatched score_rows(
    const Sample* sample, const float* rows, int64_t width, const int32_t* candidates, int64_t n,
    float* scores,
) noexcept nogil:
    """Candidate by candidate, for samples of all features and weights by class."""
    cdef int64_t i
    cdef const float* row
    for i in range(n):
        # Rows of candidates lie in no order: without this each is waited for.
        if i + AHEAD < n:
            prefetch_floats(rows + max(candidates[i + AHEAD], 0) * width, width)
        # -1 reads class 0, which is inside the array. The last column is the intercept.
        row = rows + max(candidates[i], 0) * width
        scores[i] = dot(sample.row.values, row, sample.row.n) + sample.bias * row[width - 1]


cdef void score_places(
    const Sample* sample, int32_t own, const int32_t* candidates, int64_t n, WeightLists lists,
    float* scores, Found* found,
) noexcept nogil:
    """Feature by feature, whose list is then found once for all of them."""
    cdef int64_t e, i
    cdef float x
    cdef const Feature* feature
    memset(scores, 0, n * sizeof(float))
    for e in range(n_entries_of(sample)):
        x = value_at(sample, e)
        if x == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        # `own` is scored apart: whether it is among the candidates is not known.
        found.own += x * value_of(feature, own)
        if feature.classes == NULL and feature.size > 0:
            add_places(feature.values, x, candidates, n, scores)
        else:
            for i in range(n):
                scores[i] += x * value_of(feature, max(candidates[i], 0))


cdef inline void add_places(
    const float* values, float x, const int32_t* places, int64_t n, float* scores
) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        scores[i] += x * values[max(places[i], 0)]


cdef double best_of_all(
    const Sample* sample, int32_t own, WeightLists lists, float* scores,
    Found* found,
) noexcept nogil:
    """The class other than `own` with the largest score, ties to the smaller; operations."""
    cdef int64_t e, n_entries = 0
    cdef bint all_touched = False
    cdef float x
    cdef Feature* feature
    for e in range(n_entries_of(sample)):
        x = value_at(sample, e)
        if x == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        # An array of all classes is added in vectors, a list entry by entry.
        if feature.classes == NULL and feature.size > 0:
            add_multiple(scores, feature.values, x, lists.n_places)
            all_touched = True
        else:
            add_listed(feature, x, scores)
        n_entries += feature.size
    found.own = scores[own]
    scores[own] = -INFINITY  # r != y
    if all_touched or n_entries * CHEAPER_TO_READ > lists.n_classes:
        best_read(scores, lists.n_places, found)
        # Up to n_classes: beyond, minus infinity stays.
        memset(scores, 0, lists.n_classes * sizeof(float))
    else:
        best_listed(sample, lists, scores, found)
        # It clears what the lists have, and `own` may be in none of them.
        scores[own] = 0
    return n_entries + lists.n_classes * (all_touched or n_entries * CHEAPER_TO_READ
                                          > lists.n_classes)


cdef inline void add_listed(const Feature* feature, float x, float* scores) noexcept nogil:
    cdef int64_t p
    for p in range(feature.size):
        scores[feature.classes[p]] += x * feature.values[p]


cdef inline void best_read(const float* scores, int64_t n, Found* found) noexcept nogil:
    cdef int64_t c = 0
    found.best = -INFINITY
    largest(scores, n, &found.best)
    # The bound is for scores that are not numbers, which equal nothing.
    while c < n - 1 and scores[c] != found.best:
        c += 1
    found.violator = <int32_t>c


cdef inline void best_listed(
    const Sample* sample, WeightLists lists, float* scores, Found* found
) noexcept nogil:
    """Follows the lists once more, and clears the scores that they had touched.

    A class that is in no list scores zero: where no listed one is above that, the first class with
    a score of zero is the one, or the best of those below where all are.
    """
    cdef int64_t e, p
    cdef int32_t k
    cdef Feature* feature
    found.best, found.violator = 0, -1
    for e in range(n_entries_of(sample)):
        if value_at(sample, e) == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        for p in range(feature.size):
            k = feature.classes[p]
            # Ties at zero are with classes in no list as well: `best_read` decides them.
            if scores[k] > found.best or (scores[k] == found.best and found.best > 0
                                          and k < found.violator):
                found.best, found.violator = scores[k], k
    if found.violator < 0:
        best_read(scores, lists.n_places, found)
    for e in range(n_entries_of(sample)):
        if value_at(sample, e) == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        for p in range(feature.size):
            scores[feature.classes[p]] = 0
