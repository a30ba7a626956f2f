"""Weights of very many classes that grow while they are trained: a list of classes a feature.

Scoring a row walks the lists of its features; a step on one class finds its places by bisection. A
list that more than a part of all classes have entered becomes an array of all of them, which takes
less room than numbers beside values and is added up in vectors.

The lists hold V of the weights W = scale V. With A the sum of the scales of all iterates so far,
``sums`` hold U such that the sum of all iterates is A V - U: a change of a value by d adds A d to
its sum, and the iterates between two changes cost nothing.

Invariants. The classes of a list ascend and are distinct. An array of all classes (``classes`` is
NULL, ``size`` n_classes) has n_places numbers, zero beyond n_classes, and stays one. ``rows``, if
kept, hold the values of the lists.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memmove

import numpy as np

from sklearn_xc._kernels.common._vector_ops cimport LANES, first_from

# Lists are many small pieces of memory, which the allocator of glibc keeps when they are freed:
# what a fit makes of them next would stand beside them.
cdef extern from *:
    """
    #ifdef __GLIBC__
    #include <malloc.h>
    #define XC_RETURN_FREED() malloc_trim(0)
    #else
    #define XC_RETURN_FREED() ((void)0)
    #endif
    """
    void return_freed "XC_RETURN_FREED" () noexcept nogil

cdef enum:
    LEAST_CAPACITY = 4
    # One class in this many: a list has 12 bytes an entry, and arrays have 8 a class.
    FULL_PART = 3


cdef class WeightLists:
    """All weights zero.

    Parameters
    ----------
    n_features, n_classes : int
    averaged : bool
        Whether the sums of the iterates are kept.
    dense : bool, default=False
        Whether samples have all features: then all lists are arrays from the start, for entering
        classes one by one moves those behind them in every list.

    Attributes
    ----------
    rows : ndarray of float32 (n_classes, n_features), or None
        V by class; only after `keep_rows`.
    """

    def __cinit__(self, int64_t n_features, int32_t n_classes, bint averaged, bint dense=False):
        cdef int64_t j
        self.n_features, self.n_classes, self.averaged = n_features, n_classes, averaged
        # Whole blocks of LANES: loops over an array of all classes then have no remainder.
        self.n_places = (n_classes + LANES - 1) // LANES * LANES
        # At least one, for calloc may answer a request of no bytes by NULL.
        self.features = <Feature*> calloc(max(n_features, 1), sizeof(Feature))
        if self.features == NULL:
            raise MemoryError(f"no memory for the lists of {n_features} features")
        self.rows, self.row_values = None, NULL
        for j in range(n_features if dense else 0):
            fill(self, &self.features[j])

    def __dealloc__(self):
        cdef int64_t j
        # NULL where __cinit__ has raised.
        if self.features == NULL:
            return
        for j in range(self.n_features):
            free(self.features[j].classes)
            free(self.features[j].values)
            free(self.features[j].sums)
        free(self.features)
        return_freed()

    def keep_rows(self):
        """Keep V by class too, from here on: single classes are then scored in one piece."""
        cdef float[:, ::1] rows = np.zeros((self.n_classes, self.n_features), dtype=np.float32)
        cdef int64_t j, p
        cdef Feature* feature
        for j in range(self.n_features):
            feature = &self.features[j]
            for p in range(feature.size):
                rows[class_at(feature, p), j] = feature.values[p]
        self.rows = np.asarray(rows)
        self.row_values = &rows[0, 0]

    def sizes(self):
        """Entries of each feature's list, int64 (n_features,); n_classes where it is full."""
        cdef int64_t j
        cdef int64_t[::1] out = np.empty(self.n_features, dtype=np.int64)
        for j in range(self.n_features):
            out[j] = self.features[j].size
        return np.asarray(out)

    def nbytes(self):
        """Bytes of all lists."""
        cdef int64_t j, total = self.n_features * sizeof(Feature)
        total += 0 if self.rows is None else self.rows.nbytes
        cdef Feature* feature
        for j in range(self.n_features):
            feature = &self.features[j]
            total += feature.capacity * (
                (feature.classes != NULL) * 4 + (feature.values != NULL) * 4
                + (feature.sums != NULL) * 4
            )
        return total

    def load(
        self, const int64_t[::1] indptr, const int32_t[::1] classes, const float[::1] values,
        const float[::1] sums,
    ):
        """Add entries feature by feature; `sums` is of size 0 for zeros."""
        # Classes ascend in a feature, so that each is put at the end of its list; lists that become
        # long enough become arrays on the way.
        cdef int64_t j, e
        for j in range(self.n_features):
            for e in range(indptr[j], indptr[j + 1]):
                add_to(self, j, classes[e], values[e], sums[e] if sums.shape[0] else 0)

    def dump(self):
        """The entries feature by feature, classes ascending.

        Returns
        -------
        indptr : ndarray of int64 (n_features + 1,)
        classes : ndarray of int32 (n_entries,)
        values, sums : ndarray of float32 (n_entries,)
            Those that are not both zero; sums is of size 0 where no average is kept.
        """
        cdef int64_t j, p, at = 0
        cdef Feature* feature
        cdef int64_t[::1] indptr = np.zeros(self.n_features + 1, dtype=np.int64)
        # Entries are counted first, so that nothing is copied while the arrays grow.
        for j in range(self.n_features):
            feature = &self.features[j]
            for p in range(feature.size):
                at += is_used(feature, p)
            indptr[j + 1] = at
        cdef int32_t[::1] classes = np.empty(at, dtype=np.int32)
        cdef float[::1] values = np.empty(at, dtype=np.float32)
        cdef float[::1] sums = np.empty(at if self.averaged else 0, dtype=np.float32)
        at = 0
        for j in range(self.n_features):
            feature = &self.features[j]
            for p in range(feature.size):
                if not is_used(feature, p):
                    continue
                classes[at] = class_at(feature, p)
                values[at] = feature.values[p]
                if self.averaged:
                    sums[at] = feature.sums[p]
                at += 1
        return tuple(map(np.asarray, (indptr, classes, values, sums)))

    def rescale(self, double factor, double sum_of_scales):
        """Multiply all values by `factor`, the scale: it is 1 from here on, and A zero."""
        # The sum of the iterates A V - U becomes 0 V' - U' with V' = factor V: U' = U - A V, which
        # needs V as it was before.
        cdef int64_t j, p
        cdef Feature* feature
        if self.rows is not None:
            self.rows *= np.float32(factor)
        for j in range(self.n_features):
            feature = &self.features[j]
            for p in range(feature.size):
                if self.averaged:
                    feature.sums[p] -= <float>(sum_of_scales * feature.values[p])
                feature.values[p] *= <float>factor

    def truncate(
        self, const unsigned char[::1] chosen, double threshold, double sum_of_scales, bint dry
    ):
        """Bring the values of the chosen classes nearer to zero by `threshold` (eq. 13).

        Parameters
        ----------
        chosen : ndarray of uint8 (n_classes,)
        threshold : float
            For V, not W.
        sum_of_scales : float
        dry : bool
            Only say what it would do.

        Returns
        -------
        cut, left : float
            Sums of squares of what is cut (from all), and of all values when it is.
        """
        cdef int64_t j, p, kept
        cdef Feature* feature
        cdef float value, new
        cdef double cut = 0, left = 0
        cdef float t = <float>threshold
        for j in range(self.n_features):
            feature = &self.features[j]
            kept = 0
            for p in range(feature.size):
                value = feature.values[p]
                new = value
                # Eq. 13: sign(v) max(0, |v| - t).
                if chosen[class_at(feature, p)]:
                    new = 0 if fabs(value) <= t else (value - t if value > 0 else value + t)
                    cut += (value - new) * (value - new)
                left += new * new
                if dry:
                    continue
                feature.values[p] = new
                if self.row_values != NULL:
                    self.row_values[class_at(feature, p) * self.n_features + j] = new
                if self.averaged:
                    feature.sums[p] += <float>(sum_of_scales * (new - value))
                # Lists close up over entries that are zero now; kept <= p, so that no entry is
                # overwritten before it is read. Arrays of all classes keep their places.
                if feature.classes != NULL and is_used(feature, p):
                    feature.classes[kept] = feature.classes[p]
                    feature.values[kept] = feature.values[p]
                    if self.averaged:
                        feature.sums[kept] = feature.sums[p]
                    kept += 1
            if not dry and feature.classes != NULL:
                feature.size = <int32_t>kept
        return cut, left


