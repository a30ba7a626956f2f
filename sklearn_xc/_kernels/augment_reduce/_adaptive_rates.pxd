from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched

cdef enum:
    BLOCK = 16  # averages that share a time stamp: a cache line
    OLDEST = 300  # steps after which a block of averages is brought up to date

cdef struct Averages:
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

cdef dispatched step_touched(
    Averages averages, float* w, float* gradient, const int32_t* touched, int64_t n
) noexcept nogil
cdef void step_whole(
    Averages averages, float* w, float* gradient, int64_t n_features
) noexcept nogil
cdef void step_intercept(
    Averages averages, float* b, float gradient, int64_t n_features
) noexcept nogil
