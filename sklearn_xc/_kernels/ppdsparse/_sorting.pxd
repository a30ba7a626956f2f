cdef extern from "ppdsparse/_sorting.h" nogil:
    # Records with the members `key` and `feature`, in C++ only
    void sort_by_key "xc_sort_by_key"[T](T *records, Py_ssize_t n)
