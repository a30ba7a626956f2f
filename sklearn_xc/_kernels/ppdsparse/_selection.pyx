"""The rows of highest score among those that a search has found."""

from libc.stdint cimport int32_t, uint8_t

from sklearn_xc._kernels.common._common cimport dispatched

cdef enum:
    BINS = 256  # of scores, whose numbers are bytes
    TOGETHER = 16  # scores that are compared at once
    AT_ONCE = 4096  # scores whose bins are kept for a moment


cdef dispatched range_of(const float *scores, Py_ssize_t n, float *low, float *high) noexcept nogil:
    """OUT the lowest and the highest of at least one score."""
    cdef Py_ssize_t q, c
    cdef float lows[TOGETHER]
    cdef float highs[TOGETHER]
    for c in range(TOGETHER):
        lows[c] = highs[c] = scores[0]
    for q in range(n // TOGETHER):
        for c in range(TOGETHER):
            lows[c] = min(lows[c], scores[q * TOGETHER + c])
            highs[c] = max(highs[c], scores[q * TOGETHER + c])
    for q in range(n // TOGETHER * TOGETHER, n):
        lows[0] = min(lows[0], scores[q])
        highs[0] = max(highs[0], scores[q])
    for c in range(1, TOGETHER):
        lows[0] = min(lows[0], lows[c])
        highs[0] = max(highs[0], highs[c])
    low[0] = lows[0]
    high[0] = highs[0]


cdef dispatched bins_of(
    const float *scores, Py_ssize_t n, float low, float scale, uint8_t *bins
) noexcept nogil:
    """Of the histogram; safe where scores are not finite."""
    cdef Py_ssize_t q
    cdef float x
    for q in range(n):
        x = (scores[q] - low) * scale
        x = x if x > 0 else 0
        x = x if x < BINS - 1 else BINS - 1
        bins[q] = <uint8_t><int32_t>x


cdef Py_ssize_t best_of(
    int32_t *rows, float *scores, Py_ssize_t n, Py_ssize_t keep
) noexcept nogil:
    """Move the `keep` rows of highest score to the front, in their order; returns how many.

    They are the best up to a bin of the scores, where the earlier ones are taken: a histogram
    decides, which is read straight on, where a selection would guess branches.
    """
    cdef Py_ssize_t q, part, start, some, kept = 0, above = 0, among
    cdef Py_ssize_t n_parts = (n + AT_ONCE - 1) // AT_ONCE
    cdef Py_ssize_t counts[BINS]
    cdef uint8_t bins[AT_ONCE]
    cdef int cut
    cdef float low = 0, high = 0, scale
    if n <= keep:
        return n
    range_of(scores, n, &low, &high)
    scale = BINS / (high - low) if high > low else 0
    for q in range(BINS):
        counts[q] = 0
    for part in range(n_parts):
        start = part * AT_ONCE
        some = min(<Py_ssize_t>AT_ONCE, n - start)
        bins_of(scores + start, some, low, scale, bins)
        for q in range(some):
            counts[bins[q]] += 1
    cut = BINS - 1
    while above + counts[cut] < keep:
        above += counts[cut]
        cut -= 1
    among = keep - above  # of the last bin
    for part in range(n_parts):
        start = part * AT_ONCE
        some = min(<Py_ssize_t>AT_ONCE, n - start)
        if n_parts > 1:  # else they are there
            bins_of(scores + start, some, low, scale, bins)
        for q in range(some):
            rows[kept] = rows[start + q]
            scores[kept] = scores[start + q]
            kept += (bins[q] > cut) | ((bins[q] == cut) & (among > 0))
            among -= bins[q] == cut
    return kept
