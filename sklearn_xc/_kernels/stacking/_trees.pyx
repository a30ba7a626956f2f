"""Sums of regression trees over columns of features.

A tree is not walked down [1]_: every inner node has a mask of the leaves that are still possible
where its feature exceeds its threshold, all but those on its left. The first leaf, from the left,
that is in the masks of all such nodes is the one that a walk would end in. There is nothing to
mispredict, and many rows share an instruction. A tree has 64 leaves at most.

Every sum gathers its trees in their order, in float64, so that it has the bits of scikit-learn's.

.. [1] C. Lucchese et al. QuickScorer: a fast algorithm to rank documents with additive ensembles
   of regression trees. SIGIR 2015.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t

from sklearn_xc._kernels.common._common cimport dispatched

cdef extern from *:
    int trailing_zeros "__builtin_ctzll"(unsigned long long x) noexcept nogil

# Rows that go through a tree together: their masks are 512 bytes, and a column of theirs is eight
# lines of cache.
cdef enum:
    GROUP = 64


cdef dispatched narrow(
    const double* x, double threshold, uint64_t mask, int64_t n, uint64_t* possible
) noexcept nogil:
    """Take the leaves on the left away from the rows that exceed a threshold."""
    cdef int64_t i
    cdef uint64_t all_leaves = ~(<uint64_t>0)
    # A mask is chosen, not jumped to: the loop becomes instructions on several rows at once. NaN
    # does not exceed and goes to the left.
    for i in range(n):
        possible[i] &= mask if x[i] > threshold else all_leaves


cdef void add_tree(
    const double* x, int64_t n_rows, int64_t n, const int32_t* feature, const double* threshold,
    const uint64_t* mask, int64_t n_nodes, const double* leaves, int64_t n_leaves, double* out,
) noexcept nogil:
    """Add the leaf of each of n rows; feature j of theirs begins at ``x + j * n_rows``."""
    cdef uint64_t possible[GROUP]
    cdef int64_t i, e, leaf
    for i in range(n):
        possible[i] = ~(<uint64_t>0)
    for e in range(n_nodes):
        narrow(x + feature[e] * n_rows, threshold[e], mask[e], n, possible)
    # Leaves are numbered from the left, so the lowest bit that is left is the leaf of a walk. Masks
    # of a broken file may leave none, or a leaf that there is not.
    for i in range(n):
        leaf = trailing_zeros(possible[i]) if possible[i] else n_leaves
        if leaf < n_leaves:
            out[i] += leaves[leaf]


def add_trees(
    const double[:, ::1] columns, const int64_t[::1] starts, const int32_t[::1] feature,
    const double[::1] threshold, const uint64_t[::1] mask, const int64_t[::1] leaf_starts,
    const double[::1] leaves, double[::1] out, int n_threads,
):
    """Add the value of the leaf of each tree to each row.

    Parameters
    ----------
    columns : IN (n_features, n_rows)
    starts : IN (n_trees + 1,), where the inner nodes of each tree begin
    feature, threshold, mask : IN (n_inner_nodes,)
    leaf_starts : IN (n_trees + 1,), where the leaves of each tree begin, from the left to the right
    leaves : IN (n_leaves,), their values
    out : IN/OUT (n_rows,)
    n_threads : int
    """
    cdef Py_ssize_t n_features = columns.shape[0], n_rows = columns.shape[1]
    cdef Py_ssize_t n_groups = (n_rows + GROUP - 1) // GROUP, n_trees = starts.shape[0] - 1
    cdef Py_ssize_t g, t, e, first, n_nodes = min(feature.shape[0], threshold.shape[0])
    n_nodes = min(n_nodes, mask.shape[0])
    # All that loops rely on is checked here, once a call, as it may come from a file.
    if leaf_starts.shape[0] != n_trees + 1 or out.shape[0] != n_rows:
        raise ValueError("leaves of other trees, or sums of other rows")
    for t in range(n_trees):
        if not (0 <= starts[t] <= starts[t + 1] <= n_nodes):
            raise ValueError("nodes of trees that do not follow one another")
        if not (0 <= leaf_starts[t] < leaf_starts[t + 1] <= leaves.shape[0]):
            raise ValueError("leaves of trees that do not follow one another")
    for e in range(n_nodes):
        if not 0 <= feature[e] < n_features:
            raise ValueError("a tree looks at a feature that there is not")
    # Trees of a single leaf have no nodes, and empty arrays no address.
    if n_rows == 0 or n_trees < 1 or n_nodes == 0:
        for t in range(n_trees):
            for e in range(n_rows):
                out[e] += leaves[leaf_starts[t]]
        return
    # A thread has groups of its own and takes the trees in their order: sums have the same bits.
    for g in prange(n_groups, schedule="static", num_threads=n_threads, nogil=True):
        first = g * GROUP
        for t in range(n_trees):
            add_tree(
                &columns[0, first], n_rows, min(GROUP, n_rows - first), &feature[0] + starts[t],
                &threshold[0] + starts[t], &mask[0] + starts[t], starts[t + 1] - starts[t],
                &leaves[leaf_starts[t]], leaf_starts[t + 1] - leaf_starts[t], &out[first],
            )