# ------------------------------------------------------------------------------- one feature


cdef inline bint is_used(const Feature* feature, int64_t p) noexcept nogil:
    return feature.values[p] != 0 or (feature.sums != NULL and feature.sums[p] != 0)


cdef inline int32_t class_at(const Feature* feature, int64_t p) noexcept nogil:
    return <int32_t>p if feature.classes == NULL else feature.classes[p]


cdef int64_t place_of(const Feature* feature, int32_t k) noexcept nogil:
    """The first place of the list whose class is not below k."""
    # An array of all classes, or an empty list.
    if feature.classes == NULL:
        return min(<int64_t>k, feature.size)
    return first_from(feature.classes, 0, feature.size, k)


cdef float value_of(const Feature* feature, int32_t k) noexcept nogil:
    cdef int64_t p = place_of(feature, k)
    if p < feature.size and class_at(feature, p) == k:
        return feature.values[p]
    return 0


cdef int add_to(WeightLists lists, int64_t j, int32_t k, float value, float sum_) except -1 nogil:
    """Add to the value and the sum of class k in the list of feature j."""
    cdef Feature* feature = &lists.features[j]
    cdef int64_t p = place_of(feature, k)
    if p == feature.size or class_at(feature, p) != k:
        p = insert(lists, feature, p, k)
    # p < feature.size from here on.
    feature.values[p] += value
    if lists.row_values != NULL:
        lists.row_values[k * lists.n_features + j] = feature.values[p]
    if lists.averaged:
        feature.sums[p] += sum_
    return 0


