"""The gradient of a mini-batch in the scores of all classes, by matrix products.

Scores are Z = H W^T. Of cross-entropy (eq. 2) the gradient in them is, sample by sample,
``G = f ((sum w) softmax(z) - w)``, with w the weights of its positives and f a factor; that in the
label embeddings is G^T H and that in the embeddings of samples G W. Of margin and triplet losses
few classes have a gradient; these are selected and given to `_losses`.

The classes are cut into blocks, whose number does not depend on that of the threads; a thread
takes a whole block. Invariant: nothing is summed across threads but in the order of the blocks, so
that results do not depend on the number of threads.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from sklearn_xc._kernels.common._blas cimport matmul
from sklearn_xc._kernels.common._common cimport dispatched
from sklearn_xc._kernels.ldgs._losses cimport MARGIN, Loss, loss_gradient
from sklearn_xc._kernels.common._math cimport fast_exp

cdef enum:
    BLOCK = 1024  # classes


def block_size():
    """The number of classes in a block."""
    return BLOCK


cdef dispatched exponentials(float* z, int64_t n, float* top, double* total) noexcept nogil:
    """z <- exp(z - max z); OUT the maximum and the sum."""
    cdef float highest[16]
    cdef float sums[16]
    cdef float most = <float>-INFINITY, value
    cdef int64_t e
    cdef int32_t c
    for c in range(16):
        highest[c] = <float>-INFINITY
        sums[c] = 0
    # Sixteen maxima and sums side by side, which compilers keep in vectors.
    for e in range(n // 16):
        for c in range(16):
            highest[c] = max(highest[c], z[16 * e + c])
    for e in range(n - n % 16, n):
        most = max(most, z[e])
    for c in range(16):
        most = max(most, highest[c])
    total[0] = 0
    for e in range(n // 16):
        for c in range(16):
            value = fast_exp(z[16 * e + c] - most)
            z[16 * e + c] = value
            sums[c] += value
    for e in range(n - n % 16, n):
        z[e] = fast_exp(z[e] - most)
        total[0] += z[e]
    for c in range(16):
        total[0] += sums[c]
    top[0] = most


cdef dispatched scale(float* z, int64_t n, float factor) noexcept nogil:
    cdef int64_t e
    for e in range(n):
        z[e] *= factor


cdef void score_block(
    const float[:, ::1] W, const float[:, ::1] H, int64_t block, float[:, ::1] Z
) noexcept nogil:
    # The last block has fewer classes. Z_block = H W_block^T.
    cdef int64_t first = block * BLOCK
    matmul(
        b"N", b"T", <int>H.shape[0], <int>min(<int64_t>BLOCK, W.shape[0] - first),
        <int>W.shape[1], 1, &H[0, 0], <int>W.shape[1], &W[first, 0], <int>W.shape[1],
        0, &Z[0, first], <int>Z.shape[1],
    )


def scores(const float[:, ::1] W, const float[:, ::1] H, float[:, ::1] Z, int n_threads):
    """OUT Z = H @ W.T, (n_rows, n_classes)."""
    cdef int64_t block
    for block in prange(
        (W.shape[0] + BLOCK - 1) // BLOCK, nogil=True, schedule="static", num_threads=n_threads
    ):
        score_block(W, H, block, Z)


cdef void exponentials_of_block(
    const float[:, ::1] W, const float[:, ::1] H, int64_t block, float[:, ::1] Z,
    float[:, ::1] tops, double[:, ::1] totals
) noexcept nogil:
    cdef int64_t i, first = block * BLOCK
    score_block(W, H, block, Z)
    for i in range(H.shape[0]):
        exponentials(
            &Z[i, first], min(<int64_t>BLOCK, W.shape[0] - first), &tops[block, i],
            &totals[block, i],
        )


cdef void gradient_of_block(
    const float[:, ::1] W, const float[:, ::1] H, int64_t block, Positives positives,
    const float[::1] factor, const double[::1] log_normaliser,
    float[:, ::1] Z, const float[:, ::1] tops, float[:, :, ::1] part, float[:, ::1] gradient
) noexcept nogil:
    cdef const int64_t[::1] indptr = positives.indptr
    cdef const int32_t[::1] ids = positives.ids
    cdef int64_t i, e, first = block * BLOCK
    cdef int32_t n = <int32_t>min(<int64_t>BLOCK, W.shape[0] - first)
    cdef int32_t width = <int32_t>W.shape[1]
    for i in range(H.shape[0]):
        # Z holds exp(z - top of the block): exp(top - log Z) makes it the softmax.
        scale(
            &Z[i, first], n, <float>(
                factor[i] * mass_of(positives, i) * exp(tops[block, i] - log_normaliser[i])
            ),
        )
        for e in range(indptr[i], indptr[i + 1]):
            # Minus the weight at the positives of this block; the others are of other blocks.
            if first <= ids[e] < first + n:
                Z[i, ids[e]] -= factor[i] * weight_of(positives, e)
    # The part of G W of this block, added up over the blocks by the caller, in their order.
    matmul(
        b"N", b"N", <int>H.shape[0], width, n, 1, &Z[0, first], <int>Z.shape[1],
        &W[first, 0], width, 0, &part[block, 0, 0], width,
    )
    # G^T H: rows of the block only, which no other thread writes.
    matmul(
        b"T", b"N", n, width, <int>H.shape[0], 1, &Z[0, first], <int>Z.shape[1],
        &H[0, 0], width, 0, &gradient[first, 0], width,
    )


cdef class Positives:
    """The positives of rows.

    Parameters
    ----------
    indptr, ids : the positives of each row
    weight : as many, factors on their losses, or of size 0 for ones
    """

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] ids
    cdef const float[::1] weight
    cdef bint weighted

    def __init__(self, indptr, ids, weight):
        self.indptr, self.ids, self.weight = indptr, ids, weight
        self.weighted = len(weight) > 0


cdef inline float weight_of(Positives positives, int64_t e) noexcept nogil:
    return positives.weight[e] if positives.weighted else 1


cdef inline float mass_of(Positives positives, int64_t i) noexcept nogil:
    """The sum of the weights of a row's positives."""
    cdef int64_t e
    cdef float mass = 0
    if not positives.weighted:
        return <float>(positives.indptr[i + 1] - positives.indptr[i])
    for e in range(positives.indptr[i], positives.indptr[i + 1]):
        mass += positives.weight[e]
    return mass


