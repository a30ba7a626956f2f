"""Products of C-contiguous matrices by BLAS, which its callers limit to one thread."""

from scipy.linalg.cython_blas cimport sgemm


cdef inline void matmul(
    char* transposed_left, char* transposed_right, int n_rows, int n_columns, int n_inner,
    float factor, const float* left, int left_width, const float* right, int right_width,
    float keep, float* out, int out_width
) noexcept nogil:
    """out = factor * left @ right + keep * out of C-contiguous matrices, each "N" or "T"."""
    # A matrix in the order of C is its transpose in that of Fortran, which BLAS reads, and
    # (left @ right)^T = right^T @ left^T: the two change places, and no array is copied.
    sgemm(
        transposed_right, transposed_left, &n_columns, &n_rows, &n_inner, &factor,
        <float*>right, &right_width, <float*>left, &left_width, &keep, out, &out_width,
    )
