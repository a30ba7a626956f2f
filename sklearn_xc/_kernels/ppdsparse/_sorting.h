/* Sorting of records by their member `key`, the smallest first. */
#ifndef SKLEARN_XC_SORTING_H
#define SKLEARN_XC_SORTING_H

#include <stddef.h>

#include <algorithm>

/* The order as a type, so that comparisons are compiled into the sort; ties are decided by feature,
 * so that the result does not depend on the library. */
template <class T> struct XcSmallerKey {
    bool operator()(const T &a, const T &b) const {
        return a.key != b.key ? a.key < b.key : a.feature < b.feature;
    }
};

template <class T> void xc_sort_by_key(T *records, ptrdiff_t n) {
    std::sort(records, records + n, XcSmallerKey<T>());
}

#endif
