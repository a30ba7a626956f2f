"""Samples placed in the parts of a split, and exchanged until no part lacks a label.

`deal` places them by their rarest label, `stratify` by iterative stratification, and `repair`
exchanges them. Samples come as the rows of the pattern of their labels, ``indptr`` and ``indices``
(CSR, int64 and int32). Label l has ``frequency[l]`` positives among them, of which ``counts[l, p]``
are in part p so far.

A label with ``needed[l]`` must not have all of them in one part p that has ``closed[p]`` (a test
part): it would be missing where the others are trained on. That is, for all such l and p,

    counts[l, p] < frequency[l].

Invariants. ``counts`` agree with the parts of the samples placed after every step; a sample has a
label once, so that counts of a part never exceed the frequency. The same seed gives the same parts.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from sklearn_xc._kernels.common._common cimport random_below, random_bits, seed_for

cdef int64_t FORBIDDEN = 1 << 40  # more than any count

cdef enum:
    TRIES = 64  # partners that a row looks at in each part when it wants to leave its own
    ROWS_TRIED = 16  # positives of a label that look for a partner
    PATIENT_STEPS = 10_000  # of the repair, between two looks for Ctrl-C
    NOISE = 8  # one in this many steps of the repair may make things worse


# The arrays of `Labels` as addresses, for functions without the GIL.
cdef struct Pattern:
    const int64_t* indptr
    const int32_t* indices
    const int32_t* frequency
    const uint8_t* needed
    const uint8_t* closed
    int32_t* counts
    int32_t n_parts


cdef inline bint _forbidden(Pattern* Y, int64_t row, int32_t part) noexcept nogil:
    """Whether a row would be the last positive of a label whose others are all in this part."""
    cdef int64_t e
    cdef int32_t label
    if not Y.closed[part]:
        return False
    for e in range(Y.indptr[row], Y.indptr[row + 1]):
        label = Y.indices[e]
        # `frequency` counts positives that are not placed yet as well: equal only where no other
        # part can have one any more. 64 bits, for labels times parts may exceed 32.
        if Y.needed[label] and (
            Y.counts[<int64_t>label * Y.n_parts + part] + 1 == Y.frequency[label]
        ):
            return True
    return False


cdef inline void _place(Pattern* Y, int64_t row, int32_t part) noexcept nogil:
    cdef int64_t e
    for e in range(Y.indptr[row], Y.indptr[row + 1]):
        Y.counts[<int64_t>Y.indices[e] * Y.n_parts + part] += 1


cdef class Labels:
    """The labels of the rows, and how many of each are in each part so far.

    Every array has at least one element; see the module.

    Parameters
    ----------
    indptr, indices : int64 (n_rows + 1,), int32
        IN. The labels of each row.
    frequency, needed, closed : int32 (n_labels,), uint8 (n_labels,), uint8 (n_parts,)
        IN.
    counts : int32 (n_labels, n_parts)
        IN, OUT.
    """

    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const int32_t[::1] frequency
    cdef const uint8_t[::1] needed
    cdef const uint8_t[::1] closed
    cdef int32_t[:, ::1] counts

    def __init__(
        self, const int64_t[::1] indptr, const int32_t[::1] indices, const int32_t[::1] frequency,
        const uint8_t[::1] needed, const uint8_t[::1] closed, int32_t[:, ::1] counts,
    ):
        self.indptr = indptr
        self.indices = indices
        self.frequency = frequency
        self.needed = needed
        self.closed = closed
        self.counts = counts

    cdef Pattern pattern(self) noexcept:
        return Pattern(
            &self.indptr[0], &self.indices[0], &self.frequency[0], &self.needed[0],
            &self.closed[0], &self.counts[0, 0], <int32_t>self.counts.shape[1],
        )


def deal(
    Labels labels, const int32_t[::1] order, const int32_t[::1] key, uint8_t[::1] taken,
    int32_t[::1] part,
):
    """Deal the rows like cards, in hands of one row a part.

    In its hand a row takes, of the parts still free, the one with the fewest positives of its
    rarest label, then the one that has the smallest share of its other labels.

    Parameters
    ----------
    labels : Labels
        IN, OUT.
    order : int32 (n_rows,)
        IN. The rows by their rarest label.
    key : int32 (n_rows,)
        IN. The rarest label of each row, -1 for a row without labels.
    taken : uint8 (n_parts,)
        Scratch.
    part : int32 (n_rows,)
        OUT.
    """
    cdef Pattern Y = labels.pattern()
    cdef int64_t place, row, e
    cdef int32_t p, best, label
    cdef int64_t count, best_count
    cdef double share, best_share
    with nogil:
        for place in range(order.shape[0]):
            # A new hand, all parts free: so one always is, and sizes differ by one at most.
            if place % Y.n_parts == 0:
                taken[:] = 0
            row = order[place]
            best, best_count, best_share = -1, 0, 0
            for p in range(Y.n_parts):
                if taken[p]:
                    continue
                count = Y.counts[<int64_t>key[row] * Y.n_parts + p] if key[row] >= 0 else 0
                # Chosen only where all free parts are forbidden; `repair` comes after.
                if _forbidden(&Y, row, p):
                    count += FORBIDDEN
                # Shares of the labels, not counts: else frequent labels alone would decide.
                share = 0
                for e in range(Y.indptr[row], Y.indptr[row + 1]):
                    label = Y.indices[e]
                    share += (
                        <double>Y.counts[<int64_t>label * Y.n_parts + p] / Y.frequency[label]
                    )
                # The first of equals: dealing draws nothing at random.
                if best < 0 or count < best_count or (
                    count == best_count and share < best_share
                ):
                    best, best_count, best_share = p, count, share
            taken[best] = 1
            part[row] = best
            _place(&Y, row, best)


cdef struct Buckets:
    # Labels in doubly linked lists by the number of their rows that are still to be placed.
    int32_t* head
    int32_t* following
    int32_t* before


cdef inline void _unlink(Buckets* b, int32_t label, int32_t left) noexcept nogil:
    if b.before[label] >= 0:
        b.following[b.before[label]] = b.following[label]
    else:
        # Without one before it the label is the head of the list of labels with `left` samples.
        b.head[left] = b.following[label]
    if b.following[label] >= 0:
        b.before[b.following[label]] = b.before[label]


cdef inline void _link(Buckets* b, int32_t label, int32_t left) noexcept nogil:
    b.before[label] = -1
    b.following[label] = b.head[left]
    if b.head[left] >= 0:
        b.before[b.head[left]] = label
    b.head[left] = label


def stratify(
    Labels labels, const int64_t[::1] label_indptr, const int32_t[::1] label_rows,
    const double[::1] share, int64_t[::1] capacity, uint64_t seed,
    int32_t[::1] head, int32_t[:, ::1] links, int32_t[::1] left, int32_t[::1] part,
):
    """Iterative stratification (algorithm 1 of the paper) into parts of given sizes.

    Takes the label with the fewest rows still to be placed, and gives each of them to the part
    that wants most positives of the label, among equals to the one that wants most rows, among
    those at random. Beyond the paper, a part that is full takes no row, and a part takes no row
    that would leave a label out of training if another one can.

    Parameters
    ----------
    labels : Labels
        IN, OUT.
    label_indptr, label_rows : int64 (n_labels + 1,), int32
        IN. The rows of each label.
    share : double (n_parts,)
        IN. Part of the rows that each part wants.
    capacity : int64 (n_parts,)
        IN, OUT. Rows that each part still wants; they add up to n_rows before.
    seed : uint64
    head, links, left : int32 (max(frequency) + 1,), (2, n_labels), (n_labels,)
        Scratch.
    part : int32 (n_rows,)
        OUT. -1 before.
    """
    cdef Pattern Y = labels.pattern()
    cdef Buckets buckets = Buckets(&head[0], &links[0, 0], &links[1, 0])
    cdef uint64_t state = seed_for(seed, 0)
    cdef int64_t row, e, i
    cdef int32_t label, fewest = 1, most = <int32_t>(head.shape[0] - 1), p
    with nogil:
        head[:] = -1
        for label in range(<int32_t>labels.frequency.shape[0]):
            left[label] = Y.frequency[label]
            _link(&buckets, label, left[label])
        # Invariant: no label has from 1 to fewest - 1 samples left. Labels with none left are in
        # list 0, which is never read.
        while fewest <= most:
            label = head[fewest]
            if label < 0:
                fewest += 1
                continue
            for e in range(label_indptr[label], label_indptr[label + 1]):
                row = label_rows[e]
                # Placed before, with a rarer label.
                if part[row] >= 0:
                    continue
                p = _wanting(&Y, label, row, &share[0], &capacity[0], &state)
                part[row] = p
                capacity[p] -= 1
                _place(&Y, row, p)
                # Each label of the sample moves to the list of those with one fewer left.
                for i in range(Y.indptr[row], Y.indptr[row + 1]):
                    _unlink(&buckets, Y.indices[i], left[Y.indices[i]])
                    left[Y.indices[i]] -= 1
                    _link(&buckets, Y.indices[i], left[Y.indices[i]])
                    if 0 < left[Y.indices[i]] < fewest:
                        fewest = left[Y.indices[i]]
        for row in range(part.shape[0]):
            if part[row] < 0:  # a row without labels
                part[row] = _wanting(&Y, -1, row, &share[0], &capacity[0], &state)
                capacity[part[row]] -= 1


cdef int32_t _wanting(
    Pattern* Y, int32_t label, int64_t row, const double* share, const int64_t* capacity,
    uint64_t* state,
) noexcept nogil:
    """The part that a row of this label goes to."""
    cdef int32_t p, best = -1, equals = 0
    cdef double want, best_want = 0
    cdef bint forbidden, best_forbidden = False
    for p in range(Y.n_parts):
        # Capacities add up to the samples that are left, so that one part at least is not full.
        if capacity[p] <= 0:
            continue
        forbidden = _forbidden(Y, row, p)
        want = 0
        if label >= 0:
            want = Y.frequency[label] * share[p] - Y.counts[<int64_t>label * Y.n_parts + p]
        if best >= 0 and forbidden == best_forbidden and want == best_want and (
            capacity[p] == capacity[best]
        ):
            # The choice among n equals is replaced by the n-th with probability 1 / n: each of them
            # is then as likely, without a list of them.
            equals += 1
            if random_below(state, <uint32_t>(equals + 1)) == 0:
                best = p
        # In this order: not forbidden, most positives of the label wanted (algorithm 1 of the
        # paper), most samples wanted.
        elif best < 0 or (not forbidden and best_forbidden) or (
            forbidden == best_forbidden
            and (want > best_want or (want == best_want and capacity[p] > capacity[best]))
        ):
            best, best_want, best_forbidden, equals = p, want, forbidden, 0
    return best


# ---------------------------------------------------------------------------------- repair


cdef inline int32_t _move(Pattern* Y, int64_t row, int32_t source, int32_t target) noexcept nogil:
    """Move a row from part to part; the change in the number of labels missing somewhere."""
    cdef int32_t change = 0, label
    cdef int32_t* count
    cdef int64_t e
    for e in range(Y.indptr[row], Y.indptr[row + 1]):
        label = Y.indices[e]
        count = Y.counts + <int64_t>label * Y.n_parts
        # All positives were in `source`: now one is where the others are trained on.
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
    """Make this exchange the best if it helps more labels."""
    # Made and taken back: where both samples have a label, the change of an exchange is not the sum
    # of the changes of its two moves from the state before.
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
    # From a random positive on, round and round: repeated tries must not begin with the same ones.
    for i in range(min(n_positives, <int64_t>ROWS_TRIED)):
        row = label_rows[label_indptr[label] + (start + i) % n_positives]
        if loose:
            for p in range(Y.n_parts):
                if size[p] == size[source] - 1:  # afterwards the sizes are what they were
                    _weigh(Y, row, source, -1, p, &best)
        # All samples where they are few, and otherwise some at random.
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
        # A bound: to find out that labels cannot be kept may take exponential time.
        n_steps = 1000 + 20 * n_missing
        while n_missing > 0 and step < n_steps:
            place = random_below(&state, <uint32_t>n_missing)
            label = missing[place]
            source = _missing_from(&Y, label)
            # Repaired by an exchange for another label: the last of the list takes its place.
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
            # Exchanges that change nothing are taken, to move along a plateau, and now and then one
            # that makes things worse, to leave a local optimum.
            if exchange.row < 0 or (
                exchange.change > 0 and random_bits(&state) >> 32 > <uint64_t>0xFFFFFFFF // NOISE
            ):
                continue
            _move(&Y, exchange.row, source, exchange.target)
            part[exchange.row] = exchange.target
            # Labels of both samples may be missing now: they join the list.
            if exchange.partner >= 0:
                _move(&Y, exchange.partner, exchange.target, source)
                part[exchange.partner] = source
                _report(&Y, exchange.partner, &missing[0], &listed[0], &n_missing)
            else:
                size[source] -= 1
                size[exchange.target] += 1
            _report(&Y, exchange.row, &missing[0], &listed[0], &n_missing)
    return sum(_missing_from(&Y, label) >= 0 for label in range(<int32_t>labels.frequency.shape[0]))
