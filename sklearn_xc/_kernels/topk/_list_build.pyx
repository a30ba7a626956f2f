"""The inverted lists of weights, from the weights class by class."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.topk._inverted_index cimport ClassNumber


def fill_lists(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const int32_t[::1] full_column,
    int64_t[::1] free,
    ClassNumber[::1] classes,
    float[::1] weights,
    float[:, ::1] full_weights,
):
    """Put the weights of classes into the lists of features, or where all of a feature's stand.

    Parameters
    ----------
    indptr, indices, data : CSR of the weights (n_classes, n_features)
    full_column : (n_features,), places of features in `full_weights`, -1 for those that have lists
    free : (n_features,), IN / OUT: where the next entry of each list is put
    classes, weights : (n_entries,), OUT: the lists; classes int32, or uint16 where that holds them
    full_weights : (n_full, n_classes or more), OUT: what is there is written, zeros are not
    """
    cdef Py_ssize_t k, e
    cdef int64_t at
    cdef int32_t j
    with nogil:
        for k in range(indptr.shape[0] - 1):
            for e in range(indptr[k], indptr[k + 1]):
                j = indices[e]
                if full_column[j] >= 0:
                    full_weights[full_column[j], k] = data[e]
                else:
                    at = free[j]
                    free[j] = at + 1
                    classes[at] = <ClassNumber>k
                    weights[at] = data[e]
