"""Steps on sampled classes with a step size for each coordinate (Augment-and-Reduce, section 4).

The step of a coordinate is

    rate * g / (1 + sqrt(s)),    s = 0.1 g^2 + 0.9 s,

with s updated at every step of the algorithm and so also where g = 0 (Kucukelbir et al., 2017).
Coordinates that a mini-batch leaves alone are not visited: their averages are right as of an
earlier step, whose number stands for them all. A step of all of a class brings its averages up to
date. A step of some does not, unless they are older than OLDEST steps: then their block of BLOCK
averages gets a number of its own, until the next step of all.

A class steps all its coordinates if its samples may have many of them, and otherwise those that
they have.
"""

from cython.parallel cimport prange
from libc.math cimport pow
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport average_of_squares, one_and_root
from sklearn_xc._kernels.common._vector_ops cimport LANES
from sklearn_xc._kernels.softmax._sampled_classes cimport (
    MiniBatch, Row, add_row, class_of, fetch_row, sample_at, score_group, score_groups,
)

cdef enum:
    SWEEP = 16  # a class is stepped whole if its samples may have n_features / SWEEP entries
    BLOCK = 16  # averages that share a time stamp: a cache line
    OLDEST = 300  # steps after which a block of averages is brought up to date

cdef struct Averages:
    # Of one class. Values are right as of max(stamps[OF_CLASS], the stamp of their block); from
    # place OF_BLOCKS on come the stamps of the blocks.
    float* values
    int32_t* stamps
    const float* powers  # 0.9^i, i = 0 ... OLDEST
    int32_t number  # of the step
    float rate
    float gain  # to the scale of all samples

cdef enum:  # places among the stamps
    OF_CLASS = 0  # the step as of which averages are right, but for blocks with a later stamp
    LATEST = 1  # of the blocks' stamps
    OF_INTERCEPT = 2
    OF_BLOCKS = 3

BLOCK_OF_INTERCEPT = BLOCK  # places at the end of a class's averages: its intercept's comes first
POWERS = (0.9 ** np.arange(OLDEST + 1.0)).astype(np.float32)


# ------------------------------------------------------------------------------ averages of squares


cdef inline int64_t blocks_of(int64_t n_features) noexcept nogil:
    return (n_features + BLOCK - 1) // BLOCK


cdef inline float power_of(Averages averages, int32_t age) noexcept nogil:
    # A table for usual ages; beyond it 0.9^age is below 2e-14.
    return averages.powers[age] if age <= OLDEST else <float>pow(0.9, age)


cdef inline int32_t age_of(Averages averages, int64_t block) noexcept nogil:
    """Steps since the averages of a block were right."""
    cdef int32_t stamp = averages.stamps[OF_BLOCKS + block]
    return averages.number - max(stamp, averages.stamps[OF_CLASS])


cdef inline float* fresh_block(Averages averages, int64_t block) noexcept nogil:
    """A block of averages not older than OLDEST steps."""
    cdef float* values = averages.values + block * BLOCK
    cdef int32_t age = age_of(averages, block)
    if age > OLDEST:
        renew(averages, block)
    return values


cdef void renew(Averages averages, int64_t block) noexcept nogil:
    cdef int32_t c, age = age_of(averages, block)
    cdef float factor = power_of(averages, age)
    # s <- 0.9 s for each step with g = 0.
    for c in range(BLOCK):
        averages.values[block * BLOCK + c] *= factor
    # LATEST tells `step_whole` that some block is younger than the class.
    averages.stamps[OF_BLOCKS + block] = averages.stamps[LATEST] = averages.number


