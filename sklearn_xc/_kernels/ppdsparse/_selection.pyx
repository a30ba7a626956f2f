"""The rows of highest score among those that a search has found."""

from libc.stdint cimport int32_t

cdef enum:
    BINS = 256  # of scores


cdef inline int bin_of(float score, float low, float scale) noexcept nogil:
    """Of the histogram; safe where scores are not finite."""
    cdef float x = (score - low) * scale
    if not x > 0:
        return 0
    return <int>x if x < BINS - 1 else BINS - 1


cdef Py_ssize_t best_of(
    int32_t *rows, float *scores, Py_ssize_t n, Py_ssize_t keep
) noexcept nogil:
    """Move the `keep` rows of highest score to the front, in their order; returns how many.

    They are the best up to a bin of the scores, where the earlier ones are taken: a histogram
    decides, which is read straight on, where a selection would guess branches.
    """
    cdef Py_ssize_t q, kept = 0, above = 0, among
    cdef Py_ssize_t counts[BINS]
    cdef int b, cut
    cdef float low, high, scale
    if n <= keep:
        return n
    low = high = scores[0]
    for q in range(n):
        low = min(low, scores[q])
        high = max(high, scores[q])
    scale = BINS / (high - low) if high > low else 0
    for b in range(BINS):
        counts[b] = 0
    for q in range(n):
        counts[bin_of(scores[q], low, scale)] += 1
    cut = BINS - 1
    while above + counts[cut] < keep:
        above += counts[cut]
        cut -= 1
    among = keep - above  # of the last bin
    for q in range(n):
        b = bin_of(scores[q], low, scale)
        rows[kept] = rows[q]
        scores[kept] = scores[q]
        kept += (b > cut) | ((b == cut) & (among > 0))
        among -= b == cut
    return kept
