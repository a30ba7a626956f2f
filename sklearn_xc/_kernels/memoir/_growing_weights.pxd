"""Weights of very many classes that grow while they are trained: a list of classes a feature."""

from libc.stdint cimport int32_t, int64_t


cdef struct Feature:
    # The classes that use a feature, ascending, or all of them where most do (classes is NULL).
    int32_t size
    int32_t capacity
    int32_t* classes
    float* values
    float* sums  # NULL where no average is kept


cdef class WeightLists:
    cdef Feature* features
    cdef readonly int64_t n_features
    cdef readonly int32_t n_classes
    cdef readonly int32_t n_places  # classes rounded up to whole blocks of the kernels
    cdef readonly bint averaged
    # Of V by class too, (n_classes, n_features), where `keep_rows` asked for it
    cdef readonly object rows
    cdef float* row_values  # of `rows`, or NULL


cdef int64_t place_of(const Feature* feature, int32_t k) noexcept nogil
cdef float value_of(const Feature* feature, int32_t k) noexcept nogil
cdef int add_to(WeightLists lists, int64_t j, int32_t k, float value, float sum_) except -1 nogil
