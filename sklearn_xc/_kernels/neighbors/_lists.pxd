"""Inverted lists and columns of rows, and the terms of a query among them."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._rows cimport Row

cdef enum:
    WORDS = 7  # of 8 bytes that a term takes at most

cdef struct Term:
    int64_t begin  # in the list, of the rows of a block
    int64_t place
    int64_t stop
    const float* column  # NULL for a list
    double bound  # U of this term and those after it
    float value
    int32_t feature

cdef struct Pointers:
    const int32_t* features
    const int64_t* starts
    const int32_t* rows
    const float* values
    const int32_t* column_of
    const float* columns
    int64_t n_features  # that have a list or a column
    int64_t n_entries
    int64_t n_rows
    int64_t n_columns
    bint signed  # whether a column holds a number below zero


cdef class Lists:
    cdef const int32_t[::1] features
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] rows
    cdef const float[::1] values
    cdef const int32_t[::1] column_of
    cdef const float[:, ::1] columns
    cdef int64_t n_rows
    cdef bint signed

    cdef Pointers pointers(self) noexcept

cdef int64_t open_terms(Row query, Pointers lists, Term* terms) noexcept nogil
cdef int64_t order_terms(Term* terms, int64_t n) noexcept nogil
