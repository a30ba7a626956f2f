"""Gradients of the multinomial probit and logistic model over all classes (Augment-and-Reduce).

With the noise e of a sample's class y, of density phi and distribution function Phi, eq. 7 bounds
its log-probability by::

    E_q[log phi(e) + sum_{k != y} log Phi(e + psi_y - psi_k)] + entropy(q)

q is N(mu, beta^2), and its expectations are means over the two points mu - beta and mu + beta,
which are exact for polynomials to the third degree. At the best q the mean slope is zero, and
1 / beta^2 is minus the mean curvature; a visit of the sample takes a Newton step there, or more
where q is far off.

With h_k = E_q[phi / Phi (e + psi_y - psi_k)] and H their sum, the gradient is -h_k in psi_k and H
in psi_y: H times that of a softmax with the probabilities h_k / H, and none for y. So the steps of
the softmax take it, those that round small probabilities too.
"""

from cython.parallel cimport threadid
from libc.math cimport log, sqrt, tanh
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport exp_below
from sklearn_xc._kernels.common._vector_ops cimport LANES, mask_above
from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples
from sklearn_xc._kernels.softmax._tiles cimport Scratch, Weights, plain_scores

cdef enum:
    MOST_STEPS = 6  # of q before a gradient
    PROBIT = 1  # of `Weights.noise`; 2 is the logistic model, 0 the softmax

cdef float DENSITY = <float>0.39894228  # of the Gaussian at zero
cdef float TAIL = <float>3.2  # Phi is 0.9993 there
cdef float NOTHING = 400  # n classes with hazards below phi(0) / (n NOTHING) add up to a thousandth
cdef float FURTHEST = <float>1e15  # difference of scores
cdef double FAR_OFF = 3  # times what it should be, the sum of hazards asks for another step
cdef double SMALL = 0.01  # a sum of hazards that leaves a sample nearly no gradient
cdef double MOST_MASS = 2  # times about the largest of all noises, no gradient is longer
cdef double WIDEST = 2
cdef double LEAST_PLACE = 1e-6  # of q: at zero the slope is that of the other classes, above 0

cdef struct Sums:
    double hazard  # H
    double curvature  # minus the second derivative of the sum over the other classes


cdef inline float absolute(float x) noexcept nogil:
    return -x if x < 0 else x


cdef inline float probit_hazard(float x) noexcept nogil:
    """phi / Phi of the Gaussian within 1e-6 of itself, without branches: vectors come of it.

    Phi(-a) e^(a^2/2) for a >= 0 times 1 + a is a polynomial in (a - 4) / (a + 4), which
    interpolates it in Chebyshev points.
    """
    cdef float a = absolute(x)
    cdef float y = (a - 4) / (a + 4)
    cdef float p = <float>-5.31326511e-05
    p = <float>5.19291811e-04 + y * p
    p = <float>-3.18728622e-04 + y * p
    p = <float>-4.85969742e-03 + y * p
    p = <float>1.79474578e-02 + y * p
    p = <float>-3.22471397e-02 + y * p
    p = <float>2.85989696e-02 + y * p
    p = <float>1.40057065e-02 + y * p
    p = <float>-9.67034495e-02 + y * p
    p = <float>4.72053085e-01 + y * p
    # p is now Mills' ratio Phi(-a) / (phi(a) sqrt(2 pi)), which falls as 1 / a: no overflow for a
    # large one.
    p = p / (1 + a)
    cdef float power = exp_below(<float>-0.5 * x * x)
    # Above zero Phi = 1 - e^(-a^2/2) p; below, e^(-a^2/2) cancels in phi / Phi.
    cdef float above = DENSITY * power / (1 - power * p)
    return DENSITY / p if x < 0 else above


cdef inline float logistic_hazard(float x) noexcept nogil:
    """phi / Phi of the logistic distribution: the sigmoid of -x."""
    cdef float power = exp_below(-absolute(x))
    return (1 if x < 0 else power) / (1 + power)


