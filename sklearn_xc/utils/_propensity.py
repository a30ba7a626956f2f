"""The model of how likely a true label is to be recorded (Jain et al., 2016)."""

import numpy as np

A, B = 0.55, 1.5  # as the extreme classification repository uses them


def propensities_of(counts: np.ndarray, n_rows: float, A: float = A, B: float = B) -> np.ndarray:
    """Return propensities of labels, each in (0, 1], by how many of the samples have them."""
    # log 2 < 1 would make C negative, and the result larger than 1
    if n_rows < 3:
        raise ValueError(f"y must have at least 3 samples to estimate propensities, got {n_rows:g}")
    # p_l = 1 / (1 + C exp(-A log(N_l + B))), C = (log N - 1) (B + 1)^A
    C = (np.log(n_rows) - 1) * (B + 1) ** A
    return 1 / (1 + C * (counts + B) ** -A)
