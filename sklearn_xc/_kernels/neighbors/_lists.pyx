"""Inverted lists and columns of rows, and the terms of a query among them.

A term is a feature of the query that some row has: ``sum over terms c of q_c x_rc`` is the score of
row r. Terms are ordered by falling ``|q_c|``, whatever the rows hold; so are the sums.

A long list has a bit for each row beside its entries: whether a row is in it, and at which place,
is then known without a search. How long a row is in the features that can be looked up so, columns
and long lists, is its share: what these give to its score is at most that many times the length of
the query in them.

Lists may come from a mapped file that nobody has checked: bounds of lists and numbers of columns
are compared with the sizes of the arrays that they point into.
"""

from libc.math cimport ceil, fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort

from sklearn_xc._kernels.common._rows cimport Row
from sklearn_xc._kernels.common._vector_ops cimport first_from

# Rows have length 1 but for rounding, which is below this factor; shares and bounds are rounded up
# by it, so that what they promise holds for the rows as they are stored.
cdef double LONGER = 1 + 1e-5


def words_of_a_term():
    """The numbers of 8 bytes that hold what is known of a feature of a query."""
    return WORDS


def unit_of_shares():
    """The share of a row that has no features but those that can be looked up."""
    return UNIT


cdef class Lookups:
    """What is known of rows beside lists and columns.

    Parameters
    ----------
    bits_of : (n_listed,), the bits of each feature, -1 where it has none
    bits : (n_long, n_words), 64 rows a word
    before : (n_long, n_words)
    shares : (2, n_rows), of the columns, and of these and the features that have bits
    """

    def __init__(
        self, const int32_t[::1] bits_of, uint64_t[:, ::1] bits, int32_t[:, ::1] before,
        uint8_t[:, ::1] shares,
    ):
        if before.shape[0] != bits.shape[0] or before.shape[1] != bits.shape[1]:
            raise ValueError("the bits of inverted lists differ in length")
        self.bits_of, self.bits, self.before, self.shares = bits_of, bits, before, shares
        self.apart, self.levels = None, None

    def fill(self, Lists lists, double[:, ::1] squares):
        """Set bits, which are zero, and shares; `squares` are zeros of the shape of shares."""
        cdef Pointers pointers = lists.pointers()
        cdef Py_ssize_t feature, row, kind
        cdef int64_t column
        cdef double share
        # squares[0] gathers columns, squares[1] long lists, and both in the end.
        for feature in range(pointers.n_features):
            column = pointers.column_of[feature]
            if 0 <= column < pointers.n_columns:
                for row in range(pointers.n_rows):
                    squares[0, row] += <double>lists.columns[column, row] ** 2
            elif 0 <= self.bits_of[feature] < self.bits.shape[0]:
                self._fill_list(pointers, feature, squares)
        for row in range(pointers.n_rows):
            squares[1, row] += squares[0, row]
            for kind in range(2):
                # Rounded up to a byte: a share may promise too much, never too little.
                share = ceil(sqrt(squares[kind, row]) * LONGER * UNIT)
                self.shares[kind, row] = <uint8_t>share if share < UNIT else UNIT

    cdef void _fill_list(self, Pointers lists, Py_ssize_t feature, double[:, ::1] squares):
        cdef int64_t p, first = lists.starts[feature], last = lists.starts[feature + 1]
        cdef Py_ssize_t word, b = self.bits_of[feature]
        cdef int32_t row, n = 0
        # An entry beyond the rows of a broken file gets no bit; a row that stands twice in a list
        # counts twice in its share and once in its bits, so that places stay within the list.
        if not 0 <= first <= last <= lists.n_entries:
            return
        for p in range(first, last):
            row = lists.rows[p]
            if 0 <= row < lists.n_rows:
                self.bits[b, row >> 6] |= <uint64_t>1 << (row & 63)
                squares[1, row] += <double>lists.values[p] ** 2
        # Entries before each word: with the bits below one in its word, the place of its entry.
        for word in range(self.bits.shape[1]):
            self.before[b, word] = n
            n += count_bits(self.bits[b, word])

    def set_apart(self, tuple apart, const double[:, ::1] levels):
        """Name the rows of large shares, ascending.

        Parameters
        ----------
        apart : tuple of two arrays of int32, of each kind of share
        levels : (2, 2), of each kind the largest share of all other rows, and one that few exceed
        """
        self.apart, self.levels = apart, levels


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
    signed : whether a row holds a number below zero
    lookups : Lookups or None
    """

    def __init__(
        self, const int32_t[::1] features, const int64_t[::1] starts, const int32_t[::1] rows,
        const float[::1] values, const int32_t[::1] column_of, const float[:, ::1] columns,
        int64_t n_rows, bint signed, Lookups lookups,
    ):
        if starts.shape[0] != features.shape[0] + 1 or rows.shape[0] != values.shape[0]:
            raise ValueError("the arrays of inverted lists differ in length")
        if column_of.shape[0] != features.shape[0] or (
            columns.shape[0] and columns.shape[1] != n_rows
        ):
            raise ValueError("the columns of inverted lists differ in length")
        if lookups is not None and (
            lookups.bits_of.shape[0] != features.shape[0] or lookups.shares.shape[1] != n_rows
            or 64 * lookups.bits.shape[1] < n_rows
        ):
            raise ValueError("the bits of inverted lists differ in length")
        self.features = features
        self.starts = starts
        self.rows = rows
        self.values = values
        self.column_of = column_of
        self.columns = columns
        self.n_rows = n_rows
        self.signed = signed
        self.lookups = lookups

    cdef Pointers pointers(self) noexcept:
        # Addresses for loops without the interpreter; NULL where an array is empty, as an empty
        # memoryview has no first element to take the address of.
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
        lists.bits_of, lists.bits, lists.before, lists.n_words = NULL, NULL, NULL, 0
        if self.lookups is not None:
            self._point(&lists)
        else:
            for kind in range(2):
                lists.kinds[kind].shares = NULL
        return lists

    cdef void _point(self, Pointers* lists) noexcept:
        cdef Lookups lookups = self.lookups
        cdef const int32_t[::1] apart
        cdef int kind
        if lookups.bits.shape[0] and lookups.bits.shape[1]:
            lists.n_words = lookups.bits.shape[1]
            lists.bits_of = &lookups.bits_of[0]
            lists.bits, lists.before = &lookups.bits[0, 0], &lookups.before[0, 0]
        for kind in range(2):
            lists.kinds[kind].shares = &lookups.shares[kind, 0]
            lists.kinds[kind].apart, lists.kinds[kind].n_apart = NULL, 0
            # Before rows are set apart every bound is that of a whole row.
            lists.kinds[kind].most, lists.kinds[kind].usual = 1, 1
            if lookups.apart is not None:
                apart = lookups.apart[kind]
                lists.kinds[kind].n_apart = apart.shape[0]
                lists.kinds[kind].apart = &apart[0] if apart.shape[0] else NULL
                lists.kinds[kind].most = lookups.levels[kind, 0]
                lists.kinds[kind].usual = lookups.levels[kind, 1]


cdef int64_t open_terms(Row query, Pointers lists, Term* terms) noexcept nogil:
    """Terms of the query's features that some row has, in their order; returns their number."""
    cdef int64_t e, n = 0, low = 0, column
    for e in range(query.n):
        if query.values[e] == 0:
            continue
        # Features ascend in the query and in the lists: a search begins where the last ended.
        low = first_from(lists.features, low, lists.n_features, query.features[e])
        if low == lists.n_features:
            break
        if lists.features[low] != query.features[e]:
            continue
        column = lists.column_of[low]
        terms[n].column, terms[n].bits, terms[n].before = NULL, NULL, NULL
        terms[n].place, terms[n].stop = lists.starts[low], lists.starts[low + 1]
        # A column outside of the matrix, or a list outside of the entries, is of a broken file: the
        # feature counts as one that no row has.
        if 0 <= column < lists.n_columns:
            terms[n].column = lists.columns + column * lists.n_rows
        elif not 0 <= terms[n].place < terms[n].stop <= lists.n_entries:
            continue
        elif lists.bits != NULL and 0 <= lists.bits_of[low]:
            terms[n].bits = lists.bits + lists.bits_of[low] * lists.n_words
            terms[n].before = lists.before + lists.bits_of[low] * lists.n_words
        terms[n].values = lists.values + terms[n].place
        terms[n].value, terms[n].feature = query.values[e], query.features[e]
        n += 1
    return n


