from sklearn_xc._kernels.ppdsparse._class_state cimport ClassState
from sklearn_xc._kernels.ppdsparse._types cimport Settings


cdef int descend(
    ClassState state, const Settings *settings, int n_passes, double precision, float tiny
) except -1 nogil
