/* What the kernels need of the OpenMP library in addition to loops: a clock, one thread for a while, and
   threads that are given back before a fork. Without OpenMP there is nothing to ask. */

#ifndef XC_PACE_H
#define XC_PACE_H

#ifdef _OPENMP
#include <omp.h>
#endif

/* Seconds from some moment on; only used where there are threads to choose between. */
static double xc_now(void) {
#ifdef _OPENMP
    return omp_get_wtime();
#else
    return 0;
#endif
}

/* Have the regions that this thread enters run on it alone; returns what `xc_restore` wants. With
   OpenMP 2 (Visual C++) it cannot be said, and regions go on with the threads they ask for. */
static int xc_run_alone(void) {
#if defined(_OPENMP) && _OPENMP >= 200805
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    return levels;
#else
    return 0;
#endif
}

static void xc_restore(int levels) {
#if defined(_OPENMP) && _OPENMP >= 200805
    omp_set_max_active_levels(levels);
#else
    (void)levels;
#endif
}

/* The threads that a region of this size really gets. */
static int xc_threads_of_region(int n_threads) {
    int n = 1;
#ifdef _OPENMP
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp single
        n = omp_get_num_threads();
    }
#else
    (void)n_threads;
#endif
    return n;
}

/* GCC's library keeps the threads of a region for the next one of the same thread. A forked child
   has that list, but not the threads, and would wait for them for ever. Given back before the fork
   (OpenMP 5, since GCC 9), they are started again by either side. LLVM's library sees to forks by
   itself. */
#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__) && !defined(_WIN32)
#if __GNUC__ >= 9
#define XC_RELEASES 1
#endif
#endif

#ifdef XC_RELEASES
#include <pthread.h>

static void xc_release(void) { omp_pause_resource_all(omp_pause_soft); }

/* Also for forks that Python does not make, such as those of a server written in C. */
static int xc_release_before_forks(void) { return pthread_atfork(xc_release, NULL, NULL); }
#else
static int xc_release_before_forks(void) { return 0; }
#endif

#endif
