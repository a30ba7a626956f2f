"""Named random streams: the same seed and name, the same numbers, whoever else draws."""

from zlib import crc32

import numpy as np


def stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """Return the generator of a purpose, such as ``"epoch"``, in a fit of this seed.

    `numbers`, not negative, tell streams of that name apart, such as the number of an epoch.
    """
    # Streams of other names are independent of this one: samples that measure a recall, say, are
    # not the first samples of an epoch.
    words = [seed, crc32(name.encode()), *numbers]
    # NumPy cuts each Python integer into words of 32 bits: the same generator in half of the time
    if max(words) < 2**32:
        words = np.array(words, dtype=np.uint32)
    return np.random.default_rng(words)


def mixed(bits: np.ndarray) -> np.ndarray:
    """Return splitmix64 of each number: every bit of the result depends on every bit of it."""
    z = bits + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
