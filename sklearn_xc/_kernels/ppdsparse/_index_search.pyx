"""The search for violating samples among those that an index over dense rows names.

The violators of a class are rows of large <w, x>: a search for inner products, which an index may
answer without reading all rows.  It may miss some, so the loss of the active set and of the rows
named is an estimate: it tells when a search of all rows is due, and never ends a class.
"""

from libc.stdint cimport int32_t

import numpy as np

from sklearn_xc._kernels.common._common cimport interrupted
from sklearn_xc._kernels.ppdsparse._active_set cimport Workspace
from sklearn_xc._kernels.ppdsparse._listed_rows cimport find_primal
from sklearn_xc._kernels.ppdsparse._problem cimport Problem
from sklearn_xc._kernels.ppdsparse._types cimport LANES, Lane, Settings
from sklearn_xc._kernels.ppdsparse._violator_search cimport finish_search, prepare_search

# Of a query, in the units of `operations`, for each row that it names.
cdef double NAMED = 2000.0


cdef void take_named(
    Workspace work, Py_ssize_t c, Problem problem, const int32_t[:, ::1] named, Py_ssize_t line
) noexcept nogil:
    """The rows of a line that the lane does not know and that have a weight; -1 stands for none."""
    cdef Lane *lane = &work.lanes[c]
    cdef Py_ssize_t q
    cdef int32_t i
    for q in range(named.shape[1]):
        i = named[line, q]
        if i < 0 or (work.member[i] >> c) & 1 or problem.sample_weight[i] == 0:
            continue
        work.candidates[c, lane.n_candidates] = i
        lane.n_candidates += 1


cdef int search_index(
    Workspace work,
    const Settings *settings,
    Problem problem,
    bint warm_up,
    const int32_t[::1] stop,
    double *operations,
) except -1 nogil:
    """One query for the classes in work, to warm up for the new ones.

    It asks for as many rows as a class knows and takes in.
    """
    cdef Py_ssize_t c, wide = 0, line = 0
    cdef const int32_t[:, ::1] named
    prepare_search(work, settings, problem, 0, warm_up)
    for c in range(LANES):
        if work.lanes[c].searched:
            wide = max(wide, work.lanes[c].n_active + work.lanes[c].n_select)
    wide = min(wide, problem.X.n_rows)
    with gil:
        searched = [c for c in range(LANES) if work.lanes[c].searched]
        queries = np.ascontiguousarray(np.asarray(work.ordered)[:, searched].T)
        named = problem.X.index.candidates(queries, wide)
    for c in range(LANES):
        if work.lanes[c].searched:
            take_named(work, c, problem, named, line)
            find_primal(work, c, settings, problem, NULL, 0)
            work.lanes[c].n_visits += wide
            line += 1
    finish_search(work)
    operations[0] += line * wide * NAMED
    interrupted(stop, operations)
    return 0
