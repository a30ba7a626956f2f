"""Rows far longer than others, none of which is to decide alone what a fit does with all."""

import numpy as np

FAR = 10.0  # typical lengths
LONGEST = 3.0  # median ones, beyond which a row does not count more for the sizes of columns


def shares(lengths, typical):
    """Return factors that leave no row longer than FAR typical ones.

    Parameters
    ----------
    lengths : ndarray of float64 (n_samples,)
    typical : float
        The length of a typical row.

    Returns
    -------
    shares : ndarray of float64 (n_samples,)
        FAR typical lengths by that of the row, at most 1.
    """
    far = FAR * typical
    return np.minimum(1, far / lengths.clip(far)) if far > 0 else np.ones(len(lengths))


def typical_length(squares):
    """Return the median length of the rows that are not zero; 0 if all are."""
    known = squares[squares > 0]
    return float(np.sqrt(np.median(known))) if len(known) else 0.0


def factors(squares, weight):
    """Return factors that shorten rows of these squared lengths to LONGEST times the median
    length.
    """
    usual = squares[(squares > 0) & (weight > 0)]
    if not usual.size:
        return np.ones(len(squares))
    limit = LONGEST**2 * np.median(usual)
    return np.sqrt(limit / np.maximum(squares, limit))
