"""The order of samples in epochs, and how they are cut into mini-batches."""

import numpy as np

SURPRISING = 5.0  # standard deviations


def sorted_by_class(y: np.ndarray) -> bool:
    """Return whether neighbours share their class much more often than in a random order."""
    if len(y) < 2:
        return False
    # In a random order the share of such pairs is about the sum of the squared frequencies.
    frequencies = np.bincount(y) / len(y)
    by_chance = float((frequencies**2).sum())
    deviation = np.sqrt(by_chance * (1 - by_chance) / (len(y) - 1))
    return float((y[1:] == y[:-1]).mean()) > by_chance + SURPRISING * deviation


def in_parts(
    n_samples: int, batch_size: int, rng: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of a part that fill mini-batches, and the leftover ones, in a random order
    or by default in the given one, in which parts of a stream do what the whole would do.
    """
    order = np.arange(n_samples) if rng is None else rng.permutation(n_samples)
    n_whole = n_samples // batch_size * batch_size
    return order[:n_whole], order[n_whole:]
