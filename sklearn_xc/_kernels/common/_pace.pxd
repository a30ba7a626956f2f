"""How many threads the next step of a loop should have; see the `.pyx`."""


cdef class Pace:
    cdef readonly int n_threads
    cdef public int arm  # of the steps of this window: 0 for one thread, 1 for all
    cdef bint on_trial
    cdef double seconds, work  # of this window
    cdef long n_steps
    cdef double cost[2]  # seconds for one unit of work; 0 while not known
    cdef double longest[2]  # seconds of a step, in the last window
    cdef double price[2]  # what a trial is likely to lose
    cdef double credit  # what trials may lose
    cdef double began  # when this step did
    cdef double amount  # of its work
    cdef int levels

    cdef int begin(self) noexcept nogil
    cdef void end(self, double work) noexcept nogil
    cdef void add(self, double seconds, double work) noexcept nogil
    cdef void end_window(self) noexcept nogil