cdef class BlockScratch:
    """Memory of `cross_entropy` between its two walks over the blocks of classes.

    Parameters
    ----------
    Z : (n_rows, n_classes)
    tops, totals : (n_blocks, n_rows)
    log_normaliser : (n_rows,)
    part : (n_blocks, n_rows, n_columns)
    """

    cdef float[:, ::1] Z, tops
    cdef double[:, ::1] totals
    cdef double[::1] log_normaliser
    cdef float[:, :, ::1] part

    def __init__(self, Z, tops, totals, log_normaliser, part):
        self.Z, self.tops, self.totals = Z, tops, totals
        self.log_normaliser, self.part = log_normaliser, part


def cross_entropy(
    const float[:, ::1] W, const float[:, ::1] H, Positives positives, const float[::1] factor,
    BlockScratch scratch, float[:, ::1] of_W, float[:, ::1] of_H, double[::1] losses,
    int n_threads,
):
    """Cross-entropy and its gradients in W and H.

    Parameters
    ----------
    W, H : IN (n_classes, n_columns) and (n_rows, n_columns)
    positives : IN
    factor : IN (n_rows,), of the gradients
    scratch : SCRATCH
    of_W, of_H : OUT (n_classes, n_columns) and (n_rows, n_columns)
    losses : OUT (n_rows,), without the factor
    """
    cdef int64_t block, i, e, c, n_blocks = (W.shape[0] + BLOCK - 1) // BLOCK
    cdef double top, total
    cdef float weight
    cdef const int64_t[::1] indptr = positives.indptr
    cdef const int32_t[::1] ids = positives.ids
    cdef float[:, ::1] Z = scratch.Z, tops = scratch.tops
    cdef double[:, ::1] totals = scratch.totals
    cdef double[::1] log_normaliser = scratch.log_normaliser
    cdef float[:, :, ::1] part = scratch.part
    with nogil:
        for block in prange(n_blocks, schedule="static", num_threads=n_threads):
            exponentials_of_block(W, H, block, Z, tops, totals)
        # Between the two walks: log sum exp from maxima and sums of the blocks, in their order.
        for i in range(H.shape[0]):
            top, total = -INFINITY, 0
            for block in range(n_blocks):
                top = max(top, <double>tops[block, i])
            for block in range(n_blocks):
                total += totals[block, i] * exp(tops[block, i] - top)
            log_normaliser[i] = top + log(total)
            losses[i] = 0
            for e in range(indptr[i], indptr[i + 1]):
                weight = weight_of(positives, e)
                # The score of a positive again from W and H: exponentials have taken its place in
                # Z.
                losses[i] += weight * log_normaliser[i]
                for c in range(W.shape[1]):
                    losses[i] -= weight * (W[ids[e], c] * H[i, c])
        for block in prange(n_blocks, schedule="static", num_threads=n_threads):
            gradient_of_block(
                W, H, block, positives, factor, log_normaliser, Z, tops, part, of_W
            )
        for i in range(H.shape[0]):
            for c in range(W.shape[1]):
                of_H[i, c] = 0
        for block in range(n_blocks):
            for i in range(H.shape[0]):
                for c in range(W.shape[1]):
                    of_H[i, c] += part[block, i, c]


