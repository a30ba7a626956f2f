"""Steps of a multiclass support vector machine with an inexact margin (Algorithms 1 and 2).

For each sample in turn, with the weights as the samples before have left them: find the class
other than its own with the largest score, among all classes or among candidates, and where the
margin is below rho move both classes along the sample.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched, interrupted
from sklearn_xc._kernels.memoir._growing_weights cimport Feature, WeightLists, add_to, value_of

cdef enum:
    LANES = 16
    # Reading all scores costs as much as following the lists once more for so many entries of them.
    CHEAPER_TO_READ = 8


cdef struct Row:
    # The entries of a sample, and after them one for the intercept, unless its value is 0.
    const float* values
    const int32_t* features
    int64_t n
    float bias
    int32_t n_features


cdef struct Found:
    int32_t rival
    float own
    float best


def run_batch(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data, bint dense,
    const int32_t[::1] order, const int32_t[::1] y, const float[::1] weight,
    const double[::1] squares, const int32_t[:, ::1] candidates, float bias,
    WeightLists lists, double[::1] state, double rate, double rho,
    float[::1] scores, int32_t[::1] rivals, bint continued, const int32_t[::1] stop,
):  # fmt: skip
    """Visit samples in turn.

    Parameters
    ----------
    indptr, indices, data, dense : IN
        The rows, see `_rows.Rows`.
    order : IN
        The samples to visit.
    y : IN
        The class of every sample.
    weight : IN
        Factor on the loss of every sample; of size 0 for 1.
    squares : IN
        ||x||^2 of every sample, with that of the bias.
    candidates : IN, (len(order), n)
        Classes to look for the rival in, -1 for none; all classes where n is 0.
    bias : float
        Value of the feature that stands for the intercept, the last of the lists; 0 for none.
    lists : IN / OUT
    state : IN / OUT, (3,)
        scale, the sum of the scales of all iterates so far, and ||V||^2.
    rate : float
        Step along a sample of weight 1 that violates the margin.
    rho : float
    scores : scratch (n_places,)
        Zero for every class, minus infinity beyond; left so.
    rivals : OUT, (len(order),)
        The class found for each sample.
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
    cdef Row sample
    cdef Found found
    cdef int64_t t, e, j, row, start, n_scored = 0
    cdef int32_t own
    cdef double operations = 0, loss = 0, margin, step, s
    cdef float change
    cdef const float* values
    cdef const int32_t* features
    cdef float[::1] of_candidates = np.empty(candidates.shape[1], dtype=np.float32)
    sample.bias, sample.n_features = bias, <int32_t>lists.n_features
    values = &data[0] if data.shape[0] else NULL
    features = &indices[0] if indices.shape[0] else NULL
    with nogil:
        for t in range(order.shape[0]):
            if lists.averaged and (t > 0 or continued):
                state[1] += state[0]
            row = order[t]
            own = y[row]
            start = indptr[row]
            sample.n = indptr[row + 1] - start
            sample.values = values + start
            sample.features = features if dense else features + start
            found.rival = -1
            if candidates.shape[1]:
                n_scored += best_candidate(
                    &sample, own, &candidates[t, 0], candidates.shape[1], lists,
                    &of_candidates[0], &found,
                )
            if found.rival < 0:
                operations += best_of_all(&sample, own, lists, &scores[0], &found)
                n_scored += lists.n_classes
            rivals[t] = found.rival
            margin = state[0] * (<double>found.own - found.best)
            if not isfinite(margin):
                with gil:
                    return loss, n_scored, t
            if margin < rho:
                s = weight[row] if weight.shape[0] else 1
                loss += s * (1 - margin / rho)
                step = s * rate / state[0]
                state[2] += 2 * step * ((<double>found.own - found.best) + step * squares[row])
                for e in range(n_entries_of(&sample)):
                    change = <float>(step * value_at(&sample, e))
                    if change == 0:
                        continue
                    j = feature_at(&sample, e)
                    add_to(lists, j, own, change, <float>(state[1] * change))
                    add_to(lists, j, found.rival, -change, <float>(-state[1] * change))
                operations += 64 * sample.n
            operations += 1000
            interrupted(stop, &operations)
    return loss, n_scored, -1


cdef inline int64_t n_entries_of(const Row* sample) noexcept nogil:
    return sample.n + (sample.bias != 0)


cdef inline float value_at(const Row* sample, int64_t e) noexcept nogil:
    return sample.values[e] if e < sample.n else sample.bias


