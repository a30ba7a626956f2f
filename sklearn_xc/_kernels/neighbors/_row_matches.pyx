"""The rows that share a feature with a query, over inverted lists without columns."""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._rows cimport Row, Rows, pointers_to_rows, row_at
from sklearn_xc._kernels.neighbors._lists cimport Lists, Pointers, Term, open_terms

cdef enum:
    CHUNK = 4  # queries that a thread takes at a time


cdef int64_t match(
    Row query, Pointers lists, int32_t* ids, float* scores, int64_t room, int32_t* places,
    Term* terms,
) noexcept nogil:
    """The rows that share a feature with the query, each once, in the order of the lists.

    Returns their number. ``places`` holds one more than the place of each row among them, and
    zeros for other rows.
    """
    cdef int64_t c, p, n_found = 0, n = open_terms(query, lists, terms)
    cdef int32_t row
    for c in range(n):
        if terms[c].column != NULL:
            continue
        for p in range(terms[c].place, terms[c].stop):
            row = lists.rows[p]
            if row < 0 or row >= lists.n_rows:
                continue
            if places[row] == 0:
                if n_found == room:
                    continue
                ids[n_found], scores[n_found] = row, 0
                n_found += 1
                places[row] = <int32_t>n_found
            scores[places[row] - 1] += terms[c].value * lists.values[p]
    return n_found


def matches(
    const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] data,
    Lists lists, const int64_t[::1] starts, int32_t[::1] ids, float[::1] scores,
    int64_t[::1] counts, int32_t[:, ::1] scratch, int64_t[:, :, ::1] terms, int n_threads,
):
    """The rows that share a feature with each query, and their scores.

    Parameters
    ----------
    indptr, indices, data : IN, sparse queries (see `utils/_matrix.Rows`)
    lists : IN, without columns
    starts : IN (n_queries + 1,), where the answer to each may begin: room for all entries of the
        query's lists, but never more than n_rows
    ids, scores : OUT, the answers
    counts : OUT (n_queries,), how many rows each has
    scratch : IN/OUT (n_threads, n_rows), zero before and after
    terms : OUT (n_threads, longest query, words_of_a_term())
    """
    cdef Py_ssize_t i, e, n_queries = counts.shape[0]
    cdef int mine
    cdef Pointers pointers
    cdef Rows queries
    if n_queries == 0 or lists.n_rows == 0 or ids.shape[0] == 0:
        return
    pointers = lists.pointers()
    queries = pointers_to_rows(indptr, indices, data, False)
    with nogil, parallel(num_threads=n_threads):
        mine = threadid()
        for i in prange(n_queries, schedule="dynamic", chunksize=CHUNK):
            if starts[i] == starts[i + 1]:
                continue
            counts[i] = match(
                row_at(queries, i), pointers, &ids[starts[i]], &scores[starts[i]],
                starts[i + 1] - starts[i], &scratch[mine, 0], <Term*>&terms[mine, 0, 0],
            )
            for e in range(starts[i], starts[i] + counts[i]):
                scratch[mine, ids[e]] = 0