cdef double softmax_row(
    float* z, int64_t n_classes, Positives positives, int64_t i
) noexcept nogil:
    """The cross-entropy of row i; its scores become the gradient."""
    cdef int64_t e
    cdef double loss = 0, total, mass = mass_of(positives, i)
    cdef float top
    # Before exponentials take the place of the scores.
    for e in range(positives.indptr[i], positives.indptr[i + 1]):
        loss -= weight_of(positives, e) * z[positives.ids[e]]
    exponentials(z, n_classes, &top, &total)
    scale(z, n_classes, <float>(mass / total))
    for e in range(positives.indptr[i], positives.indptr[i + 1]):
        z[positives.ids[e]] -= weight_of(positives, e)
    return loss + mass * (top + log(total))


def softmax_gradients(
    float[:, ::1] Z, Positives positives, double[::1] losses, int n_threads,
):
    """Cross-entropy of scores and its gradients in them.

    Parameters
    ----------
    Z : IN/OUT (n_rows, n_classes), scores, then gradients
    positives : IN
    losses : OUT (n_rows,)
    """
    cdef int64_t i
    for i in prange(Z.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        losses[i] = softmax_row(&Z[i, 0], Z.shape[1], positives, i)


cdef double one_row(
    Loss loss, const float* z, int64_t n_classes, Positives labels, int64_t row,
    int32_t* ids, int64_t* count, float* own, float* gradient, double* scratch, int32_t* place
) noexcept nogil:
    """The loss of a row; OUT the classes whose gradient may not be zero, and these gradients."""
    cdef int64_t first = labels.indptr[row], n_positive = labels.indptr[row + 1] - first
    cdef const int32_t* positives = &labels.ids[0] + first if n_positive else NULL
    cdef const float* weight = &labels.weight[0] + first if labels.weighted else NULL
    cdef int64_t p, k, n = 0
    cdef double least
    cdef float top = <float>-INFINITY, lowest = <float>INFINITY
    for p in range(n_positive):
        place[positives[p]] = 1
        ids[n] = positives[p]
        own[n] = z[positives[p]]
        lowest = min(lowest, own[n])
        n += 1
    if loss.kind == MARGIN:
        for k in range(n_classes):
            if place[k] < 0:
                top = max(top, z[k])
        # The projection (eq. 11) has threshold at least (top + 1) / mu - 1, see near_top in
        # `_losses`.
        least = top - loss.mu  # lower ones lie outside the simplex
    else:
        least = lowest - 1.0  # lower ones violate nothing
    # Marked classes are positives, which stand first already.
    if n_positive:
        for k in range(n_classes):
            if z[k] > least and place[k] < 0:
                ids[n] = <int32_t>k
                own[n] = z[k]
                n += 1
    # -1 everywhere again, as the next sample of the thread expects.
    for p in range(n_positive):
        place[positives[p]] = -1
    count[0] = n
    return loss_gradient(loss, own, weight, n_positive, n, gradient, scratch)


cdef class RowScratch:
    """Memory of each thread of `sparse_gradients`.

    Parameters
    ----------
    own : (n_threads, n_classes)
    scratch : (n_threads, 5 * n_classes + 4)
    places : (n_threads, n_classes), -1 everywhere before and after
    """

    cdef float[:, ::1] own
    cdef double[:, ::1] scratch
    cdef int32_t[:, ::1] places

    def __init__(self, own, scratch, places):
        self.own, self.scratch, self.places = own, scratch, places


def sparse_gradients(
    int kind, double mu, const float[:, ::1] Z, Positives positives, int32_t[:, ::1] ids,
    int64_t[::1] counts, float[:, ::1] gradient, double[::1] losses, RowScratch memory,
    int n_threads,
):
    """Margin and triplet losses of all classes, and the classes that they touch.

    Parameters
    ----------
    kind, mu : IN, MARGIN or TRIPLET of `_losses`
    Z : IN (n_rows, n_classes), scores
    positives : IN
    ids, gradient : OUT (n_rows, n_classes), the classes with a gradient, positives first
    counts : OUT (n_rows,), how many
    losses : OUT (n_rows,)
    memory : SCRATCH
    """
    cdef int64_t i
    cdef int thread = 0
    cdef Loss loss
    cdef float[:, ::1] own = memory.own
    cdef double[:, ::1] scratch = memory.scratch
    cdef int32_t[:, ::1] places = memory.places
    loss.kind, loss.mu, loss.rest = kind, mu, 0
    with nogil, parallel(num_threads=n_threads):
        thread = threadid()
        # Samples have more or fewer classes with a gradient, hence dynamic.
        for i in prange(Z.shape[0], schedule="dynamic"):
            losses[i] = one_row(
                loss, &Z[i, 0], Z.shape[1], positives, i, &ids[i, 0], &counts[i], &own[thread, 0],
                &gradient[i, 0], &scratch[thread, 0], &places[thread, 0],
            )
