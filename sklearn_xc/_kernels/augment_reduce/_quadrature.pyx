"""Probabilities of the multinomial probit and logistic models, by quadrature (A&R, eq. 5).

With t the realised utility of class k, F(t) the sum of log Phi(t - psi_k') over all classes k' and
h = phi / Phi,

    p_k = integral of exp(F(t)) h(t - psi_k) dt,

so that nodes t and sums F(t) are shared by all classes of a row. What keeps a row cheap and exact:

* p_k depends on k through psi_k alone. F is the sum of one smooth function over the scores and
  log p_k another smooth function of the score: where more than ORDER classes lie in an interval of
  length 1, both go through its Chebyshev points, and a row costs O(K + points * nodes). The
  nearest singularities, zeros of Phi, are 2.8 off the real axis (probit) or pi (logistic), so that
  the interpolation error is of the order of ((2.8 + sqrt(2.8^2 + 1/4)) / (1/2))^-ORDER = 2e-15.
* The nodes are those of the trapezoidal rule in s with t = best score + width * sinh(s). In t the
  integrand is entire (probit) or has its poles at distance pi (logistic): the rule converges
  geometrically. The largest of K Gaussians spreads by 1 / sqrt(2 log K), hence a step that shrinks
  with K: 0.3 of that spread, which for its limit, Gumbel's density, leaves an error of 1e-13. Steps
  that grow outwards reach the classes far below the best.
* The integrands of two classes have a ratio that is monotone in t. So the lowest class decides how
  far to the left nodes are needed and the best one how far to the right; both walks end where the
  integrand, which has one peak, is below e^-NEGLIGIBLE of its maximum.

A score DEPTH or more below the best one adds nothing to F. Its log p is that of a class DEPTH below
the best, plus what the comparison with the best class alone costs on the rest of the way.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, cos, cosh, exp, log, sinh, sqrt
from libc.stdint cimport int32_t

from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.common._math cimport exp64
from sklearn_xc._kernels.augment_reduce._noise cimport (
    PROBIT, gaussian_log_cdf, gaussian_log_density, logistic_log_cdf, logistic_log_density,
    require_model,
)

cdef enum:
    AT_ONCE = 16  # nodes: two AVX-512 registers of float64
    MAX_NODES = 1024
    ORDER = 14  # Chebyshev points of an interval of scores
    DEPTH = 100  # intervals below the best score
    MAX_POINTS = DEPTH * ORDER + 1

cdef double NEGLIGIBLE = 40
cdef double LOWEST = -3.4e38  # minus infinity, but finite in float32

cdef double COSINES[ORDER][ORDER]  # cos(m theta_i), with the Chebyshev points cos(theta_i)

# Beyond this x, log Phi(x) is zero even when it is added up over a million classes.
cdef double[2] FLAT = [9, 45]


cdef struct Row:
    double node[MAX_NODES]  # relative to the best score, as all scores here
    double log_weight[MAX_NODES]
    double log_product[MAX_NODES]  # F
    double exponent[MAX_NODES]
    Py_ssize_t n_nodes
    double point[MAX_POINTS]
    double weight[MAX_POINTS]  # the sum of f over the classes is that of weight * f(point)
    double log_p[MAX_POINTS]
    Py_ssize_t n_points
    int32_t count[DEPTH]  # classes of each interval
    int32_t start[DEPTH]  # and its first point
    double best
    double lowest
    bint has_far  # whether a class lies DEPTH or more below the best; then the last point is there


cdef void fill_cosines():
    cdef Py_ssize_t m, i
    for m in range(ORDER):
        for i in range(ORDER):
            COSINES[m][i] = cos(m * (i + 0.5) * 3.14159265358979323846 / ORDER)


fill_cosines()


# ------------------------------------------------------------------ the scores of a row as points


cdef void place_points(Row* row, const float* score, Py_ssize_t n_classes) noexcept nogil:
    cdef Py_ssize_t k, m, interval, at
    cdef double depth
    cdef int32_t used[DEPTH]
    row.best = score[0]
    row.lowest = 0
    row.has_far = False
    for interval in range(DEPTH):
        row.count[interval] = 0
        used[interval] = 0
    # Scores are taken relative to the best one: row.lowest and points are at most 0, and
    # probabilities do not change.
    for k in range(1, n_classes):
        row.best = max(row.best, <double>score[k])
    for k in range(n_classes):
        depth = row.best - score[k]
        # Interval i holds the classes with a depth in [i, i + 1).
        if depth < DEPTH:
            row.count[<Py_ssize_t>depth] += 1
            row.lowest = min(row.lowest, -depth)
        else:
            row.has_far = True

    row.n_points = 0
    for interval in range(DEPTH):
        row.start[interval] = <int32_t>row.n_points
        # At most ORDER points each, and one for all classes far below: MAX_POINTS suffice.
        row.n_points += min(row.count[interval], <int32_t>ORDER)
    for at in range(row.n_points):
        row.weight[at] = 0
    for k in range(n_classes):
        depth = row.best - score[k]
        # Classes far below add nothing to F: log Phi is 0 where nodes count.
        if not depth < DEPTH:
            continue
        interval = <Py_ssize_t>depth
        at = row.start[interval]
        # Many classes: f summed over them is sum_m moments_m times the coefficients of f, with
        # moments_m = sum over classes of T_m(u), u in [-1, 1).
        if row.count[interval] > ORDER:
            add_moments(2 * (depth - interval) - 1, &row.weight[at])
        else:
            at += used[interval]
            used[interval] += 1
            row.point[at] = -depth
            row.weight[at] = 1
    for interval in range(DEPTH):
        if row.count[interval] > ORDER:
            at = row.start[interval]
            # The same sum as one of weights times f in the Chebyshev points.
            moments_to_weights(&row.weight[at])
            for m in range(ORDER):
                row.point[at + m] = -(interval + 0.5 * (1 + COSINES[1][m]))
    if row.has_far:
        # A point of weight 0: it is integrated for, and not part of F.
        row.lowest = -<double>DEPTH
        row.point[row.n_points] = row.lowest
        row.weight[row.n_points] = 0
        row.n_points += 1


cdef inline void add_moments(double u, double* moments) noexcept nogil:
    """moments[m] += T_m(u), the Chebyshev polynomials."""
    cdef double last = 1, this = u, following
    cdef Py_ssize_t m
    moments[0] += 1
    for m in range(1, ORDER):
        moments[m] += this
        # T_m+1 = 2 u T_m - T_m-1.
        following = 2 * u * this - last
        last = this
        this = following


cdef inline double chebyshev_sum(double u, const double* coefs) noexcept nogil:
    """The sum of coefs[m] T_m(u) (Clenshaw)."""
    cdef double b = 0, last = 0, following
    cdef Py_ssize_t m
    for m in range(ORDER - 1, 0, -1):
        following = coefs[m] + 2 * u * b - last
        last = b
        b = following
    return coefs[0] + u * b - last


cdef inline void moments_to_weights(double* values) noexcept nogil:
    """In place, the transpose of `values_to_coefs`."""
    cdef double moments[ORDER]
    cdef Py_ssize_t m, i
    # Coefficient m of f is (2 - [m = 0]) / ORDER times sum_i f(point_i) cos(m theta_i), so that
    # weight_i is the sum over m of moments_m times these factors.
    for m in range(ORDER):
        moments[m] = values[m] * (1.0 if m == 0 else 2.0) / ORDER
        values[m] = 0
    for m in range(ORDER):
        for i in range(ORDER):
            values[i] += moments[m] * COSINES[m][i]


cdef inline void values_to_coefs(double* values) noexcept nogil:
    """In place, from values in the Chebyshev points to coefficients of the T_m."""
    cdef double coefs[ORDER]
    cdef Py_ssize_t m, i
    for m in range(ORDER):
        coefs[m] = 0
        for i in range(ORDER):
            coefs[m] += values[i] * COSINES[m][i]
    for m in range(ORDER):
        values[m] = coefs[m] * (1.0 if m == 0 else 2.0) / ORDER


# ---------------------------------------------------------------------------------------- nodes


cdef dispatched sum_log_cdf(Row* row, Py_ssize_t first, int model) noexcept nogil:
    """F at AT_ONCE nodes from `first` on."""
    cdef double total[AT_ONCE]
    cdef double x, weight
    cdef Py_ssize_t c, at
    for c in range(AT_ONCE):
        total[c] = 0
    for at in range(row.n_points):
        x = row.point[at]
        weight = row.weight[at]
        # Nodes of a block ascend: log Phi is 0 for all where it is for the first.
        if weight == 0 or row.node[first] - x > FLAT[model]:
            continue
        if model == PROBIT:
            for c in range(AT_ONCE):
                total[c] += weight * gaussian_log_cdf(row.node[first + c] - x)
        else:
            for c in range(AT_ONCE):
                total[c] += weight * logistic_log_cdf(row.node[first + c] - x)
    for c in range(AT_ONCE):
        row.log_product[first + c] = total[c]


cdef void add_block(
    Row* row, Py_ssize_t block, double width, double step, int model
) noexcept nogil:
    cdef Py_ssize_t c, first = row.n_nodes
    cdef double s
    for c in range(AT_ONCE):
        # t = width sinh(s), dt = width cosh(s) ds: the trapezoidal rule in s.
        s = (block * AT_ONCE + c) * step
        row.node[first + c] = width * sinh(s)
        row.log_weight[first + c] = log(width * step * cosh(s))
    row.n_nodes += AT_ONCE
    sum_log_cdf(row, first, model)


cdef double log_integrand(
    const Row* row, Py_ssize_t j, double score, double own, int model
) noexcept nogil:
    """Of a class with this score; `own` is 1 if it is among the points that F sums over, else 0."""
    cdef double x = row.node[j] - score
    # e^F h(t - score), times the weight of the node. F has the class itself among its factors,
    # which phi replaces: phi / Phi. A class that is not among the points has phi alone.
    cdef double common = row.log_weight[j] + row.log_product[j]
    if model == PROBIT:
        return common + gaussian_log_density(x) - own * gaussian_log_cdf(x)
    return common + logistic_log_density(x) - own * logistic_log_cdf(x)


cdef void place_nodes(Row* row, Py_ssize_t n_classes, int model) noexcept nogil:
    """Nodes and F, in blocks from the best score to the right and then to the left."""
    cdef double width, step, left, right, top = -INFINITY, top_of_lowest = -INFINITY
    cdef double own = 0 if row.has_far else 1
    cdef Py_ssize_t block = 0, first
    if model == PROBIT:
        width = 15
        # 0.3 of the spread of the largest of n Gaussians, 1 / sqrt(2 log n) (see above).
        step = 0.3 / width / sqrt(1 + 2 * log(<double>n_classes))
    else:
        width = 25
        step = 0.35 / width
    row.n_nodes = 0
    # To the right of the best score until the integrand of the best class is negligible and falls;
    # that of lower classes is smaller there, by the monotone ratio.
    while row.n_nodes < MAX_NODES // 2:
        first = row.n_nodes
        add_block(row, block, width, step, model)
        left = log_integrand(row, first, row.lowest, own, model)
        right = log_integrand(row, first + AT_ONCE - 1, row.lowest, own, model)
        top_of_lowest = max(top_of_lowest, left, right)
        left = log_integrand(row, first, 0, 1, model)
        right = log_integrand(row, first + AT_ONCE - 1, 0, 1, model)
        top = max(top, left, right)
        if right < left and right < top - NEGLIGIBLE:
            break
        block += 1
    block = -1
    # To the left until that of the lowest class is.
    while row.n_nodes < MAX_NODES:
        first = row.n_nodes
        add_block(row, block, width, step, model)
        left = log_integrand(row, first, row.lowest, own, model)
        right = log_integrand(row, first + AT_ONCE - 1, row.lowest, own, model)
        top_of_lowest = max(top_of_lowest, left, right)
        if left < right and left < top_of_lowest - NEGLIGIBLE:
            break
        block -= 1


# ------------------------------------------------------------------------------------ integrals


cdef dispatched integrate(
    Row* row, double score, double own, int model, double* out
) noexcept nogil:
    """The logarithm of p of a class with this score."""
    cdef double top[AT_ONCE]
    cdef double total[AT_ONCE]
    cdef double x, exponent, highest = -INFINITY, whole = 0
    cdef Py_ssize_t block, first, c
    for c in range(AT_ONCE):
        top[c] = -INFINITY
        total[c] = 0
    # Logarithms first, their highest taken out: the integrand of a class far below is beyond
    # float64.
    for block in range(row.n_nodes // AT_ONCE):
        first = block * AT_ONCE
        if model == PROBIT:
            for c in range(AT_ONCE):
                x = row.node[first + c] - score
                row.exponent[first + c] = gaussian_log_density(x) - own * gaussian_log_cdf(x)
        else:
            for c in range(AT_ONCE):
                x = row.node[first + c] - score
                row.exponent[first + c] = logistic_log_density(x) - own * logistic_log_cdf(x)
        for c in range(AT_ONCE):
            row.exponent[first + c] += row.log_product[first + c] + row.log_weight[first + c]
            exponent = row.exponent[first + c]
            top[c] = exponent if exponent > top[c] else top[c]
    for c in range(AT_ONCE):
        highest = max(highest, top[c])
    for block in range(row.n_nodes // AT_ONCE):
        for c in range(AT_ONCE):
            total[c] += exp64(row.exponent[block * AT_ONCE + c] - highest)
    for c in range(AT_ONCE):
        whole += total[c]
    out[0] = highest + log(whole)


cdef inline double pairwise(double depth, int model) noexcept nogil:
    """log of the probability to beat one class that is better by `depth` >= DEPTH."""
    if model == PROBIT:
        # The difference of two Gaussians has the deviation sqrt(2).
        return gaussian_log_cdf(-depth * 0.70710678118654752440)
    # That of two logistic variables exceeds d with the probability (e^d (d - 1) + 1) / (e^d - 1)^2,
    # which is (d - 1) e^-d for a large d.
    return log(depth - 1) - depth


cdef void log_probabilities_of_row(
    const float* score, floating* out, Py_ssize_t n_classes, int model
) noexcept nogil:
    cdef Row row
    cdef Py_ssize_t k, at, interval
    cdef double depth, result, own, far = 0, total = 0
    cdef int32_t used[DEPTH]
    place_points(&row, score, n_classes)
    place_nodes(&row, n_classes, model)
    for at in range(row.n_points):
        own = 0 if row.has_far and at == row.n_points - 1 else 1
        integrate(&row, row.point[at], own, model, &row.log_p[at])
        # Rounding and quadrature errors leave the sum at 1 + 1e-11 or so.
        # The sum of p over the classes, as that of weights times p in the points.
        total += row.weight[at] * exp(row.log_p[at])
    total = log(total)
    if row.has_far:
        far = row.log_p[row.n_points - 1] - pairwise(DEPTH, model)
    for interval in range(DEPTH):
        used[interval] = 0
        if row.count[interval] > ORDER:
            # Values in the Chebyshev points become coefficients, once an interval.
            values_to_coefs(&row.log_p[row.start[interval]])
    # `out` may be the memory of `score`: each is read before its place is written. `used` counts in
    # the order of `place_points`, so that a class finds its own point.
    for k in range(n_classes):
        depth = row.best - score[k]
        if depth < DEPTH:
            interval = <Py_ssize_t>depth
            at = row.start[interval]
            if row.count[interval] > ORDER:
                result = chebyshev_sum(2 * (depth - interval) - 1, &row.log_p[at])
            else:
                result = row.log_p[at + used[interval]]
                used[interval] += 1
        else:
            result = far + pairwise(depth, model)
        # No probability above 1, none that is minus infinity.
        out[k] = <floating>max(min(result - total, 0.0), LOWEST)


# --------------------------------------------------------------------------------------- all rows


def log_probabilities(
    const float[:, ::1] scores, floating[:, ::1] out, int model, int n_threads
):
    """Log-probabilities of all classes, normalised.

    Parameters
    ----------
    scores : IN (n_rows, n_classes), finite
    out : OUT (n_rows, n_classes), finite; may be the memory of `scores`
    model : IN, 0 probit, 1 logistic
    """
    cdef Py_ssize_t i
    require_model(model)
    for i in prange(scores.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        log_probabilities_of_row(&scores[i, 0], &out[i, 0], scores.shape[1], model)


cdef double log_probability_of_class(
    const float* score, Py_ssize_t n_classes, int32_t k, int model
) noexcept nogil:
    cdef Row row
    cdef double depth, result
    place_points(&row, score, n_classes)
    place_nodes(&row, n_classes, model)
    depth = row.best - score[k]
    if depth < DEPTH:
        integrate(&row, -depth, 1, model, &result)
        return min(result, 0.0)
    integrate(&row, row.lowest, 0, model, &result)
    return max(result + pairwise(depth, model) - pairwise(DEPTH, model), LOWEST)


def log_probability_of(
    const float[:, ::1] scores, const int32_t[::1] y, floating[::1] out, int model, int n_threads
):
    """Log-probability of one class of each row, in about half the time of all.

    Parameters
    ----------
    scores, model : as in `log_probabilities`
    y : IN (n_rows,), the class
    out : OUT (n_rows,); not normalised, which makes no difference beyond 1e-9
    """
    cdef Py_ssize_t i
    require_model(model)
    for i in prange(scores.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        out[i] = <floating>log_probability_of_class(
            &scores[i, 0], scores.shape[1], y[i], model
        )
