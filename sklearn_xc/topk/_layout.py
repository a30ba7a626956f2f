"""How the weights of an inverted index lie: the order of classes, and what is stored of features.

A list of the classes that use a feature names each of them; where most use it, their weights alone,
one after the other, take less memory, and are added several at a time. Classes with many weights
use the frequent features, so in the order of falling numbers of weights these have a beginning that
is dense, and an end that is sparse.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from .._kernels.topk import _inverted_index as kernel
from ._feature_major import n_places

# A feature has its weights stored for the first classes as far as more than this share of them use
# it. A weight takes four bytes, in a list six or eight: with this share what is stored takes at
# most 2.7 times or twice the memory (but for rounding up). With a smaller one prediction waits for
# memory where classes are many.
FULL_SHARE = 0.25
# And only if so many more of them use it than the share: a few weights are read faster in a list.
LEAST_GAIN = 32
# Of few classes, whose scores stay in the first cache, it is those of all or none: to add both a
# beginning and a list takes longer.
FEW_CLASSES = 512


@dataclass
class Layout:
    """The order of the classes in an inverted index, and what it stores for the first of them."""

    order: np.ndarray | None  # int32, the classes, rank by rank; None where ranks are their numbers
    stops: np.ndarray  # int32 (n_features,), for how many first classes weights are stored

    @classmethod
    def of(cls, csr: sparse.csr_array) -> Self:
        """Return the layout for sparse weights, class by class."""
        n_classes, n_features = csr.shape
        if n_classes <= FEW_CLASSES:
            used = np.bincount(csr.indices, minlength=n_features)
            return cls(None, np.where(used > FULL_SHARE * n_classes, n_classes, 0).astype(np.int32))
        # Classes with many weights first; stable, so that the same weights have the same ranks.
        order = np.argsort(-np.diff(csr.indptr), kind="stable")
        stops = np.zeros(n_features, dtype=np.int32)
        kernel.dense_prefixes(
            csr.indptr.astype(np.int64),
            csr.indices,
            order,
            FULL_SHARE,
            LEAST_GAIN,
            np.zeros(n_features),
            np.zeros(n_features, dtype=np.int64),
            stops,
        )
        is_plain = (order == np.arange(n_classes)).all()
        return cls(None if is_plain else order.astype(np.int32), stops)

    @classmethod
    def of_some(cls, ranks: np.ndarray, stops: np.ndarray) -> Self:
        """Return the layout of some classes, renumbered from 0; scores keep their bits.

        `ranks` are theirs in another layout, `stops` what that stores of each feature.
        """
        # A feature is stored for as many of them as have ranks below its stop.
        order = np.argsort(ranks)
        return cls(order.astype(np.int32), np.searchsorted(ranks[order], stops).astype(np.int32))

    def starts(self) -> tuple[np.ndarray, int]:
        """Return where the stored weights of each feature begin, in whole blocks, and the end."""
        sizes = n_places(self.stops.astype(np.int64))
        return np.cumsum(sizes) - sizes, int(sizes.sum())


def ranks_of(order: np.ndarray) -> np.ndarray:
    """Return the rank of each class, from the classes rank by rank."""
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks
