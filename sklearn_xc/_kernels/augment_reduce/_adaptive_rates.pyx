"""Running averages of squared gradients, and the steps of a class whose sizes they make.

The step of a coordinate is rate * g / (1 + sqrt(s)) with s = 0.1 g^2 + 0.9 s, at every step of
the algorithm and so also where g = 0 (Kucukelbir et al., 2017). Coordinates that a mini-batch
leaves alone are not visited: their averages are right as of an earlier step, whose number stands
for them all. A step of all of a class brings its averages up to date. A step of some does not,
unless they are older than OLDEST steps: then their block of BLOCK averages gets a number of its
own, until the next step of all.
"""

from libc.math cimport pow
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport average_of_squares, one_and_root
from sklearn_xc._kernels.common._vector_ops cimport LANES


cdef inline int64_t blocks_of(int64_t n_features) noexcept nogil:
    return (n_features + BLOCK - 1) // BLOCK


cdef inline float power_of(Averages averages, int32_t age) noexcept nogil:
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
    for c in range(BLOCK):
        averages.values[block * BLOCK + c] *= factor
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
        g[c] = 0
        s[c] = 0
        decay[c] = 1
    for run in range((n + LANES - 1) // LANES):
        first = run * LANES
        size = <int32_t>min(LANES, n - first)
        for c in range(size):
            j = touched[first + c]
            block = fresh_block(averages, j // BLOCK)
            decay[c] = averages.powers[age_of(averages, j // BLOCK)]
            g[c] = gradient[j]
            s[c] = block[j % BLOCK]
            gradient[j] = 0
        for c in range(LANES):
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
        memcpy(s, averages.values + first, sizeof(s))
        memcpy(g, gradient + first, sizeof(g))
        memset(gradient + first, 0, sizeof(g))
        for c in range(BLOCK):
            g[c] *= averages.gain
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
    averages.stamps[OF_CLASS] = averages.number


cdef void step_intercept(
    Averages averages, float* b, float gradient, int64_t n_features
) noexcept nogil:
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


BLOCK_OF_INTERCEPT = BLOCK  # places at the end of a class's averages: its intercept's comes first
POWERS = (0.9 ** np.arange(OLDEST + 1.0)).astype(np.float32)
