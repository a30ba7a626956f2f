"""The noise of the multinomial probit and the multinomial logistic model (Augment-and-Reduce).

Phi is the distribution function of one error term and phi its density: the standard Gaussian or
the standard logistic distribution. All functions are free of branches, so that loops over them
become vectors, and hold for every float32 difference of scores: no overflow, no cancellation.
"""

from libc.math cimport cos, fabs, log, sqrt
from libc.stdint cimport int64_t, uint64_t

from sklearn_xc._kernels.common._common cimport random_bits, seed_for
from sklearn_xc._kernels.common._math cimport exp64, log1p64, log64

cdef enum Model:
    PROBIT = 0
    LOGISTIC = 1


cdef inline int require_model(int model) except -1:
    """Raise ValueError for a number of no model: inside, what is not PROBIT is LOGISTIC."""
    if model != PROBIT and model != LOGISTIC:
        raise ValueError(f"no noise model has the number {model}")
    return 0


# ------------------------------------------------------------------------------------- Gaussian


cdef inline double gaussian_mills(double a) noexcept nogil:
    """Phi(-a) e^(a^2/2) for a >= 0 (half the scaled erfc), relative error 3e-15.

    (1 + a) times it is smooth in y = (a - 5.25)/(a + 5.25), which maps the half-line to [-1, 1): a
    polynomial that interpolates it in Chebyshev points.
    """
    cdef double y = (a - 5.25) / (a + 5.25)
    cdef double p = 6.283349355569915e-09
    p = -3.2067728904025454e-10 + y * p
    p = -7.306407577539919e-08 + y * p
    p = 2.5560130071438038e-08 + y * p
    p = 5.448541912070593e-07 + y * p
    p = -5.567434601560586e-07 + y * p
    p = -3.390560048228257e-06 + y * p
    p = 8.235079944380764e-06 + y * p
    p = 1.306816397437217e-05 + y * p
    p = -9.162800497290547e-05 + y * p
    p = 0.00011182989726090149 + y * p
    p = 0.0004891762730631779 + y * p
    p = -0.002902003577382758 + y * p
    p = 0.008429645155867405 + y * p
    p = -0.01689857616324726 + y * p
    p = 0.024646782632283974 + y * p
    p = -0.02397989158846178 + y * p
    p = 0.0059581519924377735 + y * p
    p = 0.0338281831258267 + y * p
    p = -0.08996869142389996 + y * p
    p = 0.45930144282933044 + y * p
    return p / (1 + a)


cdef inline double gaussian_log_density(double x) noexcept nogil:
    return -0.5 * x * x - 0.91893853320467274178  # log(2 pi) / 2


cdef inline double gaussian_log_density_slope(double x) noexcept nogil:
    return -x


cdef inline double gaussian_log_cdf(double x) noexcept nogil:
    cdef double square = -0.5 * x * x
    cdef double mills = gaussian_mills(fabs(x))
    cdef double tail = exp64(square) * mills  # Phi(-|x|)
    # Below zero log Phi = -x^2/2 + log(mills), above it log1p(-tail): one logarithm serves both.
    cdef double value = mills if x < 0 else 1 - tail
    # log(1 - tail): the digits that 1 - tail loses are added to first order, log(v - d) = log v - d
    # / v.
    cdef double lost = 0.0 if x < 0 else (value - 1) + tail
    cdef double head = square if x < 0 else 0.0
    return head + (log64(value) - lost / value)


cdef inline double gaussian_hazard(double x) noexcept nogil:
    """phi / Phi, the slope of log Phi: about -x far below zero."""
    cdef double mills = gaussian_mills(fabs(x))
    cdef double power = exp64(-0.5 * x * x)
    cdef double density = 0.39894228040143267794  # 1 / sqrt(2 pi)
    cdef double above = density * power
    # Below zero e^(-x^2/2) cancels from phi / Phi; above, Phi is 1 - tail.
    return (density if x < 0 else above) / (mills if x < 0 else 1 - power * mills)


# ------------------------------------------------------------------------------------- logistic


cdef inline double logistic_log_density(double x) noexcept nogil:
    # phi = e^-|x| / (1 + e^-|x|)^2, even in x.
    return -fabs(x) - 2 * log1p64(exp64(-fabs(x)))


cdef inline double logistic_log_density_slope(double x) noexcept nogil:
    """-tanh(x / 2)."""
    cdef double power = exp64(-fabs(x))
    cdef double size = (1 - power) / (1 + power)
    return size if x < 0 else -size


cdef inline double logistic_log_cdf(double x) noexcept nogil:
    # -log(1 + e^-x): for x < 0 it is x - log(1 + e^x), so that e^|x| never appears.
    return (x if x < 0 else 0.0) - log1p64(exp64(-fabs(x)))


cdef inline double logistic_hazard(double x) noexcept nogil:
    """phi / Phi, the slope of log Phi: the sigmoid of -x."""
    cdef double power = exp64(-fabs(x))
    return (1.0 if x < 0 else power) / (1 + power)


# ---------------------------------------------------------------------------------------- draws


cdef inline uint64_t noise_stream(
    uint64_t seed, int64_t iteration, bint is_global, int64_t row
) noexcept nogil:
    """The state from which a row draws in the local or the global step of one iteration."""
    # Even numbers for local steps, odd ones for global steps: the two never share a draw.
    return seed_for(seed_for(seed, 2 * <uint64_t>iteration + is_global), <uint64_t>row)


cdef inline double random_open(uint64_t *state) noexcept nogil:
    """A double from (0, 1), never an end."""
    # 52 bits, and half of the last one: between 2^-53 and 1 - 2^-53.
    return (<double>(random_bits(state) >> 12) + 0.5) * (1.0 / 4503599627370496.0)


cdef inline double gaussian_draw(uint64_t *state) noexcept nogil:
    """Box and Muller's transformation."""
    cdef double radius = sqrt(-2 * log(random_open(state)))
    return radius * cos(6.28318530717958647693 * random_open(state))


cdef inline double logistic_draw(uint64_t *state) noexcept nogil:
    """The inverse of the distribution function."""
    cdef double u = random_open(state)
    return log(u / (1 - u))
