"""Inverted lists and columns of rows, and the terms of a query among them.

Lists may come from a mapped file that nobody has checked: bounds of lists and numbers of columns
are compared with the sizes of the arrays that they point into.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort

from sklearn_xc._kernels.common._rows cimport Row

# Sums of float32 err by less than this for each term; rows have length 1 but for so much.
cdef double ROUNDING = 2.5e-7


def words_of_a_term():
    """The numbers of 8 bytes that hold what is known of a feature of a query."""
    return WORDS


cdef class Lists:
    """Inverted lists and columns, read only (see `neighbors/_row_lists.RowLists`).

    Parameters
    ----------
    features : (n_listed,), ascending: the features that some row has
    starts : (n_listed + 1,), where the list of each begins among the entries
    rows : (n_entries,), ascending in a list
    values : (n_entries,)
    column_of : (n_listed,), the column of each feature, -1 where it has a list
    columns : (n_columns, n_rows)
    n_rows : int
    signed : whether a column holds a number below zero
    """

    def __init__(
        self, const int32_t[::1] features, const int64_t[::1] starts, const int32_t[::1] rows,
        const float[::1] values, const int32_t[::1] column_of, const float[:, ::1] columns,
        int64_t n_rows, bint signed,
    ):
        if starts.shape[0] != features.shape[0] + 1 or rows.shape[0] != values.shape[0]:
            raise ValueError("the arrays of inverted lists differ in length")
        if column_of.shape[0] != features.shape[0] or (
            columns.shape[0] and columns.shape[1] != n_rows
        ):
            raise ValueError("the columns of inverted lists differ in length")
        self.features = features
        self.starts = starts
        self.rows = rows
        self.values = values
        self.column_of = column_of
        self.columns = columns
        self.n_rows = n_rows
        self.signed = signed

    cdef Pointers pointers(self) noexcept:
        cdef Pointers lists
        lists.n_features = self.features.shape[0]
        lists.n_entries = self.rows.shape[0]
        lists.n_rows = self.n_rows
        lists.signed = self.signed
        lists.n_columns = self.columns.shape[0] if self.n_rows else 0
        lists.features = &self.features[0] if lists.n_features else NULL
        lists.starts = &self.starts[0]
        lists.rows = &self.rows[0] if lists.n_entries else NULL
        lists.values = &self.values[0] if lists.n_entries else NULL
        lists.column_of = &self.column_of[0] if lists.n_features else NULL
        lists.columns = &self.columns[0, 0] if lists.n_columns else NULL
        return lists


cdef int64_t open_terms(Row query, Pointers lists, Term* terms) noexcept nogil:
    """Terms of the query's features that some row has, in their order; returns their number."""
    cdef int64_t e, n = 0, low = 0, high, middle, column
    for e in range(query.n):
        if query.values[e] == 0:
            continue
        high = lists.n_features
        while low < high:  # features ascend in both: the search goes on from the last place
            middle = (low + high) // 2
            if lists.features[middle] < query.features[e]:
                low = middle + 1
            else:
                high = middle
        if low == lists.n_features:
            break
        if lists.features[low] != query.features[e]:
            continue
        column = lists.column_of[low]
        terms[n].column = NULL
        terms[n].place, terms[n].stop = lists.starts[low], lists.starts[low + 1]
        if 0 <= column < lists.n_columns:
            terms[n].column = lists.columns + column * lists.n_rows
        elif not 0 <= terms[n].place < terms[n].stop <= lists.n_entries:
            continue
        terms[n].value, terms[n].feature = query.values[e], query.features[e]
        n += 1
    return n


cdef int by_magnitude(const void* one, const void* other) noexcept nogil:
    """Order of the sum: by falling magnitude, of equal ones the smaller feature first."""
    cdef const Term* a = <const Term*>one
    cdef const Term* b = <const Term*>other
    cdef double x = fabs(a.value), y = fabs(b.value)
    if x != y:
        return -1 if x > y else 1
    return -1 if a.feature < b.feature else 1


cdef int64_t order_terms(Term* terms, int64_t n) noexcept nogil:
    """Sort the terms and set their bounds; returns where the columns at their end begin."""
    cdef int64_t c = n, first = n
    cdef double squares = 0
    qsort(terms, n, sizeof(Term), by_magnitude)
    while c > 0:
        c -= 1
        squares += <double>terms[c].value * terms[c].value
        terms[c].bound = sqrt(squares) * (1 + 1e-5) + ROUNDING * n
        if terms[c].column != NULL and first == c + 1:
            first = c
    return first
