"""Named random streams: the same seed and name, the same numbers, whoever else draws."""

from zlib import crc32

import numpy as np


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """Return a generator of its own for each purpose.

    Parameters
    ----------
    seed : int
        Of the fit, from :func:`seed_of`.
    name : str
        The purpose, such as ``"epoch"`` or ``"recall"``. Streams of other names are independent of
        this one, so that, say, the rows that measure a recall are not the first rows of an epoch.
    *numbers : int
        Which of several streams of that name, such as the number of the epoch; not negative.

    Returns
    -------
    rng : numpy.random.Generator
    """
    words = [seed, crc32(name.encode()), *numbers]
    if max(words) < 2**32:  # the same generator in half of the time
        words = np.array(words, dtype=np.uint32)
    return np.random.default_rng(words)


def mixed(bits: np.ndarray) -> np.ndarray:
    """Return splitmix64 of each number."""
    z = bits + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
