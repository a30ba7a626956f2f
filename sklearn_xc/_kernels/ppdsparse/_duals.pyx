"""Dual variables from which classes start: of an earlier fit, or as a pruned solver leaves them."""

from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState
from sklearn_xc._kernels.ppdsparse._types cimport DualsOf


cdef class Duals:
    """Classes for the lanes, and for each the dual variables from which it starts, perhaps none."""

    def __init__(self, const int32_t[::1] labels=None, tuple dual=()):
        cdef const int64_t[::1] indptr
        cdef const int32_t[::1] rows
        cdef const float[::1] data
        cdef Py_ssize_t q, e
        self.indptr.push_back(0)
        if dual:
            indptr, rows, data = dual
        for q in range(0 if labels is None else labels.shape[0]):
            self.labels.push_back(labels[q])
            if dual:
                for e in range(indptr[labels[q]], indptr[labels[q] + 1]):
                    self.rows.push_back(rows[e])
                    self.data.push_back(data[e])
            self.indptr.push_back(self.rows.size())

    cdef DualsOf of_class(self, Py_ssize_t q) noexcept nogil:
        cdef DualsOf found
        found.n = self.indptr[q + 1] - self.indptr[q]
        found.rows = self.rows.data() + self.indptr[q]
        found.values = self.data.data() + self.indptr[q]
        return found

    cdef int append(self, int32_t label, ClassState state, DualsOf known) except -1 nogil:
        """A class as a pruned solver leaves it, or with what was known where it did not begin."""
        cdef Py_ssize_t a
        self.labels.push_back(label)
        for a in range(<Py_ssize_t>state.members.size()):
            self.rows.push_back(state.members[a].row)
            self.data.push_back(state.members[a].alpha)
        for a in range(0 if state.members.size() else known.n):
            self.rows.push_back(known.rows[a])
            self.data.push_back(known.values[a])
        self.indptr.push_back(self.rows.size())
        return 0
