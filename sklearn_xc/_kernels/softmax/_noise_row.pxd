"""Steps of the probit and the logistic model that see all classes; see `_noise_row.pyx`."""

from libc.stdint cimport int32_t

from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples
from sklearn_xc._kernels.softmax._tiles cimport Scratch, Weights


cdef void noise_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float* out
) noexcept nogil
