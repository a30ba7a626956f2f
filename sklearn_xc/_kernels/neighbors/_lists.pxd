"""Inverted lists and columns of rows, and the terms of a query among them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from sklearn_xc._kernels.common._rows cimport Row

cdef enum:
    WORDS = 11  # of 8 bytes that a term takes at most
    UNIT = 255  # of a share that stands for one

# Of features that can be looked up: columns only, or long lists too.
cdef struct Kind:
    const uint8_t* shares  # of each row, how long it is in these features; rounded up
    const int32_t* apart  # rows with a larger share than most
    int64_t n_apart
    double most  # a share that all other rows have at most
    double usual  # a share that few rows exceed

# One feature of a query, with its cursor in the list or its column.
cdef struct Term:
    int64_t begin  # in the list, of the rows of a block
    int64_t place
    int64_t stop
    const float* column  # NULL for a list
    const uint64_t* bits  # of a long list, which rows have the feature; NULL for others
    const int32_t* before  # entries of a long list that stand before each word of its bits
    const float* values  # of the list, from its beginning
    const Kind* kind  # of this term and those after it, if all can be looked up
    double bound  # U of this term and those after it
    float value
    int32_t feature

# What `Lists` and `Lookups` hold, as addresses and sizes that each access is compared with.
cdef struct Pointers:
    const int32_t* features
    const int64_t* starts
    const int32_t* rows
    const float* values
    const int32_t* column_of
    const float* columns
    const int32_t* bits_of
    const uint64_t* bits
    const int32_t* before
    Kind[2] kinds
    int64_t n_features  # that have a list or a column
    int64_t n_entries
    int64_t n_rows
    int64_t n_columns
    int64_t n_words  # of the bits of a long list
    bint signed  # whether a row holds a number below zero


cdef class Lookups:
    cdef const int32_t[::1] bits_of
    cdef uint64_t[:, ::1] bits
    cdef int32_t[:, ::1] before
    cdef uint8_t[:, ::1] shares
    cdef tuple apart
    cdef const double[:, ::1] levels

    cdef void _fill_list(self, Pointers lists, Py_ssize_t feature, double[:, ::1] squares)


cdef class Lists:
    cdef const int32_t[::1] features
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] rows
    cdef const float[::1] values
    cdef const int32_t[::1] column_of
    cdef const float[:, ::1] columns
    cdef Lookups lookups
    cdef int64_t n_rows
    cdef bint signed

    cdef Pointers pointers(self) noexcept
    cdef void _point(self, Pointers* lists) noexcept

cdef inline int count_bits(uint64_t word) noexcept nogil:
    """The number of bits that are set, by sums of pairs, of fours and of bytes."""
    # Not __builtin_popcountll: without the instruction set that has it, it is a call.
    word -= (word >> 1) & 0x5555555555555555u
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu
    return <int>((word * 0x0101010101010101u) >> 56)

cdef inline float looked_up(const Term* term, int64_t row) noexcept nogil:
    """What a row has of the feature of a column or of a long list."""
    cdef uint64_t word, bit
    if term.column != NULL:
        return term.column[row]
    # The entry of a row is behind those of all rows before it: of whole words, and of bits below.
    word, bit = term.bits[row >> 6], <uint64_t>1 << (row & 63)
    if not word & bit:
        return 0
    return term.values[term.before[row >> 6] + count_bits(word & (bit - 1))]

cdef int64_t open_terms(Row query, Pointers lists, Term* terms) noexcept nogil
cdef int64_t order_terms(Term* terms, int64_t n, const Pointers* lists) noexcept nogil