cdef int64_t insert(
    WeightLists lists, Feature* feature, int64_t p, int32_t k
) except -1 nogil:
    """Make room for class k before place p, or for all classes; the place of k."""
    cdef int64_t after = feature.size - p
    if feature.size >= lists.n_classes // FULL_PART:
        fill(lists, feature)
        return k
    if feature.size == feature.capacity:
        grow(feature, lists.averaged)
    # Bisection needs the order of classes: those after k move up by one place.
    memmove(feature.classes + p + 1, feature.classes + p, after * sizeof(int32_t))
    memmove(feature.values + p + 1, feature.values + p, after * sizeof(float))
    feature.classes[p] = k
    feature.values[p] = 0
    if lists.averaged:
        memmove(feature.sums + p + 1, feature.sums + p, after * sizeof(float))
        feature.sums[p] = 0
    feature.size += 1
    return p


cdef int grow(Feature* feature, bint averaged) except -1 nogil:
    """Make room for more classes in a list; a list that has no memory for them stays as it is."""
    # Half as much again, so that n insertions copy of the order of n entries.
    cdef int32_t capacity = max(<int32_t>LEAST_CAPACITY, feature.capacity + feature.capacity // 2)
    cdef void* classes = realloc(feature.classes, capacity * sizeof(int32_t))
    # Each address is kept as soon as it is there, for the old one is no longer valid; `capacity`
    # changes when all three have grown.
    if classes != NULL:
        feature.classes = <int32_t*>classes
    cdef void* values = realloc(feature.values, capacity * sizeof(float))
    if values != NULL:
        feature.values = <float*>values
    cdef void* sums = NULL
    if averaged:
        sums = realloc(feature.sums, capacity * sizeof(float))
        if sums != NULL:
            feature.sums = <float*>sums
    if classes == NULL or values == NULL or (averaged and sums == NULL):
        raise MemoryError("no memory for more weights")
    feature.capacity = capacity
    return 0


cdef int fill(WeightLists lists, Feature* feature) except -1 nogil:
    """Make an array of all classes of a list."""
    # Both are there before the list changes. calloc: classes that the list lacks have weight zero.
    cdef float* values = <float*> calloc(lists.n_places, sizeof(float))
    cdef float* sums = NULL
    cdef int64_t p
    if lists.averaged:
        sums = <float*> calloc(lists.n_places, sizeof(float))
    if values == NULL or (lists.averaged and sums == NULL):
        free(values)
        free(sums)
        raise MemoryError("no memory for more weights")
    for p in range(feature.size):
        values[feature.classes[p]] = feature.values[p]
        if lists.averaged:
            sums[feature.classes[p]] = feature.sums[p]
    free(feature.classes)
    free(feature.values)
    free(feature.sums)
    feature.classes, feature.values, feature.sums = NULL, values, sums
    feature.size, feature.capacity = lists.n_classes, lists.n_places
    return 0
