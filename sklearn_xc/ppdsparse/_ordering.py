"""The order of samples and features in which PPDSparse's kernels run faster."""

from typing import NamedTuple

import numpy as np

STRETCH = 512  # rows that are sorted by length among themselves


class Order(NamedTuple):
    """An order of samples and features in which kernels run faster: the caller's numbers."""

    samples: np.ndarray  # int32 (n_samples,)
    features: np.ndarray  # int32 (n_features,)


def fast_order(
    lengths: np.ndarray, frequency: np.ndarray, seed: int, sample_weight: np.ndarray
) -> Order:
    """Order frequent features first, so that weights share the caches; samples shuffled.

    `lengths` are entries of the rows, `frequency` samples that have each feature.
    """
    # Samples of weight zero are left out: they have no part in norms, maxima or draws.
    there = np.flatnonzero(sample_weight > 0).astype(np.int32)
    # Searches of a part of the rows read stretches, and need these to be random.
    samples = there[np.random.default_rng(seed).permutation(len(there))]
    # By length within stretches, which makes the ends of loops over rows predictable.
    samples = samples[np.lexsort((lengths[samples], np.arange(len(there)) // STRETCH))]
    return Order(samples, np.argsort(-frequency, kind="stable").astype(np.int32))


def order_given(n_features: int, sample_weight: np.ndarray) -> Order:
    """Return the samples of weight above zero, and all features, in the order that they have."""
    there = np.flatnonzero(sample_weight > 0).astype(np.int32)
    return Order(there, np.arange(n_features, dtype=np.int32))
