"""Steps on the rows of a table that a mini-batch touches: label embeddings, feature embeddings.

The gradient of row k is ``g_k = sum_i v_ik s_i``, over the samples i with an entry v_ik for it, s_i
being a vector of the sample. With Adagrad by rows its step is ``-rate g_k / sqrt(sum ||g_k||^2)``,
the sum being over all steps so far.

A list is the entries of one sample of the mini-batch: rows of the table and a number for each.
Lists lie anywhere in two arrays. Forward, a sample is the combination of the rows in its list;
backward, the entries of all lists are grouped by row, so that each row belongs to one thread and
takes its samples in their order. Results do not depend on the number of threads.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._vector_ops cimport add_multiple, prefetch_floats, sum_of_squares

cdef enum:
    AHEAD = 4  # rows to prefetch


cdef void combine_row(
    const int32_t* ids, const float* values, int64_t n, const float[:, ::1] table, float* out
) noexcept nogil:
    cdef int64_t e, c, n_columns = table.shape[1]
    for c in range(n_columns):
        out[c] = 0
    for e in range(n):
        # Rows lie anywhere in the table; those of a zero value are not read.
        if e + AHEAD < n and values[e + AHEAD] != 0:
            prefetch_floats(&table[ids[e + AHEAD], 0], n_columns)
        if values[e] != 0:
            add_multiple(out, &table[ids[e], 0], values[e], n_columns)


def combine(
    const int32_t[::1] ids, const float[::1] values, const int64_t[::1] begin,
    const int64_t[::1] count, bint shared, const float[:, ::1] table, float[:, ::1] out,
    int n_threads,
):
    """OUT out[i], the sum of ``values[e] * table[ids[e]]`` over the list of sample i.

    Parameters
    ----------
    ids, values : IN, entries of the lists
    begin, count : IN (n,), where the list of each sample begins, and its length
    shared : IN, whether all lists have the ids 0, 1, ... in `ids` (dense rows)
    table : IN (n_rows, n_columns)
    out : OUT (n, n_columns)
    """
    cdef Py_ssize_t i
    cdef const int32_t* first = &ids[0] if ids.shape[0] else NULL
    cdef const float* data = &values[0] if values.shape[0] else NULL
    # &out[i, 0] would lie outside.
    if out.shape[1] == 0:
        return
    for i in prange(out.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        combine_row(
            first if shared else first + begin[i], data + begin[i], count[i], table, &out[i, 0]
        )


def group(
    const int32_t[::1] ids, const float[::1] values, const int64_t[::1] begin,
    const int64_t[::1] count, bint shared, const float[::1] factor,
    int32_t[::1] place, int32_t[::1] touched, int64_t[::1] starts, int32_t[::1] sample,
    float[::1] value,
):
    """The entries of all lists, other than zeros, row by row of the table.

    Parameters
    ----------
    ids, values, begin, count, shared : IN, as for `combine`
    factor : IN (n,), of the values of each sample
    place : SCRATCH (n_rows of the table,), -1 everywhere before and after
    touched : OUT, the rows, in the order of their first entries; capacity for all entries or rows
    starts : OUT, one longer, where the entries of each row begin
    sample, value : OUT, the entries; capacity for all

    Returns
    -------
    n_touched : int
    """
    cdef int64_t i, e, at, n = 0
    cdef int32_t k, u
    # A counting sort in two walks over the lists: entries of each row in the order of the samples,
    # whatever the number of threads, since this runs in one.
    starts[0] = 0
    with nogil:
        for i in range(begin.shape[0]):
            for e in range(count[i]):
                if values[begin[i] + e] == 0 or factor[i] == 0:
                    continue
                k = ids[e if shared else begin[i] + e]
                if place[k] < 0:
                    # `touched` has room for all entries or all rows of the table, whichever are
                    # fewer.
                    place[k] = <int32_t>n
                    touched[n] = k
                    starts[n + 1] = 0
                    n += 1
                starts[place[k] + 1] += 1
        # Counts become starts; the second walk moves each to the end of its row.
        for u in range(n):
            starts[u + 1] += starts[u]
        for i in range(begin.shape[0]):
            for e in range(count[i]):
                if values[begin[i] + e] == 0 or factor[i] == 0:
                    continue
                u = place[ids[e if shared else begin[i] + e]]
                at = starts[u]
                sample[at] = <int32_t>i
                value[at] = factor[i] * values[begin[i] + e]
                starts[u] = at + 1
        # Each start is the end of the row before: shifted by one place they are starts again.
        for u in range(n, 0, -1):
            starts[u] = starts[u - 1]
        starts[0] = 0
        for u in range(n):
            # Only what was touched: a walk over the table would cost more than the step.
            place[touched[u]] = -1
    return n


cdef void proxy_gradient(
    float* gradient, const float* row, const int32_t[::1] bounds
) noexcept nogil:
    """From the gradient in the columns (2 y, -||y||^2) of each chunk to that in y."""
    cdef int64_t j, c, last
    cdef float total
    for j in range(bounds.shape[0] - 1):
        last = bounds[j + 1] - 1
        # Scores are <2 x, y> - ||y||^2 in the columns (y, -||y||^2) of a chunk: by the chain rule
        # the gradient of the last column counts -2 y for the others, and the column itself has no
        # step.
        total = gradient[last]
        gradient[last] = 0
        for c in range(bounds[j], last):
            gradient[c] -= 2 * total * row[c]


cdef void refresh_norms(float* row, const int32_t[::1] bounds) noexcept nogil:
    cdef int64_t j, last
    cdef double square
    for j in range(bounds.shape[0] - 1):
        last = bounds[j + 1] - 1
        sum_of_squares(row + bounds[j], last - bounds[j], &square)
        row[last] = <float>-square


cdef dispatched shrink(float* row, const float* strength, float due, int64_t n) noexcept nogil:
    """The ridge that is due: each weight times about e^-x, x the rates due times its strength."""
    # 1 / (1 + x + x^2 / 2 + x^3 / 6) in place of e^-x: a loop of vectors, and no x is too large.
    cdef int64_t c
    cdef float x
    for c in range(n):
        x = due * strength[c]
        row[c] /= 1 + x * (1 + x * (<float>0.5 + x * <float>(1.0 / 6)))


cdef dispatched draw_in(float* row, const float* strength, float rate, int64_t n) noexcept nogil:
    """The ridge of one step, implicitly: where the loss alone would lead, divided by 1 + x."""
    # (w - r g) / (1 + r alpha) = w if g + alpha w = 0: the point that does not move is that of the
    # objective, whatever the rate r.
    cdef int64_t c
    for c in range(n):
        row[c] /= 1 + rate * strength[c]


cdef void move(
    float* row, float* gradient, int64_t n_columns, float* squares, float rate,
    const int32_t[::1] norms, const float* strength, double* settled, double before, double now
) noexcept nogil:
    """A step of one row against its gradient, which is overwritten.

    `strength` is NULL where there is no ridge; `settled` is the sum of rates up to which that of
    this row has been taken off, `before` and `now` are these sums around this step.
    """
    cdef double square
    if norms.shape[0]:
        proxy_gradient(gradient, row, norms)
    # The ridge goes by the metric of the step: Adagrad divides both rates by the root of the
    # squares, for else the two balance elsewhere than at the minimum of the objective. What is owed
    # from before is taken off first, with the squares that held then.
    if strength != NULL and squares[0] > 0 and settled[0] < before:
        shrink(row, strength, <float>((before - settled[0]) / sqrt(squares[0])), n_columns)
    if squares != NULL:
        sum_of_squares(gradient, n_columns, &square)
        squares[0] += <float>square
        # No gradient so far, no step: 0 / 0.
        rate = <float>(rate / sqrt(squares[0])) if squares[0] > 0 else 0
    add_multiple(row, gradient, -rate, n_columns)
    if strength != NULL:
        if squares[0] > 0:
            draw_in(row, strength, <float>((now - before) / sqrt(squares[0])), n_columns)
        settled[0] = now
    # The row has moved: its last columns follow.
    if norms.shape[0]:
        refresh_norms(row, norms)


cdef void sum_of_entries(
    const int32_t* sample, const float* value, int64_t n, const float[:, ::1] source,
    float* gradient
) noexcept nogil:
    cdef int64_t e, c, n_columns = source.shape[1]
    for c in range(n_columns):
        gradient[c] = 0
    for e in range(n):
        add_multiple(gradient, &source[sample[e], 0], value[e], n_columns)


cdef class Entries:
    """The entries of the rows touched, from `group`, and how many rows these are."""

    cdef const int32_t[::1] touched, sample
    cdef const int64_t[::1] starts
    cdef const float[::1] value
    cdef int64_t n_touched

    def __init__(self, touched, starts, sample, value, int64_t n_touched):
        self.touched, self.starts, self.sample, self.value = touched, starts, sample, value
        self.n_touched = n_touched


cdef class Ridge:
    """The ridge of a step.

    Parameters
    ----------
    strength : (n_columns,), on each column, of size 0 for none; only with squares
    settled : (n_rows,), the sum of rates up to which a row has borne its ridge; of size 0 where
        strength is
    before, now : that sum before the step, and after
    """

    cdef const float[::1] strength
    cdef double[::1] settled
    cdef double before, now

    def __init__(self, strength, settled, double before, double now):
        self.strength, self.settled, self.before, self.now = strength, settled, before, now


def step(
    Entries entries, const float[:, ::1] source, float[:, ::1] table, float[::1] squares,
    float rate, const int32_t[::1] norms, Ridge bearing, float[:, ::1] scratch, int n_threads,
):
    """A step of the rows touched, against the sum of ``value * source[sample]`` over their entries.

    Parameters
    ----------
    entries : IN
    source : IN (n, n_columns)
    table : IN/OUT (n_rows, n_columns)
    squares : IN/OUT (n_rows,), the sum of the squared lengths of the gradients of each row, by
        whose root its rate is divided (Adagrad, row by row); of size 0 for plain steps
    rate : IN
    norms : IN, of size 0, or the bounds of chunks whose last columns hold minus the squared length
        of the others: they follow, and their gradient counts for the others
    bearing : IN/OUT
    scratch : SCRATCH (n_threads, n_columns)
    """
    cdef int64_t u, k, n_touched = entries.n_touched, n_columns = table.shape[1]
    cdef int thread = 0
    cdef const int32_t[::1] touched = entries.touched, sample = entries.sample
    cdef const int64_t[::1] starts = entries.starts
    cdef const float[::1] value = entries.value, strength = bearing.strength
    cdef double[::1] settled = bearing.settled
    cdef double before = bearing.before, now = bearing.now
    cdef bint adaptive = squares.shape[0] > 0, ridge = strength.shape[0] > 0
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        for u in prange(n_touched, schedule="dynamic", chunksize=16):
            if u + AHEAD < n_touched:
                prefetch_floats(&table[touched[u + AHEAD], 0], n_columns)
            # Rows are distinct, so that no two threads write to the same one.
            k = touched[u]
            sum_of_entries(
                &sample[starts[u]], &value[starts[u]], starts[u + 1] - starts[u], source,
                &scratch[thread, 0],
            )
            move(
                &table[k, 0], &scratch[thread, 0], n_columns,
                &squares[k] if adaptive else NULL, rate, norms, &strength[0] if ridge else NULL,
                &settled[k] if ridge else NULL, before, now,
            )


def step_all(
    float[:, ::1] table, float[:, ::1] gradient, float[::1] squares, float rate,
    const int32_t[::1] norms, const float[::1] strength, double[::1] settled, double before,
    double now, int n_threads,
):
    """A step of all rows against their gradients, which are overwritten; see `step`."""
    cdef int64_t k
    cdef bint adaptive = squares.shape[0] > 0, ridge = strength.shape[0] > 0
    for k in prange(table.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        move(
            &table[k, 0], &gradient[k, 0], table.shape[1], &squares[k] if adaptive else NULL,
            rate, norms, &strength[0] if ridge else NULL, &settled[k] if ridge else NULL, before,
            now,
        )


def settle(
    float[:, ::1] table, const float[::1] squares, const int32_t[::1] norms,
    const float[::1] strength, double[::1] settled, double now, int n_threads,
):
    """Take off the ridge that rows still owe; those without a gradient so far owe none."""
    cdef int64_t k
    for k in prange(table.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        # Without a gradient a row has no metric: it stays, and `Ridge.forget_untouched` puts it to
        # 0.
        if squares[k] > 0 and settled[k] < now:
            shrink(
                &table[k, 0], &strength[0], <float>((now - settled[k]) / sqrt(squares[k])),
                table.shape[1],
            )
            if norms.shape[0]:
                refresh_norms(&table[k, 0], norms)
        settled[k] = now
