"""The inverted lists of weights, from the weights class by class."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.topk._inverted_index cimport ClassNumber


def dense_prefixes(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const int64_t[::1] order,
    double share,
    double least,
    double[::1] gain,
    int64_t[::1] used,
    int32_t[::1] stop,
):
    """For each feature the first classes of which so many use it that all get a stored weight.

    They are chosen such that the classes among them that use the feature, less `share` of all of
    them, are most; where that is below `least` there are none.

    Parameters
    ----------
    indptr, indices : CSR pattern of the weights (n_classes, n_features)
    order : (n_classes,), the classes, rank by rank
    share, least : see above
    gain : (n_features,) of zeros, IN/OUT scratch
    used : (n_features,) of zeros, IN/OUT scratch
    stop : (n_features,) of zeros, OUT: how many of the first classes were chosen
    """
    cdef Py_ssize_t rank, e
    cdef int32_t j
    cdef double now
    with nogil:
        for rank in range(order.shape[0]):
            for e in range(indptr[order[rank]], indptr[order[rank] + 1]):
                j = indices[e]
                used[j] += 1
                now = used[j] - share * (rank + 1)
                if now >= least and now > gain[j]:
                    gain[j] = now
                    stop[j] = <int32_t>(rank + 1)


def count_lists(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const int64_t[::1] order,
    Py_ssize_t first,
    const int32_t[::1] full_stop,
    int64_t[::1] lengths,
):
    """OUT `lengths` (n_features,) of zeros: the entries of each list; others as in `fill_lists`."""
    cdef Py_ssize_t place, e
    with nogil:
        for place in range(order.shape[0]):
            for e in range(indptr[order[place]], indptr[order[place] + 1]):
                lengths[indices[e]] += first + place >= full_stop[indices[e]]


def fill_lists(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const float[::1] data,
    const int64_t[::1] order,
    Py_ssize_t first,
    const int32_t[::1] full_stop,
    const int64_t[::1] full_start,
    int64_t[::1] free,
    ClassNumber[::1] classes,
    float[::1] weights,
    float[::1] full_weights,
):
    """Put the weights of classes into the lists of features, or where the first ones are stored.

    Parameters
    ----------
    indptr, indices, data : CSR of the weights (n_classes, n_features)
    order : (n_some,), some classes, rank by rank
    first : the rank of the first of them
    full_stop, full_start : (n_features,), for how many of the first classes the weights of a
        feature are stored, and where in `full_weights` they begin
    free : (n_features,), IN / OUT: where the next entry of each list is put
    classes, weights : (n_entries,), OUT: the lists, classes by their ranks; int32, or uint16 where
        that holds them
    full_weights : OUT: what is there is written, zeros are not
    """
    cdef Py_ssize_t place, rank, e
    cdef int64_t at
    cdef int32_t j
    with nogil:
        for place in range(order.shape[0]):
            rank = first + place
            for e in range(indptr[order[place]], indptr[order[place] + 1]):
                j = indices[e]
                if rank < full_stop[j]:
                    full_weights[full_start[j] + rank] = data[e]
                else:
                    at = free[j]
                    free[j] = at + 1
                    classes[at] = <ClassNumber>rank
                    weights[at] = data[e]
