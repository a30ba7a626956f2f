"""Shared by all kernels: the random generator, Ctrl-C, the run-time choice of vector width."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef enum:
    # Counted operations between two looks for Ctrl-C: at most a tenth of a second.
    PATIENCE = 50_000_000


cdef extern from "_simd.h" nogil:
    # The return type of a hot leaf function; see the header.
    ctypedef void dispatched "XC_CLONES void"
    # That of a float function that gathers and is quicker without vectors.
    ctypedef float gathered "XC_SCALAR float"
    void prefetch "XC_PREFETCH" (const void *address)
    void prefetch_far "XC_PREFETCH_FAR" (const void *address)  # not to the first cache


cdef inline uint64_t seed_for(uint64_t seed, uint64_t stream) noexcept nogil:
    """The state of one stream (a class, a block) of a seeded run: splitmix64 of both."""
    # Neighbouring streams get states that have nothing in common: the increment is odd, so that no
    # two streams start alike, and each line is a bijection of which every bit goes on to others.
    cdef uint64_t z = seed + (stream + 1) * <uint64_t>0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    z ^= z >> 31
    # xorshift would stay at 0 for ever
    return z if z != 0 else 1


cdef inline uint64_t random_bits(uint64_t *state) noexcept nogil:
    """xorshift64*: 64 bits, of which the high ones are the good ones."""
    # Three shifts go through all states but 0; the product mixes low bits into the high ones of the
    # result, never the other way, which is why callers below take the high ones.
    cdef uint64_t x = state[0]
    x ^= x >> 12
    x ^= x << 25
    x ^= x >> 27
    state[0] = x
    return x * <uint64_t>0x2545F4914F6CDD1D


cdef inline uint32_t random_below(uint64_t *state, uint32_t n) noexcept nogil:
    """An integer from 0 to n - 1."""
    # 32 bits times n, over 2^32: no division, and a bias below n / 2^32
    return <uint32_t>(((random_bits(state) >> 32) * n) >> 32)


cdef inline double random_unit(uint64_t *state) noexcept nogil:
    """A double from [0, 1)."""
    # 53 bits, all that a double holds, times 2^-53: exact, so that it cannot round up to 1
    return (random_bits(state) >> 11) * (1.0 / 9007199254740992.0)


cdef inline int interrupted(const int32_t[::1] stop, double *operations) except -1 nogil:
    """Now and then: raise KeyboardInterrupt on Ctrl-C, in other threads when `stop` is set."""
    if operations[0] >= PATIENCE:
        operations[0] = 0
        # Python sees signals in its main thread only; `stop` is how other threads learn of them.
        with gil:
            PyErr_CheckSignals()
            if stop[0]:
                raise KeyboardInterrupt("the fit was interrupted")
    return 0
