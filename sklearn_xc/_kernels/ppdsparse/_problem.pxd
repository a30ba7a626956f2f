from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from sklearn_xc._kernels.common._rows cimport Rows
from sklearn_xc._kernels.ppdsparse._types cimport LANES

# Dense rows rounded to bytes; `_byte_scores.h` says what the members are.
cdef extern from "ppdsparse/_byte_scores.h" nogil:
    ctypedef struct BytePointers "xc_byte_rows":
        const uint8_t *values
        int64_t width
        const float *scale
        const float *error
        const float *length

    ctypedef struct ByteWeights "xc_byte_weights":
        const int8_t *values
        int32_t start[LANES]
        float scale[LANES]
        float bias[LANES]
        float of_error[LANES]
        float of_length[LANES]
        float threshold[LANES]

    ctypedef struct ByteHits "xc_byte_hits":
        int64_t n
        int32_t *rows
        uint32_t *masks
        float *scores

    int WIDEST "XC_VNNI"
    double ROUNDING "XC_BYTE_ROUNDING"
    int LARGEST_WEIGHT "XC_BYTE_WEIGHT"
    int BLOCK "XC_BYTE_BLOCK"
    int LARGEST_HALF "XC_BYTE_HALF"

    void byte_search "xc_byte_search" (
        int widest, const BytePointers *rows, int64_t low, int64_t high, const uint16_t *member,
        const ByteWeights *weights, ByteHits *hits
    )


cdef enum:
    FOUR = 4  # bytes that are multiplied at a time
    LARGEST = 127
    ZERO = 128  # of a byte without sign


cdef inline void bound_errors(
    double length, double lost, float *of_error, float *of_length
) noexcept nogil:
    """Write what an error and a length of a row do to its score, by the weights' |w|, |f|."""
    of_error[0] = <float>((1 + ROUNDING) * length)
    of_length[0] = <float>((1 + ROUNDING) * lost + ROUNDING * (length + lost))


cdef class ByteRows:
    cdef BytePointers pointers
    cdef dict _arrays  # that the pointers point into, by name


cdef struct Columns:
    const int64_t* indptr
    # Where the entries of smaller magnitude of a column begin, and how large these are at most
    const int64_t* middle
    const float* rest
    const int32_t* rows  # ascending in both parts
    const float* values


cdef class Matrix:
    cdef readonly Py_ssize_t n_rows, n_columns, n_entries
    cdef readonly bint has_columns
    cdef Rows rows
    cdef Columns columns
    cdef ByteRows rounded  # the same rows, or None
    cdef dict _arrays  # that the pointers point into, by name


cdef class Problem:
    cdef readonly Matrix X, coarse
    cdef const float[::1] squared_norms, sample_weight
    cdef const float[:, ::1] class_weight
    cdef const float[::1] highest, lowest, feature_maxima, feature_norms
    cdef const int64_t[::1] positive_indptr
    cdef const int32_t[::1] positive_rows
    cdef const float[::1] positive_grades
    cdef readonly bint graded
    cdef readonly double total_weight
    cdef dict _arrays  # by name, but for those of X and coarse
    cdef Py_ssize_t weight_step  # 0 where all samples weigh the same: one weight stays in a cache


cdef inline float weight_of(Problem problem, Py_ssize_t i) noexcept nogil:
    return problem.sample_weight[i * problem.weight_step]
