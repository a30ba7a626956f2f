"""Named random streams: the same seed and name, the same numbers, whoever else draws."""

from zlib import crc32

import numpy as np


def stream(seed, name, *numbers):
    """A generator of its own for each purpose.

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
    return np.random.default_rng([seed, crc32(name.encode()), *numbers])