cdef inline int64_t feature_at(const Row* sample, int64_t e) noexcept nogil:
    return sample.features[e] if e < sample.n else sample.n_features - 1


cdef int64_t best_candidate(
    const Row* sample, int32_t own, const int32_t* candidates, int64_t n,
    WeightLists lists, float* scores, Found* found,
) noexcept nogil:
    """The candidate with the largest score, ties to the smaller class; how many were scored.

    Feature by feature, whose list is then found once for all of them. The score of a candidate -1
    is not looked at.
    """
    cdef int64_t e, i, n_scored = 1
    cdef float x
    cdef const Feature* feature
    found.best, found.own = -INFINITY, 0
    memset(scores, 0, n * sizeof(float))
    for e in range(n_entries_of(sample)):
        x = value_at(sample, e)
        if x == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        found.own += x * value_of(feature, own)
        if feature.classes == NULL and feature.size > 0:
            add_places(feature.values, x, candidates, n, scores)
        else:
            for i in range(n):
                scores[i] += x * value_of(feature, max(candidates[i], 0))
    for i in range(n):
        if candidates[i] < 0 or candidates[i] == own:
            continue
        n_scored += 1
        if scores[i] > found.best or (scores[i] == found.best and candidates[i] < found.rival):
            found.best, found.rival = scores[i], candidates[i]
    return n_scored


cdef inline void add_places(
    const float* values, float x, const int32_t* places, int64_t n, float* scores
) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        scores[i] += x * values[max(places[i], 0)]


cdef double best_of_all(
    const Row* sample, int32_t own, WeightLists lists, float* scores,
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
        if feature.classes == NULL and feature.size > 0:
            add_all(feature.values, x, scores, lists.n_places)
            all_touched = True
        else:
            add_listed(feature, x, scores)
        n_entries += feature.size
    found.own = scores[own]
    scores[own] = -INFINITY
    if all_touched or n_entries * CHEAPER_TO_READ > lists.n_classes:
        best_read(scores, lists.n_places, found)
        memset(scores, 0, lists.n_classes * sizeof(float))
    else:
        best_listed(sample, lists, scores, found)
        scores[own] = 0
    return n_entries + lists.n_classes * (all_touched or n_entries * CHEAPER_TO_READ
                                          > lists.n_classes)


cdef dispatched add_all(const float* values, float x, float* scores, int64_t n) noexcept nogil:
    cdef int64_t c
    for c in range(n):
        scores[c] += x * values[c]


cdef inline void add_listed(const Feature* feature, float x, float* scores) noexcept nogil:
    cdef int64_t p
    for p in range(feature.size):
        scores[feature.classes[p]] += x * feature.values[p]


cdef dispatched largest(const float* scores, int64_t n, float* out) noexcept nogil:
    """The largest of n scores, a multiple of LANES."""
    cdef float[LANES] best
    cdef int64_t b
    cdef int c
    for c in range(LANES):
        best[c] = scores[c]
    for b in range(0, n, 16):
        for c in range(LANES):
            best[c] = scores[b + c] if scores[b + c] > best[c] else best[c]
    out[0] = best[0]
    for c in range(1, LANES):
        out[0] = best[c] if best[c] > out[0] else out[0]


cdef inline void best_read(const float* scores, int64_t n, Found* found) noexcept nogil:
    cdef int64_t c = 0
    largest(scores, n, &found.best)
    while c < n - 1 and scores[c] != found.best:
        c += 1
    found.rival = <int32_t>c


cdef inline void best_listed(
    const Row* sample, WeightLists lists, float* scores, Found* found
) noexcept nogil:
    """Follows the lists once more, and clears the scores that they had touched.

    A class that is in no list scores zero: where no listed one is above that, the first class with
    a score of zero is the rival, or the best of those below where all are.
    """
    cdef int64_t e, p
    cdef int32_t k
    cdef Feature* feature
    found.best, found.rival = 0, -1
    for e in range(n_entries_of(sample)):
        if value_at(sample, e) == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        for p in range(feature.size):
            k = feature.classes[p]
            if scores[k] > found.best or (scores[k] == found.best and found.best > 0
                                          and k < found.rival):
                found.best, found.rival = scores[k], k
    if found.rival < 0:
        best_read(scores, lists.n_places, found)
    for e in range(n_entries_of(sample)):
        if value_at(sample, e) == 0:
            continue
        feature = &lists.features[feature_at(sample, e)]
        for p in range(feature.size):
            scores[feature.classes[p]] = 0
