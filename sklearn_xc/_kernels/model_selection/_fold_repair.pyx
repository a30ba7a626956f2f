"""Exchanges of rows between the parts of a split, until each has a positive of every label.

Labels and parts are those of `_folds`.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from sklearn_xc._kernels.common._common cimport random_below, random_bits, seed_for
from sklearn_xc._kernels.model_selection._folds cimport Labels, Pattern

cdef enum:
    TRIES = 64  # partners that a row looks at in each part when it wants to leave its own
    ROWS_TRIED = 16  # positives of a label that look for a partner
    PATIENT_STEPS = 10_000  # of the repair, between two looks for Ctrl-C
    NOISE = 8  # one in this many steps of the repair may make things worse


cdef inline int32_t _move(Pattern* Y, int64_t row, int32_t source, int32_t target) noexcept nogil:
    """Move a row from part to part; the change in the number of labels missing somewhere."""
    cdef int32_t change = 0, label
    cdef int32_t* count
    cdef int64_t e
    for e in range(Y.indptr[row], Y.indptr[row + 1]):
        label = Y.indices[e]
        count = Y.counts + <int64_t>label * Y.n_parts
        if Y.needed[label] and Y.closed[source] and count[source] == Y.frequency[label]:
            change -= 1
        count[source] -= 1
        count[target] += 1
        if Y.needed[label] and Y.closed[target] and count[target] == Y.frequency[label]:
            change += 1
    return change


cdef inline int32_t _missing_from(Pattern* Y, int32_t label) noexcept nogil:
    """The test part that has all positives of a label which is needed elsewhere, -1 if none has."""
    cdef int32_t p
    if Y.needed[label]:
        for p in range(Y.n_parts):
            if Y.closed[p] and Y.counts[<int64_t>label * Y.n_parts + p] == Y.frequency[label]:
                return p
    return -1


cdef inline void _report(
    Pattern* Y, int64_t row, int32_t* missing, uint8_t* listed, int64_t* n_missing
) noexcept nogil:
    """List those labels of a row that are missing from training somewhere."""
    cdef int64_t e
    cdef int32_t label
    for e in range(Y.indptr[row], Y.indptr[row + 1]):
        label = Y.indices[e]
        if not listed[label] and _missing_from(Y, label) >= 0:
            listed[label] = 1
            missing[n_missing[0]] = label
            n_missing[0] += 1


cdef struct Exchange:
    int64_t row
    int64_t partner  # -1: the row moves and nothing comes back
    int32_t target
    int32_t change


cdef inline void _weigh(
    Pattern* Y, int64_t row, int32_t source, int64_t partner, int32_t target, Exchange* best
) noexcept nogil:
    cdef int32_t change = _move(Y, row, source, target)
    if partner >= 0:
        change += _move(Y, partner, target, source)
        _move(Y, partner, source, target)
    _move(Y, row, target, source)
    if best.row < 0 or change < best.change:
        best[0] = Exchange(row, partner, target, change)


cdef Exchange _best_exchange(
    Pattern* Y, const int64_t* label_indptr, const int32_t* label_rows, int32_t label,
    int32_t source, const int32_t[::1] part, const int64_t[::1] size, bint loose, uint64_t* state,
) noexcept nogil:
    """The exchange of a row of this label with one of another part that helps most labels."""
    cdef Exchange best = Exchange(-1, -1, -1, 0)
    cdef int64_t n_rows = part.shape[0]
    cdef int64_t n_positives = label_indptr[label + 1] - label_indptr[label]
    cdef int64_t start = random_below(state, <uint32_t>n_positives), i, t, row, partner
    cdef int32_t p
    for i in range(min(n_positives, <int64_t>ROWS_TRIED)):
        row = label_rows[label_indptr[label] + (start + i) % n_positives]
        if loose:
            for p in range(Y.n_parts):
                if size[p] == size[source] - 1:  # afterwards the sizes are what they were
                    _weigh(Y, row, source, -1, p, &best)
        for t in range(min(n_rows, <int64_t>TRIES)):
            partner = random_below(state, <uint32_t>n_rows) if n_rows > TRIES else t
            if part[partner] != source:
                _weigh(Y, row, source, partner, part[partner], &best)
        if best.row >= 0 and best.change < 0:
            break
    return best


def repair(
    Labels labels, const int64_t[::1] label_indptr, const int32_t[::1] label_rows,
    bint loose, uint64_t seed, int32_t[::1] missing, uint8_t[::1] listed,
    int32_t[::1] part, int64_t[::1] size,
):
    """Exchange rows between parts until no label that is needed has all its positives in one.

    A local search (min-conflicts): a label that is missing from training somewhere gives one of
    its rows for a row of another part, the exchange that helps most labels being taken, or one
    that changes nothing, and now and then any. It may give up on what is possible, which only a
    search of exponential time would find.

    Parameters
    ----------
    labels, label_indptr, label_rows
        See `stratify`.
    loose : bool
        IN. Whether parts whose sizes differ by one may change places in that.
    seed : uint64
    missing, listed : int32 (n_labels,), uint8 (n_labels,)
        Scratch; `listed` is zero before.
    part : int32 (n_rows,)
        IN, OUT.
    size : int64 (n_parts,)
        IN, OUT. Rows of each part.

    Returns
    -------
    n_missing : int
        Labels left for which no exchange was found.
    """
    cdef Pattern Y = labels.pattern()
    cdef uint64_t state = seed_for(seed, 1)
    cdef int64_t n_missing = 0, step = 0, n_steps, place
    cdef int32_t label, source
    cdef Exchange exchange
    with nogil:
        for label in range(<int32_t>labels.frequency.shape[0]):
            if _missing_from(&Y, label) >= 0:
                listed[label] = 1
                missing[n_missing] = label
                n_missing += 1
        n_steps = 1000 + 20 * n_missing
        while n_missing > 0 and step < n_steps:
            place = random_below(&state, <uint32_t>n_missing)
            label = missing[place]
            source = _missing_from(&Y, label)
            if source < 0:
                n_missing -= 1
                missing[place] = missing[n_missing]
                listed[label] = 0
                continue
            step += 1
            if step % PATIENT_STEPS == 0:
                with gil:
                    PyErr_CheckSignals()
            exchange = _best_exchange(
                &Y, &label_indptr[0], &label_rows[0], label, source, part, size, loose, &state
            )
            if exchange.row < 0 or (
                exchange.change > 0 and random_bits(&state) >> 32 > <uint64_t>0xFFFFFFFF // NOISE
            ):
                continue
            _move(&Y, exchange.row, source, exchange.target)
            part[exchange.row] = exchange.target
            if exchange.partner >= 0:
                _move(&Y, exchange.partner, exchange.target, source)
                part[exchange.partner] = source
                _report(&Y, exchange.partner, &missing[0], &listed[0], &n_missing)
            else:
                size[source] -= 1
                size[exchange.target] += 1
            _report(&Y, exchange.row, &missing[0], &listed[0], &n_missing)
    return sum(_missing_from(&Y, label) >= 0 for label in range(<int32_t>labels.frequency.shape[0]))
