"""Types of the three parts of PPDSparse: the settings and the state of one class in work.

Sixteen classes are solved side by side, each in its lane; one that is solved alone, by a search of
columns, has the first.  A lane's dual variables live on its active set only; v = sum_i a_i y_i x_i
lives on the features that active samples touch.
"""

from libc.stdint cimport int32_t, uint64_t

from sklearn_xc._kernels.ppdsparse._losses cimport Loss

cdef enum:
    LANES = 16  # one AVX-512 register of float32
    IDLE = -1
    VECTOR = 4  # entries of a row in a vector
    CHUNK = 4096  # rows whose scores of sixteen classes (256 KiB) stay in the second-level cache


# Parameters of the estimator, the penalties in the units of the problem's rows.
cdef struct Settings:
    float l1
    float l2
    Loss loss
    bint intercept
    double tol  # relative duality gap at which a class is done
    int max_iter  # outer rounds
    int n_select  # kappa, or 0: the larger of 100 and the active set
    bint sparsify  # Algorithm 3 in the search
    double delta
    float prune
    uint64_t seed


# Members that `start_class` leaves alone are written before they are read: by the publication of
# weights, by a search or by the sum of the dual objective.
cdef struct Lane:
    int32_t label  # the class in this lane, or IDLE
    bint fresh  # whether it began without the negatives of an earlier fit
    bint searched  # whether the search at hand is for this lane too
    bint whole  # whether the last search has the losses of all rows
    bint waits  # for the next search, while one serves new classes only
    bint compact  # whether its rows stay copied between searches, with features by number
    float positive_weight  # of the loss of positives, of negatives
    float negative_weight
    Py_ssize_t n_touched
    Py_ssize_t n_candidates
    Py_ssize_t n_select  # kappa in this round
    double bias  # s_0 = sum_i a_i y_i
    double fresh_bias  # the same, summed afresh
    double anchor  # intercept, to which the next pass holds by so much (`_dual_descent`)
    double hold
    float precision  # smaller violations of the margin are left alone
    float threshold  # a score above it makes a negative a candidate
    float intercept  # of the last search, or a lower one at which its objective is smaller
    double loss  # of all samples at the scores of the last search
    double primal  # objective at the weights and the intercept of the last search
    bint kept  # whether the weights of the lowest of all searches are kept, see `_listed_rows`
    double lowest_primal
    float lowest_intercept
    bint dual_known  # whether what follows is of the dual variables as they are
    double dual  # objective
    double gap  # relative, of the last search
    bint sparsified  # whether that search had a sparse copy of the weights
    int n_iter
    double n_visits  # rows of X read; those of a search are shared by the lanes
    uint64_t rng


cdef struct DualsOf:  # of one class, from an earlier fit or another solver; perhaps none
    Py_ssize_t n
    const int32_t *rows
    const float *values


cdef extern from "ppdsparse/_thresholded.h" nogil:
    # S(value) = value - min(max(value, -level), level)
    float soft_threshold "xc_soft_threshold" (float value, float level)
    # sum_e S(v[places[e]]) x[e] over n entries
    float thresholded_dot "xc_thresholded_dot" (
        const int32_t *places, const float *x, Py_ssize_t n, const float *v, float level
    )
    # v[places[e]] += change * x[e]
    void add_entries "xc_add_entries" (
        const int32_t *places, const float *x, Py_ssize_t n, float change, float *v
    )


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """Return the length of a copied row, filled up to whole vectors of `thresholded_dot`."""
    return (n + VECTOR - 1) & ~<Py_ssize_t>(VECTOR - 1)
