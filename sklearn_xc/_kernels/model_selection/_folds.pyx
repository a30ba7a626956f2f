"""Rows dealt to the parts of a split: by their rarest label, or by iterative stratification.

Rows come as the pattern of their labels, ``indptr`` and ``indices`` (CSR, int64 and int32). Label l
has ``frequency[l]`` positives among them, of which ``counts[l, p]`` are in part p so far. A label
with ``needed[l]`` must not have all of them in one part p that has ``closed[p]`` (a test part): it
would be missing where the others are trained on.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from sklearn_xc._kernels.common._common cimport random_below, seed_for

cdef int64_t FORBIDDEN = 1 << 40  # more than any count


cdef inline bint _forbidden(Pattern* Y, int64_t row, int32_t part) noexcept nogil:
    """Whether a row would be the last positive of a label whose others are all in this part."""
    cdef int64_t e
    cdef int32_t label
    if not Y.closed[part]:
        return False
    for e in range(Y.indptr[row], Y.indptr[row + 1]):
        label = Y.indices[e]
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
            if place % Y.n_parts == 0:
                taken[:] = 0
            row = order[place]
            best, best_count, best_share = -1, 0, 0
            for p in range(Y.n_parts):
                if taken[p]:
                    continue
                count = Y.counts[<int64_t>key[row] * Y.n_parts + p] if key[row] >= 0 else 0
                if _forbidden(&Y, row, p):
                    count += FORBIDDEN
                share = 0
                for e in range(Y.indptr[row], Y.indptr[row + 1]):
                    label = Y.indices[e]
                    share += (
                        <double>Y.counts[<int64_t>label * Y.n_parts + p] / Y.frequency[label]
                    )
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
        while fewest <= most:
            label = head[fewest]
            if label < 0:
                fewest += 1
                continue
            for e in range(label_indptr[label], label_indptr[label + 1]):
                row = label_rows[e]
                if part[row] >= 0:
                    continue
                p = _wanting(&Y, label, row, &share[0], &capacity[0], &state)
                part[row] = p
                capacity[p] -= 1
                _place(&Y, row, p)
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
        if capacity[p] <= 0:
            continue
        forbidden = _forbidden(Y, row, p)
        want = 0
        if label >= 0:
            want = Y.frequency[label] * share[p] - Y.counts[<int64_t>label * Y.n_parts + p]
        if best >= 0 and forbidden == best_forbidden and want == best_want and (
            capacity[p] == capacity[best]
        ):
            equals += 1
            if random_below(state, <uint32_t>(equals + 1)) == 0:
                best = p
        elif best < 0 or (not forbidden and best_forbidden) or (
            forbidden == best_forbidden
            and (want > best_want or (want == best_want and capacity[p] > capacity[best]))
        ):
            best, best_want, best_forbidden, equals = p, want, forbidden, 0
    return best
