"""The model of how likely a true label is to be recorded (Jain et al., 2016)."""

import numpy as np

A, B = 0.55, 1.5  # as the extreme classification repository uses them


def propensities_of(counts: np.ndarray, n_rows: float, A: float = A, B: float = B) -> np.ndarray:
    """Return propensities of labels by how many of the rows have them.

    Parameters
    ----------
    counts : ndarray (n_labels,)
    n_rows : int or float
        At least 3, or the formula gives no probability.

    Returns
    -------
    propensities : ndarray of float64 (n_labels,)
        Each in (0, 1].
    """
    if n_rows < 3:
        raise ValueError(f"y must have at least 3 rows to estimate propensities, got {n_rows:g}")
    C = (np.log(n_rows) - 1) * (B + 1) ** A
    return 1 / (1 + C * (counts + B) ** -A)
