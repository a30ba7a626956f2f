"""Steps on rounded probabilities; see `_rounded_step.pyx`."""

from libc.stdint cimport int32_t

from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples
from sklearn_xc._kernels.softmax._tiles cimport Scratch, Step, Weights


cdef void round_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int32_t i, float* p
) noexcept nogil
cdef void rounded_step(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    Step step, int thread, int n_threads
) noexcept nogil
cdef void shrink_scales(const Batch* batch, const Weights* weights, Step step) noexcept nogil