cdef dispatched probit_sums(
    const float* values, int32_t n, float low, float high, float* out, Sums* sums
) noexcept nogil:
    """The mean hazards at both points of n differences, and what they add up to.

    n is a multiple of LANES. The curvature h (h + x) tends to 1 far below zero. Most classes are in
    the tail, where Phi is 1 but for a thousandth, or so far in it that all n together do not count.
    """
    cdef float hazard[LANES]
    cdef float curvature[LANES]
    cdef float tail[LANES]
    cdef float nothing[LANES]
    cdef const float* part
    cdef float* hazards
    cdef float x, g, h, c
    cdef int32_t i, j
    # Sums run in LANES lanes, in the same order on every machine.
    for j in range(LANES):
        hazard[j] = 0
        curvature[j] = 0
        tail[j] = TAIL - low
        nothing[j] = <float>sqrt(2 * log(<double>NOTHING * n)) - low
    for i in range(n // LANES):
        part = values + i * LANES
        hazards = out + i * LANES
        # A vector takes the cheapest branch that is good enough for all of its classes. First: some
        # Phi is well below 1, so both hazards in full.
        if mask_above(tail, part):
            for j in range(LANES):
                x = part[j] + low
                g = probit_hazard(x)
                # (log Phi)'' = -h (h + x); far below zero h + x is rounding error, and the limit is
                # 1.
                c = 1 if x < -50 else g * (g + x)
                x = part[j] + high
                h = probit_hazard(x)
                c += 1 if x < -50 else h * (h + x)
                g = <float>0.5 * (g + h)
                hazard[j] += g
                curvature[j] += c
                hazards[j] = g
        elif mask_above(nothing, part):
            # Phi is 1 but for a thousandth: h is phi, and its slope phi x.
            for j in range(LANES):
                x = part[j] + low
                g = DENSITY * exp_below(<float>-0.5 * x * x)
                c = g * x
                x = part[j] + high
                h = DENSITY * exp_below(<float>-0.5 * x * x)
                c += h * x
                g = <float>0.5 * (g + h)
                hazard[j] += g
                curvature[j] += c
                hazards[j] = g
        else:
            # All hazards of the n classes together would be a thousandth.
            for j in range(LANES):
                hazards[j] = 0
    for j in range(LANES):
        sums.hazard += hazard[j]
        sums.curvature += 0.5 * curvature[j]


cdef dispatched logistic_sums(
    const float* values, int32_t n, float low, float high, float* out, Sums* sums
) noexcept nogil:
    """As `probit_sums`."""
    cdef float hazard[LANES]
    cdef float curvature[LANES]
    cdef const float* part
    cdef float* hazards
    cdef float g, h
    cdef int32_t i, j
    for j in range(LANES):
        hazard[j] = 0
        curvature[j] = 0
    # No cut: the tail e^-x of the logistic distribution is too long, and its hazard cheap.
    for i in range(n // LANES):
        part = values + i * LANES
        hazards = out + i * LANES
        for j in range(LANES):
            g = logistic_hazard(part[j] + low)
            h = logistic_hazard(part[j] + high)
            # For h = 1 - Phi the curvature is phi = h (1 - h).
            curvature[j] += g * (1 - g) + h * (1 - h)
            g = <float>0.5 * (g + h)
            hazard[j] += g
            hazards[j] = g
    for j in range(LANES):
        sums.hazard += hazard[j]
        sums.curvature += 0.5 * curvature[j]


cdef dispatched differences(
    const float* scores, int32_t n, float own, float* out, float* lowest
) noexcept nogil:
    """psi_y - psi_k of psi_k; OUT the lowest. n is a multiple of LANES."""
    cdef float least[LANES]
    cdef const float* part
    cdef float d
    cdef int32_t i, j
    for j in range(LANES):
        least[j] = FURTHEST
    for i in range(n // LANES):
        part = scores + i * LANES
        for j in range(LANES):
            d = own - part[j]
            # Scores of places beyond the classes are -1e30: cut, their squares are finite in
            # float32.
            d = FURTHEST if d > FURTHEST else d
            d = -FURTHEST if d < -FURTHEST else d
            least[j] = d if d < least[j] else least[j]
            out[i * LANES + j] = d
    lowest[0] = FURTHEST
    for j in range(LANES):
        lowest[0] = min(lowest[0], least[j])


cdef inline Sums sums_at(
    const float* values, int32_t n, double mu, double beta, int noise, float* out
) noexcept nogil:
    cdef Sums sums
    sums.hazard = 0
    sums.curvature = 0
    if noise == PROBIT:
        probit_sums(values, n, <float>(mu - beta), <float>(mu + beta), out, &sums)
    else:
        logistic_sums(values, n, <float>(mu - beta), <float>(mu + beta), out, &sums)
    return sums


cdef inline double minus_slope(double mu, int noise) noexcept nogil:
    """Minus the slope of the logarithm of the noise's density."""
    return mu if noise == PROBIT else tanh(mu / 2)


cdef void newton(Sums sums, double* mu, double* beta, int noise, double highest) noexcept nogil:
    """A step of q towards its best, where the sum of hazards is minus the slope of log phi.

    Hazards fall along a line or as an exponential: from below the root the longer of the steps on
    them and on their logarithms is of the right shape; from above that on logarithms, but near
    zero. No root is above `highest`. A flat bound, of the logistic model on samples of which it is
    far off, gives no wider q than WIDEST.
    """
    # At the best mu the mean slope vanishes: H = sum of hazards = minus the slope of log phi, the
    # target, which is mu for the Gaussian and tanh(mu / 2) for the logistic distribution.
    cdef double size = tanh(mu[0] / 2), target, slope, step, by_logarithm, curvature
    cdef double falls = max(sums.curvature, <double>1e-30), hazard = max(sums.hazard, <double>1e-30)
    if noise == PROBIT:
        target = mu[0]
        slope = 1
    else:
        target = size
        slope = (1 - size * size) / 2
    curvature = max(falls + slope, <double>1e-12)
    # Newton on H - target, whose derivative is minus the curvatures of both.
    step = (hazard - target) / curvature
    # Newton on log H - log target, right where hazards fall as an exponential.
    by_logarithm = log(hazard / target) / (falls / hazard + slope / target)
    if hazard > target:
        step = max(step, by_logarithm)
    elif mu[0] > 1:
        step = by_logarithm
    mu[0] = min(max(mu[0] + step, LEAST_PLACE), highest)
    # 1 / beta^2 is minus the mean curvature of the joint, as at the best Gaussian q.
    beta[0] = min(1 / sqrt(curvature), WIDEST)


cdef void noise_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float* out
) noexcept nogil:
    """h_k of a sample, and in the scratch memory H and 1 / H as the factor of all tiles."""
    cdef int64_t row = batch.rows[i]
    cdef int32_t t, _step, n = <int32_t>weights.n_places
    cdef float lowest
    cdef double highest, target, mass
    cdef float* values = scratch.spare + threadid() * weights.n_places
    cdef double* mu = weights.mu + row
    cdef double* beta = weights.beta + row
    cdef Sums sums
    plain_scores(samples, batch, weights, scratch, i, out)
    differences(out, n, scratch.own[i], values, &lowest)  # at most 0, that of the own class
    # The own class is no term of the sum: so far away its hazard is 0.
    values[samples.y[row]] = FURTHEST
    highest = 2 + log(<double>n) - lowest
    # q is that of the visit before, and weights have moved little: mostly one step does.
    for _step in range(MOST_STEPS):
        sums = sums_at(values, n, mu[0], beta[0], weights.noise, out)
        target = minus_slope(mu[0], weights.noise)
        newton(sums, mu, beta, weights.noise, highest)
        if target < FAR_OFF * sums.hazard < FAR_OFF * FAR_OFF * target:
            break
        if max(target, sums.hazard) < SMALL:
            break
    # Both are H at the best q; a q that lags must not make the step longer.
    mass = min(sums.hazard, minus_slope(mu[0], weights.noise))
    # A probit's grows with how far a sample is off; at the start it is the largest of n noises,
    # sqrt(2 log n) about.
    mass = min(mass, MOST_MASS * sqrt(2 * log(<double>n)))
    # The steps of the softmax multiply out[k] * factor by the mass: factor is 1 / H of `sums`, as
    # exp(highest - log_normaliser) with highest 0, so that probabilities are h_k / H.
    scratch.mass[i] = <float>mass
    scratch.log_normaliser[i] = log(sums.hazard) if sums.hazard > 1e-30 else 0
    # `batch_step` adds up log_normaliser - own, which is the mass then.
    scratch.own[i] = <float>(scratch.log_normaliser[i] - mass)
    for t in range(scratch.n_tiles):
        scratch.highest[t * batch.n_rows + i] = 0
