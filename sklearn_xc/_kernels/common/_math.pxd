"""exp and log in plain arithmetic without branches, so that loops over them become vectors.

Calls into the C library would end the vectors. `fast_exp` is for float32; the others work in
double, where a sum over many classes or a tail far out needs it.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline float reduced_exp(float x, uint32_t* power) noexcept nogil:
    """e^r of x = n ln 2 + r with |r| <= ln(2)/2, and as `power` bits of which the lowest are n."""
    cdef float shifted, n, r, series
    # Adding 1.5 * 2^23 rounds to an integer, which then stands in the lowest bits.
    shifted = x * <float>1.4426950408889634 + <float>12582912.0
    n = shifted - <float>12582912.0
    # ln 2 in two parts, of which the first has 9 bits: n times it is exact, and so is the first
    # difference, in which nearly all digits of x cancel.
    r = (x - n * <float>0.693359375) + n * <float>2.12194440054690583e-4
    # e^r = 1 + r + r^2 (1/2 + r/6 + ... + r^5/5040), relative error 8e-9
    series = <float>(1.0 / 720) + r * <float>(1.0 / 5040)
    series = <float>(1.0 / 120) + r * series
    series = <float>(1.0 / 24) + r * series
    series = <float>(1.0 / 6) + r * series
    series = <float>0.5 + r * series
    memcpy(power, &shifted, sizeof(shifted))
    return 1 + (r + r * r * series)


cdef inline float fast_exp(float x) noexcept nogil:
    """e^x within 2 units in the last place; 0 below -104, infinity above 88.8, NaN for NaN."""
    cdef float series, low, high
    cdef uint32_t bits, half
    series = reduced_exp(x, &bits)
    # 2^n is written into the exponent's bits, in two halves so that subnormal results come out
    # right: 2^(n/2) is a normal number for every n here.
    bits += 512 - <uint32_t>0x4B400000  # n + 512, above zero
    half = bits >> 1
    bits = (bits - half - 256 + 127) << 23
    half = (half - 256 + 127) << 23
    memcpy(&low, &half, sizeof(low))
    memcpy(&high, &bits, sizeof(high))
    # Ends are chosen at last: chosen before, each would become a path of its own through the loop.
    series = series * low * high
    series = <float>0.0 if x < -104 else series
    return <float>INFINITY if x > <float>88.8 else series


cdef inline float exp_below(float x) noexcept nogil:
    """e^x for x <= 0 as in fast_exp, in fewer steps: 0 already below -87, no subnormal results."""
    cdef float series, power
    cdef uint32_t bits
    series = reduced_exp(x, &bits)
    bits = (bits + 127) << 23  # what stands above n is shifted out
    memcpy(&power, &bits, sizeof(power))
    return <float>0.0 if x < -87 else series * power


cdef inline float average_of_squares(float average, float keep, float g) noexcept nogil:
    """0.1 g^2 + keep * average, and so little that 1 + its square root is the same."""
    # Without the 1e-30 an average that only falls would end below 1e-38, where processors take long
    # over each operation.
    return keep * average + <float>1e-30 + <float>0.1 * g * g


cdef inline float one_and_root(float x) noexcept nogil:
    """1 + sqrt(x) within 5 units in the last place for x >= 0; infinity above 3e38, NaN for NaN."""
    # Not the C library's root: a division follows, and a processor's roots and divisions wait for
    # the same unit. Halving the bits, and so the exponent, gives y = 1 / sqrt(x) within 4 %. With
    # u = x y^2 - 1 the root is x y (1 + u)^(-1/2), by its series.
    cdef float guess, root, u, series
    cdef uint32_t bits
    memcpy(&bits, &x, sizeof(bits))
    bits = <uint32_t>0x5F377C00 - (bits >> 1)
    memcpy(&guess, &bits, sizeof(guess))
    root = x * guess
    u = root * guess - 1
    # (1 + u)^(-1/2) - 1 for |u| <= 0.071, divided by u
    series = <float>-0.3125 + u * <float>0.2734375
    series = <float>0.375 + u * series
    series = <float>-0.5 + u * series
    root = 1 + (root + root * (u * series))
    return <float>INFINITY if x > <float>3e38 else root


cdef inline double exp64(double x) noexcept nogil:
    """e^x within 2 units in the last place; 0 below -708, e^709 above 709, NaN for NaN."""
    cdef double shifted, n, r, series, power
    cdef uint64_t bits
    # As in fast_exp, with 1.5 * 2^52 and the series to r^13 (relative error 6e-18).
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = (x - n * 6.93147180369123816490e-1) - n * 1.90821492927058770002e-10
    series = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    series = 1.0 / 39916800 + r * series
    series = 1.0 / 3628800 + r * series
    series = 1.0 / 362880 + r * series
    series = 1.0 / 40320 + r * series
    series = 1.0 / 5040 + r * series
    series = 1.0 / 720 + r * series
    series = 1.0 / 120 + r * series
    series = 1.0 / 24 + r * series
    series = 1.0 / 6 + r * series
    series = 0.5 + r * series
    series = 1 + (r + r * r * series)
    memcpy(&bits, &shifted, sizeof(bits))
    bits = (bits + 1023) << 52  # what stands above the integer is shifted out
    memcpy(&power, &bits, sizeof(power))
    series = series * power
    series = 0.0 if x < -708 else series
    return 8.218407461554972e307 if x > 709 else series


cdef inline double log64(double x) noexcept nogil:
    """log x for a normal x > 0, relative error a few units in the last place also around 1."""
    # x = 2^n m with m from sqrt(1/2) to sqrt(2), and log m = 2 atanh(f) with f = (m - 1) / (m + 1),
    # by its series to f^21 (relative error 3e-17). Around 1 n is 0, and nothing cancels.
    cdef uint64_t bits, exponent
    cdef double m, n, f, s, series
    memcpy(&bits, &x, sizeof(bits))
    # 0x3FE6A09E667F3BCD is sqrt(1/2), 0x3FF0000000000000 is 1: with their difference added, the
    # exponent's bits go up by one where m would reach sqrt(2).
    exponent = (bits + <uint64_t>(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)) >> 52
    bits = bits - (exponent << 52) + <uint64_t>0x3FF0000000000000
    memcpy(&m, &bits, sizeof(m))
    exponent |= <uint64_t>0x4330000000000000  # 2^52 + exponent, as a double
    memcpy(&n, &exponent, sizeof(n))
    n -= 4503599627370496.0 + 1023
    f = (m - 1) / (m + 1)
    s = f * f
    series = 1.0 / 19 + s * (1.0 / 21)
    series = 1.0 / 17 + s * series
    series = 1.0 / 15 + s * series
    series = 1.0 / 13 + s * series
    series = 1.0 / 11 + s * series
    series = 1.0 / 9 + s * series
    series = 1.0 / 7 + s * series
    series = 1.0 / 5 + s * series
    series = 1.0 / 3 + s * series
    f *= 2
    return n * 6.93147180369123816490e-1 + (f + (f * s * series + n * 1.90821492927058770002e-10))


cdef inline double log1p64(double x) noexcept nogil:
    """log(1 + x) for -1 < x, relative error a few units in the last place."""
    # whole is 1 + x, rounded by d = (whole - 1) - x, and log(whole - d) is log(whole) - d / whole,
    # but for d^2.
    cdef double whole = 1 + x
    return log64(whole) - ((whole - 1) - x) / whole
