from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.topk._postings cimport Batch, Index, Lists

cdef enum:
    MOST_PRUNED = 64  # the largest k

cdef bint may_prune(const Batch* batch, Index index, int64_t k) noexcept nogil
cdef bint worth_pruning(const Batch* batch, Index index, int64_t k) noexcept nogil
cdef dispatched pruned_scan(
    Lists* lists, const Batch* batch, Index index, float* scores, float* bounds, float* top,
    int32_t* labels, int64_t k,
) noexcept nogil
