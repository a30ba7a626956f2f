"""How many threads the next step of a loop should have: all, or one.

Each step of a mini-batch loop enters some short parallel regions, and at the end of each the
threads wait for the last one. On a busy machine that is one which the system has put aside for
another program, for milliseconds; the step of a fraction of a millisecond then takes many times
what one thread alone would have taken. Nothing tells in advance, so it is tried: `Pace` times
windows of steps on all threads and on one, stays with the faster, and tries the other one again now
and then. What trials lose by being slower is kept to a small share of all the time: they wait until
as much has been saved up, and are given up as soon as it is spent.

Results never depend on the number of threads, so that none depends on time.
"""

cdef extern from "_pace.h" nogil:
    double now "xc_now"()
    int run_alone "xc_run_alone"()
    void restore "xc_restore"(int levels)
    int threads_of_region "xc_threads_of_region"(int n_threads)
    int release_before_forks "xc_release_before_forks"()

cdef extern from *:
    """
    #ifdef _OPENMP
    #define XC_OPENMP 1
    #else
    #define XC_OPENMP 0
    #endif
    """
    const bint XC_OPENMP

cdef double WINDOW = 0.01  # seconds: some turns of a scheduler that gives a program 3 ms or so
cdef double START = 0.006  # what the first trials may lose, in seconds ...
cdef double SHARE = 0.02  # ... and later ones, as a share of the time
cdef double LEAST = 0.002  # what a trial that lost little counts as: luck is not tried every time
cdef double NEWER = 0.3  # weight of the newest window
cdef double BETTER = 0.97  # a trial has to be so much better


def openmp_enabled():
    """Whether this build can run on several threads."""
    return bool(XC_OPENMP)


cdef class Pace:
    """Chooses the threads of steps that are alike, by their times.

    Used as a context around a step, whose regions run on one thread where that is faster. Not for
    two loops at the same time.

    Parameters
    ----------
    n_threads : int
        The threads that regions ask for.
    """

    def __init__(self, int n_threads):
        self.n_threads = n_threads
        self.arm, self.on_trial = 1, False
        self.seconds = self.work = 0
        self.n_steps = 0
        self.cost[:] = [0, 0]
        self.longest[:] = [0, 0]
        self.price[:] = [0, 0]
        self.credit, self.amount, self.levels = START, 1, -1

    cdef int begin(self) noexcept nogil:
        """A step begins; returns the threads that it should have."""
        if self.n_threads > 1:
            self.began = now()
        return self.n_threads if self.arm else 1

    cdef void end(self, double work) noexcept nogil:
        """The step is done, which was so much work in any unit."""
        if self.n_threads > 1:
            self.add(now() - self.began, work)

    cdef void add(self, double seconds, double work) noexcept nogil:
        """Count a step of this window, and end the window if it has taken long enough."""
        cdef double home
        if self.seconds == 0 or seconds > self.longest[self.arm]:
            self.longest[self.arm] = seconds
        self.seconds += seconds
        self.work += work
        self.n_steps += 1
        self.credit += SHARE * seconds
        # What the steps of this window would have taken on the other arm: a trial that has lost all
        # that it may ends at once, not at the end of its window.
        home = self.cost[1 - self.arm] * self.work
        if self.on_trial and self.seconds - home > max(self.credit, LEAST):
            self.end_window()
        elif self.seconds >= WINDOW:
            # The newest window of a trial replaces what was known; at home a mean with weights
            # that fall exponentially smooths the windows.
            if self.on_trial or self.cost[self.arm] == 0:
                self.cost[self.arm] = self.seconds / self.work
            else:
                self.cost[self.arm] += NEWER * (self.seconds / self.work - self.cost[self.arm])
            self.end_window()

    cdef void end_window(self) noexcept nogil:
        """Say which arm the next window is on."""
        cdef int other = 1 - self.arm
        cdef double cost = self.seconds / self.work if self.work > 0 else 0
        cdef double loss = self.seconds - self.cost[other] * self.work
        # A trial is over: its arm becomes the home if it was faster by more than chance, and else
        # pays what it has lost. The next trial of an arm costs about what the last one did.
        if self.on_trial:
            self.price[self.arm] = max(loss, LEAST)
            self.on_trial = False
            if cost > BETTER * self.cost[other]:
                self.credit -= max(loss, 0)
                self.cost[self.arm] = cost
                self.arm = other
            else:
                # a trial of the slower arm has one step at least, and loses this share of it
                loss = (1 - cost / self.cost[other]) * self.longest[other]
                self.price[other] = max(loss, LEAST)
        # At home, which has become slower than the other arm last was: there at once.
        elif self.cost[other] > 0 and self.cost[self.arm] > self.cost[other]:
            self.credit -= max(loss, 0)
            self.arm, self.on_trial = other, True
        else:
            # At home, which is the faster one: a trial once its price has been saved up.
            if self.cost[other] == 0 and self.price[other] == 0:
                # One step at least, which on one thread takes at most n times as long; a quarter of
                # that is waited for: where threads wait for each other, they do from the start.
                loss = (self.n_threads - 1) * self.seconds / self.n_steps
                self.price[other] = max(WINDOW / 2, loss / 4)
            if self.credit >= self.price[other]:
                self.arm, self.on_trial = other, True
        # what has been saved up over a long time must not pay for many trials in a row
        self.credit = min(self.credit, max(START, self.price[1 - self.arm]))
        self.seconds = self.work = 0
        self.n_steps = 0

    def on(self, double work):
        """This object, for a step of so much work: ``with pace.on(len(batch)): ...``."""
        self.amount = work
        return self

    def __enter__(self):
        if self.begin() < self.n_threads:
            self.levels = run_alone()
        return self

    def __exit__(self, *_):
        self.end(self.amount)
        if self.levels >= 0:
            restore(self.levels)
            self.levels = -1

    def next_threads(self):
        """The threads that the next step will have."""
        return self.n_threads if self.arm else 1

    def took(self, double seconds, double work=1):
        """Tell of a step that was timed elsewhere."""
        self.add(seconds, work)


def region_size(int n_threads):
    """The threads that a region gets which asks for this many here and now."""
    return threads_of_region(n_threads)


if release_before_forks():
    raise MemoryError("no room to register what has to be done before a fork")