cdef int by_magnitude(const void* one, const void* other) noexcept nogil:
    """Order of the sum: by falling magnitude, of equal ones the smaller feature first."""
    cdef const Term* a = <const Term*>one
    cdef const Term* b = <const Term*>other
    # A total order, by the query alone: qsort is not stable.
    cdef double x = fabs(a.value), y = fabs(b.value)
    if x != y:
        return -1 if x > y else 1
    return -1 if a.feature < b.feature else 1


cdef int64_t order_terms(Term* terms, int64_t n, const Pointers* lists) noexcept nogil:
    """Sort the terms and set their bounds; returns from where on all can be looked up."""
    cdef int64_t c = n, first = n
    cdef double squares = 0
    cdef bint only_columns = True
    # From the last term to the first: squares of the query add up to U ** 2 of this term and those
    # after it, and what can be looked up ends at the first plain list.
    qsort(terms, n, sizeof(Term), by_magnitude)
    while c > 0:
        c -= 1
        squares += <double>terms[c].value * terms[c].value
        terms[c].bound = sqrt(squares) * LONGER
        # Shares in columns alone are smaller, hence the better bound while only columns follow.
        only_columns = only_columns and terms[c].column != NULL
        terms[c].kind = &lists.kinds[0 if only_columns else 1]
        if first == c + 1 and lists.kinds[0].shares != NULL and (
            terms[c].column != NULL or terms[c].bits != NULL
        ):
            first = c
    return first
