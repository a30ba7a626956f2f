"""Rows far longer than others, none of which is to decide alone what a fit does with all."""

import numpy as np

FAR = 10.0  # typical lengths
FEWEST, MOST_LOOKED_AT = 3, 1000  # rows that tell the middle, and how far one is from it
LONGEST = 3.0  # median ones, beyond which a row does not count more for the sizes of columns


def shares(lengths: np.ndarray, typical: float) -> np.ndarray:
    """Return factors that leave no row longer than FAR typical ones: min(1, far / length)."""
    far = FAR * typical
    # lengths are raised to `far` before the division, which then never is by 0
    return np.minimum(1, far / lengths.clip(far)) if far > 0 else np.ones(len(lengths))


def shortening(lengths: np.ndarray, typical: float) -> np.ndarray:
    """Return factors for rows of these lengths, 1 up to FAR typical ones, falling beyond."""
    # With r = far / length < 1 the row has the length r far after a factor r^2: the further it is
    # the less it counts, so that one in a hundred does not decide either. Never below
    # LONGEST typical lengths (the factor LONGEST / FAR r): rows of a stream whose scale has changed
    # for good must still count.
    of_row = shares(lengths, typical)
    return np.maximum(of_row**2, LONGEST / FAR * of_row, where=of_row < 1, out=of_row)


def nearer(X: np.ndarray, far: np.ndarray, weight: np.ndarray, typical: float) -> np.ndarray:
    """Return dense rows with the far ones shortened, about the middle of the others.

    `typical` is the length of a row where too few rows are left to have a middle.
    """
    # Not about zero: where all rows share an offset, a row of ten times its length would still be
    # far from all others after it was shortened.
    near, middle = np.flatnonzero(~far & (weight > 0)), np.zeros(X.shape[1])
    if len(near) >= FEWEST:
        about = X[near].mean(axis=0, dtype=np.float64)
        # the median distance of a thousand rows is near that of all, and needs no copy of X
        some = near[:: -(-len(near) // MOST_LOOKED_AT)]
        spread = typical_length(np.square(X[some] - about).sum(axis=1))
        if spread > 0:
            middle, typical = about, spread
    moved = X[far] - middle
    lengths = np.sqrt(np.square(moved).sum(axis=1))
    X = X.copy()
    X[far] = middle + moved * shortening(lengths, typical)[:, None]
    return X


def typical_length(squares: np.ndarray) -> float:
    """Return the median length of the rows that are not zero; 0 if all are."""
    positive = squares[squares > 0]
    return float(np.sqrt(np.median(positive))) if len(positive) else 0.0


def factors(squares: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return factors that shorten rows of these squared lengths to LONGEST times the median
    length.
    """
    usual = squares[(squares > 0) & (weight > 0)]
    if not usual.size:
        return np.ones(len(squares))
    # 1 up to the length LONGEST median ones, and that over the row's length beyond
    limit = LONGEST**2 * np.median(usual)
    return np.sqrt(limit / np.maximum(squares, limit))