cdef dispatched step_touched(
    Averages averages, float* w, float* gradient, const int32_t* touched, int64_t n
) noexcept nogil:
    """Step the coordinates named, sixteen at a time: their blocks are far apart, the roots not."""
    cdef float g[LANES]
    cdef float s[LANES]
    cdef float decay[LANES]
    cdef float* block
    cdef int64_t run, first, j
    cdef int32_t c, size
    for c in range(LANES):
        # The last run may leave lanes as they are: their results are dropped.
        g[c] = 0
        s[c] = 0
        decay[c] = 1
    for run in range((n + LANES - 1) // LANES):
        first = run * LANES
        size = <int32_t>min(LANES, n - first)
        for c in range(size):
            j = touched[first + c]
            # At most OLDEST steps old, so that `powers` has its decay and s / decay stays finite.
            block = fresh_block(averages, j // BLOCK)
            decay[c] = averages.powers[age_of(averages, j // BLOCK)]
            g[c] = gradient[j]
            s[c] = block[j % BLOCK]
            # As it is between classes.
            gradient[j] = 0
        for c in range(LANES):
            # The block keeps its stamp: its averages are stored as of then. s_now = decay s_then +
            # 0.1 g^2, hence s_then grows by 0.1 g^2 / decay, and its neighbours need not be
            # written.
            g[c] *= averages.gain
            s[c] += <float>0.1 * g[c] * g[c] / decay[c]
            g[c] = averages.rate * g[c] / one_and_root(s[c] * decay[c])
        for c in range(size):
            j = touched[first + c]
            averages.values[j] = s[c]
            w[j] += g[c]


cdef dispatched step_all(
    Averages averages, float* w, float* gradient, int64_t n_features, float keep
) noexcept nogil:
    """Step every coordinate of a class; where g = 0 no weight moves. Averages fall to `keep`.

    Block by block in arrays of its own, of which the compiler knows that they do not overlap.
    """
    cdef int64_t block, first
    cdef int32_t c
    cdef float v[BLOCK]
    cdef float g[BLOCK]
    cdef float s[BLOCK]
    for block in range(blocks_of(n_features)):
        first = block * BLOCK
        # The array of averages has whole blocks, and `gradient` reaches as far (see `Scratch`); w
        # ends with the last feature.
        memcpy(s, averages.values + first, sizeof(s))
        memcpy(g, gradient + first, sizeof(g))
        memset(gradient + first, 0, sizeof(g))
        for c in range(BLOCK):
            g[c] *= averages.gain
            # s <- 0.1 g^2 + keep s, and the step rate g / (1 + sqrt(s)).
            s[c] = average_of_squares(s[c], keep, g[c])
            g[c] = averages.rate * g[c] / one_and_root(s[c])
        memcpy(averages.values + first, s, sizeof(s))
        if first + BLOCK <= n_features:
            memcpy(v, w + first, sizeof(v))
            for c in range(BLOCK):
                v[c] += g[c]
            memcpy(w + first, v, sizeof(v))
        else:
            for c in range(<int32_t>(n_features - first)):
                w[first + c] += g[c]


cdef void step_whole(
    Averages averages, float* w, float* gradient, int64_t n_features
) noexcept nogil:
    """Step every coordinate of a class, and bring its averages up to date."""
    cdef int64_t block
    cdef float keep
    if averages.stamps[LATEST] > averages.stamps[OF_CLASS]:
        # Averages as of different steps: at first all are brought to this one.
        for block in range(blocks_of(n_features)):
            renew(averages, block)
        keep = 1
    else:
        keep = power_of(averages, averages.number - averages.stamps[OF_CLASS])
    step_all(averages, w, gradient, n_features, keep)
    # From now on right as of this step: no block has a later stamp.
    averages.stamps[OF_CLASS] = averages.number


cdef void step_intercept(
    Averages averages, float* b, float gradient, int64_t n_features
) noexcept nogil:
    # Its average has a block of its own after those of the features, and a stamp of its own.
    cdef float* s = averages.values + blocks_of(n_features) * BLOCK
    cdef float g = averages.gain * gradient
    cdef float keep = power_of(averages, averages.number - averages.stamps[OF_INTERCEPT])
    s[0] = average_of_squares(s[0], keep, g)
    b[0] += averages.rate * g / one_and_root(s[0])
    averages.stamps[OF_INTERCEPT] = averages.number


def width_of_averages(int64_t n_features):
    """Places of a class in the array of averages: whole blocks, and one for the intercept."""
    return (blocks_of(n_features) + 1) * BLOCK


def stamps_of(int64_t width):
    """Number of time stamps for a class's averages."""
    return OF_BLOCKS + width // BLOCK - 1


def averages_as_of(
    int32_t number, float[:, ::1] averages, int32_t[:, ::1] stamps, int64_t n_features
):
    """Bring the averages of all classes up to a step.

    Parameters
    ----------
    number : IN, of the step
    averages, stamps : IN/OUT, as those of `ascend`
    n_features : IN
    """
    cdef const float[::1] powers = POWERS
    cdef Averages state
    cdef int64_t k, block
    cdef float factor
    state.powers = &powers[0]
    state.number = number
    for k in range(averages.shape[0]):
        state.values = &averages[k, 0]
        state.stamps = &stamps[k, 0]
        with nogil:
            for block in range(blocks_of(n_features)):
                renew(state, block)
        factor = power_of(state, number - stamps[k, OF_INTERCEPT])
        averages[k, blocks_of(n_features) * BLOCK] *= factor
        stamps[k, OF_INTERCEPT] = number


# ------------------------------------------------------------------------------------- a mini-batch


cdef inline int64_t gather_row(
    Row row, float coef, float* gradient, int32_t* touched, unsigned char* mark, int64_t n
) noexcept nogil:
    """gradient += coef x, and the list of the features touched so far."""
    cdef int64_t e
    cdef int32_t j
    for e in range(row.n):
        j = row.features[e]
        # Without a branch: the place is written in any case, and n moves on only for a feature that
        # is new. n is at most the number of features, and `touched` is longer (see `Scratch`).
        touched[n] = j
        n += not mark[j]
        mark[j] = True
        gradient[j] += coef * row.values[e]
    return n


cdef inline void add_ridge(
    Row row, float factor, const float* share, const float* w, float* gradient
) noexcept nogil:
    cdef int64_t e
    cdef int32_t j
    for e in range(row.n):
        # A zero is no entry, and has no share of the penalty (see `shares_of_ridge`).
        if row.values[e] != 0:
            j = row.features[e]
            gradient[j] -= factor * share[j] * w[j]


cdef class Scratch:
    """Memory of the steps.

    Parameters
    ----------
    n_features, n_threads : int
    """
    cdef float[:, ::1] gradient  # zero between classes
    cdef int32_t[:, ::1] touched
    cdef unsigned char[:, ::1] mark  # zero between classes

    def __init__(self, n_features, n_threads):
        # An average's block may reach beyond the last feature.
        width = (n_features + 3 * LANES - 1) // LANES * LANES
        memory = np.zeros(n_threads * width + LANES, dtype=np.float32)
        start = -(memory.ctypes.data // memory.itemsize) % LANES  # the start of a cache line
        self.gradient = memory[start : start + n_threads * width].reshape(n_threads, width)
        self.touched = np.empty((n_threads, width), dtype=np.int32)
        self.mark = np.zeros((n_threads, width), dtype=np.uint8)


cdef struct Weights:
    float* W  # (n_classes, n_features)
    float* b
    float* averages  # (n_classes, width)
    int32_t* stamps  # (n_classes, n_stamps)
    int64_t n_features
    int64_t width
    int64_t n_stamps


cdef struct Derivatives:
    int32_t width  # pairs of a sample
    const float* coef
    const float* importance  # (n_rows, width - 1)
    const float* share  # (n_features,), NULL without a penalty
    double entries  # of a sample, on average


cdef inline bint is_stepped_whole(
    MiniBatch samples, int64_t n_pairs, Derivatives given, int64_t n_features
) noexcept nogil:
    # An upper bound of the distinct features of the class's samples. Scattered steps cost SWEEP
    # times as much a feature as those of all in order.
    return samples.dense or SWEEP * n_pairs * given.entries > n_features


cdef inline float ridge_factor(Derivatives given, int32_t pair) noexcept nogil:
    """How often a sample brings the class's share of the penalty: as in the bound."""
    cdef int32_t j = pair % given.width
    # Before it come `pair` importances, and one less for each sample up to its own.
    return 1 if j == 0 else given.importance[pair - pair // given.width - 1]


cdef void step_class(
    MiniBatch samples, int64_t g, Derivatives given, Averages averages, Weights weights,
    Scratch scratch, int part
) noexcept nogil:
    cdef int64_t at, n = 0, n_pairs = samples.starts[g + 1] - samples.starts[g]
    cdef int64_t k = class_of(samples, g), n_features = weights.n_features
    cdef const int32_t* order = &samples.order[samples.starts[g]]
    cdef float* w = weights.W + k * n_features
    cdef float* gradient = &scratch.gradient[part, 0]
    cdef int32_t* touched = &scratch.touched[part, 0]
    cdef unsigned char* mark = &scratch.mark[part, 0]
    cdef int32_t pair
    cdef float total = 0
    cdef Row row, next_row = sample_at(samples, order[0] // given.width)
    cdef bint whole = is_stepped_whole(samples, n_pairs, given, n_features)
    # A copy of the struct: each thread has its own class.
    averages.values = weights.averages + k * weights.width
    averages.stamps = weights.stamps + k * weights.n_stamps
    for at in range(n_pairs):
        pair = order[at]
        row = next_row
        if at + 1 < n_pairs:
            # Samples of a class lie anywhere; the next one comes while this one is added.
            next_row = sample_at(samples, order[at + 1] // given.width)
            fetch_row(next_row)
        # Classes far below the own one have a coefficient of 0; with a penalty they are to shrink
        # all the same.
        if given.coef[pair] == 0 and given.share == NULL:
            continue
        total += given.coef[pair]
        if whole:
            add_row(row, given.coef[pair], gradient)
        else:
            n = gather_row(row, given.coef[pair], gradient, touched, mark, n)
        # Each pair brings the share of the penalty of its sample's features, as often as importance
        # says: in expectation every class gets the penalty of all samples.
        if given.share != NULL:
            add_ridge(row, ridge_factor(given, pair), given.share, w, gradient)
    if whole:
        step_whole(averages, w, gradient, n_features)
    else:
        # In the order in which features were first met.
        step_touched(averages, w, gradient, touched, n)
        for at in range(n):
            mark[touched[at]] = False
    step_intercept(averages, weights.b + k, total, n_features)


cdef int64_t group_of(MiniBatch samples, int32_t k) noexcept nogil:
    """The group of class k, or -1."""
    cdef int64_t low = 0, high = samples.n_groups, middle
    # Groups ascend by class.
    while low < high:
        middle = (low + high) // 2
        if class_of(samples, middle) < k:
            low = middle + 1
        else:
            high = middle
    return low if low < samples.n_groups and class_of(samples, low) == k else -1


cdef void step_part(
    MiniBatch samples, int64_t first, int64_t last, Derivatives given, Averages averages,
    Weights weights, MiniBatch coming, unsigned char[::1] is_scored, float* psi, Scratch scratch,
    int part,
) noexcept nogil:
    """Step the groups from `first` to before `last`, and score those of the mini-batch to come."""
    cdef int64_t at, g, k, same
    for at in range(last - first):
        # There and back: the classes that a step ends with are still in the caches for the next.
        g = first + at if averages.number % 2 else last - 1 - at
        step_class(samples, g, given, averages, weights, scratch, part)
        if is_scored.shape[0]:
            k = class_of(samples, g)
            same = group_of(coming, <int32_t>k)
            if same >= 0:
                # Nobody writes the weights of class k before the next step: its scores are those
                # that `score_groups` would give.
                score_group(
                    coming, same, weights.W + k * weights.n_features, NULL, weights.n_features,
                    weights.b[k], psi,
                )
                is_scored[same] = True


cdef void divide(
    MiniBatch samples, Derivatives given, int64_t n_features, int64_t[::1] bounds
) noexcept nogil:
    """First groups of parts that take about equal time.

    A pair takes about two operations an entry, scoring included, a whole class one a feature.
    """
    cdef int64_t g, part = 1, n_parts = bounds.shape[0] - 1
    cdef double total = 0, cost = 0
    bounds[0] = 0
    for g in range(samples.n_groups):
        total += cost_of(samples, g, given, n_features)
    for g in range(samples.n_groups):
        # Part p begins at the first group before which p / n_parts of the cost lies. The number of
        # parts decides who steps a class, and never the result.
        while part < n_parts and cost >= total * part / n_parts:
            bounds[part] = g
            part += 1
        cost += cost_of(samples, g, given, n_features)
    # Parts that are left are empty.
    while part <= n_parts:
        bounds[part] = samples.n_groups
        part += 1


cdef inline double cost_of(
    MiniBatch samples, int64_t g, Derivatives given, int64_t n_features
) noexcept nogil:
    cdef int64_t n_pairs = samples.starts[g + 1] - samples.starts[g]
    cdef double entries = n_pairs * given.entries
    if is_stepped_whole(samples, n_pairs, given, n_features):
        return 2 * entries + n_features
    return SWEEP * entries


cdef struct Step:
    double rate
    double gain  # from the mini-batch to all samples
    int32_t number  # from 1 on


cdef class AdaptiveWeights:
    """Weights and the running averages of their squared gradients.

    Parameters
    ----------
    W, b : (n_classes, n_features), (n_classes,)
    averages : (n_classes, width_of_averages(n_features))
    stamps : (n_classes, stamps_of(width))
    """

    cdef float[:, ::1] W, averages
    cdef float[::1] b
    cdef int32_t[:, ::1] stamps

    def __init__(self, W, b, averages, stamps):
        self.W, self.b, self.averages, self.stamps = W, b, averages, stamps

    cdef Weights pointers(self) noexcept:
        cdef Weights weights
        weights.W = &self.W[0, 0] if self.W.shape[1] else NULL
        weights.b = &self.b[0]
        weights.averages = &self.averages[0, 0]
        weights.stamps = &self.stamps[0, 0]
        weights.n_features = self.W.shape[1]
        weights.width = self.averages.shape[1]
        weights.n_stamps = self.stamps.shape[1]
        return weights


def ascend(
    MiniBatch samples, const float[:, ::1] coefs, const float[:, ::1] importance,
    const float[::1] share, Step step, AdaptiveWeights changed, MiniBatch coming,
    float[:, ::1] psi, Scratch scratch, int n_threads,
):
    """One adaptive step of all classes in the mini-batch, up the gradient of the bound.

    The mini-batch to come is scored as in `scores_by_class` on the way: a class that both see is
    scored when it has been stepped, while its weights are in the caches.

    Parameters
    ----------
    samples : IN
    coefs : IN (n_rows, n_sampled + 1), derivatives of the bound by the scores
    importance : IN (n_rows, n_sampled)
    share : IN (n_features,), a sample's share of the penalty on its feature's weights; or size 0
    step : IN, a dict with the members of `Step`
    changed : IN/OUT
    coming : IN, or None
    psi : OUT, as the classes of `coming`
    """
    cdef Py_ssize_t i
    cdef int64_t n_entries = 0
    cdef int64_t n_groups = samples.groups_for(changed.W.shape[0], coefs.shape[0], coefs.shape[1])
    cdef int64_t n_coming = 0
    cdef unsigned char[::1] is_scored
    cdef const float[::1] powers = POWERS
    # A thread keeps its classes from step to step, and they its caches, while groups are the same.
    cdef int64_t[::1] bounds = np.empty(n_threads + 1, dtype=np.int64)
    cdef float* to_score = NULL
    cdef Weights weights
    cdef Derivatives given
    cdef Averages state
    cdef int part
    # An empty mini-batch has no first coefficient to point to.
    if n_groups == 0:
        return
    if coming is not None:
        # Shapes are checked before pointers replace them.
        n_coming = coming.groups_for(changed.W.shape[0], psi.shape[0], psi.shape[1])
        to_score = &psi[0, 0]
    is_scored = np.zeros(n_coming, dtype=np.uint8)
    for i in range(samples.batch.shape[0]):
        n_entries += sample_at(samples, i).n
    # All samples of a mini-batch count as of its mean length, in what decides the way of a step.
    given.entries = <double>n_entries / samples.batch.shape[0]
    given.width = <int32_t>coefs.shape[1]
    given.coef = &coefs[0, 0]
    given.importance = &importance[0, 0]
    given.share = &share[0] if share.shape[0] else NULL
    state.powers = &powers[0]
    state.number = step.number
    state.rate = <float>step.rate
    state.gain = <float>step.gain
    weights = changed.pointers()
    divide(samples, given, weights.n_features, bounds)
    for part in prange(n_threads, nogil=True, schedule="static", num_threads=n_threads):
        step_part(
            samples, bounds[part], bounds[part + 1], given, state, weights, coming, is_scored,
            to_score, scratch, part,
        )
    # Classes that the mini-batch to come sees and this one does not.
    if n_coming:
        score_groups(
            coming, &is_scored[0], weights.W, weights.n_features, weights.b, to_score, n_threads
        )
